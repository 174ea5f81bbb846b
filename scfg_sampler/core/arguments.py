"""Arguments of the functions for notebooks: refused in one line that speaks of arguments, not of options.

What is below speaks of the options of commands (`--max-length`). The fact a newcomer would get wrong: an
`ArgumentError` is a `ValueError` and a `SettingsError`, so that both who know Python and who know the project
catch it.
"""

from __future__ import annotations

import contextlib
import numbers
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "ArgumentError",
    "of_arguments",
    "require_characters",
    "require_count",
    "require_file",
    "require_lines",
    "require_path",
    "require_place",
    "require_switch",
    "require_type",
    "require_whole",
    "settings_of",
]

T = TypeVar("T")

_OPTION = re.compile(r"--([a-z][a-z-]*)")
_COMMAND = re.compile("('[^']*')")
_HALF = re.compile("[\ud800-\udfff]")


class ArgumentError(SettingsError, ValueError):
    """An argument has a value it cannot have; the message names the argument, the value and the range."""


@contextlib.contextmanager
def of_arguments() -> Iterator[None]:
    """Whatever settings are refused within, refused as arguments; other errors have hints of arguments."""
    try:
        yield
    except ArgumentError:
        raise
    except SettingsError as error:
        raise ArgumentError(_OPTION.sub(_argument, str(error))) from None
    except InputError as error:
        # Not what was found, which may be text of the file; commands are quoted, and keep their options.
        parts = _COMMAND.split(error.hint)
        hint = "".join(part if part[:1] == "'" else _OPTION.sub(_argument, part) for part in parts)
        if hint == error.hint:
            raise
        raise type(error)(error.path, error.line, error.found, hint) from None


def _argument(option: re.Match[str]) -> str:
    """The name of an argument for an option."""
    return option[1].replace("-", "_")


def require_type(name: str, value: object, kind: type | tuple[type, ...], wanted: str) -> None:
    """Raise a TypeError that says what was wanted if a value is not of a type.

    >>> require_type("corpus", "a.txt", int, "a Corpus: see read_corpus")
    Traceback (most recent call last):
    TypeError: corpus is a str; give a Corpus: see read_corpus
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} is a {type(value).__name__}; give {wanted}")


def require_count(name: str, value: object) -> None:
    """Raise a TypeError if a value is no whole number, an ArgumentError if it is less than 1.

    >>> require_count("k", 0)
    Traceback (most recent call last):
    scfg_sampler.core.arguments.ArgumentError: k is 0; it is at least 1
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}; give a whole number, at least 1")
    if value < 1:
        raise ArgumentError(f"{name} is {value}; it is at least 1")


def require_switch(name: str, value: object) -> bool:
    """A value as a bool; raise a TypeError if it is neither True nor False, of Python or of numpy.

    >>> require_switch("overwrite", "no")
    Traceback (most recent call last):
    TypeError: overwrite is 'no'; give True or False
    """
    # Those of numpy by their name, as nothing else here needs numpy.
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} is {value!r}; give True or False")
    return bool(value)


