"""The strings, numbers and names in angle brackets of a text file of Praat, in order; all else is comment.

Numbers are as Praat reads them: `50%` is 0.5, and `1/2`, too.

The fact a newcomer would get wrong: a word that begins like a number is one, wherever it stands. Only behind
`!` may it be a comment.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from monolingual.ot.tableaux import MOST_VIOLATIONS
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import InputError

__all__ = ["Flag", "Tokens"]

_TOKEN = re.compile(r'"((?:[^"]|"")*)"|(!.*)|(<[^<>\s]*>)|(\S+)')
_QUOTES = "Quotes within a string are doubled, and a blank follows its end"


class Flag(NamedTuple):
    """A name in angle brackets."""

    name: str


class Tokens:
    """The strings, numbers and flags of a text file of Praat, in order; all else is comment."""

    def __init__(self, path: PathLike, lines: Iterable[str]):
        text = "\n".join(lines)
        self.path, self._line, self._last = path, 0, text.count("\n") + 1
        self._tokens: Iterator[tuple[int, str | float | Flag]] = self._split(text)

    def _split(self, text: str) -> Iterator[tuple[int, str | float | Flag]]:
        offset = 0
        for match in _TOKEN.finditer(text):
            self._line += text.count("\n", offset, match.start())
            offset = match.start()
            quoted, _, flag, word = match.groups()
            if quoted is not None:
                if text[match.end() : match.end() + 1].strip():
                    found = f"{text[match.end()]!r} follows a quote, within a string or at its end"
                    raise InputError(self.path, self.line, found, _QUOTES)
                # As in the cell of a table: tabs and ends of lines are blanks.
                yield self.line, re.sub(r"[\t\n]", " ", quoted.replace('""', '"')).strip()
            elif flag is not None:
                yield self.line, Flag(flag[1:-1])
            elif word is not None:
                number = self._as_number(word)
                if number is not None:
                    yield self.line, number

    def _as_number(self, word: str) -> float | None:
        """The number a word is; None for words such as `[1]:` and `pairs`."""
        if word[0] == '"':
            hint = "Is the file cut off? Quotes within a string are doubled"
            raise InputError(self.path, self.line, "a string begins here and does not end", hint)
        if word[0] not in "+-.0123456789" or not any(sign.isalnum() for sign in word):
            return None
        with contextlib.suppress(ValueError, ZeroDivisionError):
            numerator, slash, denominator = word.partition("/")
            number = _real(numerator) / _real(denominator) if slash else _real(word)
            if math.isfinite(number):
                return number
        # Praat takes it for a number, too; left out, the next one would stand in its place.
        hint = "Give a number; words that begin like one are comments only behind '!'"
        raise InputError(self.path, self.line, f"{word!r} is not a number", hint)

    def next_is(self, is_wanted: Callable[[str | float | Flag], bool]) -> bool:
        """Whether there is a token left of which something is true; it stays the next one."""
        first = next(self._tokens, None)
        if first is not None:
            self._tokens = itertools.chain([first], self._tokens)
        return first is not None and is_wanted(first[1])

    def string(self, what: str) -> str:
        """The next string; flags before it are passed over, a number is an error."""
        line, value = self._next(what)
        if not isinstance(value, str):
            raise InputError(self.path, line, f"the number {value:g} instead of {what}, in quotes")
        return value

    def number(self, what: str) -> float:
        """The next number; a string is an error."""
        line, value = self._next(what)
        if not isinstance(value, float):
            raise InputError(self.path, line, f'"{value}" instead of {what}')
        return value

    def count(self, what: str) -> int:
        """The next number, which is a whole one from 0 to `MOST_VIOLATIONS`."""
        value = self.number(what)
        if not (0 <= value <= MOST_VIOLATIONS and value == int(value)):
            raise InputError(self.path, self.line, f"{value:g} is not {what}")
        return int(value)

    def constraint(self, most: int) -> int:
        """The number of a constraint, which is counted from 1 in the file and from 0 here."""
        value = self.count("a constraint of a fixed ranking")
        if not 1 <= value <= most:
            found = f"a fixed ranking has the constraint {value}"
            raise InputError(self.path, self.line, found, f"They are counted from 1 to {most}")
        return value - 1

    def flag(self, what: str) -> str:
        """The name in angle brackets that has to come next."""
        line, value = next(self._tokens, (self._last, ""))
        if not isinstance(value, Flag):
            hint = "Write one above the constraints, or open the file in a newer Praat and save it there"
            raise InputError(self.path, line, f"no {what}", hint)
        return value.name

    def require_end(self, announced: str) -> None:
        """Raise if another string or number follows what has been announced."""
        hint = "Mend that number, or leave out the rest"
        if self.next_is(lambda value: isinstance(value, str)):
            raise InputError(self.path, self.line, f"announces {announced}, and here is another one", hint)
        if self.next_is(lambda value: isinstance(value, float)):
            raise InputError(self.path, self.line, f"a number stands behind {announced}", hint)

    @property
    def line(self) -> int:
        """Where reading is, counted from 1."""
        return self._line + 1

    def _next(self, what: str) -> tuple[int, str | float]:
        for line, value in self._tokens:
            if not isinstance(value, Flag):
                return line, value
        raise InputError(self.path, self._last, f"the file ends where {what} should be", "Is it cut off?")


def _real(word: str) -> float:
    """A number, perhaps of percent.

    >>> _real("12.5%"), _real("-3e1")
    (0.125, -30.0)
    """
    return 0.01 * real_number(word[:-1]) if word.endswith("%") else real_number(word)
