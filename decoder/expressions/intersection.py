"""The well-formed derivations of a forest: its intersection with the trees of an expression model.

What a derivation has built so far is a piece of a linear form. All that matters of it to what comes before
and after is its *shape*: the roots of the trees in it that no place inside takes, and the places at its end
that are still open. Beside each other, pieces fill the open places of the left by the roots of the right,

    answer@1 city@1        roots: answer      open: city/1
    loc_2@1 stateid@1      roots: loc_2       open: stateid/1
    together               roots: answer      open: stateid/1        gained: ln P(loc_2 | city/1)

which is the product of a monoid, so that a node of the forest splits into one node for each shape that its
derivations have (Bar-Hillel, Perles and Shamir 1961, for pieces of trees instead of states). The goal keeps
one root, no open place. An edge between shapes gains the log probability of the places it fills.

The fact a newcomer would get wrong: this is not a filter of lists. Every well-formed derivation that the
search has kept is in the result, unless a node has more than `most` shapes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.expressions.model import ExpressionModel
from decoder.search.forest import ForestGraph
from decoder.search.workspace import Slots, rehashed, slot_of
from scfg_sampler.core.arrays.growth import grown, sort_descending
from scfg_sampler.core.forests.hypergraph import Hypergraph, largest_arity
from scfg_sampler.core.jit import borrowing, compiled, kernel

__all__ = ["LONGEST", "WellFormed", "intersection"]

LONGEST = 8  # Roots, or open places, of a shape; pieces with more are left out.
_WIDTH = 2 + 2 * LONGEST  # Number of roots, number of open places, roots, open places from the last.


class WellFormed(NamedTuple):
    """The well-formed part of a forest.

    graph : ForestGraph, whose edges name those of the forest
    log_prob : float64 (E,), that of the places that each edge fills
    """

    graph: ForestGraph
    log_prob: np.ndarray


class _Part(NamedTuple):
    """A forest, what its edges are worth, and the model.

    symbol : int32, the symbol of each target word, −1 for a word that is none
    """

    edge_start: np.ndarray
    tail_start: np.ndarray
    tails: np.ndarray
    template_start: np.ndarray
    template: np.ndarray
    weight: np.ndarray
    symbol: np.ndarray
    arity: np.ndarray
    place_start: np.ndarray
    log_prob: np.ndarray
    factor: float


class _Nodes(NamedTuple):
    """Nodes so far: the shape of each, and the score of its best derivation."""

    shape: np.ndarray
    score: np.ndarray


class _Edges(NamedTuple):
    """Edges so far; the fields are those of the result, and the head."""

    head: np.ndarray
    edge: np.ndarray
    tails: np.ndarray
    log_prob: np.ndarray


def intersection(
    graph: ForestGraph,
    weights: np.ndarray,
    symbol: np.ndarray,
    model: ExpressionModel,
    factor: float,
    most: int,
) -> WellFormed | None:
    """The well-formed derivations in a forest; None if there are none.

    Parameters
    ----------
    weights : float64 (E,), of the edges of `graph`
    symbol : int32, the symbol of each target word, −1 for a word that is none
    factor : the weight of the log probability of expressions
    most : nodes that a node may become, those with the best derivations
    """
    hypergraph = graph.graph
    part = _Part(*hypergraph, graph.template_start, graph.template, weights, symbol, *model[1:], factor)
    arity = max(1, largest_arity(hypergraph))
    edge_start, tail_start, tails, edges, log_prob = _intersection(part, arity, most)
    if edge_start[-1] == (edge_start[-2] if len(edge_start) > 1 else 0):
        return None
    length = np.diff(graph.template_start)[edges]
    start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    at = np.repeat(graph.template_start[edges] - start[:-1], length) + np.arange(start[-1])
    split = ForestGraph(
        Hypergraph(edge_start, tail_start, tails),
        np.zeros(0, np.int32),
        graph.edges[edges],
        start,
        graph.template[at],
    )
    return WellFormed(split, log_prob)


@kernel
def _intersection(part, max_arity, most):
    num_nodes = len(part.edge_start) - 1
    first = np.zeros(num_nodes + 1, np.int64)  # The nodes that node v has become begin with first[v].
    nodes = _Nodes(np.empty((64, 1, _WIDTH), np.int32), np.empty(64))
    edges = _Edges(
        np.empty(64, np.int32), np.empty(64, np.int32), np.empty((64, max_arity), np.int32), np.empty(64)
    )
    slots = Slots(np.empty(64, np.int32), np.full(64, -1, np.int32))
    shapes, members = np.empty((2, 1, _WIDTH), np.int32), np.empty(max_arity, np.int64)
    gain = np.empty(1)
    num_edges = 0
    for node in range(num_nodes):
        is_goal = node == num_nodes - 1
        last, first_edge = first[node], num_edges
        for edge in range(part.edge_start[node], part.edge_start[node + 1]):
            begin, arity = part.tail_start[edge], part.tail_start[edge + 1] - part.tail_start[edge]
            if not _begin(part, first, begin, arity, members):
                continue
            while True:
                is_sound = _piece(part, nodes.shape, edge, members, shapes, gain)
                if is_sound and is_goal:
                    is_sound = _close(part, shapes[0, 0], gain)
                if is_sound:
                    nodes = _Nodes(grown(nodes.shape, last + 1), grown(nodes.score, last + 1))
                    if 2 * (last + 1 - first[node]) >= len(slots.item):
                        slots = rehashed(slots, nodes.shape, first[node], last, node)
                    score = part.weight[edge] + part.factor * gain[0]
                    for k in range(arity):
                        score += nodes.score[members[k]]
                    slot = slot_of(slots, nodes.shape, shapes[0], node)
                    if slots.cell[slot] != node:
                        slots.item[slot], slots.cell[slot] = last, node
                        for i in range(_WIDTH):
                            nodes.shape[last, 0, i] = shapes[0, 0, i]
                        nodes.score[last] = -np.inf
                        last += 1
                    head = slots.item[slot]
                    nodes.score[head] = max(nodes.score[head], score)
                    edges = _Edges(
                        grown(edges.head, num_edges + 1),
                        grown(edges.edge, num_edges + 1),
                        grown(edges.tails, num_edges + 1),
                        grown(edges.log_prob, num_edges + 1),
                    )
                    edges.head[num_edges], edges.edge[num_edges] = head, edge
                    edges.log_prob[num_edges] = gain[0]
                    for k in range(max_arity):
                        edges.tails[num_edges, k] = members[k] if k < arity else -1
                    num_edges += 1
                if not _advance(part, first, begin, arity, members):
                    break
        if last - first[node] > most:
            last, num_edges = _keep_best(nodes, edges, first[node], last, first_edge, num_edges, most)
        first[node + 1] = last
    goals = first[num_nodes] - first[num_nodes - 1]
    return _packed(edges, num_edges, first[num_nodes] + (1 if goals == 0 else 0))


@borrowing
def _begin(part, first, begin, arity, members):
    """Let members be the first nodes of the tails; False if one has none."""
    for k in range(arity):
        tail = part.tails[begin + k]
        if first[tail] == first[tail + 1]:
            return False
        members[k] = first[tail]
    return True


@borrowing
def _advance(part, first, begin, arity, members):
    """Go to the next combination of nodes of the tails; False after the last."""
    for k in range(arity):
        tail = part.tails[begin + k]
        members[k] += 1
        if members[k] < first[tail + 1]:
            return True
        members[k] = first[tail]
    return False


@borrowing
def _piece(part, known, edge, members, shapes, gain):
    """Whether what an edge spells is well-formed; shapes[0] becomes its shape, gain what it gains."""
    shape, other = shapes[0, 0], shapes[1, 0]
    for i in range(_WIDTH):
        shape[i] = 0
    gain[0] = 0.0
    for at in range(part.template_start[edge], part.template_start[edge + 1]):
        symbol = part.template[at]
        if symbol < 0:
            for i in range(_WIDTH):
                other[i] = known[members[-1 - symbol], 0, i]
        elif not _single(part, symbol, other):
            return False
        if not _join(part, shape, other, gain):
            return False
    return True


@borrowing
def _single(part, word, shape):
    """Let shape be that of a word; False if it is no symbol."""
    symbol = part.symbol[word] if word < len(part.symbol) else -1
    if symbol < 0 or part.arity[symbol] > LONGEST:
        return False
    for i in range(_WIDTH):
        shape[i] = 0
    shape[0], shape[1], shape[2] = 1, part.arity[symbol], symbol
    for k in range(part.arity[symbol]):
        shape[2 + LONGEST + k] = part.place_start[symbol + 1] - 1 - k
    return True


@borrowing
def _join(part, shape, other, gain):
    """Put `other` behind `shape`; False if a root may not be where it goes, or the shape is too long."""
    num_open, num_roots = shape[1], other[0]
    filled = min(num_open, num_roots)
    for i in range(filled):
        top = 2 + LONGEST + num_open - 1 - i
        place, root = shape[top], other[2 + i]
        if part.log_prob[place, root] == -np.inf:
            return False
        gain[0] += part.log_prob[place, root]
        shape[top] = 0
    if shape[0] + num_roots - filled > LONGEST or num_open - filled + other[1] > LONGEST:
        return False
    # If roots are left over, no place of the left is open; those of the right are the last in any case.
    for i in range(filled, num_roots):
        shape[2 + shape[0]] = other[2 + i]
        shape[0] += 1
    shape[1] = num_open - filled
    for i in range(other[1]):
        shape[2 + LONGEST + shape[1]] = other[2 + LONGEST + i]
        shape[1] += 1
    return True


@borrowing
def _close(part, shape, gain):
    """Whether a shape is that of one whole tree that may be at the top; it is emptied."""
    top, root = len(part.log_prob) - 1, shape[2]
    if shape[0] != 1 or shape[1] != 0 or part.log_prob[top, root] == -np.inf:
        return False
    gain[0] += part.log_prob[top, root]
    shape[0] = shape[2] = 0
    return True


@compiled
def _keep_best(nodes, edges, begin, end, first_edge, num_edges, most):
    """Keep `most` nodes of begin … end − 1; returns the new end, and the new number of edges."""
    order = np.arange(end)
    sort_descending(order, nodes.score, begin, end)
    number = np.full(end - begin, -1, np.int64)
    for rank in range(most):
        number[order[begin + rank] - begin] = 0
    last = begin
    for node in range(begin, end):
        if number[node - begin] == 0:
            number[node - begin] = last
            nodes.score[last] = nodes.score[node]
            for i in range(_WIDTH):
                nodes.shape[last, 0, i] = nodes.shape[node, 0, i]
            last += 1
    kept = first_edge
    for edge in range(first_edge, num_edges):
        head = number[edges.head[edge] - begin]
        if head >= 0:
            edges.head[kept], edges.edge[kept] = head, edges.edge[edge]
            edges.log_prob[kept] = edges.log_prob[edge]
            for k in range(edges.tails.shape[1]):
                edges.tails[kept, k] = edges.tails[edge, k]
            kept += 1
    return last, kept


@compiled
def _packed(edges, num_edges, num_nodes):
    """The arrays of a `Hypergraph`, its edges by their heads; edges of the forest; log probabilities."""
    edge_start = np.zeros(num_nodes + 1, np.int32)
    for edge in range(num_edges):
        edge_start[edges.head[edge] + 1] += 1
    for node in range(num_nodes):
        edge_start[node + 1] += edge_start[node]
    at = edge_start.copy()
    order = np.empty(num_edges, np.int64)
    for edge in range(num_edges):
        order[at[edges.head[edge]]] = edge
        at[edges.head[edge]] += 1
    tail_start = np.zeros(num_edges + 1, np.int32)
    tails = np.empty(num_edges * edges.tails.shape[1], np.int32)
    number, log_prob = np.empty(num_edges, np.int32), np.empty(num_edges)
    end = 0
    for new in range(num_edges):
        edge = order[new]
        number[new], log_prob[new] = edges.edge[edge], edges.log_prob[edge]
        for k in range(edges.tails.shape[1]):
            if edges.tails[edge, k] >= 0:
                tails[end] = edges.tails[edge, k]
                end += 1
        tail_start[new + 1] = end
    return edge_start, tail_start, tails[:end].copy(), number, log_prob
