"""Charts that are narrowed to what is probable, against all derivations of small sentence pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scfg_sampler.aligner.alignment import PhraseAligner
from scfg_sampler.aligner.chart import cell_at, clear, fill, likely_cells, sentence_pair
from scfg_sampler.aligner.derivations import draw, new_derivation
from scfg_sampler.aligner.narrowing import _give_anywhere, _give_parts, keep_probable, recall, share_out
from scfg_sampler.aligner.phrases import new_phrases
from scfg_sampler.aligner.sweep import new_scratch, new_visits, sweep
from scfg_sampler.core.jit import kernel
from tests.aligner.corpora import SOURCE, TARGET, corpus_of, random_sides, text_of
from tests.aligner.test_chart import ENDLESS, restaurant_of, twin_of
from tests.oracles.phrase_seatings import ways_of

FIRST = ["das alte haus", *SOURCE], ["the old house", *TARGET]


@kernel
def outside_of(corpus, chart, phrases, sentence):
    """The cells of a sentence pair, and by cell in which share of the derivations it is."""
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
    n, m = len(pair.source_alone), len(pair.target_alone)
    num_cells = likely_cells(pair, chart, 500.0, False)
    fill(chart, 0, num_cells, pair, phrases, 300.0, ENDLESS)
    whole = chart.probs[cell_at(0, n, 0, m, n, m)]
    share_out(chart, num_cells, num_cells, phrases, ENDLESS, 0.0)
    shares = np.empty(num_cells)
    for number in range(num_cells):
        cell = chart.cells[number]
        at = cell_at(cell[0], cell[1], cell[2], cell[3], n, m)
        shares[number] = chart.probs[at] * chart.outside[at] / whole
        chart.outside[at] = 0.0
    return chart.cells[:num_cells].copy(), shares


@kernel
def kept_of(rng, corpus, chart, phrases, derivation, sentence, least_share):
    """The cells that are kept of a sentence pair, behind one that was there; and those of the derivation."""
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
    num_cells = likely_cells(pair, chart, 500.0, False)
    fill(chart, 0, num_cells, pair, phrases, 300.0, ENDLESS)
    draw(rng, derivation, chart, pair, phrases, 300.0)
    kept, size = np.zeros((1, 4), np.uint8), 1
    share_out(chart, num_cells, num_cells, phrases, ENDLESS, least_share)
    kept, size = keep_probable(chart, num_cells, derivation, kept, size, least_share)
    recalled = chart.cells[: recall(chart, kept, 1, size)].copy()
    return recalled, derivation.cell[: derivation.size[0]].copy()


def seated():
    """A corpus whose first sentence pair has words of one place each, and the others seated."""
    corpus = corpus_of(*FIRST)
    phrases, scratch, visits = new_phrases(400, 0.4, 1.5), new_scratch(4, 4, 400), new_visits(len(FIRST[0]))
    others = np.arange(1, len(FIRST[0]))
    for _ in range(3):
        sweep(np.random.default_rng(1), others, corpus, phrases, scratch, visits, False)
    return corpus, phrases, scratch, visits


def test_the_share_of_a_cell_is_that_of_the_derivations_that_have_it():
    corpus, phrases, scratch, visits = seated()
    source, target = (tuple(side[0].split()) for side in FIRST)
    model, others = twin_of(corpus, phrases, *FIRST), restaurant_of(phrases, visits, *FIRST)
    before = [table.customers for table in others.tables]
    ways: dict[tuple, list[float]] = {}
    total = []
    for then, _, prob in ways_of(model, others, source, target, counts=others):
        total.append(prob)
        now = zip(then.tables, before + [0] * (len(then.tables) - len(before)), strict=True)
        seated_at = {(table.source, table.target) for table, earlier in now if table.customers > earlier}
        for phrase in seated_at:
            ways.setdefault(phrase, []).append(prob)
    cells, shares = outside_of(corpus, scratch.chart, phrases, 0)
    found = 0
    for (i, j, k, l), share in zip(cells.tolist(), shares.tolist(), strict=True):
        if j > i and l > k:  # A word of one side has many cells, and one phrase.
            expected = math.fsum(ways.get((source[i:j], target[k:l]), [])) / math.fsum(total)
            assert share == pytest.approx(expected, rel=1e-9, abs=1e-300)
            found += expected > 0.0
    assert found > 20


@pytest.mark.parametrize("least", [0.9, 0.3, 0.02, 1e-12])
def test_kept_are_probable_cells_and_those_of_the_derivation(least):
    """Shares that come from improbable cells do not count; here they decide of no cell."""
    corpus, phrases, scratch, _ = seated()
    cells, shares = outside_of(corpus, scratch.chart, phrases, 0)
    for seed in range(5):
        found, drawn = kept_of(
            np.random.default_rng(seed), corpus, scratch.chart, phrases, new_derivation(6), 0, least
        )
        probable = {tuple(cell) for cell in cells[shares >= least].tolist()}
        assert {tuple(cell) for cell in found.tolist()} == probable | {tuple(cell) for cell in drawn.tolist()}
        sizes = [j - i + l - k for i, j, k, l in found.tolist()]
        assert sizes == sorted(sizes)


def shuffled(num_pairs: int, num_words: int) -> tuple[list[str], list[str]]:
    """Pairs of as many different words, in order and in none."""
    rng = np.random.default_rng(1)
    source = [" ".join(f"f{word}" for word in range(num_words))] * num_pairs
    orders = [rng.permutation(num_words) for _ in range(num_pairs)]
    return source, [" ".join(f"e{word}" for word in order) for order in orders]


def test_charts_are_narrowed_once_all_pairs_have_been_visited():
    source, target = shuffled(6, 30)
    aligner = PhraseAligner(
        text_of([*source, "f1 f2"])[0], text_of([*target, "e1 e2"])[0], longest=60, seed=1
    )
    aligner.sweep()
    assert not aligner._visits.span.any()
    aligner.sweep()
    visits = aligner._visits
    sizes = np.diff(visits.span)[:, 0]
    assert (sizes[:6] > 0).sum() >= 3
    assert sizes[6] == 0
    assert sizes.sum() == visits.size[0]
    kept = visits.kept[: visits.size[0]].copy(), visits.span[sizes > 0].copy()
    assert all(visits.kept[end - 1].tolist() == [0, 30, 0, 30] for _, end in kept[1].tolist())
    for _ in range(3):
        aligner.sweep()
    later = aligner._visits
    assert (later.kept[: len(kept[0])] == kept[0]).all()
    assert (later.span[sizes > 0] == kept[1]).all()
    assert all(len(links) > 10 for links in list(aligner.links())[:6])


def test_nothing_is_left_on_charts():
    """What is left would be a part of the next sentence pair's phrases."""
    source, target = shuffled(4, 25)
    aligner = PhraseAligner(text_of(source)[0], text_of(target)[0], longest=60, seed=1)
    for _ in range(3):
        aligner.sweep()
        assert not aligner._scratch.chart.probs.any()
        assert not aligner._scratch.chart.outside.any()


