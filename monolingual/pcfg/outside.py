"""Expected uses of rules in sentences: the outside half of inside and outside.

Going down the chart of `chart`, with before(B) = Σ_A outside(A) U*_AB the weight of all that surrounds a use
of B's rules, the expected uses over a span are

    w · before(A) · Σ_j inside_ij(X) inside_jk(Y)   of A → X Y,      w · before(A) · inside(B)   of A → B.

Outside values are multiplied by the scale of their span and divided by the sentence's probability, so that
inside · outside is the expected number of uses of a symbol over a span.

The fact a newcomer would get wrong: with cycles of unary rules a symbol may be used over a span more than
once, so these numbers are no probabilities and may exceed 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart import fill_inside, find_pair, new_chart, sum_pairs
from monolingual.pcfg.chart_grammar import ChartGrammar, ChartWeights
from scfg_sampler.core.jit import by_reference, compiled, kernel

__all__ = ["Strings", "expected_uses"]


class Strings(NamedTuple):
    """Sentences, and how often each occurs.

    Attributes
    ----------
    words : int32
        Words of all sentences; −1 for a word the grammar does not have.
    start : int64, shape (sentences + 1,)
    times : float64, shape (sentences,)
    """

    words: np.ndarray
    start: np.ndarray
    times: np.ndarray


def expected_uses(
    chart: ChartGrammar, weights: ChartWeights, strings: Strings, first: int, end: int, counts: np.ndarray
) -> float:
    """Add the expected uses of all rules in sentences `first` … `end` − 1, as often as each occurs.

    Parameters
    ----------
    chart, weights
        The weights need not be probabilities.
    strings : Strings
    first, end : int
    counts : float64, shape (R,)

    Returns
    -------
    float, the log probability of all of them. Sentences without a tree add −∞ and nothing else.
    """
    room = new_chart(chart, strings.start, first, end, with_outside=True)
    return _expected_uses(chart, weights, room, strings, first, end, counts)


@kernel
def _expected_uses(chart, weights, room, strings, first, end, counts):
    chart, weights, room = by_reference(chart), by_reference(weights), by_reference(room)
    total = 0.0
    for at in range(first, end):
        begin, length = strings.start[at], strings.start[at + 1] - strings.start[at]
        log_prob = fill_inside(chart, weights, room, strings.words, begin, begin + length)
        total += strings.times[at] * log_prob
        if log_prob > -np.inf:
            room.outside[length, 0] = strings.times[at]
            _add_uses(chart, weights, room, strings.words, begin, begin + length, counts)
    return total


@compiled
def _add_uses(chart, weights, room, words, first, end, counts):
    """Go down the chart of a sentence, from the root, around which there is how often it occurs."""
    length = end - first
    stride = length + 1
    times = room.outside[length, 0]
    for i in range(length):
        for k in range(i + 1, length + 1):
            row = i * stride + k
            for at in range(room.num_spelled[row]):
                room.outside[row, room.spelled[row, at]] = 0.0
    room.outside[length, 0] = times / room.inside[length, 0]
    for width in range(length, 0, -1):
        for i in range(length - width + 1):
            row = i * stride + i + width
            is_used = False
            for at in range(room.num_spelled[row]):
                is_used = is_used or room.outside[row, room.spelled[row, at]] > 0.0
            if not is_used:
                continue
            _go_below_unary(chart, weights, room, row, counts)
            if width == 1:
                scale = np.exp(-room.log_scale[row])
                word = words[first + i]
                for at in range(chart.word_start[word], chart.word_start[word + 1]):
                    if chart.word_rule[at] >= 0:
                        uses = weights.word[at] * room.around[chart.word_symbol[at]] * scale
                        counts[chart.word_rule[at]] += uses
            else:
                _go_below_splits(chart, weights, room, row, i, i + width, stride, counts)


@compiled
def _go_below_unary(chart, weights, room, row, counts):
    """The weight around the rules of each symbol over a span, and the uses of unary rules."""
    for at in range(room.num_spelled[row]):
        symbol = room.spelled[row, at]
        value = 0.0
        for k in range(chart.below_start[symbol], chart.below_start[symbol + 1]):
            value += room.outside[row, chart.below_parent[k]] * weights.closure[chart.below_entry[k]]
        room.around[symbol] = value
        if value > 0.0:
            for k in range(chart.unary_start[symbol], chart.unary_start[symbol + 1]):
                below = room.inside[row, chart.unary_child[k]]
                counts[chart.unary_rule[k]] += value * weights.unary[k] * below


@compiled
def _go_below_splits(chart, weights, room, row, i, k, stride, counts):
    """The uses of binary rules over a span, and what they add around the spans below it."""
    top = room.log_scale[row]
    num_touched = sum_pairs(chart, room, i, k, stride, top)
    for t in range(num_touched):
        pair = room.touched[t]
        around_pair = 0.0
        value = room.pair_value[pair]
        for at in range(chart.pair_start[pair], chart.pair_start[pair + 1]):
            # Symbols whose value has vanished have nothing of this span around them.
            parent = chart.binary_parent[at]
            if room.inside[row, parent] > 0.0:
                weight = weights.binary[at] * room.around[parent]
                around_pair += weight
                if chart.binary_rule[at] >= 0:
                    counts[chart.binary_rule[at]] += weight * value
        room.pair_outside[pair] = around_pair
    for j in range(i + 1, k):
        left_row, right_row = i * stride + j, j * stride + k
        log_factor = room.log_scale[left_row] + room.log_scale[right_row] - top
        if not log_factor > -700.0:
            continue
        factor = np.exp(log_factor)
        for at in range(room.num_lefts[left_row]):
            left = room.lefts[left_row, at]
            value = room.inside[left_row, left]
            begin, end = chart.left_start[left], chart.left_start[left + 1]
            around_left = 0.0
            if end - begin <= 4 * room.num_rights[right_row]:
                for pair in range(begin, end):
                    right = chart.pair_right[pair]
                    share = factor * room.pair_outside[pair]
                    around_left += share * room.inside[right_row, right]
                    room.outside[right_row, right] += share * value
            else:
                for other in range(room.num_rights[right_row]):
                    right = room.rights[right_row, other]
                    pair = find_pair(chart, begin, end, right)
                    if pair >= 0:
                        share = factor * room.pair_outside[pair]
                        around_left += share * room.inside[right_row, right]
                        room.outside[right_row, right] += share * value
            room.outside[left_row, left] += around_left
    for t in range(num_touched):
        room.pair_value[room.touched[t]] = 0.0
        room.pair_outside[room.touched[t]] = 0.0
