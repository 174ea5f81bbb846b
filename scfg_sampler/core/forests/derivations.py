"""Derivations of a hypergraph: how many, the best, random ones, and means over all of them.

Weights of edges define a distribution over the derivations of the goal, P(d) = Π over edges e of d: w(e) / Z,
with Z the inside value of the goal. The expected number of uses of an edge is

    outside(head) · w(e) · Π over tails u of e: inside(u) / Z,

and drawing an edge at each node, from the goal down, in proportion to w(e) Π inside(tail) draws from P.

The fact a newcomer would get wrong: a derivation is a tree, so a node that is a tail twice is derived twice,
independently, and expected uses ("posteriors") may exceed 1. Derivations are therefore given as the list of
their edges in preorder, not as one edge per node.
"""

from __future__ import annotations

import math

import numpy as np

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.forests.hypergraph import Hypergraph, largest_degree, num_edges, num_nodes
from scfg_sampler.core.forests.semiring import Expectation, LogSum, Tropical, checked, inside, outside
from scfg_sampler.core.jit import compiled, kernel

__all__ = [
    "best_derivation",
    "count_derivations",
    "edge_posteriors",
    "entropy",
    "expected_features",
    "sample_derivation",
]


def count_derivations(graph: Hypergraph) -> list[int]:
    """The number of derivations of every node, exactly, however large.

    >>> from scfg_sampler.core.forests.hypergraph import HypergraphBuilder
    >>> builder = HypergraphBuilder()
    >>> for _ in range(8):
    ...     node = builder.add_node()
    ...     for _ in range(2):
    ...         edge = builder.add_edge(node, [node - 1, node - 1] if node else [])
    >>> count_derivations(builder.build())[-1] == 2**255
    True
    """
    edge_start, tail_start, tails = (array.tolist() for array in graph)
    counts: list[int] = []
    for node in range(num_nodes(graph)):
        edges = range(edge_start[node], edge_start[node + 1])
        counts.append(
            sum(math.prod(counts[tail] for tail in tails[tail_start[e] : tail_start[e + 1]]) for e in edges)
        )
    return counts


def best_derivation(graph: Hypergraph, log_weights: np.ndarray) -> tuple[float, np.ndarray]:
    """The derivation of the goal with the largest weight (Viterbi).

    Parameters
    ----------
    graph : Hypergraph
    log_weights : float64, shape (E,)

    Returns
    -------
    float, its log weight, −∞ if the goal has no derivation; and its edges in preorder, int32, empty if it
    has none. Of equals the one with the smallest edge, from the goal down.
    """
    semiring = checked(graph, Tropical(log_weights))
    inside_values = inside(graph, semiring)
    return float(inside_values[-1, 0]), _best_derivation(graph, semiring, inside_values)


def sample_derivation(
    rng: np.random.Generator,
    graph: Hypergraph,
    log_weights: np.ndarray,
    inside_values: np.ndarray | None = None,
) -> np.ndarray:
    """A derivation of the goal drawn with a probability proportional to its weight, top down.

    Parameters
    ----------
    rng : numpy.random.Generator
    graph : Hypergraph
    log_weights : float64, shape (E,)
    inside_values : float64, shape (N, 1), optional
        What `inside` returned for `LogSum(log_weights)`, to draw many without computing it again.

    Returns
    -------
    int32, its edges in preorder; empty if the goal has no derivation.
    """
    semiring = checked(graph, LogSum(log_weights))
    if inside_values is None:
        inside_values = inside(graph, semiring)
    return _sample_derivation(rng, graph, semiring, inside_values, largest_degree(graph))


