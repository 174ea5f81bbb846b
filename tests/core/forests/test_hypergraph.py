"""Hypergraphs: building, checking, and which nodes matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from scfg_sampler.core.forests.derivations import count_derivations
from scfg_sampler.core.forests.hypergraph import (
    Hypergraph,
    HypergraphBuilder,
    edge_heads,
    largest_arity,
    largest_degree,
    num_edges,
    num_nodes,
    productive,
    reachable,
    validate,
)
from scfg_sampler.errors import InputError
from tests.generators import random_hypergraph
from tests.oracles import brute_force

SEEDS = st.integers(0, 2**32 - 1)


def diamond():
    """Two leaves, a node without edges, and a goal with three edges, one of them impossible."""
    builder = HypergraphBuilder()
    left, right, barren, goal = (builder.add_node() for _ in range(4))
    for head, tails in [
        (left, []),
        (right, []),
        (goal, [left, right]),
        (goal, [left, barren]),
        (goal, [right]),
    ]:
        builder.add_edge(head, tails)
    return builder.build()


def test_builder_lays_out_edges_by_node():
    graph = diamond()
    assert graph.edge_start.tolist() == [0, 1, 2, 2, 5]
    assert graph.tail_start.tolist() == [0, 0, 0, 2, 4, 5]
    assert graph.tails.tolist() == [0, 1, 0, 2, 1]
    assert (num_nodes(graph), num_edges(graph)) == (4, 5)
    assert (largest_degree(graph), largest_arity(graph)) == (3, 2)
    assert edge_heads(graph).tolist() == [0, 1, 3, 3, 3]
    assert all(array.dtype == np.int32 for array in graph)


@given(SEEDS)
def test_whatever_the_builder_builds_is_valid(seed):
    validate(random_hypergraph(np.random.default_rng(seed)))


@given(SEEDS)
def test_productive_nodes_have_derivations(seed):
    graph = random_hypergraph(np.random.default_rng(seed))
    assert productive(graph).tolist() == [count > 0 for count in count_derivations(graph)]


@given(SEEDS)
def test_reachable_nodes_occur_in_derivations_of_the_goal(seed):
    graph = random_hypergraph(np.random.default_rng(seed), max_nodes=5)
    expected = np.zeros(num_nodes(graph), dtype=bool)
    for derivation in brute_force.derivations(graph):
        expected[edge_heads(graph)[list(derivation)]] = True
    assert_array_equal(reachable(graph), expected)


@pytest.mark.parametrize(
    ("head", "tails", "message"),
    [
        (2, [], "edge 1 leads to node 2, of 2 nodes. Add the node first"),
        (-1, [], "edge 1 leads to node -1, of 2 nodes"),
        (1, [1], "edge 1 leads from node 1 to node 1. Tails are added before heads"),
        (1, [-1], "edge 1 leads from node -1 to node 1"),
        (0, [], "edge 1 leads to node 0, the edge before it to node 1. Add all edges into a node"),
    ],
)
def test_builder_refuses_what_is_not_topological(head, tails, message):
    builder = HypergraphBuilder()
    builder.add_node()
    builder.add_node()
    builder.add_edge(1, [0])
    with pytest.raises(InputError) as refusal:
        builder.add_edge(head, tails)
    assert str(refusal.value).startswith(message)
    assert num_edges(builder.build()) == 1


def test_builder_refuses_to_build_nothing():
    with pytest.raises(InputError, match="a hypergraph without nodes"):
        HypergraphBuilder().build()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("edge_start", [0.0], "edge_start is float64 of 1 dimensions instead of int32 of one"),
        ("tails", [[0]], "tails is int32 of 2 dimensions"),
        ("edge_start", [0], "edge_start has 1 entries, but there must be at least one node"),
        ("edge_start", [1, 1, 2, 2, 5], "edge_start does not begin with 0"),
        ("edge_start", [0, 2, 1, 2, 5], "edge_start[2] = 1 is smaller than edge_start[1] = 2"),
        ("edge_start", [0, 1, 2, 2, 4], "edge_start ends with 4, but there are 5 edges"),
        ("tail_start", [0, 0, 0, 2, 4, 6], "tail_start ends with 6, but there are 5 tails"),
        ("tail_start", [], "tail_start is empty"),
        ("tails", [0, 1, 0, 3, 1], "tails[3] = 3 is a tail of node 3, but tails are at least 0 and smaller"),
        ("tails", [0, 1, 0, -1, 1], "tails[3] = -1 is a tail of node 3"),
    ],
)
def test_validator_says_what_is_wrong(field, value, message):
    dtype = np.float64 if value == [0.0] and isinstance(value[0], float) else np.int32
    graph: Hypergraph = diamond()._replace(**{field: np.array(value, dtype=dtype)})
    with pytest.raises(InputError) as refusal:
        validate(graph)
    assert str(refusal.value).startswith(f"not a hypergraph: {message}")
