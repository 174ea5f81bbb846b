"""Tables from rules one by one, rules from tables, and numbers that come back exactly."""

from __future__ import annotations

import itertools
import math
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np

from scfg_sampler.core.arrays.sparse import Rows
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.rules.columns import FEATURE_NAMES, Columns, in_columns
from scfg_sampler.rules.features import count_words
from scfg_sampler.rules.labels import gap_counts, kind_of, labels_of_kinds
from scfg_sampler.rules.table import RuleTable
from scfg_sampler.rules.text import Rule, RuleProblem

__all__ = [
    "LEAST_LOG",
    "TableBuilder",
    "iterate_rules",
    "log",
    "marginals",
    "shortest",
    "shortest_exp",
    "write_lines",
]

LEAST_LOG = -690.0
"""Stands for the logarithm of 0, about the smallest that a double can be the exponential of."""

_CHUNK = 10_000


class TableBuilder:
    """A table that rules are added to one at a time, with our feature names.

    `TargetWords` and `Abstract` are counted, not taken from the rules.
    """

    def __init__(self) -> None:
        self._vocabularies = Vocabulary(), Vocabulary()
        self._starts = array("q", [0]), array("q", [0]), array("q", [0])
        self._values = array("i"), array("i"), array("i")
        self._names: dict[str, int] = {}
        self._given = array("q", [0]), array("i"), array("f")  # Features of each rule, their names, values.
        self._labels: list[tuple[str, ...]] = []

    def add(self, rule: Rule) -> None:
        """Append a rule; a RuleProblem if it has a feature that is too large."""
        for side in (0, 1):
            add = self._vocabularies[side].add
            symbols: tuple[str | int, ...] = (rule.source, rule.target)[side]
            self._values[side].extend(x if isinstance(x, int) else add(x) for x in symbols)
        for link in rule.alignment:
            self._values[2].extend(link)
        for start, values, width in zip(self._starts, self._values, (1, 1, 2), strict=True):
            start.append(len(values) // width)
        for name, value in rule.features.items():
            if not abs(value) < 3.4e38:
                raise RuleProblem(
                    f"the feature {name} is {value:g}", "Features are numbers of single precision"
                )
            self._given[1].append(self._names.setdefault(name, len(self._names)))
            self._given[2].append(value)
        self._given[0].append(len(self._given[1]))
        self._labels.append(rule.labels)

    def table(self, signature: str) -> RuleTable:
        """The table of the rules added so far."""
        starts = [np.array(start, np.int64) for start in self._starts]
        source, target = (np.array(self._values[side], np.int32) for side in (0, 1))
        features, names, sparse = self._features(starts[0], source, starts[1], target)
        count = np.ones(len(features))
        if "LogCount" in self._names:
            count = np.exp(features[:, names.index("LogCount")].astype(np.float64))
        return RuleTable(
            *self._vocabularies,
            starts[0],
            source,
            starts[1],
            target,
            starts[2],
            np.array(self._values[2], np.int32).reshape(-1, 2),
            count,
            features,
            names,
            signature,
            sparse,
            labels_of_kinds(self._labels, gap_counts(starts[0], source)) if any(self._labels) else None,
        )

    def _features(
        self, source_start: np.ndarray, source: np.ndarray, target_start: np.ndarray, target: np.ndarray
    ) -> Columns:
        """The features of all rules: ours in our order, then the others as they came."""
        target_words = count_words(target_start, target)
        counted = {
            "TargetWords": target_words,
            "Abstract": (target_words == 0) & (count_words(source_start, source) == 0),
        }
        ours = [name for name in FEATURE_NAMES if name in counted or name in self._names]
        names = [*ours, *(name for name in self._names if name not in FEATURE_NAMES)]
        number = {name: k for k, name in enumerate(names)}
        start, given = np.array(self._given[0], np.int64), np.array(self._given[1], np.int32)
        column = np.array([number[name] for name in self._names], np.int32)[given]
        values = _seven_digits(np.array(self._given[2], np.float32))
        row = np.repeat(np.arange(len(start) - 1), np.diff(start))
        features = np.zeros((len(start) - 1, len(ours)), np.float32)
        is_ours = column < len(ours)
        features[row[is_ours], column[is_ours]] = values[is_ours]
        for name, counts in counted.items():
            features[:, number[name]] = counts
        start[1:] -= np.cumsum(np.bincount(row[is_ours], minlength=len(start) - 1))
        more = Rows(start, column[~is_ours], values[~is_ours], len(names))
        return in_columns(names, np.bincount(column, minlength=len(names)), features, more)


def _seven_digits(values: np.ndarray) -> np.ndarray:
    """The float32 that seven digits of each value stand for, as the native format would have brought it back.

    So a table is the same to the last bit whether it is read from here or by way of the native format.
    """
    exact = values.astype(np.float64)
    magnitude = np.floor(np.log10(np.abs(exact), where=exact != 0.0, out=np.zeros_like(exact)))
    small = np.clip(6 - magnitude, 0, 300)
    large = np.clip(magnitude - 6, 0, None)
    rounded = np.rint(exact * 10.0**small / 10.0**large) / 10.0**small * 10.0**large
    return rounded.astype(np.float32)


def iterate_rules(table: RuleTable, rows: np.ndarray | None = None) -> Iterator[Rule]:
    """The rules of a table as text, in the given order."""
    rows = np.arange(table.num_rules) if rows is None else rows
    sides = (
        (table.source_start, table.source, table.source_vocabulary.words),
        (table.target_start, table.target, table.target_vocabulary.words),
    )
    for begin in range(0, len(rows), _CHUNK):
        chunk = rows[begin : begin + _CHUNK]
        spelled = []
        for start, symbols, words in sides:
            extents = zip(start[chunk].tolist(), start[chunk + 1].tolist(), strict=True)
            ids = (symbols[a:b].tolist() for a, b in extents)
            spelled.append([tuple(words[x] if x >= 0 else x for x in side) for side in ids])
        extents = zip(
            table.alignment_start[chunk].tolist(), table.alignment_start[chunk + 1].tolist(), strict=True
        )
        links = [tuple(map(tuple, table.alignment[a:b].tolist())) for a, b in extents]
        features = _named_features(table, chunk)
        labels = (kind_of(table.labels, row) for row in chunk.tolist())
        yield from map(Rule, *spelled, features, links, labels)


def _named_features(table: RuleTable, rows: np.ndarray) -> Iterator[dict[str, float]]:
    """The features of some rules, by name; those that few rules have only where they are not 0."""
    named = (dict(zip(table.feature_names, values, strict=True)) for values in table.features[rows].tolist())
    if table.sparse is None:
        yield from named
        return
    names, (start, column, values, _) = table.sparse
    for row, features in zip(rows.tolist(), named, strict=True):
        at = slice(start[row], start[row + 1])
        yield features | dict(zip((names[k] for k in column[at].tolist()), values[at].tolist(), strict=True))


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write lines in order."""
    with atomic_output(path) as stream:
        # Lines come sorted by their sides; where nonterminals have no numbers, several may have the same.
        for _, group in itertools.groupby(lines, key=lambda line: line.split(" ||| ", 2)[:2]):
            stream.writelines(line + "\n" for line in sorted(group))


def shortest(value: float, there: Callable[[float], float], back: Callable[[float], float]) -> str:
    """The shortest spelling of there(value) that `back` turns into the value again.

    Into the same seven digits, that is, once it has been rounded to float32 as tables hold it.
    """
    other = there(value)
    wanted = f"{value:.7g}"
    for digits in (4, 7, 9, 12):
        text = f"{other:.{digits}g}"
        if f"{_float32(back(float(text))):.7g}" == wanted:
            return text
    return repr(other)


def _float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


@lru_cache(maxsize=1 << 16)
def shortest_exp(value: float) -> str:
    """The exponential of a logarithm, as `shortest` spells it."""
    return shortest(max(value, LEAST_LOG), math.exp, log)


def log(prob: float) -> float:
    """The natural logarithm of a probability or count, LEAST_LOG if it is 0.

    Rounded to 14 decimals, so that what is 1 but for rounding has the logarithm 0.
    """
    return round(math.log(prob), 14) + 0.0 if prob > 0.0 else LEAST_LOG


def marginals(features: dict[str, float]) -> tuple[float, float, float]:
    """The count of a rule, of its source side and of its target side, as far as its features tell.

    The half that our phrase probabilities have in their denominators is taken off. Those of a side whose
    probability is as good as 0 are exp(690).
    """
    count = features.get("LogCount", 0.0)
    logs = (min(count - features.get(name, 0.0), -LEAST_LOG) for name in _PHRASE)
    sides = (max(math.exp(count), math.exp(log_side) - 0.5) for log_side in logs)
    return (math.exp(count), *sides)  # type: ignore[return-value]


_PHRASE = ("LogForward", "LogBackward")
