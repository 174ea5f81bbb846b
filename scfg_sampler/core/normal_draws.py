"""Draws from normal distributions, whole or truncated to an interval, and of their variances.

A normal variable conditioned to lie in [low, high]. In standard units, a = (low − mean)/deviation and
b = (high − mean)/deviation, mirrored if need be so that the middle of the interval is not negative:

- a tail (a ≥ 0): x = a + e with e exponential of rate λ = (a + √(a² + 4))/2, accepted with probability
  exp(−(x − λ)²/2); this rate loses least (Robert 1995, the envelope of Lin 2005, section 5.2). At least 76
  % are accepted, the more the farther the tail;
- a narrow interval: x uniform, accepted in proportion to its density;
- otherwise: x normal, accepted if inside.

No distribution function is inverted, so the draws are exact however far the interval lies in the tail.

The fact a newcomer would get wrong: an interval may be a single point or so narrow that rounding leaves it;
the result is then clamped, so it never violates its bounds.
"""

from __future__ import annotations

import math

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.jit import compiled, inlined

__all__ = ["inverse_gamma", "normal", "truncated_normal"]

_TAIL = 0.0  # Beyond this many deviations the exponential envelope is cheaper than trying normals.
_NARROW = 0.7  # Widths, in units of 1/λ, for which most of the exponential envelope lies outside.
_FAR = 1e100  # Beyond it the exponential adds nothing to a, and soon a² is infinite.
_TRIES = 100_000  # No draw needs so many: numbers that are none would be tried for ever.
_WIDE = math.sqrt(2.0 * math.pi)  # Where normals and uniforms are accepted equally often around 0.


@inlined
def normal(rng: np.random.Generator, mean: float, deviation: float) -> float:
    """A draw from the normal distribution with the given mean and standard deviation (≥ 0)."""
    return mean + deviation * rng.standard_normal()


@inlined
def inverse_gamma(rng: np.random.Generator, shape: float, scale: float) -> float:
    """A draw from the inverse gamma distribution, density ∝ x^(−shape − 1) exp(−scale/x), both positive."""
    return scale / rng.standard_gamma(shape)


@inlined
def truncated_normal(
    rng: np.random.Generator, mean: float, deviation: float, low: float, high: float
) -> float:
    """A draw from the normal distribution conditioned on [low, high]; either bound may be infinite.

    mean, deviation : those of the untruncated distribution, deviation > 0. low ≤ high.
    """
    if low == -math.inf and high == math.inf:
        return mean + deviation * rng.standard_normal()
    return _bounded(rng, mean, deviation, low, high)


@compiled
def _bounded(rng, mean, deviation, low, high):
    """`truncated_normal` with at least one finite bound."""
    a, b = (low - mean) / deviation, (high - mean) / deviation
    if a > -b:
        value = mean + deviation * _right_of_centre(rng, a, b)
    else:
        value = mean - deviation * _right_of_centre(rng, -b, -a)
    return min(max(value, low), high)


@compiled
def _right_of_centre(rng, a, b):
    """A standard normal draw conditioned on [a, b], where a + b ≥ 0."""
    if a >= _FAR:
        return a
    if a >= _TAIL:
        rate = 0.5 * (a + math.sqrt(a * a + 4.0))
        if rate * (b - a) < _NARROW:
            return _by_uniforms(rng, a, b, a)
        for _ in range(_TRIES):
            x = a + rng.standard_exponential() / rate
            if x <= b and rng.random() <= elementary.exp(-0.5 * (x - rate) * (x - rate)):
                return x
        return a
    if b - a < _WIDE:
        return _by_uniforms(rng, a, b, 0.0)
    for _ in range(_TRIES):
        x = rng.standard_normal()
        if a <= x <= b:
            return x
    return a


@compiled
def _by_uniforms(rng, a, b, mode):
    """The same where uniform draws are accepted often; `mode` is the densest point of [a, b]."""
    for _ in range(_TRIES):
        x = a + (b - a) * rng.random()
        if rng.random() <= elementary.exp(0.5 * (mode - x) * (mode + x)):
            return x
    return a
