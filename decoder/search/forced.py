"""Forced decoding: the derivations of a sentence that yield a given translation.

The chart of the source sentence is gone through from small cells to large ones, and each cell's derivations
are told apart by the stretch [begin, end) of the reference they yield, where the search tells them apart by
language-model states. The language models play no part in finding them: all derivations of one translation
have the same log probability, and a word of the reference the same context in each. So an edge is charged for
the words that its own rule puts into the reference, and the last edge for `</s>`.

S grows from the left of source and target alike, so that its items begin with the reference. Nothing is
pruned: all targets of a source side are tried, however badly they are ranked.

The fact a newcomer would get wrong: a rule without words on its target side, or none but nonterminals that
yield nothing, makes items over empty stretches, and those may be anywhere in the reference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.lm.model import LanguageModel, add_word, begin_sentence, finish_sentence
from decoder.search.chart import COPY, GLUE, KEEP, RELABEL, START, Chart
from decoder.search.cube import FINISH, Forest, forest_of
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import by_reference, compiled, kernel

__all__ = ["ForcedForest", "ForcedTask", "TargetSides", "force", "word_log_probs"]


class TargetSides(NamedTuple):
    """The target sides of a grammar, as `Grammar` has them, and the score of each rule.

    scores : float64 (R,), w·f of every rule, without language model
    """

    rule_start: np.ndarray
    rules: np.ndarray
    target_start: np.ndarray
    target: np.ndarray
    scores: np.ndarray


class ForcedTask(NamedTuple):
    """A translation to derive, and what edges are charged.

    reference : int32 (m,), ids of the target vocabulary, or beyond it those of copied words; −1 for words
        that are neither
    log_probs : float64 (m + 1, M), each language model's log probability of each word, and of the end
    copied : int32 (n,), the id each source word has as a target word
    copy_weights : float64 (n,), the score of copying each source word
    lm_weights, glue_weight, mismatch_weight : those of the decoder's own features; the first float64 (M,)
    """

    reference: np.ndarray
    log_probs: np.ndarray
    copied: np.ndarray
    copy_weights: np.ndarray
    lm_weights: np.ndarray
    glue_weight: float
    mismatch_weight: float


class ForcedForest(NamedTuple):
    """A forest whose items are stretches of the reference.

    forest : Forest; if there is a derivation, the last item is the goal
    begin, end : int32 (N,), the stretch of the reference each item yields
    is_complete : whether there is a derivation
    """

    forest: Forest
    begin: np.ndarray
    end: np.ndarray
    is_complete: bool


class _Items(NamedTuple):
    """Items found so far.

    `first[cell, begin]` is the newest item of a cell that begins there, `following` of an item the one before
    it; −1 ends the list.
    """

    cell: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    score: np.ndarray
    best_edge: np.ndarray
    following: np.ndarray
    first: np.ndarray


class _Edges(NamedTuple):
    """Edges found so far; the fields are those of `Forest`."""

    head: np.ndarray
    rule: np.ndarray
    log_prob: np.ndarray
    weight: np.ndarray
    tails: np.ndarray


_ITEMS, _EDGES = 0, 1  # What there is so far.
_FRESH, _TAKEN = -2, -3  # A symbol not yet matched, and a word that is.


@kernel
def word_log_probs(lm: LanguageModel, words: np.ndarray) -> np.ndarray:
    """Log probability of each word of a sentence and of its end, float64 (len(words) + 1,).

    words : int32, ids of the language model
    """
    lm = by_reference(lm)
    state = np.zeros(1 + 4 * (lm.order - 1), np.int32)
    values = np.empty(len(words) + 1)
    begin_sentence(lm, state)
    for t in range(len(words)):
        values[t] = add_word(lm, state, words[t])
    values[len(words)] = finish_sentence(lm, state)
    return values


@kernel
def force(targets: TargetSides, chart: Chart, max_arity: int, task: ForcedTask) -> ForcedForest:
    """All derivations of the reference from the chart of its source.

    Items that no derivation of the whole reference uses are in the forest too; they say how far one gets.
    """
    length, num_cells = len(task.reference), len(chart.begin)
    items, edges = _new_items(num_cells, length), _new_edges(max(2, max_arity), len(task.lm_weights))
    count = np.zeros(2, np.int64)
    own = np.array([-1, -1, -2], np.int32)  # What START spells, and after it what GLUE does.
    fitting = np.empty(256, np.int32)
    num_fitting = 0
    fitting_first = np.full(len(targets.rule_start), -1, np.int64)
    fitting_last = np.zeros(len(targets.rule_start), np.int64)
    for cell in range(num_cells):
        for cube in range(chart.cube_start[cell], chart.cube_start[cell + 1]):
            group = chart.group[cube]
            tails = chart.tails[chart.tail_start[cube] : chart.tail_start[cube + 1]]
            if group == COPY:
                at = chart.begin[cell]
                rows = _matches(task.copied, at, at + 1, task.reference, length, items, tails)
                items, edges = _add(items, edges, count, cell, COPY, task.copy_weights[at], rows, task)
            elif group == START:
                rows = _matches(own, 0, 1, task.reference, 0, items, tails)
                items, edges = _add(items, edges, count, cell, START, 0.0, rows, task)
            elif group in (KEEP, RELABEL):
                weight = task.mismatch_weight if group == RELABEL else 0.0
                rows = _matches(own, 0, 1, task.reference, length, items, tails)
                items, edges = _add(items, edges, count, cell, group, weight, rows, task)
            elif group == GLUE:
                rows = _matches(own, 1, 3, task.reference, 0, items, tails)
                items, edges = _add(items, edges, count, cell, GLUE, task.glue_weight, rows, task)
            else:
                if fitting_first[group] < 0:
                    fitting_first[group] = num_fitting
                    for i in range(targets.rule_start[group], targets.rule_start[group + 1]):
                        if _fits(targets, targets.rules[i], task.reference):
                            fitting = grown(fitting, num_fitting + 1)
                            fitting[num_fitting] = targets.rules[i]
                            num_fitting += 1
                    fitting_last[group] = num_fitting
                for i in range(fitting_first[group], fitting_last[group]):
                    rule = fitting[i]
                    first, last = targets.target_start[rule], targets.target_start[rule + 1]
                    rows = _matches(targets.target, first, last, task.reference, length, items, tails)
                    items, edges = _add(items, edges, count, cell, rule, targets.scores[rule], rows, task)
    return _finished(items, edges, count, num_cells - 1, task)


@compiled
def _new_items(num_cells, length):
    ints = np.empty(256, np.int32)
    first = np.full((num_cells, length + 1), -1, np.int32)
    return _Items(
        ints, np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256), ints.copy(), ints.copy(), first
    )


@compiled
def _new_edges(arity, num_models):
    heads, rules, log_probs = np.empty(256, np.int32), np.empty(256, np.int32), np.empty((256, num_models))
    return _Edges(heads, rules, log_probs, np.empty(256), np.empty((256, arity), np.int32))


@compiled
def _fits(targets, rule, reference):
    """Whether the words of a rule's target side are in the reference, in order, neighbours together."""
    at, last = targets.target_start[rule], targets.target_start[rule + 1]
    position = 0
    while at < last:
        if targets.target[at] < 0:
            at += 1
            continue
        size = 0
        while at + size < last and targets.target[at + size] >= 0:
            size += 1
        # The earliest place leaves the most room for the words to come.
        while True:
            if position + size > len(reference):
                return False
            same = 0
            while same < size and reference[position + same] == targets.target[at + same]:
                same += 1
            if same == size:
                break
            position += 1
        position += size
        at += size
    return True


