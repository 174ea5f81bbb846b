"""Unaligned words that any rule may take which could hold them: boxes of cut nodes, resampled along.

A cut node other than the root has a *box*: its span and, on each of the four sides, up to `MAX_ATTACHED` of
the unaligned words next to it. Boxes are nested as their nodes are, and those of nodes side by side are
disjoint. A rule is spelled from its own box and those at its nonterminals; an unaligned word belongs to the
rule of the smallest box that holds it. An uncut node has no box of its own, for where a word hangs inside a
rule makes no difference. So trees and cuts are those without boxes, and for given trees and cuts derivations
differ iff their rules or the places of these do.

`resample_attached_cut` draws one of the four sides that have a choice, and resamples that side together with
the cut: an uncut node's other sides are drawn, and the probability of the draw is divided by.
`resample_attached_edge` weighs edges as `core.fragments.sampler` does; the boxes of the nodes below are drawn
for every option by itself, each uniformly among the sizes that those drawn before leave room for, and the
weight of an option is divided by the probability of its boxes (for the current one, of drawing just those).
That is a conditional step on derivation and draws together, exact for any such proposal.

The fact a newcomer would get wrong: how many values a box has depends on its neighbours, so that the boxes of
nodes outside the tree cannot be variables that are drawn once and kept, as their edges and cuts are.
"""

from __future__ import annotations

from typing import NamedTuple

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments.cuts import resample_cut
from scfg_sampler.core.fragments.drafts import (
    choose_draft,
    draft,
    draft_cut,
    keep_draft,
    seat_drafts,
    unseat_drafts,
)
from scfg_sampler.core.fragments.paths import compose_up, fragment_top
from scfg_sampler.core.fragments.rules import (
    option_weight,
    row_of,
    seat_option,
    unseat_option,
)
from scfg_sampler.core.fragments.sampler import (
    draw_below,
    enter_tree,
    list_option,
    log_density,
    resample_edge,
    visit_node,
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
    NUM_TAILS,
    OPTIONS,
    PARENT,
    STAMP,
    TAIL_START,
    compose,
    open_options,
    set_tails,
)
from scfg_sampler.core.jit import borrowing, inlined
from scfg_sampler.forest.implicit import DRAWN, HULL, LIMIT, MAX_ATTACHED, SIZE, write_hull

__all__ = [
    "WithBoxes",
    "choose_attached_cut",
    "draft_attached_cuts",
    "lay_attached_cut",
    "resample_attached_edge",
]


class WithBoxes(NamedTuple):
    """`core.fragments.sampler.TopDown` of trees whose nodes have boxes."""

    max_level: int
    breadth_first: bool


@visit_node.register(WithBoxes)
def _visit_node(rng, order, forest, model, restaurants, work, node):
    resample_attached_edge(rng, forest, model, restaurants, work, node)
    if work.nodes[node, PARENT] >= 0:
        resample_attached_cut(rng, forest, model, restaurants, work, node)


# --- one box, with the cut -----------------------------------------------------------------------------


@borrowing
def resample_attached_cut(rng, forest, model, restaurants, work, node):
    """Choose whether the node, which is not the root, is cut, and one side of its box."""
    drafted = draft_attached_cuts(rng, forest, model, restaurants, work, node)
    if drafted[1] > 0:
        choose_attached_cut(rng, forest, model, restaurants, work, node, drafted)
    elif work.nodes[node, FREE] == 1:
        resample_cut(rng, forest, model, restaurants, work, node)


@borrowing
def draft_attached_cuts(rng, forest, model, restaurants, work, node):
    """Draw a side of a node's box that has a choice, list what can be chosen, and take the fragments out.

    Side, its number of values (0 if no side has a choice, and nothing is listed), the first of them, the
    present option, and ln of the number of values of the other sides together.
    """
    nodes = work.nodes
    was_cut = nodes[node, CUT]
    if not _touches_run(forest, node):
        return -1, 0, 0, 0, 0.0
    _set_limits(forest, work, node)
    side, log_others = _open_side(rng, forest, work, node)
    if side < 0:
        return -1, 0, 0, 0, 0.0
    first = min(forest.limits[LIMIT, side], forest.limits[HULL, side])
    size = abs(forest.limits[LIMIT, side] - forest.limits[HULL, side]) + 1
    current = 1 + forest.boxes[node, side] - first if was_cut == 1 else 0
    top = fragment_top(work, nodes[node, PARENT])
    for option in range(1 - nodes[node, FREE], size + 1):
        lay_attached_cut(forest, work, node, side, option, first)
        draft_cut(forest, model, restaurants, work, node, top, option)
    unseat_drafts(rng, model, restaurants, work, current)
    return side, size, first, current, log_others


