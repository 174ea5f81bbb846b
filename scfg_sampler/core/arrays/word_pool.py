"""Words of a block of bytes, found and numbered without making a Python object of any.

For compiled readers of text. The fact a newcomer would get wrong: the words are bytes as they stand in the
file, perhaps escaped, and kernels that borrow a pool cannot enlarge it; they ask `has_room` before each line
and hand back to Python for `with_room`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from scfg_sampler.core.arrays import hash_table
from scfg_sampler.core.arrays.hash_table import Sequences, new_sequences
from scfg_sampler.core.jit import compiled, kernel

__all__ = [
    "WordPool",
    "end_of_line",
    "has_room",
    "new_word_pool",
    "next_token",
    "pool_of",
    "with_room",
]

_SPACE, _TAB, _NEWLINE = 32, 9, 10


WordPool = Sequences
"""Byte strings and their ids 0, 1, …: sequences of uint8."""


def new_word_pool() -> WordPool:
    """No words, and room for some."""
    return _with_room(new_sequences(np.uint8), 1 << 12, 1 << 16)


def pool_of(words: Iterable[bytes]) -> WordPool:
    """The given words, all different, with ids in their order."""
    texts = list(words)
    start = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=start[1:])
    text = np.frombuffer(b"".join(texts), np.uint8).copy()
    return _with_room(Sequences(np.zeros(0, np.int64), start, text, np.array([len(texts)], np.int64)), 1, 1)


def with_room(words: WordPool, length: int) -> WordPool:
    """The same words with the same ids, and room for all words of a line of so many bytes."""
    return _with_room(words, length // 2 + 1, length)


@kernel
def _with_room(words, number, length):
    return hash_table.with_room(words, number, length)


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
def has_room(words, length):
    """Whether all words of a line of so many bytes could be new and still fit."""
    return hash_table.has_room(words, length // 2 + 1, length)
