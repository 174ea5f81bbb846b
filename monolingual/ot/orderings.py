"""Ordering relations: what an observed winner says of the constraints (Lin 2005, section 5.1, table 3).

A winner beats every other candidate c of its input: max of the constraints that prefer the winner to c >
max of those that prefer c. An ordering d is the conjunction of these; p(d) is the relative frequency of the
winner among all tokens. Candidates with the winner's own violations say nothing and give no conjunct.

An ordering that no ranking satisfies belongs to a harmonically bounded winner, which Stochastic OT gives
probability 0 (a winner may be bounded by several candidates together, none of which bounds it alone). Such
winners are named and left out.

The fact a newcomer would get wrong: constraints that no conjunct mentions are not in the ordering at all; the
tokens of the ordering say nothing about their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.ot.demotion import Pair, demote, is_consistent
from monolingual.ot.tableaux import Tableaux, candidate_name, identical_candidates

__all__ = [
    "Orderings",
    "bounded_candidates",
    "conjunct_texts",
    "conjuncts",
    "consistent_ranks",
    "derive_orderings",
    "idle_constraints",
    "pack_orderings",
    "problems",
    "simplified",
    "telling_conjuncts",
]


class Orderings(NamedTuple):
    """Orderings in flat arrays, for kernels.

    Attributes
    ----------
    count : int64, shape (D,)
        Tokens of each ordering.
    candidate : int64, shape (D,)
        The first winner that has it.
    active_start : int64, shape (D + 1,)
    active : int64, shape (A,)
        The constraints that ordering d mentions are active[active_start[d]:active_start[d + 1]], ascending.
    conjunct_start : int64, shape (D + 1,)
        The conjuncts of ordering d are rows conjunct_start[d], …, conjunct_start[d + 1] − 1.
    prefers_start : int64, shape (D,)
        Where the matrix of ordering d begins in `prefers`, conjuncts × active constraints.
    prefers : int8, shape (P,)
        1 where the constraint prefers the winner, −1 where it prefers the loser, else 0.
    constraints : int
        How many there are in all.
    """

    count: np.ndarray  # type: ignore[assignment]
    candidate: np.ndarray
    active_start: np.ndarray
    active: np.ndarray
    conjunct_start: np.ndarray
    prefers_start: np.ndarray
    prefers: np.ndarray
    constraints: int

    def pairs(self, ordering: int) -> list[Pair]:
        """The conjuncts of an ordering as pairs of sets of constraints."""
        active = self.active[self.active_start[ordering] : self.active_start[ordering + 1]]
        rows = self.conjunct_start[ordering + 1] - self.conjunct_start[ordering]
        begin = self.prefers_start[ordering]
        matrix = self.prefers[begin : begin + rows * len(active)].reshape(rows, len(active))
        return [(frozenset(active[row > 0].tolist()), frozenset(active[row < 0].tolist())) for row in matrix]


def conjuncts(tableaux: Tableaux, winner: int) -> list[tuple[int, Pair]]:
    """Each competitor of a candidate that differs from it, and what the constraints prefer.

    Returns
    -------
    list of (candidate, (constraints for the winner, constraints for the competitor))
    """
    index = int(tableaux.input_of()[winner])
    found = []
    for other in tableaux.candidates(index):
        difference = tableaux.violations[other] - tableaux.violations[winner]
        if difference.any():
            sides = (difference > 0, difference < 0)
            found.append((other, tuple(frozenset(np.flatnonzero(side).tolist()) for side in sides)))
    return found  # type: ignore[return-value]


def telling_conjuncts(tableaux: Tableaux, winner: int) -> tuple[Pair, ...]:
    """What `simplified` leaves of the conjuncts of a candidate, without making all of them.

    Inputs with footings have thousands of candidates, which say few different things.
    """
    index = int(np.searchsorted(tableaux.start, winner, side="right")) - 1
    candidates = tableaux.candidates(index)
    difference = tableaux.violations[candidates.start : candidates.stop] - tableaux.violations[winner]
    signs = np.unique(np.sign(difference).astype(np.int8), axis=0)
    signs = signs[(signs < 0).any(axis=1)]
    good, bad = signs > 0, signs < 0
    pairs = []
    for row in range(len(signs)):
        # It follows from those with no other constraint for the winner, and each of its own against it.
        stronger = ~(good & ~good[row]).any(axis=1) & ~(bad[row] & ~bad).any(axis=1)
        if stronger.sum() == 1:
            pairs.append((_members(good[row]), _members(bad[row])))
    return tuple(sorted(pairs, key=_in_order))


def _members(side: np.ndarray) -> frozenset[int]:
    return frozenset(np.flatnonzero(side).tolist())


def _in_order(pair: Pair) -> tuple[list[int], list[int]]:
    return sorted(pair[0]), sorted(pair[1])


def conjunct_texts(tableaux: Tableaux, winner: int) -> list[str]:
    """The ordering of a winner in the notation of table 3, one conjunct a competitor."""
    return [
        f"{_side(tableaux, sides[0])} > {_side(tableaux, sides[1])}"
        for _, sides in conjuncts(tableaux, winner)
    ]


def _side(tableaux: Tableaux, members: frozenset[int]) -> str:
    names = [tableaux.constraints[constraint] for constraint in sorted(members)]
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"max{{{', '.join(names)}}}"


def bounded_candidates(tableaux: Tableaux) -> list[int]:
    """The candidates that win under no ranking."""
    found = []
    for index in range(len(tableaux.inputs)):
        candidates = tableaux.candidates(index)
        violations = tableaux.violations[candidates.start : candidates.stop]
        different = np.unique(violations, axis=0)
        found += [
            candidate
            for candidate, own in zip(candidates, violations, strict=True)
            if not _can_win(own, different)
        ]
    return found


def _can_win(own: np.ndarray, others: np.ndarray) -> bool:
    """Whether demotion, as in `demote`, explains away all rows of violations that differ from one's own.

    With matrices instead of sets, because inputs with footings have hundreds of candidates.
    """
    better, worse = others > own, others < own
    worse = worse[is_open := (better | worse).any(axis=1)]
    better = better[is_open]
    while len(worse):
        # Constraints placed before are among these again, and explain nothing that is left.
        explained = better[:, ~worse.any(axis=0)].any(axis=1)
        if not explained.any():
            return False
        better, worse = better[~explained], worse[~explained]
    return True


def idle_constraints(tableaux: Tableaux) -> list[int]:
    """The constraints that tell no two candidates of an input apart."""
    starts = tableaux.start[:-1]
    least = np.minimum.reduceat(tableaux.violations, starts, axis=0)
    most = np.maximum.reduceat(tableaux.violations, starts, axis=0)
    return np.flatnonzero((least == most).all(axis=0)).tolist()


def problems(tableaux: Tableaux, bounded: Sequence[int] | None = None) -> list[str]:
    """What a learner of Stochastic OT should know of the tableaux, a sentence each; empty if nothing.

    Names observed winners that are harmonically bounded, candidates that nothing tells apart, and
    constraints that tell no candidates apart. Who has the `bounded_candidates` gives them.
    """
    found = []
    for candidate in bounded_candidates(tableaux) if bounded is None else bounded:
        if tableaux.frequency[candidate] > 0:
            found.append(
                f"{candidate_name(tableaux, candidate)} (frequency {tableaux.frequency[candidate]:g}) is "
                "harmonically bounded: it wins under no ranking, and is left out"
            )
    for group in identical_candidates(tableaux):
        names = ", ".join(candidate_name(tableaux, candidate) for candidate in group)
        found.append(f"these candidates have the same violations and share their probability: {names}")
    if idle := idle_constraints(tableaux):
        names = ", ".join(tableaux.constraints[constraint] for constraint in idle)
        found.append(f"no candidates differ in {names}, so the data say nothing about it")
    return found


def derive_orderings(tableaux: Tableaux, counts: Sequence[int] | np.ndarray) -> Orderings:
    """The orderings of the observed winners, equal ones counted together, impossible and empty ones left out.

    Parameters
    ----------
    tableaux : Tableaux
    counts : int64, shape (C,)
        How often each candidate was observed: `tableaux.token_counts`.
    """
    constraints = len(tableaux.constraints)
    found: dict[tuple[Pair, ...], list[int]] = {}
    for candidate in np.flatnonzero(np.asarray(counts)).tolist():
        if (kept := telling_conjuncts(tableaux, candidate)) and is_consistent(kept, constraints):
            entry = found.setdefault(kept, [candidate, 0])
            entry[1] += int(counts[candidate])
    return pack_orderings(
        [(pairs, count, candidate) for pairs, (candidate, count) in found.items()], constraints
    )


def pack_orderings(orderings: Iterable[tuple[Sequence[Pair], int, int]], constraints: int) -> Orderings:
    """Orderings given as (conjuncts, count, candidate), in flat arrays."""
    counts, candidates, actives, rows, blocks = [], [], [], [], []
    for pairs, count, candidate in orderings:
        active = sorted(frozenset().union(*(winner | loser for winner, loser in pairs)))
        matrix = np.zeros((len(pairs), len(active)), dtype=np.int8)
        for row, (winner, loser) in enumerate(pairs):
            matrix[row] = [(name in winner) - (name in loser) for name in active]
        counts.append(count)
        candidates.append(candidate)
        actives.append(active)
        rows.append(len(pairs))
        blocks.append(matrix.ravel())
    sizes = [len(block) for block in blocks]
    return Orderings(
        np.array(counts, dtype=np.int64),
        np.array(candidates, dtype=np.int64),
        _starts([len(active) for active in actives]),
        np.array([name for active in actives for name in active], dtype=np.int64),
        _starts(rows),
        _starts(sizes)[:-1],
        np.concatenate([*blocks, np.zeros(0, dtype=np.int8)]).astype(np.int8),
        constraints,
    )


def consistent_ranks(orderings: Orderings) -> np.ndarray:
    """For every active constraint of every ordering its stratum under demotion, float64 of shape (A,).

    The highest stratum is 0. Values that fall with the stratum satisfy the ordering.
    """
    ranks = np.zeros(len(orderings.active))
    for ordering in range(len(orderings.count)):
        strata = demote(orderings.pairs(ordering), orderings.constraints).strata
        level = {constraint: depth for depth, stratum in enumerate(strata) for constraint in stratum}
        for place in range(int(orderings.active_start[ordering]), int(orderings.active_start[ordering + 1])):
            ranks[place] = level[int(orderings.active[place])]
    return ranks


def simplified(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """The conjuncts that neither hold always nor follow from another one, in a fixed order."""
    unique = sorted({pair for pair in pairs if pair[1]}, key=_in_order)
    return tuple(
        pair
        for pair in unique
        if not any(other != pair and other[0] <= pair[0] and other[1] >= pair[1] for other in unique)
    )


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
