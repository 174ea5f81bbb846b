"""The baseline's rule table, extracted and scored in shares that fit into memory.

The corpus is walked once, in parts whose rules fit into memory: each becomes a run on disk, in the order of
the leading symbols of source sides (see `rules.runs`). A share has the rules whose source sides begin with
symbols of a certain range, in the order of the table's text: a slice of every run. So the shares, each
sorted, are the sorted table one after the other, P(target | source) needs one share, and threads can work on
several at a time. Parts and ranges are chosen so that they are about equal, from what every few sentences
yield. P(source | target) needs the counts of target sides over all shares: they are summed by an external
sort, under 64-bit fingerprints. All of this is kept beside the table (`shares`), so that a killed process
loses no run and no share that it had done.

The fact a newcomer would get wrong: fingerprints are no proof of equality. Two of thirty million target sides
share one with a probability of 1 in 40,000; then their rules have a backward probability that is too small. A
table that is made in one share has no fingerprints.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from scfg_sampler.baseline.extraction import extract, extract_run, sampled_keys
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.baseline.shares import KeptShares, Share, kept_shares
from scfg_sampler.core.arrays.external import Scratch, Table
from scfg_sampler.core.executors import Executor, threads
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.limits import require_number
from scfg_sampler.core.streams import ordered
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.errors import InputError
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.features import score_rules
from scfg_sampler.rules.lexical import LexicalTables
from scfg_sampler.rules.parts import TargetTotals
from scfg_sampler.rules.runs import LAST_KEY, Run, leading_ranks, merged_store
from scfg_sampler.rules.store import stored_rules
from scfg_sampler.rules.table import RuleTable, write_rule_tables

__all__ = ["Division", "Resources", "divide", "write_baseline"]

_BYTES = 300  # Memory for each occurrence of a rule, at the most, from extraction to writing.
_STEP = 20  # Every twentieth sentence is looked at to choose the shares.
_Kept = TypeVar("_Kept")


class Resources(NamedTuple):
    """What may be used.

    memory : bytes
    threads : int
    temporary : where files are put, if not in the system's place
    """

    memory: int = 4 << 30
    threads: int = 1
    temporary: str | None = None


def write_baseline(
    corpus: ParallelCorpus,
    lexical: LexicalTables,
    path: PathLike,
    settings: HieroSettings | None = None,
    resources: Resources | None = None,
    *,
    signature: str = "",
    executor: Executor | None = None,
    advance: Callable[..., None] | None = None,
) -> int:
    """Extract the rules of the corpus, score them and write the table; the number of rules.

    Parameters
    ----------
    corpus : ParallelCorpus
    lexical : LexicalTables
        Of the same corpus.
    path : path
        Compressed if it ends in `.gz`.
    settings : HieroSettings, optional
    resources : Resources, optional
        The table is the same with any, but for what the module says about fingerprints.
    signature : str
        What the table is made with.
    executor : Executor, optional
        Walks the corpus, in parts; by default the same threads do that as the rest.
    advance : callable, optional
        Called with numbers of sentences that have been worked through; half of each where there are shares,
        which have the other half.

    Raises
    ------
    SettingsError
        A limit is outside its range, or `threads` out of range.
    InputError
        The table or its shares cannot be written, or another process is making it.
    """
    settings, resources = settings or HieroSettings(), resources or Resources()
    require_number("threads", resources.threads)
    walkers = resources.threads if executor is None else executor.at_a_time
    division = divide(corpus, settings, resources._replace(threads=max(walkers, resources.threads)))
    vocabularies = (corpus.source_vocabulary, corpus.target_vocabulary)

    def scored(counts: RuleCounts, totals: np.ndarray | None = None) -> RuleTable:
        return score_rules(counts, lexical, *vocabularies, target_totals=totals, signature=signature)

    if len(division.shares) == 1:
        return write_rule_tables([scored(extract(corpus, settings, advance=advance))], path)
    with (
        Scratch(resources.memory // 8, resources.temporary) as scratch,
        kept_shares(path, corpus, settings, resources.temporary) as kept,
        threads(resources.threads) as pool,
    ):
        work = _Work(path, corpus, settings, division, kept, pool, executor, advance)
        totals = TargetTotals(scratch)
        for counts in _share_counts(work):
            totals.add(counts)
            del counts  # Before the next ones are made.
        kept.forget_runs()
        return write_rule_tables(_scored_shares(work, totals.totals(), scored), path)


class Division(NamedTuple):
    """What is done at a time."""

    rank: np.ndarray
    """As `rules.runs.leading_ranks` gives it."""
    parts: list[tuple[int, int]]
    """The first sentence of each part of the corpus, and the one after its last."""
    shares: list[Share]
    """In the order of the table."""


def divide(corpus: ParallelCorpus, settings: HieroSettings, resources: Resources) -> Division:
    """Parts of the corpus and shares of the table, each about equal, as many as the memory asks for."""
    settings.check()
    rank = leading_ranks(corpus.source_vocabulary, corpus.target_vocabulary)
    keys, ends = sampled_keys(corpus, settings, rank, _STEP)
    keys.sort()
    needed = len(keys) * _STEP * _BYTES
    number = max(resources.threads, math.ceil(needed * resources.threads / resources.memory))
    if number > resources.threads:
        number = math.ceil(number / resources.threads) * resources.threads
    if len(keys) == 0 or number == 1:
        return Division(rank, [(0, corpus.num_sentences)], [Share(0, LAST_KEY)])
    at = np.arange(1, number) * len(keys) // number
    stops = np.unique((np.searchsorted(ends, at) + 1) * _STEP).tolist()
    borders = [0, *(stop for stop in stops if stop < corpus.num_sentences), corpus.num_sentences]
    bounds = [0, *np.unique(keys[at]).tolist(), LAST_KEY]
    shares = [Share(low, high) for low, high in itertools.pairwise(bounds)]
    return Division(rank, list(itertools.pairwise(borders)), shares)


class _Work(NamedTuple):
    """What a table in shares is made with."""

    path: PathLike
    corpus: ParallelCorpus
    settings: HieroSettings
    division: Division
    kept: KeptShares
    pool: Executor
    """Threads of this process."""
    executor: Executor | None
    """Who walks the corpus, if others do."""
    advance: Callable[..., None] | None

    def step(self, sentences: float) -> None:
        """Tell of progress: half of a table is walking the corpus, half is its shares."""
        if self.advance is not None:
            self.advance(sentences / 2)


def _runs_of_others(work: _Work, executor: Executor) -> list[Run]:
    """The runs of all parts of the corpus, in their order, made elsewhere and kept here."""
    parts = list(enumerate(work.division.parts))
    task = functools.partial(extract_run, work.corpus, work.settings, rank=work.division.rank)
    missing = [part for part in parts if work.kept.read_run(*part) is None]
    with ordered(task, executor, batch=1, ahead=2 * executor.at_a_time) as results:
        found = results(sentences for _, sentences in missing)
        for (number, sentences), records in zip(missing, found, strict=True):
            work.kept.write_run(number, sentences, records)
            work.step(sentences[1] - sentences[0])
    done = set(parts) - set(missing)
    work.step(sum(stop - first for _, (first, stop) in done))
    return [_again(work, work.kept.read_run(*part)) for part in parts]


def _runs(work: _Work) -> list[Run]:
    """The runs of all parts of the corpus, in their order."""
    if work.executor is not None:
        return _runs_of_others(work, work.executor)

    def made(number: int, sentences: tuple[int, int]) -> Run:
        run = work.kept.read_run(number, sentences)
        if run is not None:
            work.step(sentences[1] - sentences[0])
            return run
        records = extract_run(work.corpus, work.settings, sentences, work.division.rank, advance=work.step)
        work.kept.write_run(number, sentences, records)
        del records
        return _again(work, work.kept.read_run(number, sentences))

    return [
        task.result()
        for batch in _batches(list(enumerate(work.division.parts)), work.pool.at_a_time)
        for task in [work.pool.submit(made, *each) for each in batch]
    ]


def _share_counts(work: _Work) -> Iterator[RuleCounts]:
    """The rules of every share, in order; they are kept."""
    numbered = list(enumerate(work.division.shares))
    is_done = all(work.kept.read(*each) is not None for each in numbered)
    runs = [] if is_done else _runs(work)
    sentences = work.corpus.num_sentences * (2 if is_done else 1) / len(numbered)

    def made(number: int, share: Share) -> RuleCounts:
        counts = work.kept.read(number, share)
        if counts is None:
            merged = merged_store(runs, *share)
            counts = stored_rules(merged, drop_singletons=work.settings.no_singletons)
            del merged
            work.kept.write(number, share, counts)
        work.step(sentences)
        return counts

    for batch in _batches(numbered, work.pool.at_a_time):
        for task in [work.pool.submit(made, *each) for each in batch]:
            yield task.result()


def _batches(values: list, size: int) -> Iterator[list]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _again(work: _Work, kept: _Kept | None) -> _Kept:
    """What was kept, which nobody should have changed."""
    if kept is None:
        raise InputError(work.path, None, "what is kept of it has changed meanwhile", "Start it again")
    return kept


def _scored_shares(
    work: _Work, totals: Table, scored: Callable[[RuleCounts, np.ndarray], RuleTable]
) -> Iterator[RuleTable]:
    """The scored tables of the shares, in order."""
    done = 0
    for batch in _batches(list(enumerate(work.division.shares)), work.pool.at_a_time):
        tasks = []
        for number, share in batch:
            counts = _again(work, work.kept.read(number, share))
            tasks.append(work.pool.submit(scored, counts, totals[done : done + counts.num_rules]))
            done += counts.num_rules
        for task in tasks:
            yield task.result()
