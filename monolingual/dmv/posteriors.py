"""How probable sentences, and arcs of their trees, are under a model.

The posterior probability of an arc is the share of the weight of all trees that those with the arc have: from
the inside and outside weights of `chart.py`. For each word those of all heads, the root's among them, sum
to 1. The probability of a sentence is the weight of all of its trees; of a model of weights that do not sum
to 1 (JDAGEEM's variational ones) it is a weight and no more.

The fact a newcomer would get wrong: the heads with the largest posteriors need not make a tree.
`--decoder mbr` finds the tree with the largest sum of them.
"""

from __future__ import annotations

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
from scfg_sampler.core.jit import kernel

__all__ = ["arc_posteriors"]


def arc_posteriors(
    layout: Layout, corpus: Corpus, weights: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The log probability of every sequence, and the posterior probabilities of its arcs.

    Parameters
    ----------
    layout : Layout
    corpus : Corpus
    weights : float64
        Not negative.

    Returns
    -------
    (float64 of shape (S,), list of float64 of shape (n, n + 1))
        Of word m (row) and its head h, counted from 1 (column), the root being 0. Zeros, and −∞, for a
        sequence without a tree.
    """
    lengths = np.diff(corpus.start)
    place = np.concatenate([[0], np.cumsum(lengths * (lengths + 1))]).astype(np.int64)
    flat, totals = np.zeros(place[-1]), np.zeros(len(lengths))
    chart = new_chart(longest(corpus))
    _arc_posteriors(chart, layout.child_valences, corpus, np.asarray(weights), place, flat, totals)
    return totals, [
        flat[begin:end].reshape(n, n + 1)
        for begin, end, n in zip(place[:-1], place[1:], lengths, strict=True)
    ]


@kernel
def _arc_posteriors(chart, valences, corpus, weights, place, flat, totals):
    for s in range(len(totals)):
        n = corpus.start[s + 1] - corpus.start[s]
        load_weights(chart, valences, corpus, s, weights)
        totals[s] = fill_inside(chart, n)
        if totals[s] == -np.inf:
            continue
        fill_outside(chart, n)
        for m in range(n):
            row = place[s] + m * (n + 1)
            flat[row] = root_marginal(chart, n, m)
            for h in range(n):
                if h != m:
                    flat[row + 1 + h] = arc_marginal(chart, h, m)
