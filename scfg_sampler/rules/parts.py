"""A sorted rule table in parts, each with all rules of its source sides, so that none has to be held whole.

P(target | source) of a rule needs the rules of its source side, which stand together; P(source | target)
needs counts over the whole table: `TargetTotals` adds them up by an external sort, under 64-bit fingerprints.

The fact a newcomer would get wrong: fingerprints are no proof of equality. Two of thirty million target sides
share one with a probability of 1 in 40,000; then their rules have a backward probability that is too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from scfg_sampler.core.arrays.external import Scratch, Sorter, Table
from scfg_sampler.core.arrays.hash_table import hash_sequence
from scfg_sampler.core.arrays.ragged import concatenated
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import RuleTableError
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.order import TextOrder
from scfg_sampler.rules.table import RuleTable, TableReader, select_rows

__all__ = ["TargetTotals", "read_parts"]

_BLOCKS = 4  # Of a part: some 32 MB of text.
_TARGET = np.dtype([("key", "i8"), ("place", "i8"), ("count", "f8")])
_TOTAL = np.dtype([("key", "i8"), ("total", "f8")])


def read_parts(path: PathLike, *, like: RuleTable | None = None) -> Iterator[RuleTable]:
    """The table of a file in the native format, a part at a time; parts share vocabularies, which grow.

    Parameters
    ----------
    path : path
    like : RuleTable, optional
        A part that was read of the same file, the last one: whose words parts are given, and may have none
        besides, and in the order of whose text they must be. Without it, rules of one source side may stand
        in two parts if the file is not sorted.

    Raises
    ------
    RuleTableError
        As `read_rule_table`; or the rules are not in order, or have different features.
    """
    reader, held, read = TableReader(path), None, []
    order = None if like is None else TextOrder(like.source_vocabulary, like.target_vocabulary)

    def checked(table: RuleTable) -> RuleTable:
        if like is None or order is None:
            return table
        for name in ("source_vocabulary", "target_vocabulary"):
            if len(getattr(table, name)) > len(getattr(like, name)):
                raise RuleTableError(path, None, "has changed while it was read", "Start again")
        if not (np.diff(order.rows(table)) == 1).all():
            raise RuleTableError(
                path, None, "rules are not sorted", "Restore the file, or sort it (LC_ALL=C)"
            )
        # The words of a part are the first of all words.
        return table._replace(
            source_vocabulary=like.source_vocabulary, target_vocabulary=like.target_vocabulary
        )

    for block in reader.blocks():
        read.append(block)
        if len(read) == _BLOCKS:
            table = checked(_behind(held, reader.table(read), path))
            read = []
            last = _first_of_last_source(table)
            held = select_rows(table, np.arange(last, table.num_rules))
            if last > 0:
                yield select_rows(table, np.arange(last))
            del table
    yield checked(_behind(held, reader.table(read), path))


def _behind(held: RuleTable | None, table: RuleTable, path: PathLike) -> RuleTable:
    """The rules that were held back and those that were read since, as one table."""
    if held is None:
        return table
    if table.num_rules == 0:
        return held
    if held.feature_names != table.feature_names or held.sparse is not None or table.sparse is not None:
        raise RuleTableError(path, None, "rules have different features", "Restore the file")
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(held, name), getattr(table, name)]) for name in ("count", "features")
    }
    for name in ("source", "target", "alignment"):
        rows = [(getattr(each, f"{name}_start"), getattr(each, name)) for each in (held, table)]
        arrays[f"{name}_start"], arrays[name] = concatenated(rows)
    return table._replace(**arrays)


def _first_of_last_source(table: RuleTable) -> int:
    """The first rule with the source side of the last one, which others may still follow."""
    start, source = table.source_start, table.source
    row = table.num_rules - 1
    last = source[start[row] : start[row + 1]]
    while row > 0 and np.array_equal(source[start[row - 1] : start[row]], last):
        row -= 1
    return max(row, 0)


class TargetTotals:
    """For every rule of a table the sum of counts over all rules with its target side.

    Parameters
    ----------
    scratch : Scratch
    """

    def __init__(self, scratch: Scratch):
        self._scratch = scratch
        self._targets = Sorter(scratch, _TARGET)
        self.num_rules = 0

    def add(self, counts: RuleCounts) -> None:
        """Count some more rules, which come after those counted."""
        records = np.empty(counts.num_rules, _TARGET)
        records["key"] = _fingerprints(counts.target_start, counts.target)
        records["place"] = np.arange(self.num_rules, self.num_rules + counts.num_rules)
        records["count"] = counts.count
        self._targets.add(records)
        self.num_rules += counts.num_rules

    def totals(self) -> Table:
        """float64, for each rule, in their order. Can be called once, when all rules have been counted."""
        by_place = Sorter(self._scratch, _TOTAL)
        pending = np.empty(0, _TARGET)  # Of the last target side, which the next block may go on with.
        for block in self._targets.blocks():
            block = np.concatenate([pending, block])
            is_last = block["key"] == block["key"][-1] if len(block) else np.zeros(0, bool)
            pending = block[is_last]
            _add_totals(by_place, block[~is_last])
        _add_totals(by_place, pending)
        out = self._scratch.table(np.float64)
        for block in by_place.blocks():
            out.append(block["total"])
        return out


def _add_totals(by_place: Sorter, rows: np.ndarray) -> None:
    """Add the total of each row's group of equal keys, at the row's place."""
    _, group = np.unique(rows["key"], return_inverse=True)
    records = np.empty(len(rows), _TOTAL)
    records["key"] = rows["place"]
    records["total"] = np.bincount(group, rows["count"])[group] if len(rows) else 0.0
    by_place.add(records)


@kernel
def _fingerprints(start: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """int64, a hash of each row."""
    out = np.empty(len(start) - 1, np.int64)
    for row in range(len(out)):
        out[row] = np.int64(hash_sequence(symbols, start[row], start[row + 1]))
    return out
