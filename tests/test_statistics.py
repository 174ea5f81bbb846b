"""The statistical tests hold when they should and fail when they should."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from tests.statistics import FALSE_ALARM, chi_square_tail, rank_test, stationary_rank, two_sample_tail


def test_chi_square_tail_of_a_fair_coin():
    # (60 − 50)²/50 · 2 = 4; the tail of chi-square with one degree of freedom at 4 is 0.0455.
    assert_allclose(chi_square_tail([60, 40], [50, 50]), 0.04550026, rtol=1e-6)


def test_small_cells_are_pooled():
    # 2 + 2 + 1 = 5: one cell of (6 − 5)²/5, one of (19 − 20)²/20, one degree of freedom.
    found = chi_square_tail([3, 19, 2, 1], [2, 20, 2, 1])
    assert_allclose(found, stats.chi2.sf(1 / 5 + 1 / 20, 1), rtol=1e-12)


def test_impossible_outcome_is_certain_evidence():
    assert chi_square_tail([99, 1], [100, 0]) == 0.0


def test_nothing_to_compare_is_no_evidence():
    assert chi_square_tail([7], [7]) == 1.0
    assert two_sample_tail([1, 1, 1], [1, 1]) == 1.0


def test_tails_are_uniform_when_the_sampler_is_right(rng):
    probs = np.array([0.5, 0.3, 0.15, 0.05])
    tails = [chi_square_tail(rng.multinomial(2000, probs), 2000 * probs) for _ in range(500)]
    assert stats.kstest(tails, "uniform").pvalue > 1e-4
    tails = [two_sample_tail(rng.normal(size=400), rng.normal(size=300)) for _ in range(500)]
    assert stats.kstest(tails, "uniform").pvalue > 1e-4


def test_two_samples_that_differ_are_told_apart(rng):
    assert two_sample_tail(rng.normal(size=2000), rng.normal(0.3, size=2000)) < FALSE_ALARM
    assert two_sample_tail(rng.poisson(1.0, size=3000), rng.poisson(1.25, size=3000)) < FALSE_ALARM
    assert two_sample_tail(rng.poisson(1.0, size=3000), rng.poisson(1.0, size=3000)) > FALSE_ALARM


def test_counts_with_different_sums_are_refused():
    with pytest.raises(AssertionError, match="different sums"):
        chi_square_tail([1, 2], [2, 2])


def scan(rng, state, order, spread=1.0):
    """Gibbs moves in a bivariate normal with correlation 0.8, coordinate by coordinate."""
    state = list(state)
    for i in order:
        state[i] = 0.8 * state[1 - i] + 0.6 * spread * rng.normal()
    return tuple(state)


def draw(rng):
    x = rng.normal()
    return x, 0.8 * x + 0.6 * rng.normal()


def ranks(rng, step, reverse_step, statistic, count=3000):
    return [
        stationary_rank(rng, draw, step, statistic, length=8, reverse_step=reverse_step) for _ in range(count)
    ]


def test_rank_test_passes_a_systematic_scan_with_its_reversal(rng):
    def forward(rng, state):
        return scan(rng, state, (0, 1))

    def backward(rng, state):
        return scan(rng, state, (1, 0))

    for statistic in (lambda state: state[0], lambda state: state[0] * state[1], lambda state: state[0] > 0):
        assert rank_test(ranks(rng, forward, backward, statistic), 8) > FALSE_ALARM


def test_rank_test_notices_a_wrong_variance(rng):
    def forward(rng, state):
        return scan(rng, state, (0, 1), spread=1.2)

    def backward(rng, state):
        return scan(rng, state, (1, 0), spread=1.2)

    found = ranks(rng, forward, backward, lambda state: state[0] ** 2)
    assert rank_test(found, 8) < FALSE_ALARM


def test_rank_of_a_constant_is_uniform(rng):
    found = ranks(rng, lambda rng, state: state, None, lambda state: 0.0)
    assert rank_test(found, 8) > FALSE_ALARM
