"""Matrices of mostly zeros, row by row: which columns are not 0, and their values.

The columns of a row are in ascending order, and none is there twice, so that two rows are the same if and
only if their columns and values are. The fact a newcomer would get wrong: sums go from left to right over
what is there, so they are, to the last bit, those of the matrix spelled out with its zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.jit import borrowing, kernel

__all__ = [
    "Rows",
    "difference",
    "differences",
    "is_sound",
    "joined",
    "no_rows",
    "row_products",
    "row_sums",
    "side_by_side",
    "sparse_rows",
    "spelled_out",
    "take",
]


class Rows(NamedTuple):
    """A matrix of mostly zeros: row r has values[start[r]:start[r + 1]] in columns column[start[r]:…].

    start : int64 (R + 1,)
    column : int32, values : float32 or float64
    width : columns of the matrix
    """

    start: np.ndarray
    column: np.ndarray
    values: np.ndarray
    width: int


def no_rows(number: int, width: int = 0, dtype: type = np.float64) -> Rows:
    """So many rows of zeros."""
    return Rows(np.zeros(number + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, dtype), width)


def is_sound(rows: Rows, number: int) -> bool:
    """Whether these are so many rows of finite numbers in ascending columns, as kernels assume."""
    start, column, values, width = rows
    if len(start) != number + 1 or start[0] != 0 or start[-1] != len(column) or len(values) != len(column):
        return False
    if (start.dtype, column.dtype) != (np.int64, np.int32) or start.min() < 0:
        return False
    if (np.diff(start) < 0).any():  # None is below 0, so that no difference is beyond what an integer holds.
        return False
    is_ascending = np.diff(column.astype(np.int64)) > 0
    is_ascending[start[(start > 0) & (start < len(column))] - 1] = True  # Where another row begins.
    in_bounds = len(column) == 0 or bool(column.min() >= 0 and column.max() < width)
    return in_bounds and bool(is_ascending.all() and np.isfinite(values).all())


def sparse_rows(matrix: np.ndarray) -> Rows:
    """The rows of a matrix, without its zeros."""
    rows, columns = np.nonzero(matrix)
    start = np.zeros(len(matrix) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(matrix)), out=start[1:])
    values = np.ascontiguousarray(matrix[rows, columns], np.float64)
    return Rows(start, columns.astype(np.int32), values, matrix.shape[1])


def spelled_out(rows: Rows) -> np.ndarray:
    """The matrix with its zeros, (R, width)."""
    matrix = np.zeros((len(rows.start) - 1, rows.width), rows.values.dtype)
    matrix[np.repeat(np.arange(len(matrix)), np.diff(rows.start)), rows.column] = rows.values
    return matrix


def take(rows: Rows, numbers: np.ndarray) -> Rows:
    """The rows of the given numbers (int), in that order."""
    numbers = np.asarray(numbers, np.int64)
    start, column = take_rows(rows.start, rows.column, numbers)
    return Rows(start, column, take_rows(rows.start, rows.values, numbers)[1], rows.width)


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, at least one, which have the same columns."""
    lengths = np.concatenate([np.diff(part.start) for part in parts])
    start = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    column = np.concatenate([part.column for part in parts])
    return Rows(start, column, np.concatenate([part.values for part in parts]), parts[0].width)


def side_by_side(left: Rows, right: Rows) -> Rows:
    """Rows with the columns of both, those of `right` behind those of `left`."""
    start = left.start + right.start
    column = np.empty(start[-1], np.int32)
    values = np.empty(start[-1], np.result_type(left.values, right.values))
    _lay(left, start, np.zeros(len(start), np.int64), 0, column, values)
    _lay(right, start, np.diff(left.start, append=left.start[-1]), left.width, column, values)
    return Rows(start, column, values, left.width + right.width)


