"""Sequences whose items are made when they are asked for, of arrays that take less room than the items.

The fact a newcomer would get wrong: an item asked for twice is made twice, and is not the same object.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TypeVar, overload

__all__ = ["OnDemand"]

Item = TypeVar("Item")


class OnDemand(Sequence[Item]):
    """A sequence that has `__len__` and `_made`, and by these all else; a slice of it is a list."""

    @abstractmethod
    def _made(self, number: int) -> Item:
        """The item of that number, from 0."""

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> list[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | list[Item]:
        numbers = range(len(self))[place]
        return [*map(self._made, numbers)] if isinstance(numbers, range) else self._made(numbers)

    def __iter__(self) -> Iterator[Item]:
        return map(self._made, range(len(self)))
