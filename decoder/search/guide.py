"""Where a wide search is worth its time: what a narrow one says of every cell.

Most cells of a chart are in no good derivation, and most of what is tried in the others is far worse than the
best there. A first search with few pops tells the cells apart. The best derivation of the whole sentence that
goes through a cell, less than the best of all by some *gap*, is found by passing scores down the edges,

    outside(goal) = 0,    outside(t) = max over edges e with tail t of outside(head) + score(e) − score(t),

score(e) being that of the edge with its items. The wide search then stops in a cell when all that waits is
worse than the cell's best by `margin` − gap, though not by less than a part of the margin, as the narrow
search may have been wrong.

The fact a newcomer would get wrong: a gap is no bound. It is that of the derivations which the narrow search
kept; margins are measured, not proved (the beam is no different).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.search.workspace import EDGES, ITEMS
from scfg_sampler.core.elementary import power
from scfg_sampler.core.jit import compiled

__all__ = ["Guidance", "margins", "widest_margin"]

_LEAST = 0.25  # The share of the margin that is left to cells the narrow search has no use for.
_USUAL = 200.0  # The beam for which the margin is what it is; it grows with the cube root of the beam.


class Guidance(NamedTuple):
    """How a search is guided; the defaults do not.

    narrow : pops of a cell in the first search, as `beam` in the second; 0 for none
    margin : how much worse than the best of its cell anything that is popped may be, in the unit of language
        models: natural logarithms, times the sum of their weights
    rest : the share of rest costs (`decoder.lm.rest_costs`) that counts when derivations are ordered
    """

    narrow: int = 0
    margin: float = np.inf
    rest: float = 0.0


@compiled
def widest_margin(margin, beam, lm_weights):
    """The margin of a cell in the best derivation, in the unit of scores."""
    total = 0.0
    for model in range(len(lm_weights)):
        total += abs(lm_weights[model])
    if total == 0.0 or beam == 0:
        return np.inf
    return margin * total * power(beam / _USUAL, 1 / 3)


@compiled
def margins(widest, first_item, items, edges, count):
    """The margin of each cell, float64 (C,), given a narrow search; `widest` is that of the best.

    first_item : int64 (C + 1,); the items of cell c are first_item[c] … first_item[c + 1] − 1, and those of
        the last cell are at the top
    items, edges, count : what was found: edges after those of their tails
    """
    num_cells = len(first_item) - 1
    outside = np.full(count[ITEMS], -np.inf)
    best = -np.inf
    for item in range(first_item[num_cells - 1], count[ITEMS]):
        outside[item] = 0.0
        best = max(best, items.score[item])
    for edge in range(count[EDGES] - 1, -1, -1):
        total = outside[edges.head[edge]] + edges.weight[edge]
        for k in range(edges.tails.shape[1]):
            if edges.tails[edge, k] >= 0:
                total += items.score[edges.tails[edge, k]]
        for k in range(edges.tails.shape[1]):
            tail = edges.tails[edge, k]
            if tail >= 0:
                outside[tail] = max(outside[tail], total - items.score[tail])
    found = np.empty(num_cells)
    for cell in range(num_cells):
        through = -np.inf
        for item in range(first_item[cell], first_item[cell + 1]):
            through = max(through, items.score[item] + outside[item])
        found[cell] = _LEAST * widest
        if best - through < (1 - _LEAST) * widest:
            found[cell] = widest - (best - through)
    return found
