"""Arrays in `.npz` files: read whole, or refused.

The fact a newcomer would get wrong: what reading a damaged archive raises is hardly predictable, from
BadZipFile to MemoryError, and arrays that can be read may be of any type and shape.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping

import numpy as np

from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = ["read_arrays"]

_UNREADABLE = (
    *(OSError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError, UnicodeError),
    *(NotImplementedError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error, struct.error),
)


def read_arrays(
    path: PathLike, kinds: Mapping[str, tuple[str, int]], found: str, hint: str
) -> dict[str, np.ndarray]:
    """Arrays of a file by their names.

    Parameters
    ----------
    path : path
    kinds : mapping from name to (str, int)
        What each must be: kinds of types, as "if" for integers and floating-point numbers, and how many
        dimensions. More arrays are ignored.
    found, hint : str
        What is said of a file that does not hold them.

    Raises
    ------
    InputError
        The file cannot be read, or does not hold these arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in kinds}
    except _UNREADABLE:
        raise InputError(path, None, found, hint) from None
    for name, (kind, dimensions) in kinds.items():
        if arrays[name].dtype.kind not in kind or arrays[name].ndim != dimensions:
            raise InputError(path, None, f"{found}: {name} is something else", hint)
    return arrays
