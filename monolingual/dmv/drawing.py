"""A parse as SVG: arcs over the words, from heads to dependents.

The longer an arc the higher it is; it is the stronger the surer it is, if posteriors are given, which
pointing at it shows. The fact a newcomer would get wrong: the arc from above is that of the root.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.svg import LINE, document, safe, text, text_width

__all__ = ["draw_arcs"]

_STEP = 22  # Pixels from one height of arcs to the next.
_COLOUR = "#4a86c0"  # Seen on white and on black.


def draw_arcs(
    words: Sequence[str], heads: Sequence[int], *, name: str, posteriors: np.ndarray | None = None
) -> str:
    """The picture as a whole SVG document.

    Parameters
    ----------
    words : sequence of str
    heads : sequence of int
        From 1, 0 for the root.
    name : str
        Of the picture.
    posteriors : float64, shape (n, n + 1), optional
        As `arc_posteriors` has them.
    """
    widths = [text_width(word) + LINE for word in words]
    ends = list(itertools.accumulate(widths))
    levels = _levels(heads)
    top = LINE + _STEP * (max(levels, default=0) + 1)
    middle = [end - width / 2 for end, width in zip(ends, widths, strict=True)]
    out = []
    for at, head in enumerate(heads):
        prob = 1.0 if posteriors is None else float(posteriors[at, head])
        end = f"{middle[at]:.1f},{top}"
        if head == 0:
            path, above = f"M{middle[at]:.1f},{LINE / 2:.0f} L{end}", "the root"
        else:
            begin = middle[head - 1] + (6 if at >= head else -6)
            height = top - _STEP * levels[at]
            path = f"M{begin:.1f},{top} C{begin:.1f},{height} {middle[at]:.1f},{height} {end}"
            above = words[head - 1]
        opacity = max(prob, 0.15)
        # All arcs arrive from above; a marker would need a name of its own in every picture of a page.
        x = middle[at]
        arrow = f"M{x - 4:.1f},{top - 7} L{x + 4:.1f},{top - 7} L{end} z"
        tip = f"{above} → {words[at]}" + ("" if posteriors is None else f": {prob:.3f}")
        out.append(
            f'<g><title>{safe(tip)}</title><path d="{path}" fill="none" stroke="{_COLOUR}" '
            f'stroke-width="1.5" stroke-opacity="{opacity:.2f}"/>'
            f'<path class="arrow" d="{arrow}" fill="{_COLOUR}" fill-opacity="{opacity:.2f}"/></g>'
        )
    out += [text(middle[at], top + LINE, "source", word) for at, word in enumerate(words)]
    return document(max(sum(widths), 1.0), top + 2 * LINE, name, out)


def _levels(heads: Sequence[int]) -> list[int]:
    """The height of the arc of each word: above all arcs within its span; 0 for the root."""
    arcs = sorted(
        (abs(at + 1 - head), min(at + 1, head), max(at + 1, head), at)
        for at, head in enumerate(heads)
        if head
    )
    levels = [0] * len(heads)
    done: list[tuple[int, int, int]] = []
    for _, begin, end, at in arcs:
        inside = [level for first, last, level in done if first >= begin and last <= end]
        levels[at] = 1 + max(inside, default=0)
        done.append((begin, end, levels[at]))
    return levels
