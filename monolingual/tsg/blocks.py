"""A sentence's whole derivation at once, after Cohn and Blunsom (2010), on trees and on forests.

Given the elementary trees of all other sentences, those of this one are proposed independently of each other,

    Q(e₁ … e_k) ∝ Π (n_e + α_c P₀(e | c)) / (n_c + α_c),

with counts n that do not see one another. Q is a context-free grammar over the nodes v of the forest, with
two symbols at each: I(v), an elementary tree begins here, and B(v), the base goes on inside of one:

    I(v) = Σ over trees in use that fit at v: n_e / (n_c + α_c) Π over its frontier u: I(u)
         + α_c / (n_c + α_c) · B(v)
    B(v) = Σ over edges of v: P(production | c) Π over tails u: (1 − β) I(u) + β B(u).

So all infinitely many elementary trees take part, in time linear in the forest and in the number of trees
in use that fit. One upward pass sums, one downward pass draws; the derivation is taken with probability
min{1, P(new) Q(old) / (P(old) Q(new))}, P being the probability of the elementary trees one after the other.

At temperature T every factor of Q is raised to 1/T: the base's part is, and a tree in use gets the rest.

The fact a newcomer would get wrong: a tree in use can also be drawn from the base, so how it was drawn is
not known, and Q(derivation) needs no sum over the ways: it is the product above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.tsg.cache import FRONTIER, follow, insert_fragments

# What kernels dispatch to must be below them: see `core.jit`.
from monolingual.tsg.forest import TreeForest, TsgModel  # noqa: F401
from monolingual.tsg.treebank import Treebank, largest_trees
from scfg_sampler.core import draws
from scfg_sampler.core.fragments.rejection import list_rules, settle_tree
from scfg_sampler.core.fragments.restaurant import dish_customers, dish_mass, dish_tables, find, opening_mass
from scfg_sampler.core.fragments.rules import list_rule, option_weight, unseat_option
from scfg_sampler.core.fragments.sampler import find_rules
from scfg_sampler.core.fragments.tree import CUT, EDGE, ORDER, PENDING, decode
from scfg_sampler.core.jit import borrowing, inlined

__all__ = ["BlockScratch", "larger_scratch", "new_block_scratch", "resample_block"]

# Columns of `frames`.
_STATE = 0  # of the trie
_CELL = 1  # the nodes still to be spelled, a list in `cells`; −1 for none
_BEFORE = 2  # the frame this one goes on from
_NODE = 3  # what it spelled
_EDGE = 4  # how: the rank of an edge, or FRONTIER
_FRAME_WIDTH = 5

# Columns of `sums`.
_BEGIN = 0  # ln I
_INSIDE = 1  # ln B


class BlockScratch(NamedTuple):
    """Memory of a move; a frame is a beginning of an elementary tree in use, as far as it fits."""

    frames: np.ndarray
    """int32 (F, 5): see the column names above."""
    logs: np.ndarray
    """float64 (F,): Σ ln I over the frontier so far; of whole trees, ln of their weight."""
    cells: np.ndarray
    """int32 (C, 2): a node and the next cell."""
    fits: np.ndarray
    """int32 (F,): the frames that are whole trees."""
    log_weights: np.ndarray
    """float64 (F + 1,)."""
    sums: np.ndarray
    """float64 (nodes, 2): ln I and ln B."""
    codes: np.ndarray
    """uint16 (nodes,): the derivation proposed."""


def new_block_scratch(treebank: Treebank, room: int = 1 << 14) -> BlockScratch:
    """Scratch for a treebank.

    Parameters
    ----------
    treebank : Treebank
    room : int
        Frames at a node at the most.
    """
    num_nodes = int(np.diff(treebank.node_start).max(initial=1))
    degree = int(np.diff(treebank.edge_start).max(initial=1))
    room = max(room, degree + 1)
    return BlockScratch(
        np.zeros((room, _FRAME_WIDTH), np.int32),
        np.zeros(room),
        np.zeros((2 * room, 2), np.int32),
        np.zeros(room, np.int32),
        np.zeros(room + 1),
        np.zeros((num_nodes, 2)),
        np.zeros(int(largest_trees(treebank).max(initial=1)), np.uint16),
    )


def larger_scratch(treebank: Treebank, scratch: BlockScratch) -> BlockScratch:
    """Scratch with four times the room."""
    return new_block_scratch(treebank, 4 * len(scratch.frames))


@borrowing
def resample_block(rng, forest, model, restaurants, work, tree, num_nodes, proposer):
    """Propose a new derivation for a `StoredTree`, laid out and described, and maybe take it.

    num_nodes : of the forest of the sentence.
    proposer : the trie and the scratch.
    False if the scratch is too small; the derivation is then what it was.
    """
    trie, scratch = proposer
    # Place 0 of the options is for trees that are weighed by themselves.
    num_old = list_rules(work, tree.size, 1)
    unseat_option(rng, model, restaurants, work, 1, num_old)
    old_ratio = _log_ratio(rng, model, restaurants, work, 1, num_old)
    num_new, new_size = 0, 0
    log_ratio = -np.inf
    has_room = _sum_up(forest, restaurants, work, trie, scratch, num_nodes)
    if has_room:
        _draw_down(rng, forest, restaurants, work, trie, scratch)
        _encode_proposal(forest, work, scratch)
        new_size = decode(forest, work, scratch.codes, 0, 0)
        find_rules(forest, model, restaurants, work, new_size)
        num_new = list_rules(work, new_size, 1 + num_old)
        log_ratio = _log_ratio(rng, model, restaurants, work, 1 + num_old, num_new) - old_ratio
    if settle_tree(rng, forest, model, restaurants, work, tree, (num_old, num_new), log_ratio):
        insert_fragments(trie, forest, work, new_size)
    return has_room


@borrowing
def _log_ratio(rng, model, restaurants, work, begin, size):
    """ln of P / Q of the elementary trees listed from place `begin` on."""
    product, logs = option_weight(rng, model, restaurants, work, begin, size)
    total = math.log(product) + logs
    for k in range(begin, begin + size):
        list_rule(work, work.option_rows[k], 0)
        product, logs = option_weight(rng, model, restaurants, work, 0, 1)
        total -= math.log(product) + logs
    return total * work.inverse_temperature[0]


@borrowing
def _sum_up(forest, restaurants, work, trie, scratch, num_nodes):
    """Fill in ln I and ln B of all nodes; False if there was no room for the trees that fit at one."""
    sums = scratch.sums
    for node in range(num_nodes - 1, -1, -1):
        first, stop = _edges(forest, node)
        inside = _log_edge(forest, work, scratch, first)
        for edge in range(first + 1, stop):
            inside = _log_add(inside, _log_edge(forest, work, scratch, edge))
        sums[node, _INSIDE] = inside
        num_fits = _find_fits(forest, restaurants, work, trie, scratch, node)
        if num_fits < 0:
            return False
        begin = inside + _log_base_weight(forest, restaurants, work, node)
        for k in range(num_fits):
            begin = _log_add(begin, scratch.logs[scratch.fits[k]])
        sums[node, _BEGIN] = begin
    return True


@inlined
def _edges(forest, node):
    """The first of a node's edges, and the one after the last."""
    at = forest.first[0] + node
    return forest.edge_start[at], forest.edge_start[at + 1]


