"""Cube pruning: from the chart to a forest whose items know their language-model states.

The derivations of a cube are the points of a grid: which rule of its group, and which item of each of its
cells, all sorted from good to bad (Chiang 2007). A cell pops the most promising points of all its cubes
from a heap, and pushes the neighbours of each point it pops. Points whose language-model states are equal
become edges of one item. A cell stops after `beam` pops; with beam 0 it goes through all points, and the
search is exact. Most of what is lost is lost in long spans, so pops may be shared out by length (`widen`).

Every point other than the first has one predecessor, the point with its last non-zero coordinate one lower
(after Gesmundo and Henderson 2010), so none is pushed twice.

The fact a newcomer would get wrong: an item's score includes its first words scored without their left
context. `add_state` returns the correction when the context comes, which is why edges may carry a positive
"log probability".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.chart import COPY, GLUE, START, Chart
from decoder.grammar_trie import RankedRules
from decoder.growth import grown, grown_rows, sort_descending
from decoder.lm import LanguageModel, add_state, add_word, begin, begin_sentence, finish_sentence
from scfg_sampler.core.jit import borrowing, compiled, counting, kernel
from scfg_sampler.core.ragged import mix

__all__ = ["FINISH", "Forest", "SearchSettings", "search"]

FINISH = -4  # The edge from an item of S over the whole sentence to the goal; scores </s>.


class SearchSettings(NamedTuple):
    """Weights of the decoder's own features, and the limit of the search.

    beam : pops a cell may make; 0 for no limit
    widen : if above 0, a cell of X over n words may make beam · n / widen pops
    """

    beam: int
    lm_weight: float
    glue_weight: float
    copy_weight: float
    widen: int


class Forest(NamedTuple):
    """N items and E edges; an item's tails have smaller numbers, and the goal is the last.

    cell : int32 (N,), the chart cell of each item; that of the goal is the last S
    score : float64 (N,), of the best derivation of the item
    best_edge : int32 (N,), its last edge
    head : int32 (E,)
    rule : int32 (E,), a rule of the grammar, or START, GLUE, COPY, FINISH
    log_prob : float64 (E,), what the edge adds to the language model's log probability
    weight : float64 (E,), what the edge adds to the score
    tails : int32 (E, A), in source order, filled with −1
    """

    cell: np.ndarray
    score: np.ndarray
    best_edge: np.ndarray
    head: np.ndarray
    rule: np.ndarray
    log_prob: np.ndarray
    weight: np.ndarray
    tails: np.ndarray


class _Items(NamedTuple):
    """Items found so far, in the order of their cells.

    ranked : int32, the items of each cell from the best to the worst
    """

    cell: np.ndarray
    score: np.ndarray
    best_edge: np.ndarray
    state: np.ndarray
    ranked: np.ndarray


class _Edges(NamedTuple):
    """Edges found so far; the fields are those of `Forest`."""

    head: np.ndarray
    rule: np.ndarray
    log_prob: np.ndarray
    weight: np.ndarray
    tails: np.ndarray


class _Points(NamedTuple):
    """Points of the present cell, and the heap of those that wait.

    cube : int32
    place : int32, two dimensions: rank of the rule in its group, then of the items in their cells
    raised : int32, the coordinate that was raised last
    log_prob, weight, state : of the edge, and of the item, that the point makes
    key, waiting : the heap, keys and points
    """

    cube: np.ndarray
    place: np.ndarray
    raised: np.ndarray
    log_prob: np.ndarray
    weight: np.ndarray
    state: np.ndarray
    key: np.ndarray
    waiting: np.ndarray


class _Slots(NamedTuple):
    """The items of the present cell by state: a hash table. A slot is free if it belongs to another cell."""

    item: np.ndarray
    cell: np.ndarray


class _Scratch(NamedTuple):
    """Room for the items of a point, two states, and the counters below."""

    members: np.ndarray
    state: np.ndarray
    other: np.ndarray
    counter: np.ndarray


_ITEMS, _EDGES, _POINTS, _WAITING, _POPS = range(5)  # Counters.


@kernel
def search(
    rules: RankedRules,
    lm: LanguageModel,
    chart: Chart,
    copied: np.ndarray,
    max_arity: int,
    settings: SearchSettings,
) -> Forest:
    """The forest of a sentence.

    Parameters
    ----------
    copied : int32 (n,), the language model's ids of the source words, should they be copied
    max_arity : the most nonterminals a rule has
    """
    arity, width, num_cells = max(2, max_arity), rules.prefix_state.shape[1], len(chart.begin)
    no_ints, no_floats, no_states = np.empty(0, np.int32), np.empty(0), np.empty((0, width), np.int32)
    items = _Items(no_ints, no_floats, no_ints, no_states, no_ints)
    edges = _Edges(no_ints, no_ints, no_floats, no_floats, np.empty((0, arity), np.int32))
    places = np.empty((0, 1 + arity), np.int32)
    points = _Points(no_ints, places, no_ints, no_floats, no_floats, no_states, no_floats, no_ints)
    count = np.zeros(5, np.int64)
    items, edges = _larger_items(items, count[_ITEMS] + 1024), _larger_edges(edges, count[_EDGES] + 1024)
    slots = _Slots(np.empty(1024, np.int32), np.full(1024, -1, np.int32))
    scratch = _Scratch(np.empty(arity, np.int32), np.empty(width, np.int32), np.empty(width, np.int32), count)
    first_item = np.zeros(num_cells + 1, np.int64)

    for cell in range(num_cells):
        points = _larger_points(points, chart.cube_start[cell + 1] - chart.cube_start[cell])
        _open(rules, lm, chart, settings, cell, first_item, copied, items, points, scratch)
        while not _explore(
            rules, lm, chart, settings, cell, first_item, copied, items, edges, points, slots, scratch
        ):
            items = _larger_items(items, count[_ITEMS] + 2)
            edges = _larger_edges(edges, count[_EDGES] + 1)
            points = _larger_points(points, count[_POINTS] + 1 + arity)
            if 2 * (count[_ITEMS] - first_item[cell]) >= len(slots.item):
                slots = _rehashed(slots, items.state, first_item[cell], count[_ITEMS], cell)
        first_item[cell + 1] = count[_ITEMS]
        for item in range(first_item[cell], first_item[cell + 1]):
            items.ranked[item] = item
        sort_descending(items.ranked, items.score, first_item[cell], first_item[cell + 1])

    edges = _larger_edges(edges, count[_EDGES] + count[_ITEMS] - first_item[num_cells - 1])
    _finish(lm, settings, first_item[num_cells - 1], items, edges, scratch)
    num_items, num_edges = count[_ITEMS], count[_EDGES]
    return Forest(
        items.cell[:num_items].copy(),
        items.score[:num_items].copy(),
        items.best_edge[:num_items].copy(),
        edges.head[:num_edges].copy(),
        edges.rule[:num_edges].copy(),
        edges.log_prob[:num_edges].copy(),
        edges.weight[:num_edges].copy(),
        edges.tails[:num_edges].copy(),
    )


@borrowing
def _open(rules, lm, chart, settings, cell, first_item, copied, items, points, scratch):
    """Begin a cell with the best point of each of its cubes."""
    count = scratch.counter
    count[_POINTS], count[_WAITING], count[_POPS] = 0, 0, 0
    for cube in range(chart.cube_start[cell], chart.cube_start[cell + 1]):
        point = count[_POINTS]
        points.cube[point], points.raised[point] = cube, 0
        for axis in range(points.place.shape[1]):
            points.place[point, axis] = 0
        _propose(rules, lm, chart, settings, cell, first_item, copied, items, points, scratch)


@borrowing
def _explore(rules, lm, chart, settings, cell, first_item, copied, items, edges, points, slots, scratch):
    """Pop points of a cell until the beam is used up or no point is left; False if an array is too short."""
    count, state, members = scratch.counter, scratch.state, scratch.members
    width, arity = len(state), len(members)
    limit = settings.beam
    if settings.widen > 0 and cell < chart.num_x_cells:
        limit = max(1, limit * (chart.end[cell] - chart.begin[cell]) // settings.widen)
    while count[_WAITING] > 0 and (settings.beam == 0 or count[_POPS] < limit):
        if (
            count[_ITEMS] + 2 > len(items.score)
            or count[_EDGES] + 1 > len(edges.head)
            or count[_POINTS] + 1 + arity > len(points.cube)
            or 2 * (count[_ITEMS] - first_item[cell]) >= len(slots.item)
        ):
            return False
        point, key = points.waiting[0], points.key[0]
        _pop(points, count)
        count[_POPS] += 1
        group, num_tails = _locate(chart, first_item, items, points, point, members)
        cube = points.cube[point]

        # The edge, and its item.
        for i in range(width):
            state[i] = points.state[point, i]
        slot = _slot(slots, items.state, state, cell)
        if slots.cell[slot] != cell:
            item = count[_ITEMS]
            count[_ITEMS] += 1
            slots.item[slot], slots.cell[slot] = item, cell
            items.cell[item], items.score[item] = cell, -np.inf
            for i in range(width):
                items.state[item, i] = state[i]
        item = slots.item[slot]
        edge = count[_EDGES]
        count[_EDGES] += 1
        edges.head[edge], edges.rule[edge] = item, group
        if group >= 0:
            edges.rule[edge] = rules.rule[rules.start[group] + points.place[point, 0]]
        edges.log_prob[edge], edges.weight[edge] = points.log_prob[point], points.weight[point]
        for k in range(arity):
            edges.tails[edge, k] = members[k] if k < num_tails else -1
        if key > items.score[item]:
            items.score[item], items.best_edge[item] = key, edge

        # The points after it.
        for axis in range(points.raised[point], num_tails + 1):
            raised_to = points.place[point, axis] + 1
            if axis == 0:
                extent = rules.start[group + 1] - rules.start[group] if group >= 0 else 1
            else:
                tail = chart.tails[chart.tail_start[cube] + axis - 1]
                extent = first_item[tail + 1] - first_item[tail]
            if raised_to < extent:
                new = count[_POINTS]
                points.cube[new], points.raised[new] = cube, axis
                for k in range(num_tails + 1):
                    points.place[new, k] = points.place[point, k]
                points.place[new, axis] = raised_to
                _propose(rules, lm, chart, settings, cell, first_item, copied, items, points, scratch)
    return True


@borrowing
def _propose(rules, lm, chart, settings, cell, first_item, copied, items, points, scratch):
    """Score the point that was written last and put it on the heap."""
    count, members, state = scratch.counter, scratch.members, scratch.state
    point = count[_POINTS]
    count[_POINTS] += 1
    group, num_tails = _locate(chart, first_item, items, points, point, members)
    place = np.int64(0)
    if group >= 0:
        place = rules.start[group] + points.place[point, 0]
        weight = rules.score[place]
    elif group == GLUE:
        weight = settings.glue_weight
    else:
        weight = settings.copy_weight if group == COPY else 0.0
    log_prob = _compose(rules, lm, group, place, copied[chart.begin[cell]], items.state, scratch)
    weight += settings.lm_weight * log_prob
    key = weight
    for k in range(num_tails):
        key += items.score[members[k]]
    points.log_prob[point], points.weight[point] = log_prob, weight
    for i in range(len(state)):
        points.state[point, i] = state[i]
    _push(points, count, key, point)


@borrowing
def _locate(chart, first_item, items, points, point, members):
    """The group of a point and the number of its tails; `members` becomes its items."""
    cube = points.cube[point]
    first_tail = chart.tail_start[cube]
    num_tails = chart.tail_start[cube + 1] - first_tail
    for k in range(num_tails):
        members[k] = items.ranked[first_item[chart.tails[first_tail + k]] + points.place[point, 1 + k]]
    return chart.group[cube], num_tails


@counting
def _finish(lm, settings, first, items, edges, scratch):
    """Add the goal, with an edge from each item of the last cell, which begins with item `first`."""
    count, state = scratch.counter, scratch.state
    goal = count[_ITEMS]
    items.cell[goal], items.score[goal], items.best_edge[goal] = items.cell[goal - 1], -np.inf, -1
    for item in range(first, goal):
        edge = count[_EDGES]
        count[_EDGES] += 1
        _copy_row(items.state, item, state)
        edges.log_prob[edge] = finish_sentence(lm, state)
        edges.weight[edge] = settings.lm_weight * edges.log_prob[edge]
        edges.head[edge], edges.rule[edge] = goal, FINISH
        for k in range(edges.tails.shape[1]):
            edges.tails[edge, k] = item if k == 0 else -1
        if items.score[item] + edges.weight[edge] > items.score[goal]:
            items.score[goal], items.best_edge[goal] = items.score[item] + edges.weight[edge], edge
    count[_ITEMS] += 1


# ---- Points ---------------------------------------------------------------------------------------


@counting
def _compose(rules, lm, group, place, copied, states, scratch):
    """Log probability that a point adds to that of its items; `scratch.state` becomes that of its words."""
    state, other, members = scratch.state, scratch.other, scratch.members
    if group == START:
        begin_sentence(lm, state)
        _copy_row(states, members[0], other)
        return add_state(lm, state, other)
    if group == GLUE:
        _copy_row(states, members[0], state)
        _copy_row(states, members[1], other)
        return add_state(lm, state, other)
    if group == COPY:
        begin(lm, state)
        return add_word(lm, state, copied)
    total = rules.prefix_log_prob[place]
    _copy_row(rules.prefix_state, place, state)
    for i in range(rules.target_start[place] + rules.prefix_length[place], rules.target_start[place + 1]):
        symbol = rules.target[i]
        if symbol >= 0:
            total += add_word(lm, state, symbol)
        else:
            _copy_row(states, members[-1 - symbol], other)
            total += add_state(lm, state, other)
    return total


@borrowing
def _copy_row(rows, row, to):
    for i in range(len(to)):
        to[i] = rows[row, i]


# ---- The heap: largest key first ------------------------------------------------------------------


@borrowing
def _push(points, count, key, point):
    """Add a point."""
    at = count[_WAITING]
    count[_WAITING] += 1
    while at > 0:
        parent = (at - 1) >> 1
        if points.key[parent] >= key:
            break
        points.key[at], points.waiting[at] = points.key[parent], points.waiting[parent]
        at = parent
    points.key[at], points.waiting[at] = key, point


@borrowing
def _pop(points, count):
    """Remove the first point."""
    count[_WAITING] -= 1
    size = count[_WAITING]
    key, point = points.key[size], points.waiting[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and points.key[below + 1] > points.key[below]:
            below += 1
        if points.key[below] <= key:
            break
        points.key[at], points.waiting[at] = points.key[below], points.waiting[below]
        at = below
    points.key[at], points.waiting[at] = key, point


# ---- The items of a cell by state -----------------------------------------------------------------


@borrowing
def _slot(slots, states, state, cell):
    """The slot of the cell's item with this state, or the free slot where it belongs."""
    code = np.uint64(0)
    for i in range(len(state)):
        code = mix(code, state[i])
    mask = len(slots.item) - 1
    slot = np.int64(code & np.uint64(mask))
    while slots.cell[slot] == cell:
        item = slots.item[slot]
        same = True
        for i in range(len(state)):
            if state[i] != states[item, i]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@compiled
