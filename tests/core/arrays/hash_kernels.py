"""Kernels that fill hash tables, for their tests."""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.arrays import hash_table
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.arrays.hash_table import (
    add,
    find,
    first_candidate,
    first_slot,
    has_room,
    hash_sequence,
    key_slot,
    new_sequences,
    next_candidate,
    number_in,
    put,
    with_room,
)
from scfg_sampler.core.jit import kernel


@kernel
def add_all(sequences, start, symbols, numbers):
    """Add all rows, making room for one at a time."""
    for row in range(len(start) - 1):
        if not has_room(sequences, 1, start[row + 1] - start[row]):
            sequences = with_room(sequences, 1, start[row + 1] - start[row])
        numbers[row] = add(sequences, symbols, start[row], start[row + 1])
    return sequences


@kernel
def find_all(sequences, start, symbols, numbers):
    """Look all rows up."""
    for row in range(len(start) - 1):
        numbers[row] = find(sequences, symbols, start[row], start[row + 1])


@kernel
def hash_of(symbols):
    """The hash of a sequence."""
    return hash_sequence(symbols, 0, len(symbols))


@kernel
def grow(array, size):
    """`grown`, called from Python."""
    return grown(array, size)


def ragged(rows, dtype):
    """Offsets and symbols of rows."""
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return start, np.array([symbol for row in rows for symbol in row], dtype)


def numbered(rows, dtype=np.int32, sequences=None):
    """The numbers of rows of symbols, and the sequences that have them."""
    numbers = np.empty(len(rows), np.int64)
    sequences = new_sequences(dtype) if sequences is None else sequences
    sequences = add_all(sequences, *ragged(rows, dtype), numbers)
    return numbers.tolist(), sequences


def looked_up(rows, sequences):
    """The numbers of rows, −1 for those that are not there."""
    numbers = np.empty(len(rows), np.int64)
    find_all(sequences, *ragged(rows, sequences.symbols.dtype), numbers)
    return numbers.tolist()


def numbered_with_one_hash(rows):
    """`numbered` where all sequences have the same hash; to be called interpreted."""
    hash_table.hash_sequence = lambda symbols, begin, end: np.uint64(0x123456789ABCDEF)
    return numbered(rows)


@kernel
def count_keys(table, counts, keys, codes):
    """Count each key in the slot that is its own."""
    for i in range(len(keys)):
        slot = key_slot(table, keys[i], first_slot(table, codes[i]))
        if table.ndim == 1:
            table[slot] = keys[i]
        else:
            table[slot, 0] = keys[i]
        counts[slot] += 1


@kernel
def number_values(slots, values, codes, first, last, least, numbers):
    """Number the values first … last − 1, equal ones alike, from `least` on."""
    num_values = least
    kept = np.empty(least + last - first, np.int64)
    for i in range(first, last):
        slot = first_candidate(slots, codes[i], least)
        while number_in(slots, slot) >= least and kept[number_in(slots, slot)] != values[i]:
            slot = next_candidate(slots, codes[i], least, slot)
        if number_in(slots, slot) < least:
            put(slots, slot, codes[i], num_values)
            kept[num_values] = values[i]
            num_values += 1
        numbers[i] = number_in(slots, slot)
    return num_values
