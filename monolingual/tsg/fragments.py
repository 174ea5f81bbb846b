"""Elementary trees spelled: from a chain's state to text and back.

An elementary tree is written like a tree, a frontier nonterminal with nothing in its brackets:
`(VP (VBZ gives) (NP ) (NP ))`. A grammar file has one a line, its count and a tab before it, `17`, or, where
there is a discount, `17/3`: its customers and their tables. Counts need not be whole where they are means of
several samples.

The fact a newcomer would get wrong: `(NP )` is a frontier nonterminal, `NP` without brackets a word.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np

from monolingual.tsg.forest import new_tree_forest, new_tree_workspace
from monolingual.tsg.stored import StoredTrees
from monolingual.tsg.sweep import list_fragments
from monolingual.tsg.treebank import Treebank, production_counts
from monolingual.tsg.trees import Tree, format_tree
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.fragments.restaurant import LIVE, Restaurants
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import TreeError

__all__ = [
    "CountedFragment",
    "StoredFragments",
    "format_fragment",
    "format_production",
    "mean_fragments",
    "parse_fragment",
    "production_fragments",
    "read_fragments",
    "seated_fragments",
    "spelled_fragment",
    "write_fragments",
]

_LARGEST_COUNT = 1e15  # Sums of such lose no single one.
_TOKENS = re.compile(r"[()]|[^\s()]+", re.ASCII)
_NO_TREE = "the brackets are not those of an elementary tree"
_NOT_ONE = "the brackets are not those of one elementary tree"


class CountedFragment(NamedTuple):
    """An elementary tree and its count.

    Attributes
    ----------
    fragment : Tree
        A frontier nonterminal is a Tree without children.
    count : float
    """

    fragment: Tree
    count: float  # type: ignore[assignment]


class StoredFragments(Sequence[CountedFragment]):
    """Elementary trees and their counts in flat arrays; one is made whenever it is asked for.

    Attributes
    ----------
    tables : array of float
        At how many tables the customers of each sit; 0 where nothing says so.
    """

    def __init__(self) -> None:
        self.trees, self.counts, self.tables = StoredTrees(), array("d"), array("d")

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, place: int) -> CountedFragment: ...

    @overload
    def __getitem__(self, place: slice) -> list[CountedFragment]: ...

    def __getitem__(self, place: int | slice) -> CountedFragment | list[CountedFragment]:
        if isinstance(place, slice):
            return [*map(CountedFragment, self.trees[place], self.counts[place])]
        return CountedFragment(self.trees[place], self.counts[place])

    def __iter__(self) -> Iterator[CountedFragment]:
        return map(CountedFragment, self.trees, self.counts)


def seated_fragments(
    treebank: Treebank, restaurants: Restaurants, trees: np.ndarray
) -> tuple[list[CountedFragment], list[int]]:
    """The elementary trees of all derivations with their counts, in order of first use, and their tables.

    Parameters
    ----------
    treebank : Treebank
    restaurants : Restaurants
        Seating these derivations. Without a discount nobody counts tables: 0.
    trees : uint16 (N,)
        As in `TsgState`.
    """
    # Nobody asks this forest for probabilities.
    forest = new_tree_forest(treebank, np.zeros(len(treebank.productions.lhs)))
    work = new_tree_workspace(treebank)
    room = int(restaurants.totals[LIVE])
    counts = np.zeros((room, 2), np.int64)
    start = np.zeros(room + 1, np.int64)
    # Edge and cut bit of every node of a fragment, frontier nodes included, in preorder.
    codes = np.zeros((2 * int(treebank.node_start[-1]), 2), np.int64)
    size = list_fragments(forest, restaurants, work, treebank.node_start, trees, counts, start, codes)
    found = []
    for k in range(size):
        edges, frontier = codes[start[k] : start[k + 1]].T.tolist()
        found.append(CountedFragment(spelled_fragment(treebank, edges, frontier), int(counts[k, 0])))
    return found, counts[:size, 1].tolist()


def spelled_fragment(treebank: Treebank, productions: list[int], is_frontier: list[int]) -> Tree:
    """The tree whose nodes have these productions in preorder, or, frontiers, these labels."""
    labels, words, lhs, rhs_start, rhs = treebank.productions
    following = iter(zip(productions, is_frontier, strict=True))
    stack: list[tuple[str, list[Tree | str], list[int]]] = []  # label, children, symbols to come (reversed)
    while True:
        number, frontier = next(following)
        if frontier:
            done: Tree | None = Tree(labels[number], ())
        else:
            symbols = rhs[rhs_start[number] : rhs_start[number + 1]].tolist()
            stack.append((labels[lhs[number]], [], symbols[::-1]))
            done = None
        while stack:
            label, children, symbols = stack[-1]
            if done is not None:
                children.append(done)
                done = None
            while symbols and symbols[-1] < 0:
                children.append(words[-1 - symbols.pop()])
            if symbols:
                symbols.pop()
                break
            stack.pop()
            done = Tree(label, tuple(children))
        if done is not None and not stack:
            return done


def production_fragments(treebank: Treebank) -> list[CountedFragment]:
    """The productions of a treebank as elementary trees of depth one, with their counts."""
    counts = production_counts(treebank).tolist()
    return [CountedFragment(format_production(treebank, k), count) for k, count in enumerate(counts)]


def format_production(treebank: Treebank, number: int) -> Tree:
    """A production as an elementary tree."""
    labels, words, lhs, rhs_start, rhs = treebank.productions
    symbols = rhs[rhs_start[number] : rhs_start[number + 1]].tolist()
    children = (words[-1 - symbol] if symbol < 0 else Tree(labels[symbol], ()) for symbol in symbols)
    return Tree(labels[lhs[number]], tuple(children))


def format_fragment(fragment: Tree) -> str:
    """An elementary tree as text.

    >>> format_fragment(Tree("VP", (Tree("VBZ", ("gives",)), Tree("NP", ()))))
    '(VP (VBZ gives) (NP ))'
    """
    return format_tree(fragment, " ")


def parse_fragment(text: str) -> Tree:
    """The elementary tree of a text.

    Raises
    ------
    ValueError
        It is not one.

    >>> parse_fragment("(VP (VBZ gives) (NP ))").children[1]
    Tree(label='NP', children=())
    """
    stack: list[list] = [[]]
    for token in _TOKENS.findall(text):
        if token == "(":
            stack.append([])
        elif token != ")":
            stack[-1].append(token)
        elif len(stack) == 1 or not stack[-1] or not isinstance(stack[-1][0], str):
            raise ValueError(_NO_TREE)
        else:
            label, *children = stack.pop()
            stack[-1].append(Tree(label, tuple(children)))
    if len(stack) != 1 or len(stack[0]) != 1 or isinstance(stack[0][0], str) or not stack[0][0].children:
        raise ValueError(_NOT_ONE)
    return stack[0][0]


def write_fragments(
    path: PathLike, fragments: Iterable[CountedFragment], tables: Iterable[int] = itertools.repeat(0)
) -> None:
    """Write a grammar file.

    Parameters
    ----------
    path : path
    fragments : iterable of CountedFragment
    tables : iterable of int
        Of the customers of each; 0: not written.
    """
    with atomic_output(path) as stream:
        for (tree, count), number in zip(fragments, tables, strict=False):
            seats = f"/{number}" if number else ""
            stream.write(f"{count:.12g}{seats}\t{format_fragment(tree)}\n")


def read_fragments(path: PathLike) -> StoredFragments:
    """The elementary trees of a grammar file.

    Raises
    ------
    TreeError
        Names the line that has no count or no elementary tree.
    """
    found = StoredFragments()
    for codes, count, tables in _read_codes(path, found.trees.symbols):
        found.trees.add_codes(codes)
        found.counts.append(count)
        found.tables.append(tables)
    return found


def mean_fragments(paths: Sequence[PathLike]) -> StoredFragments:
    """The elementary trees of some grammar files, each with its mean counts and tables, 0 where it is not.

    Raises
    ------
    TreeError
        As `read_fragments` does.
    """
    found = StoredFragments()
    numbers: dict[bytes, int] = {}
    for path in paths:
        for codes, count, tables in _read_codes(path, found.trees.symbols):
            number = numbers.setdefault(array("i", codes).tobytes(), len(numbers))
            if number == len(found):
                found.trees.add_codes(codes)
                found.counts.append(0.0)
                found.tables.append(0.0)
            found.counts[number] += count / len(paths)
            found.tables[number] += tables / len(paths)
    return found


def _read_codes(path: PathLike, symbols: Vocabulary) -> Iterator[tuple[list[int], float, float]]:
    """The elementary trees of a grammar file as `StoredTrees` has them, their counts and their tables."""
    for number, line in enumerate(read_lines(path), start=1):
        counts, _, text = line.partition("\t")
        count, has_tables, tables = counts.partition("/")
        try:
            value, seats = real_number(count), real_number(tables) if has_tables else 0.0
            if not 0.0 < value <= _LARGEST_COUNT:
                raise ValueError(f"the count is {count}")
            if has_tables and not 0.0 < seats <= value:
                raise ValueError(f"{count} customers sit at {tables} tables")
            yield _fragment_codes(text, symbols), value, seats
        except ValueError as error:
            raise TreeError(path, number, f"not a count and an elementary tree ({error})") from None


def _fragment_codes(text: str, symbols: Vocabulary) -> list[int]:
    """The elementary tree of a text, as numbers; ValueError as of `parse_fragment`."""
    codes: list[int] = []
    depth, wants_label = 0, False
    for token in _TOKENS.findall(text):
        if token == ")":
            if wants_label or not depth:
                raise ValueError(_NO_TREE)
            depth -= 1
            codes.append(0)
        elif token == "(":
            if wants_label:
                raise ValueError(_NO_TREE)
            if codes and not depth:
                raise ValueError(_NOT_ONE)
            depth += 1
            wants_label = True
        elif not depth:
            raise ValueError(_NOT_ONE)
        else:
            number = symbols.add(token)
            codes.append(1 + number if wants_label else -1 - number)
            wants_label = False
    if depth or len(codes) < 3:
        raise ValueError(_NOT_ONE)
    return codes
