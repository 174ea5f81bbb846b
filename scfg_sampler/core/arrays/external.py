"""Tables on disk, and sorting, gathering and counting with bounded memory.

A `Scratch` is a temporary directory and a number of bytes. Tables in it are read and written block by
block; what needs any other order goes through a `Sorter`, which sorts as much as it may hold, writes that to
disk, and merges. `gather`, `scatter` and `tally` are the array operations `values[indices]`, `out[indices] =
values` and `bincount(indices)`; they use arrays where these fit into a quarter of the memory, and sort where
they do not. Results do not depend on how much memory there is, nor on who sorts.

The fact a newcomer would get wrong: a merge cannot simply take what is smallest of all that was read. Among
equal keys the order of addition is kept, so a block gives its equal keys only when no earlier run can still
hold such keys unread.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

import numpy as np

from scfg_sampler.core.executors import Executor, InProcess, Result
from scfg_sampler.core.files import naming
from scfg_sampler.core.leftovers import temporary_directory
from scfg_sampler.errors import SettingsError

__all__ = ["Scratch", "Sorter", "Table", "gather", "scatter", "tally"]

_LARGEST_BLOCK = 1 << 18  # Rows; more do not make numpy faster.


class Scratch:
    """A temporary directory for tables, and the memory that work on them may take; remove it with `with`.

    Parameters
    ----------
    memory : bytes, at least a few blocks of rows; sorting and the arrays of `gather` and others keep to it
    directory : where the temporary directory is made; the system's place for such by default
    executor : who sorts what exceeds the memory, a part of it each; this thread by default

    Raises
    ------
    SettingsError
        Nothing can be made in the directory.

    >>> with Scratch() as scratch:
    ...     table = scratch.table(np.int64)
    ...     table.append(np.arange(5))
    ...     table[2:4]
    array([2, 3])
    """

    def __init__(self, memory: int = 1 << 30, directory: str | None = None, executor: Executor | None = None):
        self.memory = memory
        self.executor = executor or InProcess()
        try:
            self._place = contextlib.ExitStack()
            self._directory = self._place.enter_context(temporary_directory("scfg-work-", directory))
        except OSError as error:
            raise SettingsError(f"--temporary {directory} cannot be used ({error.strerror})") from None
        self._num_files = 0

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._place.close()

    def table(self, dtype: np.typing.DTypeLike) -> Table:
        """An empty table."""
        self._num_files += 1
        return Table(self._directory / str(self._num_files), np.dtype(dtype), self)

    def block_rows(self, dtype: np.typing.DTypeLike) -> int:
        """How many rows of a dtype make a block: a 64th of the memory."""
        return int(min(max(self.memory // 64 // np.dtype(dtype).itemsize, 16), _LARGEST_BLOCK))

    def fits(self, length: int, dtype: np.typing.DTypeLike) -> bool:
        """Whether an array of this length may be held."""
        return length * np.dtype(dtype).itemsize <= self.memory // 4


class Table:
    """Rows of one dtype in a file: appended at the end, read by slices."""

    def __init__(self, path: Path, dtype: np.dtype, scratch: Scratch):
        self.dtype = dtype
        self.scratch = scratch
        self._path = path
        self._length = 0
        self._path.touch()

    def __len__(self) -> int:
        return self._length

    def append(self, rows: np.ndarray) -> None:
        """Add rows, cast to the table's dtype; an InputError where there is no room for them on the disk."""
        with naming(self._path.parent), open(self._path, "ab") as file:
            # Not `tofile`, which says nothing of a full disk where the rows fit into its buffer.
            file.write(np.ascontiguousarray(rows, self.dtype.base).reshape(-1).view(np.uint8).data)
        self._length += len(rows)

    def __getitem__(self, part: slice) -> np.ndarray:
        start, stop, _ = part.indices(self._length)
        count = max(stop - start, 0)
        return np.fromfile(self._path, self.dtype, count, offset=start * self.dtype.itemsize)

    def blocks(self) -> Iterator[np.ndarray]:
        """All rows, block by block."""
        rows = self.scratch.block_rows(self.dtype)
        for start in range(0, self._length, rows):
            yield self[start : start + rows]

    def discard(self) -> None:
        """Free the disk; the table is empty afterwards."""
        self._path.write_bytes(b"")
        self._length = 0


