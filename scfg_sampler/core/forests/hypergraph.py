"""Directed acyclic hypergraphs: what forests are made of.

A hyperedge (tails → head) builds its head out of its tails, in order. A *derivation* of a node is a tree:
one of the incoming edges of the node, with a derivation of each tail below it. Nodes are numbered so that
every tail is smaller than its head: one upward pass over the ids sees tails before heads. The goal is the
last node.

The fact a newcomer would get wrong: a leaf is not a node without incoming edges. A leaf has an incoming edge
without tails; a node without incoming edges has no derivation, and neither has any edge that uses it.

The incoming edges of all nodes are stored one after the other, and so are the tails of all edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import InputError

__all__ = [
    "Hypergraph",
    "HypergraphBuilder",
    "edge_heads",
    "largest_arity",
    "largest_degree",
    "num_edges",
    "num_nodes",
    "productive",
    "reachable",
    "validate",
]


class Hypergraph(NamedTuple):
    """A hypergraph of N nodes and E edges with K tails altogether.

    Attributes
    ----------
    edge_start : int32, shape (N + 1,)
        The incoming edges of node v are edge_start[v] … edge_start[v + 1] − 1.
    tail_start : int32, shape (E + 1,)
        The tails of edge e are tails[tail_start[e]:tail_start[e + 1]].
    tails : int32, shape (K,)
        Every tail is smaller than its head. A node may be a tail of an edge more than once.
    """

    edge_start: np.ndarray
    tail_start: np.ndarray
    tails: np.ndarray


class HypergraphBuilder:
    """Builds a hypergraph node by node; ids of nodes and edges count up from 0 in the order of adding.

    >>> builder = HypergraphBuilder()
    >>> word = builder.add_node()
    >>> builder.add_edge(word, [])
    0
    >>> pair = builder.add_node()
    >>> builder.add_edge(pair, [word, word])
    1
    >>> builder.build().tails
    array([0, 0], dtype=int32)
    """

    def __init__(self) -> None:
        self._heads: list[int] = []
        self._tail_start = [0]
        self._tails: list[int] = []
        self._num_nodes = 0

    def add_node(self) -> int:
        """The id of a new node. Tails come before heads; the last node added is the goal."""
        self._num_nodes += 1
        return self._num_nodes - 1

    def add_edge(self, head: int, tails: Sequence[int]) -> int:
        """The id of a new edge into `head`.

        Raises
        ------
        InputError
            Head or tails do not exist, a tail is not smaller than the head, or an edge into a later node
            has been added before.
        """
        edge = len(self._heads)
        if not 0 <= head < self._num_nodes:
            found = f"edge {edge} leads to node {head}, of {self._num_nodes} nodes"
            raise InputError(None, None, found, "Add the node first")
        if self._heads and head < self._heads[-1]:
            found = f"edge {edge} leads to node {head}, the edge before it to node {self._heads[-1]}"
            raise InputError(None, None, found, "Add all edges into a node before those into the next")
        for tail in tails:
            if not 0 <= tail < head:
                found = f"edge {edge} leads from node {tail} to node {head}"
                raise InputError(None, None, found, "Tails are added before heads")
        self._heads.append(head)
        self._tails.extend(tails)
        self._tail_start.append(len(self._tails))
        return edge

    def build(self) -> Hypergraph:
        """The hypergraph of all nodes and edges added so far.

        Raises
        ------
        InputError
            There is no node.
        """
        if self._num_nodes == 0:
            raise InputError(None, None, "a hypergraph without nodes", "Add at least the goal")
        edge_start = np.searchsorted(self._heads, np.arange(self._num_nodes + 1)).astype(np.int32)
        return Hypergraph(
            edge_start, np.array(self._tail_start, dtype=np.int32), np.array(self._tails, dtype=np.int32)
        )


def validate(graph: Hypergraph) -> None:
    """Check that arrays which come from elsewhere are a hypergraph.

    Raises
    ------
    InputError
        Says which array is wrong, where, and why.
    """
    for name, array in zip(graph._fields, graph, strict=True):
        if array.dtype != np.int32 or array.ndim != 1:
            _refuse(f"{name} is {array.dtype} of {array.ndim} dimensions instead of int32 of one")
    edge_start, tail_start, tails = graph
    if len(edge_start) < 2:
        _refuse(f"edge_start has {len(edge_start)} entries, but there must be at least one node")
    if len(tail_start) == 0:
        _refuse("tail_start is empty")
    _check_offsets("edge_start", edge_start, "edges", len(tail_start) - 1)
    _check_offsets("tail_start", tail_start, "tails", len(tails))
    heads = np.repeat(edge_heads(graph), np.diff(tail_start))
    wrong = np.flatnonzero((tails < 0) | (tails >= heads))
    if len(wrong):
        found = f"tails[{wrong[0]}] = {tails[wrong[0]]} is a tail of node {heads[wrong[0]]}"
        _refuse(f"{found}, but tails are at least 0 and smaller than their heads")


def _check_offsets(name: str, offsets: np.ndarray, what: str, number: int) -> None:
    if offsets[0] != 0:
        _refuse(f"{name} does not begin with 0")
    falls = np.flatnonzero(np.diff(offsets) < 0)
    if len(falls):
        at = int(falls[0]) + 1
        _refuse(f"{name}[{at}] = {offsets[at]} is smaller than {name}[{at - 1}] = {offsets[at - 1]}")
    if offsets[-1] != number:
        _refuse(f"{name} ends with {offsets[-1]}, but there are {number} {what}")


def _refuse(found: str) -> None:
    raise InputError(None, None, f"not a hypergraph: {found}")


def num_nodes(graph: Hypergraph) -> int:
    """How many nodes there are, the goal included."""
    return len(graph.edge_start) - 1


def num_edges(graph: Hypergraph) -> int:
    """How many edges there are."""
    return len(graph.tail_start) - 1


def edge_heads(graph: Hypergraph) -> np.ndarray:
    """The head of every edge, int32 of shape (E,)."""
    return np.repeat(np.arange(num_nodes(graph), dtype=np.int32), np.diff(graph.edge_start))


def largest_degree(graph: Hypergraph) -> int:
    """The largest number of incoming edges of a node."""
    return int(np.diff(graph.edge_start).max())


def largest_arity(graph: Hypergraph) -> int:
    """The largest number of tails of an edge; 0 if there is no edge."""
    return int(np.diff(graph.tail_start).max(initial=0))


@kernel
def productive(graph: Hypergraph) -> np.ndarray:
    """Whether each node has a derivation, bool of shape (N,)."""
    size = len(graph.edge_start) - 1
    found = np.zeros(size, dtype=np.bool_)
    for node in range(size):
        for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
            complete = True
            for i in range(graph.tail_start[edge], graph.tail_start[edge + 1]):
                complete = complete and found[graph.tails[i]]
            found[node] = found[node] or complete
    return found


@kernel
def reachable(graph: Hypergraph) -> np.ndarray:
    """Whether each node occurs in a derivation of the goal, bool of shape (N,)."""
    size = len(graph.edge_start) - 1
    is_productive = productive(graph)
    found = np.zeros(size, dtype=np.bool_)
    found[size - 1] = is_productive[size - 1]
    for node in range(size - 1, -1, -1):
        if not found[node]:
            continue
        for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
            complete = True
            for i in range(graph.tail_start[edge], graph.tail_start[edge + 1]):
                complete = complete and is_productive[graph.tails[i]]
            if complete:
                for i in range(graph.tail_start[edge], graph.tail_start[edge + 1]):
                    found[graph.tails[i]] = True
    return found
