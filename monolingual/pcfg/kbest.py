"""The K best trees of a sentence, and how many trees it has.

Each tree is one derivation of the forest of `forest.py`, if an edge of unary rules is taken apart into its
chains. So the K best chains between two symbols are found first, by a search that takes the heaviest
unfinished chain on by one rule; then the K best derivations of each node, from below, of which those of an
edge are a grid: the ranks of its parts. A node takes the best corner of all grids, and then looks at the
neighbours of what it took.

The fact a newcomer would get wrong: with a cycle of unary rules a sentence has infinitely many trees, and
the second best may be the best once more around the cycle.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence

import numpy as np

from monolingual.pcfg.chart_grammar import ChartGrammar
from monolingual.pcfg.forest import Forest, build_forest
from scfg_sampler.errors import SettingsError

__all__ = ["KBest", "count_trees"]

_Item = tuple[float, int, tuple[int, ...]]
"""A derivation: its log weight, its edge, and the ranks of the derivations of the parts."""


class KBest:
    """Finds the best trees of sentences under one grammar.

    Parameters
    ----------
    chart : ChartGrammar
    weights : float64, shape (R,)
        Of the grammar's rules, at most 1 each.
    k : int
        How many trees, at least 1.
    """

    def __init__(self, chart: ChartGrammar, weights: np.ndarray, k: int):
        if k < 1:
            raise SettingsError(f"--nbest is {k}; it must be at least 1")
        self._chart, self._k = chart, k
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(weights)
        self._chains: dict[int, dict[int, list[tuple[float, tuple[int, ...]]]]] = {}
        self._parents = np.repeat(np.arange(len(chart.closure_start) - 1), np.diff(chart.closure_start))

    def trees(self, words: Sequence[int]) -> list[tuple[float, list[int]]]:
        """Log weights and rules in preorder of the best trees of a sentence, the best first; at most K.

        Trees of weight 0 are none.
        """
        forest = build_forest(self._chart, words)
        if forest is None:
            return []
        found: list[list[_Item]] = []
        for node in range(len(forest.graph.edge_start) - 1):
            found.append(self._best(forest, node, found))
        goal = len(found) - 1
        return [(item[0], self._rules(forest, found, goal, rank)) for rank, item in enumerate(found[goal])]

    def _best(self, forest: Forest, node: int, found: list[list[_Item]]) -> list[_Item]:
        """The best derivations of a node, given those of the nodes below."""
        graph = forest.graph
        heap: list[tuple[float, int, tuple[int, ...]]] = []
        for edge in range(int(graph.edge_start[node]), int(graph.edge_start[node + 1])):
            self._push(heap, forest, found, edge, (0,) * self._degrees(forest, edge))
        kept: list[_Item] = []
        seen = set()
        while heap and len(kept) < self._k:
            loss, edge, ranks = heapq.heappop(heap)
            if (edge, ranks) in seen:
                continue
            seen.add((edge, ranks))
            kept.append((-loss, edge, ranks))
            for part in range(len(ranks)):
                further = (*ranks[:part], ranks[part] + 1, *ranks[part + 1 :])
                self._push(heap, forest, found, edge, further)
        return kept

    def _degrees(self, forest: Forest, edge: int) -> int:
        """How many ranks a derivation of an edge has: of its parts, and of its chain."""
        tails = int(forest.graph.tail_start[edge + 1] - forest.graph.tail_start[edge])
        return tails + (forest.kind[edge] == 2)

    def _push(
        self, heap, forest: Forest, found: list[list[_Item]], edge: int, ranks: tuple[int, ...]
    ) -> None:
        """Put a derivation of an edge on the heap, if there is one with these ranks."""
        graph, entry = forest.graph, int(forest.entry[edge])
        tails = graph.tails[graph.tail_start[edge] : graph.tail_start[edge + 1]].tolist()
        total = 0.0
        if forest.kind[edge] == 2:
            chains = self._chain_list(entry)
            if ranks[-1] >= len(chains):
                return
            total = chains[ranks[-1]][0]
        else:
            rule = int((self._chart.word_rule if forest.kind[edge] == 0 else self._chart.binary_rule)[entry])
            total = float(self._log_weights[rule]) if rule >= 0 else 0.0
        for tail, rank in zip(tails, ranks, strict=False):
            if rank >= len(found[tail]):
                return
            total += found[tail][rank][0]
        if total > -math.inf:
            heapq.heappush(heap, (-total, edge, ranks))

    def _rules(self, forest: Forest, found: list[list[_Item]], node: int, rank: int) -> list[int]:
        """The rules of a derivation in preorder."""
        rules: list[int] = []
        pending = [(node, rank)]
        while pending:
            node, rank = pending.pop()
            _, edge, ranks = found[node][rank]
            entry = int(forest.entry[edge])
            if forest.kind[edge] == 2:
                rules.extend(self._chain_list(entry)[ranks[-1]][1])
            else:
                kinds = self._chart.word_rule if forest.kind[edge] == 0 else self._chart.binary_rule
                if kinds[entry] >= 0:
                    rules.append(int(kinds[entry]))
            graph = forest.graph
            tails = graph.tails[graph.tail_start[edge] : graph.tail_start[edge + 1]].tolist()
            pending.extend(reversed(list(zip(tails, ranks, strict=False))))
        return rules

    def _chain_list(self, entry: int) -> list[tuple[float, tuple[int, ...]]]:
        """The best chains of an entry of the closure: log weight, and the rules from above."""
        top, child = int(self._parents[entry]), int(self._chart.closure_child[entry])
        if top not in self._chains:
            self._chains[top] = self._chains_from(top)
        return self._chains[top].get(child, [])

    def _chains_from(self, top: int) -> dict[int, list[tuple[float, tuple[int, ...]]]]:
        """The best chains of unary rules from a symbol to each symbol below it."""
        chart, found = self._chart, dict[int, list[tuple[float, tuple[int, ...]]]]()
        heap: list[tuple[float, tuple[int, ...], int]] = [(0.0, (), top)]
        while heap:
            loss, rules, symbol = heapq.heappop(heap)
            kept = found.setdefault(symbol, [])
            if len(kept) == self._k:  # Longer chains through here are no better than those of the kept ones.
                continue
            kept.append((-loss, rules))
            for step in range(int(chart.unary_start[symbol]), int(chart.unary_start[symbol + 1])):
                rule = int(chart.unary_rule[step])
                weight = float(self._log_weights[rule])
                if weight > -math.inf:
                    heapq.heappush(heap, (loss - weight, (*rules, rule), int(chart.unary_child[step])))
        return found


def count_trees(chart: ChartGrammar, words: Sequence[int]) -> int | None:
    """How many trees a sentence has, exactly; None if there are infinitely many."""
    forest = build_forest(chart, words)
    if forest is None:
        return 0
    graph = forest.graph
    chains = _chain_counts(chart)
    counts: list[int | None] = []
    for node in range(len(graph.edge_start) - 1):
        total: int | None = 0
        for edge in range(int(graph.edge_start[node]), int(graph.edge_start[node + 1])):
            ways = chains[int(forest.entry[edge])] if forest.kind[edge] == 2 else 1
            for tail in graph.tails[graph.tail_start[edge] : graph.tail_start[edge + 1]].tolist():
                ways = None if ways is None or counts[tail] is None else ways * counts[tail]
            total = None if total is None or ways is None else total + ways
        counts.append(total)
    return counts[-1]


def _chain_counts(chart: ChartGrammar) -> list[int | None]:
    """How many chains of unary rules each entry of the closure has; None for infinitely many."""
    in_cycle = np.zeros(len(chart.closure_start) - 1, dtype=bool)
    order: list[int] = []  # Lower components first.
    for component, cyclic in enumerate(chart.is_cyclic):
        members = chart.cycle_members[chart.cycle_start[component] : chart.cycle_start[component + 1]]
        in_cycle[members] = cyclic
        order += members.tolist()
    order += sorted(set(range(len(in_cycle))) - set(order))  # Symbols of binarisation, without unary rules.
    rows: dict[int, dict[int, int | None]] = {}
    for symbol in order:
        below = chart.closure_child[chart.closure_start[symbol] : chart.closure_start[symbol + 1]].tolist()
        if in_cycle[symbol]:
            rows[symbol] = dict.fromkeys(below)
            continue
        row: dict[int, int | None] = dict.fromkeys(below, 0)
        row[symbol] = 1
        for step in range(int(chart.unary_start[symbol]), int(chart.unary_start[symbol + 1])):
            for child, ways in rows[int(chart.unary_child[step])].items():
                known = row[child]
                row[child] = None if ways is None or known is None else known + ways
        rows[symbol] = row
    return list(
        itertools.chain.from_iterable(
            [
                rows[symbol][int(child)]
                for child in chart.closure_child[
                    chart.closure_start[symbol] : chart.closure_start[symbol + 1]
                ]
            ]
            for symbol in range(len(in_cycle))
        )
    )
