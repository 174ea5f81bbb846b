"""Which features of a table have a column, a number for every rule, and which are kept for few rules alone.

Up to 256 features have columns. Where there are more names, as with sparse features such as one for every
pair of words, those that at least half of the rules name have columns, and our own; all others are sparse:
rows of names and values, without zeros. The fact a newcomer would get wrong: what is counted is whether a
rule names a feature, not whether it is other than 0, so that a table that is written, with a number for
every rule in each column, has the same columns when it is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.sparse import Rows

__all__ = ["FEATURE_NAMES", "MOST_COLUMNS", "Columns", "SparseFeatures", "in_columns"]

FEATURE_NAMES = (
    "LogForward",
    "LogBackward",
    "LexForward",
    "LexBackward",
    "LogCount",
    "TargetWords",
    "Abstract",
)
"""Our own features, in our order."""
MOST_COLUMNS = 256
"""Features that may have a column each, and names from which on some do not."""


class SparseFeatures(NamedTuple):
    """Features that few rules have.

    names : sorted
    rows : float32, a row for each rule and a column for each name, without zeros
    """

    names: tuple[str, ...]
    rows: Rows


class Columns(NamedTuple):
    """The features of R rules.

    features : float32 (R, F)
    names : F strings
    sparse : None if all features have columns
    """

    features: np.ndarray
    names: tuple[str, ...]
    sparse: SparseFeatures | None


def in_columns(names: Sequence[str], given: np.ndarray, features: np.ndarray, more: Rows) -> Columns:
    """The features of a table, told apart.

    Parameters
    ----------
    names : of all N features
    given : int64 (N,), how many rules name each
    features : float32 (R, D), the first D features, for all rules
    more : the others as rules name them, maybe as 0, in any order; columns are indices into `names`
    """
    num_rules, num_first = features.shape
    row_of = np.repeat(np.arange(num_rules), np.diff(more.start))
    if len(names) <= MOST_COLUMNS:
        whole = np.zeros((num_rules, len(names)), np.float32)
        whole[:, :num_first] = features
        whole[row_of, more.column] = more.values
        return Columns(whole, tuple(names), None)
    has_column = _with_column(names, given, num_rules)
    kept = np.flatnonzero(has_column).tolist()
    whole = np.zeros((num_rules, len(kept)), np.float32)
    first = [k for k in kept if k < num_first]
    whole[:, : len(first)] = features[:, first]
    place = np.cumsum(has_column) - 1
    is_kept = has_column[more.column]
    whole[row_of[is_kept], place[more.column[is_kept]]] = more.values[is_kept]

    others = sorted(np.flatnonzero(~has_column).tolist(), key=lambda k: names[k])
    place[others] = np.arange(len(others))
    early = np.flatnonzero(~has_column[:num_first])
    rows, columns = np.nonzero(features[:, early])
    is_sparse = ~is_kept & (more.values != 0.0)
    row_of = np.concatenate([rows, row_of[is_sparse]])
    column = place[np.concatenate([early[columns], more.column[is_sparse]])]
    values = np.concatenate([features[rows, early[columns]], more.values[is_sparse]]).astype(np.float32)
    order = np.argsort(row_of * len(others) + column)
    start = np.zeros(num_rules + 1, np.int64)
    np.cumsum(np.bincount(row_of, minlength=num_rules), out=start[1:])
    sparse = Rows(start, column[order].astype(np.int32), values[order], len(others))
    apart = SparseFeatures(tuple(names[k] for k in others), sparse)
    return Columns(whole, tuple(names[k] for k in kept), apart)


def _with_column(names: Sequence[str], given: np.ndarray, num_rules: int) -> np.ndarray:
    """Which names have a column: ours, and of the others those that at least half of the rules have."""
    is_own = np.array([name in FEATURE_NAMES for name in names], np.bool_)
    often = np.flatnonzero(~is_own & (2 * given >= num_rules))
    often = often[np.argsort(-given[often], kind="stable")][: MOST_COLUMNS - int(is_own.sum())]
    has_column = is_own.copy()
    has_column[often] = True
    return has_column
