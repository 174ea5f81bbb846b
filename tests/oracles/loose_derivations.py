"""Derivations whose rules may begin and end with unaligned words, by definition, tried out on all boxes.

Slow and plain on purpose. A derivation of `phrase_forest` gets a box for every cut node: any consistent pair
of spans (loose: its ends need no link) around the node's own that holds no other linked word and at most so
many more words on each side. Boxes must be nested as their nodes are, and those next below the same cut node
disjoint on both sides. A boxed derivation is (node, box, (part, …)), box None for uncut nodes; the root's is
the whole sentence pair.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tests.oracles.phrase_forest import Phrase, Sentence, goal, phrases

Box = tuple[int, int, int, int]


def boxed(pair: Sentence, derivation: tuple, most: int) -> Iterator[tuple]:
    """All ways to give the cut nodes of a derivation boxes."""
    cut_nodes = list(_cut_nodes(derivation))
    for boxes in itertools.product(*(_boxes(pair, node, most) for node in cut_nodes)):
        result = _with_boxes(derivation, dict(zip(cut_nodes, boxes, strict=True)))
        nodes = list(preorder(pair, result))
        if all(_is_legal(box, list(_next_boxes(parts))) for _, box, parts in nodes if box):
            yield result


def preorder(pair: Sentence, derivation: tuple) -> Iterator[tuple[Phrase, Box | None, tuple]]:
    """Node, box and parts of every node; the root's node is the whole sentence pair."""
    node, box, parts = derivation
    yield box if node == goal(pair) else node, box, parts
    for part in parts:
        yield from preorder(pair, part)


def rules(pair: Sentence, derivation: tuple) -> dict[Box, tuple[str, str]]:
    """The rule of every box, spelled `[X,1] ge [X,2]`, `[X,2] a [X,1]`."""
    found = {}
    for _, box, parts in preorder(pair, derivation):
        if box:
            slots = sorted(_next_boxes(parts))
            found[box] = _side(pair.source, slots, box, 0), _side(pair.target, slots, box, 2)
    return found


def _cut_nodes(derivation: tuple) -> Iterator[Phrase]:
    node, cut, parts = derivation
    if cut:
        yield node
    for part in parts:
        yield from _cut_nodes(part)


def _boxes(pair: Sentence, node: Phrase, most: int) -> list[Box]:
    if node == goal(pair):
        return [(0, len(pair.source), 0, len(pair.target))]
    sources, targets = {s for s, _ in pair.links}, {t for _, t in pair.links}
    return [
        box
        for box in phrases(pair, "both")
        if box[0] <= node[0] <= node[1] <= box[1]
        and box[2] <= node[2] <= node[3] <= box[3]
        and all(abs(there - here) <= most for here, there in zip(node, box, strict=True))
        and not sources & ({*range(box[0], box[1])} - {*range(node[0], node[1])})
        and not targets & ({*range(box[2], box[3])} - {*range(node[2], node[3])})
    ]


def _with_boxes(derivation: tuple, boxes: dict[Phrase, Box]) -> tuple:
    node, cut, parts = derivation
    return node, boxes[node] if cut else None, tuple(_with_boxes(part, boxes) for part in parts)


def _next_boxes(parts: tuple) -> Iterator[Box]:
    for _, box, below in parts:
        if box:
            yield box
        else:
            yield from _next_boxes(below)


def _is_legal(box: Box, below: list[Box]) -> bool:
    inside = all(box[0] <= b[0] and b[1] <= box[1] and box[2] <= b[2] and b[3] <= box[3] for b in below)
    apart = all(
        (a[1] <= b[0] or b[1] <= a[0]) and (a[3] <= b[2] or b[3] <= a[2])
        for a, b in itertools.combinations(below, 2)
    )
    return inside and apart


def _side(words: tuple[str, ...], slots: list[Box], box: Box, side: int) -> str:
    begins = {slot[side]: (number, slot[side + 1]) for number, slot in enumerate(slots, start=1)}
    symbols = []
    at = box[side]
    while at < box[side + 1]:
        if at in begins:
            number, at = begins[at]
            symbols.append(f"[X,{number}]")
        else:
            symbols.append(words[at])
            at += 1
    return " ".join(symbols)
