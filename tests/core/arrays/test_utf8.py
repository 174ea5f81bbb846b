"""Bytes that are UTF-8 are those that Python's decoder takes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scfg_sampler.core.arrays.utf8 import is_utf8
from scfg_sampler.core.jit import kernel

# Of what follows a first byte: both sides of each bound in Unicode 15, table 3-7, and beyond.
FOLLOWING = (0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF)


@kernel
def are_utf8(block, start):
    """Of each row, block[start[k]:start[k + 1]], whether it is UTF-8."""
    found = np.empty(len(start) - 1, np.bool_)
    for row in range(len(found)):
        found[row] = is_utf8(block, start[row], start[row + 1])
    return found


def decodes(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def assert_same(rows: list[bytes]) -> None:
    start = np.cumsum([0, *map(len, rows)])
    found = are_utf8(np.frombuffer(b"".join(rows), np.uint8), start).tolist()
    assert [(row, each) for row, each in zip(rows, found, strict=True)] == [
        (row, decodes(row)) for row in rows
    ]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_every_first_byte_with_what_may_follow(length):
    rows = itertools.product(range(256), *[FOLLOWING] * (length - 1))
    assert_same([bytes(row) for row in rows])


@given(
    st.lists(st.one_of(st.binary(max_size=6), st.text(max_size=6).map(str.encode)), min_size=1, max_size=9)
)
def test_bytes_between_others(rows):
    """What lies before and behind, in the same block, does not matter."""
    assert_same(rows)


def test_a_character_that_goes_on_behind_the_end():
    raw = "é€𝄞".encode()
    for k in range(len(raw)):
        assert_same([raw[:k], raw[k:]])
