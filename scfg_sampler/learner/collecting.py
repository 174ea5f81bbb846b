"""Counts of the rules in derivations, spelled out and kept exactly.

The sampler knows a rule by a fingerprint; what leaves it is spelled. A rule with its inner word alignment
is a sequence of symbols

    source side, SEPARATOR, target side, SEPARATOR, position pairs of its links

and a collector gives each distinct sequence an id and a count. So expected counts over hundreds of sweeps
need memory for the rules seen, not for the states, and of a rule's alignments the most frequent can be kept
in the end (`rule_counts.merge_rules`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.interner import Interner, enlarged, has_room, intern, new_interner
from scfg_sampler.core.fragments.fingerprint import fingerprint
from scfg_sampler.core.fragments.tree import BELOW, CUT, NUM_TAILS, OPTIONS, ORDER, PENDING, TAIL_START
from scfg_sampler.core.jit import borrowing, kernel
from scfg_sampler.rules.counts import RuleCounts, merge_rules

__all__ = ["Collector", "collect_tree", "collected_rules", "collector_has_room", "new_collector", "roomier"]

SEPARATOR = np.int32(-(2**31))

_MIX = np.uint64(0xBF58476D1CE4E5B9)


class Collector(NamedTuple):
    """Rules with their alignments, and how often each was seen."""

    interner: Interner
    """What was seen, by id."""
    counts: np.ndarray
    """int64 (D,): by id."""
    symbols: np.ndarray
    """int32 (M,): scratch for one rule."""
    positions: np.ndarray
    """int32 (2, L): scratch, where each word of the sentence stands in the rule, −1 where it does not."""
    states: np.ndarray
    """int64 (1,): how many states have been added."""


def new_collector(longest_source: int, longest_target: int, most_links: int) -> Collector:
    """An empty collector for sentence pairs up to these sizes.

    Parameters
    ----------
    longest_source, longest_target, most_links : int
        In words, words and links.
    """
    interner = new_interner()
    longest = longest_source + longest_target + 2 * most_links + 2
    return Collector(
        interner,
        np.zeros(len(interner.key_start), np.int64),
        np.zeros(longest, np.int32),
        np.zeros((2, max(longest_source, longest_target)), np.int32),
        np.zeros(1, np.int64),
    )


@borrowing
def collector_has_room(collector, sentence_words, sentence_links):
    """Whether all rules of a sentence's derivation can be added."""
    longest = 2 * sentence_words + 2 * sentence_links
    return has_room(collector.interner, sentence_words, longest + 4 * sentence_words)


def roomier(collector: Collector, sentence_words: int, sentence_links: int) -> Collector:
    """The same collector with room for a sentence of this size, and for many like it.

    Parameters
    ----------
    collector : Collector
        Not changed.
    sentence_words, sentence_links : int
        Words of both sides together, and links.
    """
    interner = enlarged(
        collector.interner, sentence_words + 1000, 8 * (sentence_words + sentence_links) + 10000
    )
    counts = np.zeros(len(interner.key_start), np.int64)
    counts[: len(collector.counts)] = collector.counts
    return collector._replace(interner=interner, counts=counts)


