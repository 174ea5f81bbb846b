"""Trees and forests in flat arrays, which take a few times the room of their text; objects take thirty times.

A tree is the numbers of its symbols in preorder: 1 + the number of a label, which opens a constituent, 0,
which closes it, and −1 − that of a word. A forest is its words, how many they are before them, and its nodes:
each a label, the number of its edges, and every edge's number of children before these.

The fact a newcomer would get wrong: an item is made anew whenever it is asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from typing import TypeVar

from monolingual.tsg.packed import ForestNode, PackedForest
from monolingual.tsg.trees import Tree
from scfg_sampler.core.arrays.on_demand import OnDemand
from scfg_sampler.core.arrays.vocabulary import Vocabulary

__all__ = ["StoredForests", "StoredTrees"]

_CLOSE = 0
Item = TypeVar("Item")


class _Stored(OnDemand[Item]):
    """Items as numbers, each between two places of an array."""

    def __init__(self, items: Iterable[Item] = ()):
        self.symbols = Vocabulary()
        self._codes, self._start = array("i"), array("q", [0])
        for item in items:
            self.append(item)

    @abstractmethod
    def _write(self, item: Item) -> None:
        """Add the numbers of an item to the others."""

    @abstractmethod
    def _read(self, codes: array[int]) -> Item:
        """The item of some numbers."""

    def append(self, item: Item) -> None:
        """Add an item behind the others."""
        self._write(item)
        self._start.append(len(self._codes))

    def codes(self, number: int) -> array[int]:
        """The numbers of an item, which is counted from 0."""
        return self._codes[self._start[number] : self._start[number + 1]]

    def __len__(self) -> int:
        return len(self._start) - 1

    def _made(self, number: int) -> Item:
        return self._read(self.codes(number))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


class StoredTrees(_Stored[Tree]):
    """A sequence of trees; those of a node without children too."""

    def _write(self, tree: Tree) -> None:
        add, number = self._codes.append, self.symbols.add
        pending: list[Tree | str | None] = [tree]
        while pending:
            item = pending.pop()
            if item is None:
                add(_CLOSE)
            elif isinstance(item, str):
                add(-1 - number(item))
            else:
                add(1 + number(item.label))
                pending.append(None)
                pending.extend(reversed(item.children))

    def add_codes(self, codes: Iterable[int]) -> None:
        """Add a tree as its numbers, those of labels and words being theirs in `symbols`."""
        self._codes.extend(codes)
        self._start.append(len(self._codes))

    def _read(self, codes: array[int]) -> Tree:
        words = self.symbols.words
        open_nodes: list[tuple[str, list[Tree | str]]] = [("", [])]
        for code in codes:
            if code > 0:
                open_nodes.append((words[code - 1], []))
            elif code < 0:
                open_nodes[-1][1].append(words[-1 - code])
            else:
                label, children = open_nodes.pop()
                open_nodes[-1][1].append(Tree(label, tuple(children)))
        (tree,) = open_nodes[0][1]
        assert isinstance(tree, Tree)
        return tree


class StoredForests(_Stored[PackedForest]):
    """A sequence of packed forests."""

    def _write(self, forest: PackedForest) -> None:
        codes, number = self._codes, self.symbols.add
        codes.append(len(forest.words))
        codes.extend(map(number, forest.words))
        for label, edges in forest.nodes:
            codes.append(number(label))
            codes.append(len(edges))
            for edge in edges:
                codes.append(len(edge))
                codes.extend(edge)

    def _read(self, codes: array[int]) -> PackedForest:
        words = self.symbols.words
        at = 1 + codes[0]
        sentence = tuple(words[number] for number in codes[1:at])
        nodes = []
        while at < len(codes):
            label, size = words[codes[at]], codes[at + 1]
            at += 2
            edges = []
            for _ in range(size):
                end = at + 1 + codes[at]
                edges.append(tuple(codes[at + 1 : end]))
                at = end
            nodes.append(ForestNode(label, tuple(edges)))
        return PackedForest(sentence, tuple(nodes))