@inlined
def _log_add(first, second):
    """ln (exp first + exp second)."""
    if first < second:
        first, second = second, first
    return first + math.log1p(math.exp(second - first))


@inlined
def _log_cut(forest, work, scratch, node):
    """ln of what the base gives to a node as a frontier with all that is below it."""
    label = forest.label[forest.first[0] + node]
    return forest.log_stop[label] * work.inverse_temperature[0] + scratch.sums[node, _BEGIN]


@inlined
def _log_expanded(forest, work, scratch, node):
    """The same for a node that the base expands."""
    label = forest.label[forest.first[0] + node]
    return forest.log_expand[label] * work.inverse_temperature[0] + scratch.sums[node, _INSIDE]


@borrowing
def _log_edge(forest, work, scratch, edge):
    """ln of what an edge adds to B of its node."""
    total = forest.log_production[forest.production[edge]] * work.inverse_temperature[0]
    for t in range(forest.tail_start[edge], forest.tail_start[edge + 1]):
        tail = work.tails[t]
        cut = _log_cut(forest, work, scratch, tail)
        total += _log_add(cut, _log_expanded(forest, work, scratch, tail))
    return total


@borrowing
def _log_base_weight(forest, restaurants, work, node):
    """ln of the probability that an elementary tree is drawn from the base, tempered."""
    label = forest.label[forest.first[0] + node]
    total = restaurants.stratum_customers[label] + restaurants.strength[label]
    return math.log(opening_mass(restaurants, label, 0) / total) * work.inverse_temperature[0]


