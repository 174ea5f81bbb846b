"""Pictures of what stands above a row of words, as SVG that a page may hold as it is.

A box covers a span of words and stands in a row; row 0 is on top, the words are below all rows. Columns are
as wide as the longest text that must fit into its box. Joints link a box to boxes below it: a dot under the
upper box, a line to each of the others, in front of the boxes that it passes. Pointing at a box or a dot
shows its tip. Where there are too many lines to be followed, those of a box are seen when it is pointed at
or clicked.

Styles are bound to the class of the picture, so that several of them, and the page around them, do not mix.
In a page, light or dark, what stands beside boxes has the page's colour; boxes bring their own.
The fact a newcomer would get wrong: XML cannot hold control characters, escaped or not; they are shown as
U+FFFD.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

__all__ = [
    "LINE",
    "PICTURE_STYLE",
    "Box",
    "Joint",
    "circled",
    "document",
    "safe",
    "shortened",
    "span_diagram",
    "text",
    "text_width",
]

LINE = 18
"""Pixels from one line of text to the next."""

_SIZE = 14  # Of the letters, pixels.
_NARROW, _WIDE = 8.5, 15.0  # Widths of a letter, generous; fonts differ.
_PADDING, _GAP, _JOINT_GAP, _FOLDED_GAP = 8, 6, 40, 10
PICTURE_STYLE = (
    # Beside boxes, letters have the colour of the page around, be it dark; a file of its own is white.
    f".scfg text{{font:{_SIZE}px sans-serif;text-anchor:middle;white-space:pre;fill:currentColor}}"
    ".scfg:root{background:#fff;color:#111}.scfg :where(g) text{fill:#111}.scfg :where(g) .score{fill:#555}"
    ".scfg .target{font-weight:bold}.scfg .score{font-size:12px}.scfg rect{stroke:#8899aa}"
    ".scfg line{stroke:#8899aa;stroke-opacity:.6}.scfg circle{fill:#8899aa}.scfg g g:hover line{stroke:#c33}"
    ".scfg g g:hover circle{fill:#c33}.scfg .folded{visibility:hidden}.scfg [tabindex]{outline:none}"
    ".scfg g:hover+.folded,.scfg g:focus+.folded{visibility:visible}.scfg [tabindex]:focus rect{stroke:#c33}"
    ".scfg .folded line{stroke:#c33;stroke-opacity:.8}.scfg .folded circle{fill:#c33}"
)


class Box(NamedTuple):
    """A box over words `begin` … `end` − 1: its row, lines (class and text), tip, and colour."""

    begin: int
    end: int
    row: int
    lines: tuple[tuple[str, str], ...]
    tip: str
    fill: str = "#ffffff"
    shade: float = 1.0
    """How much of the colour is there, from 0 to 1."""


class Joint(NamedTuple):
    """A link of a box to those below it, by their indices."""

    upper: int
    lower: tuple[int, ...]
    tip: str


def span_diagram(
    words: Sequence[str],
    boxes: Sequence[Box],
    *,
    name: str,
    title: str,
    joints: Sequence[Joint] = (),
    folded: bool = False,
) -> str:
    """The picture as a whole SVG document.

    Parameters
    ----------
    words : sequence of str
    boxes : sequence of Box
        Boxes of one row do not overlap.
    name : str
        What a viewer shows as the name of the picture.
    title : str
        Written above it.
    joints : sequence of Joint
    folded : bool
        Show those of a box when it is pointed at, and no more of its lines than fit over its words.
    """
    column = max([text_width(word) for word in words], default=0.0) + 2 * _PADDING + _GAP
    for box in boxes if not folded else ():
        needed = max([text_width(line) for _, line in box.lines], default=0.0) + 2 * _PADDING + _GAP
        column = max(column, needed / (box.end - box.begin))
    height = LINE * max([len(box.lines) for box in boxes], default=1) + _PADDING
    pitch = height + ((_FOLDED_GAP if folded else _JOINT_GAP) if joints else _GAP)
    width = max(column * len(words), text_width(title) + 2 * _PADDING)
    top = 2 * LINE
    bottom = top + (max([box.row for box in boxes], default=-1) + 1) * pitch
    out = [text(width / 2, LINE, "target", title)]
    size = _Size(column, top, pitch, height)
    of_box: dict[int, list[Joint]] = {}
    for joint in joints:
        of_box.setdefault(joint.upper, []).append(joint)
    order = list(range(len(boxes)))
    if joints:  # From below, so that the lines of a box come to lie on all that they pass.
        order.sort(key=lambda at: -boxes[at].row)
    for at in order:
        out += _draw_box(boxes[at], size, folded)
        if at in of_box:
            out += [f'<g class="{"folded" if folded else "joints"}">']
            out += [*_draw_joints(boxes, of_box[at], size), "</g>"]
    out += [text((at + 0.5) * column, bottom + LINE, "source", word) for at, word in enumerate(words)]
    return document(width, bottom + 2 * LINE, name, out)


class _Size(NamedTuple):
    """Pixels: the width of a word, where the rows begin, from one to the next, the height of a box."""

    column: float
    top: int
    pitch: int
    height: int


def _draw_box(box: Box, size: _Size, folded: bool) -> Iterable[str]:
    x, y = box.begin * size.column + _GAP / 2, size.top + box.row * size.pitch
    width = (box.end - box.begin) * size.column - _GAP
    group = '<g tabindex="0">' if folded else "<g>"  # Whoever has no mouse comes to it by the Tab key.
    yield (
        f"{group}<title>{safe(box.tip)}</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{size.height}" rx="4" fill="{box.fill}"{_opacity(box.shade)}/>'
    )
    for row, (kind, words) in enumerate(box.lines, start=1):
        yield text(x + width / 2, y + row * LINE, kind, shortened(words, width) if folded else words)
    yield "</g>"


def _draw_joints(boxes: Sequence[Box], joints: Sequence[Joint], size: _Size) -> Iterable[str]:
    """The dots of a box side by side along its lower edge, and their lines."""
    for number, joint in enumerate(joints, start=1):
        upper = boxes[joint.upper]
        place = number / (len(joints) + 1)
        x = (upper.begin + place * (upper.end - upper.begin)) * size.column
        y = size.top + upper.row * size.pitch + size.height + _GAP
        yield f'<g><title>{safe(joint.tip)}</title><circle cx="{x:.1f}" cy="{y}" r="3.5"/>'
        for at in joint.lower:
            below = boxes[at]
            to = (below.begin + below.end) / 2 * size.column
            yield f'<line x1="{x:.1f}" y1="{y}" x2="{to:.1f}" y2="{size.top + below.row * size.pitch}"/>'
        yield "</g>"


def _opacity(shade: float) -> str:
    return "" if shade >= 1.0 else f' fill-opacity="{shade:.2f}"'


def document(width: float, height: float, name: str, body: Iterable[str]) -> str:
    """A whole SVG document of so many pixels."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="scfg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{safe(name)}</title>",
            f"<style>{PICTURE_STYLE}</style>",
            *body,
            "</svg>\n",
        ]
    )


