"""The baseline's rule table, extracted and scored in shares that fit into memory.

A share has the rules whose source sides begin with symbols of a certain range, in the order of the table's
text: so the shares, each sorted, are the sorted table one after the other, P(target | source) needs one
share, and threads can work on several shares at a time. Ranges are chosen so that shares are about equal,
from what every few sentences yield. P(source | target) needs the counts of target sides over all shares: they
are summed by an external sort, under 64-bit fingerprints. What is extracted of a table in several shares is
kept beside it (`shares`), so that a killed process loses no share that it had done.

The fact a newcomer would get wrong: fingerprints are no proof of equality. Two of thirty million target sides
share one with a probability of 1 in 40,000; then their rules have a backward probability that is too small. A
table that is made in one share has no fingerprints.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from scfg_sampler.baseline.extraction import Share, extract, leading_keys
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.baseline.shares import KeptShares, kept_shares
from scfg_sampler.core.arrays.external import Scratch, Sorter, Table
from scfg_sampler.core.arrays.hash_table import hash_sequence
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.jit import kernel
from scfg_sampler.corpus.parallel_text import ParallelCorpus
from scfg_sampler.errors import InputError, SettingsError
from scfg_sampler.rules.counts import RuleCounts
from scfg_sampler.rules.features import score_rules
from scfg_sampler.rules.lexical import LexicalTables
from scfg_sampler.rules.table import RuleTable, symbol_ranks, write_rule_tables

__all__ = ["Resources", "choose_shares", "write_baseline"]

_BYTES = 300  # Memory for each occurrence of a rule, at the most, from extraction to writing.
_STEP = 20  # Every twentieth sentence is looked at to choose the shares.
_TARGET = np.dtype([("key", "i8"), ("place", "i8"), ("count", "f8")])
_TOTAL = np.dtype([("key", "i8"), ("total", "f8")])


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
    advance : callable, optional
        Called with numbers of sentences that have been worked through, shared out among the shares.

    Raises
    ------
    SettingsError
        A limit is outside its range, or `threads` below 1.
    InputError
        The table or its shares cannot be written, or another process is making it.
    """
    settings, resources = settings or HieroSettings(), resources or Resources()
    if resources.threads < 1:
        raise SettingsError(f"--threads is {resources.threads}; at least 1 is needed")
    shares = choose_shares(corpus, settings, resources)
    vocabularies = (corpus.source_vocabulary, corpus.target_vocabulary)

    def extracted(share: Share) -> RuleCounts:
        return extract(corpus, settings, share=share, advance=step)

    def scored(counts: RuleCounts, totals: np.ndarray | None = None) -> RuleTable:
        return score_rules(counts, lexical, *vocabularies, target_totals=totals, signature=signature)

    def step(sentences: int) -> None:
        if advance is not None:
            advance(sentences / len(shares))

    if len(shares) == 1:
        return write_rule_tables([scored(extracted(shares[0]))], path)
    with (
        Scratch(resources.memory // 8, resources.temporary) as scratch,
        kept_shares(path, corpus, settings, resources.temporary) as kept,
        ThreadPoolExecutor(resources.threads) as pool,
    ):
        targets = Sorter(scratch, _TARGET)
        num_rules = 0

        def counted(numbered: tuple[int, Share]) -> RuleCounts:
            counts = kept.read(*numbered)
            if counts is None:
                counts = extracted(numbered[1])
                kept.write(*numbered, counts)
            else:
                step(corpus.num_sentences)
            return counts

        numbered = list(enumerate(shares))
        for batch in _batches(numbered, resources.threads):
            for counts in pool.map(counted, batch):
                records = np.empty(counts.num_rules, _TARGET)
                records["key"] = _fingerprints(counts.target_start, counts.target)
                records["place"] = np.arange(num_rules, num_rules + counts.num_rules)
                records["count"] = counts.count
                targets.add(records)
                num_rules += counts.num_rules
                del counts, records  # Before the next ones are made.
        totals = _totals(targets, scratch)
        read = functools.partial(_kept_again, kept, path)
        return write_rule_tables(
            _scored_shares(numbered, read, totals, scored, resources.threads, pool), path
        )


def choose_shares(corpus: ParallelCorpus, settings: HieroSettings, resources: Resources) -> list[Share]:
    """Shares of about equal size, in the order of the table, as many as the memory asks for."""
    settings.check()
    sources, _, labels, end = symbol_ranks(corpus.source_vocabulary, corpus.target_vocabulary, 2)
    rank = np.concatenate([sources, labels, [end]]).astype(np.int64)
    keys = np.sort(leading_keys(corpus, settings, rank, _STEP))
    needed = len(keys) * _STEP * _BYTES
    number = max(resources.threads, math.ceil(needed * resources.threads / resources.memory))
    if number > resources.threads:
        number = math.ceil(number / resources.threads) * resources.threads
    last = 1 << 62
    if len(keys) == 0 or number == 1:
        return [Share(rank, 0, last)]
    bounds = np.unique(keys[np.arange(1, number) * len(keys) // number]).tolist()
    return [Share(rank, low, high) for low, high in zip([0, *bounds], [*bounds, last], strict=True)]


def _batches(values: list, size: int) -> Iterator[list]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _kept_again(kept: KeptShares, path: PathLike, number: int, share: Share) -> RuleCounts:
    """The rules of a share that is kept."""
    counts = kept.read(number, share)
    if counts is None:
        raise InputError(path, None, f"its share {number + 1} has changed meanwhile", "Start it again")
    return counts


def _scored_shares(
    shares: list[tuple[int, Share]],
    read: Callable[[int, Share], RuleCounts],
    totals: Table,
    scored: Callable[[RuleCounts, np.ndarray], RuleTable],
    threads: int,
    pool: ThreadPoolExecutor,
) -> Iterator[RuleTable]:
    """The scored tables of the shares, in order."""
    done = 0
    for batch in _batches(shares, threads):
        parts = []
        for number, share in batch:
            counts = read(number, share)
            parts.append((counts, totals[done : done + counts.num_rules]))
            done += counts.num_rules
        yield from pool.map(lambda part: scored(*part), parts)


def _totals(targets: Sorter, scratch: Scratch) -> Table:
    """float64, for each rule the sum of counts over all rules with its target side."""
    by_place = Sorter(scratch, _TOTAL)
    pending = np.empty(0, _TARGET)  # Of the last target side, which the next block may go on with.
    for block in targets.blocks():
        block = np.concatenate([pending, block])
        is_last = block["key"] == block["key"][-1]
        pending = block[is_last]
        _add_totals(by_place, block[~is_last])
    _add_totals(by_place, pending)
    out = scratch.table(np.float64)
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
