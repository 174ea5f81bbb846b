"""Inside and outside for projective dependency trees with one root, in cubic time.

A head's left and right dependents are generated independently, so a constituent is split at its head (Eisner
and Satta 1999). With half-constituents over the words i … j, for the right side,

    attach(i → j)  = Σ_k open(i, k) · go(i, k) · child(j | i, k) · closed(k + 1 … j, headed by j)
    open(i, j)     = Σ_k attach(i → k) · closed(k, j)           1 for j = i
    closed(i, j)   = open(i, j) · stop(i, j)

where the decision is adjacent exactly if the span has one word: adjacency needs no state of its own. The left
side is its mirror image, and the sentence is Σ_r root(r) · closed(0 … r) · closed(r … n − 1).

The outside half is the derivative of the logarithm, taken by going back over the same loops: what an item
adds to the sentence times its value is its expected number of uses.

The fact a newcomer would get wrong: long sentences underflow. So what ends in word j is multiplied by a
factor of j, chosen when its column is full so that the words 0 … j have a total of 1. Each tree has each
word once: the factors cancel in all expectations, and are divided out of the total. Where the words 0 … j
are next to impossible beside all words, as with sharp weights, such a factor would overflow elsewhere: then
the column is left as it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.dmv.layout import Corpus, Layout
from scfg_sampler.core.jit import compiled, kernel

__all__ = [
    "Chart",
    "add_counts",
    "arc_marginal",
    "expected_counts",
    "fill_inside",
    "fill_outside",
    "load_weights",
    "log_totals",
    "longest",
    "new_chart",
    "root_marginal",
]


class Chart(NamedTuple):
    """Room for one sentence at a time of at most n words.

    Attributes
    ----------
    attach : float64, shape (2, n, n)
        By adjacency, head and dependent: the weight of going on and of the dependent.
    stop : float64, shape (2, 2, n)
        By direction, adjacency and head.
    root : float64, shape (n,)
    inside, outside : float64, shape (3, 2, n, n)
        By kind (ATTACH, OPEN, CLOSED), direction, first and last word. The head is the last word if the
        direction is left.
    by_adjacency : float64, shape (2, 2, n, n)
        The two parts of ATTACH, by adjacency (adjacent first), direction, first and last word. Each is kept,
        since the difference of two nearly equal numbers has no digits left.
    """

    attach: np.ndarray
    stop: np.ndarray
    root: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    by_adjacency: np.ndarray


ATTACH, OPEN, CLOSED = 0, 1, 2
LEFT, RIGHT = 0, 1


def new_chart(length: int) -> Chart:
    """Room for sentences of at most `length` words."""
    n = max(length, 1)
    return Chart(
        np.zeros((2, n, n)),
        np.zeros((2, 2, n)),
        np.zeros(n),
        np.zeros((3, 2, n, n)),
        np.zeros((3, 2, n, n)),
        np.zeros((2, 2, n, n)),
    )


def longest(corpus: Corpus) -> int:
    """The length of the longest sequence."""
    return int(np.diff(corpus.start).max(initial=0))


def expected_counts(
    layout: Layout, corpus: Corpus, weights: np.ndarray, *, multiply: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Expected uses of all parameters, and the log total weight of every sequence.

    Parameters
    ----------
    layout : Layout
    corpus : Corpus
    weights : float64, shape (R,)
        Not negative; they need not be probabilities. R is whatever the corpus's places reach.
    multiply : bool
        Count each sequence as often as it occurs.

    Returns
    -------
    (counts, log_totals) : float64, shapes (R,) and (S,)
        A sequence without a tree has the total −∞ and counts nothing.
    """
    counts = np.zeros(len(weights))
    totals = np.zeros(len(corpus.multiplicity))
    times = corpus.multiplicity if multiply else np.ones(len(totals))
    chart = new_chart(longest(corpus))
    _expected_counts(chart, layout.child_valences, corpus, times, np.asarray(weights), counts, totals)
    return counts, totals


def log_totals(layout: Layout, corpus: Corpus, weights: np.ndarray) -> np.ndarray:
    """The log total weight of the trees of every sequence: float64, shape (S,)."""
    totals = np.zeros(len(corpus.multiplicity))
    chart = new_chart(longest(corpus))
    _log_totals(chart, layout.child_valences, corpus, np.asarray(weights), totals)
    return totals


