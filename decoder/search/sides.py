"""Language-model states as pairs of numbers, and what joining them costs, worked out once a sentence.

A stretch of target words has two *sides*: its head, which is what the words before it have to know of it, and
its tail, which is what the words after it have to know (Heafield, Koehn and Lavie 2013 group derivations by
them). Equal sides have equal numbers, so a state is two numbers. What the language models change by when one
stretch follows another depends on the tail of the first and the head of the second alone, and so does what
becomes of the other two sides; sentences ask for the same pair tens of times, and all but the first time the
answer is one line of a table.

The fact a newcomer would get wrong: a stretch is not always two halves. One that is *open*, so short that a
word before it matters beyond its first words, is known only as a whole: it has one number, which is both its
head and its tail. With several language models, a stretch that is open for one of them is taken as a whole
for all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.lm.model import (
    add_state,
    forget_left,
    forget_right,
    is_closed,
    num_open_words,
)
from decoder.search.workspace import JOINS, QUERIES, ROWS, SIDES, copy_row, copy_state, keep_row, keep_states
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.arrays.hash_table import (
    first_candidate,
    free_slot,
    mix,
    new_slots,
    next_candidate,
    number_in,
    put,
)
from scfg_sampler.core.jit import borrowing, by_reference, compiled, inlined

__all__ = [
    "HEAD",
    "TAIL",
    "UNCHANGED",
    "Joins",
    "Sides",
    "States",
    "add_sides",
    "has_room",
    "is_row",
    "joined",
    "larger_joins",
    "larger_sides",
    "log_prob_of",
    "new_joins",
    "new_sides",
    "new_states",
    "row_of",
    "write_state",
]

HEAD, TAIL = 0, 1  # Where the sides of a state are.
UNCHANGED = -1  # What becomes of a side that the other stretch cannot reach.
_KEY, _VALUE = 0, 1  # Columns of `Joins.line`.
_IN_A_ROW = 0x7FF8 << 48  # Values from here on are no bits of a finite number, but a row of the other arrays.


class Sides(NamedTuple):
    """The sides met so far.

    state : int32 (…, M, W): a stretch that has this side, and of it nothing else unless it is open
    slots : int64, a hash table of their numbers
    rest : float64, what the scores of stretches with this side lack, by expectation, until it is known what
        precedes them
    """

    state: np.ndarray
    slots: np.ndarray
    rest: np.ndarray


class Joins(NamedTuple):
    """Pairs of a tail and a head that were joined: a hash table of lines, as short as can be.

    line : int64 (…, 2): the pair, 0 if the line is free; and the bits of the log probability that the model
        adds. If sides change, or there are several models, the number of a row of the other arrays instead
    log_prob : float64 (…, M), what each model adds
    new : int32 (…, 2), what becomes of the head of the first and the tail of the second stretch, or UNCHANGED
    """

    line: np.ndarray
    log_prob: np.ndarray
    new: np.ndarray


class States(NamedTuple):
    """Room for two states of all models and two of one; int32 (M, W) and (W,)."""

    all: np.ndarray
    half: np.ndarray
    one: np.ndarray
    other: np.ndarray


@compiled
def new_sides(num_models: int, width: int) -> Sides:
    return Sides(np.empty((1024, num_models, width), np.int32), new_slots(1024), np.empty(1024))


@compiled
def new_joins(num_models: int) -> Joins:
    return Joins(np.zeros((8192, 2), np.int64), np.empty((1024, num_models)), np.empty((1024, 2), np.int32))


@compiled
def new_states(num_models: int, width: int) -> States:
    every = np.zeros((num_models, width), np.int32)
    return States(every, every.copy(), every[0].copy(), every[0].copy())


@borrowing
def has_room(sides, joins, count, more):
    """Whether so many more pairs can be joined, or stretches be given sides."""
    most = count[SIDES] + 4 * more
    fits = most <= len(sides.state) and 2 * most <= len(sides.slots)
    return fits and 2 * (count[JOINS] + more) <= len(joins.line) and count[ROWS] + more <= len(joins.new)


@compiled
def larger_sides(sides, count, more):
    """With room for so many more pairs or stretches."""
    most = count[SIDES] + 4 * more
    state, slots = grown(sides.state, most), sides.slots
    if 2 * most > len(slots):
        slots = new_slots(2 * most)
        for side in range(count[SIDES]):
            code = _hash(state[side])
            put(slots, free_slot(slots, code), code, side)
    return Sides(state, slots, grown(sides.rest, most))


@compiled
def larger_joins(joins, count, more):
    """With room for so many more pairs."""
    log_prob, new = grown(joins.log_prob, count[ROWS] + more), grown(joins.new, count[ROWS] + more)
    size = len(joins.line)
    if 2 * (count[JOINS] + more) <= size:
        return Joins(joins.line, log_prob, new)
    while size < 2 * (count[JOINS] + more):
        size *= 2
    line = np.zeros((size, 2), np.int64)
    for i in range(len(joins.line)):
        if joins.line[i, _KEY] == 0:
            continue
        at = _first_line(line, joins.line[i, _KEY])
        while line[at, _KEY] != 0:
            at = (at + 1) & (size - 1)
        line[at, _KEY], line[at, _VALUE] = joins.line[i, _KEY], joins.line[i, _VALUE]
    return Joins(line, log_prob, new)


# ---- Sides ----------------------------------------------------------------------------------------


@borrowing
def add_sides(task, sides, states, count, side):
    """Give the stretch with the states in `states.all` its sides, `side` HEAD and TAIL."""
    if _is_open(states):
        side[HEAD] = side[TAIL] = _number_of(task, sides, states.all, count)
    else:
        side[HEAD] = _number_of_half(task, sides, states, count, HEAD)
        side[TAIL] = _number_of_half(task, sides, states, count, TAIL)


@borrowing
def write_state(sides, head, tail, states, row):
    """Make a row of `states`, int32 (…, M, W), those of the stretch with these sides."""
    for model in range(states.shape[1]):
        for i in range(states.shape[2]):
            # Each half is zero where the other is not, but for the mark that the state is closed.
            states[row, model, i] = sides.state[head, model, i] | sides.state[tail, model, i]


@borrowing
def _is_open(states):
    """Whether a stretch is open for any of the models."""
    for model in range(states.all.shape[0]):
        copy_row(states.all, model, states.one)
        if not is_closed(states.one):
            return True
    return False


@borrowing
def _number_of_half(task, sides, states, count, which):
    """The number of one half of the closed stretch in `states.all`."""
    for model in range(len(task.lms)):
        copy_row(states.all, model, states.one)
        if which == HEAD:
            forget_right(task.lms[model], states.one)
        else:
            forget_left(task.lms[model], states.one)
        keep_row(states.half, model, states.one)
    return _number_of(task, sides, states.half, count)


@borrowing
def _number_of(task, sides, state, count):
    """The number of a side, the next one if it is new; there must be room."""
    code = _hash(state)
    slot = first_candidate(sides.slots, code, 0)
    while number_in(sides.slots, slot) >= 0:
        if _is_state_of(sides, number_in(sides.slots, slot), state):
            return number_in(sides.slots, slot)
        slot = next_candidate(sides.slots, code, 0, slot)
    side = count[SIDES]
    count[SIDES] += 1
    keep_states(sides.state, side, state)
    sides.rest[side] = _rest_of(task, state)
    put(sides.slots, slot, code, side)
    return side


@borrowing
def _rest_of(task, state):
    """What the score of a stretch lacks until it is known what precedes it."""
    rest = 0.0
    for model in range(len(task.lms)):
        if state.shape[1] == 1 or state[model, 0] & 15 == 0:
            continue  # A model of single words has no left words.
        costs, word = task.lms[model].rest, state[model, 1]
        # A state from a file may name any word; queries take it, as they only hash it.
        if 0 <= word < len(costs):
            rest += task.settings.lm_weights[model] * np.float64(costs[word])
    return task.settings.guidance.rest * rest


@borrowing
def _is_state_of(sides, side, state):
    for model in range(state.shape[0]):
        for i in range(state.shape[1]):
            if sides.state[side, model, i] != state[model, i]:
                return False
    return True


@borrowing
def _hash(state):
    code = np.uint64(0)
    for model in range(state.shape[0]):
        for i in range(state.shape[1]):
            code = mix(code, state[model, i])
    return code


# ---- Joining --------------------------------------------------------------------------------------


@inlined
def _first_line(line, key):
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed ^ (mixed >> np.uint64(32))) & (line.shape[0] - 1)


@borrowing
def joined(task, work, tail, head):
    """What joining a tail and a head comes to; found out if they were never joined before.

    The bits of what the language model adds, or, if `is_row` says so, a row of the joins.

    task.lms, task.settings : the language models, the weights of these and the share of rest costs
    work.sides, work.joins, work.states, work.counter : what the names say
    """
    line = work.joins.line
    key = (np.int64(tail) + 1) << 32 | (np.int64(head) + 1)
    at = _first_line(line, key)
    while line[at, _KEY] != key:
        if line[at, _KEY] == 0:
            _fill(task, work, at, key, tail, head)
            break
        at = (at + 1) & (line.shape[0] - 1)
    return line[at, _VALUE]


@inlined
def is_row(value):
    """Whether what `joined` returned is a row."""
    return value >= _IN_A_ROW


@inlined
def row_of(value):
    return value - _IN_A_ROW


@inlined
def log_prob_of(value):
    """What the one model adds, if that is no row."""
    return np.int64(value).view(np.float64)


@borrowing
def _fill(task, work, at, key, tail, head):
    """Join the stretch with a tail, or all of it if it is open, and that with a head."""
    sides, joins, states, count = work.sides, work.joins, work.states, work.counter
    first_is_open = second_is_open = False
    row = count[ROWS]
    count[JOINS] += 1
    for model in range(len(task.lms)):
        copy_state(sides.state, head, model, states.other)
        second_is_open |= not is_closed(states.other)
        copy_state(sides.state, tail, model, states.one)
        first_is_open |= not is_closed(states.one)
        count[QUERIES] += num_open_words(states.other)
        log_prob = add_state(by_reference(task.lms[model]), states.one, states.other)
        keep_row(states.all, model, states.one)
        joins.log_prob[row, model] = log_prob
    new_head = new_tail = UNCHANGED
    if first_is_open and second_is_open and _is_open(states):
        new_head = new_tail = _number_of(task, sides, states.all, count)
    else:
        if first_is_open:
            new_head = _number_of_half(task, sides, states, count, HEAD)
        if second_is_open:
            new_tail = _number_of_half(task, sides, states, count, TAIL)
    value = np.float64(joins.log_prob[row, 0]).view(np.int64)
    if len(task.lms) > 1 or first_is_open or second_is_open:
        joins.new[row, HEAD], joins.new[row, TAIL] = new_head, new_tail
        value = _IN_A_ROW + row
        count[ROWS] += 1
    joins.line[at, _KEY], joins.line[at, _VALUE] = key, value
