"""Pitman–Yor restaurants in open-addressing arrays: one restaurant per stratum.

A dish r of stratum ℓ (a rule of length ℓ, a tree fragment with root ℓ) has n_r customers at t_r tables;
the stratum has N_ℓ customers at T_ℓ tables, discount d and strength α. The next customer of the stratum
eats r with probability

    [ n_r − d t_r + (α + d T_ℓ) P₀(r) ] / (N_ℓ + α)

(Pitman and Yor 1997; Teh 2006; Chung et al. 2014, section 5.2). Two policies say what t_r is:

`exact`
    The seating is tracked. A customer opens a table or joins one at random, and leaves from one at
    random, so that state and probabilities have a proper joint distribution.
`estimated`
    t_r = n_r^d, T_ℓ = Σ t_r (Huang and Renals 2010), as in the published system: an approximation,
    not exchangeable, whenever d > 0.

With d = 0 tables do not matter and both policies are the same, exact, Dirichlet process.

The fact a newcomer would get wrong: a dish is named by a fingerprint of 63 bits, computed from what it
spells (`core.fragment`), and the table holds no spelling. Two dishes share a fingerprint with
probability below 1e-6 for a million dishes; `rules.Collector`, which spells the rules for output, verifies.

Table counts are fixed-point integers (multiples of 2^-32), so that sums do not depend on the order of
updates and a resumed or sharded chain repeats bit for bit.

Tables of an exact dish are kept as a multiset of sizes: nothing at all while every table has one
customer or all customers sit at one table (nearly every dish), a linked list (size, how many, next)
otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.elementary import powers
from scfg_sampler.core.fragments.parameters import require_parameters
from scfg_sampler.core.jit import borrowing, by_reference, inlined, kernel, with_columns

__all__ = [
    "COUNT_BITS",
    "COUNT_MASK",
    "LIVE",
    "PARTIES",
    "TABLE_UNIT",
    "TRACKED",
    "USED",
    "Restaurants",
    "clear_tables",
    "dish_customers",
    "dish_mass",
    "dish_tables",
    "estimated_tables",
    "estimates",
    "find",
    "find_or_insert",
    "first_slot",
    "grown",
    "is_full",
    "is_nearly_full",
    "new_restaurants",
    "new_table_prob",
    "opening_mass",
    "seat",
    "seat_in",
    "set_customers",
    "table_growth",
    "unseat",
    "unseat_from",
]

TABLE_UNIT = 1 << 32
_PER_TABLE = 1.0 / TABLE_UNIT
COUNT_BITS = 32
COUNT_MASK = (1 << COUNT_BITS) - 1
_ESTIMATES = 1 << 12

# Columns of `totals`.
USED = 0  # slots holding a fingerprint, dishes without customers included
LIVE = 1  # dishes with customers
PARTIES = 2  # rows of `parties` ever used
FREE_PARTY = 3  # head of the list of free rows, −1 for none
TRACKED = 4  # 1 if the seating is tracked


class Restaurants(NamedTuple):
    """The restaurants of all strata, sharing one hash table of dishes."""

    entries: np.ndarray
    """int64 (C, 2), C a power of two: fingerprint (0 for a free slot) and n_r + 2^32 t_r."""
    stratum: np.ndarray
    """int32 (C,): the stratum of the dish in a slot."""
    log_base: np.ndarray
    """float64 (C,): ln P₀ of the dish in a slot."""
    party: np.ndarray
    """int32 (C,): first row of the dish's table sizes, −1 where they are implicit."""
    parties: np.ndarray
    """int32 (P, 3): table size, number of tables of that size, next row or −1."""
    totals: np.ndarray
    """int64 (5,): see the column names above."""
    stratum_customers: np.ndarray
    """int64 (L,)."""
    stratum_tables: np.ndarray
    """int64 (L,): in units of 2^-32."""
    discount: np.ndarray
    """float64 (L,)."""
    strength: np.ndarray
    """float64 (L,)."""
    estimate: np.ndarray
    """int64 (4096,): n^d in units of 2^-32, for one discount shared by all strata."""
    scratch: np.ndarray
    """float64 (4096,): weights of table sizes."""
    pending: np.ndarray
    """int64 (L, 2): customers and tables (units of 2^-32) seated in thought only; zeros between calls."""


with_columns(Restaurants, entries=2, parties=3, pending=2)


