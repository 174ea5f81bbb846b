"""Types of nodes, resampled along with their edges and cuts, top down.

Every node of a forest has three variables: its edge, its cut and its type, one of K. A tree and the cuts and
types of its nodes are the derivation, in which the type of an uncut node plays no part: it is uniform and
independent, as all variables of nodes outside the tree are (equation 2 of Chung et al. 2014),

    P_z = P_t(tree, cuts, types) · Π_{v in the tree, uncut} 1/K · Π_{v outside} 1/(deg(edge) deg(cut) K).

`resample_typed_edge` weighs an option by P_t and the factor of equation 6, in which types count too: Π K over
the nodes of its own subtree that are cut. `resample_typed_cut` chooses among K + 1 values, uncut and cut with
each of the K types, by P_t alone: the uncut node's type has been summed over.

The fact a newcomer would get wrong: K^(cut nodes) does not cancel. Options have the same number of nodes
(Lemma 3), but not of cuts.
"""

from __future__ import annotations

import math

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments.backoff import (
    copy_typed,
    record_typed,
    seat_typed,
    typed_weight,
    unseat_typed,
)
from scfg_sampler.core.fragments.rules import list_rule, row_of
from scfg_sampler.core.fragments.sampler import (
    WHOLE,
    adopt,
    compose_up,
    fragment_top,
    list_option,
    log_density,
    restore_path,
    save_path,
)
from scfg_sampler.core.fragments.tree import (
    BELOW,
    BELOW_BEFORE,
    CALL,
    CUT,
    CUTS_CHANGED,
    EDGE,
    EDGES_CHANGED,
    FIRST_RULE,
    FREE,
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
    draft_row,
    is_shared,
    may_be_internal,
    nth_inner_edge,
    num_inner_edges,
    open_options,
    root,
    set_level,
    set_tails,
)
from scfg_sampler.core.jit import borrowing, inlined

__all__ = ["find_typed", "resample_typed_cut", "resample_typed_edge", "seat_typed_tree", "sweep_typed"]


