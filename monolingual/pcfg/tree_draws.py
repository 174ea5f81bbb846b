"""Random trees of sentences, drawn from P(tree | sentence, weights) top down.

At symbol A over a span one uses one of A's own rules, with weight b(A), or goes on to B by a unary rule A →
B, with weight w · inside(B); then a binary rule and a split are drawn together (Johnson et al. 2007, section
3).

The fact a newcomer would get wrong: cycles of unary rules need no special treatment here. The weights at A
sum to inside(A), in which the closure has summed up all chains, however long the one that is drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart import Chart, fill_inside, new_chart
from monolingual.pcfg.chart_grammar import ChartGrammar, ChartWeights
from scfg_sampler.core import draws
from scfg_sampler.core.jit import by_reference, compiled, kernel

__all__ = ["Trees", "draw_tree", "draw_trees", "new_stack"]


class Trees(NamedTuple):
    """Trees as the rules of their nodes in preorder, one tree after the other.

    Attributes
    ----------
    start : int64, shape (T + 1,)
        The rules of tree t are rules[start[t]:start[t + 1]]; empty for a sentence without a tree.
    rules : int32
    """

    start: np.ndarray
    rules: np.ndarray


@compiled
def draw_tree(rng, chart, weights, room, words, first, length, rules, size, stack):
    """Draw a tree of the sentence in the chart; its rules in preorder after the first `size` of `rules`.

    Parameters
    ----------
    rng : numpy.random.Generator
    chart, weights, room
        As `fill_inside` has left them.
    words, first, length
        The sentence is words[first:first + length], and has a tree.
    rules : int32
        Room, replaced by a larger one when it is full.
    size : int
    stack : int32, shape (at least 2 · length + 2, 3)

    Returns
    -------
    (rules, size) : the array and how much of it is used
    """
    stride = length + 1
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, length
    depth = 1
    choices = np.empty(0)
    while depth > 0:
        depth -= 1
        symbol, i, k = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        row = i * stride + k
        # Down the chain of unary rules.
        while chart.unary_start[symbol] < chart.unary_start[symbol + 1]:
            begin, count = (
                chart.unary_start[symbol],
                chart.unary_start[symbol + 1] - chart.unary_start[symbol],
            )
            choices = _at_least(choices, count + 1)
            for c in range(count):
                choices[c] = weights.unary[begin + c] * room.inside[row, chart.unary_child[begin + c]]
            choices[count] = room.before[row, symbol]
            chosen = draws.categorical(rng, choices, count + 1)
            if chosen == count:
                break
            rules, size = _append(rules, size, chart.unary_rule[begin + chosen])
            symbol = chart.unary_child[begin + chosen]
        if k == i + 1:
            word = words[first + i]
            for at in range(chart.word_start[word], chart.word_start[word + 1]):
                if chart.word_symbol[at] == symbol and chart.word_rule[at] >= 0:
                    rules, size = _append(rules, size, chart.word_rule[at])
            continue
        begin = chart.parent_start[symbol]
        count = chart.parent_start[symbol + 1] - begin
        choices = _at_least(choices, count * (k - i - 1))
        top = room.log_scale[row]
        for c in range(count):
            binary = chart.parent_binary[begin + c]
            pair = chart.binary_pair[binary]
            left, right = chart.pair_left[pair], chart.pair_right[pair]
            for j in range(i + 1, k):
                value = room.inside[i * stride + j, left]
                if value > 0.0:
                    value *= room.inside[j * stride + k, right]
                if value > 0.0:
                    log_factor = room.log_scale[i * stride + j] + room.log_scale[j * stride + k] - top
                    value *= weights.binary[binary] * np.exp(log_factor)
                choices[c * (k - i - 1) + j - i - 1] = value
        chosen = draws.categorical(rng, choices, count * (k - i - 1))
        binary = chart.parent_binary[begin + chosen // (k - i - 1)]
        j = i + 1 + chosen % (k - i - 1)
        if chart.binary_rule[binary] >= 0:
            rules, size = _append(rules, size, chart.binary_rule[binary])
        pair = chart.binary_pair[binary]
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = chart.pair_right[pair], j, k
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = chart.pair_left[pair], i, j
        depth += 2
    return rules, size


@compiled
def _at_least(room, size):
    """An array of at least that size; the same one if it will do."""
    return room if len(room) >= size else np.empty(2 * size)


@compiled
def _append(rules, size, rule):
    """The rules with one more, moved to a larger array if need be, and how many they are."""
    if size == len(rules):
        larger = np.empty(2 * size + 16, dtype=np.int32)
        larger[:size] = rules
        rules = larger
    rules[size] = rule
    return rules, size + 1


def draw_trees(
    rng: np.random.Generator,
    chart: ChartGrammar,
    weights: ChartWeights,
    words: np.ndarray,
    start: np.ndarray,
    first: int,
    end: int,
) -> tuple[Trees, float]:
    """A tree for each of the sentences `first` … `end` − 1, drawn from P(tree | sentence, weights).

    The parameters are those of `expected_uses`.

    Returns
    -------
    Trees, and the log probability of all sentences, −∞ if one has no tree.
    """
    room = new_chart(chart, start, first, end)
    return _draw_trees(rng, chart, weights, room, new_stack(room), words, start, first, end)


def new_stack(room: Chart) -> np.ndarray:
    """The stack that drawing a tree needs, for the longest sentence there is room for."""
    return np.empty((2 * len(room.log_scale) + 2, 3), dtype=np.int64)


@kernel
def _draw_trees(rng, chart, weights, room, stack, words, start, first, end):
    chart, weights, room = by_reference(chart), by_reference(weights), by_reference(room)
    rules = np.empty(8 * (start[end] - start[first]) + 16, dtype=np.int32)
    tree_start = np.zeros(end - first + 1, dtype=np.int64)
    size, total = 0, 0.0
    for sentence in range(first, end):
        at, length = start[sentence], start[sentence + 1] - start[sentence]
        log_prob = fill_inside(chart, weights, room, words, at, at + length)
        total += log_prob
        if log_prob > -np.inf:
            rules, size = draw_tree(rng, chart, weights, room, words, at, length, rules, size, stack)
        tree_start[sentence - first + 1] = size
    return Trees(tree_start, rules[:size].copy()), total
