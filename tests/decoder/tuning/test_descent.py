"""The minimiser ends where convex functions are lowest, by steps neither too short nor too long."""

from __future__ import annotations

import numpy as np
import pytest

from decoder.tuning.descent import minimise


def wide(point, gradient):
    """A valley a thousand times as long as wide, whose floor is nearly flat."""
    scale, middle = np.array([1e-4, 0.1]), np.array([3e3, -20.0])
    gradient[:] = scale * (point - middle)
    return 0.5 * float(gradient @ (point - middle))


def steep(point, gradient):
    """Nearly linear far from (2, −1), with a strong bend there."""
    here = 50.0 * (point - np.array([2.0, -1.0]))
    gradient[:] = 50.0 * np.tanh(here)
    return float(np.logaddexp(here, -here).sum())


def tilted(point, gradient):
    """A sum of exponentials of three directions."""
    rows = np.array([[1.0, 3.0], [1.0, -3.0], [-1.0, 0.1]])
    parts = np.exp(rows @ point - 0.1)
    gradient[:] = parts @ rows
    return float(parts.sum())


@pytest.mark.parametrize("loss", [wide, steep, tilted])
@pytest.mark.parametrize("start", [(0.0, 0.0), (-7.0, 4.0), (40.0, -2.0)])
def test_steps_satisfy_the_weak_wolfe_conditions(loss, start):
    """Trials on one ray belong to one step, the last of which is taken."""
    told = []

    def watched(point, gradient):
        value = loss(point, gradient)
        told.append((point.copy(), value, gradient.copy()))
        return value

    minimise(watched, np.array(start))
    before, last, taken = told[0], told[1], []
    for trial in told[2:]:
        one, other = last[0] - before[0], trial[0] - before[0]
        area, size = one[0] * other[1] - one[1] * other[0], np.linalg.norm(one) * np.linalg.norm(other)
        on_a_ray = abs(area) <= 1e-9 * size
        if not on_a_ray:
            taken.append((before, last))
            before = last
        last = trial
    assert len(taken) > 1
    for (point, value, gradient), (end, lower, there) in taken:
        step = end - point
        assert lower <= value + 1e-5 * (gradient @ step)
        assert there @ step >= 0.95 * (gradient @ step)


@pytest.mark.parametrize("loss", [wide, steep, tilted])
def test_the_lowest_point_is_found_from_everywhere(loss):
    found = np.array(
        [minimise(loss, np.array(start), 1e-10) for start in ((0.0, 0.0), (9.0, -3.0), (-30.0, 8.0))]
    )
    slope = np.empty(2)
    for point in found:
        value = loss(point, slope)
        assert np.abs(slope).max() < 1e-4 * max(1.0, value)
    assert np.ptp(found, axis=0).max() < 0.1
