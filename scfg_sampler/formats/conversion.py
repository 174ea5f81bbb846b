"""Tables in any decoder's format into tables in any other.

A table is read into a `RuleTable` and written from one, so every format converts into every other. Features
are renamed and rescaled to what each decoder calls them; those it has no name for keep ours. What a format
cannot hold is counted and reported, never dropped in silence. The fact a newcomer would get wrong: the
numbers mean the same everywhere only after rescaling; cdec writes base-10 logarithms, Moses plain
probabilities, Joshua negated natural logarithms, Travatar and we natural logarithms.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from scfg_sampler.core.files import PathLike, is_stream, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import RuleTableError, SettingsError
from scfg_sampler.formats import FORMATS, bracketed, moses, travatar
from scfg_sampler.formats.batches import in_parts
from scfg_sampler.formats.tables import Lines, TableBuilder, iterate_rules, write_lines
from scfg_sampler.formats.words import speller
from scfg_sampler.rules.record import read_signature, require_record_place, write_record
from scfg_sampler.rules.table import RuleTable, read_rule_table, write_rule_table
from scfg_sampler.rules.text import Rule, RuleProblem

__all__ = [
    "PLAIN",
    "Spelling",
    "detect_format",
    "escaped",
    "loss_message",
    "read_line",
    "read_table",
    "unescaped",
    "write_line",
    "write_table",
]

T = TypeVar("T")
Advance = Callable[..., object]

_THRAX = {"e_given_f_phrase", "f_given_e_phrase", "rarity", "phrase_penalty", "lexical"}


class Spelling(NamedTuple):
    """Choices within a format.

    escaped : bool
        Moses: the words of the text are already escaped as its tokeniser does; leave them.
    dense : bool
        Joshua: features without names, in the order of `bracketed.DENSE`.
    linear : bool
        On writing: every feature that has a weight here is there in a multiple of itself, so that weights
        can be turned as well; under its own name where the format has nothing of the kind.
    """

    escaped: bool = False
    dense: bool = False
    linear: bool = False


PLAIN = Spelling()


def read_table(
    path: PathLike,
    file_format: str | None = None,
    spelling: Spelling = PLAIN,
    *,
    advance: Advance = lambda rules: None,
) -> tuple[RuleTable, Counter]:
    """The table of a file, and how many rules and features were left out, by reason.

    Parameters
    ----------
    path : "-" is standard input, which must then be given a format, as must a pipe
    file_format : one of FORMATS, or None to look at the first rule
    spelling : Spelling
    advance : callable
        Told of every so many lines that have been read.

    Raises
    ------
    RuleTableError
        A line is not a rule of the format; file and line are named.
    InputError
        What lies beside the table to say what it was made with is not JSON.
    """
    file_format = file_format or detect_format(path)
    _check(file_format)
    losses: Counter = Counter()
    if file_format == "native":
        return read_rule_table(path, labels=True), losses
    parse = _parser(file_format, spelling)
    builder = TableBuilder()
    signature = None
    for line, text in enumerate(_counted(read_lines(path), advance), start=1):
        if text.startswith("#") and not (file_format == "moses" and _is_moses(text)):
            signature = text[1:].strip() if line == 1 else signature
        elif text.strip(" \t\r"):
            try:
                rule = parse(text)
                if isinstance(rule, str):
                    losses[rule] += 1
                else:
                    builder.add(rule)
            except RuleProblem as problem:
                raise RuleTableError(path, line, *problem.args) from None
            except (OverflowError, ValueError):
                found = "holds a number that is too large"
                raise RuleTableError(path, line, found, "Features are numbers of single precision") from None
    return builder.table(read_signature(path) if signature is None else signature), losses


def write_table(
    table: RuleTable,
    path: PathLike,
    file_format: str,
    spelling: Spelling = PLAIN,
    *,
    advance: Advance = lambda rules: None,
) -> Counter:
    """Write the table in a format, sorted as its decoder expects; what was lost, by reason.

    Only native tables begin with a comment line; what others were made with is written to `PATH.json`.

    advance : callable, told of every so many rules that have been written

    Raises
    ------
    RuleTableError
        The format has a probability or count where the table has a logarithm that is none of one, or
        features are to have no names, and there are some that few rules have.
    InputError
        A file that is no record of a table stands where the table's record is to go.
    """
    _check(file_format)
    losses: Counter = Counter()
    if file_format == "native":
        write_rule_table(table, path)
        return losses
    if spelling.dense and file_format == "joshua" and table.sparse is not None:
        found = f"has {len(table.sparse_names)} sparse features, which need their names"
        raise RuleTableError(path, None, found, "Leave --dense away")
    writer = _writer(table.feature_names, file_format, spelling, losses)
    require_record_place(path)
    try:
        if table.labels is None:
            write_lines(path, writer.lines(table, in_parts(writer.order(table), advance)))
        else:
            one_by_one = sorted(map(writer.format, _counted(iterate_rules(table), advance)))
            write_lines(path, [(one_by_one, one_by_one, one_by_one)])
    except OverflowError:
        found = "a logarithm is too large to be written as a probability or count"
        raise RuleTableError(path, None, found, "Above 709 it is no natural logarithm of one") from None
    write_record(path, table.signature, file_format)
    if not spelling.dense:
        losses.update(_misnamed(table, file_format))
    if str(path) == "-" and table.signature:
        losses["signature is not written, as nothing can lie beside standard output"] += 1
    return losses


def _misnamed(table: RuleTable, file_format: str) -> dict[str, int]:
    """How many rules have a feature that is called as another is in the format, by what is said of it."""
    match file_format:
        case "cdec" | "joshua":
            own = bracketed.own_names(file_format)
        case "travatar":
            own = travatar.OWN_NAMES
        case _:
            return {}
    found = {name: table.num_rules for name in table.feature_names if name in own}
    if table.sparse is not None:
        names, rows = table.sparse
        numbers = np.bincount(rows.column, minlength=len(names)).tolist()
        found |= {name: number for name, number in zip(names, numbers, strict=True) if name in own}
    return {
        f"rules with a feature called '{name}', which is another one in this format": number
        for name, number in found.items()
    }


def loss_message(number: int, reason: str) -> str:
    """What a table lost, in words: a number of `read_table` or `write_table`, with its reason.

    >>> loss_message(1, "rules without LogBackward"), loss_message(2, "rules without LogBackward")
    ('1 rule without LogBackward', '2 rules without LogBackward')
    """
    return counted(number, reason.replace("rules", "rule", 1), reason)


def read_line(line: str, file_format: str, spelling: Spelling = PLAIN) -> Rule | str:
    """The rule of a line of another decoder's table, or why it is left out; raises RuleProblem."""
    return _parser(file_format, spelling)(line)


