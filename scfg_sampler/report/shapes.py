"""Rule tables in numbers: histograms by what rules are, and the shapes they have.

The shape of a rule is its two sides with every stretch of words replaced by one w: that of `ne [X,1] pas`
→ `not [X,1]` is w ① w → w ①. A rule with two nonterminals or more is monotone if they come in the same order
on both sides.

The fact a newcomer would get wrong: rules and their uses are two things. Most *rules* of a sampled table are
long and rare, most *uses* (the sum of the counts) are of short and frequent ones; both are given everywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.svg import circled
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.counts import uncertainty
from scfg_sampler.rules.filters import num_nonterminals, source_scope
from scfg_sampler.rules.table import RuleTable

__all__ = [
    "Histogram",
    "Shape",
    "forward_probabilities",
    "histograms",
    "shape_rows",
    "shapes",
]

_LONGEST = 9
_COUNTS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0, 1000.0)
_SYMBOLS = 15
"""Symbols of a shape's side that have room in 64 bits; whatever is longer is in no shape of its own."""

_SYMBOL_CODES = {"w": 1} | {name(k): k + 1 for k in range(1, 15) for name in (str, circled)}


class Histogram(NamedTuple):
    """Rules by one of their properties."""

    name: str
    labels: tuple[str, ...]
    rules: np.ndarray
    """int64 (B,)."""
    uses: np.ndarray
    """float64 (B,): the sums of their counts."""


class Shape(NamedTuple):
    """Rules of one shape."""

    text: str
    rows: np.ndarray
    """int64 (N,): those with the highest counts first."""
    uses: float


def histograms(table: RuleTable, shares: np.ndarray) -> list[Histogram]:
    """A table by length, words, nonterminals, order, scope, count and probability.

    Parameters
    ----------
    table : RuleTable
    shares : float64 (R,)
        As `forward_probabilities` gives them.
    """
    lengths = np.diff(table.source_start)
    targets = np.diff(table.target_start)
    nonterminals = num_nonterminals(table)
    up_to = (*map(str, range(1, _LONGEST + 1)), f"{_LONGEST + 1}–")
    words = ("0", *up_to)
    order = np.where(nonterminals < 2, nonterminals, 2 + _reorders(table))
    # What was used ten times comes out of a table as 9.999999 times.
    counts = np.searchsorted(_COUNTS, table.count + uncertainty(table.count), side="right") - 1
    between = [f"{low:g} – {high:g}" for low, high in itertools.pairwise(_COUNTS)]
    tenths = np.minimum((shares * 10 + 1e-4).astype(np.int64), 9)
    kinds = [
        ("symbols on the source side", up_to, np.minimum(lengths, _LONGEST + 1) - 1),
        ("source words", words, np.minimum(lengths - nonterminals, _LONGEST + 1)),
        ("target words", words, np.minimum(targets - nonterminals, _LONGEST + 1)),
        ("nonterminals", ("0", "1", "2", "3", "4–"), np.minimum(nonterminals, 4)),
        ("order of the nonterminals", ("none", "a single one", "monotone", "reordered"), order),
        ("scope", ("0", "1", "2", "3", "4–"), np.minimum(source_scope(table), 4)),
        ("count", (*between, f"{_COUNTS[-1]:g} –"), counts),
        ("P(target | source)", tuple(f"{k / 10:g} – {(k + 1) / 10:g}" for k in range(10)), tenths),
    ]
    return [_histogram(table.count, *kind) for kind in kinds]


def _histogram(count: np.ndarray, name: str, labels: Sequence[str], bins: np.ndarray) -> Histogram:
    """A histogram without the bins in which nothing is."""
    rules = np.bincount(bins, minlength=len(labels))
    uses = np.bincount(bins, weights=count, minlength=len(labels))
    kept = [at for at in range(len(labels)) if rules[at]]
    return Histogram(name, tuple(labels[at] for at in kept), rules[kept], uses[kept])


def forward_probabilities(table: RuleTable) -> np.ndarray:
    """The share of each rule's count in those of its source side, within the table; float64 (R,)."""
    group = group_rows(table.source_start, table.source)[0]
    return table.count / np.bincount(group, weights=table.count)[group] if len(group) else table.count


