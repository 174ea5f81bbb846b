"""Categorical domination: sets of constraints that the data would demote without end.

Demoting a set S to −∞ changes a conjunct max W > max L of an observed ordering

- not at all, if W ∪ L is inside S or outside of it;
- for the better, if no member of W is in S, or if all of L and not all of W is in S: it then holds more
  often, or always;
- otherwise possibly for the worse.

If every conjunct of every ordering falls under the first two and one under the second, the likelihood rises
all the way to infinity: there is no maximum-likelihood grammar, and the posterior needs a bound or a prior
(Lin 2005, section 5.3).

The fact a newcomer would get wrong: it is sets that are dominated, not single constraints. In the Spanish
data of Lin (2005) two constraints vary freely between themselves and are both ranked below the others at
−∞.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

import numpy as np

from monolingual.ot.orderings import Orderings, derive_orderings
from monolingual.ot.tableaux import Tableaux

__all__ = ["MOST_CONSTRAINTS", "dominated_sets", "smallest_sets", "what_keeps_dominated"]

MOST_CONSTRAINTS = 16
"""So many constraints have all their subsets tried; of more, those that arise by excluding one or two."""


def dominated_sets(orderings: Orderings) -> list[frozenset[int]]:
    """The sets of constraints that can be demoted without end, each time raising the likelihood.

    Parameters
    ----------
    orderings : Orderings

    Returns
    -------
    list of frozenset of constraints
        By size. Empty if no set is dominated. Complete for up to `MOST_CONSTRAINTS` constraints.
    """
    occurring = np.unique(orderings.active)
    place = {int(constraint): bit for bit, constraint in enumerate(occurring)}
    pairs = [pair for d in range(len(orderings.count)) for pair in orderings.pairs(d)]
    masks = sorted({(_mask(winner, place), _mask(loser, place)) for winner, loser in pairs})
    sets = _candidate_sets(len(occurring), masks)
    valid, strict = np.ones(len(sets), dtype=bool), np.zeros(len(sets), dtype=bool)
    for winner, loser in masks:
        outside_winner, outside_loser = winner & ~sets, loser & ~sets
        both = winner | loser
        neutral = (both & sets == 0) | (both & ~sets == 0)
        better = ~neutral & ((winner & sets == 0) | ((outside_winner != 0) & (outside_loser == 0)))
        valid &= neutral | better
        strict |= better
    found = [
        frozenset(int(occurring[bit]) for bit in range(len(occurring)) if int(members) >> bit & 1)
        for members in sets[valid & strict]
    ]
    return sorted(found, key=lambda members: (len(members), sorted(members)))


def smallest_sets(sets: list[frozenset[int]]) -> list[frozenset[int]]:
    """The sets that contain no other one."""
    return [members for members in sets if not any(other < members for other in sets)]


def _mask(members: frozenset[int], place: dict[int, int]) -> int:
    return sum(1 << place[constraint] for constraint in members)


def _candidate_sets(size: int, masks: list[tuple[int, int]]) -> np.ndarray:
    """The sets to try, as bit masks: all but the empty and the full one, if there are not too many."""
    full = (1 << size) - 1
    if size <= MOST_CONSTRAINTS:
        return np.arange(1, full, dtype=np.int64)
    excluded = [*itertools.combinations(range(size), 1), *itertools.combinations(range(size), 2)]
    closed = {_closure(full & ~sum(1 << bit for bit in bits), masks) for bits in excluded}
    return np.array(sorted(closed - {0}), dtype=np.int64)


def _closure(members: int, masks: list[tuple[int, int]]) -> int:
    """The largest part of a set in which no conjunct is split with winners inside."""
    changed = True
    while changed:
        changed = False
        for winner, loser in masks:
            if winner & members and (winner | loser) & ~members:
                members &= ~winner
                changed = True
    return members


def what_keeps_dominated(tableaux: Tableaux, is_truncated: bool, priors: Collection[int] = ()) -> list[str]:
    """Which constraints the data demote without end, and what keeps them, a sentence for each smallest set.

    Parameters
    ----------
    tableaux : Tableaux
        Without overt forms.
    is_truncated : bool
        Whether means are.
    priors : collection of int
        The constraints that have one.
    """
    orderings = derive_orderings(tableaux, (tableaux.frequency > 0).astype(np.int64))
    if len(orderings.count) == 0:
        return []
    bounded, free = "only the truncation or the priors keep them", "nothing keeps them from drifting"
    return [
        f"the data dominate {', '.join(tableaux.constraints[i] for i in sorted(members))} categorically: "
        f"no finite optimum; {free if members.isdisjoint(priors) and not is_truncated else bounded}"
        for members in smallest_sets(dominated_sets(orderings))
    ]
