"""Files of tableaux: text in columns, OTSoft, and Praat's OTGrammar with a PairDistribution (`praat.py`).

- columns: a header `input output frequency CONSTRAINT …`, or `input output overt frequency CONSTRAINT …`,
  then one candidate a line; between tabs, or between commas or semicolons with quotes where need be
  (maxent.ot, or what a spreadsheet or R writes);
- OTSoft (and OT-Help): the names of the constraints from the fourth column of the first line, their
  abbreviations below (or not), then candidates with input, output, frequency and violations.

A blank cell is 0, and a blank input is that of the line above.

The fact a newcomer would get wrong: OTSoft spells no zero, so a line may simply end after its last violation.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from monolingual.ot.praat import PraatGrammar, grammar_lines, parse_grammar, read_text, with_pairs
from monolingual.ot.tableaux import (
    LARGEST_FREQUENCY,
    MOST_VIOLATIONS,
    Row,
    Tableaux,
    build_tableaux,
    shortest_number,
)
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["FORMATS", "Source", "read_source", "read_tableaux", "write_tableaux"]

FORMATS = ("tsv", "otsoft", "praat")

_HEAD = ("input", "output", "frequency")
_COMMENT = "/**"  # What a line begins with that is no candidate, in files of OTSoft.
_OVERT = "overt"  # A column between output and frequency.


class Source(NamedTuple):
    """What a file of tableaux holds.

    Attributes
    ----------
    tableaux : Tableaux
    grammar : PraatGrammar or None
        If it is an OTGrammar of Praat.
    abbreviations : tuple of str
        Of the constraints, if it is a file of OTSoft; else none.
    """

    tableaux: Tableaux
    grammar: PraatGrammar | None
    abbreviations: tuple[str, ...] = ()


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
    return read_source(path, pairs).tableaux


def read_source(path: PathLike, pairs: PathLike | None = None) -> Source:
    """As `read_tableaux`, with the grammar if the file is one of Praat."""
    text = read_text(path)
    grammar = parse_grammar(path, text.lines) if text.is_praat else None
    source = _parse_columns(path, text.lines) if grammar is None else Source(grammar.tableaux, grammar)
    if pairs is not None:
        source = source._replace(tableaux=with_pairs(source.tableaux, pairs))
    return source._replace(grammar=None if grammar is None else grammar._replace(tableaux=source.tableaux))


# ---------------------------------------------------------------- columns


def _parse_columns(path: PathLike, lines: Iterator[str]) -> Source:
    """What is in columns of any kind."""
    number, first = next(((at, line) for at, line in enumerate(lines, start=1) if line.strip()), (0, ""))
    if not first:
        raise InputError(path, None, "is empty", "Expected tableaux")
    head = first.split("\t")
    rest = ((at, line.split("\t")) for at, line in enumerate(lines, start=number + 1) if line.strip())
    if _is_head(head):
        return Source(_parse_tsv(path, head, rest), None)
    if len(head) > 3 and all(cell.strip() == "" for cell in head[:2]):
        return _parse_otsoft(path, head, rest)
    if head[0] == "CONSTRAINTS":
        hint = "In Praat choose 'Save as text file…', and give that"
        raise InputError(path, number, "seems to be a headerless spreadsheet of Praat", hint)
    if len(head) > 2 and not head[0].strip() and all(cell.strip() for cell in head[1:]):
        hint = "Give the tableaux, and this file as --a-priori-table to rank, typology or gla"
        raise InputError(path, number, "seems to be a table of OTSoft of rankings known a priori", hint)
    for delimiter in ",;":
        if _is_head([cell.strip().strip('"') for cell in first.split(delimiter, 4)]):
            all_lines = itertools.chain(itertools.repeat("", number - 1), [first], lines)
            rows = csv.reader((line + "\n" for line in all_lines), delimiter=delimiter, strict=True)
            cells = _numbered(path, rows)
            return Source(_parse_tsv(path, next(cells)[1], cells), None)
    hint = (
        "The first line is 'input output frequency CONSTRAINT …' with tabs or commas between, or that of an "
    )
    hint += "OTSoft file (names from the fourth column) or a Praat text file"
    raise InputError(path, number, "is not the beginning of a file of tableaux", hint)


def _is_head(cells: Sequence[str]) -> bool:
    names = tuple(cell.strip().lower() for cell in cells[:4])
    return names[:3] == _HEAD or names == (*_HEAD[:2], _OVERT, _HEAD[2])


def _numbered(path: PathLike, rows) -> Iterator[tuple[int, list[str]]]:
    """Rows of quoted columns that are not blank, with their lines."""
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                yield rows.line_num, [re.sub("[\t\n]", " ", cell) for cell in row]
    except csv.Error as error:
        raise InputError(
            path, rows.line_num, f"is no row of quoted columns ({error})", "Mend the quotes"
        ) from None


def _parse_tsv(path: PathLike, head: list[str], cells: Iterable[tuple[int, list[str]]]) -> Tableaux:
    """The tableaux in columns below names, overt forms among them or not."""
    if len(head) < 3:  # Of what looked like three columns, quotes make fewer.
        found = f"begins with {counted(len(head), 'column')}, one of them {head[0]!r}"
        raise InputError(path, None, found, "Leave out the quotes around several of them")
    has_overt = head[2].strip().lower() == _OVERT
    names = _constraint_names(head[3 + has_overt :])
    return build_tableaux(path, names, _rows(path, cells, len(names), has_overt))


def _constraint_names(cells: list[str]) -> list[str]:
    """The names in the header, without blank cells at the end."""
    names = [name.strip() for name in cells]
    while names and not names[-1]:
        names.pop()
    return names


def _parse_otsoft(path: PathLike, head: list[str], cells: Iterator[tuple[int, list[str]]]) -> Source:
    names = _constraint_names(head[3:])
    line, below = next(cells, (0, ["?"]))
    if _is_candidate(below):
        cells, below = itertools.chain([(line, below)], cells), []
    elif any(cell.strip() for cell in below[:2]):
        found = "neither abbreviations below the names of the constraints nor a candidate"
        hint = "Abbreviations begin in the fourth column; a candidate has input, output and whole numbers"
        raise InputError(path, line or None, found, hint)
    padded = (
        (number, row + [""] * (3 + len(names) - len(row))) for number, row in cells if not _is_comment(row)
    )
    abbreviations = tuple(cell.strip() for cell in below[3 : 3 + len(names)])
    return Source(build_tableaux(path, names, _rows(path, padded, len(names))), None, abbreviations)


def _is_comment(row: list[str]) -> bool:
    """Whether a row is none of a tableau: a comment, or a heading in brackets that stands alone."""
    is_alone = not any(cell.strip() for cell in row[1:])
    return row[0].startswith(_COMMENT) or (row[0].startswith("[") and is_alone)


def _is_candidate(row: list[str]) -> bool:
    """Whether a row has an input, an output and numbers: OTSoft can do without a line of abbreviations."""
    has_names = len(row) > 2 and all(cell.strip() for cell in row[:2])
    return has_names and all(cell.strip().isdecimal() or not cell.strip() for cell in row[3:])


def _rows(
    path: PathLike, cells: Iterable[tuple[int, list[str]]], constraints: int, has_overt: bool = False
) -> Iterator[Row]:
    """The candidates in lines of cells, of which the third may be an overt form."""
    form, overt = "", ""
    for number, row in cells:
        if has_overt:
            overt = "".join(row[2:3]).strip()
            if not overt:
                raise InputError(path, number, "no overt form", "Say of every candidate what is heard of it")
            del row[2]
        if len(row) < 3 + constraints:
            hint = "Every line has input, output, frequency and a cell, maybe blank, for each constraint"
            raise InputError(
                path, number, f"{counted(len(row), 'column')} instead of {3 + constraints}", hint
            )
        form = row[0].strip() or form
        if not form:
            raise InputError(path, number, "no input, here or in a line above", "Name it in the first column")
        if not row[1].strip():
            raise InputError(path, number, "no output", "Every candidate has a name")
        if extra := [cell for cell in row[3 + constraints :] if cell.strip()]:
            hint = "Name every constraint in the first line"
            raise InputError(path, number, f"{extra[0]!r} stands beyond the last constraint", hint)
        violations = tuple(_violation(path, number, cell) for cell in row[3 : 3 + constraints])
        yield Row(number, form, row[1].strip(), _frequency(path, number, row[2]), violations, overt)


def _violation(path: PathLike, line: int, cell: str) -> int:
    text = cell.strip()
    if not text:
        return 0
    try:
        number = real_number(text)
        value = int(number)
    except (ValueError, OverflowError):
        value, number = -1, 0.0
    if value != number or not 0 <= value <= MOST_VIOLATIONS:
        hint = f"Expected 0, 1, 2, … up to {MOST_VIOLATIONS}"
        raise InputError(path, line, f"{text!r} is not a number of violations", hint)
    return value


def _frequency(path: PathLike, line: int, cell: str) -> float:
    text = cell.strip()
    try:
        value = real_number(text) if text else 0.0
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= LARGEST_FREQUENCY:
        hint = f"Expected a number from 0 to {LARGEST_FREQUENCY:g}"
        raise InputError(path, line, f"{text!r} is not a frequency", hint)
    return value


# ---------------------------------------------------------------- writing


def write_tableaux(
    tableaux: Tableaux,
    path: PathLike,
    format: str = "tsv",
    ranking: Sequence[float] | None = None,
    strategy: str = "OptimalityTheory",
    fixed: Sequence[tuple[int, int]] = (),
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
    strategy : str
        Its decision strategy, as Praat calls it.
    fixed : sequence of (int, int)
        Its fixed rankings.

    Raises
    ------
    InputError
        Columns have no place for a name: an input or output without letters, which Praat allows, or what
        OTSoft takes for a comment. Nothing is written.
    """
    if format != "praat":
        _require_names(tableaux, is_otsoft=format == "otsoft")
    with atomic_output(path) as stream:
        if format == "praat":
            stream.writelines(grammar_lines(tableaux, ranking, strategy, fixed))
        else:
            stream.writelines(_otsoft_lines(tableaux) if format == "otsoft" else _tsv_lines(tableaux))