def _rehashed(slots, states, first, last, cell):
    """Twice as many slots with the items first … last − 1 of a cell."""
    size = 2 * len(slots.item)
    slots = _Slots(np.empty(size, np.int32), np.full(size, -1, np.int32))
    state = np.empty(states.shape[1], np.int32)
    for item in range(first, last):
        _copy_row(states, item, state)
        slot = _slot(slots, states, state, cell)
        slots.item[slot], slots.cell[slot] = item, cell
    return slots


# ---- Longer arrays --------------------------------------------------------------------------------


@compiled
def _larger_items(items, size):
    return _Items(
        grown(items.cell, size),
        grown(items.score, size),
        grown(items.best_edge, size),
        grown_rows(items.state, size),
        grown(items.ranked, size),
    )


@compiled
def _larger_edges(edges, size):
    return _Edges(
        grown(edges.head, size),
        grown(edges.rule, size),
        grown(edges.log_prob, size),
        grown(edges.weight, size),
        grown_rows(edges.tails, size),
    )


@compiled
def _larger_points(points, size):
    return _Points(
        grown(points.cube, size),
        grown_rows(points.place, size),
        grown(points.raised, size),
        grown(points.log_prob, size),
        grown(points.weight, size),
        grown_rows(points.state, size),
        grown(points.key, size),
        grown(points.waiting, size),
    )
