"""Inside values of a sentence, over a chart of spans.

Span (i, k) of a sentence has for each symbol A a value before unary rules, b(A), and one after them,

    inside(A) = Σ_B U*_AB b(B),      b(A) = Σ over rules A → X Y:  w · Σ_j inside_ij(X) · inside_jk(Y),

the inner sum, of a pair (X, Y), computed once for all rules that share it. Values of a span are divided by
their largest, whose logarithm is kept, so nothing underflows in long sentences.

The fact a newcomer would get wrong: this is the forest of `forest`, where it is an explicit hypergraph of the
core, but without its edges. Written out, 5,386 short sentences under 1,300 rules have 200 million of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart_grammar import ChartGrammar, ChartWeights
from scfg_sampler.core.jit import by_reference, compiled, inlined, kernel

__all__ = [
    "Chart",
    "fill_inside",
    "find_pair",
    "inside_probabilities",
    "new_chart",
    "sum_pairs",
]


class Chart(NamedTuple):
    """Room for one sentence of up to n words; span (i, k) is row i · (n + 1) + k. S symbols, P pairs.

    Attributes
    ----------
    before, inside, outside : float64, shape (rows, S)
        Before unary rules, after them, and the weight around; inside and before divided by exp(log_scale).
    log_scale : float64, shape (rows,)
        −∞ for spans that nothing spells.
    spelled, lefts, rights : int32, shape (rows, S)
        The symbols that spell a span; those of them that are first or second children of pairs.
    num_spelled, num_lefts, num_rights : int32, shape (rows,)
    pair_value, pair_outside : float64, shape (P,)
        Zero between uses.
    touched : int32, shape (P,)
    around : float64, shape (S,)
    """

    before: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    log_scale: np.ndarray
    spelled: np.ndarray
    lefts: np.ndarray
    rights: np.ndarray
    num_spelled: np.ndarray
    num_lefts: np.ndarray
    num_rights: np.ndarray
    pair_value: np.ndarray
    pair_outside: np.ndarray
    touched: np.ndarray
    around: np.ndarray


def new_chart(
    chart: ChartGrammar, start: np.ndarray, first: int, end: int, *, with_outside: bool = False
) -> Chart:
    """Room for the sentences `first` … `end` − 1 with the given offsets, one at a time.

    It is made outside of kernels, because these refer to it by `by_reference`.
    """
    max_length = int(np.diff(start[first : end + 1]).max(initial=0))
    size, pairs = len(chart.left_start) - 1, len(chart.pair_right)
    rows = (max_length + 1) * (max_length + 1)
    return Chart(
        np.zeros((rows, size)),
        np.zeros((rows, size)),
        np.zeros((rows if with_outside else 1, size)),
        np.zeros(rows),
        np.zeros((rows, size), dtype=np.int32),
        np.zeros((rows, size), dtype=np.int32),
        np.zeros((rows, size), dtype=np.int32),
        np.zeros(rows, dtype=np.int32),
        np.zeros(rows, dtype=np.int32),
        np.zeros(rows, dtype=np.int32),
        np.zeros(pairs),
        np.zeros(pairs),
        np.zeros(pairs, dtype=np.int32),
        np.zeros(size),
    )


@compiled
def fill_inside(
    chart: ChartGrammar, weights: ChartWeights, room: Chart, words: np.ndarray, first: int, end: int
) -> float:
    """Fill the chart of the sentence words[first:end]; the log of its probability, −∞ if it has no tree."""
    length = end - first
    stride = length + 1
    for width in range(1, length + 1):
        for i in range(length - width + 1):
            row = i * stride + i + width
            for at in range(room.num_spelled[row]):
                room.before[row, room.spelled[row, at]] = 0.0
                room.inside[row, room.spelled[row, at]] = 0.0
            room.num_spelled[row] = 0
            top = 0.0
            if width == 1:
                word = words[first + i]
                if word >= 0:
                    for at in range(chart.word_start[word], chart.word_start[word + 1]):
                        room.before[row, chart.word_symbol[at]] += weights.word[at]
                        _list_before(room, row, chart.word_symbol[at])
            else:
                top = _join_splits(chart, weights, room, row, i, i + width, stride)
            _close(chart, weights, room, row, top)
    row = length
    if length == 0 or room.inside[row, 0] <= 0.0:
        return -np.inf
    return np.log(room.inside[row, 0]) + room.log_scale[row]


@compiled
def _join_splits(chart, weights, room, row, i, k, stride):
    """before(A) of a span of several words, divided by the exponential of what is returned."""
    top = -np.inf
    for j in range(i + 1, k):
        top = max(top, room.log_scale[i * stride + j] + room.log_scale[j * stride + k])
    if top == -np.inf:
        return 0.0
    num_touched = sum_pairs(chart, room, i, k, stride, top)
    num_rules = 0
    for t in range(num_touched):
        pair = room.touched[t]
        value = room.pair_value[pair]
        room.pair_value[pair] = 0.0
        num_rules += chart.pair_start[pair + 1] - chart.pair_start[pair]
        for at in range(chart.pair_start[pair], chart.pair_start[pair + 1]):
            room.before[row, chart.binary_parent[at]] += weights.binary[at] * value
    # A branch in the loop above would cost more than this second look.
    if num_rules > room.before.shape[1]:
        for symbol in range(room.before.shape[1]):
            _list_before(room, row, symbol)
    else:
        for t in range(num_touched):
            pair = room.touched[t]
            for at in range(chart.pair_start[pair], chart.pair_start[pair + 1]):
                _list_before(room, row, chart.binary_parent[at])
    return top


@compiled
def sum_pairs(chart, room, i, k, stride, top):
    """Sum up `pair_value` of all pairs over a span, divided by e^top; how many are `touched`."""
    num_touched = 0
    for j in range(i + 1, k):
        left_row, right_row = i * stride + j, j * stride + k
        log_factor = room.log_scale[left_row] + room.log_scale[right_row] - top
        if not log_factor > -700.0:
            continue
        factor = np.exp(log_factor)
        num_rights = room.num_rights[right_row]
        for at in range(room.num_lefts[left_row]):
            left = room.lefts[left_row, at]
            value = factor * room.inside[left_row, left]
            begin, end = chart.left_start[left], chart.left_start[left + 1]
            if end - begin <= 4 * num_rights:
                for pair in range(begin, end):
                    right_value = room.inside[right_row, chart.pair_right[pair]]
                    if right_value > 0.0:
                        if room.pair_value[pair] == 0.0:
                            room.touched[num_touched] = pair
                            num_touched += 1
                        room.pair_value[pair] += max(value * right_value, 1e-300)
            else:
                for other in range(num_rights):
                    right = room.rights[right_row, other]
                    pair = find_pair(chart, begin, end, right)
                    if pair >= 0:
                        if room.pair_value[pair] == 0.0:
                            room.touched[num_touched] = pair
                            num_touched += 1
                        room.pair_value[pair] += max(value * room.inside[right_row, right], 1e-300)
    return num_touched


@inlined
def find_pair(chart, begin, end, right):
    """The pair with a right child among those of one left child; −1 if there is none."""
    last = end
    while begin < end:
        middle = (begin + end) // 2
        if chart.pair_right[middle] < right:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < last and chart.pair_right[begin] == right else -1


@compiled
def _close(chart, weights, room, row, top):
    """From before(A) to inside(A), scaled so that the largest inside(A) is 1, and the lists of a span."""
    num_before, num_spelled = room.num_spelled[row], 0
    for at in range(num_before):
        # The list of symbols before unary rules makes room for that of symbols after them.
        room.lefts[row, at] = room.spelled[row, at]
        room.inside[row, room.spelled[row, at]] = 0.0
    largest = 0.0
    for i in range(num_before):
        symbol = room.lefts[row, i]
        value = room.before[row, symbol]
        for at in range(chart.below_start[symbol], chart.below_start[symbol + 1]):
            parent = chart.below_parent[at]
            closed = value * weights.closure[chart.below_entry[at]]
            if closed > 0.0:
                if room.inside[row, parent] == 0.0:
                    room.spelled[row, num_spelled] = parent
                    num_spelled += 1
                room.inside[row, parent] += closed
                largest = max(largest, room.inside[row, parent])
    num_lefts, num_rights = 0, 0
    for at in range(num_spelled):
        symbol = room.spelled[row, at]
        room.inside[row, symbol] /= largest
        room.before[row, symbol] /= largest
        if chart.left_start[symbol] < chart.left_start[symbol + 1]:
            room.lefts[row, num_lefts] = symbol
            num_lefts += 1
        if chart.is_right[symbol]:
            room.rights[row, num_rights] = symbol
            num_rights += 1
    room.num_spelled[row], room.num_lefts[row], room.num_rights[row] = num_spelled, num_lefts, num_rights
    room.log_scale[row] = top + np.log(largest) if num_spelled > 0 else -np.inf


@inlined
def _list_before(room, row, symbol):
    """List a symbol that spells a span before unary rules, unless it is listed, which is marked by −1."""
    if room.before[row, symbol] > 0.0 and room.inside[row, symbol] == 0.0:
        room.inside[row, symbol] = -1.0
        room.spelled[row, room.num_spelled[row]] = symbol
        room.num_spelled[row] += 1


def inside_probabilities(
    chart: ChartGrammar, weights: ChartWeights, words: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """The log probability of every sentence: float64, shape (sentences,), −∞ for one without a tree."""
    return _inside(chart, weights, new_chart(chart, start, 0, len(start) - 1), words, start)


@kernel
def _inside(chart, weights, room, words, start):
    chart, weights, room = by_reference(chart), by_reference(weights), by_reference(room)
    log_probs = np.empty(len(start) - 1)
    for sentence in range(len(log_probs)):
        log_probs[sentence] = fill_inside(chart, weights, room, words, start[sentence], start[sentence + 1])
    return log_probs
