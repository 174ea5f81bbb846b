"""Curves in a page, drawn as SVG in the colours of its style sheet.

The fact a newcomer would get wrong: a curve of more points than a picture has columns is thinned, but its
first and last points and every extreme of a column stay, so that no spike is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.pages.elements import Markup, element
from scfg_sampler.core.svg import shortened

__all__ = ["Axes", "Curve", "chart_name", "compact", "legend", "line_chart", "number_below", "ticks"]

_WIDTH, _HEIGHT = 340, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 8, 26, 34
_DIGIT = 7.0  # The width of a digit, generous; fonts differ.
_COLUMNS = 138
_COLOURS = 6


class Curve(NamedTuple):
    """A line of a chart."""

    label: str
    x: np.ndarray
    """float64 (N,), ascending."""
    y: np.ndarray
    """float64 (N,), finite."""


class Axes(NamedTuple):
    """What a chart says around its curves."""

    name: str
    x_label: str
    before: float = -math.inf
    """What is left of this is shaded, as left out of all that is counted."""


def line_chart(axes: Axes, curves: Sequence[Curve]) -> Markup:
    """A chart of some curves, for an element of class `charts`; empty if no curve has points.

    Parameters
    ----------
    axes : Axes
    curves : sequence of Curve
        Coloured in their order.
    """
    curves = [curve for curve in curves if len(curve.x)]
    if not curves:
        return Markup("")
    xs, ys = (np.concatenate([getattr(curve, side) for curve in curves]) for side in ("x", "y"))
    left, right = float(xs.min()), float(xs.max())
    low, high = float(ys.min()), float(ys.max())
    if low == high:
        low, high = low - max(1.0, abs(low)) * 0.05, high + max(1.0, abs(high)) * 0.05
    across = (_WIDTH - _LEFT - _RIGHT) / max(right - left, 1e-9)
    up = (_HEIGHT - _TOP - _BOTTOM) / (high - low)

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + (x - left) * across, _HEIGHT - _BOTTOM - (y - low) * up

    out: list[Markup] = []
    if axes.before > left:
        width = place(min(axes.before, right), low)[0] - _LEFT
        out.append(
            element(
                "rect", class_="burn", x=_LEFT, y=_TOP, width=f"{width:.1f}", height=_HEIGHT - _TOP - _BOTTOM
            )
        )
    out.append(chart_name(axes.name, _LEFT, 15, _WIDTH - _LEFT))
    out += _scales(axes, (left, right), (low, high), place)
    for number, curve in enumerate(curves):
        colour = f"var(--c{number % _COLOURS + 1})"
        x, y = _thinned(curve.x, curve.y)
        placed = [place(*point) for point in zip(x.tolist(), y.tolist(), strict=True)]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in placed)
        tip = element("title", f"{curve.label}: {compact(float(curve.y[-1]))} at the end")
        if len(placed) == 1:
            spot = {"cx": f"{placed[0][0]:.1f}", "cy": f"{placed[0][1]:.1f}"}
            out.append(element("circle", tip, **spot, r=3, style=f"fill:{colour}"))
        else:
            out.append(element("polyline", tip, points=points, style=f"stroke:{colour}"))
    return element(
        "figure",
        element(
            "svg",
            out,
            xmlns="http://www.w3.org/2000/svg",
            class_="chart",
            viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
            role="img",
            aria_label=f"{axes.name} by {axes.x_label}",
        ),
    )


def chart_name(name: str, x: int, y: int, width: float) -> Markup:
    """A name in a chart, cut to a width; pointing at it shows all of it."""
    shown = shortened(name, width)
    tip = [element("title", name)] if shown != name else []
    return element("text", tip, shown, class_="name", x=x, y=y)


def number_below(number: str, x: float, y: int, width: int) -> Markup:
    """A number of a lower axis in the middle of its place, or so far beside it that the picture holds it."""
    half = len(number) * _DIGIT / 2
    x = min(max(x, half), width - half)
    return element("text", number, x=f"{x:.1f}", y=y, text_anchor="middle")


def _scales(axes: Axes, across: tuple[float, float], up: tuple[float, float], place) -> list[Markup]:
    """Lines, numbers and the name of the lower axis."""
    out = []
    for value in ticks(*up, 4):
        _, y = place(across[0], value)
        out.append(element("line", class_="axis", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}"))
        number = compact(value, step=up[1] - up[0])
        out.append(element("text", number, x=_LEFT - 5, y=f"{y + 4:.1f}", text_anchor="end"))
    for value in ticks(*across, 5):
        x, _ = place(value, up[0])
        number = compact(value, step=across[1] - across[0])
        out.append(number_below(number, x, _HEIGHT - _BOTTOM + 14, _WIDTH))
    out.append(element("text", axes.x_label, x=_WIDTH - _RIGHT, y=_HEIGHT - 5, text_anchor="end"))
    return out


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points that are seen: of each column of the picture the first, last, lowest and highest."""
    if len(x) <= 4 * _COLUMNS:
        return x, y
    borders = np.linspace(0, len(x), _COLUMNS + 1).astype(int)
    kept = {0, len(x) - 1}
    for begin, end in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        part = y[begin:end]
        kept |= {begin, end - 1, begin + int(part.argmin()), begin + int(part.argmax())}
    rows = np.array(sorted(kept))
    return x[rows], y[rows]


