"""What functions for notebooks take: texts, tables, weights, as objects or as files."""

from __future__ import annotations

import contextlib
import math
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from decoder.translation.weights import read_weights
from scfg_sampler.core.arguments import ArgumentError, require_lines, require_type
from scfg_sampler.core.files import PathLike, is_stream, read_lines
from scfg_sampler.core.weights import LARGEST_WEIGHT
from scfg_sampler.errors import InputError, RuleTableError
from scfg_sampler.formats.conversion import detect_format, read_table
from scfg_sampler.rules.table import RuleTable

__all__ = [
    "HasTable",
    "RulesLike",
    "Text",
    "lines_of",
    "of_weights",
    "sets_of",
    "spelling_of",
    "table_of",
    "weights_of",
]


class HasTable(Protocol):
    """What has a rule table, as `scfg_sampler.Rules`."""

    @property
    def table(self) -> RuleTable:
        """The table."""


Text = PathLike | Iterable[str]
"""The path of a file, or its lines."""

RulesLike = HasTable | RuleTable | PathLike
"""Rules: of `scfg_sampler`, as arrays, or the path of a table in any decoder's format."""


def lines_of(text: Text) -> list[str]:
    """The lines of a text.

    >>> lines_of(["a b", "c"])
    ['a b', 'c']
    """
    return list(read_lines(text)) if isinstance(text, str | os.PathLike) else require_lines("a text", text)


def sets_of(texts: Text | Sequence[Text]) -> list[Text]:
    """Each of several texts, where one may be given by itself.

    A list of strings is one text, by its lines; several files are a list of Paths.

    >>> sets_of(["a b", "c"]), sets_of([["a b"], ["c"]])
    ([['a b', 'c']], [['a b'], ['c']])
    """
    if isinstance(texts, str | os.PathLike):
        return [texts]
    require_type("references", texts, Iterable, "a path, or a list of lines, or several")
    given: list[Any] = list(texts)
    return [given] if all(isinstance(each, str) for each in given) else given


def table_of(rules: RulesLike) -> RuleTable:
    """The table of rules; TypeError if it is something else."""
    if isinstance(rules, RuleTable):
        return rules
    if isinstance(rules, str | os.PathLike):
        return read_table(rules, spelling_of(rules))[0]
    found = getattr(rules, "table", None)
    if not isinstance(found, RuleTable):
        raise TypeError(f"rules is a {type(rules).__name__}; give Rules, or the path of a rule table")
    return found


def spelling_of(rules: RulesLike) -> str:
    """The format of the file that rules are in, whose decoder's language models they may come with.

    It is found as commands find it. That of rules which are no file, or in a pipe, is native.
    """
    if not isinstance(rules, str | os.PathLike) or is_stream(rules):
        return "native"
    try:
        return detect_format(rules, "native")
    except RuleTableError:
        return "native"  # The reader of our own format says what is wrong.


def weights_of(weights: Mapping[str, float] | PathLike) -> dict[str, float]:
    """Weights by feature; a TypeError or an ArgumentError if one is no number of a file's."""
    if isinstance(weights, str | os.PathLike):
        return read_weights(weights)
    require_type("weights", weights, Mapping, "a mapping from features to numbers, or a path")
    found: dict[str, float] = {}
    for name, value in weights.items():
        require_type("what a weight is of", name, str, "the name of a feature")
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"the weight of {name} is {repr(value)[:60]}; give a number")
        if not abs(_as_float(value)) <= LARGEST_WEIGHT:
            most = f"{LARGEST_WEIGHT:g}"
            found = f"the weight of {name} is {repr(value)[:60]}; weights are numbers from -{most} to {most}"
            raise ArgumentError(found)
        found[name] = float(value)
    return found


@contextlib.contextmanager
def of_weights(weights: object, place: Path) -> Iterator[None]:
    """What is wrong with weights that are written to a file within, said of what was given."""
    try:
        yield
    except InputError as error:
        if error.path != str(place):
            raise
        given = weights if isinstance(weights, str | os.PathLike) else "weights"
        raise type(error)(given, error.line, error.found, error.hint) from None


def _as_float(value: Any) -> float:
    """A real number as a float, infinite if it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
