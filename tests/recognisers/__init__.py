"""What other decoders make of a rule table or a sentence, as their readers' sources have it.

Each module says for one decoder what its reader accepts, and what it takes each line for: `read_table` gives
the rules as the decoder would hold them, `read_input` the words of a sentence. What would end the program, be
dropped, or be taken for something else is `Refused`. They work on bytes, as the decoders do, and share
nothing with the code that writes tables. Facts are from the sources named in each module.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

NEWLINE = b"\n"


class Refused(Exception):
    """What a decoder could not make sense of: `line NUMBER: what is wrong`."""


class Rule(NamedTuple):
    """A rule as a decoder holds it; symbols are words or, for the nonterminal paired as number n ≥ 1, −n.

    features : named values; those without a name are called "0", "1", …
    links : pairs of positions, counted as the format counts them
    gaps : the labels of nonterminals by number, from 1
    """

    label: bytes
    source: tuple[bytes | int, ...]
    target: tuple[bytes | int, ...]
    features: dict[str, float]
    links: tuple[tuple[int, int], ...]
    gaps: tuple[bytes, ...] = ()


def require(condition: object, reason: str) -> None:
    """Refuse a line unless the condition holds."""
    if not condition:
        raise Refused(reason)


def require_words(symbols) -> None:
    """Refuse words that KenLM, the language model of all four, takes for marks of its own.

    `<UNK>` is `<unk>` to it, whose probability in the file is lost if both are there (lm/vocab.cc).
    """
    for symbol in symbols:
        require(symbol not in (b"<s>", b"</s>", b"<UNK>"), f"{symbol!r} is KenLM's own")


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a file; each must end, for some readers drop what comes after the last line end."""
    if data and not data.endswith(NEWLINE):
        raise Refused(f"line {data.count(NEWLINE) + 1}: does not end")
    return data.split(NEWLINE)[:-1]


def each_line(data: bytes, read_line) -> list[Rule]:
    """The rules of all lines; a line that is refused is named."""
    rules = []
    for number, line in enumerate(lines_of(data), start=1):
        try:
            rules.append(read_line(line))
        except Refused as refused:
            raise Refused(f"line {number}: {refused}: {line!r}") from None
    return rules


def require_sorted(data: bytes) -> None:
    """Refuse lines that `LC_ALL=C sort` would put in another order."""
    lines = lines_of(data)
    for number, (one, other) in enumerate(itertools.pairwise(lines), start=2):
        require(one <= other, f"line {number}: belongs before the line above: {other!r}")
