"""Which words of a translation come from which words of the source.

A derivation is a tree of rules. The words on the source side of a rule, and those on its target side, belong
together; what the rules in its gaps cover belongs to them. So every source word and every target word is in
exactly one phrase, which may have gaps on either side, or be empty on one.

The fact a newcomer would get wrong: the words within a rule are not told apart, though the table once had
their alignment; compiled grammars leave it out.
"""

from __future__ import annotations

from typing import NamedTuple

from decoder.search.chart import COPY, GLUE
from decoder.translation.decoder import Decoder
from decoder.translation.results import SearchResult, Translation

__all__ = ["Phrase", "phrases_of"]


class Phrase(NamedTuple):
    """Words of both sides that one rule has put together.

    source, target : positions of words, ascending
    is_copied : whether the grammar did not know the word
    """

    source: list[int]
    target: list[int]
    is_copied: bool


def phrases_of(decoder: Decoder, result: SearchResult, translation: Translation) -> list[Phrase]:
    """The phrases of a translation, in the order of the derivation, top down and from left to right."""
    forest, grammar = result.forest, decoder.grammar
    edges = translation.edges.tolist()
    children, spans = _tree(result, edges)
    phrases: list[Phrase] = []
    place_of: dict[int, int] = {}  # The phrase of each edge that has words of its own.
    for at, edge in enumerate(edges):
        rule = int(forest.rule[edge])
        if rule >= 0 or rule == COPY:
            inside = {i for child in children[at] for i in range(*spans[child])}
            place_of[at] = len(phrases)
            phrases.append(Phrase([i for i in range(*spans[at]) if i not in inside], [], rule == COPY))
    position = 0
    stack: list[tuple[int, int]] = [(0, 0)] if edges else []  # An edge, and how far its target side is read.
    while stack:
        at, read = stack.pop()
        rule = int(forest.rule[edges[at]])
        if rule >= 0:
            begin, end = int(grammar.target_start[rule]), int(grammar.target_start[rule + 1])
            side = grammar.target[begin:end].tolist()
        elif rule == COPY:
            word = spans[at][0]
            side = [0] * int(result.copied[0][word + 1] - result.copied[0][word])
        else:
            side = [-1, -2] if rule == GLUE else [-1]
        for done in range(read, len(side)):
            if side[done] < 0:
                stack += [(at, done + 1), (children[at][-1 - side[done]], 0)]
                break
            phrases[place_of[at]].target.append(position)
            position += 1
    return phrases


def _tree(result: SearchResult, edges: list[int]) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """The children of each edge of a derivation in preorder, in source order, and the span it covers."""
    forest, chart = result.forest, result.chart
    children: list[list[int]] = []
    spans: list[tuple[int, int]] = []
    waiting: list[int] = []  # Edges that a child comes next for, the nearest last.
    for at, edge in enumerate(edges):
        if waiting:
            children[waiting.pop()].append(at)
        children.append([])
        waiting += [at] * int((forest.tails[edge] >= 0).sum())
        cell = int(forest.cell[forest.head[edge]])
        spans.append((int(chart.begin[cell]), int(chart.end[cell])))
    return children, spans
