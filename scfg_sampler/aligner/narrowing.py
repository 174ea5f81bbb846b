"""Which cells of a chart are worth looking at again, by what a chain has learnt.

Model 1 finds more cells likely than a chain that has seen all sentence pairs, and of long sentence pairs many
more. Which ones a derivation has, and how probably, the chart itself says, filled from small cells to large
ones and then gone through the other way round (inside and outside: Lari and Young 1990):

    P(cell in the derivation) = inside(cell) outside(cell) / inside(the sentence pair)

Those that are kept are kept as they are for the rest of the chain: a chart with other cells each time, chosen
by where the chain is, would bias it.

The fact a newcomer would get wrong: what a customer joins has no parts, so that parts of a phrase that others
use are improbable. Were only probable cells kept, a phrase that others leave could not be made any more. So
the least share is a small one.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.aligner.chart import Chart, cell_at, parts_at
from scfg_sampler.aligner.derivations import Derivation
from scfg_sampler.aligner.phrases import INVERTED, STRAIGHT, Phrases, opening_prob, symbol_prob
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import compiled

__all__ = ["LEAST_SHARE", "keep_probable", "recall"]

LEAST_SHARE = 1e-12
"""Of the derivations, that a cell is kept for: with as many cells there is room for phrases to come."""


@compiled
def keep_probable(
    chart: Chart,
    num_cells: int,
    phrases: Phrases,
    drawn: Derivation,
    kept: np.ndarray,
    size: int,
    least_share: float = LEAST_SHARE,
) -> tuple[np.ndarray, int]:
    """Add the probable cells of a chart, as it was filled, and those of a derivation drawn from it.

    Parameters
    ----------
    chart : Chart
    num_cells : int
        The last one is that of the whole sentence pair.
    phrases : Phrases
        As they were when the chart was filled.
    drawn : Derivation
    kept : uint8 (…, 4)
    size : int
        How many of `kept` are there already.
    least_share : float
        Of all derivations, that have a cell which is kept.

    Returns
    -------
    `kept`, perhaps in another place, and how many are there now.
    """
    whole = chart.cells[num_cells - 1]
    n, m = whole[1], whole[3]
    least = least_share * chart.probs[cell_at(0, n, 0, m, n, m)]
    _fill_outside(chart, num_cells, phrases, least, n, m)
    for place in range(drawn.size[0]):
        cell = drawn.cell[place]
        chart.outside[cell_at(cell[0], cell[1], cell[2], cell[3], n, m)] = np.inf
    for number in range(num_cells):
        cell = chart.cells[number]
        at = cell_at(cell[0], cell[1], cell[2], cell[3], n, m)
        if chart.probs[at] * chart.outside[at] >= least:
            kept = grown(kept, size + 1)
            for side in range(4):
                kept[size, side] = cell[side]
            size += 1
        chart.outside[at] = 0.0
    return kept, size


@compiled
def _fill_outside(chart, num_cells, phrases, least, n, m):
    """What all but the words of each cell is made with, summed, from large cells to small ones.

    Cells that have less than the least share give nothing to their parts, which takes most of the work away.
    """
    opening = opening_prob(phrases)
    straight, inverted = opening * symbol_prob(phrases, STRAIGHT), opening * symbol_prob(phrases, INVERTED)
    chart.outside[cell_at(0, n, 0, m, n, m)] = 1.0
    for number in range(num_cells - 1, -1, -1):
        cell = chart.cells[number]
        at = cell_at(cell[0], cell[1], cell[2], cell[3], n, m)
        above = chart.outside[at]
        if above * chart.probs[at] >= least and cell[1] > cell[0] and cell[3] > cell[2]:
            _give_parts(chart, cell, 0, above * straight, n, m)
            _give_parts(chart, cell, 1, above * inverted, n, m)


@compiled
def _give_parts(chart, cell, is_inverted, above, n, m):
    """Add what a cell has from above to both parts of all divisions, in order or in turn."""
    i, j, k, l = cell[0], cell[1], cell[2], cell[3]
    probs, outside = chart.probs, chart.outside
    for middle in range(i, j + 1):
        part = chart.heads[parts_at(i, middle, k, l, is_inverted, n, m), is_inverted]
        while part >= 0:
            begin, end = chart.cells[part, 2], chart.cells[part, 3]
            if begin >= k and end <= l:
                one = cell_at(i, middle, begin, end, n, m)
                if is_inverted:
                    other = cell_at(middle, j, k, begin, n, m)
                else:
                    other = cell_at(middle, j, end, l, n, m)
                # A cell is no part of itself: the other part would have no words, and has no probability.
                if probs[other] > 0.0:
                    outside[one] += above * probs[other]
                    outside[other] += above * probs[one]
            part = chart.before[part, is_inverted]


@compiled
def recall(chart: Chart, kept: np.ndarray, begin: int, end: int) -> int:
    """Look at cells that were kept; how many there are."""
    for row in range(begin, end):
        for side in range(4):
            chart.cells[row - begin, side] = kept[row, side]
    return end - begin
