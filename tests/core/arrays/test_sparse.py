"""Rows of a sparse matrix do what numpy does with the matrix spelled out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scfg_sampler.core.arrays.sparse import (
    Rows,
    differences,
    is_sound,
    joined,
    no_rows,
    row_products,
    row_sums,
    side_by_side,
    sparse_rows,
    spelled_out,
    take,
)


@pytest.fixture
def matrix(rng) -> np.ndarray:
    """Quarters, so that sums are exact and often 0; an empty row and an empty column."""
    found = rng.integers(-2, 3, (9, 7)) / 4.0 * (rng.random((9, 7)) < 0.5)
    found[4], found[:, 3] = 0.0, 0.0
    return found


def test_rows_are_the_matrix_without_its_zeros(matrix):
    rows = sparse_rows(matrix)
    assert_array_equal(spelled_out(rows), matrix)
    assert (rows.values != 0).all()
    assert is_sound(rows, 9)
    assert_array_equal(spelled_out(no_rows(3, 2)), np.zeros((3, 2)))


def test_rows_are_taken_joined_and_laid_side_by_side(matrix, rng):
    rows = sparse_rows(matrix)
    numbers = np.array([8, 0, 0, 4])
    assert_array_equal(spelled_out(take(rows, numbers)), matrix[numbers])
    assert_array_equal(spelled_out(joined([rows, take(rows, numbers)])), np.vstack([matrix, matrix[numbers]]))
    other = rng.integers(0, 2, (9, 3)).astype(float)
    both = side_by_side(rows, sparse_rows(other))
    assert_array_equal(spelled_out(both), np.hstack([matrix, other]))
    assert is_sound(both, 9)


def test_products_and_sums_and_differences_are_those_of_the_matrix(matrix, rng):
    rows = sparse_rows(matrix)
    vector = rng.normal(size=7)
    assert_allclose(row_products(rows, vector), matrix @ vector, atol=1e-14)
    start, numbers = np.array([0, 3, 3, 7]), np.array([0, 8, 0, -1, 5, 4, -3])
    padded = np.vstack([matrix, np.zeros(7)])[np.where(numbers < 0, 9, numbers)]
    found = row_sums(rows, start, numbers)
    assert_array_equal(spelled_out(found), [padded[0:3].sum(0), padded[3:3].sum(0), padded[3:].sum(0)])
    both = joined([rows, rows._replace(values=-rows.values)])
    nothing = row_sums(both, np.array([0, 2]), np.array([2, 11]))
    assert len(rows.column[rows.start[2] : rows.start[3]]) > 0 == len(nothing.values)
    pairs = np.array([[0, 1], [4, 2], [3, 3], [7, 4]])
    gaps = differences(rows, pairs)
    assert_array_equal(spelled_out(gaps), matrix[pairs[:, 0]] - matrix[pairs[:, 1]])
    for each in (found, gaps):
        assert (each.values != 0).all()
        assert is_sound(each, len(each.start) - 1)


@pytest.mark.parametrize("numbers", [[-6, 0, -1], [-6, -3]])
def test_any_number_below_zero_is_a_row_of_zeros_however_few_rows_there_are(numbers):
    rows = sparse_rows(np.array([[0.5, 0.0]]))
    found = row_sums(rows, np.array([0, len(numbers)]), np.array(numbers))
    assert_array_equal(spelled_out(found), [[0.5 * numbers.count(0), 0.0]])


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": np.array([0, 2, 1, 3])},
        {"start": np.array([1, 2, 2, 3])},
        {"start": np.array([0, 2, 2, 4])},
        {"start": np.array([0, 2, 3])},
        {"start": np.array([0, 2, 2, 3], np.int32)},
        {"column": np.array([1, 0, 0], np.int32)},
        {"column": np.array([0, 0, 0], np.int32)},
        {"column": np.array([0, 2, 0], np.int32)},
        {"column": np.array([-1, 0, 0], np.int32)},
        {"column": np.array([0, 1, 0])},
        {"values": np.ones(2)},
        {"values": np.array([1.0, np.nan, 1.0])},
    ],
)
def test_rows_that_kernels_cannot_take_are_not_sound(wrong):
    rows = Rows(np.array([0, 2, 2, 3]), np.array([0, 1, 0], np.int32), np.ones(3), 2)
    assert is_sound(rows, 3)
    assert not is_sound(rows._replace(**wrong), 3)
