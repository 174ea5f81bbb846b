"""Praat's OTGrammar and PairDistribution, as text: strings in quotes and numbers in a fixed order.

Everything between them is comment. An OTGrammar has a decision strategy, ranking values, pairs of constraints
whose ranking is fixed, and tableaux; a PairDistribution says how often each pair of input and output occurs.
Praat writes ASCII where it can and UTF-16 elsewhere, or UTF-8; its binary files are refused. Older versions
called short text files "ooTextFile short", and on old Macs lines end in a carriage return.

The fact a newcomer would get wrong: fixed rankings bind Praat's learners, which never let the lower of two
constraints reach the higher. Its evaluations add noise to all values alike and may rank the two either way.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.ot.praat_tokens import Flag, Tokens
from monolingual.ot.tableaux import (
    LARGEST_FREQUENCY,
    LARGEST_VALUE,
    Row,
    Tableaux,
    build_tableaux,
    shortest_number,
)
from scfg_sampler.core.files import PathLike, atomic_output, open_bytes, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = [
    "STRATEGIES",
    "PraatGrammar",
    "Text",
    "grammar_lines",
    "parse_grammar",
    "read_grammar",
    "read_text",
    "text_lines",
    "with_pairs",
    "write_pairs",
]

STRATEGIES: dict[str, str] = {
    "OptimalityTheory": "stochastic-ot",
    "HarmonicGrammar": "noisy-hg",
    "LinearOT": "linear-ot",
    "PositiveHG": "positive-hg",
    "ExponentialHG": "exponential-hg",
    "MaximumEntropy": "maxent",
    "ExponentialMaximumEntropy": "exponential-maxent",
}
"""What Praat calls decision strategies, and our models: see `monolingual/ot/grammar.py`."""

_BINARY = "ooBinaryFile"
_COLLECTION = "Collection"  # Several objects that were selected and saved together.
_KINDS = "ooTextFile", "ooTextFile short"


class PraatGrammar(NamedTuple):
    """What an OTGrammar holds.

    Attributes
    ----------
    tableaux : Tableaux
        With frequencies of 0 unless a PairDistribution was given.
    ranking : float64, shape (N,)
        Ranking values.
    strategy : str
        One of `STRATEGIES`.
    fixed_rankings : tuple of (int, int)
        The higher and the lower of two constraints, counted from 0.
    """

    tableaux: Tableaux
    ranking: np.ndarray
    strategy: str
    fixed_rankings: tuple[tuple[int, int], ...]


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
        The file cannot be read or understood; names the line.
    """
    text = read_text(path)
    if not text.is_praat:
        raise InputError(path, 1, "is not a text file of Praat", 'It begins with File type = "ooTextFile"')
    grammar = parse_grammar(path, text.lines)
    return grammar if pairs is None else grammar._replace(tableaux=with_pairs(grammar.tableaux, pairs))


class Text(NamedTuple):
    """The lines of a file, which are read once and not kept, and whether it is a text file of Praat."""

    is_praat: bool
    lines: Iterator[str]


def read_text(path: PathLike) -> Text:
    """What is in a text file; raises as `text_lines`."""
    lines, head = text_lines(path), []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    is_praat = bool(head) and any(f'"{kind}"' in head[-1] for kind in _KINDS)
    return Text(is_praat, itertools.chain(head, lines))


def text_lines(path: PathLike) -> Iterator[str]:
    """The lines of a text file in UTF-8, or in UTF-16 with its mark at the beginning, without line ends.

    Raises
    ------
    InputError
        As `read_lines`; or it is one of Praat's binary files.
    """
    lines = read_lines(path, returns=True)
    try:
        first = next(lines, None)
    except InputError:
        begin, text = _beginning(path)
        if begin.startswith(_BINARY.encode()):
            first = _BINARY
        elif text is not None:
            yield from _split(text.split("\n"))
            return
        else:
            raise
    if first is None:
        return
    if first.startswith(_BINARY):
        hint = "In Praat choose 'Save as text file…', and give that"
        raise InputError(path, None, "is a binary file of Praat", hint)
    if "\0" in first:
        hint = "Convert the file, as 'iconv -f UTF-16LE -t UTF-8' does"
        raise InputError(path, 1, "has bytes of 0, as UTF-16 without its mark has them", hint)
    yield from _split(itertools.chain([first], lines))


def _split(lines: Iterable[str]) -> Iterator[str]:
    """The lines within lines: on old Macs, and in spreadsheets there, they end in a carriage return."""
    for line in lines:
        yield from line.removesuffix("\r").split("\r")


def _beginning(path: PathLike) -> tuple[bytes, str | None]:
    """The first bytes of a file that can be read twice, and its text if it is UTF-16."""
    if str(path) == "-":
        return b"", None
    try:
        with open_bytes(path) as stream:
            data = stream.read()
    except (OSError, EOFError, zlib.error):
        return b"", None
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data[:20], None
    try:
        return data[:20], data.decode("utf-16")
    except UnicodeDecodeError:
        return data[:20], None


