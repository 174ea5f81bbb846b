"""Which expressions there are, and how likely: a bigram model of trees.

    P(tree) = P(root | the top) · Π over symbols: P(child | parent and place)

A symbol's probability in a place backs off to how often it is anywhere (Witten and Bell 1991): with c(s, x)
how often x fills the place s, n(s) the fillings of s, t(s) the different ones,

    P(x | s) = (c(s, x) + t(s) · P(x)) / (n(s) + t(s))

All constants are one outcome: which of them it is, rules say. What is *well-formed* is said by arities and
by types: a place that was filled by constants alone takes constants alone, one that never was takes none,
and a constant that was seen in places is allowed in those, and in places like them: two are alike if more
than half of the constants seen in one of them were seen in the other, too, as capitals and areas are both
asked of states. Other symbols are of one type if they were
seen in one place, or a chain of such pairs leads from one to the other, and a place takes symbols of its
type alone: the narrowest types there are if symbols and places have one each. The clauses of queries are
types then; functions from sets to sets are of a single one. P(x) is among the symbols that may stand there.

The fact a newcomer would get wrong: phrases (names and their constants) are learnt from as well, but not as
trees of the top, and not as often as they are there. They say in which places a constant may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from decoder.expressions.forms import arity_of
from decoder.expressions.tree import is_constant

__all__ = ["TOP", "Arguments", "ExpressionModel", "count_arguments", "expression_model"]

TOP = ("", 0)  # The place of the root.
_CONSTANT = "''@0"


class Arguments(NamedTuple):
    """What fills which place; a place is a symbol and the position of an argument, or `TOP`.

    counts : how often each outcome fills each place; a constant counts as `''@0`
    places_of : where each constant was seen
    symbols : all words of linear forms that there are, in the order in which they were met
    """

    counts: dict[tuple[str, int], Counter[str]]
    places_of: dict[str, list[tuple[str, int]]]
    symbols: list[str]


class ExpressionModel(NamedTuple):
    """A model of trees of V symbols with S places, the last of which is the top.

    symbols : words of linear forms
    arity : int32 (V,)
    place_start : int32 (V + 1,); the places of symbol x are place_start[x] … place_start[x + 1] − 1
    log_prob : float64 (S, V), −∞ where a symbol is not allowed
    """

    symbols: tuple[str, ...]
    arity: np.ndarray
    place_start: np.ndarray
    log_prob: np.ndarray


def count_arguments(trees: Iterable[Sequence[str]], phrases: Iterable[Sequence[str]] = ()) -> Arguments:
    """What fills which place in whole expressions, and in parts of such, all in linear form."""
    found = Arguments({}, {}, [])
    known: set[str] = set()
    for is_tree, texts in ((True, trees), (False, phrases)):
        for words in texts:
            waiting = [TOP]
            for word in words:
                if word not in known:
                    known.add(word)
                    found.symbols.append(word)
                place = waiting.pop()
                if is_tree or place != TOP:
                    _count(found, place, word, is_tree)
                waiting.extend((word, at) for at in range((arity_of(word) or 0) - 1, -1, -1))
    return found


def _count(found: Arguments, place: tuple[str, int], word: str, is_tree: bool) -> None:
    counts = found.counts.setdefault(place, Counter())
    outcome = _outcome(word)
    if is_tree or outcome not in counts:
        counts[outcome] += 1
    if is_constant(word):
        places = found.places_of.setdefault(word, [])
        if place not in places:
            places.append(place)


def expression_model(arguments: Arguments) -> ExpressionModel:
    """The model that the counts say."""
    symbols = tuple(arguments.symbols)
    arity = np.array([arity_of(word) or 0 for word in symbols], np.int32)
    place_start = np.concatenate([[0], np.cumsum(arity)]).astype(np.int32)
    places = [(word, at) for word, number in zip(symbols, arity, strict=True) for at in range(number)] + [TOP]
    anywhere: Counter[str] = sum(arguments.counts.values(), Counter())
    outcomes = [_outcome(word) for word in symbols]
    of_constant = np.array([is_constant(word) for word in symbols], bool)
    often = np.array([anywhere[outcome] for outcome in outcomes], np.float64)
    column = {word: i for i, word in enumerate(symbols)}
    is_known, at_home = np.zeros(len(symbols), bool), np.zeros((len(places), len(symbols)), bool)
    row_of = {place: row for row, place in enumerate(places)}
    for word, seen in arguments.places_of.items():
        is_known[column[word]] = True
        at_home[[row_of[place] for place in seen], column[word]] = True
    at_home = _at_home_in_like(at_home)
    type_of_place, type_of_symbol = _types(arguments, row_of, column)
    log_prob = np.full((len(places), len(symbols)), -np.inf)
    for row, place in enumerate(places):
        counts = arguments.counts.get(place, Counter())
        if not counts:
            continue
        has_constants = _CONSTANT in counts
        fits = np.where(of_constant, has_constants, type_of_symbol == type_of_place[row])
        likely = often[fits & ~of_constant].sum() + has_constants * anywhere[_CONSTANT]
        total, types = sum(counts.values()), len(counts)
        here = np.array([counts[outcome] for outcome in outcomes], np.float64)
        allowed = fits & (~is_known | at_home[row]) & (often > 0)
        share = (here + types * often / likely) / (total + types)
        log_prob[row, allowed] = np.log(share[allowed])
    return ExpressionModel(symbols, arity, place_start, log_prob)


def _at_home_in_like(seen: np.ndarray) -> np.ndarray:
    """Which symbols, constants, were seen in a place or in one like it; bool (S, V) as `seen`, of places."""
    rows = np.flatnonzero(seen.any(axis=1))
    if len(rows) == 0:
        return seen
    counts = seen[rows].astype(np.int64)
    shared, sizes = counts @ counts.T, counts.sum(axis=1)
    alike = 2 * shared > np.minimum(sizes, sizes[:, None])
    found = seen.copy()
    found[rows] = alike.astype(np.int64) @ counts > 0
    return found


def _types(
    arguments: Arguments, row_of: dict[tuple[str, int], int], column: dict[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """The types of places, int (S,), and of symbols, int (V,): parts of the graph of what fills what."""
    from scipy import sparse

    pairs = [
        (row_of[place], len(row_of) + column[word])
        for place, counts in arguments.counts.items()
        for word in counts
        if not is_constant(word)
    ]
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    size = len(row_of) + len(column)
    graph = sparse.coo_array((np.ones(ends.shape[1]), tuple(ends)), (size, size))
    type_of = sparse.csgraph.connected_components(graph, directed=False)[1]
    return type_of[: len(row_of)], type_of[len(row_of) :]


def _outcome(word: str) -> str:
    return _CONSTANT if is_constant(word) else word