def new_restaurants(
    num_strata: int, *, discount: float, strength: float, exact: bool, capacity: int = 1 << 12
) -> Restaurants:
    """Empty restaurants.

    Parameters
    ----------
    num_strata : int
        Strata are 0 … num_strata − 1.
    discount : float
        d, in [0, 1).
    strength : float
        α, above 0.
    exact : bool
        Whether to track the seating.
    capacity : int
        Slots of the hash table, a power of two; it is kept at most half full (`grown`).

    Raises
    ------
    SettingsError
        A parameter is out of range.
    """
    require_parameters(discount, strength)
    tracked = exact and discount > 0.0
    return Restaurants(
        entries=np.zeros((capacity, 2), np.int64),
        stratum=np.zeros(capacity, np.int32),
        log_base=np.zeros(capacity),
        party=np.full(capacity, -1, np.int32),
        parties=np.zeros((1 << 10 if tracked else 1, 3), np.int32),
        totals=np.array([0, 0, 0, -1, tracked], np.int64),
        stratum_customers=np.zeros(num_strata, np.int64),
        stratum_tables=np.zeros(num_strata, np.int64),
        discount=np.full(num_strata, float(discount)),
        strength=np.full(num_strata, float(strength)),
        estimate=estimates(discount),
        scratch=np.zeros(_ESTIMATES),
        pending=np.zeros((num_strata, 2), np.int64),
    )


def estimates(discount: float) -> np.ndarray:
    """n^d in units of 2^-32 for n = 0 … 4095, and 0 for n = 0; int64.

    Parameters
    ----------
    discount : float
    """
    counts = np.arange(_ESTIMATES, dtype=np.float64)
    table = np.rint(TABLE_UNIT * powers(counts, discount)).astype(np.int64)
    table[0] = 0
    return table


@inlined
def first_slot(restaurants, fingerprint):
    """Where the search for a dish begins."""
    return fingerprint & (restaurants.entries.shape[0] - 1)


@inlined
def find(restaurants, fingerprint):
    """The slot of a dish, or −1 if it was never seated."""
    entries = restaurants.entries
    mask = entries.shape[0] - 1
    slot = first_slot(restaurants, fingerprint)
    while entries[slot, 0] != fingerprint:
        if entries[slot, 0] == 0:
            return -1
        slot = (slot + 1) & mask
    return slot


@inlined
def find_or_insert(restaurants, fingerprint, stratum, log_base):
    """The slot of a dish, which gets one if it has none."""
    entries = restaurants.entries
    mask = entries.shape[0] - 1
    slot = first_slot(restaurants, fingerprint)
    while entries[slot, 0] != fingerprint:
        if entries[slot, 0] == 0:
            entries[slot, 0] = fingerprint
            restaurants.stratum[slot] = stratum
            restaurants.log_base[slot] = log_base
            restaurants.totals[USED] += 1
            break
        slot = (slot + 1) & mask
    return slot


@inlined
def dish_customers(restaurants, slot):
    """n_r; 0 for slot −1."""
    return restaurants.entries[slot, 1] & COUNT_MASK if slot >= 0 else 0


@inlined
def estimated_tables(restaurants, stratum, customers):
    """n^d in units of 2^-32."""
    if customers < restaurants.estimate.shape[0]:
        return restaurants.estimate[customers]
    return np.int64(TABLE_UNIT * elementary.power(float(customers), restaurants.discount[stratum]) + 0.5)


@inlined
def dish_tables(restaurants, slot, stratum, customers):
    """t_r in units of 2^-32, for a dish that has `customers` now; 0 for slot −1 without customers."""
    if restaurants.totals[TRACKED] == 1:
        return (restaurants.entries[slot, 1] >> COUNT_BITS) << COUNT_BITS if slot >= 0 else 0
    return estimated_tables(restaurants, stratum, customers)


@inlined
def table_growth(restaurants, stratum, customers):
    """How many tables (units of 2^-32) the next customer of a dish adds under estimated tables."""
    here = estimated_tables(restaurants, stratum, customers)
    return estimated_tables(restaurants, stratum, customers + 1) - here


@inlined
def dish_mass(restaurants, stratum, base, customers, tables, more_tables):
    """n − d t + (α + d T) P₀ for a dish with `customers` at `tables` (units of 2^-32).

    `more_tables` are tables of the stratum that are not there yet but come first (those of the fragments
    scored before this one in the same option).
    """
    return (
        customers
        - restaurants.discount[stratum] * tables * _PER_TABLE
        + base * opening_mass(restaurants, stratum, more_tables)
    )


@inlined
def opening_mass(restaurants, stratum, more_tables):
    """α + d T."""
    all_tables = (restaurants.stratum_tables[stratum] + more_tables) * _PER_TABLE
    return restaurants.strength[stratum] + restaurants.discount[stratum] * all_tables


