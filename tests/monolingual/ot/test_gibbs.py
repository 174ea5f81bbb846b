"""The sampler of Stochastic OT against the posterior on a grid, by quadrature and by weighted prior draws.

The draws of a chain are thinned until they are nearly independent and compared with the exact probabilities
of cells by a chi-square test; each has a false-alarm rate of 1e-8, and planted faults fall far below it.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from monolingual.ot import gibbs
from monolingual.ot.collapsed import collapsed_moves
from monolingual.ot.domination import what_keeps_dominated
from monolingual.ot.exact import OrderingModel
from monolingual.ot.gibbs import OtState, initial_state, make_posterior, ot_kernel
from monolingual.ot.moves import stretch, sweep
from monolingual.ot.quadrature import make_grid, make_plan, ordering_probs
from monolingual.ot.settings import OtSettings
from scfg_sampler.core.chains.diagnostics import diagnose
from scfg_sampler.errors import InputError, SettingsError
from tests.monolingual.ot.examples import (
    ILOKANO,
    SPANISH,
    orderings_of,
    some_sweeps,
    tableaux,
    two_constraints,
)
from tests.oracles.twins import interpreted
from tests.statistics import FALSE_ALARM, chi_square_tail

PAPER = OtSettings(truncate=3.0, shifts=0, collapsed=0)
MOVES = {
    "paper": PAPER,
    "shifts": PAPER._replace(shifts=-1),
    "collapsed": PAPER._replace(collapsed=5, pilot=20),
    "all": PAPER._replace(collapsed=3, shifts=2, pilot=20),
}


def chain(rng, example, settings, draws, thin):
    """Thinned means of a chain after a short burn-in, (draws, N)."""
    kernel = ot_kernel(orderings_of(example), settings)
    state = kernel.init(rng, None)
    found = np.empty((draws, len(example.constraints)))
    for number in range(-20, draws):
        for _ in range(thin):
            state, _ = kernel.step(rng, state)
        if number >= 0:
            found[number] = state.mean
    return found


def grid_posterior(example, truncate, points, deviation=1.0):
    """Centres and probabilities of cells of the centred posterior of two or three constraints.

    Coordinates are all means but the last, which centring determines.
    """
    size = len(example.constraints)
    axis = (np.arange(points) + 0.5) / points * 2 * truncate - truncate
    free = np.stack(np.meshgrid(*[axis] * (size - 1), indexing="ij"), axis=-1).reshape(-1, size - 1)
    means = np.hstack([free, -free.sum(axis=1, keepdims=True)])
    model, counts = OrderingModel(example), example.frequency
    deviation = np.full(size, 1.0) * deviation
    weight = np.zeros(len(means))
    for row in np.flatnonzero(np.abs(means).max(axis=1) < truncate):
        weight[row] = np.exp(counts @ np.log(model.probs(means[row], deviation)))
    return free, weight / weight.sum()


def fit_to_grid(draws, free, probs, truncate, points, blocks):
    """The tail of a chi-square test of draws against a grid, its cells put together in blocks."""
    shape = (blocks,) * free.shape[1]

    def cells(values):
        index = np.clip(((values + truncate) / (2 * truncate) * blocks).astype(int), 0, blocks - 1)
        return np.ravel_multi_index(tuple(index.T), shape)

    expected = np.bincount(cells(free), probs, minlength=blocks ** free.shape[1])
    observed = np.bincount(cells(draws[:, : free.shape[1]]), minlength=blocks ** free.shape[1])
    return chi_square_tail(observed, expected * observed.sum())


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("counts", [(6, 2), (5, 0)])
def test_two_constraints_have_the_posterior_of_the_grid(rng, moves, counts):
    example = two_constraints(*counts)
    draws = chain(rng, example, MOVES[moves], 1500, 12 if moves == "paper" else 3)
    free, probs = grid_posterior(example, 3.0, 1200)
    assert fit_to_grid(draws, free, probs, 3.0, 1200, 40) > FALSE_ALARM


@pytest.mark.parametrize("moves", MOVES)
def test_three_constraints_have_the_posterior_of_the_grid(rng, moves):
    example = tableaux("A B C", ("x", "a", 4, "101"), ("x", "b", 2, "200"), ("x", "c", 1, "010"))
    settings = MOVES[moves]._replace(truncate=2.0)
    draws = chain(rng, example, settings, 1500, 12 if moves == "paper" else 3)
    free, probs = grid_posterior(example, 2.0, 60)
    assert fit_to_grid(draws, free, probs, 2.0, 60, 6) > FALSE_ALARM


UNEQUAL = np.array([3.0, 0.1])
"""With equal deviations, and all constraints in all tokens, the average value of a token is independent of
everything that matters, and the faults below do no harm."""


def unequal_chain(rng, step, sweeps, deviation=UNEQUAL):
    """Thinned means of a chain with unequal deviations, and their fit to the grid."""
    example = two_constraints(8, 8)
    orderings = orderings_of(example)
    state = initial_state(rng, orderings, PAPER)._replace(deviation=deviation.copy())
    draws = []
    for number in range(sweeps):
        state = step(orderings, state)
        if number % 4 == 0:
            draws.append(state.mean.copy())
    free, probs = grid_posterior(example, 3.0, 1200, deviation)
    return fit_to_grid(np.array(draws[20:]), free, probs, 3.0, 1200, 40)


@pytest.mark.parametrize("values_too", [True, False])
def test_centring_without_shifting_the_values_is_another_chain(rng, values_too):
    """Planted fault: the means are centred, the values stay."""

    def step(orderings, state):
        model = make_posterior(orderings, PAPER)._replace(is_flat=False, bound=np.inf)
        proposal = OtState(*(part.copy() for part in state))
        sweep(rng, model, *proposal[:3])
        average = proposal.mean.mean()
        if abs(proposal.mean[0] - average) >= 3.0:  # The bound, by rejection of the whole sweep.
            return state
        proposal.mean[:] -= average
        if values_too:
            proposal.values[:] -= average
        return proposal

    tail = unequal_chain(rng, step, 12_000)
    assert (tail > FALSE_ALARM) == values_too, tail


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [True, False])
def test_collapsed_moves_without_fresh_values_are_another_chain(rng, fresh):
    """Planted fault: the values are kept after the means have moved without them."""
    orderings = orderings_of(two_constraints(8, 8))
    deviation = np.array([3.0, 0.5])  # As unequal as a grid of moderate size allows.
    model, grid = make_posterior(orderings, PAPER), make_grid(-6, 6, deviation)
    plan = make_plan([orderings.pairs(d) for d in range(2)], 2)

    def step(_, state):
        values = state.values.copy()
        collapsed_moves(rng, model, plan, grid, state, 20)
        if not fresh:
            state.values[:] = values
        sweep(rng, model, *state[:3])
        return state

    tail = unequal_chain(rng, step, 16_000, deviation)
    assert (tail > FALSE_ALARM) == fresh, tail


PRIORS = {0: (1.0, 1.5), 1: (-1.0, 0.7), 2: (0.0, 1.0)}


def weighted_prior_draws(rng, example, settings, draws):
    """Draws of means and deviations from the prior, with the likelihood as weights."""
    size = len(example.constraints)
    if settings.priors:
        mean = np.stack(
            [settings.priors[i][0] + settings.priors[i][1] * rng.standard_normal(draws) for i in range(size)],
            1,
        )
    else:
        mean = rng.uniform(-settings.truncate, settings.truncate, (draws, size))
        mean[:, -1] = -mean[:, :-1].sum(axis=1)
    deviation = np.ones((draws, size))
    if settings.learn_variances:
        shape = settings.variance_shape
        deviation = np.sqrt(stats.invgamma.rvs(shape, scale=shape - 1, size=(draws, size), random_state=rng))
    model = OrderingModel(example)
    weight = np.zeros(draws)
    for row in np.flatnonzero(np.abs(mean).max(axis=1) < settings.truncate):
        weight[row] = np.exp(example.frequency @ np.log(model.probs(mean[row], deviation[row])))
    return mean, deviation, weight / weight.sum()


@pytest.mark.slow
@pytest.mark.parametrize("with_priors", [True, False])
@pytest.mark.parametrize("learn_variances", [True, False])
def test_priors_and_unknown_variances_have_their_posterior(rng, with_priors, learn_variances):
    """Against 6,000 weighted draws of the prior: the means of functions of both agree within five errors."""
    example = tableaux(
        "A B C", ("x", "a", 4, "011"), ("x", "b", 2, "100"), ("y", "c", 1, "001"), ("y", "d", 1, "010")
    )
    settings = OtSettings(
        truncate=4.0,
        priors=PRIORS if with_priors else {},
        learn_variances=learn_variances,
        variance_shape=6.0,
        collapsed=2,
        pilot=20,
    )
    mean, deviation, weight = weighted_prior_draws(rng, example, settings, 6000)
    kernel = ot_kernel(orderings_of(example), settings)
    state = kernel.init(rng, None)
    drawn = []
    for _ in range(6000):
        state, _ = kernel.step(rng, state)
        drawn.append((state.mean.copy(), state.deviation.copy()))
    means, deviations = (np.array(part) for part in zip(*drawn, strict=True))
    functions = [lambda m, s: m[:, 0], lambda m, s: m[:, 1] ** 2, lambda m, s: m[:, 0] * m[:, 2]]
    if learn_variances:
        functions += [lambda m, s: s[:, 0], lambda m, s: s[:, 1] * m[:, 0]]
    for function in functions:
        exact, ours = function(mean, deviation), function(means, deviations)
        expected = weight @ exact
        error = np.sqrt(np.sum(weight**2 * (exact - expected) ** 2))
        error = np.hypot(error, ours.std() / np.sqrt(diagnose([ours]).ess))
        assert abs(ours.mean() - expected) < 5 * error


@pytest.mark.parametrize("priors", [{}, {0: (1.0, 1.5), 1: (-1.0, 0.7)}], ids=["flat", "normal"])
def test_stretch_alone_draws_from_the_posterior_along_its_line(rng, priors):
    """All that is stretched is fixed but for one factor eᵗ, whose density is one-dimensional.

    Values bring e^(t V), which their normal densities lose; n deviations have the density of inverse gamma
    variances, e^(−2 a n t) exp(−Σ b / σ² e^(−2t)); the means bring e^((n − 1) t) where they are centred and
    flat, e^(n t) and their priors else. 16,000 steps: 4 deviations at 2,000 independent ones.
    """
    settings = OtSettings(truncate=400.0, learn_variances=True, variance_shape=4.0, priors=priors)
    model = make_posterior(orderings_of(two_constraints(2, 1)), settings)
    state = initial_state(rng, orderings_of(two_constraints(2, 1)), settings)
    mean, deviation = np.array([0.8, -0.8]), np.array([1.2, 0.7])
    fixed = mean.copy(), deviation.copy()
    values, squares = state.values, np.ones(2)
    places = []
    for _ in range(16_000):
        stretch(rng, model, mean, deviation, values, squares)
        places.append(np.log(deviation[0] / fixed[1][0]))
    t = np.linspace(-4.0, 4.0, 4001)[:, None]
    log_density = -2.0 * model.variance_shape * t - model.variance_scale * np.exp(-2.0 * t) / fixed[1] ** 2
    for i, (centre, width) in priors.items():
        log_density[:, i] += stats.norm.logpdf(np.exp(t[:, 0]) * fixed[0][i], centre, width)
    total = log_density.sum(axis=1) + (2 if priors else 1) * t[:, 0]
    density = np.exp(total - total.max())
    density /= density.sum()
    expected = density @ t[:, 0]
    deviation_of_t = np.sqrt(density @ (t[:, 0] - expected) ** 2)
    assert diagnose([np.array(places)]).ess > 2000
    assert abs(np.mean(places) - expected) < 4.0 * deviation_of_t / np.sqrt(2000)


@pytest.mark.parametrize(
    "settings", [PAPER, OtSettings(), OtSettings(learn_variances=True, priors={1: (0.0, 1.0)})]
)
def test_log_joint_is_that_of_a_recount(rng, settings):
    kernel = ot_kernel(orderings_of(SPANISH), settings._replace(pilot=8))
    state = kernel.init(rng, None)
    for _ in range(30):
        state, info = kernel.step(rng, state)
        assert_allclose(info.log_joint, kernel.log_joint(state), rtol=1e-10)
        if not settings.priors:
            assert abs(state.mean.sum()) < 1e-9
            assert np.abs(state.mean).max() < settings.truncate


def test_means_stay_within_the_bound_when_it_hurts(rng):
    """Four hundred winners push two means against a narrow bound, where joint draws of all are rejected."""
    example = two_constraints(400, 0)
    draws = chain(rng, example, OtSettings(truncate=0.5, collapsed=0, shifts=0), 300, 1)
    assert np.all(np.abs(draws) < 0.5)
    assert np.median(draws[:, 0]) > 0.48


def test_shifts_make_the_slow_direction_fast(rng):
    """Spanish: the dominated pair drifts as a whole. Shifted, it needs a tenth of the sweeps."""
    sizes = []
    for shifts in (0, -1):
        settings = OtSettings(collapsed=0, shifts=shifts)
        sizes.append(diagnose([chain(rng, SPANISH, settings, 1500, 1)[:, 2]]).ess)
    assert sizes[1] > 10 * sizes[0]


def test_compiled_and_interpreted_chains_are_the_same():
    for found, expected in zip(some_sweeps(5, 6), interpreted(some_sweeps, 5, 6), strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_first_states_are_dispersed_and_allowed(rng):
    orderings = orderings_of(ILOKANO)
    states = [initial_state(rng, orderings, OtSettings()) for _ in range(50)]
    assert np.std([state.mean[0] for state in states]) > 1.0
    kernel = ot_kernel(orderings, OtSettings())
    assert all(np.isfinite(kernel.log_joint(state)) for state in states)
    assert_allclose([state.mean.sum() for state in states], 0.0, atol=1e-12)


def test_idle_constraints_keep_their_prior(rng):
    example = tableaux("A B C", ("x", "a", 5, "011"), ("x", "b", 2, "101"))
    draws = chain(rng, example, PAPER._replace(collapsed=2, pilot=10), 800, 1)
    assert stats.kstest(draws[:, 2], stats.uniform(-3, 6).cdf).pvalue > FALSE_ALARM
    assert_allclose(draws[:, :2].sum(axis=1), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("truncate", "expected"), [(0.0, stats.norm(1.0, 2.0)), (3.0, stats.truncnorm(-2.0, 1.0, 1.0, 2.0))]
)
def test_a_prior_of_an_idle_constraint_leaves_the_others_centred(rng, truncate, expected):
    """Nothing says where the others are, and a chain that does not centre them drifts without end."""
    example = tableaux("A B C", ("x", "a", 5, "011"), ("x", "b", 2, "101"))
    settings = OtSettings(truncate=truncate, priors={2: (1.0, 2.0)}, pilot=10)
    draws = chain(rng, example, settings, 800, 1)
    assert stats.kstest(draws[:, 2], expected.cdf).pvalue > FALSE_ALARM
    assert_allclose(draws[:, :2].sum(axis=1), 0.0, atol=1e-9)
    state = initial_state(rng, orderings_of(example), settings)
    assert state.mean[:2].sum() == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("truncate", "priors", "said"),
    [
        (0.0, {}, "nothing keeps them from drifting"),
        (0.0, {2: (0.0, 1.0)}, "nothing keeps them from drifting"),
        (0.0, {1: (0.0, 1.0)}, "only the truncation or the priors keep them"),
        (6.0, {}, "only the truncation or the priors keep them"),
    ],
)
def test_a_prior_of_another_constraint_keeps_none_from_drifting(truncate, priors, said):
    example = tableaux("A B C", ("x", "a", 5, "011"), ("x", "b", 0, "101"))
    (found,) = what_keeps_dominated(example, truncate > 0, priors)
    assert found == f"the data dominate B categorically: no finite optimum; {said}"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (OtSettings(truncate=-1.0), "--truncate is -1; it must be above 0"),
        (OtSettings(noise=0.0), "--noise is 0"),
        (OtSettings(learn_variances=True, variance_shape=1.0), "--variance-shape is 1"),
        (OtSettings(shifts=-2), "--shifts is -2"),
        (OtSettings(collapsed=-2), "--collapsed is -2"),
        (OtSettings(pilot=-1), "--pilot is -1"),
        (OtSettings(priors={0: (0.0, 0.0)}), "--prior has the deviation 0; it must be from 1e-05"),
        (OtSettings(priors={0: (7.0, 1.0)}), "outside of --truncate 6"),
    ],
)
def test_wrong_settings_are_refused(settings, complaint):
    with pytest.raises(SettingsError, match=complaint):
        ot_kernel(orderings_of(SPANISH), settings)


def test_data_that_say_nothing_are_refused():
    with pytest.raises(InputError, match="the data say nothing about any constraint"):
        ot_kernel(orderings_of(tableaux("A", ("x", "a", 3, "1"))), OtSettings())


def test_shift_sets_hold_the_dominated_pair():
    sets = gibbs.make_posterior(orderings_of(SPANISH), OtSettings()).shift_sets
    assert_array_equal(sets[-1], [False, False, True, True])
    assert len(sets) == 5


@pytest.mark.parametrize(
    ("truncate", "deviation", "moves"), [(400.0, 0.5, 1), (400.0, 0.01, 0), (1.0, 30.0, 1)]
)
def test_means_are_not_moved_by_a_likelihood_that_is_not_exact(monkeypatch, truncate, deviation, moves):
    """On the grid of learnt deviations; all else of a sweep is right whatever they are."""
    summed = []

    def collapsed(rng, posterior, plan, grid, state, number):
        probs, _ = ordering_probs(plan, grid, state.mean - state.mean[0], state.deviation, False)
        summed.append(probs.sum())

    monkeypatch.setattr(gibbs, "collapsed_moves", collapsed)
    settings = OtSettings(learn_variances=True, truncate=truncate, pilot=0)
    kernel = ot_kernel(orderings_of(two_constraints(9, 1)), settings)
    rng = np.random.default_rng(1)
    state = kernel.init(rng)._replace(mean=np.zeros(2), deviation=np.array([1.0, deviation]))
    kernel.step(rng, state)
    assert_allclose(summed, [1.0] * moves, atol=1e-8)
