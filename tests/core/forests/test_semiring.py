"""Inside and outside values in every semiring, against the sum over all derivations one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from scfg_sampler.core.forests.hypergraph import edge_heads, num_edges, num_nodes
from scfg_sampler.core.forests.semiring import Counting, Expectation, LogSum, Tropical, inside, outside
from tests.generators import doubling, small_forest
from tests.oracles import brute_force

SEEDS = st.integers(0, 2**32 - 1)


def sums(graph, log_weights, combine):
    """`combine` of the weights of all derivations, for each node."""

    def weights(node):
        derivations = brute_force.derivations(graph, node)
        return [math.exp(brute_force.log_weight(derivation, log_weights)) for derivation in derivations]

    return [combine(weights(node)) for node in range(num_nodes(graph))]


@given(SEEDS)
def test_inside_of_log_sum_is_the_sum_over_derivations(seed):
    _, graph, log_weights = small_forest(seed)
    found = inside(graph, LogSum(log_weights))
    assert_allclose(np.exp(found[:, 0]), sums(graph, log_weights, math.fsum), rtol=1e-10)


@given(SEEDS)
def test_inside_of_tropical_is_the_largest_derivation(seed):
    _, graph, log_weights = small_forest(seed)
    found = inside(graph, Tropical(log_weights))
    expected = sums(graph, log_weights, lambda weights: max(weights, default=0.0))
    assert_allclose(np.exp(found[:, 0]), expected, rtol=1e-10)


@given(SEEDS)
def test_inside_of_counting_is_the_number_of_derivations(seed):
    _, graph, log_weights = small_forest(seed)
    usable = np.isfinite(log_weights)
    found = inside(graph, Counting(usable))[:, 0]
    assert found.tolist() == sums(graph, np.where(usable, 0.0, -np.inf), sum)


@given(SEEDS)
def test_inside_of_expectation_is_log_sum_and_mean(seed):
    rng, graph, log_weights = small_forest(seed)
    features = rng.normal(size=(num_edges(graph), 3))
    found = inside(graph, Expectation(log_weights, features))
    assert_allclose(found[:, 0], inside(graph, LogSum(log_weights))[:, 0], rtol=1e-12)
    assert_allclose(
        found[-1, 1:], brute_force.expected_edge_counts(graph, log_weights) @ features, atol=1e-10
    )


@given(SEEDS)
def test_outside_completes_inside_in_every_semiring(seed):
    """outside(v) ⊗ inside(v) is the ⊕ of the derivations of the goal, each once for every use of v."""
    _, graph, log_weights = small_forest(seed)
    uses = np.zeros(num_nodes(graph))
    np.add.at(uses, edge_heads(graph), brute_force.expected_edge_counts(graph, log_weights))
    log_total = brute_force.log_partition(graph, log_weights)
    values = inside(graph, LogSum(log_weights))
    through = values + outside(graph, LogSum(log_weights), values)
    assert_allclose(np.exp(through[:, 0]), uses * np.exp(log_total), rtol=1e-10, atol=1e-300)

    weights = np.exp(log_weights)
    values = inside(graph, Counting(weights))
    through = values * outside(graph, Counting(weights), values)
    assert_allclose(through[:, 0], uses * np.exp(log_total), rtol=1e-10, atol=1e-300)

    values = inside(graph, Tropical(log_weights))
    through = values + outside(graph, Tropical(log_weights), values)
    best_with = np.full(num_nodes(graph), -np.inf)
    heads = edge_heads(graph)
    for derivation in brute_force.derivations(graph):
        for node in heads[list(derivation)]:
            best_with[node] = max(best_with[node], brute_force.log_weight(derivation, log_weights))
    assert_allclose(through[:, 0], best_with, rtol=1e-10, atol=1e-12)


@given(SEEDS)
def test_outside_of_expectation_is_the_mean_over_uses(seed):
    rng, graph, log_weights = small_forest(seed)
    features = rng.normal(size=(num_edges(graph), 2))
    semiring = Expectation(log_weights, features)
    values = inside(graph, semiring)
    through = values + outside(graph, semiring, values)
    total, mean = np.zeros(num_nodes(graph)), np.zeros((num_nodes(graph), 2))
    heads = edge_heads(graph)
    for derivation in brute_force.derivations(graph):
        weight = math.exp(brute_force.log_weight(derivation, log_weights))
        np.add.at(total, heads[list(derivation)], weight)
        np.add.at(mean, heads[list(derivation)], weight * features[list(derivation)].sum(axis=0))
    used = total > 0
    assert_allclose(np.exp(through[:, 0]), total, rtol=1e-10, atol=1e-300)
    assert_allclose(through[used, 1:], mean[used] / total[used, np.newaxis], atol=1e-10)


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(AssertionError, match="2 log_weights for 3 edges"):
        inside(doubling(3), LogSum(np.zeros(2)))