@inlined
def new_table_prob(restaurants, stratum, base, customers, tables, more_tables):
    """Probability that the next customer of a dish opens a table, given that it eats that dish."""
    if customers == 0:
        return 1.0
    opening = base * opening_mass(restaurants, stratum, more_tables)
    return opening / dish_mass(restaurants, stratum, base, customers, tables, more_tables)


@borrowing
def seat(rng, restaurants, slot, opens_table):
    """Add a customer to the dish of a slot; `opens_table` is read when the seating is tracked."""
    seat_in(rng, restaurants, slot, restaurants.stratum[slot], opens_table)


@borrowing
def seat_in(rng, restaurants, slot, stratum, opens_table):
    """`seat`, for callers who know the stratum: what `stratum[slot]` says is far away in memory."""
    entries = restaurants.entries
    customers = entries[slot, 1] & COUNT_MASK
    restaurants.stratum_customers[stratum] += 1
    if customers == 0:
        restaurants.totals[LIVE] += 1
    if restaurants.totals[TRACKED] == 0:
        restaurants.stratum_tables[stratum] += table_growth(restaurants, stratum, customers)
        entries[slot, 1] += 1
        return
    tables = entries[slot, 1] >> COUNT_BITS
    if opens_table:
        # As likely as (α + d T) P₀: `new_table_prob`.
        if tables != customers:
            _make_explicit(restaurants, slot, customers, tables)
            _change_party(restaurants, slot, 1, 1)
        entries[slot, 1] += 1 + (1 << COUNT_BITS)
        restaurants.stratum_tables[stratum] += TABLE_UNIT
    else:
        # A table with c customers is joined as likely as c − d.
        if tables != 1:
            _make_explicit(restaurants, slot, customers, tables)
            size = _draw_party(rng, restaurants, slot, restaurants.discount[stratum])
            _change_party(restaurants, slot, size, -1)
            _change_party(restaurants, slot, size + 1, 1)
        entries[slot, 1] += 1


@borrowing
def unseat(rng, restaurants, slot):
    """Remove a customer of the dish of a slot; True if it sat alone and its table went (tracked only)."""
    return unseat_from(rng, restaurants, slot, restaurants.stratum[slot])


@borrowing
def unseat_from(rng, restaurants, slot, stratum):
    """`unseat`, for callers who know the stratum."""
    entries = restaurants.entries
    customers = entries[slot, 1] & COUNT_MASK
    restaurants.stratum_customers[stratum] -= 1
    if customers == 1:
        restaurants.totals[LIVE] -= 1
    if restaurants.totals[TRACKED] == 0:
        restaurants.stratum_tables[stratum] -= table_growth(restaurants, stratum, customers - 1)
        entries[slot, 1] -= 1
        return False
    tables = entries[slot, 1] >> COUNT_BITS
    alone = tables == customers
    # The customer that leaves is any of the n, so that its table is one with c of them as likely as c.
    if not alone and tables > 1:
        size = _draw_party(rng, restaurants, slot, 0.0)
        _change_party(restaurants, slot, size, -1)
        alone = size == 1
        if not alone:
            _change_party(restaurants, slot, size - 1, 1)
    entries[slot, 1] -= 1
    if alone:
        entries[slot, 1] -= 1 << COUNT_BITS
        restaurants.stratum_tables[stratum] -= TABLE_UNIT
        tables -= 1
    if tables <= 1 or tables == customers - 1:
        _make_implicit(restaurants, slot)
    return alone


@borrowing
def clear_tables(restaurants, slot, stratum):
    """Send all customers of a dish away."""
    entries = restaurants.entries
    customers = entries[slot, 1] & COUNT_MASK
    if customers > 0:
        restaurants.totals[LIVE] -= 1
        restaurants.stratum_customers[stratum] -= customers
        restaurants.stratum_tables[stratum] -= dish_tables(restaurants, slot, stratum, customers)
        _make_implicit(restaurants, slot)
        entries[slot, 1] = 0


@borrowing
def set_customers(restaurants, slot, stratum, customers):
    """Give a dish so many customers, where seats are not tracked."""
    clear_tables(restaurants, slot, stratum)
    if customers > 0:
        restaurants.totals[LIVE] += 1
        restaurants.stratum_customers[stratum] += customers
        restaurants.stratum_tables[stratum] += estimated_tables(restaurants, stratum, customers)
        restaurants.entries[slot, 1] = customers


