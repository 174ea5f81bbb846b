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

The walk is the same whatever variables nodes have: what is resampled at a node is decided by the type of the
`TopDown` that `sweep_tree` is given, and what a fragment is to restaurants by that of the model
(`core.fragments.rules`).

The fact a newcomer would get wrong: fragments of one option are scored one after the other, each seeing
those before it, upper before lower. With tracked seating an option's earlier fragments are seated in
thought (table opened or not, at random) before the later ones are scored, and the current option keeps
the seats it has: the choice is a conditional (ensemble) Gibbs step on derivation and seating together.
"""

from __future__ import annotations

from typing import NamedTuple

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments.cuts import WHOLE, resample_cut
from scfg_sampler.core.fragments.paths import compose_up, fragment_top, restore_path, save_path
from scfg_sampler.core.fragments.rules import (
    expect_rule,
    list_rule,
    option_weight,
    record,
    row_of,
    seat_option,
    unseat_option,
)
from scfg_sampler.core.fragments.tree import (
    BELOW,
    BELOW_BEFORE,
    CALL,
    CUT,
    EDGE,
    EDGES_CHANGED,
    FIRST_RULE,
    FREE,
    FRESH,
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
    draw_attached,
    is_shared,
    log_attached,
    may_be_internal,
    may_have_options,
    nth_inner_edge,
    num_inner_edges,
    open_options,
    root,
    set_level,
    set_tails,
)
from scfg_sampler.core.jit import borrowing, by_type, inlined, specialised

__all__ = [
    "TopDown",
    "adopt",
    "draw_below",
    "enter_tree",
    "find_rules",
    "list_option",
    "log_density",
    "resample_edge",
    "seat_tree",
    "sweep_at_random",
    "sweep_tree",
    "visit_node",
]

_LARGE = 1e200
_LOG_LARGE = 460.51701859880916


@borrowing
def seat_tree(rng, forest, model, restaurants, work, codes, start):
    """Seat all fragments of the tree stored at codes[start:]; the number of its nodes."""
    size = decode(forest, work, codes, start, 0)
    for k in range(size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1:
            record(forest, model, restaurants, work, node, row_of(node))
            list_rule(work, row_of(node), 0)
            seat_option(rng, model, restaurants, work, 0, 1)
    return size


@borrowing
def find_rules(forest, model, restaurants, work, size):
    """Describe the fragments of the tree whose `size` nodes are in lists[BELOW], as `decode` leaves it."""
    for k in range(size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1:
            record(forest, model, restaurants, work, node, row_of(node))
        else:
            expect_rule(forest, restaurants, work, node)


class TopDown(NamedTuple):
    """How a sweep visits a tree whose nodes have edges and cuts."""

    max_level: int
    """Nodes above it are walked, but not resampled."""
    breadth_first: bool


@by_type(of="order")
def visit_node(rng, order, forest, model, restaurants, work, node):
    """Resample the variables of a node, given all others."""


@visit_node.register(TopDown)
def _visit_node(rng, order, forest, model, restaurants, work, node):
    # SampleEdge, then SampleCut.
    if may_have_options(forest, work, node):
        resample_edge(rng, forest, model, restaurants, work, node)
    if work.nodes[node, FREE] == 1 and work.nodes[node, PARENT] >= 0:
        resample_cut(rng, forest, model, restaurants, work, node)


@borrowing
def sweep_tree(rng, order, forest, model, restaurants, work):
    """One visit of every node of the current tree, from the root down, in a `TopDown` order or one like it.

    Algorithm 4 of Chung et al. (2014), along the tree as it changes. The tree's fragments must have been
    described (`find_rules`).
    """
    nodes = work.nodes
    pending = work.lists[PENDING]
    pending[0] = root(forest)
    first = 0
    last = 1
    while first < last:
        if order.breadth_first:
            node = pending[first]
            first += 1
        else:
            last -= 1
            node = pending[last]
        if nodes[node, LEVEL] <= order.max_level:
            visit_node(rng, order, forest, model, restaurants, work, node)
        # Down the tree as it is now.
        tail_start = nodes[node, TAIL_START]
        num_tails = nodes[node, NUM_TAILS]
        for t in range(num_tails):
            tail = tail_start + t if order.breadth_first else tail_start + num_tails - 1 - t
            pending[last] = work.tails[tail]
            last += 1


@borrowing
def sweep_at_random(rng, forest, model, restaurants, work, num_nodes):
    """One visit of every node of the forest that is in the current tree when its turn comes, in random order.

    The order is that of all `num_nodes` nodes of the forest and does not depend on the tree, else the sweep
    would not leave the posterior unchanged. The tree's fragments must have been described (`find_rules`).
    """
    nodes = work.nodes
    order = work.lists[PENDING]
    for k in range(num_nodes):
        order[k] = k
    for k in range(num_nodes - 1, 0, -1):
        other = draws.uniform_index(rng, k + 1)
        order[k], order[other] = order[other], order[k]
    for k in range(num_nodes):
        node = order[k]
        if nodes[node, IN_TREE] == work.counters[TREE]:
            resample_edge(rng, forest, model, restaurants, work, node)
            if nodes[node, FREE] == 1 and nodes[node, PARENT] >= 0:
                resample_cut(rng, forest, model, restaurants, work, node)


@borrowing
def resample_edge(rng, forest, model, restaurants, work, node):
    """Choose the node's incoming edge, and with it everything below that not all derivations share."""
    nodes = work.nodes
    options = work.lists[OPTIONS]
    first_rule = work.lists[FIRST_RULE]
    num_options = open_options(forest, work, node)
    if num_options < 2:
        return
    work.counters[CALL] += 1
    top = fragment_top(work, node)
    current = nodes[node, EDGE]
    save_path(work, node, top)
    num_before = _list_below(rng, forest, model, restaurants, work, node, BELOW_BEFORE)
    num_current = list_option(work, row_of(top), BELOW_BEFORE, num_before, 0)
    # Before any option is weighed: the present fragments must not vote for themselves.
    unseat_option(rng, model, restaurants, work, 0, num_current)
    inverse_temperature = work.inverse_temperature[0]
    end = num_current
    for option in range(num_options):
        if options[option] == current:
            first_rule[option], num_rules = 0, num_current
            density = log_density(forest, work, node, BELOW_BEFORE, num_before)
        else:
            nodes[node, EDGE] = options[option]
            set_tails(forest, work, node)
            num_below = _list_below(rng, forest, model, restaurants, work, node, BELOW)
            compose_up(forest, work, node, top)
            record(forest, model, restaurants, work, top, WHOLE)
            first_rule[option] = end
            num_rules = list_option(work, WHOLE, BELOW, num_below, end)
            end += num_rules
            density = log_density(forest, work, node, BELOW, num_below)
        product, logs = option_weight(rng, model, restaurants, work, first_rule[option], num_rules)
        # Equation 6: ln P_t, at temperature T, and the density factor, which no temperature changes.
        # Of an option's fragments one is headed above, the others at cut nodes below.
        density += log_attached(forest, num_rules - 1)
        work.log_weights[option] = inverse_temperature * (elementary.log(product) + logs) + density
    chosen = draws.log_categorical(rng, work.log_weights, num_options)
    nodes[node, EDGE] = options[chosen]
    set_tails(forest, work, node)
    if options[chosen] == current:
        restore_path(work, node, top)
        seat_option(rng, model, restaurants, work, 0, num_current)
        return
    work.counters[EDGES_CHANGED] += 1
    # The variables below are those that the option was weighed with: STAMP keeps them for this call.
    num_below = _list_below(rng, forest, model, restaurants, work, node, BELOW)
    num_rules = enter_tree(work, node, num_before, num_below)
    compose_up(forest, work, node, top)
    record(forest, model, restaurants, work, top, row_of(top))
    work.option_rows[first_rule[chosen]] = row_of(top)
    seat_option(rng, model, restaurants, work, first_rule[chosen], num_rules)


