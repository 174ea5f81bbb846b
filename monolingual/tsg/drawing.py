"""Elementary trees and parses as SVG.

The fact a newcomer would get wrong: a frontier nonterminal is a Tree without children, and is drawn in a box.
"""

from __future__ import annotations

from monolingual.tsg.trees import Tree, fold
from scfg_sampler.core.tree_svg import DrawnTree, draw_tree

__all__ = ["draw_fragment"]


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
