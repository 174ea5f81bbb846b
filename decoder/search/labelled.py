"""The chart of a grammar whose nonterminals have labels: a cell for every label over every span.

As `decoder.search.chart`, with these differences. A dotted rule is extended by the cells of those labels that
its gap may have. What is matched over a span is sorted by the labels it makes; cells of one span are made one
label after the other, in an order in which rules of a single gap, which make one label of another over the
same words, find the cell of their gap made already.

    S → L        over [0, j), for every label L
    S → S L      the feature Glue counts these
    L → w / w    for every label L that is one of a gap, and for X

Where labels are soft, a gap may be filled by any label over its span: there is a second cell for each label
that some gap has, whose cubes take what is to fill it from the cells of that label, and of the others.

    L' → L
    L' → K       for every other label K; the feature LabelMismatch counts these (Chiang 2010, section 3)

Dotted rules are then extended by cells L' alone. Rules of a single gap, and S, still take the cells of their
own labels.

A word that is copied may be of any label, for nobody knows what it is. The fact a newcomer would get wrong:
S takes a cell in which there is nothing but a copied word only if it is of X, and a gap only if it is of the
gap's label, else one translation would have as many derivations as there are labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.grammar.labels import TrieLabels
from decoder.grammar.trie import Grammar, Trie, child
from decoder.search.chart import COPY, GLUE, KEEP, RELABEL, START, Chart, Cubes, add_cube, larger_cubes, parse
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import borrowing, by_reference, compiled, kernel

__all__ = ["chart_of", "parse_labelled"]


def chart_of(grammar: Grammar, words: np.ndarray, max_span: int, copy_any: bool) -> Chart:
    """The chart of a sentence, with labels if the grammar has any; parameters as for `chart.parse`."""
    if grammar.labels is None:
        return parse(grammar.trie, words, grammar.max_arity, max_span, copy_any)
    labels = grammar.labels.trie
    return parse_labelled(
        grammar.trie, labels, words, grammar.max_arity, max_span, copy_any, grammar.soft_labels
    )


class _Cells(NamedTuple):
    """Cells, the first of which are set; begin, end, label and cube_start as in `Chart`.

    first, last : int32 (n, max_span + 1); the cells over the span that begins at i and has s words are those
        from first[i, s] to last[i, s] − 1
    gap_first, gap_last : likewise those that gaps take
    here : int32 (L,), the cell of each label over the present span, or −1
    is_asked : bool (L,), the labels that gaps have
    """

    begin: np.ndarray
    end: np.ndarray
    label: np.ndarray
    cube_start: np.ndarray
    first: np.ndarray
    last: np.ndarray
    gap_first: np.ndarray
    gap_last: np.ndarray
    here: np.ndarray
    is_asked: np.ndarray


class _Dots(NamedTuple):
    """Dotted rules of one start; the fields are those of `chart._Dots`."""

    node: np.ndarray
    before: np.ndarray
    cell: np.ndarray
    start: np.ndarray


class _Matches(NamedTuple):
    """Groups matched over the present span, in a list for each label that they make.

    dot, group, following : int32; −1 ends a list
    head, tail : int32 (L,), the first and the last of each label; the first is −1 if there is none
    """

    dot: np.ndarray
    group: np.ndarray
    following: np.ndarray
    head: np.ndarray
    tail: np.ndarray


_CELLS, _CUBES = 0, 1  # What a chart holds so far.


@kernel
def parse_labelled(
    trie: Trie,
    labels: TrieLabels,
    words: np.ndarray,
    max_arity: int,
    max_span: int,
    copy_any: bool,
    soft: bool,
) -> Chart:
    """The chart of a sentence of at least one word; the other parameters are those of `chart.parse`.

    soft : whether a gap may be filled by any label
    """
    length, num_labels = len(words), len(labels.order)
    max_span = min(max_span, length)
    cells, cubes = _new_cells(labels, length, max_span), _new_cubes()
    dots = _Dots(
        np.empty(256, np.int32),
        np.empty(256, np.int32),
        np.empty(256, np.int32),
        np.zeros(max_span + 2, np.int64),
    )
    ints, lists = np.empty(256, np.int32), np.full(num_labels, -1, np.int32)
    matches = _Matches(ints, ints.copy(), ints.copy(), lists, lists.copy())
    count = np.zeros(2, np.int64)
    trie, labels = by_reference(trie), by_reference(labels)
    for i in range(length - 1, -1, -1):
        dots.start[0], dots.start[1] = 0, 1
        _set_dot(by_reference(dots), 0, 0, -1, -1)
        for span in range(1, min(max_span, length - i) + 1):
            more = _most_dots(labels, by_reference(cells), by_reference(dots), i, span)
            dots = _larger_dots(dots, dots.start[span] + more + num_labels)
            dots_at = by_reference(dots)
            last = _extend_by_word(trie, words, dots_at, i, span)
            last = _extend_by_cells(labels, by_reference(cells), dots_at, i, span, last)
            number = _num_matches(trie, dots_at, span, last)
            matches = _larger_matches(matches, number)
            _sort_matches(trie, labels, dots_at, by_reference(matches), span, last)
            more = number + len(labels.unary_group) + num_labels
            cubes = larger_cubes(cubes, count[_CUBES], more, max(1, max_arity))
            cells = _larger_cells(cells, count[_CELLS] + 2 * num_labels + 1)
            cells_at = by_reference(cells)
            copies = span == 1 and (copy_any or number == 0)
            work = trie, labels, dots_at, by_reference(matches)
            _add_cells(work, cells_at, by_reference(cubes), count, i, span, copies)
            if soft:
                more = num_labels * (cells.last[i, span] - cells.first[i, span])
                cubes = larger_cubes(cubes, count[_CUBES], more, max(1, max_arity))
                _add_gap_cells(labels, cells_at, by_reference(cubes), count, i, span)
            dots.start[span + 1] = _begin_dots(labels, cells_at, dots_at, i, span, last)
    return _with_sentences(cells, cubes, count, length)


@compiled
def _with_sentences(cells, cubes, count, length):
    """The chart, with the cells of S."""
    num_x_cells = count[_CELLS]
    s_cell = np.full(length + 1, -1, np.int32)
    for j in range(1, length + 1):
        cubes = larger_cubes(cubes, count[_CUBES], num_x_cells, 2)
        cells = _larger_cells(cells, count[_CELLS] + 2)
        s_cell[j] = count[_CELLS]
        _add_s_cell(by_reference(cells), by_reference(cubes), count, s_cell, j)
    num_cells, num_cubes = count[_CELLS], count[_CUBES]
    return Chart(
        cells.begin[:num_cells].copy(),
        cells.end[:num_cells].copy(),
        num_x_cells,
        cells.cube_start[: num_cells + 1].copy(),
        cubes.group[:num_cubes].copy(),
        cubes.tail_start[: num_cubes + 1].copy(),
        cubes.tails[: cubes.tail_start[num_cubes]].copy(),
        cells.label[:num_cells].copy(),
    )


# ---- Dotted rules ---------------------------------------------------------------------------------


@borrowing
def _set_dot(dots, dot, node, before, cell):
    dots.node[dot], dots.before[dot], dots.cell[dot] = node, before, cell


@borrowing
def _most_dots(labels, cells, dots, i, span):
    """No fewer than the dotted rules that words and cells make of those there are."""
    most = dots.start[span] - dots.start[span - 1]
    for inner in range(1, span):
        num_cells = cells.gap_last[i + inner, span - inner] - cells.gap_first[i + inner, span - inner]
        if num_cells == 0:
            continue
        for dot in range(dots.start[inner], dots.start[inner + 1]):
            node = dots.node[dot]
            most += min(num_cells, labels.gap_start[node + 1] - labels.gap_start[node])
    return most


@borrowing
def _extend_by_word(trie, words, dots, i, span):
    """Move dots over the word before i + span; returns the new number of dotted rules."""
    last = dots.start[span]
    word = words[i + span - 1]
    if word < 0:
        return last
    for dot in range(dots.start[span - 1], dots.start[span]):
        node = child(trie, dots.node[dot], word)
        if node >= 0:
            _set_dot(dots, last, node, dot, -1)
            last += 1
    return last


@borrowing
def _extend_by_cells(labels, cells, dots, i, span, last):
    """Move dots over the cells that end at i + span; returns the new number of dotted rules."""
    for inner in range(1, span):
        first_cell = cells.gap_first[i + inner, span - inner]
        last_cell = cells.gap_last[i + inner, span - inner]
        if first_cell == last_cell:
            continue
        for dot in range(dots.start[inner], dots.start[inner + 1]):
            node = dots.node[dot]
            # The cells of a span have few labels, and gaps have few, in the same order.
            cell = first_cell
            for gap in range(labels.gap_start[node], labels.gap_start[node + 1]):
                label = labels.gap_label[gap]
                at = cell
                while at < last_cell and cells.label[at] != label:
                    at += 1
                if at < last_cell:
                    _set_dot(dots, last, labels.gap_child[gap], dot, at)
                    last += 1
                    cell = at + 1
    return last


@borrowing
def _begin_dots(labels, cells, dots, i, span, last):
    """Begin source sides with the cells of a span; only now, so that no rule consists of one alone."""
    for gap in range(labels.gap_start[0], labels.gap_start[1]):
        cell = cells.here[labels.gap_label[gap]]
        if cell >= 0:
            _set_dot(dots, last, labels.gap_child[gap], 0, cell)
            last += 1
    for cell in range(cells.gap_first[i, span], cells.gap_last[i, span]):
        cells.here[cells.label[cell]] = -1
    return last


@compiled
def _larger_dots(dots, size):
    return _Dots(grown(dots.node, size), grown(dots.before, size), grown(dots.cell, size), dots.start)


# ---- Matches, by the labels they make -------------------------------------------------------------


@borrowing
def _is_match(trie, dots, span, dot, group):
    """Whether a group may cover a span of so many words."""
    if span > trie.group_span[group]:
        return False
    arity = 0  # Not the group's where a file says so that was not written by this program.
    at = dot
    while at > 0:
        arity += dots.cell[at] >= 0
        at = dots.before[at]
    return arity == trie.group_arity[group]


@borrowing
def _num_matches(trie, dots, span, last):
    """How many groups the dotted rules from `start[span]` to `last` have matched as a whole, if not more."""
    number = 0
    for dot in range(dots.start[span], last):
        group = trie.first_group[dots.node[dot]]
        while group >= 0:
            number += _is_match(trie, dots, span, dot, group)
            group = trie.next_group[group]
    return number


@borrowing
def _sort_matches(trie, labels, dots, matches, span, last):
    """Append each of these groups to the list of the label it makes."""
    number = 0
    for dot in range(dots.start[span], last):
        group = trie.first_group[dots.node[dot]]
        while group >= 0:
            if _is_match(trie, dots, span, dot, group):
                label = labels.lhs[group]
                matches.dot[number], matches.group[number], matches.following[number] = dot, group, -1
                if matches.head[label] < 0:
                    matches.head[label] = number
                else:
                    matches.following[matches.tail[label]] = number
                matches.tail[label] = number
                number += 1
            group = trie.next_group[group]


@compiled
def _larger_matches(matches, size):
    return _Matches(
        grown(matches.dot, size),
        grown(matches.group, size),
        grown(matches.following, size),
        matches.head,
        matches.tail,
    )


# ---- Cubes and cells ------------------------------------------------------------------------------


@borrowing
def _add_cells(work, cells, cubes, count, i, span, copies):
    """Make the matches over a span cells, label by label, each with what unary rules make of earlier ones."""
    trie, labels, dots, matches = work
    cells.first[i, span] = count[_CELLS]
    for label in labels.order:
        match = matches.head[label]
        matches.head[label] = -1
        while match >= 0:
            _add_match(dots, cubes, count, matches.group[match], matches.dot[match], trie)
            match = matches.following[match]
        for unary in range(labels.unary_start[label], labels.unary_start[label + 1]):
            group, cell = labels.unary_group[unary], cells.here[labels.unary_label[unary]]
            if cell >= 0 and span <= trie.group_span[group]:
                cubes.tails[cubes.tail_start[count[_CUBES]]] = cell
                add_cube(cubes, count, group, 1)
        if copies and labels.copied[label]:
            add_cube(cubes, count, COPY, 0)
        if count[_CUBES] > cells.cube_start[count[_CELLS]]:
            cells.here[label] = count[_CELLS]
            _add_cell(cells, count, i, i + span, label)
    cells.last[i, span] = count[_CELLS]
    cells.gap_first[i, span], cells.gap_last[i, span] = cells.first[i, span], cells.last[i, span]


@borrowing
def _add_gap_cells(labels, cells, cubes, count, i, span):
    """Add for each label that gaps have a cell of what may fill them, and have gaps take these alone."""
    first, last = cells.first[i, span], cells.last[i, span]
    for cell in range(first, last):
        cells.here[cells.label[cell]] = -1
    cells.gap_first[i, span] = count[_CELLS]
    for label in labels.order:
        if not cells.is_asked[label]:
            continue
        for cell in range(first, last):
            is_same = cells.label[cell] == label
            if is_same or not _is_copy(cells, cubes, cell):
                cubes.tails[cubes.tail_start[count[_CUBES]]] = cell
                add_cube(cubes, count, KEEP if is_same else RELABEL, 1)
        if count[_CUBES] > cells.cube_start[count[_CELLS]]:
            cells.here[label] = count[_CELLS]
            _add_cell(cells, count, i, i + span, label)
    cells.gap_last[i, span] = count[_CELLS]


@borrowing
def _is_copy(cells, cubes, cell):
    """Whether there is nothing but a copied word in a cell."""
    cube = cells.cube_start[cell]
    return cells.cube_start[cell + 1] == cube + 1 and cubes.group[cube] == COPY


@borrowing
def _add_match(dots, cubes, count, group, dot, trie):
    """Add the cube of a group that a dotted rule has matched, its tails in source order."""
    arity = trie.group_arity[group]
    first_tail = cubes.tail_start[count[_CUBES]]
    add_cube(cubes, count, group, arity)
    at = dot
    while at > 0:
        if dots.cell[at] >= 0:
            arity -= 1
            cubes.tails[first_tail + arity] = dots.cell[at]
        at = dots.before[at]


@borrowing
def _add_s_cell(cells, cubes, count, s_cell, j):
    """Add the cell of S over [0, j): START from any label, GLUE from a shorter S and any label."""
    max_span = cells.first.shape[1] - 1
    for k in range(max(0, j - max_span), j):
        if k > 0 and s_cell[k] < 0:
            continue
        for cell in range(cells.first[k, j - k], cells.last[k, j - k]):
            if cells.label[cell] > 0 and _is_copy(cells, cubes, cell):
                continue
            first_tail = cubes.tail_start[count[_CUBES]]
            if k == 0:
                add_cube(cubes, count, START, 1)
                cubes.tails[first_tail] = cell
            else:
                add_cube(cubes, count, GLUE, 2)
                cubes.tails[first_tail], cubes.tails[first_tail + 1] = s_cell[k], cell
    _add_cell(cells, count, 0, j, -1)


@borrowing
def _add_cell(cells, count, begin, end, label):
    """Make the cubes that no cell has yet a cell."""
    cell = count[_CELLS]
    count[_CELLS] += 1
    cells.begin[cell], cells.end[cell], cells.label[cell] = begin, end, label
    cells.cube_start[cell + 1] = count[_CUBES]


@compiled
def _new_cells(labels, length, max_span):
    ints, spans = np.empty(256, np.int32), np.zeros((length, max_span + 1), np.int32)
    here, is_asked = np.full(len(labels.order), -1, np.int32), labels.copied.copy()
    is_asked[0] = False  # Words that are copied are of X, whether or not a gap asks for it.
    for label in labels.gap_label:
        if label == 0:
            is_asked[0] = True
            break
    starts = np.zeros(256, np.int32)
    ends = spans.copy(), spans.copy(), spans.copy()
    return _Cells(ints, ints.copy(), ints.copy(), starts, spans, *ends, here, is_asked)


@compiled
def _new_cubes():
    return Cubes(np.empty(256, np.int32), np.zeros(256, np.int32), np.empty(256, np.int32))


@compiled
def _larger_cells(cells, size):
    return _Cells(
        grown(cells.begin, size),
        grown(cells.end, size),
        grown(cells.label, size),
        grown(cells.cube_start, size + 1),
        cells.first,
        cells.last,
        cells.gap_first,
        cells.gap_last,
        cells.here,
        cells.is_asked,
    )
