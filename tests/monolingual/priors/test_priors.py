"""Priors that are learnt, on grammars small enough to check: bounds, gradients, three kinds of grammar."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.special import digamma, logsumexp

from monolingual.dmv.estimation import dmv_expectations, dmv_units
from monolingual.dmv.layout import Layout, build_corpus, num_parameters, parameter_families
from monolingual.pcfg.grammar import build_grammar
from monolingual.pcfg.model import Data, build_model
from monolingual.pcfg.training import pcfg_expectations
from monolingual.priors.covariances import covariances, identity_covariances
from monolingual.priors.dirichlet import best_concentrations, dirichlet_em_kernel
from monolingual.priors.estimators import em_kernel, vb_kernel
from monolingual.priors.logistic_normal import (
    copy_bound,
    copy_gradients,
    logistic_normal_kernel,
    point_estimate,
)
from monolingual.priors.multinomials import families_of_sizes, normalise, sum_per_family
from monolingual.priors.sentence_units import choices_of_copies, copies_per_family, independent_units
from scfg_sampler.errors import SettingsError
from tests.monolingual.priors.hidden_markov_model import hmm_expectations, hmm_families

SENTENCES = [[0, 1, 2], [1, 1], [0, 2, 2, 1], [2], [0, 1], [1, 2, 0, 0]]


def hmm(num_states=2):
    sentences = [hmm_expectations(num_states, 3, [row]) for row in SENTENCES]
    return independent_units(hmm_families(num_states, 3), sentences)


def pcfg_model():
    rules = [(left, [(a, False), (b, False)]) for left in "AB" for a in "AB" for b in "AB"]
    rules += [(left, [(word, True)]) for left in "AB" for word in "xyz"]
    grammar, _ = build_grammar("A", rules)
    return build_model(grammar, np.ones(len(grammar.rhs_start) - 1))


def pcfg_expectations_of(model, rows):
    ids = np.array([model.grammar.terminals.index(word) for word in "xyz"], np.int32)
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    none = np.zeros(len(model.prior), np.int64)
    return pcfg_expectations(model, Data(ids[np.concatenate(rows)], start, none, 0))


def pcfg():
    model = pcfg_model()
    return independent_units(model.families, [pcfg_expectations_of(model, [row]) for row in SENTENCES])


def pcfg_corpus():
    return pcfg_expectations_of(pcfg_model(), SENTENCES)


def dmv():
    layout = Layout(3, 1)
    return dmv_units(layout, build_corpus(layout, [*SENTENCES, *SENTENCES[:3]]))


def dmv_corpus():
    layout = Layout(3, 1)
    return dmv_expectations(layout, build_corpus(layout, [*SENTENCES, *SENTENCES[:3]], distinct=False))


GRAMMARS = {"hmm": hmm, "pcfg": pcfg, "dmv": dmv}


@pytest.fixture(params=sorted(GRAMMARS))
def units(request):
    return GRAMMARS[request.param]()


def start(units, rng):
    return normalise(units.families, rng.gamma(2.0, size=int(units.families.start[-1])))


def random_covariances(families, rng):
    flat = identity_covariances(families)
    for matrix in covariances(families, flat):
        factor = 0.5 * rng.normal(size=matrix.shape)
        matrix += factor @ factor.T
    return flat


def shared(units):
    """Expected counts of all units under the same weights, for EM."""
    choices = choices_of_copies(units)
    per_choice = np.repeat(units.multiplicity[units.unit], np.diff(units.start))

    def expectations(weights):
        counts, totals = units.expectations(weights[choices])
        counts = np.bincount(choices, per_choice * counts, minlength=len(weights))
        return counts, float(totals @ units.multiplicity)

    return expectations


def assert_rises(kernel, state, rounds=25):
    objectives = [kernel.log_joint(state)]
    for _ in range(rounds):
        reported = kernel.log_joint(state)
        state, progress = kernel.step(None, state)
        assert_allclose(progress.log_joint, reported, rtol=1e-10)
        objectives.append(kernel.log_joint(state))
    assert np.all(np.diff(objectives) > -1e-9 * np.abs(objectives[1:]))
    assert objectives[-1] > objectives[0] + 0.01
    return state


# ---------------------------------------------------------------- all estimators, all grammars


def test_em_and_map_rise(units, rng):
    for prior in (1.0, 1.5):
        kernel = em_kernel(units.families, shared(units), np.full(int(units.families.start[-1]), prior))
        assert_rises(kernel, kernel.init(None, start(units, rng)))


def test_counts_far_below_1_decide_as_others_do():
    families, counts = families_of_sizes([2, 2]), np.array([3e-18, 1e-18, 2.0, 6.0])
    kernel = em_kernel(families, lambda weights: (counts, 0.0), np.ones(4))
    state, _ = kernel.step(None, kernel.init(None, np.full(4, 0.5)))
    assert_allclose(state.values, [0.75, 0.25, 0.25, 0.75], rtol=1e-14)


def test_vb_dirichlet_rises(units, rng):
    kernel = vb_kernel(units.families, shared(units), np.full(int(units.families.start[-1]), 0.3))
    assert_rises(kernel, kernel.init(None, start(units, rng)))


def test_vb_em_dirichlet_rises(units, rng):
    kernel = dirichlet_em_kernel(units, 0.5)
    assert_rises(kernel, kernel.init(None, start(units, rng)))


@pytest.mark.parametrize("unused", ["averaged", "integrated"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_logistic_normal_rises_and_stays_positive_definite(units, unused, rounds, rng):
    kernel = logistic_normal_kernel(
        units, random_covariances(units.families, rng), unused=unused, rounds=rounds, iterations=rounds
    )
    state = assert_rises(kernel, kernel.init(None, start(units, rng)))
    for matrix in covariances(units.families, state.covariance):
        assert np.linalg.eigvalsh(matrix).min() > 0.0
        assert_allclose(matrix, matrix.T, atol=1e-12)
    assert_allclose(sum_per_family(units.families, point_estimate(units.families, state.mean)), 1.0)


def test_posterior_under_a_given_prior_rises_and_keeps_it(units, rng):
    flat = random_covariances(units.families, rng)
    kernel = logistic_normal_kernel(units, flat, learn_prior=False)
    probs = start(units, rng)
    state = kernel.init(None, probs)
    before = kernel.log_joint(state)
    for _ in range(10):
        state, _ = kernel.step(None, state)
    assert kernel.log_joint(state) > before
    assert_allclose(state.mean, np.log(probs))
    assert_allclose(state.covariance, flat)


# ---------------------------------------------------------------- gradients and optima


def a_copy(rng, size):
    factor = rng.normal(size=(size, size))
    precision = np.linalg.inv(np.eye(size) + factor @ factor.T)
    mean, counts = rng.normal(size=size), rng.gamma(1.0, size=size)
    return mean, 0.5 * (precision + precision.T), counts, rng.normal(size=size), rng.gamma(2.0, size=size)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_gradients_agree_with_finite_differences(size, rng):
    mean, precision, counts, means, variances = a_copy(rng, size)
    by_mean, by_variance = copy_gradients(mean, precision, counts, means, variances)
    by_numbers = approx_fprime(means, lambda m: copy_bound(mean, precision, counts, m, variances), 1e-7)
    assert_allclose(by_mean, by_numbers, atol=1e-4)
    numeric = approx_fprime(variances, lambda s: copy_bound(mean, precision, counts, means, s), 1e-7)
    assert_allclose(by_variance, numeric, atol=1e-4)
    if size > 1:
        # Planted faults, as printed: the mean's prior with its sign turned, Σ_ii in the place of Λ_ii.
        wrong = by_mean + 2.0 * precision @ (means - mean)
        assert np.abs(wrong - by_numbers).max() > 1e-2
        covariance = np.linalg.inv(precision)
        wrong = by_variance + 0.5 * (precision.diagonal() - covariance.diagonal())
        assert np.abs(wrong - numeric).max() > 1e-2


def test_e_step_ends_where_all_gradients_vanish(rng):
    units = hmm()
    kernel = logistic_normal_kernel(
        units, random_covariances(units.families, rng), learn_prior=False, iterations=50
    )
    state = kernel.init(None, start(units, rng))
    for _ in range(200):
        state, _ = kernel.step(None, state)
    counts, _ = units.expectations(state.weights)
    matrices = covariances(units.families, state.precision)
    for copy, k in enumerate(units.family):
        some = slice(units.start[copy], units.start[copy + 1])
        mean = state.mean[units.families.start[k] : units.families.start[k + 1]]
        gradients = copy_gradients(mean, matrices[k], counts[some], state.means[some], state.variances[some])
        assert_allclose(np.concatenate(gradients), 0.0, atol=1e-5)


def test_m_step_is_the_maximum(rng):
    """The bound after a step falls when mean or covariance are moved, copies as they are."""
    units = hmm()
    kernel = logistic_normal_kernel(units, random_covariances(units.families, rng))
    state = kernel.init(None, start(units, rng))
    for _ in range(3):
        state, _ = kernel.step(None, state)
    best = kernel.log_joint(state)
    for _ in range(5):
        moved = state._replace(mean=state.mean + 0.01 * rng.normal(size=len(state.mean)))
        assert kernel.log_joint(moved) < best
        scale = 1.0 + 0.05 * rng.choice([-1, 1])
        moved = state._replace(covariance=scale * state.covariance, precision=state.precision / scale)
        assert kernel.log_joint(moved) < best


def test_bound_is_below_the_log_likelihood(rng):
    """One multinomial, two derivations with four uses each: log E Σ Π θ by 200,000 draws.

    The bound misses it by more than five standard errors of the estimate, on the right side.
    """
    families = families_of_sizes([3])
    uses = np.array([[2.0, 1.0, 1.0], [0.0, 1.0, 3.0]])

    def expectations(weights):
        each = np.exp(uses @ np.log(weights))
        return each @ uses / each.sum(), float(np.log(each.sum()))

    units = independent_units(families, [expectations])
    flat = random_covariances(families, rng)
    probs = np.array([0.2, 0.3, 0.5])
    kernel = logistic_normal_kernel(units, flat, learn_prior=False, iterations=20)
    state = kernel.init(None, probs)
    for _ in range(20):
        state, _ = kernel.step(None, state)
    draws = rng.multivariate_normal(np.log(probs), flat.reshape(3, 3), size=200_000)
    values = np.exp((draws - logsumexp(draws, axis=1, keepdims=True)) @ uses.T).sum(axis=1)
    error = values.std() / np.sqrt(len(values)) / values.mean()
    assert kernel.log_joint(state) < np.log(values.mean()) - 5 * error
    assert kernel.log_joint(state) > np.log(values.mean()) - 2.0


def test_dirichlet_bound_is_below_the_log_evidence():
    """Two derivations, a a or b b, of a sentence that draws θ from a Dirichlet; the evidence by hand."""
    families = families_of_sizes([2])

    def expectations(weights):
        each = weights**2
        return 2.0 * each / each.sum(), float(np.log(each.sum()))

    units = independent_units(families, [expectations])
    kernel = dirichlet_em_kernel(units, 1.0)
    state = kernel.init(None, np.array([0.4, 0.6]))
    for _ in range(5):
        alpha = state.concentrations
        total = alpha.sum()
        evidence = np.log((alpha * (alpha + 1)).sum() / (total * (total + 1)))
        assert kernel.log_joint(state) <= evidence + 1e-12
        state, _ = kernel.step(None, state)


def test_sentences_that_occur_twice_count_twice_in_the_dirichlet_bound(rng):
    sentences = [hmm_expectations(2, 3, [row]) for row in SENTENCES]
    once, twice = (independent_units(hmm_families(2, 3), rows) for rows in (sentences, 2 * sentences))
    kernels = [
        dirichlet_em_kernel(units, 1.0)
        for units in (once._replace(multiplicity=2.0 * once.multiplicity), twice)
    ]
    states = [kernel.init(None, start(once, np.random.default_rng(4))) for kernel in kernels]
    for _ in range(3):
        first, second = (kernel.log_joint(state) for kernel, state in zip(kernels, states, strict=True))
        assert_allclose(first, second, rtol=1e-10)
        states = [kernel.step(None, state)[0] for kernel, state in zip(kernels, states, strict=True)]


def test_a_copy_without_counts_says_nothing_but_for_its_covariance():
    """The posterior is the prior: no divergence, but for the terms of |Σ| that are left out."""
    mean, variances = np.array([0.3, -1.0, 2.0]), np.array([0.5, 2.0, 3.0])
    found = copy_bound(mean, np.diag(1.0 / variances), np.zeros(3), mean, variances)
    assert_allclose(found, 0.5 * np.log(variances).sum())


def test_vanishing_covariance_gives_the_e_step_of_em(units, rng):
    probs = start(units, rng)
    kernel = logistic_normal_kernel(
        units, 1e-9 * identity_covariances(units.families), learn_prior=False, iterations=5
    )
    state = kernel.init(None, probs)
    state, _ = kernel.step(None, state)
    choices = choices_of_copies(units)
    expected, totals = units.expectations(probs[choices])
    found, found_totals = units.expectations(state.weights)
    assert_allclose(found, expected, atol=1e-6)
    assert_allclose(found_totals, totals, atol=1e-6)
    # Planted fault: with variance, it does not.
    kernel = logistic_normal_kernel(units, identity_covariances(units.families), learn_prior=False)
    state, _ = kernel.step(None, kernel.init(None, probs))
    assert np.abs(units.expectations(state.weights)[0] - expected).max() > 1e-2


def test_learnt_concentrations_have_no_gradient(rng):
    families = families_of_sizes([3, 2, 4])
    draws = [rng.dirichlet(alpha, size=50) for alpha in ([0.5, 1.0, 2.0], [3.0, 0.2], [1.0, 1.0, 5.0, 9.0])]
    sums = np.concatenate([np.log(rows).sum(axis=0) for rows in draws])
    times = np.full(3, 50.0)
    alpha = best_concentrations(families, np.ones(9), sums, times, rounds=100)
    totals = np.repeat(sum_per_family(families, alpha), [3, 2, 4])
    assert_allclose(50.0 * (digamma(totals) - digamma(alpha)) + sums, 0.0, atol=1e-3)


def test_concentrations_without_sentences_stay(rng):
    families = families_of_sizes([3, 2])
    alpha = best_concentrations(families, np.full(5, 0.7), np.zeros(5), np.zeros(2))
    assert_allclose(alpha, 0.7)


# ---------------------------------------------------------------- grammars


def test_hmm_counts_are_those_of_all_state_sequences(rng):
    num_states = 3
    families = hmm_families(num_states, 3)
    weights = rng.gamma(1.0, size=int(families.start[-1]))
    first = weights[:3]
    following = weights[3:15].reshape(3, 4)
    emitted = weights[15:].reshape(3, 3)
    for row in SENTENCES:
        counts, total = hmm_expectations(num_states, 3, [row])(weights)
        value, expected = 0.0, np.zeros(len(weights))
        for states in itertools.product(range(num_states), repeat=len(row)):
            uses = np.zeros(len(weights))
            uses[states[0]] += 1
            for now, then in zip(states, (*states[1:], num_states), strict=True):
                uses[3 + 4 * now + then] += 1
            for state, symbol in zip(states, row, strict=True):
                uses[15 + 3 * state + symbol] += 1
            weight = np.exp(uses @ np.log(weights))
            value += weight
            expected += weight * uses
        assert_allclose(total, np.log(value), atol=1e-10)
        assert_allclose(counts, expected / value, atol=1e-10)
        assert_allclose(counts, textbook(first, following, emitted, row), atol=1e-10)


def textbook(first, following, emitted, row):
    """Forward–backward as in Rabiner (1989), unscaled, with matrices."""
    n = len(row)
    inner, end = following[:, :-1], following[:, -1]
    alpha = [first * emitted[:, row[0]]]
    for symbol in row[1:]:
        alpha.append(alpha[-1] @ inner * emitted[:, symbol])
    beta = [end]
    for symbol in row[:0:-1]:
        beta.insert(0, inner @ (emitted[:, symbol] * beta[0]))
    total = alpha[-1] @ end
    gamma = np.array([a * b / total for a, b in zip(alpha, beta, strict=True)])
    moves = np.zeros_like(following)
    for t in range(n - 1):
        moves[:, :-1] += np.outer(alpha[t], emitted[:, row[t + 1]] * beta[t + 1]) * inner / total
    moves[:, -1] = gamma[-1]
    symbols = np.zeros_like(emitted)
    for t, symbol in enumerate(row):
        symbols[:, symbol] += gamma[t]
    return np.concatenate([gamma[0], moves.ravel(), symbols.ravel()])


def test_units_add_up_to_the_counts_of_shared_parameters(rng):
    """The PCFG against its own inside and outside over all sentences, the DMV against its own."""
    for units, whole in ((pcfg(), pcfg_corpus()), (dmv(), dmv_corpus())):
        probs = start(units, rng)
        counts, total = shared(units)(probs)
        expected, log_total = whole(probs)
        assert_allclose(counts, expected, atol=1e-10)
        assert_allclose(total, log_total, atol=1e-10)
        assert copies_per_family(units).max() <= units.multiplicity.sum()


def test_sharper_e_steps_rise_and_meet_viterbi(rng):
    layout = Layout(3, 1)
    corpus = build_corpus(layout, SENTENCES)
    families = parameter_families(layout)
    probs = normalise(families, rng.gamma(2.0, size=num_parameters(layout)))
    for options in ({"unambiguity": 0.5}, {"unambiguity": 0.9}, {"e_step": "viterbi"}):
        kernel = em_kernel(families, dmv_expectations(layout, corpus, **options), np.ones(len(probs)))
        state = kernel.init(None, probs)
        values = []
        for _ in range(10):
            state, progress = kernel.step(None, state)
            values.append(progress.log_joint)
        assert np.all(np.diff(values) > -1e-9)
    # Between the best tree and as many times it as there are trees, each length's number to the power.
    _, score = dmv_expectations(layout, corpus, e_step="viterbi")(probs)
    trees = sum(np.log({1: 1, 2: 2, 3: 7, 4: 30}[len(row)]) for row in SENTENCES)
    for sigma in (0.5, 0.95):
        _, value = dmv_expectations(layout, corpus, unambiguity=sigma)(probs)
        assert score < value < score + (1.0 - sigma) * trees


def test_wrong_settings_are_refused():
    units = hmm()
    with pytest.raises(SettingsError, match="choose averaged or integrated"):
        logistic_normal_kernel(units, identity_covariances(units.families), unused="frob")
    with pytest.raises(SettingsError, match="not symmetric and positive definite"):
        logistic_normal_kernel(units, -identity_covariances(units.families))
