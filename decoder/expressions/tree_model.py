"""How likely an expression is, given the words of a question, with no grammar and no alignment.

    P(e | q) = Π over the nodes of e, from the top down: P(x | where, q)
    P(x | where, q) ∝ exp( Σ_c w[c, x] + Σ_s w[s, x] ),   x an outcome that the place takes

A maximum-entropy model (Berger, Della Pietra and Della Pietra 1996) of which symbol fills a place: c are the
contexts of the question, words, pairs of neighbours and three letters at a time, as a lexicon has them
(`words.py`), and s says where the place is: which one it is, below which other, and which symbols are above.
All constants are one outcome. What a place takes is what the model of expressions allows there (`model.py`),
seen or not, so that no well-formed tree is impossible. The weights minimise

    f(w) = −Σ ln P(e | q) + Σ over rows r: l2_r / 2 · |w[r]|²

The fact a newcomer would get wrong: words do not say where in an expression their symbols go. A bag of words
is all that a place sees of the question; the order of the tree is what places say of each other.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from decoder.expressions.forms import arity_of
from decoder.expressions.model import TOP, Arguments, ExpressionModel, expression_model
from decoder.expressions.tree import is_constant
from decoder.expressions.words import contexts
from decoder.tuning.descent import minimise
from scfg_sampler.core.elementary import exp, exp_each, log, log_value
from scfg_sampler.core.jit import borrowing, kernel

__all__ = [
    "CONSTANT",
    "TOP_PLACE",
    "Place",
    "PlaceModel",
    "TreeModel",
    "outcomes_of",
    "places_of",
    "train_tree_model",
]

CONSTANT = "''@0"
"""The outcome that all constants are."""

_FEWEST = 2  # Contexts of fewer questions are left out.
_L2, _L2_WHERE = 0.5, 0.1
_SLOPE = 1e-5  # Of the search for the weights, which are rounded to as many digits.
_DIGITS = 5
_NONE = np.zeros(0, np.int32)


class Place(NamedTuple):
    """Where a symbol goes.

    slot : a symbol, or "" at the top, and which of its arguments
    above : the place that this symbol fills; `TOP` for the top itself
    ancestors : the symbols above, the nearest last
    """

    slot: tuple[str, int]
    above: tuple[str, int]
    ancestors: tuple[str, ...]

    def below(self, symbol: str, argument: int) -> Place:
        """The place of an argument of the symbol that goes here."""
        return Place((symbol, argument), self.slot, (*self.ancestors, symbol))


TOP_PLACE = Place(TOP, TOP, ())


class TreeModel(NamedTuple):
    """The weights.

    outcomes : symbols, and `CONSTANT`
    contexts : weights of the outcomes by context, float64 (V,) each; "" is not among them
    where : the same by what is said of a place
    """

    outcomes: tuple[str, ...]
    contexts: Mapping[str, np.ndarray]
    where: Mapping[str, np.ndarray]


def places_of(tree: Sequence[str]) -> Iterator[tuple[Place, str]]:
    """Every symbol of a linear form, constants as `CONSTANT`, and its place.

    >>> [(place.slot, symbol) for place, symbol in places_of(["answer@1", "stateid@1", "'texas'@0"])]
    [(('', 0), 'answer@1'), (('answer@1', 0), 'stateid@1'), (('stateid@1', 0), "''@0")]
    """
    waiting = [TOP_PLACE]
    for word in tree:
        place = waiting.pop()
        yield place, CONSTANT if is_constant(word) else word
        waiting.extend(place.below(word, at) for at in range((arity_of(word) or 0) - 1, -1, -1))


def _said_of(place: Place) -> list[str]:
    """What the model knows of a place."""
    symbol, at = place.slot
    slot = f"{symbol} {at}"
    return [
        slot,
        f"{place.above[0]} {place.above[1]} {slot}",
        *sorted({f"/{each}" for each in place.ancestors}),
    ]


def outcomes_of(model: ExpressionModel) -> tuple[tuple[str, ...], dict[tuple[str, int], np.ndarray]]:
    """The outcomes of a model of expressions, and which of them each place takes, int32, ascending."""
    outcomes = tuple(dict.fromkeys(CONSTANT if is_constant(word) else word for word in model.symbols))
    column = {word: i for i, word in enumerate(outcomes)}
    number = np.array([column[CONSTANT if is_constant(word) else word] for word in model.symbols], np.int32)
    slots = [
        (word, at)
        for word, arity in zip(model.symbols, model.arity.tolist(), strict=True)
        for at in range(arity)
    ]
    return outcomes, {
        slot: np.unique(number[np.isfinite(row)])
        for slot, row in zip([*slots, TOP], model.log_prob, strict=True)
    }


class _Nodes(NamedTuple):
    """The nodes of all trees, those of a question together, and what is known of each.

    node_start : int64 (Q + 1,)
    context_start, context : int64 (Q + 1,), int32: the rows of each question's contexts
    said_start, said : the same of each node's place
    taken_start, taken : the outcomes that each node's place takes
    outcome : int32 (N,), the right one
    """

    node_start: np.ndarray
    context_start: np.ndarray
    context: np.ndarray
    said_start: np.ndarray
    said: np.ndarray
    taken_start: np.ndarray
    taken: np.ndarray
    outcome: np.ndarray


def train_tree_model(
    sources: Sequence[Sequence[str]],
    trees: Sequence[Sequence[str]],
    arguments: Arguments,
    names: Mapping[str, str],
) -> TreeModel:
    """The model of questions and their expressions in linear form, of which `count_arguments` knows."""
    outcomes, taken_by = outcomes_of(expression_model(arguments))
    found = [contexts(words, names) for words in sources]
    often = Counter(context for each in found for context in each)
    kept = sorted(context for context, number in often.items() if number >= _FEWEST)
    row = {context: i for i, context in enumerate(kept)}
    of_place: dict[str, int] = {}
    column = {word: i for i, word in enumerate(outcomes)}
    said: list[list[int]] = []
    taken, right, num_nodes = [], [], []
    for tree in trees:
        nodes = list(places_of(tree))
        num_nodes.append(len(nodes))
        for place, symbol in nodes:
            said.append([of_place.setdefault(each, len(of_place)) for each in _said_of(place)])
            taken.append(taken_by[place.slot])
            right.append(column[symbol])
    of_question = [sorted(row[context] for context in each if context in row) for each in found]
    of_node = [[len(kept) + each for each in rows] for rows in said]
    nodes_of = _Nodes(
        np.cumsum([0, *num_nodes]),
        *_ragged(of_question),
        *_ragged(of_node),
        *_ragged(taken),
        np.array(right, np.int32),
    )
    size = len(kept) + len(of_place), len(outcomes)
    l2 = np.where(np.arange(size[0]) < len(kept), _L2, _L2_WHERE)
    room = np.empty((2, len(outcomes)))
    terms = np.empty(len(outcomes))

    def loss(weights: np.ndarray, gradient: np.ndarray) -> float:
        return _loss(nodes_of, l2, weights.reshape(size), gradient.reshape(size), room, terms)

    weights = minimise(loss, np.zeros(size[0] * size[1]), _SLOPE).reshape(size)
    weights = np.round(weights, _DIGITS) + 0.0
    return TreeModel(
        outcomes,
        dict(zip(kept, weights, strict=False)),
        dict(zip(of_place, weights[len(kept) :], strict=True)),
    )


def _ragged(rows: Sequence[Sequence[int] | np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    start = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return start, np.fromiter(itertools.chain.from_iterable(rows), np.int32, int(start[-1]))


@kernel
def _loss(
    nodes: _Nodes,
    l2: np.ndarray,
    weights: np.ndarray,
    gradient: np.ndarray,
    room: np.ndarray,
    terms: np.ndarray,
) -> float:
    """f(w); its gradient is written to `gradient`. `room` and `terms` are room to work in."""
    total = 0.0
    num_outcomes = weights.shape[1]
    for row in range(len(weights)):
        square = 0.0
        for x in range(num_outcomes):
            square += weights[row, x] * weights[row, x]
            gradient[row, x] = l2[row] * weights[row, x]
        total += 0.5 * l2[row] * square
    base, surplus = room[0], room[1]
    for question in range(len(nodes.node_start) - 1):
        for x in range(num_outcomes):
            base[x] = surplus[x] = 0.0
        for k in range(nodes.context_start[question], nodes.context_start[question + 1]):
            for x in range(num_outcomes):
                base[x] += weights[nodes.context[k], x]
        for node in range(nodes.node_start[question], nodes.node_start[question + 1]):
            total += _node_loss(nodes, node, weights, gradient, base, surplus, terms)
        for k in range(nodes.context_start[question], nodes.context_start[question + 1]):
            for x in range(num_outcomes):
                gradient[nodes.context[k], x] += surplus[x]
    return total


@borrowing
def _node_loss(nodes, node, weights, gradient, base, surplus, terms):
    """−ln P of a node; what P is too much for each outcome is added to `surplus`, and to its place's rows."""
    first, last = nodes.taken_start[node], nodes.taken_start[node + 1]
    begin, end = nodes.said_start[node], nodes.said_start[node + 1]
    top, right = -np.inf, 0.0
    for k in range(first, last):
        x = nodes.taken[k]
        terms[x] = base[x]
        for j in range(begin, end):
            terms[x] += weights[nodes.said[j], x]
        top = max(top, terms[x])
        if x == nodes.outcome[node]:
            right = terms[x]
    total = 0.0
    for k in range(first, last):
        x = nodes.taken[k]
        terms[x] = exp(terms[x] - top)
        total += terms[x]
    for k in range(first, last):
        x = nodes.taken[k]
        rate = terms[x] / total - (1.0 if x == nodes.outcome[node] else 0.0)
        surplus[x] += rate
        for j in range(begin, end):
            gradient[nodes.said[j], x] += rate
    return top + log(total) - right


