"""A language model in ARPA format with its words spelled as a decoder's table has them.

What is respelled is the 1-grams' words; the longer n-grams follow. Numbers are copied digit by digit. The
fact a newcomer would get wrong: `<UNK>` is a word like any other where a model has `<unk>` besides, but KenLM
takes either for `<unk>`, and the later one's probability for that of all unknown words.

KenLM takes fewer layouts than we do (lm/read_arpa.cc): only comments before `\\data\\`, tabs around words and
one blank line where a heading follows, no back-offs of the longest n-grams, no log 0 as a back-off. Copies
are as it takes them, and a model that it takes in no layout is refused.
"""

from __future__ import annotations

import array
import codecs
import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.core.files import PathLike, atomic_output, check_beginning, open_bytes, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import ArpaError, InputError
from scfg_sampler.formats.words import Speller

__all__ = ["ModelCopy", "copy_model", "spelling"]

_RESERVED = ("<s>", "</s>", "<unk>")  # What these stand for, no word of a text is.
_ARPA = "A language model is an ARPA file, plain or gzipped"
_HEADER = "Correct the header's counts, or train it again"
_ALL = ", and all of these decoders have it"
_BLANKS = " \t\r"
_COMPILED, _OF_CLASSES = b"scfg-lm ", b"scfg-lm 5\n"  # What `compile-lm` writes, without --classes and with.
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ROUNDED, _LARGEST = 1e-4, 1e4  # As `decoder.lm.arpa` has them.
_COUNT = re.compile(r"\s*ngram\s+([0-9]{1,3})\s*=\s*([0-9]{1,15})\s*")
_SECTION = re.compile(r"\\([0-9]{1,3})-grams:")


class ModelCopy(NamedTuple):
    """What was copied.

    order : the length of the longest n-grams
    words : all of the model, as it has them
    respelled : the words that are spelled otherwise
    """

    order: int
    words: frozenset[str]
    respelled: frozenset[str]


def copy_model(path: PathLike, output: PathLike, write: Callable[[str], str], origin: Speller) -> ModelCopy:
    """Write a language model, not compressed, with its words spelled by `write`.

    Parameters
    ----------
    path, output : paths
    write : callable
        Makes of a word of texts what stands in the copy.
    origin : Speller
        How the table was spelled that the model is used with, and the model, too, if all of its words can be
        so; as in `decoder.lm.model.LmVocabulary.spelled`.

    Raises
    ------
    ArpaError
        The file is not ARPA text, is cut, or KenLM would refuse it whatever its layout.
    """
    _require_text(path)
    words = _words(path)
    copier = _Copier(path, words, spelling(words, write, origin))
    with atomic_output(output) as stream:
        for line in copier.lines():
            stream.write(line + "\n")
    return ModelCopy(copier.order, words, frozenset(copier.respelled))


def _require_text(path: PathLike) -> None:
    with open_bytes(path) as stream:
        begin = stream.read(256)
    is_ours = begin.startswith(_COMPILED)
    if is_ours or (b"\0" in begin and not begin.startswith(_UTF16)):  # What is UTF-16 says whoever reads it.
        check_beginning(path, begin)
        hint = "Give the ARPA file it was made from: words may have to be spelled otherwise in it"
        if begin.startswith(_OF_CLASSES):
            hint = "Give the ARPA file it was made from, and the classes of words with --classes"
        raise InputError(path, None, "is a compiled language model", hint)


def _words(path: PathLike) -> frozenset[str]:
    """The 1-grams."""
    behind = itertools.dropwhile(lambda line: line.strip() != "\\1-grams:", read_lines(path))
    section = itertools.takewhile(lambda line: line.strip() != "\\2-grams:", behind)
    return frozenset(itertools.chain.from_iterable(split_words(line)[1:2] for line in section))


def spelling(words: frozenset[str], write: Callable[[str], str], origin: Speller) -> Callable[[str], str]:
    """How a copy spells each of these words, which are all that there are; `write` and `origin` as above."""
    is_escaped = all(origin.write(origin.read(word)) == word for word in words.difference(_RESERVED))

    def spell(word: str) -> str:
        meant = origin.read(word)
        return write(meant if is_escaped or meant not in words else word)

    return spell


class _Section:
    """The n-grams of one length, as far as it must be known whether longer ones have their contexts."""

    def __init__(self) -> None:
        self.lines, self.ngrams, self.contexts = (array.array("q") for _ in range(3))

    def add(self, words: list[str], line: int) -> None:
        """Note an n-gram, and where it stands."""
        self.lines.append(line)
        self.ngrams.append(hash(" ".join(words)))
        self.contexts.append(hash(" ".join(words[:-1])))

    def without_context(self, shorter: _Section) -> int | None:
        """The line of the first n-gram the beginning of which is not among the shorter ones."""
        known = np.isin(np.array(self.contexts), np.array(shorter.ngrams))
        return None if known.all() else self.lines[int(np.argmin(known))]


