"""Phrase decomposition forests: every minimal synchronous rule of an aligned sentence pair.

A phrase is a pair of spans that the alignment does not cross, with a link at all four ends (Chung et al.
2014, section 3). Unaligned words are taken out before the forest is built, and come back in the lowest node
of a derivation that covers them. On the compacted source positions 0 … n:

- node (i, j) exists iff the target span of source words i … j−1 is aligned to these words alone;
- if some k splits it, (i, k) and (k, j) both being nodes, its edges are exactly those binary splits;
- otherwise it has one edge, whose tails are its largest proper sub-phrases and whose terminals are the rest
  (Algorithm 2; Lemma 2).

A node with s > 1 splits heads a *linear group*: s + 1 blocks side by side, all straight or all inverted,
any run of which is a node. So edges need no storage: they are found from the matrix of phrases. The
sampler works on `SentenceForest`, this implicit form, filled anew for every sentence; `phrase_forest` spells
the explicit one, for people, tests and dynamic programs.

The fact a newcomer would get wrong: node (i, j) covers the unaligned words strictly inside it, never those
at its ends. Only the root, which is the whole sentence pair, covers unaligned words at the boundary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import fragment_tree
from scfg_sampler.core.fragment import (
    ADJACENT,
    COUNTS,
    ENDS,
    ENDS_WITH_SLOT,
    FIRST_HASH,
    FIRST_POWER,
    MULTIPLIER,
    ONE_FIRST,
    ONE_SECOND,
    ONE_SLOT,
    SECOND_HASH,
    SECOND_POWER,
    SECOND_SLOTS,
    SLOT,
    SLOT_BASE,
    SLOT_STEP,
    STARTS_WITH_SLOT,
    num_slots,
    powers,
    prefix_hashes,
    word_hashes,
)
from scfg_sampler.core.fragment_tree import CUT, EDGE, NUM_TAILS, ORDER, TAIL_START
from scfg_sampler.core.jit import compiled
from scfg_sampler.corpus import ParallelCorpus

__all__ = [
    "SIZE",
    "CorpusArrays",
    "SentenceForest",
    "fill_forest",
    "new_sentence_forest",
    "plain_corpus_arrays",
]

# Entries of `shape`.
SIZE = 0  # n, source words with a link
MAX_CUT_SPAN = 1  # longest source span of a node that may be internal; a large number for no limit
FREE_TAIL = 2  # first unused entry of the workspace's tails
MAX_LENGTH = 3  # most words of a sentence, on either side, that there is room for
SHAPE_WIDTH = 4

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class CorpusArrays(NamedTuple):
    """A word-aligned corpus as kernels read it; see `corpus.ParallelCorpus`."""

    source_start: np.ndarray
    """int64 (S + 1,)."""
    source: np.ndarray
    """int32."""
    target_start: np.ndarray
    """int64 (S + 1,)."""
    target: np.ndarray
    """int32."""
    link_start: np.ndarray
    """int64 (S + 1,)."""
    links: np.ndarray
    """int32 (L, 2): source and target position, sorted by source."""
    source_values: np.ndarray
    """uint64 (source vocabulary,): hash values of words."""
    target_values: np.ndarray
    """uint64 (target vocabulary,)."""
    source_weights: np.ndarray
    """float64 (source vocabulary,): ln of the base's word weights; zeros where the base has none."""
    target_weights: np.ndarray
    """float64 (target vocabulary,)."""


def plain_corpus_arrays(corpus: ParallelCorpus) -> CorpusArrays:
    """A corpus as kernels read it, with words of no weight.

    Parameters
    ----------
    corpus : ParallelCorpus
    """
    sizes = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
    return CorpusArrays(
        corpus.source_start,
        corpus.source,
        corpus.target_start,
        corpus.target,
        corpus.link_start,
        corpus.links,
        *(word_hashes(size, salt) for salt, size in enumerate(sizes)),
        *(np.zeros(size) for size in sizes),
    )


