"""A language model in ARPA format with its words spelled as a decoder's table has them.

What is respelled is the 1-grams' words; the longer n-grams follow. Numbers are copied digit by digit. The
fact a newcomer would get wrong: `<UNK>` is a word like any other where a model has `<unk>` besides, but KenLM
takes either for `<unk>`, and the later one's probability for that of all unknown words.

KenLM takes fewer layouts than we do (lm/read_arpa.cc): only comments before `\\data\\`, tabs around words and
one blank line where a heading follows, no back-offs of the longest n-grams, no log 0 as a back-off. Copies
are as it takes them, and a model that it takes in no layout is refused.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike, atomic_output, open_bytes, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import ArpaError, InputError

__all__ = ["ModelCopy", "copy_model"]

_RESERVED = ("<s>", "</s>", "<unk>")  # What these stand for, no word of a text is.
_ARPA = "A language model is an ARPA file, plain or gzipped"
_ALL = ", and all of these decoders have it"
_BLANKS = " \t\r"
_ROUNDED = 1e-4  # As `decoder.lm.arpa` has it.
_COUNT = re.compile(r"\s*ngram\s+([0-9]+)\s*=\s*([0-9]+)\s*")
_SECTION = re.compile(r"\\([0-9]+)-grams:")


class ModelCopy(NamedTuple):
    """What was copied.

    order : the length of the longest n-grams
    respelled : the words that are spelled otherwise
    """

    order: int
    respelled: frozenset[str]


def copy_model(path: PathLike, output: PathLike, spell: Callable[[str], str]) -> ModelCopy:
    """Write a language model, not compressed, with its words spelled by `spell`.

    Raises
    ------
    ArpaError
        The file is not ARPA text, or is cut.
    """
    _require_text(path)
    copier = _Copier(path, spell)
    with atomic_output(output) as stream:
        for line in copier.lines():
            stream.write(line + "\n")
    return ModelCopy(copier.order, frozenset(copier.respelled))


def _require_text(path: PathLike) -> None:
    with open_bytes(path) as stream:
        begin = stream.read(256)
    if b"\0" in begin:
        hint = "Give the ARPA file it was made from: words may have to be spelled otherwise in it"
        raise InputError(path, None, "is a compiled language model", hint)


def _reserved(path: PathLike) -> tuple[str, ...]:
    """The 1-grams that are no words: `<UNK>` among them where there is no `<unk>`."""
    for line in itertools.takewhile(lambda line: line.strip() != "\\2-grams:", read_lines(path)):
        if "<unk>" in split_words(line)[1:2]:
            return _RESERVED
    return (*_RESERVED, "<UNK>")


class _Copier:
    """One pass over a file; `order` and `respelled` are known at its end."""

    def __init__(self, path: PathLike, spell: Callable[[str], str]):
        self.path, self.spell = path, spell
        self.reserved = _reserved(path)
        self.order = 0
        self.respelled: dict[str, str] = {}
        self.found: set[str] = set()

    def lines(self) -> Iterator[str]:
        """The lines of the copy: no others than KenLM takes, with no other blanks."""
        lines = enumerate(read_lines(self.path), start=1)
        if not any(line.strip() == "\\data\\" for _, line in lines):
            raise ArpaError(self.path, None, "has no \\data\\", _ARPA)
        yield "\\data\\"
        n = 0
        for number, line in lines:
            text = line.strip(_BLANKS)
            if not text:
                continue
            if text == "\\end\\" and self.order:
                yield from ("", text)
                return
            if section := _SECTION.fullmatch(text):
                self._require_usable(n, number)
                n = int(section[1])
                yield from ("", f"\\{n}-grams:")
            elif n:
                yield self._entry(text, n, number)
            elif count := _COUNT.fullmatch(text):
                self.order = max(self.order, int(count[1]))
                yield f"ngram {int(count[1])}={int(count[2])}"
            else:
                raise ArpaError(self.path, number, f"{text[:40]!r} where 'ngram N=COUNT' should be", _ARPA)
        raise ArpaError(self.path, None, "ends without \\end\\", _ARPA)

    def _require_usable(self, n: int, number: int) -> None:
        """An ArpaError, before the n-grams behind those of order n, for what KenLM takes in no spelling."""
        if n == 0 and self.order == 1:
            raise ArpaError(self.path, number, "a model of order 1", "KenLM takes none below order 2" + _ALL)
        missing = [word for word in ("<s>", "</s>") if word not in self.found]
        if n == 1 and missing:
            found = f"no {missing[0]} among the 1-grams"
            raise ArpaError(self.path, number, found, "KenLM asks for it" + _ALL)

    def _entry(self, line: str, n: int, number: int) -> str:
        fields = split_words(line)
        if not n + 1 <= len(fields) <= n + 2:
            raise self._no_entry(line, n, number)
        words = fields[1 : n + 1]
        if n == 1:
            self.found.add(words[0])
            if words[0] not in self.reserved and (spelled := self.spell(words[0])) != words[0]:
                self.respelled[words[0]] = spelled
        if known := self.respelled:
            words = [known.get(word, word) for word in words]
        try:
            numbers = [_log_prob(fields[0]), *map(_backoff, fields[n + 1 :])]
        except ValueError:
            raise self._no_entry(line, n, number) from None
        return "\t".join([numbers[0], " ".join(words), *numbers[1 : 2 if n < self.order else 1]])

    def _no_entry(self, line: str, n: int, number: int) -> ArpaError:
        found = f"{line[:40]!r} where a number, {counted(n, 'word')} and perhaps a number should be"
        return ArpaError(self.path, number, found)


def _backoff(text: str) -> str:
    """A logarithm as our reader takes it, −99 for log 0; ValueError for no number."""
    return "-99" if real_number(text) == -math.inf else text


def _log_prob(text: str) -> str:
    """Likewise, and no more than 0, where it was rounded beyond."""
    return "0" if 0 < real_number(text) <= _ROUNDED else _backoff(text)
