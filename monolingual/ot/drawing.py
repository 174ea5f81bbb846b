"""Who outranks whom, and how well a grammar fits, as SVG.

The ranking is a Hasse diagram in layers: a constraint stands one layer below the lowest of those above it, so
that every line leads downwards. The fact a newcomer would get wrong: constraints of one layer are not ranked
equally; nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scfg_sampler.core.pages.charts import compact
from scfg_sampler.core.pages.elements import Markup, element
from scfg_sampler.core.svg import LINE, document, safe, text, text_width

__all__ = ["draw_fit", "draw_ranking", "layers"]

_STEP = 74  # Pixels from one layer to the next.
_GAP = 18
_COLOURS = 6
_SIDE, _EDGE = 320, 46


def layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each constraint, from 0: one below the lowest of those above it.

    Parameters
    ----------
    count : int
    edges : sequence of (upper, lower)
        Without circles.

    >>> layers(4, [(0, 1), (1, 2), (0, 2)])
    [0, 1, 2, 0]
    """
    found = [0] * count
    for _ in range(count):
        for upper, lower in edges:
            found[lower] = max(found[lower], found[upper] + 1)
    return found


def draw_ranking(
    names: Sequence[str], edges: Sequence[tuple[int, int]], outranking: np.ndarray, order: np.ndarray
) -> str:
    """The Hasse diagram as a whole SVG document.

    Parameters
    ----------
    names : sequence of N str
    edges : sequence of (upper, lower)
        As `plots.cover_edges` returns them.
    outranking : float64, shape (N, N)
        Said at each line.
    order : int64, shape (N,)
        Constraints of a layer stand in this order from the left.
    """
    layer = layers(len(names), edges)
    rows = [[int(at) for at in order if layer[at] == row] for row in range(max(layer) + 1)]
    widths = [text_width(name) + LINE for name in names]
    whole = max(sum(widths[at] + _GAP for at in row) for row in rows)
    middle: dict[int, float] = {}
    for row in rows:
        spare = (whole - sum(widths[at] + _GAP for at in row)) / (len(row) + 1)
        x = spare
        for at in row:
            middle[at] = x + (widths[at] + _GAP) / 2
            x += widths[at] + _GAP + spare
    top = [8 + layer[at] * _STEP for at in range(len(names))]
    height = LINE + 10
    out = []
    for upper, lower in edges:
        said = f"{names[upper]} above {names[lower]}: {outranking[upper, lower]:.3f}"
        out.append(
            f'<g><title>{safe(said)}</title><line x1="{middle[upper]:.1f}" y1="{top[upper] + height}" '
            f'x2="{middle[lower]:.1f}" y2="{top[lower]}"/></g>'
        )
    for at, name in enumerate(names):
        out.append(
            f'<g><rect x="{middle[at] - widths[at] / 2:.1f}" y="{top[at]}" width="{widths[at]:.1f}" '
            f'height="{height}" rx="4" fill="#ffffff"/>'
        )
        out.append(text(middle[at], top[at] + LINE + 1, "source", name) + "</g>")
    return document(whole, max(top) + height + 8, "who outranks whom", out)


def draw_fit(observed: np.ndarray, predictions: Mapping[str, np.ndarray], names: Sequence[str]) -> Markup:
    """Predicted over observed shares of candidates, a colour for each grammar; what is right is on the line.

    Parameters
    ----------
    observed : float64, shape (C,)
    predictions : mapping from names of grammars to float64 (C,)
    names : sequence of C str
        Of the candidates.
    """
    inner = _SIDE - _EDGE - 10

    def place(x: float, y: float) -> tuple[str, str]:
        return f"{_EDGE + x * inner:.1f}", f"{10 + (1 - y) * inner:.1f}"

    out = []
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = place(value, value)
        left, bottom = place(0.0, 0.0)
        right, above = place(1.0, 1.0)
        out += [
            element("line", class_="axis", x1=left, x2=right, y1=y, y2=y),
            element("line", class_="axis", x1=x, x2=x, y1=bottom, y2=above),
            element("text", compact(value), x=_EDGE - 5, y=f"{float(y) + 4:.1f}", text_anchor="end"),
            element("text", compact(value), x=x, y=_SIDE - _EDGE + 24, text_anchor="middle"),
        ]
    (x1, y1), (x2, y2) = place(0.0, 0.0), place(1.0, 1.0)
    out.append(element("line", class_="mark", x1=x1, x2=x2, y1=y1, y2=y2))
    for number, (grammar, predicted) in enumerate(predictions.items()):
        style = f"fill:var(--c{number % _COLOURS + 1});fill-opacity:.75"
        for at, name in enumerate(names):
            x, y = place(float(observed[at]), float(predicted[at]))
            said = f"{grammar}: {name}, observed {observed[at]:.3f}, predicted {predicted[at]:.3f}"
            out.append(element("circle", element("title", said), cx=x, cy=y, r=4, style=style))
    out.append(element("text", "predicted over observed", x=_SIDE - 10, y=_SIDE - 4, text_anchor="end"))
    return element(
        "figure",
        element(
            "svg",
            out,
            xmlns="http://www.w3.org/2000/svg",
            class_="chart square",
            viewBox=f"0 0 {_SIDE} {_SIDE}",
            role="img",
            aria_label="predicted over observed shares",
        ),
    )