@borrowing
def choose_attached_cut(rng, forest, model, restaurants, work, node, drafted):
    """Choose among the options that `draft_attached_cuts` has listed; which one."""
    side, size, first, current, log_others = drafted
    chosen = choose_draft(rng, model, restaurants, work, node, size, log_others)
    lay_attached_cut(forest, work, node, side, chosen, first)
    top = fragment_top(work, work.nodes[node, PARENT])
    seat_drafts(rng, model, restaurants, work, node, top, (current, chosen))
    return chosen


@borrowing
def lay_attached_cut(forest, work, node, side, option, first):
    """Lay out option 0, uncut, or a cut with value first + option − 1 of the side, and its fragments."""
    work.nodes[node, CUT] = min(option, 1)
    if option > 0:
        for column in range(4):
            forest.boxes[node, column] = forest.limits[DRAWN, column]
        forest.boxes[node, side] = first + option - 1
    compose_up(forest, work, node, fragment_top(work, work.nodes[node, PARENT]))


@borrowing
def _open_side(rng, forest, work, node):
    """Draw a side of the node's box that has a choice, −1 if none has; and prepare the others.

    With it comes ln of the number of values of the other three sides together. They are written to
    limits[DRAWN]: what they are if the node is cut, else drawn.
    """
    limits = forest.limits
    write_hull(forest, work, node, limits[HULL])
    choices = 0
    for side in range(4):
        choices += 1 if limits[LIMIT, side] != limits[HULL, side] else 0
    if choices == 0:
        return -1, 0.0
    rank = draws.uniform_index(rng, choices)
    chosen = -1
    values = 1
    for side in range(4):
        least = min(limits[LIMIT, side], limits[HULL, side])
        size = abs(limits[LIMIT, side] - limits[HULL, side]) + 1
        limits[DRAWN, side] = forest.boxes[node, side] if work.nodes[node, CUT] == 1 else least
        if size == 1:
            continue
        if rank == 0:
            chosen = side
        else:
            values *= size
            if work.nodes[node, CUT] == 0:
                limits[DRAWN, side] = least + draws.uniform_index(rng, size)
        rank -= 1
    return chosen, elementary.log(values)


@inlined
def _touches_run(forest, node):
    """Whether there are unaligned words next to a node's span."""
    runs, spans = forest.runs, forest.spans
    found = False
    for side in range(4):
        found |= runs[side, spans[node, side]] != spans[node, side]
    return found


@borrowing
def _set_limits(forest, work, node):
    """Write to limits[LIMIT] how far a box of the node may reach, other boxes being what they are."""
    nodes, spans, boxes, limits = work.nodes, forest.spans, forest.boxes, forest.limits[LIMIT]
    most = forest.shape[MAX_ATTACHED]
    for side in (0, 2):
        begin, end = spans[node, side], spans[node, side + 1]
        limits[side] = max(forest.runs[side, begin], begin - most)
        limits[side + 1] = min(forest.runs[side + 1, end], end + most)
    at = node
    while True:
        parent = nodes[at, PARENT]
        for t in range(nodes[parent, TAIL_START], nodes[parent, TAIL_START] + nodes[parent, NUM_TAILS]):
            tail = work.tails[t]
            if tail == at:
                continue
            for side in (0, 2):
                if spans[tail, side] < spans[at, side]:
                    limits[side] = max(limits[side], boxes[tail, side + 1])
                else:
                    limits[side + 1] = min(limits[side + 1], boxes[tail, side])
        if nodes[parent, CUT] == 1:
            for side in (0, 2):
                limits[side] = max(limits[side], boxes[parent, side])
                limits[side + 1] = min(limits[side + 1], boxes[parent, side + 1])
            return
        at = parent


