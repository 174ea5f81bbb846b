"""EM and variational Bayes: objectives rise, estimates are tight, gradients and bounds are right."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.pcfg.grammar import build_grammar
from monolingual.pcfg.graph import without_useless
from monolingual.pcfg.lanes import suits_lanes
from monolingual.pcfg.model import Data, build_model
from monolingual.pcfg.tightness import analyse
from monolingual.pcfg.training import different_strings, pcfg_expectations
from monolingual.priors.estimators import em_kernel, learn, vb_kernel
from monolingual.priors.multinomials import (
    Families,
    dirichlet_divergence,
    families_of_sizes,
    log_dirichlet,
    log_dirichlet_multinomial,
    mean_field_weights,
    normalise,
)
from scfg_sampler.errors import SettingsError
from tests.monolingual.pcfg.grammars import TERNARY, all_trees, catalan, grammar_of, random_grammar


def data_of(sentences, size, tree_counts=None, num_trees=0):
    words = np.array([word for s in sentences for word in s], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
    counts = np.zeros(size, np.int64) if tree_counts is None else np.asarray(tree_counts, np.int64)
    return Data(words, start, counts, num_trees)


@pytest.fixture
def ternary(tmp_path):
    grammar, _ = grammar_of(TERNARY, tmp_path)
    return build_model(grammar, np.array([0.5, 1.0, 2.0]))


SENTENCES = [[0] * n for n in (1, 2, 3, 3, 5)]


def test_learners_never_lose(ternary, rng):
    expectations = pcfg_expectations(ternary, data_of(SENTENCES, 3))
    for make, prior in ((em_kernel, np.ones(3)), (em_kernel, np.full(3, 1.7)), (vb_kernel, ternary.prior)):
        kernel = make(ternary.families, expectations, prior)
        state = kernel.init(rng, rng.dirichlet(np.ones(3)))
        before = -np.inf
        for _ in range(30):
            value = kernel.log_joint(state)
            state, progress = kernel.step(rng, state)
            assert_allclose(progress.log_joint, value, rtol=1e-10)
            assert value >= before - 1e-12 * abs(value)
            before = value


def test_em_ends_where_the_likelihood_is_flat(ternary, rng):
    data = data_of(SENTENCES, 3)
    expectations = pcfg_expectations(ternary, data)
    kernel = em_kernel(ternary.families, expectations, np.ones(3))
    state, trace = learn(kernel, kernel.init(rng, np.full(3, 1 / 3)), max_rounds=5000, tolerance=1e-15)
    best = trace[-1]
    for other in itertools.product((-1e-3, 0.0, 1e-3), repeat=3):
        near = normalise(ternary.families, np.maximum(state.values + other, 1e-12))
        assert expectations(near)[1] <= best + 1e-9


def test_maximum_likelihood_estimates_are_tight(rng, tmp_path):
    # Chi and Geman (1998), from trees and from sentences.
    checked = 0
    while checked < 10:
        grammar, probs = random_grammar(rng, 4)
        grammar, numbers = without_useless(grammar)
        model = build_model(grammar, np.ones(len(numbers)))
        words = list(range(len(grammar.terminals)))
        sentences = [
            s for n in (1, 2, 3) for s in itertools.product(words, repeat=n) if all_trees(grammar, s)
        ]
        if not sentences:
            continue
        chosen = [sentences[at] for at in rng.integers(len(sentences), size=6)]
        tree = all_trees(grammar, chosen[0])[0]
        counts = np.bincount(tree, minlength=len(numbers))
        for data in (data_of(chosen, len(numbers)), data_of([], len(numbers), counts, 1)):
            kernel = em_kernel(model.families, pcfg_expectations(model, data), np.ones(len(numbers)))
            first = normalise(model.families, probs[numbers] + 0.1)
            state, _ = learn(kernel, kernel.init(rng, first), max_rounds=3000, tolerance=1e-14)
            used = np.where(state.counts > 1e-9, state.values, 0.0)
            reached = normalise(model.families, used)
            assert analyse(grammar, reached).spectral_radius <= 1.0 + 1e-6
        checked += 1


def test_variational_bound_is_below_the_evidence_and_exact_for_trees(ternary, tmp_path):
    prior = ternary.prior
    # The evidence of the sentences, by summing over all trees.
    evidence = 0.0
    choices = [all_trees(ternary.grammar, s) for s in SENTENCES[1:4]]
    for trees in itertools.product(*choices):
        counts = np.bincount([rule for tree in trees for rule in tree], minlength=3)
        evidence += np.exp(log_dirichlet_multinomial(ternary.families, prior, counts))
    kernel = vb_kernel(ternary.families, pcfg_expectations(ternary, data_of(SENTENCES[1:4], 3)), prior)
    state, trace = learn(kernel, kernel.init(None, np.full(3, 1 / 3)), max_rounds=1000, tolerance=1e-14)
    assert trace[-1] < np.log(evidence)
    assert trace[-1] > np.log(evidence) - 0.5
    # Without anything hidden the bound is the evidence.
    data = data_of([], 3, (1, 2, 6), 2)
    kernel = vb_kernel(ternary.families, pcfg_expectations(ternary, data), prior)
    state = kernel.init(None, np.full(3, 1 / 3))
    expected = log_dirichlet_multinomial(ternary.families, prior, data.tree_counts)
    assert_allclose(kernel.log_joint(state), expected, rtol=1e-12)


def test_threads_change_nothing(ternary):
    # Once with sentences as single charts, once in lanes: in several shards.
    data = data_of([[0] * (1 + n) for n in range(40)], 3)
    sparse = build_model(*_right_branching(200))
    many = data_of([[n % 200] * (1 + n % 3) for n in range(600)], len(sparse.prior))
    for model, some, in_lanes in ((ternary, data, True), (sparse, many, False)):
        assert suits_lanes(model.chart, different_strings(some)) == in_lanes
        weights = normalise(model.families, np.arange(1.0, len(model.prior) + 1))
        one, three = (pcfg_expectations(model, some, threads=t)(weights) for t in (1, 3))
        assert_array_equal(one[0], three[0])
        assert one[1] == three[1]


def _right_branching(size):
    """A grammar of so many words, each with a symbol of its own, and the prior of its rules."""
    rules = [("S", [(f"W{w}", False), ("S", False)]) for w in range(size)]
    rules += [("S", [(f"W{w}", False)]) for w in range(size)]
    rules += [(f"W{w}", [(f"w{w}", True)]) for w in range(size)]
    grammar, _ = build_grammar("S", rules)
    return grammar, np.ones(len(rules))


def test_repeated_sentences_count_as_often_as_they_occur(ternary):
    weights = np.array([0.1, 0.3, 0.6])
    once = [pcfg_expectations(ternary, data_of([[0] * n], 3))(weights) for n in (1, 2, 3, 4)]
    times = (5, 2, 7, 1)
    data = data_of(
        [[0] * n for n, many in zip((4, 1, 3, 2), (1, 5, 7, 2), strict=True) for _ in range(many)], 3
    )
    counts, total = pcfg_expectations(ternary, data)(weights)
    expected = sum(many * found[0] for many, found in zip(times, once, strict=True))
    assert_allclose(counts, expected, rtol=1e-13)
    log_prob = sum(many * found[1] for many, found in zip(times, once, strict=True))
    assert_allclose(total, log_prob, rtol=1e-13)


def test_impossible_data_and_priors_are_refused(ternary):
    expectations = pcfg_expectations(ternary, data_of([[0, 0]], 3))
    with pytest.raises(SettingsError, match="probability 0 under these weights"):
        expectations(np.array([0.5, 0.0, 0.5]))
    with pytest.raises(SettingsError, match="--prior is below 1"):
        em_kernel(ternary.families, expectations, np.full(3, 0.5))


# ---------------------------------------------------------------- multinomials


def test_em_serves_other_models():
    """A mixture of two coins, without any grammar: the interface needs expected counts only."""
    tosses = np.array([[5, 0], [4, 1], [1, 4], [0, 5]])
    families = families_of_sizes([2, 2, 2])  # which coin; the sides of the first; of the second

    def expectations(weights):
        joint = weights[:2] * np.stack(
            [np.prod(weights[at : at + 2] ** tosses, axis=1) for at in (2, 4)], axis=1
        )
        share = joint / joint.sum(axis=1, keepdims=True)
        counts = np.concatenate([share.sum(axis=0), share[:, 0] @ tosses, share[:, 1] @ tosses])
        return counts, float(np.log(joint.sum(axis=1)).sum())

    kernel = em_kernel(families, expectations, np.ones(6))
    first = np.array([0.5, 0.5, 0.6, 0.4, 0.4, 0.6])
    state, _ = learn(kernel, kernel.init(None, first), max_rounds=500, tolerance=1e-14)
    assert_allclose(state.values, [0.5, 0.5, 0.9, 0.1, 0.1, 0.9], atol=2e-3)


def test_dirichlet_quantities_agree_with_each_other(rng):
    families = families_of_sizes([2, 3, 1])
    prior, counts = rng.gamma(2.0, size=6), rng.integers(5, size=6)
    probs = normalise(families, rng.random(6))
    # Bayes: P(f | θ) p(θ) = P(f) p(θ | f).
    left = np.sum(counts * np.log(probs)) + log_dirichlet(families, prior, probs)
    right = log_dirichlet_multinomial(families, prior, counts) + log_dirichlet(
        families, prior + counts, probs
    )
    assert_allclose(left, right, rtol=1e-12)
    assert_allclose(dirichlet_divergence(families, prior, prior), 0.0, atol=1e-12)
    assert dirichlet_divergence(families, prior + counts + 0.1, prior) > 0.0
    assert np.all(np.add.reduceat(mean_field_weights(families, prior), families.start[:-1])[:2] < 1.0)
    assert isinstance(families, Families)


def test_catalan_map_estimate_is_its_closed_form(tmp_path):
    grammar, probs = catalan(0.5, tmp_path)
    model = build_model(grammar, np.full(2, 3.0))
    data = data_of([], 2, (5, 7), 2)
    kernel = em_kernel(model.families, pcfg_expectations(model, data), model.prior)
    state, _ = learn(kernel, kernel.init(None, probs), max_rounds=3, tolerance=0.0)
    assert_allclose(state.values, [7 / 16, 9 / 16])
