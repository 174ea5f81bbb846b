"""Hiero extraction by its definition: try all sets of at most two phrases inside every phrase.

Slow and plain on purpose. A rule is (source, target, alignment); nonterminal k is the integer −1−k.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

from tests.oracles.phrase_forest import Phrase, Sentence, phrases

Rule = tuple[tuple, tuple, tuple[tuple[int, int], ...]]


def rules_of_phrase(
    pair: Sentence, whole: Phrase, *, max_symbols: int = 5, max_nonterminals: int = 2, loose: str = "no"
) -> list[Rule]:
    """One entry for every way in which an initial phrase pair yields a rule."""
    limits = {"max_symbols": max_symbols, "max_nonterminals": max_nonterminals}
    return [rule for _, rule in ways_of_phrase(pair, whole, **limits, loose=loose)]


def ways_of_phrase(
    pair: Sentence, whole: Phrase, *, max_symbols: int = 5, max_nonterminals: int = 2, loose: str = "no"
) -> list[tuple[tuple[Phrase, ...], Rule]]:
    """The same with the parts that are taken out, in source order."""
    inside = [part for part in phrases(pair, loose) if part != whole and _contains(whole, part)]
    found = []
    for number in range(max_nonterminals + 1):
        for holes in itertools.combinations(sorted(inside), number):
            if any(_overlap(one, other) for one, other in itertools.combinations(holes, 2)):
                continue
            source, source_at = _side(pair.source, whole[0], whole[1], [hole[0:2] for hole in holes])
            target, target_at = _side(pair.target, whole[2], whole[3], [hole[2:4] for hole in holes])
            links = [(source_at[s], target_at[t]) for s, t in pair.links if s in source_at and t in target_at]
            adjacent = any(isinstance(a, int) and isinstance(b, int) for a, b in itertools.pairwise(source))
            if len(source) <= max_symbols and links and not adjacent:
                found.append((holes, (source, target, tuple(sorted(links)))))
    return found


def extract(
    corpus: list[Sentence],
    *,
    max_initial: int = 10,
    max_initial_target: int = 10,
    max_symbols: int = 5,
    max_nonterminals: int = 2,
    fractional: bool = False,
    no_singletons: bool = False,
    loose: str = "no",
) -> dict[tuple[tuple, tuple], tuple[tuple[tuple[int, int], ...], float]]:
    """Each rule's sides, its heaviest alignment (the first of equals) and its count."""
    weights: dict[tuple, Counter] = defaultdict(Counter)
    seen: Counter = Counter()
    for pair in corpus:
        for whole in phrases(pair, loose):
            if whole[1] - whole[0] > max_initial or whole[3] - whole[2] > max_initial_target:
                continue
            limits = {"max_symbols": max_symbols, "max_nonterminals": max_nonterminals}
            found = rules_of_phrase(pair, whole, **limits, loose=loose)
            for source, target, links in found:
                weights[source, target][links] += 1 / len(found) if fractional else 1.0
                seen[source, target] += 1
    result = {}
    for rule, alignments in weights.items():
        source_words = sum(not isinstance(symbol, int) for symbol in rule[0])
        if no_singletons and seen[rule] == 1 and source_words > 1:
            continue
        best = min(alignments, key=lambda links: (-round(alignments[links], 9), links))
        result[rule] = (best, sum(alignments.values()))
    return result


def _side(words: tuple[str, ...], begin: int, end: int, holes: list[tuple[int, int]]):
    """The symbols of a side, and where each remaining word went; holes in source order have numbers 0, 1."""
    symbols: list = []
    places = {}
    at = begin
    while at < end:
        hole = next((k for k, (first, _) in enumerate(holes) if first == at), None)
        if hole is None:
            places[at] = len(symbols)
            symbols.append(words[at])
            at += 1
        else:
            symbols.append(-1 - hole)
            at = holes[hole][1]
    return tuple(symbols), places


def _contains(outer: Phrase, inner: Phrase) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and outer[2] <= inner[2] and inner[3] <= outer[3]


def _overlap(one: Phrase, other: Phrase) -> bool:
    source = one[0] < other[1] and other[0] < one[1]
    target = one[2] < other[3] and other[2] < one[3]
    return source or target
