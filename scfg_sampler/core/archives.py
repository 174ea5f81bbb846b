"""Arrays in `.npz` files: read whole, or refused; written piece by piece.

The fact a newcomer would get wrong: what reading a damaged archive raises is hardly predictable, from
BadZipFile to MemoryError, and arrays that can be read may be of any type and shape.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO

import numpy as np

from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = ["read_arrays", "write_arrays"]

_PIECE = 1 << 20  # Bytes written at a time; numpy copies 16 MB.

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


def write_arrays(stream: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by their names as `numpy.savez` does, without copying any.

    Raises
    ------
    OSError
        The stream cannot be written to.
    """
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            whole = np.asarray(array, order="C")
            content = whole.reshape(-1).view(np.uint8).data
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, np.lib.format.header_data_from_array_1_0(whole))
                for begin in range(0, len(content), _PIECE):
                    member.write(content[begin : begin + _PIECE])
