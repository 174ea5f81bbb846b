"""The best tree of a sentence (Viterbi), in a chart that keeps one edge of the forest for each node.

With V_AB the weight of the best chain of unary rules from A to B, the closure in the semiring of the maximum,
a symbol over a span has

    best(A) = max_B V_AB · b(B),      b(A) = max over rules A → X Y and j:  w · best_ij(X) · best_jk(Y),

or b(A) = w for a rule A → 'word'. What the maximum came from is kept: a chain, a rule and two symbols below.
So memory is that of the symbols that spell spans, where all edges, as `forest` has them, are as many as
there are ways to split these spans, too.

Of trees that weigh the same, to the last bit, the one is taken that comes first in that forest, from the
goal down: the first symbol B, the first j, then the first X and the first Y. Symbols of a span come in the
order in which its edges find them, the start symbol last.

The fact a newcomer would get wrong: a best chain exists however heavy the cycles are, as long as none weighs
more than 1, and it repeats nothing; so V is found where U* is infinite.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.chart import find_pair
from monolingual.pcfg.chart_grammar import ChartGrammar
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import by_reference, compiled, inlined, kernel

__all__ = ["ViterbiWeights", "best_tree", "best_unary_chains", "viterbi_weights"]


class ViterbiWeights(NamedTuple):
    """The log weights of a `ChartGrammar` for the best tree; −∞ for what has weight 0.

    Attributes
    ----------
    word : float64, in the order of `word_symbol`
    binary : float64, in the order of `binary_rule`
    chain : float64, in the order of `closure_child`
        Of the best chain of unary rules.
    first : int32, in the order of `closure_child`
        The first rule of that chain, an index into `unary_rule`; −1 for the empty chain.
    """

    word: np.ndarray
    binary: np.ndarray
    chain: np.ndarray
    first: np.ndarray


class _Nodes(NamedTuple):
    """Symbols over spans after unary rules, those of a span together; arrays that grow, so with room.

    Attributes
    ----------
    log_weight : float64
        Of the best tree.
    symbol : int32
    chain : int32
        The entry of the closure: which symbol B below, and by which chain.
    rule : int32
        The rule of B, an index into `binary_rule`, or into `word_rule` in a span of one word.
    left, right : int32
        The nodes below, smaller ones; left is −1 in a span of one word.
    """

    log_weight: np.ndarray
    symbol: np.ndarray
    chain: np.ndarray
    rule: np.ndarray
    left: np.ndarray
    right: np.ndarray


class _Span(NamedTuple):
    """What is known of the symbols of one span while it is filled; between spans as it was made. S symbols.

    Attributes
    ----------
    log_weight : float64, shape (S,)
        The best before unary rules; −∞.
    rule, left, right : int32, shape (S,)
        Where that is from; left is −1.
    first_left, first_right : int32, shape (S,)
        The children of the symbol's first edge; −1.
    listed : int32, shape (S,)
        The symbols before unary rules.
    num_listed : int64, shape (1,)
        How many they are; 0.
    after, chain, below : float64, int32 and int32, shape (S,)
        The best after unary rules, by which entry of the closure, of which symbol, −1.
    closed : int32, shape (S,)
        The symbols after unary rules.
    node : int32, shape (S,)
        The nodes of the right part of a split; −1.
    """

    log_weight: np.ndarray
    rule: np.ndarray
    left: np.ndarray
    right: np.ndarray
    first_left: np.ndarray
    first_right: np.ndarray
    listed: np.ndarray
    num_listed: np.ndarray
    after: np.ndarray
    chain: np.ndarray
    below: np.ndarray
    closed: np.ndarray
    node: np.ndarray


def viterbi_weights(chart: ChartGrammar, weights: np.ndarray) -> ViterbiWeights:
    """The log weights of a grammar's rules and of its best chains of unary rules.

    Parameters
    ----------
    chart : ChartGrammar
    weights : float64, shape (R,)
        At most 1 each.
    """
    word = np.where(chart.word_rule >= 0, weights[chart.word_rule], 1.0)
    binary = np.where(chart.binary_rule >= 0, weights[chart.binary_rule], 1.0)
    chain, first = best_unary_chains(chart, weights)
    with np.errstate(divide="ignore"):
        return ViterbiWeights(np.log(word), np.log(binary), np.log(chain), first)


def best_unary_chains(chart: ChartGrammar, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the best chain of unary rules for each entry of the closure, and its first rule.

    Parameters
    ----------
    chart : ChartGrammar
    weights : float64, shape (R,)
        At most 1 each.

    Returns
    -------
    float64 and int32, shape (C,), in the order of `closure_child`; the first step is an index into
    `unary_rule`, −1 for the empty chain.
    """
    size = len(chart.closure_start) - 1
    parents = np.repeat(np.arange(size), np.diff(chart.closure_start))
    entry = {
        pair: at for at, pair in enumerate(zip(parents.tolist(), chart.closure_child.tolist(), strict=True))
    }
    best = (parents == chart.closure_child).astype(float)
    first = np.full(len(best), -1, dtype=np.int32)
    links = [
        (int(a), int(chart.unary_child[k]), k, float(weights[chart.unary_rule[k]]))
        for a in range(size)
        for k in range(chart.unary_start[a], chart.unary_start[a + 1])
    ]
    changed = True
    while changed:
        changed = False
        for a, b, k, weight in links:
            for at in range(chart.closure_start[b], chart.closure_start[b + 1]):
                target = entry[a, int(chart.closure_child[at])]
                if weight * best[at] > best[target]:
                    best[target], first[target] = weight * best[at], k
                    changed = True
    return best, first


