"""Derivations where alignments are chosen, by definition: from the forests that each alignment has.

A pair under K alignments is a tuple of K sentences of the same words. Choosing by phrase, a node is a phrase
of at least one alignment, and its edges are all that `phrase_forest.edges` gives it under those that have it,
each once; the root, a node of its own, has those of the largest phrase of every alignment. Choosing by
sentence, a derivation is one of any alignment. A derivation is (node, cut, (subtree, …), label): node None
for the root, label the number of the edge among those of its node.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.oracles import phrase_forest
from tests.oracles.phrase_forest import Phrase, Sentence

Node = tuple[int, Phrase] | None
"""An alignment and a phrase of it, alignment 0 where alignments share their nodes; None for the root."""

Choices = tuple[Sentence, ...]


def edges(pair: Choices, node: Node, merged: bool) -> list[tuple[Node, ...]]:
    """The edges of a node in order: by alignment, then by where the first tail ends."""
    found: list[tuple[Node, ...]] = []
    for number, one in enumerate(pair):
        if not one.links or (node is not None and not merged and node[0] != number):
            continue
        head = phrase_forest.goal(one) if node is None else node[1]
        if head not in phrase_forest.phrases(one):
            continue
        for tails in sorted(phrase_forest.edges(one, head), key=lambda tails: [t[1] for t in tails]):
            edge = tuple((0 if merged else number, tail) for tail in tails)
            if edge not in found or not merged:
                found.append(edge)
    return found


def derivations(pair: Choices, merged: bool, max_cut_span: int = 0) -> Iterator[tuple]:
    """All derivations with all legal cuts; the root is cut."""

    def below(node: Node) -> Iterator[tuple]:
        must = node is None or (max_cut_span > 0 and node[1][1] - node[1][0] > max_cut_span)
        for label, tails in enumerate(edges(pair, node, merged)):
            for parts in itertools.product(*(list(below(tail)) for tail in tails)):
                for cut in (True,) if must else (False, True):
                    yield node, cut, parts, label

    yield from below(None)


def codes(derivation: tuple) -> tuple[int, ...]:
    """Edge label × 2 + cut bit of every node in preorder."""
    _, cut, parts, label = derivation
    return (2 * label + cut, *itertools.chain.from_iterable(codes(part) for part in parts))


def span(pair: Choices, node: Node) -> Phrase:
    """What a node stands for: the root for the whole sentence pair."""
    return (0, len(pair[0].source), 0, len(pair[0].target)) if node is None else node[1]


def rules(pair: Choices, derivation: tuple) -> list[tuple[str, str]]:
    """The rules of a derivation, in preorder of their heads."""

    def frontier(parts: tuple) -> Iterator[Phrase]:
        for node, cut, below, _ in parts:
            if cut:
                yield span(pair, node)
            else:
                yield from frontier(below)

    node, cut, parts, _ = derivation
    found = []
    if cut:
        slots, head = sorted(frontier(parts)), span(pair, node)
        found.append(tuple(_side(pair[0][side], slots, head, 2 * side) for side in (0, 1)))
    for part in parts:
        found += rules(pair, part)
    return found


def _side(words: tuple[str, ...], slots: list[Phrase], head: Phrase, side: int) -> str:
    symbols = list(words)
    for number, slot in enumerate(slots, start=1):
        symbols[slot[side] : slot[side + 1]] = [f"[X,{number}]"] + [""] * (slot[side + 1] - slot[side] - 1)
    return " ".join(symbol for symbol in symbols[head[side] : head[side + 1]] if symbol)
