"""Probabilities of beginnings of sentences, and of what stands anywhere in them.

Let P_i(A) be the weight of all finite trees of A whose words begin with w_i … w_{n−1}. The first child
takes either some of them and the second the rest, or all of them and the second is anything, of which there
is the weight Z:

    P_i(A) = Σ_{A → X Y} w Σ_j inside_ij(X) P_j(Y)  +  Σ_{A → X Y} w Z(Y) P_i(X)  +  Σ_{A → X} w P_i(X),

and A → w_i counts where it is the last word (Jelinek and Lafferty 1991; Stolcke 1995). The sums over left
corners are linear in P_i, (I − L) P_i = c_i, with the same L for every word, so it is factored once.

For words anywhere in a sentence the grammar is intersected with the automaton that has seen them or not
(Nederhof and Satta 2011): its states are how many of them have just been read, as in Knuth, Morris and
Pratt's search, and the partition function of the intersection is the probability. Words lead from a state
to one state: a symbol that can lead to a single one has the weight Z there, and is not solved for. At
criticality Newton's method would find too little, and the less the more such symbols are below each other.

The fact a newcomer would get wrong: a grammar that is not tight gives its finite trees Z(S) < 1 together.
Here everything is divided by that: probabilities are those of sentences, given that they end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from monolingual.pcfg.chart import fill_inside, inside_probabilities, new_chart
from monolingual.pcfg.chart_grammar import ChartGrammar, ChartWeights, num_symbols
from monolingual.pcfg.grammar import Grammar, Rule, build_grammar
from monolingual.pcfg.partition import build_system, newton_partition
from monolingual.pcfg.tightness import analyse
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.errors import SettingsError

__all__ = ["MOST_RULES", "Prefixes", "infix_log_prob"]

MOST_RULES = 2_000_000
"""Of an intersection."""


class Prefixes:
    """Log probabilities of beginnings of sentences under one grammar.

    Parameters
    ----------
    grammar : Grammar
    chart : ChartGrammar
        Its chart form.
    weights : ChartWeights
    probs : float64, shape (R,)
        Of the grammar's rules.
    """

    def __init__(self, grammar: Grammar, chart: ChartGrammar, weights: ChartWeights, probs: np.ndarray):
        self._chart, self._weights = chart, weights
        self._finite = _finite_weights(grammar, chart, probs)
        size = num_symbols(chart)
        right = self._finite[chart.pair_right[chart.binary_pair]]
        parents = np.repeat(np.arange(size), np.diff(chart.unary_start))
        rows = np.concatenate([chart.binary_parent, parents])
        columns = np.concatenate([chart.pair_left[chart.binary_pair], chart.unary_child])
        values = np.concatenate([weights.binary * right, weights.unary])
        corners = sparse.csc_matrix((values, (rows, columns)), shape=(size, size))
        self._solve = linalg.splu(sparse.identity(size, format="csc") - corners).solve

    @property
    def log_finite(self) -> float:
        """ln Z(S), of all finite trees."""
        return float(np.log(self._finite[0]))

    def log_probs(self, words: Sequence[int]) -> np.ndarray:
        """ln of the probability that a sentence begins with each beginning of some words.

        Parameters
        ----------
        words : sequence of int
            Terminals; −1 is one that the grammar does not have.

        Returns
        -------
        float64, shape (words + 1,)
            The first is 0; −∞ where no sentence begins so.
        """
        table, scale = _inside_table(self._chart, self._weights, words)
        found = np.full(len(words) + 1, -math.inf)
        found[0] = 0.0
        for end in range(1, len(words) + 1):
            found[end] = self._log_prob(words, end, table, scale) - self.log_finite
            if found[end] == -math.inf:
                break
        return found

    def log_prob(self, words: Sequence[int]) -> float:
        """The last of `log_probs`, without those before it: a beginning's alone."""
        if not words:
            return 0.0
        table, scale = _inside_table(self._chart, self._weights, words)
        return self._log_prob(words, len(words), table, scale) - self.log_finite

    def log_sentence_prob(self, words: Sequence[int]) -> float:
        """ln of the probability that just these words are a sentence."""
        start = np.array([0, len(words)], dtype=np.int64)
        array = np.array(words, dtype=np.int32)
        return float(inside_probabilities(self._chart, self._weights, array, start)[0]) - self.log_finite

    def _log_prob(self, words: Sequence[int], end: int, table: np.ndarray, scale: np.ndarray) -> float:
        """ln of the weight of all finite trees whose words begin with the first `end`."""
        chart = self._chart
        values = np.zeros((end, num_symbols(chart)))
        scales = np.full(end, -math.inf)
        left, right = chart.pair_left, chart.pair_right
        for i in range(end - 1, -1, -1):
            source = np.zeros(num_symbols(chart))
            if i == end - 1:
                top = 0.0
                if words[i] >= 0:
                    entries = slice(int(chart.word_start[words[i]]), int(chart.word_start[words[i] + 1]))
                    np.add.at(source, chart.word_symbol[entries], self._weights.word[entries])
            else:
                splits = [j for j in range(i + 1, end) if scale[i, j] + scales[j] > -math.inf]
                top = max((scale[i, j] + scales[j] for j in splits), default=-math.inf)
                pairs = np.zeros(len(left))
                for j in splits:
                    factor = math.exp(scale[i, j] + scales[j] - top)
                    pairs += factor * table[i, j, left] * values[j, right]
                np.add.at(source, chart.binary_parent, self._weights.binary * pairs[chart.binary_pair])
            largest = source.max()
            if largest > 0.0:
                values[i] = np.maximum(self._solve(source / largest), 0.0)
                scales[i] = top + math.log(largest)
        return scales[0] + math.log(values[0, 0]) if values[0, 0] > 0.0 else -math.inf