def _require_names(tableaux: Tableaux, is_otsoft: bool) -> None:
    """Refuse names that would not be read back from columns."""
    for index, form in enumerate(tableaux.inputs):
        if not form:
            hint = "Give it a name in Praat, such as ∅; a blank cell is the input of the line above"
            raise InputError(None, None, f"input {index + 1} is empty, for which columns have no place", hint)
        if is_otsoft and form.startswith(_COMMENT):
            found = f"the input {form!r} would be a comment in a file of OTSoft"
            raise InputError(None, None, found, "Give it another name")
    for candidate, output in enumerate(tableaux.outputs):
        if not output:
            form = tableaux.inputs[int(tableaux.input_of()[candidate])]
            found = f"the input {form!r} has an empty candidate, for which columns have no place"
            raise InputError(None, None, found, "Give it a name in Praat, such as ∅")


def _tsv_lines(tableaux: Tableaux) -> Iterator[str]:
    head = [*_HEAD[:2], _OVERT, _HEAD[2]] if tableaux.overt else _HEAD
    yield "\t".join([*head, *tableaux.constraints]) + "\n"
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
    names = [form, tableaux.outputs[candidate], *tableaux.overt[candidate : candidate + 1]]
    return "\t".join([*names, shortest_number(tableaux.frequency[candidate]), *violations]) + "\n"