@compiled
def _matches(symbols, first, last, reference, last_begin, items, tails):
    """The ways to read symbols[first:last] in the reference, from any place up to `last_begin`.

    A row each, int32 (K, 2 + A): the stretch of the reference, and the item of each tail.
    """
    size, arity = last - first, len(tails)
    place, chosen = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
    members = np.empty(arity, np.int32)
    rows = np.empty((4, 2 + arity), np.int32)
    num_rows = 0
    for begin in range(last_begin + 1):
        depth = 0
        place[0], chosen[0] = begin, _FRESH
        while depth >= 0:
            if depth == size:
                rows = grown(rows, num_rows + 1)
                rows[num_rows, 0], rows[num_rows, 1] = begin, place[size]
                for k in range(arity):
                    rows[num_rows, 2 + k] = members[k]
                num_rows += 1
                depth -= 1
                continue
            symbol, at = symbols[first + depth], place[depth]
            if symbol >= 0:
                if chosen[depth] != _FRESH or at == len(reference) or reference[at] != symbol:
                    depth -= 1
                    continue
                chosen[depth], place[depth + 1] = _TAKEN, at + 1
            else:
                tail = -1 - symbol
                fresh = chosen[depth] == _FRESH
                item = items.first[tails[tail], at] if fresh else items.following[chosen[depth]]
                if item < 0:
                    depth -= 1
                    continue
                chosen[depth], members[tail], place[depth + 1] = item, item, items.end[item]
            depth += 1
            chosen[depth] = _FRESH
    return rows[:num_rows]