def legend(labels: Sequence[str]) -> Markup:
    """Which colour is which curve; empty for a single one."""
    if len(labels) < 2:
        return Markup("")
    entries = [
        (element("span", style=f"background:var(--c{number % _COLOURS + 1})"), label)
        for number, label in enumerate(labels)
    ]
    return element("p", entries, class_="legend soft")


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` round numbers between two others, by equal steps of 1, 2 or 5 times a power of ten.

    >>> ticks(0, 97, 5), ticks(-0.31, 0.22, 4)
    ([0.0, 20.0, 40.0, 60.0, 80.0], [-0.2, 0.0, 0.2])
    """
    if not high > low:
        return [low]
    power = math.floor(math.log10((high - low) / most))
    for k in range(power, power + 3):
        for times in (1, 2, 5):
            # Multiples of 10^k below 1 are divided, so that 0.2 is what is written 0.2.
            places = list(
                range(math.ceil(low / 10.0**k / times - 1e-9), math.floor(high / 10.0**k / times + 1e-9) + 1)
            )
            if len(places) <= most:
                return [place * times / 10.0**-k if k < 0 else place * times * 10.0**k for place in places]
    return [low]


def compact(value: float, step: float | None = None) -> str:
    """A number in few characters; `step` says which differences must be seen.

    >>> compact(1234567), compact(-98765.0), compact(0.1234), compact(12), compact(1234567, step=900)
    ('1.235M', '−98.77k', '0.1234', '12', '1234.57k')
    """
    if not math.isfinite(value):
        return str(value).replace("inf", "∞").replace("-", "−")
    size = abs(value)
    if size < 9999.5:  # Which is 10000 with four digits.
        divisor, unit = 1.0, ""
    else:
        divisor, unit = (1e9, "G") if size >= 1e9 else (1e6, "M") if size >= 1e6 else (1e3, "k")
    if step is not None and step > 0:
        while divisor > 1.0 and step / divisor < 0.02:
            divisor, unit = divisor / 1e3, {"G": "M", "M": "k", "k": ""}[unit]
        digits = max(0, math.ceil(1 - math.log10(step / divisor)))
        shown = f"{value / divisor:.{min(digits, 6)}f}"
        if "." in shown:
            shown = shown.rstrip("0").rstrip(".")
    else:
        shown = f"{value / divisor:.4g}"
    return ("0" if float(shown) == 0.0 else shown).replace("-", "−") + ("" if float(shown) == 0.0 else unit)
