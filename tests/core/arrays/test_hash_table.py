"""Hash tables find what a dictionary finds, whatever the hashes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.core.arrays.hash_table import new_sequences, packed
from tests.core.arrays.hash_kernels import (
    count_keys,
    grow,
    hash_of,
    looked_up,
    number_values,
    numbered,
    numbered_with_one_hash,
)
from tests.oracles.twins import interpreted

ROWS = st.lists(st.lists(st.integers(-2, 3), max_size=5), min_size=1, max_size=60)
WORDS = st.lists(st.binary(max_size=20), min_size=1, max_size=60)


def counted_up(rows):
    """What each row's number should be: equal rows alike, in the order of first sight."""
    numbers: dict[tuple[int, ...], int] = {}
    return [numbers.setdefault(tuple(row), len(numbers)) for row in rows]


def rows_of(sequences):
    start = sequences.start[: int(sequences.size[0]) + 1].tolist()
    return [sequences.symbols[a:b].tolist() for a, b in itertools.pairwise(start)]


@given(ROWS)
def test_numbers_count_up_at_first_sight(rows):
    numbers, sequences = numbered(rows)
    assert numbers == counted_up(rows)
    assert [rows_of(sequences)[number] for number in numbers] == rows
    assert 2 * np.count_nonzero(sequences.slots) <= len(sequences.slots)


@given(WORDS, WORDS)
def test_words_are_found_if_and_only_if_they_were_added(words, more):
    _, sequences = numbered(words, np.uint8)
    expected = {word: number for number, word in enumerate(dict.fromkeys(words))}
    assert looked_up([*words, *more], sequences) == [expected.get(word, -1) for word in [*words, *more]]


def test_many_sequences_outgrow_their_arrays(rng):
    rows = rng.integers(-3, 9, size=(20000, 5)).tolist()
    numbers, sequences = numbered(rows)
    assert numbers == counted_up(rows)
    assert looked_up(rows, sequences) == numbers


def colliding_rows():
    """Two rows of two 64-bit symbols with the same hash.

    A hash state takes a symbol by exclusive or, so the second one can undo what the first one changed.
    """

    def mixed(state, symbol):
        state = (state ^ symbol) % 2**64
        state = (state ^ (state >> 32)) * 0xD6E8FEB86659FD93 % 2**64
        return state ^ (state >> 29)

    begin = 0x9E3779B97F4A7C15 + 2
    undone = 9 ^ mixed(begin, 5) ^ mixed(begin, 7)
    return [[5, 9], [7, undone - 2**64 if undone >= 2**63 else undone]]


@pytest.mark.parametrize("symbols", [range(-3, 4), (-(2**31), -1, 0, 1, 2**31 - 1, 2**30)])
def test_short_sequences_have_hashes_of_their_own(symbols):
    rows = [row for length in range(6) for row in itertools.product(symbols, repeat=length)]
    hashes = [int(hash_of(np.array(row, np.int32))) for row in rows]
    assert len(set(hashes)) == len(rows)
    # The lower half says where a search begins, the upper is compared; 0.05 pairs of a half agree by chance.
    for half in (0, 32):
        assert len({code >> half & 0xFFFFFFFF for code in hashes}) >= len(rows) - 2


def test_sequences_with_equal_hashes_stay_apart():
    rows = colliding_rows()
    hashes = [hash_of(np.array(row, np.int64)) for row in rows]
    assert hashes[0] == hashes[1]
    numbers, sequences = numbered([*rows, rows[1], rows[0]], np.int64)
    assert numbers == [0, 1, 1, 0]
    assert looked_up([[*rows[1], 1], *rows], sequences) == [-1, 0, 1]


def test_sequences_stay_apart_when_all_hashes_are_equal(rng):
    rows = [rng.integers(-1, 2, size=rng.integers(0, 4)).tolist() for _ in range(200)]
    numbers, _ = interpreted(numbered_with_one_hash, rows)
    assert numbers == counted_up(rows)


def test_compiled_and_interpreted_tables_are_the_same(rng):
    rows = [rng.integers(-2, 3, size=rng.integers(0, 5)).tolist() for _ in range(300)]
    (numbers, sequences), (twin_numbers, twin) = numbered(rows), interpreted(numbered, rows)
    assert numbers == twin_numbers
    assert rows_of(sequences) == rows_of(twin)
    assert np.array_equal(sequences.slots, twin.slots)


@given(ROWS, ROWS)
def test_packed_sequences_can_be_added_to(rows, more):
    _, sequences = numbered(rows)
    small = packed(sequences)
    assert (len(small.slots), len(small.start)) == (0, len(set(map(tuple, rows))) + 1)
    assert len(small.symbols) == small.start[-1]
    again, _ = numbered([*rows, *more], sequences=small)
    assert again == counted_up([*rows, *more])


def test_no_sequences_are_found_in_none():
    assert looked_up([[], [1]], new_sequences(np.int32)) == [-1, -1]


@pytest.mark.parametrize("columns", [None, 1, 2])
@given(st.lists(st.tuples(st.integers(1, 7), st.integers(0, 3)), max_size=40))
def test_keys_have_slots_of_their_own(columns, pairs):
    # Few slots, and searches that begin near the last one, so that they go on at the first.
    code_of = dict(pairs)
    keys = np.array([key for key, _ in pairs], np.int64)
    codes = np.array([12 + code_of[key] for key, _ in pairs], np.int64)
    table = np.zeros(16 if columns is None else (16, columns), np.int64)
    counts = np.zeros(16, np.int64)
    count_keys(table, counts, keys, codes)
    held = table if columns is None else table[:, 0]
    found = {int(key): int(count) for key, count in zip(held, counts, strict=True) if key}
    assert found == {key: keys.tolist().count(key) for key in keys.tolist()}
    assert counts.sum() == len(keys)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.integers(1, 3), st.data())
def test_a_table_is_emptied_by_counting_on(values, distinct, data):
    codes = np.array([(value % distinct) << 33 | value % 2 for value in values], np.uint64)
    middle = data.draw(st.integers(0, len(values)))
    slots, numbers = np.zeros(128, np.int64), np.empty(len(values), np.int64)
    plain = np.array(values, np.int64)
    least = number_values(slots, plain, codes, 0, middle, 0, numbers)
    number_values(slots, plain, codes, middle, len(values), least, numbers)
    assert numbers[:middle].tolist() == counted_up([[v] for v in values[:middle]])
    assert numbers[middle:].tolist() == [least + n for n in counted_up([[v] for v in values[middle:]])]


@pytest.mark.parametrize("shape", [(3,), (3, 2), (0,), (0, 4)])
def test_a_grown_array_begins_with_the_old_one(rng, shape):
    array = rng.integers(0, 99, size=shape).astype(np.int32)
    bigger = grow(array, 4)
    assert len(bigger) >= max(4, 2 * len(array))
    assert (bigger.dtype, bigger.shape[1:]) == (array.dtype, array.shape[1:])
    assert np.array_equal(bigger[: len(array)], array)


def test_an_array_that_is_long_enough_is_left_where_it_is():
    array = np.zeros(4, np.int32)
    assert grow(array, 4).ctypes.data == array.ctypes.data
