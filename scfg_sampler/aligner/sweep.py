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

from scfg_sampler.aligner.chart import Chart, fill, likely_cells, new_chart, sentence_pair
from scfg_sampler.aligner.derivations import Derivation, draw, log_before, new_derivation, seat, unseat
from scfg_sampler.aligner.lexicon import Lexicon, Text
from scfg_sampler.aligner.phrases import make_room
from scfg_sampler.core import draws, elementary
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["Corpus", "Scratch", "Visits", "new_scratch", "new_visits", "sweep"]

_FIRST_WIDTH, _FIRST_SCALE = 20.0, 300.0
_WIDER = 1.25
_WIDEST = 500.0  # All cells; a probability of 0 is then but too small a number.
_FAR, _FARTHEST = 1e100, 1e250  # The probability of a sentence pair is not to be as far from 1.


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
    """float64 (S, 2): how wide its chart is, in nats, and how its words are scaled (see `chart`)."""


class Scratch(NamedTuple):
    """What is made anew for every sentence pair."""

    chart: Chart
    old: Derivation
    new: Derivation


def new_visits(num_pairs: int) -> Visits:
    """Sentence pairs that have not been visited."""
    return Visits(np.full(num_pairs, -1, np.int32), np.tile([_FIRST_WIDTH, _FIRST_SCALE], (num_pairs, 1)))


def new_scratch(num_source: int, num_target: int, most_tables: int) -> Scratch:
    """Room for sentence pairs of up to so many words, and of so many tables."""
    old, new = (new_derivation(num_source + num_target) for _ in range(2))
    return Scratch(new_chart(num_source, num_target, most_tables), old, new)


@kernel
def sweep(rng, order, corpus, phrases, scratch, visits):
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

    Returns
    -------
    int
        How many of the derivations were accepted.
    """
    chart, old, new = scratch.chart, scratch.old, scratch.new
    num_accepted = 0
    for sentence in order:
        pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
        table = visits.table[sentence]
        make_room(phrases)
        before = 0.0
        if table >= 0:
            before = unseat(old, phrases, table, len(pair.source_alone), len(pair.target_alone))
        scale = _fill(chart, pair, phrases, visits.room, sentence)
        draw(rng, new, chart, pair, phrases, scale)
        if table < 0 or _accepts(rng, old, new, before, chart, phrases, pair):
            visits.table[sentence], _ = seat(new, phrases, pair)
            num_accepted += 1
        else:
            visits.table[sentence], _ = seat(old, phrases, pair)
    return num_accepted


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
def _fill(chart, pair, phrases, room, sentence):
    """Fill the chart of a sentence pair, and note what it took in its room; the scale of its words."""
    num_words = len(pair.source_alone) + len(pair.target_alone)
    num_cells = likely_cells(pair, chart, room[sentence, 0])
    while True:
        scale = room[sentence, 1]
        prob = fill(chart, num_cells, pair, phrases, scale)
        if prob == 0.0 and room[sentence, 0] < _WIDEST:
            room[sentence, 0] *= _WIDER
            num_cells = likely_cells(pair, chart, room[sentence, 0])
            continue
        known = min(max(prob, 1.0 / _FARTHEST), _FARTHEST) if prob >= 0.0 else _FARTHEST
        room[sentence, 1] = scale * elementary.power(known, -1.0 / num_words)  # It will be near 1 next time.
        if 1.0 / _FAR < prob < _FAR:
            return scale
