"""The best tree, against that of the packed forest and the list of all trees."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.pcfg.chart_grammar import binarise
from monolingual.pcfg.forest import build_forest, edge_log_weights
from monolingual.pcfg.grammar import build_grammar, num_rules
from monolingual.pcfg.viterbi import best_tree, viterbi_weights
from scfg_sampler.core.forests.derivations import best_derivation
from tests.monolingual.pcfg.grammars import (
    CHAINS,
    TERNARY,
    all_trees,
    grammar_of,
    random_grammar,
    tree_probability,
)


def chains_by_rounds(chart, weights):
    """For each pair of symbols the best chain of unary rules and its first one, by rounds over all rules.

    Of chains that weigh the same the first one found is kept: rules by parent, then child; rounds until
    nothing is better.
    """
    size = len(chart.left_start) - 1
    best = {(a, a): (1.0, ()) for a in range(size)}
    changed = True
    while changed:
        changed = False
        for a in range(size):
            for k in range(chart.unary_start[a], chart.unary_start[a + 1]):
                rule, child = int(chart.unary_rule[k]), int(chart.unary_child[k])
                for at in range(chart.closure_start[child], chart.closure_start[child + 1]):
                    last = int(chart.closure_child[at])
                    below = best.get((child, last), (0.0, ()))
                    if weights[rule] * below[0] > best.get((a, last), (0.0, ()))[0]:
                        best[a, last] = (weights[rule] * below[0], (rule, child))
                        changed = True
    return best


def tree_of_the_forest(chart, weights, words):
    """The best tree by the core's search in the packed forest."""
    forest = build_forest(chart, words)
    if forest is None:
        return -np.inf, []
    chains = chains_by_rounds(chart, weights)
    parents = np.repeat(np.arange(len(chart.closure_start) - 1), np.diff(chart.closure_start)).tolist()
    pairs = list(zip(parents, chart.closure_child.tolist(), strict=True))
    word = np.where(chart.word_rule >= 0, weights[chart.word_rule], 1.0)
    binary = np.where(chart.binary_rule >= 0, weights[chart.binary_rule], 1.0)
    closure = np.array([chains.get(pair, (0.0, ()))[0] for pair in pairs])
    log_weight, edges = best_derivation(forest.graph, edge_log_weights(forest, word, binary, closure))
    rules = []
    for edge in edges.tolist():
        entry = int(forest.entry[edge])
        if forest.kind[edge] == 2:
            symbol, last = pairs[entry]
            while chains[symbol, last][1]:
                rule, symbol = chains[symbol, last][1]
                rules.append(rule)
            continue
        rule = int((chart.word_rule if forest.kind[edge] == 0 else chart.binary_rule)[entry])
        rules += [rule] * (rule >= 0)
    return log_weight, rules


def dense_grammar(rng, size: int):
    """Half of all rules of two symbols, and unary ones: more pairs of a symbol than right children of it."""
    names = [(f"N{a}", False) for a in range(size)]
    rules = [(f"N{a}", [left, right]) for a in range(size) for left in names for right in names]
    rules = [rules[at] for at in rng.permutation(len(rules))[: len(rules) // 2]]
    for a in range(size):
        rules += [(f"N{a}", [(f"t{t}", True)]) for t in range(3) if rng.random() < 0.3]
        rules += [(f"N{a}", [names[b]]) for b in range(size) if rng.random() < 0.2]
    rules += [("N0", [("t0", True)])]
    unique = {(parent, tuple(right)): None for parent, right in rules}
    grammar, _ = build_grammar("N0", [(parent, list(right)) for parent, right in unique])
    return grammar


def random_weights(rng, count: int, kind: str) -> np.ndarray:
    """All different; or three values, so that many trees weigh the same; or one; some of them 0."""
    if kind == "different":
        weights = rng.random(count)
    elif kind == "powers":  # Products and sums of logarithms come out the same in any order, or nearly.
        weights = 0.5 ** rng.integers(0, 3, size=count)
    else:
        weights = np.full(count, 0.25)
    return np.where(rng.random(count) < 0.15, 0.0, weights) if kind != "same" else weights


@pytest.mark.parametrize("kind", ["different", "powers", "same"])
def test_best_tree_is_that_of_the_forest(kind, rng):
    found = 0
    for round_ in range(60):
        if round_ % 2:
            grammar = dense_grammar(rng, int(rng.integers(2, 7)))
        else:
            grammar, _ = random_grammar(rng, int(rng.integers(1, 8)))
        chart = binarise(grammar)
        given = random_weights(rng, num_rules(grammar), kind)
        weights = viterbi_weights(chart, given)
        for length in (1, 2, 3, 5, 8):
            words = rng.integers(len(grammar.terminals), size=length).tolist()
            log_weight, rules = best_tree(chart, weights, words)
            assert (log_weight, rules) == tree_of_the_forest(chart, given, words)
            found += len(rules) > 0
    assert found > 60


@pytest.mark.parametrize("text", [TERNARY, CHAINS])
def test_best_tree_is_the_best_of_all(text, tmp_path, rng):
    grammar, _ = grammar_of(text, tmp_path)
    chart = binarise(grammar)
    for _ in range(10):
        given = rng.random(num_rules(grammar))
        weights = viterbi_weights(chart, given)
        for words in ([0], [0, 0, 0], [1, 0, 2], [0, 3]):
            if max(words) >= len(grammar.terminals):
                continue
            found, tree = best_tree(chart, weights, words)
            # A best chain repeats no nonterminal, so at a node it has two unary rules at the most.
            trees = all_trees(grammar, words, max_unary=5 if text == CHAINS else 0)
            if not trees:
                assert (found, tree) == (-np.inf, [])
                continue
            assert_allclose(np.exp(found), max(tree_probability(t, given) for t in trees), rtol=1e-12)
            assert_allclose(np.exp(found), tree_probability(tree, given), rtol=1e-12)
            assert tuple(tree) in trees


def test_cycles_of_weight_one_are_not_gone_around(tmp_path):
    grammar, _ = grammar_of("S -> A | S S | 'a'\nA -> S | 'a'", tmp_path)
    weights = viterbi_weights(binarise(grammar), np.array([1.0, 1.0, 0.25, 1.0, 0.5]))
    assert best_tree(binarise(grammar), weights, [0]) == (np.log(0.5), [0, 4])
    log_weight, tree = best_tree(binarise(grammar), weights, [0, 0])
    assert_allclose(log_weight, np.log(0.25))
    assert tree == [1, 0, 4, 0, 4]


@pytest.mark.parametrize("words", [[], [-1], [0, -1], [1], [1, 1]])
def test_no_tree_is_none(words, tmp_path):
    # 'b' is no sentence, nor is 'b b' with a rule of weight 0.
    grammar, _ = grammar_of("S -> S S | A A | 'a'\nA -> 'b'", tmp_path)
    chart = binarise(grammar)
    assert best_tree(chart, viterbi_weights(chart, np.array([0.5, 0.0, 0.5, 1.0])), words) == (-np.inf, [])


def test_long_sentences_take_no_lists_of_edges(tmp_path):
    """120 words have 287,980 splits, of 100 bytes and more each as a list has them."""
    grammar, probs = grammar_of("S -> S S [0.4] | 'a' [0.6]", tmp_path)
    chart = binarise(grammar)
    weights = viterbi_weights(chart, probs)
    best_tree(chart, weights, [0])
    tracemalloc.start()
    log_weight, tree = best_tree(chart, weights, [0] * 120)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_allclose(log_weight, 120 * np.log(0.6) + 119 * np.log(0.4))
    assert len(tree) == 239
    assert most < 2_000_000