def best_tree(chart: ChartGrammar, weights: ViterbiWeights, words) -> tuple[float, list[int]]:
    """The best tree of a sentence: its log weight and its rules in preorder; −∞ and [] without one.

    Parameters
    ----------
    chart : ChartGrammar
    weights : ViterbiWeights
    words : int32, shape (n,)
        Terminals; −1 is a word that the grammar does not have.
    """
    words = np.ascontiguousarray(words, dtype=np.int32)
    nodes, goal = _best_nodes(chart, weights, _new_span(len(chart.left_start) - 1), words)
    if goal < 0 or nodes.log_weight[goal] == -np.inf:
        return -np.inf, []
    rules: list[int] = []
    pending = [goal]
    while pending:
        node = pending.pop()
        rules.extend(_chain_rules(chart, weights.first, int(nodes.chain[node])))
        is_word = nodes.left[node] < 0
        rule = int((chart.word_rule if is_word else chart.binary_rule)[nodes.rule[node]])
        if rule >= 0:
            rules.append(rule)
        if not is_word:
            pending += [int(nodes.right[node]), int(nodes.left[node])]
    return float(nodes.log_weight[goal]), rules


def _chain_rules(chart: ChartGrammar, first: np.ndarray, entry: int) -> list[int]:
    """The unary rules of the best chain of an entry of the closure."""
    child = int(chart.closure_child[entry])
    rules = []
    while first[entry] >= 0:
        step = int(first[entry])
        rules.append(int(chart.unary_rule[step]))
        below = int(chart.unary_child[step])
        row = chart.closure_child[chart.closure_start[below] : chart.closure_start[below + 1]]
        entry = int(chart.closure_start[below] + np.searchsorted(row, child))
    return rules


def _new_span(size: int) -> _Span:
    """Room for the symbols of a span, outside of kernels, because these refer to it by `by_reference`."""
    log_weight, after = np.full(size, -np.inf), np.empty(size)
    rule, left, right, first_left, first_right, listed, chain, below, closed, node = (
        np.full(size, -1, dtype=np.int32) for _ in range(10)
    )
    num_listed = np.zeros(1, dtype=np.int64)
    return _Span(
        log_weight, rule, left, right, first_left, first_right, listed, num_listed,
        after, chain, below, closed, node,
    )  # fmt: skip


@kernel
def _best_nodes(chart, weights, span, words):
    """The nodes of a sentence, those of smaller spans first; which one is the goal, −1 for none."""
    chart, weights, span = by_reference(chart), by_reference(weights), by_reference(span)
    length, size = len(words), 0
    nodes = _Nodes(
        np.empty(64),
        np.empty(64, np.int32),
        np.empty(64, np.int32),
        np.empty(64, np.int32),
        np.empty(64, np.int32),
        np.empty(64, np.int32),
    )
    where = np.zeros((length + 1, length + 1, 2), np.int32)
    for width in range(1, length + 1):
        for i in range(length - width + 1):
            k = i + width
            if width == 1 and words[i] >= 0:
                _spell(chart, weights, span, words[i])
            for j in range(i + 1, k):
                _split(chart, weights, nodes, span, where, i, j, k)
            _order(span)
            where[i, k, 0] = size
            nodes, size = _close(chart, weights, nodes, size, span)
            where[i, k, 1] = size
    if size == 0 or where[0, length, 0] == size or nodes.symbol[size - 1] != 0:
        return nodes, -1
    return nodes, size - 1


@compiled
def _spell(chart, weights, span, word):
    """The symbols that spell a word."""
    for at in range(chart.word_start[word], chart.word_start[word + 1]):
        symbol = chart.word_symbol[at]
        _list_symbol(span, symbol, 0, 0)
        if weights.word[at] > span.log_weight[symbol]:
            span.log_weight[symbol] = weights.word[at]
            span.rule[symbol] = at