@borrowing
def enter_tree(work, node, num_before, num_below):
    """Put the nodes in lists[BELOW] into the tree, not those in lists[BELOW_BEFORE].

    How many fragments there are with heads among them, and the one above.
    """
    nodes = work.nodes
    for k in range(num_before):
        nodes[work.lists[BELOW_BEFORE, k], IN_TREE] = 0
    adopt(work, node)
    num_rules = 1
    for k in range(num_below):
        below = work.lists[BELOW, k]
        nodes[below, IN_TREE] = work.counters[TREE]
        adopt(work, below)
        num_rules += nodes[below, CUT]
    for k in range(num_below - 1, -1, -1):
        set_level(work, work.lists[BELOW, k])
    return num_rules


@inlined
def adopt(work, node):
    """Make a node the parent of its tails."""
    nodes = work.nodes
    for t in range(nodes[node, TAIL_START], nodes[node, TAIL_START] + nodes[node, NUM_TAILS]):
        nodes[work.tails[t], PARENT] = node


@specialised
def draw_below(rng, forest, work, node, row):
    """List in preorder the nodes below `node` that its derivations do not share.

    Variables outside the current tree are drawn uniformly when first met in a call.

    Returns
    -------
    size : how many there are; in the counter FRESH how many were drawn, for the caller to compose if need be.
        Their STAMP is −1.
    """
    nodes = work.nodes
    below = work.lists[row]
    pending = work.lists[ORDER]
    tree, call = work.counters[TREE], work.counters[CALL]
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
        if nodes[at, IN_TREE] != tree and nodes[at, STAMP] != call:
            # One draw for both variables, uniform as in equation 2: edge number and cut bit.
            free = may_be_internal(forest, at)
            draw = draws.uniform_index(rng, num_inner_edges(forest, node, at) * (1 + free))
            nodes[at, EDGE] = nth_inner_edge(forest, node, at, draw >> free)
            nodes[at, FREE] = free
            nodes[at, CUT] = 1 - (draw & free)
            nodes[at, STAMP] = -1
            if nodes[at, CUT] == 1:
                draw_attached(rng, forest, at)
            set_tails(forest, work, at)
            fresh += 1
    work.counters[FRESH] = fresh
    return size


