"""Sentences that may have several trees, read from files: lists of trees, forests, brackets, plain words.

`read_nbest`      lines `number ||| tree ||| …`, the trees of a sentence on lines of the same number.
`read_forests`    lines `NODE -> child child …`, blocks with a blank line between them, the first node the
                  root. A child that has no line of its own in the block is a word. A node's label is its name
                  up to the last `#`: `NP#3` is an NP.
`read_brackets`   trees in which `?` stands for a label that is not known, and a bracket over more than two
                  parts for one whose inside is not known.
`read_sentences`  words, a sentence a line: `read_brackets` of a single bracket.

The fact a newcomer would get wrong: in a list of trees everything is known but which of them it is; in
brackets what is flat is unknown inside, not flat. A bracket in a word of a sentence, or in a name of a
forest, becomes -LRB- or -RRB-: trees are written with brackets around them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from monolingual.tsg.packed import (
    UNKNOWN,
    PackedForest,
    RawNode,
    arrange,
    fill_brackets,
    pack_trees,
)
from monolingual.tsg.treebank_files import escaped
from monolingual.tsg.trees import Tree, fold, leaves, parse_trees, read_trees
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import TreeError

__all__ = [
    "LARGEST_DEGREE",
    "SourceForest",
    "read_brackets",
    "read_forests",
    "read_nbest",
    "read_sentences",
]

LARGEST_DEGREE = (1 << 15) - 1
"""Edges that a node may have: a derivation stores which in 15 bits."""


class SourceForest(NamedTuple):
    """A forest and the line of its file that it begins on, from 1."""

    forest: PackedForest
    line: int


def read_nbest(
    path: PathLike, transform: Callable[[Tree], Tree | None], pack: str = "trees"
) -> Iterator[SourceForest]:
    """The lists of trees of a file, each packed into a forest; `-` is standard input, gzip is recognised.

    Parameters
    ----------
    path : path
    transform : callable
        What is made of a tree before it is packed; None if nothing is left.
    pack : str
        `trees` or `spans`, as `pack_trees` has it.

    Raises
    ------
    TreeError
        Names the line that is no tree, or has other words than the first of its list.
    """
    trees: list[Tree] = []
    words: list[str] = []
    name, first = "", 0

    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        sentence, bars, rest = line.partition("|||")
        sentence = sentence.strip()
        if not bars or not sentence:
            raise TreeError(path, number, f"{line.strip()[:40]!r} is no entry of a list", _NBEST_HINT)
        found = list(parse_trees(path, [(number, _before_bars(rest))]))
        if len(found) != 1:
            raise TreeError(path, number, f"{counted(len(found), 'tree')} between the bars", _NBEST_HINT)
        tree = transform(found[0].tree)
        if sentence != name and trees:
            yield _checked(path, first, pack_trees(trees, pack))
            trees = []
        if tree is None:
            continue
        if not trees:
            name, first, words = sentence, number, leaves(tree)
        elif leaves(tree) != words:
            found_words = " ".join(leaves(tree))
            hint = f"The list that begins on line {first} is over: {' '.join(words)}"
            raise TreeError(path, number, f"a tree over other words: {found_words}", hint)
        trees.append(tree)
    if trees:
        yield _checked(path, first, pack_trees(trees, pack))


def _before_bars(text: str) -> str:
    """What stands before the bars that are no word of a tree."""
    depth = 0
    for found in _BARS_AND_BRACKETS.finditer(text):
        if found[0] == "|||" and depth == 0:
            return text[: found.start()]
        depth += {"(": 1, ")": -1}.get(found[0], 0)
    return text


_BARS_AND_BRACKETS = re.compile(r"\|\|\||[()]")
_NBEST_HINT = "Write a tree a line, 12 ||| (S (A a) (B b)), with the number of its sentence"


def read_forests(path: PathLike) -> Iterator[SourceForest]:
    """The packed forests of a file; `-` is standard input, gzip is recognised.

    Raises
    ------
    TreeError
        Names the line that is no edge, or the node that is below itself, or over different words.
    """
    block: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith("%"):
            continue
        symbols = split_words(line)
        if symbols:
            if len(symbols) < 3 or symbols[1] != "->":
                raise TreeError(path, number, f"{line.strip()[:40]!r} is no edge", "Write S#1 -> NP#2 VP#3")
            block.append((number, symbols[0], symbols[2:]))
        elif block:
            yield _forest_of(path, block)
            block = []
    if block:
        yield _forest_of(path, block)


def _forest_of(path: PathLike, block: list[tuple[int, str, list[str]]]) -> SourceForest:
    lines: dict[str, int] = {}
    nodes: dict[Any, RawNode] = {}
    for number, name, _ in block:
        lines.setdefault(name, number)
    for _, name, children in block:
        label, mark, _ = name.rpartition("#")
        node = nodes.setdefault(name, RawNode(escaped(label if mark and label else name), []))
        edge = [child if child in lines else (escaped(child),) for child in children]
        node.edges.append(edge)  # type: ignore[attr-defined]
    try:
        forest = arrange(nodes, block[0][1])
    except ValueError as error:
        key, found = error.args
        hint = "Every way to expand a node must be over the same words; use two nodes otherwise"
        raise TreeError(path, lines[key], f"node {key}: {found}", hint) from None
    return _checked(path, block[0][0], forest)


def read_brackets(
    path: PathLike,
    labels: Sequence[str],
    tags: Sequence[str],
    root: str,
    longest: int,
    transform: Callable[[Tree], Tree | None] = lambda tree: tree,
) -> Iterator[SourceForest]:
    """The trees that go with the brackets of a file; `-` is standard input, gzip is recognised.

    Parameters
    ----------
    path : path
    labels, tags : sequence of str
        What `?` may be: above constituents, above a word.
    root : str
        The label of a node above an outermost bracket labelled `?`.
    longest : int
        Words in a sentence at the most.
    transform : callable
        What is made of a tree before it is filled; None if nothing is left.

    Raises
    ------
    TreeError
        Names the line of what `read_trees` refuses, and of a sentence that is too long.
    """
    for source, line in read_trees(path):
        tree = transform(source)
        if tree is not None:
            yield _filled(path, line, tree, labels, tags, root, longest)


def read_sentences(
    path: PathLike, labels: Sequence[str], tags: Sequence[str], root: str, longest: int
) -> Iterator[SourceForest]:
    """All binary trees over the sentences of a file, one a line; parameters as in `read_brackets`.

    Raises
    ------
    TreeError
        Names the line of a sentence that is too long.
    """
    for number, line in enumerate(read_lines(path), start=1):
        words = tuple(map(escaped, split_words(line)))
        if words:
            yield _filled(path, number, Tree(UNKNOWN, words), labels, tags, root, longest)


def _filled(
    path: PathLike, line: int, tree: Tree, labels: Sequence[str], tags: Sequence[str], root: str, longest: int
) -> SourceForest:
    size = len(leaves(tree))
    if size > longest:
        hint = "Leave the sentence out, or allow it: forests grow with the third power of the length"
        raise TreeError(path, line, f"{counted(size, 'word')}; at most {longest} are allowed", hint)
    # Before the forest is built, for it might not fit into memory.
    parts = fold(tree, lambda _, below: max(len(below), *below), lambda _: 0)
    _refuse_degree(path, line, (parts - 1) * max(len(labels), len(tags)) ** 2)
    return _checked(path, line, fill_brackets(tree, labels, tags, root))


def _checked(path: PathLike, line: int, forest: PackedForest) -> SourceForest:
    _refuse_degree(path, line, max(len(node.edges) for node in forest.nodes))
    return SourceForest(forest, line)


def _refuse_degree(path: PathLike, line: int, degree: int) -> None:
    if degree > LARGEST_DEGREE:
        found = f"{degree} ways to expand a constituent; at most {LARGEST_DEGREE} are possible"
        raise TreeError(path, line, found, "Give fewer labels, or leave the sentence out")
