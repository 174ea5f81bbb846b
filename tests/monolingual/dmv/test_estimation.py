"""What each estimator is made of: settings that reach the kernel, and equal sentences counted as often."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.dmv.estimation import dmv_expectations, dmv_units, estimator
from monolingual.dmv.initial import harmonic
from monolingual.dmv.layout import Layout, build_corpus, parameter_families
from monolingual.dmv.settings import Settings
from monolingual.dmv.tag_families import expert_covariances, family_covariances, family_experts
from monolingual.priors.logistic_normal import logistic_normal_kernel
from monolingual.priors.multinomials import normalise

LAYOUT = Layout(3, 2)
ROWS = [[0, 1, 2], [1, 1], [2, 0], [0, 1, 2], [0, 1, 2], [2, 0]]
TAGS, SAME = "ABC", {"A": "family", "B": "family"}
COVARIANCE = family_covariances(LAYOUT, TAGS, SAME)
EXPERTS = family_experts(LAYOUT, TAGS, SAME, ["all"])
SHARED = expert_covariances(LAYOUT, EXPERTS, COVARIANCE)
CORPORA = [build_corpus(LAYOUT, ROWS, distinct=distinct) for distinct in (True, False)]


@pytest.fixture
def probs(rng):
    families = parameter_families(LAYOUT)
    return normalise(families, rng.gamma(2.0, size=int(families.start[-1])))


@pytest.mark.parametrize(
    "options", [{}, {"unambiguity": 0.3}, {"e_step": "viterbi"}], ids=["soft", "sharper", "viterbi"]
)
def test_equal_sentences_are_expected_as_often_as_they_occur(probs, options):
    (counts, total), (each, in_all) = (dmv_expectations(LAYOUT, c, **options)(probs) for c in CORPORA)
    assert_allclose(counts, each, rtol=1e-12)
    assert total == pytest.approx(in_all, rel=1e-12)
    alone = [dmv_expectations(LAYOUT, build_corpus(LAYOUT, [row]), **options)(probs)[1] for row in ROWS]
    assert total == pytest.approx(sum(alone), rel=1e-12)


@pytest.mark.parametrize("level", ["sentence", "corpus"])
@pytest.mark.parametrize("method", ["em", "vb-dirichlet", "vb-em-dirichlet", "vb-em-logistic-normal"])
def test_objectives_are_those_of_all_sentences(probs, method, level):
    settings = Settings(method, covariance=COVARIANCE, level=level)
    found = []
    for corpus in CORPORA:
        kernel = estimator(LAYOUT, corpus, settings).kernel
        state, _ = kernel.step(None, kernel.init(None, probs))
        found.append(kernel.log_joint(state))
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_the_level_says_who_has_multinomials_of_their_own(probs):
    corpus = CORPORA[0]
    values = {}
    for level in ("sentence", "corpus"):
        kernel = estimator(
            LAYOUT, corpus, Settings("vb-em-logistic-normal", covariance=COVARIANCE, level=level)
        ).kernel
        before = kernel.init(None, probs)
        after, _ = kernel.step(None, kernel.init(None, probs))
        values[level] = kernel.log_joint(after)
        # All sentences together share one draw, from a prior that stays.
        is_kept = np.array_equal(before.covariance, after.covariance)
        assert is_kept == (level == "corpus")
    by_hand = logistic_normal_kernel(dmv_units(LAYOUT, corpus), COVARIANCE)
    state, _ = by_hand.step(None, by_hand.init(None, probs))
    assert values["sentence"] == pytest.approx(by_hand.log_joint(state), rel=1e-12)
    assert values["corpus"] != pytest.approx(values["sentence"], rel=1e-3)


@pytest.mark.parametrize("unused", ["averaged", "integrated"])
@pytest.mark.parametrize("experts", [None, EXPERTS], ids=["own", "shared"])
def test_experts_and_what_is_unused_reach_the_kernel(probs, unused, experts):
    covariance = COVARIANCE if experts is None else SHARED
    settings = Settings(
        "vb-em-logistic-normal", covariance=covariance, unused=unused, experts=experts, rounds=5
    )
    kernel, point = estimator(LAYOUT, CORPORA[0], settings)
    expected = logistic_normal_kernel(
        dmv_units(LAYOUT, CORPORA[0]), covariance, experts=experts, unused=unused
    )
    state, other = (each.init(None, probs) for each in (kernel, expected))
    for _ in range(2):
        state, other = kernel.step(None, state)[0], expected.step(None, other)[0]
    assert_array_equal(state.mean, other.mean)
    assert kernel.log_joint(state) == expected.log_joint(other)
    assert point(state).shape == probs.shape


def test_the_mean_of_sampled_parameters_is_that_of_the_second_half(rng):
    kernel, point = estimator(LAYOUT, CORPORA[0], Settings("gibbs", prior=1.0, rounds=6))
    state = kernel.init(rng, harmonic(LAYOUT, CORPORA[0]))
    drawn = []
    for done in range(6):
        state, _ = kernel.step(rng, state)
        drawn.append(state.probs.copy())
        assert_allclose(point(state), np.mean(drawn[3:], axis=0) if done >= 3 else drawn[-1], rtol=1e-12)


def test_maximum_likelihood_has_no_prior_but_for_smoothing(probs):
    """em takes α for 1, with and without smoothing; em-map does not."""
    for smooth in (None, 2.0):
        found = {}
        for method in ("em", "em-map"):
            for prior in (1.0, 2.5):
                made = estimator(LAYOUT, CORPORA[0], Settings(method, prior=prior, smooth=smooth))
                state, _ = made.kernel.step(None, made.kernel.init(None, probs))
                found[method, prior] = made.point(state)
        assert_array_equal(found["em", 1.0], found["em", 2.5])
        assert np.abs(found["em-map", 1.0] - found["em-map", 2.5]).max() > 0.01