@specialised
def _list_below(rng, forest, model, restaurants, work, node, row):
    """`draw_below`, the pieces of the nodes composed and their fragments described; how many there are."""
    nodes, below = work.nodes, work.lists[row]
    size = draw_below(rng, forest, work, node, row)
    if work.counters[FRESH] > 0:
        for k in range(size - 1, -1, -1):
            at = below[k]
            if nodes[at, STAMP] == -1:
                compose(forest, work, at)
                if nodes[at, CUT] == 1:
                    record(forest, model, restaurants, work, at, row_of(at))
                nodes[at, STAMP] = work.counters[CALL]
    return size


@specialised
def list_option(work, top_row, row, size, begin):
    """List an option's fragments from place `begin` on, upper before lower; how many."""
    list_rule(work, top_row, begin)
    end = begin + 1
    for k in range(size):
        node = work.lists[row, k]
        if work.nodes[node, CUT] == 1:
            list_rule(work, row_of(node), end)
            end += 1
    return end - begin


@specialised
def log_density(forest, work, node, row, size):
    """ln Π deg(v) over the edge and cut variables of the listed nodes, which are below `node`."""
    if work.counters[IGNORE_DENSITY] == 1:
        return 0.0
    total = 0.0
    product = 1.0
    for k in range(size):
        below = work.lists[row, k]
        # deg(v) of the edge, times 2 if the node has a free cut: section 2.3, where all nodes have one.
        product *= num_inner_edges(forest, node, below) << work.nodes[below, FREE]
        if product > _LARGE:
            product /= _LARGE
            total += _LOG_LARGE
    return total + elementary.log(product)
