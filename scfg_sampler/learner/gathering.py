"""Counts of the rules of many states, as many as may be in memory, the others in runs on disk.

Rules are counted in a collector. When what it holds exceeds a share of the memory it becomes a run (see
`rules.runs`), and an empty one goes on; when the runs since the last merge hold more than the merged ones do,
all are merged. So what is on disk is at most about three times what the rules seen take, and a table is made
of it a range of its text at a time. Counts are whole numbers: they do not depend on any of this.

A checkpoint holds the collector and the names of the runs with their checksums. A run is written once and
never changed, and goes when neither the last checkpoint nor the one being written names it: so whenever the
process ends, the checkpoint finds its runs.

The fact a newcomer would get wrong: when rules go to disk must be decided by what has been counted, not by
how much room arrays have. A chain that goes on from a checkpoint has other room, and must write the same
runs.
"""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.wire import own
from scfg_sampler.core.executors import InProcess, Result
from scfg_sampler.learner.collecting import Collector, collected_rules, packed
from scfg_sampler.learner.division import Division
from scfg_sampler.learner.forest_bank import ForestBank, collect, collector_for
from scfg_sampler.learner.shards import Collected, collect_part
from scfg_sampler.rules.counts import RuleCounts, select_rules
from scfg_sampler.rules.order import TextOrder
from scfg_sampler.rules.runs import (
    LAST_KEY,
    Records,
    Run,
    add_store,
    key_ranges,
    leading_ranks,
    merged_store,
    open_run,
    sorted_records,
    write_run,
)
from scfg_sampler.rules.store import RuleStore, new_store, ordered_store, stored_rules

__all__ = ["Gathered", "Gatherer", "Shelf"]

_BYTES_OF_RECORD = 60  # Of a record in a store, beside its symbols.
_BYTES_TO_MERGE = 300  # Of a record while its rule is merged, scored and written, at the most.
_NO_ROWS = np.zeros(0, np.int64)
_STATES = 8  # Of a corpus in several shards that are counted at once: they have many rules in common.
_NODES = 1 << 19  # Of derivations that are collected before it is looked at how much there is.


class Gathered(NamedTuple):
    """What a checkpoint holds of the rules counted."""

    collector: Collector
    """Those in memory, and how many states were counted."""
    runs: tuple[str, ...]
    """Those on disk: names of runs and their checksums."""
    merged: int
    """How many of the runs the last merge has left, the first ones; no two of these share a rule."""


