"""Zeros that take memory when they are first written to, and arrays on disk."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest

from scfg_sampler.core.arrays.pages import on_disk, zeros_when_written


def resident(what: str = "VmRSS") -> int:
    """Bytes of this process that are in memory; RssAnon: of them, those that no file has."""
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith(what))
    return int(line.split()[1]) << 10


@pytest.mark.parametrize("shape", [0, 7, (3, 4), 1 << 20, (1 << 18, 9)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
def test_as_zeros_of_numpy(shape, dtype):
    made, expected = zeros_when_written(shape, dtype), np.zeros(shape, dtype)
    assert made.dtype == expected.dtype
    assert made.shape == expected.shape
    assert all(made.flags[flag] for flag in ("WRITEABLE", "C_CONTIGUOUS", "ALIGNED"))
    assert not made.any()
    made[...] = 1
    assert made.all()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory as Linux gives it")
def test_a_row_here_and_there_takes_a_page_each():
    # What numpy takes after this much has been freed it writes zeros over.
    for size in (4 << 20, 30 << 20):
        np.ones(size, np.uint8)
    before = resident()
    made = [zeros_when_written((1 << 16, 32)) for _ in range(8)]  # 128 MB.
    for array in made:
        array[:: 1 << 12, 0] = 1
    assert resident() - before < 4 << 20


@pytest.mark.parametrize("shape", [0, 7, (3, 4)])
@pytest.mark.parametrize("dtype", [np.uint16, np.float64])
def test_what_is_on_disk_is_the_same(shape, dtype):
    given = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    found = on_disk(given)
    assert found.dtype == given.dtype
    assert np.array_equal(found, given)
    assert all(found.flags[flag] for flag in ("WRITEABLE", "C_CONTIGUOUS", "ALIGNED"))
    assert on_disk(found) is found
    found[...] = 5
    assert found.size == 0 or not np.array_equal(found, given)


def test_nothing_is_left_of_an_array_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert on_disk(np.arange(10)).sum() == 45
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory as Linux gives it")
def test_an_array_on_disk_is_not_held():
    given = np.ones(64 << 20, np.uint8)
    before = resident("RssAnon")
    found = on_disk(given)
    del given
    found += 1
    assert found[-1] == 2
    assert resident("RssAnon") - before < -(60 << 20)


def test_pages_that_there_is_no_room_for_are_a_lack_of_memory(monkeypatch):
    def refused(*arguments, **more):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refused)
    with pytest.raises(MemoryError, match="134,217,728 bytes cannot be allocated"):
        zeros_when_written((1 << 24,))
    with pytest.raises(MemoryError):
        zeros_when_written((1 << 62,))