@borrowing
def _log_use_weight(restaurants, work, label, fingerprint):
    """ln of what Q gives to an elementary tree in use beyond what the base gives; −∞ if it is not in use."""
    slot = find(restaurants, fingerprint)
    customers = dish_customers(restaurants, slot)
    if customers == 0:
        return -np.inf
    tables = dish_tables(restaurants, slot, label, customers)
    total = restaurants.stratum_customers[label] + restaurants.strength[label]
    used = dish_mass(restaurants, label, 0.0, customers, tables, 0)
    power = work.inverse_temperature[0]
    if power == 1.0:
        return math.log(used / total)
    log_base = math.log(opening_mass(restaurants, label, 0)) + restaurants.log_base[slot]
    log_whole = _log_add(math.log(used), log_base)
    rest = 1.0 - math.exp(power * (log_base - log_whole))
    if rest <= 0.0:
        return -np.inf
    return power * (log_whole - math.log(total)) + math.log(rest)


@borrowing
def _find_fits(forest, restaurants, work, trie, scratch, node):
    """List the trees in use that fit at a node in `fits`, weights in `logs`; −1 without room for them."""
    frames, cells, logs = scratch.frames, scratch.cells, scratch.logs
    cells[0, 0], cells[0, 1] = node, -1
    frames[0, _STATE], frames[0, _CELL], frames[0, _BEFORE] = 0, 0, -1
    logs[0] = 0.0
    num_frames = 1
    num_cells = 1
    num_fits = 0
    at = 0
    while at < num_frames:
        state, cell = frames[at, _STATE], frames[at, _CELL]
        if cell < 0:
            label = forest.label[forest.first[0] + node]
            log_weight = _log_use_weight(restaurants, work, label, trie.dishes[state])
            if log_weight > -np.inf:
                logs[at] += log_weight
                scratch.fits[num_fits] = at
                num_fits += 1
            at += 1
            continue
        below, rest = cells[cell, 0], cells[cell, 1]
        first, stop = _edges(forest, below)
        if num_frames + 1 + stop - first > frames.shape[0]:
            return -1
        if at > 0:
            after = follow(trie, state, FRONTIER)
            if after >= 0:
                _add_frame(scratch, num_frames, after, rest, at, below, FRONTIER)
                logs[num_frames] = logs[at] + scratch.sums[below, _BEGIN]
                num_frames += 1
        for edge in range(first, stop):
            after = follow(trie, state, forest.production[edge])
            if after < 0:
                continue
            begin, end = forest.tail_start[edge], forest.tail_start[edge + 1]
            if num_cells + end - begin > cells.shape[0]:
                return -1
            following = rest
            for t in range(end - 1, begin - 1, -1):
                cells[num_cells, 0], cells[num_cells, 1] = work.tails[t], following
                following = num_cells
                num_cells += 1
            _add_frame(scratch, num_frames, after, following, at, below, edge - first)
            logs[num_frames] = logs[at]
            num_frames += 1
        at += 1
    return num_fits