class Sorter:
    """Sorts rows by their field `key`; rows with equal keys stay in the order they were added in.

    Parameters
    ----------
    scratch : Scratch
    dtype : structured, with a field `key` of any integer type
    """

    def __init__(self, scratch: Scratch, dtype: np.typing.DTypeLike):
        self.dtype = np.dtype(dtype)
        self._scratch = scratch
        # Sorting holds the rows, the sorted rows, and an order of 8 bytes a row.
        self._room = max(scratch.memory // 2 // (2 * self.dtype.itemsize + 8), 64)
        # Rows may wait here while others are being sorted, by as many as do it at a time.
        at_a_time = scratch.executor.at_a_time
        self._most = 0 if at_a_time == 1 and not scratch.executor.is_elsewhere else at_a_time
        self._run_rows = max(self._room // (self._most + 1), 64)
        self._waiting: list[np.ndarray] = []
        self._num_waiting = 0
        self._being_sorted: collections.deque[Result] = collections.deque()
        self._runs: list[Table] = []

    def add(self, rows: np.ndarray) -> None:
        """Add rows of the sorter's dtype."""
        for start in range(0, len(rows), self._run_rows):
            part = rows[start : start + self._run_rows]
            if self._num_waiting + len(part) > self._run_rows:
                self._put_away()
            self._waiting.append(part)
            self._num_waiting += len(part)

    def blocks(self) -> Iterator[np.ndarray]:
        """All rows in order, block by block. Can be called once."""
        if not self._runs and not self._being_sorted:
            rows = _in_order_of_keys(self._taken())
            size = self._scratch.block_rows(self.dtype)
            for start in range(0, len(rows), size):
                yield rows[start : start + size]
            return
        if self._num_waiting:
            self._put_away()
        while self._being_sorted:
            self._write_first()
        yield from _merged(self._runs, max(self._room // len(self._runs), 1))
        for run in self._runs:
            run.discard()

    def _put_away(self) -> None:
        """Have what waits sorted, and written to disk in its turn."""
        self._being_sorted.append(self._scratch.executor.submit(_in_order_of_keys, self._taken()))
        while len(self._being_sorted) > self._most:
            self._write_first()

    def _write_first(self) -> None:
        """Wait for the first of those being sorted, and make a run of it."""
        rows = self._being_sorted.popleft().result()
        self._runs.append(self._scratch.table(self.dtype))
        self._runs[-1].append(rows)

    def _taken(self) -> np.ndarray:
        """What waits, which then does no longer."""
        rows = np.concatenate([np.empty(0, self.dtype), *self._waiting])
        self._waiting, self._num_waiting = [], 0
        return rows


def _in_order_of_keys(rows: np.ndarray) -> np.ndarray:
    """Rows sorted by their field `key`; those with equal keys stay in their order."""
    order = np.argsort(np.ascontiguousarray(rows["key"]), kind="stable")
    # As bytes: numpy copies a row field by field, which takes five times as long.
    plain = rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)
    return plain[order].reshape(-1).view(rows.dtype)


def _merged(runs: list[Table], size: int) -> Iterator[np.ndarray]:
    """The rows of sorted runs in order, `size` of each run in memory; equal keys in the order of the runs."""
    buffers = [run[:size] for run in runs]
    read = [len(buffer) for buffer in buffers]
    while True:
        ends = [
            buffer["key"][-1] if read[i] < len(runs[i]) else None
            for i, buffer in enumerate(buffers)
            if len(buffer)
        ]
        bounds = [end for end in ends if end is not None]
        bound = min(bounds, default=None)
        parts = []
        blocking = False  # Whether an earlier run may have keys equal to the bound on disk.
        for i, buffer in enumerate(buffers):
            taken = len(buffer)
            if bound is not None:
                taken = int(np.searchsorted(buffer["key"], bound, "left" if blocking else "right"))
                blocking |= bool(len(buffer)) and read[i] < len(runs[i]) and buffer["key"][-1] == bound
            parts.append(buffer[:taken])
            buffers[i] = buffer[taken:]
            if len(buffers[i]) == 0 and read[i] < len(runs[i]):
                buffers[i] = runs[i][read[i] : read[i] + size]
                read[i] += len(buffers[i])
        rows = np.concatenate(parts)
        if len(rows) == 0:
            return
        yield _in_order_of_keys(rows)


# ---- Array operations -----------------------------------------------------------------------------


def gather(values: Table, indices: Iterable[np.ndarray]) -> Table:
    """The table of `values[i]` for every index of some blocks of int64, in their order."""
    scratch = values.scratch
    out = scratch.table(values.dtype)
    if scratch.fits(len(values), values.dtype):
        array = values[:]
        for block in indices:
            out.append(array[block])
        return out
    asked = Sorter(scratch, [("key", np.int64), ("place", np.int64)])
    place = 0
    for block in indices:
        asked.add(_records(asked.dtype, block, np.arange(place, place + len(block))))
        place += len(block)
    answers = Sorter(scratch, [("key", np.int64), ("value", values.dtype)])
    rows = scratch.block_rows(values.dtype)
    start, held = 0, values[:rows]
    for block in asked.blocks():
        while len(block):
            here = int(np.searchsorted(block["key"], start + len(held)))
            found = block[:here]
            answers.add(_records(answers.dtype, found["place"], held[found["key"] - start]))
            block = block[here:]
            if len(block):
                start = int(block["key"][0])
                held = values[start : start + rows]
    for block in answers.blocks():
        out.append(block["value"])
    return out


def scatter(scratch: Scratch, length: int, fill: int, pairs: Table) -> Table:
    """A table of int64 with `value` at every `key` of some pairs, of two int64 each, and `fill` elsewhere."""
    out = scratch.table(np.int64)
    if scratch.fits(length, np.int64):
        array = np.full(length, fill, np.int64)
        for block in pairs.blocks():
            array[block["key"]] = block["value"]
        out.append(array)
        return out
    sorter = Sorter(scratch, pairs.dtype)
    for block in pairs.blocks():
        sorter.add(block)
    for block in sorter.blocks():
        _spread(out, block["key"], block["value"], fill)
    _spread(out, np.array([length]), np.array([fill]), fill, length)
    return out


def tally(scratch: Scratch, indices: Iterable[np.ndarray], length: int) -> Table:
    """A table of int64: how often each of 0 … length − 1 occurs in some blocks of int64."""
    out = scratch.table(np.int64)
    if scratch.fits(length, np.int64):
        array = np.zeros(length, np.int64)
        for block in indices:
            np.add.at(array, block, 1)
        out.append(array)
        return out
    sorter = Sorter(scratch, [("key", np.int64)])
    for block in indices:
        sorter.add(np.ascontiguousarray(block, np.int64).view(sorter.dtype))
    last, times = 0, 0  # The next block may go on with the last number of this one.
    for sorted_block in sorter.blocks():
        numbers, counts = np.unique(sorted_block["key"], return_counts=True)
        if numbers[0] == last:
            counts[0] += times
        elif times:
            numbers, counts = np.append(last, numbers), np.append(times, counts)
        last, times = int(numbers[-1]), int(counts[-1])
        _spread(out, numbers[:-1], counts[:-1], 0)
    _spread(out, np.array([last, length]), np.array([times, 0]), 0, length)
    return out


def _spread(out: Table, keys: np.ndarray, values: np.ndarray, fill: int, length: int | None = None) -> None:
    """Append values, each at the row of its key, and `fill` in between; keys increase. Cut at `length`."""
    rows = out.scratch.block_rows(out.dtype)
    done = 0
    while done < len(keys):
        first = len(out)
        stop = int(min(keys[-1] + 1, first + rows))
        here = int(np.searchsorted(keys, stop))
        part = np.full(stop - first, fill, out.dtype)
        part[keys[done:here] - first] = values[done:here]
        out.append(part if length is None else part[: length - first])
        if stop > keys[-1] or (length is not None and stop > length):
            return
        done = here


def _records(dtype: np.dtype, key: np.ndarray, other: np.ndarray) -> np.ndarray:
    records = np.empty(len(key), dtype)
    records["key"], records[dtype.names[1]] = key, other  # type: ignore[index]
    return records
