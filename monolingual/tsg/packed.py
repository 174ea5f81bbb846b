"""Packed forests: all trees that a sentence may have, equal parts stored once.

A node is a constituent that may occur; each of its edges is one way to expand it, into nodes and words. A
tree of the forest takes one edge at the root, and one at every node that this leads to. Nodes come before
those that their edges lead to, the root first; of a forest with a single tree this is preorder.

The fact a newcomer would get wrong: a node has its place in the sentence. Material that occurs at two places
makes two nodes, so no tree goes through a node twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from monolingual.tsg.markov import BINARY_MARK, escaped
from monolingual.tsg.trees import ROOT, Tree, fold

__all__ = [
    "UNKNOWN",
    "ForestNode",
    "PackedForest",
    "RawNode",
    "arrange",
    "binarise_forest",
    "count_trees",
    "escaped_forest",
    "fill_brackets",
    "node_spans",
    "pack_trees",
    "tree_of_edges",
]

UNKNOWN = "?"
"""The label of a bracket whose label is not known."""


class ForestNode(NamedTuple):
    """A node: its label and edges, tuples of children: a node, or −1 − position of a word."""

    label: str
    edges: tuple[tuple[int, ...], ...]


class PackedForest(NamedTuple):
    """The words of a sentence and the nodes over them."""

    words: tuple[str, ...]
    nodes: tuple[ForestNode, ...]


class RawNode(NamedTuple):
    """A node before it has a place: its edges' children are keys of nodes, and words as `("word",)`."""

    label: str
    edges: Sequence[Sequence[Any]]


def arrange(nodes: dict[Any, RawNode], root: Any) -> PackedForest:
    """The forest below a root: nodes put in order, and one for every place at which they stand.

    Parameters
    ----------
    nodes : dict from key to RawNode
        In edges, what is no key of a node stands for a word, `("word",)`.
    root : key

    Raises
    ------
    ValueError
        A node is below itself, or the edges of a node are over different words. Its arguments are the key of
        that node and what is wrong.
    """
    lengths = _lengths(nodes, root)
    words: dict[int, str] = {}
    finished: list[tuple[Any, int]] = []
    children: dict[tuple[Any, int], list[list[Any]]] = {}
    pending: list[tuple[tuple[Any, int], bool]] = [((root, 0), False)]
    while pending:
        place, is_done = pending.pop()
        if is_done:
            finished.append(place)
            continue
        if place in children:
            continue
        key, begin = place
        below = children[place] = []
        pending.append((place, True))
        for edge in dict.fromkeys(map(tuple, nodes[key].edges)):
            at = begin
            made: list[Any] = []
            for child in edge:
                if child in nodes:
                    made.append((child, at))
                    pending.append(((child, at), False))
                    at += lengths[child]
                else:
                    if words.setdefault(at, child[0]) != child[0]:
                        raise ValueError(key, f"word {at + 1} is both {words[at]!r} and {child[0]!r}")
                    made.append(-1 - at)
                    at += 1
            below.append(made)
    numbers = {place: k for k, place in enumerate(reversed(finished))}
    arranged = [
        ForestNode(
            nodes[place[0]].label,
            tuple(tuple(c if isinstance(c, int) else numbers[c] for c in edge) for edge in children[place]),
        )
        for place in numbers
    ]
    return PackedForest(tuple(words[at] for at in range(lengths[root])), tuple(arranged))


def _lengths(nodes: dict[Any, RawNode], root: Any) -> dict[Any, int]:
    """How many words are below each node."""
    lengths: dict[Any, int] = {}
    opened: set[Any] = set()
    pending = [root]
    while pending:
        key = pending[-1]
        if key in lengths:
            pending.pop()
            continue
        missing = [c for edge in nodes[key].edges for c in edge if c in nodes and c not in lengths]
        if missing:
            if key in opened:
                raise ValueError(key, "is below itself")
            opened.add(key)
            pending.extend(missing)
            continue
        found = {sum(lengths[c] if c in nodes else 1 for c in edge) for edge in nodes[key].edges}
        if len(found) > 1:
            raise ValueError(key, f"has edges over {min(found)} and over {max(found)} words")
        (lengths[key],) = found
        pending.pop()
    return lengths


def pack_trees(trees: Sequence[Tree], by: str = "trees") -> PackedForest:
    """The forest of some trees over the same words.

    Parameters
    ----------
    trees : sequence of Tree
        With equal roots, or the root becomes `TOP`.
    by : str
        `trees`: no tree but these is in the forest; equal parts are stored once. `spans`: constituents with
        the same label over the same words are one node, so parts of different trees combine.

    Raises
    ------
    ValueError
        As `arrange` does: the trees are over different words.
    """
    nodes: dict[Any, RawNode] = {}
    numbers: dict[tuple, int] = {}
    roots: dict[int, None] = {}
    for tree in trees:
        position = itertools.count()

        def word(text: str, position=position) -> _Part:
            return _Part((text,), next(position), 1, 0)

        def combine(label: str, parts: list[_Part]) -> _Part:
            edge = tuple(part.key for part in parts)
            begin, width = parts[0].begin, sum(part.width for part in parts)
            # The height of the chain over the same words keeps nodes of equal spans from going round.
            chain = 1 + parts[0].chain if len(parts) == 1 else 1
            place = (label, begin, edge) if by == "trees" else (label, begin, width, chain)
            key = numbers.setdefault(place, len(numbers))
            nodes.setdefault(key, RawNode(label, [])).edges.append(edge)  # type: ignore[attr-defined]
            return _Part(key, begin, width, chain)

        roots[fold(tree, combine, word).key] = None
    return _under_one_root(nodes, list(roots))


