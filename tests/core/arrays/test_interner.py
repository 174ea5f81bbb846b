"""The interner: equal sequences and only they share an id."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.core.fragments.restaurant_kernels import interned
from tests.oracles.twins import interpreted

ROWS = st.lists(st.lists(st.integers(-2, 3), max_size=4), min_size=1, max_size=40)


def key(row, buckets):
    """A fingerprint that equal rows share, and others as well."""
    return 1 + sum((i + 2) * (symbol + 5) for i, symbol in enumerate(row)) % buckets


@given(ROWS, st.sampled_from([1, 3, 1000]))
def test_ids_count_up_at_first_sight_whatever_the_fingerprints(rows, buckets):
    ids, interner = interned(rows, [key(row, buckets) for row in rows])
    expected: dict[tuple[int, ...], int] = {}
    for row in rows:
        expected.setdefault(tuple(row), len(expected))
    assert ids == [expected[tuple(row)] for row in rows]
    assert interner.size[0] == len(expected)
    for row, number in expected.items():
        start, end = interner.key_start[number : number + 2]
        assert tuple(interner.keys[start:end]) == row
    assert 2 * np.sum(interner.slots[:, 0] != 0) <= len(interner.slots)


def test_compiled_and_interpreted_interners_are_the_same(rng):
    rows = [rng.integers(-2, 3, size=rng.integers(0, 4)).tolist() for _ in range(300)]
    fingerprints = [key(row, 50) for row in rows]
    (ids, interner), (twin_ids, twin) = (
        interned(rows, fingerprints),
        interpreted(interned, rows, fingerprints),
    )
    assert ids == twin_ids
    assert all(np.array_equal(a, b) for a, b in zip(interner, twin, strict=True))
