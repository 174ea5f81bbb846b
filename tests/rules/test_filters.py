"""Filters keep what their definitions say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.baseline.extraction import extract
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.filters import (
    best_targets,
    hiero_rules,
    narrow_rules,
    num_nonterminals,
    source_scope,
)
from tests.baseline.test_extraction import random_sentence
from tests.learner.corpora import corpus_of
from tests.rules.test_counts import ENTRIES, entries_of, rule_counts


def rules_with_sources(*sources: list[int]):
    return rule_counts([(source, [0], [(0, 0)], 1.0) for source in sources])


@pytest.mark.parametrize(
    ("source", "scope"),
    [
        ([3], 0),
        ([3, -1, 4], 0),
        ([-1, 3], 1),
        ([3, -1], 1),
        ([-1, 3, -2], 2),
        ([-1], 2),
        ([-1, -2], 3),
        ([3, -1, -2, 4], 1),
        ([-1, -2, 3, -3], 3),
        ([3, -1, 4, -2, 5], 0),
    ],
)
def test_scope_counts_nonterminals_side_by_side_and_at_the_ends(source, scope):
    assert source_scope(rules_with_sources(source)).tolist() == [scope]


def test_limits_on_scope_and_nonterminals_are_separate():
    rules = rules_with_sources([-1, -2], [3, -1, 3, -2, 3, -3, 3], [-1])
    assert num_nonterminals(rules).tolist() == [2, 3, 1]
    assert narrow_rules(rules).tolist() == [False, False, True]
    assert narrow_rules(rules, max_nonterminals=None).tolist() == [False, True, True]
    assert narrow_rules(rules, max_scope=None).tolist() == [True, False, True]
    assert narrow_rules(rules, max_scope=1).tolist() == [False, False, False]
    with pytest.raises(SettingsError, match="-1"):
        narrow_rules(rules, max_scope=-1)


def test_the_baseline_has_hiero_rules_of_narrow_scope_only(rng):
    counts = extract(corpus_of([random_sentence(rng) for _ in range(40)]))
    assert hiero_rules(counts).all()
    assert narrow_rules(counts).all()


def test_hiero_refuses_long_adjacent_and_unaligned_rules():
    rules = rule_counts(
        [
            ([1, 2, 3, 4, 5], [0], [(0, 0)], 1.0),
            ([1, 2, 3, 4, 5, 6], [0], [(0, 0)], 1.0),
            ([1, -1, -2], [0, -1, -2], [(0, 0)], 1.0),
            ([1, -1], [0, -1], [], 1.0),
            ([-1, 1, -2, 1, -3], [0, -1, -2, -3], [(1, 0)], 1.0),
            ([-1, 1, -2], [0, -1, -2], [(1, 0)], 1.0),
        ]
    )
    assert hiero_rules(rules).tolist() == [True, False, False, False, False, True]
    assert hiero_rules(rules, max_symbols=6)[1]


@given(ENTRIES, st.integers(1, 3))
def test_best_targets_equal_sorting_each_group(entries, most):
    counts = rule_counts(entries)
    kept = best_targets(counts, counts.count, most)
    rows = entries_of(counts)
    for source in {tuple(row[0]) for row in rows}:
        group = [k for k, row in enumerate(rows) if tuple(row[0]) == source]
        best = sorted(group, key=lambda k: -rows[k][3])[:most]
        assert [k for k in group if kept[k]] == sorted(best)


def test_at_least_one_target_must_be_kept():
    with pytest.raises(SettingsError, match="--max-targets is 0"):
        best_targets(rules_with_sources([1]), np.ones(1), 0)
