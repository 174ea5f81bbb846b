"""A language model in ARPA format with its words spelled as a decoder's table has them.

What is respelled is the 1-grams' words; the longer n-grams follow. Numbers are copied as they are. The fact a
newcomer would get wrong: `<UNK>` is a word like any other where a model has `<unk>` besides, but KenLM takes
either for `<unk>`, and the later one's probability for that of all unknown words.
"""

from __future__ import annotations

import itertools
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

    def lines(self) -> Iterator[str]:
        """The lines of the copy."""
        begun = ended = False
        n = 0
        for number, line in enumerate(read_lines(self.path), start=1):
            if begun and not ended and n and line.strip() and not line.lstrip().startswith("\\"):
                yield self._entry(line.removesuffix("\r"), n, number)
                continue
            begun = begun or line.strip() == "\\data\\"
            ended = ended or line.strip() == "\\end\\"
            if begun and (count := _COUNT.fullmatch(line)):
                self.order = max(self.order, int(count[1]))
                yield f"ngram {int(count[1])}={int(count[2])}"  # KenLM takes no other blanks.
                continue
            if section := _SECTION.fullmatch(line.strip()):
                n = int(section[1])
            yield line.strip()
        if not ended or not self.order:
            found = "has no \\data\\" if not begun else "ends without \\end\\"
            raise ArpaError(self.path, None, found, "A language model is an ARPA file, plain or gzipped")

    def _entry(self, line: str, n: int, number: int) -> str:
        if n > 1 and not self.respelled:
            return line
        fields = split_words(line)
        if not n + 1 <= len(fields) <= n + 2 or not _is_number(fields[0]):
            found = f"{line[:40]!r} where a number, {counted(n, 'word')} and perhaps a number should be"
            raise ArpaError(self.path, number, found)
        words = fields[1 : n + 1]
        if n == 1 and words[0] not in self.reserved and (spelled := self.spell(words[0])) != words[0]:
            self.respelled[words[0]] = spelled
        known = self.respelled
        return "\t".join([fields[0], " ".join(known.get(word, word) for word in words), *fields[n + 1 :]])


def _is_number(text: str) -> bool:
    try:
        real_number(text)
    except ValueError:
        return False
    return True
