"""Nonterminals other than X: which label stands on the left of a rule, and which its gaps have.

A rule of a table has a *kind*: the label of its left-hand side, then those of its gaps in source order. There
are few kinds, so a table has a list of them and a number for each rule; a table all of whose nonterminals are
X has no `Labels` at all. The fact a newcomer would get wrong: gap k of the target side is gap k of the source
side, with the same label, so labels are said once.

In text a label stands in brackets, `[NP]` on the left and `[NP,1]` for a gap. What would end it there, white
space, control characters, brackets, bars and commas, is written `&#N;` as in words (see
`scfg_sampler.rules.text`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.ragged import group_rows
from scfg_sampler.core.arrays.vocabulary import Vocabulary

__all__ = [
    "Kind",
    "Labels",
    "gap_counts",
    "gap_labels",
    "gap_symbols",
    "gap_texts",
    "joined_labels",
    "kind_of",
    "labels_of_kinds",
    "labels_of_rows",
    "left_labels",
    "take_labels",
]

Kind = tuple[str, ...]
"""The label of a left-hand side and those of the gaps in source order; () if all of them are X."""


class Labels(NamedTuple):
    """The labels of the R rules of a table.

    names : L labels; the first is X
    kinds : int32 (K, W), different rows: the left-hand side, then the gaps, filled with −1
    kind : int32 (R,), the kind of each rule
    """

    names: tuple[str, ...]
    kinds: np.ndarray
    kind: np.ndarray

    @property
    def lhs(self) -> np.ndarray:
        """The label of the left-hand side of each rule, int32 (R,)."""
        return self.kinds[self.kind, 0]


def kind_of(labels: Labels | None, row: int) -> Kind:
    """The kind of a rule of a table."""
    if labels is None:
        return ()
    found = labels.kinds[labels.kind[row]]
    return tuple(labels.names[label] for label in found[found >= 0].tolist()) if (found > 0).any() else ()


def left_labels(labels: Labels | None) -> tuple[str, ...]:
    """The labels that stand on the left of rules, after X, which words without rules have."""
    if labels is None:
        return ("X",)
    used = np.unique(labels.lhs)
    return ("X", *(labels.names[label] for label in used.tolist() if label))


def gap_labels(labels: Labels | None) -> tuple[str, ...]:
    """The labels that gaps of rules have; X alone where there are no others."""
    if labels is None:
        return ("X",)
    gaps = labels.kinds[np.unique(labels.kind), 1:]
    return tuple(labels.names[label] for label in np.unique(gaps[gaps >= 0]).tolist())


def take_labels(labels: Labels | None, rows: np.ndarray) -> Labels | None:
    """The labels of the rules of some rows."""
    return None if labels is None else labels._replace(kind=labels.kind[rows])


def labels_of_kinds(kinds: Iterable[Kind], arity: np.ndarray) -> Labels | None:
    """The labels of rules one by one; None if they are all X.

    arity : int64 (R,), how many gaps each rule has
    """
    rows: list[int] = []
    names = Vocabulary(["X"])
    for kind, gaps in zip(kinds, arity.tolist(), strict=True):
        rows += names.add_all(kind) if kind else [0] * (gaps + 1)
    start = np.zeros(len(arity) + 1, np.int64)
    np.cumsum(arity + 1, out=start[1:])
    return labels_of_rows(names.words, start, np.array(rows, np.int32))


def labels_of_rows(names: Sequence[str], start: np.ndarray, values: np.ndarray) -> Labels | None:
    """The labels of rules given as ragged rows; None if they are all X.

    Parameters
    ----------
    names : of the labels; the first is X
    start, values : int64 (R + 1,), int32: of each rule the left-hand side, then its gaps
    """
    if not values.any():
        return None
    kind, first = group_rows(start, values)
    lengths = start[first + 1] - start[first]
    place = np.arange(int(lengths.max()))
    at = np.minimum(start[first][:, None] + place, len(values) - 1)
    kinds = np.where(place < lengths[:, None], values[at], -1).astype(np.int32)
    return Labels(tuple(names), kinds, kind)


def joined_labels(parts: Sequence[tuple[Labels | None, np.ndarray]]) -> Labels | None:
    """The labels of the rules of several tables, one after the other; None if they are all X.

    parts : the labels of each table, and how many gaps each of its rules has, int64 (R,)
    """
    if all(labels is None for labels, _ in parts):
        return None
    names, lengths, values = Vocabulary(["X"]), list[np.ndarray](), list[np.ndarray]()
    for labels, arity in parts:
        lengths.append(arity + 1)
        if labels is None:
            values.append(np.zeros(int(lengths[-1].sum()), np.int32))
        else:
            number = np.array(names.add_all(labels.names), np.int32)
            rows = labels.kinds[labels.kind]
            values.append(number[rows[rows >= 0]])
    start = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return labels_of_rows(names.words, start, np.concatenate(values))


def gap_counts(start: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """How many gaps one side of each rule has, int64 (R,)."""
    before = np.concatenate([[0], np.cumsum(symbols < 0)])
    return np.diff(before[start])


def gap_symbols(labels: Labels, start: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """One side of all rules with gap k, numbered −1−k, numbered −1 − (k + W·label); int32.

    So gaps of different labels are different symbols. W is the width of `labels.kinds`.
    """
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    is_gap = symbols < 0
    gap = -1 - symbols[is_gap]
    label = labels.kinds[labels.kind[row[is_gap]], 1 + gap]
    found = symbols.astype(np.int32, copy=True)
    found[is_gap] = -1 - (gap + labels.kinds.shape[1] * label)
    return found


def gap_texts(labels: Labels, spell: Callable[[str, int], str]) -> list[str]:
    """How the gaps of `gap_symbols` are spelled, in their order.

    spell : of a label and n = 1, 2, …
    """
    width = labels.kinds.shape[1]
    return [spell(name, k + 1) for name in labels.names for k in range(width)]
