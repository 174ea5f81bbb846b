"""Slice sampling of one number: stepping out and shrinkage (Neal 2003, figures 3 and 5).

The fact a newcomer would get wrong: the density is that of the number itself. A caller who samples a
transformed number, ln α for instance, adds the logarithm of the Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scfg_sampler.core.elementary import log1p_value

__all__ = ["slice_sample"]


def slice_sample(
    rng: np.random.Generator,
    log_density: Callable[[float], float],
    start: float,
    *,
    width: float = 1.0,
    max_steps: int = 20,
) -> float:
    """The next state of a chain whose stationary distribution has the given density.

    Parameters
    ----------
    rng : numpy.random.Generator
    log_density : callable
        ln of the density up to a constant; −∞ where it is zero.
    start : float
        The current state, where the density is positive.
    width : float
        A guess at the width of a slice; any positive number is right, a good one is quick.
    max_steps : int
        The interval grows to at most `max_steps` × `width`.

    >>> rng = np.random.default_rng(1)
    >>> 0.0 < slice_sample(rng, lambda x: 0.0 if 0.0 < x < 1.0 else -np.inf, 0.5) < 1.0
    True
    """
    level = log_density(start) + log1p_value(-rng.random())
    left = start - width * rng.random()
    right = left + width
    steps_left = int(max_steps * rng.random())
    steps_right = max_steps - 1 - steps_left
    while steps_left > 0 and log_density(left) > level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and log_density(right) > level:
        right += width
        steps_right -= 1
    while True:
        proposal = left + (right - left) * rng.random()
        if log_density(proposal) > level or proposal == start:
            return proposal
        if proposal < start:
            left = proposal
        else:
            right = proposal
