"""What the search of a sentence writes to: items, edges, the points of a cell, and their heap.

Arrays are longer than what they hold; how much that is stands in `Scratch.counter`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.arrays.hash_table import mix
from scfg_sampler.core.jit import borrowing, compiled

__all__ = [
    "EDGES",
    "ITEMS",
    "JOINS",
    "LONGEST",
    "NUM_COUNTERS",
    "OPENED",
    "PARTS",
    "POINTS",
    "POPS",
    "QUERIES",
    "ROWS",
    "SIDES",
    "WAITING",
    "Edges",
    "Items",
    "Points",
    "Scratch",
    "Slots",
    "copy_row",
    "copy_state",
    "copy_states",
    "keep_row",
    "keep_state",
    "keep_states",
    "larger_edges",
    "larger_items",
    "larger_points",
    "new_workspace",
    "pop",
    "push",
    "rehashed",
    "slot_of",
]

ITEMS, EDGES, POINTS, WAITING, POPS, QUERIES, LONGEST = range(7)  # Counters, and a length.
SIDES, JOINS, ROWS, PARTS, OPENED = range(7, 12)  # Counters of `decoder.search.boundary`.
NUM_COUNTERS = 12


class Items(NamedTuple):
    """Items found so far, in the order of their cells.

    state : int32, three dimensions: the state of each language model, filled with zeros; in
        `decoder.search.boundary` two, a head and a tail
    ranked : int32, the items of each cell from the best to the worst
    """

    cell: np.ndarray
    score: np.ndarray
    best_edge: np.ndarray
    state: np.ndarray
    ranked: np.ndarray


class Edges(NamedTuple):
    """Edges found so far; the fields are those of `Forest`."""

    head: np.ndarray
    rule: np.ndarray
    log_prob: np.ndarray
    weight: np.ndarray
    tails: np.ndarray


class Points(NamedTuple):
    """Points of the present cell, and the heap of those that wait.

    cube : int32
    place : int32, two dimensions: rank of the rule in its group, then of the items in their cells
    raised : int32, the coordinate that was raised last
    log_prob : float64, two dimensions: what each language model gives the edge that the point makes
    weight, state : of the edge, and of the item, that it makes
    key, waiting : the heap, keys and points
    """

    cube: np.ndarray
    place: np.ndarray
    raised: np.ndarray
    log_prob: np.ndarray
    weight: np.ndarray
    state: np.ndarray
    key: np.ndarray
    waiting: np.ndarray


class Slots(NamedTuple):
    """The items of the present cell by state: a hash table. A slot is free if it belongs to another cell."""

    item: np.ndarray
    cell: np.ndarray


class Scratch(NamedTuple):
    """Room for the items of a point, two states of one language model, those of all, and the counters."""

    members: np.ndarray
    state: np.ndarray
    other: np.ndarray
    states: np.ndarray
    counter: np.ndarray


@compiled
def new_workspace(arity: int, num_models: int, width: int) -> tuple[Items, Edges, Points, Slots, Scratch]:
    """Empty ones, for rules of `arity` nonterminals and language-model states of `width` numbers."""
    no_ints, no_floats, no_log_probs = np.empty(0, np.int32), np.empty(0), np.empty((0, num_models))
    no_states = np.empty((0, num_models, width), np.int32)
    items = Items(no_ints, no_floats, no_ints, no_states, no_ints)
    edges = Edges(no_ints, no_ints, no_log_probs, no_floats, np.empty((0, arity), np.int32))
    places = np.empty((0, 1 + arity), np.int32)
    points = Points(no_ints, places, no_ints, no_log_probs, no_floats, no_states, no_floats, no_ints)
    slots = Slots(np.empty(1024, np.int32), np.full(1024, -1, np.int32))
    states = np.empty((num_models, width), np.int32)
    scratch = Scratch(
        np.empty(arity, np.int32),
        states[0].copy(),
        states[0].copy(),
        states,
        np.zeros(NUM_COUNTERS, np.int64),
    )
    return larger_items(items, 1024), larger_edges(edges, 1024), points, slots, scratch


@borrowing
def copy_state(states, row, model, to):
    """Make `to` the state of one language model in a row."""
    for i in range(len(to)):
        to[i] = states[row, model, i]


@borrowing
def copy_row(states, model, to):
    """Make `to` the state of one language model."""
    for i in range(len(to)):
        to[i] = states[model, i]


@borrowing
def copy_states(states, row, to):
    """Make `to`, a row for each language model, what is in a row."""
    for model in range(to.shape[0]):
        for i in range(to.shape[1]):
            to[model, i] = states[row, model, i]


@borrowing
def keep_state(states, row, model, state):
    """Make the state of one language model in a row what `state` is."""
    for i in range(len(state)):
        states[row, model, i] = state[i]


@borrowing
def keep_row(states, model, state):
    """Make the state of one language model what `state` is."""
    for i in range(len(state)):
        states[model, i] = state[i]


@borrowing
def keep_states(states, row, state):
    """Make the states in a row what `state` is, a row for each language model."""
    for model in range(state.shape[0]):
        for i in range(state.shape[1]):
            states[row, model, i] = state[model, i]


# ---- The heap: largest key first ------------------------------------------------------------------


@borrowing
def push(points, count, key, point):
    """Add a point."""
    at = count[WAITING]
    count[WAITING] += 1
    while at > 0:
        parent = (at - 1) >> 1
        if points.key[parent] >= key:
            break
        points.key[at], points.waiting[at] = points.key[parent], points.waiting[parent]
        at = parent
    points.key[at], points.waiting[at] = key, point


@borrowing
def pop(points, count):
    """Remove the first point."""
    count[WAITING] -= 1
    size = count[WAITING]
    key, point = points.key[size], points.waiting[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and points.key[below + 1] > points.key[below]:
            below += 1
        if points.key[below] <= key:
            break
        points.key[at], points.waiting[at] = points.key[below], points.waiting[below]
        at = below
    points.key[at], points.waiting[at] = key, point


# ---- The items of a cell by state -----------------------------------------------------------------


@borrowing
def slot_of(slots, states, state, cell):
    """The slot of the cell's item with this state, a row for each model, or the free slot for it."""
    code = np.uint64(0)
    for model in range(state.shape[0]):
        for i in range(state.shape[1]):
            code = mix(code, state[model, i])
    mask = len(slots.item) - 1
    slot = np.int64(code & np.uint64(mask))
    while slots.cell[slot] == cell:
        if _are_equal(states, slots.item[slot], state):
            break
        slot = (slot + 1) & mask
    return slot


