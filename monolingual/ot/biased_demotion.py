"""Demotion that keeps faithfulness low: biased (Prince and Tesar 2004) and low-faithfulness (Hayes 2004).

Of all rankings that the data allow, a learner who hears only what is said should take the most restrictive
one: markedness above faithfulness wherever possible, else it lets pass what the language never has. Both
learners place the strata of recursive constraint demotion one by one, and leave out what they need not
place yet.

- Both: as long as a markedness constraint can be placed, no faithfulness constraint is; faithfulness
  constraints that prefer no winner of the pairs left wait until there is nothing else.
- Biased demotion (`bcd`) places the smallest set of faithfulness constraints that frees a markedness
  constraint; among equally small ones that after which the most markedness constraints follow at once, then
  the first in the order of the constraints. If no set frees one, it places all that prefer winners.
- Low-faithfulness demotion (`lfcd`) leaves out constraints more general than another one that can be placed,
  and places those that exclude some rival with the fewest helpers: constraints not placed yet that
  prefer the same winner to the same rival, but for more general versions of the constraint itself. Rivals
  that lose under every ranking, and rankings that are given, make nothing active and count no helpers.

The fact a newcomer would get wrong: which constraints are faithfulness constraints is not in the tableaux.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence

import numpy as np

from monolingual.ot.demotion import Chooser, Demotion, Pair, blocked, demote

__all__ = [
    "METHODS",
    "biased",
    "demote_by",
    "low_faithfulness",
    "more_specific",
    "r_measure",
    "recognised_faithfulness",
]

METHODS = ("rcd", "bcd", "lfcd")

_FAITHFUL = re.compile(
    r"[^\w*]*(max|dep|id(ent)?|faith|lin(earity)?|contig(uity)?|unif(ormity)?|integ(rity)?|io|oo|f)(?![a-z])"
    r"|[^\w*]*(max|dep|ident|faith)",
    re.IGNORECASE,
)


def recognised_faithfulness(names: Sequence[str]) -> frozenset[int]:
    """The constraints whose names begin as those of faithfulness do: Max, Dep, Ident, Faith, Linearity, …

    >>> sorted(recognised_faithfulness(["*Coda", "MAX-C", "Ident(voice)", "NoHiatus", "IO-Contig", "Idle"]))
    [1, 2, 4]
    """
    return frozenset(number for number, name in enumerate(names) if _FAITHFUL.match(name))


def more_specific(violations: np.ndarray) -> frozenset[tuple[int, int]]:
    """Pairs (specific, general) of constraints, as far as candidates show it.

    The specific one is violated at most as often by every candidate, by some candidate less often, and by
    some at all.

    Parameters
    ----------
    violations : int64, shape (C, N)
    """
    return frozenset(
        (a, b)
        for a, b in itertools.permutations(range(violations.shape[1]), 2)
        if violations[:, a].any()
        and np.all(violations[:, a] <= violations[:, b])
        and np.any(violations[:, a] < violations[:, b])
    )


def r_measure(strata: Sequence[Collection[int]], faithful: Collection[int]) -> int:
    """How restrictive a hierarchy is: for each faithfulness constraint the markedness constraints above it.

    Prince and Tesar (2004), section 3; the sum over faithfulness constraints.
    """
    above, total = 0, 0
    for stratum in strata:
        low = sum(constraint in faithful for constraint in stratum)
        total += low * above
        above += len(stratum) - low
    return total


def demote_by(
    method: str,
    pairs: Sequence[Pair],
    constraints: int,
    faithful: Collection[int],
    specific: Collection[tuple[int, int]] = (),
    given: Sequence[Pair] = (),
) -> Demotion:
    """The hierarchy of one of `METHODS`.

    Parameters
    ----------
    method : str
    pairs : sequence of (frozenset, frozenset)
    constraints : int
    faithful : collection of int
    specific : collection of (int, int)
        Of `lfcd`: pairs (specific, general).
    given : sequence of Pair
        Rankings that hold whatever the data say, numbered after the pairs.
    """
    chooser: dict[str, Chooser | None] = {
        "rcd": None,
        "bcd": biased(frozenset(faithful)),
        "lfcd": low_faithfulness(frozenset(faithful), frozenset(specific), given),
    }
    return demote([*pairs, *given], constraints, chooser[method])


def biased(faithful: frozenset[int]) -> Chooser:
    """What biased constraint demotion places."""

    def choose(rankable: set[int], left: set[int], pairs: list[Pair]) -> set[int]:
        if marked := rankable - faithful:
            return marked
        active = _active(rankable, pairs)
        if not active or not _cascade(active, left, pairs, faithful):
            return active or rankable
        for size in range(1, len(active) + 1):
            sets = [set(members) for members in itertools.combinations(sorted(active), size)]
            freed = [_cascade(members, left, pairs, faithful) for members in sets]
            if any(freed):
                return sets[int(np.argmax(freed))]
        raise AssertionError("all active constraints together freed one")

    return choose


def low_faithfulness(
    faithful: frozenset[int], specific: frozenset[tuple[int, int]], given: Sequence[Pair] = ()
) -> Chooser:
    """What low-faithfulness constraint demotion places."""

    def choose(rankable: set[int], left: set[int], pairs: list[Pair]) -> set[int]:
        if marked := rankable - faithful:
            return marked
        telling = _telling(pairs, given)
        active = _active(rankable, telling)
        if not active:
            return rankable
        general = {b for a, b in specific if a in active and b in active and (b, a) not in specific}
        chosen = active - general
        helpers = {
            constraint: min(
                len((winner & left) - {b for a, b in specific if a == constraint} - {constraint})
                for winner, _ in telling
                if constraint in winner
            )
            for constraint in chosen
        }
        fewest = min(helpers.values())
        return {constraint for constraint in chosen if helpers[constraint] == fewest}

    return choose


def _telling(pairs: list[Pair], given: Sequence[Pair]) -> list[Pair]:
    """The pairs of the data whose rival wins under some ranking."""
    found = [pair for pair in pairs if pair[1]]
    for pair in given:  # Each stands once among the pairs, and may do so beside one of the data.
        if pair in found:
            found.remove(pair)
    return found


def _active(rankable: set[int], pairs: list[Pair]) -> set[int]:
    """The constraints that prefer the winner of some pair."""
    return {constraint for winner, _ in pairs for constraint in winner} & rankable


def _cascade(placed: set[int], left: set[int], pairs: list[Pair], faithful: frozenset[int]) -> int:
    """How many markedness constraints can be placed, one stratum after the other, once a set is."""
    waiting, count = left - placed, 0
    while placed:
        pairs = [pair for pair in pairs if not pair[0] & placed]
        placed = (waiting - faithful) - blocked(pairs)
        waiting = waiting - placed
        count += len(placed)
    return count
