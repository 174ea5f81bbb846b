"""Trees of a file made ready to learn from, sentences to parse, and the way back.

The fact a newcomer would get wrong: what is known is decided by the training trees alone. `Preparation` goes
with the grammar, and everything that is parsed later goes through it.
"""

from __future__ import annotations

from typing import NamedTuple

from monolingual.tsg.transforms import binarise, clean, count_words, replace_rare, unbinarise
from monolingual.tsg.trees import Tree, leaves, read_trees, with_leaves
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import SettingsError, TreeError

__all__ = ["Preparation", "prepare_trees", "restore_tree"]


class Preparation(NamedTuple):
    """What is done to trees and words.

    Attributes
    ----------
    binarise : str
        `right` or `none`.
    unknown : str
        `signature` or `none`.
    rare : int
        Words seen at most so often become signatures.
    keep_annotation : bool
        Whether empty elements, function tags and indices stay.
    known : frozenset of str
        The words that stay words; empty without signatures.
    """

    binarise: str = "right"
    unknown: str = "signature"
    rare: int = 1
    keep_annotation: bool = False
    known: frozenset[str] = frozenset()

    def words(self, sentence: list[str]) -> list[str]:
        """The words of a sentence as the grammar knows them."""
        return sentence if self.unknown == "none" else replace_rare(sentence, self.known)


def prepare_trees(path: PathLike, preparation: Preparation) -> tuple[list[Tree], Preparation]:
    """The trees of a file, transformed, and the preparation with the words that are known.

    Parameters
    ----------
    path : path
    preparation : Preparation
        Its `known` is not read.

    Raises
    ------
    TreeError
        A tree cannot be read, or the file has none with words.
    SettingsError
        A setting is out of range.
    """
    _check(preparation)
    trees = []
    for tree, _ in read_trees(path):
        made = tree if preparation.keep_annotation else clean(tree)
        if made is not None:
            trees.append(made)
    if not trees:
        raise TreeError(path, None, "holds no tree", "Write bracketed trees, (S (NP (DT the) …) …)")
    if preparation.binarise == "right":
        trees = [binarise(tree) for tree in trees]
    if preparation.unknown == "none":
        return trees, preparation._replace(known=frozenset())
    counts = count_words(leaves(tree) for tree in trees)
    known = frozenset(word for word, count in counts.items() if count > preparation.rare)
    trees = [with_leaves(tree, replace_rare(leaves(tree), known)) for tree in trees]
    return trees, preparation._replace(known=known)


def restore_tree(tree: Tree, preparation: Preparation, sentence: list[str]) -> Tree:
    """A tree of a prepared sentence as it would stand in a treebank.

    Parameters
    ----------
    tree : Tree
    preparation : Preparation
    sentence : list of str
        The words as they were.
    """
    restored = with_leaves(tree, sentence)
    return unbinarise(restored) if preparation.binarise == "right" else restored


def _check(preparation: Preparation) -> None:
    if preparation.binarise not in ("right", "none"):
        raise SettingsError(f"--binarise is {preparation.binarise}; choose right or none")
    if preparation.unknown not in ("signature", "none"):
        raise SettingsError(f"--unknown is {preparation.unknown}; choose signature or none")
    if preparation.rare < 0:
        raise SettingsError(f"--rare is {preparation.rare}; it must be at least 0")
