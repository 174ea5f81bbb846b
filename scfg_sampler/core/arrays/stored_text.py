"""Lines of text as bytes, one after the other: the room of their file, where strings take 50 bytes more each.

The fact a newcomer would get wrong: a line is decoded whenever it is asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

__all__ = ["StoredText"]


class StoredText(Sequence[str]):
    """A sequence of lines."""

    def __init__(self, lines: Iterable[str]):
        self._bytes, self._start = bytearray(), array("q", [0])
        for line in lines:
            self._bytes += line.encode("utf-8")
            self._start.append(len(self._bytes))

    def __len__(self) -> int:
        return len(self._start) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        numbers = range(len(self))[place]
        return [*map(self._line, numbers)] if isinstance(numbers, range) else self._line(numbers)

    def __iter__(self) -> Iterator[str]:
        return map(self._line, range(len(self)))

    def _line(self, number: int) -> str:
        return self._bytes[self._start[number] : self._start[number + 1]].decode("utf-8")