@kernel
def _expected_counts(chart, valences, corpus, times, weights, counts, totals):
    for s in range(len(totals)):
        begin, n = corpus.start[s], corpus.start[s + 1] - corpus.start[s]
        load_weights(chart, valences, corpus, s, weights)
        totals[s] = fill_inside(chart, n)
        if totals[s] > -np.inf:
            fill_outside(chart, n)
            add_counts(chart, valences, corpus, s, begin, n, times[s], counts)


@kernel
def _log_totals(chart, valences, corpus, weights, totals):
    for s in range(len(totals)):
        load_weights(chart, valences, corpus, s, weights)
        totals[s] = fill_inside(chart, corpus.start[s + 1] - corpus.start[s])


@compiled
def load_weights(chart, valences, corpus, s, weights):
    """Look up the weights of all arcs and stops of sequence s."""
    begin = corpus.start[s]
    n = corpus.start[s + 1] - begin
    for h in range(n):
        chart.root[h] = weights[corpus.root_at[s] + corpus.words[begin + h]]
        for d in range(2):
            for v in range(2):
                stop_at = corpus.stop_at[begin + h, d, v]
                chart.stop[d, v, h] = weights[stop_at]
                go = weights[stop_at + 1]
                row = corpus.child_at[begin + h, d, min(v, valences - 1)]
                for m in range(h + 1, n) if d == RIGHT else range(h):
                    chart.attach[v, h, m] = go * weights[row + corpus.words[begin + m]]


@compiled
def fill_inside(chart, n):
    """Fill `chart.inside` for n words; the log total weight of their trees."""
    log_total = _fill_inside(chart, n, 1e-50)
    return log_total if np.isfinite(log_total) else _fill_inside(chart, n, 0.0)


@compiled
def _fill_inside(chart, n, least):
    """The same with factors for columns whose total is above `least`; −∞ where they were too few."""
    attach_left, attach_right = chart.inside[ATTACH, LEFT], chart.inside[ATTACH, RIGHT]
    open_left, open_right = chart.inside[OPEN, LEFT], chart.inside[OPEN, RIGHT]
    closed_left, closed_right = chart.inside[CLOSED, LEFT], chart.inside[CLOSED, RIGHT]
    log_scale = 0.0
    for j in range(n):
        open_left[j, j] = open_right[j, j] = 1.0
        closed_left[j, j] = chart.stop[LEFT, 0, j]
        closed_right[j, j] = chart.stop[RIGHT, 0, j]
        for i in range(j - 1, -1, -1):
            near = closed_left[i + 1, j]
            far = 0.0
            for k in range(i + 1, j):
                far += open_right[i, k] * closed_left[k + 1, j]
            near *= chart.attach[0, i, j]
            far *= chart.attach[1, i, j]
            attach_right[i, j] = near + far
            chart.by_adjacency[0, RIGHT, i, j], chart.by_adjacency[1, RIGHT, i, j] = near, far
            near = closed_right[i, j - 1] * open_left[j, j]
            far = 0.0
            for k in range(i, j - 1):
                far += closed_right[i, k] * open_left[k + 1, j]
            near *= chart.attach[0, j, i]
            far *= chart.attach[1, j, i]
            attach_left[i, j] = near + far
            chart.by_adjacency[0, LEFT, i, j], chart.by_adjacency[1, LEFT, i, j] = near, far
            total = 0.0
            for k in range(i + 1, j + 1):
                total += attach_right[i, k] * closed_right[k, j]
            open_right[i, j] = total
            closed_right[i, j] = total * chart.stop[RIGHT, 1, i]
            total = 0.0
            for k in range(i, j):
                total += closed_left[i, k] * attach_left[k, j]
            open_left[i, j] = total
            closed_left[i, j] = total * chart.stop[LEFT, 1, j]
        total = closed_left[0, j] + (closed_right[0, j] if j else 0.0)
        if total > least:
            # The left half of word j carries the factor; its right half, alone, does not.
            scale = 1.0 / total
            log_scale -= math.log(scale)
            open_left[j, j] *= scale
            closed_left[j, j] *= scale
            for d in range(2):
                for i in range(j):
                    for kind in range(3):
                        chart.inside[kind, d, i, j] *= scale
                    for v in range(2):
                        chart.by_adjacency[v, d, i, j] *= scale
    total = 0.0
    for r in range(n):
        total += chart.root[r] * closed_left[0, r] * closed_right[r, n - 1]
    return math.log(total) + log_scale if total > least * least * least else -np.inf


