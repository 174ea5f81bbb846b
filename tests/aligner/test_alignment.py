"""Chains of derivations: what is kept true along them, and the links that they end in."""

from __future__ import annotations

import itertools
import math
import signal
from collections import Counter

import numpy as np
import pytest

from scfg_sampler.aligner import alignment
from scfg_sampler.aligner.alignment import PhraseAligner
from scfg_sampler.aligner.lexicon import Text
from scfg_sampler.aligner.phrases import (
    INVERTED,
    STRAIGHT,
    WORDS,
    join_table,
    log_seating,
    make_room,
    new_phrases,
    open_table,
    slot_of,
)
from scfg_sampler.aligner.sweep import new_scratch, sweep
from scfg_sampler.core.jit import kernel
from tests.aligner.corpora import SOURCE, TARGET, random_sides, text_of


def aligner_of(source, target, *, longest=60, seed=1) -> PhraseAligner:
    return PhraseAligner(text_of(source)[0], text_of(target)[0], longest=longest, seed=seed)


def test_words_that_go_together_are_linked():
    """The sentences are so few that some phrases of two words are made at once."""
    aligner = aligner_of(SOURCE * 12, TARGET * 12)
    for _ in range(10):
        aligner.sweep()
    links = [set(each) for each in aligner.links()]
    assert all({(0, 0), (1, 1)} <= each for each in links[:3])
    assert {(2, 1), (3, 0)} <= links[3]
    assert not {(0, 0), (1, 0), (2, 3), (3, 3)} & links[3]


def test_a_seed_repeats_and_another_does_not():
    sides = random_sides(5, pairs=60, longest=6)

    def links_of(seed):
        aligner = aligner_of(*sides, seed=seed)
        accepted = [aligner.sweep() for _ in range(4)]
        return accepted, list(aligner.links())

    assert links_of(1) == links_of(1) != links_of(2)


def test_how_many_pairs_are_derived_at_a_time_changes_nothing(monkeypatch):
    """Long ones, of which one takes as long as hundreds of short ones, are derived one by one."""
    sides = random_sides(5, pairs=60, longest=9)

    def told(at_a_time):
        monkeypatch.setattr(alignment, "_AT_A_TIME", at_a_time)
        aligner = aligner_of(*sides)
        shares: list[list[float]] = [[], []]
        accepted = [aligner.sweep(each.append) for each in shares]
        assert [sum(each) for each in shares] == pytest.approx([1.0, 1.0])
        assert min(map(min, shares)) > 0.0
        return (accepted, list(aligner.links())), len(shares[0])

    (whole, one), (parts, several), (each, sixty) = told(10**9), told(5_000), told(1)
    assert whole == parts == each
    assert (one, sixty) == (1, 60)
    assert 1 < several < 30


def test_how_much_of_a_chart_is_made_at_a_time_changes_nothing(monkeypatch):
    """Of one that takes long a part, so that a signal is heard amid it; wide, narrowed, and narrow ones."""
    rng = np.random.default_rng(1)
    orders = [rng.permutation(20) for _ in range(4)]
    source = [" ".join(f"f{word}" for word in range(20))] * 4
    target = [" ".join(f"e{word}" for word in order) for order in orders]

    def told(most_work):
        calls = []
        monkeypatch.setattr(alignment, "new_scratch", lambda *room: new_scratch(*room, most_work=most_work))
        monkeypatch.setattr(alignment, "sweep", lambda *given: calls.append(1) or sweep(*given))
        aligner = aligner_of(source, target)
        accepted = [aligner.sweep() for _ in range(4)]
        kept = aligner._visits.kept[: int(aligner._visits.size[0])].tolist()
        return (accepted, kept, list(aligner.links())), len(calls)

    (whole, few), (parts, many) = told(1 << 60), told(2_000)
    assert whole == parts
    assert whole[1]
    assert few < 20
    assert many > 200