@borrowing
def _are_equal(states, row, state):
    for model in range(state.shape[0]):
        for i in range(state.shape[1]):
            if state[model, i] != states[row, model, i]:
                return False
    return True


@compiled
def rehashed(slots, states, first, last, cell):
    """Twice as many slots with the items first … last − 1 of a cell."""
    size = 2 * len(slots.item)
    slots = Slots(np.empty(size, np.int32), np.full(size, -1, np.int32))
    state = np.empty(states.shape[1:], np.int32)
    for item in range(first, last):
        copy_states(states, item, state)
        slot = slot_of(slots, states, state, cell)
        slots.item[slot], slots.cell[slot] = item, cell
    return slots


# ---- Longer arrays --------------------------------------------------------------------------------


@compiled
def larger_items(items, size):
    return Items(
        grown(items.cell, size),
        grown(items.score, size),
        grown(items.best_edge, size),
        grown(items.state, size),
        grown(items.ranked, size),
    )


@compiled
def larger_edges(edges, size):
    return Edges(
        grown(edges.head, size),
        grown(edges.rule, size),
        grown(edges.log_prob, size),
        grown(edges.weight, size),
        grown(edges.tails, size),
    )


@compiled
def larger_points(points, size):
    return Points(
        grown(points.cube, size),
        grown(points.place, size),
        grown(points.raised, size),
        grown(points.log_prob, size),
        grown(points.weight, size),
        grown(points.state, size),
        grown(points.key, size),
        grown(points.waiting, size),
    )
