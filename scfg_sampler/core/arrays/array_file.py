"""Arrays and lists of words in one file that is mapped into memory, so that it loads at once.

The file begins with a line that says what it is, and a line of JSON: byte order, other values, where each
part is, and a checksum. Every array begins at a multiple of 64 bytes. Pages are read when they are needed and
shared between processes.

The fact a newcomer would get wrong: such files are a cache, not an archive. They belong to one version of the
format and to machines of one byte order; whoever reads another is told to make it again.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.errors import InputError

__all__ = ["ArrayFile", "has_magic", "read_array_file", "write_array_file"]

_ALIGNMENT = 64
_LONGEST_HEADER = 1 << 16


class ArrayFile(NamedTuple):
    """What is in a file.

    values : what JSON can hold
    words : lists of str, none of which has a line break
    arrays : of any dtype and shape
    """

    values: dict[str, Any]
    words: dict[str, list[str]]
    arrays: dict[str, np.ndarray]


def has_magic(path: PathLike, magic: bytes) -> bool:
    """Whether a file begins with this line; False if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(magic)) == magic
    except OSError:
        return False


def write_array_file(
    path: PathLike,
    magic: bytes,
    values: Mapping[str, Any],
    words: Mapping[str, Sequence[str]],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Write a file, atomically; `magic` is its first line, with its end."""
    contents: list[bytes | memoryview] = ["\n".join(each).encode() for each in words.values()]
    contents += [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for array in arrays.values()]
    checksum, places, at = 0, [], 0
    for content in contents:
        padding = -len(content) % _ALIGNMENT
        checksum = zlib.crc32(bytes(padding), zlib.crc32(content, checksum))
        places.append([at, len(content)])
        at += len(content) + padding
    word_places = zip(words.items(), places[: len(words)], strict=True)
    array_places = zip(arrays.items(), places[len(words) :], strict=True)
    header = {
        "byteorder": sys.byteorder,
        "values": dict(values),
        "words": {name: [*place, len(each)] for (name, each), place in word_places},
        "arrays": {
            name: [*place, array.dtype.str[1:], list(array.shape)] for (name, array), place in array_places
        },
        "size": at,
        "checksum": checksum,
    }
    with atomic_output(path, binary=True) as stream:
        size = stream.write(magic + json.dumps(header).encode() + b"\n")
        stream.write(bytes(-size % _ALIGNMENT))
        for content in contents:
            stream.write(content)
            stream.write(bytes(-len(content) % _ALIGNMENT))


def read_array_file(path: PathLike, magic: bytes, error: type[InputError], again: str) -> ArrayFile:
    """What is in a file; arrays are mapped, and writing to them changes the process's copy only.

    Parameters
    ----------
    path : a file for which `has_magic`
    magic : as it was written with
    error : what is raised
    again : what the user should do, for the message

    Raises
    ------
    error
        The file is cut, damaged, or from a machine with the other byte order.
    """
    with open(path, "rb") as stream:
        stream.seek(len(magic))
        line = stream.readline(_LONGEST_HEADER)
    try:
        header = json.loads(line)
        byteorder, size, checksum = header["byteorder"], header["size"], header["checksum"]
        word_places, array_places = header["words"], header["arrays"]
        values = header["values"]
    except (ValueError, KeyError, TypeError):
        raise error(path, None, "the header is damaged", again) from None
    if byteorder != sys.byteorder:
        raise error(path, None, f"written on a {byteorder}-endian machine", again)
    start = len(magic) + len(line)
    start += -start % _ALIGNMENT
    whole = np.memmap(path, np.uint8, "c")
    if len(whole) != start + size:
        raise error(path, None, f"{len(whole)} bytes where {start + size} should be", again)
    data = np.asarray(whole)[start:]
    if zlib.crc32(data.data) != checksum:
        raise error(path, None, "the contents do not match their checksum", again)
    words = {}
    for name, (at, length, number) in word_places.items():
        words[name] = data[at : at + length].tobytes().decode().split("\n") if number else []
    arrays = {}
    for name, (at, length, dtype, shape) in array_places.items():
        arrays[name] = data[at : at + length].view(dtype).reshape(shape)
    return ArrayFile(values, words, arrays)
