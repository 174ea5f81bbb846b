"""Arrays and lists of words in one file that is mapped into memory, so that it loads at once.

The file begins with a line that says what it is, a line with a checksum of everything else, and a line of
JSON: byte order, other values, and where each part is. Every array begins at a multiple of 64 bytes. Pages
are read when they are needed and shared between processes.

A checksum tells of damage, not of intent: whoever reads a file also says what it must hold (`Layout`), and
checks every number that a kernel will index with.

A file that is too large for that is opened instead (`open_array_file`): compared with its checksum block by
block, and then read in parts, which take memory only as long as somebody holds them.

The fact a newcomer would get wrong: such files are a cache, not an archive. They belong to one version of the
format and to machines of one byte order; whoever reads another is told to make it again.
"""

from __future__ import annotations

import json
import math
import os
import sys
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.files import PathLike, atomic_output, is_stream
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.errors import InputError

__all__ = [
    "ArrayFile",
    "Layout",
    "StoredArrays",
    "first_problem",
    "has_magic",
    "is_within",
    "open_array_file",
    "read_array_file",
    "write_array_file",
]

_ALIGNMENT = 64
_LONGEST_HEADER = 1 << 16
_CHECKSUM_LENGTH = 9  # Hexadecimal digits and a line feed.
_BLOCK = 1 << 22  # Bytes.


class Layout(NamedTuple):
    """What a file must hold, by name; more is ignored.

    values : the type of each value
    words : the lists of words
    arrays : dtype, as "i4", and number of dimensions of each array
    """

    values: Mapping[str, type]
    words: Collection[str]
    arrays: Mapping[str, tuple[str, int]]


class ArrayFile(NamedTuple):
    """What is in a file.

    values : what JSON can hold
    words : lists of str, none of which has a line break
    arrays : of any dtype and shape
    """

    values: dict[str, Any]
    words: dict[str, list[str]]
    arrays: dict[str, np.ndarray]


class StoredArrays:
    """Arrays of one dimension in a file, which are read in parts; `open_array_file` makes it.

    Parameters
    ----------
    path : path
    values : what JSON can hold
    checksum : int
    places : of each array, where it begins in the file, and its dtype and length
    """

    def __init__(
        self,
        path: PathLike,
        values: dict[str, Any],
        checksum: int,
        places: dict[str, tuple[int, np.dtype, int]],
    ):
        self.values, self.checksum = values, checksum
        self._path, self._places = path, places

    def length(self, name: str) -> int:
        """How long an array is."""
        return self._places[name][2]

    def read(self, name: str, start: int, stop: int) -> np.ndarray:
        """Entries `start` to `stop` − 1 of an array, or up to its end."""
        at, dtype, length = self._places[name]
        count = min(stop, length) - start
        return np.fromfile(self._path, dtype, count, offset=at + start * dtype.itemsize)


def has_magic(path: PathLike, magic: bytes) -> bool:
    """Whether a file begins with this line; False if it cannot be read, or only once."""
    # A number is an open file to `open`.
    if not isinstance(path, str | os.PathLike) or is_stream(path):
        return False
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
) -> int:
    """Write a file, atomically; `magic` is its first line, with its end. Returns the checksum."""
    contents: list[bytes | memoryview] = ["\n".join(each).encode() for each in words.values()]
    contents += [np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for array in arrays.values()]
    places, at = [], 0
    for content in contents:
        places.append([at, len(content)])
        at += _padded(len(content))
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
    }
    line = json.dumps(header).encode() + b"\n"
    before = len(magic) + _CHECKSUM_LENGTH + len(line)
    parts: list[bytes | memoryview] = [line + bytes(_padded(before) - before)]
    parts += [part for content in contents for part in (content, bytes(_padded(len(content)) - len(content)))]
    checksum = zlib.crc32(magic)
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    with atomic_output(path, binary=True) as stream:
        stream.write(magic + b"%08x\n" % checksum)
        for part in parts:
            stream.write(part)
    return checksum


def read_array_file(
    path: PathLike, magic: bytes, layout: Layout, error: type[InputError], again: str
) -> ArrayFile:
    """What is in a file; arrays are mapped, and writing to them changes the process's copy only.

    Parameters
    ----------
    path : path
    magic : as it was written with
    layout : what it must hold
    error : what is raised
    again : what the user should do, for the message

    Raises
    ------
    error
        The file is cut, damaged, from a machine with the other byte order, or holds something else.
    """
    header, start, checksum = _header(path, magic, error, again)
    whole = np.asarray(np.memmap(path, np.uint8, "c"))
    begin = len(magic) + _CHECKSUM_LENGTH
    if len(whole) != start + header["size"]:
        raise error(path, None, f"{len(whole)} bytes where {start + header['size']} should be", again)
    if zlib.crc32(whole[begin:].data, zlib.crc32(magic)) != checksum:
        raise error(path, None, _DAMAGED, again)
    try:
        return _parts(header, whole[start:], layout)
    except WRONG_RECORD:
        raise error(path, None, "the header is damaged", again) from None


