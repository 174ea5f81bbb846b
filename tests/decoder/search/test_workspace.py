"""The workspace of the search: its heap gives the largest key first, its table the items of one cell."""

import numpy as np

from decoder.search.workspace import WAITING, Points, Slots, pop, push, rehashed, slot_of


def test_heap_gives_the_largest_key_first(rng):
    """Also where points are added between those that are taken."""
    nothing = [np.empty(0)] * len(Points._fields)  # What a heap does not look at.
    points = Points(*nothing)._replace(key=np.empty(100), waiting=np.empty(100, np.int32))
    count, keys, waiting = np.zeros(8, np.int64), rng.permutation(60).astype(float), set()
    for point, key in enumerate(keys):
        push(points, count, key, point)
        waiting.add(point)
        if point % 3 == 2:
            best = max(waiting, key=lambda p: keys[p])
            assert (points.waiting[0], points.key[0]) == (best, keys[best])
            waiting.remove(best)
            pop(points, count)
    taken = []
    while count[WAITING]:
        taken.append(points.key[0])
        pop(points, count)
    assert taken == sorted((keys[p] for p in waiting), reverse=True)


def test_items_are_found_by_state_among_those_of_their_cell(rng):
    """Against a dictionary, cell after cell in one table, which grows."""
    states = rng.integers(0, 3, (400, 2, 2)).astype(np.int32)
    slots, first, num_items = Slots(np.empty(16, np.int32), np.full(16, -1, np.int32)), 0, 0
    for cell, draws in enumerate((20, 60, 120)):
        known = {}
        for state in rng.integers(0, 3, (draws, 2, 2)).astype(np.int32):
            if 2 * (num_items - first) >= len(slots.item):
                slots = rehashed(slots, states, first, num_items, cell)
            slot = slot_of(slots, states, state, cell)
            found = int(slots.item[slot]) if slots.cell[slot] == cell else None
            assert found == known.get(state.tobytes())
            if found is None:
                slots.item[slot], slots.cell[slot] = num_items, cell
                known[state.tobytes()], states[num_items] = num_items, state
                num_items += 1
        first = num_items
    assert len(slots.item) == 256
    assert num_items > 110
