"""What the nodes of a phrase decomposition forest spell: the pieces of rules, made of those of their tails.

Here `SentenceForest` answers `core.fragments.tree.compose`. A node with two tails is composed in constant
time, whatever it spells; a minimal edge takes its tails one after the other. How hashes are joined,
and slots renumbered, is told in `core.fragments.fingerprint`.

The fact a newcomer would get wrong: a cut tail spells one slot, whatever stands below it, and unaligned words
between or around tails belong to the node itself.
"""

from __future__ import annotations

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
from scfg_sampler.core.jit import borrowing, by_type, inlined
from scfg_sampler.forest.implicit import MAX_ATTACHED, SentenceForest, write_hull

__all__ = ["SentenceForest", "compose_tails", "slot_value"]

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@by_type
def slot_value(forest, tail):
    """uint64: what a cut tail adds to the value of its slot in the first string; 0 where slots are alike."""


@slot_value.register(SentenceForest)
def _slot_value(forest, tail):
    return _ZERO


@fragment_tree.root_value.register(SentenceForest)
def _root_value(forest, node):
    return _ZERO


@fragment_tree.compose.register(SentenceForest)
def _compose(forest, work, node):
    if forest.shape[MAX_ATTACHED] > 0 and work.nodes[node, CUT] == 0:
        write_hull(forest, work, node, forest.boxes[node])
    if work.nodes[node, EDGE] > 0:
        _compose_split(forest, work, node)
    else:
        _compose_minimal(forest, work, node)


@borrowing
def compose_tails(forest, work, node):
    """Renew what a node spells, whatever forest it is of that has the arrays of a `SentenceForest`."""
    if work.nodes[node, NUM_TAILS] == 2:
        _compose_split(forest, work, node)
    else:
        _compose_minimal(forest, work, node)


@inlined
def _outer(forest, work, tail):
    """What a tail contributes: (first hash, power, second hash, slots, power, counts, weight)."""
    pieces = work.pieces
    if work.nodes[tail, CUT] == 1:
        value = SLOT + slot_value(forest, tail)
        return value, MULTIPLIER, SLOT_BASE, _ONE, MULTIPLIER, ONE_SLOT | ENDS, 0.0
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
    """Hash and power of a string with the words from start to stop put after it."""
    shift = power[stop - start]
    return (hashed - prefix[start]) * shift + prefix[stop], powered * shift


@inlined
def _prepend(prefix, power, start, stop, hashed, powered):
    """Hash and power of a string with the words from start to stop put before it."""
    shift = power[stop - start]
    return hashed + (prefix[stop] - prefix[start] * shift) * powered, powered * shift


@inlined
def _compose_split(forest, work, node):
    """`_compose_minimal` for a node with two tails and, but for unaligned words, nothing else."""
    left = work.tails[work.nodes[node, TAIL_START]]
    right = work.tails[work.nodes[node, TAIL_START] + 1]
    one, other = _outer(forest, work, left), _outer(forest, work, right)
    # All is read before anything is written: the compiler cannot know that these are different rows.
    first_hash, first_power, counts, total = _join_first(forest, node, left, right, one, other)
    hashed, slots, powered, more, total = _join_second(forest, node, left, right, one, other, total)
    pieces = work.pieces
    pieces[node, FIRST_HASH], pieces[node, FIRST_POWER] = first_hash, first_power
    pieces[node, SECOND_HASH], pieces[node, SECOND_SLOTS] = hashed, slots
    pieces[node, SECOND_POWER] = powered
    pieces[node, COUNTS] = counts + more
    work.weights[node] = total


@inlined
def _join_first(forest, node, left, right, one, other):
    """Hash and power of the source side of a node with two tails; the counts so far, and the weights."""
    boxes, power, prefix, weights = forest.boxes, forest.power, forest.hashes[0], forest.weights[0]
    hashed, powered, _, _, _, left_counts, total = one
    right_hash, right_power, _, _, _, right_counts, weight = other
    total += weight
    counts = (left_counts & ~ENDS) + (right_counts & ~ENDS)
    begin, end = boxes[node, 0], boxes[node, 1]
    first, start, stop, last = boxes[left, 0], boxes[left, 1], boxes[right, 0], boxes[right, 1]
    # hash(uv) = hash(u) B^|v| + hash(v): left tail, gap, right tail, and unaligned words at either end. Most
    # nodes have none of these words: passing them by is faster than adding empty strings.
    if stop > start:
        hashed, powered = _append(prefix, power, start, stop, hashed, powered)
        counts += np.uint64(stop - start) * ONE_FIRST
        total += weights[stop] - weights[start]
    elif (left_counts & ENDS_WITH_SLOT) != _ZERO and (right_counts & STARTS_WITH_SLOT) != _ZERO:
        # Adjacent pairs of slots, and slots at the ends: the scope, part of a rule's length ℓ (section 5.2).
        counts += ADJACENT
    hashed, powered = hashed * right_power + right_hash, powered * right_power
    if first > begin:
        hashed, powered = _prepend(prefix, power, begin, first, hashed, powered)
        counts += np.uint64(first - begin) * ONE_FIRST
        total += weights[first] - weights[begin]
    else:
        counts |= left_counts & STARTS_WITH_SLOT
    if end > last:
        hashed, powered = _append(prefix, power, last, end, hashed, powered)
        counts += np.uint64(end - last) * ONE_FIRST
        total += weights[end] - weights[last]
    else:
        counts |= right_counts & ENDS_WITH_SLOT
    return hashed, powered, counts, total


