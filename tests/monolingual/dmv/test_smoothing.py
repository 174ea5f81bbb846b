"""Smoothed child distributions: the mixture, its counts by enumeration, and that learning rises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from monolingual.dmv.initial import harmonic
from monolingual.dmv.layout import Layout, build_corpus, parameter_families
from monolingual.dmv.smoothing import (
    initial_mixture,
    mixed,
    mixture_families,
    mixture_prior,
    smoothed_expectations,
)
from monolingual.dmv.training import Settings, dmv_expectations, learner
from monolingual.multinomials import normalise, sum_per_family
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
    prior = mixture_prior(layout, 0.5, 3.0)
    assert sorted(set(prior.tolist())) == [0.5, 3.5]
    assert (prior == 3.5).sum() == 4 * 2 * 2


@pytest.mark.parametrize("method", ["em", "em-map", "vb-dirichlet"])
def test_learning_rises(method):
    layout = Layout(3, 2)
    corpus = build_corpus(layout, ROWS)
    kernel, point = learner(layout, corpus, Settings(method, prior=1.2, smooth=2.0))
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
        learner(layout, build_corpus(layout, ROWS), Settings("em", smooth=-1.0))
