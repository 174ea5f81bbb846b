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

from scfg_sampler.aligner.chart import Chart, cell_at, is_dense, parts_at
from scfg_sampler.aligner.derivations import Derivation
from scfg_sampler.aligner.phrases import INVERTED, STRAIGHT, Phrases, opening_prob, symbol_prob
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import borrowing, compiled, inlined

__all__ = ["LEAST_SHARE", "keep_probable", "recall", "share_out"]

LEAST_SHARE = 1e-12
"""Of the derivations, that a cell is kept for: with as many cells there is room for phrases to come."""


@compiled
def share_out(
    chart: Chart,
    number: int,
    num_cells: int,
    phrases: Phrases,
    work: int,
    least_share: float = LEAST_SHARE,
) -> int:
    """Make what all but the words of each cell is made with, summed, from large cells to small ones.

    Cells that have less than the least share give nothing to their parts, which takes most of the work away.

    Parameters
    ----------
    chart : Chart
    number : int
        All cells from here on have been gone through: at first `num_cells`.
    num_cells : int
        The last one is that of the whole sentence pair.
    phrases : Phrases
        As they were when the chart was filled.
    work : int
        How many ways to divide a cell may be looked at before this is to be stopped and gone on with.
    least_share : float
        Of all derivations.

    Returns
    -------
    `number` for the next time; 0 at the end.
    """
    whole = chart.cells[num_cells - 1]
    n, m = whole[1], whole[3]
    least = least_share * chart.probs[cell_at(0, n, 0, m, n, m)]
    opening = opening_prob(phrases)
    straight, inverted = opening * symbol_prob(phrases, STRAIGHT), opening * symbol_prob(phrases, INVERTED)
    gives_anywhere = is_dense(num_cells, n, m)
    chart.outside[cell_at(0, n, 0, m, n, m)] = 1.0
    while number > 0 and work > 0:
        number -= 1
        cell = chart.cells[number]
        at = cell_at(cell[0], cell[1], cell[2], cell[3], n, m)
        above = chart.outside[at]
        if not above * chart.probs[at] >= least or cell[1] == cell[0] or cell[3] == cell[2]:
            continue
        work -= (cell[1] - cell[0] + 1) * (cell[3] - cell[2] + 1)
        for is_inverted in range(2):
            given = above * (inverted if is_inverted else straight)
            if gives_anywhere:
                _give_anywhere(chart, cell, is_inverted, given, n, m)
            else:
                _give_parts(chart, cell, is_inverted, given, n, m)
    return number


@compiled
def keep_probable(
    chart: Chart,
    num_cells: int,
    drawn: Derivation,
    kept: np.ndarray,
    size: int,
    least_share: float = LEAST_SHARE,
) -> tuple[np.ndarray, int]:
    """Add the probable cells of a chart, once `share_out` is done, and those of a derivation drawn from it.

    Parameters
    ----------
    chart : Chart
    num_cells : int
        The last one is that of the whole sentence pair.
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


@borrowing
def _give_parts(chart, cell, is_inverted, above, n, m):
    """Add what a cell has from above to both parts of all divisions, in order or in turn."""
    i, j, k, l = cell[0], cell[1], cell[2], cell[3]
    for middle in range(i, j + 1):
        part = chart.heads[parts_at(i, middle, k, l, is_inverted, n, m), is_inverted]
        while part >= 0:
            begin, end = chart.cells[part, 2], chart.cells[part, 3]
            if begin >= k and end <= l:
                one = cell_at(i, middle, begin, end, n, m)
                if is_inverted:
                    _give_both(chart, one, cell_at(middle, j, k, begin, n, m), above)
                else:
                    _give_both(chart, one, cell_at(middle, j, end, l, n, m), above)
            part = chart.before[part, is_inverted]


@borrowing
def _give_anywhere(chart, cell, is_inverted, above, n, m):
    """`_give_parts`, to the last digit, for a chart of which few cells are 0: wherever it can be divided."""
    i, j, k, l = cell[0], cell[1], cell[2], cell[3]
    for middle in range(i, j + 1):
        for cut in range(k, l + 1):
            if is_inverted:
                one, other = cell_at(i, middle, cut, l, n, m), cell_at(middle, j, k, cut, n, m)
            else:
                one, other = cell_at(i, middle, k, cut, n, m), cell_at(middle, j, cut, l, n, m)
            _give_both(chart, one, other, above)


@inlined
def _give_both(chart, one, other, above):
    """Add what a cell has from above to two parts of it, if both are possible."""
    probs, outside = chart.probs, chart.outside
    # A cell is no part of itself: the other part would have no words, and has no probability.
    if probs[one] > 0.0 and probs[other] > 0.0:
        outside[one] += above * probs[other]
        outside[other] += above * probs[one]


@compiled
def recall(chart: Chart, kept: np.ndarray, begin: int, end: int) -> int:
    """Look at cells that were kept; how many there are."""
    for row in range(begin, end):
        for side in range(4):
            chart.cells[row - begin, side] = kept[row, side]
    return end - begin
