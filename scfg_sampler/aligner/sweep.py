"""A sweep: every sentence pair in turn is taken away, derived anew given all others, and put back.

The new derivation is drawn with the probabilities that hold before any of its customers is seated, and
accepted by Metropolis–Hastings, as customers of one sentence pair change each other's probabilities. So the
chain has the model's posterior as its stationary distribution, which tests follow choice by choice.

The fact a newcomer would get wrong: a derivation that could not have been drawn is never left. That is one
with two customers at a table that nobody else has, or with a cell that this pair's chart leaves out; both
come about only when others leave, and end when others come.

Charts are wide enough for some derivation. Those of long sentence pairs, of more than 60 words a side or so,
may take a million cells for that; where they would take more, as where nothing is known of a hundred words,
the chart is a coarse one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.aligner.chart import (
    Chart,
    cell_at,
    clear,
    fill,
    likely_cells,
    new_chart,
    sentence_pair,
)
from scfg_sampler.aligner.derivations import Derivation, draw, log_before, new_derivation, seat, unseat
from scfg_sampler.aligner.lexicon import Lexicon, Text
from scfg_sampler.aligner.narrowing import keep_probable, recall, share_out
from scfg_sampler.aligner.phrases import make_room
from scfg_sampler.core import draws, elementary
from scfg_sampler.core.jit import compiled, kernel

__all__ = [
    "LONG",
    "MOST_CELLS",
    "MOST_WORK",
    "Corpus",
    "Scratch",
    "Visit",
    "Visits",
    "new_scratch",
    "new_visits",
    "sweep",
]

_FIRST_WIDTH = 20.0
_FIRST_SCALE = 3e3  # More than sentence pairs need: too much is noticed, too little is a probability of 0.
_WIDER = 1.25
_WIDEST = 500.0  # All cells; a probability of 0 is then but too small a number.
_NARROWEST = 1.0  # A coarse chart that is to be narrower has no likely cells.
_MANY = 1_000  # Cells of a chart that it pays to narrow.
_FAR, _FARTHEST = 1e150, 1e250  # The probability of a sentence pair is not to be as far from 1.
_LEAST = 1e-290  # Of one that has cells which overflow where its own is nearer to 1.

MOST_CELLS = 1_000_000
"""Of the chart of a long sentence pair, if it is not a coarse one."""
LONG = 1891**2
"""Long is a sentence pair whose chart could have more cells than that of 60 words a side."""
MOST_WORK = 30_000_000
"""Ways to divide cells, some tenths of a second of them."""

_PLACE, _STAGE, _NUM_CELLS, _NEXT, _IS_NARROW, _TURNS, _WAY = range(7)
_TO_BEGIN, _LOOKING, _FILLING, _SHARING, _DONE = range(5)
_CELLS, _LONG, _WORK = range(3)


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
    is_coarse: np.ndarray
    """uint8 (S,): whether its chart is a coarse one (`chart`)."""


class Visit(NamedTuple):
    """How far the visit to a sentence pair is."""

    state: np.ndarray
    """int64 (7,): its place in the order; the stage of the visit; how many cells there are, which of them is
    next, and whether they were kept; how often its scale was too large after having been too small, or the
    other way round; which of both it was last, 1 or −1, or 0."""
    before: np.ndarray
    """float64 (1,): ln of the probability of the derivation that was taken away."""
    most: np.ndarray
    """int64 (3,): cells of the chart of a long sentence pair; cells that the chart of one that is not long
    could have; ways to divide cells that are looked at before a sweep comes back."""


class Scratch(NamedTuple):
    """What is made anew for every sentence pair."""

    chart: Chart
    old: Derivation
    new: Derivation
    visit: Visit


def new_visits(num_pairs: int) -> Visits:
    """Sentence pairs that have not been visited."""
    return Visits(
        np.full(num_pairs, -1, np.int32),
        np.tile([_FIRST_WIDTH, _FIRST_SCALE], (num_pairs, 1)),
        np.zeros((1 << 10, 4), np.uint8),
        np.zeros((num_pairs, 2), np.int64),
        np.zeros(1, np.int64),
        np.zeros(num_pairs, np.uint8),
    )


def new_scratch(
    num_source: int,
    num_target: int,
    most_tables: int,
    *,
    most_cells: int = MOST_CELLS,
    long: int = LONG,
    most_work: int = MOST_WORK,
) -> Scratch:
    """Room for sentence pairs of up to so many words, and of so many tables.

    Parameters
    ----------
    num_source, num_target, most_tables : int
    most_cells : int
        The chart of a long sentence pair that would have more is a coarse one, with fewer.
    long : int
        Long are sentence pairs whose charts could have more cells.
    most_work : int
        How many ways to divide cells a sweep looks at, in one sentence pair, before it comes back.
    """
    old, new = (new_derivation(num_source + num_target) for _ in range(2))
    visit = Visit(np.zeros(7, np.int64), np.zeros(1), np.array([most_cells, long, most_work]))
    return Scratch(new_chart(num_source, num_target, most_tables), old, new, visit)


@kernel
def sweep(rng, order, corpus, phrases, scratch, visits, narrows):
    """Resample the derivations of some sentence pairs, one after the other.

    It may come back amid one whose chart takes long; called again with the same, it goes on there.

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
    int, array, bool
        How many of the derivations were accepted; `visits.kept`, perhaps in another place; whether all
        sentence pairs have been visited.
    """
    chart, old, state = scratch.chart, scratch.old, scratch.visit.state
    num_accepted, kept = 0, visits.kept
    while state[_PLACE] < len(order):
        sentence = order[state[_PLACE]]
        pair = sentence_pair(corpus.lexicon, corpus.source, corpus.target, sentence)
        n, m = len(pair.source_alone), len(pair.target_alone)
        if state[_STAGE] == _TO_BEGIN:
            table = visits.table[sentence]
            make_room(phrases)
            scratch.visit.before[0] = unseat(old, phrases, table, n, m) if table >= 0 else 0.0
            _recall(chart, visits, kept, sentence, state)
        if not _derive(rng, pair, phrases, scratch, visits, sentence, narrows):
            return num_accepted, kept, False
        begin = end = visits.size[0]
        if state[_STAGE] == _SHARING:
            kept, end = keep_probable(chart, state[_NUM_CELLS], scratch.new, kept, begin)
        before = scratch.visit.before[0]
        if visits.table[sentence] < 0 or _accepts(rng, old, scratch.new, before, chart, phrases, pair):
            visits.table[sentence], _ = seat(scratch.new, phrases, pair)
            num_accepted += 1
            if end > begin:
                visits.span[sentence, 0], visits.span[sentence, 1], visits.size[0] = begin, end, end
        else:
            visits.table[sentence], _ = seat(old, phrases, pair)
        clear(chart, state[_NUM_CELLS], n, m)
        state[_PLACE] += 1
        state[_STAGE] = _TO_BEGIN
    state[_PLACE] = 0
    return num_accepted, kept, True


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


# ---- Charts, a bounded part of the work at a time -------------------------------------------------


@compiled
def _recall(chart, visits, kept, sentence, state):
    """Begin with the cells of a sentence pair that were kept, if any were."""
    begin, end = visits.span[sentence, 0], visits.span[sentence, 1]
    state[_IS_NARROW] = end > begin
    state[_STAGE], state[_NUM_CELLS], state[_NEXT] = _LOOKING, 0, 0
    state[_TURNS], state[_WAY] = 0, 0
    if end > begin:
        state[_STAGE], state[_NUM_CELLS] = _FILLING, recall(chart, kept, begin, end)


@compiled
def _derive(rng, pair, phrases, scratch, visits, sentence, narrows):
    """Go on with a chart until a derivation is drawn, and what is to be kept is known; whether that is so."""
    chart, state = scratch.chart, scratch.visit.state
    n, m = len(pair.source_alone), len(pair.target_alone)
    work = scratch.visit.most[_WORK]
    while state[_STAGE] < _SHARING:
        if work <= 0:
            return False
        if state[_STAGE] == _LOOKING:
            _look(chart, pair, visits, sentence, scratch.visit)
            work -= ((n + 1) * (m + 1)) ** 2
            continue
        num_cells, scale = state[_NUM_CELLS], visits.room[sentence, 1]
        state[_NEXT], work = fill(chart, state[_NEXT], num_cells, pair, phrases, scale, work)
        if state[_NEXT] == num_cells and _is_filled(chart, pair, visits, sentence, state):
            draw(rng, scratch.new, chart, pair, phrases, scale)
            is_to_be_narrow = narrows and num_cells > _MANY and visits.span[sentence, 1] == 0
            state[_STAGE], state[_NEXT] = _SHARING if is_to_be_narrow else _DONE, num_cells
    if state[_STAGE] == _SHARING:
        state[_NEXT] = share_out(chart, state[_NEXT], state[_NUM_CELLS], phrases, work)
        return state[_NEXT] == 0
    return True


@compiled
def _look(chart, pair, visits, sentence, visit):
    """Find the cells of a sentence pair; if they are too many, make its chart a coarse and narrower one."""
    n, m = len(pair.source_alone), len(pair.target_alone)
    room, state = visits.room[sentence], visit.state
    is_long = (n + 1) * (n + 2) // 2 * ((m + 1) * (m + 2) // 2) > visit.most[_LONG]
    num_cells = likely_cells(pair, chart, room[0], visits.is_coarse[sentence] > 0)
    if is_long and num_cells > visit.most[_CELLS] and room[0] > 0.0:
        visits.is_coarse[sentence] = 1
        room[0] = 0.5 * room[0] if room[0] > _NARROWEST else -1.0
    else:
        state[_STAGE], state[_NUM_CELLS], state[_NEXT] = _FILLING, num_cells, 0


@compiled
def _is_filled(chart, pair, visits, sentence, state):
    """Whether a filled chart has a derivation, and is well scaled; if not, what is done about it."""
    n, m = len(pair.source_alone), len(pair.target_alone)
    room, num_cells = visits.room[sentence], state[_NUM_CELLS]
    prob = chart.probs[cell_at(0, n, 0, m, n, m)]
    is_narrow = state[_IS_NARROW] > 0
    state[_NEXT] = 0
    if prob == 0.0 and (is_narrow or (room[0] < _WIDEST and not visits.is_coarse[sentence])):
        room[0] *= 1.0 if is_narrow else _WIDER
        clear(chart, num_cells, n, m)
        state[_IS_NARROW], state[_STAGE] = 0, _LOOKING
        return False
    # Cells may overflow wherever that of the whole pair is near 1: then a scale below is sought, and kept.
    way = -1 if prob < 1.0 else 1  # What is no number has met a cell that is too large.
    state[_TURNS] += way * state[_WAY] < 0
    state[_WAY] = way
    if state[_TURNS] > 1 and _LEAST < prob < _FAR:
        return True
    farthest = elementary.power(_FARTHEST, 1.0 / max(1, state[_TURNS]))
    known = min(max(prob, 1.0 / farthest), farthest) if prob >= 0.0 else farthest
    room[1] *= elementary.power(known, -1.0 / (n + m))  # It will be near 1 next time.
    if 1.0 / _FAR < prob < _FAR:
        return True
    clear(chart, num_cells, n, m)  # A cell may read itself, times 0: what is no number would stay.
    return False
