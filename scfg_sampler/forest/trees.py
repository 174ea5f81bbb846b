"""Trees over phrase decomposition forests: edges, tails, and what a node spells.

Here `SentenceForest` answers what `core.fragments.tree` asks of a forest. Every kernel that walks trees of
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
from scfg_sampler.forest.implicit import (
    FREE_TAIL,
    MAX_ATTACHED,
    MAX_CUT_SPAN,
    SIZE,
    SentenceForest,
    fill_forest,
    write_hull,
)

__all__ = ["ATTACHED_MASK", "SentenceForest"]

# How many unaligned words a box takes in, side by side in 16 bits: source left, right, target left, right.
ATTACHED_BITS = 4
ATTACHED_MASK = (1 << ATTACHED_BITS) - 1

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
    if forest.shape[MAX_ATTACHED] > 0 and work.nodes[node, CUT] == 0:
        write_hull(forest, work, node, forest.boxes[node])
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
def _append(prefix, power, start, stop, hashed, powered):
    """Hash and power of a string with the words from start to stop, which may be none, put after it."""
    shift = power[stop - start]
    return hashed * shift + (prefix[stop] - prefix[start] * shift), powered * shift


@inlined
def _prepend(prefix, power, start, stop, hashed, powered):
    """Hash and power of a string with the words from start to stop, which may be none, put before it."""
    shift = power[stop - start]
    return hashed + (prefix[stop] - prefix[start] * shift) * powered, powered * shift


@borrowing
def _compose_split(forest, work, node):
    """`_compose_minimal` for a node with two tails and, but for unaligned words, nothing else."""
    left = work.tails[work.nodes[node, TAIL_START]]
    right = work.tails[work.nodes[node, TAIL_START] + 1]
    left_weight, right_weight = _outer(work, left)[6], _outer(work, right)[6]
    counts, total = _join_first(forest, work, node, left, right, left_weight + right_weight)
    more, total = _join_second(forest, work, node, left, right, total)
    work.pieces[node, COUNTS] = counts + more
    work.weights[node] = total


@borrowing
def _join_first(forest, work, node, left, right, total):
    """Write the source side of a node with two tails; the piece's counts, `total` with its words' weights."""
    boxes, power, prefix, weights = forest.boxes, forest.power, forest.hashes[0], forest.weights[0]
    hashed, powered, _, _, _, left_counts, _ = _outer(work, left)
    right_hash, right_power, _, _, _, right_counts, _ = _outer(work, right)
    counts = (left_counts & ~ENDS) + (right_counts & ~ENDS)
    begin, end = boxes[node, 0], boxes[node, 1]
    first, start, stop, last = boxes[left, 0], boxes[left, 1], boxes[right, 0], boxes[right, 1]
    counts += np.uint64((first - begin) + (stop - start) + (end - last)) * ONE_FIRST
    if (
        start == stop
        and (left_counts & ENDS_WITH_SLOT) != _ZERO
        and (right_counts & STARTS_WITH_SLOT) != _ZERO
    ):
        counts += ADJACENT
    if first == begin:
        counts |= left_counts & STARTS_WITH_SLOT
    if last == end:
        counts |= right_counts & ENDS_WITH_SLOT
    hashed, powered = _append(prefix, power, start, stop, hashed, powered)
    hashed, powered = hashed * right_power + right_hash, powered * right_power
    hashed, powered = _prepend(prefix, power, begin, first, hashed, powered)
    hashed, powered = _append(prefix, power, last, end, hashed, powered)
    total += weights[stop] - weights[start]
    total += weights[first] - weights[begin]
    total += weights[end] - weights[last]
    work.pieces[node, FIRST_HASH] = hashed
    work.pieces[node, FIRST_POWER] = powered
    return counts, total


@borrowing
def _join_second(forest, work, node, left, right, total):
    """Write the target side; the counts of the node's own words there, and `total` with their weights."""
    pieces, boxes, power, prefix = work.pieces, forest.boxes, forest.power, forest.hashes[1]
    weights = forest.weights[1]
    _, _, hashed, slots, powered, left_counts, _ = _outer(work, left)
    _, _, later, later_slots, later_power, _, _ = _outer(work, right)
    # The slots of the right tail are numbered after those of the left.
    later += np.uint64(num_slots(left_counts)) * SLOT_STEP * later_slots
    low, high = left, right
    if boxes[left, 2] > boxes[right, 2]:
        low, high = right, left
        hashed, later = later, hashed
        slots, later_slots = later_slots, slots
        powered, later_power = later_power, powered
    begin, end = boxes[node, 2], boxes[node, 3]
    first, start, stop, last = boxes[low, 2], boxes[low, 3], boxes[high, 2], boxes[high, 3]
    hashed, powered = _append(prefix, power, start, stop, hashed, powered)
    hashed, powered = hashed * later_power + later, powered * later_power
    hashed, powered = _prepend(prefix, power, begin, first, hashed, powered)
    hashed, powered = _append(prefix, power, last, end, hashed, powered)
    slots = (slots * power[stop - start] * later_power + later_slots) * power[end - last]
    total += weights[stop] - weights[start]
    total += weights[first] - weights[begin]
    total += weights[end] - weights[last]
    pieces[node, SECOND_HASH] = hashed
    pieces[node, SECOND_SLOTS] = slots
    pieces[node, SECOND_POWER] = powered
    return np.uint64((first - begin) + (stop - start) + (end - last)) * ONE_SECOND, total