@borrowing
def collect_tree(collector, forest, work, corpus, sentence, size):
    """Count the rules of the current tree, whose `size` nodes are listed in lists[BELOW]."""
    for k in range(size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1:
            length, hashed = spell(collector, forest, work, corpus, sentence, node)
            collector.counts[intern(collector.interner, hashed, collector.symbols, length)] += 1


@borrowing
def spell(collector, forest, work, corpus, sentence, node):
    """Write the rule headed at a node to `symbols`: its length, and a fingerprint with the alignment."""
    symbols, spans = collector.symbols, forest.spans
    source, target = collector.positions[0], collector.positions[1]
    slots, order = work.lists[OPTIONS], work.lists[ORDER]
    num_slots = _frontier(work, node)
    begin, at = corpus.source_start[sentence], spans[node, 0]
    length = 0
    for slot in range(num_slots + 1):
        stop = spans[slots[slot], 0] if slot < num_slots else spans[node, 1]
        while at < stop:
            symbols[length] = corpus.source[begin + at]
            source[at] = length
            length += 1
            at += 1
        if slot < num_slots:
            symbols[length] = -1 - slot
            length += 1
            while at < spans[slots[slot], 1]:
                source[at] = -1
                at += 1
    symbols[length] = SEPARATOR
    length += 1
    for slot in range(num_slots):
        place = slot
        while place > 0 and spans[slots[order[place - 1]], 2] > spans[slots[slot], 2]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = slot
    begin, at = corpus.target_start[sentence], spans[node, 2]
    offset = length
    for rank in range(num_slots + 1):
        stop = spans[slots[order[rank]], 2] if rank < num_slots else spans[node, 3]
        while at < stop:
            symbols[length] = corpus.target[begin + at]
            target[at] = length - offset
            length += 1
            at += 1
        if rank < num_slots:
            symbols[length] = -1 - order[rank]
            length += 1
            at = spans[slots[order[rank]], 3]
    symbols[length] = SEPARATOR
    length += 1
    hashed = np.uint64(fingerprint(work.pieces, node))
    for link in range(corpus.link_start[sentence], corpus.link_start[sentence + 1]):
        s, t = corpus.links[link, 0], corpus.links[link, 1]
        if spans[node, 0] <= s < spans[node, 1] and source[s] >= 0:
            symbols[length] = source[s]
            symbols[length + 1] = target[t]
            length += 2
            hashed = (hashed ^ np.uint64(source[s] * 65536 + target[t])) * _MIX
            hashed ^= hashed >> np.uint64(29)
    return length, np.int64((hashed >> np.uint64(1)) | np.uint64(1))


@borrowing
def _frontier(work, node):
    """List the cut nodes below a fragment in lists[OPTIONS], in source order; how many."""
    nodes = work.nodes
    pending, found = work.lists[PENDING], work.lists[OPTIONS]
    pending[0] = node
    num_pending = 1
    size = 0
    while num_pending > 0:
        num_pending -= 1
        at = pending[num_pending]
        if at != node and nodes[at, CUT] == 1:
            found[size] = at
            size += 1
            continue
        first = nodes[at, TAIL_START]
        for t in range(first + nodes[at, NUM_TAILS] - 1, first - 1, -1):
            pending[num_pending] = work.tails[t]
            num_pending += 1
    return size


def collected_rules(collector: Collector) -> RuleCounts:
    """The rules collected, each once, with its mean count over the states added.

    Parameters
    ----------
    collector : Collector
        With at least one state.

    Returns
    -------
    RuleCounts, sorted; of a rule's alignments the most frequent.
    """
    size = int(collector.interner.size[0])
    start = collector.interner.key_start[: size + 1]
    keys = collector.interner.keys[: start[-1]]
    separators = np.flatnonzero(keys == SEPARATOR).reshape(-1, 2)
    ends = (separators[:, 0], separators[:, 1], start[1:])
    begins = (start[:-1], separators[:, 0] + 1, separators[:, 1] + 1)
    sides = [_slices(keys, begin, end) for begin, end in zip(begins, ends, strict=True)]
    (source_start, source), (target_start, target), (pair_start, pairs) = sides
    counts = collector.counts[:size] / max(1, int(collector.states[0]))
    return merge_rules(
        RuleCounts(source_start, source, target_start, target, pair_start // 2, pairs.reshape(-1, 2), counts)
    )


def _slices(values: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """values[begin[r]:end[r]] for every r, one after the other, with their offsets."""
    start = np.zeros(len(begin) + 1, np.int64)
    np.cumsum(end - begin, out=start[1:])
    out = np.empty(start[-1], values.dtype)
    _copy_slices(values, begin, start, out)
    return start, out


@kernel
def _copy_slices(values, begin, start, out):
    for row in range(begin.shape[0]):
        for i in range(start[row + 1] - start[row]):
            out[start[row] + i] = values[begin[row] + i]
