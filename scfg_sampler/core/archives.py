"""Arrays in `.npz` files: read whole, or refused; written piece by piece.

The fact a newcomer would get wrong: what reading a damaged archive raises is hardly predictable, from
BadZipFile to MemoryError, and arrays that can be read may be of any type and shape.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from typing import IO

import numpy as np

from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = ["load_arrays", "read_arrays", "write_arrays"]

_PIECE = 1 << 20  # Bytes written at a time; numpy copies 16 MB.


def load_arrays(path: PathLike, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a file by their names.

    Parameters
    ----------
    path : path
    names : iterable of str, optional
        Those that are needed; all by default.

    Raises
    ------
    OSError
        The file cannot be opened or read.
    ValueError
        It is not an archive of arrays, lacks one of them, or is damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in (archive.files if names is None else names)}
    except OSError:
        raise
    except Exception as error:  # Of zipfile, zlib, struct, tokenize, and whatever numpy meets.
        raise ValueError(f"{path} is not an archive of arrays, or is damaged") from error


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
        arrays = load_arrays(path, kinds)
    except (OSError, ValueError):
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
