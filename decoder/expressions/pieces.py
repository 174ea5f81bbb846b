"""Pieces of words, which questions share where they do not share words: first letters, and pairs of letters.

    which rivers traverse <stateid@1>   →   wh ri tr <stateid@1>                           their beginnings
                                        →   _w wh hi ic ch h_ _r ri iv … se e_ <stateid@1>   pairs of letters

Kinds of names (`names.py`) stay whole.

The fact a newcomer would get wrong: these are no stems, and need not be. A model of pieces errs elsewhere
than one of words, and a ranker, which has both, gives each what it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence

from decoder.expressions.names import is_kind

__all__ = ["beginnings", "letter_groups", "letter_pairs"]

_BEGINNING = 2
_BOUNDARY = "_"


def beginnings(words: Sequence[str]) -> list[str]:
    """The first two letters of each word, or its one.

    >>> beginnings(["which", "rivers", "<stateid@1>", "a"])
    ['wh', 'ri', '<stateid@1>', 'a']
    """
    return [word if is_kind(word) else word[:_BEGINNING] for word in words]


def letter_pairs(words: Sequence[str]) -> list[str]:
    """All pairs of neighbouring letters of each word, with a mark before it and behind it.

    >>> letter_pairs(["in", "<stateid@1>"])
    ['_i', 'in', 'n_', '<stateid@1>']
    """
    pairs: list[str] = []
    for word in words:
        pairs += [word] if is_kind(word) else letter_groups(word, 2)
    return pairs


def letter_groups(word: str, number: int) -> list[str]:
    """All that is so many letters long in a word, marks before it and behind it included; at least one.

    >>> letter_groups("area", 3)
    ['_ar', 'are', 'rea', 'ea_']
    >>> letter_groups("a", 4)
    ['_a_']
    """
    letters = f"{_BOUNDARY}{word}{_BOUNDARY}"
    return [letters[at : at + number] for at in range(max(1, len(letters) - number + 1))]
