"""Dependency trees: the most probable, those of minimum Bayes risk, and random ones.

The most probable tree maximises over the derivations that `chart` sums over. The tree of minimum Bayes risk
has the largest expected number of right heads, the sum of the posterior probabilities of its arcs (its
root's included): the same maximisation, with these in the place of logarithms and nothing for stopping. A
random tree is drawn from the posterior, from the sentence downwards, in proportion to inside values.

The fact a newcomer would get wrong: the tree of minimum Bayes risk need not be probable; it may even have
probability 0.
"""

from __future__ import annotations

import math

import numpy as np

from monolingual.dmv.chart import (
    arc_marginal,
    fill_inside,
    fill_outside,
    load_weights,
    longest,
    new_chart,
    root_marginal,
)
from monolingual.dmv.layout import Corpus, Layout
from scfg_sampler.core import draws
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["best_trees", "count_trees", "draw_trees"]

LEFT, RIGHT = 0, 1


def best_trees(
    layout: Layout, corpus: Corpus, weights: np.ndarray, decoder: str
) -> tuple[np.ndarray, np.ndarray]:
    """The best tree of every sequence.

    Parameters
    ----------
    layout, corpus, weights
        As for `expected_counts`.
    decoder : str
        "viterbi" or "mbr".

    Returns
    -------
    (heads, scores) : int32, shape of the corpus's words; float64, shape (S,)
        Heads are positions in the sequence from 1, 0 for its root. Scores are log weights (viterbi) or
        expected numbers of right heads (mbr); −∞ for a sequence without a tree, whose heads are then those
        of attaching each word to the next.
    """
    heads = np.zeros(len(corpus.words), np.int32)
    scores = np.zeros(len(corpus.multiplicity))
    n = longest(corpus)
    room = np.zeros((3, 2, n, n)), np.zeros((3, 2, n, n), np.int32), np.zeros((2 * n + 2, 4), np.int32)
    _best_trees(
        new_chart(n),
        room,
        layout.child_valences,
        corpus,
        np.asarray(weights),
        decoder == "mbr",
        heads,
        scores,
    )
    return heads, scores


def draw_trees(rng: np.random.Generator, layout: Layout, corpus: Corpus, weights: np.ndarray) -> np.ndarray:
    """A random tree of every sequence, from its posterior: heads, as of `best_trees`.

    Every sequence must have a tree.
    """
    heads = np.zeros(len(corpus.words), np.int32)
    n = longest(corpus)
    room = np.zeros(n + 1), np.zeros((2 * n + 2, 4), np.int32)
    _draw_trees(rng, new_chart(n), room, layout.child_valences, corpus, np.asarray(weights), heads)
    return heads


def count_trees(layout: Layout, corpus: Corpus, heads: np.ndarray, size: int) -> np.ndarray:
    """The uses of all parameters in given trees, as often as their sequences occur: float64, shape (size,).

    Parameters
    ----------
    layout, corpus
    heads : int32
        As of `best_trees`; the trees are projective.
    size : int
        The number of parameters.
    """
    counts = np.zeros(size)
    _count_trees(layout.child_valences, corpus, heads, counts)
    return counts


@kernel
def _best_trees(chart, room, valences, corpus, weights, is_mbr, heads, scores):
    score, back, stack = room
    for s in range(len(scores)):
        begin = corpus.start[s]
        n = corpus.start[s + 1] - begin
        load_weights(chart, valences, corpus, s, weights)
        if is_mbr:
            scores[s] = fill_inside(chart, n)
            if scores[s] > -np.inf:
                fill_outside(chart, n)
                _risk_scores(chart, n)
        else:
            _logarithms(chart, n)
        if not is_mbr or scores[s] > -np.inf:
            scores[s] = _maximise(chart, score, back, n)
        if scores[s] > -np.inf:
            _follow(chart, score, back, stack, n, heads, begin)
        else:
            for m in range(n):
                heads[begin + m] = m + 2 if m + 1 < n else 0


@compiled
def _logarithms(chart, n):
    """Replace the weights of one sentence by their logarithms."""
    for h in range(n):
        chart.root[h] = math.log(chart.root[h]) if chart.root[h] > 0.0 else -np.inf
        for v in range(2):
            for d in range(2):
                weight = chart.stop[d, v, h]
                chart.stop[d, v, h] = math.log(weight) if weight > 0.0 else -np.inf
            for m in range(n):
                weight = chart.attach[v, h, m]
                chart.attach[v, h, m] = math.log(weight) if weight > 0.0 and h != m else -np.inf


@compiled
def _risk_scores(chart, n):
    """Replace the weights of one sentence by the posterior probabilities of its arcs."""
    for h in range(n):
        for m in range(n):
            if h != m:
                chart.attach[:, h, m] = arc_marginal(chart, h, m)
        chart.stop[:, :, h] = 0.0
    marginals = chart.outside[0, 0, 0]
    for r in range(n):
        marginals[r] = root_marginal(chart, n, r)
    chart.root[:n] = marginals[:n]


