"""The store of counted rules: rules found, spelled and counted at once.

A record is one rule with one alignment: source symbols, END, target symbols, END, links, a link (i, j) being
i · 2¹⁶ + j. END is smaller than every symbol, so comparing records as rows of integers compares source
sides, then target sides, then alignments. Records are `Sequences`, so equal ones are found by hashing and
verified symbol by symbol. Memory is needed for the rules seen, not for the occurrences.

The fact a newcomer would get wrong: records that differ in the alignment alone are the same rule. They stay
apart here, because which alignment carries most of the count is known only at the end, and become one in
`stored_rules`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays import hash_table
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.arrays.hash_table import Sequences, new_sequences
from scfg_sampler.core.arrays.ragged import lexicographic_order, take_rows
from scfg_sampler.core.jit import compiled, inlined, kernel
from scfg_sampler.errors import InputError
from scfg_sampler.rules.counts import RuleCounts

__all__ = [
    "END",
    "LINK_BASE",
    "RuleStore",
    "add_record",
    "count_record",
    "merge_rules",
    "new_store",
    "ordered_store",
    "packed_store",
    "stored_rules",
    "with_room",
]

END = -(1 << 31)
LINK_BASE = 1 << 16


class RuleStore(NamedTuple):
    """Records and their counts. Arrays are longer than what is used; growing makes new ones, so rebind."""

    records: Sequences
    """int32 symbols."""
    count: np.ndarray  # type: ignore[assignment]
    """float64: total weight of each record."""
    seen: np.ndarray
    """int32: number of occurrences of each record."""


def new_store() -> RuleStore:
    """A store without rules."""
    return RuleStore(new_sequences(np.int32), np.zeros(0), np.zeros(0, np.int32))


def packed_store(store: RuleStore) -> RuleStore:
    """The same rules in arrays no longer than what they hold; `with_room` makes the hash table anew."""
    size = int(store.records.size[0])
    return RuleStore(hash_table.packed(store.records), store.count[:size], store.seen[:size])


def ordered_store(store: RuleStore) -> RuleStore:
    """The records of a packed store in the order of their symbols."""
    start, symbols = store.records.start, store.records.symbols
    order = lexicographic_order(start, symbols)
    start, symbols = take_rows(start, symbols, order)
    return RuleStore(
        store.records._replace(start=start, symbols=symbols), store.count[order], store.seen[order]
    )


@compiled
def with_room(store, number, num_symbols):
    """The same rules, and room for so many more records with so many symbols together."""
    if hash_table.has_room(store.records, number, num_symbols):
        return store
    records = hash_table.with_room(store.records, number, num_symbols)
    size = len(records.start)
    return RuleStore(records, grown(store.count, size), grown(store.seen, size))


@compiled
def add_record(store, record, length, weight):
    """Count one occurrence of `record[:length]`; returns the store to use from now on."""
    # Asked here as well: to hand a store out of a function costs as much as to find a record.
    if not hash_table.has_room(store.records, 1, length):
        store = with_room(store, 1, length)
    count_record(store, record, length, weight)
    return store


@inlined
def count_record(store, record, length, weight):
    """Count one occurrence of `record[:length]`, for which there must be room."""
    known = store.records.size[0]
    number = hash_table.add(store.records, record, 0, length)
    if number == known:
        store.count[number], store.seen[number] = 0.0, 0
    store.count[number] += weight
    store.seen[number] += 1


def merge_rules(counts: RuleCounts) -> RuleCounts:
    """Each rule once, its counts added up, in the order of the source symbols, then the target symbols.

    Of a rule's alignments the one with the largest total count is kept, on ties the one that comes first
    when alignments are compared link by link. Symbols compare as integers, and a side comes before its
    continuations. Needs memory for the distinct rules beside the input.

    Raises
    ------
    InputError
        A rule links words that are too far from its beginning: a link is one number in a store.
    """
    if len(counts.alignment) and (counts.alignment >= (LINK_BASE // 2, LINK_BASE)).any():
        limits = f"below {LINK_BASE // 2} on the source side and {LINK_BASE} on the target side"
        raise InputError(None, None, f"a rule has a link that is not {limits}", "Leave out rules that long")
    return stored_rules(_add_counts(new_store(), *counts))


@kernel
def _add_counts(store, source_start, source, target_start, target, alignment_start, alignment, count):
    record = np.empty(64, np.int32)
    for rule in range(len(count)):
        num_source = source_start[rule + 1] - source_start[rule]
        num_target = target_start[rule + 1] - target_start[rule]
        num_links = alignment_start[rule + 1] - alignment_start[rule]
        length = 2 + num_source + num_target + num_links
        record = grown(record, length)
        for i in range(num_source):
            record[i] = source[source_start[rule] + i]
        record[num_source] = END
        for i in range(num_target):
            record[num_source + 1 + i] = target[target_start[rule] + i]
        record[num_source + 1 + num_target] = END
        for i in range(num_links):
            link = alignment_start[rule] + i
            record[2 + num_source + num_target + i] = alignment[link, 0] * LINK_BASE + alignment[link, 1]
        store = add_record(store, record, length, count[rule])
    return store


def stored_rules(store: RuleStore, *, divisor: float = 1.0, drop_singletons: bool = False) -> RuleCounts:
    """The rules of a store, each once, sorted; of a rule's alignments the heaviest.

    On ties the alignment that comes first link by link is kept.

    Parameters
    ----------
    store : RuleStore
    divisor : float
        What every record's count is divided by.
    drop_singletons : bool
        Leave out rules with one occurrence in all and more than one word on the source side.
    """
    records = store.records
    num_records = int(records.size[0])
    start = records.start[: num_records + 1]
    order = lexicographic_order(start, records.symbols[: start[-1]])
    kept, total = _merged(order, store, divisor, drop_singletons)
    del order
    source_start, source, target_start, target, alignment_start, alignment = _spelled(
        kept, start, records.symbols
    )
    return RuleCounts(source_start, source, target_start, target, alignment_start, alignment, total)


@kernel
def _merged(order, store, divisor, drop_singletons):
    """The record that speaks for each rule, int64, and the rule's count."""
    start, words = store.records.start, store.records.symbols
    kept = np.empty(len(order), np.int64)
    total = np.empty(len(order), np.float64)
    num_rules, begin = 0, 0
    while begin < len(order):
        record = order[begin]
        first, second = _ends(words, start[record])
        best, rule_count, rule_seen = record, 0.0, 0
        end = begin
        while end < len(order) and _same_rule(words, start[record], second, start[order[end]]):
            other = order[end]
            rule_count += store.count[other] / divisor
            rule_seen += store.seen[other]
            if store.count[other] > store.count[best]:
                best = other
            end += 1
        begin = end
        if drop_singletons and rule_seen == 1 and _num_words(words, start[record], first) > 1:
            continue
        kept[num_rules], total[num_rules] = best, rule_count
        num_rules += 1
    return kept[:num_rules].copy(), total[:num_rules].copy()


