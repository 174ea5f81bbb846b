"""Trees over phrase decomposition forests: edges and tails.

Here, and in `forest.pieces` for what a node spells, `SentenceForest` answers what `core.fragments.tree` asks
of a forest. Every kernel that walks trees of sentence pairs must have this module below it: see `core.jit`.

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
from scfg_sampler.core.fragments.tree import CUT, EDGE, NUM_TAILS, ORDER, PENDING, TAIL_START
from scfg_sampler.core.jit import borrowing, by_type, inlined
from scfg_sampler.forest.implicit import (
    FREE_TAIL,
    MAX_ATTACHED,
    MAX_CUT_SPAN,
    SIZE,
    fill_forest,
    fill_phrases,
    row_and_column,
)

# With what its nodes spell.
from scfg_sampler.forest.pieces import SentenceForest

__all__ = ["ATTACHED_MASK", "SentenceForest", "choose_within", "most_nodes", "open_phrases"]

# How many unaligned words a box takes in, side by side in 16 bits: source left, right, target left, right.
ATTACHED_BITS = 4
ATTACHED_MASK = (1 << ATTACHED_BITS) - 1


@by_type
def open_phrases(forest, work, corpus, sentence):
    """`open_sentence`, but for what `compose` needs."""


@by_type
def most_nodes(forest, work):
    """How many nodes a derivation of the sentence last opened has at most."""


@by_type
def choose_within(forest, work):
    """Let moves of single nodes, until a forest is opened, leave be what only whole trees may change."""


@choose_within.register(SentenceForest)
def _choose_within(forest, work):
    return


@fragment_tree.open_sentence.register(SentenceForest)
def _open_sentence(forest, work, data, sentence):
    return fill_forest(forest, work, data, sentence)


@open_phrases.register(SentenceForest)
def _open_phrases(forest, work, corpus, sentence):
    return fill_phrases(forest, work, corpus, sentence)


@most_nodes.register(SentenceForest)
def _most_nodes(forest, work):
    # Any derivation will do: all have as many nodes (Lemma 3).
    pending = work.lists[PENDING]
    pending[0] = forest.shape[SIZE]
    num_pending, size = 1, 0
    while num_pending > 0:
        num_pending -= 1
        node = pending[num_pending]
        work.nodes[node, EDGE] = fragment_tree.nth_edge(forest, node, 0)
        fragment_tree.set_tails(forest, work, node)
        size += 1
        for t in range(work.nodes[node, NUM_TAILS]):
            pending[num_pending] = work.tails[work.nodes[node, TAIL_START] + t]
            num_pending += 1
    return size


@fragment_tree.root.register(SentenceForest)
def _root(forest):
    return forest.shape[SIZE]


@borrowing
def _count_splits(forest, node):
    """How many k split a node in two phrases."""
    width = forest.shape[SIZE] + 1
    i, j = row_and_column(forest, node)
    splits = 0
    # Algorithm 2, line 10: (i, k) and (k, j) both are phrases.
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
    i, j = row_and_column(forest, node)
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
    i, j = row_and_column(forest, node)
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


@fragment_tree.may_have_options.register(SentenceForest)
def _may_have_options(forest, work, node):
    return work.nodes[node, EDGE] > 0


# Nodes below a node with several edges that not all of its derivations share run from one boundary of its
# linear group to another, and are split at all boundaries between (Lemma 2).


@inlined
def _end_ranks(forest, below):
    i, j = row_and_column(forest, below)
    return forest.ranks[i], forest.ranks[j]


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
    i, j = row_and_column(forest, node)
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
                # Catalan numbers, but for nodes that must be cut and so cannot be inside.
                if length == num_items or fragment_tree.may_be_internal(forest, whole) == 1:
                    for k in range(first, last):
                        count += trees[first, k] * trees[k + 1, last]
            trees[first, last] = count
    return math.log(trees[0, num_items - 1])


@fragment_tree.set_tails.register(SentenceForest)
def _set_tails(forest, work, node):
    nodes = work.nodes
    width = forest.shape[SIZE] + 1
    i, j = row_and_column(forest, node)
    if nodes[node, EDGE] > 0:
        if forest.has_tails[node] == 0:
            forest.has_tails[node] = 1
            nodes[node, TAIL_START] = forest.shape[FREE_TAIL]
            forest.shape[FREE_TAIL] += 2
        start = nodes[node, TAIL_START]
        k = i + nodes[node, EDGE]
        work.tails[start] = i * width + k
        work.tails[start + 1] = k * width + j
        nodes[node, NUM_TAILS] = 2
    elif forest.has_tails[node] == 0:
        forest.has_tails[node] = 1
        start = forest.shape[FREE_TAIL]
        nodes[node, TAIL_START] = start
        size = 0
        # Algorithm 2 from line 16 on: the largest proper sub-phrases, left to right; no two overlap.
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
