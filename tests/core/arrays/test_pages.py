"""Zeros that take memory when they are first written to."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from scfg_sampler.core.arrays.pages import zeros_when_written


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmRSS"))
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
