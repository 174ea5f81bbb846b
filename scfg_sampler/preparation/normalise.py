"""One spelling for what looks the same: Unicode in NFC, one kind of space, nothing invisible.

Every kind of space, and every control character that separates, becomes a space; several become one, and
there is none at the ends of a line. Other control characters, byte order marks, soft hyphens, zero-width
spaces and marks of writing direction are left out. Joiners (U+200C, U+200D) stay: in Hindi and Persian they
spell.

The fact a newcomer would get wrong: NFC changes how many characters a text has, so a place in the normalised
text is not the same place in the raw one. `normalise_with_places` says where each character came from.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["normalise", "normalise_with_places"]

_INVISIBLE = "\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
_SPACE = re.compile(r"[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_SPACES = re.compile(_SPACE.pattern + "+")
_NOTHING = re.compile(rf"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f{_INVISIBLE}]")
_MOST_COMBINED = 32  # Unicode's format for streams has at most thirty accents in a row.
_PLAIN = re.compile(r"(?:[!-~]+(?: [!-~]+)*)?")


def normalise(text: str) -> str:
    """The text in NFC, with single spaces, without what is invisible.

    >>> normalise(" \\ufeffCafe\\u0301\\u00a0 au\\tlait\\r")
    'Café au lait'
    """
    if _PLAIN.fullmatch(text):
        return text
    visible = _NOTHING.sub("", text)
    return unicodedata.normalize("NFC", _SPACES.sub(" ", visible)).strip(" ")


def normalise_with_places(text: str) -> tuple[str, list[tuple[int, int]]]:
    """`normalise(text)`, and for each of its characters the half-open range of `text` it stands for.

    Characters that NFC composed, or put into another order, share the range of all of them.

    >>> normalise_with_places(" e\\u0301 a")
    ('é a', [(1, 3), (3, 4), (4, 5)])
    """
    result = normalise(text)
    if result == text:
        return result, [(at, at + 1) for at in range(len(text))]
    kept: list[tuple[str, int, int]] = []
    for at, character in enumerate(text):
        if _NOTHING.match(character):
            continue
        if not _SPACE.match(character):
            kept.append((character, at, at + 1))
        elif kept and kept[-1][0] == " ":
            kept[-1] = (" ", kept[-1][1], at + 1)
        elif kept:
            kept.append((" ", at, at + 1))
    if kept and kept[-1][0] == " ":
        kept.pop()
    places = _composed_places(kept)
    if len(places) != len(result):  # A composition across what was taken for a border: all share the range.
        places = [(0, len(text))] * len(result)
    return result, places


def _composed_places(kept: list[tuple[str, int, int]]) -> list[tuple[int, int]]:
    """The ranges after NFC, which composes and reorders within clusters."""
    places: list[tuple[int, int]] = []
    begin = 0
    for at in range(1, len(kept) + 1):
        if at < len(kept) and _continues(kept, begin, at):
            continue
        cluster = kept[begin:at]
        composed = unicodedata.normalize("NFC", "".join(character for character, _, _ in cluster))
        if len(cluster) == 1 == len(composed):
            places.append(cluster[0][1:])
        else:
            places += [(cluster[0][1], cluster[-1][2])] * len(composed)
        begin = at
    return places


def _continues(kept: list[tuple[str, int, int]], begin: int, at: int) -> bool:
    """Whether NFC may combine a character with the ones before it, from `begin` on."""
    character = kept[at][0]
    if character.isascii():
        return False
    if at - begin >= _MOST_COMBINED:  # No letter of any language: what is an accent belongs to it.
        return unicodedata.combining(character) > 0
    before = "".join(each for each, _, _ in kept[begin:at])
    # Accents compose and change places; so do vowels of Hangul and of Indic scripts, which are no accents.
    return unicodedata.normalize("NFC", before + character) != unicodedata.normalize(
        "NFC", before
    ) + unicodedata.normalize("NFC", character)
