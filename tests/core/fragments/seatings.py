"""The seating in restaurants, read and written as table sizes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from scfg_sampler.core.fragments import restaurant

__all__ = ["Seating", "sit", "table_sizes"]

Seating = tuple[tuple[int, tuple[int, ...]], ...]
"""Fingerprint and table sizes, ascending, of every dish; sizes (n,) where the seating is not tracked."""


def sit(restaurants: restaurant.Restaurants, seating: Seating) -> None:
    """Seat the customers that every dish has anew, where the seating is tracked."""
    if restaurants.totals[restaurant.TRACKED] == 0:
        return
    restaurants.stratum_tables[:] = 0
    restaurants.party[:] = -1
    restaurants.totals[[restaurant.PARTIES, restaurant.FREE_PARTY]] = 0, -1
    for fingerprint, sizes in seating:
        slot = restaurant.find(restaurants, fingerprint)
        restaurants.entries[slot, 1] = sum(sizes) + (len(sizes) << 32)
        restaurants.stratum_tables[restaurants.stratum[slot]] += len(sizes) * restaurant.TABLE_UNIT
        if 1 < len(sizes) < sum(sizes):
            for size in sizes:
                restaurant._change_party(restaurants, slot, size, 1)


def table_sizes(restaurants: restaurant.Restaurants) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Fingerprint and table sizes of every dish."""
    tracked = restaurants.totals[restaurant.TRACKED] == 1
    for slot in np.flatnonzero(restaurants.entries[:, 1]):
        fingerprint, packed = (int(x) for x in restaurants.entries[slot])
        customers, tables = packed & (2**32 - 1), packed >> 32
        row = int(restaurants.party[slot])
        sizes: tuple[int, ...] = (customers,)
        if tracked and row >= 0:
            sizes = ()
            while row >= 0:
                size, number, row = (int(x) for x in restaurants.parties[row])
                sizes += (size,) * number
        elif tracked and tables == customers:
            sizes = (1,) * customers
        yield fingerprint, sizes
