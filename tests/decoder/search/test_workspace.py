"""The workspace of the search: its heap gives the largest key first."""

import numpy as np

from decoder.search.workspace import WAITING, new_workspace, pop, push


def test_heap_gives_the_largest_key_first(rng):
    """Also where points are added between those that are taken."""
    points = new_workspace(2, 1, 4)[2]._replace(key=np.empty(100), waiting=np.empty(100, np.int32))
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