@compiled
def _split(chart, weights, nodes, span, where, i, j, k):
    """Join the symbols of spans (i, j) and (j, k), which may be looked at in any order of right ones."""
    num_rights = 0
    for node in range(where[j, k, 0], where[j, k, 1]):
        if chart.is_right[nodes.symbol[node]]:
            span.node[nodes.symbol[node]] = node
            num_rights += 1
    for left in range(where[i, j, 0], where[i, j, 1]):
        begin, end = chart.left_start[nodes.symbol[left]], chart.left_start[nodes.symbol[left] + 1]
        if end - begin <= 4 * num_rights:
            for pair in range(begin, end):
                right = span.node[chart.pair_right[pair]]
                if right >= 0:
                    _join(chart, weights, nodes, span, pair, left, right)
        else:
            for right in range(where[j, k, 0], where[j, k, 1]):
                pair = find_pair(chart, begin, end, nodes.symbol[right])
                if pair >= 0:
                    _join(chart, weights, nodes, span, pair, left, right)
    for node in range(where[j, k, 0], where[j, k, 1]):
        span.node[nodes.symbol[node]] = -1


@inlined
def _join(chart, weights, nodes, span, pair, left, right):
    """The rules with two nodes below; those of a smaller left node, and no others, have been before."""
    for at in range(chart.pair_start[pair], chart.pair_start[pair + 1]):
        parent = chart.binary_parent[at]
        # In this order, so that trees weigh the same to the last bit as in the forest.
        value = weights.binary[at] + nodes.log_weight[left] + nodes.log_weight[right]
        _list_symbol(span, parent, left, right)
        is_first = span.left[parent] == left and right < span.right[parent]
        if value > span.log_weight[parent] or (value == span.log_weight[parent] and is_first):
            span.log_weight[parent] = value
            span.rule[parent] = at
            span.left[parent] = left
            span.right[parent] = right


@inlined
def _list_symbol(span, symbol, left, right):
    """List a symbol before unary rules, with the children of its first edge."""
    if span.first_left[symbol] < 0:
        span.listed[span.num_listed[0]] = symbol
        span.num_listed[0] += 1
        span.first_left[symbol] = left
        span.first_right[symbol] = right
    elif span.first_left[symbol] == left and right < span.first_right[symbol]:
        span.first_right[symbol] = right


@compiled
def _order(span):
    """Sort listed symbols by their first edges; of those with the same left node, which are together."""
    for at in range(1, span.num_listed[0]):
        symbol, to = span.listed[at], at
        while to > 0 and _comes_later(span, span.listed[to - 1], symbol):
            span.listed[to] = span.listed[to - 1]
            to -= 1
        span.listed[to] = symbol


@inlined
def _comes_later(span, symbol, other):
    """Whether the first edge of a symbol comes after another symbol's, if these have the same left node."""
    if span.first_left[symbol] != span.first_left[other]:
        return False
    right, other_right = span.first_right[symbol], span.first_right[other]
    return right > other_right or (right == other_right and symbol > other)


@compiled
def _close(chart, weights, nodes, size, span):
    """Make nodes of the listed symbols and those above them, the start symbol last, and empty the span."""
    num_closed = 0
    for at in range(span.num_listed[0]):
        symbol = span.listed[at]
        for entry in range(chart.below_start[symbol], chart.below_start[symbol + 1]):
            parent = chart.below_parent[entry]
            value = weights.chain[chart.below_entry[entry]] + span.log_weight[symbol]
            if span.below[parent] < 0:
                span.closed[num_closed] = parent
                num_closed += 1
            elif value <= span.after[parent]:
                continue
            span.after[parent] = value
            span.chain[parent] = chart.below_entry[entry]
            span.below[parent] = symbol
    nodes = _Nodes(
        grown(nodes.log_weight, size + num_closed),
        grown(nodes.symbol, size + num_closed),
        grown(nodes.chain, size + num_closed),
        grown(nodes.rule, size + num_closed),
        grown(nodes.left, size + num_closed),
        grown(nodes.right, size + num_closed),
    )
    for is_start in (False, True):
        for at in range(num_closed):
            symbol = span.closed[at]
            if (symbol == 0) == is_start:
                below = span.below[symbol]
                nodes.log_weight[size] = span.after[symbol]
                nodes.symbol[size] = symbol
                nodes.chain[size] = span.chain[symbol]
                nodes.rule[size] = span.rule[below]
                nodes.left[size] = span.left[below]
                nodes.right[size] = span.right[below]
                size += 1
    _empty(span, num_closed)
    return nodes, size


@compiled
def _empty(span, num_closed):
    """The span as it was made."""
    for at in range(num_closed):
        span.below[span.closed[at]] = -1
    for at in range(span.num_listed[0]):
        symbol = span.listed[at]
        span.log_weight[symbol] = -np.inf
        span.left[symbol] = -1
        span.first_left[symbol] = -1
    span.num_listed[0] = 0
