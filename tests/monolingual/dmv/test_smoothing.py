"""Smoothed child distributions: the mixture, its counts by enumeration, and that learning rises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from monolingual.dmv.estimation import dmv_expectations, estimator
from monolingual.dmv.initial import harmonic
from monolingual.dmv.layout import Layout, build_corpus, num_parameters, parameter_families
from monolingual.dmv.settings import Settings
from monolingual.dmv.smoothing import (
    initial_mixture,
    mixed,
    mixture_families,
    mixture_prior,
    smoothed_expectations,
    smoothed_units,
)
from monolingual.priors.covariances import identity_covariances
from monolingual.priors.multinomials import normalise, sum_per_family
from monolingual.priors.sentence_units import choices_of_copies
from scfg_sampler.errors import SettingsError

ROWS = [[0, 1, 2], [1, 1], [2], [0, 2, 1, 0]]


@pytest.mark.parametrize("valences", [1, 2])
def test_counts_are_derivatives_of_the_log_likelihood(valences, rng):
    """As expected counts of any product of weights are, by the logarithm of the weight."""
    layout = Layout(3, valences)
    expectations = smoothed_expectations(layout, dmv_expectations(layout, build_corpus(layout, ROWS)))
    weights = rng.gamma(2.0, size=int(mixture_families(layout).start[-1]))
    counts, _ = expectations(weights)
    numeric = approx_fprime(np.log(weights), lambda logs: expectations(np.exp(logs))[1], 1e-6)
    assert_allclose(counts, numeric, atol=1e-4)


def test_mixture_of_distributions_is_one(rng):
    layout = Layout(4, 2)
    families = mixture_families(layout)
    values = normalise(families, rng.gamma(1.0, size=int(families.start[-1])))
    assert_allclose(sum_per_family(parameter_families(layout), mixed(layout, values)), 1.0)
    for favour in (0.0, 3.0):
        begun = initial_mixture(
            layout, normalise(parameter_families(layout), rng.gamma(1.0, size=num_parameters(layout))), favour
        )
        assert_allclose(sum_per_family(families, begun), 1.0)
    prior = mixture_prior(layout, 0.5, 3.0)
    assert sorted(set(prior.tolist())) == [0.5, 3.5]
    assert (prior == 3.5).sum() == 4 * 2 * 2


@pytest.mark.parametrize("valences", [1, 2])
def test_sentences_with_mixtures_of_their_own_add_up(valences, rng):
    """Under the same weights for all sentences, to the counts of the model they share."""
    layout = Layout(3, valences)
    corpus = build_corpus(layout, [*ROWS, ROWS[0]])
    units = smoothed_units(layout, corpus)
    weights = rng.gamma(2.0, size=int(units.families.start[-1]))
    choices = choices_of_copies(units)
    counts, totals = units.expectations(weights[choices])
    times = np.repeat(units.multiplicity[units.unit], np.diff(units.start))
    expected, total = smoothed_expectations(layout, dmv_expectations(layout, corpus))(weights)
    assert_allclose(np.bincount(choices, times * counts, minlength=len(weights)), expected, atol=1e-10)
    assert_allclose(totals @ corpus.multiplicity, total)
    # Sentences do not share: the derivatives by the weights of one are its own counts.
    own = rng.gamma(2.0, size=len(choices))
    some = rng.choice(len(own), size=40, replace=False)

    def value(logs):
        moved = own.copy()
        moved[some] = np.exp(logs)
        return units.expectations(moved)[1].sum()

    numeric = approx_fprime(np.log(own[some]), value, 1e-6)
    assert_allclose(units.expectations(own)[0][some], numeric, atol=1e-4)


@pytest.mark.parametrize(
    "method", ["em", "em-map", "vb-dirichlet", "vb-em-dirichlet", "vb-em-logistic-normal"]
)
def test_learning_rises(method):
    layout = Layout(3, 2)
    corpus = build_corpus(layout, ROWS)
    flat = identity_covariances(parameter_families(layout))
    kernel, point = estimator(layout, corpus, Settings(method, prior=1.2, smooth=2.0, covariance=flat))
    probs = harmonic(layout, corpus)
    assert_allclose(sum_per_family(mixture_families(layout), initial_mixture(layout, probs)), 1.0)
    state = kernel.init(None, probs)
    values = []
    for _ in range(15):
        state, progress = kernel.step(None, state)
        values.append(progress.log_joint)
    assert np.all(np.diff(values) > -1e-9)
    assert_allclose(sum_per_family(parameter_families(layout), point(state)), 1.0)


def test_negative_pseudo_counts_are_refused():
    layout = Layout(3, 1)
    with pytest.raises(SettingsError, match="--smooth is -1"):
        estimator(layout, build_corpus(layout, ROWS), Settings("em", smooth=-1.0))
