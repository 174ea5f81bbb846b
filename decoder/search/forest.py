"""What is read off a forest: strings, features, and the forest as a core `Hypergraph`.

The features of a derivation are the sums of those of its edges: the features of the rules, then
`LanguageModel` (natural log probability of the sentence with `</s>`), with several models `LanguageModel_1`
and so on for the others, `Glue` (edges S → S X), `PassThrough` (copied words), and where labels are soft
`LabelMismatch` (gaps filled by another label). The score of a derivation
is their product with the weights.

Words are ids of the grammar's target vocabulary; words copied from the source that are not in it have the ids
after its last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.grammar.labels import MISMATCH
from decoder.lm.model import feature_of
from decoder.search.chart import COPY, GLUE, RELABEL
from decoder.search.cube import Forest
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.forests.hypergraph import Hypergraph
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["ForestGraph", "best_derivation", "derivation_features", "export", "own_features"]


def own_features(num_models: int, soft_labels: bool = False) -> tuple[str, ...]:
    """The names of the decoder's own features, with so many language models."""
    names = (*map(feature_of, range(num_models)), "Glue", "PassThrough")
    return (*names, MISMATCH) if soft_labels else names


class ForestGraph(NamedTuple):
    """The part of a forest that the goal can be derived from, in the form of the core.

    graph : Hypergraph
    items, edges : int32, the forest's numbers of the nodes and edges of the graph
    template_start, template : int64 (E + 1,), int32: what an edge spells, word ids or −1−k for tail k
    """

    graph: Hypergraph
    items: np.ndarray
    edges: np.ndarray
    template_start: np.ndarray
    template: np.ndarray


def export(
    forest: Forest,
    target_start: np.ndarray,
    target: np.ndarray,
    copied: tuple[np.ndarray, np.ndarray],
    begin: np.ndarray,
) -> ForestGraph:
    """The forest as a hypergraph; edge weights are `forest.weight[result.edges]`.

    Parameters
    ----------
    target_start, target : of the `Grammar`
    copied : int64 (n + 1,), int32: what each source word becomes if it is copied
    begin : int32 (C,), of the `Chart`
    """
    edge_start, tail_start, tails, *rest = _export(forest, _Strings(target_start, target, *copied, begin))
    return ForestGraph(Hypergraph(edge_start, tail_start, tails), *rest)


class _Strings(NamedTuple):
    """What rules and copied words spell; the fields are the parameters of `export`."""

    target_start: np.ndarray
    target: np.ndarray
    copied_start: np.ndarray
    copied_words: np.ndarray
    begin: np.ndarray


@kernel
def _export(forest, strings):
    first, by_head = _edges_by_head(forest)
    number = _numbers_of_reachable(forest, first, by_head)
    num_kept = 0
    for item in range(len(number)):
        num_kept += number[item] >= 0
    items = np.empty(num_kept, np.int32)
    edge_start = np.zeros(num_kept + 1, np.int32)
    for item in range(len(number)):
        node = number[item]
        if node >= 0:
            items[node] = item
            edge_start[node + 1] = edge_start[node] + first[item + 1] - first[item]
    edges = np.empty(edge_start[num_kept], np.int32)
    new = 0
    for node in range(num_kept):
        for i in range(first[items[node]], first[items[node] + 1]):
            edges[new] = by_head[i]
            new += 1
    tail_start, tails = _tails(forest, number, edges)
    template_start, template = _templates(forest, strings, edges)
    return edge_start, tail_start, tails, items, edges, template_start, template


@compiled
def _edges_by_head(forest):
    """Offsets for each item, and edges: those of each head, in their order."""
    num_items, num_edges = len(forest.cell), len(forest.head)
    first = np.zeros(num_items + 1, np.int32)
    for edge in range(num_edges):
        first[forest.head[edge] + 1] += 1
    for item in range(num_items):
        first[item + 1] += first[item]
    by_head = np.empty(num_edges, np.int32)
    filled = first.copy()
    for edge in range(num_edges):
        by_head[filled[forest.head[edge]]] = edge
        filled[forest.head[edge]] += 1
    return first, by_head


@compiled
def _numbers_of_reachable(forest, first, by_head):
    """The new number of each item that the goal can be derived from, −1 for the others; in their order."""
    num_items = len(forest.cell)
    number = np.full(num_items, -1, np.int32)
    number[num_items - 1] = 0
    # Tails have smaller numbers than heads, so one pass down suffices.
    for item in range(num_items - 1, -1, -1):
        if number[item] < 0:
            continue
        for i in range(first[item], first[item + 1]):
            for k in range(forest.tails.shape[1]):
                if forest.tails[by_head[i], k] >= 0:
                    number[forest.tails[by_head[i], k]] = 0
    node = 0
    for item in range(num_items):
        if number[item] >= 0:
            number[item] = node
            node += 1
    return number


