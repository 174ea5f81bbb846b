"""Tables from rules one by one, rules from tables, and numbers that come back exactly."""

from __future__ import annotations

import itertools
import math
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from scfg_sampler.core.arrays.sparse import Rows
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.rules.columns import FEATURE_NAMES, Columns, in_columns
from scfg_sampler.rules.counts import counts_of
from scfg_sampler.rules.features import count_words
from scfg_sampler.rules.labels import gap_counts, kind_of, labels_of_kinds
from scfg_sampler.rules.table import RuleTable
from scfg_sampler.rules.text import Rule, RuleProblem

__all__ = [
    "LEAST_LOG",
    "Lines",
    "TableBuilder",
    "iterate_rules",
    "log",
    "marginals",
    "marginals_of_each",
    "plain_of_each",
    "shortest",
    "shortest_exp",
    "shortest_exp_of_each",
    "shortest_of_each",
    "write_lines",
]

Lines = tuple[list[str], list[str], list[str]]
"""Of some rules: source sides and target sides, by which equal rules are told, and lines."""

LEAST_LOG = -690.0
"""Stands for the logarithm of 0, about the smallest that a double can be the exponential of."""

_CHUNK = 10_000
_AT_ONCE = 1 << 12  # Values rounded.


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
        return RuleTable(
            *self._vocabularies,
            starts[0],
            source,
            starts[1],
            target,
            starts[2],
            np.array(self._values[2], np.int32).reshape(-1, 2),
            counts_of(features, names),
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
        row = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
        features = np.zeros((len(start) - 1, len(ours)), np.float32)
        is_ours = column < len(ours)
        features[row[is_ours], column[is_ours]] = values[is_ours]
        for name, counts in counted.items():
            features[:, number[name]] = counts
        start[1:] -= np.cumsum(np.bincount(row[is_ours], minlength=len(start) - 1))
        more = Rows(start, column[~is_ours], values[~is_ours], len(names))
        return in_columns(names, np.bincount(column, minlength=len(names)), features, more)


def _seven_digits(values: np.ndarray) -> np.ndarray:
    """The float32 that seven digits of each value stand for, as the native format brings it back.

    They take the place of the values. So a table is the same to the last bit whether it is read from here or
    by way of the native format.
    """
    for begin in range(0, len(values), _AT_ONCE):  # In double precision all would take ten times their room.
        part = values[begin : begin + _AT_ONCE]
        part[:] = _rounded(part.astype(np.float64))
    return values


def _rounded(exact: np.ndarray) -> np.ndarray:
    magnitude = np.floor(np.log10(np.abs(exact), where=exact != 0.0, out=np.zeros_like(exact)))
    small = np.clip(6 - magnitude, 0, 300)
    large = np.clip(magnitude - 6, 0, None)
    return np.rint(exact * 10.0**small / 10.0**large) / 10.0**small * 10.0**large


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


def write_lines(path: PathLike, parts: Iterable[Lines]) -> None:
    """Write lines in order, some at a time: source sides, target sides, and the lines of their rules.

    Where nonterminals have no numbers, several rules may have the same sides; their lines are sorted.
    """
    with atomic_output(path) as stream:
        held: Lines = ([], [], [])  # Those with the last sides, of which the next part may have more.
        for part in parts:
            sources, targets, lines = (before + more for before, more in zip(held, part, strict=True))
            is_last = [one != other for one, other in itertools.pairwise(targets)]
            ends = [k + 1 for k in range(len(is_last)) if is_last[k] or sources[k] != sources[k + 1]]
            if len(ends) + 1 < len(lines):
                for begin, end in itertools.pairwise([0, *ends, len(lines)]):
                    lines[begin:end] = sorted(lines[begin:end])
            at = ends[-1] if ends else 0
            held = sources[at:], targets[at:], lines[at:]
            del lines[at:]
            stream.write("\n".join([*lines, ""]))
        stream.write("\n".join([*held[2], ""]))


def shortest(value: float, there: Callable[[float], float], back: Callable[[float], float]) -> str:
    """The shortest spelling of there(value) that `back` turns into the value again.

    Into the same seven digits, that is, once it has been rounded to float32 as tables hold it. −0 is 0.
    """
    value += 0.0
    other = there(value)
    wanted = f"{value:.7g}"
    for digits in (4, 7, 9, 12):
        text = f"{other:.{digits}g}"
        if f"{_float32(back(float(text))):.7g}" == wanted:
            return text
    return repr(other)


def shortest_of_each(
    values: Sequence[float], there: Callable[[float], float], back: Callable[[float], float]
) -> list[str]:
    """`shortest` of each of many values, which float32 can hold."""
    values = [value + 0.0 for value in values]
    others = list(map(there, values))
    texts = np.empty(len(values), object)
    wanted = np.array(values, np.float32)
    is_open = np.ones(len(values), np.bool_)
    for digits in (4, 7, 9, 12):
        if digits == 4:
            tried = np.flatnonzero(_may_be_short(np.array(others, np.float64), wanted, back))
        else:
            tried = np.flatnonzero(is_open)
        form = f"%.{digits}g"
        spelled = [form % others[k] for k in tried.tolist()]
        is_found = _is_same(_of_each(back, list(map(float, spelled))), wanted[tried])
        texts[tried[is_found]] = list(itertools.compress(spelled, is_found.tolist()))
        is_open[tried[is_found]] = False
    for k in np.flatnonzero(is_open).tolist():
        texts[k] = repr(others[k])
    return texts.tolist()


def _may_be_short(others: np.ndarray, values: np.ndarray, back: Callable[[float], float]) -> np.ndarray:
    """Whether four digits of a number might do; False only where they are far from it."""
    with np.errstate(all="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(others))) - 3)
        rounded = np.rint(others / unit) * unit
        is_usual = np.isfinite(rounded) & (rounded != 0.0)
        gap = np.abs(_of_each(back, np.where(is_usual, rounded, 1.0).tolist()) - values)
        return ~is_usual | ~(gap > 4e-6 * np.abs(values) + 1e-12)


def _is_same(exact: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Whether numbers, once they are float32, have the seven digits that are wanted."""
    with np.errstate(over="ignore", invalid="ignore"):
        came = exact.astype(np.float32)
        is_far = np.abs(came - wanted) > 2e-6 * np.abs(wanted)
    if (np.isinf(came) & np.isfinite(exact)).any():
        raise OverflowError("beyond single precision")
    is_same = came.view(np.int32) == wanted.view(np.int32)
    # Others, too, may have the same seven digits if they are close; −0 and 0 have not.
    for k in np.flatnonzero(~is_same & ~is_far).tolist():
        is_same[k] = f"{came[k]:.7g}" == f"{wanted[k]:.7g}"
    return is_same


def _of_each(function: Callable[[float], float], numbers: list[float]) -> np.ndarray:
    """A function of each of many numbers, float64; of `log`, what rounds to the same float32."""
    if function is not log or min(numbers, default=1.0) <= 0.0:
        return np.array(list(map(function, numbers)), np.float64)
    logs = np.array(list(map(math.log, numbers)), np.float64)
    # To 14 decimals, which costs more than the logarithm, only where that makes a difference.
    is_unsure = (logs - 1e-14).astype(np.float32) != (logs + 1e-14).astype(np.float32)
    for k in np.flatnonzero(is_unsure).tolist():
        logs[k] = log(numbers[k])
    return logs


def shortest_exp_of_each(values: Sequence[float]) -> list[str]:
    """`shortest_exp` of each of many values."""
    return shortest_of_each([max(value, LEAST_LOG) for value in values], math.exp, log)


def plain_of_each(values: Sequence[float]) -> list[str]:
    """Numbers with seven significant digits."""
    return [f"{value:.7g}" for value in values]


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


def marginals_of_each(table: RuleTable, rows: np.ndarray) -> tuple[list[float], list[float], list[float]]:
    """`marginals` of some rules of a table."""

    def column(name: str) -> np.ndarray:
        if name not in table.feature_names:
            return np.zeros(len(rows))
        return table.features[rows, table.feature_names.index(name)].astype(np.float64)

    logs = column("LogCount")
    count = list(map(math.exp, logs.tolist()))
    sides = []
    for name in _PHRASE:
        of_side = map(math.exp, np.minimum(logs - column(name), -LEAST_LOG).tolist())
        sides.append([max(own, whole - 0.5) for own, whole in zip(count, of_side, strict=True)])
    return count, sides[0], sides[1]


_PHRASE = ("LogForward", "LogBackward")
