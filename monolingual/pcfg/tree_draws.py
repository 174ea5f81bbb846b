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
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import by_reference, compiled, kernel

__all__ = ["Parsing", "Trees", "draw_tree", "draw_trees", "new_parsing"]


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


class Parsing(NamedTuple):
    """A grammar, and room to parse sentences with it; in kernels, references but for the stack.

    Attributes
    ----------
    chart : ChartGrammar
    weights : ChartWeights
    room : Chart
    stack : int64, shape (at least 2 · length + 2, 3)
        For drawing trees.
    """

    chart: ChartGrammar
    weights: ChartWeights
    room: Chart
    stack: np.ndarray


def new_parsing(
    chart: ChartGrammar, weights: ChartWeights, start: np.ndarray, first: int, end: int
) -> Parsing:
    """Room for each of the sentences `first` … `end` − 1, whose words begin at `start`."""
    room = new_chart(chart, start, first, end)
    stack = np.empty((2 * len(room.log_scale) + 2, 3), dtype=np.int64)
    return Parsing(chart, weights, room, stack)


@compiled
def draw_tree(rng, parsing, words, first, length, rules, size):
    """Draw a tree of the sentence in the chart; its rules in preorder after the first `size` of `rules`.

    Parameters
    ----------
    rng : numpy.random.Generator
    parsing : Parsing
        As `fill_inside` has left it.
    words, first, length
        The sentence is words[first:first + length], and has a tree.
    rules : int32
        Room, replaced by a larger one when it is full.
    size : int

    Returns
    -------
    (rules, size) : the array and how much of it is used
    """
    chart, weights, room, stack = parsing.chart, parsing.weights, parsing.room, parsing.stack
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
            choices = grown(choices, count + 1)
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
        choices = grown(choices, count * (k - i - 1))
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
def _append(rules, size, rule):
    """The rules with one more, and how many they are."""
    rules = grown(rules, size + 1)
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
    return _draw_trees(rng, new_parsing(chart, weights, start, first, end), words, start, first, end)


@kernel
def _draw_trees(rng, parsing, words, start, first, end):
    chart, weights, room = (
        by_reference(parsing.chart),
        by_reference(parsing.weights),
        by_reference(parsing.room),
    )
    references = by_reference(Parsing(chart, weights, room, parsing.stack))
    rules = np.empty(8 * (start[end] - start[first]) + 16, dtype=np.int32)
    tree_start = np.zeros(end - first + 1, dtype=np.int64)
    size, total = 0, 0.0
    for sentence in range(first, end):
        at, length = start[sentence], start[sentence + 1] - start[sentence]
        log_prob = fill_inside(chart, weights, room, words, at, at + length)
        total += log_prob
        if log_prob > -np.inf:
            rules, size = draw_tree(rng, references, words, at, length, rules, size)
        tree_start[sentence - first + 1] = size
    return Trees(tree_start, rules[:size].copy()), total
