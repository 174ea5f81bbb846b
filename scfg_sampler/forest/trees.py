"""Trees over phrase decomposition forests: edges, tails, and what a node spells.

Here `SentenceForest` answers what `core.fragment_tree` asks of a forest. Every kernel that walks trees of
sentence pairs must have this module below it: see `core.jit`.

The label of a node's edge is the length of its first tail, in positions of words with a link, or 0 for the
minimal edge of a node that is not split. By Lemma 2 of Chung et al. (2014) a node with several edges is a
linear group of blocks, each of its edges one boundary between two blocks; and every run of blocks is a
phrase.

The fact a newcomer would get wrong: tails and pieces of a node outside the tree are left-overs until a visit
draws the node's variables.
"""

from __future__ import annotations

import math

import numpy as np

from scfg_sampler.core.fragments import tree as fragment_tree
from scfg_sampler.core.fragments.fingerprint import (
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
)
from scfg_sampler.core.fragments.tree import CUT, EDGE, NUM_TAILS, ORDER, TAIL_START
from scfg_sampler.core.jit import borrowing, inlined
from scfg_sampler.forest.implicit import FREE_TAIL, MAX_CUT_SPAN, SIZE, SentenceForest, fill_forest

__all__ = ["SentenceForest"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@fragment_tree.open_sentence.register(SentenceForest)
def _open_sentence(forest, work, data, sentence):
    return fill_forest(forest, work, data, sentence)


@fragment_tree.root.register(SentenceForest)
def _root(forest):
    return forest.shape[SIZE]


@borrowing
def _count_splits(forest, node):
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
        forest.degree[node] = max(1, _count_splits(forest, node))
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
    boundaries, ranks = forest.boundaries, forest.ranks
    width = forest.shape[SIZE] + 1
    i = node // width
    j = node - i * width
    size = 0
    boundaries[0] = i
    ranks[i] = 0
    for k in range(i + 1, j):
        if forest.is_phrase[i * width + k] & forest.is_phrase[k * width + j]:
            options[size] = k - i
            size += 1
            boundaries[size] = k
            ranks[k] = size
    boundaries[size + 1] = j
    ranks[j] = size + 1
    return size


# Nodes below a node with several edges that not all of its derivations share run from one boundary of its
# linear group to another, and are split at all boundaries between (Lemma 2).


@inlined
def _end_ranks(forest, below):
    width = forest.shape[SIZE] + 1
    i = below // width
    return forest.ranks[i], forest.ranks[below - i * width]


@fragment_tree.is_shared.register(SentenceForest)
def _is_shared(forest, node, below):
    first, last = _end_ranks(forest, below)
    return last - first == 1


@fragment_tree.num_inner_edges.register(SentenceForest)
def _num_inner_edges(forest, node, below):
    first, last = _end_ranks(forest, below)
    return np.int64(last - first - 1)


@fragment_tree.nth_inner_edge.register(SentenceForest)
def _nth_inner_edge(forest, node, below, rank):
    first, _ = _end_ranks(forest, below)
    return forest.boundaries[first + 1 + rank] - forest.boundaries[first]


@fragment_tree.may_be_internal.register(SentenceForest)
def _may_be_internal(forest, node):
    if node == forest.shape[SIZE]:
        return 0
    return 1 if forest.spans[node, 1] - forest.spans[node, 0] <= forest.shape[MAX_CUT_SPAN] else 0


@fragment_tree.log_internal_trees.register(SentenceForest)
def _log_internal_trees(forest, work, node):
    """Π over the linear groups inside the fragment of the trees over the parts that it has of the group."""
    nodes, pending = work.nodes, work.lists[ORDER]
    items = forest.words[5]
    pending[0] = node
    num_pending = 1
    total = 0.0
    while num_pending > 0:
        num_pending -= 1
        at = pending[num_pending]
        first = nodes[at, TAIL_START]
        if nodes[at, EDGE] > 0:
            num_items = _list_items(forest, work, at, num_pending)
            if num_items > 2:
                total += _log_trees_over(forest, at, num_items)
            for t in range(num_items):
                item = items[t]
                if nodes[item, CUT] == 0:
                    pending[num_pending] = item
                    num_pending += 1
        else:
            for t in range(nodes[at, NUM_TAILS]):
                if nodes[work.tails[first + t], CUT] == 0:
                    pending[num_pending] = work.tails[first + t]
                    num_pending += 1
    return total


@borrowing
def _list_items(forest, work, node, pending_size):
    """List in `words[5]`, left to right, the cut nodes and whole blocks a fragment has of a node's group.

    lists[ORDER] is free from `pending_size` on.
    """
    nodes, pending, items = work.nodes, work.lists[ORDER], forest.words[5]
    width = forest.shape[SIZE] + 1
    i = node // width
    j = node - i * width
    num_items = 0
    num_pending = pending_size
    pending[num_pending] = node
    num_pending += 1
    while num_pending > pending_size:
        num_pending -= 1
        at = pending[num_pending]
        split = at // width + nodes[at, EDGE]
        in_group = forest.is_phrase[i * width + split] & forest.is_phrase[split * width + j]
        if at == node or (nodes[at, CUT] == 0 and nodes[at, EDGE] > 0 and in_group):
            pending[num_pending] = work.tails[nodes[at, TAIL_START] + 1]
            pending[num_pending + 1] = work.tails[nodes[at, TAIL_START]]
            num_pending += 2
        else:
            items[num_items] = at
            num_items += 1
    return num_items


@borrowing
def _log_trees_over(forest, node, num_items):
    """ln of the number of binary trees over `words[5]` whose inner nodes below `node` may all be internal."""
    items, trees = forest.words[5], forest.trees
    width = forest.shape[SIZE] + 1
    for length in range(1, num_items + 1):
        for first in range(num_items - length + 1):
            last = first + length - 1
            count = 1.0
            if length > 1:
                count = 0.0
                whole = items[first] // width * width + items[last] % width
                if length == num_items or fragment_tree.may_be_internal(forest, whole) == 1:
                    for k in range(first, last):
                        count += trees[first, k] * trees[k + 1, last]
            trees[first, last] = count
    return math.log(trees[0, num_items - 1])


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
    if work.nodes[node, EDGE] > 0:
        _compose_split(forest, work, node)
    else:
        _compose_minimal(forest, work, node)


@inlined
def _outer(work, tail):
    """What a tail contributes: (first hash, power, second hash, slots, power, counts, weight)."""
    pieces = work.pieces
    if work.nodes[tail, CUT] == 1:
        return SLOT, MULTIPLIER, SLOT_BASE, _ONE, MULTIPLIER, ONE_SLOT | ENDS, 0.0
    return (
        pieces[tail, FIRST_HASH],
        pieces[tail, FIRST_POWER],
        pieces[tail, SECOND_HASH],
        pieces[tail, SECOND_SLOTS],
        pieces[tail, SECOND_POWER],
        pieces[tail, COUNTS],
        work.weights[tail],
    )


@inlined
def _run(prefix, power, start, stop):
    """Hash and power of the words from start to stop."""
    return prefix[stop] - prefix[start] * power[stop - start], power[stop - start]


@borrowing
def _compose_split(forest, work, node):
    """`_compose_minimal` for a node with two tails and, but for unaligned words, nothing else."""
    pieces, spans, power = work.pieces, forest.spans, forest.power
    left = work.tails[work.nodes[node, TAIL_START]]
    right = work.tails[work.nodes[node, TAIL_START] + 1]
    hashed, powered, left_second, left_slots, left_power, left_counts, total = _outer(work, left)
    right_first, right_first_power, right_second, right_slots, right_power, right_counts, weight = _outer(
        work, right
    )
    total += weight
    counts = (left_counts & ~ENDS) + (right_counts & ~ENDS)
    # The source side.
    prefix, weights = forest.hashes[0], forest.weights[0]
    begin, end = spans[node, 0], spans[node, 1]
    start, stop = spans[left, 1], spans[right, 0]
    if stop > start:
        words, shift = _run(prefix, power, start, stop)
        hashed = hashed * shift + words
        powered *= shift
        counts += np.uint64(stop - start) * ONE_FIRST
        total += weights[stop] - weights[start]
    elif (left_counts & ENDS_WITH_SLOT) != _ZERO and (right_counts & STARTS_WITH_SLOT) != _ZERO:
        counts += ADJACENT
    hashed = hashed * right_first_power + right_first
    powered *= right_first_power
    start = spans[left, 0]
    if start > begin:
        words, shift = _run(prefix, power, begin, start)
        hashed += words * powered
        powered *= shift
        counts += np.uint64(start - begin) * ONE_FIRST
        total += weights[start] - weights[begin]
    else:
        counts |= left_counts & STARTS_WITH_SLOT
    stop = spans[right, 1]
    if end > stop:
        words, shift = _run(prefix, power, stop, end)
        hashed = hashed * shift + words
        powered *= shift
        counts += np.uint64(end - stop) * ONE_FIRST
        total += weights[end] - weights[stop]
    else:
        counts |= right_counts & ENDS_WITH_SLOT
    pieces[node, FIRST_HASH] = hashed
    pieces[node, FIRST_POWER] = powered
    # The target side: the slots of the right tail are numbered after those of the left.
    prefix, weights = forest.hashes[1], forest.weights[1]
    begin, end = spans[node, 2], spans[node, 3]
    right_second += np.uint64(num_slots(left_counts)) * SLOT_STEP * right_slots
    if spans[left, 2] < spans[right, 2]:
        hashed, slots, powered = left_second, left_slots, left_power
        later, later_slots, later_power = right_second, right_slots, right_power
        first, start, stop, last = spans[left, 2], spans[left, 3], spans[right, 2], spans[right, 3]
    else:
        hashed, slots, powered = right_second, right_slots, right_power
        later, later_slots, later_power = left_second, left_slots, left_power
        first, start, stop, last = spans[right, 2], spans[right, 3], spans[left, 2], spans[left, 3]
    if stop > start:
        words, shift = _run(prefix, power, start, stop)
        hashed = hashed * shift + words
        slots *= shift
        powered *= shift
        counts += np.uint64(stop - start) * ONE_SECOND
        total += weights[stop] - weights[start]
    hashed = hashed * later_power + later
    slots = slots * later_power + later_slots
    powered *= later_power
    if first > begin:
        words, shift = _run(prefix, power, begin, first)
        hashed += words * powered
        powered *= shift
        counts += np.uint64(first - begin) * ONE_SECOND
        total += weights[first] - weights[begin]
    if end > last:
        words, shift = _run(prefix, power, last, end)
        hashed = hashed * shift + words
        slots *= shift
        powered *= shift
        counts += np.uint64(end - last) * ONE_SECOND
        total += weights[end] - weights[last]
    pieces[node, SECOND_HASH] = hashed
    pieces[node, SECOND_SLOTS] = slots
    pieces[node, SECOND_POWER] = powered
    pieces[node, COUNTS] = counts
    work.weights[node] = total


@borrowing
def _compose_minimal(forest, work, node):
    """Renew what a node spells, whatever its tails."""
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


@borrowing
def _sort_by_target(spans, tails, start, size, order):
    for t in range(size):
        at = t
        while at > 0 and spans[tails[start + order[at - 1]], 2] > spans[tails[start + t], 2]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = t
