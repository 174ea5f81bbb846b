"""Treebanks as arrays: packed forests of trees, of which a tree is the case of one edge to a node.

A node is a constituent that may occur; an edge is one way to expand it: a production, label → labels and
words, and a node for every label on its right-hand side. Nodes are numbered within their sentence, 0 being
the root.

The fact a newcomer would get wrong: words have no nodes. They belong to the production above them, and so two
preterminals over different words have different productions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.tsg.packed import PackedForest, node_spans
from monolingual.tsg.trees import Tree
from scfg_sampler.core.forests.derivations import edge_posteriors
from scfg_sampler.core.forests.hypergraph import Hypergraph
from scfg_sampler.core.jit import kernel

__all__ = [
    "Productions",
    "Treebank",
    "TreebankBuilder",
    "build_treebank",
    "has_choices",
    "largest_trees",
    "production_counts",
]


class Productions(NamedTuple):
    """The productions of a treebank and the names of their symbols.

    Attributes
    ----------
    labels, words : tuple of str
    lhs : int32, shape (P,)
        A label.
    rhs_start : int64, shape (P + 1,)
    rhs : int32
        Production p expands to rhs[rhs_start[p]:rhs_start[p + 1]]; a label, or −1 − word.
    """

    labels: tuple[str, ...]
    words: tuple[str, ...]
    lhs: np.ndarray
    rhs_start: np.ndarray
    rhs: np.ndarray


class Treebank(NamedTuple):
    """A treebank of S sentences with N nodes and E edges altogether."""

    productions: Productions
    node_start: np.ndarray
    """int64 (S + 1,)."""
    label: np.ndarray
    """int32 (N,)."""
    spans: np.ndarray
    """int32 (N, 2): in words, half-open."""
    edge_start: np.ndarray
    """int64 (N + 1,): node n has the edges edge_start[n] … edge_start[n + 1] − 1."""
    production: np.ndarray
    """int32 (E,)."""
    tail_start: np.ndarray
    """int64 (E + 1,)."""
    tails: np.ndarray
    """int32: nodes, numbered within the sentence; larger than the node they are below."""

    @property
    def num_sentences(self) -> int:
        """S."""
        return len(self.node_start) - 1


class TreebankBuilder:
    """Collects trees and forests; `finish` makes the arrays."""

    def __init__(self) -> None:
        self._labels: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._productions: dict[tuple[int, ...], int] = {}
        # Arrays, since a list takes 36 bytes for a number, and a tuple of two some 130.
        self._node_start, self._edge_start, self._tail_start = (array("q", [0]) for _ in range(3))
        self._label, self._spans, self._production, self._tails = (array("i") for _ in range(4))

    def add(self, tree: Tree) -> None:
        """Add a sentence whose only tree is this one, its nodes in preorder."""
        base = len(self._label)
        position = 0
        open_nodes: list[tuple[int, int]] = []  # nodes and the next of their children
        nodes: list[Tree] = []
        below: list[list[int]] = []
        begins: list[int] = []
        ends: list[int] = []

        def begin(node: Tree) -> None:
            if open_nodes:
                below[open_nodes[-1][0]].append(len(nodes))
            open_nodes.append((len(nodes), 0))
            nodes.append(node)
            below.append([])
            begins.append(position)
            ends.append(position)

        begin(tree)
        while open_nodes:
            at, child = open_nodes.pop()
            children = nodes[at].children
            if child == len(children):
                ends[at] = position
                continue
            open_nodes.append((at, child + 1))
            following = children[child]
            if isinstance(following, str):
                position += 1
            else:
                begin(following)
        for at, node in enumerate(nodes):
            production = self._production_of(node)
            self._add_node(production[0], (begins[at], ends[at]), [(production, below[at])])
        assert len(self._label) == base + len(nodes)
        self._node_start.append(len(self._label))

    def add_forest(self, forest: PackedForest) -> None:
        """Add a sentence with several trees."""
        spans = node_spans(forest)
        for node, span in zip(forest.nodes, spans, strict=True):
            label = self._labels.setdefault(node.label, len(self._labels))
            edges = []
            for edge in node.edges:
                production = [label]
                for child in edge:
                    if child < 0:
                        word = forest.words[-1 - child]
                        production.append(-1 - self._words.setdefault(word, len(self._words)))
                    else:
                        below = forest.nodes[child].label
                        production.append(self._labels.setdefault(below, len(self._labels)))
                edges.append((tuple(production), [child for child in edge if child >= 0]))
            self._add_node(label, span, edges)
        self._node_start.append(len(self._label))

    def _production_of(self, node: Tree) -> tuple[int, ...]:
        symbols = [self._labels.setdefault(node.label, len(self._labels))]
        for child in node.children:
            if isinstance(child, str):
                symbols.append(-1 - self._words.setdefault(child, len(self._words)))
            else:
                symbols.append(self._labels.setdefault(child.label, len(self._labels)))
        return tuple(symbols)

    def _add_node(
        self,
        label: int,
        span: tuple[int, int],
        edges: Sequence[tuple[tuple[int, ...], list[int]]],
    ) -> None:
        self._label.append(label)
        self._spans.extend(span)
        for production, tails in edges:
            number = self._productions.setdefault(production, len(self._productions))
            self._production.append(number)
            self._tails.extend(tails)
            self._tail_start.append(len(self._tails))
        self._edge_start.append(len(self._production))

    def finish(self) -> Treebank:
        """The treebank."""
        starts, symbols = array("q", [0]), array("i")
        for rule in self._productions:
            symbols.extend(rule[1:])
            starts.append(len(symbols))
        lhs = np.fromiter((rule[0] for rule in self._productions), np.int32, len(self._productions))
        words = tuple(self._labels), tuple(self._words)
        return Treebank(
            Productions(*words, lhs, _array(starts), _array(symbols)),
            _array(self._node_start),
            _array(self._label),
            _array(self._spans).reshape(-1, 2),
            _array(self._edge_start),
            _array(self._production),
            _array(self._tail_start),
            _array(self._tails),
        )


def _array(numbers: array) -> np.ndarray:
    """The numbers, not copied."""
    return np.frombuffer(numbers, np.int64 if numbers.typecode == "q" else np.int32)


def build_treebank(trees: Iterable[Tree], forests: Iterable[PackedForest] = ()) -> Treebank:
    """The treebank of some trees and, after them, of some sentences with several trees.

    Parameters
    ----------
    trees : iterable of Tree
    forests : iterable of PackedForest
    """
    builder = TreebankBuilder()
    for tree in trees:
        builder.add(tree)
    for forest in forests:
        builder.add_forest(forest)
    return builder.finish()


def has_choices(treebank: Treebank) -> np.ndarray:
    """Whether each sentence has several trees; bool (S,)."""
    starts = treebank.node_start
    edges = treebank.edge_start[starts[1:]] - treebank.edge_start[starts[:-1]]
    return edges > np.diff(starts)


def production_counts(treebank: Treebank) -> np.ndarray:
    """How often each production is in the trees; float64 (P,).

    Of a sentence with several trees, the mean over them all, every tree counting the same.
    """
    weights = np.ones(len(treebank.production))
    for sentence in np.flatnonzero(has_choices(treebank)).tolist():
        first, stop = treebank.node_start[sentence : sentence + 2].tolist()
        edges = slice(treebank.edge_start[first], treebank.edge_start[stop])
        graph = _upside_down(treebank, first, stop)
        weights[edges] = edge_posteriors(graph, np.zeros(edges.stop - edges.start))[::-1]
    return np.bincount(treebank.production, weights=weights, minlength=len(treebank.productions.lhs))


def _upside_down(treebank: Treebank, first: int, stop: int) -> Hypergraph:
    """The nodes first … stop − 1, edges and tails in the opposite order, so that tails come before heads."""
    edge_start = treebank.edge_start[first : stop + 1]
    tail_start = treebank.tail_start[edge_start[0] : edge_start[-1] + 1]
    tails = treebank.tails[tail_start[0] : tail_start[-1]]
    return Hypergraph(
        (edge_start[-1] - edge_start[::-1]).astype(np.int32),
        (tail_start[-1] - tail_start[::-1]).astype(np.int32),
        (stop - first - 1 - tails[::-1]).astype(np.int32),
    )


def largest_trees(treebank: Treebank) -> np.ndarray:
    """How many nodes the largest tree of each sentence has; int64 (S,)."""
    sizes = np.diff(treebank.node_start)
    _, node_start, _, _, edge_start, _, tail_start, tails = treebank
    _measure_trees(np.flatnonzero(has_choices(treebank)), node_start, edge_start, tail_start, tails, sizes)
    return sizes


@kernel
def _measure_trees(sentences, node_start, edge_start, tail_start, tails, sizes):
    for sentence in sentences:
        first = node_start[sentence]
        largest = np.zeros(node_start[sentence + 1] - first, np.int64)
        for node in range(largest.shape[0] - 1, -1, -1):
            for edge in range(edge_start[first + node], edge_start[first + node + 1]):
                size = 1
                for t in range(tail_start[edge], tail_start[edge + 1]):
                    size += largest[tails[t]]
                largest[node] = max(largest[node], size)
        sizes[sentence] = largest[0]