def infix_log_prob(
    grammar: Grammar, chart: ChartGrammar, weights: ChartWeights, probs, words: Sequence[int]
) -> float:
    """ln of the probability that some words stand anywhere in a sentence, one after the other.

    Parameters
    ----------
    grammar, chart, weights, probs
        As in `Prefixes`.
    words : sequence of int
        At least one; −1 is one that the grammar does not have.

    Raises
    ------
    SettingsError
        The intersection is too large.
    """
    if min(words) < 0:
        return -math.inf
    following = _automaton(list(words), len(grammar.terminals))
    if len(chart.binary_rule) * len(following) ** 3 > MOST_RULES:
        raise SettingsError(
            f"the grammar with {len(words)} words has more than {MOST_RULES} rules; look for fewer words"
        )
    finite = _finite_weights(grammar, chart, probs)
    reached = _reached(chart, weights, following)
    if reached[0, 0].sum() == 1:
        return 0.0 if reached[0, 0, -1] else -math.inf
    rules, values = _intersection(grammar, chart, weights, following, reached, finite)
    start = f"0 0 {len(words)}"
    if not any(parent == start for parent, _ in rules):
        return -math.inf
    crossed, place = build_grammar(start, rules)
    placed = np.empty(len(values))
    placed[place] = values
    system = build_system(crossed, placed > 0.0)
    total, _ = newton_partition(system, placed, np.zeros(len(system.start) - 1, dtype=np.bool_))
    return math.log(total[0] / finite[0]) if total[0] > 0.0 else -math.inf


def _inside_table(chart: ChartGrammar, weights: ChartWeights, words) -> tuple[np.ndarray, np.ndarray]:
    """The inside values of all spans: exp(second[i, k]) · first[i, k, A] is that of A over words i … k − 1.

    float64 of shapes (n + 1, n + 1, S) and (n + 1, n + 1).
    """
    length = len(words)
    room = new_chart(chart, np.array([0, length], dtype=np.int64), 0, 1)
    _fill(chart, weights, room, np.array(words, dtype=np.int32))
    scale = np.full((length + 1, length + 1), -np.inf)
    above = np.triu_indices(length + 1, 1)
    scale[above] = room.log_scale.reshape(length + 1, length + 1)[above]
    return room.inside.reshape(length + 1, length + 1, -1), scale


@kernel
def _fill(chart, weights, room, words):
    return fill_inside(by_reference(chart), by_reference(weights), by_reference(room), words, 0, len(words))


