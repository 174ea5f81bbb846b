"""Classical ranking: recursive constraint demotion (Tesar and Smolensky 1995).

A winner–loser pair says: the highest ranked of the constraints that tell the two apart prefers the winner.
As a conjunct of Stochastic OT, max W > max L, with W the constraints that prefer the winner and L those
that prefer the loser. Demotion puts into the first stratum every constraint that no remaining pair's L
contains, takes away the pairs whose W it meets, and goes on with what is left. Pairs remain if and only if
no ranking satisfies all.

The fact a newcomer would get wrong: the result is the stratified hierarchy with every constraint as high as
possible; constraints of one stratum may be ranked in any order. Learners that are biased place fewer of the
constraints that could be placed (`biased_demotion.py`), and satisfy the same pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["Chooser", "Demotion", "Pair", "blocked", "demote", "is_consistent"]

Pair = tuple[frozenset[int], frozenset[int]]
"""The constraints that prefer the winner, and those that prefer the loser."""
Chooser = Callable[[set[int], set[int], list[Pair]], set[int]]
"""Which of the constraints that can be placed are, given these, all that are left and the pairs left."""


class Demotion(NamedTuple):
    """What demotion comes to.

    Attributes
    ----------
    strata : tuple of tuples of int
        Constraints, the highest first; all of them when the pairs are consistent.
    unresolved : tuple of int
        Which pairs no ranking satisfies together; empty when they are consistent.
    """

    strata: tuple[tuple[int, ...], ...]
    unresolved: tuple[int, ...]


def blocked(pairs: Sequence[Pair]) -> set[int]:
    """The constraints that cannot be placed next: those that prefer the loser of some pair."""
    return {constraint for _, loser in pairs for constraint in loser}


def demote(pairs: Sequence[Pair], constraints: int, choose: Chooser | None = None) -> Demotion:
    """The stratified hierarchy of winner–loser pairs.

    Parameters
    ----------
    pairs : sequence of (frozenset, frozenset)
    constraints : int
        How many there are; they are 0, …, constraints − 1.
    choose : function, optional
        Which of the constraints that can be placed make the next stratum, at least one; by default all.

    >>> demote([(frozenset({2}), frozenset({0, 1})), (frozenset({0}), frozenset({1}))], 3).strata
    ((2,), (0,), (1,))
    """
    left, open_pairs = set(range(constraints)), list(range(len(pairs)))
    strata = []
    while left:
        still = [pairs[number] for number in open_pairs]
        stratum = left - blocked(still)
        if not stratum:
            break
        if choose is not None:
            stratum = choose(stratum, left, still)
        strata.append(tuple(sorted(stratum)))
        left -= stratum
        open_pairs = [number for number in open_pairs if not pairs[number][0] & stratum]
    return Demotion(tuple(strata), tuple(open_pairs))


def is_consistent(pairs: Sequence[Pair], constraints: int) -> bool:
    """Whether some ranking satisfies all pairs."""
    return not demote(pairs, constraints).unresolved