def _reorders(table: RuleTable) -> np.ndarray:
    """Which rules have nonterminals in another order on the target side; bool (R,)."""
    at = np.flatnonzero(table.target < 0)
    row = np.searchsorted(table.target_start, at, side="right") - 1
    # Nonterminal k is −1−k: where they ascend, an earlier number follows a later one.
    falls = (row[1:] == row[:-1]) & (table.target[at[1:]] > table.target[at[:-1]])
    found = np.zeros(table.num_rules, bool)
    found[row[1:][falls]] = True
    return found


def shapes(table: RuleTable, most: int) -> list[Shape]:
    """The shapes whose rules are used most, the first most of all.

    Parameters
    ----------
    table : RuleTable
    most : int
        At most so many.
    """
    sides = [
        _codes(start, symbols)
        for start, symbols in ((table.source_start, table.source), (table.target_start, table.target))
    ]
    fits = (sides[0] >= 0) & (sides[1] >= 0)
    rows = np.flatnonzero(fits)
    if not len(rows):
        return []
    (one, of_one), (other, of_other) = (np.unique(side[rows], return_inverse=True) for side in sides)
    of = of_one.reshape(-1) * len(other) + of_other.reshape(-1)
    uses = np.bincount(of, weights=table.count[rows])
    found = []
    for kind in np.argsort(-uses, kind="stable")[:most].tolist():
        if uses[kind] == 0.0:
            break
        members = rows[of == kind]
        members = members[np.argsort(-table.count[members], kind="stable")]
        codes = one[kind // len(other)], other[kind % len(other)]
        text = " → ".join(_spell(int(code)) for code in codes)
        found.append(Shape(text, members, float(uses[kind])))
    return found


def _codes(start: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """The shape of each side as digits to the base 16, 1 for words and 2 + k for nonterminal k.

    −1 where there are too many of them; int64 (R,).
    """
    num_rows = len(start) - 1
    if num_rows == 0:
        return np.zeros(0, np.int64)
    row = np.repeat(np.arange(num_rows), np.diff(start))
    is_word = symbols >= 0
    goes_on = np.zeros(len(symbols), bool)
    goes_on[1:] = is_word[1:] & is_word[:-1] & (row[1:] == row[:-1])
    row, digits = row[~goes_on], np.where(is_word, 1, 1 - symbols.astype(np.int64))[~goes_on]
    first = np.searchsorted(row, np.arange(num_rows))
    place = np.arange(len(row)) - first[row]
    fits = np.ones(num_rows, bool)
    fits[row[(place >= _SYMBOLS) | (digits > 15)]] = False
    inside = fits[row]
    codes = np.zeros(num_rows, np.int64)
    np.add.at(codes, row[inside], digits[inside] << (4 * place[inside]))
    return np.where(fits, codes, -1)


def shape_rows(table: RuleTable, text: str) -> np.ndarray:
    """Which rules have a shape; bool (R,).

    Parameters
    ----------
    table : RuleTable
    text : str
        As `Shape.text` has it, as in `w ① → ① w`; nonterminals may be written 1, 2, … and the arrow ->.

    Raises
    ------
    SettingsError
        It is no shape.
    """
    sides = text.replace("->", "→").split("→")
    codes = [_code_of(side) for side in sides]
    if len(sides) != 2 or not all(codes):
        raise SettingsError(f"{text!r} is no shape; shapes are written as in w ① → ① w, or w 1 -> 1 w")
    one = _codes(table.source_start, table.source) == codes[0]
    return one & (_codes(table.target_start, table.target) == codes[1])


def _code_of(side: str) -> int:
    """What `_codes` gives a side of a shape; 0 if it is none."""
    symbols = [_SYMBOL_CODES.get(each, 0) for each in side.split()]
    if not all(symbols) or len(symbols) > _SYMBOLS:
        return 0
    return sum(code << (4 * place) for place, code in enumerate(symbols))


def _spell(code: int) -> str:
    parts = []
    while code:
        parts.append("w" if code % 16 == 1 else circled(code % 16 - 1))
        code //= 16
    return " ".join(parts)
