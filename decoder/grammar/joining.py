"""The features of several rule tables as those of one.

A feature that one table has in a column has one here; what all tables keep for few rules alone is kept so.
The fact a newcomer would get wrong: features are the same if their names are, prefixes included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.sparse import Rows, joined, no_rows
from scfg_sampler.rules.table import RuleTable, SparseFeatures

__all__ = ["JoinedFeatures", "joined_features"]


class JoinedFeatures(NamedTuple):
    """The features of the rules of all tables, one table after the other.

    names : F strings
    features : float32 (R, F), 0 where a table lacks the feature
    sparse : the others; None if there are none
    """

    names: tuple[str, ...]
    features: np.ndarray
    sparse: SparseFeatures | None


def joined_features(sources: Sequence[tuple[RuleTable, str]]) -> JoinedFeatures:
    """The features of tables, each with the prefix of the names of its features."""
    names = [tuple(prefix + name for name in table.feature_names) for table, prefix in sources]
    sparse = [_with_prefix(table.sparse, prefix) for table, prefix in sources]
    if len(sources) == 1:
        return JoinedFeatures(names[0], np.ascontiguousarray(sources[0][0].features, np.float32), sparse[0])
    columns = {name: i for i, name in enumerate(dict.fromkeys(name for part in names for name in part))}
    features = np.zeros((sum(len(table.features) for table, _ in sources), len(columns)), np.float32)
    others = sorted({name for part in sparse if part for name in part.names} - columns.keys())
    place = columns | {name: len(columns) + i for i, name in enumerate(others)}
    parts, at = [], 0
    for (table, _), part_names, part in zip(sources, names, sparse, strict=True):
        here = features[at : at + len(table.features)]
        here[:, [columns[name] for name in part_names]] = table.features
        parts.append(
            no_rows(len(here), len(others), np.float32) if part is None else _laid(part, here, place)
        )
        at += len(here)
    whole = SparseFeatures(tuple(others), joined(parts)) if others else None
    return JoinedFeatures(tuple(columns), features, whole)


def _with_prefix(sparse: SparseFeatures | None, prefix: str) -> SparseFeatures | None:
    return None if sparse is None else sparse._replace(names=tuple(prefix + name for name in sparse.names))


def _laid(part: SparseFeatures, features: np.ndarray, place: dict[str, int]) -> Rows:
    """The rows that are left of a table once what has a column, below the number of columns, is in it."""
    num_rules, num_columns = features.shape
    row_of = np.repeat(np.arange(num_rules), np.diff(part.rows.start))
    column = np.array([place[name] for name in part.names], np.int32)[part.rows.column]
    has_column = column < num_columns
    features[row_of[has_column], column[has_column]] = part.rows.values[has_column]
    start = np.searchsorted(row_of[~has_column], np.arange(num_rules + 1)).astype(np.int64)
    # Names are sorted in the table and here, so that columns stay in order.
    left = column[~has_column] - num_columns
    return Rows(start, left, part.rows.values[~has_column], len(place) - num_columns)
