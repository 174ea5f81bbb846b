"""The hypergraph of a search as JSON: everything the search kept, for programs that look for more in it.

    {"sentence": 0, "source": ["das", "haus"], "goal": 7, "score": -3.1,
     "rules": [{"source": ["das", 1], "target": ["the", 1], "features": {"LogForward": -0.3, …}}, …],
     "nodes": [{"symbol": "X", "span": [0, 2], "score": -1.2,
                "states": [{"left": ["the"], "right": ["the", "house"], "closed": true}]}, …],
     "edges": [{"head": 2, "tails": [1], "rule": 0, "features": {"LanguageModel": -0.9}, "score": -1.2}, …]}

Nodes are numbered in the order they are listed, tails before heads, the goal last; edges are listed by head.
In the sides of a rule, words are strings and the numbers 1, 2, … stand for the first, second, … of the edge's
tails. The features of an edge are those of its rule and its own, the language models'; its score is their
product with the weights, and the score of a derivation the sum of the scores of its edges. The score of a
node is that of its best derivation. Features that are 0 are left out.

A state says what a language model has to know of the words below a node to score those around it: the first
of them that words to the left can still change the probability of, and the last of them that are context of
words to the right; `closed`, that no further word will join the first ones. It is the only thing, beside
symbol and span, in which two nodes differ.

Of forced derivations, `"target": [begin, end]` stands in place of the states: nodes differ in the stretch of
the translation that they yield. A sentence without derivation has no nodes, its goal and score are null.

The fact a newcomer would get wrong: a node of X scores its first words without their left context, and an
edge above it corrects that. So an edge may have a log probability above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from decoder.lm.model import state_words
from decoder.search.chart import COPY
from decoder.search.cube import FINISH
from decoder.translation.decoder import Decoder
from decoder.translation.derivations import label_of, rule_sides
from decoder.translation.results import SearchResult, summed

__all__ = ["hypergraph_record", "no_hypergraph"]


def no_hypergraph(sentence: int, words: Sequence[str]) -> dict[str, Any]:
    """The record of a sentence without nodes: an empty one, whose score is 0, or one without derivation."""
    score = None if words else 0.0
    lists: dict[str, Any] = {name: [] for name in ("rules", "nodes", "edges")}
    return {"sentence": sentence, "source": list(words), "goal": None, "score": score} | lists


def hypergraph_record(
    decoder: Decoder, result: SearchResult | None, sentence: int, stretches: np.ndarray | None = None
) -> dict[str, Any]:
    """The record of a search that kept its states; `result` is None for an empty sentence: no nodes.

    stretches : int32 (N, 2), of forced derivations: the part of the translation that each item yields
    """
    if result is None:
        return no_hypergraph(sentence, [])
    graph = decoder.export(result)
    forest = result.forest
    of_models = np.zeros(len(decoder.feature_names), np.bool_)
    of_models[len(decoder.grammar.feature_names) :][: len(decoder.lms)] = True
    values = decoder.edge_features(result, graph.edges)
    sparse = decoder.sparse_features(result, np.arange(len(values) + 1), graph.edges)
    heads = np.repeat(np.arange(len(graph.items)), np.diff(graph.graph.edge_start))
    rules: list[dict[str, Any]] = []
    numbers: dict[tuple[int, int], int] = {}
    edges = []
    for at, (edge, head) in enumerate(zip(graph.edges.tolist(), heads.tolist(), strict=True)):
        row = int(forest.rule[edge])
        begin = int(result.chart.begin[forest.cell[forest.head[edge]]])
        key = (row, begin if row == COPY else -1)
        if key not in numbers:
            numbers[key] = len(rules)
            _, source, target = rule_sides(decoder, result, row, begin)
            features = _named(decoder, np.where(of_models, 0.0, values[at]), decoder.named(sparse, at))
            rules.append({"source": source, "target": target, "features": features})
        first, last = graph.graph.tail_start[at], graph.graph.tail_start[at + 1]
        edges.append(
            {
                "head": head,
                "tails": graph.graph.tails[first:last].tolist(),
                "rule": numbers[key],
                "features": _named(decoder, np.where(of_models, values[at], 0.0)),
                "score": float(forest.weight[edge]),
            }
        )
    return {
        "sentence": sentence,
        "source": list(result.source),
        "goal": len(graph.items) - 1,
        "score": float(forest.score[-1]),
        "rules": rules,
        "nodes": [_node(decoder, result, item, stretches) for item in graph.items.tolist()],
        "edges": edges,
    }


def _named(
    decoder: Decoder, values: np.ndarray, sparse: tuple[tuple[str, float], ...] = ()
) -> dict[str, float]:
    """The features that are not 0."""
    dense = ((decoder.feature_names[i], float(values[i])) for i in np.flatnonzero(values).tolist())
    return {name: value for name, value in summed((*dense, *sparse)).items() if value}


def _node(decoder: Decoder, result: SearchResult, item: int, stretches: np.ndarray | None) -> dict[str, Any]:
    forest, chart = result.forest, result.chart
    cell = int(forest.cell[item])
    is_goal = forest.rule[forest.best_edge[item]] == FINISH
    symbol = "GOAL" if is_goal else label_of(decoder, chart, cell) if cell < chart.num_x_cells else "S"
    span = [int(chart.begin[cell]), int(chart.end[cell])]
    node = {"symbol": symbol, "span": span, "score": float(forest.score[item])}
    if stretches is not None:
        return node | {"target": stretches[item].tolist()}
    states = []
    for model, vocabulary in enumerate(decoder.lm_vocabularies):
        left, right, is_closed = state_words(forest.state[item, model], decoder.lms[model].order)
        words = vocabulary.words
        states.append(
            {"left": [words[i] for i in left], "right": [words[i] for i in right], "closed": is_closed}
        )
    return node | {"states": states}
