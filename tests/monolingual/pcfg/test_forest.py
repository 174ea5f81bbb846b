"""Explicit forests and simulated trees."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.pcfg.chart import inside_probabilities
from monolingual.pcfg.chart_grammar import binarise, chart_weights
from monolingual.pcfg.forest import build_forest, edge_log_weights
from monolingual.pcfg.simulate import simulate
from monolingual.pcfg.tightness import expected_rule_uses
from monolingual.pcfg.trees import yields
from scfg_sampler.core.forests.derivations import count_derivations
from scfg_sampler.core.forests.hypergraph import validate
from scfg_sampler.core.forests.semiring import LogSum, inside
from scfg_sampler.errors import SettingsError
from tests.monolingual.pcfg.grammars import catalan, grammar_of, random_grammar
from tests.statistics import FALSE_ALARM, chi_square_tail


def test_core_inside_on_the_forest_is_the_chart_s(rng):
    for _ in range(10):
        grammar, probs = random_grammar(rng, 4)
        chart = binarise(grammar)
        weights = chart_weights(chart, probs)
        words = rng.integers(len(grammar.terminals), size=5).astype(np.int32)
        expected = inside_probabilities(chart, weights, words, np.array([0, 5]))[0]
        forest = build_forest(chart, words.tolist())
        if forest is None:
            assert expected == -np.inf
            continue
        validate(forest.graph)
        log_weights = edge_log_weights(forest, weights.word, weights.binary, weights.closure)
        assert_allclose(inside(forest.graph, LogSum(log_weights))[-1, 0], expected, rtol=1e-12)


def test_forest_counts_the_trees(tmp_path):
    grammar, _ = grammar_of("S -> S S | 'a'", tmp_path)
    forest = build_forest(binarise(grammar), [0] * 6)
    assert count_derivations(forest.graph)[-1] == 42  # Catalan number 5


@pytest.mark.parametrize("p", [0.4, 0.6])
def test_simulated_trees_are_the_finite_ones(p, tmp_path, rng):
    grammar, probs = catalan(p, tmp_path)
    size = 5000
    _, trees = simulate(rng, grammar, probs, size)
    leaves = np.diff(yields(grammar, trees)[1])
    # Trees with n leaves: Catalan(n − 1) q^(n − 1) (1 − q)^n, with q = min(p, 1 − p).
    q = min(p, 1.0 - p)
    shares = [(1.0 - q)]
    for n in range(2, 60):
        shares.append(shares[-1] * 2 * (2 * n - 3) / n * q * (1.0 - q))
    shares.append(1.0 - sum(shares))
    observed = np.bincount(np.minimum(leaves, 60), minlength=61)[1:]
    assert chi_square_tail(observed, size * np.array(shares)) > FALSE_ALARM
    rules = np.diff(trees.start)
    error = rules.std() / np.sqrt(size)
    assert abs(rules.mean() - expected_rule_uses(grammar, probs).sum()) < 6 * error


def test_endless_trees_are_given_up(tmp_path, rng):
    grammar, probs = catalan(0.5, tmp_path)
    with pytest.raises(SettingsError, match=r"has grown beyond 1,000 rules"):
        simulate(rng, grammar, probs, 100_000, max_rules=1000)
    with pytest.raises(SettingsError, match="--samples is 0"):
        simulate(rng, grammar, probs, 0)


def test_the_most_rules_are_those_of_a_tree_and_not_of_all(tmp_path, rng):
    grammar, probs = catalan(0.2, tmp_path)
    _, trees = simulate(rng, grammar, probs, 2000, max_rules=500)
    assert trees.start[-1] > 2000
    # The same draws with one rule less than the largest tree has: the first so large is named.
    one, same = (np.random.default_rng(3) for _ in range(2))
    sizes = np.diff(simulate(one, grammar, probs, 2000, max_rules=500)[1].start)
    largest = int(sizes.max())
    first = int(np.argmax(sizes == largest)) + 1
    with pytest.raises(SettingsError, match=f"^tree {first} has grown beyond {largest - 1} rules"):
        simulate(same, grammar, probs, 2000, max_rules=largest - 1)
