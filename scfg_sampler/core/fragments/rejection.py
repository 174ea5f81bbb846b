"""Resample a whole derivation at once: propose it top down, accept or reject it by Metropolis–Hastings.

Algorithm 3 of Chung et al. (2014), the baseline that their top-down sampler is compared with. The proposal
visits the nodes of the growing tree from the root down and looks only at what is already there:

- the edge of a node is drawn in proportion to the probability of the minimal fragment that it makes, all of
  its tails taken as slots;
- whether the node is cut, in proportion to the probability of the two fragments, above and below, against
  that of the one they make together, all tails taken as slots again.

Probabilities are those of the restaurants without the tree's own fragments. The derivation t′ so drawn with
probability Q(t′) replaces t with probability min{1, P(t′) Q(t) / (P(t) Q(t′))}, Q being known exactly because
the old derivation is replayed through the same choices.

The fact a newcomer would get wrong: with tracked seating the fragments of both derivations are seated one
after the other as they are weighed, the old ones where they sat; the chances of the seats cancel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments.cuts import WHOLE
from scfg_sampler.core.fragments.paths import compose_up, fragment_top, restore_path, save_path
from scfg_sampler.core.fragments.rules import (
    copy_rule,
    list_rule,
    option_weight,
    record,
    row_of,
    seat_option,
    unseat_option,
)
from scfg_sampler.core.fragments.sampler import adopt, find_rules
from scfg_sampler.core.fragments.tree import (
    ACCEPTED,
    BELOW,
    CUT,
    EDGE,
    FREE,
    IN_TREE,
    NUM_TAILS,
    OPTIONS,
    PARENT,
    PENDING,
    PROPOSED,
    TAIL_START,
    TREE,
    compose,
    decode,
    encode_over,
    may_be_internal,
    nth_edge,
    open_options,
    root,
    set_tails,
)
from scfg_sampler.core.jit import borrowing

__all__ = ["StoredTree", "list_rules", "resample_tree", "settle_tree"]


class StoredTree(NamedTuple):
    """Where the tree of the sentence that is visited is stored."""

    codes: np.ndarray
    """uint16: edge and cut of each node, as `decode` reads them; other trees too."""
    start: int
    """Its first code."""
    size: int
    """Its number of nodes."""


@borrowing
def resample_tree(rng, forest, model, restaurants, work, tree):
    """Propose a new derivation for a `StoredTree`, laid out and described, and maybe take it."""
    # Place 0 of the options is for the proposal's own use.
    num_old = list_rules(work, tree.size, 1)
    unseat_option(rng, model, restaurants, work, 1, num_old)
    product, logs = option_weight(rng, model, restaurants, work, 1, num_old)
    old_weight = work.inverse_temperature[0] * (elementary.log(product) + logs)
    # What the proposal would have been for the old derivation, from the same restaurants.
    old_proposal = _propose(rng, forest, model, restaurants, work, tree, True)
    new_proposal = _propose(rng, forest, model, restaurants, work, tree, False)
    new_size = _list_tree(forest, work)
    num_new = list_rules(work, new_size, 1 + num_old)
    product, logs = option_weight(rng, model, restaurants, work, 1 + num_old, num_new)
    new_weight = work.inverse_temperature[0] * (elementary.log(product) + logs)
    # Algorithm 3: min{1, P_t(new) q(old) / (P_t(old) q(new))}.
    log_ratio = new_weight - new_proposal - old_weight + old_proposal
    settle_tree(rng, forest, model, restaurants, work, tree, (num_old, num_new), log_ratio)


@borrowing
def settle_tree(rng, forest, model, restaurants, work, tree, numbers, log_ratio):
    """Take the derivation laid out with probability min{1, exp log_ratio}, or lay out the old one again.

    Either is seated: of the options, the first numbers[0] places from 1 on hold the fragments of the old one,
    which is the `StoredTree`, and the next numbers[1] the new one's. Whether the new one was taken.
    """
    num_old, num_new = numbers
    work.counters[PROPOSED] += 1
    taken = log_ratio >= 0.0 or draws.bernoulli(rng, elementary.exp(log_ratio))
    if taken:
        work.counters[ACCEPTED] += 1
        seat_option(rng, model, restaurants, work, 1 + num_old, num_new)
        encode_over(forest, work, tree.codes, tree.start, tree.size)
    else:
        decode(forest, work, tree.codes, tree.start, 0)
        find_rules(forest, model, restaurants, work, tree.size)
        seat_option(rng, model, restaurants, work, 1, num_old)
    return taken


@borrowing
def list_rules(work, size, begin):
    """List the fragments of the tree whose nodes are in lists[BELOW] from place `begin` on; how many."""
    end = begin
    for k in range(size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1:
            list_rule(work, row_of(node), end)
            end += 1
    return end - begin


@borrowing
def _list_tree(forest, work):
    """List the nodes of the current tree in preorder in lists[BELOW]; how many."""
    pending = work.lists[PENDING]
    pending[0] = root(forest)
    num_pending = 1
    size = 0
    while num_pending > 0:
        num_pending -= 1
        node = pending[num_pending]
        work.lists[BELOW, size] = node
        size += 1
        num_pending = _push_tails(work, node, num_pending)
    return size


@borrowing
def _push_tails(work, node, num_pending):
    first = work.nodes[node, TAIL_START]
    for t in range(first + work.nodes[node, NUM_TAILS] - 1, first - 1, -1):
        work.lists[PENDING, num_pending] = work.tails[t]
        num_pending += 1
    return num_pending


@borrowing
def _propose(rng, forest, model, restaurants, work, tree, replay):
    """Lay out a derivation drawn top down, or with `replay` the stored one; ln of its probability."""
    nodes = work.nodes
    work.counters[TREE] += 1
    goal = root(forest)
    nodes[goal, PARENT] = -1
    work.lists[PENDING, 0] = goal
    num_pending = 1
    size = 0
    log_prob = 0.0
    while num_pending > 0:
        num_pending -= 1
        node = work.lists[PENDING, num_pending]
        code = np.int64(tree.codes[tree.start + size]) if replay else 0
        size += 1
        nodes[node, IN_TREE] = work.counters[TREE]
        nodes[node, FREE] = may_be_internal(forest, node)
        nodes[node, CUT] = 1
        # SampleEdge and SampleCut, each by the probability of the rules that are there so far.
        log_prob += _propose_edge(rng, forest, model, restaurants, work, node, code >> 1, replay)
        record(forest, model, restaurants, work, node, row_of(node))
        if nodes[node, FREE] == 1 and node != goal:
            log_prob += _propose_cut(rng, forest, model, restaurants, work, node, code & 1, replay)
        num_pending = _push_tails(work, node, num_pending)
    return log_prob


@borrowing
def _set_edge(forest, work, node, edge):
    """Give the node an edge whose tails are all slots."""
    work.nodes[node, EDGE] = edge
    set_tails(forest, work, node)
    first = work.nodes[node, TAIL_START]
    for t in range(first, first + work.nodes[node, NUM_TAILS]):
        work.nodes[work.tails[t], CUT] = 1
    compose(forest, work, node)


@borrowing
def _propose_edge(rng, forest, model, restaurants, work, node, known, replay):
    """Choose the node's edge by the minimal fragment it makes; ln of the choice's probability."""
    num_options = open_options(forest, work, node)
    log_prob = 0.0
    if num_options < 2:
        _set_edge(forest, work, node, nth_edge(forest, node, 0))
    else:
        options, log_weights = work.lists[OPTIONS], work.log_weights
        chosen = 0
        for option in range(num_options):
            _set_edge(forest, work, node, options[option])
            log_weights[option] = _log_predictive(rng, forest, model, restaurants, work, node)
            if options[option] == known:
                chosen = option
        if replay:
            top = log_weights[0]
            for option in range(1, num_options):
                top = max(top, log_weights[option])
            for option in range(num_options):
                log_weights[option] = elementary.exp(log_weights[option] - top)
        else:
            chosen = draws.log_categorical(rng, log_weights, num_options)
        total = 0.0
        for option in range(num_options):
            total += log_weights[option]
        log_prob = elementary.log(log_weights[chosen] / total)
        _set_edge(forest, work, node, options[chosen])
    adopt(work, node)
    return log_prob


@borrowing
def _log_predictive(rng, forest, model, restaurants, work, node):
    """ln of the probability of the fragment headed at a node, as it is laid out."""
    record(forest, model, restaurants, work, node, WHOLE)
    list_rule(work, WHOLE, 0)
    product, logs = option_weight(rng, model, restaurants, work, 0, 1)
    return elementary.log(product) + logs


@borrowing
def _propose_cut(rng, forest, model, restaurants, work, node, known, replay):
    """Choose whether the node is cut, all its tails being slots; ln of the choice's probability."""
    nodes = work.nodes
    parent = nodes[node, PARENT]
    top = fragment_top(work, parent)
    log_parts = 0.0
    for head in (top, node):
        list_rule(work, row_of(head), 0)
        product, logs = option_weight(rng, model, restaurants, work, 0, 1)
        log_parts += elementary.log(product) + logs
    save_path(work, parent, top)
    nodes[node, CUT] = 0
    compose_up(forest, work, parent, top)
    log_odds = _log_predictive(rng, forest, model, restaurants, work, top) - log_parts
    log_cut = -elementary.log1p(elementary.exp(min(log_odds, 700.0)))
    cut = known == 1 if replay else draws.bernoulli(rng, elementary.exp(log_cut))
    if cut:
        nodes[node, CUT] = 1
        restore_path(work, parent, top)
        return log_cut
    copy_rule(work, WHOLE, row_of(top))
    return -elementary.log1p(elementary.exp(min(-log_odds, 700.0)))
