"""Derivations as SVG: every rule a box above the source words it covers.

A node of depth d is a box in row d, as wide as its span; spans of siblings are disjoint, so boxes never
overlap. A box holds the source side of the rule, the target side, and what the rule adds to the score;
pointing at it shows the features. Rules without words that put parts side by side (GOAL, S) have no boxes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decoder.translation.derivations import spell
from scfg_sampler.core.svg import Box, span_diagram

__all__ = ["draw_svg"]

_FILLS = {"X": "#e8f1fb"}
_GLUE = ("GOAL", "S")


def draw_svg(record: Mapping[str, Any], *, scores: bool = True) -> str:
    """The derivation of a record of `decoder.translation.derivations` as a whole SVG document."""
    nodes = record["nodes"]
    depths = [0] * len(nodes)
    for at, node in enumerate(nodes):
        for child in node["children"]:
            depths[child] = depths[at] + (node["symbol"] not in _GLUE)
    boxes = []
    for node, depth in zip(nodes, depths, strict=True):
        if node["symbol"] in _GLUE:
            continue
        begin, end = node["span"]
        shown = [f"{node['symbol']} {begin}–{end}"]
        shown += [f"{name} {value:.4g}" for name, value in node.get("features", {}).items()]
        fill = _FILLS.get(node["symbol"], "#ffffff")
        boxes.append(Box(begin, end, depth, _labels(node, scores), "\n".join(shown), fill))
    return span_diagram(
        record["source"],
        boxes,
        name=f"sentence {record['sentence']}",
        title=f"{record['translation']}  ({record['score']:.4f})",
    )


def _labels(node: Mapping[str, Any], scores: bool) -> tuple[tuple[str, str], ...]:
    """The lines of a box: their classes and texts."""
    lines = (("source", spell(node["source"])), ("target", spell(node["target"])))
    return (*lines, ("score", f"{node['score']:+.3f}")) if scores else lines
