"""Classical ranking: recursive constraint demotion (Tesar and Smolensky 1995).

A winner–loser pair says: the highest ranked of the constraints that tell the two apart prefers the winner.
As a conjunct of Stochastic OT, max W > max L, with W the constraints that prefer the winner and L those
that prefer the loser. Demotion puts into the first stratum every constraint that no remaining pair's L
contains, takes away the pairs whose W it meets, and goes on with what is left. Pairs remain if and only if
no ranking satisfies all.

The fact a newcomer would get wrong: the result is the stratified hierarchy with every constraint as high as
possible; constraints of one stratum may be ranked in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Demotion", "Pair", "demote", "is_consistent"]

Pair = tuple[frozenset[int], frozenset[int]]
"""The constraints that prefer the winner, and those that prefer the loser."""


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


def demote(pairs: Sequence[Pair], constraints: int) -> Demotion:
    """The stratified hierarchy of winner–loser pairs.

    Parameters
    ----------
    pairs : sequence of (frozenset, frozenset)
    constraints : int
        How many there are; they are 0, …, constraints − 1.

    >>> demote([(frozenset({2}), frozenset({0, 1})), (frozenset({0}), frozenset({1}))], 3).strata
    ((2,), (0,), (1,))
    """
    left, open_pairs = set(range(constraints)), list(range(len(pairs)))
    strata = []
    while left:
        blocked = {constraint for number in open_pairs for constraint in pairs[number][1]}
        stratum = left - blocked
        if not stratum:
            break
        strata.append(tuple(sorted(stratum)))
        left -= stratum
        open_pairs = [number for number in open_pairs if not pairs[number][0] & stratum]
    return Demotion(tuple(strata), tuple(open_pairs))


def is_consistent(pairs: Sequence[Pair], constraints: int) -> bool:
    """Whether some ranking satisfies all pairs."""
    return not demote(pairs, constraints).unresolved
