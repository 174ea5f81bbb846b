"""Hash tables of whole numbers and of sequences: every search by open addressing is a loop of this module.

The slots of a table are a power of two, at most half of them used, and a search goes from the slot that the
hash names to the next one until it meets what it seeks or a free slot. There are two kinds:

keys
    The slot holds the key itself, a 64-bit integer other than 0 (`key_slot`). For what has no place of its
    own: transitions of a trie, fingerprints.
numbers
    The slot holds the number of a thing that is stored elsewhere, and 31 bits of its hash as a tag. A search
    gives *candidates*, slots that are free or whose tag is right, and the caller compares (`first_candidate`,
    `next_candidate`). `Sequences` are the common case, sequences of symbols numbered 0, 1, … as they come.

The fact a newcomer would get wrong: no hash is a proof. Tags agree by chance once in 2³¹ comparisons, so
whoever takes a candidate for what it seeks without comparing is wrong in a corpus of some size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import compiled, inlined

__all__ = [
    "Sequences",
    "add",
    "capacity_for",
    "find",
    "first_candidate",
    "first_slot",
    "free_slot",
    "has_room",
    "hash_sequence",
    "key_slot",
    "mix",
    "new_sequences",
    "new_slots",
    "next_candidate",
    "number_in",
    "packed",
    "put",
    "with_room",
]

_FEWEST_SLOTS = 16
_NUMBER = 0xFFFFFFFF
_TAG_BITS = 33  # What a tag leaves out of a hash.


# ---- Hashes ---------------------------------------------------------------------------------------


@compiled
def mix(state: np.uint64, symbol: int) -> np.uint64:
    """A 64-bit hash state after one more symbol (multiply and shift, as in splitmix64)."""
    state = np.uint64(state) ^ np.uint64(symbol)
    state = (state ^ (state >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return state ^ (state >> np.uint64(29))


@compiled
def hash_sequence(symbols: np.ndarray, begin: int, end: int) -> np.uint64:
    """A 64-bit hash of `symbols[begin:end]`; not a proof of equality."""
    state = np.uint64(0x9E3779B97F4A7C15) + np.uint64(end - begin)
    for i in range(begin, end):
        state = mix(state, symbols[i])
    return (state ^ (state >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)


# ---- Slots ----------------------------------------------------------------------------------------


@inlined
def capacity_for(number):
    """How many slots a table of so many keys or numbers has."""
    capacity = _FEWEST_SLOTS
    while capacity < 2 * number:
        capacity *= 2
    return capacity


@compiled
def new_slots(number: int) -> np.ndarray:
    """int64, free slots for so many keys or numbers."""
    return np.zeros(capacity_for(number), np.int64)


@inlined
def first_slot(keys, code):
    """Where the search for a key with this hash begins."""
    return code & (keys.shape[0] - 1)


@inlined
def key_slot(keys, key, slot, free=0):
    """The slot of a key, or the free one where it belongs.

    Parameters
    ----------
    keys : int64 (C,), or (C, W) with the key in column 0
    key : int
        Not `free`.
    slot : int
        As `first_slot` gives it.
    free : int
        What stands in slots without a key.
    """
    mask = keys.shape[0] - 1
    if keys.ndim == 1:
        while keys[slot] != key and keys[slot] != free:
            slot = (slot + 1) & mask
    else:
        while keys[slot, 0] != key and keys[slot, 0] != free:
            slot = (slot + 1) & mask
    return slot


@inlined
def number_in(slots, slot):
    """The number that a slot holds, −1 if it is free."""
    return (slots[slot] & _NUMBER) - 1


@inlined
def first_candidate(slots, code, least):
    """The slot where the search for a thing ends unless it holds another thing with the same tag.

    Parameters
    ----------
    slots : int64 (C,)
    code : uint64
        The hash of what is sought.
    least : int
        Slots with lower numbers count as free; so a table is emptied by counting on. 0 for none.
    """
    return _candidate(slots, code, least, np.int64(code & np.uint64(slots.shape[0] - 1)))


@inlined
def next_candidate(slots, code, least, slot):
    """Where the search goes on behind a candidate that turned out to hold another thing."""
    return _candidate(slots, code, least, (slot + 1) & (slots.shape[0] - 1))


@inlined
def _candidate(slots, code, least, slot):
    tag = np.int64(code >> np.uint64(_TAG_BITS))
    mask = slots.shape[0] - 1
    while slots[slot] >> 32 != tag and number_in(slots, slot) >= least:
        slot = (slot + 1) & mask
    return slot


@inlined
def free_slot(slots, code):
    """The slot for a thing with this hash that is in no slot yet."""
    slot = first_candidate(slots, code, 0)
    while number_in(slots, slot) >= 0:
        slot = next_candidate(slots, code, 0, slot)
    return slot


@inlined
def put(slots, slot, code, number):
    """Write the number of a thing, below 2³² − 1, into a candidate slot of its hash."""
    slots[slot] = (np.int64(code >> np.uint64(_TAG_BITS)) << 32) | (number + 1)


# ---- Sequences ------------------------------------------------------------------------------------


class Sequences(NamedTuple):
    """Distinct sequences of symbols; sequence number i is symbols[start[i]:start[i + 1]].

    The arrays are longer than what is used. Growing makes new ones, so rebind.
    """

    slots: np.ndarray
    """int64 (C,): numbers with their tags; none in what was `packed`, until `with_room` makes them."""
    start: np.ndarray
    """int64, longer than the number of sequences."""
    symbols: np.ndarray
    """int32 or uint8."""
    size: np.ndarray
    """int64 (1,): how many sequences there are."""


def new_sequences(dtype: type) -> Sequences:
    """No sequences, and no room for any; symbols are to have the given type."""
    return Sequences(
        np.zeros(_FEWEST_SLOTS, np.int64),
        np.zeros(1, np.int64),
        np.zeros(0, dtype),
        np.zeros(1, np.int64),
    )


def packed(sequences: Sequences) -> Sequences:
    """The same sequences in arrays no longer than needed, to be stored; `with_room` makes the slots anew."""
    size = int(sequences.size[0])
    start = sequences.start[: size + 1]
    return Sequences(np.zeros(0, np.int64), start, sequences.symbols[: start[-1]], sequences.size)


@compiled
def find(sequences, symbols, begin, end):
    """The number of the sequence symbols[begin:end], or −1."""
    code = hash_sequence(symbols, begin, end)
    return number_in(sequences.slots, _slot(sequences, code, symbols, begin, end))


@compiled
def add(sequences, symbols, begin, end):
    """The number of the sequence symbols[begin:end], the next one if it is new; there must be room."""
    code = hash_sequence(symbols, begin, end)
    slot = _slot(sequences, code, symbols, begin, end)
    found = number_in(sequences.slots, slot)
    if found >= 0:
        return found
    new = sequences.size[0]
    first = sequences.start[new]
    for k in range(end - begin):
        sequences.symbols[first + k] = symbols[begin + k]
    sequences.start[new + 1] = first + end - begin
    put(sequences.slots, slot, code, new)
    sequences.size[0] = new + 1
    return new


@inlined
def _slot(sequences, code, symbols, begin, end):
    """The slot of a sequence, or the free one where it belongs."""
    slots = sequences.slots
    slot = first_candidate(slots, code, 0)
    while number_in(slots, slot) >= 0 and not _spells(sequences, number_in(slots, slot), symbols, begin, end):
        slot = next_candidate(slots, code, 0, slot)
    return slot


@compiled
def _spells(sequences, number, symbols, begin, end):
    first = sequences.start[number]
    if sequences.start[number + 1] - first != end - begin:
        return False
    for k in range(end - begin):  # noqa: SIM110 (all() over a generator does not compile)
        if sequences.symbols[first + k] != symbols[begin + k]:
            return False
    return True


@inlined
def has_room(sequences, number, num_symbols):
    """Whether so many more sequences, with so many symbols together, can be added."""
    size = sequences.size[0]
    fits = size + number < len(sequences.start) and 2 * (size + number) <= len(sequences.slots)
    return fits and sequences.start[size] + num_symbols <= len(sequences.symbols)


@compiled
def with_room(sequences, number, num_symbols):
    """The same sequences with the same numbers, and room for so many more with so many symbols together."""
    slots, start, symbols, size = sequences
    start = grown(start, size[0] + number + 1)
    symbols = grown(symbols, start[size[0]] + num_symbols)
    if 2 * (size[0] + number) > len(slots):
        # Four times as many slots while they are few: all numbers are put in anew each time.
        slots = new_slots(max(size[0] + number, len(slots) * (2 if len(slots) < 1 << 20 else 1)))
        for each in range(size[0]):
            code = hash_sequence(symbols, start[each], start[each + 1])
            put(slots, free_slot(slots, code), code, each)
    return Sequences(slots, start, symbols, size)
