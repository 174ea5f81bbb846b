"""Parsing with a learnt grammar: the best derivation, the most probable tree, the best expected rules.

mpd   the most probable derivation of the flat grammar (Viterbi).
mpp   the most frequent tree of derivations sampled from the flat grammar, each accepted or not by
      Metropolis–Hastings, so that they follow the Dirichlet processes, in which an elementary tree used twice
      in a sentence is likelier the second time.
mer   of the same samples, the tree with the largest sum, over its constituents, of how often the samples
      have that production over that span and division, as MAX-RULE-SUM (Cohn et al. 2009, section 4).

The fact a newcomer would get wrong: every sentence gets a tree. One that the grammar cannot derive gets a
flat one, and its `Parse` says so.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from monolingual.tsg.chart import Chart, ChartLeaves, ChartRules, alternatives, fill_chart
from monolingual.tsg.fragments import CountedFragment
from monolingual.tsg.grammar import FlatGrammar
from monolingual.tsg.transforms import is_signature
from monolingual.tsg.trees import Tree, fold, leaves, preterminals

__all__ = ["METHODS", "Derivation", "Parse", "Parser"]

METHODS = ("mpd", "mpp", "mer")
_UNSEEN = 1e-6
_SCALE = 30.0  # What the likeliest symbol above a word is worth at first.
_LARGEST_LOG = 600.0  # Of values in a chart, whose logarithms end at ±709.
_FAINT = 1e-280  # Where values begin to vanish.
_SMALLEST_GROWTH = 0.01  # Of a word, in ln; what is less makes no value vanish.
_MOST_SCALES = 20


class Derivation(NamedTuple):
    """A tree and how it was put together.

    Attributes
    ----------
    tree : Tree
    log_prob : float
        ln of the product of the weights of the elementary trees.
    fragments : tuple of int
        Their numbers; −1 − w for a word that the grammar does not have.
    rules : tuple
        (label, child labels and words, begin, ends of the children) of each constituent.
    """

    tree: Tree
    log_prob: float
    fragments: tuple[int, ...]
    rules: tuple


class Parse(NamedTuple):
    """Trees of a sentence, the best first.

    Attributes
    ----------
    trees : list of (Tree, float)
        With ln of the derivation's probability (mpd), the share of the samples (mpp) or the expected number
        of right rules (mer); of none, −∞ or 0.
    is_flat : bool
        The grammar has no derivation.
    acceptance : float
        Share of the sampled derivations that were accepted; 1 for mpd.
    """

    trees: list[tuple[Tree, float]]
    is_flat: bool
    acceptance: float


class Parser:
    """A grammar ready to parse.

    Parameters
    ----------
    grammar : FlatGrammar
    trees : sequence of CountedFragment
        The elementary trees it was made of.
    weights : sequence of float
    concentration : dict from label to float
    roots : dict from label to float
        Shares of the roots of the treebank.
    beam : float
        See `fill_chart`.
    """

    def __init__(
        self,
        grammar: FlatGrammar,
        trees: list[CountedFragment],
        weights: list[float],
        concentration: dict[str, float],
        roots: dict[str, float],
        beam: float = 0.0,
    ):
        self.grammar, self.beam, self._trees = grammar, beam, trees
        ids = {name: at for at, name in enumerate(grammar.labels)}
        self._ids = ids
        self._roots = [(ids[name], share) for name, share in roots.items()]
        self._log_weights = [math.log(weight) if weight > 0.0 else -math.inf for weight in weights]
        totals: defaultdict[str, float] = defaultdict(float)
        for tree, count in trees:
            totals[tree.label] += count
        self._root_of = [tree.label for tree, _ in trees]
        self._mass = {name: totals[name] + concentration[name] for name in {t.label for t, _ in trees}}
        self._num_inner = len(grammar.binary) + len(grammar.unary)
        self._tree_of = np.concatenate([grammar.binary_tree, grammar.unary_tree, grammar.lexical_tree])
        self._open_class = self._tag_shares()
        self._rules = ChartRules(*(getattr(grammar, name) for name in ChartRules._fields))

    def _tag_shares(self) -> list[tuple[int, float]]:
        """How words that the grammar does not have may be tagged: as those with signatures are, or all."""
        grammar = self.grammar
        rare = {at for word, at in grammar.words.items() if is_signature(word)}
        shares: Counter[int] = Counter()
        for (symbol, word), weight in zip(grammar.lexical.tolist(), grammar.lexical_weight, strict=True):
            if symbol < len(grammar.labels) and (not rare or word in rare):
                shares[symbol] += weight
        return [(symbol, _UNSEEN * share) for symbol, share in shares.items()]

    def parse(
        self,
        rng: np.random.Generator,
        words: list[str],
        method: str,
        *,
        tags: list[str] | None = None,
        samples: int = 1000,
        nbest: int = 1,
        plain: Callable[[Tree], Tree] = lambda tree: tree,
    ) -> Parse:
        """The trees of a sentence.

        Parameters
        ----------
        rng : numpy.random.Generator
            Not used by mpd.
        words : list of str
            As the grammar knows them (`Preparation.words`).
        method : str
            One of `METHODS`.
        tags : list of str, optional
            The label above each word.
        samples : int
            For mpp and mer.
        nbest : int
            For mpp, how many trees at the most.
        plain : function
            What becomes of the trees of derivations before they are counted, and returned.
        """
        leaves, chart, root = self._chart(words, tags, method == "mpd")
        if root is None:
            flat = plain(self.flat_tree(words, tags))
            return Parse([(flat, -math.inf if method == "mpd" else 0.0)], True, 1.0)
        if method == "mpd":
            best = self._derivation(words, self._backpointers(chart, root, len(words)))
            return Parse([(plain(best.tree), best.log_prob)], False, 1.0)
        derivations, acceptance = self._sample(rng, words, chart, leaves, samples)
        drawn = _with_trees(derivations, plain)
        if method == "mpp":
            ranked = Counter(derivation.tree for derivation in drawn).most_common(nbest)
            return Parse([(tree, count / samples) for tree, count in ranked], False, acceptance)
        return Parse([_best_rules(drawn)], False, acceptance)

    # --- charts -------------------------------------------------------------------------------------------

    def _chart(
        self, words: list[str], tags: list[str] | None, use_max: bool
    ) -> tuple[list, Chart, int | None]:
        """Leaves, chart and best root of a sentence, scaled so that no value is beyond all numbers."""
        n, scale = len(words), _SCALE
        for _ in range(_MOST_SCALES):
            leaves = self._leaves(words, tags, scale)
            chart = self._fill(leaves, use_max)
            root = self._best_root(chart, n)
            growth = _log_growth(chart, n, root is not None)
            if growth == 0.0:
                break
            scale *= math.exp(-growth)
        return leaves, chart, root

    def _leaves(
        self, words: list[str], tags: list[str] | None, scale: float = _SCALE
    ) -> list[list[tuple[int, int, float]]]:
        """(symbol, rule, weight) of every symbol right above each word."""
        grammar, found = self.grammar, []
        for at, word in enumerate(words):
            rows: list[tuple[int, int, float]] = []
            number = grammar.words.get(word)
            if number is not None:
                for r in range(grammar.lexical_start[number], grammar.lexical_start[number + 1]):
                    symbol = int(grammar.lexical[r, 0])
                    label = int(grammar.label[symbol])
                    if tags is None or label < 0 or grammar.labels[label] == tags[at]:
                        rows.append((symbol, self._num_inner + r, float(grammar.lexical_weight[r])))
            has_tag = any(grammar.label[symbol] >= 0 for symbol, _, _ in rows)
            unseen = self._num_inner + len(grammar.lexical)
            if tags is not None and not has_tag and tags[at] in self._ids:
                rows.append((self._ids[tags[at]], unseen, _UNSEEN))
            elif not rows:
                rows.extend((symbol, unseen, weight) for symbol, weight in self._open_class)
            top = max((weight for _, _, weight in rows), default=1.0)
            # The scale of a word: see `chart`.
            found.append([(symbol, rule, scale * weight / top) for symbol, rule, weight in rows])
        return found

    def _fill(self, leaves: list, use_max: bool) -> Chart:
        rows = [row for position in leaves for row in position]
        found = ChartLeaves(
            np.array([row[:2] for row in rows], np.int32).reshape(-1, 2),
            np.array([row[2] for row in rows], np.float64),
            np.cumsum([0, *(len(position) for position in leaves)]),
        )
        return fill_chart(self._rules, found, use_max, self.beam)

    def _best_root(self, chart: Chart, n: int) -> int | None:
        weighed = [(share * _value(chart, root, 0, n, n), root) for root, share in self._roots]
        weight, root = max(weighed, default=(0.0, 0))
        return root if weight > 0.0 else None

    def _backpointers(self, chart: Chart, root: int, n: int) -> list[tuple]:
        """(symbol, rule, begin, split, end) of every node of the best derivation, in preorder."""
        nodes, pending = [], [(root, 0, n)]
        while pending:
            symbol, i, j = pending.pop()
            at = _find(chart, symbol, i, j, n)
            rule, k = int(chart.rule[at]), int(chart.split[at])
            nodes.append((symbol, rule, i, k, j))
            pending.extend(self._below(rule, i, k, j))
        return nodes

    def _below(self, rule: int, i: int, k: int, j: int) -> list[tuple[int, int, int]]:
        """The symbols below a rule and their spans, the last first."""
        grammar = self.grammar
        if rule < len(grammar.binary):
            _, left, right = grammar.binary[rule].tolist()
            return [(right, k, j), (left, i, k)]
        if rule < self._num_inner:
            return [(int(grammar.unary[rule - len(grammar.binary), 1]), i, j)]
        return []

    # --- derivations --------------------------------------------------------------------------------------

    def _derivation(self, words: list[str], nodes: list[tuple]) -> Derivation:
        """The derivation whose nodes are these, in preorder."""
        grammar = self.grammar
        log_prob, fragments, rules = 0.0, [], []
        stack: list[list[tuple[Tree | str, int, int]]] = []  # parts with their spans
        for symbol, rule, i, _, j in reversed(nodes):
            if rule < len(grammar.binary):
                parts = stack.pop()
                parts = parts + stack.pop()
            elif rule < self._num_inner:
                parts = stack.pop()
            else:
                parts = [(words[i], i, j)]
            number = int(self._tree_of[rule]) if rule < len(self._tree_of) else -1 - i
            if rule >= len(self._tree_of):
                fragments.append(number)
                log_prob += math.log(_UNSEEN)
            elif number >= 0:
                fragments.append(number)
                log_prob += self._log_weights[number]
            label = int(grammar.label[symbol])
            if label >= 0:
                tree = Tree(grammar.labels[label], tuple(part for part, _, _ in parts))
                names, ends = tuple(_name(p) for p, _, _ in parts), tuple(e for _, _, e in parts)
                rules.append((tree.label, names, i, ends))
                parts = [(tree, i, j)]
            stack.append(parts)
        whole = stack[0][0][0]
        assert isinstance(whole, Tree)
        return Derivation(whole, log_prob, tuple(fragments), tuple(rules))

    def _log_exact(self, derivation: Derivation) -> float:
        """ln of the probability of the elementary trees one after the other, each seeing those before.

        With a discount this is near it: what a table that is opened within the sentence takes from those to
        come is left out.
        """
        total = derivation.log_prob
        used, roots = Counter[int](), Counter[str]()
        for number in derivation.fragments:
            if number < 0:
                continue
            root = self._root_of[number]
            mass = self._mass[root]
            if used[number] or roots[root]:
                weight = math.exp(self._log_weights[number])
                total += math.log((weight * mass + used[number]) / (mass + roots[root]) / weight)
            used[number] += 1
            roots[root] += 1
        return total

    def _sample(
        self, rng: np.random.Generator, words: list[str], chart: Chart, leaves: list, samples: int
    ) -> tuple[list[Derivation], float]:
        """Derivations of a Metropolis–Hastings chain that proposes from the chart, and the share accepted."""
        draw = _Draws(self, chart, leaves, len(words))
        current: Derivation | None = None
        excess, accepted, found = 0.0, 0, []
        known: dict[tuple, Derivation] = {}
        for _ in range(samples):
            nodes = draw.nodes(rng, self._roots)
            key = tuple(nodes)
            if key not in known:
                known[key] = self._derivation(words, nodes)
            proposed = known[key]
            ratio = self._log_exact(proposed) - proposed.log_prob
            if current is None or math.log1p(-rng.random()) < ratio - excess:
                current, excess = proposed, ratio
                accepted += 1
            found.append(current)
        return found, accepted / samples

    def flat_tree(self, words: list[str], tags: list[str] | None) -> Tree:
        """The root with a preterminal over each word, the word's commonest, and nothing between."""
        root = max(self._roots, key=lambda row: row[1])[0]
        commonest, unknown = self._commonest_tags
        shown = tags or [commonest.get(word, unknown) for word in words]
        parts = tuple(Tree(tag, (word,)) for tag, word in zip(shown, words, strict=True))
        return Tree(self.grammar.labels[root], parts)

    @cached_property
    def _commonest_tags(self) -> tuple[dict[str, str], str]:
        """The label most often right above each word of the elementary trees, and above an unknown one."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for tree, count in self._trees:
            for label, word in zip(preterminals(tree), leaves(tree), strict=True):
                counts[word][label] += count  # type: ignore[assignment]
        rare = [above for word, above in counts.items() if is_signature(word)] or counts.values()
        unknown = sum(rare, Counter())
        return {word: _commonest(above) for word, above in counts.items()}, _commonest(unknown)


def _commonest(counts: Counter[str]) -> str:
    return counts.most_common(1)[0][0]


class _Draws:
    """Derivations drawn from a chart of sums; what a symbol over a span may become is worked out once."""

    def __init__(self, parser: Parser, chart: Chart, leaves: list, n: int):
        self._parser, self._chart, self._leaves, self._n = parser, chart, leaves, n
        self._known: dict[tuple[int, int, int], tuple[list, list, list[float]]] = {}

    def nodes(self, rng: np.random.Generator, roots: list[tuple[int, float]]) -> list[tuple]:
        """The nodes of a derivation in preorder, as `_backpointers` gives them."""
        n = self._n
        sums = list(itertools.accumulate(share * _value(self._chart, root, 0, n, n) for root, share in roots))
        root = roots[bisect.bisect_right(sums, rng.random() * sums[-1])][0]
        found, pending = [], [(root, 0, n)]
        while pending:
            item = pending.pop()
            if item not in self._known:
                self._known[item] = self._alternatives(*item)
            rules, splits, sums = self._known[item]
            at = bisect.bisect_right(sums, rng.random() * sums[-1]) if len(rules) > 1 else 0
            symbol, i, j = item
            found.append((symbol, rules[at], i, splits[at], j))
            pending.extend(self._parser._below(rules[at], i, splits[at], j))
        return found

    def _alternatives(self, symbol: int, i: int, j: int) -> tuple[list, list, list[float]]:
        found: Any = alternatives(self._parser._rules, self._chart, self._n, symbol, i, j)
        rules, splits, weights = (array.tolist() for array in found)
        if j == i + 1:
            for leaf, rule, weight in self._leaves[i]:
                if leaf == symbol:
                    rules.append(rule)
                    splits.append(i)
                    weights.append(weight)
        return rules, splits, list(itertools.accumulate(weights))


def _name(part: Tree | str) -> tuple[str, bool]:
    """Label or word, and which it is."""
    return (part, True) if isinstance(part, str) else (part.label, False)


def _find(chart: Chart, symbol: int, i: int, j: int, n: int) -> int:
    """Where a symbol over a span is among the items, or −1."""
    cell = i * (n + 1) + j
    start, stop = int(chart.start[cell]), int(chart.stop[cell])
    places = np.flatnonzero(chart.symbol[start:stop] == symbol)
    return start + int(places[0]) if len(places) else -1


def _value(chart: Chart, symbol: int, i: int, j: int, n: int) -> float:
    at = _find(chart, symbol, i, j, n)
    return float(chart.value[at]) if at >= 0 else 0.0


def _log_growth(chart: Chart, n: int, is_derived: bool) -> float:
    """By how much less, in ln, each word should count so that values are numbers again; 0 if they are."""
    too_large = bool(np.isinf(chart.value).any())
    if not too_large and (is_derived or not len(chart.value) or chart.value.min() > _FAINT):
        return 0.0
    begin, end = np.divmod(np.arange(len(chart.start)), n + 1)
    best: defaultdict[int, float] = defaultdict(float)
    for cell in np.flatnonzero(chart.stop > chart.start):
        width = int(end[cell] - begin[cell])
        best[width] = max(best[width], float(chart.value[chart.start[cell] : chart.stop[cell]].max()))
    width = max(width for width, value in best.items() if math.isfinite(value))
    growth = math.log(best[width]) / width
    if too_large:
        return growth - _LARGEST_LOG / n
    return growth if abs(growth) > _SMALLEST_GROWTH else 0.0


def _with_trees(drawn: list[Derivation], plain: Callable[[Tree], Tree]) -> list[Derivation]:
    """Derivations with other trees; a derivation that was kept several times is one object."""
    changed: dict[int, Derivation] = {}
    for derivation in drawn:
        if id(derivation) not in changed:
            tree = plain(derivation.tree)
            rules = derivation.rules if tree is derivation.tree else _rules(tree)
            changed[id(derivation)] = derivation._replace(tree=tree, rules=rules)
    return [changed[id(derivation)] for derivation in drawn]


def _rules(tree: Tree) -> tuple:
    """What `Derivation` says of the constituents of a tree, the root last."""
    found: list[tuple] = []
    places = itertools.count()

    def combine(label: str, parts: list[tuple[tuple[str, bool], int, int]]) -> tuple:
        begin, ends = parts[0][1], tuple(end for _, _, end in parts)
        found.append((label, tuple(part for part, _, _ in parts), begin, ends))
        return (label, False), begin, ends[-1]

    def word(text: str) -> tuple:
        at = next(places)
        return (text, True), at, at + 1

    fold(tree, combine, word)
    return tuple(found)


def _best_rules(drawn: list[Derivation]) -> tuple[Tree, float]:
    """The tree of productions in the samples with the largest sum of shares; no chain repeats a label."""
    counts: Counter[tuple] = Counter(rule for derivation in drawn for rule in set(derivation.rules))
    by_item: defaultdict[tuple[str, int, int], list[tuple[tuple, float]]] = defaultdict(list)
    for rule, count in counts.items():
        label, _, begin, ends = rule
        by_item[label, begin, ends[-1]].append((rule, count / len(drawn)))
    best: dict[tuple[str, int, int], tuple[float, Tree]] = {}

    def solve(item: tuple[str, int, int], above: frozenset[str]) -> tuple[float, Tree] | None:
        if not above and item in best:
            return best[item]
        label, _, end = item
        top: tuple[float, Tree] | None = None
        for (_, parts, begin, ends), share in by_item[item]:
            total, children, position = share, [], begin
            for (name, is_word), stop in zip(parts, ends, strict=True):
                if is_word:
                    children.append(name)
                else:
                    whole = stop == end and position == begin
                    chain = above | {label} if whole else frozenset()
                    below = None if name in chain else solve((name, position, stop), chain)
                    if below is None:
                        break
                    total += below[0]
                    children.append(below[1])
                position = stop
            else:
                if top is None or total > top[0]:
                    top = total, Tree(label, tuple(children))
        if not above and top is not None:
            best[item] = top
        return top

    # From short spans to long ones, so that the recursion is never deeper than a chain.
    for item in sorted(by_item, key=lambda item: item[2] - item[1]):
        solve(item, frozenset())
    roots = Counter((derivation.tree.label, derivation.rules[-1][3][-1]) for derivation in drawn)
    candidates = [best[label, 0, end] for label, end in roots if (label, 0, end) in best]
    total, tree = max(candidates, key=lambda row: row[0])
    return tree, total
