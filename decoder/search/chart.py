"""Which rules apply where: the forest of a sentence before the language model is asked.

The cells of the chart are X over [i, j) and S over [0, j); where nonterminals have other labels, there are
cells of each (`decoder.search.labelled`). A *cube* of a cell is a group of rules with one
source side, together with the cells of its nonterminals: all the derivations that the rules of the group make
of the derivations of those cells. Cells and cubes form a hypergraph, and cells are numbered so that tails are
smaller than heads; the last cell is S over the whole sentence.

Source sides are matched as in Chappelier and Rajman's CYK+ (1998), from the trie, for any number of
nonterminals in any place. For the starts i from right to left and the ends j from left to right, partial
matches ("dotted rules") that begin at i are extended by the word before j or by a cell X over [k, j); those
whose source side is complete make the cell X over [i, j).

    S → X        over [0, j)
    S → S X      the feature Glue counts these
    X → w / w    for a word w that is no source side by itself, or for any; PassThrough counts these

S has no span limit, so every sentence has a derivation, and the number of cells is linear in its length.
The fact a newcomer would get wrong: span limits are those of the rules. The cells of nonterminals inside a
rule are limited only because they lie inside its span.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.grammar.trie import NONTERMINAL, Trie, child
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import borrowing, by_reference, compiled, kernel

__all__ = ["COPY", "GLUE", "KEEP", "RELABEL", "START", "Chart", "Cubes", "add_cube", "larger_cubes", "parse"]

START, GLUE, COPY = -1, -2, -3  # Cubes of the decoder's own rules: S → X, S → S X, X → w / w.
KEEP, RELABEL = -4, -5  # What fills a gap of a label has this label, or another.


class Chart(NamedTuple):
    """C cells and Q cubes.

    begin, end : int32 (C,), the span of each cell
    num_x_cells : int, the cells of X and of other labels; those of S come after them
    cube_start : int32 (C + 1,), the cubes of cell c are cube_start[c] … cube_start[c + 1] − 1
    group : int32 (Q,), a group of the grammar, or START, GLUE, COPY, KEEP, RELABEL
    tail_start : int32 (Q + 1,)
    tails : int32, the cells of a cube's nonterminals, in source order
    label : int32 (C,), the label of each cell; 0 is X, −1 is S
    """

    begin: np.ndarray
    end: np.ndarray
    num_x_cells: int
    cube_start: np.ndarray
    group: np.ndarray
    tail_start: np.ndarray
    tails: np.ndarray
    label: np.ndarray


class _Cells(NamedTuple):
    """Cells, the first of which are set.

    begin, end : int32, the span of each cell
    cube_start : int32, cubes cube_start[c] … cube_start[c + 1] − 1 are those of cell c
    at : int32 (n, max_span + 1), the cell of X by start and length of its span, −1 where nothing matches
    """

    begin: np.ndarray
    end: np.ndarray
    cube_start: np.ndarray
    at: np.ndarray


class Cubes(NamedTuple):
    """Cubes, the first of which are set; the fields are those of `Chart`."""

    group: np.ndarray
    tail_start: np.ndarray
    tails: np.ndarray


class _Dots(NamedTuple):
    """Dotted rules of one start i: source sides matched from there up to a dot. Number 0 has matched nothing.

    node : int32, the node of the trie reached
    by_x : int32, the node a nonterminal would lead to, or −1
    before : int32, the dotted rule with the dot one symbol before
    cell : int32, the cell of that symbol, −1 for a word
    start : int64 (max_span + 2,), the dotted rules that end at i + s are start[s] … start[s + 1] − 1
    """

    node: np.ndarray
    by_x: np.ndarray
    before: np.ndarray
    cell: np.ndarray
    start: np.ndarray


_CELLS, _CUBES = 0, 1  # What a chart holds so far.


@kernel
def parse(trie: Trie, words: np.ndarray, max_arity: int, max_span: int, copy_any: bool) -> Chart:
    """The chart of a sentence of at least one word.

    Parameters
    ----------
    trie : Trie
    words : int32 (n,), source word ids; −1 for a word the grammar does not know
    max_arity : the most nonterminals a rule has
    max_span : the longest span of any rule, at least 1
    copy_any : whether a word may be copied although rules have it as their source side
    """
    length = len(words)
    max_span = min(max_span, length)
    most_cells = length * (max_span + 1)  # X over spans up to the limit, S over the beginnings.
    begin, end = np.empty(most_cells, np.int32), np.empty(most_cells, np.int32)
    at = np.full((length, max_span + 1), -1, np.int32)
    cells = _Cells(begin, end, np.zeros(most_cells + 1, np.int32), at)
    cubes = Cubes(np.empty(256, np.int32), np.zeros(256, np.int32), np.empty(256, np.int32))
    node, by_x = np.empty(256, np.int32), np.empty(256, np.int32)
    before, cell = np.empty(256, np.int32), np.empty(256, np.int32)
    dots = _Dots(node, by_x, before, cell, np.zeros(max_span + 2, np.int64))
    count = np.zeros(2, np.int64)

    trie, cells_at = by_reference(trie), by_reference(cells)
    for i in range(length - 1, -1, -1):
        dots.start[0], dots.start[1] = 0, 1
        _set_dot(trie, by_reference(dots), 0, 0, -1, -1)
        for span in range(1, min(max_span, length - i) + 1):
            # A dotted rule gets at most one successor by a word, one by a cell; and X itself comes last.
            dots = _larger_dots(dots, 3 * dots.start[span] + 1)
            dots_at = by_reference(dots)
            last = _extend_by_word(trie, words, dots_at, i, span)
            last = _extend_by_cells(trie, cells_at, dots_at, i, span, last)
            cubes = larger_cubes(cubes, count[_CUBES], _num_matches(trie, dots_at, span, last), max_arity)
            _add_matches(trie, dots_at, by_reference(cubes), count, span, last)
            if span == 1 and copy_any:
                add_cube(by_reference(cubes), count, COPY, 0)
            last = _add_x_cell(trie, cells_at, dots_at, by_reference(cubes), count, i, span, last)
            dots.start[span + 1] = last

    num_x_cells = count[_CELLS]
    s_cell = np.full(length + 1, -1, np.int32)
    for j in range(1, length + 1):
        cubes = larger_cubes(cubes, count[_CUBES], max_span, 2)
        s_cell[j] = count[_CELLS]
        _add_s_cell(cells_at, by_reference(cubes), count, s_cell, j)
    num_cells, num_cubes = count[_CELLS], count[_CUBES]
    label = np.zeros(num_cells, np.int32)
    for s in range(num_x_cells, num_cells):
        label[s] = -1
    return Chart(
        cells.begin[:num_cells].copy(),
        cells.end[:num_cells].copy(),
        num_x_cells,
        cells.cube_start[: num_cells + 1].copy(),
        cubes.group[:num_cubes].copy(),
        cubes.tail_start[: num_cubes + 1].copy(),
        cubes.tails[: cubes.tail_start[num_cubes]].copy(),
        label,
    )


# ---- Dotted rules ---------------------------------------------------------------------------------


@borrowing
def _set_dot(trie, dots, dot, node, before, cell):
    dots.node[dot], dots.by_x[dot] = node, child(trie, node, NONTERMINAL)
    dots.before[dot], dots.cell[dot] = before, cell


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
            _set_dot(trie, dots, last, node, dot, -1)
            last += 1
    return last


@borrowing
def _extend_by_cells(trie, cells, dots, i, span, last):
    """Move dots over the cells of X that end at i + span; returns the new number of dotted rules."""
    for inner in range(1, span):
        cell = cells.at[i + inner, span - inner]
        if cell < 0:
            continue
        for dot in range(dots.start[inner], dots.start[inner + 1]):
            if dots.by_x[dot] >= 0:
                _set_dot(trie, dots, last, dots.by_x[dot], dot, cell)
                last += 1
    return last


@compiled
def _larger_dots(dots, size):
    return _Dots(
        grown(dots.node, size),
        grown(dots.by_x, size),
        grown(dots.before, size),
        grown(dots.cell, size),
        dots.start,
    )


# ---- Cubes and cells ------------------------------------------------------------------------------


@borrowing
def _num_matches(trie, dots, span, last):
    """How many groups the dotted rules from `start[span]` to `last` have matched as a whole."""
    number = 0
    for dot in range(dots.start[span], last):
        group = trie.first_group[dots.node[dot]]
        while group >= 0:
            number += span <= trie.group_span[group]
            group = trie.next_group[group]
    return number


@borrowing
def _add_matches(trie, dots, cubes, count, span, last):
    """Add a cube for each of these groups, its tails in source order."""
    for dot in range(dots.start[span], last):
        group = trie.first_group[dots.node[dot]]
        while group >= 0:
            arity = 0
            at = dot
            while at > 0:
                arity += dots.cell[at] >= 0
                at = dots.before[at]
            # Arities differ where a file says so that was not written by this program.
            if span <= trie.group_span[group] and arity == trie.group_arity[group]:
                first_tail = cubes.tail_start[count[_CUBES]]
                add_cube(cubes, count, group, arity)
                at = dot
                while at > 0:
                    if dots.cell[at] >= 0:
                        arity -= 1
                        cubes.tails[first_tail + arity] = dots.cell[at]
                    at = dots.before[at]
            group = trie.next_group[group]


@borrowing
def _add_x_cell(trie, cells, dots, cubes, count, i, span, last):
    """Make the cubes added last a cell of X, if there are any; returns the new number of dotted rules."""
    if span == 1 and count[_CUBES] == cells.cube_start[count[_CELLS]]:
        add_cube(cubes, count, COPY, 0)
    if count[_CUBES] == cells.cube_start[count[_CELLS]]:
        return last
    cell = count[_CELLS]
    cells.at[i, span] = cell
    _add_cell(cells, count, i, i + span)
    if dots.by_x[0] < 0:
        return last
    # Only now, so that no rule consists of this cell alone.
    _set_dot(trie, dots, last, dots.by_x[0], 0, cell)
    return last + 1


@borrowing
def _add_s_cell(cells, cubes, count, s_cell, j):
    """Add the cell of S over [0, j) with its cubes, START from X and GLUE from a shorter S and X."""
    max_span = cells.at.shape[1] - 1
    for k in range(max(0, j - max_span), j):
        x_cell = cells.at[k, j - k]
        if x_cell < 0 or (k > 0 and s_cell[k] < 0):
            continue
        first_tail = cubes.tail_start[count[_CUBES]]
        if k == 0:
            add_cube(cubes, count, START, 1)
            cubes.tails[first_tail] = x_cell
        else:
            add_cube(cubes, count, GLUE, 2)
            cubes.tails[first_tail], cubes.tails[first_tail + 1] = s_cell[k], x_cell
    _add_cell(cells, count, 0, j)


@borrowing
def _add_cell(cells, count, begin, end):
    """Make the cubes that no cell has yet a cell over [begin, end)."""
    cell = count[_CELLS]
    count[_CELLS] += 1
    cells.begin[cell], cells.end[cell] = begin, end
    cells.cube_start[cell + 1] = count[_CUBES]


@borrowing
def add_cube(cubes, count, group, arity):
    """Add a cube, whose tails are yet to be written."""
    cube = count[_CUBES]
    count[_CUBES] += 1
    cubes.group[cube] = group
    cubes.tail_start[cube + 1] = cubes.tail_start[cube] + arity


@compiled
def larger_cubes(cubes, num_cubes, more, arity):
    """With room for so many more cubes of at most that arity, and one of `COPY`."""
    return Cubes(
        grown(cubes.group, num_cubes + more + 1),
        grown(cubes.tail_start, num_cubes + more + 2),
        grown(cubes.tails, cubes.tail_start[num_cubes] + more * arity),
    )