def test_what_a_signal_raises_amid_a_chart_is_raised_there(monkeypatch):
    """Before the sentence pair is done, which is the only one."""
    words = range(20)
    sides = [[" ".join(f"{name}{word}" for word in words)] for name in "fe"]
    monkeypatch.setattr(alignment, "new_scratch", lambda *room: new_scratch(*room, most_work=2_000))
    aligner = aligner_of(*sides)

    def stopped(*given):
        found = sweep(*given)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(alignment, "sweep", stopped)
    with pytest.raises(KeyboardInterrupt):
        aligner.sweep()
    assert aligner._visits.table.tolist() == [-1]


def test_customers_are_those_of_sentence_pairs_and_of_tables():
    sides = random_sides(6, pairs=150, longest=6, words=4)
    aligner = aligner_of(*sides)
    for _ in range(12):
        aligner.sweep()
        phrases = aligner._phrases
        seats = Counter(aligner._visits.table.tolist())
        open_tables = np.flatnonzero(phrases.customers).tolist()
        for table in open_tables:
            if phrases.symbol[table] != WORDS:
                seats.update(phrases.children[table].tolist())
        assert seats == {table: int(phrases.customers[table]) for table in open_tables}
        assert phrases.totals[:2].tolist() == [seats.total(), len(open_tables)]
        assert phrases.symbols.tolist() == np.bincount(phrases.symbol[open_tables], minlength=3).tolist()
        assert phrases.served.sum(0).tolist() == phrases.totals[:2].tolist()
        freed = phrases.free[: phrases.totals[2]].tolist()
        assert sorted(open_tables + freed) == list(range(phrases.totals[3]))


def test_pairs_that_do_not_fit_have_no_links():
    aligner = aligner_of(["a", "", "a b c", "b"], ["x", "x", "x y", ""], longest=2)
    aligner.sweep()
    assert [bool(links) for links in aligner.links()] == [True, False, False, False]


def test_a_text_of_which_nothing_fits_has_no_links():
    aligner = aligner_of(["a b c"], ["x"], longest=2)
    assert aligner.sweep() == 0
    assert list(aligner.links()) == [[]]


def test_long_pairs_take_wide_charts_and_are_linked():
    """Sixty words a side, of which each is likely with one other alone, and in no order."""
    rng = np.random.default_rng(1)
    orders = [rng.permutation(60) for _ in range(3)]
    source = [" ".join(f"f{word}" for word in range(60))] * 3
    target = [" ".join(f"e{word}" for word in order) for order in orders]
    aligner = aligner_of(source, target)
    aligner.sweep()
    assert all(len(links) > 20 for links in aligner.links())
    assert np.isfinite(aligner._visits.room).all()


# ---- Links ----------------------------------------------------------------------------------------


@kernel
def opened(phrases, key, symbol, left, right, lengths):
    return open_table(phrases, key, symbol, left, right, lengths[0], lengths[1])


def test_blocks_are_what_is_made_at_once_and_what_is_used_with_one_word_on_a_side():
    aligner = aligner_of(["a b c d e f"], ["u v w x y z"])
    phrases = aligner._phrases
    a = opened(phrases, 1, WORDS, -1, -1, (1, 1))
    nothing = opened(phrases, 3, WORDS, -1, -1, (0, 1))
    used = opened(phrases, 5, STRAIGHT, a, nothing, (1, 2))
    join_table(phrases, used)
    at_once = opened(phrases, 7, WORDS, -1, -1, (2, 2))
    b = opened(phrases, 9, WORDS, -1, -1, (1, 1))
    alone = opened(phrases, 11, WORDS, -1, -1, (1, 0))
    once = opened(phrases, 13, INVERTED, b, alone, (2, 1))
    lower = opened(phrases, 15, INVERTED, at_once, once, (4, 3))
    top = opened(phrases, 17, INVERTED, used, lower, (5, 5))
    aligner._visits.table[0] = top
    assert list(aligner.links()) == [
        # Inverted: `used` has the last two target words, `once` the first, `at_once` the two between them.
        sorted([(0, 3), (0, 4), *itertools.product((1, 2), (1, 2)), (3, 0)])
    ]


def test_what_is_in_order_is_linked_in_order():
    aligner = aligner_of(["a b c"], ["x y z"])
    phrases = aligner._phrases
    a, bc = opened(phrases, 1, WORDS, -1, -1, (1, 1)), opened(phrases, 3, WORDS, -1, -1, (2, 2))
    aligner._visits.table[0] = opened(phrases, 5, STRAIGHT, a, bc, (3, 3))
    assert list(aligner.links()) == [[(0, 0), *itertools.product((1, 2), (1, 2))]]


