"""Back-off language models in ARPA text files.

A model of order N lists n-grams of every length up to N with log₁₀ p(w|context) and, where the n-gram is
itself the context of longer ones, a log₁₀ back-off weight b. What is not listed is found by

    log p(w | c₁…c_k) = b(c₁…c_k) + log p(w | c₂…c_k).

The fact a newcomer would get wrong: the probability of `<s>` (0 or −99 in most files) says nothing.
Nothing is ever asked for it; only its back-off weight and the n-grams that begin with it are used.

All logarithms in this module are base 10, as in the files.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from scfg_sampler.core.console import warn
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import ArpaError

__all__ = [
    "BEGIN",
    "END",
    "MAX_ORDER",
    "RESERVED",
    "UNKNOWN",
    "ArpaModel",
    "model_words",
    "read_arpa",
    "write_arpa",
]

UNKNOWN, BEGIN, END = 0, 1, 2
RESERVED = ("<unk>", "<s>", "</s>")
MAX_ORDER = 6
_MISSING = {"<unk>": -100.0, "<s>": -99.0, "</s>": -100.0}
_ZERO = -99.0  # What SRILM writes for log 0.
_LARGEST = 1e4  # Of a logarithm; sums of hundreds are still far from the limits of single precision.
_LINES = 2_048  # Parsed at a time: more are not read faster, and their fields take many times their text.
_BLOCK = 50_000  # Lines written at a time.
_CUT = "It was cut; copy or train it again"
_COUNT = re.compile(r"\s*ngram\s+([0-9]{1,3})\s*=\s*([0-9]{1,15})\s*")
_SECTION = re.compile(r"\\([0-9]{1,3})-grams:\s*")


class Rows(Protocol):
    """Rows of an array or of a table on disk."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice) -> np.ndarray: ...


class ModelRows(Protocol):
    """What can be written as ARPA text: an `ArpaModel`, or the same with tables instead of arrays."""

    @property
    def words(self) -> list[str]: ...

    @property
    def ngrams(self) -> Sequence[Rows]: ...

    @property
    def log_probs(self) -> Sequence[Rows]: ...

    @property
    def backoffs(self) -> Sequence[Rows]: ...


class ArpaModel(NamedTuple):
    """A back-off model as the file lists it, base-10 logarithms.

    words : list of str; ids 0, 1, 2 are `<unk>`, `<s>`, `</s>`.
    ngrams : per order n, int32 (N_n, n), the words of each n-gram from left to right. The 1-grams are
        the words in order of their ids.
    log_probs, backoffs : per order, float64 (N_n,); the back-offs of the highest order are zero.
    """

    words: list[str]
    ngrams: tuple[np.ndarray, ...]
    log_probs: tuple[np.ndarray, ...]
    backoffs: tuple[np.ndarray, ...]

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.ngrams)


def read_arpa(path: PathLike) -> ArpaModel:
    """The model in an ARPA file of any tool; gzip is recognised by content.

    Accepts text before `\\data\\`, spaces around `=` in the header, fields separated by tabs or spaces,
    absent back-offs, −inf (read as −99) and missing `<unk>`, `<s>` or `</s>` (added, with a warning).

    Raises
    ------
    ArpaError
        The file is not ARPA, is cut, its header miscounts, or an entry is malformed. Names the line.
    """
    return _Reader(path).read()


def write_arpa(model: ModelRows, path: PathLike) -> None:
    """Write a model as ARPA text, atomically; nine digits, so that float32 values read back unchanged."""
    words = np.array(model.words, dtype=object)
    with atomic_output(path) as out:
        out.write("\\data\\\n")
        for n, ngrams in enumerate(model.ngrams, start=1):
            out.write(f"ngram {n}={len(ngrams)}\n")
        for n, (ngrams, log_probs, backoffs) in enumerate(
            zip(model.ngrams, model.log_probs, model.backoffs, strict=True), start=1
        ):
            out.write(f"\n\\{n}-grams:\n")
            for start in range(0, len(ngrams), _BLOCK):
                part = slice(start, start + _BLOCK)
                columns = [log_probs[part].astype(np.float32).tolist(), *words[ngrams[part]].T.tolist()]
                form = "%.9g\t" + " ".join(["%s"] * n)
                if n < len(model.ngrams):
                    columns.append(backoffs[part].astype(np.float32).tolist())
                    form += "\t%.9g"
                out.writelines(form % row + "\n" for row in zip(*columns, strict=True))
        out.write("\n\\end\\\n")