@borrowing
def find_typed(forest, model, restaurants, work, size):
    """`core.fragments.sampler.find_rules` of fragments with types."""
    for k in range(size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1:
            record_typed(forest, model, restaurants, work, node, row_of(node))


@borrowing
def seat_typed_tree(rng, forest, model, restaurants, work, codes, start):
    """Seat all fragments of the tree stored at codes[start:]."""
    size = decode(forest, work, codes, start, 0)
    find_typed(forest, model, restaurants, work, size)
    for k in range(size):
        node = work.lists[BELOW, k]
        if work.nodes[node, CUT] == 1:
            list_rule(work, row_of(node), 0)
            seat_typed(rng, restaurants, work, 0, 1)


@borrowing
def sweep_typed(rng, forest, model, restaurants, work, max_level, breadth_first):
    """`core.fragments.sampler.sweep_tree` with types."""
    nodes, pending = work.nodes, work.lists[PENDING]
    pending[0] = root(forest)
    first, last = 0, 1
    while first < last:
        if breadth_first:
            node = pending[first]
            first += 1
        else:
            last -= 1
            node = pending[last]
        if nodes[node, LEVEL] <= max_level:
            resample_typed_edge(rng, forest, model, restaurants, work, node)
            if nodes[node, PARENT] >= 0:
                resample_typed_cut(rng, forest, model, restaurants, work, node)
        tail_start, num_tails = nodes[node, TAIL_START], nodes[node, NUM_TAILS]
        for t in range(num_tails):
            tail = tail_start + t if breadth_first else tail_start + num_tails - 1 - t
            pending[last] = work.tails[tail]
            last += 1


# --- cut and type --------------------------------------------------------------------------------------


@borrowing
def resample_typed_cut(rng, forest, model, restaurants, work, node):
    """Choose whether a node other than the root is cut, if it may be uncut, and its type if it is."""
    nodes, num_types = work.nodes, forest.root_values.shape[0] - 1
    was = nodes[node, CUT] * forest.label[node]
    parent = nodes[node, PARENT]
    top = fragment_top(work, parent)
    # Places among the options: 0 the whole; then for every type the upper and the lower part.
    work.log_weights[0] = -math.inf
    if nodes[node, FREE] == 1:
        _lay_cut(forest, work, node, 0, top)
        _draft(forest, model, restaurants, work, top, 0)
    _lay_cut(forest, work, node, 1, top)
    for option in range(1, num_types + 1):
        forest.label[node] = option
        _draft(forest, model, restaurants, work, top, 2 * option - 1)
        _draft(forest, model, restaurants, work, node, 2 * option)
    unseat_typed(rng, restaurants, work, max(0, 2 * was - 1), 1 + min(was, 1))
    for option in range(1 - nodes[node, FREE], num_types + 1):
        product, logs = typed_weight(rng, restaurants, work, max(0, 2 * option - 1), 1 + min(option, 1))
        work.log_weights[option] = work.inverse_temperature[0] * (elementary.log(product) + logs)
    chosen = draws.log_categorical(rng, work.log_weights, num_types + 1)
    if chosen != was:
        work.counters[CUTS_CHANGED] += 1
    begin = max(0, 2 * chosen - 1)
    _keep_draft(work, begin, top)
    if chosen == 0:
        _lay_cut(forest, work, node, 0, top)
    else:
        forest.label[node] = chosen
        _keep_draft(work, begin + 1, node)
    seat_typed(rng, restaurants, work, begin, 1 + min(chosen, 1))


@borrowing
def _lay_cut(forest, work, node, cut, top):
    """Cut a node or not, and renew the pieces above it if that was otherwise."""
    if work.nodes[node, CUT] != cut:
        work.nodes[node, CUT] = cut
        compose_up(forest, work, work.nodes[node, PARENT], top)


@inlined
def _draft(forest, model, restaurants, work, node, place):
    """Describe the fragment headed at a node in rows of its own, listed at a place of the options."""
    record_typed(forest, model, restaurants, work, node, draft_row(work, place))
    list_rule(work, draft_row(work, place), place)


@inlined
def _keep_draft(work, place, node):
    """Make the fragment at a place of the options the one headed at a node."""
    copy_typed(work, draft_row(work, place), row_of(node))
    work.option_rows[place] = row_of(node)


# --- edges ---------------------------------------------------------------------------------------------


@borrowing
def resample_typed_edge(rng, forest, model, restaurants, work, node):
    """Choose the node's incoming edge, and with it everything below that not all derivations share."""
    nodes, options, first_rule = work.nodes, work.lists[OPTIONS], work.lists[FIRST_RULE]
    num_options = open_options(forest, work, node)
    if num_options < 2:
        return
    log_types = elementary.log(forest.root_values.shape[0] - 1.0)
    work.counters[CALL] += 1
    top = fragment_top(work, node)
    current = nodes[node, EDGE]
    save_path(work, node, top)
    num_before = _list_below(rng, forest, model, restaurants, work, node, BELOW_BEFORE)
    num_current = list_option(work, row_of(top), BELOW_BEFORE, num_before, 0)
    unseat_typed(rng, restaurants, work, 0, num_current)
    end = num_current
    for option in range(num_options):
        first_rule[option] = 0
        num_rules = num_current
        if options[option] == current:
            density = log_density(forest, work, node, BELOW_BEFORE, num_before)
        else:
            nodes[node, EDGE] = options[option]
            set_tails(forest, work, node)
            num_below = _list_below(rng, forest, model, restaurants, work, node, BELOW)
            compose_up(forest, work, node, top)
            record_typed(forest, model, restaurants, work, top, WHOLE)
            first_rule[option] = end
            num_rules = list_option(work, WHOLE, BELOW, num_below, end)
            end += num_rules
            density = log_density(forest, work, node, BELOW, num_below)
        product, logs = typed_weight(rng, restaurants, work, first_rule[option], num_rules)
        # Equation 6. Of an option's rules one is headed above, the others at cut nodes below.
        density += (num_rules - 1) * log_types
        work.log_weights[option] = work.inverse_temperature[0] * (elementary.log(product) + logs) + density
    chosen = draws.log_categorical(rng, work.log_weights, num_options)
    nodes[node, EDGE] = options[chosen]
    set_tails(forest, work, node)
    if options[chosen] == current:
        restore_path(work, node, top)
        seat_typed(rng, restaurants, work, 0, num_current)
        return
    work.counters[EDGES_CHANGED] += 1
    num_below = _list_below(rng, forest, model, restaurants, work, node, BELOW)
    num_rules = _enter_tree(work, node, num_before, num_below)
    compose_up(forest, work, node, top)
    record_typed(forest, model, restaurants, work, top, row_of(top))
    work.option_rows[first_rule[chosen]] = row_of(top)
    seat_typed(rng, restaurants, work, first_rule[chosen], num_rules)


@borrowing
def _enter_tree(work, node, num_before, num_below):
    """Put the nodes in lists[BELOW] into the tree, not those in lists[BELOW_BEFORE]; how many rules."""
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


@borrowing
def _list_below(rng, forest, model, restaurants, work, node, row):
    """`core.fragments.sampler._list_below`, where nodes outside the tree draw their types too."""
    nodes, below, pending = work.nodes, work.lists[row], work.lists[ORDER]
    num_types = forest.root_values.shape[0] - 1
    tree, call = work.counters[TREE], work.counters[CALL]
    size, fresh, num_pending = 0, 0, 0
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
            free = may_be_internal(forest, at)
            draw = draws.uniform_index(rng, num_inner_edges(forest, node, at) * (1 + free))
            nodes[at, EDGE] = nth_inner_edge(forest, node, at, draw >> free)
            nodes[at, FREE] = free
            nodes[at, CUT] = 1 - (draw & free)
            nodes[at, STAMP] = -1
            if nodes[at, CUT] == 1:
                forest.label[at] = 1 + draws.uniform_index(rng, num_types)
            set_tails(forest, work, at)
            fresh += 1
    if fresh > 0:
        for k in range(size - 1, -1, -1):
            at = below[k]
            if nodes[at, STAMP] == -1:
                compose(forest, work, at)
                if nodes[at, CUT] == 1:
                    record_typed(forest, model, restaurants, work, at, row_of(at))
                nodes[at, STAMP] = call
    return size
