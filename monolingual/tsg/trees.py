"""Bracketed trees: reading files in the Penn style, writing, and folding.

A file holds trees one after the other, `(S (NP (DT the) (NN dog)) (VP (VBZ barks)))`, over as many lines as
they like. An outer bracket without a label is named `TOP`. Blank lines are skipped, and so are comments,
lines outside of trees that begin with `%`, `#` or `*x*`. Within a tree such a line is refused, unless it is a
word alone: that may be one.

Files of other formats (`treebank_files.py`) are recognised by their first line, and read if none of their
trees is discontinuous.

The fact a newcomer would get wrong: trees may be deeper than Python recurses (a flat list of a thousand
words, binarised), so whatever walks them goes through `fold` or a stack of its own. A child is a word if it
is a `str`; words may stand beside constituents.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from monolingual.tsg.treebank_files import GraphNode, SentenceGraph, continuous, gaps, kind_of, read_graphs
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import TreeError

__all__ = [
    "ROOT",
    "SourceTree",
    "Tree",
    "fold",
    "format_tree",
    "leaves",
    "parse_trees",
    "preterminals",
    "read_trees",
    "trees_of_lines",
    "with_leaves",
]

ROOT = "TOP"
"""The label of an outer bracket that has none."""

_TOKENS = re.compile(r"[()]|[^\s()]+", re.ASCII)  # A no-break space is a part of a word.
_COMMENT = re.compile(r"\s*(?:[%#]|\*x\*)")
_DEEPEST = 1_000_000  # Open brackets: a packed file of a few kilobytes may hold millions, and nothing else.
Folded = TypeVar("Folded")


class Tree(NamedTuple):
    """A constituent.

    Attributes
    ----------
    label : str
    children : tuple of Tree and str
        At least one; a str is a word.
    """

    label: str
    children: tuple[Tree | str, ...]


class SourceTree(NamedTuple):
    """A tree and the line of its file that it begins on, from 1."""

    tree: Tree
    line: int


def read_trees(path: PathLike, *, raising: bool = False) -> Iterator[SourceTree]:
    """The trees of a file; `-` is standard input, gzip is recognised.

    Parameters
    ----------
    path : path
    raising : bool
        Whether discontinuous trees are made continuous; otherwise they are refused.

    Raises
    ------
    TreeError
        Names the line of text outside of brackets, of brackets without children or without a label, of
        brackets that are not balanced, of a comment within a tree, and of a discontinuous tree.
    """
    return trees_of_lines(path, read_lines(path), raising=raising)


def trees_of_lines(path: PathLike, texts: Iterable[str], *, raising: bool = False) -> Iterator[SourceTree]:
    """The trees of the lines of a file, which `path` names in messages; see `read_trees`."""
    lines = enumerate(texts, start=1)
    before: list[tuple[int, str]] = []
    for number, line in lines:
        before.append((number, line))
        if line.strip() and not line.startswith("%%"):
            break
    kind = kind_of(before[-1][1]) if before else "brackets"
    following = itertools.chain(before, lines)
    if kind == "brackets":
        return parse_trees(path, following)
    return (_bracketed(path, graph, raising) for graph in read_graphs(path, kind, following))


def _bracketed(path: PathLike, graph: SentenceGraph, raising: bool) -> SourceTree:
    """A sentence of another format as a tree."""
    root = graph.root
    if broken := gaps(root):
        if not raising:
            words = " … ".join(graph.forms[at] for at in (broken[0].words[0], broken[0].words[-1]))
            found = f"the constituent {broken[0].label} is discontinuous ({words})"
            hint = "Brackets cannot hold it; 'tsg convert --raise' makes such trees continuous"
            raise TreeError(path, graph.line, found, hint)
        root = continuous(root)
    done: list[list[Tree | str]] = [[]]
    pending: list[tuple[GraphNode, bool]] = [(root, False)]
    while pending:
        node, is_done = pending.pop()
        if is_done:
            done[-2].append(Tree(node.label, tuple(done.pop())))
        elif not node.children:
            done[-1].append(Tree(node.label, (graph.forms[node.words[0]],)))
        else:
            done.append([])
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(node.children))
    (tree,) = done[0]
    assert isinstance(tree, Tree)
    return SourceTree(tree, graph.line)


def parse_trees(path: PathLike, lines: Iterable[tuple[int, str]]) -> Iterator[SourceTree]:
    """The trees of some numbered lines.

    Parameters
    ----------
    path : path
        What they are from, for messages.
    lines : iterable of (int, str)

    Raises
    ------
    TreeError
        As `read_trees` does.
    """
    stack: list[tuple[str, list[Tree | str], int]] = []
    wants_label = False
    number = comments = trees = 0
    for number, line in lines:
        if not stack and _COMMENT.match(line):
            comments += 1
            continue
        tokens = _TOKENS.findall(line)
        if stack and tokens[1:2] not in ([], ["("], [")"]) and _COMMENT.match(line):
            found = f"{' '.join(tokens)[:40]!r} within a tree, where there are no comments"
            hint = f"Move it out of the tree of line {stack[0][2]}; words go on the line before"
            raise TreeError(path, number, found, hint)
        for token in tokens:
            if token == "(":
                if len(stack) == _DEEPEST:
                    hint = f"The tree begins on line {stack[0][2]}; is one not closed?"
                    raise TreeError(path, number, f"a bracket within {_DEEPEST:,} others", hint)
                stack.append(("", [], number))
                wants_label = True
            elif token == ")":
                if not stack:
                    raise TreeError(path, number, "a closing bracket too many", "Balance the brackets")
                tree = _closed(path, stack)
                if stack:
                    stack[-1][1].append(tree.tree)
                else:
                    trees += 1
                    yield tree
                wants_label = False
            elif not stack:
                raise TreeError(
                    path, number, f"{token!r} stands outside of brackets", "Write (S (A a) (B b))"
                )
            elif wants_label:
                stack[-1] = (token, *stack[-1][1:])
                wants_label = False
            else:
                stack[-1][1].append(token)
    if stack:
        hint = f"The tree begins on line {stack[0][2]}"
        raise TreeError(
            path,
            number,
            f"{counted(len(stack), 'bracket is', 'brackets are')} not closed at the end of the file",
            hint,
        )
    if comments and not trees:
        found = "holds no tree: a line that begins with #, % or *x* is a comment, and there are no others"
        raise TreeError(path, number, found, "Write (S (A a) (B b))")


def _closed(path: PathLike, stack: list[tuple[str, list[Tree | str], int]]) -> SourceTree:
    """The constituent on top of the stack, removed from it."""
    label, children, line = stack.pop()
    if not children:
        shown = f"({label})" if label else "()"
        hint = "Write (TAG word) or (LABEL (TAG word) …), and -LRB- and -RRB- for brackets in words"
        raise TreeError(path, line, f"{shown} has no children", hint)
    if not label:
        if stack or any(isinstance(child, str) for child in children):
            raise TreeError(path, line, "a bracket without a label", "Only the outermost may have none")
        label = ROOT
    return SourceTree(Tree(label, tuple(children)), line)


def fold(
    tree: Tree, combine: Callable[[str, list], Folded], word: Callable[[str], Any] = lambda word: word
) -> Folded:
    """What `combine` makes of the root, applied from the leaves up.

    Parameters
    ----------
    tree : Tree
    combine : callable
        Given a label and the list of what became of the children.
    word : callable
        What becomes of a word; called from left to right.

    >>> fold(Tree("S", (Tree("A", ("a",)), "b")), lambda label, parts: label + "".join(parts))
    'SAab'
    """
    stack: list[tuple[Tree, list]] = [(tree, [])]
    while True:
        node, done = stack[-1]
        while len(done) < len(node.children):
            child = node.children[len(done)]
            if not isinstance(child, str):
                stack.append((child, []))
                break
            done.append(word(child))
        else:
            stack.pop()
            result = combine(node.label, done)
            if not stack:
                return result
            stack[-1][1].append(result)


def leaves(tree: Tree) -> list[str]:
    """The words of a tree."""
    words: list[str] = []
    pending: list[Tree | str] = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            words.append(item)
        else:
            pending.extend(reversed(item.children))
    return words


def preterminals(tree: Tree) -> list[str]:
    """The label above each word."""
    labels: list[str] = []
    pending: list[Tree] = [tree]
    while pending:
        node = pending.pop()
        labels.extend(node.label for child in node.children if isinstance(child, str))
        pending.extend(child for child in reversed(node.children) if not isinstance(child, str))
    return labels


def format_tree(tree: Tree, childless: str = "") -> str:
    """A tree on one line; `childless` is what a node without children has in their place.

    >>> format_tree(Tree("S", (Tree("A", ("a",)), "b")))
    '(S (A a) b)'
    """
    pieces: list[str] = []
    pending: list[Tree | str | None] = [tree]
    while pending:
        item = pending.pop()
        if item is None:
            pieces.append(")")
        elif isinstance(item, str):
            pieces.append(" " + item)
        else:
            pieces.append(f" ({item.label}" + ("" if item.children else childless))
            pending.append(None)
            pending.extend(reversed(item.children))
    return "".join(pieces).lstrip()


def with_leaves(tree: Tree, words: Sequence[str]) -> Tree:
    """The tree over other words, as many as it has; `words` may be longer."""
    following = iter(words)
    return fold(tree, lambda label, parts: Tree(label, tuple(parts)), lambda _: next(following))
