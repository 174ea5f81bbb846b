"""Counted rules on disk: runs of records, each in the order of the leading symbols of source sides.

A run is what some part of a corpus, or of a chain, has come to: records (see `rules.store`), each once, with
the number of their occurrences. A source side has a key, rank of its first symbol · 2³¹ + rank of its second,
the ranks being those of a table's text. So the rules whose source sides lie within certain keys are a slice
of every run, and rules within the keys from 0 on, then those within the next, … are the table in its order:
whatever does not fit into memory is made a range of keys at a time, in one pass over each run.

The fact a newcomer would get wrong: a sum of fractions depends on its order, so what is to be the same
whatever the runs were must not be added up in them. Counts are whole numbers here; where an occurrence counts
a fraction, the run keeps, for each, what 1 is divided by, and sums are made in the order of the corpus.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays import hash_table
from scfg_sampler.core.arrays.array_file import (
    Layout,
    StoredArrays,
    is_within,
    open_array_file,
    write_array_file,
)
from scfg_sampler.core.arrays.ragged import take_rows
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import InputError
from scfg_sampler.rules.order import symbol_ranks
from scfg_sampler.rules.store import END, LINK_BASE, RuleStore, new_store, with_room

__all__ = [
    "LAST_KEY",
    "Records",
    "Run",
    "add_records",
    "add_store",
    "are_rules",
    "key_ranges",
    "leading_ranks",
    "merged_store",
    "open_run",
    "sorted_records",
    "write_run",
]

LAST_KEY = 1 << 62
"""Above every key."""

_NO_DIVISORS = np.zeros(0, np.int64), np.zeros(0, np.int32)

_ROWS = 1 << 18  # At a time.
_MAGIC = b"scfg-sampler run 1\n"
_LAYOUT = Layout(
    {"identity": str},
    (),
    {
        "key": ("i8", 1),
        "start": ("i8", 1),
        "symbols": ("i4", 1),
        "seen": ("i4", 1),
        "divisor_start": ("i8", 1),
        "divisor": ("i4", 1),
    },
)


class Records(NamedTuple):
    """R records in the order of their keys; record r is symbols[start[r]:start[r + 1]]."""

    key: np.ndarray
    """int64 (R,), ascending."""
    start: np.ndarray
    """int64 (R + 1,), from 0."""
    symbols: np.ndarray
    """int32, as in a `RuleStore`."""
    seen: np.ndarray
    """int32 (R,): occurrences, at least 1."""
    divisor_start: np.ndarray
    """int64 (R + 1,), from 0; (0,) if every occurrence counts 1."""
    divisor: np.ndarray
    """int32: what the 1 of each occurrence is divided by, record by record; (0,) if by nothing."""

    @property
    def num_records(self) -> int:
        return len(self.seen)

    def keys(self, first: int, stop: int) -> np.ndarray:
        """The keys of records number `first` to `stop` − 1."""
        return self.key[first:stop]

    def within(self, low: int, high: int) -> Records:
        """The records with keys from `low` to `high` − 1; a view."""
        assert len(self.divisor_start) == 0, "only whole numbers are read in parts here"
        first, stop = np.searchsorted(self.key, (low, high)).tolist()
        start = self.start[first : stop + 1]
        symbols = self.symbols[start[0] : start[-1]]
        return Records(self.key[first:stop], start - start[0], symbols, self.seen[first:stop], *_NO_DIVISORS)


def leading_ranks(source_vocabulary: Vocabulary, target_vocabulary: Vocabulary) -> np.ndarray:
    """int64 (V + 3,), ranks in the order of a table's text: source words, two nonterminals, the end."""
    sources, _, labels, end = symbol_ranks(source_vocabulary, target_vocabulary, 2)
    return np.concatenate([sources, labels, [end]]).astype(np.int64)


def sorted_records(store: RuleStore, rank: np.ndarray, occurrences: np.ndarray | None = None) -> Records:
    """The records of a store in the order of their keys.

    Parameters
    ----------
    store : RuleStore
    rank : int64 (V + 3,)
        As `leading_ranks` gives it.
    occurrences : int32 (N, 2), optional
        Where occurrences count fractions, in their order: the number of the record, and what 1 is divided by.
    """
    number = int(store.records.size[0])
    keys = _keys(store.records.start[: number + 1], store.records.symbols, rank)
    order = np.argsort(keys, kind="stable")
    start, symbols = take_rows(store.records.start[: number + 1], store.records.symbols, order)
    seen = store.seen[order]
    if occurrences is None:
        return Records(keys[order], start, symbols, seen, *_NO_DIVISORS)
    place = np.empty(number, np.int64)
    place[order] = np.arange(number)
    divisor = occurrences[np.argsort(place[occurrences[:, 0]], kind="stable"), 1]
    divisor_start = np.concatenate([[0], np.cumsum(seen, dtype=np.int64)])
    return Records(keys[order], start, symbols, seen, divisor_start, divisor)


