"""Resample the edge and the cut of every node of a tree, top down, on any forest and any fragment model.

A derivation of a forest is a tree (one incoming edge per node) and a cut bit per node; the cuts divide the
tree into fragments, and P_t(tree, cuts) = Π P(fragment). Variables of nodes outside the tree are independent
and uniform given the tree, so that P_z = P_t · Π_{v ∉ tree} 1/deg(v) (Chung et al. 2014, equation 2).

`resample_edge` at node n chooses edge e with probability proportional to

    P_t(derivation with e) · Π deg(v)   over the variables v of the nodes below n in e's own subtree

(equation 6). Both variables of a node count: its edge, with as many values as the node has edges, and its
cut, with two values, or one where the node must be cut. Variables outside the tree are redrawn when a visit
first needs them. Fragments that stand in every option cancel and are left alone: the forest says which
nodes all derivations below n share.

`resample_cut` chooses between one fragment and two by P_t alone. The root is always cut.

The fact a newcomer would get wrong: fragments of one option are scored one after the other, each seeing
those before it, upper before lower. With tracked seating an option's earlier fragments are seated in
thought (table opened or not, at random) before the later ones are scored, and the current option keeps
the seats it has: the choice is a conditional (ensemble) Gibbs step on derivation and seating together.
"""

from __future__ import annotations

import math

from scfg_sampler.core import draws
from scfg_sampler.core.fragment_rules import log_weight, record, record_option, seat_rules, unseat_rules
from scfg_sampler.core.fragment_tree import (
    BELOW,
    BELOW_BEFORE,
    CALL,
    CUT,
    CUTS_CHANGED,
    EDGE,
    EDGES_CHANGED,
    FIRST_RULE,
    FREE,
    IGNORE_DENSITY,
    IN_TREE,
    LEVEL,
    NUM_TAILS,
    OPTIONS,
    ORDER,
    PARENT,
    PENDING,
    STAMP,
    TAIL_START,
    TREE,
    compose,
    decode,
    is_shared,
    may_be_internal,
    nth_edge,
    num_edges,
    open_options,
    root,
    set_level,
    set_tails,
)
from scfg_sampler.core.jit import compiled, inlined

__all__ = ["resample_cut", "resample_edge", "seat_tree", "sweep_tree"]

_LOG_2 = math.log(2.0)


