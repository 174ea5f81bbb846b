"""All ways to make a sentence pair of phrase pairs: cells, which of them are looked at, their probabilities.

A cell is a span of source words and one of target words, `[i, j, k, l]`: words i to j − 1 and k to l − 1. It
holds words of both sides, or a single word of one side. Its probability is that of a customer who is served
just these words, by what others have been served, the sentence pair itself left out:

    P(cell) = joined + opening × [ P(words) P₀(cell) + P(straight) Σ P(left) P(right) + P(inverted) Σ … ]

(Neubig et al. 2011, equations 3 to 5), summed over the places at which both spans are divided.

Only those cells are looked at in which word pairs are likely, as "tic-tac-toe pruning" has it (Zhang and
Gildea 2005): the words in a cell are made by words in it, and those outside by words outside, at the cost of
at most some nats in both directions of Model 1 together. A coarse chart has besides them cells enough for
some derivation, whatever is likely: a word of each side, and all words of both sides up to some place, in
order or in turn.

The fact a newcomer would get wrong: probabilities are scaled, by a factor for every word, so that those of
long sentences do not vanish. All derivations of a cell have the same words, so they are right relative to
each other, and nothing else is asked of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scfg_sampler.aligner.lexicon import Lexicon, Text
from scfg_sampler.aligner.phrases import (
    CUSTOMERS,
    DISCOUNT,
    INVERTED,
    STRAIGHT,
    STRENGTH,
    WORDS,
    opening_prob,
    slot_of,
    symbol_prob,
)
from scfg_sampler.core import elementary
from scfg_sampler.core.arrays.hash_table import mix
from scfg_sampler.core.jit import borrowing, compiled, inlined

__all__ = [
    "Chart",
    "SentencePair",
    "cell_at",
    "clear",
    "fill",
    "is_dense",
    "key_of",
    "likely_cells",
    "new_chart",
    "parts_at",
    "sentence_pair",
    "words_prob",
]

_LEAST_PROB = 1e-9  # Of a word given another; expectation–maximisation lets it vanish.
_LEAST_ALONE = 1e-5  # Model 1 may find "no word" impossible for a word, and aligners must not.
_LONGEST_PHRASE = 7  # Words of a pair that is made at once.
_MEAN_LENGTH = 0.01  # λ of the Poisson distribution of the words of such a pair, either side.
_ONE_SIDED = 0.01  # The probability that such a pair has a word of one side alone.
_DENSE = 0.02  # Of all cells: from so many on, looking at all parts is quicker than listing those there are.
_TWO_SIDED = (1.0 - _ONE_SIDED) * math.exp(-2.0 * _MEAN_LENGTH)


class SentencePair(NamedTuple):
    """A sentence pair of n source and m target words, as its chart reads it."""

    target_given_source: np.ndarray
    """float64 (n, m)."""
    source_given_target: np.ndarray
    """float64 (n, m)."""
    source_alone: np.ndarray
    """float64 (n,): P(source word | no word)."""
    target_alone: np.ndarray
    """float64 (m,)."""
    source_share: np.ndarray
    """float64 (n,)."""
    target_share: np.ndarray
    """float64 (m,)."""
    source_keys: np.ndarray
    """uint64 (n + 1, n + 1): fingerprints of spans."""
    target_keys: np.ndarray
    """uint64 (m + 1, m + 1)."""


class Chart(NamedTuple):
    """Room for the cells of one sentence pair at a time."""

    cells: np.ndarray
    """int32 (C, 4): those that are looked at, small ones first."""
    probs: np.ndarray
    """float64: of all cells, 0 where they are not looked at, see `cell_at` and `clear`."""
    outside: np.ndarray
    """float64: what all else of the sentence pair is made with, likewise; 0 between sentence pairs."""
    heads: np.ndarray
    """int32 (…, 2): by source span and target place, the last cell that begins there, and that ends there."""
    before: np.ndarray
    """int32 (C, 2): by cell, the one before it that begins there, and that ends there; −1 for none."""
    weights: np.ndarray
    """float64: of what a choice is made from."""
    outcomes: np.ndarray
    """int32 (…, 3): what each would be."""


def new_chart(num_source: int, num_target: int, most_tables: int) -> Chart:
    """A chart for sentence pairs of up to so many words, where up to so many tables have the same phrases."""
    num_spans = (num_source + 1) * (num_source + 2) // 2
    size = num_spans * ((num_target + 1) * (num_target + 2) // 2)
    choices = 2 * (num_source + 1) * (num_target + 1) + 1 + most_tables
    return Chart(
        np.zeros((size, 4), np.int32),
        np.zeros(size),
        np.zeros(size),
        np.zeros((num_spans * (num_target + 1), 2), np.int32),
        np.zeros((size, 2), np.int32),
        np.zeros(choices),
        np.zeros((choices, 3), np.int32),
    )


@compiled
def sentence_pair(lexicon: Lexicon, source: Text, target: Text, sentence: int) -> SentencePair:
    """What charts read of a sentence pair."""
    source_words = source.words[source.start[sentence] : source.start[sentence + 1]]
    target_words = target.words[target.start[sentence] : target.start[sentence + 1]]
    n, m = len(source_words), len(target_words)
    pair = SentencePair(
        np.empty((n, m)),
        np.empty((n, m)),
        np.empty(n),
        np.empty(m),
        np.empty(n),
        np.empty(m),
        _span_keys(source_words, np.uint64(1)),
        _span_keys(target_words, np.uint64(2)),
    )
    first = lexicon.start[sentence]
    for i in range(n):
        for j in range(m):
            number = lexicon.pair[first + i * m + j]
            pair.target_given_source[i, j] = max(lexicon.target_given_source[number], _LEAST_PROB)
            pair.source_given_target[i, j] = max(lexicon.source_given_target[number], _LEAST_PROB)
    for i in range(n):
        pair.source_alone[i] = max(lexicon.source_alone[source_words[i]], _LEAST_ALONE)
        pair.source_share[i] = lexicon.source_share[source_words[i]]
    for j in range(m):
        pair.target_alone[j] = max(lexicon.target_alone[target_words[j]], _LEAST_ALONE)
        pair.target_share[j] = lexicon.target_share[target_words[j]]
    return pair


@compiled
def _span_keys(words, seed):
    keys = np.empty((len(words) + 1, len(words) + 1), np.uint64)
    for begin in range(len(words) + 1):
        key = mix(seed, 0)
        keys[begin, begin] = key
        for end in range(begin, len(words)):
            key = mix(key, words[end])
            keys[begin, end + 1] = key
    return keys


@inlined
def key_of(pair, cell):
    """The fingerprint of the phrases of a cell, an int64 above 0."""
    source, target = pair.source_keys[cell[0], cell[1]], pair.target_keys[cell[2], cell[3]]
    return np.int64(mix(source, np.int64(target >> np.uint64(1))) >> np.uint64(1)) | 1


# ---- Cells ----------------------------------------------------------------------------------------


@inlined
def _span_at(begin, end, size):
    """The number of a span of a sentence of so many words."""
    return begin * (2 * size + 1 - begin) // 2 + end


@inlined
def cell_at(i, j, k, l, n, m):
    """Where the probability of a cell is."""
    return _span_at(i, j, n) * ((m + 1) * (m + 2) // 2) + _span_at(k, l, m)


@compiled
def likely_cells(pair, chart, widest, is_coarse):
    """Find the cells that cost at most `widest` nats, those with few words first; how many there are.

    If the chart is a coarse one, cells of some derivation are among them, however narrow it is.
    """
    n, m = len(pair.source_alone), len(pair.target_alone)
    by_source = _gains(pair.target_given_source, pair.target_alone)
    by_target = _gains(pair.source_given_target.T.copy(), pair.source_alone)
    size = 0
    for words in range(1, n + m + 1):
        for num_source in range(max(0, words - m), min(n, words) + 1):
            num_target = words - num_source
            is_word = words == 1
            if (num_source == 0 or num_target == 0) and not is_word:
                continue
            for i in range(n - num_source + 1):
                j = i + num_source
                at = by_source[_span_at(i, j, n)]
                for k in range(m - num_target + 1):
                    l = k + num_target
                    other = by_target[_span_at(k, l, m)]
                    gain = at[m + 1] + at[l] - at[k] + other[n + 1] + other[j] - other[i]
                    is_likely = is_word or gain >= -widest
                    if is_likely or (is_coarse and _is_plain(i, j, k, l, m)):
                        cell = chart.cells[size]
                        cell[0], cell[1], cell[2], cell[3] = i, j, k, l
                        size += 1
    return size


@inlined
def _is_plain(i, j, k, l, m):
    """Whether a cell has one word of each side, or the first source words and some end of the target."""
    return (j - i == 1 and l - k == 1) or (i == 0 and (k == 0 or l == m))


@compiled
def _gains(made_given, alone):
    """What a span of n given words says of each of m words being inside with them, as sums from the left.

    float64 (spans, m + 2), by `_span_at`: entry k is the sum over words before k of ln P(by words inside) −
    ln P(by words outside), the last one what it costs that all words are made outside.
    """
    n, m = made_given.shape
    gains = np.zeros(((n + 1) * (n + 2) // 2, m + 2))
    total = alone.copy()
    for i in range(n):
        for j in range(m):
            total[j] += made_given[i, j]
    inside = np.empty(m)
    for begin in range(n + 1):
        for j in range(m):
            inside[j] = 0.0
        for end in range(begin, n + 1):
            row = gains[_span_at(begin, end, n)]
            for j in range(m):
                if end > begin:
                    inside[j] += made_given[end - 1, j]
                outside = elementary.log(max(total[j] - inside[j], alone[j]))
                row[j + 1] = row[j] + elementary.log(inside[j] + alone[j]) - outside
                row[m + 1] += outside - elementary.log(total[j])
    return gains


# ---- Probabilities --------------------------------------------------------------------------------


@borrowing
def words_prob(pair, i, j, k, l, scale):
    """P₀ of a cell, scaled: its words made at once (Neubig et al. 2011, section 3.3).

    That is `_ONE_SIDED` × P(word) / 2 for a word of one side, and else the geometric mean of both directions,
    P(e) Model1(f | e) and P(f) Model1(e | f), without "no word" (so that every word has a partner), times
    Poisson probabilities of both lengths, which keep such pairs short.

    A word is scaled by `scale` over the root of its share of the text.
    """
    if j == i:
        return 0.5 * _ONE_SIDED * scale * np.sqrt(pair.target_share[k])
    if l == k:
        return 0.5 * _ONE_SIDED * scale * np.sqrt(pair.source_share[i])
    if j - i > _LONGEST_PHRASE or l - k > _LONGEST_PHRASE:
        return 0.0
    prob = 1.0
    for target in range(k, l):
        total = 0.0
        for source in range(i, j):
            total += pair.target_given_source[source, target]
        prob *= _word_factor(total, j - i, target - k + 1, scale)
    for source in range(i, j):
        total = 0.0
        for target in range(k, l):
            total += pair.source_given_target[source, target]
        prob *= _word_factor(total, l - k, source - i + 1, scale)
    return _TWO_SIDED * np.sqrt(prob)


@inlined
def _word_factor(total, num_given, place, scale):
    """The square of what a word of a pair adds to its probability."""
    poisson = scale * _MEAN_LENGTH / place
    return total / num_given * poisson * poisson


@inlined
def word_scale(pair, i, j, k, l, scale):
    """By what the words of a cell are scaled."""
    product = 1.0
    for source in range(i, j):
        product *= scale / np.sqrt(pair.source_share[source])
    for target in range(k, l):
        product *= scale / np.sqrt(pair.target_share[target])
    return product


@borrowing
def fill(chart, number, num_cells, pair, phrases, scale, work):
    """Make the probabilities of cells, from small ones to large ones; that of the sentence pair comes last.

    Parameters
    ----------
    chart : Chart
        All other cells are to be 0.
    number : int
        The first cell to be made; all before it have been.
    num_cells : int
    pair : SentencePair
    phrases : Phrases
    scale : float
    work : int
        How many ways to divide a cell may be looked at before this is to be stopped and gone on with.

    Returns
    -------
    int, int
        The next cell to be made, `num_cells` at the end; what is left of the work.
    """
    n, m = len(pair.source_alone), len(pair.target_alone)
    if number == 0:
        for at in range((n + 1) * (n + 2) // 2 * (m + 1)):
            chart.heads[at, 0], chart.heads[at, 1] = -1, -1
    opening = opening_prob(phrases)
    words, straight = opening * symbol_prob(phrases, WORDS), opening * symbol_prob(phrases, STRAIGHT)
    inverted = opening * symbol_prob(phrases, INVERTED)
    served = phrases.totals[CUSTOMERS] + phrases.parameters[STRENGTH]
    looks_at_all = is_dense(num_cells, n, m)
    while number < num_cells and work > 0:
        cell = chart.cells[number]
        i, j, k, l = cell[0], cell[1], cell[2], cell[3]
        work -= (j - i + 1) * (l - k + 1)
        prob = words * words_prob(pair, i, j, k, l, scale)
        slot = slot_of(phrases, key_of(pair, cell))
        if phrases.first[slot] >= 0:
            mass = phrases.served[slot, 0] - phrases.parameters[DISCOUNT] * phrases.served[slot, 1]
            prob += mass / served * word_scale(pair, i, j, k, l, scale)
        if j > i and l > k and looks_at_all:
            in_order, in_turn = _divided_anywhere(chart, cell, n, m)
            prob += straight * in_order + inverted * in_turn
        elif j > i and l > k:
            prob += straight * _divided(chart, cell, 0, n, m) + inverted * _divided(chart, cell, 1, n, m)
        chart.probs[cell_at(i, j, k, l, n, m)] = prob
        _list(chart, number, _span_at(i, j, n) * (m + 1) + k, 0)
        _list(chart, number, _span_at(i, j, n) * (m + 1) + l, 1)
        number += 1
    return number, work


@inlined
def is_dense(num_cells, n, m):
    """Whether so many cells are more than a few of all that the chart of n and m words could have."""
    return num_cells > _DENSE * ((n + 1) * (n + 2) // 2 * ((m + 1) * (m + 2) // 2))


@compiled
def clear(chart, num_cells, n, m):
    """Forget the probabilities of cells; by these and not all at once, as there are far more that are 0."""
    for number in range(num_cells):
        cell = chart.cells[number]
        chart.probs[cell_at(cell[0], cell[1], cell[2], cell[3], n, m)] = 0.0


@inlined
def parts_at(i, middle, k, l, is_inverted, n, m):
    """Where the list begins of cells that may be the first part of a cell, its source words up to a place."""
    return _span_at(i, middle, n) * (m + 1) + (l if is_inverted else k)


@inlined
def _list(chart, number, place, side):
    """Put a cell before all others that begin, or end, at a place."""
    chart.before[number, side] = chart.heads[place, side]
    chart.heads[place, side] = number


@borrowing
def _divided(chart, cell, is_inverted, n, m):
    """The sum of the products of two cells that make up a cell, in order or in turn.

    Of the cells with the first source words, those are gone through whose target words begin where the
    cell's do, or end there: of all that could be there, there are few.
    """
    i, j, k, l = cell[0], cell[1], cell[2], cell[3]
    probs, cells, total = chart.probs, chart.cells, 0.0
    for middle in range(i, j + 1):
        part = chart.heads[parts_at(i, middle, k, l, is_inverted, n, m), is_inverted]
        while part >= 0:
            begin, end = cells[part, 2], cells[part, 3]
            if is_inverted and begin >= k:
                other = cell_at(middle, j, k, begin, n, m)
                total += probs[cell_at(i, middle, begin, end, n, m)] * probs[other]
            elif not is_inverted and end <= l:
                other = cell_at(middle, j, end, l, n, m)
                total += probs[cell_at(i, middle, begin, end, n, m)] * probs[other]
            part = chart.before[part, is_inverted]
    return total


@borrowing
def _divided_anywhere(chart, cell, n, m):
    """What `_divided` returns for order and for turn, to the last digit, of a chart of which few cells are 0.

    The target is divided at one place after the other, in the order in which `_divided` meets the parts.
    """
    i, j, k, l = cell[0], cell[1], cell[2], cell[3]
    probs, in_order, in_turn = chart.probs, 0.0, 0.0
    num_spans = (m + 1) * (m + 2) // 2
    for middle in range(i, j + 1):
        # A cell is no part of itself: the other part would have no words, and has no probability.
        one, other = _span_at(i, middle, n) * num_spans, _span_at(middle, j, n) * num_spans
        for words in range(l - k + 1):
            cut = l - words
            in_order += probs[one + _span_at(k, cut, m)] * probs[other + _span_at(cut, l, m)]
            cut = k + words
            in_turn += probs[one + _span_at(cut, l, m)] * probs[other + _span_at(k, cut, m)]
    return in_order, in_turn