class _Copier:
    """One pass over a file; `order` and `respelled` are known at its end."""

    def __init__(self, path: PathLike, words: frozenset[str], spell: Callable[[str], str]):
        self.path, self.words, self.spell = path, words, spell
        # `<UNK>` is a word where there is `<unk>`.
        self.reserved = _RESERVED if "<unk>" in words else (*_RESERVED, "<UNK>")
        self.counts: list[int] = []
        self.respelled: dict[str, str] = {}
        self.section, self.shorter = _Section(), _Section()

    @property
    def order(self) -> int:
        """The length of the longest n-grams, as the header has it."""
        return len(self.counts)

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
                self._end_section(n, number, "the end")
                yield from ("", text)
                return
            if section := _SECTION.fullmatch(text):
                self._end_section(n, number, f"the {int(section[1])}-grams")
                n += 1
                yield from ("", f"\\{n}-grams:")
            elif n:
                yield self._entry(text, n, number)
            elif (count := _COUNT.fullmatch(text)) and int(count[1]) == self.order + 1:
                self.counts.append(int(count[2]))
                yield f"ngram {self.order}={self.counts[-1]}"
            else:
                raise ArpaError(self.path, number, f"{text[:40]!r} where 'ngram N=COUNT' should be", _ARPA)
        raise ArpaError(self.path, None, "ends without \\end\\", _ARPA)

    def _end_section(self, n: int, number: int, found: str) -> None:
        """An ArpaError, behind the n-grams of order n, for what KenLM takes in no spelling."""
        wanted = f"the {n + 1}-grams" if n < self.order else "the end"
        if found != wanted:
            raise ArpaError(self.path, number, f"{found} where {wanted} should follow", _HEADER)
        if n == 0 and self.order == 1:
            raise ArpaError(self.path, number, "a model of order 1", "KenLM takes none below order 2" + _ALL)
        missing = [word for word in ("<s>", "</s>") if word not in self.words]
        if n == 1 and missing:
            found = f"no {missing[0]} among the 1-grams"
            raise ArpaError(self.path, number, found, "KenLM asks for it" + _ALL)
        if n and len(self.section.lines) != self.counts[n - 1]:
            found = counted(len(self.section.lines), f"{n}-gram")
            promise = f"{found} where the header promises {self.counts[n - 1]}"
            raise ArpaError(self.path, number, promise, _HEADER)
        if n > 2 and (line := self.section.without_context(self.shorter)) is not None:
            found = f"the first {counted(n - 1, 'word')} of the {n}-gram are no {n - 1}-gram"
            raise ArpaError(self.path, line, found, f"KenLM asks for that{_ALL}; train the model otherwise")
        self.shorter, self.section = self.section, _Section()

    def _entry(self, line: str, n: int, number: int) -> str:
        fields = split_words(line)
        if not n + 1 <= len(fields) <= n + 2:
            raise self._no_entry(line, n, number)
        words = fields[1 : n + 1]
        if not self.words.issuperset(words):
            strange = next(word for word in words if word not in self.words)
            found = f"the word {strange!r:.40} is not among the 1-grams"
            raise ArpaError(self.path, number, found, "Every word of an n-gram must be")
        self.section.add(words, number)
        if n == 1 and words[0] not in self.reserved and (spelled := self.spell(words[0])) != words[0]:
            self.respelled[words[0]] = spelled
        if known := self.respelled:
            words = [known.get(word, word) for word in words]
        try:
            numbers = [_log_prob(fields[0]), *map(_backoff, fields[n + 1 :])]
        except ValueError:
            raise self._no_entry(line, n, number) from None
        except OverflowError as error:
            raise ArpaError(self.path, number, str(error), "It is a logarithm to base 10") from None
        return "\t".join([numbers[0], " ".join(words), *numbers[1 : 2 if n < self.order else 1]])

    def _no_entry(self, line: str, n: int, number: int) -> ArpaError:
        found = f"{line[:40]!r} where a number, {counted(n, 'word')} and perhaps a number should be"
        return ArpaError(self.path, number, found)


def _backoff(text: str) -> str:
    """A logarithm as our reader takes it, −99 for log 0; ValueError for no number, OverflowError for none."""
    value = real_number(text)
    if math.isnan(value) or value > _LARGEST or -math.inf < value < -_LARGEST:
        raise OverflowError(f"back-off {text}")
    return "-99" if value == -math.inf else text


def _log_prob(text: str) -> str:
    """Likewise, and no more than 0, where it was rounded beyond."""
    value = real_number(text)
    if math.isnan(value) or value > _ROUNDED:
        raise OverflowError(f"log probability {text}")
    return "0" if value > 0 else _backoff(text)