@compiled
def _add(items, edges, count, cell, rule, score, rows, task):
    """Add an edge for each row of `_matches`, and the items they need."""
    for row in range(len(rows)):
        begin, end = rows[row, 0], rows[row, 1]
        item = items.first[cell, begin]
        while item >= 0 and items.end[item] != end:
            item = items.following[item]
        if item < 0:
            items = _larger_items(items, count[_ITEMS] + 2)
            item = count[_ITEMS]
            count[_ITEMS] += 1
            items.cell[item], items.begin[item], items.end[item] = cell, begin, end
            items.score[item] = -np.inf
            items.following[item] = items.first[cell, begin]
            items.first[cell, begin] = item
        edges = _larger_edges(edges, count[_EDGES] + 2)
        edge = count[_EDGES]
        count[_EDGES] += 1
        total = score
        for k in range(edges.tails.shape[1]):
            edges.tails[edge, k] = rows[row, 2 + k] if k < rows.shape[1] - 2 else -1
            total += items.score[edges.tails[edge, k]] if edges.tails[edge, k] >= 0 else 0.0
        edges.log_prob[edge] = 0.0
        for t in range(begin, end):
            # Its own words are those of the stretch that none of its tails yields.
            is_own = True
            for k in range(rows.shape[1] - 2):
                is_own &= t < items.begin[rows[row, 2 + k]] or t >= items.end[rows[row, 2 + k]]
            if is_own:
                edges.log_prob[edge] += task.log_probs[t]
        weight = score
        for model in range(len(task.lm_weights)):
            weight += task.lm_weights[model] * edges.log_prob[edge, model]
            total += task.lm_weights[model] * edges.log_prob[edge, model]
        edges.head[edge], edges.rule[edge], edges.weight[edge] = item, rule, weight
        if total > items.score[item]:
            items.score[item], items.best_edge[item] = total, edge
    return items, edges


@compiled
def _finished(items, edges, count, last_cell, task):
    """The forest, with the goal if S over the whole sentence yields the whole reference."""
    length = len(task.reference)
    whole = items.first[last_cell, 0]
    while whole >= 0 and items.end[whole] != length:
        whole = items.following[whole]
    if whole >= 0:
        items, edges = _larger_items(items, count[_ITEMS] + 1), _larger_edges(edges, count[_EDGES] + 1)
        goal, edge = count[_ITEMS], count[_EDGES]
        count[_ITEMS] += 1
        count[_EDGES] += 1
        edges.head[edge], edges.rule[edge], edges.weight[edge] = goal, FINISH, 0.0
        for model in range(len(task.lm_weights)):
            edges.log_prob[edge, model] = task.log_probs[length, model]
            edges.weight[edge] += task.lm_weights[model] * task.log_probs[length, model]
        for k in range(edges.tails.shape[1]):
            edges.tails[edge, k] = whole if k == 0 else -1
        items.cell[goal], items.begin[goal], items.end[goal] = last_cell, 0, length
        items.score[goal] = items.score[whole] + edges.weight[edge]
        items.best_edge[goal] = edge
    num_items, num_edges = count[_ITEMS], count[_EDGES]
    no_states = np.empty((0, len(task.lm_weights), 1), np.int32)
    forest = forest_of(items, edges, num_items, num_edges, no_states, 0)
    return ForcedForest(forest, items.begin[:num_items].copy(), items.end[:num_items].copy(), whole >= 0)


@compiled
def _larger_items(items, size):
    return _Items(
        grown(items.cell, size),
        grown(items.begin, size),
        grown(items.end, size),
        grown(items.score, size),
        grown(items.best_edge, size),
        grown(items.following, size),
        items.first,
    )


@compiled
def _larger_edges(edges, size):
    return _Edges(
        grown(edges.head, size),
        grown(edges.rule, size),
        grown(edges.log_prob, size),
        grown(edges.weight, size),
        grown(edges.tails, size),
    )
