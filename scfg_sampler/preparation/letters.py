"""What belongs to a word by Unicode, though sacremoses does not know it for a letter and would cut there.

These are accents for which there is no letter that has them (`tɛ́nwe`, `ọ̀rọ̀`: vowels of half of Africa), the
joiners of Persian and of Indian scripts, letters of scripts that sacremoses has no list of (Hangul, Adlam,
Cherokee), raised marks of tone, and the typographer's apostrophe between two letters, which is to be cut as
the typewriter's is: `l’ homme` like `l' homme`.

The fact a newcomer would get wrong: nothing is replaced in the text. sacremoses is shown as many characters
as there are, and where it cuts these, the text is cut.
"""

from __future__ import annotations

import re
import unicodedata

from scfg_sampler.preparation.subwords import is_unspaced

__all__ = ["COMBINING", "StandIns", "is_letter"]

COMBINING = (
    r"\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\U0001e944-\U0001e94a"
)
"""Accents of scripts that have capitals, as a class of regular expressions has them."""

_JOINERS = "\u200c\u200d"
_RAISED = re.compile(r"[\u02c2-\u02ff\ua700-\ua78a]")
_LETTER = "א"  # Neither a capital nor a small one, and no abbreviation of any language.
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[’·](?=[^\W\d_])")


def is_letter(character: str) -> bool:
    """Whether a character is a letter, a digit, an accent or a joiner; "" is none.

    >>> is_letter("a"), is_letter("\\u0301"), is_letter("."), is_letter("")
    (True, True, False, False)
    """
    if character.isalnum():
        return True
    return character != "" and (unicodedata.category(character)[0] == "M" or character in _JOINERS)


class StandIns(dict[int, int]):
    """The characters that stand for others before sacremoses, for `str.translate`: itself for most.

    Characters of scripts whose words do not stand between spaces are left as they are.

    Parameters
    ----------
    known : str
        The letters and digits that sacremoses knows.
    """

    def __init__(self, known: str):
        super().__init__()
        self._known = frozenset(known)

    def __missing__(self, code: int) -> int:
        character = chr(code)
        self[code] = code if character in self._known or is_unspaced(character) else ord(_alike(character))
        return self[code]

    def shown(self, text: str) -> str:
        """What sacremoses is shown of a text; as long as the text.

        >>> StandIns("abcdefghijklmnopqrstuvwxyzɛ").shown("a tɛ\\u0301nwe · l’a ’a’")
        "a tɛאnwe · l'a ’a’"
        """
        if text.isascii():
            return text
        return _BETWEEN_LETTERS.sub(lambda mark: "'" if mark[0] == "’" else _LETTER, text.translate(self))


def _alike(character: str) -> str:
    """A letter that sacremoses knows, in place of one that it does not; what is none stays."""
    category = unicodedata.category(character)
    if category in ("Lu", "Lt"):
        return "X"
    if category == "Ll":
        return "x"
    is_part = category[0] in "LM" or character in _JOINERS or _RAISED.match(character)
    return _LETTER if is_part else character