# ---- The restaurant -------------------------------------------------------------------------------


def test_pairs_of_phrases_are_forgotten_when_slots_run_out():
    phrases = new_phrases(8)
    size = len(phrases.keys)
    tables = [opened(phrases, 2 * number + 1, WORDS, -1, -1, (1, 1)) for number in range(4)]
    for number in range(3 * size // 4 - 4):
        make_room(phrases)
        assert np.count_nonzero(phrases.keys) == 4 + number
        key = 1000 + number
        slot = slot_of(phrases, key)
        phrases.keys[slot] = key
        phrases.totals[4] += 1
    make_room(phrases)
    assert np.count_nonzero(phrases.keys) == phrases.totals[4] == 4
    for number, table in enumerate(tables):
        slot = slot_of(phrases, 2 * number + 1)
        assert phrases.keys[slot] == 2 * number + 1
        assert (phrases.first[slot], phrases.slot[table]) == (table, slot)
        assert phrases.served[slot].tolist() == [1, 1]
    before = phrases.keys.copy()
    make_room(phrases)
    np.testing.assert_array_equal(phrases.keys, before)


def log_prob_of_seating(sizes, discount, strength):
    """One customer after the other, by the rule of the restaurant."""
    total, customers = 0.0, 0
    for tables, size in enumerate(sizes):
        for sitting in range(size):
            mass = sitting - discount if sitting else strength + discount * tables
            total += math.log(mass / (customers + strength))
            customers += 1
    return total


@pytest.mark.parametrize("sizes", [[1], [3, 1], [1, 1, 2, 5, 2]])
def test_the_seating_has_the_probability_of_its_customers_one_by_one(sizes):
    phrases = new_phrases(20)
    for number, size in enumerate(sizes):
        table = opened(phrases, 2 * (number % 2) + 1, WORDS, -1, -1, (1, 1))
        for _ in range(size - 1):
            join_table(phrases, table)
    for discount, strength in ((0.2, 0.5), (0.8, 30.0)):
        expected = log_prob_of_seating(sizes, discount, strength)
        assert log_seating(phrases, discount, strength) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sizes", [[1, 1, 2, 4, 1, 9, 1, 3, 2, 1, 1, 1], [1] * 30])
def test_parameters_are_drawn_from_their_posterior(sizes):
    """Of a seating that stays, against the density on a grid; by moments of many moves.

    Where nobody shares a table, the strength is bounded by its prior alone.
    """
    phrases = new_phrases(80)
    for number, size in enumerate(sizes):
        table = opened(phrases, 2 * number + 1, WORDS, -1, -1, (1, 1))
        for _ in range(size - 1):
            join_table(phrases, table)
    rng = np.random.default_rng(1)
    seen = []
    for _ in range(6000):
        alignment._move_parameters(rng, phrases)
        seen.append(phrases.parameters.copy())
    discounts = (np.arange(100) + 0.5) / 100
    log_strengths = np.linspace(-8, 8, 160)
    grid = np.array(
        [
            [log_prob_of_seating(sizes, d, math.exp(x)) - 0.01 * math.exp(x) + x for x in log_strengths]
            for d in discounts
        ]
    )
    density = np.exp(grid - grid.max())
    density /= density.sum()
    found = np.array(seen)
    means = (density.sum(1) @ discounts, density.sum(0) @ log_strengths)
    deviations = (
        math.sqrt(density.sum(1) @ discounts**2 - means[0] ** 2),
        math.sqrt(density.sum(0) @ log_strengths**2 - means[1] ** 2),
    )
    assert found[:, 0].mean() == pytest.approx(means[0], abs=0.12 * deviations[0])
    assert np.log(found[:, 1]).mean() == pytest.approx(means[1], abs=0.12 * deviations[1])


def test_texts_without_sentences_are_aligned_to_nothing():
    empty = Text(np.zeros(1, np.int64), np.zeros(0, np.int32), 0)
    assert list(PhraseAligner(empty, empty, longest=5, seed=1).links()) == []
