"""The forest of a sentence as an explicit hypergraph of the core, and its best tree.

A node is a symbol over a span, before or after unary rules. Edges join two nodes after unary rules to one
before, by a binary rule, or spell a word; and from a node before unary rules an edge leads to each symbol
above it in the closure. For sums that edge has the weight U*_AB, so that the core's inside values are those
of `chart`; for the best tree it has the weight of the best chain of unary rules from A to B, V_AB, the
closure in the semiring of the maximum.

The fact a newcomer would get wrong: a best chain exists however heavy the cycles are, as long as none weighs
more than 1, and it repeats nothing; so V is found where U* is infinite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart_grammar import ChartGrammar
from scfg_sampler.core.forests.derivations import best_derivation
from scfg_sampler.core.forests.hypergraph import Hypergraph

__all__ = ["Forest", "best_tree", "best_unary_chains", "build_forest", "edge_log_weights"]


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


def best_unary_chains(chart: ChartGrammar, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the best chain of unary rules for each entry of the closure, and its first rule.

    Parameters
    ----------
    chart : ChartGrammar
    weights : float64, shape (R,)
        At most 1 each.

    Returns
    -------
    float64 and int32, shape (C,), in the order of `closure_child`; the first step is an index into
    `unary_rule`, −1 for the empty chain.
    """
    size = len(chart.closure_start) - 1
    parents = np.repeat(np.arange(size), np.diff(chart.closure_start))
    entry = {
        pair: at for at, pair in enumerate(zip(parents.tolist(), chart.closure_child.tolist(), strict=True))
    }
    best = (parents == chart.closure_child).astype(float)
    first = np.full(len(best), -1, dtype=np.int32)
    links = [
        (int(a), int(chart.unary_child[k]), k, float(weights[chart.unary_rule[k]]))
        for a in range(size)
        for k in range(chart.unary_start[a], chart.unary_start[a + 1])
    ]
    changed = True
    while changed:
        changed = False
        for a, b, k, weight in links:
            for at in range(chart.closure_start[b], chart.closure_start[b + 1]):
                target = entry[a, int(chart.closure_child[at])]
                if weight * best[at] > best[target]:
                    best[target], first[target] = weight * best[at], k
                    changed = True
    return best, first


def best_tree(chart: ChartGrammar, weights: np.ndarray, words, chains=None) -> tuple[float, list[int]]:
    """The best tree of a sentence (Viterbi): its log weight and its rules in preorder; −∞ and [] without one.

    Parameters
    ----------
    chart : ChartGrammar
    weights : float64, shape (R,)
    words : sequence of int
    chains : optional
        What `best_unary_chains` returned, to parse many sentences.
    """
    forest = build_forest(chart, words)
    if forest is None:
        return -np.inf, []
    best, first = best_unary_chains(chart, weights) if chains is None else chains
    word = np.where(chart.word_rule >= 0, weights[chart.word_rule], 1.0)
    binary = np.where(chart.binary_rule >= 0, weights[chart.binary_rule], 1.0)
    log_weight, edges = best_derivation(forest.graph, edge_log_weights(forest, word, binary, best))
    rules: list[int] = []
    for edge in edges.tolist():
        entry = int(forest.entry[edge])
        if forest.kind[edge] == 2:
            rules.extend(_chain(chart, first, entry))
            continue
        rule = int((chart.word_rule if forest.kind[edge] == 0 else chart.binary_rule)[entry])
        if rule >= 0:
            rules.append(rule)
    return log_weight, rules


def _chain(chart: ChartGrammar, first: np.ndarray, entry: int) -> list[int]:
    """The unary rules of the best chain of an entry of the closure."""
    child = int(chart.closure_child[entry])
    rules = []
    while first[entry] >= 0:
        step = int(first[entry])
        rules.append(int(chart.unary_rule[step]))
        below = int(chart.unary_child[step])
        row = chart.closure_child[chart.closure_start[below] : chart.closure_start[below + 1]]
        entry = int(chart.closure_start[below] + np.searchsorted(row, child))
    return rules
