"""Questions as grammars and rankers read them: in small letters, without the marks at their end.

The fact a newcomer would get wrong: grammars read words that are cut after some letters, so that forms of a
word are one, and rankers read whole words. Whoever parses must cut as whoever learnt did.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

__all__ = ["cut_words", "doubt_of_letters", "question_words"]

_AT_THE_END = ".?!…؟。？！;:,،、"
_OFTEN = 5  # Words of the same length: too many to be the longest ones of their own accord.
_LONGEST_CLITIC = 3  # 's, 're, 'll
_OPEN, _CLOSED = '([{"“”„«‘¿¡', ")]}\"“”»'?!…؟。？！;:,،、"


def question_words(text: str) -> list[str]:
    """The words of a question, which stand between blanks, without marks around them and at its end.

    A mark that is a word by itself stays one, but at the end. Full stops go from the end alone, and what
    has one within it, as *u.s.* has, keeps them. Without a letter or a digit there are none. Characters are
    composed (NFC), and apostrophes straight.

    >>> question_words("What is the capital of Ohio ?"), question_words("Which rivers are in the “U.S.”?")
    (['what', 'is', 'the', 'capital', 'of', 'ohio'], ['which', 'rivers', 'are', 'in', 'the', 'u.s.'])
    >>> question_words("İzmir nerede?")
    ['izmir', 'nerede']
    """
    small = unicodedata.normalize("NFC", text).lower().replace("i\u0307", "i")  # Of İ, as Turkish has it.
    words = [_without_marks(word) for word in small.split()]
    while words and not words[-1].strip(_AT_THE_END):
        words.pop()
    if words and (bare := words[-1].rstrip(f".{_CLOSED}")) and "." not in bare:
        words[-1] = bare
    return words if any(map(str.isalnum, "".join(words))) else []


def _without_marks(word: str) -> str:
    """A word without the marks around it; what is nothing else, as it is, and so is the beginning of *'s*."""
    word = word.replace("’", "'")
    opened = word.lstrip(_OPEN)
    inner = opened.rstrip(_CLOSED)
    is_quoted = "'" in opened[len(inner) :]  # 'ny' is no clitic.
    return (inner.lstrip("'") if is_quoted or len(inner) > _LONGEST_CLITIC else inner) or word


def cut_words(words: list[str], letters: int) -> list[str]:
    """Each word's first letters, so many; 0 leaves words whole.

    >>> cut_words(["rivers", "in", "ohio"], 3)
    ['riv', 'in', 'ohi']
    """
    return [word[:letters] for word in words] if letters else words


def doubt_of_letters(words: Sequence[str], letters: int) -> str:
    """Why the words of a grammar do not look as if they were cut after so many letters; "" if they do.

    >>> doubt_of_letters(["rivers", "in"], 5), doubt_of_letters(["rivers", "in"], 6)
    ("words are longer than 5 letters, such as 'rivers'", '')
    """
    longest = max(words, key=len, default="")
    if letters and len(longest) > letters:
        return f"words are longer than {letters} letters, such as '{longest}'"
    often = sum(len(word) == len(longest) for word in words)
    if not letters and often > max(_OFTEN, len(words) / 4):
        return f"no word is longer than {len(longest)} letters, and {often} are as long: they may be cut"
    return ""
