"""Every random decision a kernel may take.

Kernels call these through the module (`draws.categorical(rng, …)`), never the generator itself. Compiled
and interpreted draws from the same `numpy.random.Generator` are bit-identical, and the enumeration tests
replace these functions to follow every outcome in turn.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.jit import compiled

__all__ = ["SMALLEST_PROB", "bernoulli", "categorical", "dirichlet", "log_categorical", "uniform_index"]

SMALLEST_PROB = 1e-150
"""What `dirichlet` puts in the place of smaller probabilities, so that products of two do not vanish."""


@compiled
def uniform_index(rng: np.random.Generator, size: int) -> int:
    """An integer in [0, size), each with the same probability; no draw is made when size is 1."""
    if size == 1:
        return 0
    return min(int(rng.random() * size), size - 1)


@compiled
def bernoulli(rng: np.random.Generator, prob: float) -> bool:
    """True with probability `prob`, in [0, 1]."""
    return rng.random() < prob


@compiled
def categorical(rng: np.random.Generator, weights: np.ndarray, size: int) -> int:
    """An index i < size with probability weights[i] / Σ weights[:size].

    weights : float64, shape (≥ size,), non-negative with a positive sum.
    """
    total = 0.0
    for i in range(size):
        total += weights[i]
    threshold = rng.random() * total
    last = 0
    for i in range(size):
        if weights[i] > 0.0:
            last = i
            threshold -= weights[i]
            if threshold < 0.0:
                return i
    return last  # Rounding may leave a last crumb of the threshold.


@compiled
def log_categorical(rng: np.random.Generator, log_weights: np.ndarray, size: int) -> int:
    """An index i < size with probability proportional to exp(log_weights[i]). Overwrites log_weights.

    log_weights : float64, shape (≥ size,); after the call, the weights relative to the largest.
    """
    top = log_weights[0]
    for i in range(1, size):
        top = max(top, log_weights[i])
    for i in range(size):
        log_weights[i] = elementary.exp(log_weights[i] - top)
    return categorical(rng, log_weights, size)


@compiled
def dirichlet(
    rng: np.random.Generator, concentrations: np.ndarray, first: int, end: int, probs: np.ndarray
) -> None:
    """Write a draw from a Dirichlet distribution to probs[first:end].

    concentrations : float64, positive; those at first … end − 1 count. No draw is made for a single one.

    By gamma variates; of shapes below 1 their logarithms, log G(a) = log G(a + 1) + log(U) / a, because
    at small concentrations most variates are too small for floating point and all of them may be.
    """
    if end == first + 1:
        probs[first] = 1.0
        return
    top = -np.inf
    for i in range(first, end):
        shape = concentrations[i]
        if shape < 1.0:
            probs[i] = (
                elementary.log(rng.standard_gamma(shape + 1.0)) + elementary.log(1.0 - rng.random()) / shape
            )
        else:
            probs[i] = elementary.log(rng.standard_gamma(shape))
        top = max(top, probs[i])
    total = 0.0
    for i in range(first, end):
        probs[i] = elementary.exp(probs[i] - top)
        total += probs[i]
    for i in range(first, end):
        probs[i] = max(probs[i] / total, SMALLEST_PROB)
