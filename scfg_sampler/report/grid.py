"""An alignment as a grid of squares, the phrases of derivations as boxes on it.

Source words stand above their columns, target words left of their rows. A box is drawn as strongly as its
phrase is certain. The fact a newcomer would get wrong: the picture has no colours of its own; it is for pages
with the style sheet of `core.pages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from scfg_sampler.core.pages.elements import Markup, element
from scfg_sampler.core.svg import shortened, text_width
from scfg_sampler.learner.pair_posteriors import Place

__all__ = ["draw_grid"]

_CELL = 22
_PADDING = 6
_WIDEST = 190.0
"""Of a word, some two dozen letters: of longer ones the grid would be as wide."""


def draw_grid(
    source: Sequence[str],
    target: Sequence[str],
    links: Iterable[tuple[int, int]],
    boxes: Sequence[tuple[Place, float, str]] = (),
) -> Markup:
    """The picture of a pair.

    Parameters
    ----------
    source, target : sequences of str
    links : (source position, target position), from 0
    boxes : (spans, share from 0 to 1, tip)
        Phrases.
    """
    # Letters of the pictures' style are smaller than those that `text_width` measures.
    left = 0.95 * min(_WIDEST, max(map(text_width, target), default=0.0)) + 2 * _PADDING
    top = 0.95 * min(_WIDEST, max(map(text_width, source), default=0.0)) + 2 * _PADDING
    linked = set(links)
    out: list[Markup] = []
    for i, word in enumerate(source):
        x, y = f"{left + (i + 0.5) * _CELL + 4.5:.1f}", f"{top - _PADDING:.1f}"
        out.append(_label(word, x=x, y=y, transform=f"rotate(-90 {x} {y})"))
    for j, word in enumerate(target):
        y = f"{top + (j + 0.5) * _CELL + 4.5:.1f}"
        out.append(_label(word, x=f"{left - _PADDING:.1f}", y=y, text_anchor="end"))
    for j, word in enumerate(target):
        for i in range(len(source)):
            kind = "cell linked" if (i, j) in linked else "cell"
            tip = element("title", f"{source[i]} – {word}  ({i}-{j})") if (i, j) in linked else None
            size: dict[str, Any] = {
                "x": f"{left + i * _CELL:.1f}",
                "y": f"{top + j * _CELL:.1f}",
                "width": _CELL,
                "height": _CELL,
            }
            out.append(element("rect", tip, class_=kind, **size))
    for ((begin, end), (first, last)), share, said in sorted(boxes, key=lambda box: box[1]):
        inset = 1.0 + 2.0 * min(
            2, sum(_is_inside(((begin, end), (first, last)), other[0]) for other in boxes)
        )
        out.append(
            element(
                "rect",
                element("title", said),
                class_="node",
                x=f"{left + begin * _CELL + inset:.1f}",
                y=f"{top + first * _CELL + inset:.1f}",
                width=f"{(end - begin) * _CELL - 2 * inset:.1f}",
                height=f"{(last - first) * _CELL - 2 * inset:.1f}",
                rx=3,
                stroke_opacity=f"{share:.2f}",
            )
        )
    width, height = left + len(source) * _CELL + 2, top + len(target) * _CELL + 2
    return element(
        "svg",
        out,
        xmlns="http://www.w3.org/2000/svg",
        class_="grid",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
        aria_label=f"alignment: {' '.join(source)} – {' '.join(target)}",
    )


def _label(word: str, **place: str) -> Markup:
    """A word beside the squares; of a long one the beginning, and all of it where it is pointed at."""
    shown = shortened(word, _WIDEST)
    return element("text", shown, None if shown == word else element("title", word), **place)


def _is_inside(place: Place, other: Place) -> bool:
    """Whether a box lies in another, and they share a side, so that their lines would meet."""
    contained = all(b <= a and c <= d for (a, c), (b, d) in zip(place, other, strict=True))
    return (
        place != other
        and contained
        and any(a == b or c == d for (a, c), (b, d) in zip(place, other, strict=True))
    )
