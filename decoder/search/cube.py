"""Cube pruning: from the chart to a forest whose items know their language-model states.

The derivations of a cube are the points of a grid: which rule of its group, and which item of each of its
cells, all sorted from good to bad (Chiang 2007). A cell pops the most promising points of all its cubes
from a heap, and pushes the neighbours of each point it pops. Points whose language-model states are equal
become edges of one item. A cell stops after `beam` pops; with beam 0 it goes through all points, and the
search is exact. Most of what is lost is lost in long spans, so pops are shared out by length (`widen`).

Every point other than the first has one predecessor, the point with its last non-zero coordinate one lower
(after Gesmundo and Henderson 2010, "faster cube pruning"), so none is pushed twice.

The fact a newcomer would get wrong: an item's score includes its first words scored without their left
context. `add_state` returns the correction when the context comes, which is why edges may carry a positive
"log probability".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.grammar.trie import RankedRules
from decoder.lm.model import (
    LanguageModel,
    add_state,
    add_word,
    begin,
    begin_sentence,
    finish_sentence,
    num_open_words,
)
from decoder.search.chart import COPY, GLUE, KEEP, RELABEL, START, Chart
from decoder.search.guide import Guidance
from decoder.search.workspace import (
    EDGES,
    ITEMS,
    LONGEST,
    POINTS,
    POPS,
    QUERIES,
    WAITING,
    Edges,
    Items,
    Points,
    Scratch,
    Slots,
    copy_state,
    copy_states,
    keep_state,
    keep_states,
    larger_edges,
    larger_items,
    larger_points,
    new_workspace,
    pop,
    push,
    rehashed,
    slot_of,
)
from scfg_sampler.core.arrays.growth import sort_descending
from scfg_sampler.core.jit import borrowing, by_reference, compiled, kernel

__all__ = [
    "FINISH",
    "Forest",
    "SearchSettings",
    "add_goal",
    "forest_of",
    "locate",
    "most_pops",
    "search",
    "write_edge",
    "write_first",
    "write_neighbour",
]

_MOST_POPS = 2.0**62
FINISH = -6  # The edge from an item of S over the whole sentence to the goal; scores </s>.


class SearchSettings(NamedTuple):
    """Weights of the decoder's own features, and the limit of the search.

    beam : pops a cell may make; 0 for no limit
    lm_weights : float64 (M,), one for each language model
    copy_weight : float64 (n,), the score of copying each source word
    widen : a cell over n words may make beam · n / widen pops, one of S at most as many as the longest of X;
        0 for `beam`, whatever the length
    keep_states : whether the forest is to have the states of its items
    guidance : of a search that is guided (`decoder.search.guide`)
    """

    beam: int
    lm_weights: np.ndarray
    glue_weight: float
    mismatch_weight: float
    copy_weight: np.ndarray
    widen: float
    keep_states: bool
    guidance: Guidance = Guidance()


class Forest(NamedTuple):
    """N items and E edges; an item's tails have smaller numbers, and the goal is the last.

    cell : int32 (N,), the chart cell of each item; that of the goal is the last S
    score : float64 (N,), of the best derivation of the item
    best_edge : int32 (N,), its last edge
    head : int32 (E,)
    rule : int32 (E,), a rule of the grammar, or START, GLUE, COPY, KEEP, RELABEL, FINISH
    log_prob : float64 (E, M), what the edge adds to the log probability of each language model
    weight : float64 (E,), what the edge adds to the score
    tails : int32 (E, A), in source order, filled with −1
    state : int32 (N, M, W), the states of the language models; (0, M, W) if they were not kept
    num_queries : int, the words whose probability a language model was asked for
    """

    cell: np.ndarray
    score: np.ndarray
    best_edge: np.ndarray
    head: np.ndarray
    rule: np.ndarray
    log_prob: np.ndarray
    weight: np.ndarray
    tails: np.ndarray
    state: np.ndarray
    num_queries: int


class _Task(NamedTuple):
    """What the search of a sentence reads; the first three are references.

    lm : the first of the language models
    copied : int32 (M, …), each language model's ids of what the source words become if they are copied
    copied_start : int64 (n + 1,), where among them those of each word are
    lms : all M language models
    """

    rules: RankedRules
    lm: LanguageModel
    chart: Chart
    settings: SearchSettings
    copied: np.ndarray
    copied_start: np.ndarray
    lms: tuple[LanguageModel, ...]


class _Work(NamedTuple):
    """What it writes, all of it references but the last.

    first_item : int64 (C + 1,); the items of cell c are first_item[c] … first_item[c + 1] − 1
    """

    items: Items
    edges: Edges
    points: Points
    slots: Slots
    scratch: Scratch
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
    """The forest of a sentence.

    Parameters
    ----------
    lms : M language models, at least one
    copied : int64 (n + 1,), int32 (M, …): what the source words become if they are copied, for each
        language model its ids
    max_arity : the most nonterminals a rule has
    """
    arity, width, num_cells = max(2, max_arity), rules.prefix_state.shape[2], len(chart.begin)
    items, edges, points, slots, scratch = new_workspace(arity, len(lms), width)
    count = scratch.counter
    first_item = np.zeros(num_cells + 1, np.int64)
    for cell in range(chart.num_x_cells):
        count[LONGEST] = max(count[LONGEST], chart.end[cell] - chart.begin[cell])

    # The arrays that grow are read again further down, which keeps them: see `by_reference`.
    read = by_reference(rules), by_reference(lms[0]), by_reference(chart)
    task = by_reference(_Task(*read, settings, copied[1], copied[0], lms))
    for cell in range(num_cells):
        num_cubes = chart.cube_start[cell + 1] - chart.cube_start[cell]
        count[POINTS], count[WAITING], count[POPS] = 0, 0, 0
        is_done = False
        while not is_done:
            items = larger_items(items, count[ITEMS] + 2)
            edges = larger_edges(edges, count[EDGES] + 1)
            points = larger_points(points, count[POINTS] + max(num_cubes, 1 + arity))
            if 2 * (count[ITEMS] - first_item[cell]) >= len(slots.item):
                slots = rehashed(slots, items.state, first_item[cell], count[ITEMS], cell)
            found = by_reference(items), by_reference(edges)
            cube = by_reference(points), by_reference(slots), by_reference(scratch)
            work = by_reference(_Work(*found, *cube, first_item))
            if count[POINTS] == 0:
                _open(task, work, cell)
            is_done = _explore(task, work, cell)
        first_item[cell + 1] = count[ITEMS]
        for item in range(first_item[cell], first_item[cell + 1]):
            items.ranked[item] = item
        sort_descending(items.ranked, items.score, first_item[cell], first_item[cell + 1])

    first = first_item[num_cells - 1]
    edges = larger_edges(edges, count[EDGES] + count[ITEMS] - first)
    _finish(task, first, by_reference(items), by_reference(edges), by_reference(scratch))
    items.state[count[ITEMS] - 1] = 0  # The goal's, which nothing comes before or after.
    states = items.state[: count[ITEMS] if settings.keep_states else 0].copy()
    return forest_of(items, edges, count[ITEMS], count[EDGES], states, count[QUERIES])


@compiled
def forest_of(items, edges, num_items, num_edges, states, num_queries):
    """The forest of the first items and edges, the goal the last item; `states` are kept as they are."""
    return Forest(
        items.cell[:num_items].copy(),
        items.score[:num_items].copy(),
        items.best_edge[:num_items].copy(),
        edges.head[:num_edges].copy(),
        edges.rule[:num_edges].copy(),
        edges.log_prob[:num_edges].copy(),
        edges.weight[:num_edges].copy(),
        edges.tails[:num_edges].copy(),
        states,
        num_queries,
    )


# ---- A cell: Chiang (2007), section 5.3 -----------------------------------------------------------


@borrowing
def _open(task, work, cell):
    """Begin a cell with the best point of each of its cubes."""
    chart, points, count = task.chart, work.points, work.scratch.counter
    for cube in range(chart.cube_start[cell], chart.cube_start[cell + 1]):
        write_first(points, count[POINTS], cube)
        _propose(task, work, cell)


@borrowing
def _explore(task, work, cell):
    """Pop points of a cell until the beam is used up or no point is left; False if an array is too short."""
    points, count = work.points, work.scratch.counter
    limit = most_pops(task, task.settings.beam, cell, count[LONGEST])
    while count[WAITING] > 0 and (limit == 0 or count[POPS] < limit):
        if not _has_room(work, cell):
            return False
        point, key = points.waiting[0], points.key[0]
        pop(points, count)
        count[POPS] += 1
        num_tails = locate(task, work, point, work.scratch.members)
        _add_edge(task, work, cell, point, key, num_tails)
        _push_neighbours(task, work, cell, point, num_tails)
    return True


@borrowing
def most_pops(task, beam, cell, longest):
    """The pops the cell may make with a beam, 0 for no limit."""
    widen = task.settings.widen
    if beam == 0 or widen <= 0:
        return beam
    length = min(task.chart.end[cell] - task.chart.begin[cell], longest)
    return max(1, int(min(float(beam) * length / widen, _MOST_POPS)))


@borrowing
def _has_room(work, cell):
    """Whether an item of the cell, the goal, an edge, and all the neighbours of a point can be added."""
    count = work.scratch.counter
    return (
        count[ITEMS] + 2 <= len(work.items.score)
        and count[EDGES] + 1 <= len(work.edges.head)
        and count[POINTS] + 1 + len(work.scratch.members) <= len(work.points.cube)
        and 2 * (count[ITEMS] - work.first_item[cell]) < len(work.slots.item)
    )


@borrowing
def _add_edge(task, work, cell, point, key, num_tails):
    """Make a point an edge of the item with its state, which may be new; `scratch.members` are its tails."""
    items, slots = work.items, work.slots
    state, count = work.scratch.states, work.scratch.counter
    copy_states(work.points.state, point, state)
    slot = slot_of(slots, items.state, state, cell)
    if slots.cell[slot] != cell:
        item = count[ITEMS]
        count[ITEMS] += 1
        slots.item[slot], slots.cell[slot] = item, cell
        items.cell[item], items.score[item] = cell, -np.inf
        keep_states(items.state, item, state)
    write_edge(task, work, count, work.scratch.members, slots.item[slot], point, key, num_tails)


@borrowing
def write_edge(task, work, count, members, item, point, key, num_tails):
    """Add the edge that a point makes to an item; `members` are its tails, `key` the score with them."""
    rules, items, edges, points = task.rules, work.items, work.edges, work.points
    edge = count[EDGES]
    count[EDGES] += 1
    group = task.chart.group[points.cube[point]]
    edges.head[edge], edges.rule[edge] = item, group
    if group >= 0:
        edges.rule[edge] = rules.rule[rules.start[group] + points.place[point, 0]]
    edges.weight[edge] = points.weight[point]
    for model in range(len(task.lms)):
        edges.log_prob[edge, model] = points.log_prob[point, model]
    for k in range(len(members)):
        edges.tails[edge, k] = members[k] if k < num_tails else -1
    if key > items.score[item]:
        items.score[item], items.best_edge[item] = key, edge


@borrowing
def _push_neighbours(task, work, cell, point, num_tails):
    """Put on the heap the points whose one predecessor is this one, with a coordinate raised by one.

    Only coordinates from the one raised last on are raised, so no point is made twice.
    """
    count = work.scratch.counter
    for axis in range(work.points.raised[point], num_tails + 1):
        if write_neighbour(task, work, point, axis, num_tails, count[POINTS]):
            _propose(task, work, cell)


@borrowing
def write_first(points, new, cube):
    """Make point `new` the best of a cube."""
    points.cube[new], points.raised[new] = cube, 0
    for axis in range(points.place.shape[1]):
        points.place[new, axis] = 0


@borrowing
def write_neighbour(task, work, point, axis, num_tails, new):
    """Make point `new` what a point is with one coordinate raised by one; False if it ends there."""
    rules, chart, points, first_item = task.rules, task.chart, work.points, work.first_item
    cube = points.cube[point]
    raised_to = points.place[point, axis] + 1
    if axis == 0:
        group = chart.group[cube]
        extent = rules.start[group + 1] - rules.start[group] if group >= 0 else 1
    else:
        tail = chart.tails[chart.tail_start[cube] + axis - 1]
        extent = first_item[tail + 1] - first_item[tail]
    if raised_to >= extent:
        return False
    points.cube[new], points.raised[new] = cube, axis
    for k in range(num_tails + 1):
        points.place[new, k] = points.place[point, k]
    points.place[new, axis] = raised_to
    return True


@borrowing
def _finish(task, first, items, edges, scratch):
    """Add the goal, with an edge from each item of the last cell, which begins with item `first`."""
    count, state = scratch.counter, scratch.state
    for item in range(first, count[ITEMS]):
        for model in range(len(task.lms)):
            copy_state(items.state, item, model, state)
            count[QUERIES] += 1
            edges.log_prob[count[EDGES] + item - first, model] = finish_sentence(task.lms[model], state)
    add_goal(items, edges, count, first, task.settings.lm_weights)


@borrowing
def add_goal(items, edges, count, first, lm_weights):
    """Add the goal, with an edge from each item from `first` on; their `log_prob` stands there already."""
    goal = count[ITEMS]
    items.cell[goal], items.score[goal], items.best_edge[goal] = items.cell[goal - 1], -np.inf, -1
    for item in range(first, goal):
        edge = count[EDGES]
        count[EDGES] += 1
        edges.weight[edge] = 0.0
        for model in range(len(lm_weights)):
            edges.weight[edge] += lm_weights[model] * edges.log_prob[edge, model]
        edges.head[edge], edges.rule[edge] = goal, FINISH
        for k in range(edges.tails.shape[1]):
            edges.tails[edge, k] = item if k == 0 else -1
        if items.score[item] + edges.weight[edge] > items.score[goal]:
            items.score[goal], items.best_edge[goal] = items.score[item] + edges.weight[edge], edge
    count[ITEMS] += 1


# ---- Points ---------------------------------------------------------------------------------------


@borrowing
def _propose(task, work, cell):
    """Score the point that was written last and put it on the heap."""
    rules, settings, items, points = task.rules, task.settings, work.items, work.points
    count, members, state = work.scratch.counter, work.scratch.members, work.scratch.state
    point = count[POINTS]
    count[POINTS] += 1
    num_tails = locate(task, work, point, members)
    group = task.chart.group[points.cube[point]]
    place = np.int64(0)
    if group >= 0:
        place = rules.start[group] + points.place[point, 0]
        weight = rules.score[place]
    elif group == GLUE:
        weight = settings.glue_weight
    elif group == RELABEL:
        weight = settings.mismatch_weight
    else:
        weight = settings.copy_weight[task.chart.begin[cell]] if group == COPY else 0.0
    # The first model stands apart: with one model, a loop would cost the search 6 % of its time.
    log_prob = _compose(task, work, task.lm, 0, cell, group, place)
    points.log_prob[point, 0] = log_prob
    weight += settings.lm_weights[0] * log_prob
    keep_state(points.state, point, 0, state)
    for model in range(1, len(task.lms)):
        log_prob = _compose(task, work, by_reference(task.lms[model]), model, cell, group, place)
        points.log_prob[point, model] = log_prob
        weight += settings.lm_weights[model] * log_prob
        keep_state(points.state, point, model, state)
    key = weight
    for k in range(num_tails):
        key += items.score[members[k]]
    points.weight[point] = weight
    push(points, count, key, point)


@borrowing
def locate(task, work, point, members):
    """The number of tails of a point; `members` become its items."""
    chart, points = task.chart, work.points
    cube = points.cube[point]
    first_tail = chart.tail_start[cube]
    num_tails = chart.tail_start[cube + 1] - first_tail
    for k in range(num_tails):
        first = work.first_item[chart.tails[first_tail + k]]
        members[k] = work.items.ranked[first + points.place[point, 1 + k]]
    return num_tails


@borrowing
def _compose(task, work, lm, model, cell, group, place):
    """Log probability a point adds to that of its items by a model; `scratch.state` becomes its state."""
    rules, states = task.rules, work.items.state
    state, other, members = work.scratch.state, work.scratch.other, work.scratch.members
    count = work.scratch.counter
    if group == START:
        begin_sentence(lm, state)
        copy_state(states, members[0], model, other)
        count[QUERIES] += num_open_words(other)
        return add_state(lm, state, other)
    if group == GLUE:
        copy_state(states, members[0], model, state)
        copy_state(states, members[1], model, other)
        count[QUERIES] += num_open_words(other)
        return add_state(lm, state, other)
    if group in (KEEP, RELABEL):
        copy_state(states, members[0], model, state)
        return 0.0
    if group == COPY:
        begin(lm, state)
        total = 0.0
        at = task.chart.begin[cell]
        for i in range(task.copied_start[at], task.copied_start[at + 1]):
            count[QUERIES] += 1
            total += add_word(lm, state, task.copied[model, i])
        return total
    total = rules.prefix_log_prob[place, model]
    copy_state(rules.prefix_state, place, model, state)
    target = rules.target[model]
    for i in range(rules.target_start[place] + rules.prefix_length[place], rules.target_start[place + 1]):
        symbol = target[i]
        if symbol >= 0:
            count[QUERIES] += 1
            total += add_word(lm, state, symbol)
        else:
            copy_state(states, members[-1 - symbol], model, other)
            count[QUERIES] += num_open_words(other)
            total += add_state(lm, state, other)
    return total
