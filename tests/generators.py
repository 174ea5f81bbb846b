"""Seeded random inputs for property tests."""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.forests.derivations import count_derivations
from scfg_sampler.core.forests.hypergraph import Hypergraph, HypergraphBuilder, num_edges

__all__ = ["doubling", "random_hypergraph", "random_log_weights", "small_forest"]


def random_hypergraph(
    rng: np.random.Generator, *, max_nodes: int = 7, max_degree: int = 3, max_arity: int = 2
) -> Hypergraph:
    """A small hypergraph: some nodes without derivation, some tails that occur twice in an edge.

    About one in ten has a goal without derivation.
    """
    builder = HypergraphBuilder()
    for _ in range(rng.integers(1, max_nodes + 1)):
        node = builder.add_node()
        for _ in range(rng.integers(1, max_degree + 1) if rng.random() < 0.9 else 0):
            arity = rng.integers(0, max_arity + 1) if node > 0 else 0
            builder.add_edge(node, rng.integers(0, max(node, 1), size=arity).tolist())
    return builder.build()


def random_log_weights(rng: np.random.Generator, graph: Hypergraph, *, zeros: float = 0.15) -> np.ndarray:
    """Log weights of the edges, normal; a share `zeros` of them is −∞, an edge that cannot be used."""
    log_weights = rng.normal(size=num_edges(graph))
    log_weights[rng.random(num_edges(graph)) < zeros] = -np.inf
    return log_weights


def small_forest(seed: int) -> tuple[np.random.Generator, Hypergraph, np.ndarray]:
    """A generator, a hypergraph with at most 200 derivations of any node, and log weights of its edges."""
    rng = np.random.default_rng(seed)
    while True:
        graph = random_hypergraph(rng)
        if max(count_derivations(graph)) <= 200:
            return rng, graph, random_log_weights(rng, graph)


def doubling(levels: int) -> Hypergraph:
    """Each node twice the one before it: 2^levels − 1 edges in the only derivation."""
    builder = HypergraphBuilder()
    for node in range(levels):
        builder.add_node()
        builder.add_edge(node, [node - 1, node - 1] if node else [])
    return builder.build()
