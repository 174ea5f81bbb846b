"""What belongs to a word by Unicode, though sacremoses does not know it for a letter and would cut there.

These are accents for which there is no letter that has them (`tɛ́nwe`, `ọ̀rọ̀`: vowels of half of Africa), the
joiners of Persian and of Indian scripts, letters of scripts that sacremoses has no list of (Hangul, Adlam,
Cherokee), numerals of Ethiopia, raised marks of tone, marks that Hebrew and Armenian have within words, and
the typographer's apostrophe and hyphens between two letters, which are to be cut as the typewriter's are:
`l’ homme` like `l' homme`. So far as the word boundaries of Unicode's annex 29 go; but pictures of several
characters are words, too.

The fact a newcomer would get wrong: nothing is replaced in the text. sacremoses is shown as many characters
as there are, and where it cuts these, the text is cut.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from scfg_sampler.preparation.subwords import is_unspaced

__all__ = ["COMBINING", "StandIns", "ends_in_letter", "is_letter", "pictures"]

COMBINING = (
    r"\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u2de0-\u2dff\ua66f-\ua672"
    r"\ua674-\ua67d\ua69e\ua69f\ufe20-\ufe2f\U0001e08f\U0001e944-\U0001e94a"
)
"""Accents of scripts that have capitals, as a class of regular expressions has them."""

_JOINERS = "\u200c\u200d"
_OF_WORDS = re.compile(
    r"[\u02c2-\u02ff\ua700-\ua78a"  # Raised marks of tone, letters that look like a colon or an equals sign.
    r"\u055a-\u055c\u055e\u05f3"  # Armenian's marks of stress, call, question, which stand on vowels; geresh.
    r"\u0bf0-\u0bf2\u0d70-\u0d75\u1369-\u137c\U0001e8c7-\U0001e8cf]"  # Numerals that are no decimal digits.
)
_LETTER = "א"  # Neither a capital nor a small one, and no abbreviation of any language.
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[’·‧‐‑](?=[^\W\d_])")
_TYPED = {"’": "'", "‐": "-", "‑": "-"}
_APOSTROPHES = re.compile(r"(?<=[^\W\d_])['’‘`](?=[^\W\d_])")
_OPENS_OR_CLOSES = re.compile(r"(?<![\w'’‘`])['’‘`](?=[^\W\d_])|(?<=[^\s'’‘`])(['’‘`])(?!\w)")
_GERSHAYIM = re.compile('(?<=[\u05d0-\u05ea])["״](?=[\u05d0-\u05ea])')
_CHANGES = rf"[{COMBINING}\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
_SIGN = rf"[^\w\s{_CHANGES[1:-1]}{_JOINERS}]"
_PICTURE = re.compile(
    rf"[\U0001f1e6-\U0001f1ff]{{2}}|{_SIGN}(?:{_CHANGES}+|(?=\u200d{_SIGN}))(?:\u200d{_SIGN}{_CHANGES}*)*"
)


def is_letter(character: str) -> bool:
    """Whether a character is a letter, a digit, an accent or a joiner; "" is none.

    >>> is_letter("a"), is_letter("\\u0301"), is_letter("."), is_letter("")
    (True, True, False, False)
    """
    if character.isalnum():
        return True
    return character != "" and (unicodedata.category(character)[0] == "M" or character in _JOINERS)


def ends_in_letter(word: str) -> bool:
    """Whether a word ends in a letter or a digit, accents and joiners aside; they may be of a picture.

    >>> ends_in_letter("lɛ\\u0301"), ends_in_letter("❤\\ufe0f"), ends_in_letter("-")
    (True, False, False)
    """
    end = len(word) - 1
    while end > 0 and is_letter(word[end]) and not word[end].isalnum():
        end -= 1
    return is_letter(word[end])


def pictures(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of signs that several characters are: hearts in red, families, flags; signs with accents.

    >>> list(pictures("I ❤\\ufe0fB, I ❤ B"))
    [(2, 4)]
    """
    return iter(()) if text.isascii() else (match.span() for match in _PICTURE.finditer(text))


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

    def shown(self, text: str, *, apostrophes: bool = False) -> str:
        """What sacremoses is shown of a text; as long as the text.

        With `apostrophes` those between two letters are letters, and those before a word that close nowhere.

        >>> StandIns("abcdefghijklmnopqrstuvwxyzɛ").shown("a tɛ\\u0301nwe · l’a ’a’")
        "a tɛאnwe · l'a ’a’"
        """
        letters = text if text.isascii() else _GERSHAYIM.sub(_LETTER, text).translate(self)
        if apostrophes:
            letters = _with_initial_letters(_APOSTROPHES.sub(_LETTER, letters))
        if text.isascii():
            return letters
        return _BETWEEN_LETTERS.sub(lambda mark: _TYPED.get(mark[0], _LETTER), letters)


def _with_initial_letters(text: str) -> str:
    """A letter for each apostrophe before a word that is no quotation mark: nothing behind it closes.

    >>> _with_initial_letters("'yan sun ce 'a gida', 'ya")
    "אyan sun ce 'a gida', אya"
    """
    begun: list[int] = []
    for mark in _OPENS_OR_CLOSES.finditer(text):
        if mark[1] is None:
            begun.append(mark.start())
        elif begun:
            begun.pop()
    found = list(text)
    for at in begun:
        found[at] = _LETTER
    return "".join(found)


def _alike(character: str) -> str:
    """A letter that sacremoses knows, in place of one that it does not; what is none stays."""
    category = unicodedata.category(character)
    if category in ("Lu", "Lt"):
        return "X"
    if category == "Ll":
        return "x"
    is_part = category[0] in "LM" or character in _JOINERS or _OF_WORDS.match(character)
    return _LETTER if is_part else character
