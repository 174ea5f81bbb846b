"""Whole trees of a treebank with the places where a chain has split them into elementary trees.

The fact a newcomer would get wrong: the root of a tree is the root of an elementary tree, too, and a cut node
is in two of them, open at the bottom of the upper one and the root of the lower one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from monolingual.tsg.corpus import Corpus
from monolingual.tsg.packed import tree_of_edges
from monolingual.tsg.treebank import Treebank
from monolingual.tsg.trees import Tree

__all__ = ["SplitTree", "split_trees"]


class SplitTree(NamedTuple):
    """A tree, and which of its constituents are cut.

    Attributes
    ----------
    tree : Tree
        As it was learnt from: binarised, rare words replaced.
    cuts : tuple of bool
        In preorder, the root first, which counts as cut.
    """

    tree: Tree
    cuts: tuple[bool, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the tree."""
        found: list[str] = []
        pending: list[Tree | str] = [self.tree]
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                found.append(node)
            else:
                pending.extend(reversed(node.children))
        return tuple(found)


def split_trees(corpus: Corpus, treebank: Treebank, codes: np.ndarray) -> Iterator[SplitTree]:
    """The trees of a state of the chain, in the order of the treebank.

    Parameters
    ----------
    corpus : Corpus
    treebank : Treebank
        Of this corpus.
    codes : uint16 (N,)
        As in `sampler.TsgState`: edge × 2 + cut bit of each node, in preorder.
    """
    starts = treebank.node_start.tolist()
    trees = len(corpus.trees)
    for number in range(trees + len(corpus.forests)):
        here = codes[starts[number] : starts[number + 1]]
        if number < trees:
            tree = corpus.trees[number]
        else:
            tree = tree_of_edges(corpus.forests[number - trees], (here >> 1).tolist())
        cuts = (here[: _size(tree)] & 1).astype(bool).tolist()
        yield SplitTree(tree, (True, *cuts[1:]))


def _size(tree: Tree) -> int:
    """How many constituents a tree has."""
    size, pending = 0, [tree]
    while pending:
        node = pending.pop()
        size += 1
        pending.extend(child for child in node.children if not isinstance(child, str))
    return size