@compiled
def _tails(forest, number, edges):
    """Offsets for each edge, and the new numbers of its tails."""
    max_arity = forest.tails.shape[1]
    start = np.zeros(len(edges) + 1, np.int32)
    tails = np.empty(max_arity * len(edges), np.int32)
    end = 0
    for new in range(len(edges)):
        for k in range(max_arity):
            tail = forest.tails[edges[new], k]
            if tail >= 0:
                tails[end] = number[tail]
                end += 1
        start[new + 1] = end
    return start, tails[:end].copy()


@compiled
def _templates(forest, strings, edges):
    """Offsets for each edge, and what it spells."""
    start = np.zeros(len(edges) + 1, np.int64)
    template = np.empty(4 * len(edges), np.int32)
    end = 0
    for new in range(len(edges)):
        edge = edges[new]
        rule = forest.rule[edge]
        if rule >= 0:
            first, last = strings.target_start[rule], strings.target_start[rule + 1]
            template = grown(template, end + last - first)
            for at in range(first, last):
                template[end] = strings.target[at]
                end += 1
        elif rule == COPY:
            word = strings.begin[forest.cell[forest.head[edge]]]
            first, last = strings.copied_start[word], strings.copied_start[word + 1]
            template = grown(template, end + last - first)
            for at in range(first, last):
                template[end] = strings.copied_words[at]
                end += 1
        else:
            template = grown(template, end + forest.tails.shape[1])
            for k in range(forest.tails.shape[1]):
                if forest.tails[edge, k] >= 0:
                    template[end] = -1 - k
                    end += 1
        start[new + 1] = end
    return start, template[:end].copy()


@kernel
def best_derivation(
    forest: Forest,
    target_start: np.ndarray,
    target: np.ndarray,
    copied: tuple[np.ndarray, np.ndarray],
    begin: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The words of the best derivation, and its edges in preorder; both int32. Parameters as for `export`."""
    copied_start, copied_words = copied
    edges, words = np.empty(64, np.int32), np.empty(64, np.int32)
    num_edges, num_words = 0, 0
    stack, places = np.empty(64, np.int32), np.empty(64, np.int64)
    stack[0] = forest.best_edge[len(forest.cell) - 1]
    depth = 1
    while depth > 0:
        depth -= 1
        edge = stack[depth]
        edges = grown(edges, num_edges + 1)
        edges[num_edges] = edge
        num_edges += 1
        for k in range(forest.tails.shape[1] - 1, -1, -1):
            if forest.tails[edge, k] >= 0:
                stack = grown(stack, depth + 1)
                stack[depth] = forest.best_edge[forest.tails[edge, k]]
                depth += 1
    stack[0], places[0] = edges[0], 0
    depth = 1
    while depth > 0:
        edge, place = stack[depth - 1], places[depth - 1]
        places[depth - 1] += 1
        rule = forest.rule[edge]
        tail = -1
        if rule >= 0:
            if target_start[rule] + place >= target_start[rule + 1]:
                depth -= 1
                continue
            symbol = target[target_start[rule] + place]
            if symbol < 0:
                tail = forest.tails[edge, -1 - symbol]
        elif rule == COPY:
            word = begin[forest.cell[forest.head[edge]]]
            if place == copied_start[word + 1] - copied_start[word]:
                depth -= 1
                continue
            symbol = copied_words[copied_start[word] + place]
        else:
            if place == (2 if rule == GLUE else 1):
                depth -= 1
                continue
            symbol = -1
            tail = forest.tails[edge, place]
        if symbol >= 0:
            words = grown(words, num_words + 1)
            words[num_words] = symbol
            num_words += 1
        else:
            stack, places = grown(stack, depth + 1), grown(places, depth + 1)
            stack[depth], places[depth] = forest.best_edge[tail], 0
            depth += 1
    return words[:num_words].copy(), edges[:num_edges].copy()


@kernel
def derivation_features(
    forest: Forest, rule_features: np.ndarray, start: np.ndarray, edges: np.ndarray, num_own: int
) -> np.ndarray:
    """The features of derivations, float64 (K, F + M + num_own): those of the rules, then `own_features(M)`.

    Parameters
    ----------
    rule_features : float32 (R, F)
    start, edges : int64 (K + 1,), int; derivation i has the forest's edges `edges[start[i]:start[i + 1]]`
    num_own : features besides those of rules and language models: 2, or 3 with `LabelMismatch`
    """
    num_features, num_models = rule_features.shape[1], forest.log_prob.shape[1]
    glue = num_features + num_models
    values = np.zeros((len(start) - 1, glue + num_own))
    for row in range(len(start) - 1):
        for i in range(start[row], start[row + 1]):
            rule = forest.rule[edges[i]]
            for model in range(num_models):
                values[row, num_features + model] += forest.log_prob[edges[i], model]
            if rule == GLUE:
                values[row, glue] += 1.0
            elif rule == COPY:
                values[row, glue + 1] += 1.0
            elif rule == RELABEL and num_own > 2:
                values[row, glue + 2] += 1.0
            elif rule >= 0:
                for column in range(num_features):
                    values[row, column] += rule_features[rule, column]
    return values
