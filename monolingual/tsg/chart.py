"""Chart parsing with a flat grammar, compiled: all symbols over all spans, summed or maximised.

Spans are filled from short to long. A cell holds a list of (symbol, value); for every way to split a span
the right cell is spread over an array with a place for every symbol, and the rules of each left symbol look
there. Rules with one symbol below are applied until nothing changes, which sums chains of any length.

The fact a newcomer would get wrong: values are plain numbers, multiplied by a factor of every word's own, so
that those of long sentences do not vanish. The factors of a span are the same for all that is over it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.jit import kernel

__all__ = ["Chart", "alternatives", "fill_chart"]

_NEGLIGIBLE = 1e-14


class Chart(NamedTuple):
    """What is over each span. Cell (i, j) is number i (n + 1) + j; its items are start[c] … stop[c] − 1.

    Attributes
    ----------
    start, stop : int64, shape ((n + 1)²,)
    symbol : int32, shape (items,)
    value : float64, shape (items,)
    rule, split : int32, shape (items,)
        The best rule and where it divides the span, where values are maxima. Rules are numbered through:
        binary, unary, lexical, those of the sentence's own.
    """

    start: np.ndarray
    stop: np.ndarray
    symbol: np.ndarray
    value: np.ndarray
    rule: np.ndarray
    split: np.ndarray


@kernel
def fill_chart(
    binary,
    binary_weight,
    binary_start,
    unary,
    unary_weight,
    unary_start,
    words,
    extra,
    extra_weight,
    extra_start,
    num_lexical,
    use_max,
    beam,
):
    """The chart of a sentence, as the fields of a `Chart`.

    Parameters
    ----------
    words : int64 (n,)
        Read for its length alone.
    extra : int32 (E, 2), extra_weight : float64 (E,), extra_start : int64 (n + 1,)
        Symbols over single words: at position i, rows extra_start[i]:extra_start[i + 1] of (symbol, rule
        number) with their weights.
    use_max : bool
        Maxima instead of sums.
    beam : float
        Items below this share of the best one of their cell are left out; 0: none.
    """
    n = words.shape[0]
    num_symbols = binary_start.shape[0] - 1
    num_binary = binary.shape[0]
    value, right, delta = np.zeros(num_symbols), np.zeros(num_symbols), np.zeros(num_symbols)
    rule, split = np.zeros(num_symbols, np.int32), np.zeros(num_symbols, np.int32)
    listed = np.zeros(num_symbols, np.int32)
    queue, is_queued = np.zeros(num_symbols + 1, np.int32), np.zeros(num_symbols, np.bool_)
    start, stop = np.zeros((n + 1) * (n + 1), np.int64), np.zeros((n + 1) * (n + 1), np.int64)
    room = 1024
    item_symbol, item_value = np.zeros(room, np.int32), np.zeros(room)
    item_rule, item_split = np.zeros(room, np.int32), np.zeros(room, np.int32)
    size = 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            count = 0
            if width == 1:
                for e in range(extra_start[i], extra_start[i + 1]):
                    symbol, new = extra[e, 0], extra_weight[e]
                    if value[symbol] == 0.0:
                        listed[count] = symbol
                        count += 1
                    if use_max:
                        if new > value[symbol]:
                            value[symbol], rule[symbol], split[symbol] = new, extra[e, 1], i
                    else:
                        value[symbol] += new
            for k in range(i + 1, j):
                left_cell, right_cell = i * (n + 1) + k, k * (n + 1) + j
                if start[left_cell] == stop[left_cell] or start[right_cell] == stop[right_cell]:
                    continue
                for at in range(start[right_cell], stop[right_cell]):
                    right[item_symbol[at]] = item_value[at]
                for at in range(start[left_cell], stop[left_cell]):
                    left = item_symbol[at]
                    for r in range(binary_start[left], binary_start[left + 1]):
                        other = right[binary[r, 2]]
                        if other > 0.0:
                            symbol = binary[r, 0]
                            new = item_value[at] * other * binary_weight[r]
                            if value[symbol] == 0.0 and new > 0.0:
                                listed[count] = symbol
                                count += 1
                            if use_max:
                                if new > value[symbol]:
                                    value[symbol], rule[symbol], split[symbol] = new, r, k
                            else:
                                value[symbol] += new
                for at in range(start[right_cell], stop[right_cell]):
                    right[item_symbol[at]] = 0.0
            # Rules with one symbol below, in rounds of a queue.
            head, tail = 0, 0
            for at in range(count):
                queue[tail] = listed[at]
                tail += 1
                is_queued[listed[at]] = True
                delta[listed[at]] = value[listed[at]]
            while head != tail:
                child = queue[head]
                head = (head + 1) % (num_symbols + 1)
                is_queued[child] = False
                change = delta[child]
                delta[child] = 0.0
                for u in range(unary_start[child], unary_start[child + 1]):
                    symbol = unary[u, 0]
                    new = (value[child] if use_max else change) * unary_weight[u]
                    if value[symbol] == 0.0 and new > 0.0:
                        listed[count] = symbol
                        count += 1
                    if use_max:
                        if new <= value[symbol]:
                            continue
                        value[symbol], rule[symbol], split[symbol] = new, num_binary + u, i
                    else:
                        value[symbol] += new
                        delta[symbol] += new
                        if delta[symbol] <= _NEGLIGIBLE * value[symbol]:
                            continue
                    if not is_queued[symbol]:
                        is_queued[symbol] = True
                        queue[tail] = symbol
                        tail = (tail + 1) % (num_symbols + 1)
            best = 0.0
            for at in range(count):
                best = max(best, value[listed[at]])
            if size + count > room:
                room = 2 * (size + count)
                item_symbol, item_value = _longer(item_symbol, room), _longer(item_value, room)
                item_rule, item_split = _longer(item_rule, room), _longer(item_split, room)
            cell = i * (n + 1) + j
            start[cell] = size
            for at in range(count):
                symbol = listed[at]
                if value[symbol] >= beam * best:
                    item_symbol[size], item_value[size] = symbol, value[symbol]
                    item_rule[size], item_split[size] = rule[symbol], split[symbol]
                    size += 1
                value[symbol] = 0.0
                delta[symbol] = 0.0
            stop[cell] = size
    return start, stop, item_symbol[:size], item_value[:size], item_rule[:size], item_split[:size]


@kernel
def _longer(array, room):
    longer = np.zeros(room, array.dtype)
    longer[: array.shape[0]] = array
    return longer


@kernel
def alternatives(
    binary,
    binary_weight,
    unary,
    unary_weight,
    by_parent,
    by_parent_start,
    chart_start,
    chart_stop,
    chart_symbol,
    chart_value,
    n,
    parent,
    i,
    j,
):
    """All ways but lexical ones to expand a symbol over a span: (rules, splits, weights).

    The weights include the values of what is below; they sum to the symbol's, where values are sums.
    """
    num_symbols = by_parent_start.shape[0] - 1
    num_binary = binary.shape[0]
    left, right = np.zeros(num_symbols), np.zeros(num_symbols)
    rules = np.zeros(16, np.int64)
    splits, weights = np.zeros(16, np.int64), np.zeros(16)
    size = 0
    first, last = by_parent_start[parent], by_parent_start[parent + 1]
    for k in range(i, j):
        # k = i stands for rules with one symbol below.
        left_cell, right_cell = i * (n + 1) + k, k * (n + 1) + j
        if k == i:
            left_cell = right_cell
        for at in range(chart_start[left_cell], chart_stop[left_cell]):
            left[chart_symbol[at]] = chart_value[at]
        if k > i:
            for at in range(chart_start[right_cell], chart_stop[right_cell]):
                right[chart_symbol[at]] = chart_value[at]
        for at in range(first, last):
            r = by_parent[at]
            weight = 0.0
            if k > i and r < num_binary:
                weight = left[binary[r, 1]] * right[binary[r, 2]] * binary_weight[r]
            elif k == i and r >= num_binary:
                weight = left[unary[r - num_binary, 1]] * unary_weight[r - num_binary]
            if weight > 0.0:
                if size == rules.shape[0]:
                    rules, splits = _longer(rules, 2 * size), _longer(splits, 2 * size)
                    weights = _longer(weights, 2 * size)
                rules[size], splits[size], weights[size] = r, k, weight
                size += 1
        for at in range(chart_start[left_cell], chart_stop[left_cell]):
            left[chart_symbol[at]] = 0.0
        for at in range(chart_start[right_cell], chart_stop[right_cell]):
            right[chart_symbol[at]] = 0.0
    return rules[:size], splits[:size], weights[:size]
