"""Counted rules in flat arrays.

A right-hand side is a sequence of symbols: a word id ≥ 0, or −1−k for nonterminal k. Nonterminals are
numbered 0, 1, … in source order, and the target names them by those numbers, so a rule that swaps is
(−1, −2) → (−2, −1). The fact a newcomer would get wrong: a rule is its two sides only. Occurrences of one
rule may differ in their inner word alignment; merging (`rules.store`) adds their counts and keeps the
alignment that carries most of them, as the lexical weights of Koehn, Och and Marcu (2003) ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.elementary import exp_each, log_each
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = [
    "PRECISION",
    "RuleCounts",
    "counts_of",
    "empty_rule_counts",
    "require_counts",
    "select_rules",
    "uncertainty",
]

PRECISION = 2e-6
"""Relative, of a count up to e that comes from a table, where its logarithm has seven digits."""

_LEAST_COUNT, _LARGEST_COUNT = 1e-200, 1e200  # Beyond, sums and weighted counts leave the range of numbers.


class RuleCounts(NamedTuple):
    """R rules and their counts; rule r owns `start[r]:start[r + 1]` of each ragged array.

    source_start, target_start, alignment_start : int64, shape (R + 1,)
    source, target : int32, symbols
    alignment : int32, shape (A, 2), pairs of positions in the two right-hand sides (nonterminals are
        counted as positions, but only words are linked), sorted within a rule
    count : float64, shape (R,), positive
    """

    source_start: np.ndarray
    source: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    alignment_start: np.ndarray
    alignment: np.ndarray
    count: np.ndarray  # type: ignore[assignment]

    @property
    def num_rules(self) -> int:
        return len(self.count)


def empty_rule_counts() -> RuleCounts:
    """No rules."""
    start, symbols = np.zeros(1, np.int64), np.zeros(0, np.int32)
    return RuleCounts(start, symbols, start, symbols, start, np.zeros((0, 2), np.int32), np.zeros(0))


def select_rules(counts: RuleCounts, rows: np.ndarray) -> RuleCounts:
    """The rules of the given rows (indices or a mask), in that order."""
    if rows.dtype == np.bool_:
        rows = np.flatnonzero(rows)
    source_start, source = take_rows(counts.source_start, counts.source, rows)
    target_start, target = take_rows(counts.target_start, counts.target, rows)
    alignment_start, alignment = take_rows(counts.alignment_start, counts.alignment, rows)
    return RuleCounts(
        source_start, source, target_start, target, alignment_start, alignment, counts.count[rows]
    )


def require_counts(count: np.ndarray, path: PathLike) -> None:
    """Raise an InputError unless counts of a table, float64 (R,), are numbers that can be added up."""
    wrong = ~((count >= _LEAST_COUNT) & (count <= _LARGEST_COUNT))
    if wrong.any():
        row = int(np.argmax(wrong))
        found = f"the LogCount of rule {row + 1} is of a count of {count[row]:g}"
        limits = f"Counts are from {_LEAST_COUNT:g} to {_LARGEST_COUNT:g}"
        raise InputError(path, None, found, f"{limits}; is it a logarithm?")


def counts_of(features: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """What the feature LogCount of rules says their counts are, or 1 where there is no such feature.

    Parameters
    ----------
    features : float32 (R, F)
    names : sequence of F strings

    Returns
    -------
    float64 (R,)

    >>> counts_of(np.array([[0.0, 3.0], [np.log(4.0), 3.0]]), ("LogCount", "TargetWords")).round(6).tolist()
    [1.0, 4.0]
    """
    if "LogCount" not in names:
        return np.ones(len(features))
    return exp_each(features[:, names.index("LogCount")].astype(np.float64))


def uncertainty(count: np.ndarray) -> np.ndarray:
    """How far counts may be from what they were before they went to a table; float64 (R,).

    >>> float(uncertainty(np.array([2.9999990]))[0]) > 3 - 2.9999990
    True
    """
    return PRECISION * count * np.maximum(1.0, np.abs(log_each(np.maximum(count, 1e-300))))