@inlined
def _add_frame(scratch, frame, state, cell, before, node, edge):
    frames = scratch.frames
    frames[frame, _STATE], frames[frame, _CELL], frames[frame, _BEFORE] = state, cell, before
    frames[frame, _NODE], frames[frame, _EDGE] = node, edge


@borrowing
def _draw_down(rng, forest, restaurants, work, trie, scratch):
    """Write a derivation drawn from Q to the edges and cuts of its nodes."""
    nodes, heads = work.nodes, work.lists[PENDING]
    heads[0] = 0
    nodes[0, CUT] = 1
    num_heads = 1
    while num_heads > 0:
        num_heads -= 1
        head = np.int64(heads[num_heads])
        num_fits = _find_fits(forest, restaurants, work, trie, scratch, head)
        for k in range(num_fits):
            scratch.log_weights[k] = scratch.logs[scratch.fits[k]]
        base_weight = scratch.sums[head, _INSIDE] + _log_base_weight(forest, restaurants, work, head)
        scratch.log_weights[num_fits] = base_weight
        chosen = draws.log_categorical(rng, scratch.log_weights, num_fits + 1)
        if chosen == num_fits:
            num_heads = _draw_base(rng, forest, work, scratch, head, num_heads)
            continue
        frame = np.int64(scratch.fits[chosen])
        while frame > 0:
            node, edge = scratch.frames[frame, _NODE], scratch.frames[frame, _EDGE]
            if edge == FRONTIER:
                nodes[node, CUT] = 1
                heads[num_heads] = node
                num_heads += 1
            else:
                nodes[node, EDGE] = edge
                if node != head:
                    nodes[node, CUT] = 0
            frame = np.int64(scratch.frames[frame, _BEFORE])


@borrowing
def _draw_base(rng, forest, work, scratch, head, num_heads):
    """Write an elementary tree drawn from the base; the number of heads with those below it."""
    nodes, pending = work.nodes, work.lists[ORDER]
    pending[0] = head
    num_pending = 1
    while num_pending > 0:
        num_pending -= 1
        node = pending[num_pending]
        first, stop = _edges(forest, node)
        rank = 0
        if stop - first > 1:
            for edge in range(first, stop):
                scratch.log_weights[edge - first] = _log_edge(forest, work, scratch, edge)
            rank = draws.log_categorical(rng, scratch.log_weights, stop - first)
        nodes[node, EDGE] = rank
        for t in range(forest.tail_start[first + rank], forest.tail_start[first + rank + 1]):
            tail = work.tails[t]
            log_odds = _log_expanded(forest, work, scratch, tail) - _log_cut(forest, work, scratch, tail)
            if draws.bernoulli(rng, 1.0 / (1.0 + math.exp(min(log_odds, 700.0)))):
                nodes[tail, CUT] = 1
                work.lists[PENDING, num_heads] = tail
                num_heads += 1
            else:
                nodes[tail, CUT] = 0
                pending[num_pending] = tail
                num_pending += 1
    return num_heads


@borrowing
def _encode_proposal(forest, work, scratch):
    """Write the derivation to `codes`, in preorder."""
    nodes, pending = work.nodes, work.lists[PENDING]
    pending[0] = 0
    num_pending = 1
    size = 0
    while num_pending > 0:
        num_pending -= 1
        node = pending[num_pending]
        scratch.codes[size] = nodes[node, EDGE] * 2 + nodes[node, CUT]
        size += 1
        first, _ = _edges(forest, node)
        edge = first + nodes[node, EDGE]
        for t in range(forest.tail_start[edge + 1] - 1, forest.tail_start[edge] - 1, -1):
            pending[num_pending] = work.tails[t]
            num_pending += 1
