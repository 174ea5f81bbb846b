"""Restaurants against a recount: are they just what the derivations say they are?

The dishes of a recount, with their customers, strata and base probabilities, come from the derivations alone.
Where the seating is tracked, which customers share a table is a part of the chain's state that no recount can
tell; it has to fit, though: t tables of sizes c₁ … c_t ≥ 1 with Σ c_k = n for every dish, and Σ t for the
stratum.

The fact a newcomer would get wrong: a log joint that is recomputed from the arrays of the state says nothing
about them, since a wrong base probability is wrong both times. What `audited` returns takes nothing from the
state but the seats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scfg_sampler.core.arrays.array_file import is_within
from scfg_sampler.core.fragments.parameters import LARGEST_STRENGTH
from scfg_sampler.core.fragments.restaurant import (
    COUNT_MASK,
    FREE_PARTY,
    LIVE,
    PARTIES,
    TABLE_UNIT,
    TRACKED,
    USED,
    Restaurants,
    find,
)
from scfg_sampler.core.jit import kernel

__all__ = ["AuditError", "audited", "require_comparable"]

_TOLERANCE = 1e-9
"""Of base probabilities, which hyperparameters that move change by differences."""


class AuditError(AssertionError):
    """Restaurants are not those of the derivations: a bug, or a damaged state. Names what differs."""


def audited(given: Restaurants, recount: Restaurants) -> Restaurants:
    """The recount, with the seats of the restaurants given where the seating is tracked.

    Parameters
    ----------
    given : Restaurants
        Of a chain's state; not changed.
    recount : Restaurants
        The same fragments seated anew, under the same parameters; not changed.

    Raises
    ------
    AuditError
        They differ in anything but the seats and the places of dishes.
    """
    _compare_parameters(given, recount)
    slots = _compare_dishes(given, recount)
    if not recount.totals[TRACKED]:
        _require((given.entries[:, 1] >> 32 == 0).all(), "entries", "tables are counted that are not tracked")
        _require_equal("stratum_tables", given.stratum_tables, recount.stratum_tables)
        return recount
    tables = given.entries[slots, 1] >> 32
    complaint = int(_check_seats(given, np.zeros(len(given.parties), np.bool_)))
    _require(complaint == 0, _COMPLAINTS[complaint], "the tables do not seat the customers of every dish")
    all_tables = np.zeros_like(given.stratum_tables)
    np.add.at(all_tables, given.stratum[slots], tables * TABLE_UNIT)
    _require_equal("stratum_tables", given.stratum_tables, all_tables)
    log_base = np.zeros_like(given.log_base)
    log_base[slots] = recount.log_base[_live_slots(recount)]
    return given._replace(log_base=log_base, stratum_customers=recount.stratum_customers)


def require_comparable(given: Restaurants, like: Restaurants) -> None:
    """Raise an AuditError unless arrays have the shapes of others, and indices point into them.

    What was read from a file may be anything; this comes before `audited`, and before any kernel.

    Parameters
    ----------
    given : Restaurants
    like : Restaurants
        With the same strata; of any other size.
    """
    for name, array, other in zip(Restaurants._fields, given, like, strict=True):
        fits = array.dtype == other.dtype and array.ndim == other.ndim
        fits = fits and array.shape[1:] == other.shape[1:]
        _require(fits and (name in _SIZED or len(array) == len(other)), name, "another type or shape")
    capacity, rows = len(given.entries), len(given.parties)
    _require(capacity > 0 and capacity & (capacity - 1) == 0, "entries", "their number is no power of two")
    for name in ("stratum", "log_base", "party"):
        _require(len(getattr(given, name)) == capacity, name, "another number of dishes")
    _require((given.entries[:, 0] == 0).any(), "entries", "no slot is free")
    _require(is_within(given.stratum, 0, len(given.strength) - 1), "stratum", "there is no such stratum")
    _require(is_within(given.party, -1, rows - 1), "party", "there is no such row")
    _require(is_within(given.parties[:, 2], -1, rows - 1), "parties", "there is no such row")
    _require(0 <= given.totals[PARTIES] <= rows, "totals, PARTIES", "there are not so many rows")
    _require(-1 <= given.totals[FREE_PARTY] < rows, "totals, FREE_PARTY", "there is no such row")
    _require(((given.discount >= 0) & (given.discount < 1)).all(), "discount", "out of range")
    _require(((given.strength > 0) & (given.strength <= LARGEST_STRENGTH)).all(), "strength", "out of range")


_SIZED = ("entries", "stratum", "log_base", "party", "parties")
"""Fields that grow with the number of dishes, or of tables."""


def _compare_parameters(given: Restaurants, recount: Restaurants) -> None:
    _require_equal("totals, TRACKED", given.totals[TRACKED], recount.totals[TRACKED])
    _require_equal("discount", given.discount, recount.discount)
    _require_equal("strength", given.strength, recount.strength)
    if not recount.totals[TRACKED]:  # Else the estimates are never looked at.
        _require_equal("estimate", given.estimate, recount.estimate)
    _require(not given.pending.any(), "pending", "customers seated in thought were left there")


def _compare_dishes(given: Restaurants, recount: Restaurants) -> np.ndarray:
    """The slots of the dishes that have customers, in the order of their fingerprints."""
    slots, counted = _live_slots(given), _live_slots(recount)
    same = np.array_equal(_customers(given, slots), _customers(recount, counted))
    _require(same, "entries", "the dishes or their customers are others")
    _require(_count_lost(given) == 0, "entries", "fingerprints stand where no search finds them")
    _require_equal("totals, LIVE", given.totals[LIVE], len(slots))
    _require_equal("totals, USED", given.totals[USED], np.count_nonzero(given.entries[:, 0]))
    _require_equal("stratum", given.stratum[slots], recount.stratum[counted])
    _require_equal("stratum_customers", given.stratum_customers, recount.stratum_customers)
    close = np.isclose(given.log_base[slots], recount.log_base[counted], rtol=_TOLERANCE, atol=_TOLERANCE)
    wrong = slots[~close]
    _require(len(wrong) == 0, "log_base", f"wrong for {len(wrong)} of {len(slots)} dishes")
    return slots


def _live_slots(restaurants: Restaurants) -> np.ndarray:
    """The slots of the dishes that have customers, in the order of their fingerprints."""
    live = np.flatnonzero(restaurants.entries[:, 1])
    return live[np.argsort(restaurants.entries[live, 0])]


def _customers(restaurants: Restaurants, slots: np.ndarray) -> np.ndarray:
    """Fingerprints and customers of the dishes in some slots; int64 (D, 2)."""
    return restaurants.entries[slots] & np.array([-1, COUNT_MASK])


def _require_equal(name: str, given: Any, expected: Any) -> None:
    _require(np.array_equal(given, expected), name, "not what a recount gives")


def _require(holds: bool | np.bool_, name: str, otherwise: str) -> None:
    if not holds:
        raise AuditError(f"the restaurants are not those of the derivations: {name}: {otherwise}")


@kernel
def _count_lost(restaurants):
    """How many fingerprints a search does not find where they are."""
    lost = 0
    for slot in range(restaurants.entries.shape[0]):
        fingerprint = restaurants.entries[slot, 0]
        if fingerprint != 0 and find(restaurants, fingerprint) != slot:
            lost += 1
        if fingerprint == 0 and restaurants.entries[slot, 1] != 0:
            lost += 1
    return lost


_COMPLAINTS = ("", "entries", "party", "parties", "totals, PARTIES", "totals, FREE_PARTY")


@kernel
def _check_seats(restaurants, seen):
    """0 if every dish's tables seat its customers and every row is used once; else which array is wrong.

    Parameters
    ----------
    seen : bool (P,)
        Scratch, all False.
    """
    parties, totals = restaurants.parties, restaurants.totals
    if totals[PARTIES] > parties.shape[0]:
        return 4
    in_use = 0
    for slot in range(restaurants.entries.shape[0]):
        customers = restaurants.entries[slot, 1] & COUNT_MASK
        tables = restaurants.entries[slot, 1] >> 32
        row = restaurants.party[slot]
        if tables > customers or (customers > 0 and tables == 0) or (customers == 0 and tables > 0):
            return 1
        is_plain = tables == customers or tables == 1
        if (row < 0) != is_plain or row >= totals[PARTIES]:
            return 2
        before = 0
        while row >= 0:
            size, number = parties[row, 0], parties[row, 1]
            if seen[row] or size <= before or number <= 0 or parties[row, 2] >= totals[PARTIES]:
                return 3
            seen[row] = True
            in_use += 1
            customers -= size * number
            tables -= number
            before = size
            row = parties[row, 2]
            if row < 0 and (customers != 0 or tables != 0):
                return 3
    row = totals[FREE_PARTY]
    if row >= totals[PARTIES]:
        return 5
    while row >= 0:
        if seen[row] or parties[row, 2] >= totals[PARTIES]:
            return 5
        seen[row] = True
        in_use += 1
        row = parties[row, 2]
    return 0 if in_use == totals[PARTIES] else 4