def _automaton(words: list[int], num_words: int) -> np.ndarray:
    """The next state by state and word; state n, in which all have been read one after the other, stays."""
    size = len(words)
    following = np.zeros((size + 1, num_words), dtype=np.int64)
    following[size] = size
    for state in range(size):
        for word in range(num_words):
            read = [*words[:state], word]
            following[state, word] = next(
                length for length in range(len(read), -1, -1) if read[len(read) - length :] == words[:length]
            )
    return following


def _reached(chart: ChartGrammar, weights: ChartWeights, following: np.ndarray) -> np.ndarray:
    """Whether the words of a symbol lead from a state to another: bool, shape (S, states, states)."""
    states = len(following)
    found = np.zeros((num_symbols(chart), states, states), dtype=np.bool_)
    for word in range(len(chart.word_start) - 1):
        for at in range(int(chart.word_start[word]), int(chart.word_start[word + 1])):
            if weights.word[at] > 0.0:
                found[chart.word_symbol[at], range(states), following[:, word]] = True
    unary, binary = weights.unary > 0.0, weights.binary > 0.0
    parents = np.repeat(np.arange(len(found)), np.diff(chart.unary_start))[unary]
    pairs = chart.binary_pair[binary]
    while True:
        before = found.sum()
        np.logical_or.at(found, parents, found[chart.unary_child[unary]])
        both = found[chart.pair_left[pairs]] @ found[chart.pair_right[pairs]]
        np.logical_or.at(found, chart.binary_parent[binary], both)
        if found.sum() == before:
            return found


def _intersection(
    grammar: Grammar,
    chart: ChartGrammar,
    weights: ChartWeights,
    following: np.ndarray,
    reached: np.ndarray,
    finite: np.ndarray,
) -> tuple[list[Rule], list[float]]:
    """Rules whose nonterminals are a symbol with the states before and after it, and their weights.

    Those whose weight is known are no nonterminals: rules are multiplied by it.
    """
    states = range(len(following))
    known = reached.sum(axis=2) == 1
    merged: dict[tuple, float] = {}

    def add(parent: tuple[int, int, int], children: tuple[tuple[int, int, int], ...], weight: float) -> None:
        q, symbol, _ = parent
        if weight <= 0.0 or known[symbol, q] or not all(reached[b, p, r] for p, b, r in children):
            return
        right = []
        for p, below, r in children:
            if known[below, p]:
                weight *= float(finite[below])
            else:
                right.append((f"{p} {below} {r}", False))
        key = "{} {} {}".format(*parent), tuple(right) or (("a word", True),)
        merged[key] = merged.get(key, 0.0) + weight

    for word in range(len(grammar.terminals)):
        for at in range(int(chart.word_start[word]), int(chart.word_start[word + 1])):
            for q in states:
                add((q, int(chart.word_symbol[at]), int(following[q, word])), (), float(weights.word[at]))
    for symbol in range(num_symbols(chart)):
        for at in range(int(chart.unary_start[symbol]), int(chart.unary_start[symbol + 1])):
            for q, r in itertools.product(states, repeat=2):
                add((q, symbol, r), ((q, int(chart.unary_child[at]), r),), float(weights.unary[at]))
    for at, pair in enumerate(chart.binary_pair.tolist()):
        left, right = int(chart.pair_left[pair]), int(chart.pair_right[pair])
        for q, p, r in itertools.product(states, repeat=3):
            children = ((q, left, p), (p, right, r))
            add((q, int(chart.binary_parent[at]), r), children, float(weights.binary[at]))
    return list(merged), list(merged.values())


def _finite_weights(grammar: Grammar, chart: ChartGrammar, probs: np.ndarray) -> np.ndarray:
    """Z of every symbol of the chart: the weight of its finite trees; float64 of shape (S,)."""
    size = len(grammar.nonterminals)
    finite = np.ones(num_symbols(chart))
    finite[:size] = analyse(grammar, probs).partition
    joined = np.flatnonzero(chart.binary_rule < 0)
    for at in joined[np.argsort(chart.binary_parent[joined])]:  # Longer beginnings have higher numbers.
        pair = chart.binary_pair[at]
        finite[chart.binary_parent[at]] = finite[chart.pair_left[pair]] * finite[chart.pair_right[pair]]
    return finite