def _tokens_of(path: PathLike, lines: Iterable[str], *kinds: str) -> tuple[Tokens, str]:
    """The tokens behind the head of a text file, and the class of the object with its version."""
    tokens = Tokens(path, lines)
    if not tokens.next_is(lambda value: value in _KINDS):
        raise InputError(path, 1, "is not a text file of Praat", 'It begins with File type = "ooTextFile"')
    tokens.string("ooTextFile")
    name = tokens.string("the class of the object")
    if _kind(name) not in kinds:
        hint = "Name the OTGrammar first and the PairDistribution with --pair-distribution"
        raise InputError(path, tokens.line, f"is a {name}, not a file of class {kinds[0]}", hint)
    return tokens, name


def _kind(name: str) -> str:
    """The class of an object without its version."""
    return next(iter(name.split()), "")


def parse_grammar(path: PathLike, lines: Iterable[str]) -> PraatGrammar:
    """The grammar in the lines of an OTGrammar, or of a Collection with one; `path` is for messages."""
    tokens, name = _tokens_of(path, lines, "OTGrammar", _COLLECTION)
    if _kind(name) == _COLLECTION:
        return _parse_collection(tokens, path)
    grammar = _parse_object(tokens, path, name)
    tokens.require_end(counted(len(grammar.tableaux.inputs), "tableau"))
    return grammar


def _parse_collection(tokens: Tokens, path: PathLike) -> PraatGrammar:
    """The grammar in a Collection, with the frequencies of a PairDistribution if there is one beside it."""
    grammar, pairs = None, None
    announced = tokens.count("a number of objects")
    for _ in range(announced):
        name = tokens.string("the class of an object")
        tokens.string("the name of an object")
        if _kind(name) == "OTGrammar" and grammar is None:
            grammar = _parse_object(tokens, path, name)
        elif _kind(name) == "PairDistribution" and pairs is None:
            pairs = _parse_pairs(tokens)
        else:
            hint = "In Praat select one OTGrammar, and one PairDistribution or none, and save these"
            raise InputError(path, tokens.line, f"the Collection holds the object {name!r}", hint)
    tokens.require_end(counted(announced, "object"))
    if grammar is None:
        hint = "In Praat select it along with the PairDistribution"
        raise InputError(path, None, "is a Collection without an OTGrammar", hint)
    return grammar if pairs is None else grammar._replace(tableaux=_weighted(grammar.tableaux, pairs, path))


def _parse_object(tokens: Tokens, path: PathLike, name: str) -> PraatGrammar:
    """The grammar in the tokens behind its class, which has a version."""
    word = next(iter(name.split()[1:]), "0")
    if word not in ("0", "1", "2"):
        raise InputError(path, tokens.line, f"has version {word} of OTGrammar", "Versions up to 2 are known")
    version = int(word)
    if version == 0 and tokens.next_is(lambda value: isinstance(value, Flag)):
        found = f'is a "{name}", but has a decision strategy, which came with version 1'
        raise InputError(path, tokens.line, found, 'Give its class as "OTGrammar 2"')
    strategy = _strategy(tokens) if version >= 1 else "OptimalityTheory"
    if version == 2:
        tokens.number("the leak")
    names, ranking = list[str](), list[float]()
    announced = tokens.count("a number of constraints")
    for _ in range(announced):
        names.append(_constraint_name(tokens, names))
        ranking.append(_ranking_value(tokens))
        tokens.number("a disharmony")
        if version == 2:
            tokens.number("a plasticity")
    if tokens.next_is(lambda value: isinstance(value, str)):
        found = f"announces {counted(announced, 'constraint')}, and here is another one"
        raise InputError(path, tokens.line, found, "Mend the number of constraints")
    fixed = []
    for _ in range(tokens.count("a number of fixed rankings")):
        higher, lower = (tokens.constraint(len(names)) for _ in range(2))
        fixed.append((higher, lower))
    tableaux = build_tableaux(path, names, _rows(tokens, len(names)))
    return PraatGrammar(tableaux, np.array(ranking), strategy, tuple(fixed))


def _strategy(tokens: Tokens) -> str:
    """A decision strategy such as <OptimalityTheory>."""
    name = tokens.flag("decision strategy such as <OptimalityTheory>")
    if name not in STRATEGIES:
        hint = f"Known are {', '.join(STRATEGIES)}"
        raise InputError(tokens.path, tokens.line, f"has the decision strategy {name!r}", hint)
    return name


def _constraint_name(tokens: Tokens, names: Sequence[str]) -> str:
    """The name of the next constraint."""
    name = tokens.string("the name of a constraint")
    if not name:
        raise InputError(tokens.path, tokens.line, f"constraint {len(names) + 1} has no name", "Give it one")
    if name in names:
        found = f"two constraints are named {name!r}"
        raise InputError(tokens.path, tokens.line, found, "Give them different names")
    return name


def _ranking_value(tokens: Tokens) -> float:
    value = tokens.number("a ranking value")
    if abs(value) > LARGEST_VALUE:
        hint = f"Expected a number from -{LARGEST_VALUE:g} to {LARGEST_VALUE:g}"
        raise InputError(tokens.path, tokens.line, f"{value:g} is not a ranking value", hint)
    return value


