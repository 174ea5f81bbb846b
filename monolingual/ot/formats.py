"""Files of tableaux: tab-separated text, OTSoft, and Praat's OTGrammar with a PairDistribution.

- tab-separated: a header `input output frequency CONSTRAINT …`, then one candidate a line;
- OTSoft (and OT-Help): the names of the constraints from the fourth column of the first line, their
  abbreviations below, then candidates with input, output, frequency and violations;
- Praat: strings in quotes and numbers in a fixed order, everything between them being comment; an OTGrammar
  has ranking values and tableaux, a PairDistribution how often each pair of input and output occurs.

In the first two a blank cell is 0, and a blank input is that of the line above.

The fact a newcomer would get wrong: OTSoft spells no zero, so a line may simply end after its last violation.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.ot.tableaux import Row, Tableaux, build_tableaux
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.errors import InputError

__all__ = ["FORMATS", "PraatGrammar", "read_grammar", "read_tableaux", "write_pairs", "write_tableaux"]

FORMATS = ("tsv", "otsoft", "praat")

_MOST_VIOLATIONS = 1_000_000_000
_LARGEST_FREQUENCY = 1e15  # Sums of such lose no single observation.
_TOKEN = re.compile(r'"((?:[^"]|"")*)"|(!.*)|(<[^<>\s]*>)|(\S+)')
_HEAD = ("input", "output", "frequency")


class PraatGrammar(NamedTuple):
    """What an OTGrammar holds.

    Attributes
    ----------
    tableaux : Tableaux
        With frequencies of 0 unless a PairDistribution was given.
    ranking : float64, shape (N,)
        Ranking values.
    fixed_rankings : int
        How many pairs of constraints have a fixed ranking, which nothing here knows of.
    """

    tableaux: Tableaux
    ranking: np.ndarray
    fixed_rankings: int


def read_tableaux(path: PathLike, pairs: PathLike | None = None) -> Tableaux:
    """The tableaux in a file of any of the formats.

    Parameters
    ----------
    path : path
    pairs : path, optional
        A PairDistribution, whose weights take the place of the frequencies.

    Raises
    ------
    InputError
        The file cannot be read or understood; names the line.
    """
    lines = [line.removesuffix("\r") for line in read_lines(path)]
    if _is_praat(lines):
        tableaux = _parse_grammar(path, lines).tableaux
    else:
        cells = [(number, line.split("\t")) for number, line in enumerate(lines, start=1) if line.strip()]
        if not cells:
            raise InputError(path, None, "is empty", "Expected tableaux")
        head = tuple(cell.strip().lower() for cell in cells[0][1][:3])
        if head == _HEAD:
            tableaux = _parse_tsv(path, cells)
        elif len(cells[0][1]) > 3 and head[:2] == ("", ""):
            tableaux = _parse_otsoft(path, cells)
        else:
            hint = "The first line is 'input output frequency CONSTRAINT …' with tabs between, or that of an "
            hint += "OTSoft file (names from the fourth column) or a Praat text file"
            raise InputError(path, cells[0][0], "is not the beginning of a file of tableaux", hint)
    return tableaux if pairs is None else _with_pairs(tableaux, pairs)


def read_grammar(path: PathLike, pairs: PathLike | None = None) -> PraatGrammar:
    """The grammar in an OTGrammar file of Praat.

    Parameters
    ----------
    path : path
    pairs : path, optional
        A PairDistribution.

    Raises
    ------
    InputError
        As `read_tableaux`.
    """
    lines = [line.removesuffix("\r") for line in read_lines(path)]
    if not _is_praat(lines):
        raise InputError(path, 1, "is not a text file of Praat", 'It begins with File type = "ooTextFile"')
    grammar = _parse_grammar(path, lines)
    return grammar if pairs is None else grammar._replace(tableaux=_with_pairs(grammar.tableaux, pairs))


# ---------------------------------------------------------------- columns


def _parse_tsv(path: PathLike, cells: list[tuple[int, list[str]]]) -> Tableaux:
    names = [name.strip() for name in cells[0][1][3:]]
    while names and not names[-1]:
        names.pop()
    for number, row in cells[1:]:
        if len(row) < 3 + len(names):
            hint = "Every line has input, output, frequency and a cell, maybe blank, for each constraint"
            raise InputError(path, number, f"{len(row)} columns instead of {3 + len(names)}", hint)
    return build_tableaux(path, names, _rows(path, cells[1:], len(names)))


def _parse_otsoft(path: PathLike, cells: list[tuple[int, list[str]]]) -> Tableaux:
    names = [name.strip() for name in cells[0][1][3:]]
    while names and not names[-1]:
        names.pop()
    if len(cells) < 2 or any(cell.strip() for cell in cells[1][1][:2]):
        line = cells[1][0] if len(cells) > 1 else None
        raise InputError(path, line, "no line of abbreviations below the names of the constraints")
    rows = [(number, row) for number, row in cells[2:] if not row[0].startswith(("[", "/**"))]
    padded = [(number, row + [""] * (3 + len(names) - len(row))) for number, row in rows]
    return build_tableaux(path, names, _rows(path, padded, len(names)))


def _rows(path: PathLike, cells: list[tuple[int, list[str]]], constraints: int) -> Iterator[Row]:
    """The candidates in lines of cells."""
    form = ""
    for number, row in cells:
        form = row[0].strip() or form
        if not form:
            raise InputError(path, number, "no input, here or in a line above")
        if not row[1].strip():
            raise InputError(path, number, "no output", "Every candidate has a name")
        if extra := [cell for cell in row[3 + constraints :] if cell.strip()]:
            hint = "Name every constraint in the first line"
            raise InputError(path, number, f"{extra[0]!r} stands beyond the last constraint", hint)
        violations = tuple(_violation(path, number, cell) for cell in row[3 : 3 + constraints])
        yield Row(number, form, row[1].strip(), _frequency(path, number, row[2]), violations)


def _violation(path: PathLike, line: int, cell: str) -> int:
    text = cell.strip()
    if not text:
        return 0
    try:
        number = real_number(text)
        value = int(number)
    except (ValueError, OverflowError):
        value, number = -1, 0.0
    if value != number or not 0 <= value <= _MOST_VIOLATIONS:
        hint = f"Expected 0, 1, 2, … up to {_MOST_VIOLATIONS}"
        raise InputError(path, line, f"{text!r} is not a number of violations", hint)
    return value


def _frequency(path: PathLike, line: int, cell: str) -> float:
    text = cell.strip()
    try:
        value = real_number(text) if text else 0.0
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= _LARGEST_FREQUENCY:
        hint = f"Expected a number from 0 to {_LARGEST_FREQUENCY:g}"
        raise InputError(path, line, f"{text!r} is not a frequency", hint)
    return value


# ---------------------------------------------------------------- Praat


class _Tokens:
    """The strings, numbers and flags of a text file of Praat, in order; all else is comment."""

    def __init__(self, path: PathLike, lines: Sequence[str]):
        self._path, self._line, self._last = path, 0, len(lines)
        self._tokens = self._split(lines)

    def _split(self, lines: Sequence[str]) -> Iterator[tuple[int, str | float | None]]:
        text, offset = "\n".join(lines), 0
        for match in _TOKEN.finditer(text):
            self._line += text.count("\n", offset, match.start())
            offset = match.start()
            quoted, _, flag, word = match.groups()
            if quoted is not None:
                yield self._line + 1, " ".join(quoted.replace('""', '"').split("\n"))
            elif flag is not None:
                yield self._line + 1, None
            elif word is not None:
                with_number = _as_number(word)
                if with_number is not None:
                    yield self._line + 1, with_number

    def string(self, what: str) -> str:
        """The next string; flags before it are passed over, a number is an error."""
        line, value = self._next(what)
        if not isinstance(value, str):
            raise InputError(self._path, line, f"the number {value:g} instead of {what}, in quotes")
        return value

    def number(self, what: str) -> float:
        line, value = self._next(what)
        if not isinstance(value, float):
            raise InputError(self._path, line, f'"{value}" instead of {what}')
        return value

    def count(self, what: str) -> int:
        value = self.number(what)
        if not (0 <= value <= _MOST_VIOLATIONS and value == int(value)):
            raise InputError(self._path, self.line, f"{value:g} is not {what}")
        return int(value)

    def flag(self) -> None:
        """Pass over a flag such as <OptimalityTheory>."""
        line, value = next(self._tokens, (self._last, ""))
        if value is not None:
            raise InputError(self._path, line, "no decision strategy such as <OptimalityTheory>")

    @property
    def line(self) -> int:
        return self._line + 1

    def _next(self, what: str) -> tuple[int, str | float]:
        for line, value in self._tokens:
            if value is not None:
                return line, value
        raise InputError(self._path, self._last, f"the file ends where {what} should be", "Is it cut off?")


def _as_number(word: str) -> float | None:
    """The number a word is; None for words such as `[1]:` and `pairs`."""
    try:
        return real_number(word) if word[0] in "+-.0123456789" else None
    except ValueError:
        return None


def _is_praat(lines: Sequence[str]) -> bool:
    first = next((line for line in lines if line.strip()), "")
    return '"ooTextFile"' in first


def _tokens_of(path: PathLike, lines: Sequence[str], kind: str) -> tuple[_Tokens, str]:
    """The tokens behind the head of a text file, and the class of the object with its version."""
    tokens = _Tokens(path, lines)
    tokens.string("ooTextFile")
    name = tokens.string("the class of the object")
    if next(iter(name.split()), "") != kind:
        hint = "Name the OTGrammar first and the PairDistribution with --pairs"
        raise InputError(path, tokens.line, f"is a {name}, not a file of class {kind}", hint)
    return tokens, name


def _parse_grammar(path: PathLike, lines: Sequence[str]) -> PraatGrammar:
    tokens, name = _tokens_of(path, lines, "OTGrammar")
    word = next(iter(name.split()[1:]), "0")
    if word not in ("0", "1", "2"):
        raise InputError(path, tokens.line, f"has version {word} of OTGrammar", "Versions up to 2 are known")
    version = int(word)
    if version >= 1:
        tokens.flag()
    if version == 2:
        tokens.number("the leak")
    names, ranking = [], []
    for _ in range(tokens.count("a number of constraints")):
        names.append(tokens.string("the name of a constraint"))
        ranking.append(tokens.number("a ranking value"))
        tokens.number("a disharmony")
        if version == 2:
            tokens.number("a plasticity")
    fixed = tokens.count("a number of fixed rankings")
    for _ in range(2 * fixed):
        tokens.count("a constraint of a fixed ranking")
    rows = []
    for _ in range(tokens.count("a number of tableaus")):
        form = tokens.string("an input")
        for _ in range(tokens.count("a number of candidates")):
            output = tokens.string("a candidate")
            line = tokens.line
            marks = tuple(tokens.count("a number of violations") for _ in names)
            rows.append(Row(line, form, output, 0.0, marks))
    return PraatGrammar(build_tableaux(path, names, rows), np.array(ranking), fixed)


def _with_pairs(tableaux: Tableaux, path: PathLike) -> Tableaux:
    """The tableaux with the frequencies of a PairDistribution."""
    tokens, _ = _tokens_of(path, list(read_lines(path)), "PairDistribution")
    place = {
        (tableaux.inputs[index], output): candidate
        for candidate, (index, output) in enumerate(zip(tableaux.input_of(), tableaux.outputs, strict=True))
    }
    frequency = np.zeros(len(tableaux.outputs))
    for _ in range(tokens.count("a number of pairs")):
        pair = tokens.string("an input"), tokens.string("an output")
        line = tokens.line
        weight = tokens.number("a weight")
        if pair not in place:
            found = f"the pair {pair[0]!r}, {pair[1]!r} is no candidate of the grammar"
            raise InputError(path, line, found, "Inputs and outputs must be spelled alike in both files")
        if not 0.0 <= weight <= _LARGEST_FREQUENCY:
            hint = f"Expected a number from 0 to {_LARGEST_FREQUENCY:g}"
            raise InputError(path, line, f"{weight:g} is not a weight", hint)
        frequency[place[pair]] += weight
    return tableaux._replace(frequency=frequency)


# ---------------------------------------------------------------- writing


def write_tableaux(
    tableaux: Tableaux, path: PathLike, format: str = "tsv", ranking: Sequence[float] | None = None
) -> None:
    """Write tableaux in one of `FORMATS`.

    Parameters
    ----------
    tableaux : Tableaux
    path : path
    format : str
        Praat's takes no frequencies: write these with `write_pairs`.
    ranking : sequence of N numbers, optional
        Ranking values of an OTGrammar, 100 by default.
    """
    with atomic_output(path) as stream:
        if format == "praat":
            stream.writelines(_grammar_lines(tableaux, ranking))
        else:
            stream.writelines(_otsoft_lines(tableaux) if format == "otsoft" else _tsv_lines(tableaux))


def write_pairs(tableaux: Tableaux, path: PathLike) -> None:
    """Write the frequencies of tableaux as a PairDistribution of Praat."""
    inputs = tableaux.input_of()
    with atomic_output(path) as stream:
        stream.write('File type = "ooTextFile"\nObject class = "PairDistribution"\n\n')
        stream.write(f"{len(tableaux.outputs)} pairs\n")
        for index, output, frequency in zip(inputs, tableaux.outputs, tableaux.frequency, strict=True):
            stream.write(f"{_quoted(tableaux.inputs[index])} {_quoted(output)} {_number(frequency)}\n")


def _tsv_lines(tableaux: Tableaux) -> Iterator[str]:
    yield "\t".join([*_HEAD, *tableaux.constraints]) + "\n"
    for candidate, index in enumerate(tableaux.input_of()):
        yield _line(tableaux, candidate, tableaux.inputs[index])


def _otsoft_lines(tableaux: Tableaux) -> Iterator[str]:
    for names in (tableaux.constraints, tableaux.constraints):
        yield "\t".join(["", "", "", *names]) + "\n"
    for index, form in enumerate(tableaux.inputs):
        shown = itertools.chain([form], itertools.repeat(""))
        for candidate, name in zip(tableaux.candidates(index), shown, strict=False):
            yield _line(tableaux, candidate, name)


def _line(tableaux: Tableaux, candidate: int, form: str) -> str:
    violations = [str(number) for number in tableaux.violations[candidate]]
    return (
        "\t".join([form, tableaux.outputs[candidate], _number(tableaux.frequency[candidate]), *violations])
        + "\n"
    )


def _grammar_lines(tableaux: Tableaux, ranking: Sequence[float] | None) -> Iterator[str]:
    values = [100.0] * len(tableaux.constraints) if ranking is None else ranking
    yield 'File type = "ooTextFile"\nObject class = "OTGrammar 2"\n\n'
    yield f"decisionStrategy = <OptimalityTheory>\nleak = 0\n{len(values)} constraints\n"
    for number, (name, value) in enumerate(zip(tableaux.constraints, values, strict=True), start=1):
        yield f"constraint [{number}]: {_quoted(name)} {_number(value)} {_number(value)} 1\n"
    yield f"\n0 fixed rankings\n\n{len(tableaux.inputs)} tableaus\n"
    for index, form in enumerate(tableaux.inputs):
        candidates = tableaux.candidates(index)
        yield f"input [{index + 1}]: {_quoted(form)} {len(candidates)}\n"
        for number, candidate in enumerate(candidates, start=1):
            violations = " ".join(str(count) for count in tableaux.violations[candidate])
            yield f"   candidate [{number}]: {_quoted(tableaux.outputs[candidate])} {violations}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _number(value: float) -> str:
    """A number in the shortest form that reads back the same."""
    return str(int(value)) if value == int(value) else repr(float(value))