@compiled
def fill_outside(chart, n):
    """Fill `chart.outside` with derivatives of the log total by the items of `chart.inside`."""
    attach_left, attach_right = chart.inside[ATTACH, LEFT], chart.inside[ATTACH, RIGHT]
    open_left, open_right = chart.inside[OPEN, LEFT], chart.inside[OPEN, RIGHT]
    closed_left, closed_right = chart.inside[CLOSED, LEFT], chart.inside[CLOSED, RIGHT]
    d_attach_left, d_attach_right = chart.outside[ATTACH, LEFT], chart.outside[ATTACH, RIGHT]
    d_open_left, d_open_right = chart.outside[OPEN, LEFT], chart.outside[OPEN, RIGHT]
    d_closed_left, d_closed_right = chart.outside[CLOSED, LEFT], chart.outside[CLOSED, RIGHT]
    chart.outside[:, :, :n, :n] = 0.0
    total = 0.0
    for r in range(n):
        total += chart.root[r] * closed_left[0, r] * closed_right[r, n - 1]
    for r in range(n):
        d_closed_left[0, r] += chart.root[r] * closed_right[r, n - 1] / total
        d_closed_right[r, n - 1] += chart.root[r] * closed_left[0, r] / total
    for j in range(n - 1, -1, -1):
        for i in range(j):
            d_open_left[i, j] += d_closed_left[i, j] * chart.stop[LEFT, 1, j]
            above = d_open_left[i, j]
            for k in range(i, j):
                d_closed_left[i, k] += above * attach_left[k, j]
                d_attach_left[k, j] += above * closed_left[i, k]
            d_open_right[i, j] += d_closed_right[i, j] * chart.stop[RIGHT, 1, i]
            above = d_open_right[i, j]
            for k in range(i + 1, j + 1):
                d_attach_right[i, k] += above * closed_right[k, j]
                d_closed_right[k, j] += above * attach_right[i, k]
            above = d_attach_left[i, j] * chart.attach[0, j, i]
            d_closed_right[i, j - 1] += above * open_left[j, j]
            above = d_attach_left[i, j] * chart.attach[1, j, i]
            for k in range(i, j - 1):
                d_closed_right[i, k] += above * open_left[k + 1, j]
                d_open_left[k + 1, j] += above * closed_right[i, k]
            d_closed_left[i + 1, j] += d_attach_right[i, j] * chart.attach[0, i, j]
            above = d_attach_right[i, j] * chart.attach[1, i, j]
            for k in range(i + 1, j):
                d_open_right[i, k] += above * closed_left[k + 1, j]
                d_closed_left[k + 1, j] += above * open_right[i, k]


@compiled
def root_marginal(chart, n, r):
    """The posterior probability that word r is the root, after inside."""
    closed = chart.inside[CLOSED]
    total = 0.0
    for h in range(n):
        total += chart.root[h] * closed[LEFT, 0, h] * closed[RIGHT, h, n - 1]
    return chart.root[r] * closed[LEFT, 0, r] * closed[RIGHT, r, n - 1] / total


@compiled
def arc_marginal(chart, h, m):
    """The posterior probability that word h is the head of word m, after inside and outside."""
    d, i, j = (RIGHT, h, m) if h < m else (LEFT, m, h)
    return chart.inside[ATTACH, d, i, j] * chart.outside[ATTACH, d, i, j]


@compiled
def add_counts(chart, valences, corpus, s, begin, n, times, counts):
    """Add the expected uses in sequence s, after inside and outside."""
    for h in range(n):
        counts[corpus.root_at[s] + corpus.words[begin + h]] += times * root_marginal(chart, n, h)
        for d in range(2):
            near, further, going = 0.0, 0.0, 0.0
            child_at = corpus.child_at[begin + h, d, 0]
            further_at = corpus.child_at[begin + h, d, valences - 1]
            for m in range(h + 1, n) if d == RIGHT else range(h):
                i, j = min(h, m), max(h, m)
                outside = chart.outside[ATTACH, d, i, j]
                first = outside * chart.by_adjacency[0, d, i, j]
                later = outside * chart.by_adjacency[1, d, i, j]
                near += first
                further += later
                tag = corpus.words[begin + m]
                counts[child_at + tag] += times * first
                counts[further_at + tag] += times * later
                going += chart.inside[CLOSED, d, i, j] * chart.outside[CLOSED, d, i, j]
            at = corpus.stop_at[begin + h, d, 0]
            counts[at] += times * chart.inside[CLOSED, d, h, h] * chart.outside[CLOSED, d, h, h]
            counts[at + 1] += times * near
            at = corpus.stop_at[begin + h, d, 1]
            counts[at] += times * going
            counts[at + 1] += times * further
