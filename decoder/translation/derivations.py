"""Derivations for people: a record that JSON can hold, and drawings of it.

A record lists the nodes of the tree in preorder, so its depth does not grow with the sentence; children are
indices into the list. In the sides of a rule, words are strings and nonterminals the numbers 1, 2, … in
source order, so that no word can be taken for a nonterminal:

    {"sentence": 0, "source": ["das", "haus"], "translation": "the house", "score": -3.1,
     "features": {"LogForward": -0.7, …},
     "nodes": [{"symbol": "X", "span": [0, 2], "source": ["das", 1], "target": ["the", 1], "score": -1.2,
                "posterior": 0.8, "features": {"LogForward": -0.3, …}, "children": [1]}, …]}

Where labels are soft, a node whose two sides are `[1]` makes its symbol of another label.

`score` of a node is what its rule adds to that of the derivation, its share of the language model's included;
`posterior` is the probability that the rule is used there, over all derivations the search kept, each as
probable as exp(score); features that are 0 are left out of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from decoder.search.chart import COPY, GLUE, KEEP, RELABEL, START, Chart
from decoder.search.cube import FINISH
from decoder.translation.decoder import Decoder
from decoder.translation.results import SearchResult, Translation, copied_to, summed
from scfg_sampler.core.chains.run_directory import require_numbers
from scfg_sampler.core.json_text import WRONG_RECORD
from scfg_sampler.core.svg import circled
from scfg_sampler.errors import InputError
from scfg_sampler.rules.table import rule

__all__ = ["check_record", "derivation_record", "draw_text", "label_of", "rule_sides", "spell"]


def derivation_record(
    decoder: Decoder, result: SearchResult | None, translation: Translation, sentence: int
) -> dict[str, Any]:
    """The record of a translation; `result` is None for an empty sentence."""
    record: dict[str, Any] = {
        "sentence": sentence,
        "source": [] if result is None else list(result.source),
        "translation": translation.text,
        "score": translation.score,
        "features": summed(
            (
                *zip(decoder.feature_names, translation.features.tolist(), strict=True),
                *translation.sparse,
            )
        ),
        "nodes": [],
    }
    if result is None:
        return record
    forest, chart = result.forest, result.chart
    features = decoder.edge_features(result, translation.edges)
    sparse = decoder.sparse_features(result, np.arange(len(features) + 1), translation.edges)
    uses = decoder.posterior(result).uses
    nodes: list[dict[str, Any]] = record["nodes"]
    waiting: list[int] = []  # Nodes that a child of theirs comes next for, the nearest last.
    for at, (edge, values) in enumerate(zip(translation.edges.tolist(), features, strict=True)):
        if forest.rule[edge] == KEEP:
            continue  # The node that fills the gap says all that there is to say.
        cell = int(forest.cell[forest.head[edge]])
        span = [int(chart.begin[cell]), int(chart.end[cell])]
        symbol, source, target = rule_sides(decoder, result, int(forest.rule[edge]), span[0])
        if cell < chart.num_x_cells:
            symbol = label_of(decoder, chart, cell)
        named = (*zip(decoder.feature_names, values.tolist(), strict=True), *decoder.named(sparse, at))
        if waiting:
            nodes[waiting.pop()]["children"].append(len(nodes))
        waiting.extend([len(nodes)] * int(np.sum(forest.tails[edge] >= 0)))
        nodes.append(
            {
                "symbol": symbol,
                "span": span,
                "source": source,
                "target": target,
                "score": float(forest.weight[edge]),
                "posterior": float(uses[edge]),
                "features": {name: value for name, value in summed(named).items() if value},
                "children": [],
            }
        )
    return record


def label_of(decoder: Decoder, chart: Chart, cell: int) -> str:
    """The label of a cell that is none of S."""
    labels = decoder.grammar.labels
    return "X" if labels is None else labels.names[chart.label[cell]]


def rule_sides(decoder: Decoder, result: SearchResult, row: int, begin: int) -> tuple[str, list, list]:
    """The left-hand side and the two right-hand sides of a rule of the grammar or of the decoder's own.

    row, begin : what `Forest.rule` says, and where the span of the rule begins
    """
    if row == FINISH:
        return "GOAL", [1], [1]
    if row == START:
        return "S", [1], [1]
    if row in (KEEP, RELABEL):
        return "X", [1], [1]
    if row == GLUE:
        return "S", [1, 2], [1, 2]
    if row == COPY:
        return "X", [result.source[begin]], copied_to(result.copies[begin])
    grammar = decoder.grammar
    table = int(np.searchsorted(grammar.table_start, row, side="right")) - 1
    found = rule(grammar.sources[table].table, row - int(grammar.table_start[table]))
    sides = [[s if isinstance(s, str) else -s for s in side] for side in (found.source, found.target)]
    return found.labels[0] if found.labels else "X", sides[0], sides[1]


def check_record(record: Any, path: object, line: int) -> Mapping[str, Any]:
    """The record itself, if it is one.

    Raises
    ------
    InputError
        Names the file and the line.
    """
    try:
        nodes = record["nodes"]
        record["sentence"], record["translation"], record["score"] + 0.0, "".join(record["source"])
        below: set[int] = set()
        for at, node in enumerate(nodes):
            node["symbol"], node["score"] + 0.0, [*node["source"], *node["target"]]
            require_numbers(node.get("posterior", 1.0), *node.get("features", {}).values())
            begin, end = node["span"]
            if not 0 <= begin < end <= len(record["source"]):
                raise IndexError
            for child in node["children"]:
                # A node that were part of several would be drawn with each, and all below it again.
                if not (isinstance(child, int) and at < child < len(nodes)) or child in below:
                    raise IndexError
                below.add(child)
    except WRONG_RECORD:
        raise InputError(
            path, line, "not a derivation", "Derivations are what translate --derivations writes"
        ) from None
    return record


def draw_text(record: Mapping[str, Any], *, scores: bool = True) -> str:
    """The derivation as an indented tree, a line per rule: span, rule, score."""
    nodes = record["nodes"]
    lines = [f"sentence {record['sentence']}: {record['translation']}", f"score {record['score']:.4f}"]
    stack = [(0, "", True)] if nodes else []
    while stack:
        at, indent, is_last = stack.pop()
        node = nodes[at]
        is_root = at == 0
        branch = "" if is_root else "└─ " if is_last else "├─ "
        span = f"{node['span'][0]}–{node['span'][1]}"
        text = f"{node['symbol']} [{span}] {spell(node['source'])} → {spell(node['target'])}"
        lines.append(f"{indent}{branch}{text}" + (f"  ({node['score']:+.3f})" if scores else ""))
        below = indent if is_root else indent + ("   " if is_last else "│  ")
        children = node["children"]
        stack.extend((child, below, child == children[-1]) for child in reversed(children))
    return "\n".join(lines) + "\n"


def spell(side: list) -> str:
    """A side of a rule; nonterminals as circled numbers, which tokenised text hardly has."""
    spelled = " ".join(circled(s) if isinstance(s, int) else str(s) for s in side)
    return spelled.replace("\n", " ") or "∅"