def model_words(line: str) -> list[str]:
    """The words of a line: separated by spaces, tabs and carriage returns, and by nothing else.

    Python's own `split` would also cut at U+3000 and U+00A0, which are letters to an ARPA file.
    """
    if "\t" in line or "\r" in line:
        line = line.replace("\t", " ").replace("\r", " ")
    return [word for word in line.split(" ") if word]


class _Reader:
    """Reads one file; keeps the number and text of the last line for errors and headings."""

    def __init__(self, path: PathLike):
        self.path = path
        self.line = 0
        self.text = ""
        self.at_end = False
        self.lines = self._numbered()
        self.ids: dict[str, int] = {}

    def read(self) -> ArpaModel:
        counts = self._header()
        sections = [self._section(n, count) for n, count in enumerate(counts, start=1)]
        if self.text != "\\end\\":
            raise self._error(f"{_shown(self.text)} where \\end\\ should be", "Check the header's counts")
        ngrams, log_probs, backoffs = (list(column) for column in zip(*sections, strict=True))
        return _with_reserved_words(self.path, list(self.ids), ngrams, log_probs, backoffs)

    def _numbered(self) -> Iterator[str]:
        for text in read_lines(self.path):
            self.line += 1
            self.text = text.rstrip(" \t\r")
            yield self.text

    def _error(self, found: str, hint: str = "", line: int | None = None) -> ArpaError:
        return ArpaError(self.path, max(self.line, 1) if line is None else line, found, hint)

    def _next(self, wanted: str) -> str:
        """The next line that is not blank."""
        for text in self.lines:
            if text:
                return text
        raise self._error(f"the file ends before {wanted}", _CUT)

    def _header(self) -> list[int]:
        if "\\data\\" not in self.lines:
            raise self._error("no line says \\data\\", "Is this an ARPA language model?", line=1)
        counts: list[int] = []
        while match := _COUNT.fullmatch(text := self._next("\\1-grams:")):
            if int(match[1]) != len(counts) + 1:
                raise self._error(f"the count of {match[1]}-grams where {len(counts) + 1} should follow")
            counts.append(int(match[2]))
        if not counts:
            raise self._error(f"{_shown(text)} where a count should be", "Write 'ngram 1=…'")
        if len(counts) > MAX_ORDER:
            raise self._error(
                f"a model of order {len(counts)}", f"The highest order supported is {MAX_ORDER}"
            )
        return counts

    def _section(self, n: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """N-grams, log probabilities and back-offs of one order; leaves the next heading in `self.text`."""
        match = _SECTION.fullmatch(self.text)
        if match is None or int(match[1]) != n:
            raise self._error(
                f"{_shown(self.text)} where \\{n}-grams: should be", "Check the header's counts"
            )
        first = self.line + 1
        entries = self._entries()
        begin = list(itertools.islice(entries, 1))
        if begin:
            first = self.line  # There may have been blank ones.
            entries = itertools.chain(begin, entries)
        blocks = [self._parse(n, [], first)]
        found = 0
        while lines := list(itertools.islice(entries, _LINES)):
            blocks.append(self._parse(n, lines, first + found))
            found += len(lines)
        if found < count and self.at_end:
            raise self._error(f"the file ends after {found} of {count} {n}-grams", _CUT)
        if found != count:
            promise = f"{found} {n}-grams where the header promises {count}"
            raise self._error(promise, "Correct the header", line=first + min(found, count))
        if not self.text:
            self._next("\\end\\")
        ngrams, log_probs, backoffs = (np.concatenate(column) for column in zip(*blocks, strict=True))
        self._check_numbers(log_probs, backoffs, first)
        return ngrams, log_probs, backoffs

    def _entries(self) -> Iterator[str]:
        """The lines behind blank ones, up to one or a heading, which is consumed and stays in `self.text`."""
        has_begun = False
        for text in self.lines:
            if text and text[0] != "\\":
                has_begun = True
                yield text
            elif text or has_begun:
                return
        self.text, self.at_end = "", True

    def _parse(self, n: int, lines: list[str], first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """N-grams, log probabilities and back-offs of some lines, the first of which has number `first`."""
        width = n + 2
        fields: list[str] = []
        for line in lines:
            row = line.replace("\t", " ").split(" ")
            if "\r" in line:
                break
            if len(row) == n + 1:
                row.append("0")
            elif len(row) != width:
                break
            fields += row
        if len(fields) != len(lines) * width or "" in fields:
            # Rare: repeated separators, or an error to report.
            fields = [field for i, line in enumerate(lines) for field in self._fields(n, line, first + i)]
        try:
            log_probs = _numbers(fields[0::width])
            backoffs = _numbers(fields[n + 1 :: width])
            if n == 1:
                self._add_words(fields[1::width], first)
            columns = [list(map(self.ids.__getitem__, fields[j::width])) for j in range(1, n + 1)]
        except (ValueError, KeyError):
            raise self._entry_error(n, fields, first) from None
        return np.array(columns, dtype=np.int32).T, log_probs, backoffs

    def _fields(self, n: int, line: str, number: int) -> list[str]:
        """The n + 2 fields of one line."""
        fields = model_words(line)
        if not n + 1 <= len(fields) <= n + 2:
            found = f"{counted(len(fields), 'field')} where a {n}-gram has {n + 1} or {n + 2}"
            raise self._error(found, "Write the log10 probability, the words and the back-off", number)
        return fields if len(fields) == n + 2 else [*fields, "0"]

    def _add_words(self, words: list[str], first: int) -> None:
        for i, word in enumerate(words):
            if word in self.ids:
                raise self._error(f"the word {_shown(word)} is listed twice", "Remove one of them", first + i)
            self.ids[word] = len(self.ids)

    def _entry_error(self, n: int, fields: list[str], first: int) -> ArpaError:
        """The error of the first entry that has one."""
        for i in range(0, len(fields), n + 2):
            line = first + i // (n + 2)
            for field in (fields[i], fields[i + n + 1]):
                try:
                    real_number(field)
                except ValueError:
                    return self._error(f"{_shown(field)} where a number should be", "", line)
            for word in fields[i + 1 : i + n + 1]:
                if n > 1 and word not in self.ids:
                    found = f"the word {_shown(word)} is not among the 1-grams"
                    return self._error(found, "Every word of an n-gram must be", line)
        raise AssertionError("no entry has an error")

    def _check_numbers(self, log_probs: np.ndarray, backoffs: np.ndarray, first: int) -> None:
        for values, limit, name in ((log_probs, 1e-4, "log probability"), (backoffs, _LARGEST, "back-off")):
            bad = np.isnan(values) | (values > limit) | ((values < -_LARGEST) & (values > -np.inf))
            if bad.any():
                row = int(np.argmax(bad))
                most = 0 if name == "log probability" else f"{_LARGEST:g}"
                hint = f"It is a logarithm to base 10: from {-_LARGEST:g} to {most}"
                raise self._error(f"{name} {values[row]:g}", hint, first + row)
            values[values == -np.inf] = _ZERO
        np.minimum(log_probs, 0.0, out=log_probs)


def _numbers(fields: list[str]) -> np.ndarray:
    """The numbers that texts are, all at once; ValueError if one is none."""
    joined = "".join(fields)
    if "_" in joined or not joined.isascii():
        raise ValueError
    return np.fromiter(map(float, fields), np.float64, len(fields))


def _with_reserved_words(path, words, ngrams, log_probs, backoffs) -> ArpaModel:
    """The model with `<unk>`, `<s>`, `</s>` as words 0, 1, 2, added where the file lacks them."""
    if "<unk>" not in words and "<UNK>" in words:
        words[words.index("<UNK>")] = "<unk>"
    missing = [word for word in RESERVED if word not in words]
    for word in missing:
        warn(f"{path}: no {word} among the 1-grams; added with log10 probability {_MISSING[word]:g}")
    words = words + missing
    log_probs[0] = np.append(log_probs[0], [_MISSING[word] for word in missing])
    backoffs[0] = np.append(backoffs[0], np.zeros(len(missing)))
    position = {word: i for i, word in enumerate(words)}
    order = [position[word] for word in RESERVED]
    order += [i for i, word in enumerate(words) if word not in RESERVED]
    renumbered = np.empty(len(words), dtype=np.int32)
    renumbered[order] = np.arange(len(words))
    log_probs[0], backoffs[0] = log_probs[0][order], backoffs[0][order]
    ngrams[0] = np.arange(len(words), dtype=np.int32)[:, None]
    ngrams[1:] = [renumbered[table] for table in ngrams[1:]]
    if len(backoffs) > 0:
        backoffs[-1] = np.zeros(len(backoffs[-1]))
    return ArpaModel([words[i] for i in order], tuple(ngrams), tuple(log_probs), tuple(backoffs))


def _shown(text: str) -> str:
    """A piece of the file, short enough for an error message."""
    return repr(text if len(text) <= 40 else text[:40] + "…").replace("\\\\", "\\")
