"""One chain in several shards: what a shard begins a sweep with, and what comes back of it.

A sweep over a shard is a pure function: from the restaurants as they were when the sweep began (`Snapshot`),
the shard's derivations and a seed, to its new derivations and the change that they make (`Changes`). So a
shard sees the other shards' fragments as they were when the sweep began: an approximation for more than one
shard. Who computes it, and when, makes no difference: changes are added in the order of the shards.

The fact a newcomer would get wrong: base probabilities of one dish that two shards have found differ in their
last digits, as sums over different sentences do. The first shard's is taken, not that of the first one done.

With tracked seating, the customers of a dish whose number has changed are seated anew, one after the other,
as the restaurant then stands.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.elementary import exp
from scfg_sampler.core.fragments.restaurant import (
    COUNT_MASK,
    PARTIES,
    TRACKED,
    USED,
    Restaurants,
    clear_tables,
    dish_customers,
    dish_tables,
    find,
    find_or_insert,
    grown,
    is_full,
    new_table_prob,
    seat_in,
    set_customers,
)
from scfg_sampler.core.jit import borrowing, by_reference, kernel

__all__ = [
    "Changes",
    "Snapshot",
    "changes_since",
    "combined",
    "merged",
    "restored",
    "shard_ranges",
    "snapshot",
]


class Snapshot(NamedTuple):
    """Restaurants without their free slots, to be sent and to be compared with."""

    entries: np.ndarray
    """int64 (D, 2): fingerprint, and n_r + 2^32 t_r, of every dish with customers."""
    stratum: np.ndarray
    """int32 (D,)."""
    log_base: np.ndarray
    """float64 (D,)."""
    party: np.ndarray
    """int32 (D,); (0,) where the seating is not tracked."""
    parties: np.ndarray
    """int32 (P, 3): rows ever used."""
    others: tuple[np.ndarray, ...]
    """The other arrays of the restaurants, in their order."""


class Changes(NamedTuple):
    """What a sweep over a shard has made of the number of customers of some dishes, each once."""

    fingerprint: np.ndarray
    """int64 (C,)."""
    stratum: np.ndarray
    """int32 (C,)."""
    log_base: np.ndarray
    """float64 (C,)."""
    change: np.ndarray
    """int64 (C,): customers more, or less; not 0."""


_DISHES = ("entries", "stratum", "log_base", "party", "parties")
_OTHERS = tuple(name for name in Restaurants._fields if name not in _DISHES)


def shard_ranges(tree_start: np.ndarray, number: int) -> list[tuple[int, int]]:
    """The first sentence of each shard, and the one after its last; shards have about as many nodes each.

    Parameters
    ----------
    tree_start : int64 (S + 1,)
        Where the nodes of each sentence's derivation begin.
    number : int
        Of shards, of which some have no sentence where there are not enough.
    """
    ends = np.linspace(0, tree_start[-1], number + 1)
    borders = np.searchsorted(tree_start, ends[1:-1]).tolist()
    return list(itertools.pairwise([0, *borders, len(tree_start) - 1]))


def snapshot(restaurants: Restaurants) -> Snapshot:
    """What shards need of restaurants; nothing of it is shared with them.

    Parameters
    ----------
    restaurants : Restaurants
        Not changed.
    """
    slots = np.flatnonzero(restaurants.entries[:, 1])
    tracked = restaurants.totals[TRACKED]
    return Snapshot(
        restaurants.entries[slots],
        restaurants.stratum[slots],
        restaurants.log_base[slots],
        restaurants.party[slots if tracked else slots[:0]],
        restaurants.parties[: max(1, restaurants.totals[PARTIES])].copy(),
        tuple(getattr(restaurants, name).copy() for name in _OTHERS),
    )


def restored(before: Snapshot) -> Restaurants:
    """Restaurants as they were when the snapshot was taken, but for free slots.

    Parameters
    ----------
    before : Snapshot
        Not changed.
    """
    number = len(before.entries)
    capacity = 1 << 12
    while capacity < 3 * number:
        capacity *= 2
    restaurants = Restaurants(
        entries=np.zeros((capacity, 2), np.int64),
        stratum=np.zeros(capacity, np.int32),
        log_base=np.zeros(capacity),
        party=np.full(capacity, -1, np.int32),
        parties=before.parties.copy(),
        **{name: array.copy() for name, array in zip(_OTHERS, before.others, strict=True)},
    )
    restaurants.totals[USED] = 0
    _fill(before.entries, before.stratum, before.log_base, before.party, restaurants)
    return restaurants


@kernel
def _fill(entries, stratum, log_base, party, restaurants):
    """Put dishes into restaurants that have none yet."""
    restaurants = by_reference(restaurants)
    for row in range(entries.shape[0]):
        slot = find_or_insert(restaurants, entries[row, 0], stratum[row], log_base[row])
        restaurants.entries[slot, 1] = entries[row, 1]
        if party.shape[0] > 0:
            restaurants.party[slot] = party[row]


def changes_since(before: Snapshot, after: Restaurants) -> Changes:
    """What has become of the restaurants of a snapshot.

    Parameters
    ----------
    before : Snapshot
    after : Restaurants
        Neither is changed.
    """
    capacity = len(after.entries)
    change = np.zeros(len(before.entries), np.int64)
    known = np.zeros(capacity, np.bool_)
    _compare(before.entries, after, change, known)
    new = np.flatnonzero((after.entries[:, 1] != 0) & ~known)
    old = np.flatnonzero(change)
    return Changes(
        np.concatenate([before.entries[old, 0], after.entries[new, 0]]),
        np.concatenate([before.stratum[old], after.stratum[new]]),
        np.concatenate([before.log_base[old], after.log_base[new]]),
        np.concatenate([change[old], after.entries[new, 1] & COUNT_MASK]),
    )


@kernel
def _compare(entries, after, change, known):
    """Fill in the change of every dish there was, and which slots hold one of these."""
    after = by_reference(after)
    for row in range(entries.shape[0]):
        # Restaurants that grow forget the dishes without customers, so that a dish may be gone.
        slot = find(after, entries[row, 0])
        change[row] = dish_customers(after, slot) - (entries[row, 1] & COUNT_MASK)
        if slot >= 0:
            known[slot] = True


def combined(changes: Sequence[Changes]) -> Changes:
    """The sum of the changes of several shards, in the order of fingerprints.

    Parameters
    ----------
    changes : sequence of Changes
        At least one, in the order of their shards.
    """
    whole = Changes(*(np.concatenate(parts) for parts in zip(*changes, strict=True)))
    if len(whole.change) == 0:
        return whole
    order = np.argsort(whole.fingerprint, kind="stable")  # So that of equal ones the first shard's is first.
    fingerprint = whole.fingerprint[order]
    first = np.flatnonzero(np.r_[True, fingerprint[1:] != fingerprint[:-1]])
    change = np.add.reduceat(whole.change[order], first)
    first = order[first[change != 0]]
    return Changes(whole.fingerprint[first], whole.stratum[first], whole.log_base[first], change[change != 0])


def merged(rng: np.random.Generator, restaurants: Restaurants, changes: Sequence[Changes]) -> Restaurants:
    """Restaurants with the changes of all shards.

    Parameters
    ----------
    rng : numpy.random.Generator
        For seats, where they are tracked.
    restaurants : Restaurants
        As they were when the sweep began; changed, and no longer to be used.
    changes : sequence of Changes
        At least one, in the order of their shards.
    """
    total = combined(changes)
    slots = _slots(restaurants, total.fingerprint)
    more = int(np.count_nonzero(slots < 0))
    if restaurants.totals[TRACKED]:
        # A dish with n customers has tables of at most √(2n) sizes.
        customers = np.where(slots < 0, 0, restaurants.entries[slots, 1] & COUNT_MASK) + total.change
        more += int(np.ceil(np.sqrt(2.0 * customers)).sum())
    if is_full(restaurants, more):
        restaurants = grown(restaurants, more)
    _add(rng, restaurants, *total)
    return restaurants


@kernel
def _slots(restaurants, fingerprints):
    """Where dishes are, −1 for those that are not."""
    restaurants = by_reference(restaurants)
    slots = np.empty(fingerprints.shape[0], np.int64)
    for row in range(fingerprints.shape[0]):
        slots[row] = find(restaurants, fingerprints[row])
    return slots


@kernel
def _add(rng, restaurants, fingerprint, stratum, log_base, change):
    """Add so many customers of each dish."""
    restaurants = by_reference(restaurants)
    for row in range(fingerprint.shape[0]):
        slot = find_or_insert(restaurants, fingerprint[row], stratum[row], log_base[row])
        customers = dish_customers(restaurants, slot) + change[row]
        if restaurants.totals[TRACKED] == 1:
            _seat_anew(rng, restaurants, slot, restaurants.stratum[slot], customers)
        else:
            set_customers(restaurants, slot, restaurants.stratum[slot], customers)


@borrowing
def _seat_anew(rng, restaurants, slot, stratum, customers):
    """Give a dish so many customers, seated one after the other."""
    clear_tables(restaurants, slot, stratum)
    for seated in range(customers):
        tables = dish_tables(restaurants, slot, stratum, seated)
        base = exp(restaurants.log_base[slot])
        prob = new_table_prob(restaurants, stratum, base, seated, tables, 0)
        seat_in(rng, restaurants, slot, stratum, prob >= 1.0 or draws.bernoulli(rng, prob))
