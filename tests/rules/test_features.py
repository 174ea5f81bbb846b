"""Features are the logarithms of what their names say."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose

from scfg_sampler.rules.columns import FEATURE_NAMES
from scfg_sampler.rules.counts import select_rules
from scfg_sampler.rules.features import count_words, phrase_probabilities, score_rules
from scfg_sampler.rules.lexical import estimate, lexical_weights
from scfg_sampler.rules.store import merge_rules
from scfg_sampler.rules.table import read_rule_table, write_rule_table
from tests.baseline.test_extraction import random_sentence
from tests.learner.corpora import corpus_of
from tests.rules.test_counts import ENTRIES, entries_of, rule_counts


@given(ENTRIES)
def test_phrase_probabilities_are_shares_with_half_a_count_more(entries):
    counts = merge_rules(rule_counts(entries))
    of_source, of_target = Counter(), Counter()
    for source, target, _, count in entries_of(counts):
        of_source[tuple(source)] += count
        of_target[tuple(target)] += count
    forward, backward = phrase_probabilities(counts)
    for row, (source, target, _, count) in enumerate(entries_of(counts)):
        assert math.isclose(forward[row], math.log(count / (of_source[tuple(source)] + 0.5)), rel_tol=1e-12)
        assert math.isclose(backward[row], math.log(count / (of_target[tuple(target)] + 0.5)), rel_tol=1e-12)


@given(ENTRIES)
def test_denominators_of_the_whole_stay_when_rules_are_dropped(entries):
    whole = merge_rules(rule_counts(entries))
    keep = np.arange(whole.num_rules) % 3 == 0
    some = phrase_probabilities(select_rules(whole, keep), whole)
    for found, everything in zip(some, phrase_probabilities(whole), strict=True):
        assert_allclose(found, everything[keep], rtol=1e-12)


def test_rules_the_whole_does_not_have_make_their_own_denominators():
    counts = rule_counts([([1], [2], [], 3.0), ([4], [5], [], 1.0)])
    whole = rule_counts([([1], [2], [], 9.0)])
    forward, backward = phrase_probabilities(counts, whole)
    assert_allclose(np.exp(forward), [3 / 9.5, 1 / 1.5])
    assert_allclose(np.exp(backward), [3 / 9.5, 1 / 1.5])


def test_columns_are_as_named_and_extra_ones_follow(rng, tmp_path):
    from scfg_sampler.baseline.extraction import extract

    corpus = corpus_of([random_sentence(rng) for _ in range(20)])
    counts = extract(corpus)
    lexical = estimate(corpus)
    posterior = -np.arange(counts.num_rules, dtype=float)
    table = score_rules(
        counts,
        lexical,
        corpus.source_vocabulary,
        corpus.target_vocabulary,
        more_features={"LogPosterior": posterior},
        signature="s",
    )
    assert table.feature_names == (*FEATURE_NAMES, "LogPosterior")
    column = dict(zip(table.feature_names, table.features.T, strict=True))
    forward, backward = phrase_probabilities(counts)
    lex_forward, lex_backward = lexical_weights(counts, lexical)
    assert_allclose(column["LogForward"], forward, rtol=1e-6)
    assert_allclose(column["LogBackward"], backward, rtol=1e-6)
    assert_allclose(column["LexForward"], lex_forward, rtol=1e-6)
    assert_allclose(column["LexBackward"], lex_backward, rtol=1e-6)
    assert_allclose(column["LogCount"], np.log(counts.count), rtol=1e-6)
    assert_allclose(column["LogPosterior"], posterior)
    targets = [target for _, target, _, _ in entries_of(counts)]
    assert column["TargetWords"].tolist() == [sum(symbol >= 0 for symbol in side) for side in targets]
    assert not column["Abstract"].any()
    write_rule_table(table, tmp_path / "t")
    assert_allclose(np.sort(read_rule_table(tmp_path / "t").count), np.sort(counts.count), rtol=1e-6)


def test_rules_without_any_word_are_abstract():
    counts = rule_counts([([-1, -2], [-2, -1], [], 1.0), ([-1, 0], [-1], [], 1.0), ([-1], [-1, 0], [], 1.0)])
    lexical = estimate(corpus_of([random_sentence(np.random.default_rng(0))]))
    corpus = corpus_of([])
    table = score_rules(counts, lexical, corpus.source_vocabulary, corpus.target_vocabulary)
    assert table.features[:, FEATURE_NAMES.index("Abstract")].tolist() == [1.0, 0.0, 0.0]


def test_words_are_counted_per_row():
    assert count_words(np.array([0, 2, 2, 5]), np.array([0, -1, -2, 3, 4], np.int32)).tolist() == [1, 0, 2]


def test_no_rules_have_no_features():
    corpus = corpus_of([])
    table = score_rules(
        merge_rules(rule_counts([])), estimate(corpus), corpus.source_vocabulary, corpus.target_vocabulary
    )
    assert table.features.shape == (0, len(FEATURE_NAMES))
