"""Inside, outside and sampled trees against the enumeration of all trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.pcfg.chart import inside_probabilities
from monolingual.pcfg.chart_grammar import binarise, chart_weights
from monolingual.pcfg.lanes import LANES, expected_uses_in_lanes
from monolingual.pcfg.outside import Strings, expected_uses
from monolingual.pcfg.tree_draws import draw_trees
from scfg_sampler.errors import SettingsError
from tests.monolingual.pcfg.grammars import (
    CHAINS,
    TERNARY,
    all_trees,
    grammar_of,
    random_grammar,
    tree_probability,
)
from tests.oracles.twins import interpreted
from tests.statistics import FALSE_ALARM, chi_square_tail

LONG = "S -> 'a' S 'b' S | 'a' B B 'a' | B B B | 'b'\nB -> 'b' | S 'a' B"


def batch(sentences):
    words = np.array([word for sentence in sentences for word in sentence], dtype=np.int32)
    return words, np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)


def strings(words, start):
    return Strings(words, start, np.ones(len(start) - 1))


BOTH = pytest.mark.parametrize("add_uses", [expected_uses, expected_uses_in_lanes])


def all_sentences(grammar, longest):
    return [
        words
        for length in range(1, longest + 1)
        for words in itertools.product(range(len(grammar.terminals)), repeat=length)
    ]


def enumerated(grammar, weights, words, max_unary):
    """Total weight and expected uses of rules."""
    total, uses = 0.0, np.zeros(len(weights))
    for tree in all_trees(grammar, words, max_unary=max_unary):
        weight = tree_probability(tree, weights)
        total += weight
        uses += weight * np.bincount(tree, minlength=len(weights))
    return total, uses / total if total else uses


@BOTH
@pytest.mark.parametrize("text", [TERNARY, LONG])
def test_inside_and_expected_uses_are_those_of_all_trees(text, add_uses, tmp_path, rng):
    grammar, probs = grammar_of(text, tmp_path)
    weights = probs * rng.random(len(probs))  # Not normalised.
    chart = binarise(grammar)
    filled = chart_weights(chart, weights)
    sentences = all_sentences(grammar, 5)
    words, start = batch(sentences)
    found = np.exp(inside_probabilities(chart, filled, words, start))
    for at, sentence in enumerate(sentences):
        total, uses = enumerated(grammar, weights, sentence, 0)
        assert_allclose(found[at], total, rtol=1e-12)
        counts = np.zeros(len(probs))
        log_prob = add_uses(chart, filled, strings(words, start), at, at + 1, counts)
        assert_allclose(np.exp(log_prob), total, rtol=1e-12)
        assert_allclose(counts, uses, rtol=1e-11, atol=1e-14)


@BOTH
def test_unary_cycles_are_summed_to_the_end(add_uses, tmp_path):
    grammar, probs = grammar_of(CHAINS, tmp_path)
    weights = probs * 0.3  # So that forty steps of unary rules are as good as all.
    chart = binarise(grammar)
    filled = chart_weights(chart, weights)
    ids = {name: at for at, name in enumerate(grammar.terminals)}
    a, b = ids["a"], ids["b"]
    for sentence in ([a], [b], [ids["c"], a, ids["d"]]):
        words, start = batch([sentence])
        counts = np.zeros(len(probs))
        log_prob = add_uses(chart, filled, strings(words, start), 0, 1, counts)
        total, uses = enumerated(grammar, weights, sentence, 12)
        assert_allclose(np.exp(log_prob), total, rtol=1e-6)
        assert_allclose(counts, uses, rtol=1e-4, atol=1e-6)


def test_closure_is_the_inverse(tmp_path):
    grammar, probs = grammar_of(CHAINS, tmp_path)
    chart = binarise(grammar)
    closure = chart_weights(chart, probs).closure
    dense = np.zeros((len(chart.left_start) - 1,) * 2)
    rows = np.repeat(np.arange(len(dense)), np.diff(chart.closure_start))
    dense[rows, chart.closure_child] = closure
    unary = np.zeros_like(dense)
    unary[0, 1], unary[0, 0], unary[1, 0], unary[1, 2], unary[2, 2] = 0.3, 0.1, 0.5, 0.25, 0.3
    assert_allclose(dense, np.linalg.inv(np.eye(len(dense)) - unary), rtol=1e-13)


def test_heavy_unary_cycles_are_refused(tmp_path):
    grammar, _ = grammar_of("S -> S | 'a'", tmp_path)
    with pytest.raises(SettingsError, match="cycles of unary rules have a weight of 1 or more"):
        chart_weights(binarise(grammar), np.array([1.0, 0.5]))


def test_batches_are_sums_of_their_sentences(tmp_path, rng):
    """Each as often as it occurs; without those that have no tree, of which the sum would be −∞."""
    grammar, probs = grammar_of(LONG, tmp_path)
    chart = binarise(grammar)
    filled = chart_weights(chart, probs)
    rows = [rng.integers(len(grammar.terminals), size=n) for n in rng.integers(1, 8, size=80)]
    rows = [row for row in rows if np.isfinite(inside_probabilities(chart, filled, *batch([row])))]
    assert len(rows) > 10
    words, start = batch(rows)
    log_probs = inside_probabilities(chart, filled, words, start)
    times = rng.integers(1, 4, size=len(rows)) + 0.5
    counts, added = np.zeros(len(probs)), np.zeros(len(probs))
    found = expected_uses(chart, filled, Strings(words, start, times), 0, len(rows), counts)
    assert_allclose(found, times @ log_probs, rtol=1e-12)
    for at, many in enumerate(times):
        once = np.zeros(len(probs))
        expected_uses(chart, filled, strings(words, start), at, at + 1, once)
        added += many * once
    assert_allclose(counts, added, rtol=1e-12)


def test_lanes_are_many_sentences_at_once(rng):
    # More than two groups, of any lengths, some of them more than once; unary rules with cycles.
    for seed in range(6):
        grammar, probs = random_grammar(np.random.default_rng(seed), 5)
        chart = binarise(grammar)
        filled = chart_weights(chart, probs * 0.9)
        sentences = [
            rng.integers(len(grammar.terminals), size=n) for n in rng.integers(1, 8, size=2 * LANES + 5)
        ]
        words, start = batch(sentences)
        log_probs = inside_probabilities(chart, filled, words, start)
        has_tree = np.isfinite(log_probs)
        times = rng.integers(1, 4, size=len(sentences)).astype(float)
        for keep in (has_tree, np.ones_like(has_tree)):
            some = batch([s for s, k in zip(sentences, keep, strict=True) if k])
            text = Strings(*some, times[keep])
            counts, expected = np.zeros((2, len(probs)))
            log_prob = expected_uses_in_lanes(chart, filled, text, 0, len(text.times), counts)
            assert_allclose(log_prob, times[keep] @ log_probs[keep], rtol=1e-12)
            for at, many in enumerate(text.times):
                for _ in range(int(many)):
                    expected_uses(chart, filled, strings(*some), at, at + 1, expected)
            assert_allclose(counts, expected, rtol=1e-11, atol=1e-13)


def test_lanes_know_sentences_without_trees_and_do_not_underflow(tmp_path):
    grammar, _ = grammar_of("S -> 'a' S | 'a'", tmp_path)
    probs = np.array([1e-6, 1.0])
    chart = binarise(grammar)
    filled = chart_weights(chart, probs)
    counts = np.zeros(2)
    text = strings(*batch([[0] * 200, [0], [0] * 7]))
    log_prob = expected_uses_in_lanes(chart, filled, text, 0, 3, counts)
    assert_allclose(log_prob, 205 * np.log(1e-6), rtol=1e-12)
    # The scales of spans are sums of logarithms up to 2,800, and right to 13 digits or so.
    assert_allclose(counts, [205.0, 3.0], rtol=1e-11)
    for without in ([0, -1], [], [-1]):
        counts = np.zeros(2)
        text = strings(*batch([[0, 0], without]))
        assert expected_uses_in_lanes(chart, filled, text, 0, 2, counts) == -np.inf
        assert_allclose(counts, [1.0, 1.0], rtol=1e-12)


def test_unknown_words_and_sentences_without_trees_have_probability_zero(tmp_path):
    grammar, probs = grammar_of("S -> 'a' S 'b' | 'a' 'b'", tmp_path)
    chart = binarise(grammar)
    words, start = batch([[0, 1], [0, -1], [1, 0], [0, 0, 1, 1], []])
    found = inside_probabilities(chart, chart_weights(chart, probs), words, start)
    assert_allclose(np.exp(found), [0.5, 0.0, 0.0, 0.25, 0.0])


def test_long_sentences_do_not_underflow(tmp_path):
    grammar, _ = grammar_of("S -> 'a' S | 'a'", tmp_path)
    probs = np.array([1e-6, 1.0])
    chart = binarise(grammar)
    words, start = batch([[0] * 200])
    found = inside_probabilities(chart, chart_weights(chart, probs), words, start)
    assert_allclose(found, 199 * np.log(1e-6), rtol=1e-12)


@pytest.mark.parametrize("text", [TERNARY, CHAINS])
def test_sampled_trees_have_their_probabilities(text, tmp_path, rng):
    grammar, probs = grammar_of(text, tmp_path)
    chart = binarise(grammar)
    sentence = [0, 0, 0, 0] if text == TERNARY else [0]
    size = 4000
    words, start = batch([sentence] * size)
    trees, _ = draw_trees(rng, chart, chart_weights(chart, probs), words, start, 0, size)
    found: dict = {}
    for at in range(size):
        tree = tuple(trees.rules[trees.start[at] : trees.start[at + 1]].tolist())
        found[tree] = found.get(tree, 0) + 1
    trees_there = all_trees(grammar, sentence, max_unary=0 if text == TERNARY else 8)
    total = np.exp(inside_probabilities(chart, chart_weights(chart, probs), *batch([sentence])))[0]
    expected = [size * tree_probability(tree, probs) / total for tree in trees_there]
    observed = [found.pop(tree, 0) for tree in trees_there]
    observed.append(sum(found.values()))  # Longer chains.
    expected.append(max(size - sum(expected), 1e-9))
    assert chi_square_tail(observed, np.array(expected) * size / sum(expected)) > FALSE_ALARM
    # The planted fault: trees drawn uniformly.
    uniform = np.full(len(expected), size / len(expected))
    assert chi_square_tail(observed, uniform) < FALSE_ALARM


def drawn(seed):
    """The trees and expected uses of a few sentences, for the interpreted twin."""
    rng = np.random.default_rng(seed)
    grammar, probs = random_grammar(rng, 4)
    chart = binarise(grammar)
    filled = chart_weights(chart, probs)
    words, start = batch([rng.integers(len(grammar.terminals), size=n) for n in (1, 3, 4)])
    start = start.astype(np.int64)
    counts = np.zeros(len(probs))
    log_prob = expected_uses(chart, filled, strings(words, start), 0, 3, counts)
    in_lanes = np.zeros(len(probs))
    expected_uses_in_lanes(chart, filled, strings(words, start), 0, 3, in_lanes)
    trees, _ = draw_trees(rng, chart, filled, words, start, 0, 3)
    return np.concatenate([counts, in_lanes]), log_prob, trees.start, trees.rules


def test_compiled_and_interpreted_charts_are_the_same():
    for seed in (1, 2):
        mine, twin = drawn(seed), interpreted(drawn, seed)
        assert_allclose(mine[0], twin[0], rtol=1e-12)
        assert_allclose(mine[1], twin[1], rtol=1e-12)
        assert_array_equal(mine[2], twin[2])
        assert_array_equal(mine[3], twin[3])
