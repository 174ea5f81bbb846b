"""Each move of the Gibbs sampler of Stochastic OT against the distribution that it draws from.

Kolmogorov-Smirnov tests of a few thousand draws; each has a false-alarm rate of 1e-8.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from monolingual.ot import moves
from monolingual.ot.gibbs import covariance_factor, dispersed_means, make_posterior
from monolingual.ot.orderings import pack_orderings
from monolingual.ot.settings import OtSettings
from tests.monolingual.ot.examples import orderings_of, tableaux, two_constraints
from tests.statistics import FALSE_ALARM

PRIORS = {0: (-0.2, 0.3), 1: (-1.0, 0.5)}
MEAN, DEVIATION = np.array([0.4, -0.3]), np.array([1.2, 0.6])


def truncated(centre, spread, low, high):
    return stats.truncnorm((low - centre) / spread, (high - centre) / spread, centre, spread).cdf


def agrees(draws, cdf):
    return stats.kstest(draws, cdf).pvalue > FALSE_ALARM


def test_variances_are_drawn_given_their_residuals(rng):
    """Five tokens: inverse gamma with shape a + 5/2 and scale (a − 1) s² + Σ r²/2."""
    settings = OtSettings(learn_variances=True, variance_shape=3.0, noise=2.0)
    model = make_posterior(orderings_of(two_constraints(4, 1)), settings)
    draws = np.empty((3000, 2))
    for row in draws:
        moves.draw_deviations(rng, model, row, np.array([7.0, 30.0]))
    for squares, found in zip((7.0, 30.0), draws.T, strict=True):
        assert agrees(found**2, stats.invgamma(5.5, scale=2.0 * 4.0 + squares / 2.0).cdf)


def test_means_are_drawn_given_values_and_priors(rng):
    """Three tokens with residuals that sum to 2 and −1, and a bound that is felt."""
    model = make_posterior(orderings_of(two_constraints(2, 1)), OtSettings(truncate=1.5, priors=PRIORS))
    sums, draws = np.array([2.0, -1.0]), np.empty((3000, 2))
    for row in draws:
        row[:] = MEAN
        moves.draw_means(rng, model, row, DEVIATION, sums)
    for i, (centre, width) in PRIORS.items():
        data, prior = 3.0 / DEVIATION[i] ** 2, width**-2.0
        values = (3.0 * MEAN[i] + sums[i]) / DEVIATION[i] ** 2
        best = (values + prior * centre) / (data + prior)
        assert agrees(draws[:, i], truncated(best, (data + prior) ** -0.5, -1.5, 1.5))


@pytest.mark.parametrize("priors", [{}, PRIORS], ids=["flat", "normal"])
def test_shifts_are_drawn_from_where_orderings_hold(rng, priors):
    """A above B with values .5 and −.2, and once B above A with .1 and .3: A moves by more than −.7, less
    than .2."""
    model = make_posterior(orderings_of(two_constraints(1, 1)), OtSettings(truncate=5.0, priors=priors))
    values = np.array([0.5, -0.2, 0.1, 0.3]) if model.prefers[0] > 0 else np.array([-0.2, 0.5, 0.3, 0.1])
    draws = []
    for _ in range(3000):
        mean, own = MEAN.copy(), values.copy()
        moves.shift(rng, model, mean, own, np.array([True, False]))
        draws.append((mean[0] - mean[1]) - (MEAN[0] - MEAN[1]))
        assert_allclose(own[::2] - mean[0], values[::2] - MEAN[0])
        assert_allclose(own[1::2] - mean[1], values[1::2] - MEAN[1])
    low, high = sorted((values[1] - values[0], values[3] - values[2]))
    cdf = (
        truncated(PRIORS[0][0] - MEAN[0], PRIORS[0][1], low, high)
        if priors
        else stats.uniform(low, high - low).cdf
    )
    assert agrees(np.array(draws), cdf)


@pytest.mark.parametrize("flat", [True, False])
def test_a_set_may_be_shifted_as_far_as_all_orderings_hold(rng, flat):
    """Random orderings of five constraints against trying distances one after the other."""
    distances = np.linspace(-4.0, 4.0, 4001)
    for _ in range(150):
        pairs = []
        for _ in range(rng.integers(1, 4)):
            sides = rng.permuted([0, 0, 1, 1, 2])
            pairs.append(tuple(frozenset(np.flatnonzero(sides == side).tolist()) for side in (0, 1)))
        true = rng.normal(size=5)
        pairs = [
            pair if true[list(pair[0])].max() > true[list(pair[1])].max() else pair[::-1] for pair in pairs
        ]
        orderings = pack_orderings([(pairs, 1, 0)], 5)
        active = orderings.active
        settings = OtSettings(truncate=3.0, priors={} if flat else {int(active[0]): (0.0, 1.0)})
        model, mean = make_posterior(orderings, settings), np.zeros(5)
        mean[active] = rng.uniform(-1.0, 1.0, len(active))
        mean[active] -= mean[active].mean()
        members = np.zeros(5, dtype=np.bool_)
        members[rng.choice(active, rng.integers(1, len(active)), replace=False)] = True
        low, high = moves._shift_bounds(model, mean, true[active], members)
        moved = true + distances[:, None] * members
        after = mean[active] + distances[:, None] * members[active]
        after -= after.mean(axis=1, keepdims=True) * flat
        holds = (np.abs(after) < 3.0).all(axis=1)
        for winner, loser in pairs:
            holds &= moved[:, list(winner)].max(axis=1) > moved[:, list(loser)].max(axis=1)
        inside = (distances > low) & (distances < high)
        assert np.array_equal(inside, holds)


def test_one_mean_has_the_room_that_leaves_all_within_the_bound(rng):
    example = tableaux("A B C D", ("x", "a", 4, "1010"), ("x", "b", 2, "2000"), ("x", "c", 1, "0100"))
    model = make_posterior(orderings_of(example), OtSettings(truncate=2.0))
    tried = np.linspace(-9.0, 9.0, 3001)
    for _ in range(10):
        mean = np.append(rng.uniform(-0.9, 0.9, 3), 100.0)  # The last tells nothing apart.
        for i in range(3):
            low, high = moves._room(model, mean, i)
            others = np.tile(mean, (len(tried), 1))
            others[:, i] = tried
            holds = np.array([moves.is_within(model, row) for row in others])
            centred = others[:, :3] - others[:, :3].mean(axis=1, keepdims=True)
            assert np.array_equal(holds, (np.abs(centred) < 2.0).all(axis=1))
            assert np.array_equal(holds, (tried > low) & (tried < high))


def test_constraints_occur_in_tokens_and_priors_have_precisions():
    example = tableaux(
        "A B C", ("x", "a", 4, "011"), ("x", "b", 2, "100"), ("y", "c", 3, "001"), ("y", "d", 0, "010")
    )
    settings = OtSettings(learn_variances=True, variance_shape=5.0, noise=2.0, priors={1: (0.5, 4.0)})
    model = make_posterior(orderings_of(example), settings)
    assert model.occurs.tolist() == [6, 9, 9]
    assert (model.prior_mean.tolist(), model.prior_precision.tolist()) == ([0, 0.5, 0], [0, 1 / 16, 0])
    assert (model.variance_shape, model.variance_scale) == (5.0, 16.0)
    assert [True, True, True] in model.shift_sets.tolist()


def test_joint_steps_need_a_factor_in_its_first_column(rng):
    """The first constraint does not occur; the factor is that of the others' covariance all the same."""
    means = rng.normal(size=(500, 3)) @ np.array([[1.0, 0, 0], [0, 1.0, 0.5], [0, 0, 2.0]])
    factor = covariance_factor(means, np.array([False, True, True]))
    assert factor[1, 0] > 0.0
    assert not factor[0].any()
    covariance = np.cov(means[:, 1:], rowvar=False)
    expected = 0.9 * covariance + np.diag(0.1 * np.diag(covariance) + 1e-6)
    assert_allclose((factor @ factor.T)[1:, 1:], expected, rtol=1e-9)


def test_first_means_are_centred_over_what_occurs_and_within_reach(rng):
    for _ in range(50):
        mean = dispersed_means(rng, np.array([0, 2, 3]), 4, OtSettings(truncate=1.0))
        assert_allclose(mean[[0, 2, 3]].sum(), 0.0, atol=1e-12)
        assert np.abs(mean).max() <= 0.5 + 1e-12
    unbound = [
        dispersed_means(rng, np.array([0, 1]), 2, OtSettings(truncate=0.0, noise=5.0)) for _ in range(50)
    ]
    assert 7.5 < np.abs(unbound).max() <= 15.0 + 1e-12
