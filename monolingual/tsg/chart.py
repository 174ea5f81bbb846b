"""Chart parsing with a flat grammar, compiled: all symbols over all spans, summed or maximised.

Spans are filled from short to long. A cell holds a list of (symbol, value); for every way to split a span
the right cell is spread over an array with a place for every symbol, and the rules of each left symbol look
there. Rules with one symbol below are applied until nothing changes, which sums chains of any length.

The fact a newcomer would get wrong: values are plain numbers, multiplied by a factor of every word's own, so
that those of long sentences do not vanish. The factors of a span are the same for all that is over it. Values
that are infinite all the same ask for smaller factors (`parser.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import borrowing, by_reference, compiled, kernel

__all__ = ["Chart", "ChartLeaves", "ChartRules", "alternatives", "fill_chart"]

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


class ChartRules(NamedTuple):
    """The rules with symbols below, numbered through, and where to find them; as in `grammar.FlatGrammar`.

    Attributes
    ----------
    binary : int32, shape (B, 3)
    binary_weight : float64, shape (B,)
    binary_start : int64, shape (S + 1,)
        The rules with left symbol s are binary_start[s] … binary_start[s + 1] − 1.
    unary, unary_weight, unary_start
        The same for rules with one symbol below, of shape (U, 2), by that symbol.
    by_parent, by_parent_start
        The numbers of the rules of each parent.
    """

    binary: np.ndarray
    binary_weight: np.ndarray
    binary_start: np.ndarray
    unary: np.ndarray
    unary_weight: np.ndarray
    unary_start: np.ndarray
    by_parent: np.ndarray
    by_parent_start: np.ndarray


class ChartLeaves(NamedTuple):
    """The symbols right above the words.

    Attributes
    ----------
    symbol : int32, shape (E, 2)
        Symbol, and number of the rule.
    weight : float64, shape (E,)
    start : int64, shape (n + 1,)
        Those above word i are rows start[i] … start[i + 1] − 1.
    """

    symbol: np.ndarray
    weight: np.ndarray
    start: np.ndarray


class _Cell(NamedTuple):
    """The cell that is being filled: value, best rule and its split by symbol, and the symbols listed so far.

    Attributes
    ----------
    value : float64
        By symbol.
    rule, split : int32
        Of the best, by symbol.
    listed : int32
        The symbols that the cell has so far.
    right : float64
        Values of the right one of two cells; zeros between uses.
    delta : float64
        What has been added to a symbol's value since it was last passed on.
    queue, is_queued
        Symbols whose rules with one symbol below are to be applied: a ring.
    number : int64, shape (1,)
        How many symbols are listed.
    """

    value: np.ndarray
    rule: np.ndarray
    split: np.ndarray
    listed: np.ndarray
    right: np.ndarray
    delta: np.ndarray
    queue: np.ndarray
    is_queued: np.ndarray
    number: np.ndarray


@kernel
def fill_chart(rules: ChartRules, leaves: ChartLeaves, use_max: bool, beam: float) -> Chart:
    """The chart of a sentence.

    Parameters
    ----------
    rules : ChartRules
    leaves : ChartLeaves
    use_max : bool
        Maxima instead of sums.
    beam : float
        Items below this share of the best one of their cell are left out; 0: none.
    """
    n = leaves.start.shape[0] - 1
    cell = _new_cell(rules.binary_start.shape[0] - 1)
    start, stop = np.zeros((n + 1) * (n + 1), np.int64), np.zeros((n + 1) * (n + 1), np.int64)
    items = np.zeros(1024, np.int32), np.zeros(1024), np.zeros(1024, np.int32), np.zeros(1024, np.int32)
    chart = Chart(start, stop, *items)
    size = 0
    rules, leaves = by_reference(rules), by_reference(leaves)
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            cell_at, chart_at = by_reference(cell), by_reference(chart)
            cell.number[0] = 0
            if width == 1:
                _add_leaves(leaves, cell_at, i, use_max)
            for k in range(i + 1, j):
                _combine(rules, chart_at, cell_at, i * (n + 1) + k, k * (n + 1) + j, k, use_max)
            _close(rules, cell_at, i, use_max)
            chart = _larger_chart(chart, size + cell.number[0])
            start[i * (n + 1) + j] = size
            size = _list_items(by_reference(chart), cell_at, size, beam)
            stop[i * (n + 1) + j] = size
    listed = chart.symbol[:size], chart.value[:size], chart.rule[:size], chart.split[:size]
    return Chart(start, stop, *listed)


@compiled
def _new_cell(num_symbols):
    return _Cell(
        np.zeros(num_symbols),
        np.zeros(num_symbols, np.int32),
        np.zeros(num_symbols, np.int32),
        np.zeros(num_symbols, np.int32),
        np.zeros(num_symbols),
        np.zeros(num_symbols),
        np.zeros(num_symbols + 1, np.int32),
        np.zeros(num_symbols, np.bool_),
        np.zeros(1, np.int64),
    )


@borrowing
def _list_symbol(cell, symbol):
    cell.listed[cell.number[0]] = symbol
    cell.number[0] += 1


@borrowing
def _add_leaves(leaves, cell, i, use_max):
    """Enter the symbols right above word i."""
    value = cell.value
    for e in range(leaves.start[i], leaves.start[i + 1]):
        symbol, new = leaves.symbol[e, 0], leaves.weight[e]
        if value[symbol] == 0.0:
            _list_symbol(cell, symbol)
        if use_max:
            if new > value[symbol]:
                value[symbol], cell.rule[symbol], cell.split[symbol] = new, leaves.symbol[e, 1], i
        else:
            value[symbol] += new


@borrowing
def _combine(rules, chart, cell, left_cell, right_cell, k, use_max):
    """Enter what binary rules make of two cells that meet at k."""
    binary, binary_weight, binary_start = rules.binary, rules.binary_weight, rules.binary_start
    symbols, values, right, value = chart.symbol, chart.value, cell.right, cell.value
    left_start, left_stop = chart.start[left_cell], chart.stop[left_cell]
    right_start, right_stop = chart.start[right_cell], chart.stop[right_cell]
    if left_start == left_stop or right_start == right_stop:
        return
    for at in range(right_start, right_stop):
        right[symbols[at]] = values[at]
    for at in range(left_start, left_stop):
        left = symbols[at]
        for r in range(binary_start[left], binary_start[left + 1]):
            other = right[binary[r, 2]]
            if other > 0.0:
                symbol = binary[r, 0]
                new = values[at] * other * binary_weight[r]
                if value[symbol] == 0.0 and new > 0.0:
                    _list_symbol(cell, symbol)
                if use_max:
                    if new > value[symbol]:
                        value[symbol], cell.rule[symbol], cell.split[symbol] = new, r, k
                else:
                    value[symbol] += new
    for at in range(right_start, right_stop):
        right[symbols[at]] = 0.0


@borrowing
def _close(rules, cell, i, use_max):
    """Apply rules with one symbol below until nothing changes, in rounds of a queue."""
    value, delta, listed = cell.value, cell.delta, cell.listed
    queue, is_queued = cell.queue, cell.is_queued
    num_binary, room = rules.binary.shape[0], queue.shape[0]
    head, tail = 0, 0
    for at in range(cell.number[0]):
        queue[tail] = listed[at]
        tail += 1
        is_queued[listed[at]] = True
        delta[listed[at]] = value[listed[at]]
    while head != tail:
        child = queue[head]
        head = (head + 1) % room
        is_queued[child] = False
        change = delta[child]
        delta[child] = 0.0
        for u in range(rules.unary_start[child], rules.unary_start[child + 1]):
            symbol = rules.unary[u, 0]
            new = (value[child] if use_max else change) * rules.unary_weight[u]
            if value[symbol] == 0.0 and new > 0.0:
                _list_symbol(cell, symbol)
            if use_max:
                if new <= value[symbol]:
                    continue
                value[symbol], cell.rule[symbol], cell.split[symbol] = new, num_binary + u, i
            else:
                value[symbol] += new
                delta[symbol] += new
                if delta[symbol] <= _NEGLIGIBLE * value[symbol]:
                    continue
            if not is_queued[symbol]:
                is_queued[symbol] = True
                queue[tail] = symbol
                tail = (tail + 1) % room


@borrowing
def _list_items(chart, cell, size, beam):
    """Move the symbols that the beam keeps to the chart; the new number of its items."""
    best = 0.0
    for at in range(cell.number[0]):
        best = max(best, cell.value[cell.listed[at]])
    for at in range(cell.number[0]):
        symbol = cell.listed[at]
        # Values beyond all numbers are kept, so that whoever asks sees them: 0 · inf is no number.
        if not cell.value[symbol] < beam * best:
            chart.symbol[size], chart.value[size] = symbol, cell.value[symbol]
            chart.rule[size], chart.split[size] = cell.rule[symbol], cell.split[symbol]
            size += 1
        cell.value[symbol] = 0.0
        cell.delta[symbol] = 0.0
    return size


@compiled
def _larger_chart(chart, size):
    """With room for so many items."""
    return Chart(
        chart.start,
        chart.stop,
        grown(chart.symbol, size),
        grown(chart.value, size),
        grown(chart.rule, size),
        grown(chart.split, size),
    )


@kernel
def alternatives(
    rules: ChartRules, chart: Chart, n: int, parent: int, i: int, j: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All ways but lexical ones to expand a symbol over a span: (rules, splits, weights).

    The weights include the values of what is below; they sum to the symbol's, where values are sums.
    """
    num_symbols = rules.by_parent_start.shape[0] - 1
    num_binary = rules.binary.shape[0]
    left, right = np.zeros(num_symbols), np.zeros(num_symbols)
    numbers, splits, weights = np.zeros(16, np.int64), np.zeros(16, np.int64), np.zeros(16)
    size = 0
    chart_at = by_reference(chart)
    for k in range(i, j):
        # k = i stands for rules with one symbol below.
        left_cell, right_cell = i * (n + 1) + k, k * (n + 1) + j
        if k == i:
            left_cell = right_cell
        else:
            _spread(chart_at, right_cell, right, 1.0)
        _spread(chart_at, left_cell, left, 1.0)
        for at in range(rules.by_parent_start[parent], rules.by_parent_start[parent + 1]):
            r = rules.by_parent[at]
            weight = 0.0
            if k > i and r < num_binary:
                weight = left[rules.binary[r, 1]] * right[rules.binary[r, 2]] * rules.binary_weight[r]
            elif k == i and r >= num_binary:
                weight = left[rules.unary[r - num_binary, 1]] * rules.unary_weight[r - num_binary]
            if weight > 0.0:
                numbers, splits = grown(numbers, size + 1), grown(splits, size + 1)
                weights = grown(weights, size + 1)
                numbers[size], splits[size], weights[size] = r, k, weight
                size += 1
        _spread(chart_at, left_cell, left, 0.0)
        _spread(chart_at, right_cell, right, 0.0)
    return numbers[:size], splits[:size], weights[:size]


@borrowing
def _spread(chart, cell, values, factor):
    """Set the values of a cell's symbols, times a factor."""
    for at in range(chart.start[cell], chart.stop[cell]):
        values[chart.symbol[at]] = factor * chart.value[at]