class SentenceForest(NamedTuple):
    """One sentence pair's forest in implicit form. Node (i, j) has the id i (n + 1) + j."""

    shape: np.ndarray
    """int64 (4,): see the entry names above."""
    spans: np.ndarray
    """int32 (N, 4): source and target span of each node, half-open, in the original sentence."""
    is_phrase: np.ndarray
    """uint8 (N,)."""
    degree: np.ndarray
    """int32 (N,): number of edges of a node, 0 while not counted."""
    next_split: np.ndarray
    """int32 (n + 1,): end of the block that begins here, in the group last opened; 0 elsewhere."""
    hashes: np.ndarray
    """uint64 (2, L + 1): prefix hashes of the two sentences."""
    weights: np.ndarray
    """float64 (2, L + 1): prefix sums of the word weights."""
    power: np.ndarray
    """uint64 (L + 1,)."""
    words: np.ndarray
    """int32 (8, L + 1): scratch rows for `fill_forest`."""


def new_sentence_forest(longest_source: int, longest_target: int, max_cut_span: int) -> SentenceForest:
    """Room for the forest of any sentence pair up to these lengths.

    Parameters
    ----------
    longest_source, longest_target : int
        In words.
    max_cut_span : int
        Nodes over more source words are always cut; 0 for no limit.
    """
    length = max(longest_source, longest_target)
    num_nodes = (longest_source + 1) ** 2
    shape = np.zeros(SHAPE_WIDTH, np.int64)
    shape[MAX_LENGTH] = length
    shape[MAX_CUT_SPAN] = max_cut_span if max_cut_span > 0 else length + 1
    return SentenceForest(
        shape=shape,
        spans=np.zeros((num_nodes, 4), np.int32),
        is_phrase=np.zeros(num_nodes, np.uint8),
        degree=np.zeros(num_nodes, np.int32),
        next_split=np.zeros(longest_source + 1, np.int32),
        hashes=np.zeros((2, length + 1), np.uint64),
        weights=np.zeros((2, length + 1)),
        power=powers(length + 1),
        words=np.zeros((8, length + 2), np.int32),
    )


@compiled
def fill_forest(forest, work, corpus, sentence):
    """Build the forest of a sentence; False if it has no links, and so no forest, or is too long."""
    if corpus.link_start[sentence + 1] == corpus.link_start[sentence]:
        return False
    for start in (corpus.source_start, corpus.target_start):
        if start[sentence + 1] - start[sentence] > forest.shape[MAX_LENGTH]:
            return False
    _mark_phrases(forest, work, corpus, sentence)
    first, last = corpus.source_start[sentence], corpus.source_start[sentence + 1]
    prefix_hashes(corpus.source, first, last, corpus.source_values, forest.hashes[0])
    _prefix_sums(corpus.source, first, last, corpus.source_weights, forest.weights[0])
    first, last = corpus.target_start[sentence], corpus.target_start[sentence + 1]
    prefix_hashes(corpus.target, first, last, corpus.target_values, forest.hashes[1])
    _prefix_sums(corpus.target, first, last, corpus.target_weights, forest.weights[1])
    return True


@compiled
def _prefix_sums(words, start, stop, values, out):
    total = 0.0
    out[0] = 0.0
    for i in range(start, stop):
        total += values[words[i]]
        out[i - start + 1] = total


@compiled
def _mark_phrases(forest, work, corpus, sentence):
    """Find all phrases: a source span whose target span holds just as many links is one."""
    words = forest.words
    low, high, links_to, links_before, position = words[0], words[1], words[2], words[3], words[4]
    source_length = corpus.source_start[sentence + 1] - corpus.source_start[sentence]
    target_length = corpus.target_start[sentence + 1] - corpus.target_start[sentence]
    for t in range(target_length + 1):
        links_to[t] = 0
    size = 0
    before = -1
    count = 0
    for link in range(corpus.link_start[sentence], corpus.link_start[sentence + 1]):
        s, t = corpus.links[link, 0], corpus.links[link, 1]
        links_to[t + 1] += 1
        if s != before:
            position[size] = s
            links_before[size] = count
            low[size], high[size] = t, t
            size += 1
            before = s
        low[size - 1] = min(low[size - 1], t)
        high[size - 1] = max(high[size - 1], t)
        count += 1
    links_before[size] = count
    for t in range(target_length):
        links_to[t + 1] += links_to[t]
    forest.shape[SIZE] = size
    forest.shape[FREE_TAIL] = 0
    width = size + 1
    for i in range(size):
        first, last = target_length, np.int32(-1)
        for j in range(i + 1, size + 1):
            first = min(first, low[j - 1])
            last = max(last, high[j - 1])
            node = i * width + j
            if links_to[last + 1] - links_to[first] == links_before[j] - links_before[i]:
                forest.is_phrase[node] = 1
                forest.spans[node, 0] = position[i]
                forest.spans[node, 1] = position[j - 1] + 1
                forest.spans[node, 2] = first
                forest.spans[node, 3] = last + 1
                forest.degree[node] = 0
                work.nodes[node, TAIL_START] = -1
            else:
                forest.is_phrase[node] = 0
    goal = size
    forest.spans[goal, 0] = 0
    forest.spans[goal, 1] = source_length
    forest.spans[goal, 2] = 0
    forest.spans[goal, 3] = target_length