@kernel
def _lay(rows, start, shift, first_column, column, values):
    """Copy rows into longer ones, each so far from where the longer row begins."""
    for row in range(len(start) - 1):
        at = start[row] + shift[row]
        for k in range(rows.start[row], rows.start[row + 1]):
            column[at], values[at] = first_column + rows.column[k], rows.values[k]
            at += 1


@kernel
def row_products(rows: Rows, vector: np.ndarray) -> np.ndarray:
    """rows · vector, each row's sum from left to right, in double precision; float64 (R,).

    vector : float64 (width,)
    """
    found = np.zeros(len(rows.start) - 1)
    for row in range(len(found)):
        total = 0.0
        for k in range(rows.start[row], rows.start[row + 1]):
            total += rows.values[k] * vector[rows.column[k]]
        found[row] = total
    return found


def row_sums(rows: Rows, start: np.ndarray, numbers: np.ndarray) -> Rows:
    """Row i is the sum, in double precision, of the rows numbers[start[i]:start[i + 1]]; zeros are left out.

    start, numbers : int64 (K + 1,), int; a number below 0 is a row of zeros
    """
    lengths = np.append(np.diff(rows.start), 0)[np.maximum(numbers, -1)]
    most = np.concatenate([[0], np.cumsum(lengths)])[start]
    size = int(most[-1] - most[0]) if len(most) else 0
    # What a kernel needs of each column; it costs no more than a number for each.
    column, values, sums = np.empty(size, np.int32), np.empty(size), np.zeros(rows.width)
    ends = _row_sums(rows, start, numbers, column, values, sums)
    return Rows(ends, column[: ends[-1]].copy(), values[: ends[-1]].copy(), rows.width)


@kernel
def _row_sums(rows, start, numbers, column, values, sums):
    seen = np.zeros(rows.width, np.bool_)
    ends = np.zeros(len(start), np.int64)
    at = 0
    for row in range(len(start) - 1):
        first = at
        for i in range(start[row], start[row + 1]):
            if numbers[i] < 0:
                continue
            for k in range(rows.start[numbers[i]], rows.start[numbers[i] + 1]):
                found = rows.column[k]
                if not seen[found]:
                    seen[found] = True
                    column[at] = found
                    at += 1
                sums[found] += rows.values[k]
        column[first:at].sort()
        kept = first
        for k in range(first, at):
            found = column[k]
            if sums[found] != 0.0:
                column[kept], values[kept] = found, sums[found]
                kept += 1
            sums[found], seen[found] = 0.0, False
        at = kept
        ends[row + 1] = at
    return ends


def differences(rows: Rows, pairs: np.ndarray) -> Rows:
    """Row i is row pairs[i, 0] minus row pairs[i, 1]; zeros are left out. pairs : int64 (P, 2)"""
    lengths = np.diff(rows.start)
    size = int(lengths[pairs].sum())
    column, values = np.empty(size, np.int32), np.empty(size)
    start = _differences(rows, pairs, column, values)
    return Rows(start, column[: start[-1]].copy(), values[: start[-1]].copy(), rows.width)


@kernel
def _differences(rows, pairs, column, values):
    start = np.zeros(len(pairs) + 1, np.int64)
    for i in range(len(pairs)):
        start[i + 1] = start[i] + difference(rows, pairs[i, 0], pairs[i, 1], column, values, start[i])
    return start


@borrowing
def difference(rows, one, other, column, values, at):
    """Write row `one` minus row `other`, without zeros, from place `at` on; how many columns it has."""
    i, last_i = rows.start[one], rows.start[one + 1]
    k, last_k = rows.start[other], rows.start[other + 1]
    first = at
    while i < last_i or k < last_k:
        here = i < last_i and (k == last_k or rows.column[i] <= rows.column[k])
        there = k < last_k and (i == last_i or rows.column[k] <= rows.column[i])
        found = rows.column[i] if here else rows.column[k]
        value = 0.0
        if here:
            value += rows.values[i]
            i += 1
        if there:
            value -= rows.values[k]
            k += 1
        if value != 0.0:
            column[at], values[at] = found, value
            at += 1
    return at - first