# --- an edge, with all boxes below ---------------------------------------------------------------------


@borrowing
def resample_attached_edge(rng, forest, model, restaurants, work, node):
    """Choose the node's incoming edge, and with it everything below that not all derivations share."""
    nodes, options, first_rule = work.nodes, work.lists[OPTIONS], work.lists[FIRST_RULE]
    num_options = open_options(forest, work, node)
    if num_options < 2:
        return
    if not _group_touches_run(forest, num_options):
        resample_edge(rng, forest, model, restaurants, work, node)
        return
    work.counters[CALL] += 1
    top = fragment_top(work, node)
    current = nodes[node, EDGE]
    if nodes[node, CUT] == 1:
        for side in range(4):
            forest.limits[LIMIT, side] = forest.boxes[node, side]
    else:
        _set_limits(forest, work, node)
    num_before = _list_group(rng, forest, work, node, BELOW_BEFORE)
    end = list_option(work, row_of(top), BELOW_BEFORE, num_before, 0)
    num_current = end
    _save_boxes(forest, work, num_before)
    unseat_option(rng, model, restaurants, work, 0, num_current)
    for option in range(num_options):
        if options[option] == current:
            row, size, begin, num_rules = BELOW_BEFORE, num_before, 0, num_current
            log_boxes = _lay_boxes(rng, forest, work, (node, row, size, begin), True)
        else:
            nodes[node, EDGE] = options[option]
            set_tails(forest, work, node)
            row, size, begin = BELOW, _list_group(rng, forest, work, node, BELOW), end
            log_boxes = _lay_boxes(rng, forest, work, (node, row, size, begin), False)
            compose_up(forest, work, node, top)
            num_rules = _draft_option(forest, model, restaurants, work, top, size, begin)
            end += num_rules
        first_rule[option] = begin
        product, logs = option_weight(rng, model, restaurants, work, begin, num_rules)
        log_weight = work.inverse_temperature[0] * (elementary.log(product) + logs)
        work.log_weights[option] = log_weight + log_boxes + log_density(forest, work, node, row, size)
    chosen = draws.log_categorical(rng, work.log_weights, num_options)
    nodes[node, EDGE] = options[chosen]
    set_tails(forest, work, node)
    begin = first_rule[chosen]
    row = BELOW_BEFORE if options[chosen] == current else BELOW
    size = _list_group(rng, forest, work, node, row)
    _lay_boxes(rng, forest, work, (node, row, size, begin), True)
    compose_up(forest, work, node, top)
    num_rules = num_current
    if options[chosen] != current:
        work.counters[EDGES_CHANGED] += 1
        num_rules = _enter_tree(model, work, node, top, num_before, size, begin)
    seat_option(rng, model, restaurants, work, begin, num_rules)


@borrowing
def _group_touches_run(forest, num_options):
    """Whether there are unaligned words next to a block of the group last opened."""
    width = forest.shape[SIZE] + 1
    for rank in range(num_options + 1):
        if _touches_run(forest, forest.boundaries[rank] * width + forest.boundaries[rank + 1]):
            return True
    return False


@borrowing
def _list_group(rng, forest, work, node, row):
    """`draw_below`; how many. Pieces are composed when boxes have been laid out."""
    size = draw_below(rng, forest, work, node, row)
    if work.counters[FRESH] > 0:
        for k in range(size):
            if work.nodes[work.lists[row, k], STAMP] == -1:
                work.nodes[work.lists[row, k], STAMP] = work.counters[CALL]
    return size


@borrowing
def _save_boxes(forest, work, size):
    """Copy the boxes of the current option to `drawn`, as `list_option` lists its fragments."""
    place = 0
    for k in range(size):
        at = work.lists[BELOW_BEFORE, k]
        if work.nodes[at, CUT] == 1:
            place += 1
            for side in range(4):
                forest.drawn[place, side] = forest.boxes[at, side]


