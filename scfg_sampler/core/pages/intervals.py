"""Intervals in a page: a line for each quantity, a dot at its middle, all over one axis.

The fact a newcomer would get wrong: names stand above their lines, not beside them, so that long ones fit a
narrow screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scfg_sampler.core.pages.charts import chart_name, compact, number_below, ticks
from scfg_sampler.core.pages.elements import Markup, element

__all__ = ["Interval", "interval_chart"]

_WIDTH, _ROW, _SIDE = 440, 34, 12
_TOP, _BOTTOM = 8, 34


class Interval(NamedTuple):
    """A quantity and how well it is known.

    Attributes
    ----------
    label : str
    low, middle, high : float
    marks : tuple of float
        Further places, drawn as short lines.
    """

    label: str
    low: float
    middle: float
    high: float
    marks: tuple[float, ...] = ()


def interval_chart(name: str, axis: str, intervals: Sequence[Interval]) -> Markup:
    """A picture of some intervals, the first on top; empty if there is none.

    Parameters
    ----------
    name : str
        For who does not see it.
    axis : str
        What the numbers are.
    intervals : sequence of Interval
        Of finite numbers.
    """
    if not intervals:
        return Markup("")
    numbers = [number for each in intervals for number in (*each[1:4], *each.marks)]
    low, high = min(numbers), max(numbers)
    if low == high:
        low, high = low - 0.5, high + 0.5
    scale = (_WIDTH - 2 * _SIDE) / (high - low)
    bottom = _TOP + _ROW * len(intervals)

    def place(value: float) -> str:
        return f"{_SIDE + (value - low) * scale:.1f}"

    out: list[Markup] = []
    for value in ticks(low, high, 7):
        x = place(value)
        out.append(element("line", class_="axis", x1=x, x2=x, y1=_TOP, y2=bottom))
        number = compact(value, step=high - low)
        out.append(number_below(number, float(x), bottom + 14, _WIDTH))
    for row, each in enumerate(intervals):
        y = _TOP + _ROW * row + 24
        tip = f"{each.label}: {compact(each.middle)}, from {compact(each.low)} to {compact(each.high)}"
        ends: dict[str, str | int] = {"x1": place(each.low), "x2": place(each.high), "y1": y, "y2": y}
        parts = [element("title", tip), element("line", class_="interval", **ends)]
        for mark in each.marks:
            x = place(mark)
            parts.append(element("line", class_="mark", x1=x, x2=x, y1=y - 5, y2=y + 5))
        parts.append(element("circle", class_="middle", cx=place(each.middle), cy=y, r=4))
        out += [chart_name(each.label, _SIDE, y - 9, _WIDTH - 2 * _SIDE), element("g", parts)]
    out.append(element("text", axis, x=_WIDTH - _SIDE, y=bottom + 30, text_anchor="end"))
    box = f"0 0 {_WIDTH} {bottom + _BOTTOM}"
    svg = element(
        "svg",
        out,
        xmlns="http://www.w3.org/2000/svg",
        class_="chart intervals",
        viewBox=box,
        role="img",
        aria_label=name,
    )
    return element("figure", svg)