def edge_posteriors(graph: Hypergraph, log_weights: np.ndarray) -> np.ndarray:
    """How often each edge is expected in a derivation of the goal drawn in proportion to its weight.

    Parameters
    ----------
    graph : Hypergraph
    log_weights : float64, shape (E,)

    Returns
    -------
    float64, shape (E,). All 0 if the goal has no derivation.
    """
    semiring = checked(graph, LogSum(log_weights))
    inside_values = inside(graph, semiring)
    if inside_values[-1, 0] == -np.inf:
        return np.zeros(num_edges(graph))
    return _edge_posteriors(graph, semiring, inside_values, outside(graph, semiring, inside_values))


def expected_features(graph: Hypergraph, log_weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """The mean of a derivation's features, which are sums over its edges.

    Parameters
    ----------
    graph : Hypergraph
    log_weights : float64, shape (E,)
    features : float64, shape (E, F)

    Returns
    -------
    float64, shape (F,). All 0 if the goal has no derivation.
    """
    return inside(graph, Expectation(log_weights, features))[-1, 1:]


def entropy(graph: Hypergraph, log_weights: np.ndarray) -> float:
    """The entropy in nats of a derivation of the goal drawn in proportion to its weight.

    H = log Z − E[log weight]. 0 if the goal has no derivation.
    """
    finite = np.where(np.isfinite(log_weights), log_weights, 0.0)
    log_total, mean_log_weight = inside(graph, Expectation(log_weights, finite[:, np.newaxis]))[-1]
    return 0.0 if log_total == -np.inf else max(0.0, log_total - mean_log_weight)


@kernel
def _edge_posteriors(graph, semiring, inside_values, outside_values):
    size = inside_values.shape[0]
    log_total = inside_values[size - 1, 0]
    posteriors = np.empty(len(graph.tail_start) - 1)
    for node in range(size):
        for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
            log_weight = outside_values[node, 0] + _edge_value(graph, semiring, inside_values, edge)
            posteriors[edge] = elementary.exp(log_weight - log_total)
    return posteriors


@compiled
def _edge_value(graph, semiring, inside_values, edge):
    """The log weight of an edge with all that is below it."""
    log_weight = semiring.log_weights[edge]
    for i in range(graph.tail_start[edge], graph.tail_start[edge + 1]):
        log_weight += inside_values[graph.tails[i], 0]
    return log_weight


@compiled
def _push(stack, size, item):
    """The stack with one more item."""
    stack = grown(stack, size + 1)
    stack[size] = item
    return stack


@kernel
def _best_derivation(graph, semiring, inside_values):
    goal = inside_values.shape[0] - 1
    stack, depth = np.empty(16, dtype=np.int32), 0
    edges, length = np.empty(16, dtype=np.int32), 0
    if inside_values[goal, 0] > -np.inf:
        stack[0], depth = goal, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        best, best_edge = -np.inf, -1
        for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
            log_weight = _edge_value(graph, semiring, inside_values, edge)
            if log_weight > best:
                best, best_edge = log_weight, edge
        edges = _push(edges, length, best_edge)
        length += 1
        for i in range(graph.tail_start[best_edge + 1] - 1, graph.tail_start[best_edge] - 1, -1):
            stack = _push(stack, depth, graph.tails[i])
            depth += 1
    return edges[:length].copy()


@kernel
def _sample_derivation(rng, graph, semiring, inside_values, max_degree):
    goal = inside_values.shape[0] - 1
    log_weights = np.empty(max_degree)
    stack, depth = np.empty(16, dtype=np.int32), 0
    edges, length = np.empty(16, dtype=np.int32), 0
    if inside_values[goal, 0] > -np.inf:
        stack[0], depth = goal, 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        first, degree = graph.edge_start[node], graph.edge_start[node + 1] - graph.edge_start[node]
        for k in range(degree):
            log_weights[k] = _edge_value(graph, semiring, inside_values, first + k)
        edge = first + draws.log_categorical(rng, log_weights, degree)
        edges = _push(edges, length, edge)
        length += 1
        for i in range(graph.tail_start[edge + 1] - 1, graph.tail_start[edge] - 1, -1):
            stack = _push(stack, depth, graph.tails[i])
            depth += 1
    return edges[:length].copy()
