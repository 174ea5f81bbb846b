"""Charts against all projective trees with one root."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.dmv.chart import expected_counts, log_totals
from monolingual.dmv.decode import best_trees, count_trees, draw_trees
from monolingual.dmv.layout import Layout, build_corpus, num_parameters, own_parameters
from tests.monolingual.dmv.enumeration import is_projective, projective_trees, tree_counts, tree_weights

CASES = [(n, valences) for n in range(1, 7) for valences in (1, 2)]


@pytest.fixture
def case(request, rng):
    n, valences = request.param
    layout = Layout(3, valences)
    tags = rng.integers(3, size=n).tolist()
    weights = rng.gamma(0.5, size=num_parameters(layout)) + 1e-3
    return layout, tags, weights, build_corpus(layout, [tags])


def test_there_are_as_many_trees_as_the_closed_form_says():
    assert [len(projective_trees(n)) for n in range(1, 7)] == [1, 2, 7, 30, 143, 728]


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_totals_and_expected_counts_equal_enumeration(case):
    layout, tags, weights, corpus = case
    by_tree = tree_weights(layout, tags, weights)
    counts, totals = expected_counts(layout, corpus, weights)
    assert_allclose(totals, [np.log(by_tree.sum())], atol=1e-10)
    assert_allclose(log_totals(layout, corpus, weights), totals, atol=1e-12)
    rows = np.array([tree_counts(layout, tags, heads) for heads in projective_trees(len(tags))])
    assert_allclose(counts, by_tree @ rows / by_tree.sum(), atol=1e-10)
    # Every word is attached once: as the root or as a child.
    T = layout.num_tags
    assert_allclose(counts[:T].sum() + counts[9 * T :].sum(), len(tags), atol=1e-10)


def test_counts_that_are_small_beside_others_have_all_their_digits(rng):
    """Of further children, that is, which few trees have if going on is improbable."""
    layout, tags = Layout(3, 2), [0, 1, 2, 0, 1]
    weights = rng.gamma(0.5, size=num_parameters(layout)) ** 12 + 1e-30
    counts, _ = expected_counts(layout, build_corpus(layout, [tags]), weights)
    by_tree = tree_weights(layout, tags, weights)
    rows = np.array([tree_counts(layout, tags, heads) for heads in projective_trees(len(tags))])
    expected = by_tree @ rows / by_tree.sum()
    assert expected[expected > 0.0].min() < 1e-20
    assert_allclose(counts, expected, rtol=1e-10)


@pytest.mark.parametrize("case", CASES, indirect=True)
def test_viterbi_and_minimum_bayes_risk_equal_enumeration(case):
    layout, tags, weights, corpus = case
    by_tree = tree_weights(layout, tags, weights)
    trees = np.array(projective_trees(len(tags)))
    heads, score = best_trees(layout, corpus, weights, "viterbi")
    assert_allclose(score, [np.log(by_tree.max())], atol=1e-10)
    assert_array_equal(heads, trees[by_tree.argmax()])
    agree = (trees[:, None, :] == trees[None, :, :]).sum(axis=2) @ by_tree / by_tree.sum()
    heads, score = best_trees(layout, corpus, weights, "mbr")
    assert_allclose(score, [agree.max()], atol=1e-10)
    assert_allclose(agree[trees.tolist().index(heads.tolist())], agree.max(), atol=1e-10)


@pytest.mark.parametrize("case", [(4, 1), (4, 2)], indirect=True)
def test_random_trees_have_their_posterior_probabilities(case, rng):
    """A χ² statistic of 20,000 draws below the 0.999 quantile: false alarms 1 in 1,000, at a fixed seed."""
    from scipy.stats import chi2

    layout, tags, weights, _ = case
    corpus = build_corpus(layout, [tags] * 20000, distinct=False)
    drawn = draw_trees(rng, layout, corpus, weights).reshape(-1, len(tags))
    by_tree = tree_weights(layout, tags, weights)
    trees = projective_trees(len(tags))
    seen = np.bincount([trees.index(tuple(row)) for row in drawn.tolist()], minlength=len(trees))

    def statistic(probs):
        often = probs * 20000 > 5
        expected = np.append(probs[often], probs[~often].sum()) * 20000 + 1e-9
        found = np.append(seen[often], seen[~often].sum())
        return np.sum((found - expected) ** 2 / expected), often.sum()

    value, freedom = statistic(by_tree / by_tree.sum())
    assert value < chi2.ppf(0.999, freedom)
    # Planted fault: the posterior under other weights.
    other = tree_weights(layout, tags, weights**0.9)
    value, freedom = statistic(other / other.sum())
    assert value > chi2.ppf(0.999, freedom)


def test_counts_of_trees_are_those_of_the_definition(rng):
    layout = Layout(3, 2)
    for n in range(1, 6):
        tags = rng.integers(3, size=n).tolist()
        for heads in projective_trees(n):
            corpus = build_corpus(layout, [tags])
            counts = count_trees(layout, corpus, np.array(heads, np.int32), num_parameters(layout))
            assert_array_equal(counts, tree_counts(layout, tags, heads))


def test_trees_of_equal_sentences_count_as_often_as_they_occur():
    layout = Layout(3, 2)
    tags, heads = [0, 2, 1], (2, 0, 2)
    corpus = build_corpus(layout, [tags] * 3)
    counts = count_trees(layout, corpus, np.array(heads, np.int32), num_parameters(layout))
    assert_array_equal(counts, 3 * tree_counts(layout, tags, heads))


def test_equal_sentences_count_as_often_as_they_occur(rng):
    layout = Layout(4, 1)
    rows = [rng.integers(4, size=n).tolist() for n in (3, 5, 3, 1)]
    weights = rng.random(num_parameters(layout))
    once, totals = expected_counts(layout, build_corpus(layout, rows + rows[:2], distinct=False), weights)
    merged = build_corpus(layout, rows + rows[:2])
    counts, merged_totals = expected_counts(layout, merged, weights)
    assert len(merged_totals) == 4
    assert_allclose(counts, once, atol=1e-10)
    assert_allclose(merged_totals @ merged.multiplicity, totals.sum(), atol=1e-10)


def test_parameters_of_their_own_count_alike(rng):
    layout = Layout(4, 2)
    corpus = build_corpus(layout, [rng.integers(4, size=n).tolist() for n in (3, 5, 1)])
    weights = rng.random(num_parameters(layout))
    own, families, owners = own_parameters(layout, corpus)
    from monolingual.dmv.layout import parameter_families
    from monolingual.priors.multinomials import families_of_sizes

    start = parameter_families(layout).start
    places = np.concatenate([np.arange(start[f], start[f + 1]) for f in families])
    counts, totals = expected_counts(layout, own, weights[places])
    shared, shared_totals = expected_counts(layout, corpus, weights)
    assert_allclose(totals, shared_totals, atol=1e-12)
    assert_allclose(np.bincount(places, counts, minlength=len(weights)), shared, atol=1e-12)
    assert np.all(np.diff(owners) >= 0)
    assert families_of_sizes([len(places)]).start[-1] == len(counts)


def test_words_at_the_border_have_no_copies_of_what_they_cannot_use():
    """Tags 0 1 1: to its left 0 has nothing, to its right the last 1 neither, but the first 1 has a word."""
    layout = Layout(2, 2)
    own, families, _ = own_parameters(layout, build_corpus(layout, [[0, 1, 1]]))
    stops = {(tag, d, v): 1 + 4 * tag + 2 * d + v for tag in (0, 1) for d in (0, 1) for v in (0, 1)}
    children = {key: 9 + place - 1 for key, place in stops.items()}
    without = {(0, 0, 1)}
    expected = {0} | {place for key, place in stops.items() if key not in without}
    without |= {(0, 0, 0), (1, 1, 1)}
    expected |= {place for key, place in children.items() if key not in without}
    assert sorted(families.tolist()) == sorted(expected)
    used = expected_counts(layout, own, np.full(2 * len(families), 0.5))[0]
    assert_allclose(used.sum(), 3 + 3 * 2 + 2)


def test_long_sentences_neither_underflow_nor_lose_words(rng):
    layout = Layout(5, 1)
    tags = rng.integers(5, size=300).tolist()
    weights = rng.random(num_parameters(layout)) * 1e-4
    counts, totals = expected_counts(layout, build_corpus(layout, [tags]), weights)
    assert totals[0] < -2000
    assert_allclose(counts[:5].sum() + counts[45:].sum(), 300, rtol=1e-10)
    for decoder in ("viterbi", "mbr"):
        heads, _ = best_trees(layout, build_corpus(layout, [tags]), weights, decoder)
        assert is_projective(tuple(heads[:0])) is False  # no words, no root
        assert (heads == 0).sum() == 1


@pytest.mark.parametrize("rest", [1e-75, 1e-100, 1e-200, 1e-300])
def test_a_tree_beside_which_all_others_are_next_to_impossible_is_summed(rest):
    """No beginning of the sentence need be a constituent then, and factors that make it likely overflow."""
    layout, tags = Layout(5, 1), [0, 1, 2, 3, 4]
    corpus = build_corpus(layout, [tags])
    for heads in projective_trees(len(tags)):
        uses = tree_counts(layout, tags, heads)
        weights = np.where(uses > 0.0, 1.0, rest)
        counts, totals = expected_counts(layout, corpus, weights)
        assert_allclose(totals, [0.0], atol=1e-12)
        assert_allclose(log_totals(layout, corpus, weights), totals, atol=1e-12)
        assert_allclose(counts, uses, atol=1e-12)


def test_sentence_without_a_tree_is_told(rng):
    layout = Layout(2, 1)
    weights = np.zeros(num_parameters(layout))
    corpus = build_corpus(layout, [[0, 1]])
    counts, totals = expected_counts(layout, corpus, weights)
    assert totals[0] == -np.inf
    assert not counts.any()
    for decoder in ("viterbi", "mbr"):
        heads, scores = best_trees(layout, corpus, weights, decoder)
        assert heads.tolist() == [2, 0]
        assert scores[0] == -np.inf
