"""Indices count from the end only where that is written; references lead where they were made to."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import config
from numba.np import arrayobj

from scfg_sampler.core import jit
from scfg_sampler.core.jit import borrowing, by_reference, compiled, kernel

pytestmark = pytest.mark.skipif(not jit.IS_WHOLE, reason="kernels are compiled as numba does, or not at all")


@compiled
def last(values):
    return values[-1]


@kernel
def written(values, table):
    return last(values), table[-1, 1], table[2, -1], table[-2, -3], values[-3:].sum(), table[-1].sum()


def test_indices_that_are_written_count_from_the_end():
    values, table = np.arange(10), np.arange(12).reshape(3, 4)
    expected = 9, table[2, 1], table[2, 3], table[1, 1], 7 + 8 + 9, 8 + 9 + 10 + 11
    assert written(values, table) == expected
    assert written(values[::-1], np.asfortranarray(table)) == (0, *expected[1:4], 3, expected[5])


def test_indices_that_are_computed_do_not(tmp_path, monkeypatch):
    @kernel
    def taken(values, place):
        return values[place]

    @kernel
    def put(table, place):
        table[place, place] = 1

    values, table = np.arange(3), np.zeros((2, 2), np.int64)
    middle = np.arange(5)[2:]
    assert taken(middle, 0) == 2
    assert taken(middle, -1) == 1  # What lies before it.
    put(table, 1)
    assert table.tolist() == [[0, 0], [0, 1]]
    (code,) = taken.inspect_llvm().values()
    assert not re.search(r"= select i1 .* i64 %", code)
    monkeypatch.setattr(config, "BOUNDSCHECK", True)
    monkeypatch.setenv("SCFG_SAMPLER_CACHE", str(tmp_path))
    jit.cache_directory.cache_clear()
    for function, given in ((taken, values), (put, table)):
        checked = kernel(function.py_func)
        assert checked(given, 1) == function(given, 1)
        with pytest.raises(IndexError):
            checked(given, -1)
    jit.cache_directory.cache_clear()


def test_numba_is_left_as_it_was():
    written(np.arange(3), np.zeros((3, 4), np.int64))
    assert arrayobj.fix_integer_index.__module__ == "numba.np.arrayobj"


class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@borrowing
def hashed(reference):
    """Long enough to stay a function, and the reference in memory."""
    x = reference.left[0]
    x = (x * 7 + 1) % 1009 // 3 + (x * 5 + 1) % 1013 // 7
    x = (x * 7 + 2) % 1009 // 3 + (x * 5 + 2) % 1013 // 7
    x = (x * 7 + 3) % 1009 // 3 + (x * 5 + 3) % 1013 // 7
    x = (x * 7 + 4) % 1009 // 3 + (x * 5 + 4) % 1013 // 7
    x = (x * 7 + 5) % 1009 // 3 + (x * 5 + 5) % 1013 // 7
    return (x * 7 + 6) % 1009 // 3 + (x * 5 + 6) % 1013 // 7


@kernel
def traded(pair, times):
    """A number that says which arrays were read, by references that are made anew in a loop."""
    left, right = pair.left, pair.right
    seen = 0
    for _ in range(times):
        reference = by_reference(Pair(left, right))
        seen = 10 * seen + reference.left[0] + hashed(reference)
        reference.right[0] += 2
        seen = 10 * seen + reference.right[0] + hashed(reference)
        left, right = right, left
    return seen


def test_a_reference_leads_where_it_was_made_to():
    left, right, expected = np.array([1]), np.array([2]), 0
    for _ in range(4):
        expected = 10 * expected + left[0] + hashed.py_func(Pair(left, right))
        right[0] += 2
        expected = 10 * expected + right[0] + hashed.py_func(Pair(left, right))
        left, right = right, left
    assert traded(Pair(np.array([1]), np.array([2])), 4) == expected
