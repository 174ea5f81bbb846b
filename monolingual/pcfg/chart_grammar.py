"""A grammar as chart parsing wants it: binary rules by their two children, words, and unary rules closed.

Longer right-hand sides are split from the left: A → X Y Z becomes A → ⟨X Y⟩ Z with a new symbol ⟨X Y⟩ → X Y
of weight 1, shared by all rules that begin alike; a terminal among other symbols gets a symbol of its own.
Symbols are the nonterminals, then these. Then each rule is of one of three kinds: a word, one nonterminal
(unary), or two symbols.

Unary rules may chain and cycle. With U_AB the weight of A → B, the sum over all chains from A to B is
U* = I + U + U² + … = (I − U)⁻¹, so that for a span

    inside(A) = Σ_B U*_AB · (weight of what B spells over the span without a unary rule at its top).

U* is computed component by component of the unary graph, and only where it is not 0.

The fact a newcomer would get wrong: U* is not a probability; its diagonal exceeds 1 where there are cycles,
and it does not exist when a cycle of unary rules has weight 1 or more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.grammar import Grammar, heads, num_rules, rule_symbols
from monolingual.pcfg.graph import components
from monolingual.pcfg.partition import has_positive_pivots, solve_in_place
from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.errors import SettingsError

__all__ = [
    "ChartGrammar",
    "ChartWeights",
    "binarise",
    "chart_weights",
    "fill_weights",
    "new_weights",
    "num_symbols",
]


class ChartGrammar(NamedTuple):
    """The rules of a grammar, by kind. S symbols, the first N of them the grammar's nonterminals.

    Attributes
    ----------
    word_start : int64, shape (W + 1,)
        The symbols that spell word w are word_symbol[word_start[w]:word_start[w + 1]].
    word_symbol, word_rule : int32
        With the rule of the grammar, or −1 for the symbol of a single terminal, of weight 1.
    left_start : int64, shape (S + 1,)
        The pairs whose left child is X are left_start[X] … left_start[X + 1] − 1.
    pair_right : int32, shape (P,)
        The right child of each pair, ascending for each left one.
    is_right : bool, shape (S,)
        Whether a symbol is the right child of any pair.
    pair_start : int64, shape (P + 1,)
        The binary rules with pair p on the right are pair_start[p] … pair_start[p + 1] − 1.
    binary_parent, binary_pair, binary_rule : int32, shape (B,)
        Of each binary rule; the rule of the grammar is −1 for ⟨X Y⟩ → X Y.
    parent_start : int64, shape (S + 1,)
    parent_binary : int32, shape (B,)
        The binary rules of each symbol.
    pair_left : int32, shape (P,)
    unary_start : int64, shape (S + 1,)
        The unary rules of each symbol.
    unary_child, unary_rule : int32, shape (U,)
    cycle_start, cycle_members : int64
        The components of the unary graph, lower ones first.
    is_cyclic : bool
        Whether each of these components has a cycle.
    closure_start, closure_child
        The symbols B with U*_AB ≠ 0 for each A, ascending: int64, shape (S + 1,), and int32, shape (C,).
    below_start, below_parent, below_entry
        The same by B: the A's, and where each pair (A, B) stands in the closure.
    """

    word_start: np.ndarray
    word_symbol: np.ndarray
    word_rule: np.ndarray
    left_start: np.ndarray
    pair_right: np.ndarray
    is_right: np.ndarray
    pair_start: np.ndarray
    binary_parent: np.ndarray
    binary_pair: np.ndarray
    binary_rule: np.ndarray
    parent_start: np.ndarray
    parent_binary: np.ndarray
    pair_left: np.ndarray
    unary_start: np.ndarray
    unary_child: np.ndarray
    unary_rule: np.ndarray
    cycle_start: np.ndarray
    cycle_members: np.ndarray
    is_cyclic: np.ndarray
    closure_start: np.ndarray
    closure_child: np.ndarray
    below_start: np.ndarray
    below_parent: np.ndarray
    below_entry: np.ndarray


class ChartWeights(NamedTuple):
    """The weights of a `ChartGrammar`.

    Attributes
    ----------
    word : float64, in the order of `word_symbol`
    binary : float64, in the order of `binary_rule`
    unary : float64, in the order of `unary_rule`
    closure : float64, in the order of `closure_child`
        U*.
    """

    word: np.ndarray
    binary: np.ndarray
    unary: np.ndarray
    closure: np.ndarray


def num_symbols(chart: ChartGrammar) -> int:
    """How many symbols there are, those of binarisation included."""
    return len(chart.left_start) - 1


def binarise(grammar: Grammar) -> ChartGrammar:
    """The chart form of a grammar."""
    lhs = heads(grammar)
    names = _Symbols(len(grammar.nonterminals))
    words: list[tuple[int, int, int]] = []  # word, symbol, rule
    unary: list[tuple[int, int, int]] = []  # parent, child, rule
    binary: list[tuple[int, int, int, int]] = []  # left, right, parent, rule
    for rule in range(num_rules(grammar)):
        right = rule_symbols(grammar, rule)
        parent = int(lhs[rule])
        if len(right) > 1:
            left = names.of(right[0])
            for at in range(1, len(right) - 1):
                joined, is_new = names.joined(left, names.of(right[at]))
                if is_new:
                    binary.append((left, names.of(right[at]), joined, -1))
                left = joined
            binary.append((left, names.of(right[-1]), parent, rule))
        elif right[0] >= 0:
            words.append((right[0], parent, rule))
        else:
            unary.append((parent, -1 - right[0], rule))
    words.extend((word, symbol, -1) for word, symbol in names.terminals.items())
    size = names.size
    word_of, word_symbol, word_rule = _columns(sorted(words), 3)
    unary_parent, unary_child, unary_rule = _columns(sorted(unary), 3)
    lefts, rights, binary_parent, binary_rule = _columns(sorted(binary), 4)
    is_first = np.ones(len(lefts), dtype=np.bool_)
    is_first[1:] = (np.diff(lefts) != 0) | (np.diff(rights) != 0)
    pair_left, pair_right = lefts[is_first], rights[is_first]
    binary_pair = (np.cumsum(is_first) - 1).astype(np.int32)
    is_right = np.zeros(size, dtype=np.bool_)
    is_right[rights] = True
    by_parent = np.argsort(binary_parent, kind="stable")
    closed = _closure(grammar, size)
    return ChartGrammar(
        _offsets(word_of, len(grammar.terminals)),
        word_symbol,
        word_rule,
        _offsets(pair_left, size),
        pair_right,
        is_right,
        _offsets(binary_pair, len(pair_left)),
        binary_parent,
        binary_pair,
        binary_rule,
        _offsets(binary_parent[by_parent], size),
        by_parent.astype(np.int32),
        pair_left,
        _offsets(unary_parent, size),
        unary_child,
        unary_rule,
        *closed,
    )


class _Symbols:
    """Numbers for nonterminals, terminals within rules, and beginnings of right-hand sides."""

    def __init__(self, num_nonterminals: int):
        self.size = num_nonterminals
        self.terminals: dict[int, int] = {}
        self._pairs: dict[tuple[int, int], int] = {}

    def of(self, symbol: int) -> int:
        if symbol < 0:
            return -1 - symbol
        if symbol not in self.terminals:
            self.terminals[symbol] = self.size
            self.size += 1
        return self.terminals[symbol]

    def joined(self, left: int, right: int) -> tuple[int, bool]:
        if (left, right) in self._pairs:
            return self._pairs[left, right], False
        self._pairs[left, right] = self.size
        self.size += 1
        return self.size - 1, True


def _columns(rows: list[tuple[int, ...]], width: int) -> list[np.ndarray]:
    table = np.array(rows, dtype=np.int32).reshape(len(rows), width)
    return [np.ascontiguousarray(table[:, column]) for column in range(width)]


def _offsets(ids: np.ndarray, size: int) -> np.ndarray:
    """Where each of 0 … size − 1 begins in an ascending array."""
    return np.searchsorted(ids, np.arange(size + 1)).astype(np.int64)


def _closure(grammar: Grammar, size: int) -> tuple[np.ndarray, ...]:
    """The fields of `ChartGrammar` from `cycle_start` on."""
    is_unary = np.diff(grammar.rhs_start) == 1
    is_unary &= grammar.rhs[grammar.rhs_start[:-1]] < 0
    found = components(grammar, is_unary)
    below: list[set[int]] = [{symbol} for symbol in range(size)]
    lhs = heads(grammar)
    links: dict[int, list[int]] = {}
    for rule in np.flatnonzero(is_unary):
        links.setdefault(int(lhs[rule]), []).append(-1 - int(grammar.rhs[grammar.rhs_start[rule]]))
    is_cyclic = np.zeros(len(found.start) - 1, dtype=np.bool_)
    for c in range(len(is_cyclic)):
        members = found.members[found.start[c] : found.start[c + 1]].tolist()
        is_cyclic[c] = len(members) > 1 or members[0] in links.get(members[0], ())
        all_below = set(members).union(*(below[child] for m in members for child in links.get(m, ())))
        for member in members:
            below[member] = all_below
    closure_child = np.array([child for row in below for child in sorted(row)], dtype=np.int32)
    closure_start = np.concatenate([[0], np.cumsum([len(row) for row in below])]).astype(np.int64)
    parents = np.repeat(np.arange(size, dtype=np.int32), np.diff(closure_start))
    order = np.argsort(closure_child, kind="stable")
    return (
        found.start,
        found.members,
        is_cyclic,
        closure_start,
        closure_child,
        _offsets(closure_child[order], size),
        parents[order],
        order.astype(np.int64),
    )


def new_weights(chart: ChartGrammar) -> ChartWeights:
    """Weights that are still to be filled."""
    sizes = (chart.word_rule, chart.binary_rule, chart.unary_rule, chart.closure_child)
    return ChartWeights(*(np.ones(len(array)) for array in sizes))


def chart_weights(chart: ChartGrammar, weights: np.ndarray) -> ChartWeights:
    """The weights of the chart's rules, and the closure of its unary rules.

    Parameters
    ----------
    chart : ChartGrammar
    weights : float64, shape (R,)
        Of the grammar's rules; not negative, not necessarily summing to 1.

    Raises
    ------
    SettingsError
        Cycles of unary rules have weight 1 or more, so that the closure is infinite.
    """
    filled = new_weights(chart)
    if not _fill(chart, np.ascontiguousarray(weights, np.float64), filled):
        raise SettingsError("cycles of unary rules have a weight of 1 or more; lower their probabilities")
    return filled


@kernel
def _fill(chart, weights, filled):
    return fill_weights(chart, weights, filled)


@compiled
def fill_weights(chart: ChartGrammar, weights: np.ndarray, filled: ChartWeights) -> bool:
    """Fill in the weights; False if the closure of the unary rules is infinite."""
    for i in range(len(chart.word_rule)):
        if chart.word_rule[i] >= 0:
            filled.word[i] = weights[chart.word_rule[i]]
    for i in range(len(chart.binary_rule)):
        if chart.binary_rule[i] >= 0:
            filled.binary[i] = weights[chart.binary_rule[i]]
    for i in range(len(chart.unary_rule)):
        filled.unary[i] = weights[chart.unary_rule[i]]
    size = len(chart.closure_start) - 1
    place = np.zeros(size, dtype=np.int64)
    for a in range(len(chart.closure_start) - 1):
        for at in range(chart.closure_start[a], chart.closure_start[a + 1]):
            filled.closure[at] = 1.0 if chart.closure_child[at] == a else 0.0
    for c in range(len(chart.is_cyclic)):
        first, end = chart.cycle_start[c], chart.cycle_start[c + 1]
        if end - first == 1 and not chart.is_cyclic[c]:
            a = chart.cycle_members[first]
            if chart.unary_start[a] == chart.unary_start[a + 1]:
                continue
            _set_places(chart, a, place)
            for k in range(chart.unary_start[a], chart.unary_start[a + 1]):
                _add_row(chart, filled, chart.unary_child[k], filled.unary[k], place, chart.closure_start[a])
        elif not _close_cycle(chart, filled, first, end, place):
            return False
    return True


@compiled
def _set_places(chart, a, place):
    """place[B] = which entry of the closure's row of A is B's."""
    begin = chart.closure_start[a]
    for at in range(begin, chart.closure_start[a + 1]):
        place[chart.closure_child[at]] = at - begin


@compiled
def _add_row(chart, filled, child, weight, place, begin):
    """Add a multiple of the closure's row of a child to the row that begins at `begin`."""
    for at in range(chart.closure_start[child], chart.closure_start[child + 1]):
        filled.closure[begin + place[chart.closure_child[at]]] += weight * filled.closure[at]


