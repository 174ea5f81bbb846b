"""Questions: JSON objects, whose fields are checked before anything is done with them.

Whatever is wrong with one is a `QuestionError` of one line. The fact a newcomer would get wrong: JSON can
spell half a character (`"\\ud800"`), which no text has; it is refused here, or an answer that repeats it
could not be sent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.errors import ScfgError

__all__ = ["LARGEST", "MOST_WORDS", "Question", "QuestionError", "read_question"]

LARGEST = 1 << 16
"""Bytes of a question."""
MOST_WORDS = 100
"""Words of a sentence."""


class QuestionError(ScfgError):
    """A question that cannot be answered."""


class Question:
    """The fields of a question; a field that nobody asks for is refused by `require_known`."""

    def __init__(self, fields: dict[str, Any]):
        self.fields = fields

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def require_known(self, known: Sequence[str]) -> None:
        """Raise a QuestionError if a field is none of these."""
        for name in self.fields:
            if name not in known:
                raise QuestionError(f"there is no field {name!r}; there are {', '.join(known)}")

    def require_apart(self, name: str, others: Sequence[str]) -> None:
        """Raise a QuestionError if a field is given together with one that means nothing beside it."""
        for other in others:
            if name in self.fields and other in self.fields:
                raise QuestionError(f"{other} has no meaning beside {name}; leave out one of them")

    def text(self, name: str, default: str | None = None, most: int | None = MOST_WORDS) -> str:
        """A line of text of at most so many words; without a default it must be there."""
        value = self.fields.get(name, default)
        if not isinstance(value, str):
            raise QuestionError(f"{name} is missing" if value is None else f"{name} is no text")
        return require_line(name, value, most)

    def texts(self, name: str) -> list[str]:
        """Lines of text."""
        values = self.fields.get(name)
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            raise QuestionError(f"{name} is no list of texts")
        return [require_line(name, each, None) for each in values]

    def integer(self, name: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number between two others; without a default it must be there."""
        value = self.fields.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise QuestionError(f"{name} is {'missing' if value is None else 'no whole number'}")
        if not least <= value <= most:
            legal = f"it must be from {least} to {most}" if least <= most else "there is none"
            raise QuestionError(f"{name} is {value}; {legal}")
        return value

    def flag(self, name: str) -> bool:
        """Whether something is asked for; false if nothing is said."""
        value = self.fields.get(name, False)
        if not isinstance(value, bool):
            raise QuestionError(f"{name} is neither true nor false")
        return value

    def numbers(self, name: str) -> dict[str, float]:
        """Finite numbers by their names; empty if nothing is said."""
        values = self.fields.get(name, {})
        if not isinstance(values, dict):
            raise QuestionError(f"{name} is no object of names and numbers")
        for key, value in values.items():
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not is_number or abs(value) > 1e9 or not math.isfinite(value):
                raise QuestionError(f"{name} of {key!r} is no number from -1e9 to 1e9")
        return {key: float(value) for key, value in values.items()}


def require_line(name: str, value: str, most: int | None) -> str:
    """The text, if it is one line of at most so many words."""
    if "\n" in value or "\r" in value:
        raise QuestionError(f"{name} is more than one line")
    if "\x00" in value:
        raise QuestionError(f"{name} has a control character (U+0000), which is no text")
    if any("\ud800" <= each <= "\udfff" for each in value):
        raise QuestionError(f"{name} has half a character, which is no text")
    if most is not None and (number := len(split_words(value))) > most:
        raise QuestionError(f"{name} has {number} words; at most {most} are taken")
    return value


def read_question(body: bytes) -> Question:
    """The question in the body of a request.

    Raises
    ------
    QuestionError
        It is no JSON object.
    """
    try:
        found = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise QuestionError("the request is no JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise QuestionError('the request is no JSON object, such as {"number": 0}')
    return Question(found)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