def require_whole(name: str, value: object) -> int:
    """A value as an int; raise a TypeError if it is no whole number of Python or numpy, or True or False.

    >>> require_whole("threads", True)
    Traceback (most recent call last):
    TypeError: threads is True; give a whole number
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {_shown(value)}; give a whole number")
    return int(value)


def require_path(name: str, value: object) -> None:
    """Raise a TypeError if a value is no path: a number above all, which `open` takes for an open file.

    An ArgumentError if it is empty, which would be the directory where one is.
    """
    require_type(name, value, (str, os.PathLike), "a path: a str or a Path")
    if not os.fspath(value):  # type: ignore[call-overload]
        raise ArgumentError(f"{name} is empty, and names no place")


def require_file(name: str, value: object) -> None:
    """As `require_path`; an ArgumentError for "-", too: what is written there cannot be read again."""
    require_path(name, value)
    if value == "-":
        raise ArgumentError(f"{name} is '-', which is no file; name one")


def require_place(key: object, number: int, things: str) -> int:
    """Which of so many things a key means, counted from the end where it is negative.

    Raises
    ------
    TypeError
        It is no whole number.
    IndexError
        There is no such thing.

    >>> require_place(-1, 3, "sentence pairs")
    2
    >>> require_place(5, 3, "sentence pairs")
    Traceback (most recent call last):
    IndexError: there are sentence pairs 0 to 2, and none of the number 5
    """
    try:
        at = operator.index(key)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{_shown(key)} is none of the {things}; give a whole number or a slice") from None
    if not -number <= at < number:
        there = (
            f"there are {things} 0 to {number - 1}, and none" if number else f"there are no {things}, none"
        )
        raise IndexError(f"{there} of the number {at}")
    return at % number


def require_lines(name: str, lines: Iterable[str]) -> list[str]:
    """The lines of a text that is given as such, without the ends of lines that open files give them.

    Raises
    ------
    TypeError
        They are not strings.
    InputError
        One of them is several.

    >>> require_lines("text", ["a b\\n", "c"])
    ['a b', 'c']
    >>> require_lines("text", ["a b", None])
    Traceback (most recent call last):
    TypeError: line 2 of text is None; give strings
    """
    if isinstance(lines, (bytes, Mapping)) or not isinstance(lines, Iterable):
        raise TypeError(f"{name} is {_shown(lines)}; give a path, or a list of lines")
    found = []
    for number, given in enumerate(lines, start=1):
        if not isinstance(given, str):
            raise TypeError(f"line {number} of {name} is {_shown(given)}; give strings")
        line = given.removesuffix("\n")
        if "\n" in line:
            said = f"line {number} of {name} is more than one line"
            raise InputError(None, number, said, "Give a list of lines, one each")
        require_characters(f"line {number} of {name}", line)
        found.append(line)
    return found


def require_characters(name: str, text: str) -> None:
    """Raise an ArgumentError if a text has half a character, as no file has.

    >>> require_characters("line 1", "a \\ud800")
    Traceback (most recent call last):
    scfg_sampler.core.arguments.ArgumentError: line 1 has half a character, '\\ud800'; leave it out
    """
    if not text.isascii() and (found := _HALF.search(text)):
        raise ArgumentError(f"{name} has half a character, {found[0]!r}; leave it out")


def settings_of(kind: type[T], given: Mapping[str, Any]) -> T:
    """A NamedTuple of settings made of those that are given, numbers of numpy as Python's.

    Raises
    ------
    ArgumentError
        There is no such setting.
    TypeError
        A number, a string or a switch is of another type.
    """
    hints = get_type_hints(kind)
    found = {}
    for name, value in given.items():
        if name not in hints:
            raise ArgumentError(f"there is no setting {name!r}; there are {', '.join(sorted(hints))}")
        found[name] = _of_type(name, value, hints[name])
    return kind(**found)


def _of_type(name: str, value: Any, wanted: Any) -> Any:
    choices = [each for each in get_args(wanted) if each is not type(None)]
    if len(choices) == 1 and type(None) in get_args(wanted):
        return None if value is None else _of_type(name, value, choices[0])
    if choices == [str, int]:
        if value is None or isinstance(value, str):
            return value
        with contextlib.suppress(TypeError):
            return _of_type(name, value, int)
        raise TypeError(f"{name} is {_shown(value)}; give a string or a whole number")
    if get_origin(wanted) is tuple:
        return _strings(name, value)
    if get_origin(wanted) is Sequence and isinstance(value, Iterable) and not isinstance(value, str):
        return tuple(value)  # It may be read but once.
    if wanted is bool:
        return require_switch(name, value)
    if wanted is int:
        found = require_whole(name, value)
        if abs(found) >= 2**63 and name != "seed":  # As of commands.
            raise ArgumentError(f"{name} is {_shown(found)}; it is too large")
        return found
    if wanted is str:
        require_type(name, value, str, "a string")
    if wanted is float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"{name} is {_shown(value)}; give a number")
        try:
            float(value)
        except OverflowError:
            raise ArgumentError(f"{name} is {_shown(value)}; it is too large") from None
        return value if isinstance(value, int | float) else float(value)
    return value


def _strings(name: str, value: object) -> tuple[str, ...]:
    """Several strings as a tuple: a string alone would be its letters."""
    if isinstance(value, str) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise TypeError(f"{name} is {_shown(value)}; give a list of strings")
    found = tuple(value)
    for each in found:
        require_type(f"one of {name}", each, str, "a string")
    return tuple(str(each) for each in found)


def _shown(value: object) -> str:
    """A value in a message: itself if it is short, else its type."""
    text = repr(value)
    return text if len(text) < 30 and "\n" not in text else f"a {type(value).__name__}"