def merged_store(parts: Sequence[Records | Run], low: int, high: int) -> RuleStore:
    """The rules with keys from `low` to `high` − 1 of all parts, each record once.

    Parameters
    ----------
    parts : sequence of Records and of Run
        In the order of the corpus, where occurrences count fractions.
    low, high : int
    """
    store = new_store()
    for part in parts:
        store = add_records(store, part.within(low, high))
    return store


def key_ranges(parts: Sequence[Records | Run], most: int) -> list[tuple[int, int]]:
    """Ranges of keys, in order, each with about so many records of all parts together, or fewer.

    Records with one key stay together, however many they are.

    Parameters
    ----------
    parts : sequence of Records and of Run
    most : int
        At least 1.
    """
    total = sum(part.num_records for part in parts)
    number = -(-total // most)
    if number <= 1:
        return [(0, LAST_KEY)]
    step = max(1, min(most // 64, 1024))
    sampled = np.sort(np.concatenate([_sampled_keys(part, step) for part in parts]))
    at = np.arange(1, number) * len(sampled) // number
    return list(itertools.pairwise([0, *np.unique(sampled[at]).tolist(), LAST_KEY]))


def _sampled_keys(part: Records | Run, step: int) -> np.ndarray:
    """Every so manieth key."""
    rows = range(0, part.num_records, _ROWS - _ROWS % step)
    blocks = [part.keys(first, min(first + rows.step, part.num_records))[::step] for first in rows]
    return np.concatenate([np.zeros(0, np.int64), *blocks])


def add_records(store: RuleStore, records: Records) -> RuleStore:
    """A store with the occurrences of some records counted; returns the store to use from now on.

    Counts do not depend on how occurrences are divided into runs, if these are added in the order of the
    corpus.

    Parameters
    ----------
    store : RuleStore
    records : Records
    """
    return _add_records(store, records.start, records.symbols, records.seen, records.divisor)


def add_store(store: RuleStore, other: RuleStore) -> RuleStore:
    """A store with the occurrences in another counted, in its order; returns the store to use from now on.

    Parameters
    ----------
    store : RuleStore
    other : RuleStore
        Whose records count 1 for each occurrence; it need not have a hash table.
    """
    number = int(other.records.size[0])
    start = other.records.start[: number + 1]
    return _add_records(store, start, other.records.symbols, other.seen[:number], _NO_DIVISORS[1])


@kernel
def _keys(start, symbols, rank):
    """The key of every record: `baseline.extraction` has that of a phrase."""
    num_words = rank.shape[0] - 3
    keys = np.empty(start.shape[0] - 1, np.int64)
    for record in range(start.shape[0] - 1):
        key = np.int64(0)
        at = start[record]
        for _ in range(2):
            symbol = symbols[at]
            if symbol == END:
                key = key << 31 | rank[num_words + 2]
            else:
                key = key << 31 | (rank[symbol] if symbol >= 0 else rank[num_words - 1 - symbol])
                at += 1
        keys[record] = key
    return keys


@kernel
def _add_records(store, start, symbols, seen, divisor):
    at = 0
    for record in range(seen.shape[0]):
        begin, end = start[record], start[record + 1]
        if not hash_table.has_room(store.records, 1, end - begin):
            store = with_room(store, 1, end - begin)
        known = store.records.size[0]
        number = hash_table.add(store.records, symbols, begin, end)
        if number == known:
            store.count[number], store.seen[number] = 0.0, 0
        store.seen[number] += seen[record]
        if divisor.shape[0] == 0:
            store.count[number] += seen[record]
            continue
        # One after the other, so that the sum is that of the occurrences in the order of the corpus.
        for _ in range(seen[record]):
            store.count[number] += 1.0 / divisor[at]
            at += 1
    return store


# ---- Files ----------------------------------------------------------------------------------------


def write_run(path: PathLike, identity: str, records: Records) -> int:
    """Write a run; its checksum.

    Parameters
    ----------
    path : path
    identity : str
        What it is of.
    records : Records

    Raises
    ------
    InputError
        There is no room for it.
    """
    return write_array_file(path, _MAGIC, {"identity": identity}, {}, records._asdict())


@dataclasses.dataclass(frozen=True)
class Run:
    """A run on disk, of which parts are read; `open_run` makes it.

    Attributes
    ----------
    arrays : StoredArrays
    num_records : int
    """

    arrays: StoredArrays
    num_records: int

    def keys(self, first: int, stop: int) -> np.ndarray:
        """The keys of records number `first` to `stop` − 1."""
        return self.arrays.read("key", first, stop)

    def within(self, low: int, high: int) -> Records:
        """The records with keys from `low` to `high` − 1."""

        def key_of(record: int) -> int:
            return int(self.keys(record, record + 1)[0])

        rows = range(self.num_records)
        first, stop = (bisect.bisect_left(rows, key, key=key_of) for key in (low, high))
        return self.records(first, stop)

    def records(self, first: int, stop: int) -> Records:
        """Records number `first` to `stop` − 1."""
        read = self.arrays.read
        key, seen, start = read("key", first, stop), read("seen", first, stop), read("start", first, stop + 1)
        symbols, start = read("symbols", int(start[0]), int(start[-1])), start - start[0]
        if self.arrays.length("divisor_start") == 0:
            return Records(key, start, symbols, seen, *_NO_DIVISORS)
        divisors = read("divisor_start", first, stop + 1)
        divisor = read("divisor", int(divisors[0]), int(divisors[-1]))
        return Records(key, start, symbols, seen, divisors - divisors[0], divisor)


def open_run(path: PathLike, identity: str, sizes: tuple[int, int]) -> Run | None:
    """A run; None if there is none, or it is damaged, of something else, or has other words.

    Parameters
    ----------
    path : path
    identity : str
        What it must be of.
    sizes : pair of int
        How many source words and target words there are.
    """
    try:
        arrays = open_array_file(path, _MAGIC, _LAYOUT, InputError, "")
    except (InputError, OSError):
        return None
    run = Run(arrays, arrays.length("seen"))
    return run if arrays.values["identity"] == identity and _is_run(run, sizes) else None


def _is_run(run: Run, sizes: tuple[int, int]) -> bool:
    """Whether the arrays are records over so many words; a checksum tells of damage, not of intent."""
    length, number = run.arrays.length, run.num_records
    if length("key") != number or length("start") != number + 1:
        return False
    has_divisors = length("divisor_start") > 0
    if length("divisor_start") != has_divisors * (number + 1) or (length("divisor") > 0) > has_divisors:
        return False
    if not _are_starts(run, "start", "symbols") or not _are_starts(run, "divisor_start", "divisor"):
        return False
    last = 0
    for first in range(0, number, _ROWS):
        part = run.records(first, min(first + _ROWS, number))
        if part.key[0] < last or not (part.key[1:] >= part.key[:-1]).all() or part.key[-1] >= LAST_KEY:
            return False
        last = int(part.key[-1])
        if not is_within(part.seen, 1, 2**31 - 1) or not are_rules(part.start, part.symbols, *sizes):
            return False
        if len(part.divisor_start) and not (np.diff(part.divisor_start) == part.seen).all():
            return False
        if not is_within(part.divisor, 1, 2**31 - 1):
            return False
    return True


def _are_starts(run: Run, name: str, values: str) -> bool:
    """Whether an array says where rows of another begin, if it says anything: each has at least one entry."""
    before, length = -1, run.arrays.length(name)
    for first in range(0, length, _ROWS):
        start = run.arrays.read(name, first, first + _ROWS)
        if (first == 0 and start[0] != 0) or start[0] <= before or not (start[1:] > start[:-1]).all():
            return False
        before = int(start[-1])
    return length == 0 or before == run.arrays.length(values)


@kernel
def are_rules(start, symbols, source_words, target_words):
    """Whether every record is a rule: see `scfg_sampler.rules.store`."""
    limits = source_words, target_words
    for record in range(len(start) - 1):
        at, end = start[record], start[record + 1]
        lengths, gaps = (0, 0), 0
        for side in range(2):
            begin, found = at, 0
            while at < end and symbols[at] != END:
                if symbols[at] >= limits[side]:
                    return False
                if symbols[at] < 0:
                    found += 1
                    if (symbols[at] != -found) if side == 0 else (symbols[at] < -gaps):
                        return False
                at += 1
            if at == end or (side == 1 and found != gaps):
                return False
            gaps, lengths = found, (lengths[1], at - begin)
            at += 1
        for link in range(at, end):
            if symbols[link] < 0 or symbols[link] // LINK_BASE >= lengths[0]:
                return False
            if symbols[link] % LINK_BASE >= lengths[1]:
                return False
    return True