@inlined
def _join_second(forest, node, left, right, one, other, total):
    """Hash, slots and power of the target side; the counts of its own words, `total` with their weights."""
    boxes, power, prefix = forest.boxes, forest.power, forest.hashes[1]
    weights = forest.weights[1]
    _, _, hashed, slots, powered, left_counts, _ = one
    _, _, later, later_slots, later_power, _, _ = other
    # The slots of the right tail are numbered after those of the left: o s₁ Σ B^(n−i) is added to its hash.
    later += np.uint64(num_slots(left_counts)) * SLOT_STEP * later_slots
    low, high = left, right
    if boxes[left, 2] > boxes[right, 2]:
        low, high = right, left
        hashed, later = later, hashed
        slots, later_slots = later_slots, slots
        powered, later_power = later_power, powered
    begin, end = boxes[node, 2], boxes[node, 3]
    first, start, stop, last = boxes[low, 2], boxes[low, 3], boxes[high, 2], boxes[high, 3]
    num_words = 0
    if stop > start:
        hashed, powered = _append(prefix, power, start, stop, hashed, powered)
        slots *= power[stop - start]
        num_words += stop - start
        total += weights[stop] - weights[start]
    hashed, powered = hashed * later_power + later, powered * later_power
    slots = slots * later_power + later_slots
    if first > begin:
        hashed, powered = _prepend(prefix, power, begin, first, hashed, powered)
        num_words += first - begin
        total += weights[first] - weights[begin]
    if end > last:
        hashed, powered = _append(prefix, power, last, end, hashed, powered)
        slots *= power[end - last]
        num_words += end - last
        total += weights[end] - weights[last]
    return hashed, slots, powered, np.uint64(num_words) * ONE_SECOND, total


@borrowing
def _compose_minimal(forest, work, node):
    """Renew what a node spells, whatever its tails."""
    pieces = work.pieces
    first_hash, first_power, counts, total = _spell_first(forest, work, node)
    hashed, slots, powered, more, total = _spell_second(forest, work, node, total)
    pieces[node, FIRST_HASH], pieces[node, FIRST_POWER] = first_hash, first_power
    pieces[node, SECOND_HASH], pieces[node, SECOND_SLOTS] = hashed, slots
    pieces[node, SECOND_POWER] = powered
    pieces[node, COUNTS] = counts + more
    work.weights[node] = total


@inlined
def _spell_first(forest, work, node):
    """Hash and power of the source side of a node, left to right; the counts so far, and the weights."""
    nodes, pieces, boxes, power = work.nodes, work.pieces, forest.boxes, forest.power
    prefix, weights = forest.hashes[0], forest.weights[0]
    start, size = nodes[node, TAIL_START], nodes[node, NUM_TAILS]
    hashed, powered, counts, total = _ZERO, _ONE, _ZERO, 0.0
    ends_with_slot = False
    position = boxes[node, 0]
    for t in range(size):
        tail = work.tails[start + t]
        gap = boxes[tail, 0] - position
        if gap > 0:
            hashed, powered = _append(prefix, power, position, position + gap, hashed, powered)
            counts += np.uint64(gap) * ONE_FIRST
            total += weights[position + gap] - weights[position]
            ends_with_slot = False
        if nodes[tail, CUT] == 1:
            inner = ONE_SLOT | ENDS
            hashed = hashed * MULTIPLIER + (SLOT + slot_value(forest, tail))
            powered *= MULTIPLIER
        else:
            inner = pieces[tail, COUNTS]
            # hash(uv) = hash(u) B^|v| + hash(v).
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
        position = boxes[tail, 1]
    gap = boxes[node, 1] - position
    if gap > 0:
        hashed, powered = _append(prefix, power, position, position + gap, hashed, powered)
        counts += np.uint64(gap) * ONE_FIRST
        total += weights[position + gap] - weights[position]
    elif ends_with_slot:
        counts |= ENDS_WITH_SLOT
    return hashed, powered, counts, total


@inlined
def _spell_second(forest, work, node, total):
    """Hash, slots and power of the target side; the counts of its own words, `total` with their weights.

    Slots are numbered in source order.
    """
    nodes, pieces, boxes, power = work.nodes, work.pieces, forest.boxes, forest.power
    prefix, weights, order = forest.hashes[1], forest.weights[1], work.lists[ORDER]
    start, size = nodes[node, TAIL_START], nodes[node, NUM_TAILS]
    _sort_by_target(boxes, work.tails, start, size, order)
    hashed, powered, slots, num_words = _ZERO, _ONE, _ZERO, 0
    position = boxes[node, 2]
    for rank in range(size):
        tail = work.tails[start + order[rank]]
        gap = boxes[tail, 2] - position
        if gap > 0:
            hashed, powered = _append(prefix, power, position, position + gap, hashed, powered)
            slots *= power[gap]
            num_words += gap
            total += weights[position + gap] - weights[position]
        before = 0
        for t in range(order[rank]):
            earlier = work.tails[start + t]
            before += 1 if nodes[earlier, CUT] == 1 else num_slots(pieces[earlier, COUNTS])
        # A slot's value is s₀ + k s₁: the tail's slots move up by as many as come before it on the source.
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
        position = boxes[tail, 3]
    gap = boxes[node, 3] - position
    if gap > 0:
        hashed, powered = _append(prefix, power, position, position + gap, hashed, powered)
        slots *= power[gap]
        num_words += gap
        total += weights[position + gap] - weights[position]
    return hashed, slots, powered, np.uint64(num_words) * ONE_SECOND, total


@borrowing
def _sort_by_target(boxes, tails, start, size, order):
    for t in range(size):
        at = t
        while at > 0 and boxes[tails[start + order[at - 1]], 2] > boxes[tails[start + t], 2]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = t
