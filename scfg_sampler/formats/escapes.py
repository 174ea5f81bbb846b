"""Reversible spellings of words, one per format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from scfg_sampler.rules.text import coded_character

__all__ = ["escapes"]

# No decoder tears a line at anything else: to all of them, U+00A0 and U+3000 are parts of words.
_ALWAYS = r"[\x00-\x20\x7f\ud800-\udfff]|\A\Z"


def escapes(
    special: str, names: Mapping[str, str] | None = None, understood: Mapping[str, str] | None = None
) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """A function that escapes words and its inverse.

    A character with a name is written as its name; white space and control characters of ASCII and what
    `special` matches are written `&#N;`, N the code point, or `&#;` for an empty word; and so is the `&` of
    text that looks like one of these.

    special : regular expression for single characters
    names : character to name
    understood : character to a name that is read, too, but not written

    >>> escape, unescape = escapes("x", {"<": "&lt;"})
    >>> escape("<x&#120;"), unescape(escape("<x&#120;"))
    ('&lt;&#120;&#38;#120;', '<x&#120;')
    """
    names, understood = names or {}, understood or {}
    characters = {name: character for each in (names, understood) for character, name in each.items()}
    named = "|".join(map(re.escape, characters))
    written = re.compile(f"{named}|&#[0-9]{{0,7}};" if named else "&#[0-9]{0,7};")
    guarded = [f"{re.escape(name[0])}(?={re.escape(name[1:])})" for name in understood.values()]
    parts = [_ALWAYS, r"&(?=#[0-9]{0,7};)", special, *map(re.escape, names), *guarded]
    pattern = re.compile("|".join(part for part in parts if part))

    def spell(match: re.Match[str]) -> str:
        character = match[0]
        return names.get(character) or f"&#{ord(character) if character else ''};"

    def read(match: re.Match[str]) -> str:
        text = match[0]
        if text in characters:
            return characters[text]
        character = coded_character(text[2:-1]) if text != "&#;" else ""
        return text if character is None else character

    return lambda word: pattern.sub(spell, word), lambda text: written.sub(read, text)
