"""Pruning: redundancy against a naive twin, significance against scipy, counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from scfg_sampler.errors import SettingsError
from scfg_sampler.pruning import keep_best, prune_rules, redundant_rules, significant_rules
from scfg_sampler.rule_counts import RuleCounts, merge_rules

Plain = tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]


def rule_counts(rules: list[tuple[Plain, float]]) -> RuleCounts:
    """Rules as arrays; symbols are word ids and −1, −2 for the gaps."""
    columns = [[rule[i] for rule, _ in rules] for i in range(3)]
    starts = [np.cumsum([0, *map(len, column)]).astype(np.int64) for column in columns]
    values = [np.array(list(itertools.chain.from_iterable(column)), np.int32) for column in columns]
    values[2] = values[2].reshape(-1, 2)
    sides = [part for pair in zip(starts, values, strict=True) for part in pair]
    return RuleCounts(*sides, np.array([count for _, count in rules]))


def plain_rules(rules: RuleCounts) -> list[Plain]:
    found = []
    for r in range(rules.num_rules):
        source = rules.source[rules.source_start[r] : rules.source_start[r + 1]].tolist()
        target = rules.target[rules.target_start[r] : rules.target_start[r + 1]].tolist()
        links = rules.alignment[rules.alignment_start[r] : rules.alignment_start[r + 1]].tolist()
        found.append((tuple(source), tuple(target), tuple((s, t) for s, t in links)))
    return found


def is_redundant(rule: Plain, log_probs: dict, tolerance: float) -> bool:
    """By trying every pair of spans."""
    source, target, links = rule
    for a, b in itertools.combinations(range(len(source) + 1), 2):
        for c, d in itertools.combinations(range(len(target) + 1), 2):
            if any((a <= s < b) != (c <= t < d) for s, t in links):
                continue
            inside = [symbol for symbol in source[a:b] if symbol < 0]
            if sorted(inside) != sorted(symbol for symbol in target[c:d] if symbol < 0):
                continue
            if not any(a <= s < b for s, _ in links) and not inside:
                continue
            number = {symbol: -1 - k for k, symbol in enumerate(inside)}
            lower = tuple(
                tuple(number.get(symbol, symbol) for symbol in side) for side in (source[a:b], target[c:d])
            )
            outer_source = (*source[:a], "new", *source[b:])
            gaps = [s for s in outer_source if s == "new" or s < 0]
            number = {symbol: -1 - k for k, symbol in enumerate(gaps)}
            outer = (outer_source, (*target[:c], "new", *target[d:]))
            upper = tuple(tuple(number.get(symbol, symbol) for symbol in side) for side in outer)
            if (source, target) in (lower, upper) or (-1,) in (lower[0], upper[0]):
                continue
            if lower in log_probs and upper in log_probs:
                together = log_probs[lower] + log_probs[upper]
                if together >= log_probs[source, target] - tolerance:
                    return True
    return False


def random_rules(rng: np.random.Generator, number: int) -> RuleCounts:
    rules = []
    for _ in range(number):
        size = int(rng.integers(1, 5))
        words = [int(word) for word in rng.integers(0, 2, size)]
        order = list(range(size)) if rng.random() < 0.6 else list(range(size))[::-1]
        gaps = sorted(rng.choice(size, min(size, int(rng.integers(0, 3))), replace=False).tolist())
        source = list(words)
        for k, place in enumerate(gaps):
            source[place] = -1 - k
        target = [source[i] if source[i] < 0 else source[i] + 10 for i in order]
        links = [(i, order.index(i)) for i in range(size) if source[i] >= 0]
        if rng.random() < 0.3:
            place = int(rng.integers(0, size + 1))
            target.insert(place, 15)
            links = [(s, t + (t >= place)) for s, t in links]
        rules.append(((tuple(source), tuple(target), tuple(sorted(links))), float(rng.integers(1, 9))))
    return merge_rules(rule_counts(rules))


@pytest.mark.parametrize("seed", range(6))
def test_redundant_rules_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, 150)
    log_forward = np.log(rng.uniform(0.05, 1.0, rules.num_rules))
    plain = plain_rules(rules)
    log_probs = {rule[:2]: log_prob for rule, log_prob in zip(plain, log_forward, strict=True)}
    tolerance = float(rng.uniform(0.0, 1.5))
    expected = [is_redundant(rule, log_probs, tolerance) for rule in plain]
    assert 5 < sum(expected) < rules.num_rules - 5
    assert_array_equal(redundant_rules(rules, log_forward, tolerance), expected)


def test_a_phrase_of_two_known_words_is_redundant_unless_it_is_more_probable():
    rules = rule_counts([
        (((0,), (5,), ((0, 0),)), 1.0),
        (((0, 1), (5, 6), ((0, 0), (1, 1))), 1.0),
        (((-1, 1), (-1, 6), ((1, 1),)), 1.0),
    ])  # fmt: skip
    assert redundant_rules(rules, np.log([0.5, 0.2, 0.5]), 0.0).tolist() == [False, True, False]
    assert redundant_rules(rules, np.log([0.5, 0.9, 0.5]), 0.0).tolist() == [False, False, False]
    assert redundant_rules(rules, np.log([0.5, 0.9, 0.5]), 1.5).tolist() == [False, True, False]


def test_significance_is_the_tail_of_the_hypergeometric_distribution():
    rules = random_rules(np.random.default_rng(3), 200)
    plain = plain_rules(rules)
    total = rules.count.sum()
    margins = [{}, {}]
    for (source, target, _), count in zip(plain, rules.count, strict=True):
        margins[0][source] = margins[0].get(source, 0.0) + count
        margins[1][target] = margins[1].get(target, 0.0) + count
    for level in (0.5, 1e-2, 1e-4):
        expected = [
            stats.hypergeom.sf(count - 1, total, margins[0][source], margins[1][target]) <= level
            for (source, target, _), count in zip(plain, rules.count, strict=True)
        ]
        assert_array_equal(significant_rules(rules, rules, level), expected)


def test_pairs_seen_once_are_no_surprise_by_default():
    rules = rule_counts([(((k,), (k,), ((0, 0),)), 1.0 + (k < 3)) for k in range(9)])
    assert prune_rules(rules, np.zeros(9), rules, "significance").tolist() == [True] * 3 + [False] * 6


def test_counts_and_shares():
    rules = rule_counts([(((k,), (k,), ()), float(k)) for k in range(1, 11)])
    assert prune_rules(rules, np.zeros(10), rules, "count:8").sum() == 3
    assert np.flatnonzero(keep_best(rules, "25%")).tolist() == [7, 8, 9]
    assert np.flatnonzero(keep_best(rules, "2")).tolist() == [8, 9]


@pytest.mark.parametrize("text", ["entropy", "count", "count:x", "significance:0", "redundancy:-1"])
def test_unknown_pruning_is_named(text):
    rules = rule_counts([(((1,), (1,), ()), 1.0)])
    with pytest.raises(SettingsError, match=f"--prune is {text}"):
        prune_rules(rules, np.zeros(1), rules, text)


@pytest.mark.parametrize("text", ["x", "-1", "101%", "%"])
def test_unknown_share_is_named(text):
    with pytest.raises(SettingsError, match=f"--keep is {text}"):
        keep_best(rule_counts([(((1,), (1,), ()), 1.0)]), text)