@borrowing
def _lay_boxes(rng, forest, work, option, replayed):
    """Draw the boxes of an option, or take those drawn before, and compose; −ln of the draws' probability.

    option : node, row of lists with the nodes below, how many there are, and its first place in the options.
    """
    node, row, size, begin = option
    boxes, drawn = forest.boxes, forest.drawn
    width = forest.shape[SIZE] + 1
    inverted = _open_bounds(forest, node)
    place = begin
    for k in range(size):
        place += work.nodes[work.lists[row, k], CUT]
    total = 0.0
    for k in range(size - 1, -1, -1):
        at = work.lists[row, k]
        if work.nodes[at, CUT] == 1:
            first, last = forest.ranks[at // width], forest.ranks[at % width]
            if replayed:
                for side in range(4):
                    boxes[at, side] = drawn[place, side]
            values = _lay_ends(rng, forest, at, 0, (first, last), replayed)
            if inverted:
                first, last = last, first
            values *= _lay_ends(rng, forest, at, 2, (first, last), replayed)
            total += elementary.log(values)
            for side in range(4):
                drawn[place, side] = boxes[at, side]
            place -= 1
        compose(forest, work, at)
    return 0.0 if work.counters[IGNORE_DENSITY] == 1 else total


@borrowing
def _open_bounds(forest, node):
    """Fill `bounds` for the node's group from its blocks' boxes and `limits`; whether it is inverted."""
    boxes, bounds, limits = forest.boxes, forest.bounds, forest.limits[LIMIT]
    width = forest.shape[SIZE] + 1
    num_blocks = forest.ranks[node % width]
    leftmost = forest.boundaries[0] * width + forest.boundaries[1]
    rightmost = forest.boundaries[num_blocks - 1] * width + forest.boundaries[num_blocks]
    inverted = forest.spans[leftmost, 2] > forest.spans[rightmost, 2]
    low, high = (num_blocks, 0) if inverted else (0, num_blocks)
    bounds[0, 0], bounds[1, num_blocks] = limits[0], limits[1]
    bounds[2, low], bounds[3, high] = limits[2], limits[3]
    for rank in range(num_blocks):
        block = forest.boundaries[rank] * width + forest.boundaries[rank + 1]
        low, high = (rank + 1, rank) if inverted else (rank, rank + 1)
        bounds[1, rank], bounds[0, rank + 1] = boxes[block, 0], boxes[block, 1]
        bounds[3, low], bounds[2, high] = boxes[block, 2], boxes[block, 3]
    return inverted


@borrowing
def _lay_ends(rng, forest, node, side, at_bounds, replayed):
    """Draw both ends of a box on one side, or take them as they are; among how many values.

    at_bounds : boundaries of the group where the box begins and ends on that side.
    """
    boxes, spans, bounds = forest.boxes, forest.spans, forest.bounds
    most = forest.shape[MAX_ATTACHED]
    first, last = at_bounds
    least = max(bounds[side, first], spans[node, side] - most)
    begins = bounds[side + 1, first] - least + 1
    if not replayed:
        boxes[node, side] = least + draws.uniform_index(rng, begins)
    bounds[side + 1, first] = boxes[node, side]
    least = bounds[side, last]
    ends = min(bounds[side + 1, last], spans[node, side + 1] + most) - least + 1
    if not replayed:
        boxes[node, side + 1] = least + draws.uniform_index(rng, ends)
    bounds[side, last] = boxes[node, side + 1]
    return begins * ends


@borrowing
def _draft_option(forest, model, restaurants, work, top, size, begin):
    """Describe the fragments of an option whose nodes below are in lists[BELOW], as they lie; how many."""
    draft(forest, model, restaurants, work, top, begin)
    place = begin
    for k in range(size):
        at = work.lists[BELOW, k]
        if work.nodes[at, CUT] == 1:
            place += 1
            draft(forest, model, restaurants, work, at, place)
    return place + 1 - begin


@borrowing
def _enter_tree(model, work, node, top, num_before, size, begin):
    """`enter_tree`, keeping the drafts of the fragments; how many."""
    num_rules = enter_tree(work, node, num_before, size)
    keep_draft(model, work, begin, top)
    place = begin
    for k in range(size):
        below = work.lists[BELOW, k]
        if work.nodes[below, CUT] == 1:
            place += 1
            keep_draft(model, work, place, below)
    return num_rules
