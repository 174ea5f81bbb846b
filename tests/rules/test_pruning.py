"""Pruning: redundancy against a naive twin, significance against scipy, counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.pruning import best_compositions, keep_best, log_tails, prune_rules
from scfg_sampler.rules.store import merge_rules

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


def best_composition(rule: Plain, log_probs: dict) -> float:
    """By trying every pair of spans."""
    best = -np.inf
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
                best = max(best, log_probs[lower] + log_probs[upper])
    return best


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
def test_best_compositions_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, 150)
    log_forward = np.log(rng.uniform(0.05, 1.0, rules.num_rules))
    plain = plain_rules(rules)
    log_probs = {rule[:2]: log_prob for rule, log_prob in zip(plain, log_forward, strict=True)}
    expected = np.array([best_composition(rule, log_probs) for rule in plain])
    assert 5 < np.isfinite(expected).sum() < rules.num_rules - 5
    assert_array_equal(best_compositions(rules, log_forward), expected)
    tolerance = float(rng.uniform(0.0, 1.5))
    kept = prune_rules(rules, log_forward, rules, f"redundancy:{tolerance!r}").kept
    assert_array_equal(kept, expected < log_forward - tolerance)


@pytest.mark.parametrize(("text", "kept"), [("redundancy:0", 3), ("redundancy", 2), ("entropy:0", 3)])
def test_two_words_are_redundant_unless_they_are_more_probable_together(text, kept):
    rules = rule_counts([
        (((0,), (5,), ((0, 0),)), 1.0),
        (((0, 1), (5, 6), ((0, 0), (1, 1))), 1.0),
        (((-1, 1), (-1, 6), ((1, 1),)), 1.0),
    ])  # fmt: skip
    assert prune_rules(rules, np.log([0.5, 0.2, 0.5]), rules, text).kept.tolist() == [True, False, True]
    assert prune_rules(rules, np.log([0.5, 0.6, 0.5]), rules, text).kept.sum() == kept


def test_what_is_cut_out_is_linked_to_nothing_outside():
    """The targets of words 0 and 1 stand around that of word 2, though rules spell both parts."""
    rules = rule_counts([
        (((0, 1, 2), (10, 11, 12), ((0, 0), (1, 2), (2, 1))), 1.0),
        (((0, 1), (10, 11, 12), ((0, 0), (1, 2))), 1.0),
        (((-1, 2), (-1,), ()), 1.0),
    ])  # fmt: skip
    assert_array_equal(best_compositions(rules, np.log([0.5, 0.5, 0.5])), [-np.inf] * 3)
    loose = rules._replace(alignment_start=np.array([0, 2, 4, 4]), alignment=rules.alignment[[0, 1, 3, 4]])
    assert best_compositions(loose, np.log([0.5, 0.5, 0.5]))[0] == pytest.approx(np.log(0.25))


def test_entropy_weighs_the_loss_by_the_count():
    rules = rule_counts([
        (((0,), (5,), ((0, 0),)), 4.0),
        (((0, 1), (5, 6), ((0, 0), (1, 1))), 3.0),
        (((-1, 1), (-1, 6), ((1, 1),)), 2.0),
    ])  # fmt: skip
    log_forward = np.log([0.5, 0.6, 0.5])
    # Zens, Stanton and Xu (2012): a rule that nothing composes would cost ten nats.
    losses = [4 * (np.log(0.5) + 10), 3 * np.log(2.4), 2 * (np.log(0.5) + 10)]
    pruned = prune_rules(rules, log_forward, rules, f"entropy:{3 * np.log(2.4) + 1e-9}")
    np.testing.assert_allclose(pruned.worth, losses)
    assert pruned.kept.tolist() == [True, False, True]
    assert prune_rules(rules, log_forward, rules, "entropy").kept.all()
    assert keep_best(rules, pruned.worth, "1").tolist() == [True, False, False]


def test_significance_is_the_tail_of_the_hypergeometric_distribution():
    rules = random_rules(np.random.default_rng(3), 200)
    plain = plain_rules(rules)
    total = rules.count.sum()
    margins = [{}, {}]
    for (source, target, _), count in zip(plain, rules.count, strict=True):
        margins[0][source] = margins[0].get(source, 0.0) + count
        margins[1][target] = margins[1].get(target, 0.0) + count
    expected = [
        stats.hypergeom.logsf(count - 1, total, margins[0][source], margins[1][target])
        for (source, target, _), count in zip(plain, rules.count, strict=True)
    ]
    tails, uses = log_tails(rules, rules)
    assert uses == total
    np.testing.assert_allclose(tails, expected, atol=1e-9)
    for level in (0.5, 1e-2, 1e-4):
        pruned = prune_rules(rules, np.zeros(200), rules, f"significance:{level}")
        assert_array_equal(pruned.kept, np.array(expected) <= np.log(level))


def test_pairs_seen_once_are_no_surprise_by_default():
    rules = rule_counts([(((k,), (k,), ((0, 0),)), 1.0 + (k < 3)) for k in range(9)])
    assert prune_rules(rules, np.zeros(9), rules, "significance").kept.tolist() == [True] * 3 + [False] * 6


def test_counts_and_shares():
    rules = rule_counts([(((k,), (k,), ()), float(k)) for k in range(1, 11)])
    assert prune_rules(rules, np.zeros(10), rules, "count:8").kept.sum() == 3
    assert np.flatnonzero(keep_best(rules, rules.count, "25%")).tolist() == [7, 8, 9]
    assert np.flatnonzero(keep_best(rules, rules.count, "2")).tolist() == [8, 9]


def from_a_table(counts: np.ndarray) -> np.ndarray:
    """What counts are when they have gone to a rule table and come back."""
    logs = np.array([float(f"{value:.7g}") for value in np.log(counts).astype(np.float32)], np.float32)
    return np.exp(logs.astype(np.float64))


def test_counts_are_what_they_were_before_they_went_to_a_table():
    """Of the counts to 2,000 about half come back a little smaller, half a little larger."""
    exact = rule_counts([(((k,), (k,), ()), float(k)) for k in range(1, 2001)])
    read = exact._replace(count=from_a_table(exact.count))
    assert (read.count < exact.count).any()
    assert (read.count > exact.count).any()
    for least in (2, 3, 7, 100, 1234):
        kept = prune_rules(read, np.zeros(2000), read, f"count:{least}").kept
        assert np.flatnonzero(kept).tolist() == list(range(least - 1, 2000))
    assert not prune_rules(read, np.zeros(2000), read, "count:1999.9").kept[:1999].any()
    tails, uses = log_tails(read, read)
    assert uses == 2000 * 2001 / 2
    assert_array_equal(tails, log_tails(exact, exact)[0])


def test_half_a_count_is_half_a_count():
    rules = rule_counts([(((k,), (k,), ()), count) for k, count in enumerate([0.45, 0.5, 0.55])])
    rules = rules._replace(count=from_a_table(rules.count))
    assert prune_rules(rules, np.zeros(3), rules, "count:0.5").kept.tolist() == [False, True, True]


@pytest.mark.parametrize("share", [7, 14, 28, 55, 56, 57])
def test_a_share_of_a_hundred_rules_is_so_many(share):
    rules = rule_counts([(((k, k), (k,), ()), 1.0) for k in range(100)])
    assert keep_best(rules, rules.count, f"{share}%").sum() == share
    assert keep_best(rules, rules.count, f"uses:{share}%").sum() == share


def test_share_of_uses_is_of_the_counts_before_they_went_to_a_table():
    rules = rule_counts([(((0, 0), (0,), ()), 3.0), (((1, 1), (1,), ()), 1.0)])
    rules = rules._replace(count=from_a_table(rules.count))
    assert keep_best(rules, rules.count, "uses:75%").tolist() == [True, False]


@pytest.mark.parametrize(
    ("share", "number"),
    [("0.1", 1), ("18", 1), ("18.5", 2), ("50", 4), ("98", 9), ("99", 10), ("100", 10)],
)
def test_share_of_uses(share, number):
    """Ten rules, used 1 to 10 times: 55 uses in all, the best half of them 10 + 9 + 8 and one of 7."""
    rules = rule_counts([(((k, k), (k,), ()), float(k)) for k in range(1, 11)])
    kept = keep_best(rules, rules.count, f"uses:{share}%")
    assert np.flatnonzero(kept).tolist() == list(range(10 - number, 10))


def test_all_uses_are_those_of_all_rules():
    counts = [1e6, 1.0, 1.0, 1.0]
    rules = rule_counts([(((k, k), (k,), ()), count) for k, count in enumerate(counts)])
    assert keep_best(rules, rules.count, "uses:100%").all()


def test_share_of_uses_counts_those_of_the_rules_of_words():
    rules = rule_counts([(((3, 4), (3,), ()), 9.0), (((3,), (3,), ()), 1.0), (((4,), (4,), ()), 2.0)])
    assert keep_best(rules, rules.count, "uses:25%").tolist() == [False, True, True]
    assert keep_best(rules, rules.count, "uses:26%").tolist() == [True, True, True]
    assert keep_best(rules, np.ones(3), "uses:25%").tolist() == [False, True, True]  # Uses, not worth.


def test_every_source_word_keeps_its_best_rule_before_longer_rules():
    rules = rule_counts([
        (((3, 4), (3,), ()), 9.0),
        (((3,), (3,), ()), 1.0),
        (((3,), (4,), ()), 2.0),
        (((-1,), (-1, 4), ()), 8.0),
        (((4,), (4,), ()), 0.5),
        (((-1, 4), (4, -1), ()), 7.0),
        (((5, 4), (4, 5), ()), 0.25),
    ])  # fmt: skip
    kept = [np.flatnonzero(keep_best(rules, rules.count, str(number))).tolist() for number in range(1, 8)]
    assert kept == [
        [2],
        [2, 4],
        [0, 2, 4],
        [0, 2, 3, 4],
        [0, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 5, 6],
    ]
    assert np.flatnonzero(keep_best(rules, -rules.count, "2")).tolist() == [1, 4]  # By worth, not by count.


_WRONG_PRUNINGS = ["entropies", "entropy:-1", "count", "count:x", "significance:0", "redundancy:-1"]
_WRONG_PRUNINGS += ["redundancy:nan", "entropy:nan", "significance:nan", "entropy:inf", "count:1e999"]


@pytest.mark.parametrize("text", _WRONG_PRUNINGS)
def test_unknown_pruning_is_named(text):
    rules = rule_counts([(((1,), (1,), ()), 1.0)])
    with pytest.raises(SettingsError, match=f"--prune is {text}"):
        prune_rules(rules, np.zeros(1), rules, text)


_WRONG_SHARES = ["x", "-1", "101%", "%", "uses:10", "uses:101%", "uses:%", "uses:", "0", "0%", "uses:0%"]


@pytest.mark.parametrize("text", _WRONG_SHARES)
def test_unknown_share_is_named(text):
    with pytest.raises(SettingsError, match=f"--keep is {text}"):
        keep_best(rule_counts([(((1,), (1,), ()), 1.0)]), np.ones(1), text)


@pytest.mark.parametrize("text", ["1", "10%", "uses:10%"])
def test_of_no_rules_none_is_kept(text):
    assert keep_best(rule_counts([]), np.ones(0), text).tolist() == []
