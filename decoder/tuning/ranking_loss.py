"""The weights that rank best: logistic loss with a Gaussian prior, minimised.

    f(w) = Σ over groups: ln(1 + Σ over differences d of the group: e^(−w·d)) + l2/2 · |w|²

A group of one difference is a pair, of which one is to have the higher score (Hopkins and May 2011). A group
of the differences between the right candidate of a list and all others is −ln of the right one's
probability, that of each candidate being in proportion to e^(its score) (Cao et al. 2007).

The minimum is found by L-BFGS (Liu and Nocedal 1989; Nocedal and Wright 2006, algorithm 7.4) with steps that
satisfy the weak Wolfe conditions, found by doubling and bisection, which ends because f is convex and
bounded below.

The fact a newcomer would get wrong: scipy has minimisers, but they add in an order that depends on the
processor, and one other digit leads tuning to other weights, other lists and another half point of BLEU. All
sums here go from left to right, with the functions of `scfg_sampler.core.elementary`.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.arrays.sparse import Rows
from scfg_sampler.core.elementary import dot, exp, log1p
from scfg_sampler.core.jit import borrowing, kernel

__all__ = ["minimum", "pairs"]

_MEMORY = 10  # Steps remembered, as most programs do.
_MOST_STEPS = 1000
_MOST_TRIALS = 60
_SLOPE = 1e-8  # The largest component of the gradient, per unit of the loss, with which a minimum is found;
_GAIN = 1e-12  # and the least gain of a step, likewise.
_ENOUGH, _STEEP = 1e-4, 0.9  # The constants of the Wolfe conditions.


def pairs(differences: Rows) -> np.ndarray:
    """The groups of differences each of which is one by itself, int64 (R + 1,)."""
    return np.arange(len(differences.start), dtype=np.int64)


@kernel
def minimum(differences: Rows, groups: np.ndarray, l2: float, start: np.ndarray) -> np.ndarray:
    """The weights that minimise f, float64 (F,).

    Parameters
    ----------
    differences : the features of the better minus those of the worse, R of them
    groups : int64 (G + 1,), group g has differences groups[g] to groups[g + 1] − 1; from 0 to R, ascending
    l2 : at least 0; with 0 there may be no minimum, and the weights are those where f hardly falls any more
    start : float64 (F,), weights to begin with
    """
    size = len(start)
    weights, gradient = start.copy(), np.empty(size)
    steps, changes = np.zeros((_MEMORY, size)), np.zeros((_MEMORY, size))
    curvature, share = np.zeros(_MEMORY), np.zeros(_MEMORY)
    direction, trial, slope = np.empty(size), np.empty(size), np.empty(size)
    terms = np.empty(len(differences.start) - 1)
    value = _loss(differences, groups, l2, weights, gradient, terms)
    known = 0
    for number in range(_MOST_STEPS):
        if _largest(gradient) <= _SLOPE * max(1.0, value):
            break
        _towards_minimum(gradient, steps, changes, curvature, share, known, number, direction)
        descent = dot(gradient, direction)
        if not descent < 0.0:
            break
        length = 1.0 if known > 0 else min(1.0, 1.0 / _largest(gradient))
        below, above = 0.0, np.inf
        found = np.inf
        for _ in range(_MOST_TRIALS):
            for i in range(size):
                trial[i] = weights[i] + length * direction[i]
            found = _loss(differences, groups, l2, trial, slope, terms)
            if not found <= value + _ENOUGH * length * descent:
                above = length
            elif dot(slope, direction) < _STEEP * descent:
                below = length
            else:
                break
            length = 0.5 * (below + above) if above < np.inf else 2.0 * below
        if not found < value:
            break
        at = number % _MEMORY
        for i in range(size):
            steps[at, i] = trial[i] - weights[i]
            changes[at, i] = slope[i] - gradient[i]
            weights[i], gradient[i] = trial[i], slope[i]
        curvature[at] = dot(steps[at], changes[at])
        known = min(known + 1, _MEMORY)
        gain, value = value - found, found
        if gain <= _GAIN * max(1.0, value) or not curvature[at] > 0.0:
            break
    return weights


@borrowing
def _loss(differences, groups, l2, weights, gradient, terms):
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


@borrowing
def _towards_minimum(gradient, steps, changes, curvature, share, known, number, direction):
    """Write −H·gradient to `direction`; H, the inverse Hessian, by L-BFGS's two loops over past steps."""
    for i in range(len(gradient)):
        direction[i] = -gradient[i]
    for back in range(1, known + 1):
        at = (number - back) % len(share)
        share[at] = _product(steps, at, direction) / curvature[at]
        for i in range(len(gradient)):
            direction[i] -= share[at] * changes[at, i]
    if known > 0:
        at = (number - 1) % len(share)
        length = 0.0
        for i in range(len(gradient)):
            length += changes[at, i] * changes[at, i]
        for i in range(len(gradient)):
            direction[i] *= curvature[at] / length
    for back in range(known, 0, -1):
        at = (number - back) % len(share)
        surplus = share[at] - _product(changes, at, direction) / curvature[at]
        for i in range(len(gradient)):
            direction[i] += surplus * steps[at, i]


@borrowing
def _product(rows, at, vector):
    total = 0.0
    for i in range(len(vector)):
        total += rows[at, i] * vector[i]
    return total


@borrowing
def _largest(values):
    """The largest magnitude."""
    found = 0.0
    for i in range(len(values)):
        found = max(found, abs(values[i]))
    return found
