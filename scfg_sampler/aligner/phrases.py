"""The restaurant of phrase pairs: who sits where, and how what is at each table was made.

A table holds one pair of phrases and its derivation: a symbol, and for all but pairs of words that are made
at once two more tables, those at which the two pairs that it is made of have a customer each. So a customer
who opens a table sends two more into the restaurant, and the last one who leaves takes them away again. With
N customers at T tables, discount d and strength α,

    P(joins a table with c customers) = (c − d) / (N + α)
    P(opens one) = (α + d T) / (N + α) × P(symbol) × P(how it goes on)

(Neubig et al. 2011, section 4.1); P(symbol) has a symmetric Dirichlet prior and is integrated out.

The fact a newcomer would get wrong: pairs of phrases are named by fingerprints of 63 bits, and are spelled
nowhere. Two share one with a probability below 1e-6 for a million of them; they would then share tables.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.arrays.hash_table import capacity_for, first_slot, key_slot
from scfg_sampler.core.jit import borrowing, compiled, kernel

__all__ = [
    "INVERTED",
    "NUM_SYMBOLS",
    "STRAIGHT",
    "WORDS",
    "Phrases",
    "close_table",
    "log_seating",
    "new_phrases",
    "open_table",
    "opening_prob",
    "slot_of",
    "symbol_prob",
]

WORDS, STRAIGHT, INVERTED = 0, 1, 2
NUM_SYMBOLS = 3
CUSTOMERS, TABLES, NUM_FREE, NEXT_UNUSED, USED_SLOTS = range(5)
DISCOUNT, STRENGTH = range(2)

_SYMBOL_STRENGTH = 1.0 / 3.0  # Of each symbol, in its Dirichlet prior.


class Phrases(NamedTuple):
    """Tables, and the pairs of phrases at them; what is at a table without customers means nothing."""

    customers: np.ndarray
    """int32 (T,): how many sit at each."""
    symbol: np.ndarray
    """int8 (T,): `WORDS`, `STRAIGHT` or `INVERTED`."""
    children: np.ndarray
    """int32 (T, 2): the tables of what it is made of, in source order; −1 for words."""
    lengths: np.ndarray
    """int16 (T, 2): source and target words."""
    slot: np.ndarray
    """int32 (T,): of the pair of phrases."""
    following: np.ndarray
    """int32 (T,): the next table of the same pair of phrases, or −1."""
    keys: np.ndarray
    """int64 (C,): fingerprints of pairs of phrases, 0 where there is none; they stay when their tables go."""
    first: np.ndarray
    """int32 (C,): the first table of each, or −1."""
    served: np.ndarray
    """int32 (C, 2): customers and tables of each."""
    free: np.ndarray
    """int32 (T,): tables that were closed, the first `totals[NUM_FREE]`; the last one is opened next."""
    totals: np.ndarray
    """int64 (5,): `CUSTOMERS`, `TABLES`, `NUM_FREE`, `NEXT_UNUSED`, `USED_SLOTS`."""
    symbols: np.ndarray
    """int64 (3,): tables with each symbol."""
    parameters: np.ndarray
    """float64 (2,): `DISCOUNT`, `STRENGTH`."""


def new_phrases(most_tables: int, discount: float = 0.5, strength: float = 1.0) -> Phrases:
    """An empty restaurant.

    Parameters
    ----------
    most_tables : int
        How many tables there can be at a time: of n source and m target words, 2 (n + m) − 1.
    discount, strength : float
        d in (0, 1), α > 0.
    """
    most_slots = capacity_for(2 * most_tables)  # See `make_room`: all of a sentence pair's can be new.
    return Phrases(
        np.zeros(most_tables, np.int32),
        np.zeros(most_tables, np.int8),
        np.full((most_tables, 2), -1, np.int32),
        np.zeros((most_tables, 2), np.int16),
        np.zeros(most_tables, np.int32),
        np.zeros(most_tables, np.int32),
        np.zeros(most_slots, np.int64),
        np.full(most_slots, -1, np.int32),
        np.zeros((most_slots, 2), np.int32),
        np.zeros(most_tables, np.int32),
        np.zeros(5, np.int64),
        np.zeros(NUM_SYMBOLS, np.int64),
        np.array([discount, strength]),
    )


@borrowing
def slot_of(phrases, key):
    """The slot of a pair of phrases, or the free one where it belongs."""
    return key_slot(phrases.keys, key, first_slot(phrases.keys, key))


@borrowing
def opening_prob(phrases):
    """The probability that the next customer opens a table, whatever will be at it."""
    totals, parameters = phrases.totals, phrases.parameters
    mass = parameters[STRENGTH] + parameters[DISCOUNT] * totals[TABLES]
    return mass / (totals[CUSTOMERS] + parameters[STRENGTH])


@borrowing
def symbol_prob(phrases, symbol):
    """The probability that what is at a new table is made in this way."""
    mass = phrases.symbols[symbol] + _SYMBOL_STRENGTH
    return mass / (phrases.totals[TABLES] + NUM_SYMBOLS * _SYMBOL_STRENGTH)


@borrowing
def open_table(phrases, key, symbol, left, right, num_source, num_target):
    """A table with one customer, and what it is made of at other tables; its number."""
    totals = phrases.totals
    if totals[NUM_FREE] > 0:
        totals[NUM_FREE] -= 1
        table = phrases.free[totals[NUM_FREE]]
    else:
        table = np.int32(totals[NEXT_UNUSED])
        totals[NEXT_UNUSED] += 1
    slot = slot_of(phrases, key)
    if phrases.keys[slot] == 0:
        phrases.keys[slot] = key
        totals[USED_SLOTS] += 1
    phrases.customers[table] = 1
    phrases.symbol[table] = symbol
    phrases.children[table, 0], phrases.children[table, 1] = left, right
    phrases.lengths[table, 0], phrases.lengths[table, 1] = num_source, num_target
    phrases.slot[table] = slot
    phrases.following[table] = phrases.first[slot]
    phrases.first[slot] = table
    phrases.served[slot, 0] += 1
    phrases.served[slot, 1] += 1
    totals[CUSTOMERS] += 1
    totals[TABLES] += 1
    phrases.symbols[symbol] += 1
    return table


@borrowing
def close_table(phrases, table):
    """Take the last customer away, and the table with it; those it has sent to other tables stay there."""
    totals, slot = phrases.totals, phrases.slot[table]
    before = phrases.first[slot]
    if before == table:
        phrases.first[slot] = phrases.following[table]
    else:
        while phrases.following[before] != table:
            before = phrases.following[before]
        phrases.following[before] = phrases.following[table]
    phrases.customers[table] = 0
    phrases.served[slot, 0] -= 1
    phrases.served[slot, 1] -= 1
    totals[CUSTOMERS] -= 1
    totals[TABLES] -= 1
    phrases.symbols[phrases.symbol[table]] -= 1
    phrases.free[totals[NUM_FREE]] = table
    totals[NUM_FREE] += 1


@borrowing
def join_table(phrases, table, change=1):
    """One customer more at a table, or with `change` −1 one less of several."""
    phrases.customers[table] += change
    phrases.served[phrases.slot[table], 0] += change
    phrases.totals[CUSTOMERS] += change


@compiled
def make_room(phrases):
    """Forget pairs of phrases that are at no table any more, where slots run out."""
    keys, first, served = phrases.keys, phrases.first, phrases.served
    if 4 * phrases.totals[USED_SLOTS] < 3 * len(keys):
        return
    old_keys, old_first, old_served = keys.copy(), first.copy(), served.copy()
    phrases.totals[USED_SLOTS] = 0
    for slot in range(len(keys)):
        keys[slot], first[slot], served[slot, 0], served[slot, 1] = 0, -1, 0, 0
    for old in range(len(keys)):
        if old_first[old] < 0:
            continue
        slot = slot_of(phrases, old_keys[old])
        keys[slot], first[slot] = old_keys[old], old_first[old]
        served[slot, 0], served[slot, 1] = old_served[old, 0], old_served[old, 1]
        phrases.totals[USED_SLOTS] += 1
        table = first[slot]
        while table >= 0:
            phrases.slot[table] = slot
            table = phrases.following[table]


@kernel
def log_seating(phrases, discount, strength):
    """ln of the probability of the seating, up to what parameters do not change.

    Parameters
    ----------
    phrases : Phrases
    discount, strength : float
        Tried in place of its own.
    """
    customers, tables = phrases.totals[CUSTOMERS], phrases.totals[TABLES]
    ratio = strength / discount
    total = tables * elementary.log(discount)
    total += elementary.log_gamma(ratio + tables) - elementary.log_gamma(ratio)
    total -= elementary.log_gamma(strength + customers) - elementary.log_gamma(strength)
    sizes = np.zeros(1, np.int64)
    for table in range(phrases.totals[NEXT_UNUSED]):
        size = phrases.customers[table]
        if size >= len(sizes):
            more = np.zeros(2 * size, np.int64)
            for known in range(len(sizes)):
                more[known] = sizes[known]
            sizes = more
        sizes[size] += 1
    single = elementary.log_gamma(1.0 - discount)
    for size in range(1, len(sizes)):
        if sizes[size] > 0:
            total += sizes[size] * (elementary.log_gamma(size - discount) - single)
    return total
