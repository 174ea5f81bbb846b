"""Search that looks at words: cube pruning on the sides of derivations.

The order in which derivations are tried is that of cube pruning (`decoder.search.cube`, Chiang 2007), and so
is what is found with the same beam. What a derivation costs is not: the items of a cell are known by the
words at their edges, numbered (`decoder.search.sides`), the rules that match by the stretches of words
between their nonterminals (`decoder.search.spelled`), and the language models are asked once a sentence what
joining two such edges changes (after Heafield, Koehn and Lavie 2013, who group derivations by them).

The fact a newcomer would get wrong: scores are sums of the same numbers as in cube pruning, in another order.
They agree to rounding, so derivations with equal scores may come in another order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.grammar.trie import RankedRules
from decoder.lm.model import LanguageModel, finish_sentence
from decoder.search.chart import Chart
from decoder.search.cube import (
    Forest,
    SearchSettings,
    add_goal,
    forest_of,
    most_pops,
    write_edge,
    write_first,
    write_neighbour,
)
from decoder.search.guide import margins, widest_margin
from decoder.search.sides import (
    HEAD,
    TAIL,
    UNCHANGED,
    Joins,
    Sides,
    States,
    has_room,
    is_row,
    joined,
    larger_joins,
    larger_sides,
    log_prob_of,
    new_joins,
    new_sides,
    new_states,
    row_of,
    write_state,
)
from decoder.search.spelled import Spelled, listed, spell, spell_own
from decoder.search.workspace import (
    EDGES,
    ITEMS,
    LONGEST,
    NUM_COUNTERS,
    OPENED,
    PARTS,
    POINTS,
    POPS,
    QUERIES,
    WAITING,
    Edges,
    Items,
    Points,
    copy_state,
    larger_edges,
    larger_items,
    larger_points,
    pop,
    push,
)
from scfg_sampler.core.arrays.growth import grown, sort_descending
from scfg_sampler.core.arrays.hash_table import mix
from scfg_sampler.core.jit import borrowing, by_reference, compiled, inlined, kernel

__all__ = ["search"]


class _Slots(NamedTuple):
    """The items of the present cell by sides: a hash table. A slot is free if it belongs to another cell."""

    key: np.ndarray
    item: np.ndarray
    cell: np.ndarray


class _Task(NamedTuple):
    """What the search of a sentence reads; fields as in `decoder.search.cube`."""

    rules: RankedRules
    chart: Chart
    settings: SearchSettings
    copied: np.ndarray
    copied_start: np.ndarray
    lms: tuple[LanguageModel, ...]


class _Work(NamedTuple):
    """What it writes, all of it references but the arrays at the end.

    items, points : the sides of each in place of the states of language models, int32 (…, 2)
    part : int32 (…, 2), parts of rules: the sides of a stretch of words, or −1−k and 0 for tail k
    members : int32 (A,), room for the items of a point
    best : float64 (1,), the key of the first point that was popped in the cell
    first_item : int64 (C + 1,); the items of cell c are first_item[c] … first_item[c + 1] − 1
    """

    items: Items
    edges: Edges
    points: Points
    slots: _Slots
    spelled: Spelled
    sides: Sides
    joins: Joins
    states: States
    part: np.ndarray
    members: np.ndarray
    side: np.ndarray
    best: np.ndarray
    counter: np.ndarray
    first_item: np.ndarray


@kernel
def search(
    rules: RankedRules,
    lms: tuple[LanguageModel, ...],
    chart: Chart,
    copied: tuple[np.ndarray, np.ndarray],
    max_arity: int,
    settings: SearchSettings,
) -> Forest:
    """The forest of a sentence; parameters as for `decoder.search.cube.search`."""
    arity, width, num_cells = max(2, max_arity), rules.prefix_state.shape[2], len(chart.begin)
    num_models = len(lms)
    count = np.zeros(NUM_COUNTERS, np.int64)
    items, edges, points, slots = _new_workspace(arity, num_models)
    sides, joins, states = new_sides(num_models, width), new_joins(num_models), new_states(num_models, width)
    spelled, longest = listed(rules, chart, copied[0], settings, num_models)
    part, side, members = np.empty((1024, 2), np.int32), np.zeros(2, np.int32), np.empty(arity, np.int32)
    best, first_item = np.empty(1), np.zeros(num_cells + 1, np.int64)
    for cell in range(chart.num_x_cells):
        count[LONGEST] = max(count[LONGEST], chart.end[cell] - chart.begin[cell])

    # The arrays that grow are read again further down, which keeps them: see `by_reference`.
    task = by_reference(_Task(by_reference(rules), by_reference(chart), settings, copied[1], copied[0], lms))
    more = (1 + arity) * (longest + 1)  # Pairs that one pop may join.
    beam, margin = settings.beam, np.full(num_cells, np.inf)
    is_guided = 0 < settings.guidance.narrow < beam
    for visit in range(2 * num_cells if is_guided else num_cells):
        cell = visit % num_cells
        if visit == num_cells:
            widest = widest_margin(settings.guidance.margin, beam, settings.lm_weights)
            margin = margins(widest, first_item, by_reference(items), by_reference(edges), count)
            count[ITEMS] = count[EDGES] = 0
            slots.cell[:] = -1
        is_narrow = is_guided and visit < num_cells
        count[POINTS], count[WAITING], count[POPS], count[OPENED] = 0, 0, 0, 0
        first_edge, is_done = count[EDGES], False
        limit = most_pops(task, settings.guidance.narrow if is_narrow else beam, cell, count[LONGEST])
        while not is_done:
            items = larger_items(items, count[ITEMS] + 2)
            edges = larger_edges(edges, count[EDGES] + 1)
            points = larger_points(points, count[POINTS] + 2 + arity)
            sides, joins = larger_sides(sides, count, more), larger_joins(joins, count, more)
            part = grown(part, count[PARTS] + more)
            if 2 * (count[ITEMS] - first_item[cell]) >= len(slots.item):
                slots = _rehashed(slots, items.state, first_item[cell], count[ITEMS], cell)
            found = by_reference(items), by_reference(edges), by_reference(points), by_reference(slots)
            known = by_reference(spelled), by_reference(sides), by_reference(joins), by_reference(states)
            work = by_reference(_Work(*found, *known, part, members, side, best, count, first_item))
            if count[PARTS] == 0:
                spell_own(task, work)
            is_done = _explore(task, work, cell, more, limit, margin[cell])
        first_item[cell + 1] = count[ITEMS]
        _rank(items, edges, sides, first_item[cell], count[ITEMS], first_edge, count[EDGES])

    first = first_item[num_cells - 1]
    edges = larger_edges(edges, count[EDGES] + count[ITEMS] - first)
    _finish(
        task,
        first,
        by_reference(items),
        by_reference(edges),
        by_reference(sides),
        by_reference(states),
        count,
    )
    states_of_items = np.zeros((0, num_models, width), np.int32)
    if settings.keep_states:
        states_of_items = _states(items, sides, count[ITEMS], num_models, width)
    return forest_of(items, edges, count[ITEMS], count[EDGES], states_of_items, count[QUERIES])


@compiled
def _rank(items, edges, sides, first, last, first_edge, last_edge):
    """Put the items first … last − 1 of a cell in order, the most promising first; the edges are its own."""
    order, promise = items.ranked, np.empty(last - first)
    is_ordered = True
    for item in range(first, last):
        order[item - first] = item - first
        promise[item - first] = items.score[item] + sides.rest[items.state[item, HEAD]]
        is_ordered &= item == first or promise[item - first] <= promise[item - first - 1]
    if is_ordered:
        return
    sort_descending(order, promise, 0, last - first)
    score, best_edge = items.score[first:last].copy(), items.best_edge[first:last].copy()
    state, new = items.state[first:last].copy(), np.empty(last - first, np.int32)
    for rank in range(last - first):
        old = order[rank]
        new[old] = first + rank
        items.score[first + rank], items.best_edge[first + rank] = score[old], best_edge[old]
        items.state[first + rank, HEAD] = state[old, HEAD]
        items.state[first + rank, TAIL] = state[old, TAIL]
    for edge in range(first_edge, last_edge):
        edges.head[edge] = new[edges.head[edge] - first]


@compiled
def _states(items, sides, num_items, num_models, width):
    """The states of the items, int32 (N, M, W); zeros for the goal, which nothing comes before or after."""
    states = np.zeros((num_items, num_models, width), np.int32)
    for item in range(num_items - 1):
        write_state(sides, items.state[item, HEAD], items.state[item, TAIL], states, item)
    return states


# ---- A cell: Chiang (2007), section 5.3 -----------------------------------------------------------


@borrowing
def _explore(task, work, cell, more, limit, margin):
    """Open the cubes of a cell and pop points, at most `limit`, no worse than the best by more than `margin`.

    False if an array is too short.
    """
    chart, points, count = task.chart, work.points, work.counter
    num_cubes = chart.cube_start[cell + 1] - chart.cube_start[cell]
    while count[OPENED] < num_cubes:
        if not _has_room(work, cell, more):
            return False
        write_first(points, count[POINTS], chart.cube_start[cell] + count[OPENED])
        count[OPENED] += 1
        _propose(task, work)
    while count[WAITING] > 0 and (limit == 0 or count[POPS] < limit):
        if count[POPS] == 0:
            work.best[0] = points.key[0]
        if points.key[0] < work.best[0] - margin:
            break
        if not _has_room(work, cell, more):
            return False
        point = points.waiting[0]
        pop(points, count)
        count[POPS] += 1
        num_tails = _locate(task, work, point)
        key = _score(work, point, num_tails)
        _add_edge(task, work, cell, point, key, num_tails)
        _push_neighbours(task, work, point, num_tails)
    return True


@borrowing
def _has_room(work, cell, more):
    """Whether a pop fits: an item of the cell, the goal, an edge, the neighbours, and what they join."""
    count = work.counter
    return (
        count[ITEMS] + 2 <= len(work.items.score)
        and count[EDGES] + 1 <= len(work.edges.head)
        and count[POINTS] + 1 + len(work.members) <= len(work.points.cube)
        and 2 * (count[ITEMS] - work.first_item[cell]) < len(work.slots.item)
        and count[PARTS] + more <= len(work.part)
        and has_room(work.sides, work.joins, count, more)
    )


@borrowing
def _add_edge(task, work, cell, point, key, num_tails):
    """Make a point an edge of the item with its sides, which may be new; `members` are its tails."""
    items, points, slots, count = work.items, work.points, work.slots, work.counter
    head, tail = points.state[point, HEAD], points.state[point, TAIL]
    slot = _slot_of(slots, _packed(head, tail), cell)
    if slots.cell[slot] != cell:
        item = count[ITEMS]
        count[ITEMS] += 1
        slots.key[slot], slots.item[slot], slots.cell[slot] = _packed(head, tail), item, cell
        items.cell[item], items.score[item] = cell, -np.inf
        items.state[item, HEAD], items.state[item, TAIL] = head, tail
    write_edge(task, work, count, work.members, slots.item[slot], point, key, num_tails)


@borrowing
def _push_neighbours(task, work, point, num_tails):
    """Put on the heap the points whose one predecessor is this one, as `decoder.search.cube` does."""
    for axis in range(work.points.raised[point], num_tails + 1):
        if write_neighbour(task, work, point, axis, num_tails, work.counter[POINTS]):
            _propose(task, work)


@borrowing
def _finish(task, first, items, edges, sides, states, count):
    """Add the goal, with an edge from each item of the last cell, which begins with item `first`."""
    for item in range(first, count[ITEMS]):
        for model in range(len(task.lms)):
            copy_state(sides.state, items.state[item, TAIL], model, states.one)
            count[QUERIES] += 1
            found = finish_sentence(by_reference(task.lms[model]), states.one)
            edges.log_prob[count[EDGES] + item - first, model] = found
    add_goal(items, edges, count, first, task.settings.lm_weights)


# ---- Points ---------------------------------------------------------------------------------------


@borrowing
def _propose(task, work):
    """Score the point that was written last and put it on the heap."""
    items, points, spelled, joins = work.items, work.points, work.spelled, work.joins
    members, part, count = work.members, work.part, work.counter
    point = count[POINTS]
    count[POINTS] += 1
    num_tails = _locate(task, work, point)
    number = spelled.first_of_cube[points.cube[point]] + points.place[point, 0]
    if spelled.last[number] < 0:
        spell(task, work, number)
    for model in range(len(task.lms)):
        points.log_prob[point, model] = spelled.log_prob[number, model]
    first, last = spelled.first[number], spelled.last[number]
    head, tail = part[first, 0], part[first, 1]
    if head < 0:
        member = members[-1 - head]
        head, tail = items.state[member, HEAD], items.state[member, TAIL]
    log_prob = spelled.log_prob[number, 0]
    for i in range(first + 1, last):
        next_head, next_tail = part[i, 0], part[i, 1]
        if next_head < 0:
            member = members[-1 - next_head]
            next_head, next_tail = items.state[member, HEAD], items.state[member, TAIL]
        value = joined(task, work, tail, next_head)
        tail = next_tail
        if not is_row(value):
            log_prob += log_prob_of(value)
            continue
        row = row_of(value)
        log_prob += joins.log_prob[row, 0]
        for model in range(1, len(task.lms)):
            points.log_prob[point, model] += joins.log_prob[row, model]
        if joins.new[row, HEAD] != UNCHANGED:
            head = joins.new[row, HEAD]
        if joins.new[row, TAIL] != UNCHANGED:
            tail = joins.new[row, TAIL]
    points.log_prob[point, 0] = log_prob
    points.state[point, HEAD], points.state[point, TAIL] = head, tail
    weight = spelled.score[number]
    for model in range(len(task.lms)):
        weight += task.settings.lm_weights[model] * points.log_prob[point, model]
    points.weight[point] = weight
    push(points, count, _score(work, point, num_tails) + work.sides.rest[head], point)


@borrowing
def _locate(task, work, point):
    """The number of tails of a point; `members` become its items, which stand in the order of their ranks."""
    chart, points = task.chart, work.points
    cube = points.cube[point]
    first_tail = chart.tail_start[cube]
    num_tails = chart.tail_start[cube + 1] - first_tail
    for k in range(num_tails):
        work.members[k] = work.first_item[chart.tails[first_tail + k]] + points.place[point, 1 + k]
    return num_tails


@borrowing
def _score(work, point, num_tails):
    """The score of a point with `members`."""
    score = work.points.weight[point]
    for k in range(num_tails):
        score += work.items.score[work.members[k]]
    return score


# ---- The items of a cell by sides, and longer arrays ----------------------------------------------


@inlined
def _packed(head, tail):
    """A number for a state."""
    return np.int64(head) << 32 | np.int64(tail)


@borrowing
def _slot_of(slots, key, cell):
    """The slot of the cell's item with this state, or the free slot for it."""
    mask = len(slots.item) - 1
    slot = np.int64(mix(np.uint64(0), key) & np.uint64(mask))
    while slots.cell[slot] == cell and slots.key[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled
def _rehashed(slots, side, first, last, cell):
    """Twice as many slots with the items first … last − 1 of a cell."""
    size = 2 * len(slots.item)
    slots = _Slots(np.empty(size, np.int64), np.empty(size, np.int32), np.full(size, -1, np.int32))
    for item in range(first, last):
        key = _packed(side[item, HEAD], side[item, TAIL])
        slot = _slot_of(slots, key, cell)
        slots.key[slot], slots.item[slot], slots.cell[slot] = key, item, cell
    return slots


@compiled
def _new_workspace(arity, num_models):
    """No items, edges and points, for rules of `arity` nonterminals; and free slots."""
    ints, floats, pairs = np.empty(1024, np.int32), np.empty(1024), np.empty((1024, 2), np.int32)
    log_probs, places = np.empty((1024, num_models)), np.empty((1024, 1 + arity), np.int32)
    items = Items(ints, floats, ints.copy(), pairs, ints.copy())
    tails = np.empty((1024, arity), np.int32)
    edges = Edges(ints.copy(), ints.copy(), log_probs, floats.copy(), tails)
    points = Points(
        ints.copy(),
        places,
        ints.copy(),
        log_probs.copy(),
        floats.copy(),
        pairs.copy(),
        floats.copy(),
        ints.copy(),
    )
    slots = _Slots(np.empty(1024, np.int64), ints.copy(), np.full(1024, -1, np.int32))
    return items, edges, points, slots
