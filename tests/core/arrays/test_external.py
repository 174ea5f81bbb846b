"""Sorting, gathering and counting with bounded memory equal the same with arrays."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scfg_sampler.core.arrays.external import Scratch, Sorter, gather, scatter, tally
from scfg_sampler.core.executors import threads
from scfg_sampler.core.leftovers import HELD
from scfg_sampler.errors import SettingsError

TINY, ROOMY = 2_000, 1 << 24  # A few dozen rows, or everything.
RECORD = np.dtype([("key", np.int64), ("value", np.int64)])

memories = st.sampled_from([TINY, ROOMY])
seeds = st.integers(0, 10**6)


def blocks_of(rows, size):
    return [rows[start : start + size] for start in range(0, len(rows), size)]


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(0, 700), st.integers(1, 400), st.integers(1, 500), memories, st.integers(1, 3))
def test_rows_come_sorted_and_equal_keys_in_their_order(seed, num_rows, num_keys, size, memory, number):
    rng = np.random.default_rng(seed)
    rows = np.empty(num_rows, RECORD)
    rows["key"], rows["value"] = rng.integers(num_keys, size=num_rows), np.arange(num_rows)
    with threads(number) as executor, Scratch(memory, executor=executor) as scratch:
        sorter = Sorter(scratch, RECORD)
        for block in blocks_of(rows, size):
            sorter.add(block)
        found = np.concatenate([np.empty(0, RECORD), *sorter.blocks()])
    np.testing.assert_array_equal(found, rows[np.argsort(rows["key"], kind="stable")])


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(0, 600), st.integers(1, 2000), memories)
def test_gather_scatter_and_tally_are_the_array_operations(seed, num_rows, length, memory):
    rng = np.random.default_rng(seed)
    indices = rng.integers(length, size=num_rows)
    values = rng.normal(size=length)
    with Scratch(memory) as scratch:
        table = scratch.table(np.float64)
        table.append(values)
        np.testing.assert_array_equal(gather(table, blocks_of(indices, 50))[:], values[indices])
        counts = tally(scratch, blocks_of(indices, 70), length)
        np.testing.assert_array_equal(counts[:], np.bincount(indices, minlength=length))
        keys = rng.permutation(length)[: min(length, num_rows)]
        pairs = scratch.table(RECORD)
        pairs.append(np.array([(key, 10 * key) for key in keys.tolist()], RECORD))
        expected = np.full(length, -1)
        expected[keys] = 10 * keys
        np.testing.assert_array_equal(scatter(scratch, length, -1, pairs)[:], expected)


def test_runs_go_to_disk_only_when_memory_is_short(tmp_path):
    rows = np.zeros(500, RECORD)
    for memory, some in ((TINY, True), (ROOMY, False)):
        with Scratch(memory, str(tmp_path)) as scratch:
            sorter = Sorter(scratch, RECORD)
            sorter.add(rows)
            (directory,) = tmp_path.iterdir()
            assert any(path.name != HELD for path in directory.iterdir()) == some
            assert sum(map(len, sorter.blocks())) == 500
    assert os.listdir(tmp_path) == []


def test_tables_are_read_back_by_slices_and_blocks():
    with Scratch(TINY) as scratch:
        table = scratch.table(np.int32)
        for part in blocks_of(np.arange(100), 7):
            table.append(part)
        assert len(table) == 100
        np.testing.assert_array_equal(table[20:23], [20, 21, 22])
        np.testing.assert_array_equal(table[95:200], np.arange(95, 100))
        parts = list(table.blocks())
        assert len(parts) > 1
        np.testing.assert_array_equal(np.concatenate(parts), np.arange(100))
        table.discard()
        assert len(table) == 0
        assert len(table[:]) == 0


def test_directories_that_cannot_be_used_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"--temporary .*missing cannot be used \(No such file"):
        Scratch(TINY, str(tmp_path / "missing"))


@pytest.mark.parametrize("memory", [TINY, ROOMY])
def test_nothing_is_sorted_into_nothing(memory):
    with Scratch(memory) as scratch:
        assert list(Sorter(scratch, RECORD).blocks()) == []
        assert len(gather(scratch.table(np.float64), [])) == 0
        assert tally(scratch, [], 3)[:].tolist() == [0, 0, 0]


FULL = """
import resource, sys
import numpy as np
from scfg_sampler.core.arrays.external import Scratch
from scfg_sampler.errors import InputError
with Scratch(directory=sys.argv[1]) as scratch:
    table = scratch.table(np.int64)
    table.append(np.arange(5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
    try:
        table.append(np.arange(int(sys.argv[2])))
    except InputError as error:
        print(error)
"""


@pytest.mark.parametrize("rows", [4, 100_000])
def test_rows_without_room_are_not_lost_in_silence(root, tmp_path, rows):
    """A few rows fit into the buffer of a stream, whose loss only closing tells of."""
    command = [sys.executable, "-c", FULL, str(tmp_path), str(rows)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "cannot be written (File too large)" in found.stdout
