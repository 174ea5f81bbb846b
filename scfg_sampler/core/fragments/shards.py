"""One chain on several threads: every shard of the data is swept against counts of its own.

A sweep copies the restaurants for every shard, lets each shard change its copy, and adds up the changes. So
a shard sees the other shards' fragments as they were when the sweep began: an approximation for more than
one shard, exact for one. Stale counts are harmless after a few sweeps.

The fact a newcomer would get wrong: results depend on the number of shards, but not on the scheduling of
threads; every shard has a generator of its own, and changes are added in the order of the shards.

With tracked seating, the customers of a dish that several shards have changed are seated anew, one after the
other, as the restaurant then stands.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.elementary import exp
from scfg_sampler.core.fragments.restaurant import (
    COUNT_MASK,
    LIVE,
    TRACKED,
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

__all__ = ["merged"]


def merged(rng: np.random.Generator, before: Restaurants, shards: list[Restaurants]) -> Restaurants:
    """Restaurants with the changes that all shards made to their copies.

    Parameters
    ----------
    rng : numpy.random.Generator
        For seats, where they are tracked.
    before : Restaurants
        What the copies were made of.
    shards : list of Restaurants
        At least one; the first one is changed.
    """
    total = shards[0]
    for shard in shards[1:]:
        more = int(shard.totals[LIVE])
        if total.totals[TRACKED]:
            # A dish with n customers has tables of at most √(2n) sizes.
            counts = [each.entries[:, 1] & COUNT_MASK for each in (total, shard)]
            more += int(sum(np.sqrt(2.0 * each).sum() for each in counts))
        if is_full(total, more):
            total = grown(total, more)
        _add_changes(rng, before, shard, total)
    return total


@kernel
def _add_changes(rng, before, shard, total):
    before, shard, total = by_reference(before), by_reference(shard), by_reference(total)
    for slot in range(shard.entries.shape[0]):
        fingerprint = shard.entries[slot, 0]
        if fingerprint != 0:
            change = dish_customers(shard, slot) - dish_customers(before, _place(before, fingerprint, slot))
            if change != 0:
                place = _place(total, fingerprint, slot)
                if place < 0:
                    place = find_or_insert(total, fingerprint, shard.stratum[slot], shard.log_base[slot])
                _change(rng, total, place, change)
    # Restaurants that grow forget the dishes without customers, so that a dish may be gone from a shard.
    for slot in range(before.entries.shape[0]):
        fingerprint = before.entries[slot, 0]
        if fingerprint != 0 and _place(shard, fingerprint, slot) < 0:
            change = -dish_customers(before, slot)
            if change != 0:
                _change(rng, total, _place(total, fingerprint, slot), change)


@borrowing
def _place(restaurants, fingerprint, likely):
    """The slot of a dish, which is where it was in a copy unless the copy has grown; −1 for none."""
    entries = restaurants.entries
    if likely < entries.shape[0] and entries[likely, 0] == fingerprint:
        return likely
    return find(restaurants, fingerprint)


@borrowing
def _change(rng, total, slot, change):
    """Add so many customers of the dish of a slot."""
    stratum = total.stratum[slot]
    customers = dish_customers(total, slot) + change
    if total.totals[TRACKED] == 1:
        _seat_anew(rng, total, slot, stratum, customers)
    else:
        set_customers(total, slot, stratum, customers)


@borrowing
def _seat_anew(rng, restaurants, slot, stratum, customers):
    """Give a dish so many customers, seated one after the other."""
    clear_tables(restaurants, slot, stratum)
    for seated in range(customers):
        tables = dish_tables(restaurants, slot, stratum, seated)
        base = exp(restaurants.log_base[slot])
        prob = new_table_prob(restaurants, stratum, base, seated, tables, 0)
        seat_in(rng, restaurants, slot, stratum, prob >= 1.0 or draws.bernoulli(rng, prob))
