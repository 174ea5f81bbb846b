"""One chain in several shards: what a shard begins a sweep with, and what comes back of it.

A sweep over a shard is a pure function: from the restaurants as they were when the sweep began, the shard's
derivations and a seed, to its new derivations and the change that they make (`Changes`). To other processes
the restaurants go in parts (`Snapshot`), so that whoever sends them never has them twice; in this one, shards
read them where they are. A shard sees the other shards' fragments as they were when the sweep began: an
approximation for more than one shard. Who computes it, and when, makes no difference: changes are added in
the order of the shards.

The fact a newcomer would get wrong: base probabilities of one dish that two shards have found differ in their
last digits, as sums over different sentences do. The first shard's is taken, not that of the first one done.

With tracked seating, the customers of a dish whose number has changed are seated anew, one after the other,
as the restaurant then stands.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.elementary import exp
from scfg_sampler.core.executors import Executor
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
    "Before",
    "Changes",
    "Snapshot",
    "changes_since",
    "combined",
    "merged",
    "restored",
    "shard_ranges",
    "shared_counts",
    "snapshots",
]

_DISHES_AT_A_TIME = 1 << 19


class Snapshot(NamedTuple):
    """A part of restaurants without their free slots, to be sent and to be compared with."""

    entries: np.ndarray
    """int64 (D, 2): fingerprint, and n_r + 2^32 t_r, of dishes with customers."""
    stratum: np.ndarray
    """int32 (D,)."""
    log_base: np.ndarray
    """float64 (D,)."""
    party: np.ndarray
    """int32 (D,); (0,) where the seating is not tracked."""
    parties: np.ndarray
    """int32 (P, 3): rows ever used; (0, 3) but in the first part."""
    others: tuple[np.ndarray, ...]
    """The other arrays of the restaurants, in their order; none but in the first part."""


Before = Restaurants | Sequence[Snapshot]
"""The counts with which a sweep begins: restaurants, of which nothing is changed, or all parts of them."""


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


def snapshots(restaurants: Restaurants, dishes: int = _DISHES_AT_A_TIME) -> Iterator[Snapshot]:
    """What shards need of restaurants, in parts that share nothing with them.

    Parameters
    ----------
    restaurants : Restaurants
        Not changed, nor to be changed before the last part is there.
    dishes : int
        In each part, at the most; there is at least one part.
    """
    slots = np.flatnonzero(restaurants.entries[:, 1])
    tracked = restaurants.totals[TRACKED]
    parties = restaurants.parties[: max(1, restaurants.totals[PARTIES])]
    others = tuple(getattr(restaurants, name).copy() for name in _OTHERS)
    for first in range(0, max(len(slots), 1), dishes):
        part = slots[first : first + dishes]
        yield Snapshot(
            restaurants.entries[part],
            restaurants.stratum[part],
            restaurants.log_base[part],
            restaurants.party[part if tracked else part[:0]],
            parties.copy() if first == 0 else parties[:0],
            others if first == 0 else (),
        )


def shared_counts(executor: Executor, restaurants: Restaurants) -> Any:
    """What stands for the counts in the arguments of tasks, until the first of them has been merged.

    Parameters
    ----------
    executor : Executor
    restaurants : Restaurants
        Not changed.
    """
    if executor.is_elsewhere:
        return [executor.share(part) for part in snapshots(restaurants)]
    return restaurants


def _parts(before: Before) -> Iterator[Snapshot]:
    return snapshots(before) if isinstance(before, Restaurants) else iter(before)


def restored(before: Before) -> Restaurants:
    """Restaurants as they were when the sweep began, but for free slots.

    Parameters
    ----------
    before : Before
        Not changed.
    """
    if isinstance(before, Restaurants):
        number = int(np.count_nonzero(before.entries[:, 1]))
    else:
        number = sum(len(part.entries) for part in before)
    capacity = 1 << 12
    while capacity < 3 * number:
        capacity *= 2
    parts = _parts(before)
    first = next(parts)
    restaurants = Restaurants(
        entries=np.zeros((capacity, 2), np.int64),
        stratum=np.zeros(capacity, np.int32),
        log_base=np.zeros(capacity),
        party=np.full(capacity, -1, np.int32),
        parties=first.parties.copy(),
        **{name: array.copy() for name, array in zip(_OTHERS, first.others, strict=True)},
    )
    restaurants.totals[USED] = 0
    for part in itertools.chain([first], parts):
        _fill(part.entries, part.stratum, part.log_base, part.party, restaurants)
    return restaurants


@kernel
def _fill(entries, stratum, log_base, party, restaurants):
    """Put dishes into restaurants that have none of them yet."""
    restaurants = by_reference(restaurants)
    for row in range(entries.shape[0]):
        slot = find_or_insert(restaurants, entries[row, 0], stratum[row], log_base[row])
        restaurants.entries[slot, 1] = entries[row, 1]
        if party.shape[0] > 0:
            restaurants.party[slot] = party[row]


def changes_since(before: Before, after: Restaurants) -> Changes:
    """What has become of restaurants.

    Parameters
    ----------
    before : Before
    after : Restaurants
        Neither is changed.
    """
    known = np.zeros(len(after.entries), np.bool_)
    found = []
    for part in _parts(before):
        change = np.zeros(len(part.entries), np.int64)
        _compare(part.entries, after, change, known)
        old = np.flatnonzero(change)
        found.append(Changes(part.entries[old, 0], part.stratum[old], part.log_base[old], change[old]))
    new = np.flatnonzero((after.entries[:, 1] != 0) & ~known)
    customers = after.entries[new, 1] & COUNT_MASK
    found.append(Changes(after.entries[new, 0], after.stratum[new], after.log_base[new], customers))
    return _joined(found)


def _joined(changes: Sequence[Changes]) -> Changes:
    return Changes(*(np.concatenate(parts) for parts in zip(*changes, strict=True)))


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
    whole = _joined(changes)
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
