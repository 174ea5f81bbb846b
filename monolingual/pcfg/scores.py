"""Unlabelled bracketing F1 of trees against gold trees of the same sentences.

A tree's brackets are the different spans of more than one word of its nodes (Klein and Manning 2004), the
whole sentence included; precision, recall and F1 are over all sentences together. The two may belong to
different grammars.

The fact a newcomer would get wrong: the brackets of a grammar that spells constituents piece by piece, as a
dependency model written as a PCFG does, are not all meant as constituents. A pattern chooses the labels that
are.
"""

from __future__ import annotations

import re
from array import array
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.encoded_text import read_encoded_lines
from monolingual.pcfg.grammar import Grammar
from monolingual.pcfg.tree_draws import Trees
from monolingual.pcfg.trees import spans
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError, TreeError

__all__ = [
    "Brackets",
    "Score",
    "brackets_among",
    "brackets_of",
    "read_brackets",
    "refuse_other_sentences",
    "score",
]

_TOKENS = re.compile(r"[()]|[^\s()]+", re.ASCII)
_SHIFT = 20
_MOST_WORDS, _MOST_TREES = (1 << _SHIFT) - 1, 1 << 63 - 2 * _SHIFT  # A key has so many bits for each.


class Brackets(NamedTuple):
    """The different brackets of some trees.

    Attributes
    ----------
    keys : int64, shape (brackets,)
        Tree, begin and end in one number, ascending.
    lengths : int64, shape (trees,)
        The number of words of each tree.
    """

    keys: np.ndarray
    lengths: np.ndarray


class Score(NamedTuple):
    """Precision, recall and F1, between 0 and 1."""

    precision: float
    recall: float
    f1: float


def brackets_of(grammar: Grammar, trees: Trees, labels: str = "") -> Brackets:
    """The brackets of trees.

    Parameters
    ----------
    grammar : Grammar
    trees : Trees
    labels : str
        A regular expression; only nodes whose label matches it as a whole count. Empty: all do.
    """
    found = spans(grammar, trees)
    counts = np.ones(len(found.tree), dtype=np.bool_)
    if labels:
        try:
            pattern = re.compile(labels)
        except re.error as error:
            raise SettingsError(
                f"--bracket-labels is {labels!r}, not a regular expression ({error})"
            ) from None
        wanted = np.array([pattern.fullmatch(name) is not None for name in grammar.nonterminals])
        counts = wanted[found.label]
    lengths = np.zeros(len(trees.start) - 1, dtype=np.int64)
    np.maximum.at(lengths, found.tree, found.end)
    counts &= found.end - found.begin > 1
    return Brackets(np.unique(_keys(found.tree[counts], found.begin[counts], found.end[counts])), lengths)


def read_brackets(path: PathLike, *, encoding: str = "utf-8") -> Brackets:
    """The brackets of a file of gold trees, one a line, of any labels; words stand without or with a label.

    Raises
    ------
    TreeError
        Names the line of a tree that is not closed, has more than a million words, or is one of too many.
    """
    keys, lengths = array("q"), array("q")
    for number, line in enumerate(read_encoded_lines(path, encoding), start=1):
        if not line.strip():
            continue
        length, stack, label_next = 0, [], False
        for token in _TOKENS.findall(line):
            if token == "(":
                stack.append(length)
                label_next = True
                continue
            if token == ")":
                if not stack:
                    raise TreeError(path, number, "a closing bracket too many", "One tree a line")
                begin = stack.pop()
                if length - begin > 1:
                    keys.append(len(lengths) << 2 * _SHIFT | begin << _SHIFT | length)
            elif not label_next:
                length += 1
            label_next = False
        if stack:
            raise TreeError(
                path,
                number,
                f"{counted(len(stack), 'bracket is', 'brackets are')} not closed",
                "One tree a line",
            )
        if length > _MOST_WORDS:
            raise TreeError(path, number, f"a tree of {length:,} words", f"{_MOST_WORDS:,} at most")
        lengths.append(length)
        if len(lengths) == _MOST_TREES:
            raise TreeError(path, number, f"{_MOST_TREES:,} trees", "Compare fewer at a time")
    return Brackets(np.unique(np.frombuffer(keys, np.int64)), np.frombuffer(lengths, np.int64))


def brackets_among(brackets: Brackets, kept: np.ndarray) -> Brackets:
    """The brackets of some of the trees, which stay in order.

    Parameters
    ----------
    brackets : Brackets
    kept : bool, shape (trees,)
    """
    tree, rest = brackets.keys >> 2 * _SHIFT, brackets.keys & (1 << 2 * _SHIFT) - 1
    number = np.cumsum(kept) - 1
    is_kept = kept[tree]
    return Brackets(number[tree[is_kept]] << 2 * _SHIFT | rest[is_kept], brackets.lengths[kept])


def score(found: Brackets, gold: Brackets) -> Score:
    """Precision, recall and F1 of brackets.

    Raises
    ------
    SettingsError
        The trees are not of the same sentences: their numbers or lengths differ.
    """
    refuse_other_sentences(found.lengths, gold)
    both = len(np.intersect1d(found.keys, gold.keys, assume_unique=True))
    precision, recall = (both / max(len(brackets.keys), 1) for brackets in (found, gold))
    return Score(precision, recall, 2 * precision * recall / max(precision + recall, 1e-300))


def refuse_other_sentences(lengths: np.ndarray, gold: Brackets) -> None:
    """Raise a SettingsError if gold trees are not of sentences with these numbers of words."""
    if not np.array_equal(lengths, gold.lengths):
        where = np.flatnonzero(lengths[: len(gold.lengths)] != gold.lengths[: len(lengths)])
        raise SettingsError(
            f"--gold has {counted(len(gold.lengths), 'tree')} for {counted(len(lengths), 'sentence')}; "
            "give one tree for each, in the same order"
            if len(lengths) != len(gold.lengths)
            else f"tree {where[0] + 1} of --gold has {counted(gold.lengths[where[0]], 'word')}, "
            f"the sentence {lengths[where[0]]}; give the trees of the same sentences, in the same order"
        )


def _keys(tree, begin, end) -> np.ndarray:
    return (np.asarray(tree, np.int64) << 2 * _SHIFT) | (np.asarray(begin, np.int64) << _SHIFT) | end
