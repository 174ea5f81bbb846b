"""Passes of the TSG sampler over a treebank, compiled: seat, sweep, propose, count, and type-based moves.

All of them are `core`'s, on treebank trees; only what they iterate over is decided here. Passes that add
fragments stop before a sentence for which the restaurants might be too small and return its place; their
callers make room and go on from there (`sampler`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from monolingual.tsg.blocks import resample_block

# What kernels dispatch to must be below them: see `core.jit`.
from monolingual.tsg.forest import TreeForest, TsgModel
from scfg_sampler.core import draws
from scfg_sampler.core.fragments.fingerprint import fingerprint
from scfg_sampler.core.fragments.rejection import StoredTree
from scfg_sampler.core.fragments.restaurant import COUNT_BITS, COUNT_MASK, Restaurants, find, is_nearly_full
from scfg_sampler.core.fragments.sampler import (
    TopDown,
    find_rules,
    seat_tree,
    sweep_at_random,
    sweep_tree,
)
from scfg_sampler.core.fragments.stored_trees import stored_size
from scfg_sampler.core.fragments.tree import (
    BELOW,
    CUT,
    EDGE,
    IN_TREE,
    NUM_TAILS,
    PENDING,
    STAMP,
    TAIL_START,
    Workspace,
    decode,
    encode,
    open_sentence,
)
from scfg_sampler.core.fragments.type_moves import (
    SiteTrees,
    TypeClasses,
    TypeSites,
    resample_all_classes,
    resample_classes,
    scan_sites,
)
from scfg_sampler.core.jit import borrowing, by_reference, kernel

__all__ = [
    "add_marginals",
    "count_decisions",
    "first_bad_tree",
    "list_fragments",
    "propose_sentences",
    "renew_bases",
    "resample_types",
    "seat_sentences",
    "shuffle",
    "sweep_sentences",
]

_DEPTH_FIRST = TopDown(np.iinfo(np.int32).max, False)


@kernel
def shuffle(rng, order):
    """Put an array in random order."""
    for k in range(order.shape[0] - 1, 0, -1):
        other = draws.uniform_index(rng, k + 1)
        order[k], order[other] = order[other], order[k]


@borrowing
def _most_insertions(forest, sentence):
    """A bound on the fragments that visits of all nodes of a sentence can bring into the restaurants."""
    first, stop = forest.node_start[sentence], forest.node_start[sentence + 1]
    size = stop - first
    if forest.edge_start[stop] - forest.edge_start[first] == size:
        return 2 * size + 8
    return size * (forest.largest[sentence] + 2) + 8


@borrowing
def _forget_stamps(work):
    """Start counting trees and calls anew, so that stamps never overflow."""
    work.counters[0] = 0
    work.counters[1] = 0
    for node in range(work.nodes.shape[0]):
        work.nodes[node, IN_TREE] = 0
        work.nodes[node, STAMP] = 0


@kernel
def seat_sentences(rng, forest, model, restaurants, work, node_start, trees, first):
    """Seat the fragments of the sentences from `first` on; the first sentence there was no room for."""
    forest, work = by_reference(forest), by_reference(work)
    model, restaurants = by_reference(model), by_reference(restaurants)
    _forget_stamps(work)
    for sentence in range(first, node_start.shape[0] - 1):
        if is_nearly_full(restaurants, _most_insertions(forest, sentence)):
            return sentence
        open_sentence(forest, work, node_start, sentence)
        seat_tree(rng, forest, model, restaurants, work, trees, node_start[sentence])
    return node_start.shape[0] - 1


@kernel
def first_bad_tree(forest, work, trees):
    """The first sentence whose codes are no tree of its forest, or −1."""
    forest, work = by_reference(forest), by_reference(work)
    node_start = forest.node_start
    for sentence in range(node_start.shape[0] - 1):
        open_sentence(forest, work, node_start, sentence)
        first = node_start[sentence]
        if stored_size(forest, work, trees, first, node_start[sentence + 1] - first) < 0:
            return sentence
    return -1


@kernel
def sweep_sentences(rng, forest, model, restaurants, work, trees, visits, at_random):
    """Resample the sentences order[at], order[at + 1], …; the first place there was no room for.

    visits : order and at.
    at_random : whether nodes are visited in random order, rather than from the root down.
    """
    (order, at), node_start = visits, forest.node_start
    forest, work = by_reference(forest), by_reference(work)
    model, restaurants = by_reference(model), by_reference(restaurants)
    _forget_stamps(work)
    for place in range(at, order.shape[0]):
        sentence = order[place]
        if is_nearly_full(restaurants, _most_insertions(forest, sentence)):
            return place
        start = node_start[sentence]
        open_sentence(forest, work, node_start, sentence)
        size = decode(forest, work, trees, start, 0)
        find_rules(forest, model, restaurants, work, size)
        if at_random:
            num_nodes = node_start[sentence + 1] - start
            sweep_at_random(rng, forest, model, restaurants, work, num_nodes)
        else:
            sweep_tree(rng, _DEPTH_FIRST, forest, model, restaurants, work)
        encode(forest, work, trees, start)
    return order.shape[0]


@kernel
def propose_sentences(rng, forest, model, restaurants, work, trees, visits, blocks):
    """As `sweep_sentences`, each derivation proposed as a whole and accepted or not.

    blocks : a trie of the elementary trees of all derivations, and perhaps others, and the scratch.
    Stops as well before a sentence for which the scratch is too small.
    """
    (order, at), node_start = visits, forest.node_start
    all_trie, all_scratch = blocks
    proposer = by_reference(all_trie), by_reference(all_scratch)
    forest, work = by_reference(forest), by_reference(work)
    model, restaurants = by_reference(model), by_reference(restaurants)
    _forget_stamps(work)
    for place in range(at, order.shape[0]):
        sentence = order[place]
        if is_nearly_full(restaurants, _most_insertions(forest, sentence)):
            return place
        start = node_start[sentence]
        open_sentence(forest, work, node_start, sentence)
        size = decode(forest, work, trees, start, 0)
        find_rules(forest, model, restaurants, work, size)
        tree, num_nodes = StoredTree(trees, start, size), node_start[sentence + 1] - start
        if not resample_block(rng, forest, model, restaurants, work, tree, num_nodes, proposer):
            return place
    return order.shape[0]


@kernel
def add_marginals(forest, work, node_start, trees, marginals):
    """Count which nodes are in the trees, and which are cut.

    marginals : int64 (N, 2), added to.
    """
    forest, work = by_reference(forest), by_reference(work)
    _forget_stamps(work)
    for sentence in range(node_start.shape[0] - 1):
        start = node_start[sentence]
        open_sentence(forest, work, node_start, sentence)
        for k in range(decode(forest, work, trees, start, 0)):
            node = work.lists[BELOW, k]
            marginals[start + node, 0] += 1
            marginals[start + node, 1] += work.nodes[node, CUT]


@kernel
def renew_bases(forest, restaurants, work, node_start, trees):
    """Write ln P₀ of every fragment of the trees into the restaurants."""
    forest, work, restaurants = by_reference(forest), by_reference(work), by_reference(restaurants)
    _forget_stamps(work)
    for sentence in range(node_start.shape[0] - 1):
        open_sentence(forest, work, node_start, sentence)
        for k in range(decode(forest, work, trees, node_start[sentence], 0)):
            node = work.lists[BELOW, k]
            if work.nodes[node, CUT] == 1:
                restaurants.log_base[find(restaurants, fingerprint(work.pieces, node))] = work.weights[node]


@kernel
def count_decisions(forest, restaurants, work, node_start, trees, tables, decisions):
    """Count how often each label is expanded, and left a frontier, in fragments drawn from the base.

    Parameters
    ----------
    tables : int64 (slots,)
        How often the dish of each slot was drawn from the base; zeros afterwards.
    decisions : int64 (C, 2)
        Added to: expanded, frontier. Roots of fragments are no decisions.
    """
    forest, work, restaurants = by_reference(forest), by_reference(work), by_reference(restaurants)
    _forget_stamps(work)
    for sentence in range(node_start.shape[0] - 1):
        open_sentence(forest, work, node_start, sentence)
        for k in range(decode(forest, work, trees, node_start[sentence], 0)):
            head = work.lists[BELOW, k]
            if work.nodes[head, CUT] == 0:
                continue
            slot = find(restaurants, fingerprint(work.pieces, head))
            if tables[slot] > 0:
                _count_in_fragment(forest, work, head, tables[slot], decisions)
                tables[slot] = 0


@borrowing
def _count_in_fragment(forest, work, head, times, decisions):
    nodes, pending = work.nodes, work.lists[PENDING]
    pending[0] = head
    num_pending = 1
    while num_pending > 0:
        num_pending -= 1
        node = pending[num_pending]
        start = nodes[node, TAIL_START]
        for t in range(start, start + nodes[node, NUM_TAILS]):
            tail = work.tails[t]
            cut = nodes[tail, CUT]
            decisions[forest.label[forest.first[0] + tail], cut] += times
            if cut == 0:
                pending[num_pending] = tail
                num_pending += 1


@kernel
def _scan(forest, work, node_start, trees, sites):
    forest, work = by_reference(forest), by_reference(work)
    return scan_sites(forest, work, SiteTrees(node_start, node_start, trees), sites)


@kernel
def _resample(rng, forest, model, restaurants, work, trees, classes, first):
    node_start = forest.node_start
    forest, work = by_reference(forest), by_reference(work)
    model, restaurants = by_reference(model), by_reference(restaurants)
    site_trees = by_reference(SiteTrees(node_start, node_start, trees))
    references = TypeClasses(by_reference(classes.sites), classes.order, by_reference(classes.scratch))
    all_classes = by_reference(references)
    return resample_classes(rng, forest, model, restaurants, work, site_trees, all_classes, first)


def resample_types(
    rng: np.random.Generator,
    forest: TreeForest,
    model: TsgModel,
    restaurants: Restaurants,
    work: Workspace,
    trees: np.ndarray,
    with_room: Callable[[Restaurants, int], Restaurants],
) -> Restaurants:
    """The restaurants after the cuts of all sites of a type, type by type, have been resampled together.

    Parameters
    ----------
    rng : numpy.random.Generator
    forest : TreeForest
    model : TsgModel
    restaurants : Restaurants
        Changed, or replaced by larger ones.
    work : Workspace
    trees : uint16
        Changed.
    with_room : callable
        Given restaurants and a number of fragments to come, restaurants that have room for them.
    """
    node_start = forest.node_start

    def scan(sites: TypeSites) -> int:
        return _scan(forest, work, node_start, trees, sites)

    def resample(restaurants: Restaurants, classes: TypeClasses, first: int) -> int:
        return _resample(rng, forest, model, restaurants, work, trees, classes, first)

    return resample_all_classes(scan, resample, restaurants, with_room)


@kernel
def list_fragments(forest, restaurants, work, node_start, trees, counts, start, codes):
    """List the different fragments of the trees in order of first use; how many.

    Parameters
    ----------
    counts : int64 (F, 2)
        Written: the customers of each, and their tables.
    start : int64 (F + 1,)
        Written: where the codes of each begin.
    codes : int64 (M, 2)
        Written: for the nodes of a fragment in preorder, (production, 0), or (label, 1) for a frontier.
    """
    forest, work, restaurants = by_reference(forest), by_reference(work), by_reference(restaurants)
    _forget_stamps(work)
    is_listed = np.zeros(restaurants.entries.shape[0], np.bool_)
    nodes, pending = work.nodes, work.lists[PENDING]
    size = 0
    num_codes = 0
    for sentence in range(node_start.shape[0] - 1):
        open_sentence(forest, work, node_start, sentence)
        for k in range(decode(forest, work, trees, node_start[sentence], 0)):
            head = work.lists[BELOW, k]
            if nodes[head, CUT] == 0:
                continue
            slot = find(restaurants, fingerprint(work.pieces, head))
            if is_listed[slot]:
                continue
            is_listed[slot] = True
            counts[size, 0] = restaurants.entries[slot, 1] & COUNT_MASK
            counts[size, 1] = restaurants.entries[slot, 1] >> COUNT_BITS
            pending[0] = head
            num_pending = 1
            while num_pending > 0:
                num_pending -= 1
                node = pending[num_pending]
                at = forest.first[0] + node
                if node != head and nodes[node, CUT] == 1:
                    codes[num_codes, 0], codes[num_codes, 1] = forest.label[at], 1
                else:
                    codes[num_codes, 0] = forest.production[forest.edge_start[at] + nodes[node, EDGE]]
                    codes[num_codes, 1] = 0
                    begin = nodes[node, TAIL_START]
                    for t in range(begin + nodes[node, NUM_TAILS] - 1, begin - 1, -1):
                        pending[num_pending] = work.tails[t]
                        num_pending += 1
                num_codes += 1
            size += 1
            start[size] = num_codes
    return size
