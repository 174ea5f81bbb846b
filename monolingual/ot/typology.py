"""Factorial typology: every language that some ranking of the constraints gives (Prince and Smolensky 1993).

A language is a choice of one output for each input. It is possible if the winner–loser pairs of all its
winners are consistent, so languages are built up input by input, and what is inconsistent already is never
made longer: all N! rankings are accounted for without trying them.

Its *share* is that of all rankings that give it (its r-volume, Riggle 2010): how often it comes out if
constraints are ranked at random. Rankings are counted from the top: the number of ways to rank what is not
in a set S of constraints that stand above is the sum, over the constraints that no pair forbids to come
next, of the ways after S with that one. Languages share all rankings between them, so the shares sum to 1.

An *implication* (T-order, Anttila and Andrus 2006) holds if every language with output a for input A has
output b for input B.

The fact a newcomer would get wrong: candidates of one input with the same violations win together. They are
one output here, named by the first.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from monolingual.ot.demotion import Pair, is_consistent
from monolingual.ot.orderings import telling_conjuncts
from monolingual.ot.tableaux import Tableaux, identical_candidates
from scfg_sampler.errors import InputError

__all__ = ["MOST_COUNTED", "MOST_LANGUAGES", "Language", "Typology", "factorial_typology", "ranking_share"]

MOST_LANGUAGES = 100_000
MOST_COUNTED = 16
"""Of so many constraints rankings are counted."""


class Language(NamedTuple):
    """A language that some ranking gives.

    Attributes
    ----------
    winners : tuple of I int
        The candidate that wins, for each input.
    pairs : tuple of Pair
        What its winners say of the constraints, and what was given, without repetitions.
    share : Fraction or None
        Of all rankings that have what was given, those that give it; None if there are too many constraints
        to count.
    """

    winners: tuple[int, ...]
    pairs: tuple[Pair, ...]
    share: Fraction | None


class Typology(NamedTuple):
    """All languages, those of most rankings first, and what holds in all of them.

    Attributes
    ----------
    languages : tuple of Language
    never : tuple of int
        Candidates that win in none.
    implications : tuple of (int, int)
        Candidates a and b of different inputs such that b wins wherever a does. Left out where b always wins.
    """

    languages: tuple[Language, ...]
    never: tuple[int, ...]
    implications: tuple[tuple[int, int], ...]


def factorial_typology(
    tableaux: Tableaux, most: int = MOST_LANGUAGES, above: Sequence[tuple[int, int]] = ()
) -> Typology:
    """The languages of all rankings, or of those that have some constraints above others.

    Parameters
    ----------
    tableaux : Tableaux
        Frequencies are not looked at.
    most : int
        So many languages are listed.
    above : sequence of (int, int)
        Constraints of which the first is above the second in all rankings; some ranking has them so.

    Raises
    ------
    InputError
        There are more languages.
    """
    size = len(tableaux.constraints)
    first = {other: group[0] for group in identical_candidates(tableaux) for other in group}
    given = frozenset((frozenset({high}), frozenset({low})) for high, low in above)
    partial: list[tuple[tuple[int, ...], frozenset[Pair]]] = [((), given)]
    for index in range(len(tableaux.inputs)):
        options = []
        for candidate in tableaux.candidates(index):
            pairs = frozenset(telling_conjuncts(tableaux, candidate))
            if first.get(candidate, candidate) == candidate and is_consistent(list(pairs), size):
                options.append((candidate, pairs))
        partial = [
            ((*winners, candidate), both)
            for winners, known in partial
            for candidate, pairs in options
            if is_consistent(list(both := known | pairs), size)
        ]
        if len(partial) > most:
            hint = "Leave out inputs, or constraints"
            raise InputError(None, None, f"rankings give more than {most} languages", hint)
    languages = [_language(winners, pairs, given) for winners, pairs in partial]
    languages.sort(key=lambda language: (-(language.share or 0), language.winners))
    won = {winner for language in languages for winner in language.winners}
    never = tuple(
        candidate for candidate in range(len(tableaux.outputs)) if first.get(candidate, candidate) not in won
    )
    return Typology(tuple(languages), never, _implications(languages))


def ranking_share(pairs: Sequence[Pair]) -> Fraction:
    """The share of all rankings that satisfy some pairs; constraints in none of them change nothing.

    Of more than 20 constraints the numbers are too large to count.

    >>> ranking_share([(frozenset({0, 1}), frozenset({2}))])
    Fraction(2, 3)
    """
    active = sorted(frozenset[int]().union(*(winner | loser for winner, loser in pairs)))
    bit = {constraint: 1 << place for place, constraint in enumerate(active)}
    size = len(active)
    above = np.arange(1 << size)  # All sets, as bits.
    forbidden = above.copy()
    for winner, loser in pairs:
        has_none = above & sum(bit[c] for c in winner) == 0
        forbidden[has_none] |= sum(bit[c] for c in loser)
    ways = np.zeros(1 << size, dtype=np.int64)  # Of a set that stands above, the ways to rank the others.
    ways[-1] = 1
    for sets in _by_size(size):
        blocked = forbidden[sets]
        for place in range(size):
            ways[sets] += np.where(blocked >> place & 1, 0, ways[sets | 1 << place])
    return Fraction(int(ways[0]), math.factorial(size))


@functools.lru_cache(maxsize=2)
def _by_size(size: int) -> list[np.ndarray]:
    """The sets of so many constraints but the whole one, those of a size together, the largest first."""
    number = np.bitwise_count(np.arange(1 << size))
    return [np.flatnonzero(number == members) for members in range(size - 1, -1, -1)]


def _language(winners: tuple[int, ...], pairs: frozenset[Pair], given: frozenset[Pair]) -> Language:
    ordered = tuple(sorted(pairs, key=lambda pair: (sorted(pair[0]), sorted(pair[1]))))
    active = frozenset[int]().union(*(winner | loser for winner, loser in pairs))
    share = None
    if len(active) <= MOST_COUNTED:
        share = ranking_share(ordered) / ranking_share(tuple(given))
    return Language(winners, ordered, share)


def _implications(languages: Sequence[Language]) -> tuple[tuple[int, int], ...]:
    """Winners a, b of different inputs such that b wins wherever a does, and not everywhere."""
    where: dict[tuple[int, int], int] = {}  # From input and winner to the languages, as bits.
    for number, language in enumerate(languages):
        for place, winner in enumerate(language.winners):
            where[place, winner] = where.get((place, winner), 0) | 1 << number
    everywhere = (1 << len(languages)) - 1
    return tuple(
        (a, b)
        for ((first, a), these), ((second, b), those) in itertools.permutations(sorted(where.items()), 2)
        if first != second and those != everywhere and these & ~those == 0
    )
