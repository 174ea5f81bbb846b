"""Matrices in a page: a square for each number, the stronger the larger it is.

The fact a newcomer would get wrong: negative numbers have a colour of their own, so that the page's paper, be
it dark, always is nought.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.pages.charts import compact
from scfg_sampler.core.pages.elements import Markup, element
from scfg_sampler.core.svg import text_width

__all__ = ["heat_map"]

_CELL = 15
_MOST_TIPS = 1600
"""Squares up to which each says its number when it is pointed at."""


def heat_map(
    name: str, rows: Sequence[str], columns: Sequence[str], values: np.ndarray, strongest: float = 1.0
) -> Markup:
    """A picture of a matrix.

    Parameters
    ----------
    name : str
        Above it.
    rows, columns : sequences of R and C str
    values : float64, shape (R, C)
        What is not a number is left white.
    strongest : float
        The absolute value that has the strongest colour.
    """
    left = 8 + max(map(_room, rows), default=0)
    top = 26 + max(map(_room, columns), default=0)
    width, height = left + _CELL * len(columns) + 8, top + _CELL * len(rows) + 8
    width = max(width, 8 + _room(name))
    out: list[Markup] = [element("text", name, class_="name", x=4, y=15)]
    for at, label in enumerate(columns):
        x, y = left + (at + 0.5) * _CELL + 4, top - 5
        turn = f"rotate(-90 {x:.1f} {y})"
        out.append(element("text", label, x=f"{x:.1f}", y=y, transform=turn))
    for at, label in enumerate(rows):
        below = top + (at + 0.5) * _CELL + 4
        out.append(element("text", label, x=left - 4, y=f"{below:.1f}", text_anchor="end"))
    with_tips = len(rows) * len(columns) <= _MOST_TIPS
    for i, row in enumerate(values.tolist()):
        for j, value in enumerate(row):
            share = abs(value) / strongest
            if not share >= 0.005:
                continue
            said = f"{rows[i]}, {columns[j]}: {compact(value)}"
            place = {"x": left + j * _CELL + 1, "y": top + i * _CELL + 1}
            square = element(
                "rect",
                element("title", said) if with_tips else None,
                class_="more" if value > 0 else "less",
                width=_CELL - 2,
                height=_CELL - 2,
                fill_opacity=f"{min(1.0, share) ** 0.6:.2f}",
                **place,
            )
            out.append(square)
    frame = element(
        "rect", class_="frame", x=left, y=top, width=_CELL * len(columns), height=_CELL * len(rows)
    )
    svg = element(
        "svg",
        frame,
        out,
        xmlns="http://www.w3.org/2000/svg",
        class_="chart heat",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=name,
    )
    return element("div", element("figure", svg), class_="scroll")


def _room(text: str) -> int:
    """Pixels for a text, which is smaller than most."""
    return int(text_width(text) * 0.9)
