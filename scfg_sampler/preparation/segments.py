"""What all ways of segmentation have in common: words, where they stand in the text, and marks.

A mark is a character that says how a word joins its neighbours. Marks that stand in the text itself are
escaped, so that a text can hold anything and still come back as it was.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Protocol

__all__ = [
    "JOIN",
    "MARKS",
    "SPACE",
    "WORD_BEGIN",
    "Joined",
    "Plain",
    "Segmented",
    "Segmenter",
    "escape",
    "spelling",
    "unescape",
]

JOIN = "￭"  # U+FFED: no space here, where one is expected.
SPACE = "␣"  # U+2423: a space here, where none is expected.
WORD_BEGIN = "▁"  # U+2581: sentencepiece's mark of a space before a piece.
_ESCAPE = "␛"  # U+241B
_CODES = {_ESCAPE: "e", JOIN: "j", SPACE: "s", WORD_BEGIN: "w"}
MARKS = re.compile(f"[{''.join(_CODES)}]")
_JOINS = re.compile(f"[{JOIN}{SPACE}{WORD_BEGIN}]")
_ESCAPED = re.compile(_ESCAPE + f"([{''.join(_CODES.values())}])")
_CHARACTERS = {code: mark for mark, code in _CODES.items()}


class Segmented(NamedTuple):
    """A text cut into words.

    words : none is empty or holds a space
    places : half-open range of the text for each word, in order; spaces are in none
    """

    words: list[str]
    places: list[tuple[int, int]]


class Joined(NamedTuple):
    """The text that words make; `places` as for `Segmented`."""

    text: str
    places: list[tuple[int, int]]


class Segmenter(Protocol):
    """A way to cut normalised text into words and join them; `join(segment(text).words).text == text`."""

    def segment(self, text: str, own_case: str | None = None) -> Segmented:
        """The words of a text; `own_case` is the text before its case was changed, which tells more."""

    def join(self, words: list[str]) -> Joined:
        """The text of any sequence of words."""

    def word(self, text: str, *, joined: bool) -> str:
        """A part of a text as one word, joined to the word before it or not."""

    def respelled(self, word: str) -> str:
        """The same word joined to its neighbours in another way, should this one be unknown."""

    def record(self) -> dict[str, Any]:
        """Kind and settings as JSON can hold them; what is in files of its own is not there."""


class Plain:
    """Segmentation of text that is segmented already: words stand between spaces."""

    def segment(self, text: str, own_case: str | None = None) -> Segmented:
        matches = list(re.finditer("[^ ]+", text))
        return Segmented([match[0] for match in matches], [match.span() for match in matches])

    def join(self, words: list[str]) -> Joined:
        places, at = [], 0
        for word in words:
            places.append((at, at + len(word)))
            at += len(word) + 1
        return Joined(" ".join(words), places)

    def word(self, text: str, *, joined: bool) -> str:
        return text

    def respelled(self, word: str) -> str:
        return word

    def record(self) -> dict[str, Any]:
        return {"kind": "none"}


def escape(text: str) -> str:
    """The text with its marks spelled so that none is left.

    >>> escape("a￭b"), unescape(escape("␛e￭ ▁␣")) == "␛e￭ ▁␣"
    ('a␛jb', True)
    """
    return MARKS.sub(lambda mark: _ESCAPE + _CODES[mark[0]], text)


def unescape(text: str) -> str:
    """The text that `escape` was given; what it cannot have made stays."""
    return _ESCAPED.sub(lambda code: _CHARACTERS[code[1]], text) if _ESCAPE in text else text


def spelling(word: str) -> str:
    """The characters of a word without the marks of how it joins its neighbours.

    >>> spelling("▁tra"), spelling("￭/￭"), spelling("␛wa")
    ('tra', '/', '▁a')
    """
    return unescape(_JOINS.sub("", word))