def open_array_file(
    path: PathLike, magic: bytes, layout: Layout, error: type[InputError], again: str
) -> StoredArrays:
    """A file of arrays of one dimension, without words, to be read in parts.

    Parameters and exceptions are those of `read_array_file`.
    """
    header, start, stated = _header(path, magic, error, again)
    checksum, size = zlib.crc32(magic), len(magic) + _CHECKSUM_LENGTH
    with open(path, "rb") as stream:
        stream.seek(size)
        while block := stream.read(_BLOCK):
            checksum, size = zlib.crc32(block, checksum), size + len(block)
    if size != start + header["size"]:
        raise error(path, None, f"{size} bytes where {start + header['size']} should be", again)
    if checksum != stated:
        raise error(path, None, _DAMAGED, again)
    try:
        values = _values(header, layout)
        places = {}
        for name, (dtype, dimensions) in layout.arrays.items():
            at, length, shape = _place(header, name, dtype, dimensions)
            _require(dimensions == 1 and 0 <= at <= at + length <= header["size"])
            places[name] = (start + at, np.dtype(dtype), shape[0])
    except WRONG_RECORD:
        raise error(path, None, "the header is damaged", again) from None
    return StoredArrays(path, values, checksum, places)


_DAMAGED = "the contents do not match their checksum"


def _header(
    path: PathLike, magic: bytes, error: type[InputError], again: str
) -> tuple[dict[str, Any], int, int]:
    """The header of a file, where its contents begin, and the checksum that it states."""
    with open(path, "rb") as stream:
        begins = stream.read(len(magic))
        stated = stream.readline(_CHECKSUM_LENGTH)
        line = stream.readline(_LONGEST_HEADER)
    try:
        _require(begins == magic)
        header = parse_json(line)
        byteorder, size = header["byteorder"], header["size"]
        _require(type(size) is int)
    except WRONG_RECORD:
        raise error(path, None, "the header is damaged", again) from None
    if byteorder != sys.byteorder:
        raise error(path, None, f"written on a {byteorder}-endian machine", again)
    try:
        checksum = int(stated, 16)
        _require(b"%08x\n" % checksum == stated)
    except ValueError:
        raise error(path, None, _DAMAGED, again) from None
    return header, _padded(len(magic) + _CHECKSUM_LENGTH + len(line)), checksum


def is_within(array: np.ndarray, least: int, most: int) -> bool:
    """Whether all of an array of integers lies between two numbers, which it may reach."""
    return len(array) == 0 or bool(array.min() >= least and array.max() <= most)


def first_problem(conditions: Iterable[tuple[object, str]]) -> str | None:
    """What is said of the first condition that does not hold; None if all do.

    Later conditions may rely on earlier ones, when they come from a generator.
    """
    return next((problem for holds, problem in conditions if not holds), None)


def _padded(length: int) -> int:
    """The next multiple of the alignment."""
    return length + -length % _ALIGNMENT


def _parts(header: dict[str, Any], data: np.ndarray, layout: Layout) -> ArrayFile:
    """The parts of a file; one of several exceptions if they are not what the layout says."""
    values = _values(header, layout)
    words, arrays = {}, {}
    for name in layout.words:
        at, length, number = header["words"][name]
        text = _part(data, at, length).tobytes().decode()
        words[name] = text.split("\n") if number or text else []
        _require(len(words[name]) == number)
    for name, (dtype, dimensions) in layout.arrays.items():
        at, length, shape = _place(header, name, dtype, dimensions)
        arrays[name] = _part(data, at, length).view(dtype).reshape(shape)
    return ArrayFile(values, words, arrays)


def _values(header: dict[str, Any], layout: Layout) -> dict[str, Any]:
    values = {name: header["values"][name] for name in layout.values}
    _require(all(type(values[name]) is kind for name, kind in layout.values.items()))
    return values


def _place(header: dict[str, Any], name: str, dtype: str, dimensions: int) -> tuple[int, int, list[int]]:
    """Where an array begins among the contents, its bytes and its shape."""
    at, length, stored, shape = header["arrays"][name]
    _require(stored == dtype and len(shape) == dimensions)
    _require(all(type(each) is int and each >= 0 for each in shape))
    _require(math.prod(shape) * np.dtype(dtype).itemsize == length)
    _require(type(at) is int and type(length) is int and at % _ALIGNMENT == 0)
    return at, length, shape


def _part(data: np.ndarray, at: Any, length: Any) -> np.ndarray:
    _require(type(at) is int and type(length) is int and at % _ALIGNMENT == 0)
    _require(0 <= at <= at + length <= len(data))
    return data[at : at + length]


def _require(condition: object) -> None:
    if not condition:
        raise ValueError
