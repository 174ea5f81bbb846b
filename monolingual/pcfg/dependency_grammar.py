"""A dependency grammar over tags, written as a PCFG, and dependency trees as brackets.

The model with valence (Klein and Manning 2004; as a PCFG in Smith 2006): for each tag h

    S → N_h                  the root's tag
    N_h → F_h | X_h          stop to the left at once, or take a dependent
    X_h → N_c Y_h            a left dependent c
    Y_h → X_h | F_h          another one, or stop
    F_h → H_h | W_h          the same to the right
    W_h → V_h N_c
    V_h → W_h | H_h
    H_h → h

so each multinomial of the model is one nonterminal's: root, stop (by head, direction and adjacency), child
(by head and direction). Only N_h spells a constituent, h with all its dependents.

The fact a newcomer would get wrong: left dependents are generated from the outermost inwards, but with the
probabilities of the model, because only the first decision differs from the others and all have the same
children.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from monolingual.pcfg.grammar import Grammar, build_grammar
from monolingual.pcfg.grammar_text import spellable
from monolingual.pcfg.trees import escaped
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.numerals import whole_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["CONSTITUENTS", "TaggedSentence", "dependency_grammar", "format_brackets", "read_tagged"]

CONSTITUENTS = "N_.*"
"""A regular expression for the labels whose spans are constituents."""


class TaggedSentence(NamedTuple):
    """A sentence's tags and heads.

    Attributes
    ----------
    tags : tuple of str
    heads : tuple of int
        The position of each word's head, from 1; 0 for the root.
    """

    tags: tuple[str, ...]
    heads: tuple[int, ...]


def dependency_grammar(tags: Iterable[str]) -> Grammar:
    """The grammar over the given tags, in nonterminals as `spellable` writes them.

    >>> grammar = dependency_grammar(["DT", "NN"])
    >>> len(grammar.nonterminals), len(grammar.rhs_start) - 1
    (15, 28)
    """
    names = sorted(set(tags))

    def symbol(kind: str, tag: str) -> tuple[str, bool]:
        return spellable(f"{kind}_{tag}"), False

    rules: list[tuple[str, list[tuple[str, bool]]]] = [("S", [symbol("N", h)]) for h in names]
    for h in names:
        for left, rights in (("N", "FX"), ("Y", "XF"), ("F", "HW"), ("V", "WH")):
            rules.extend((symbol(left, h)[0], [symbol(right, h)]) for right in rights)
        rules.append((symbol("H", h)[0], [(h, True)]))
        rules.extend((symbol("X", h)[0], [symbol("N", c), symbol("Y", h)]) for c in names)
        rules.extend((symbol("W", h)[0], [symbol("V", h), symbol("N", c)]) for c in names)
    return build_grammar("S", rules)[0]


def read_tagged(path: PathLike, *, max_length: int = 10) -> Iterator[TaggedSentence]:
    """The sentences of a file of three columns (tags, heads, words) with at most `max_length` words.

    Raises
    ------
    InputError
        Names the line with too few columns, heads that are no numbers or out of range, or not one root.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 2:
            raise InputError(path, number, "one column", "Separate tags, heads and words by tabs")
        tags = tuple(map(sys.intern, split_words(columns[0])))  # There are few, and words are many.
        try:
            heads = tuple(map(whole_number, columns[1].split()))
        except ValueError:
            raise InputError(
                path, number, f"heads {columns[1]!r} are not numbers", "Count from 1; 0: root"
            ) from None
        if len(tags) != len(heads) or not all(0 <= head <= len(tags) for head in heads):
            found = f"{counted(len(tags), 'tag')} with the heads {columns[1]!r}"
            raise InputError(path, number, found, "Give each tag a head from 0 to the number of tags")
        if heads.count(0) != 1 or any(
            len(set(_path(heads, i))) != len(_path(heads, i)) for i in range(len(heads))
        ):
            raise InputError(path, number, f"the heads {columns[1]!r} are not a tree with one root", "")
        if len(tags) <= max_length:
            yield TaggedSentence(tags, heads)


def format_brackets(sentence: TaggedSentence) -> str:
    """The constituents of a dependency tree as a bracketed tree: each head with all its dependents.

    A subtree that is not one stretch of words (where the tree is not projective) is left out. A bracket in a
    tag is written -LRB- or -RRB-, as in STTS's `$(`.

    >>> format_brackets(TaggedSentence(("DT", "NN", "VBZ"), (2, 3, 0)))
    '(X (X DT NN) VBZ)'
    """
    size = len(sentence.tags)
    below: list[set[int]] = [set() for _ in range(size)]
    for word in range(size):
        for head in _path(sentence.heads, word):
            below[head].add(word)
    stretches = {(min(words), max(words) + 1) for words in below if max(words) - min(words) + 1 == len(words)}
    stretches = {(begin, end) for begin, end in stretches if end - begin > 1} | {(0, size)}
    pieces = []
    for word, tag in enumerate(sentence.tags):
        opened = sum(begin == word for begin, _ in stretches)
        closed = sum(end == word + 1 for _, end in stretches)
        pieces.append("(X " * opened + escaped(tag) + ")" * closed)
    return " ".join(pieces)


def _path(heads: tuple[int, ...], word: int) -> list[int]:
    """A word, its head, the head of that, … up to the root, or until one comes again."""
    path = [word]
    while heads[path[-1]] and len(path) <= len(heads):
        path.append(heads[path[-1]] - 1)
    return path
