"""Elementary trees, parses, and trees that are split into elementary ones, as SVG.

The fact a newcomer would get wrong: a frontier nonterminal is a Tree without children, and is drawn in a box.
"""

from __future__ import annotations

from monolingual.tsg.derivations import SplitTree
from monolingual.tsg.trees import Tree, fold
from scfg_sampler.core.tree_svg import DrawnTree, draw_tree

__all__ = ["draw_fragment", "draw_split"]

_COLOURS = ("#2f7ed8", "#d9822b", "#2e9e5b", "#b4569f")
"""Of elementary trees that are deeper than a production; to be told apart on white and on dark paper."""


def draw_fragment(fragment: Tree, *, name: str) -> str:
    """The picture of an elementary tree, or of a whole one, as a whole SVG document.

    Parameters
    ----------
    fragment : Tree
    name : str
        What a viewer shows as the name of the picture.

    >>> draw_fragment(Tree("VP", (Tree("VBZ", ("gives",)), Tree("NP", ()))), name="VP").count("<rect")
    1
    """

    def combine(label: str, parts: list[DrawnTree]) -> DrawnTree:
        return DrawnTree(label, "node" if parts else "open", tuple(parts))

    return draw_tree(fold(fragment, combine, lambda word: DrawnTree(word, "word")), name=name)


def draw_split(split: SplitTree, *, name: str) -> str:
    """The picture of a whole tree: boxes where it is cut, and the lines of an elementary tree in one colour.

    Those of a single production are grey, as the treebank has them already.

    Parameters
    ----------
    split : SplitTree
    name : str
        What a viewer shows as the name of the picture.

    >>> tree = Tree("S", (Tree("NP", (Tree("NN", ("dogs",)),)), Tree("VP", ("bark",))))
    >>> picture = draw_split(SplitTree(tree, (True, False, False, True)), name="dogs bark")
    >>> picture.count("<rect"), picture.count("stroke:#2f7ed8")  # S and VP; S to NP, NN, dogs, and to VP.
    (2, 4)
    """
    nodes, parents, heads = _listed(split)
    deep = {head for at, head in enumerate(heads) if at != head and not isinstance(nodes[at], str)}
    colours: dict[int, str] = {}
    for at, head in enumerate(heads):
        if at == head and at in deep:
            above = colours[heads[parents[at]]] if at else ""
            free = [colour for colour in _COLOURS if colour != above]
            colours[at] = free[len(colours) % len(free)]
        elif at == head:
            colours[at] = ""
    drawn: list[list[DrawnTree]] = [[] for _ in nodes]
    for at in range(len(nodes) - 1, -1, -1):
        node, head = nodes[at], heads[at]
        if isinstance(node, str):
            shown = DrawnTree(node, "word")
        else:
            kind = "cut" if at == head else "node"
            shown = DrawnTree(node.label, kind, tuple(reversed(drawn[at])), colours[head])
        if at == 0:
            return draw_tree(shown, name=name)
        drawn[parents[at]].append(shown)
    raise AssertionError("a tree has a root")


def _listed(split: SplitTree) -> tuple[list[Tree | str], list[int], list[int]]:
    """Constituents and words in preorder, their parents, and the roots of their elementary trees."""
    cuts = iter(split.cuts)
    nodes: list[Tree | str] = []
    parents: list[int] = []
    heads: list[int] = []
    pending: list[tuple[Tree | str, int]] = [(split.tree, -1)]
    while pending:
        node, parent = pending.pop()
        at = len(nodes)
        nodes.append(node)
        parents.append(parent)
        if isinstance(node, str):
            heads.append(heads[parent])
            continue
        heads.append(at if next(cuts) else heads[parent])
        pending.extend((child, at) for child in reversed(node.children))
    return nodes, parents, heads
