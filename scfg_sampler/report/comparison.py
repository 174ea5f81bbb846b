"""Two rule tables side by side: which rules are in both, which in one alone, and what stands in for those.

A rule that the baseline has and the sample has not was possible all the same: its phrase pair is there, but
the derivations build it of other rules. `standing_in` shows which, at one place in the corpus where the rule
matches. The fact a newcomer would get wrong: a dropped rule is not a lost translation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.corpus.parallel_text import ParallelCorpus, pair_words
from scfg_sampler.learner.derivations import Derivation
from scfg_sampler.rules.table import RuleTable
from scfg_sampler.rules.text import Rule

__all__ = ["Occurrence", "Overlap", "compare_tables", "find_occurrence", "pairs_with_words", "standing_in"]

_SEPARATOR = -(2**20)
_MOST_WORDS = 12
"""Longest match of a rule that is looked for."""
_MOST_PAIRS = 300
"""Pairs that hold a rule's words and are looked at."""


class Overlap(NamedTuple):
    """Rows of two tables."""

    shared: np.ndarray
    """int64: rows of the first whose rule is in the second."""
    shared_in_other: np.ndarray
    """int64: rows of the second whose rule is in the first."""
    only: np.ndarray
    """int64: rows of the first alone, the highest count first."""
    only_other: np.ndarray
    """int64: rows of the second alone, the highest count first."""


def compare_tables(table: RuleTable, other: RuleTable) -> Overlap:
    """Which rules two tables share; a rule is its two sides, whatever its features.

    Parameters
    ----------
    table, other : RuleTable
        Of any vocabularies.
    """
    sizes = table.num_rules, other.num_rules
    starts, values = zip(_joined_sides(table, table), _joined_sides(other, table), strict=True)
    start = np.concatenate([starts[0], starts[1][1:] + starts[0][-1]])
    group = group_rows(start, np.concatenate(values))[0]
    number = int(group.max(initial=-1)) + 1
    here, there = (np.bincount(part, minlength=number) > 0 for part in (group[: sizes[0]], group[sizes[0] :]))
    in_other, in_table = there[group[: sizes[0]]], here[group[sizes[0] :]]
    return Overlap(
        np.flatnonzero(in_other),
        np.flatnonzero(in_table),
        _by_count(table, np.flatnonzero(~in_other)),
        _by_count(other, np.flatnonzero(~in_table)),
    )


def _by_count(table: RuleTable, rows: np.ndarray) -> np.ndarray:
    return rows[np.argsort(-table.count[rows], kind="stable")]


def _joined_sides(table: RuleTable, names: RuleTable) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of each rule as one row, words numbered as in `names` and, where it has them not, behind."""
    sides = []
    for symbols, own, common in (
        (table.source, table.source_vocabulary, names.source_vocabulary),
        (table.target, table.target_vocabulary, names.target_vocabulary),
    ):
        known = [common.id(word) for word in own.words]
        ids = np.array([id if id >= 0 else len(common) + k for k, id in enumerate(known)], np.int32)
        sides.append(np.where(symbols >= 0, ids[np.maximum(symbols, 0)], symbols) if len(ids) else symbols)
    lengths = np.diff(table.source_start), np.diff(table.target_start)
    start = np.zeros(table.num_rules + 1, np.int64)
    np.cumsum(lengths[0] + lengths[1] + 1, out=start[1:])
    values = np.full(start[-1], _SEPARATOR, np.int32)
    for side, length, before, own_start in (
        (sides[0], lengths[0], start[:-1], table.source_start),
        (sides[1], lengths[1], start[:-1] + lengths[0] + 1, table.target_start),
    ):
        values[np.repeat(before - own_start[:-1], length) + np.arange(len(side))] = side
    return start, values


# ---- Where a rule matches --------------------------------------------------------------------------


class Occurrence(NamedTuple):
    """A place where a rule could be used."""

    sentence: int
    source: tuple[int, int]
    target: tuple[int, int]


def find_occurrence(corpus: ParallelCorpus, rule: Rule) -> Occurrence | None:
    """The first place where a rule's phrase pair, and those in its gaps, agree with the alignment.

    Parameters
    ----------
    corpus : ParallelCorpus
    rule : Rule
    """
    for sentence in pairs_with_words(corpus, rule)[:_MOST_PAIRS].tolist():
        source, target = pair_words(corpus, sentence)
        begin, end = corpus.link_start[sentence : sentence + 2]
        links = [(i, j) for i, j in corpus.links[begin:end].tolist()]
        targets = list(_matches(rule.target, target))
        for one in _matches(rule.source, source):
            for other in targets:
                spans = zip([one.span, *one.gaps], [other.span, *other.gaps], strict=True)
                if all(_agree(links, *pair) for pair in spans):
                    return Occurrence(sentence, one.span, other.span)
    return None


def pairs_with_words(corpus: ParallelCorpus, rule: Rule) -> np.ndarray:
    """The pairs that hold all words of a rule, in order; int64.

    Parameters
    ----------
    corpus : ParallelCorpus
    rule : Rule
    """
    found: np.ndarray | None = None
    for side, start, symbols, vocabulary in (
        (rule.source, corpus.source_start, corpus.source, corpus.source_vocabulary),
        (rule.target, corpus.target_start, corpus.target, corpus.target_vocabulary),
    ):
        for word in {symbol for symbol in side if isinstance(symbol, str)}:
            places = np.flatnonzero(symbols == vocabulary.id(word))
            here = np.unique(np.searchsorted(start, places, side="right") - 1)
            found = here if found is None else np.intersect1d(found, here, assume_unique=True)
    return np.arange(corpus.num_sentences) if found is None else found


class _Match(NamedTuple):
    span: tuple[int, int]
    gaps: list[tuple[int, int]]
    """In the order of their numbers."""


def _matches(side: Sequence[str | int], words: Sequence[str]) -> Iterator[_Match]:
    """The places where a side of a rule matches, shortest gaps first."""
    for begin in range(len(words)):
        stack: list[tuple[int, int, tuple]] = [(0, begin, ())]
        while stack:
            k, at, gaps = stack.pop()
            if k == len(side):
                yield _Match((begin, at), [span for _, span in sorted(gaps)])
                continue
            symbol = side[k]
            if isinstance(symbol, str):
                if at < len(words) and words[at] == symbol:
                    stack.append((k + 1, at + 1, gaps))
                continue
            longest = min(len(words), begin + _MOST_WORDS)
            stack += [(k + 1, end, (*gaps, (-symbol, (at, end)))) for end in range(longest, at, -1)]


def _agree(links: Sequence[tuple[int, int]], source: tuple[int, int], target: tuple[int, int]) -> bool:
    """Whether two spans are a phrase pair: linked, and to nothing outside."""
    inside = [(source[0] <= i < source[1], target[0] <= j < target[1]) for i, j in links]
    return any(one and other for one, other in inside) and all(one == other for one, other in inside)


def standing_in(derivation: Derivation, place: Occurrence) -> list[Derivation]:
    """The rules of a derivation that build a place: those from the lowest node above it on down.

    Parameters
    ----------
    derivation : Derivation
        Of the pair of the place.
    place : Occurrence
    """
    top = derivation
    while True:
        below = [part for part in top.parts if _covers(part, place.source)]
        if not below:
            break
        top = below[0]
    found, stack = [], [top]
    while stack:
        node = stack.pop()
        if node.source[0] < place.source[1] and place.source[0] < node.source[1]:
            found.append(node)
            stack += reversed(node.parts)
    return found


def _covers(node: Derivation, span: tuple[int, int]) -> bool:
    return node.source[0] <= span[0] and span[1] <= node.source[1]