@kernel
def _spelled(kept, start, words):
    """The sides and the alignments of records, as `RuleCounts` has them."""
    num_rules = len(kept)
    source_start = np.zeros(num_rules + 1, np.int64)
    target_start = np.zeros(num_rules + 1, np.int64)
    alignment_start = np.zeros(num_rules + 1, np.int64)
    for rule in range(num_rules):
        begin, end = start[kept[rule]], start[kept[rule] + 1]
        first, second = _ends(words, begin)
        source_start[rule + 1] = source_start[rule] + first - begin
        target_start[rule + 1] = target_start[rule] + second - first - 1
        alignment_start[rule + 1] = alignment_start[rule] + end - second - 1
    source = np.empty(source_start[num_rules], np.int32)
    target = np.empty(target_start[num_rules], np.int32)
    alignment = np.empty((alignment_start[num_rules], 2), np.int32)
    for rule in range(num_rules):
        at = start[kept[rule]]
        for i in range(source_start[rule], source_start[rule + 1]):
            source[i] = words[at]
            at += 1
        at += 1
        for i in range(target_start[rule], target_start[rule + 1]):
            target[i] = words[at]
            at += 1
        at += 1
        for i in range(alignment_start[rule], alignment_start[rule + 1]):
            alignment[i, 0], alignment[i, 1] = words[at] // LINK_BASE, words[at] % LINK_BASE
            at += 1
    return source_start, source, target_start, target, alignment_start, alignment


@compiled
def _ends(words, begin):
    """Where the source side and the target side of the record at `begin` end."""
    first = begin
    while words[first] != END:
        first += 1
    second = first + 1
    while words[second] != END:
        second += 1
    return first, second


@compiled
def _same_rule(words, begin, end, other):
    """Whether the record at `other` begins with the sides `words[begin:end + 1]`."""
    for i in range(end + 1 - begin):  # noqa: SIM110
        if words[begin + i] != words[other + i]:
            return False
    return True


@compiled
def _num_words(words, begin, end):
    number = 0
    for i in range(begin, end):
        number += words[i] >= 0
    return number
