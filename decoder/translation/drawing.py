"""Derivations as SVG: every rule a box above the source words it covers.

A box stands in the row of its depth, as wide as the node's span; spans of siblings are disjoint, so boxes
never overlap. A box holds the source side of the rule, the target side, and what the rule adds to the score;
pointing at it shows the features. The more probable it is that the rule is used there, the more of its
colour the box has.

The fact a newcomer would get wrong: the decoder's own rules that put parts side by side (GOAL, S) have no
boxes; rules of a table for a label of the same name have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from decoder.translation.derivations import spell
from scfg_sampler.core.svg import Box, span_diagram

__all__ = ["draw_svg"]

_FILL = "#c4dcf5"
_BEGIN = ("S", [1], [1])
"""What begins a row of parts: the part below it may be a label S of the table."""
_GLUE = (("GOAL", [1], [1]), ("S", [1, 2], [1, 2]), _BEGIN)
"""Symbols and sides of the decoder's own rules."""
_LEAST = 0.12
"""Of its colour, for a rule that is hardly ever used there."""


def draw_svg(record: Mapping[str, Any], *, scores: bool = True) -> str:
    """The derivation of a record of `decoder.translation.derivations` as a whole SVG document."""
    nodes = record["nodes"]
    glue = _glue(nodes)
    depths = [0] * len(nodes)
    for at, node in enumerate(nodes):
        for child in node["children"]:
            depths[child] = depths[at] + (at not in glue)
    boxes = []
    for at, (node, depth) in enumerate(zip(nodes, depths, strict=True)):
        if at in glue:
            continue
        begin, end = node["span"]
        shown = [f"{node['symbol']} {begin}–{end}"]
        shown += [f"{name} {value:.4g}" for name, value in node.get("features", {}).items()]
        shade = max(_LEAST, min(1.0, node.get("posterior", 1.0)))
        boxes.append(Box(begin, end, depth, _labels(node, scores), "\n".join(shown), _FILL, shade))
    return span_diagram(
        record["source"],
        boxes,
        name=f"sentence {record['sentence']}",
        title=f"{record['translation']}  ({record['score']:.4f})",
    )


def _glue(nodes: Sequence[Mapping[str, Any]]) -> set[int]:
    """The decoder's own glue: the root, its first part, the first part of that, up to where a row begins."""
    found: set[int] = set()
    at = 0
    while at < len(nodes):
        rule = (nodes[at]["symbol"], nodes[at]["source"], nodes[at]["target"])
        if rule not in _GLUE:
            break
        found.add(at)
        if rule == _BEGIN or not nodes[at]["children"]:
            break
        at = nodes[at]["children"][0]
    return found


def _labels(node: Mapping[str, Any], scores: bool) -> tuple[tuple[str, str], ...]:
    """The lines of a box: their classes and texts."""
    lines = (("source", spell(node["source"])), ("target", spell(node["target"])))
    return (*lines, ("score", f"{node['score']:+.3f}")) if scores else lines