@compiled
def seat_tree(rng, forest, model, restaurants, work, codes, start):
    """Seat all fragments of the tree stored at codes[start:]; the number of its nodes."""
    size = decode(forest, work, codes, start)
    for k in range(size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1:
            record(model, work, node, 0)
            seat_rules(rng, restaurants, work, 0, 1)
    return size


@compiled
def sweep_tree(rng, forest, model, restaurants, work, max_level, breadth_first):
    """One visit of every node of the current tree, from the root down; nodes above max_level are walked.

    Algorithm 4 of Chung et al. (2014), along the tree as it changes.
    """
    nodes = work.nodes
    pending = work.lists[PENDING]
    pending[0] = root(forest)
    first = 0
    last = 1
    while first < last:
        if breadth_first:
            node = pending[first]
            first += 1
        else:
            last -= 1
            node = pending[last]
        if nodes[node, LEVEL] <= max_level:
            resample_edge(rng, forest, model, restaurants, work, node)
            if nodes[node, FREE] == 1 and nodes[node, PARENT] >= 0:
                resample_cut(rng, forest, model, restaurants, work, node)
        tail_start = nodes[node, TAIL_START]
        num_tails = nodes[node, NUM_TAILS]
        for t in range(num_tails):
            tail = tail_start + t if breadth_first else tail_start + num_tails - 1 - t
            pending[last] = work.tails[tail]
            last += 1


@compiled
def resample_edge(rng, forest, model, restaurants, work, node):
    """Choose the node's incoming edge, and with it everything below that not all derivations share."""
    nodes = work.nodes
    options = work.lists[OPTIONS]
    first_rule = work.lists[FIRST_RULE]
    num_options = open_options(forest, work, node)
    if num_options < 2:
        return
    work.counters[CALL] += 1
    top = _fragment_top(work, node)
    current = nodes[node, EDGE]
    num_before = _list_below(rng, forest, work, node, BELOW_BEFORE)
    num_current = record_option(model, work, top, BELOW_BEFORE, num_before, 0)
    unseat_rules(rng, restaurants, work, 0, num_current)
    end = num_current
    for option in range(num_options):
        if options[option] == current:
            first_rule[option] = 0
            weight = log_weight(rng, restaurants, work, 0, num_current)
            weight += _log_density(forest, work, BELOW_BEFORE, num_before)
        else:
            nodes[node, EDGE] = options[option]
            set_tails(forest, work, node)
            num_below = _list_below(rng, forest, work, node, BELOW)
            _compose_up(forest, work, node, top)
            first_rule[option] = end
            num_rules = record_option(model, work, top, BELOW, num_below, end)
            end += num_rules
            weight = log_weight(rng, restaurants, work, first_rule[option], num_rules)
            weight += _log_density(forest, work, BELOW, num_below)
        work.log_weights[option] = weight
    chosen = draws.log_categorical(rng, work.log_weights, num_options)
    nodes[node, EDGE] = options[chosen]
    set_tails(forest, work, node)
    if options[chosen] != current:
        work.counters[EDGES_CHANGED] += 1
        num_below = _list_below(rng, forest, work, node, BELOW)
        for k in range(num_before):
            nodes[work.lists[BELOW_BEFORE, k], IN_TREE] = 0
        _adopt(work, node)
        for k in range(num_below):
            nodes[work.lists[BELOW, k], IN_TREE] = work.counters[TREE]
            _adopt(work, work.lists[BELOW, k])
        for k in range(num_below - 1, -1, -1):
            set_level(work, work.lists[BELOW, k])
        num_rules = 1
        for k in range(num_below):
            num_rules += nodes[work.lists[BELOW, k], CUT]
    else:
        num_rules = num_current
    _compose_up(forest, work, node, top)
    seat_rules(rng, restaurants, work, first_rule[chosen], num_rules)


@compiled
def resample_cut(rng, forest, model, restaurants, work, node):
    """Choose whether the node, which is not the root, divides its fragment in two."""
    nodes = work.nodes
    was_cut = nodes[node, CUT]
    top = _fragment_top(work, nodes[node, PARENT])
    # Rows: 0 the whole, 1 the upper part, 2 the lower part.
    record(model, work, top, was_cut)
    nodes[node, CUT] = 1 - was_cut
    _compose_up(forest, work, nodes[node, PARENT], top)
    record(model, work, top, 1 - was_cut)
    record(model, work, node, 2)
    unseat_rules(rng, restaurants, work, was_cut, 1 + was_cut)
    whole = log_weight(rng, restaurants, work, 0, 1)
    parts = log_weight(rng, restaurants, work, 1, 2)
    cut = 1 if draws.bernoulli(rng, 1.0 / (1.0 + math.exp(min(whole - parts, 700.0)))) else 0
    if cut == was_cut:
        nodes[node, CUT] = was_cut
        _compose_up(forest, work, nodes[node, PARENT], top)
    else:
        work.counters[CUTS_CHANGED] += 1
    seat_rules(rng, restaurants, work, cut, 1 + cut)


@inlined
def _adopt(work, node):
    nodes = work.nodes
    for t in range(nodes[node, TAIL_START], nodes[node, TAIL_START] + nodes[node, NUM_TAILS]):
        nodes[work.tails[t], PARENT] = node


@inlined
def _fragment_top(work, node):
    """The head of the fragment a node belongs to: itself if it is cut."""
    while work.nodes[node, CUT] == 0:
        node = work.nodes[node, PARENT]
    return node


@compiled
def _compose_up(forest, work, node, top):
    """Renew the pieces from a node up to the head of its fragment."""
    while True:
        compose(forest, work, node)
        if node == top:
            break
        node = work.nodes[node, PARENT]


@compiled
def _list_below(rng, forest, work, node, row):
    """List in preorder the nodes below `node` that its derivations do not share; how many.

    Variables outside the current tree are drawn uniformly when first met in a call, and their pieces
    composed.
    """
    nodes = work.nodes
    below = work.lists[row]
    pending = work.lists[ORDER]
    call = work.counters[CALL]
    size = 0
    fresh = 0
    num_pending = 0
    at = node
    while True:
        first = nodes[at, TAIL_START]
        for t in range(first + nodes[at, NUM_TAILS] - 1, first - 1, -1):
            tail = work.tails[t]
            if not is_shared(forest, node, tail):
                pending[num_pending] = tail
                num_pending += 1
        if num_pending == 0:
            break
        num_pending -= 1
        at = pending[num_pending]
        below[size] = at
        size += 1
        if nodes[at, IN_TREE] != work.counters[TREE] and nodes[at, STAMP] != call:
            nodes[at, EDGE] = nth_edge(forest, at, draws.uniform_index(rng, num_edges(forest, at)))
            nodes[at, FREE] = may_be_internal(forest, at)
            nodes[at, CUT] = 1 - draws.uniform_index(rng, 1 + nodes[at, FREE])
            nodes[at, STAMP] = call
            set_tails(forest, work, at)
            fresh += 1
    if fresh > 0:
        for k in range(size - 1, -1, -1):
            if nodes[below[k], IN_TREE] != work.counters[TREE]:
                compose(forest, work, below[k])
    return size


@compiled
def _log_density(forest, work, row, size):
    """ln Π deg(v) over the edge and cut variables of the listed nodes."""
    total = 0.0
    if work.counters[IGNORE_DENSITY] == 0:
        for k in range(size):
            node = work.lists[row, k]
            total += _LOG_2 * work.nodes[node, FREE] + math.log(num_edges(forest, node))
    return total