@compiled
def _maximise(chart, score, back, n):
    """Fill the best scores and where they come from; the best of the sentence. See `fill_inside`."""
    attach, opened, closed = score[0], score[1], score[2]
    for j in range(n):
        for d in range(2):
            opened[d, j, j] = 0.0
            closed[d, j, j] = chart.stop[d, 0, j]
        for i in range(j - 1, -1, -1):
            for d in range(2):
                h, m = (j, i) if d == LEFT else (i, j)
                best, at = -np.inf, i
                for k in range(i, j):
                    near = k == j - 1 if d == LEFT else k == i
                    if d == LEFT:
                        value = closed[RIGHT, i, k] + opened[LEFT, k + 1, j]
                    else:
                        value = opened[RIGHT, i, k] + closed[LEFT, k + 1, j]
                    value += chart.attach[0 if near else 1, h, m]
                    if value > best:
                        best, at = value, k
                attach[d, i, j], back[0, d, i, j] = best, at
            for d in range(2):
                best, at = -np.inf, i
                for k in range(i, j) if d == LEFT else range(i + 1, j + 1):
                    if d == LEFT:
                        value = closed[LEFT, i, k] + attach[LEFT, k, j]
                    else:
                        value = attach[RIGHT, i, k] + closed[RIGHT, k, j]
                    if value > best:
                        best, at = value, k
                opened[d, i, j], back[1, d, i, j] = best, at
                closed[d, i, j] = best + chart.stop[d, 1, j if d == LEFT else i]
    best = -np.inf
    for r in range(n):
        best = max(best, chart.root[r] + closed[LEFT, 0, r] + closed[RIGHT, r, n - 1])
    return best


@compiled
def _follow(chart, score, back, stack, n, heads, begin):
    """Write the heads of the best tree."""
    closed = score[2]
    root, best = 0, -np.inf
    for r in range(n):
        value = chart.root[r] + closed[LEFT, 0, r] + closed[RIGHT, r, n - 1]
        if value > best:
            root, best = r, value
    size = _push_root(stack, heads, begin, n, root)
    while size:
        size -= 1
        kind, d, i, j = stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3]
        if i == j:
            continue
        k = back[kind, d, i, j]
        if kind == 0:
            size = _push_attached(stack, size, heads, begin, d, i, j, k)
        else:
            size = _push_open(stack, size, d, i, j, k)


@compiled
def _push(stack, size, kind, d, i, j):
    """Put an item on the stack; its new size."""
    stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3] = kind, d, i, j
    return size + 1


@compiled
def _push_root(stack, heads, begin, n, root):
    """Write the root and put its two sides on an empty stack; its size."""
    heads[begin + root] = 0
    size = _push(stack, 0, 1, LEFT, 0, root)
    return _push(stack, size, 1, RIGHT, root, n - 1)


@compiled
def _push_attached(stack, size, heads, begin, d, i, j, k):
    """Write the arc of an item of kind 0 and push its parts."""
    if d == LEFT:
        heads[begin + i] = j + 1
    else:
        heads[begin + j] = i + 1
    size = _push(stack, size, 1, RIGHT, i, k)
    return _push(stack, size, 1, LEFT, k + 1, j)


@compiled
def _push_open(stack, size, d, i, j, k):
    """Push the parts of an open item: its outermost arc, and what is beyond or within."""
    if d == LEFT:
        size = _push(stack, size, 1, LEFT, i, k)
        return _push(stack, size, 0, LEFT, k, j)
    size = _push(stack, size, 0, RIGHT, i, k)
    return _push(stack, size, 1, RIGHT, k, j)


@kernel
def _draw_trees(rng, chart, room, valences, corpus, weights, heads):
    choices, stack = room
    attach, opened, closed = chart.inside[0], chart.inside[1], chart.inside[2]
    for s in range(len(corpus.multiplicity)):
        begin = corpus.start[s]
        n = corpus.start[s + 1] - begin
        load_weights(chart, valences, corpus, s, weights)
        fill_inside(chart, n)
        for r in range(n):
            choices[r] = chart.root[r] * closed[LEFT, 0, r] * closed[RIGHT, r, n - 1]
        root = draws.categorical(rng, choices, n)
        size = _push_root(stack, heads, begin, n, root)
        while size:
            size -= 1
            kind, d, i, j = stack[size, 0], stack[size, 1], stack[size, 2], stack[size, 3]
            if i == j:
                continue
            for k in range(i, j):
                if kind == 0 and d == LEFT:
                    value = closed[RIGHT, i, k] * opened[LEFT, k + 1, j]
                    choices[k - i] = value * chart.attach[0 if k == j - 1 else 1, j, i]
                elif kind == 0:
                    value = opened[RIGHT, i, k] * closed[LEFT, k + 1, j]
                    choices[k - i] = value * chart.attach[0 if k == i else 1, i, j]
                elif d == LEFT:
                    choices[k - i] = closed[LEFT, i, k] * attach[LEFT, k, j]
                else:
                    choices[k - i] = attach[RIGHT, i, k + 1] * closed[RIGHT, k + 1, j]
            k = i + draws.categorical(rng, choices, j - i)
            if kind == 0:
                size = _push_attached(stack, size, heads, begin, d, i, j, k)
            else:
                size = _push_open(stack, size, d, i, j, k + 1 if d == RIGHT else k)


@kernel
def _count_trees(valences, corpus, heads, counts):
    for s in range(len(corpus.multiplicity)):
        begin = corpus.start[s]
        n = corpus.start[s + 1] - begin
        times = corpus.multiplicity[s]
        for h in range(n):
            if heads[begin + h] == 0:
                counts[corpus.root_at[s] + corpus.words[begin + h]] += times
            for d in range(2):
                v = 0
                for m in range(h + 1, n) if d == RIGHT else range(h - 1, -1, -1):
                    if heads[begin + m] == h + 1:
                        counts[corpus.stop_at[begin + h, d, v] + 1] += times
                        row = corpus.child_at[begin + h, d, min(v, valences - 1)]
                        counts[row + corpus.words[begin + m]] += times
                        v = 1
                counts[corpus.stop_at[begin + h, d, v]] += times