# --- what the sweep asks of a forest -------------------------------------------------------------------


@fragment_tree.root.register(SentenceForest)
def _root(forest):
    return forest.shape[SIZE]


@compiled
def count_splits(forest, node):
    """How many k split a node in two phrases."""
    width = forest.shape[SIZE] + 1
    i = node // width
    j = node - i * width
    splits = 0
    for k in range(i + 1, j):
        splits += forest.is_phrase[i * width + k] & forest.is_phrase[k * width + j]
    return splits


@fragment_tree.num_edges.register(SentenceForest)
def _num_edges(forest, node):
    if forest.degree[node] == 0:
        forest.degree[node] = max(1, count_splits(forest, node))
    return forest.degree[node]


@fragment_tree.nth_edge.register(SentenceForest)
def _nth_edge(forest, node, rank):
    # An edge's label is the length of its first tail, in compacted positions; 0 if it is not a split.
    width = forest.shape[SIZE] + 1
    i = node // width
    j = node - i * width
    seen = 0
    for k in range(i + 1, j):
        if forest.is_phrase[i * width + k] & forest.is_phrase[k * width + j]:
            if seen == rank:
                return k - i
            seen += 1
    return 0


@fragment_tree.open_options.register(SentenceForest)
def _open_options(forest, work, node):
    options = work.lists[fragment_tree.OPTIONS]
    width = forest.shape[SIZE] + 1
    i = node // width
    j = node - i * width
    size = 0
    block = i
    forest.next_split[i] = j
    for k in range(i + 1, j):
        forest.next_split[k] = 0
        if forest.is_phrase[i * width + k] & forest.is_phrase[k * width + j]:
            options[size] = k - i
            size += 1
            forest.next_split[block] = k
            forest.next_split[k] = j
            block = k
    forest.degree[node] = max(1, size)
    return size


@fragment_tree.is_shared.register(SentenceForest)
def _is_shared(forest, node, below):
    width = forest.shape[SIZE] + 1
    i = below // width
    return forest.next_split[i] == below - i * width


@fragment_tree.may_be_internal.register(SentenceForest)
def _may_be_internal(forest, node):
    if node == forest.shape[SIZE]:
        return 0
    return 1 if forest.spans[node, 1] - forest.spans[node, 0] <= forest.shape[MAX_CUT_SPAN] else 0


@fragment_tree.set_tails.register(SentenceForest)
def _set_tails(forest, work, node):
    nodes = work.nodes
    width = forest.shape[SIZE] + 1
    i = node // width
    j = node - i * width
    start = nodes[node, TAIL_START]
    if nodes[node, EDGE] > 0:
        if start < 0:
            start = forest.shape[FREE_TAIL]
            forest.shape[FREE_TAIL] = start + 2
            nodes[node, TAIL_START] = start
        k = i + nodes[node, EDGE]
        work.tails[start] = i * width + k
        work.tails[start + 1] = k * width + j
        nodes[node, NUM_TAILS] = 2
    elif start < 0:
        start = forest.shape[FREE_TAIL]
        nodes[node, TAIL_START] = start
        size = 0
        begin = i
        while begin < j:
            end = j if begin > i else j - 1
            while end > begin and forest.is_phrase[begin * width + end] == 0:
                end -= 1
            if end > begin:
                work.tails[start + size] = begin * width + end
                size += 1
                begin = end
            else:
                begin += 1
        nodes[node, NUM_TAILS] = size
        forest.shape[FREE_TAIL] = start + size


