"""Expressions that a tree model finds likely, given the words of a question, derived by a grammar or not.

A search from the likeliest tree on, whose places are filled one after the other from the left: of all trees
that are not whole, the likeliest is taken up next (uniform-cost search), so that whole ones come out in the
order of their probability. A tree model knows no constants, only that there is one. Which ones a question
names, grammars say, which have learnt names: the constants of a derived expression, in their order, fill
those of a predicted one.

The fact a newcomer would get wrong: a grammar cannot derive most of what it lacks, however wide its search
is, as no rule writes a symbol that no word asks for. Here nothing has to be written by a rule.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from decoder.expressions.forms import arity_of, is_sound
from decoder.expressions.model import ExpressionModel
from decoder.expressions.tree import is_constant
from decoder.expressions.tree_model import (
    CONSTANT,
    TOP_PLACE,
    Place,
    PlaceModel,
    TreeModel,
    outcomes_of,
)

__all__ = ["Predictor", "constants_of", "likely_skeletons"]

_MOST_STEPS = 20_000  # Trees taken up.
_LEAST = -14.0  # ln P of those that are followed.
_FILLINGS = 4  # Ways to fill the constants of a skeleton.
_POOL = 4  # Constants that ways are made of, once those of derived expressions are used up.

_Likely = Sequence[tuple[str, float]]
_Chain = tuple[Any, Any] | None  # The first of several, and the others; None if there are none.


class _Choice(NamedTuple):
    """A tree that is not whole, and what goes next: likely[at] to a place.

    total : −ln P with it, and without: cost
    order : of choices, the older first among those that are as likely
    symbols : those of the tree, from the last
    waiting : the places that are open besides
    """

    total: float
    order: int
    likely: _Likely
    at: int
    cost: float
    symbols: _Chain
    place: Place
    waiting: _Chain


def likely_skeletons(places: PlaceModel) -> Iterator[tuple[list[str], float]]:
    """Trees in linear form, constants as `CONSTANT`, and ln P, the likeliest first; as long as one asks."""
    order = itertools.count()
    heap: list[_Choice] = []

    def choose(likely: _Likely, at: int, cost: float, symbols: _Chain, place: Place, waiting: _Chain) -> None:
        if at < len(likely) and likely[at][1] - cost >= _LEAST:
            total = cost - likely[at][1]
            heapq.heappush(heap, _Choice(total, next(order), likely, at, cost, symbols, place, waiting))

    choose(places.likely(TOP_PLACE), 0, 0.0, None, TOP_PLACE, None)
    for _ in range(_MOST_STEPS):
        if not heap:
            return
        total, _, likely, at, cost, symbols, place, waiting = heapq.heappop(heap)
        choose(likely, at + 1, cost, symbols, place, waiting)
        symbol = likely[at][0]
        symbols, waiting = (symbol, symbols), _opened(place, symbol, waiting)
        if waiting is None:
            yield _spelled(symbols), -total
        else:
            choose(places.likely(waiting[0]), 0, total, symbols, *waiting)


def _spelled(symbols: _Chain) -> list[str]:
    found = []
    while symbols is not None:
        symbol, symbols = symbols
        found.append(symbol)
    return found[::-1]


def _opened(place: Place, symbol: str, waiting: _Chain) -> _Chain:
    """The places to fill once a symbol is there."""
    for at in range((arity_of(symbol) or 0) - 1, -1, -1):
        waiting = place.below(symbol, at), waiting
    return waiting


class Predictor:
    """Predicts expressions; immutable.

    model : ExpressionModel
    trees : TreeModel, which has learnt of the same expressions
    names : the kinds of names, as of `kinds_of_names`
    form : one of `FORMS`, in which an expression must be possible to write
    """

    def __init__(self, model: ExpressionModel, trees: TreeModel, names: Mapping[str, str], form: str):
        self._model, self._trees, self._names, self._form = model, trees, names, form
        self._taken_by = outcomes_of(model)[1]
        self._column = {symbol: i for i, symbol in enumerate(model.symbols)}

    def places(self, words: Sequence[str]) -> PlaceModel:
        """What the words of a question say of places."""
        return PlaceModel(self._trees, self._taken_by, words, self._names)

    def predicted(
        self, places: PlaceModel, sequences: Sequence[Sequence[str]], number: int
    ) -> list[tuple[list[str], float]]:
        """So many expressions at most, the likeliest first, and ln P of each but for its constants.

        sequences : constants that may be there, in this order, as of `constants_of`; after those that are as
            long as an expression needs, constants of the first ones in any order
        """
        found: list[tuple[list[str], float]] = []
        for skeleton, log_prob in likely_skeletons(places):
            found += [(tree, log_prob) for tree in self._named(skeleton, sequences)]
            if len(found) >= number:
                break
        return found[:number]

    def _named(self, skeleton: Sequence[str], sequences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The skeleton with constants; at most `_FILLINGS` trees, all of them well-formed."""
        at = [i for i, word in enumerate(skeleton) if word == CONSTANT]
        found: list[list[str]] = []
        for constants in _fillings(len(at), sequences):
            tree = list(skeleton)
            for i, constant in zip(at, constants, strict=True):
                tree[i] = constant
            if tree not in found and self.log_prob(tree) > -np.inf and is_sound(tree, self._form):
                found.append(tree)
                if len(found) == _FILLINGS:
                    break
        return found

    def log_prob(self, tree: Sequence[str]) -> float:
        """ln P of a whole tree by the model of expressions, which knows no words; −∞ if not well-formed."""
        waiting = [len(self._model.log_prob) - 1]
        total = 0.0
        for word in tree:
            row, column = waiting.pop(), self._column.get(word)
            if column is None:
                return -np.inf
            total += float(self._model.log_prob[row, column])
            first = int(self._model.place_start[column])
            waiting.extend(range(int(self._model.place_start[column + 1]) - 1, first - 1, -1))
        return total


def constants_of(trees: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """The constants of each expression, in their order; each such sequence once.

    >>> constants_of([["river@1", "all@0"], ["next_to@1", "'ohio'@0"], ["loc@1", "'ohio'@0"]])
    [(), ("'ohio'@0",)]
    """
    return list(dict.fromkeys(tuple(word for word in tree if is_constant(word)) for tree in trees))


def _fillings(number: int, sequences: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    yield from (each for each in sequences if len(each) == number)
    if number == 0:
        yield ()
    else:
        pool = list(dict.fromkeys(constant for each in sequences for constant in each))[:_POOL]
        yield from itertools.islice(itertools.product(pool, repeat=number), _POOL**2)