@kernel
def given(corpus, chart, phrases, sentence, width):
    """What both ways of giving to parts give, cell by cell and for order and turn: by the way."""
    pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
    n, m = len(pair.source_alone), len(pair.target_alone)
    num_cells = likely_cells(pair, chart, width, False)
    fill(chart, 0, num_cells, pair, phrases, 300.0, ENDLESS)
    found = np.zeros((2, len(chart.outside)))
    for way in range(2):
        for number in range(num_cells - 1, -1, -1):
            cell = chart.cells[number]
            for is_inverted in range(2):
                if cell[1] > cell[0] and cell[3] > cell[2] and way == 0:
                    _give_parts(chart, cell, is_inverted, 0.1 + is_inverted, n, m)
                elif cell[1] > cell[0] and cell[3] > cell[2]:
                    _give_anywhere(chart, cell, is_inverted, 0.1 + is_inverted, n, m)
        found[way] = chart.outside
        chart.outside[:] = 0.0
    clear(chart, num_cells, n, m)
    return found


def test_parts_are_given_the_same_wherever_they_are_looked_for():
    corpus = corpus_of(*random_sides(4, pairs=40, longest=9, words=30))
    chart = new_scratch(9, 9, 2_000).chart
    for sentence, width in ((0, 5.0), (1, 20.0), (2, 500.0), (3, 500.0)):
        parts, anywhere = given(corpus, chart, new_phrases(2_000, 0.4, 1.5), sentence, width)
        assert parts.any()
        np.testing.assert_array_equal(parts, anywhere)