class Shelf:
    """A directory of runs of one chain.

    Parameters
    ----------
    directory : path
        Made when the first run is written.
    identity : str
        Of the chain.
    bank : ForestBank
    """

    def __init__(self, directory: Path, identity: str, bank: ForestBank):
        self.directory = directory
        vocabularies = bank.record_vocabularies
        self.rank = leading_ranks(*vocabularies)
        self.order = TextOrder(*vocabularies)
        self._sizes = len(vocabularies[0]), len(vocabularies[1])
        self._identity = identity

    def add(self, name: str, records: Records) -> tuple[str, Run]:
        """Write a run; what it is called in checkpoints, and the run.

        Raises
        ------
        InputError
            There is no room for it.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        called = f"{name} {write_run(self.directory / name, self._identity, records):08x}"
        run = self.open(called)
        assert run is not None, f"{self.directory / name} has changed since it was written"
        return called, run

    def open(self, called: str) -> Run | None:
        """The run of that name with that checksum; None if it is not there, or damaged."""
        name, _, checksum = called.rpartition(" ")
        if not name or Path(name).name != name:
            return None
        run = open_run(self.directory / name, self._identity, self._sizes)
        return run if run is not None and f"{run.arrays.checksum:08x}" == checksum else None

    def keep_only(self, called: Collection[str]) -> None:
        """Remove all runs but these."""
        names = {each.rpartition(" ")[0] for each in called}
        for path in self.directory.glob("*"):
            if path.name not in names:
                path.unlink()


class Gatherer:
    """Counts rules.

    Parameters
    ----------
    bank : ForestBank
    shelf : Shelf
    name : str
        What the names of its runs begin with.
    memory : bytes
        That the rules counted may take, about.
    division : Division, optional
        Who counts, if it is not this thread; it makes no difference to anything.
    """

    def __init__(
        self, bank: ForestBank, shelf: Shelf, name: str, memory: int, division: Division | None = None
    ):
        self._bank, self._shelf, self._name = bank, shelf, name
        self._division = division or Division(InProcess(), [(0, bank.num_sentences)], [])
        self._largest = max(memory // 4, 1)
        self._at_a_time = max(memory // _BYTES_TO_MERGE, 1)
        self._stretch = min(_NODES, max(memory // _BYTES_TO_MERGE, 1))
        self.collector: Collector = collector_for(bank)
        self._called: list[str] = []
        self._runs: list[Run] = []
        self._merged = 0
        self._waiting: list[np.ndarray] = []
        self._nodes: np.ndarray | None = None

    @property
    def states(self) -> int:
        """How many states have been added."""
        return int(self.collector.states[0]) + len(self._waiting)

    def add(self, trees: np.ndarray, nodes: np.ndarray | None = None) -> None:
        """Count the rules, and the nodes, of a state, if not now then before they are asked for.

        Parameters
        ----------
        trees : uint16 or uint32
            As in `LearnerState`.
        nodes : int64 (M, 2), optional
            As in `forest_bank.collect`; the same array in every call.
        """
        most = _STATES if len(self._division.ranges) > 1 else 1
        self._nodes = nodes
        self._waiting.append(trees.copy() if most > 1 else trees)  # A chain changes its state.
        if len(self._waiting) >= most or (len(self._waiting) + 1) * trees.nbytes > self._largest // 2:
            self._count()

    def _count(self) -> None:
        """Count the states that wait."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        executor, ranges, shards = self._division
        at_a_time = executor.at_a_time if shards else 1
        if executor.is_elsewhere or at_a_time > 1:
            self._count_in_tasks(waiting, 2 * at_a_time)
            return
        for sentences in itertools.chain.from_iterable(map(self._stretches, ranges)):
            for trees in waiting:
                self.collector = collect(self._bank, trees, self.collector, self._nodes, sentences)
            self._put_away_if_full()

    def _count_in_tasks(self, waiting: list[np.ndarray], most: int) -> None:
        """The same by others, with the results of so many tasks here at the most."""
        executor, ranges, shards = self._division
        tasks: collections.deque[tuple[int, Result]] = collections.deque()
        node_start = self._bank.node_start if self._nodes is not None and len(self._nodes) else _NO_ROWS
        for (begin, end), shard in zip(ranges, shards, strict=True):
            for first, stop in self._stretches((begin, end)):
                if len(tasks) == most:
                    self._add_collected(*tasks.popleft())
                place = slice(*self._bank.tree_start[[first, stop]])
                parts = np.stack([trees[place] for trees in waiting])
                rows = node_start[first : stop + 1] - node_start[first : first + 1]
                task = executor.submit(collect_part, shard, parts, (first - begin, stop - begin), rows)
                tasks.append((first, task))
        for first, task in tasks:
            self._add_collected(first, task)
        self.collector.states[0] += len(waiting)

    def _add_collected(self, first: int, task: Result) -> None:
        """Count what a task has collected of the sentences from `first` on."""
        found: Collected = own(task.result())
        self.collector = self.collector._replace(store=add_store(self.collector.store, found.rules))
        if self._nodes is not None and len(self._nodes):
            self._nodes[self._bank.node_start[first] + found.node] += found.times
        self._put_away_if_full()

    def _stretches(self, sentences: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """Of so many sentences, parts with about so many nodes together."""
        first, stop = sentences
        tree_start = self._bank.tree_start
        while first < stop:
            after = int(np.searchsorted(tree_start, tree_start[first] + self._stretch))
            after = min(max(after, first + 1), stop)
            yield first, after
            first = after

    def _put_away_if_full(self) -> None:
        if _size(self.collector.store) > self._largest:
            self._put_away()

    def _put_away(self) -> None:
        """Make a run of what is in memory."""
        records = sorted_records(self.collector.store, self._shelf.rank)
        self.collector = self.collector._replace(store=new_store())
        self._add_run(records)
        before, since = (
            sum(run.num_records for run in runs)
            for runs in (self._runs[: self._merged], self._runs[self._merged :])
        )
        if since > before + 4 * records.num_records:
            self._merge()

    def _add_run(self, records: Records) -> None:
        last = max((int(each.rpartition(" ")[0].rpartition("-")[2]) for each in self._called), default=0)
        called, run = self._shelf.add(f"{self._name}-{last + 1}", records)
        self._called.append(called)
        self._runs.append(run)

    def _merge(self) -> None:
        """Make runs of all runs, no two of which have a rule in common."""
        runs = self._runs.copy()
        for low, high in key_ranges(runs, self._at_a_time):
            self._add_run(sorted_records(merged_store(runs, low, high), self._shelf.rank))
        del self._called[: len(runs)], self._runs[: len(runs)]
        self._merged = len(self._runs)

    def gathered(self) -> Gathered:
        """What a checkpoint is to hold; it shares arrays."""
        self._count()
        found = packed(self.collector)
        if len(self._division.ranges) > 1:
            # Which rule was met first depends on which states were counted together, the checkpoint must not.
            found = found._replace(store=ordered_store(found.store))
        return Gathered(found, tuple(self._called), self._merged)

    def problem(self, gathered: Gathered) -> str | None:
        """What keeps from going on from something gathered; None if nothing does."""
        for called in gathered.runs:
            is_ours = re.fullmatch(f"{self._name}-[0-9]+ [0-9a-f]+", called)
            if not is_ours or self._shelf.open(called) is None:
                name = called.rpartition(" ")[0]
                return f"{self._shelf.directory / name} is missing, damaged, or of another chain"
        if not 0 <= gathered.merged <= len(gathered.runs):
            return f"{self._name}.merged is out of range"
        return None

    def go_on_from(self, gathered: Gathered) -> None:
        """Have counted what was gathered, with which there is no `problem`."""
        self.collector, self._merged = gathered.collector, gathered.merged
        self._called = list(gathered.runs)
        self._runs = [run for run in map(self._shelf.open, self._called) if run is not None]

    def whole(self) -> RuleCounts | None:
        """All rules as `shares` gives them, in one; None if some are on disk, as they may be too many."""
        self._count()
        return None if self._runs else self._in_text_order(collected_rules(self.collector))

    def shares(self) -> Iterator[RuleCounts]:
        """The rules, each once, with its mean count over the states, in the order of the table's text.

        Of a rule's alignments the most frequent is kept. As many rules are held at a time as memory allows.
        """
        parts = self._parts()
        for low, high in key_ranges(parts, self._at_a_time):
            rules = stored_rules(merged_store(parts, low, high), divisor=self._divisor())
            yield self._in_text_order(rules)

    def unordered(self) -> RuleCounts:
        """All rules at once, in the order of their symbols."""
        return stored_rules(merged_store(self._parts(), 0, LAST_KEY), divisor=self._divisor())

    def _divisor(self) -> float:
        return float(max(1, self.states))

    def _parts(self) -> list[Records | Run]:
        self._count()
        return [*self._runs, sorted_records(self.collector.store, self._shelf.rank)]

    def _in_text_order(self, rules: RuleCounts) -> RuleCounts:
        return select_rules(rules, self._shelf.order.rows(rules))


def _size(store: RuleStore) -> int:
    """Bytes of what a store holds, whatever room it has."""
    number = int(store.records.size[0])
    return number * _BYTES_OF_RECORD + 4 * int(store.records.start[number])
