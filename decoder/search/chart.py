"""Which rules apply where: the forest of a sentence before the language model is asked.

The cells of the chart are X over [i, j) and S over [0, j). A *cube* of a cell is a group of rules with one
source side, together with the cells of its nonterminals: all the derivations that the rules of the group make
of the derivations of those cells. Cells and cubes form a hypergraph, and cells are numbered so that tails are
smaller than heads; the last cell is S over the whole sentence.

Source sides are matched as in Chappelier and Rajman's CYK+ (1998), from the trie, for any number of
nonterminals in any place. For the starts i from right to left and the ends j from left to right, partial
matches ("dotted rules") that begin at i are extended by the word before j or by a cell X over [k, j).

    S → X        over [0, j)
    S → S X      the feature Glue counts these
    X → w / w    for a word w that is no source side by itself; the feature PassThrough counts these

S has no span limit, so every sentence has a derivation, and the number of cells is linear in its length.
The fact a newcomer would get wrong: span limits are those of the rules. The cells of nonterminals inside a
rule are limited only because they lie inside its span.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from decoder.grammar.trie import NONTERMINAL, Trie, child
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import kernel

__all__ = ["COPY", "GLUE", "START", "Chart", "parse"]

START, GLUE, COPY = -1, -2, -3  # Cubes of the decoder's own rules: S → X, S → S X, X → w / w.


class Chart(NamedTuple):
    """C cells and Q cubes.

    begin, end : int32 (C,), the span of each cell
    num_x_cells : int, the cells of X; those of S come after them
    cube_start : int32 (C + 1,), the cubes of cell c are cube_start[c] … cube_start[c + 1] − 1
    group : int32 (Q,), a group of the grammar, or START, GLUE, COPY
    tail_start : int32 (Q + 1,)
    tails : int32, the cells of a cube's nonterminals, in source order
    """

    begin: np.ndarray
    end: np.ndarray
    num_x_cells: int
    cube_start: np.ndarray
    group: np.ndarray
    tail_start: np.ndarray
    tails: np.ndarray


@kernel
def parse(trie: Trie, words: np.ndarray, max_arity: int, max_span: int) -> Chart:
    """The chart of a sentence of at least one word.

    Parameters
    ----------
    trie : Trie
    words : int32 (n,), source word ids; −1 for a word the grammar does not know
    max_arity : the most nonterminals a rule has
    max_span : the longest span of any rule, at least 1
    """
    length = len(words)
    max_span = min(max_span, length)
    cell_at = np.full((length, max_span + 1), -1, np.int32)  # By start and length of the span.
    begin, end = np.empty(64, np.int32), np.empty(64, np.int32)
    cube_start = np.zeros(64, np.int32)
    group_of, tail_start, tails = np.empty(256, np.int32), np.zeros(256, np.int32), np.empty(256, np.int32)
    num_cells, num_cubes, num_tails = 0, 0, 0

    # Dotted rules of one start: the trie node reached, the node a nonterminal would lead to, the dotted
    # rule before it, and the cell added last (−1 if it was a word). Those that end at i + s are
    # dot_start[s] … dot_start[s + 1] − 1.
    node, by_x = np.empty(256, np.int32), np.empty(256, np.int32)
    before, cell = np.empty(256, np.int32), np.empty(256, np.int32)
    dot_start = np.zeros(max_span + 2, np.int64)
    stack = np.empty(max_arity + 1, np.int32)
    for i in range(length - 1, -1, -1):
        node[0], by_x[0], before[0], cell[0] = 0, child(trie, 0, NONTERMINAL), -1, -1
        dot_start[0], dot_start[1] = 0, 1
        for span in range(1, min(max_span, length - i) + 1):
            j = i + span
            dots = dot_start[span]
            for dot in range(dot_start[span - 1], dot_start[span]):
                to = child(trie, node[dot], words[j - 1]) if words[j - 1] >= 0 else -1
                if to >= 0:
                    node, by_x = grown(node, dots + 1), grown(by_x, dots + 1)
                    before, cell = grown(before, dots + 1), grown(cell, dots + 1)
                    node[dots], by_x[dots] = to, child(trie, to, NONTERMINAL)
                    before[dots], cell[dots] = dot, -1
                    dots += 1
            for inner in range(1, span):
                x_cell = cell_at[i + inner, span - inner]
                if x_cell < 0:
                    continue
                for dot in range(dot_start[inner], dot_start[inner + 1]):
                    if by_x[dot] >= 0:
                        to = by_x[dot]
                        node, by_x = grown(node, dots + 1), grown(by_x, dots + 1)
                        before, cell = grown(before, dots + 1), grown(cell, dots + 1)
                        node[dots], by_x[dots] = to, child(trie, to, NONTERMINAL)
                        before[dots], cell[dots] = dot, x_cell
                        dots += 1

            first_cube = num_cubes
            for dot in range(dot_start[span], dots):
                group = trie.first_group[node[dot]]
                while group >= 0:
                    if span <= trie.group_span[group]:
                        group_of = grown(group_of, num_cubes + 1)
                        tail_start = grown(tail_start, num_cubes + 2)
                        tails = grown(tails, num_tails + max_arity)
                        group_of[num_cubes] = group
                        arity = 0
                        at = dot
                        while at > 0:
                            if cell[at] >= 0:
                                stack[arity] = cell[at]
                                arity += 1
                            at = before[at]
                        for k in range(arity - 1, -1, -1):
                            tails[num_tails] = stack[k]
                            num_tails += 1
                        num_cubes += 1
                        tail_start[num_cubes] = num_tails
                    group = trie.next_group[group]
            if span == 1 and num_cubes == first_cube:
                group_of, tail_start = grown(group_of, num_cubes + 1), grown(tail_start, num_cubes + 2)
                group_of[num_cubes] = COPY
                num_cubes += 1
                tail_start[num_cubes] = num_tails
            if num_cubes > first_cube:
                begin, end = grown(begin, num_cells + 1), grown(end, num_cells + 1)
                cube_start = grown(cube_start, num_cells + 2)
                begin[num_cells], end[num_cells] = i, j
                cell_at[i, span] = num_cells
                num_cells += 1
                cube_start[num_cells] = num_cubes
                if by_x[0] >= 0:
                    # Only now, so that no rule consists of this cell alone.
                    node, by_x = grown(node, dots + 1), grown(by_x, dots + 1)
                    before, cell = grown(before, dots + 1), grown(cell, dots + 1)
                    node[dots], by_x[dots] = by_x[0], child(trie, by_x[0], NONTERMINAL)
                    before[dots], cell[dots] = 0, num_cells - 1
                    dots += 1
            dot_start[span + 1] = dots

    num_x_cells = num_cells
    s_cell = np.full(length + 1, -1, np.int32)
    for j in range(1, length + 1):
        begin, end = grown(begin, num_cells + 1), grown(end, num_cells + 1)
        cube_start = grown(cube_start, num_cells + 2)
        group_of = grown(group_of, num_cubes + max_span + 1)
        tail_start = grown(tail_start, num_cubes + max_span + 2)
        tails = grown(tails, num_tails + 2 * max_span + 2)
        for k in range(max(0, j - max_span), j):
            x_cell = cell_at[k, j - k]
            if x_cell >= 0 and (k == 0 or s_cell[k] >= 0):
                group_of[num_cubes] = START if k == 0 else GLUE
                if k > 0:
                    tails[num_tails] = s_cell[k]
                    num_tails += 1
                tails[num_tails] = x_cell
                num_tails += 1
                num_cubes += 1
                tail_start[num_cubes] = num_tails
        begin[num_cells], end[num_cells] = 0, j
        s_cell[j] = num_cells
        num_cells += 1
        cube_start[num_cells] = num_cubes
    return Chart(
        begin[:num_cells].copy(),
        end[:num_cells].copy(),
        num_x_cells,
        cube_start[: num_cells + 1].copy(),
        group_of[:num_cubes].copy(),
        tail_start[: num_cubes + 1].copy(),
        tails[:num_tails].copy(),
    )