class _Part(NamedTuple):
    """A child while trees are packed."""

    key: Any
    begin: int
    width: int
    chain: int


def _under_one_root(nodes: dict[Any, RawNode], roots: list[Any]) -> PackedForest:
    """The forest below these; a node `TOP` above them, or all their edges in one, if they are several."""
    if len(roots) == 1:
        return arrange(nodes, roots[0])
    labels = {nodes[root].label for root in roots}
    if len(labels) == 1:
        top = RawNode(labels.pop(), [edge for root in roots for edge in nodes[root].edges])
    else:
        top = RawNode(ROOT, [(root,) for root in roots])
    return arrange({**nodes, None: top}, None)


def fill_brackets(tree: Tree, labels: Sequence[str], tags: Sequence[str], root: str = ROOT) -> PackedForest:
    """The trees that do not contradict some brackets.

    A bracket over more than two parts is divided in two, and so on, in every way, with every label inside; a
    bracket labelled `?` may have any label. A bracket over one word is its tag. A word beside others gets
    every tag.

    Parameters
    ----------
    tree : Tree
    labels, tags : sequence of str
        Of constituents of several parts, or over another one; of words.
    root : str
        Of a node above the outermost bracket if that is labelled `?`.
    """
    nodes: dict[Any, RawNode] = {}

    def added(label: str, edges: list) -> Any:
        key = len(nodes)
        nodes[key] = RawNode(label, edges)
        return key

    def combine(label: str, parts: list) -> list:
        if len(parts) == 1 and isinstance(parts[0], tuple):
            return [added(tag, [(parts[0],)]) for tag in (tags if label == UNKNOWN else [label])]
        cells: dict[tuple[int, int], list] = {}
        for at, part in enumerate(parts):
            if isinstance(part, tuple):
                part = [added(tag, [(part,)]) for tag in tags]
            cells[at, at + 1] = part
        size = len(parts)
        names = labels if label == UNKNOWN else [label]
        if size == 1:
            return [added(name, [(child,) for child in cells[0, 1]]) for name in names]
        for width in range(2, size + 1):
            for begin in range(size - width + 1):
                end = begin + width
                edges = [
                    (left, right)
                    for split in range(begin + 1, end)
                    for left in cells[begin, split]
                    for right in cells[split, end]
                ]
                cells[begin, end] = [added(name, edges) for name in (names if width == size else labels)]
        return cells[0, size]

    roots = fold(tree, combine, lambda word: (word,))
    if tree.label == UNKNOWN:
        roots = [added(root, [(top,) for top in roots])]
    return arrange(nodes, roots[0])


def binarise_forest(forest: PackedForest) -> PackedForest:
    """The forest with no more than two children to an edge: its trees are those of this one, binarised.

    Parameters
    ----------
    forest : PackedForest
    """
    nodes: dict[Any, RawNode] = {}

    def part(child: int) -> Any:
        return child if child >= 0 else (forest.words[-1 - child],)

    for number, (label, edges) in enumerate(forest.nodes):
        name = escaped(label)
        made: list[tuple] = []
        for edge in edges:
            rest = tuple(map(part, edge[-2:]))
            for k in range(len(edge) - 3, -1, -1):
                # The same rest below the same label is the same node.
                key = (BINARY_MARK, name, edge[k + 1 :])
                nodes[key] = RawNode(BINARY_MARK + name, [rest])
                rest = (part(edge[k]), key)
            made.append(rest)
        nodes[number] = RawNode(name, made)
    return arrange(nodes, 0)


def escaped_forest(forest: PackedForest) -> PackedForest:
    """The forest as it is where nothing is binarised, its labels written as `markov.binarise` writes them.

    Parameters
    ----------
    forest : PackedForest
    """
    return forest._replace(nodes=tuple(ForestNode(escaped(label), edges) for label, edges in forest.nodes))


def node_spans(forest: PackedForest) -> list[tuple[int, int]]:
    """Where each node begins and ends, in words, half-open."""
    spans: list[tuple[int, int]] = [(0, 0)] * len(forest.nodes)

    def limits(child: int) -> tuple[int, int]:
        return spans[child] if child >= 0 else (-1 - child, -child)

    for number in range(len(forest.nodes) - 1, -1, -1):
        edge = forest.nodes[number].edges[0]
        spans[number] = (limits(edge[0])[0], limits(edge[-1])[1])
    return spans


def count_trees(forest: PackedForest) -> int:
    """How many trees there are."""
    counts = [0] * len(forest.nodes)
    for number in range(len(counts) - 1, -1, -1):
        for edge in forest.nodes[number].edges:
            trees = 1
            for child in edge:
                trees *= counts[child] if child >= 0 else 1
            counts[number] += trees
    return counts[0]


def tree_of_edges(forest: PackedForest, ranks: Iterable[int]) -> Tree:
    """The tree that takes these edges.

    Parameters
    ----------
    forest : PackedForest
    ranks : iterable of int
        For the tree's nodes in preorder, which of their edges.
    """
    following = iter(ranks)
    stack: list[tuple[str, list, list[int]]] = []  # label, children made, children to come (reversed)
    node = 0
    while True:
        label, edges = forest.nodes[node]
        stack.append((label, [], list(reversed(edges[next(following)]))))
        while True:
            label, made, to_come = stack[-1]
            while to_come and to_come[-1] < 0:
                made.append(forest.words[-1 - to_come.pop()])
            if to_come:
                node = to_come.pop()
                break
            stack.pop()
            done = Tree(label, tuple(made))
            if not stack:
                return done
            stack[-1][1].append(done)
