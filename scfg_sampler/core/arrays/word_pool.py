"""Words of a block of bytes, found and numbered without making a Python object of any.

For compiled readers of text. The fact a newcomer would get wrong: the words are bytes as they stand in the
file, perhaps escaped, and kernels cannot enlarge a pool; they ask `has_room` before each line and hand back
to Python for `larger`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.jit import compiled, kernel

__all__ = [
    "WordPool",
    "add_word",
    "end_of_line",
    "find_word",
    "has_room",
    "larger",
    "new_word_pool",
    "next_token",
    "pool_of",
]

_SPACE, _TAB, _NEWLINE = 32, 9, 10


class WordPool(NamedTuple):
    """Byte strings and their ids 0, 1, …; kernels fill it as far as it has room.

    slots : int64, (31 bits of the hash) · 2³² + id + 1, or 0
    start : int64, offsets into `text`
    text : uint8
    size : int64, shape (1,), the number of words
    """

    slots: np.ndarray
    start: np.ndarray
    text: np.ndarray
    size: np.ndarray


def new_word_pool() -> WordPool:
    """No words."""
    return WordPool(
        np.zeros(1 << 13, np.int64),
        np.zeros((1 << 12) + 1, np.int64),
        np.zeros(1 << 16, np.uint8),
        np.zeros(1, np.int64),
    )


def pool_of(words: Iterable[bytes]) -> WordPool:
    """The given words, all different, with ids in their order and no room for more."""
    texts = list(words)
    start = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=start[1:])
    text = np.frombuffer(b"".join(texts) or b"\0", np.uint8).copy()
    slots = np.zeros(1 << (4 * len(texts) + 8).bit_length(), np.int64)
    _fill_slots(slots, start, text, len(texts))
    return WordPool(slots, start, text, np.array([len(texts)], np.int64))


def larger(words: WordPool, length: int) -> WordPool:
    """The same words with the same ids, and room for twice as many and a line of `length` bytes."""
    size = int(words.size[0])
    room = 1 << (2 * size + length).bit_length()
    start = np.zeros(room + 1, np.int64)
    start[: size + 1] = words.start[: size + 1]
    text = np.zeros(2 * int(start[size]) + 8 * length + (1 << 14), np.uint8)
    text[: start[size]] = words.text[: start[size]]
    slots = np.zeros(2 * room, np.int64)
    _fill_slots(slots, start, text, size)
    return WordPool(slots, start, text, words.size)


@compiled
def end_of_line(block, at):
    """Where the line at `at` ends: at its line feed, or at the end of the block."""
    while at < len(block) and block[at] != _NEWLINE:
        at += 1
    return at


@compiled
def next_token(block, at, end):
    """Begin and end of the next token before `end`; both are `end` if there is none."""
    while at < end and (block[at] == _SPACE or block[at] == _TAB):
        at += 1
    begin = at
    while at < end and block[at] != _SPACE and block[at] != _TAB:
        at += 1
    return begin, at


@compiled
def find_word(words, block, begin, end):
    """The id of the bytes block[begin:end], or −1."""
    code = _hash_bytes(block, begin, end)
    return _slot_of(words, code, block, begin, end)[1]


@compiled
def add_word(words, block, begin, end):
    """The id of the bytes block[begin:end], new if need be; there must be room."""
    code = _hash_bytes(block, begin, end)
    slot, word = _slot_of(words, code, block, begin, end)
    if word >= 0:
        return word
    new = words.size[0]
    first = words.start[new]
    for k in range(end - begin):
        words.text[first + k] = block[begin + k]
    words.start[new + 1] = first + end - begin
    words.slots[slot] = (np.int64(code >> np.uint64(33)) << 32) | (new + 1)
    words.size[0] = new + 1
    return new


@compiled
def has_room(words, length):
    """Whether all words of a line of so many bytes could be new and still fit."""
    size = words.size[0] + length // 2 + 1
    return size < len(words.start) and words.start[words.size[0]] + length <= len(words.text)


@compiled
def _slot_of(words, code, block, begin, end):
    """The slot of a word, and its id or −1."""
    tag = np.int64(code >> np.uint64(33))
    mask = len(words.slots) - 1
    slot = np.int64(code & np.uint64(mask))
    while words.slots[slot] != 0:
        if words.slots[slot] >> 32 == tag:
            word = (words.slots[slot] & 0xFFFFFFFF) - 1
            first = words.start[word]
            if words.start[word + 1] - first == end - begin:
                k = 0
                while k < end - begin and words.text[first + k] == block[begin + k]:
                    k += 1
                if k == end - begin:
                    return slot, word
        slot = (slot + 1) & mask
    return slot, -1


@compiled
def _hash_bytes(text, begin, end):
    state = np.uint64(0xCBF29CE484222325)
    for at in range(begin, end):
        state = (state ^ np.uint64(text[at])) * np.uint64(0x100000001B3)
    return (state ^ (state >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)


@kernel
def _fill_slots(slots, start, text, size):
    for word in range(size):
        code = _hash_bytes(text, start[word], start[word + 1])
        slot = np.int64(code & np.uint64(len(slots) - 1))
        while slots[slot] != 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = (np.int64(code >> np.uint64(33)) << 32) | (word + 1)