class PlaceModel:
    """P(x | where, q) of one question, for all places that are asked for.

    model : TreeModel
    taken_by : what each place takes, as of `outcomes_of`
    words : the question's
    names : the kinds of names, as of `kinds_of_names`
    """

    def __init__(
        self,
        model: TreeModel,
        taken_by: Mapping[tuple[str, int], np.ndarray],
        words: Sequence[str],
        names: Mapping[str, str],
    ):
        self._model, self._taken_by = model, taken_by
        self._column = {symbol: i for i, symbol in enumerate(model.outcomes)}
        self._base = np.zeros(len(model.outcomes))
        for context in sorted(contexts(words, names)):
            if context in model.contexts:
                self._base += model.contexts[context]
        self._found: dict[tuple[str, ...], tuple[list[tuple[str, float]], dict[str, float]]] = {}

    def likely(self, place: Place) -> list[tuple[str, float]]:
        """The outcomes that a place takes and ln P of each, the likeliest first."""
        return self._known(place)[0]

    def log_prob(self, tree: Sequence[str]) -> float:
        """ln P of a whole tree in linear form; −∞ if it is not well-formed."""
        return sum(self._known(place)[1].get(symbol, -np.inf) for place, symbol in places_of(tree))

    def _known(self, place: Place) -> tuple[list[tuple[str, float]], dict[str, float]]:
        said = tuple(_said_of(place))
        found = self._found.get(said)
        if found is None:
            likely = self._measured(self._taken_by.get(place.slot, _NONE), said)
            found = self._found[said] = likely, dict(likely)
        return found

    def _measured(self, taken: np.ndarray, said: tuple[str, ...]) -> list[tuple[str, float]]:
        if len(taken) == 0:
            return []
        values = self._base.copy()
        for each in said:
            if each in self._model.where:
                values += self._model.where[each]
        values = values[taken]
        values -= values.max()
        values -= log_value(sum(exp_each(values).tolist()))
        best = np.argsort(-values, kind="stable")
        symbols = [self._model.outcomes[x] for x in taken[best].tolist()]
        return list(zip(symbols, values[best].tolist(), strict=True))