@borrowing
def _compose_minimal(forest, work, node):
    """Renew what a node spells, whatever its tails."""
    counts, total = _spell_first(forest, work, node)
    more, total = _spell_second(forest, work, node, total)
    work.pieces[node, COUNTS] = counts + more
    work.weights[node] = total


@borrowing
def _spell_first(forest, work, node):
    """Write the source side of a node, left to right; the piece's counts, and the weights of words so far."""
    boxes, power, prefix, weights = forest.boxes, forest.power, forest.hashes[0], forest.weights[0]
    start, size = work.nodes[node, TAIL_START], work.nodes[node, NUM_TAILS]
    hashed, powered, counts, total = _ZERO, _ONE, _ZERO, 0.0
    ends_with_slot = False
    position = boxes[node, 0]
    for t in range(size):
        tail = work.tails[start + t]
        begin = boxes[tail, 0]
        hashed, powered = _append(prefix, power, position, begin, hashed, powered)
        counts += np.uint64(begin - position) * ONE_FIRST
        total += weights[begin] - weights[position]
        tail_hash, tail_power, _, _, _, inner, weight = _outer(work, tail)
        hashed, powered = hashed * tail_power + tail_hash, powered * tail_power
        total += weight
        if inner & STARTS_WITH_SLOT and begin == position:
            if ends_with_slot:
                counts += ADJACENT
            if t == 0:
                counts |= STARTS_WITH_SLOT
        counts += inner & ~ENDS
        ends_with_slot = (inner & ENDS_WITH_SLOT) != _ZERO
        position = boxes[tail, 1]
    end = boxes[node, 1]
    hashed, powered = _append(prefix, power, position, end, hashed, powered)
    counts += np.uint64(end - position) * ONE_FIRST
    total += weights[end] - weights[position]
    if ends_with_slot and end == position:
        counts |= ENDS_WITH_SLOT
    work.pieces[node, FIRST_HASH] = hashed
    work.pieces[node, FIRST_POWER] = powered
    return counts, total


@borrowing
def _spell_second(forest, work, node, total):
    """Write the target side, left to right; the counts of the node's own words, `total` with their weights.

    Slots are numbered in source order.
    """
    nodes, pieces, boxes, power = work.nodes, work.pieces, forest.boxes, forest.power
    prefix, weights, order = forest.hashes[1], forest.weights[1], work.lists[ORDER]
    start, size = nodes[node, TAIL_START], nodes[node, NUM_TAILS]
    _sort_by_target(boxes, work.tails, start, size, order)
    hashed, powered, slots, num_words = _ZERO, _ONE, _ZERO, 0
    position = boxes[node, 2]
    for rank in range(size + 1):
        tail = work.tails[start + order[rank]] if rank < size else node
        stop = boxes[tail, 2] if rank < size else boxes[node, 3]
        slots *= power[stop - position]
        hashed, powered = _append(prefix, power, position, stop, hashed, powered)
        num_words += stop - position
        total += weights[stop] - weights[position]
        if rank == size:
            break
        before = 0
        for t in range(order[rank]):
            earlier = work.tails[start + t]
            before += 1 if nodes[earlier, CUT] == 1 else num_slots(pieces[earlier, COUNTS])
        _, _, tail_hash, own, tail_power, _, _ = _outer(work, tail)
        hashed = hashed * tail_power + tail_hash + np.uint64(before) * SLOT_STEP * own
        slots = slots * tail_power + own
        powered *= tail_power
        position = boxes[tail, 3]
    pieces[node, SECOND_HASH] = hashed
    pieces[node, SECOND_SLOTS] = slots
    pieces[node, SECOND_POWER] = powered
    return np.uint64(num_words) * ONE_SECOND, total


@fragment_tree.attach.register(SentenceForest)
def _attach(forest, node, packed):
    if forest.shape[MAX_ATTACHED] > 0:
        for side in range(4):
            more = (packed >> (ATTACHED_BITS * side)) & ATTACHED_MASK
            forest.boxes[node, side] = forest.spans[node, side] + (more if side % 2 == 1 else -more)


@fragment_tree.attached.register(SentenceForest)
def _attached(forest, node):
    packed = np.int64(0)
    if forest.shape[MAX_ATTACHED] > 0:
        for side in range(4):
            more = abs(forest.boxes[node, side] - forest.spans[node, side])
            packed |= np.int64(more) << (ATTACHED_BITS * side)
    return packed


@borrowing
def _sort_by_target(boxes, tails, start, size, order):
    for t in range(size):
        at = t
        while at > 0 and boxes[tails[start + order[at - 1]], 2] > boxes[tails[start + t], 2]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = t