@compiled
def _close_cycle(chart, filled, first, end, place):
    """U*_C = (I − U_CC)⁻¹ (I + U_C,lower U*_lower), for a component C with cycles."""
    size = end - first
    begin = chart.closure_start[chart.cycle_members[first]]
    width = chart.closure_start[chart.cycle_members[first] + 1] - begin
    _set_places(chart, chart.cycle_members[first], place)  # All rows of the component have the same places.
    matrix = np.zeros((size, size))
    sides = np.zeros((size, width))
    for row in range(size):
        a = chart.cycle_members[first + row]
        matrix[row, row] += 1.0
        sides[row, place[a]] += 1.0
        for k in range(chart.unary_start[a], chart.unary_start[a + 1]):
            child = chart.unary_child[k]
            column = -1
            for other in range(size):
                if chart.cycle_members[first + other] == child:
                    column = other
            if column >= 0:
                matrix[row, column] -= filled.unary[k]
            else:
                for at in range(chart.closure_start[child], chart.closure_start[child + 1]):
                    sides[row, place[chart.closure_child[at]]] += filled.unary[k] * filled.closure[at]
    # (I − U)⁻¹ exists and is not negative if and only if all pivots are positive.
    if not has_positive_pivots(matrix.copy(), 1e-14):
        return False
    solve_in_place(matrix, sides)
    for row in range(size):
        start = chart.closure_start[chart.cycle_members[first + row]]
        for column in range(width):
            filled.closure[start + column] = sides[row, column]
    return True
