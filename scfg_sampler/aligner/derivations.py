"""Derivations of sentence pairs: drawn from a chart, seated in the restaurant, and taken away again.

A derivation is a list of customers, every one before those that it sends on. It says of each whether it joins
a table or opens one, and how what is there is made. Taking away goes down the list, seating goes up: so the
numbers of closed tables are given out again in the order that makes a derivation, taken away and put back,
what it was.

The fact a newcomer would get wrong: what joins a table has, in its own derivation, nothing below it. What is
below was made by whoever opened the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.aligner.chart import cell_at, key_of, word_scale, words_prob
from scfg_sampler.aligner.phrases import (
    CUSTOMERS,
    DISCOUNT,
    INVERTED,
    STRAIGHT,
    STRENGTH,
    WORDS,
    close_table,
    join_table,
    open_table,
    opening_prob,
    slot_of,
    symbol_prob,
)
from scfg_sampler.core import draws, elementary
from scfg_sampler.core.jit import borrowing, inlined

__all__ = ["Derivation", "draw", "log_before", "new_derivation", "seat", "unseat"]


class Derivation(NamedTuple):
    """Customers of a sentence pair."""

    cell: np.ndarray
    """int32 (D, 4): the words of each."""
    table: np.ndarray
    """int32 (D,): the table that it joins, or −1 − symbol of what it makes at a new one."""
    sender: np.ndarray
    """int32 (D,): twice the customer that sent it, 1 more for the second one; −1 for the first customer."""
    children: np.ndarray
    """int32 (D, 2): where those it sends are seated, once they are."""
    pending: np.ndarray
    """int32 (D, 6): customers that are not in the list yet: cell, sender, and table while taking away."""
    size: np.ndarray
    """int64 (1,): customers."""


def new_derivation(num_words: int) -> Derivation:
    """Room for the customers of pairs of up to so many words, both sides together."""
    size = 2 * num_words
    return Derivation(
        np.zeros((size, 4), np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros((size, 2), np.int32),
        np.zeros((size, 6), np.int32),
        np.zeros(1, np.int64),
    )


@inlined
def _expect(derivation, num_pending, i, j, k, l, sender, table):
    """One customer more to be listed; how many there are."""
    row = derivation.pending[num_pending]
    row[0], row[1], row[2], row[3], row[4], row[5] = i, j, k, l, sender, table
    return num_pending + 1


@inlined
def _add(derivation, row, table):
    """List a customer; its place."""
    place = derivation.size[0]
    for side in range(4):
        derivation.cell[place, side] = row[side]
    derivation.sender[place] = row[4]
    derivation.table[place] = table
    derivation.size[0] = place + 1
    return place


@inlined
def _expect_two(derivation, num_pending, place, symbol, middle, cut, left, right):
    """Both customers that one at a new table sends on, `left` and `right` the tables they leave, if any."""
    cell = derivation.cell[place]
    i, j, k, l = cell[0], cell[1], cell[2], cell[3]
    if symbol == STRAIGHT:
        num_pending = _expect(derivation, num_pending, middle, j, cut, l, 2 * place + 1, right)
        return _expect(derivation, num_pending, i, middle, k, cut, 2 * place, left)
    num_pending = _expect(derivation, num_pending, middle, j, k, cut, 2 * place + 1, right)
    return _expect(derivation, num_pending, i, middle, cut, l, 2 * place, left)


# ---- Drawing --------------------------------------------------------------------------------------


@borrowing
def draw(rng, derivation, chart, pair, phrases, scale):
    """Draw the derivation of a sentence pair whose chart has been filled, with the chart's probability."""
    n, m = len(pair.source_alone), len(pair.target_alone)
    derivation.size[0] = 0
    num_pending = _expect(derivation, 0, 0, n, 0, m, -1, -1)
    while num_pending > 0:
        num_pending -= 1
        place = _add(derivation, derivation.pending[num_pending], 0)
        num_choices = _choices(derivation.cell[place], chart, pair, phrases, scale)
        outcome = chart.outcomes[draws.categorical(rng, chart.weights, num_choices)]
        table, middle, cut = outcome[0], outcome[1], outcome[2]
        derivation.table[place] = table
        if table < -1 - WORDS:
            num_pending = _expect_two(derivation, num_pending, place, -1 - table, middle, cut, -1, -1)


