"""Lists of the best translations, as lines that other programs read, and theirs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from decoder.translation.results import Translation, summed
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import InputError

__all__ = ["BAR", "Listed", "ListedLine", "nbest_lines", "parsed_line", "read_nbest"]

BAR = "&#124;&#124;&#124;"
"""How a word that is `|||` is written in a list, as Moses does."""

_NUMBER = re.compile("[0-9]{1,18}")
_MOST_MISSING = 10_000  # Sentences that a system may have no translation of, one after the other.


class ListedLine(NamedTuple):
    """A line of a list, `number ||| words ||| …`: its sentence, its words and the fields behind these."""

    number: int
    words: list[str]
    fields: list[str]


class Listed(NamedTuple):
    """A translation of a list, and its score: the higher, the better."""

    words: tuple[str, ...]
    score: float


def nbest_lines(
    number: int,
    translations: Sequence[Translation],
    names: Sequence[str],
    texts: Sequence[str] | None = None,
) -> Iterator[str]:
    """Lines of a Moses-style list, `number ||| text ||| Feature=value … ||| score`.

    Features of one name are one (`summed`). A word that is `|||` itself is written as Moses does, so that the
    fields stay four. `texts` are what is written instead of the translations' words.
    """
    for at, translation in enumerate(translations):
        spelled = translation.words if texts is None else texts[at].split(" ")
        words = (BAR if word == "|||" else word for word in spelled)
        values = zip(names, translation.features.tolist(), strict=True)
        named = summed((*values, *translation.sparse))
        features = " ".join(f"{name}={value:.6g}" for name, value in named.items())
        yield f"{number} ||| {' '.join(words)} ||| {features} ||| {translation.score:.6f}"


def parsed_line(text: str) -> ListedLine | None:
    """A line of a list; None if it does not begin with a number, or has fewer than four fields.

    An empty field may have one blank around it instead of two, and none at the end of the line.
    """
    for _ in range(2):  # Those that overlap are found the second time.
        text = text.replace("||| |||", "|||  |||")
    number, *fields = (f"{text} " if text.endswith(" |||") else text).split(" ||| ")
    if len(fields) < 3 or not _NUMBER.fullmatch(number):
        return None
    words = ["|||" if word == BAR else word for word in split_words(fields[0])]
    return ListedLine(int(number), words, fields[1:])


def read_nbest(path: PathLike) -> Iterator[tuple[int, list[Listed]]]:
    """The lists of sentences that have one, in order, each with the sentence's number, the first of them 0.

    Lists are those of `translate --nbest`, of Moses, cdec and Joshua, whose fourth field is the score, or of
    Travatar, whose third one is. What stands behind these is not read. An empty line is cdec's, of a sentence
    that it has no translation of. One list is in memory at a time.

    Raises
    ------
    InputError
        A line is none of a list, its score is no number, or sentences are not in order, or far apart.
    """
    last, found = -1, list[Listed]()
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            continue
        parsed = parsed_line(text)
        if parsed is None:
            hint = "Lines are 'NUMBER ||| words ||| features ||| score', as translate --nbest K writes them"
            raise InputError(path, line, f"not a line of a list: {text.strip()[:60]}", hint)
        if parsed.number < last:
            hint = "Sort the lists by their sentences' numbers"
            raise InputError(path, line, f"sentence {parsed.number} after sentence {last}", hint)
        if parsed.number > last + _MOST_MISSING:
            before = f"sentence {last}" if found else "none"
            hint = "Lists number sentences from 0, without large gaps"
            raise InputError(path, line, f"sentence {parsed.number} after {before}", hint)
        if parsed.number > last:
            if found:
                yield last, found
            last, found = parsed.number, []
        found.append(Listed(tuple(parsed.words), _score(parsed.fields, path, line)))
    if found:
        yield last, found


def _score(fields: Sequence[str], path: PathLike, line: int) -> float:
    """The number in the fourth field of a line, or, if there is none, in the third."""
    refused = fields[1]
    for field in (fields[1], fields[0]):
        try:
            score = real_number(field.strip())
        except ValueError:
            continue
        if math.isfinite(score):
            return score
        refused = field
        break  # What stands before an infinite score is a feature.
    found = f"no score: '{refused[:60].strip()}' is not a number"
    raise InputError(path, line, found, "Make the list again")