def _rows(tokens: Tokens, constraints: int) -> Iterator[Row]:
    """The candidates of all tableaus.

    To Praat, tableaus of one input are several, and a candidate that stands twice wins twice as often as its
    equals; here both would be one.
    """
    begins: dict[str, int] = {}
    for _ in range(tokens.count("a number of tableaus")):
        form = tokens.string("an input")
        if form in begins:
            found = f"the input {form!r} has a tableau in line {begins[form]} already"
            raise InputError(tokens.path, tokens.line, found, "Make them one, or rename one of the inputs")
        begins[form] = tokens.line
        lines: dict[str, int] = {}
        for _ in range(tokens.count("a number of candidates")):
            output = tokens.string("a candidate")
            line = tokens.line
            if output in lines:
                found = f"the input {form!r} has the candidate {output!r} in line {lines[output]} already"
                raise InputError(tokens.path, line, found, "Rename one of them, or leave it out")
            lines[output] = line
            marks = tuple(tokens.count("a number of violations") for _ in range(constraints))
            yield Row(line, form, output, 0.0, marks)
        if not lines:
            found = f"the input {form!r} has no candidate"
            raise InputError(tokens.path, begins[form], found, "Give it one, or leave the tableau out")


class _Pair(NamedTuple):
    """An input and an output, how often they occur together, and the line that says so."""

    names: tuple[str, str]
    weight: float
    line: int


def _parse_pairs(tokens: Tokens) -> list[_Pair]:
    """The pairs of a PairDistribution."""
    pairs = []
    for _ in range(tokens.count("a number of pairs")):
        names = tokens.string("an input"), tokens.string("an output")
        line = tokens.line
        pairs.append(_Pair(names, tokens.number("a weight"), line))
    return pairs


def with_pairs(tableaux: Tableaux, path: PathLike) -> Tableaux:
    """The tableaux with the frequencies of a PairDistribution."""
    tokens, _ = _tokens_of(path, text_lines(path), "PairDistribution")
    pairs = _parse_pairs(tokens)
    tokens.require_end(counted(len(pairs), "pair"))
    return _weighted(tableaux, pairs, path)


def _weighted(tableaux: Tableaux, pairs: Iterable[_Pair], path: PathLike) -> Tableaux:
    """The tableaux with the frequencies of pairs, which `path` has."""
    place = {
        (tableaux.inputs[index], output): candidate
        for candidate, (index, output) in enumerate(zip(tableaux.input_of(), tableaux.outputs, strict=True))
    }
    frequency = np.zeros(len(tableaux.outputs))
    for pair, weight, line in pairs:
        if pair not in place:
            found = f"the pair {pair[0]!r}, {pair[1]!r} is no candidate of the grammar"
            raise InputError(path, line, found, "Inputs and outputs must be spelled alike in both files")
        if not 0.0 <= weight <= LARGEST_FREQUENCY:
            hint = f"Expected a number from 0 to {LARGEST_FREQUENCY:g}"
            raise InputError(path, line, f"{weight:g} is not a weight", hint)
        frequency[place[pair]] += weight
    return tableaux._replace(frequency=frequency)


def write_pairs(tableaux: Tableaux, path: PathLike) -> None:
    """Write the frequencies of tableaux as a PairDistribution of Praat."""
    inputs = tableaux.input_of()
    with atomic_output(path) as stream:
        stream.write('File type = "ooTextFile"\nObject class = "PairDistribution"\n\n')
        stream.write(f"{len(tableaux.outputs)} pairs\n")
        for index, output, frequency in zip(inputs, tableaux.outputs, tableaux.frequency, strict=True):
            stream.write(
                f"{_quoted(tableaux.inputs[index])} {_quoted(output)} {shortest_number(frequency)}\n"
            )


def grammar_lines(
    tableaux: Tableaux,
    ranking: Sequence[float] | None,
    strategy: str = "OptimalityTheory",
    fixed: Sequence[tuple[int, int]] = (),
) -> Iterator[str]:
    """The lines of an OTGrammar; ranking values of 100 if there are none."""
    values = [100.0] * len(tableaux.constraints) if ranking is None else ranking
    yield 'File type = "ooTextFile"\nObject class = "OTGrammar 2"\n\n'
    yield f"decisionStrategy = <{strategy}>\nleak = 0\n{len(values)} constraints\n"
    for number, (name, value) in enumerate(zip(tableaux.constraints, values, strict=True), start=1):
        yield f"constraint [{number}]: {_quoted(name)} {shortest_number(value)} {shortest_number(value)} 1\n"
    yield f"\n{len(fixed)} fixed rankings\n"
    yield from (f"   {higher + 1} {lower + 1}\n" for higher, lower in fixed)
    yield f"\n{len(tableaux.inputs)} tableaus\n"
    for index, form in enumerate(tableaux.inputs):
        candidates = tableaux.candidates(index)
        yield f"input [{index + 1}]: {_quoted(form)} {len(candidates)}\n"
        for number, candidate in enumerate(candidates, start=1):
            violations = " ".join(str(count) for count in tableaux.violations[candidate])
            yield f"   candidate [{number}]: {_quoted(tableaux.outputs[candidate])} {violations}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
