"""Logistic normals with shared experts: bound, gradients, and what becomes of them without sharing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from monolingual.priors.covariances import (
    covariances,
    diagonals,
    identity_covariances,
    inverses,
    square_starts,
)
from monolingual.priors.e_step import Prior
from monolingual.priors.logistic_normal import (
    logistic_normal_kernel,
    point_estimate,
)
from monolingual.priors.multinomials import families_of_sizes
from monolingual.priors.sentence_units import independent_units
from monolingual.priors.shared_e_step import expert_gradients
from monolingual.priors.shared_logistic_normal import arguments_of, expert_means, experts_of_groups, links_of
from scfg_sampler.errors import SettingsError
from tests.monolingual.priors.test_priors import GRAMMARS, assert_rises, dmv, hmm, random_covariances, start


def pairs_of_equal_length(families):
    """Groups: the first and second, the second and third multinomial of every length."""
    sizes = np.diff(families.start)
    groups = []
    for size in np.unique(sizes):
        some = np.flatnonzero(sizes == size).tolist()
        groups += [list(pair) for pair in itertools.pairwise(some[:3])]
    return groups


@pytest.mark.parametrize("unused", ["averaged", "integrated"])
@pytest.mark.parametrize("name", sorted(GRAMMARS))
def test_bound_rises_and_covariances_stay_positive_definite(name, unused, rng):
    units = GRAMMARS[name]()
    experts = experts_of_groups(units.families, pairs_of_equal_length(units.families))
    flat = random_covariances(experts.families, rng)
    kernel = logistic_normal_kernel(units, flat, experts=experts, unused=unused)
    state = assert_rises(kernel, kernel.init(None, start(units, rng)))
    for matrix in covariances(experts.families, state.covariance):
        assert np.linalg.eigvalsh(matrix).min() > 0.0


@pytest.mark.parametrize("name", sorted(GRAMMARS))
def test_experts_of_one_multinomial_each_are_the_plain_logistic_normal(name, rng):
    units = GRAMMARS[name]()
    experts = experts_of_groups(units.families, [])
    flat, probs = random_covariances(units.families, rng), start(units, rng)
    plain = logistic_normal_kernel(units, flat)
    shared = logistic_normal_kernel(units, flat, experts=experts)
    # Same posteriors and prior, same bound, also of priors learnt from them.
    ours = plain.init(None, probs)
    theirs = shared.init(None, probs)
    _, copies = links_of(units, experts, unused="averaged")
    where = np.lexsort((copies.family, units.unit[np.lexsort((units.family, units.unit))]))
    assert np.array_equal(where, np.arange(len(where)))
    order = np.lexsort((units.family, units.unit))
    places = np.concatenate([np.arange(units.start[i], units.start[i + 1]) for i in order])
    theirs = theirs._replace(means=ours.means[places], variances=ours.variances[places], weights=ours.weights)
    assert_allclose(shared.log_joint(theirs), plain.log_joint(ours), rtol=1e-12)
    # Both ways of rising end on the same posterior under the same prior.
    fixed = [
        logistic_normal_kernel(units, flat, learn_prior=False),
        logistic_normal_kernel(units, flat, experts=experts, learn_prior=False),
    ]
    values = []
    for kernel in fixed:
        state = kernel.init(None, probs)
        for _ in range(150):
            state, _ = kernel.step(None, state)
        values.append(kernel.log_joint(state))
    assert_allclose(values[0], values[1], rtol=1e-7)


def test_learnt_prior_of_unshared_experts_is_that_of_the_plain_logistic_normal(rng):
    """Steps differ for multinomials of two choices alone; here all have three."""
    families = families_of_sizes([3, 3])
    uses = rng.integers(3, size=(4, 6)).astype(float)

    def expectations(weights):
        each = np.exp(uses @ np.log(weights))
        return each @ uses / each.sum(), float(np.log(each.sum()))

    units = independent_units(families, [expectations] * 3)
    flat = random_covariances(families, rng)
    states = []
    for experts in (None, experts_of_groups(families, [])):
        kernel = logistic_normal_kernel(units, flat, experts=experts)
        state = kernel.init(None, start(units, np.random.default_rng(1)))
        for _ in range(20):
            state, _ = kernel.step(None, state)
        states.append(state)
    for ours, theirs in zip(*states, strict=True):
        assert_allclose(ours, theirs, rtol=1e-8, atol=1e-15)  # Zeros are zeros but for cancellation.


def test_gradients_agree_with_finite_differences(rng):
    units = dmv()
    experts = experts_of_groups(units.families, pairs_of_equal_length(units.families))
    links, copies = links_of(units, experts, unused="averaged")
    families = experts.families
    mean = rng.normal(size=int(families.start[-1]))
    precision = inverses(families, random_covariances(families, rng))
    counts = rng.gamma(1.0, size=int(units.start[-1]))
    means = rng.normal(size=int(copies.start[-1]))
    variances = rng.gamma(3.0, 0.3, size=len(means))
    by_mean, by_variance = np.zeros(len(means)), np.zeros(len(means))
    prior = Prior(families.start, square_starts(families), mean, precision, diagonals(families, precision))
    expert_gradients(links, copies.family, prior, counts, means, variances, by_mean, by_variance)

    def bound(means, variances):
        value = 0.0
        for j in range(len(units.family)):
            mine = links.expert[links.expert_first[j] : links.expert_first[j + 1]]
            rows = [slice(copies.start[c], copies.start[c + 1]) for c in mine]
            argument = np.mean([means[some] for some in rows], axis=0)
            spread = np.sum([variances[some] for some in rows], axis=0) / len(rows) ** 2
            f = counts[units.start[j] : units.start[j + 1]]
            value += f @ argument - f.sum() * np.logaddexp.reduce(argument + spread / 2.0)
        for c, expert in enumerate(copies.family):
            m = means[copies.start[c] : copies.start[c + 1]]
            s = variances[copies.start[c] : copies.start[c + 1]]
            shift = m - mean[families.start[expert] : families.start[expert + 1]]
            matrix = covariances(families, precision)[expert]
            value -= 0.5 * (shift @ matrix @ shift + matrix.diagonal() @ s - np.log(s).sum())
        return value

    some = rng.choice(len(means), size=40, replace=False)

    def moved(values, part):
        found = values.copy()
        found[some] = part
        return found

    numeric = approx_fprime(means[some], lambda part: bound(moved(means, part), variances), 1e-6)
    assert_allclose(by_mean[some], numeric, atol=1e-4)
    numeric = approx_fprime(variances[some], lambda part: bound(means, moved(variances, part)), 1e-6)
    assert_allclose(by_variance[some], numeric, atol=1e-4)
    # Planted fault: forgetting that the argument is an average.
    assert np.abs(2.0 * by_mean[some] - numeric).max() > 1e-2


USES = np.array([[2.0, 1.0, 0.0, 1.0], [0.0, 2.0, 1.0, 0.0], [1.0, 0.0, 0.0, 2.0]])
"""Of the choices of two binary multinomials, in three derivations."""


def three_derivations(weights):
    each = np.exp(USES @ np.log(weights))
    return each @ USES / each.sum(), float(np.log(each.sum()))


@pytest.mark.parametrize("groups", [[], [[0, 1]]])
@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_bound_is_below_the_likelihood_by_quadrature(groups, scale):
    """A binary softmax depends on the difference of its arguments: one normal for every expert.

    Gauss–Hermite with 90 nodes for each; 60 nodes give the same to 1e-4, and the bound is further away. How
    far depends on the covariances, so they are drawn from a seed of their own.
    """
    rng = np.random.default_rng(1)
    families = families_of_sizes([2, 2])
    units = independent_units(families, [three_derivations])
    experts = experts_of_groups(families, groups)
    flat = scale * random_covariances(experts.families, rng)
    probs = np.array([0.3, 0.7, 0.6, 0.4])
    kernel = logistic_normal_kernel(units, flat, experts=experts, learn_prior=False, iterations=10)
    state = kernel.init(None, probs)
    for _ in range(50):
        state, _ = kernel.step(None, state)
    exact, check = (log_likelihood(experts, state.mean, flat, nodes) for nodes in (90, 60))
    assert_allclose(exact, check, atol=1e-4)
    value = kernel.log_joint(state)
    assert exact - 2.5 < value < exact - 1e-3
    assert_allclose(point_estimate(families, state.mean, experts), probs)


def log_likelihood(experts, mean, flat, nodes):
    """log E Σ_derivations Π θ, by quadrature over the differences of all experts."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    differences = []
    for k, matrix in enumerate(covariances(experts.families, flat)):
        centre = mean[2 * k] - mean[2 * k + 1]
        spread = np.sqrt(matrix[0, 0] + matrix[1, 1] - 2.0 * matrix[0, 1])
        differences.append(centre + spread * points)
    grid = np.meshgrid(*differences, indexing="ij")
    mass = np.ones(())
    for _ in differences:
        mass = np.multiply.outer(mass, weights / np.sqrt(2.0 * np.pi))
    logs = []
    for k in range(2):
        mine = experts.expert[experts.first[k] : experts.first[k + 1]]
        argument = sum(grid[e] for e in mine) / len(mine)
        logs += [-np.logaddexp(0.0, -argument), -np.logaddexp(0.0, argument)]
    value = sum(np.exp(sum(use * log for use, log in zip(uses, logs, strict=True))) for uses in USES)
    return float(np.log((mass * value).sum()))


