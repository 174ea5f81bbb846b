"""Room in the restaurants for the visits of a tree, whatever they bring.

Visits of all n nodes of a tree seat at most 2n² + 8 fragments, and each may be new. Room for all of them
would be gigabytes for a tree of a thousand words, of which next to nothing is used, for most are not new. So
there is room for 65,536, and where these are used up in the middle of a tree, dishes without customers are
forgotten, in place: kernels cannot make arrays longer there.

The fact a newcomer would get wrong: forgetting moves dishes to other slots. Whoever keeps slots must look
them up again, as `seat_option` lets the rules of a workspace do.
"""

from __future__ import annotations

from scfg_sampler.core.fragments.restaurant import (
    LIVE,
    PARTIES,
    TRACKED,
    USED,
    Restaurants,
    first_slot,
    grown,
)
from scfg_sampler.core.jit import borrowing, inlined, kernel

__all__ = ["forget_unused", "lacks_room", "most_insertions", "with_room_for_visits"]

_AT_ONCE = 1 << 16
_SPARE = 10_000  # What is made room for beyond what is needed.


@inlined
def most_insertions(num_nodes):
    """A bound on the fragments that visits of all nodes of a tree can seat."""
    return 2 * num_nodes * num_nodes + 8


@inlined
def _at_once(num_nodes):
    """For how many new dishes there is to be room; more than a tree has fragments."""
    return min(most_insertions(num_nodes), _AT_ONCE + 4 * num_nodes)


@inlined
def lacks_room(restaurants, num_nodes):
    """Whether visits of a tree of so many nodes could fill the hash table beyond one half, or the parties."""
    totals = restaurants.totals
    if 2 * (totals[USED] + _at_once(num_nodes)) > restaurants.entries.shape[0]:
        return True
    rows = restaurants.parties.shape[0]
    # Seating touches at most two rows. Rows in use are never more than customers, as none holds no table.
    return (
        totals[TRACKED] == 1
        and totals[PARTIES] + 2 * most_insertions(num_nodes) > rows
        and _customers(restaurants) + _at_once(num_nodes) > rows
    )


@borrowing
def _customers(restaurants):
    total = 0
    for stratum in range(restaurants.stratum_customers.shape[0]):
        total += restaurants.stratum_customers[stratum]
    return total


@kernel
def _needs(restaurants, num_nodes):
    """Whether room is lacking, how many dishes there must be room for, and how many rows of parties."""
    by_seats = restaurants.totals[PARTIES] + 2 * (most_insertions(num_nodes) + _SPARE)
    rows = min(by_seats, _customers(restaurants) + _at_once(num_nodes) + _SPARE)
    return lacks_room(restaurants, num_nodes), _at_once(num_nodes) + _SPARE, rows


def with_room_for_visits(restaurants: Restaurants, num_nodes: int) -> Restaurants:
    """Restaurants that have room for visits of a tree: the same, or larger ones.

    Parameters
    ----------
    restaurants : Restaurants
        Not changed.
    num_nodes : int
        Of the tree.
    """
    lacking, dishes, rows = _needs(restaurants, num_nodes)
    return grown(restaurants, dishes, rows) if lacking else restaurants


@borrowing
def forget_unused(restaurants):
    """Take dishes without customers out of the hash table, others moving up; where half of it is used.

    True if any dish may have moved. A dish may stand behind the slot where the search for it begins only if
    all slots between are full, so whatever stands behind a freed slot and may stand there is moved into it.
    """
    entries = restaurants.entries
    mask = entries.shape[0] - 1
    if 2 * (restaurants.totals[USED] + 1) <= entries.shape[0]:
        return False
    for slot in range(entries.shape[0]):
        while entries[slot, 0] != 0 and entries[slot, 1] == 0:
            free = slot
            at = (slot + 1) & mask
            while entries[at, 0] != 0:
                first = first_slot(restaurants, entries[at, 0])
                if ((at - first) & mask) >= ((at - free) & mask):
                    _move(restaurants, at, free)
                    free = at
                at = (at + 1) & mask
            entries[free, 0] = 0
            entries[free, 1] = 0
            restaurants.party[free] = -1
    restaurants.totals[USED] = restaurants.totals[LIVE]
    return True


@inlined
def _move(restaurants, slot, to):
    restaurants.entries[to, 0] = restaurants.entries[slot, 0]
    restaurants.entries[to, 1] = restaurants.entries[slot, 1]
    restaurants.stratum[to] = restaurants.stratum[slot]
    restaurants.log_base[to] = restaurants.log_base[slot]
    restaurants.party[to] = restaurants.party[slot]
