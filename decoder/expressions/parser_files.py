"""A parser's directory: all that parsing takes, with a list of what is there.

    parser.json         version, settings, form of expressions; size and digest of every other file
    grammar.bin         the rule table, compiled; lm.bin and weights.json as a system has them
    expressions.json    which expressions are well-formed (decoder.expressions.files)
    ranker.json         what chooses among the best of them, if something does (decoder.expressions.lists)

Nothing in it names a place outside of it, so it may be moved. It is written under another name and renamed.

The fact a newcomer would get wrong: a ranker knows the features of the lists that it has learnt of, and those
of another grammar, or of joined lists, are others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from decoder.expressions.decoder import PREDICTED, ExpressionDecoder
from decoder.expressions.files import Expressions, read_expressions, write_expressions
from decoder.expressions.forms import FORMS
from decoder.expressions.lists import read_ranker, write_ranker
from decoder.expressions.parser import Parser, Reading
from decoder.expressions.questions import doubt_of_letters
from decoder.expressions.ranker import WORD_FEATURES, Ranker
from decoder.system.inventory import Kind, Record, check_digests, read_record, write_record
from decoder.system.models import (
    MODEL_NAMES,
    Models,
    model_files,
    read_models,
    require_compiled,
    write_models,
    write_used_weights,
)
from decoder.translation.settings import SearchDefaults, check_kept_settings
from scfg_sampler.core.arguments import require_path
from scfg_sampler.core.console import warn
from scfg_sampler.core.directories import new_directory
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.rules.table import RuleTable

__all__ = [
    "ParserParts",
    "load_parser",
    "read_parser_record",
    "verify_parser",
    "write_parser",
]

_PARSER, _EXPRESSIONS, _RANKER = "parser.json", "expressions.json", "ranker.json"
_NAMES = rf"{MODEL_NAMES}|expressions\.json|ranker\.json"
_FORMAT, _FORMAT_OF_SPELLED = 1, 2  # With all language models as they are, or in another decoder's spelling.


class ParserParts(NamedTuple):
    """What a parser is made of; paths, but for a table that has been read.

    grammar : a table, or the path of a compiled one
    lm : an ARPA file or a compiled model, or several
    weights, expressions : JSON files of `tune` and `train-expressions`
    ranker : one of `train-ranker`, or None
    spelling : the format of the table, whose decoder's language models it may come with
    table_name : what errors call the table
    """

    grammar: RuleTable | PathLike
    lm: PathLike | Sequence[PathLike]
    weights: PathLike
    expressions: PathLike
    ranker: PathLike | None = None
    spelling: str = "native"
    table_name: PathLike | None = None


def _parts(record: Record) -> list[str]:
    _reading(record)
    return [*model_files(record), _EXPRESSIONS, *([_RANKER] if record["ranker"] else [])]


_KIND = Kind("parser", _PARSER, (_FORMAT, _FORMAT_OF_SPELLED), "scfg-decoder bundle-parser", _parts)


def _reading(record: Record) -> Reading:
    """How a record says that questions are read; ValueError if it says what cannot be."""
    reading = Reading(**record["reading"])
    numbers = (reading.letters, reading.candidates, reading.predicted)
    if reading.form not in FORMS or any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError(f"reading {list(reading)!r}"[:80])
    return reading._replace(copy_any=bool(reading.copy_any), candidates=max(1, reading.candidates))


def write_parser(
    parts: ParserParts,
    output: PathLike,
    reading: Reading = Reading(),  # noqa: B008
    settings: SearchDefaults = SearchDefaults(),  # noqa: B008
) -> Record:
    """Write a parser's directory; what its `parser.json` says.

    Parameters
    ----------
    parts : ParserParts
    output : a new directory, or an older parser and nothing else, which is replaced
    reading : Reading
    settings : SearchDefaults

    Raises
    ------
    InputError
        A part cannot be read or does not fit the others, or `output` is something else.
    SettingsError
        A setting is out of range.
    """
    check_kept_settings(settings)
    limits = (
        ("letters", reading.letters, 0),
        ("candidates", reading.candidates, 1),
        ("predict", reading.predicted, 0),
    )
    for option, value, least in limits:
        if value < least:
            raise SettingsError(f"--{option} is {value}; it is at least {least}")
    expressions = read_expressions(parts.expressions)
    reading = reading._replace(form=reading.form or expressions.form)
    _check_form(expressions, reading.form, parts.expressions)
    ranker = None if parts.ranker is None else read_ranker(parts.ranker)
    with new_directory(output, _PARSER, _KIND.name, _NAMES) as folder:
        models, described = write_models(*parts[:3], folder, settings, parts.spelling, parts.table_name)
        write_expressions(expressions, folder / _EXPRESSIONS)
        decoder = _decoder(models, expressions, settings, parts.weights).predicting(reading.predicted)
        write_used_weights(models, decoder.weight_names, folder)
        if doubt := doubt_of_letters(models.grammar.source_vocabulary.words, reading.letters):
            warn(f"--letters is {reading.letters}, but {doubt}")
        if ranker is not None and parts.ranker is not None:
            _check_ranker(ranker, decoder, parts.ranker)
            write_ranker(ranker, folder / _RANKER)
        record = {
            "format": _FORMAT_OF_SPELLED if "spelling" in described else _FORMAT,
            **described,
            "reading": reading._asdict(),
            "ranker": ranker is not None,
        }
        return write_record(folder, _KIND, settings, record)


def _decoder(
    models: Models, expressions: Expressions, settings: SearchDefaults, weights_path: PathLike | None = None
) -> ExpressionDecoder:
    grammar, lms, weights = models
    return ExpressionDecoder(expressions, grammar, *lms, weights, settings, weights_path)


def _check_form(expressions: Expressions, form: str | None, path: PathLike) -> None:
    """An InputError if what is known of expressions is of queries and the form is not, or the reverse."""
    if (expressions.form == "sql") != (form == "sql"):
        found = f"is of {expressions.form}, but expressions are to be written as {form}"
        raise InputError(path, None, found, f"Give --form {expressions.form}, or learn it with --form {form}")


def _check_ranker(ranker: Ranker, decoder: ExpressionDecoder, path: PathLike) -> None:
    """An InputError if a ranker has weights of features that expressions lack here, or of few that they have.

    A warning if it has no weights for some.
    """
    hint = "Give the ranker that has learnt of this grammar's lists"
    listed = (*decoder.feature_names, *(PREDICTED if decoder.predicted else ()))
    known = {*listed, *decoder.sparse_names, *WORD_FEATURES}
    lacking = sorted(name for name, weight in ranker.weights.items() if weight and name not in known)
    if lacking:
        found = f"has weights for {counted(len(lacking), 'feature')} that expressions lack here"
        if {*lacking} <= {*PREDICTED}:
            hint = "Its lists had predicted expressions; give --predict, with as many"
        raise InputError(path, None, f"{found}: {_some(lacking)}", hint)
    unknown = sorted(name for name in listed if name not in ranker.weights)
    if unknown:
        found = f"has no weight for {counted(len(unknown), 'feature')} of {len(listed)}"
        if 2 * len(unknown) > len(listed):
            raise InputError(path, None, f"{found}: {_some(unknown)}", hint)
        warn(f"{path} {found}: {_some(unknown)}. Has it learnt of this grammar's lists?")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def read_parser_record(directory: PathLike) -> Record:
    """What `parser.json` says, once every file it lists is found to be there as it was.

    Raises
    ------
    InputError
        A file is missing, damaged, or of another version.
    """
    record = read_record(directory, _KIND)
    require_compiled(Path(directory), record, _KIND)
    return record


def load_parser(directory: PathLike, settings: SearchDefaults | None = None) -> Parser:
    """The parser in a directory that `scfg-decoder bundle-parser`, or `recipes/meaning.sh`, has written.

    Parameters
    ----------
    directory : path
    settings : how to search, instead of what the parser says

    Raises
    ------
    InputError
        A part is missing, damaged or of another version.

    >>> load_parser("no/such/parser")
    Traceback (most recent call last):
        ...
    scfg_sampler.errors.InputError: no/such/parser: there is no such directory. Name one that ...
    """
    require_path("directory", directory)
    record = read_parser_record(directory)
    folder = Path(directory)
    settings = SearchDefaults(**record["settings"]) if settings is None else settings
    expressions = read_expressions(folder / _EXPRESSIONS)
    reading = _reading(record)
    decoder = _decoder(read_models(folder, record, settings), expressions, settings)
    decoder = decoder.predicting(reading.predicted)
    if reading.copy_any:
        decoder = decoder.copying_any()
    ranker = read_ranker(folder / _RANKER) if record["ranker"] else None
    return Parser(decoder, ranker, reading)


def verify_parser(directory: PathLike) -> list[str]:
    """What was found to be right of a parser, in words: also digests that loading leaves out.

    Raises
    ------
    InputError
        A part is missing, damaged, or does not fit the others.
    """
    record = read_parser_record(directory)
    check_digests(directory, record, _KIND)
    load_parser(directory)
    return [f"{directory}: {counted(len(record['files']), 'file')}, and their digests"]
