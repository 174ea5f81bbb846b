"""Values that many tasks need, in files that processes map into memory.

A file holds the pickle of a value without what is in its arrays, and the arrays, each at a multiple of 64
bytes. All processes of a machine that map it have one copy of the arrays between them; what they write to
them changes their own copy only.

The fact a newcomer would get wrong: a file is no format. It belongs to the command that wrote it, is read by
that command's tasks alone, and goes when the command ends; unpickling anything else would run what it says.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import tempfile
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from scfg_sampler.core.leftovers import temporary_directory
from scfg_sampler.errors import InputError

__all__ = ["MappedFile", "content_of", "mapped_file", "value_in"]

_ALIGNMENT = 64
_PREFIX = "scfg-sampler-tasks-"


class MappedFile(NamedTuple):
    """Where a value is."""

    path: str
    token: str
    """32 characters, with which this file begins, and no other."""
    parts: tuple[tuple[int, int], ...]
    """Where the contents of each array begin, and their bytes; at the end, the pickle's."""


@contextlib.contextmanager
def mapped_file(value: Any) -> Iterator[MappedFile]:
    """A file with a value, for as long as the block takes.

    Parameters
    ----------
    value
        What pickle takes.

    Raises
    ------
    InputError
        There is no room for it in the system's place for temporary files (TMPDIR).
    """
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_directory(_PREFIX))
            place = _written(value, str(folder / "value"))
        except OSError as error:
            found = f"cannot take what the workers need ({error.strerror})"
            raise InputError(
                tempfile.gettempdir(), None, found, "Let TMPDIR name a directory with room"
            ) from None
        yield place


def _written(value: Any, path: str) -> MappedFile:
    """A value, written."""
    token = uuid.uuid4().hex
    contents: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=contents.append)
    parts = []
    with open(path, "wb") as stream:
        at = stream.write(token.encode())
        for content in (*(each.raw() for each in contents), memoryview(pickled)):
            at += stream.write(bytes(-at % _ALIGNMENT))
            parts.append((at, content.nbytes))
            at += stream.write(content)
    return MappedFile(path, token, tuple(parts))


def content_of(place: MappedFile) -> bytes:
    """All bytes of a file, to be sent to those who cannot see it."""
    with open(place.path, "rb") as stream:
        return stream.read()


# Tasks of one command have the same value, which takes seconds to open: a process keeps that of its last one.
_last: list[tuple[MappedFile, Any]] = []


def value_in(place: MappedFile, content: bytes | None = None) -> Any:
    """The value in a file; None if the file cannot be seen from here, and its content is not given.

    Parameters
    ----------
    place : MappedFile
    content : bytes, optional
        What `content_of` says where the file is.
    """
    if _last and _last[0][0] == place:
        return _last[0][1]
    with contextlib.ExitStack() as stack:
        if _is_seen(place):
            stream: Any = stack.enter_context(open(place.path, "rb"))
        elif content is None:
            return None
        else:
            stream = stack.enter_context(tempfile.TemporaryFile())
            stream.write(content)
            stream.flush()
        _last.clear()  # So that there is room for the next.
        whole = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
    *arrays, pickled = (whole[at : at + length] for at, length in place.parts)
    value = pickle.loads(pickled, buffers=arrays)
    _last[:] = [(place, value)]
    return value


def _is_seen(place: MappedFile) -> bool:
    """Whether the file is here, and all of it."""
    at, length = place.parts[-1]
    try:
        with open(place.path, "rb") as stream:
            is_whole = os.fstat(stream.fileno()).st_size == at + length
            return is_whole and stream.read(len(place.token)) == place.token.encode()
    except OSError:
        return False
