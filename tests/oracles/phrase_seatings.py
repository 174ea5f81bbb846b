"""Phrase pairs in a restaurant, spelled out: every state that sentence pairs can be in, and its probability.

Plain Python after Neubig et al. (2011, sections 3 and 4), of words as strings; shares nothing with
`scfg_sampler.aligner`. A customer is seated before those it sends on; there it is seated after them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Model", "Restaurant", "Table", "states", "ways_of", "words_prob"]

Words = tuple[str, ...]


class Model(NamedTuple):
    """What the probabilities are made of."""

    discount: float
    strength: float
    target_given_source: dict[tuple[str, str], float]
    """By source word and target word."""
    source_given_target: dict[tuple[str, str], float]
    """The same keys."""
    share: dict[str, float]
    """P(word) in the text of its side."""


class Table(NamedTuple):
    """A table: the phrases at it, how they were made, at which tables what they were made of is."""

    source: Words
    target: Words
    symbol: int
    children: tuple[int, ...]
    customers: int


class Restaurant(NamedTuple):
    """Tables in the order in which they were opened."""

    tables: tuple[Table, ...] = ()

    def joined(self, number: int) -> Restaurant:
        table = self.tables[number]
        more = table._replace(customers=table.customers + 1)
        return Restaurant((*self.tables[:number], more, *self.tables[number + 1 :]))

    def with_children(self, number: int, children: tuple[int, ...]) -> Restaurant:
        table = self.tables[number]._replace(children=children)
        return Restaurant((*self.tables[:number], table, *self.tables[number + 1 :]))


def words_prob(model: Model, source: Words, target: Words) -> float:
    """The base probability of words that are made at once."""
    if not source or not target:
        return 0.01 * 0.5 * model.share[(source or target)[0]]
    forward = math.prod(
        model.share[e] * sum(model.target_given_source[f, e] for f in source) / len(source) for e in target
    )
    backward = math.prod(
        model.share[f] * sum(model.source_given_target[f, e] for e in target) / len(target) for f in source
    )
    lengths = math.prod(
        math.exp(-0.01) * 0.01 ** len(words) / math.factorial(len(words)) for words in (source, target)
    )
    return 0.99 * math.sqrt(forward * backward) * lengths


def _divisions(
    source: Words, target: Words
) -> Iterator[tuple[int, tuple[Words, Words], tuple[Words, Words]]]:
    """Symbols and both parts of what a pair of phrases can be made of."""
    for middle in range(len(source) + 1):
        for cut in range(len(target) + 1):
            straight = (source[:middle], target[:cut]), (source[middle:], target[cut:])
            inverted = (source[:middle], target[cut:]), (source[middle:], target[:cut])
            for symbol, parts in ((1, straight), (2, inverted)):
                if all(_can_be(*part) for part in parts):
                    yield symbol, *parts


def _can_be(source: Words, target: Words) -> bool:
    return bool(source and target) or len(source) + len(target) == 1


def ways_of(
    model: Model, restaurant: Restaurant, source: Words, target: Words, *, counts: Restaurant | None = None
) -> Iterator[tuple[Restaurant, int, float]]:
    """Every way in which the next customer can be seated: the restaurant then, its table, the probability.

    With `counts` all customers of a way have the probabilities that hold in that restaurant, none of whose
    successors they may join: so does who is drawn before anyone is seated.
    """
    now = restaurant if counts is None else counts
    customers = sum(table.customers for table in now.tables)
    for number, table in enumerate(now.tables):
        if (table.source, table.target) == (source, target):
            prob = (table.customers - model.discount) / (customers + model.strength)
            yield restaurant.joined(number), number, prob
    opening = (model.strength + model.discount * len(now.tables)) / (customers + model.strength)
    made = [sum(table.symbol == symbol for table in now.tables) for symbol in range(3)]
    symbols = [opening * (made[symbol] + 1 / 3) / (len(now.tables) + 1) for symbol in range(3)]
    number = len(restaurant.tables)
    whole = Restaurant((*restaurant.tables, Table(source, target, 0, (), 1)))
    if (prob := symbols[0] * words_prob(model, source, target)) > 0:
        yield whole, number, prob
    for symbol, one, other in _divisions(source, target):
        opened = Restaurant((*restaurant.tables, Table(source, target, symbol, (), 1)))
        for then, left, prob in ways_of(model, opened, *one, counts=counts):
            for end, right, more in ways_of(model, then, *other, counts=counts):
                yield end.with_children(number, (left, right)), number, symbols[symbol] * prob * more


def states(
    model: Model, pairs: list[tuple[Words, Words]]
) -> Iterator[tuple[Restaurant, tuple[int, ...], float]]:
    """Every state that sentence pairs can be in: the restaurant, their tables, the probability."""
    found: list[tuple[Restaurant, tuple[int, ...], float]] = [(Restaurant(), (), 1.0)]
    for source, target in pairs:
        found = [
            (after, (*seats, table), prob * more)
            for before, seats, prob in found
            for after, table, more in ways_of(model, before, source, target)
        ]
    yield from found
