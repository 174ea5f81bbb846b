"""The lowest point of a smooth function, by L-BFGS with sums that are the same everywhere.

L-BFGS (Liu and Nocedal 1989; Nocedal and Wright 2006, algorithm 7.4) with steps that satisfy the weak Wolfe
conditions, found by doubling and bisection, which ends where the function is convex and bounded below.

The fact a newcomer would get wrong: scipy has minimisers, but they add in an order that depends on the
processor, and one other digit leads tuning to other weights, other lists and another half point of BLEU. All
sums here go from left to right, with the functions of `scfg_sampler.core.elementary`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.elementary import dot
from scfg_sampler.core.jit import borrowing, kernel

__all__ = ["minimise"]

_MEMORY = 10  # Steps remembered, as most programs do.
_MOST_STEPS = 1000
_MOST_TRIALS = 60
_SLOPE = 1e-8  # The largest component of the gradient, per unit of the loss, with which a minimum is found;
_GAIN = 1e-12  # and the least gain of a step, likewise.
_ENOUGH, _STEEP = 1e-4, 0.9  # The constants of the Wolfe conditions.


class _Memory(NamedTuple):
    """The last steps, float64 (_MEMORY, F), what they changed the gradient by, and step · change."""

    steps: np.ndarray
    changes: np.ndarray
    curvature: np.ndarray
    share: np.ndarray


def minimise(
    loss: Callable[[np.ndarray, np.ndarray], float], start: np.ndarray, slope: float = _SLOPE
) -> np.ndarray:
    """Where a convex function is lowest, float64 (F,).

    Parameters
    ----------
    loss : function of a point and of an array of its size, to which it writes its gradient there
    start : float64 (F,), a point to begin with
    slope : the largest component of the gradient, per unit of the loss, with which the lowest point is found

    >>> def loss(point, gradient):
    ...     gradient[:] = 2 * (point - [1, 4])
    ...     return float(((point - [1, 4]) ** 2).sum())
    >>> minimise(loss, np.zeros(2)).round(6).tolist()
    [1.0, 4.0]
    """
    size = len(start)
    point, gradient = start.copy(), np.empty(size)
    memory = _Memory(
        np.zeros((_MEMORY, size)), np.zeros((_MEMORY, size)), np.zeros(_MEMORY), np.zeros(_MEMORY)
    )
    direction, trial, there = np.empty(size), np.empty(size), np.empty(size)
    value = loss(point, gradient)
    known = 0
    for number in range(_MOST_STEPS):
        largest, descent = _downwards(gradient, memory, known, number, direction)
        if largest <= slope * max(1.0, value) or not descent < 0.0:
            break
        length = 1.0 if known > 0 else min(1.0, 1.0 / largest)
        below, above = 0.0, np.inf
        found = np.inf
        for _ in range(_MOST_TRIALS):
            _go(point, direction, length, trial)
            found = loss(trial, there)
            if not found <= value + _ENOUGH * length * descent:
                above = length
            elif _slope(there, direction) < _STEEP * descent:
                below = length
            else:
                break
            length = 0.5 * (below + above) if above < np.inf else 2.0 * below
        if not found < value:
            break
        is_curved = _remember(memory, number % _MEMORY, point, trial, gradient, there)
        known = min(known + 1, _MEMORY)
        gain, value = value - found, found
        if gain <= _GAIN * max(1.0, value) or not is_curved:
            break
    return point


@kernel
def _downwards(
    gradient: np.ndarray, memory: _Memory, known: int, number: int, direction: np.ndarray
) -> tuple[float, float]:
    """Write −H·gradient to `direction`; H, the inverse Hessian, by L-BFGS's two loops over past steps.

    Returns the largest magnitude of the gradient, and gradient · direction.
    """
    steps, changes, curvature, share = memory
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
    return _largest(gradient), dot(gradient, direction)


@kernel
def _go(point: np.ndarray, direction: np.ndarray, length: float, trial: np.ndarray) -> None:
    """Write the point so far in a direction to `trial`."""
    for i in range(len(point)):
        trial[i] = point[i] + length * direction[i]


@kernel
def _slope(gradient: np.ndarray, direction: np.ndarray) -> float:
    return dot(gradient, direction)


@kernel
def _remember(
    memory: _Memory, at: int, point: np.ndarray, trial: np.ndarray, gradient: np.ndarray, there: np.ndarray
) -> bool:
    """Go to `trial`, whose gradient is `there`, and remember the step; whether its curvature is above 0."""
    for i in range(len(point)):
        memory.steps[at, i] = trial[i] - point[i]
        memory.changes[at, i] = there[i] - gradient[i]
        point[i], gradient[i] = trial[i], there[i]
    total = 0.0
    for i in range(len(point)):
        total += memory.steps[at, i] * memory.changes[at, i]
    memory.curvature[at] = total
    return total > 0.0


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