@borrowing
def _choices(cell, chart, pair, phrases, scale):
    """What a customer of a cell may do, with weights; how many choices there are."""
    i, j, k, l = cell[0], cell[1], cell[2], cell[3]
    n, m = len(pair.source_alone), len(pair.target_alone)
    opening = opening_prob(phrases)
    size = _choice(
        chart,
        0,
        -1 - WORDS,
        0,
        0,
        opening * symbol_prob(phrases, WORDS) * words_prob(pair, i, j, k, l, scale),
    )
    table = phrases.first[slot_of(phrases, key_of(pair, cell))]
    if table >= 0:
        served = phrases.totals[CUSTOMERS] + phrases.parameters[STRENGTH]
        each = word_scale(pair, i, j, k, l, scale) / served
        while table >= 0:
            weight = (phrases.customers[table] - phrases.parameters[DISCOUNT]) * each
            size = _choice(chart, size, table, 0, 0, weight)
            table = phrases.following[table]
    if j == i or l == k:
        return size
    straight, inverted = opening * symbol_prob(phrases, STRAIGHT), opening * symbol_prob(phrases, INVERTED)
    probs = chart.probs
    for middle in range(i, j + 1):
        for cut in range(k, l + 1):
            # A cell is no part of itself: the other part would have no words, and has no probability.
            weight = probs[cell_at(i, middle, k, cut, n, m)] * probs[cell_at(middle, j, cut, l, n, m)]
            size = _choice(chart, size, -1 - STRAIGHT, middle, cut, straight * weight)
            weight = probs[cell_at(i, middle, cut, l, n, m)] * probs[cell_at(middle, j, k, cut, n, m)]
            size = _choice(chart, size, -1 - INVERTED, middle, cut, inverted * weight)
    return size


@inlined
def _choice(chart, size, table, middle, cut, weight):
    """List a choice if it is possible; how many there are."""
    if weight > 0.0:
        chart.weights[size] = weight
        row = chart.outcomes[size]
        row[0], row[1], row[2] = table, middle, cut
        size += 1
    return size


# ---- Seating --------------------------------------------------------------------------------------


@borrowing
def unseat(derivation, phrases, table, num_source, num_target):
    """List the customers of a sentence pair that sits at a table, and take them away.

    Returns
    -------
    ln of the product of the probabilities with which they would be seated again one after the other, P₀ left
    out.
    """
    derivation.size[0] = 0
    log_prob = 0.0
    num_pending = _expect(derivation, 0, 0, num_source, 0, num_target, -1, table)
    while num_pending > 0:
        num_pending -= 1
        table = derivation.pending[num_pending, 5]
        if phrases.customers[table] > 1:
            _add(derivation, derivation.pending[num_pending], table)
            join_table(phrases, table, -1)
            log_prob += _log_joining(phrases, table)
            continue
        symbol = np.int64(phrases.symbol[table])
        place = _add(derivation, derivation.pending[num_pending], -1 - symbol)
        close_table(phrases, table)
        log_prob += _log_opening(phrases, symbol)
        if symbol != WORDS:
            left, right = phrases.children[table, 0], phrases.children[table, 1]
            middle = derivation.cell[place, 0] + phrases.lengths[left, 0]
            first = left if symbol == STRAIGHT else right
            cut = derivation.cell[place, 2] + phrases.lengths[first, 1]
            num_pending = _expect_two(derivation, num_pending, place, symbol, middle, cut, left, right)
    return log_prob


@borrowing
def seat(derivation, phrases, pair):
    """Seat the customers of a derivation.

    Returns
    -------
    The table of the sentence pair, and what `unseat` would return.
    """
    log_prob, table = 0.0, -1
    for place in range(derivation.size[0] - 1, -1, -1):
        table = derivation.table[place]
        if table >= 0:
            log_prob += _log_joining(phrases, table)
            join_table(phrases, table)
        else:
            symbol = -1 - table
            log_prob += _log_opening(phrases, symbol)
            cell = derivation.cell[place]
            left, right = -1, -1
            if symbol != WORDS:
                left, right = derivation.children[place, 0], derivation.children[place, 1]
            table = open_table(
                phrases, key_of(pair, cell), symbol, left, right, cell[1] - cell[0], cell[3] - cell[2]
            )
        sender = derivation.sender[place]
        if sender >= 0:
            derivation.children[sender >> 1, sender & 1] = table
    return table, log_prob


@borrowing
def log_before(derivation, chart, phrases, num_source, num_target):
    """What `unseat` returns, if all were drawn at once, as `draw` does; no customer of it is seated.

    −∞ for what `draw` cannot draw: a table that another customer of the derivation opens, a cell that is not
    looked at.
    """
    log_prob = 0.0
    for place in range(derivation.size[0]):
        cell = derivation.cell[place]
        if not chart.probs[cell_at(cell[0], cell[1], cell[2], cell[3], num_source, num_target)] > 0.0:
            return -np.inf
        table = derivation.table[place]
        if table < 0:
            log_prob += _log_opening(phrases, -1 - table)
        elif phrases.customers[table] == 0:
            return -np.inf
        else:
            log_prob += _log_joining(phrases, table)
    return log_prob


@borrowing
def _log_joining(phrases, table):
    """ln of the probability that the next customer joins a table."""
    mass = phrases.customers[table] - phrases.parameters[DISCOUNT]
    return elementary.log(mass / (phrases.totals[CUSTOMERS] + phrases.parameters[STRENGTH]))


@borrowing
def _log_opening(phrases, symbol):
    """ln of the probability that the next customer opens a table for what is made in this way."""
    return elementary.log(opening_prob(phrases) * symbol_prob(phrases, symbol))
