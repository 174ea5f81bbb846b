"""Rules interned and counted while they are being found: the compiled half of `rule_counts`.

A record is one rule with one alignment: source symbols, END, target symbols, END, links, a link (i, j) being
i · 2¹⁶ + j. END is smaller than every symbol, so comparing records as rows of integers compares source
sides, then target sides, then alignments. Records live one behind the other in a single array and are found
through an open-addressing table of 64-bit slots (31 bits of the hash, 32 bits of record number + 1), never
more than half full. Equal hashes are verified symbol by symbol, so nothing rests on luck.

The fact a newcomer would get wrong: records that differ in the alignment alone are the same rule. They stay
apart here, because which alignment carries most of the count is known only at the end, and become one in
`drain`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.arrays.ragged import fingerprint, lexicographic_order
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["END", "LINK_BASE", "RulePool", "add_counts", "add_record", "drain", "new_pool"]

END = -(1 << 31)
LINK_BASE = 1 << 16


class RulePool(NamedTuple):
    """Records and their counts. Arrays are longer than what is used; growing makes new ones, so rebind.

    slots : int64, shape (a power of two,); 0 is empty
    start : int64, shape (> number of records,), offsets into `words`
    words : int32, the records one behind the other
    count : float64, total weight of each record
    seen : int32, number of occurrences of each record
    size : int64, shape (1,), the number of records
    """

    slots: np.ndarray
    start: np.ndarray
    words: np.ndarray
    count: np.ndarray  # type: ignore[assignment]
    seen: np.ndarray
    size: np.ndarray


def new_pool() -> RulePool:
    """A pool without rules."""
    return RulePool(
        np.zeros(1 << 12, np.int64),
        np.zeros(1 << 11, np.int64),
        np.zeros(1 << 14, np.int32),
        np.zeros(1 << 11, np.float64),
        np.zeros(1 << 11, np.int32),
        np.zeros(1, np.int64),
    )


@compiled
def add_record(pool, record, length, weight):
    """Count one occurrence of `record[:length]`; returns the pool to use from now on."""
    slots, start, words, count, seen, size = pool
    code = fingerprint(record, 0, length)
    tag = np.int64(code >> np.uint64(33))
    mask = len(slots) - 1
    slot = np.int64(code & np.uint64(mask))
    while slots[slot] != 0:
        if slots[slot] >> 32 == tag:
            found = (slots[slot] & 0xFFFFFFFF) - 1
            if _same(words, start[found], start[found + 1], record, length):
                count[found] += weight
                seen[found] += 1
                return pool
        slot = (slot + 1) & mask
    new = size[0]
    if start[new] + length > len(words) or new + 2 > len(start):
        pool = _with_room(pool, length)
        slots, start, words, count, seen, size = pool
    begin = start[new]
    for i in range(length):
        words[begin + i] = record[i]
    start[new + 1] = begin + length
    slots[slot] = (tag << 32) | (new + 1)
    count[new] = weight
    seen[new] = 1
    size[0] = new + 1
    if 2 * size[0] > len(slots):
        pool = _rehashed(pool)
    return pool


@compiled
def _same(words, begin, end, record, length):
    if end - begin != length:
        return False
    for i in range(length):  # noqa: SIM110 (all() over a generator does not compile)
        if words[begin + i] != record[i]:
            return False
    return True


@compiled
def _with_room(pool, length):
    """The same records with half as much room again where one more of `length` would not fit."""
    slots, start, words, count, seen, size = pool
    used = size[0]
    if start[used] + length > len(words):
        words = _longer(words, start[used], (start[used] + length) * 3 // 2)
    if used + 2 > len(start):
        room = (used + 2) * 3 // 2
        start = _longer(start, used + 1, room)
        count = _longer(count, used, room)
        seen = _longer(seen, used, room)
    return RulePool(slots, start, words, count, seen, size)


@compiled
def _longer(array, used, room):
    longer = np.empty(room, array.dtype)
    for k in range(used):  # A slice assignment would take seconds to compile.
        longer[k] = array[k]
    return longer


@compiled
def _rehashed(pool):
    """The same records with four times as many slots."""
    slots, start, words, count, seen, size = pool
    new_slots = np.zeros(4 * len(slots) if len(slots) < 1 << 22 else 2 * len(slots), slots.dtype)
    mask = len(new_slots) - 1
    for record in range(size[0]):
        code = fingerprint(words, start[record], start[record + 1])
        slot = np.int64(code & np.uint64(mask))
        while new_slots[slot] != 0:
            slot = (slot + 1) & mask
        new_slots[slot] = (np.int64(code >> np.uint64(33)) << 32) | (record + 1)
    return RulePool(new_slots, start, words, count, seen, size)


def add_counts(pool: RulePool, counts: Any) -> RulePool:
    """The pool with all rules of a RuleCounts added."""
    return _add_counts(pool, *counts)


@kernel
def _add_counts(pool, source_start, source, target_start, target, alignment_start, alignment, count):
    record = np.empty(64, np.int32)
    for rule in range(len(count)):
        num_source = source_start[rule + 1] - source_start[rule]
        num_target = target_start[rule + 1] - target_start[rule]
        num_links = alignment_start[rule + 1] - alignment_start[rule]
        length = 2 + num_source + num_target + num_links
        if length > len(record):
            record = np.empty(2 * length, np.int32)
        for i in range(num_source):
            record[i] = source[source_start[rule] + i]
        record[num_source] = END
        for i in range(num_target):
            record[num_source + 1 + i] = target[target_start[rule] + i]
        record[num_source + 1 + num_target] = END
        for i in range(num_links):
            link = alignment_start[rule] + i
            record[2 + num_source + num_target + i] = alignment[link, 0] * LINK_BASE + alignment[link, 1]
        pool = add_record(pool, record, length, count[rule])
    return pool


def drain(pool: RulePool, *, drop_singletons: bool = False) -> tuple[np.ndarray, ...]:
    """The fields of a merged, sorted RuleCounts with the rules of the pool.

    Of a rule's alignments the heaviest is kept, on ties the one that comes first link by link.

    drop_singletons : leave out rules with one occurrence in all and more than one word on the source side.
    """
    num_records = int(pool.size[0])
    start = pool.start[: num_records + 1]
    order = lexicographic_order(start, pool.words[: start[-1]])
    return _drain(order, start, pool.words, pool.count, pool.seen, drop_singletons)


@kernel
def _drain(order, start, words, count, seen, drop_singletons):
    num_records = len(order)
    keep = np.empty(num_records, np.int64)  # the record that speaks for each kept rule
    total = np.empty(num_records, np.float64)
    num_rules, num_source, num_target, num_links = 0, 0, 0, 0
    begin = 0
    while begin < num_records:
        record = order[begin]
        first, second = _ends(words, start[record])
        best, rule_count, rule_seen = record, 0.0, 0
        end = begin
        while end < num_records and _same_rule(words, start[record], second, start[order[end]]):
            other = order[end]
            rule_count += count[other]
            rule_seen += seen[other]
            if count[other] > count[best]:
                best = other
            end += 1
        begin = end
        if drop_singletons and rule_seen == 1 and _num_words(words, start[record], first) > 1:
            continue
        keep[num_rules] = best
        total[num_rules] = rule_count
        num_rules += 1
        num_source += first - start[record]
        num_target += second - first - 1
        num_links += start[best + 1] - _ends(words, start[best])[1] - 1
    source_start = np.zeros(num_rules + 1, np.int64)
    target_start = np.zeros(num_rules + 1, np.int64)
    alignment_start = np.zeros(num_rules + 1, np.int64)
    source = np.empty(num_source, np.int32)
    target = np.empty(num_target, np.int32)
    alignment = np.empty((num_links, 2), np.int32)
    for rule in range(num_rules):
        record = keep[rule]
        first, second = _ends(words, start[record])
        i, j, k = source_start[rule], target_start[rule], alignment_start[rule]
        for at in range(start[record], first):
            source[i] = words[at]
            i += 1
        for at in range(first + 1, second):
            target[j] = words[at]
            j += 1
        for at in range(second + 1, start[record + 1]):
            alignment[k, 0] = words[at] // LINK_BASE
            alignment[k, 1] = words[at] % LINK_BASE
            k += 1
        source_start[rule + 1] = i
        target_start[rule + 1] = j
        alignment_start[rule + 1] = k
    return source_start, source, target_start, target, alignment_start, alignment, total[:num_rules].copy()


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
