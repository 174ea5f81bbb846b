"""Zeros that take memory when they are first written to.

What must have room for the longest sentence has a row for each of its spans, of which few are ever written.
The fact a newcomer would get wrong: `numpy.zeros` does not leave untouched memory alone. From four megabytes
on it asks for huge pages, each of which brings two megabytes along, and below that, once something large has
been freed, it takes memory that was used before and writes zeros over all of it.
"""

from __future__ import annotations

import math
import mmap

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["zeros_when_written"]

_LARGE = 1 << 20  # Bytes; mappings are few.


def zeros_when_written(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> np.ndarray:
    """As `numpy.zeros`; a large array is a mapping of its own, on small pages taken when first written to.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : numpy.dtype
        The same default as numpy's.
    """
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    num_bytes = size * np.dtype(dtype).itemsize
    if num_bytes < _LARGE:
        return np.zeros(shape, dtype)
    pages = mmap.mmap(-1, num_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype).reshape(shape)
