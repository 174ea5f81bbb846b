"""Questions as grammars and rankers read them: in small letters, without the mark at their end.

The fact a newcomer would get wrong: grammars read words that are cut after some letters, so that forms of a
word are one, and rankers read whole words. Whoever parses must cut as whoever learnt did.
"""

from __future__ import annotations

__all__ = ["cut_words", "question_words"]

_MARKS = ".?!؟。？"


def question_words(text: str) -> list[str]:
    """The words of a question, which stand between blanks, but for the mark at its end.

    The mark may be a word by itself, or stand behind the last one; what has another full stop, as *u.s.* has,
    keeps its last.

    >>> question_words("What is the capital of Ohio ?"), question_words("Which rivers are in the U.S.")
    (['what', 'is', 'the', 'capital', 'of', 'ohio'], ['which', 'rivers', 'are', 'in', 'the', 'u.s.'])
    """
    words = text.lower().split()
    if words and words[-1][-1] in _MARKS and words[-1].count(".") < 2:
        last = words.pop()[:-1]
        words += [last] if last else []
    return words


def cut_words(words: list[str], letters: int) -> list[str]:
    """Each word's first letters, so many; 0 leaves words whole.

    >>> cut_words(["rivers", "in", "ohio"], 3)
    ['riv', 'in', 'ohi']
    """
    return [word[:letters] for word in words] if letters else words
