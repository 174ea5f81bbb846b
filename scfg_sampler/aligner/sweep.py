"""A sweep: every sentence pair in turn is taken away, derived anew given all others, and put back.

The new derivation is drawn with the probabilities that hold before any of its customers is seated, and
accepted by Metropolis–Hastings, as customers of one sentence pair change each other's probabilities. So the
chain has the model's posterior as its stationary distribution, which tests follow choice by choice.

The fact a newcomer would get wrong: a derivation that could not have been drawn is never left. That is one
with two customers at a table that nobody else has, or with a cell that this pair's chart leaves out; both
come about only when others leave, and end when others come.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.aligner.chart import Chart, clear, fill, likely_cells, new_chart, sentence_pair
from scfg_sampler.aligner.derivations import Derivation, draw, log_before, new_derivation, seat, unseat
from scfg_sampler.aligner.lexicon import Lexicon, Text
from scfg_sampler.aligner.narrowing import keep_probable, recall
from scfg_sampler.aligner.phrases import make_room
from scfg_sampler.core import draws, elementary
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["Corpus", "Scratch", "Visits", "new_scratch", "new_visits", "sweep"]

_FIRST_WIDTH = 20.0
_FIRST_SCALE = 3e3  # More than sentence pairs need: too much is noticed, too little is a probability of 0.
_WIDER = 1.25
_WIDEST = 500.0  # All cells; a probability of 0 is then but too small a number.
_MANY = 1_000  # Cells of a chart that it pays to narrow.
_FAR, _FARTHEST = 1e150, 1e250  # The probability of a sentence pair is not to be as far from 1.


class Corpus(NamedTuple):
    """Parallel text, and how likely its words are to be translations of each other."""

    source: Text
    target: Text
    lexicon: Lexicon


class Visits(NamedTuple):
    """What the chain knows of each sentence pair."""

    table: np.ndarray
    """int32 (S,): where it sits, −1 before the first visit."""
    room: np.ndarray
    """float64 (S, 2): how wide its chart is, in nats, and how its words are scaled (`chart`)."""
    kept: np.ndarray
    """uint8 (…, 4): cells of the narrow charts of long sentence pairs."""
    span: np.ndarray
    """int64 (S, 2): which of `kept` are each one's; none where its chart is not narrowed."""
    size: np.ndarray
    """int64 (1,): how many of `kept` there are."""


class Scratch(NamedTuple):
    """What is made anew for every sentence pair."""

    chart: Chart
    old: Derivation
    new: Derivation


def new_visits(num_pairs: int) -> Visits:
    """Sentence pairs that have not been visited."""
    return Visits(
        np.full(num_pairs, -1, np.int32),
        np.tile([_FIRST_WIDTH, _FIRST_SCALE], (num_pairs, 1)),
        np.zeros((1 << 10, 4), np.uint8),
        np.zeros((num_pairs, 2), np.int64),
        np.zeros(1, np.int64),
    )


def new_scratch(num_source: int, num_target: int, most_tables: int) -> Scratch:
    """Room for sentence pairs of up to so many words, and of so many tables."""
    old, new = (new_derivation(num_source + num_target) for _ in range(2))
    return Scratch(new_chart(num_source, num_target, most_tables), old, new)


@kernel
def sweep(rng, order, corpus, phrases, scratch, visits, narrows):
    """Resample the derivations of some sentence pairs, one after the other.

    Parameters
    ----------
    rng : numpy.random.Generator
    order : int64
        Sentence pairs, all with words on both sides and with room in the scratch.
    corpus : Corpus
    phrases : Phrases
        The restaurant, changed in place, as `visits` are.
    scratch : Scratch
    visits : Visits
    narrows : bool
        Whether charts of many cells are narrowed, for all visits to come.

    Returns
    -------
    int, array
        How many of the derivations were accepted; `visits.kept`, perhaps in another place.
    """
    chart, old, new = scratch.chart, scratch.old, scratch.new
    num_accepted, kept = 0, visits.kept
    for sentence in order:
        pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
        table = visits.table[sentence]
        make_room(phrases)
        n, m = len(pair.source_alone), len(pair.target_alone)
        before = unseat(old, phrases, table, n, m) if table >= 0 else 0.0
        num_cells, scale = _fill(chart, pair, phrases, visits, kept, sentence)
        draw(rng, new, chart, pair, phrases, scale)
        begin = end = visits.size[0]
        if narrows and num_cells > _MANY and visits.span[sentence, 1] == 0:
            kept, end = keep_probable(chart, num_cells, phrases, new, kept, begin)
        if table < 0 or _accepts(rng, old, new, before, chart, phrases, pair):
            visits.table[sentence], _ = seat(new, phrases, pair)
            num_accepted += 1
            if end > begin:
                visits.span[sentence, 0], visits.span[sentence, 1], visits.size[0] = begin, end, end
        else:
            visits.table[sentence], _ = seat(old, phrases, pair)
        clear(chart, num_cells, n, m)
    return num_accepted, kept


@compiled
def _accepts(rng, old, new, before, chart, phrases, pair):
    """Whether a new derivation takes the place of the old one, both taken away."""
    n, m = len(pair.source_alone), len(pair.target_alone)
    expected = log_before(old, chart, phrases, n, m)
    if expected == -np.inf:
        return False
    drawn = log_before(new, chart, phrases, n, m)
    table, after = seat(new, phrases, pair)
    unseat(new, phrases, table, n, m)
    gain = (after - drawn) - (before - expected)
    return draws.bernoulli(rng, elementary.exp(min(0.0, gain)))


@compiled
def _fill(chart, pair, phrases, visits, kept, sentence):
    """Fill the chart of a sentence pair, and note in its room what it took; its cells, and its scale."""
    room = visits.room[sentence]
    num_words = len(pair.source_alone) + len(pair.target_alone)
    begin, end = visits.span[sentence, 0], visits.span[sentence, 1]
    is_narrow = end > begin
    num_cells = recall(chart, kept, begin, end) if is_narrow else likely_cells(pair, chart, room[0])
    while True:
        scale = room[1]
        prob = fill(chart, num_cells, pair, phrases, scale)
        if prob == 0.0 and (is_narrow or room[0] < _WIDEST):
            room[0] *= 1.0 if is_narrow else _WIDER
            is_narrow = False
            num_cells = likely_cells(pair, chart, room[0])
            continue
        known = min(max(prob, 1.0 / _FARTHEST), _FARTHEST) if prob >= 0.0 else _FARTHEST
        room[1] = scale * elementary.power(known, -1.0 / num_words)  # It will be near 1 next time.
        if 1.0 / _FAR < prob < _FAR:
            return num_cells, scale