@borrowing
def _draw_party(rng, restaurants, slot, discount):
    """A table size drawn with weight (size − discount) × number of tables of that size."""
    parties = restaurants.parties
    row = restaurants.party[slot]
    num_sizes = 0
    while row >= 0:
        restaurants.scratch[num_sizes] = (parties[row, 0] - discount) * parties[row, 1]
        num_sizes += 1
        row = parties[row, 2]
    chosen = draws.categorical(rng, restaurants.scratch, num_sizes)
    row = restaurants.party[slot]
    for _ in range(chosen):
        row = parties[row, 2]
    return parties[row, 0]


@borrowing
def _make_explicit(restaurants, slot, customers, tables):
    """Write the table sizes of a dish down: all tables single, or one table for all."""
    if restaurants.party[slot] < 0:
        if tables == customers:
            _change_party(restaurants, slot, 1, customers)
        else:
            _change_party(restaurants, slot, customers, 1)


@borrowing
def _make_implicit(restaurants, slot):
    row = restaurants.party[slot]
    while row >= 0:
        following = restaurants.parties[row, 2]
        restaurants.parties[row, 2] = restaurants.totals[FREE_PARTY]
        restaurants.totals[FREE_PARTY] = row
        row = following
    restaurants.party[slot] = -1


@borrowing
def _change_party(restaurants, slot, size, change):
    """Add `change` to the number of tables of a size; rows come in order of size and never hold 0."""
    parties = restaurants.parties
    totals = restaurants.totals
    before = -1
    row = restaurants.party[slot]
    while row >= 0 and parties[row, 0] < size:
        before = row
        row = parties[row, 2]
    if row >= 0 and parties[row, 0] == size:
        parties[row, 1] += change
        if parties[row, 1] == 0:
            if before < 0:
                restaurants.party[slot] = parties[row, 2]
            else:
                parties[before, 2] = parties[row, 2]
            parties[row, 2] = totals[FREE_PARTY]
            totals[FREE_PARTY] = row
        return
    fresh = totals[FREE_PARTY]
    if fresh >= 0:
        totals[FREE_PARTY] = parties[fresh, 2]
    else:
        fresh = totals[PARTIES]
        totals[PARTIES] += 1
    parties[fresh, 0] = size
    parties[fresh, 1] = change
    parties[fresh, 2] = row
    if before < 0:
        restaurants.party[slot] = fresh
    else:
        parties[before, 2] = fresh


@inlined
def is_nearly_full(restaurants, more):
    """Whether `more` insertions could fill the hash table beyond one half, or the list of parties."""
    totals = restaurants.totals
    over = 2 * (totals[USED] + more) > restaurants.entries.shape[0]
    # An insertion touches at most two rows.
    return over or (totals[TRACKED] == 1 and totals[PARTIES] + 2 * more > restaurants.parties.shape[0])


@kernel
def is_full(restaurants, more):
    """`is_nearly_full`, to be called from Python."""
    return is_nearly_full(restaurants, more)


def grown(restaurants: Restaurants, more: int, rows_needed: int | None = None) -> Restaurants:
    """The same restaurants with room for `more` insertions; dishes without customers are forgotten.

    Parameters
    ----------
    restaurants : Restaurants
        Not changed.
    more : int
        How many dishes, or parties, may come next.
    rows_needed : int, optional
        How long the list of parties must be; by default so long that `more` cannot fill it.
    """
    capacity = 1 << 12
    while capacity < 3 * (int(restaurants.totals[LIVE]) + more):
        capacity *= 2
    rows = restaurants.parties
    if restaurants.totals[TRACKED]:
        needed = int(restaurants.totals[PARTIES]) + 2 * more if rows_needed is None else rows_needed
        if needed > len(rows):
            rows = np.zeros((needed + needed // 2, 3), np.int32)
            rows[: len(restaurants.parties)] = restaurants.parties
    bigger = restaurants._replace(
        entries=np.zeros((capacity, 2), np.int64),
        stratum=np.zeros(capacity, np.int32),
        log_base=np.zeros(capacity),
        party=np.full(capacity, -1, np.int32),
        parties=rows,
        totals=restaurants.totals.copy(),
    )
    bigger.totals[USED] = 0
    _rehash(restaurants, bigger)
    return bigger


@kernel
def _rehash(old, new):
    old, new = by_reference(old), by_reference(new)
    for slot in range(old.entries.shape[0]):
        if old.entries[slot, 1] != 0:
            place = find_or_insert(new, old.entries[slot, 0], old.stratum[slot], old.log_base[slot])
            new.entries[place, 1] = old.entries[slot, 1]
            new.party[place] = old.party[slot]
