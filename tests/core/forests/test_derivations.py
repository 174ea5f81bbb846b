"""Derivations: counts, the best, samples, means, each against all derivations one by one."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from scfg_sampler.core.forests.derivations import (
    best_derivation,
    count_derivations,
    edge_posteriors,
    entropy,
    expected_features,
    sample_derivation,
)
from scfg_sampler.core.forests.hypergraph import HypergraphBuilder, num_edges, num_nodes
from scfg_sampler.core.forests.semiring import Expectation, LogSum, Tropical, inside, outside
from tests.generators import doubling, small_forest
from tests.oracles import brute_force
from tests.oracles.twins import interpreted
from tests.statistics import FALSE_ALARM, chi_square_tail

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_exact_count_is_the_number_of_derivations(seed):
    _, graph, _ = small_forest(seed)
    expected = [sum(1 for _ in brute_force.derivations(graph, node)) for node in range(num_nodes(graph))]
    assert count_derivations(graph) == expected


@given(SEEDS)
def test_expected_features_are_sums_of_expected_uses(seed):
    rng, graph, log_weights = small_forest(seed)
    features = rng.normal(size=(num_edges(graph), 3))
    expected = brute_force.expected_edge_counts(graph, log_weights) @ features
    assert_allclose(expected_features(graph, log_weights, features), expected, atol=1e-10)


@given(SEEDS)
def test_edge_posteriors_are_expected_uses(seed):
    _, graph, log_weights = small_forest(seed)
    expected = brute_force.expected_edge_counts(graph, log_weights)
    assert_allclose(edge_posteriors(graph, log_weights), expected, atol=1e-10)


@given(SEEDS)
def test_best_derivation_is_the_first_of_the_best(seed):
    rng, graph, log_weights = small_forest(seed)
    # Few different weights, exact in binary: ties are frequent, and equal sums are equal.
    log_weights = np.where(np.isfinite(log_weights), rng.integers(-2, 1, len(log_weights)), -np.inf)
    log_weight, edges = best_derivation(graph, log_weights)
    candidates = [(brute_force.log_weight(d, log_weights), d) for d in brute_force.derivations(graph)]
    possible = [(weight, d) for weight, d in candidates if weight > -np.inf]
    if possible:
        top = max(weight for weight, _ in possible)
        assert log_weight == top
        assert tuple(edges) == min(d for weight, d in possible if weight == top)
    else:
        assert log_weight == -np.inf
        assert len(edges) == 0


@given(SEEDS)
def test_entropy_is_that_of_the_posterior(seed):
    _, graph, log_weights = small_forest(seed)
    probs = brute_force.posterior(graph, log_weights).values()
    expected = -math.fsum(prob * math.log(prob) for prob in probs)
    assert math.isclose(entropy(graph, log_weights), expected, rel_tol=1e-9, abs_tol=1e-10)


def test_goal_without_derivation_has_weight_zero_everywhere(rng):
    builder = HypergraphBuilder()
    barren, goal = builder.add_node(), builder.add_node()
    builder.add_edge(goal, [barren])
    graph, log_weights = builder.build(), np.zeros(1)
    assert inside(graph, LogSum(log_weights)).tolist() == [[-np.inf], [-np.inf]]
    assert edge_posteriors(graph, log_weights).tolist() == [0.0]
    assert expected_features(graph, log_weights, np.ones((1, 1))).tolist() == [0.0]
    assert entropy(graph, log_weights) == 0.0
    assert sample_derivation(rng, graph, log_weights).tolist() == []
    assert count_derivations(graph) == [0, 0]


def test_long_derivations_outgrow_their_first_array(rng):
    graph = doubling(8)
    log_weight, edges = best_derivation(graph, np.full(8, -1.0))
    assert log_weight == -255.0
    assert edges.tolist() == list(next(iter(brute_force.derivations(graph))))
    assert sample_derivation(rng, graph, np.zeros(8)).tolist() == edges.tolist()


def test_weights_far_below_the_smallest_float_do_not_underflow():
    graph = doubling(12)
    log_weights, features = np.full(12, -500.0), np.ones((12, 1))
    assert inside(graph, Expectation(log_weights, features))[-1].tolist() == [-500.0 * 4095, 4095.0]
    # Logarithms of size 2e6 carry 10 digits behind the point.
    assert_allclose(edge_posteriors(graph, log_weights), 2.0 ** np.arange(11, -1, -1), rtol=1e-8)


def test_samples_have_the_posterior_distribution(rng):
    builder = HypergraphBuilder()
    left, right, goal = builder.add_node(), builder.add_node(), builder.add_node()
    for node in (left, left, right):
        builder.add_edge(node, [])
    for tails in ([left], [right], [left, right], [right, right]):
        builder.add_edge(goal, tails)
    graph, log_weights = builder.build(), np.log([1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.0])
    posterior = brute_force.posterior(graph, log_weights)

    def tail(inside_values):
        drawn = [
            tuple(sample_derivation(rng, graph, log_weights, inside_values).tolist()) for _ in range(5000)
        ]
        observed = [drawn.count(derivation) for derivation in posterior]
        assert sum(observed) == 5000
        return chi_square_tail(observed, [5000 * prob for prob in posterior.values()])

    assert tail(inside(graph, LogSum(log_weights))) > FALSE_ALARM
    # Planted fault: edges drawn by their own weights, whatever is below them.
    assert tail(np.zeros((3, 1))) < FALSE_ALARM


def all_results(seeds):
    results = []
    for seed in seeds:
        rng, graph, log_weights = small_forest(seed)
        features = rng.normal(size=(num_edges(graph), 2))
        values = inside(graph, LogSum(log_weights))
        results += [
            values,
            outside(graph, LogSum(log_weights), values),
            inside(graph, Tropical(log_weights)),
            inside(graph, Expectation(log_weights, features)),
            best_derivation(graph, log_weights)[1],
            *(sample_derivation(rng, graph, log_weights, values) for _ in range(20)),
        ]
    return results


def test_compiled_and_interpreted_code_agree():
    seeds = range(20)
    for compiled_result, plain_result in zip(
        all_results(seeds), interpreted(all_results, seeds), strict=True
    ):
        # Choices agree exactly; log and exp of compiled code may differ in the last bit.
        tolerance = 0.0 if compiled_result.dtype == np.int32 else 1e-13
        assert_allclose(compiled_result, plain_result, rtol=tolerance)
