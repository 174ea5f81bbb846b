"""Truncated normal draws: exact at every cut, within their bounds, the same compiled and interpreted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from scfg_sampler.core import normal_draws
from scfg_sampler.core.jit import kernel
from tests.oracles.twins import interpreted
from tests.statistics import FALSE_ALARM

INF = math.inf
DRAWS = 20_000


@kernel
def many(rng, mean, deviation, low, high, size):
    found = np.empty(size)
    for i in range(size):
        found[i] = normal_draws.truncated_normal(rng, mean, deviation, low, high)
    return found


@kernel
def many_inverse_gammas(rng, shape, scale, size):
    found = np.empty(size)
    for i in range(size):
        found[i] = normal_draws.inverse_gamma(rng, shape, scale)
    return found


def drawn(seed):
    """Draws with every kind of bounds."""
    rng = np.random.default_rng(seed)
    cuts = [(-INF, INF), (0, INF), (3, INF), (-INF, -8), (-0.2, 0.3), (-4, 4), (5, 5.1), (2, 9)]
    return np.concatenate([many(rng, 0.5, 2.0, *cut, 200) for cut in cuts])


def uniforms(draws, low, high):
    """The distribution function of standard normals on [low, high] at draws, exact in the tails.

    By survival probabilities on the side where they are small.
    """
    if low + high < 0 or low == -INF:
        return 1.0 - uniforms(-draws, -high, -low)
    log_tail = special.log_ndtr(-draws) - special.log_ndtr(-low)
    rest = 0.0 if high == INF else math.exp(special.log_ndtr(-high) - special.log_ndtr(-low))
    return (1.0 - np.exp(log_tail)) / (1.0 - rest)


@pytest.mark.parametrize(
    ("deviation", "low", "high"),
    [
        (1.0, 1e160, INF),
        (1.0, 1e300, 1e301),
        (1e-200, 1e300, INF),
        (math.nan, 0.0, 1.0),
        (1.0, math.nan, 2.0),
    ],
)
def test_every_draw_ends(rng, deviation, low, high):
    draws = many(rng, 0.0, deviation, low, high, 3)
    assert len(draws) == 3
    if deviation == 1.0 and low > 0.0:
        assert (draws == low).all()


@pytest.mark.parametrize("cut", [0.0, 3.0, 8.0, 0.45, 0.55, -2.0, 30.0])
@pytest.mark.parametrize("is_upper", [False, True])
def test_one_sided_draws_have_the_distribution_of_the_tail(rng, cut, is_upper):
    low, high = (-INF, -cut) if is_upper else (cut, INF)
    draws = many(rng, 0.0, 1.0, low, high, DRAWS)
    assert stats.kstest(uniforms(draws, low, high), "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1, 2), (-0.1, 0.3), (0.2, 5), (1, 1.5), (3, 4), (8, 8.2), (8, 12), (-9, -8), (-0.4, 30), (0.6, 1.1)],
)
def test_draws_from_an_interval_have_its_distribution(rng, low, high):
    draws = many(rng, 0.0, 1.0, low, high, DRAWS)
    assert draws.min() >= low
    assert draws.max() <= high
    assert stats.kstest(uniforms(draws, low, high), "uniform").pvalue > FALSE_ALARM


def test_mean_and_deviation_shift_and_scale(rng):
    draws = many(rng, -7.0, 2.5, -3.0, INF, DRAWS)
    assert stats.kstest(uniforms((draws + 7.0) / 2.5, 1.6, INF), "uniform").pvalue > FALSE_ALARM


def test_inverted_distribution_function_is_noticed(rng):
    """Planted fault: in doubles, 1 − Φ(8) + u Φ(−8) has a handful of values."""
    u = rng.random(DRAWS)
    draws = special.ndtri(special.ndtr(8.0) + u * special.ndtr(-8.0))
    assert stats.kstest(uniforms(np.minimum(draws, 40.0), 8.0, INF), "uniform").pvalue < FALSE_ALARM


def test_bounds_may_meet(rng):
    assert_allclose(many(rng, 0.0, 1.0, 2.0, 2.0, 5), 2.0)
    assert_allclose(many(rng, 0.0, 1.0, 1e8, 1e8, 5), 1e8)


def test_compiled_and_interpreted_draws_are_the_same():
    assert_allclose(drawn(3), interpreted(drawn, 3), rtol=1e-14)


def test_inverse_gamma_has_its_distribution(rng):
    draws = many_inverse_gammas(rng, 2.5, 1.7, DRAWS)
    assert stats.kstest(draws, stats.invgamma(2.5, scale=1.7).cdf).pvalue > FALSE_ALARM
