"""Arguments of the functions for notebooks: refused in one line that speaks of arguments, not of options.

What is below speaks of the options of commands (`--max-length`). The fact a newcomer would get wrong: an
`ArgumentError` is a `ValueError` and a `SettingsError`, so that both who know Python and who know the project
catch it.
"""

from __future__ import annotations

import contextlib
import numbers
import re
from collections.abc import Iterator

from scfg_sampler.errors import SettingsError

__all__ = ["ArgumentError", "of_arguments", "require_count", "require_switch", "require_type"]

_OPTION = re.compile(r"--([a-z][a-z-]*)")


class ArgumentError(SettingsError, ValueError):
    """An argument has a value it cannot have; the message names the argument, the value and the range."""


@contextlib.contextmanager
def of_arguments() -> Iterator[None]:
    """Whatever settings are refused within, refused as arguments."""
    try:
        yield
    except ArgumentError:
        raise
    except SettingsError as error:
        message = _OPTION.sub(lambda match: match[1].replace("-", "_"), str(error))
        raise ArgumentError(message) from None


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
    if not isinstance(value, numbers.Integral):
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
