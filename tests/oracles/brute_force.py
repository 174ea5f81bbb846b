"""All derivations of small hypergraphs, one by one, and sums over them by definition.

A derivation is the tuple of its edges in preorder: an edge, then the derivations of its tails in order. Only
for hypergraphs with few derivations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from scfg_sampler.core.forests.hypergraph import Hypergraph, num_nodes

__all__ = [
    "derivations",
    "expected_edge_counts",
    "log_partition",
    "log_weight",
    "posterior",
]


def derivations(graph: Hypergraph, node: int | None = None) -> Iterator[tuple[int, ...]]:
    """Every derivation of a node (of the goal by default), as edges in preorder."""
    node = num_nodes(graph) - 1 if node is None else node
    for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
        tails = graph.tails[graph.tail_start[edge] : graph.tail_start[edge + 1]]
        for below in itertools.product(*(tuple(derivations(graph, tail)) for tail in tails)):
            yield (edge, *itertools.chain.from_iterable(below))


def log_weight(derivation: tuple[int, ...], log_weights: np.ndarray) -> float:
    """The sum of the log weights of a derivation's edges."""
    parts = [log_weights[edge] for edge in derivation]
    return -math.inf if -math.inf in parts else math.fsum(parts)


def log_partition(graph: Hypergraph, log_weights: np.ndarray, node: int | None = None) -> float:
    """The log of the sum of the weights of all derivations of a node; −∞ without derivation."""
    total = math.fsum(math.exp(log_weight(d, log_weights)) for d in derivations(graph, node))
    return math.log(total) if total > 0.0 else -np.inf


def posterior(graph: Hypergraph, log_weights: np.ndarray) -> dict[tuple[int, ...], float]:
    """The probability of every derivation of the goal whose probability is not 0."""
    log_total = log_partition(graph, log_weights)
    pairs = ((d, log_weight(d, log_weights)) for d in derivations(graph))
    return {d: math.exp(weight - log_total) for d, weight in pairs if weight > -np.inf}


def expected_edge_counts(graph: Hypergraph, log_weights: np.ndarray) -> np.ndarray:
    """How often each edge is expected in a random derivation of the goal, float64 of shape (E,)."""
    counts = np.zeros(len(log_weights))
    for derivation, prob in posterior(graph, log_weights).items():
        np.add.at(counts, list(derivation), prob)
    return counts
