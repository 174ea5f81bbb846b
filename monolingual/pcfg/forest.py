"""The forest of a sentence as an explicit hypergraph of the core, for what needs all edges at once.

A node is a symbol over a span, before or after unary rules. Edges join two nodes after unary rules to one
before, by a binary rule, or spell a word; and from a node before unary rules an edge leads to each symbol
above it in the closure. For sums that edge has the weight U*_AB, so that the core's inside values are those
of `chart`; for the best tree, the weight V_AB of the best chain of unary rules from A to B.

The fact a newcomer would get wrong: this is nothing to find one best tree with. A forest has as many edges as
there are ways to split its spans, times rules; `viterbi` keeps one for each symbol of a span.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart_grammar import ChartGrammar
from scfg_sampler.core.forests.hypergraph import Hypergraph

__all__ = ["Forest", "build_forest", "edge_log_weights"]


class Forest(NamedTuple):
    """A sentence's forest.

    Attributes
    ----------
    graph : Hypergraph
        Its goal is the start symbol over the whole sentence.
    kind : int32, shape (E,)
        0: a word, 1: a binary rule, 2: a chain of unary rules.
    entry : int32, shape (E,)
        Which entry of `ChartGrammar.word_rule`, `binary_rule` or `closure_child` an edge is.
    """

    graph: Hypergraph
    kind: np.ndarray
    entry: np.ndarray


def build_forest(chart: ChartGrammar, words) -> Forest | None:
    """The forest of a sentence; None if it has no tree.

    Parameters
    ----------
    chart : ChartGrammar
    words : sequence of int
        Terminals; −1 is a word that the grammar does not have.
    """
    length = len(words)
    heads: list[int] = []
    tails: list[tuple[int, ...]] = []
    kinds: list[int] = []
    entries: list[int] = []
    size = 0
    after: dict[tuple[int, int], dict[int, int]] = {}
    rules_of_pair = {
        (int(chart.pair_left[p]), int(chart.pair_right[p])): range(*map(int, chart.pair_start[p : p + 2]))
        for p in range(len(chart.pair_left))
    }

    def add(node: int, kind: int, entry: int, *below: int) -> None:
        heads.append(node)
        kinds.append(kind)
        entries.append(entry)
        tails.append(below)

    def close(span: tuple[int, int], edges: dict[int, list]) -> None:
        nonlocal size
        before = {}
        for symbol, found in edges.items():
            before[symbol] = size
            for kind, entry, *below in found:
                add(size, kind, entry, *below)
            size += 1
        above: dict[int, list] = {}
        for symbol, node in before.items():
            for at in range(chart.below_start[symbol], chart.below_start[symbol + 1]):
                parent = int(chart.below_parent[at])
                above.setdefault(parent, []).append((int(chart.below_entry[at]), node))
        after[span] = {}
        for parent in sorted(above, key=lambda symbol: symbol == 0):  # The start symbol last: it is the goal.
            after[span][parent] = size
            for entry, node in above[parent]:
                add(size, 2, entry, node)
            size += 1

    for width in range(1, length + 1):
        for i in range(length - width + 1):
            k = i + width
            edges: dict[int, list] = {}
            if width == 1 and words[i] >= 0:
                for at in range(chart.word_start[words[i]], chart.word_start[words[i] + 1]):
                    edges.setdefault(int(chart.word_symbol[at]), []).append((0, at))
            for j in range(i + 1, k):
                for left, left_node in after[i, j].items():
                    for right, right_node in after[j, k].items():
                        for at in rules_of_pair.get((left, right), ()):
                            edges.setdefault(int(chart.binary_parent[at]), []).append(
                                (1, at, left_node, right_node)
                            )
            close((i, k), edges)
    if 0 not in after.get((0, length), ()):
        return None
    tail_start = np.cumsum([0, *map(len, tails)]).astype(np.int32)
    graph = Hypergraph(
        np.searchsorted(heads, np.arange(size + 1)).astype(np.int32),
        tail_start,
        np.array([tail for below in tails for tail in below], dtype=np.int32),
    )
    return Forest(graph, np.array(kinds, dtype=np.int32), np.array(entries, dtype=np.int32))


def edge_log_weights(forest: Forest, word: np.ndarray, binary: np.ndarray, closure: np.ndarray) -> np.ndarray:
    """The log weights of a forest's edges, float64 of shape (E,), from the weights of a chart's entries."""
    values = np.empty(len(forest.kind))
    for kind, weights in enumerate((word, binary, closure)):
        chosen = forest.kind == kind
        values[chosen] = weights[forest.entry[chosen]]
    with np.errstate(divide="ignore"):
        return np.log(values)
