"""Trees as SVG: labels above labels, lines between them, words at the bottom of their branches.

A node stands in the middle between its first child and its last. The fact a newcomer would get wrong: lines
are drawn from label to label, so that a node needs no box; boxes mark what is left open, where another tree
goes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from scfg_sampler.core.svg import LINE, document, safe, text, text_width

__all__ = ["DrawnTree", "draw_tree", "tree_of_brackets"]

_STEP = 44  # Pixels from one row of labels to the next.
_GAP = 14
_MARGIN = 6
_TOKENS = re.compile(r"[()]|[^\s()]+", re.ASCII)  # A no-break space is a part of a word.


class DrawnTree(NamedTuple):
    """A node of a picture with all below it.

    Attributes
    ----------
    label : str
    kind : str
        `node`, `word`, or in a box: `open`, a leaf where another tree goes, and `cut`, where one begins.
    children : tuple of DrawnTree
    colour : str
        Of the lines to these, as SVG spells colours; by default grey.
    """

    label: str
    kind: str = "node"
    children: tuple[DrawnTree, ...] = ()
    colour: str = ""


class _Placed(NamedTuple):
    """A node in the picture."""

    tree: DrawnTree
    x: float
    depth: int
    parent: int


def draw_tree(tree: DrawnTree, *, name: str) -> str:
    """The picture as a whole SVG document.

    Parameters
    ----------
    tree : DrawnTree
    name : str
        What a viewer shows as the name of the picture.

    >>> picture = draw_tree(DrawnTree("NP", children=(DrawnTree("dogs", "word"),)), name="a tree")
    >>> picture.count("<line"), picture.count("<text")
    (1, 2)
    """
    widths = _widths(tree)
    nodes = _placed(tree, widths)
    out = []
    for node in nodes:
        if node.parent >= 0:
            above = nodes[node.parent]
            out.append(
                f'<line x1="{above.x:.1f}" y1="{_base(above.depth) + 5}" '
                f'x2="{node.x:.1f}" y2="{_base(node.depth) - LINE + 3}"{_stroke(above.tree.colour)}/>'
            )
    for node in nodes:
        if node.tree.kind in ("open", "cut"):
            width = text_width(node.tree.label) + 8
            out.append(
                f'<rect x="{node.x - width / 2:.1f}" y="{_base(node.depth) - LINE + 3}" '
                f'width="{width:.1f}" height="{LINE + 3}" rx="4" fill="none"/>'
            )
        kind = "target" if node.tree.kind == "word" else "source"
        out.append(text(node.x, _base(node.depth), kind, node.tree.label))
    depth = max(node.depth for node in nodes)
    return document(widths[id(tree)] + 2 * _MARGIN, _base(depth) + 10, name, out)


def _stroke(colour: str) -> str:
    """What makes a line of a colour strong: a style, as the page's rules are stronger than attributes."""
    return f' style="stroke:{safe(colour)};stroke-opacity:1;stroke-width:2.5"' if colour else ""


def _base(depth: int) -> int:
    """Where the letters of a row stand."""
    return LINE + 4 + depth * _STEP


def _widths(tree: DrawnTree) -> dict[int, float]:
    """How many pixels each node takes with all below it, by its identity."""
    order, pending = [], [tree]
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(node.children)
    widths: dict[int, float] = {}
    for node in reversed(order):
        own = text_width(node.label) + _GAP
        widths[id(node)] = max(own, sum(widths[id(child)] for child in node.children))
    return widths


def _placed(tree: DrawnTree, widths: dict[int, float]) -> list[_Placed]:
    """All nodes, parents before their children."""
    nodes: list[_Placed] = []
    lefts: list[float] = []
    pending = [(tree, _MARGIN + 0.0, 0, -1)]
    while pending:
        node, left, depth, parent = pending.pop()
        width = widths[id(node)]
        here = len(nodes)
        nodes.append(_Placed(node, left + width / 2, depth, parent))
        lefts.append(left)
        below = sum(widths[id(child)] for child in node.children)
        at = left + (width - below) / 2
        for child in node.children:
            pending.append((child, at, depth + 1, here))
            at += widths[id(child)]
    return _above_children(nodes, lefts, widths)


def _above_children(nodes: list[_Placed], lefts: list[float], widths: dict[int, float]) -> list[_Placed]:
    """The nodes, each in the middle between its first child and its last, as far as its own place goes."""
    between: dict[int, list[float]] = {}
    for here in range(len(nodes) - 1, -1, -1):
        node, left = nodes[here], lefts[here]
        if here in between:
            own = (text_width(node.tree.label) + _GAP) / 2
            x = (min(between[here]) + max(between[here])) / 2
            x = min(max(x, left + own), left + widths[id(node.tree)] - own)
            nodes[here] = node._replace(x=x)
        between.setdefault(node.parent, []).append(nodes[here].x)
    return nodes


def tree_of_brackets(brackets: str) -> DrawnTree:
    """The tree of a text such as `(S (NP dogs) (VP ))`: what is in brackets alone is open.

    Raises
    ------
    ValueError
        The brackets are not those of one tree.

    >>> tree_of_brackets("(S (NP dogs) (VP ))").children[1]
    DrawnTree(label='VP', kind='open', children=(), colour='')
    """
    stack: list[list] = [[]]
    for token in _TOKENS.findall(brackets):
        if token == "(":
            stack.append([])
        elif token != ")":
            stack[-1].append(token if len(stack) > 1 and not stack[-1] else DrawnTree(token, "word"))
        elif len(stack) == 1 or not stack[-1] or not isinstance(stack[-1][0], str):
            raise ValueError(f"{safe(brackets)} is not a tree")
        else:
            label, *children = stack.pop()
            stack[-1].append(DrawnTree(label, "node" if children else "open", tuple(children)))
    if len(stack) != 1 or len(stack[0]) != 1 or stack[0][0].kind == "word":
        raise ValueError(f"{safe(brackets)} is not one tree")
    return stack[0][0]
