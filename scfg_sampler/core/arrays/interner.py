"""Sequences of symbols to dense ids and back, by open addressing in flat arrays.

Id i stands for keys[key_start[i]:key_start[i + 1]], and ids are given in the order of first sight. A sequence
is looked up by a fingerprint of 63 bits that the caller supplies and then compared symbol by symbol, so two
sequences never share an id, whatever their fingerprints.

The fact a newcomer would get wrong: kernels cannot enlarge arrays. They ask `has_room` before they intern,
and hand back to Python for `enlarged` when it says no.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.jit import compiled, kernel

__all__ = ["Interner", "enlarged", "has_room", "intern", "new_interner"]


class Interner(NamedTuple):
    """Sequences seen so far."""

    slots: np.ndarray
    """int64 (C, 2), C a power of two: fingerprint (0 for a free slot) and id; at most half full."""
    key_start: np.ndarray
    """int64 (D + 1,): room for D sequences."""
    keys: np.ndarray
    """int32 (M,)."""
    size: np.ndarray
    """int64 (1,): number of sequences."""


def new_interner(num_sequences: int = 1 << 10, num_symbols: int = 1 << 13) -> Interner:
    """An empty interner with room for so many sequences and symbols.

    Parameters
    ----------
    num_sequences, num_symbols : int
    """
    capacity = 1 << 4
    while capacity < 2 * num_sequences:
        capacity *= 2
    return Interner(
        np.zeros((capacity, 2), np.int64),
        np.zeros(num_sequences + 1, np.int64),
        np.zeros(num_symbols, np.int32),
        np.zeros(1, np.int64),
    )


@compiled
def intern(interner, fingerprint, symbols, length):
    """The id of symbols[:length], new if the sequence is; the fingerprint must be positive."""
    slots = interner.slots
    mask = slots.shape[0] - 1
    slot = fingerprint & mask
    while slots[slot, 0] != 0:
        if slots[slot, 0] == fingerprint and _spells(interner, slots[slot, 1], symbols, length):
            return slots[slot, 1]
        slot = (slot + 1) & mask
    new = interner.size[0]
    interner.size[0] = new + 1
    slots[slot, 0] = fingerprint
    slots[slot, 1] = new
    start = interner.key_start[new]
    for i in range(length):
        interner.keys[start + i] = symbols[i]
    interner.key_start[new + 1] = start + length
    return new


@compiled
def _spells(interner, sequence, symbols, length):
    start = interner.key_start[sequence]
    if interner.key_start[sequence + 1] - start != length:
        return False
    for i in range(length):  # noqa: SIM110 (must compile)
        if interner.keys[start + i] != symbols[i]:
            return False
    return True


@compiled
def has_room(interner, num_sequences, num_symbols):
    """Whether so many more sequences with so many symbols in all can be interned."""
    size = interner.size[0] + num_sequences
    if size >= interner.key_start.shape[0] or 2 * size > interner.slots.shape[0]:
        return False
    return interner.key_start[interner.size[0]] + num_symbols <= interner.keys.shape[0]


def enlarged(interner: Interner, num_sequences: int, num_symbols: int) -> Interner:
    """The same sequences with the same ids, and room for at least so many more.

    Parameters
    ----------
    interner : Interner
        Not changed.
    num_sequences, num_symbols : int
    """
    size = int(interner.size[0])
    used = int(interner.key_start[size])
    bigger = new_interner(2 * size + num_sequences, 2 * used + num_symbols)
    bigger.key_start[: size + 1] = interner.key_start[: size + 1]
    bigger.keys[:used] = interner.keys[:used]
    bigger.size[0] = size
    _rehash(interner.slots, bigger.slots)
    return bigger


@kernel
def _rehash(old, new):
    mask = new.shape[0] - 1
    for at in range(old.shape[0]):
        if old[at, 0] != 0:
            slot = old[at, 0] & mask
            while new[slot, 0] != 0:
                slot = (slot + 1) & mask
            new[slot, 0] = old[at, 0]
            new[slot, 1] = old[at, 1]