def text(x: float, y: float, kind: str, words: str) -> str:
    """A line of text centred at x, of a class."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.0f}">{safe(words)}</text>'


def safe(words: str) -> str:
    """The text as XML and HTML hold it, between tags or in quotes.

    >>> safe('<s>\\x01"')
    '&lt;s&gt;\\ufffd&quot;'
    """
    shown = (c if c in "\n\t" or (c >= " " and not _is_outside_xml(c)) else "\ufffd" for c in words)
    return escape("".join(shown), {'"': "&quot;"})


def _is_outside_xml(character: str) -> bool:
    return character in "\ufffe\uffff" or "\ud800" <= character <= "\udfff"


def text_width(words: str) -> float:
    """About how many pixels a text takes."""
    return sum(_WIDE if unicodedata.east_asian_width(c) in "WF" else _NARROW for c in words)


def shortened(words: str, width: float) -> str:
    """As much of a text as fits, with … behind it if that is not all.

    >>> shortened("abcdefgh", 50.0), shortened("abc", 50.0)
    ('abcd…', 'abc')
    """
    if text_width(words) <= width:
        return words
    end = 0
    while text_width(words[: end + 1] + "…") <= width:
        end += 1
    while end > 0 and unicodedata.category(words[end]).startswith("M"):  # Accents stay with their letter.
        end -= 1
    return words[:end] + "…"


def circled(number: int) -> str:
    """How pictures name nonterminal number 1, 2, …: a circled number, which tokenised text hardly has.

    >>> circled(2), circled(21)
    ('②', '21')
    """
    return chr(0x245F + number) if 0 < number <= 20 else str(number)
