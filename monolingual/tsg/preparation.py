"""Trees of a file made ready to learn from, sentences to parse, and the way back.

The fact a newcomer would get wrong: what is known is decided by the training trees alone. `Preparation` goes
with the grammar, and everything that is parsed later goes through it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from monolingual.tsg.head_rules import ENGLISH, Search, read_rules
from monolingual.tsg.markov import BINARISE, Form, binarise, plain, tag_of, unbinarise
from monolingual.tsg.stored import StoredTrees
from monolingual.tsg.transforms import clean, replace_rare
from monolingual.tsg.trees import Tree, read_trees, with_leaves
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import SettingsError

__all__ = [
    "Preparation",
    "check_preparation",
    "head_rules",
    "plain_tree",
    "prepared_tree",
    "read_prepared",
    "restore_tree",
    "with_known",
    "without_orders",
]


class Preparation(NamedTuple):
    """What is done to trees and words.

    Attributes
    ----------
    binarise : str
        One of `markov.BINARISE`.
    horizontal, vertical : int
        How many siblings and ancestors labels name: see `markov.Form`.
    heads : str
        `english`, or a file of rules for heads, where trees are binarised by them.
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
    horizontal: int = 0
    vertical: int = 1
    heads: str = "english"
    unknown: str = "signature"
    rare: int = 1
    keep_annotation: bool = False
    known: frozenset[str] = frozenset()

    @property
    def form(self) -> Form:
        """How trees are binarised, and what their labels name."""
        return Form(self.binarise, self.horizontal, self.vertical)

    def words(self, sentence: list[str]) -> list[str]:
        """The words of a sentence as the grammar knows them."""
        return sentence if self.unknown == "none" else replace_rare(sentence, self.known)

    def tags(self, labels: list[str]) -> list[str]:
        """The labels above the words of a sentence as the grammar has them."""
        return [tag_of(label, self.vertical) for label in labels]


def prepared_tree(
    tree: Tree, preparation: Preparation, heads: Mapping[str, Sequence[Search]] = ENGLISH
) -> Tree | None:
    """A tree cleaned and binarised; None if it has no words. Rare words are still themselves."""
    made = tree if preparation.keep_annotation else clean(tree)
    return None if made is None else binarise(made, preparation.form, heads)


def head_rules(preparation: Preparation) -> Mapping[str, Sequence[Search]]:
    """The rules for heads that trees are binarised by.

    Raises
    ------
    InputError
        Their file cannot be read, or holds none.
    """
    is_theirs = preparation.binarise == "head" and preparation.heads != "english"
    return read_rules(preparation.heads) if is_theirs else ENGLISH


def read_prepared(path: PathLike, preparation: Preparation) -> StoredTrees:
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
    rules = head_rules(preparation)
    trees = (prepared_tree(tree, preparation, rules) for tree, _ in read_trees(path))
    return StoredTrees(tree for tree in trees if tree is not None)


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
    return unbinarise(with_leaves(tree, sentence), preparation.form)


def plain_tree(tree: Tree, preparation: Preparation) -> Tree:
    """A tree of a prepared sentence with nothing in its labels but what `Form()` gives them."""
    return plain(tree, preparation.form)


def without_orders(preparation: Preparation) -> Preparation:
    """The preparation whose trees `plain_tree` makes."""
    return preparation._replace(
        binarise="none" if preparation.binarise == "none" else "right", horizontal=0, vertical=1
    )


def check_preparation(preparation: Preparation) -> None:
    """Raise a SettingsError if a setting is out of range."""
    if preparation.binarise not in BINARISE:
        raise SettingsError(f"--binarise is {preparation.binarise}; choose from {', '.join(BINARISE)}")
    if preparation.horizontal < -1:
        raise SettingsError(f"--horizontal is {preparation.horizontal}; it must be at least 0, or -1 for all")
    if preparation.vertical < 1:
        raise SettingsError(f"--vertical is {preparation.vertical}; it must be at least 1")
    if preparation.unknown not in ("signature", "none"):
        raise SettingsError(f"--unknown is {preparation.unknown}; choose signature or none")
    if preparation.rare < 0:
        raise SettingsError(f"--rare is {preparation.rare}; it must be at least 0")
