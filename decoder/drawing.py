"""Derivations as SVG: every rule a box above the source words it covers.

A node of depth d is a box in row d, as wide as its span; spans of siblings are disjoint, so boxes never
overlap. Columns are as wide as the longest text that must fit into its box. A box holds the source side of
the rule, the target side, and what the rule adds to the score; pointing at it shows the features.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from decoder.derivations import spell

__all__ = ["draw_svg"]

_SIZE = 14  # Of the letters, pixels.
_NARROW, _WIDE = 8.5, 15.0  # Widths of a letter, generous; fonts differ.
_PADDING, _GAP, _LINE = 8, 6, 18
_FILLS = {"X": "#e8f1fb", "S": "#f3f3ee", "GOAL": "#f3f3ee"}
_STYLE = (
    f"text{{font:{_SIZE}px sans-serif;text-anchor:middle;white-space:pre}}"
    ".target{font-weight:bold}.score{fill:#666;font-size:12px}rect{stroke:#8899aa}"
)


def draw_svg(record: Mapping[str, Any], *, scores: bool = True) -> str:
    """The derivation of a record of `decoder.derivations` as a whole SVG document."""
    nodes, words = record["nodes"], record["source"]
    depths = [0] * len(nodes)
    for at, node in enumerate(nodes):
        for child in node["children"]:
            depths[child] = depths[at] + 1
    labels = [_labels(node, scores) for node in nodes]
    column = max([_width(word) for word in words], default=0.0) + 2 * _PADDING + _GAP
    for node, texts in zip(nodes, labels, strict=True):
        needed = max(_width(text) for _, text in texts) + 2 * _PADDING + _GAP
        column = max(column, needed / (node["span"][1] - node["span"][0]))
    box = _LINE * (3 if scores else 2) + _PADDING
    title = f"{record['translation']}  ({record['score']:.4f})"
    width = max(column * len(words), _width(title) + 2 * _PADDING)
    bottom = 2 * _LINE + (max(depths, default=-1) + 1) * (box + _GAP)
    height = bottom + 2 * _LINE
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<title>sentence {record['sentence']}</title>",
        f"<style>{_STYLE}</style>",
        _text(width / 2, _LINE, "target", title),
    ]
    for node, depth, texts in zip(nodes, depths, labels, strict=True):
        begin, end = node["span"]
        x, y = begin * column + _GAP / 2, 2 * _LINE + depth * (box + _GAP)
        shown = [f"{node['symbol']} {begin}–{end}"]
        shown += [f"{name} {value:.4g}" for name, value in node.get("features", {}).items()]
        out.append(
            "<g><title>" + _safe("\n".join(shown)) + "</title>"
            f'<rect x="{x:.1f}" y="{y}" width="{(end - begin) * column - _GAP:.1f}" height="{box}" rx="4" '
            f'fill="{_FILLS.get(node["symbol"], "#ffffff")}"/>'
        )
        for row, (kind, text) in enumerate(texts, start=1):
            out.append(_text((begin + end) / 2 * column, y + row * _LINE, kind, text))
        out.append("</g>")
    for at, word in enumerate(words):
        out.append(_text((at + 0.5) * column, bottom + _LINE, "source", word))
    return "\n".join([*out, "</svg>"]) + "\n"


def _labels(node: Mapping[str, Any], scores: bool) -> list[tuple[str, str]]:
    """The lines of a box: their classes and texts."""
    lines = [("source", spell(node["source"])), ("target", spell(node["target"]))]
    return [*lines, ("score", f"{node['score']:+.3f}")] if scores else lines


def _text(x: float, y: float, kind: str, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.0f}">{_safe(text)}</text>'


def _safe(text: str) -> str:
    """The text for XML, which cannot hold control characters."""
    shown = (c if c == "\n" or (c >= " " and c not in "\ufffe\uffff") else "\ufffd" for c in text)
    return escape("".join(shown))


def _width(text: str) -> float:
    """About how many pixels a text takes."""
    return sum(_WIDE if unicodedata.east_asian_width(c) in "WF" else _NARROW for c in text)
