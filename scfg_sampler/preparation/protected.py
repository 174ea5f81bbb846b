"""What a translator had better not touch: addresses, names of users, numbers.

Web and e-mail addresses, domains, `@names`, `#tags` and numbers with their separators (1,234.5; 12:30; 3/4;
2014-01-05) stay in one piece however the text is segmented, and their letters keep their case. So one that
the grammar does not know is copied as a whole.

The fact a newcomer would get wrong: an address ends before the punctuation of its sentence, and where writing
that has no spaces goes on, and so do names and tags, whose letters may be any others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["is_protected", "protected_spans"]

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
)


def _marks() -> str:
    """Accents and vowels that are no letters to Python, as a class of regular expressions has them."""
    # Between them are the Han characters, Korean, and scripts of pictures.
    listed = (
        *range(0x300, 0x3100),
        *range(0xA000, 0xAC00),
        *range(0xFB00, 0x12000),
        *range(0x16A00, 0x1F000),
    )
    found = "".join(each for each in map(chr, listed) if unicodedata.category(each)[0] == "M")
    return re.sub(f"[{_UNSPACED}]", "", found) + "\U000e0100-\U000e01ef\u200c\u200d"


_ACCENTS = _marks()
_IN_NAME = rf"(?: [^\W{_UNSPACED}] | [{_ACCENTS}] )"
_IN_ADDRESS = rf"[^\s<>\"“”«»„{_UNSPACED}]"
_MARK = r"[.,;:!?'’)\]}…]"
_END = rf"(?= {_MARK}*+ (?: (?!{_IN_ADDRESS}) | $ ) )"
# As few of these as reach the end of the address, a bracket together with the one that closes it. Marks in a
# row are looked through once, and nothing is tried again: the end is reached whichever way the parts are cut.
_PART = rf"(?> \( {_IN_ADDRESS}{{0,80}}? \) | {_MARK}+ | {_IN_ADDRESS} )"
_ADDRESS = rf"{_PART}*? {_END}"
_PROTECTED = re.compile(
    rf"""
    (?<![A-Za-z0-9]) (?: https?:// | ftp:// | www\. ) (?= \w ) {_ADDRESS}
  | (?<![A-Za-z0-9._%+-]) [A-Za-z0-9._%+-]+ @ [A-Za-z0-9-]+ (?: \.[A-Za-z0-9-]+ )* \.[A-Za-z]{{2,}}
  | (?<![\w.@-]) (?: [a-z0-9-]+ \. )+ (?: com | org | net | edu | gov | info ) (?![\w@-])
    (?: / {_ADDRESS} )?
  | (?<![\w@#&]) [@\#] (?! [{_ACCENTS}] ) {_IN_NAME}+
  | (?P<number> \d+ (?: [.,:/’'٫٬-] \d+ )* )
    """,
    re.VERBOSE,
)


def protected_spans(text: str) -> Iterator[tuple[int, int, bool]]:
    """Begin and end of each such part, in order, and whether it is a number.

    >>> text = "See http://a.org/b_c?d=1, or mail ann@b.org (3,500.5 @x)."
    >>> [text[begin:end] for begin, end, _ in protected_spans(text)]
    ['http://a.org/b_c?d=1', 'ann@b.org', '3,500.5', '@x']
    """
    for match in _PROTECTED.finditer(text):
        yield match.start(), match.end(), match["number"] is not None


def is_protected(word: str) -> bool:
    """Whether a word is such a part and nothing else."""
    return _PROTECTED.fullmatch(word) is not None
