"""k-best lists of random hypergraphs against the enumeration of all derivations."""

import itertools
from typing import Any

import numpy as np
import pytest

from decoder.search.kbest import k_best
from scfg_sampler.core.forests.hypergraph import Hypergraph, HypergraphBuilder
from scfg_sampler.errors import SettingsError


def random_graph(rng: np.random.Generator, num_nodes: int = 7) -> Hypergraph:
    builder = HypergraphBuilder()
    for node in range(num_nodes):
        builder.add_node()
        for _ in range(int(rng.integers(1, 4)) if node else 2):
            arity = int(rng.integers(0, 4)) if node else 0
            builder.add_edge(node, rng.integers(0, max(node, 1), size=arity).tolist())
    return builder.build()


def derivations(graph: Hypergraph, node: int, limit: int = 4000) -> list[tuple]:
    """All derivations of a node as nested tuples (edge, child, …)."""
    found: list[tuple] = []
    for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
        tails = graph.tails[graph.tail_start[edge] : graph.tail_start[edge + 1]]
        children = [derivations(graph, int(tail), limit) for tail in tails]
        if np.prod([len(c) for c in children], initial=1.0) + len(found) > limit:
            raise OverflowError
        found.extend((edge, *combination) for combination in itertools.product(*children))
    return found


def preorder(derivation: tuple) -> list[int]:
    return [derivation[0], *itertools.chain(*map(preorder, derivation[1:]))]


def case(seed: int) -> Any:
    """A graph, edge weights, templates, and (score, edges, words) of every derivation, best first."""
    rng = np.random.default_rng(seed)
    while True:
        graph = random_graph(rng)
        try:
            trees = derivations(graph, len(graph.edge_start) - 2)
            break
        except OverflowError:
            continue
    num_edges = len(graph.tail_start) - 1
    weights = rng.normal(size=num_edges)
    templates = []
    for edge in range(num_edges):
        arity = graph.tail_start[edge + 1] - graph.tail_start[edge]
        template = [-1 - k for k in range(arity)] + rng.integers(0, 2, size=rng.integers(0, 2)).tolist()
        rng.shuffle(template)
        templates.append(template)

    def spell(tree):
        words: list[int] = []
        for symbol in templates[tree[0]]:
            words.extend([symbol] if symbol >= 0 else spell(tree[-symbol]))
        return words

    start = np.cumsum([0, *map(len, templates)]).astype(np.int64)
    flat = np.array([symbol for template in templates for symbol in template], np.int32)
    every = [(sum(weights[e] for e in preorder(t)), preorder(t), tuple(spell(t))) for t in trees]
    return graph, weights, start, flat, sorted(every, key=lambda d: -d[0])


@pytest.mark.parametrize("seed", range(60))
def test_k_best_equals_enumeration(seed):
    *arguments, every = case(seed)
    for k in (1, 3, len(every), len(every) + 1):
        found = k_best(*arguments, k)
        np.testing.assert_allclose(found.score, [d[0] for d in every[:k]], atol=1e-9)
    edges = [tuple(found.edges[a:b]) for a, b in itertools.pairwise(found.edge_start)]
    words = [tuple(found.words[a:b]) for a, b in itertools.pairwise(found.word_start)]
    assert len(set(edges)) == len(edges)
    assert sorted(zip(edges, words, strict=True)) == sorted((tuple(d[1]), d[2]) for d in every)


@pytest.mark.parametrize("seed", range(40))
def test_unique_lists_keep_the_best_derivation_of_each_string(seed):
    *arguments, every = case(seed)
    best: dict = {}
    for score, _, words in every:
        best.setdefault(words, score)
    found = k_best(*arguments, len(best) + 1, unique=True)
    np.testing.assert_allclose(found.score, list(best.values()), atol=1e-9)
    words = [tuple(found.words[a:b]) for a, b in itertools.pairwise(found.word_start)]
    assert set(words) == set(best)
    assert len(words) == len(best)


def test_edges_that_cannot_be_used_are_not():
    graph, weights, start, flat, every = case(2)
    weights = weights.copy()
    banned = every[0][1][0]
    weights[banned] = -np.inf
    left = [d for d in every if banned not in d[1]]
    found = k_best(graph, weights, start, flat, len(every))
    np.testing.assert_allclose(found.score, [d[0] for d in left], atol=1e-9)


def test_less_than_one_derivation_is_refused():
    *arguments, _ = case(1)
    with pytest.raises(SettingsError, match="--nbest is 0"):
        k_best(*arguments, 0)
