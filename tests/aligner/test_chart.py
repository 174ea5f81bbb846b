"""Charts against all derivations of small sentence pairs, and cells against what they cost."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from scfg_sampler.aligner.chart import (
    _divided,
    _divided_anywhere,
    cell_at,
    clear,
    fill,
    is_dense,
    likely_cells,
    sentence_pair,
    word_scale,
)
from scfg_sampler.aligner.phrases import new_phrases
from scfg_sampler.aligner.sweep import _is_filled, new_scratch, new_visits, sweep
from scfg_sampler.core.jit import kernel
from tests.aligner.corpora import SOURCE, TARGET, corpus_of, random_sides
from tests.oracles.phrase_seatings import Model, Restaurant, Table, ways_of

ENDLESS = 1 << 60  # Of work.


@kernel
def filled(corpus, chart, phrases, sentence, width, scale):
    """The number of cells, and the probability of a sentence pair, not scaled."""
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
    n, m = len(pair.source_alone), len(pair.target_alone)
    num_cells = likely_cells(pair, chart, width, False)
    fill(chart, 0, num_cells, pair, phrases, scale, ENDLESS)
    return num_cells, chart.probs[cell_at(0, n, 0, m, n, m)] / word_scale(pair, 0, n, 0, m, scale)


def twin_of(corpus, phrases, source, target):
    """The model of the oracle, and its restaurant with what is at the tables of ours."""
    lexicon = corpus.lexicon
    forward, backward, share = {}, {}, {}
    for sentence, (one, other) in enumerate(zip(source, target, strict=True)):
        for at, (f, e) in enumerate(itertools.product(one.split(), other.split())):
            number = lexicon.pair[lexicon.start[sentence] + at]
            forward[f, e] = max(float(lexicon.target_given_source[number]), 1e-9)
            backward[f, e] = max(float(lexicon.source_given_target[number]), 1e-9)
    for side in (source, target):
        words = " ".join(side).split()
        share.update({word: words.count(word) / len(words) for word in words})
    return Model(*phrases.parameters.tolist(), forward, backward, share)


def restaurant_of(phrases, visits, source, target):
    """Ours in words: who is at which table is found by going down from the sentence pairs."""
    tables = {}

    def go(table, one, other):
        if table in tables:
            return
        symbol = int(phrases.symbol[table])
        tables[table] = Table(one, other, symbol, (), int(phrases.customers[table]))
        if symbol == 0:
            return
        left, right = phrases.children[table].tolist()
        (middle, left_target), (_, right_target) = (
            phrases.lengths[left].tolist(),
            phrases.lengths[right].tolist(),
        )
        if symbol == 1:
            go(left, one[:middle], other[:left_target])
            go(right, one[middle:], other[left_target:])
        else:
            go(left, one[:middle], other[right_target:])
            go(right, one[middle:], other[:right_target])

    for table, one, other in zip(visits.table.tolist(), source, target, strict=True):
        if table >= 0:
            go(table, tuple(one.split()), tuple(other.split()))
    return Restaurant(tuple(tables.values()))


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize(
    "sides",
    [
        (SOURCE[:3], TARGET[:3]),
        random_sides(3, pairs=6, longest=3),
        random_sides(4, pairs=40, longest=2, words=1),
    ],
)
def test_the_probability_of_a_sentence_pair_is_that_of_all_derivations(sides, scale):
    """Given the others, whose customers are seated; none of its own is, and so none counts."""
    corpus = corpus_of(*sides)
    phrases, scratch = new_phrases(400, 0.4, 1.5), new_scratch(3, 3, 400)
    visits = new_visits(len(sides[0]))
    others = np.arange(1, len(sides[0]))
    for _ in range(3):
        sweep(np.random.default_rng(1), others, corpus, phrases, scratch, visits, False)
    model = twin_of(corpus, phrases, *sides)
    others = restaurant_of(phrases, visits, *sides)
    assert sum(table.customers for table in others.tables) == phrases.totals[0]
    _, prob = filled(corpus, scratch.chart, phrases, 0, 500.0, scale)
    pair = [tuple(side[0].split()) for side in sides]
    expected = math.fsum(more for _, _, more in ways_of(model, others, *pair, counts=others))
    assert prob == pytest.approx(expected, rel=1e-9)


@kernel
def cells_of(corpus, chart, sentence, width):
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
    return chart.cells[: likely_cells(pair, chart, width, False)].copy()


def cost_of(probs, alone, inside, given_inside):
    """By how many nats words are less likely to be made by their like than by any; probs[given, made]."""
    total = 0.0
    for made in range(len(alone)):
        alike = [given for given in range(len(probs)) if (given in given_inside) == (made in inside)]
        by_any = alone[made] + math.fsum(probs[:, made])
        total += math.log(by_any / (alone[made] + math.fsum(probs[alike, made])))
    return total


@pytest.mark.parametrize("width", [0.5, 3.0, 500.0])
def test_cells_are_those_that_cost_at_most_a_width(width):
    corpus = corpus_of(*random_sides(4, pairs=40, longest=5))
    lexicon, chart = corpus.lexicon, new_scratch(5, 5, 10).chart
    for sentence in range(10):
        source, target = (
            text.words[text.start[sentence] : text.start[sentence + 1]]
            for text in (corpus.source, corpus.target)
        )
        n, m = len(source), len(target)
        numbers = lexicon.pair[lexicon.start[sentence] : lexicon.start[sentence + 1]].reshape(n, m)
        forward, backward = (
            np.maximum(probs[numbers], 1e-9)
            for probs in (lexicon.target_given_source, lexicon.source_given_target)
        )
        alone = [
            np.maximum(probs[words], 1e-5)
            for probs, words in ((lexicon.target_alone, target), (lexicon.source_alone, source))
        ]
        expected = set()
        for i, j in itertools.combinations_with_replacement(range(n + 1), 2):
            for k, l in itertools.combinations_with_replacement(range(m + 1), 2):
                inside, among = range(k, l), range(i, j)
                if j == i or l == k:
                    if j - i + l - k == 1:
                        expected.add((i, j, k, l))
                    continue
                cost = cost_of(forward, alone[0], inside, among) + cost_of(
                    backward.T, alone[1], among, inside
                )
                if cost <= width:
                    expected.add((i, j, k, l))
        found = [tuple(cell) for cell in cells_of(corpus, chart, sentence, width).tolist()]
        assert len(found) == len(set(found))
        assert set(found) == expected
        sizes = [j - i + l - k for i, j, k, l in found]
        assert sizes == sorted(sizes)


def test_every_cell_has_a_place_of_its_own():
    n, m = 4, 3
    spans = itertools.combinations_with_replacement
    places = [
        cell_at(i, j, k, l, n, m)
        for (i, j), (k, l) in itertools.product(spans(range(n + 1), 2), spans(range(m + 1), 2))
    ]
    assert sorted(places) == list(range(15 * 10))


def is_derivable(cells, n, m):
    """Whether cells, small ones first, make up a whole: of parts, and of up to seven words a side at once."""
    derivable = set()
    for i, j, k, l in cells:
        divided = (
            {(i, a, k, b), (a, j, b, l)} <= derivable or {(i, a, b, l), (a, j, k, b)} <= derivable
            for a in range(i, j + 1)
            for b in range(k, l + 1)
        )
        if (j - i <= 7 and l - k <= 7) or any(divided):
            derivable.add((i, j, k, l))
    return (0, n, 0, m) in derivable


@kernel
def cells_within(corpus, chart, sentence, width):
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
    return chart.cells[: likely_cells(pair, chart, width, False)].copy()


@pytest.mark.parametrize("seed", range(3))
def test_a_chart_is_as_wide_as_a_derivation_needs_and_no_wider(seed):
    """Long sentence pairs of words that have nothing to do with each other, after short ones that come again.

    A probability that is too small to be a number would be taken for none at all, and the chart be widened.
    """
    rng = np.random.default_rng(seed)
    long = [
        [" ".join(f"{name}{word}" for word in rng.integers(60, size=20)) for _ in range(4)] for name in "fe"
    ]
    sides = (["a b"] * 60 + long[0], ["x y"] * 60 + long[1])
    corpus = corpus_of(*sides)
    phrases, scratch, visits = new_phrases(2_000, 0.4, 1.5), new_scratch(20, 20, 2_000), new_visits(64)
    sweep(np.random.default_rng(seed), np.arange(64), corpus, phrases, scratch, visits, False)
    for sentence in range(60, 64):
        widths = (20.0 * 1.25**step for step in itertools.count())
        needed = next(
            width
            for width in widths
            if is_derivable(cells_within(corpus, scratch.chart, sentence, width).tolist(), 20, 20)
        )
        assert visits.room[sentence, 0] == pytest.approx(needed)
    assert (visits.room[60:, 0] > 20.0).any()


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 3e3, 1e30, 1e300])
@pytest.mark.parametrize("words", [6, 20])
def test_a_scale_that_is_far_off_is_mended(words, scale):
    """Probabilities beyond all numbers are none, and would be for ever if anything were left of them."""
    sides = [[" ".join(f"{name}{k}" for k in range(words)), name] for name in "fe"]
    corpus, order = corpus_of(*sides), np.array([0])
    phrases, scratch = new_phrases(400, 0.4, 1.5), new_scratch(words, words, 400, most_work=10_000_000)
    visits = new_visits(2)
    visits.room[0] = 500.0, scale
    is_done, parts = False, 0
    while not is_done:
        _, kept, is_done = sweep(np.random.default_rng(1), order, corpus, phrases, scratch, visits, False)
        visits, parts = visits._replace(kept=kept), parts + 1
        assert parts < 100
    assert visits.table[0] >= 0
    assert 1e-3 < visits.room[0, 1] < 1e6
    assert not scratch.chart.probs.any()


@kernel
def looked_at(corpus, scratch, visits, prob):
    """Whether a chart is taken whose whole sentence pair, the first, has that probability."""
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, 0)
    n, m = len(pair.source_alone), len(pair.target_alone)
    scratch.chart.probs[cell_at(0, n, 0, m, n, m)] = prob
    return _is_filled(scratch.chart, pair, visits, 0, scratch.visit.state)


def test_a_scale_is_settled_on_where_cells_overflow_at_that_of_the_whole_pair():
    """At one scale a cell is too large, at the one below the whole pair far too small, for ever."""
    corpus = corpus_of(*([" ".join(f"{side}{word}" for word in range(30))] for side in "fe"))
    scratch, visits = new_scratch(30, 30, 400), new_visits(1)
    visits.room[0] = 500.0, 1.0
    settled = [looked_at(corpus, scratch, visits, prob) for prob in (np.nan, 1e-250, np.nan, 1e-125)]
    assert settled == [False, False, False, True]


@kernel
def filled_at_a_time(corpus, chart, phrases, cells, work):
    """The probabilities of cells of the first sentence pair; how often filling began or went on."""
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, 0)
    n, m = len(pair.source_alone), len(pair.target_alone)
    chart.cells[: len(cells)] = cells
    number = times = 0
    while number < len(cells):
        number, _ = fill(chart, number, len(cells), pair, phrases, 300.0, work)
        times += 1
    probs = np.empty(len(cells))
    for number in range(len(cells)):
        cell = cells[number]
        probs[number] = chart.probs[cell_at(cell[0], cell[1], cell[2], cell[3], n, m)]
    clear(chart, len(cells), n, m)
    return probs, times


def test_a_chart_filled_a_little_at_a_time_is_that_filled_at_once():
    """Stopped after each cell, or after some, it keeps its lists of cells that may be parts."""
    words = range(30)
    corpus = corpus_of(*([" ".join(f"{side}{word}" for word in words)] for side in "fe"))
    near = [
        (i, j, k, l)
        for i, j in itertools.combinations_with_replacement(range(31), 2)
        for k, l in itertools.combinations_with_replacement(range(31), 2)
        if abs(i - k) + abs(j - l) <= 1 and j + l > i + k
    ]
    cells = np.array(sorted(near, key=lambda cell: cell[1] - cell[0] + cell[3] - cell[2]), np.uint8)
    assert not is_dense(len(cells), 30, 30)
    chart, phrases = new_scratch(30, 30, 100).chart, new_phrases(100, 0.4, 1.5)
    whole, once = filled_at_a_time(corpus, chart, phrases, cells, ENDLESS)
    each, every = filled_at_a_time(corpus, chart, phrases, cells, 1)
    some, several = filled_at_a_time(corpus, chart, phrases, cells, 50)
    assert whole[-1] > 0.0
    assert (once, every) == (1, len(cells))
    assert 5 < several < every
    np.testing.assert_array_equal(each, whole)
    np.testing.assert_array_equal(some, whole)


# ---- Many cells -----------------------------------------------------------------------------------


@kernel
def divided(corpus, chart, phrases, sentence, width):
    """By cell with words of both sides, the sums over its divisions: as they are listed, and anywhere."""
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
    n, m = len(pair.source_alone), len(pair.target_alone)
    num_cells = likely_cells(pair, chart, width, False)
    fill(chart, 0, num_cells, pair, phrases, 300.0, ENDLESS)
    sums = np.zeros((num_cells, 4))
    for number in range(num_cells):
        cell = chart.cells[number]
        if cell[1] > cell[0] and cell[3] > cell[2]:
            row = sums[number]
            row[0], row[1] = _divided(chart, cell, 0, n, m), _divided(chart, cell, 1, n, m)
            row[2], row[3] = _divided_anywhere(chart, cell, n, m)
    clear(chart, num_cells, n, m)
    return sums


def test_divisions_are_summed_to_the_last_digit_as_those_that_are_listed():
    """Whichever is quicker is taken, and the same derivations are drawn."""
    corpus = corpus_of(*random_sides(4, pairs=40, longest=12, words=30))
    chart = new_scratch(12, 12, 2_000).chart
    found = 0
    for sentence, width in itertools.product(range(8), (5.0, 20.0, 500.0)):
        sums = divided(corpus, chart, new_phrases(2_000, 0.4, 1.5), sentence, width)
        np.testing.assert_array_equal(sums[:, 2:], sums[:, :2])
        found += np.count_nonzero(sums)
    assert found > 1000


def hapaxes(num_pairs, num_words):
    """Sentence pairs of which nothing can be learnt."""
    return [
        [" ".join(f"{name}{pair}.{word}" for word in range(num_words)) for pair in range(num_pairs)]
        for name in "fe"
    ]


@pytest.mark.parametrize(("most", "width"), [(3_000, 20.0 / 2), (400, -1.0)])
def test_long_pairs_that_would_take_many_cells_have_coarse_charts(most, width):
    """They are narrower than the first one that is too wide, by half and again, and have a derivation."""
    corpus = corpus_of(*hapaxes(3, 12))
    phrases, visits = new_phrases(200, 0.4, 1.5), new_visits(3)
    scratch = new_scratch(12, 12, 200, most_cells=most, long=6_000)
    _, _, is_done = sweep(np.random.default_rng(1), np.arange(3), corpus, phrases, scratch, visits, False)
    assert is_done
    assert visits.is_coarse.tolist() == [1, 1, 1]
    assert visits.room[:, 0].tolist() == [width] * 3
    assert (visits.table >= 0).all()
    assert not scratch.chart.probs.any()


def test_pairs_that_are_not_long_have_as_many_cells_as_they_take():
    corpus = corpus_of(*hapaxes(3, 12))
    visits = new_visits(3)
    scratch = new_scratch(12, 12, 200, most_cells=400)
    sweep(np.random.default_rng(1), np.arange(3), corpus, new_phrases(200, 0.4, 1.5), scratch, visits, False)
    assert not visits.is_coarse.any()
