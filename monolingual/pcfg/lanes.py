"""Expected uses of rules in many sentences at once, for grammars most of whose symbols spell most spans.

The sums are those of `chart` and `outside`, made for 32 sentences of about equal length together: each value
of a chart is a row of numbers, one *lane* a sentence, and each use of a rule is looked up once for all of
them and multiplied by instructions that take several numbers. Shorter sentences of a group end where their
words do; their roots stand in other spans.

The fact a newcomer would get wrong: the lists of `chart` say of each sentence which symbols spell a span,
here a symbol counts as spelling it if it does so in one of 32. Where sentences spell little of the grammar,
as with the dependency grammars of `dependency_grammar`, that is many times too much, and the charts of single
sentences are faster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart_grammar import ChartGrammar, ChartWeights, num_symbols
from monolingual.pcfg.outside import Strings
from scfg_sampler.core.jit import by_reference, compiled, inlined, kernel, reordering

__all__ = ["LANES", "expected_uses_in_lanes", "suits_lanes"]

LANES = 32
"""Sentences at once: numbers enough for a loop over them to be worth setting up."""

_ROOM = 2**28
"""Bytes that the charts of a group may take."""


class _Room(NamedTuple):
    """Charts of a group of sentences of up to n words; span (i, k) is row i · (n + 1) + k.

    Attributes
    ----------
    inside, outside : float64, shape (rows, S, LANES)
        As in `chart.Chart`.
    log_scale : float64, shape (rows, LANES)
    is_spelled : bool, shape (rows, S)
        In any lane.
    factors : float64, shape (n, LANES)
        What the parts of each split of a span are to be multiplied by.
    pairs, pairs_outside : float64, shape (P, LANES)
    is_touched : bool, shape (P,)
    values : float64, shape (S, LANES)
        Of a span, before unary rules, or around them.
    parts : float64, shape (S, LANES)
        First parts of a split, times its factors.
    tops, largest : float64, shape (LANES,)
    """

    inside: np.ndarray
    outside: np.ndarray
    log_scale: np.ndarray
    is_spelled: np.ndarray
    factors: np.ndarray
    pairs: np.ndarray
    pairs_outside: np.ndarray
    is_touched: np.ndarray
    values: np.ndarray
    parts: np.ndarray
    tops: np.ndarray
    largest: np.ndarray


def suits_lanes(chart: ChartGrammar, strings: Strings) -> bool:
    """Whether lanes are faster than single sentences, and their charts fit into memory.

    They are four times as fast where rules have most pairs of symbols as children, about as fast with a tenth
    of the pairs, and three times slower with a twenty-fifth.
    """
    size = num_symbols(chart)
    longest = int(np.diff(strings.start).max(initial=0))
    if len(strings.times) < LANES or 16 * (longest + 1) ** 2 * size * LANES > _ROOM:
        return False
    return 4 * len(chart.pair_right) >= size**2


def expected_uses_in_lanes(
    chart: ChartGrammar, weights: ChartWeights, strings: Strings, first: int, end: int, counts: np.ndarray
) -> float:
    """`outside.expected_uses`, of many sentences at a time: the same but for the order of sums."""
    longest = int(np.diff(strings.start[first : end + 1]).max(initial=0))
    rows, size, pairs = (longest + 1) ** 2, num_symbols(chart), len(chart.pair_right)
    room = _Room(
        np.zeros((rows, size, LANES)),
        np.zeros((rows, size, LANES)),
        np.full((rows, LANES), -np.inf),
        np.zeros((rows, size), np.bool_),
        np.zeros((longest + 1, LANES)),
        np.zeros((pairs, LANES)),
        np.zeros((pairs, LANES)),
        np.zeros(pairs, np.bool_),
        np.zeros((size, LANES)),
        np.zeros((size, LANES)),
        np.zeros(LANES),
        np.zeros(LANES),
    )
    return _add_groups(chart, weights, room, strings, first, end, counts)


@kernel
def _add_groups(chart, weights, room, strings, first, end, counts):
    chart, weights, room = by_reference(chart), by_reference(weights), by_reference(room)
    total = 0.0
    for group in range(first, end, LANES):
        last = min(group + LANES, end)
        longest = 0
        for at in range(group, last):
            longest = max(longest, strings.start[at + 1] - strings.start[at])
        words = np.full((longest, LANES), -1, dtype=np.int32)
        for at in range(group, last):
            for i in range(strings.start[at + 1] - strings.start[at]):
                words[i, at - group] = strings.words[strings.start[at] + i]
        _fill_inside(chart, weights, room, words)
        room.outside[: (longest + 1) * (longest + 1)] = 0.0
        for at in range(group, last):
            # Span (0, length) is row `length`.
            lane, root = at - group, strings.start[at + 1] - strings.start[at]
            value = room.inside[root, 0, lane] if root > 0 else 0.0
            if value > 0.0:
                room.outside[root, 0, lane] = strings.times[at] / value
                total += strings.times[at] * (np.log(value) + room.log_scale[root, lane])
            else:
                total = -np.inf
        _add_uses(chart, weights, room, words, counts)
    return total


@compiled
def _fill_inside(chart, weights, room, words):
    """Inside values of all lanes, from short spans to long ones."""
    length = len(words)
    stride = length + 1
    for width in range(1, length + 1):
        for i in range(length - width + 1):
            row = i * stride + i + width
            room.values[:] = 0.0
            if width == 1:
                room.tops[:] = 0.0
                for lane in range(len(room.tops)):
                    word = words[i, lane]
                    if word >= 0:
                        for at in range(chart.word_start[word], chart.word_start[word + 1]):
                            room.values[chart.word_symbol[at], lane] += weights.word[at]
            else:
                _find_tops(room, i, i + width, stride)
                _sum_pairs(chart, room, i, i + width, stride)
                _apply_rules(chart, weights, room)
            _close(chart, weights, room, row)


@compiled
def _apply_rules(chart, weights, room):
    """The values of a span before unary rules, from those of pairs."""
    values, pairs = room.values, room.pairs
    for pair in range(len(chart.pair_right)):
        if room.is_touched[pair]:
            for at in range(chart.pair_start[pair], chart.pair_start[pair + 1]):
                _add_times(values, chart.binary_parent[at], weights.binary[at], pairs, pair)


@compiled
def _find_tops(room, i, k, stride):
    """The largest log scale of the splits of a span."""
    room.tops[:] = -np.inf
    for j in range(i + 1, k):
        for lane in range(len(room.tops)):
            scale = room.log_scale[i * stride + j, lane] + room.log_scale[j * stride + k, lane]
            room.tops[lane] = max(room.tops[lane], scale)


@compiled
def _sum_pairs(chart, room, i, k, stride):
    """The values of all pairs over a span, divided by e^`tops`, and the factors of its splits."""
    pairs, parts = room.pairs, room.parts
    room.is_touched[:] = False
    for j in range(i + 1, k):
        left_row, right_row = i * stride + j, j * stride + k
        inside_left, inside_right, factors = (
            room.inside[left_row],
            room.inside[right_row],
            room.factors[j - i],
        )
        for lane in range(len(factors)):
            scale = room.log_scale[left_row, lane] + room.log_scale[right_row, lane] - room.tops[lane]
            # Neither where no split has a value, and this is no number.
            factors[lane] = np.exp(scale) if -700.0 < scale < 700.0 else 0.0
        for left in range(len(chart.left_start) - 1):
            begin, end = chart.left_start[left], chart.left_start[left + 1]
            if begin == end or not room.is_spelled[left_row, left]:
                continue
            for lane in range(len(factors)):
                parts[left, lane] = factors[lane] * inside_left[left, lane]
            for pair in range(begin, end):
                right = chart.pair_right[pair]
                if room.is_spelled[right_row, right]:
                    if not room.is_touched[pair]:
                        room.is_touched[pair] = True
                        pairs[pair] = 0.0
                    _add_products(pairs, pair, parts, left, inside_right, right)


@inlined
def _add_products(sums, at, rows, row, others, other):
    """Add the products of two rows of numbers to a third."""
    for lane in range(rows.shape[1]):
        sums[at, lane] += rows[row, lane] * others[other, lane]


@inlined
def _add_times(sums, at, weight, rows, row):
    """Add a multiple of one row of numbers to another."""
    for lane in range(rows.shape[1]):
        sums[at, lane] += weight * rows[row, lane]


@reordering
def _product(rows, row, others, other):
    """The sum over lanes of products."""
    total = 0.0
    for lane in range(rows.shape[1]):
        total += rows[row, lane] * others[other, lane]
    return total


@compiled
def _close(chart, weights, room, row):
    """Inside values of a span from those before unary rules, in each lane divided by the largest."""
    size = len(chart.left_start) - 1
    inside = room.inside[row]
    inside[:] = 0.0
    room.is_spelled[row] = False
    for symbol in range(size):
        is_spelled = False
        for lane in range(len(room.tops)):
            is_spelled |= room.values[symbol, lane] > 0.0
        if is_spelled:
            for at in range(chart.below_start[symbol], chart.below_start[symbol + 1]):
                room.is_spelled[row, chart.below_parent[at]] = True
                weight = weights.closure[chart.below_entry[at]]
                _add_times(inside, chart.below_parent[at], weight, room.values, symbol)
    room.largest[:] = 0.0
    for symbol in range(size):
        if room.is_spelled[row, symbol]:
            for lane in range(len(room.tops)):
                room.largest[lane] = max(room.largest[lane], inside[symbol, lane])
    for lane in range(len(room.tops)):
        if room.largest[lane] > 0.0:
            room.log_scale[row, lane] = room.tops[lane] + np.log(room.largest[lane])
            room.largest[lane] = 1.0 / room.largest[lane]
        else:
            room.log_scale[row, lane] = -np.inf
    for symbol in range(size):
        if room.is_spelled[row, symbol]:
            for lane in range(len(room.tops)):
                inside[symbol, lane] *= room.largest[lane]


@compiled
def _add_uses(chart, weights, room, words, counts):
    """Go down the charts of a group, from its roots."""
    length = len(words)
    stride = length + 1
    for width in range(length, 0, -1):
        for i in range(length - width + 1):
            row = i * stride + i + width
            _go_below_unary(chart, weights, room, row, counts)
            if width > 1:
                _go_below_splits(chart, weights, room, i, i + width, stride, counts)
                continue
            for lane in range(len(room.tops)):
                word = words[i, lane]
                if word >= 0 and room.log_scale[row, lane] > -np.inf:
                    scale = np.exp(-room.log_scale[row, lane])
                    for at in range(chart.word_start[word], chart.word_start[word + 1]):
                        if chart.word_rule[at] >= 0:
                            uses = weights.word[at] * room.values[chart.word_symbol[at], lane] * scale
                            counts[chart.word_rule[at]] += uses


@compiled
def _go_below_unary(chart, weights, room, row, counts):
    """The weight around the rules of each symbol over a span, and the uses of unary rules."""
    inside, outside = room.inside[row], room.outside[row]
    size = len(chart.left_start) - 1
    room.values[:] = 0.0
    for symbol in range(size):
        if room.is_spelled[row, symbol]:
            for lane in range(len(room.tops)):
                # Where a symbol has no value what surrounds it may be as large as it likes.
                if not inside[symbol, lane] > 0.0:
                    outside[symbol, lane] = 0.0
    for symbol in range(size):
        for at in range(chart.below_start[symbol], chart.below_start[symbol + 1]):
            if room.is_spelled[row, chart.below_parent[at]]:
                weight = weights.closure[chart.below_entry[at]]
                _add_times(room.values, symbol, weight, outside, chart.below_parent[at])
        for at in range(chart.unary_start[symbol], chart.unary_start[symbol + 1]):
            child = chart.unary_child[at]
            if room.is_spelled[row, child]:
                counts[chart.unary_rule[at]] += weights.unary[at] * _product(
                    room.values, symbol, inside, child
                )


@compiled
def _go_below_splits(chart, weights, room, i, k, stride, counts):
    """The uses of binary rules over a span, and what they add around the spans below it."""
    room.tops[:] = room.log_scale[i * stride + k]
    _sum_pairs(chart, room, i, k, stride)
    pairs, parts, values, around = room.pairs, room.parts, room.values, room.pairs_outside
    for pair in range(len(chart.pair_right)):
        if room.is_touched[pair]:
            around[pair] = 0.0
            for at in range(chart.pair_start[pair], chart.pair_start[pair + 1]):
                parent, weight = chart.binary_parent[at], weights.binary[at]
                _add_times(around, pair, weight, values, parent)
                if chart.binary_rule[at] >= 0:
                    counts[chart.binary_rule[at]] += weight * _product(values, parent, pairs, pair)
    for j in range(i + 1, k):
        left_row, right_row = i * stride + j, j * stride + k
        factors = room.factors[j - i]
        outside_right, inside_right = room.outside[right_row], room.inside[right_row]
        outside_left, inside_left = room.outside[left_row], room.inside[left_row]
        for left in range(len(chart.left_start) - 1):
            if chart.left_start[left] == chart.left_start[left + 1] or not room.is_spelled[left_row, left]:
                continue
            for lane in range(len(factors)):
                parts[left, lane] = factors[lane] * inside_left[left, lane]
                values[left, lane] = 0.0
            for pair in range(chart.left_start[left], chart.left_start[left + 1]):
                right = chart.pair_right[pair]
                if room.is_spelled[right_row, right]:
                    _add_products(outside_right, right, around, pair, parts, left)
                    _add_products(values, left, around, pair, inside_right, right)
            for lane in range(len(factors)):
                outside_left[left, lane] += factors[lane] * values[left, lane]
