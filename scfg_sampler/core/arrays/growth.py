"""What kernels need to fill arrays whose length they do not know, and to be quick about it.

Copies are spelled as loops over elements: assignment of slices takes numba seconds to compile, for the sake
of an error message.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.jit import compiled

__all__ = ["grown", "sort_descending"]

_SHORT = 16  # Runs of this length are sorted by insertion.


@compiled
def grown(array: np.ndarray, size: int) -> np.ndarray:
    """The array if it has `size` entries, or rows, else a copy at least twice as long, its rest not set."""
    if size <= len(array):
        return array
    bigger = np.empty((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    for i in range(len(array)):
        if array.ndim == 1:
            bigger[i] = array[i]
        else:
            for k in range(array.shape[1]):
                bigger[i, k] = array[i, k]
    return bigger


@compiled
def sort_descending(order: np.ndarray, keys: np.ndarray, first: int, last: int) -> None:
    """Sort the indices order[first:last] by their keys, the largest first; equal keys stay in their order."""
    for begin in range(first, last, _SHORT):
        for i in range(begin + 1, min(begin + _SHORT, last)):
            index = order[i]
            k = i
            while k > begin and keys[order[k - 1]] < keys[index]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = index
    if last - first <= _SHORT:
        return
    left = np.empty(last - first, order.dtype)
    width = _SHORT
    while width < last - first:
        for begin in range(first, last - width, 2 * width):
            middle, end = begin + width, min(begin + 2 * width, last)
            if keys[order[middle - 1]] >= keys[order[middle]]:
                continue
            for i in range(width):
                left[i] = order[begin + i]
            i, k, out = 0, middle, begin
            while i < width:
                if k < end and keys[order[k]] > keys[left[i]]:
                    order[out] = order[k]
                    k += 1
                else:
                    order[out] = left[i]
                    i += 1
                out += 1
        width *= 2