def write_line(rule: Rule, file_format: str, spelling: Spelling = PLAIN) -> str:
    """The line of a rule in another decoder's table."""
    return _writer(tuple(rule.features), file_format, spelling, Counter()).format(rule)


def detect_format(path: PathLike, own_features: str = "cdec") -> str:
    """The format of a file by its first rule; a RuleTableError if it looks like none of them.

    own_features : what is said of a table in cdec's form if all its features have names and none of them
        is cdec's or ours: cdec or native, which differ in names and units alone, or anything else
    """
    if is_stream(path):
        name = "standard input" if str(path) == "-" else f"a pipe, {path},"
        raise SettingsError(f"the format of {name} cannot be looked up; give --from")
    moses_rules = False
    for line, text in enumerate(read_lines(path), start=1):
        if text.startswith("#") or not text.strip(" \t\r"):
            moses_rules |= _is_moses(text)
            continue
        fields = text.split(" ||| ")
        if len(fields) >= 3:
            if fields[0].startswith("[") and fields[0].endswith("]") and " " not in fields[0]:
                features = fields[3] if len(fields) > 3 else ""
                # Whole names: HieroLogForward, which annotate adds, is a name in all formats.
                names = {feature.partition("=")[0] for feature in features.split()}
                if "LogForward" in names:
                    return "native"
                if names & _THRAX or (features and "=" not in features):
                    return "joshua"
                return "cdec" if not names.isdisjoint(bracketed.CDEC_NAMES) else own_features
            if fields[0].endswith("]"):
                return "moses"  # Whose words may be @.
            if " @ " in fields[0]:
                return "travatar"
        raise RuleTableError(path, line, "looks like no rule table we know", "Give its format with --from")
    return "moses" if moses_rules else "native"


def _is_moses(text: str) -> bool:
    """Whether a line that begins like a comment is a rule of Moses', whose first word is #."""
    fields = text.split(" ||| ")
    return len(fields) >= 3 and fields[0].endswith("]") and fields[1].endswith("]")


def unescaped(word: str, file_format: str) -> str:
    """A word of a text that is escaped for a decoder, spelled as `read_table` spells it.

    file_format : one of DECODERS

    >>> unescaped("-lsb-x", "joshua"), unescaped("&#91;x", "moses"), unescaped("&#91;x", "joshua")
    ('[x', '[x', '[x')
    """
    return speller(file_format).read(word)


def escaped(word: str, file_format: str) -> str:
    """A word, spelled as the tables of a decoder have it: what `unescaped` takes back.

    >>> escaped("[x", "joshua"), unescaped(escaped("-lsb-x", "joshua"), "joshua")
    ('-lsb-x', '-lsb-x')
    """
    return speller(file_format).write(word)


class _Writer(NamedTuple):
    """How rules are written in a format: the order of their lines, the lines of many, the line of one."""

    order: Callable[[RuleTable], np.ndarray]
    lines: Callable[[RuleTable, Iterable[np.ndarray]], Iterator[Lines]]
    format: Callable[[Rule], str]


def _writer(feature_names: tuple[str, ...], file_format: str, spelling: Spelling, losses: Counter) -> _Writer:
    """How the rules of a table with such features are written."""
    match file_format:
        case "cdec" | "joshua":
            named = bracketed.writer(file_format, feature_names, spelling.dense, spelling.linear)
            return _Writer(named.order, named.lines, named.format)
        case "moses":
            scored = moses.Writer(spelling.escaped, losses, spelling.linear)
            return _Writer(scored.order, scored.lines, scored.format)
        case "travatar":
            lines = functools.partial(travatar.lines, linear=spelling.linear)
            one = functools.partial(travatar.format_rule, linear=spelling.linear)
            return _Writer(travatar.order, lines, one)
    raise AssertionError(f"no module writes {file_format}")


def _counted(items: Iterable[T], advance: Advance) -> Iterator[T]:
    """The items; `advance` is told of every thousand."""
    number = 0
    for number, item in enumerate(items, start=1):
        yield item
        if number % 1000 == 0:
            advance(1000)
    advance(number % 1000)


def _parser(file_format: str, spelling: Spelling):
    match file_format:
        case "cdec" | "joshua":
            return bracketed.parser(file_format, spelling.dense)
        case "moses":
            return moses.parser(spelling.escaped)
        case "travatar":
            return travatar.parse_rule
    raise AssertionError(f"no module reads {file_format}")


def _check(file_format: str) -> None:
    if file_format not in FORMATS:
        raise SettingsError(f"format {file_format!r} is unknown; choose {', '.join(FORMATS)}")
