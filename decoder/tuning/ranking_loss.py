"""The weights that rank best: logistic loss with a Gaussian prior, minimised.

    f(w) = Σ over groups: ln(1 + Σ over differences d of the group: e^(−w·d)) + l2/2 · |w|²

A group of one difference is a pair, of which one is to have the higher score (Hopkins and May 2011). A group
of the differences between the right candidate of a list and all others is −ln of the right one's
probability, that of each candidate being in proportion to e^(its score) (Cao et al. 2007).

The minimum is found by L-BFGS (`descent.py`), which ends because f is convex and bounded below.

The fact a newcomer would get wrong: the groups weigh alike, however many differences each has, but a loss of
one pair each grows with their number, and its prior weighs less.
"""

from __future__ import annotations

import numpy as np

from decoder.tuning.descent import minimise
from scfg_sampler.core.arrays.sparse import Rows
from scfg_sampler.core.elementary import exp, log1p
from scfg_sampler.core.jit import borrowing, kernel

__all__ = ["minimum", "pairs"]


def pairs(differences: Rows) -> np.ndarray:
    """The groups of differences each of which is one by itself, int64 (R + 1,)."""
    return np.arange(len(differences.start), dtype=np.int64)


def minimum(differences: Rows, groups: np.ndarray, l2: float, start: np.ndarray) -> np.ndarray:
    """The weights that minimise f, float64 (F,).

    Parameters
    ----------
    differences : the features of the better minus those of the worse, R of them
    groups : int64 (G + 1,), group g has differences groups[g] to groups[g + 1] − 1; from 0 to R, ascending
    l2 : at least 0; with 0 there may be no minimum, and the weights are those where f hardly falls any more
    start : float64 (F,), weights to begin with
    """
    terms = np.empty(len(differences.start) - 1)

    def loss(weights: np.ndarray, gradient: np.ndarray) -> float:
        return _loss(differences, groups, l2, weights, gradient, terms)

    return minimise(loss, start)


@kernel
def _loss(
    differences: Rows,
    groups: np.ndarray,
    l2: float,
    weights: np.ndarray,
    gradient: np.ndarray,
    terms: np.ndarray,
) -> float:
    """f(w); its gradient is written to `gradient`. `terms`, float64 (R,), is room to work in."""
    total = 0.0
    for i in range(len(weights)):
        total += weights[i] * weights[i]
        gradient[i] = l2 * weights[i]
    total *= 0.5 * l2
    for group in range(len(groups) - 1):
        total += _group_loss(differences, groups[group], groups[group + 1], weights, gradient, terms)
    return total


@borrowing
def _group_loss(differences, first, last, weights, gradient, terms):
    """ln(1 + Σ e^(−w·d)) of a group; its gradient is added to `gradient`."""
    start, column, values = differences.start, differences.column, differences.values
    top, at_top = 0.0, -1
    for row in range(first, last):
        margin = 0.0
        for k in range(start[row], start[row + 1]):
            margin += weights[column[k]] * values[k]
        terms[row] = -margin
        if terms[row] > top:
            top, at_top = terms[row], row
    # All but the largest summand, which is 1 relative to itself.
    others = 0.0 if at_top < 0 else exp(-top)
    for row in range(first, last):
        terms[row] = exp(terms[row] - top)
        if row != at_top:
            others += terms[row]
    for row in range(first, last):
        rate = terms[row] / (1.0 + others)
        for k in range(start[row], start[row + 1]):
            gradient[column[k]] -= rate * values[k]
    return top + log1p(others)
