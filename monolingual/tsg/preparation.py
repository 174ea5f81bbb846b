"""Trees of a file made ready to learn from, sentences to parse, and the way back.

The fact a newcomer would get wrong: what is known is decided by the training trees alone. `Preparation` goes
with the grammar, and everything that is parsed later goes through it.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from monolingual.tsg.transforms import binarise, clean, replace_rare, unbinarise
from monolingual.tsg.trees import Tree, read_trees, with_leaves
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import SettingsError

__all__ = ["Preparation", "check_preparation", "prepared_tree", "read_prepared", "restore_tree", "with_known"]


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


def prepared_tree(tree: Tree, preparation: Preparation) -> Tree | None:
    """A tree cleaned and binarised; None if it has no words. Rare words are still themselves."""
    made = tree if preparation.keep_annotation else clean(tree)
    return binarise(made) if made is not None and preparation.binarise == "right" else made


def read_prepared(path: PathLike, preparation: Preparation) -> list[Tree]:
    """The trees of a file as `prepared_tree` makes them, those without words left out.

    Parameters
    ----------
    path : path
    preparation : Preparation

    Raises
    ------
    TreeError
        A tree cannot be read.
    """
    trees = (prepared_tree(tree, preparation) for tree, _ in read_trees(path))
    return [tree for tree in trees if tree is not None]


def with_known(preparation: Preparation, counts: Counter[str]) -> Preparation:
    """The preparation under which words seen at most `rare` times are signatures.

    Parameters
    ----------
    preparation : Preparation
    counts : Counter of str
        How often each word occurs.
    """
    return preparation._replace(
        known=frozenset(word for word, count in counts.items() if count > preparation.rare)
    )


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


def check_preparation(preparation: Preparation) -> None:
    """Raise a SettingsError if a setting is out of range."""
    if preparation.binarise not in ("right", "none"):
        raise SettingsError(f"--binarise is {preparation.binarise}; choose right or none")
    if preparation.unknown not in ("signature", "none"):
        raise SettingsError(f"--unknown is {preparation.unknown}; choose signature or none")
    if preparation.rare < 0:
        raise SettingsError(f"--rare is {preparation.rare}; it must be at least 0")