@fragment_tree.compose.register(SentenceForest)
def _compose(forest, work, node):
    nodes, pieces, spans, power = work.nodes, work.pieces, forest.spans, forest.power
    prefix, weight = forest.hashes[0], forest.weights[0]
    start, size = nodes[node, TAIL_START], nodes[node, NUM_TAILS]
    # The source side, left to right.
    hashed, powered, counts = _ZERO, _ONE, _ZERO
    ends_with_slot = False
    position = spans[node, 0]
    total = 0.0
    for t in range(size):
        tail = work.tails[start + t]
        gap = spans[tail, 0] - position
        if gap > 0:
            hashed = (hashed - prefix[position]) * power[gap] + prefix[position + gap]
            powered *= power[gap]
            counts += np.uint64(gap) * ONE_FIRST
            total += weight[position + gap] - weight[position]
            ends_with_slot = False
        if nodes[tail, CUT] == 1:
            inner = ONE_SLOT | ENDS
            hashed = hashed * MULTIPLIER + SLOT
            powered *= MULTIPLIER
        else:
            inner = pieces[tail, COUNTS]
            hashed = hashed * pieces[tail, FIRST_POWER] + pieces[tail, FIRST_HASH]
            powered *= pieces[tail, FIRST_POWER]
            total += work.weights[tail]
        if inner & STARTS_WITH_SLOT:
            if ends_with_slot:
                counts += ADJACENT
            if t == 0 and gap == 0:
                counts |= STARTS_WITH_SLOT
        counts += inner & ~ENDS
        ends_with_slot = (inner & ENDS_WITH_SLOT) != _ZERO
        position = spans[tail, 1]
    gap = spans[node, 1] - position
    if gap > 0:
        hashed = (hashed - prefix[position]) * power[gap] + prefix[position + gap]
        powered *= power[gap]
        counts += np.uint64(gap) * ONE_FIRST
        total += weight[position + gap] - weight[position]
    elif ends_with_slot:
        counts |= ENDS_WITH_SLOT
    pieces[node, FIRST_HASH] = hashed
    pieces[node, FIRST_POWER] = powered
    # The target side, left to right; slots are numbered in source order.
    prefix, weight = forest.hashes[1], forest.weights[1]
    order = work.lists[ORDER]
    _sort_by_target(spans, work.tails, start, size, order)
    hashed, powered, slots = _ZERO, _ONE, _ZERO
    position = spans[node, 2]
    for rank in range(size):
        tail = work.tails[start + order[rank]]
        gap = spans[tail, 2] - position
        if gap > 0:
            hashed = (hashed - prefix[position]) * power[gap] + prefix[position + gap]
            slots *= power[gap]
            powered *= power[gap]
            counts += np.uint64(gap) * ONE_SECOND
            total += weight[position + gap] - weight[position]
        before = 0
        for t in range(order[rank]):
            earlier = work.tails[start + t]
            before += 1 if nodes[earlier, CUT] == 1 else num_slots(pieces[earlier, COUNTS])
        shift = np.uint64(before) * SLOT_STEP
        if nodes[tail, CUT] == 1:
            hashed = hashed * MULTIPLIER + SLOT_BASE + shift
            slots = slots * MULTIPLIER + _ONE
            powered *= MULTIPLIER
        else:
            own = pieces[tail, SECOND_SLOTS]
            hashed = hashed * pieces[tail, SECOND_POWER] + pieces[tail, SECOND_HASH] + shift * own
            slots = slots * pieces[tail, SECOND_POWER] + own
            powered *= pieces[tail, SECOND_POWER]
        position = spans[tail, 3]
    gap = spans[node, 3] - position
    if gap > 0:
        hashed = (hashed - prefix[position]) * power[gap] + prefix[position + gap]
        slots *= power[gap]
        powered *= power[gap]
        counts += np.uint64(gap) * ONE_SECOND
        total += weight[position + gap] - weight[position]
    pieces[node, SECOND_HASH] = hashed
    pieces[node, SECOND_SLOTS] = slots
    pieces[node, SECOND_POWER] = powered
    pieces[node, COUNTS] = counts
    work.weights[node] = total


@compiled
def _sort_by_target(spans, tails, start, size, order):
    for t in range(size):
        at = t
        while at > 0 and spans[tails[start + order[at - 1]], 2] > spans[tails[start + t], 2]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = t
