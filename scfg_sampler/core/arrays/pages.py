"""Zeros that take memory when they are first written to, and arrays that lie on disk.

What must have room for the longest sentence has a row for each of its spans, of which few are ever written.
The fact a newcomer would get wrong: `numpy.zeros` does not leave untouched memory alone. From four megabytes
on it asks for huge pages, each of which brings two megabytes along, and below that, once something large has
been freed, it takes memory that was used before and writes zeros over all of it.
"""

from __future__ import annotations

import math
import mmap
import tempfile

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["on_disk", "zeros_when_written"]

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
    try:
        pages = mmap.mmap(-1, num_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError):  # As numpy has it.
        raise MemoryError(f"{num_bytes:,} bytes cannot be allocated") from None
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype).reshape(shape)


def on_disk(array: np.ndarray) -> np.ndarray:
    """The same in a file of the system's place for temporary files, which goes when nothing refers to it.

    It reads and writes like any other, and its pages leave memory when that is needed for something else.

    Parameters
    ----------
    array : np.ndarray
        Itself where it is on disk already.

    Raises
    ------
    OSError
        There is no room for it.
    """
    if _is_mapped(array) or array.nbytes == 0:
        return array
    with tempfile.TemporaryFile(prefix="scfg-sampler-") as file:
        array.tofile(file)
        file.flush()
        pages = mmap.mmap(file.fileno(), array.nbytes)
    return np.frombuffer(pages, array.dtype).reshape(array.shape)


def _is_mapped(array: np.ndarray) -> bool:
    """Whether an array is, in the end, a view of a mapping."""
    memory: object = array
    while isinstance(memory, np.ndarray):
        memory = memory.base
    return isinstance(memory.obj if isinstance(memory, memoryview) else memory, mmap.mmap)