def test_experts_begin_where_their_average_is_the_model(rng):
    units = hmm()
    experts = experts_of_groups(units.families, pairs_of_equal_length(units.families))
    logs = np.log(start(units, rng))
    means = expert_means(units.families, experts, logs)
    assert_allclose(arguments_of(units.families, experts, means), logs, atol=1e-12)


def test_sharing_ties_what_is_learnt(rng):
    """Multinomials that a sentence says nothing of move with those they share an expert with."""
    families = families_of_sizes([3, 3])

    def expectations(weights):
        return np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0]), float(3.0 * np.log(weights[0]))

    units = independent_units(families, [expectations] * 5)
    for groups, is_tied in (([], False), ([[0, 1]], True)):
        experts = experts_of_groups(families, groups)
        flat = identity_covariances(experts.families)
        kernel = logistic_normal_kernel(units, flat, experts=experts)
        state = kernel.init(None, np.full(6, 1.0 / 3.0))
        for _ in range(30):
            state, _ = kernel.step(None, state)
        second = point_estimate(families, state.mean, experts)[3:]
        assert (second[0] > 0.4) == is_tied


def test_multinomials_of_different_lengths_cannot_share():
    with pytest.raises(SettingsError, match="equally many choices"):
        experts_of_groups(families_of_sizes([2, 3]), [[0, 1]])
