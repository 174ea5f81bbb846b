"""Ragged rows sort, group and can be picked as lists of integers would."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.core.arrays.ragged import concatenated, group_rows, lexicographic_order, take_rows

SYMBOLS = st.sampled_from([-(1 << 31), -3, -1, 0, 1, 2, 70_000, (1 << 31) - 1])
ROWS = st.lists(st.lists(SYMBOLS, max_size=12), max_size=60)


def packed(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    start = np.cumsum([0] + [len(row) for row in rows])
    return start, np.array([symbol for row in rows for symbol in row], np.int32)


@given(ROWS)
def test_order_is_that_of_lists_with_equal_rows_in_their_order(rows):
    order = lexicographic_order(*packed(rows)).tolist()
    assert order == sorted(range(len(rows)), key=rows.__getitem__)


def test_many_rows_with_long_common_beginnings_are_sorted(rng):
    # Ties of the sorting key in the hundreds, so that runs are merged.
    rows = [[5] * 9 + rng.integers(0, 3, size=rng.integers(0, 6)).tolist() for _ in range(700)]
    order = lexicographic_order(*packed(rows)).tolist()
    assert order == sorted(range(len(rows)), key=rows.__getitem__)


@given(ROWS)
def test_groups_are_the_equal_rows_numbered_by_first_sight(rows):
    group, first = group_rows(*packed(rows))
    numbers: dict[tuple, int] = {}
    assert group.tolist() == [numbers.setdefault(tuple(row), len(numbers)) for row in rows]
    assert [tuple(rows[row]) for row in first] == list(numbers)


@given(ROWS, st.data())
def test_rows_taken_are_the_rows_asked_for(rows, data):
    wanted = data.draw(st.lists(st.integers(0, len(rows) - 1)) if rows else st.just([]))
    start, values = take_rows(*packed(rows), np.array(wanted, np.int64))
    assert [values[a:b].tolist() for a, b in itertools.pairwise(start)] == [rows[row] for row in wanted]


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_parts_one_after_the_other_have_the_rows_of_all(parts):
    start, values = concatenated([packed(rows) for rows in parts])
    found = [values[a:b].tolist() for a, b in itertools.pairwise(start)]
    assert found == list(itertools.chain.from_iterable(parts))


def test_rows_of_pairs_keep_their_columns():
    start = np.array([0, 2, 3])
    values = np.array([[1, 2], [3, 4], [5, 6]], np.int32)
    new_start, taken = take_rows(start, values, np.array([1, 0]))
    assert new_start.tolist() == [0, 1, 3]
    assert taken.tolist() == [[5, 6], [1, 2], [3, 4]]
