"""Paths of a step that go on from where they part, instead of from its beginning.

Two paths that begin with the same choices compute the same up to where they part, for a step is repeatable.
What is computed before can be remembered, therefore: what a call returned, and what it left in the arrays it
was given. `resumed` makes a function remembered so; on later paths of the same step, calls of it all of whose
choices, and all choices before it, are those of the path before are not made again: arrays get what the call
left in them.

That is right for functions that change nothing but arrays among their arguments (in tuples, however nested)
and return numbers; and it is of use for those that take long and are called often. Which call is which goes
by the order of calls, as choices do.

The fact a newcomer would get wrong: an array that no call has had before on a path may hold anything, as
scratch memory does, and is remembered whether the call has changed it or not; later, if it has.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Calls", "places", "resume", "resumed"]

_MOST_ARGUMENTS = 300
_PLAIN = (int, float, bool, np.generic, type(None))


class _Call(NamedTuple):
    """A call that need not be made again."""

    number: int
    end: int
    """Choices made on the path when it returned."""
    inside: int
    """Calls that were remembered within it."""
    left: list[tuple[int, int, np.ndarray]]
    """What it left in arrays, by argument and by place in it."""
    result: Any


class _Argument:
    """The arrays in an argument, which is kept, lest another one gets its identity."""

    __slots__ = ("arrays", "met", "value")

    def __init__(self, value: Any):
        self.value = value
        self.arrays = list(_arrays(value))
        self.met = -1  # On which path a call last returned that had it.


class Calls:
    """The calls on the paths of a step."""

    def __init__(self) -> None:
        self.are_used = False
        self._calls: list[_Call] = []  # By when they returned.
        self._by_number: dict[int, _Call] = {}
        self._number = 0
        self._path = 0
        self._arguments: dict[int, _Argument] = {}

    def rewind(self) -> None:
        """Begin a path."""
        self._number = 0
        self._path += 1
        if len(self._arguments) > _MOST_ARGUMENTS:
            self._arguments.clear()

    def forget(self, first: int) -> None:
        """Forget the calls that ended after choice `first`, which will be another one."""
        while self._calls and self._calls[-1].end > first:
            del self._by_number[self._calls.pop().number]

    def call(self, script: Any, function: Callable, arguments: tuple) -> Any:
        """What the function returns; `script.made` is how many choices have been made."""
        number = self._number
        self._number += 1
        given = [self._argument(value) for value in arguments]
        known = self._by_number.get(number)
        if known is not None:
            for at, place, content in known.left:
                given[at].arrays[place][...] = content
            for argument in given:
                argument.met = self._path
            self.are_used = True
            script.made = known.end
            self._number += known.inside
            return known.result
        before = [
            [array.tobytes() for array in argument.arrays] if argument.met == self._path else None
            for argument in given
        ]
        result = function(*arguments)
        if _is_plain(result):
            left = [
                (at, place, array.copy())
                for at, argument in enumerate(given)
                for place, array in enumerate(argument.arrays)
                if before[at] is None or array.tobytes() != before[at][place]
            ]
            for argument in given:
                argument.met = self._path
            found = _Call(number, script.made, self._number - number - 1, left, result)
            self._calls.append(found)
            self._by_number[number] = found
        return result

    def _argument(self, value: Any) -> _Argument:
        if not isinstance(value, (tuple, np.ndarray)):
            return _NO_ARRAYS
        found = self._arguments.get(id(value))
        if found is None:
            found = self._arguments[id(value)] = _Argument(value)
        return found


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _arrays(part)


_NO_ARRAYS = _Argument(())


def _is_plain(result: Any) -> bool:
    return isinstance(result, _PLAIN) or (isinstance(result, tuple) and all(map(_is_plain, result)))


_followed: list[tuple[Any, Calls]] = []
"""The script that is followed, and its calls; none outside of `resume`."""


@contextlib.contextmanager
def resume(script: Any, calls: Calls) -> Iterator[None]:
    """Within the block, calls of resumed functions are remembered; `script.made` is the number of choices."""
    _followed.append((script, calls))
    try:
        yield
    finally:
        _followed.pop()


def resumed(function: Callable) -> Callable:
    """The function, remembered within `resume`."""

    @functools.wraps(function)
    def remembered(*arguments: Any) -> Any:
        if not _followed:
            return function(*arguments)
        script, calls = _followed[-1]
        return calls.call(script, function, arguments)

    return remembered


def places(
    functions: Iterable[Callable], packages: tuple[str, ...]
) -> Iterator[tuple[ModuleType, str, Callable]]:
    """(module, name, resumed function) wherever a module of some packages has one of the functions."""
    of = {id(function): resumed(function) for function in functions}
    for full_name, module in list(sys.modules.items()):
        if full_name.split(".")[0] in packages:
            for name, value in list(vars(module).items()):
                if id(value) in of:
                    yield module, name, of[id(value)]
