"""Rows of different lengths in one array: row r is `values[start[r]:start[r + 1]]`.

Sorting, grouping and picking such rows without making a Python object of any. Rows are compared as Python
compares lists of integers: symbol by symbol, and a row comes before its continuations. The fact a newcomer
would get wrong: grouping is by hashing but never trusts a hash; rows with equal hashes are compared symbol by
symbol.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.arrays.hash_table import (
    first_candidate,
    hash_sequence,
    new_slots,
    next_candidate,
    number_in,
    put,
)
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["concatenated", "group_rows", "lexicographic_order", "take_rows"]


def concatenated(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and values of the rows of all parts, one part after the other.

    parts : offsets and values of each, at least one.
    """
    starts, size = [parts[0][0][:1]], 0
    for start, values in parts:
        starts.append(start[1:] + size)
        size += len(values)
    return np.concatenate(starts), np.concatenate([values for _, values in parts])


def lexicographic_order(start: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Indices of the rows in ascending order; equal rows in their order of appearance.

    start : int64, shape (R + 1,); values : int32. Returns int64, shape (R,).
    """
    if len(start) <= 1:
        return np.zeros(0, np.int64)
    keys = _prefix_keys(start, values, *_packing(values))
    order = np.argsort(keys)
    _sort_ties(order, keys, start, values)
    return order


def group_rows(start: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are equal.

    Returns
    -------
    group : int32, shape (R,), numbers 0, 1, … in the order of first appearance
    first : int64, shape (G,), the first row of each group
    """
    return _group_rows(start, values)


def take_rows(start: np.ndarray, values: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and values of the given rows (int64 indices), in that order.

    `values` may have a second dimension, which rows keep.
    """
    lengths = start[rows + 1] - start[rows]
    new_start = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=new_start[1:])
    width = math.prod(values.shape[1:])
    taken = _take_rows(start, values.reshape(len(values), width), rows, new_start)
    return new_start, taken.reshape(len(taken), *values.shape[1:])


def _packing(values: np.ndarray) -> tuple[int, int, int]:
    """The least symbol, the second least, and the bits one symbol takes in a sorting key.

    The least may lie far below the others, as a separator does; it is counted as their neighbour.
    """
    if not len(values):
        return 0, 0, 1
    lowest = int(values.min())
    rest = values[values != lowest]
    second = int(rest.min()) if len(rest) else lowest + 1
    return lowest, second, max(1, int(values.max() - np.int64(second) + 2).bit_length())


@kernel
def _prefix_keys(start, values, lowest, second, bits):
    """As many of a row's first symbols as fit into 64 bits, the end of the row being the least symbol."""
    symbols = 64 // bits
    keys = np.empty(len(start) - 1, np.uint64)
    for row in range(len(start) - 1):
        key = np.uint64(0)
        for k in range(symbols):
            at = start[row] + k
            digit = np.int64(0)
            if at < start[row + 1]:
                digit = np.int64(1) if values[at] == lowest else np.int64(values[at]) - second + 2
            key = (key << np.uint64(bits)) | np.uint64(digit)
        keys[row] = key
    return keys


@kernel
def _sort_ties(order, keys, start, values):
    """Sort, by whole rows and then by index, every stretch of `order` whose keys are equal."""
    num_rows = len(order)
    scratch = np.empty(0, order.dtype)
    begin = 0
    while begin < num_rows:
        key = keys[order[begin]]
        end = begin + 1
        while end < num_rows and keys[order[end]] == key:
            end += 1
        if end - begin > 1:
            scratch = grown(scratch, end - begin)
            _merge_sort(order, scratch, begin, end, start, values)
        begin = end


@compiled
def _merge_sort(order, scratch, begin, end, start, values):
    for left in range(begin, end, 8):
        right = min(left + 8, end)
        for i in range(left + 1, right):
            row = order[i]
            k = i
            while k > left and _comes_before(row, order[k - 1], start, values):
                order[k] = order[k - 1]
                k -= 1
            order[k] = row
    width = 8
    while width < end - begin:
        for left in range(begin, end, 2 * width):
            middle, right = min(left + width, end), min(left + 2 * width, end)
            if middle >= right or not _comes_before(order[middle], order[middle - 1], start, values):
                continue
            for i in range(middle - left):
                scratch[i] = order[left + i]
            i, k, out = 0, middle, left
            while i < middle - left:
                if k < right and _comes_before(order[k], scratch[i], start, values):
                    order[out] = order[k]
                    k += 1
                else:
                    order[out] = scratch[i]
                    i += 1
                out += 1
        width *= 2


@compiled
def _comes_before(one, other, start, values):
    i, k = start[one], start[other]
    shared = min(start[one + 1] - i, start[other + 1] - k)
    for offset in range(shared):
        if values[i + offset] != values[k + offset]:
            return values[i + offset] < values[k + offset]
    first, second = start[one + 1] - i, start[other + 1] - k
    return first < second or (first == second and one < other)


@compiled
def _rows_equal(one, other, start, values):
    i, k = start[one], start[other]
    length = start[one + 1] - i
    if start[other + 1] - k != length:
        return False
    for offset in range(length):  # noqa: SIM110 (all() over a generator does not compile)
        if values[i + offset] != values[k + offset]:
            return False
    return True


@kernel
def _group_rows(start, values):
    num_rows = len(start) - 1
    slots = new_slots(num_rows)
    group = np.empty(num_rows, np.int32)
    first = np.empty(num_rows, np.int64)
    num_groups = 0
    for row in range(num_rows):
        code = hash_sequence(values, start[row], start[row + 1])
        slot = first_candidate(slots, code, 0)
        while number_in(slots, slot) >= 0 and not _rows_equal(
            first[number_in(slots, slot)], row, start, values
        ):
            slot = next_candidate(slots, code, 0, slot)
        if number_in(slots, slot) < 0:
            put(slots, slot, code, num_groups)
            first[num_groups] = row
            num_groups += 1
        group[row] = number_in(slots, slot)
    return group, first[:num_groups].copy()


@kernel
def _take_rows(start, values, rows, new_start):
    width = values.shape[1]
    taken = np.empty((new_start[-1], width), values.dtype)
    for i in range(len(rows)):
        begin, out = start[rows[i]], new_start[i]
        for offset in range(new_start[i + 1] - out):
            for column in range(width):
                taken[out + offset, column] = values[begin + offset, column]
    return taken
