"""Phrase decomposition forests by Definition 1 of Chung et al. (2014), tried out on all sets of phrases.

Slow and plain on purpose: nothing here knows Lemma 2, Algorithm 2 or linear groups. Sentences are lists of
words, links are sets of pairs; a phrase is (i₁, j₁, i₂, j₂) on the original positions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Sentence(NamedTuple):
    source: tuple[str, ...]
    target: tuple[str, ...]
    links: frozenset[tuple[int, int]]
    labels: tuple[tuple[int, int, str], ...] = ()
    """Half-open spans of one side, and their labels."""


def sentence(source: str, target: str, links: str, labels: str = "") -> Sentence:
    """`sentence("a b", "A B", "0-0 1-1", "0-1:N")`; labels may be left out."""
    pairs = (link.split("-") for link in links.split())
    return Sentence(
        tuple(source.split()),
        tuple(target.split()),
        frozenset((int(s), int(t)) for s, t in pairs),
        tuple((*map(int, span.split("-")), name) for span, name in (x.split(":") for x in labels.split())),
    )


Phrase = tuple[int, int, int, int]


@cache
def phrases(pair: Sentence, loose: str = "no") -> tuple[Phrase, ...]:
    """All consistent pairs of spans, with a link at each of the four ends, the goal's own first.

    `loose` names the side, or `both`, whose ends need no link.
    """
    source = range(len(pair.source))
    target = range(len(pair.target))
    found = []
    for i1, i2 in itertools.product(source, target):
        for j1, j2 in itertools.product(range(i1 + 1, len(source) + 1), range(i2 + 1, len(target) + 1)):
            inside = [i1 <= s < j1 and i2 <= t < j2 for s, t in pair.links]
            leaving = [(i1 <= s < j1) != (i2 <= t < j2) for s, t in pair.links]
            source_ends = {i1, j1 - 1} <= {s for s, _ in pair.links} or loose in ("source", "both")
            target_ends = {i2, j2 - 1} <= {t for _, t in pair.links} or loose in ("target", "both")
            if any(inside) and not any(leaving) and source_ends and target_ends:
                found.append((i1, j1, i2, j2))
    return tuple(found)


@cache
def goal(pair: Sentence) -> Phrase:
    """The largest phrase; it stands for the whole sentence pair."""
    return max(phrases(pair), key=lambda p: (p[1] - p[0], p[3] - p[2]))


def _covers(outer: Phrase, inner: Phrase) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and outer[2] <= inner[2] and inner[3] <= outer[3]


def _disjoint(first: Phrase, second: Phrase) -> bool:
    return first[1] <= second[0] or second[1] <= first[0]


@cache
def edges(pair: Sentence, head: Phrase) -> tuple[tuple[Phrase, ...], ...]:
    """The minimal edges of a node: sets of disjoint phrases below it that no other such set covers."""
    below = sorted(p for p in phrases(pair) if p != head and _covers(head, p))

    def sets(at: int) -> Iterator[tuple[Phrase, ...]]:
        if at == len(below):
            yield ()
            return
        for rest in sets(at + 1):
            yield rest
            if all(_disjoint(below[at], other) for other in rest):
                yield (below[at], *rest)

    candidates = list(sets(0))

    def is_covered(tails: tuple[Phrase, ...], other: tuple[Phrase, ...]) -> bool:
        return all(any(_covers(t2, t1) for t2 in other) for t1 in tails)

    minimal = [
        tails
        for tails in candidates
        if not any(other != tails and is_covered(tails, other) for other in candidates)
    ]
    return tuple(tuple(sorted(tails)) for tails in minimal)


@cache
def trees(pair: Sentence, node: Phrase) -> tuple[tuple, ...]:
    """All derivations (node, (subtree, …)) below a node."""
    found = []
    for tails in edges(pair, node):
        for below in itertools.product(*(trees(pair, tail) for tail in tails)):
            found.append((node, below))
    return tuple(found)


def derivations(pair: Sentence, max_cut_span: int = 0) -> Iterator[tuple]:
    """All derivations with all legal cuts: (node, cut, (subtree, …)); the root is cut."""

    def with_cuts(tree: tuple, is_root: bool) -> Iterator[tuple]:
        node, below = tree
        must = is_root or (max_cut_span > 0 and node[1] - node[0] > max_cut_span)
        for parts in itertools.product(*(list(with_cuts(t, False)) for t in below)):
            for cut in (True,) if must else (False, True):
                yield node, cut, parts

    for tree in trees(pair, goal(pair)):
        yield from with_cuts(tree, True)


def whole(pair: Sentence, node: Phrase) -> Phrase:
    """The spans a node stands for: the goal also covers unaligned words at the boundary."""
    return (0, len(pair.source), 0, len(pair.target)) if node == goal(pair) else node


def rules(pair: Sentence, derivation: tuple) -> list[tuple[str, str]]:
    """The rules of a derivation, in preorder of their heads, spelled `[X,1] ge [X,2]`, `[X,2] a [X,1]`."""
    found: list[tuple[str, str]] = []

    def frontier(parts: tuple) -> Iterator[tuple]:
        for part in parts:
            if part[1]:
                yield part
            else:
                yield from frontier(part[2])

    def visit(tree: tuple) -> None:
        node, cut, parts = tree
        if cut:
            slots = sorted(part[0] for part in frontier(parts))
            span = whole(pair, node)
            found.append((_side(pair.source, slots, span, 0), _side(pair.target, slots, span, 2)))
        for part in parts:
            visit(part)

    visit(derivation)
    return found


def label(pair: Sentence, span: Phrase, side: str) -> str:
    """What a phrase is called; X if its span on that side has no label."""
    at = 2 if side == "target" else 0
    return next((name for i, j, name in pair.labels if span[at : at + 2] == (i, j)), "X")


def labelled_rules(pair: Sentence, derivation: tuple, side: str) -> list[tuple[str, str, str]]:
    """The rules of a derivation with labels: both sides, `[N,1] ge [X,2]`, and the left-hand side."""
    found: list[tuple[str, str, str]] = []
    heads: list[tuple[Phrase, list[Phrase]]] = []

    def visit(tree: tuple, slots: list[Phrase]) -> None:
        node, cut, parts = tree
        if cut:
            slots.append(node)
            slots = []
            heads.append((node, slots))
        for part in parts:
            visit(part, slots)

    visit(derivation, [])
    for node, slots in heads:
        span = whole(pair, node)
        names = [label(pair, slot, side) for slot in sorted(slots)]
        sides = (_side(words, sorted(slots), span, at, names) for words, at in ((pair[0], 0), (pair[1], 2)))
        found.append((*sides, label(pair, span, side)))
    return found


def _side(
    words: tuple[str, ...], slots: list[Phrase], span: Phrase, side: int, names: list[str] | None = None
) -> str:
    symbols = []
    at = span[side]
    while at < span[side + 1]:
        for number, slot in enumerate(slots, start=1):
            if slot[side] == at:
                symbols.append(f"[{names[number - 1] if names else 'X'},{number}]")
                at = slot[side + 1]
                break
        else:
            symbols.append(words[at])
            at += 1
    return " ".join(symbols)


def rule_length(rule: tuple[str, ...]) -> int:
    """Words on both sides plus scope (Chung et al. 2014, section 5.2)."""
    source = [symbol.startswith("[") for symbol in rule[0].split()]
    target = [symbol.startswith("[") for symbol in rule[1].split()]
    scope = sum(a and b for a, b in itertools.pairwise(source)) + source[0] + source[-1]
    return source.count(False) + target.count(False) + scope
