"""Lines of text as bytes, one after the other: the room of their file, where strings take 50 bytes more each.

The fact a newcomer would get wrong: a line is decoded whenever it is asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from scfg_sampler.core.arrays.on_demand import OnDemand

__all__ = ["StoredText"]


class StoredText(OnDemand[str]):
    """A sequence of lines."""

    def __init__(self, lines: Iterable[str]):
        self._bytes, self._start = bytearray(), array("q", [0])
        for line in lines:
            self._bytes += line.encode("utf-8")
            self._start.append(len(self._bytes))

    def __len__(self) -> int:
        return len(self._start) - 1

    def _made(self, number: int) -> str:
        return self._bytes[self._start[number] : self._start[number + 1]].decode("utf-8")
