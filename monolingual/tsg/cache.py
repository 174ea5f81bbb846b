"""The elementary trees in use, arranged so that those that fit at a node are found without trying others.

A trie over spellings: an elementary tree spells the productions of its nodes in preorder, and FRONTIER for
each frontier nonterminal. Reading a forest from a node down, the trie says at each step whether some tree in
use goes on with the production of an edge, and whether one stops here. Spellings end where the last open
nonterminal is dealt with, so none is the beginning of another.

The fact a newcomer would get wrong: the trie only grows. A tree that has no customers any more is still
found, and counts for nothing; it is left out when the trie is filled anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.tsg.forest import TreeForest
from scfg_sampler.core.arrays.hash_table import first_slot, key_slot
from scfg_sampler.core.fragments.fingerprint import fingerprint
from scfg_sampler.core.fragments.tree import (
    BELOW,
    CUT,
    EDGE,
    NUM_TAILS,
    PENDING,
    TAIL_START,
    Workspace,
    decode,
    open_sentence,
)
from scfg_sampler.core.jit import borrowing, by_reference, inlined, kernel

__all__ = ["FRONTIER", "FragmentTrie", "fill_trie", "follow", "insert_fragments", "new_trie"]

FRONTIER = -1
"""What a frontier nonterminal spells; the production above says which it is."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_SYMBOL_BITS = 31


class FragmentTrie(NamedTuple):
    """Transitions in a hash table, and what ends in each state; state 0 is the beginning."""

    keys: np.ndarray
    """int64 (H,), H a power of 2: state and symbol of a transition, 0 for none."""
    states: np.ndarray
    """int32 (H,): where it leads."""
    dishes: np.ndarray
    """int64 (T,): the fingerprint of the elementary tree that a state ends, else 0."""
    size: np.ndarray
    """int64 (1,): states."""


def new_trie(largest: np.ndarray) -> FragmentTrie:
    """An empty trie with room for all derivations of a treebank twice over.

    Parameters
    ----------
    largest : int64 (S,)
        Nodes of the largest tree of each sentence.
    """
    # A derivation spells every node once, and the roots of its elementary trees as frontiers as well.
    room = 4 * int(largest.sum()) + 2
    slots = 2 << room.bit_length()
    return FragmentTrie(
        np.zeros(slots, np.int64), np.zeros(slots, np.int32), np.zeros(room, np.int64), np.ones(1, np.int64)
    )


@inlined
def _key(state, symbol):
    return ((np.int64(state) + 1) << _SYMBOL_BITS) | np.int64(symbol + 1)


@inlined
def _slot(trie, key):
    """Where a transition is, or would be."""
    code = np.int64((np.uint64(key) * _MULTIPLIER) >> _SHIFT)
    return key_slot(trie.keys, key, first_slot(trie.keys, code))


@inlined
def follow(trie, state, symbol):
    """The state after `symbol`, a production or FRONTIER; −1 if no spelling goes on with it."""
    key = _key(state, symbol)
    slot = _slot(trie, key)
    return np.int64(trie.states[slot]) if trie.keys[slot] == key else np.int64(-1)


@borrowing
def _step(trie, state, symbol):
    """`follow`, making the state if need be."""
    key = _key(state, symbol)
    slot = _slot(trie, key)
    if trie.keys[slot] == 0:
        trie.keys[slot] = key
        trie.states[slot] = trie.size[0]
        trie.dishes[trie.size[0]] = 0
        trie.size[0] += 1
    return np.int64(trie.states[slot])


@borrowing
def insert_fragments(trie, forest, work, size):
    """Insert the elementary trees of the derivation whose `size` nodes are in lists[BELOW]."""
    nodes, pending = work.nodes, work.lists[PENDING]
    for k in range(size):
        head = work.lists[BELOW, k]
        if nodes[head, CUT] == 0:
            continue
        state = np.int64(0)
        pending[0] = head
        num_pending = 1
        while num_pending > 0:
            num_pending -= 1
            node = pending[num_pending]
            if node != head and nodes[node, CUT] == 1:
                state = _step(trie, state, FRONTIER)
                continue
            edge = forest.edge_start[forest.first[0] + node] + nodes[node, EDGE]
            state = _step(trie, state, forest.production[edge])
            begin = nodes[node, TAIL_START]
            for t in range(begin + nodes[node, NUM_TAILS] - 1, begin - 1, -1):
                pending[num_pending] = work.tails[t]
                num_pending += 1
        trie.dishes[state] = fingerprint(work.pieces, head)


@kernel
def _fill(trie, forest, work, node_start, trees):
    trie, forest, work = by_reference(trie), by_reference(forest), by_reference(work)
    for slot in range(trie.keys.shape[0]):
        trie.keys[slot] = 0
    trie.size[0] = 1
    for sentence in range(node_start.shape[0] - 1):
        open_sentence(forest, work, node_start, sentence)
        size = decode(forest, work, trees, node_start[sentence], 0)
        insert_fragments(trie, forest, work, size)


def fill_trie(trie: FragmentTrie, forest: TreeForest, work: Workspace, trees: np.ndarray) -> None:
    """Make the trie hold the elementary trees of some derivations and no others.

    Parameters
    ----------
    trie : FragmentTrie
        Changed.
    forest : TreeForest
    work : Workspace
    trees : uint16 (N,)
        As in `sampler.TsgState`.
    """
    _fill(trie, forest, work, forest.node_start, trees)
