"""A learnt grammar flattened: context-free rules over labels and over the insides of elementary trees.

Every different subtree inside the elementary trees is a symbol of its own, with one rule, of weight 1, to
what it is made of (Goodman 1996 does so for all fragments); the rule at the root of an elementary tree has
the tree's probability,

    (n_e + α_c P₀(e | c)) / (n_c + α_c),

and the productions of the treebank that no derivation uses are elementary trees with n_e = 0 (Cohn et al.
2009, section 4). Longer right-hand sides are spelled by further symbols, words beside constituents by one for
each word. A derivation of the flat grammar is one of the TSG, of the same weight.

The fact a newcomer would get wrong: the weights do not sum to one, for what the base gives to elementary
trees that are not there is missing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monolingual.tsg.fragments import CountedFragment
from monolingual.tsg.trees import Tree, fold

__all__ = ["FlatGrammar", "base_probability", "flatten", "fragment_weights", "production_key"]


class FlatGrammar(NamedTuple):
    """Rules by kind, those with symbols below sorted by the (left) symbol below.

    Attributes
    ----------
    labels : tuple of str
        The first symbols.
    label : int32, shape (symbols,)
        The label of each symbol; −1 for those that spell, −2 − w for word w.
    binary : int32, shape (B, 3)
        Parent, left, right.
    binary_weight : float64, shape (B,)
    binary_start : int64, shape (symbols + 1,)
        Rules by their left symbol.
    binary_tree : int32, shape (B,)
        The elementary tree whose root the rule expands, or −1 inside of one.
    unary : int32, shape (U, 2)
        Parent, child.
    unary_weight : float64, shape (U,)
    unary_start : int64, shape (symbols + 1,)
        By child.
    unary_tree : int32, shape (U,)
    lexical : int32, shape (L, 2)
        Parent, word; sorted by word.
    lexical_weight : float64, shape (L,)
    lexical_start : int64, shape (words + 1,)
    lexical_tree : int32, shape (L,)
    words : dict from str to int
    by_parent, by_parent_start : int64
        Binary rules (b), unary rules (B + u), by parent.
    """

    labels: tuple[str, ...]
    label: np.ndarray
    binary: np.ndarray
    binary_weight: np.ndarray
    binary_start: np.ndarray
    binary_tree: np.ndarray
    unary: np.ndarray
    unary_weight: np.ndarray
    unary_start: np.ndarray
    unary_tree: np.ndarray
    lexical: np.ndarray
    lexical_weight: np.ndarray
    lexical_start: np.ndarray
    lexical_tree: np.ndarray
    words: dict[str, int]
    by_parent: np.ndarray
    by_parent_start: np.ndarray


def base_probability(fragment: Tree, log_production: dict[tuple, float], stop: dict[str, float]) -> float:
    """P₀ of an elementary tree given its root.

    Parameters
    ----------
    fragment : Tree
    log_production : dict
        ln P of (label, child, child, …), a word being a tuple of its own.
    stop : dict from label to float
        1 − β.
    """
    total = 0.0
    pending = [fragment]
    while pending:
        node = pending.pop()
        total += log_production[production_key(node)]
        for child in node.children:
            if isinstance(child, str):
                continue
            if child.children:
                total += math.log1p(-stop[child.label]) if stop[child.label] < 1.0 else -math.inf
                pending.append(child)
            else:
                total += _log(stop[child.label])
    return math.exp(total)


def _log(prob: float) -> float:
    return math.log(prob) if prob > 0.0 else -math.inf


def production_key(node: Tree) -> tuple:
    """(label, child, child, …): the production at a node, of labels and words."""
    return (node.label, *((child,) if isinstance(child, str) else child.label for child in node.children))


def fragment_weights(
    fragments: Sequence[CountedFragment],
    productions: Sequence[CountedFragment],
    base: str,
    concentration: dict[str, float],
    stop: dict[str, float],
) -> tuple[list[CountedFragment], list[float]]:
    """All elementary trees to parse with and their probabilities given their roots.

    Parameters
    ----------
    fragments, productions : sequence of CountedFragment
        Elementary trees with their counts, under a discount with `learnt.predictive_counts`; the productions
        of the treebank with theirs.
    base : str
        `uniform` or `pcfg`.
    concentration, stop : dict from label to float

    Returns
    -------
    (trees, weights) : the fragments, then the productions that are none of them, with count 0
    """
    totals: Counter[str] = Counter()
    for tree, count in productions:
        totals[tree.label] += count  # type: ignore[assignment]
    if base == "pcfg":
        logs = {production_key(tree): math.log(count / totals[tree.label]) for tree, count in productions}
    else:
        widest = max(len(tree.children) for tree, _ in productions)
        words = {child for tree, _ in productions for child in tree.children if isinstance(child, str)}
        labels = {tree.label for tree, _ in productions}
        per_symbol = math.log(len(words) + len(labels))
        logs = {
            production_key(tree): -math.log(widest) - len(tree.children) * per_symbol
            for tree, _ in productions
        }
    used = {tree for tree, _ in fragments if all(isinstance(c, str) or not c.children for c in tree.children)}
    trees = [*fragments, *(CountedFragment(tree, 0.0) for tree, _ in productions if tree not in used)]
    customers: Counter[str] = Counter()
    for tree, count in fragments:
        customers[tree.label] += count  # type: ignore[assignment]
    weights = []
    for tree, count in trees:
        alpha = concentration[tree.label]
        base_mass = alpha * base_probability(tree, logs, stop)
        weights.append((count + base_mass) / (customers[tree.label] + alpha))
    return trees, weights


class _Builder:
    """Symbols and rules as they come up."""

    def __init__(self, labels: tuple[str, ...]):
        self.labels = labels
        self.label = list(range(len(labels)))
        self.words: dict[str, int] = {}
        self.symbols: dict[tuple, int] = {}
        self.rules: list[tuple[int, tuple[int, ...], float, int]] = []
        self.lexical: list[tuple[int, int, float, int]] = []
        self._label_ids = {name: at for at, name in enumerate(labels)}

    def add(self, fragment: Tree, weight: float, number: int) -> None:
        """Add an elementary tree."""
        children = [self._part(child) for child in fragment.children]
        self._expand(self._label_ids[fragment.label], children, weight, number)

    def _part(self, child: Tree | str) -> int:
        """The symbol of a child, or −1 − w for a word."""
        return self.word(child) if isinstance(child, str) else fold(child, self.inside, self.word)

    def inside(self, label: str, parts: list[int]) -> int:
        """The symbol of a subtree inside an elementary tree, or of a frontier nonterminal."""
        at = self._label_ids[label]
        if not parts:
            return at
        key = (at, *parts)
        if key not in self.symbols:
            self.symbols[key] = self._new(at)
            self._expand(self.symbols[key], parts, 1.0, -1)
        return self.symbols[key]

    def word(self, word: str) -> int:
        """−1 − its number."""
        return -1 - self.words.setdefault(word, len(self.words))

    def _new(self, label: int) -> int:
        self.label.append(label)
        return len(self.label) - 1

    def _expand(self, parent: int, parts: list[int], weight: float, number: int) -> None:
        if len(parts) == 1 and parts[0] < 0:
            self.lexical.append((parent, -1 - parts[0], weight, number))
            return
        symbols = [self._spelled(part) if part < 0 else part for part in parts]
        while len(symbols) > 2:
            key = (-1, *symbols[-2:])
            if key not in self.symbols:
                self.symbols[key] = self._new(-1)
                self.rules.append((self.symbols[key], (symbols[-2], symbols[-1]), 1.0, -1))
            symbols[-2:] = [self.symbols[key]]
        self.rules.append((parent, tuple(symbols), weight, number))

    def _spelled(self, part: int) -> int:
        """The symbol that stands for a word beside constituents."""
        key = (-2, part)
        if key not in self.symbols:
            self.symbols[key] = self._new(-1 + part)
            self.lexical.append((self.symbols[key], -1 - part, 1.0, -1))
        return self.symbols[key]


def flatten(trees: Sequence[CountedFragment], weights: Sequence[float]) -> FlatGrammar:
    """The flat grammar of elementary trees with these weights.

    Parameters
    ----------
    trees : sequence of CountedFragment
    weights : sequence of float
    """
    names = dict.fromkeys(name for tree, _ in trees for name in [tree.label, *_frontier_labels(tree)])
    builder = _Builder(tuple(names))
    for number, ((tree, _), weight) in enumerate(zip(trees, weights, strict=True)):
        builder.add(tree, weight, number)
    size = len(builder.label)
    binary = sorted((r for r in builder.rules if len(r[1]) == 2), key=lambda r: r[1])
    unary = sorted((r for r in builder.rules if len(r[1]) == 1), key=lambda r: r[1])
    lexical = sorted(builder.lexical, key=lambda r: r[1])
    parents = np.array([r[0] for r in binary] + [r[0] for r in unary], np.int64)
    return FlatGrammar(
        builder.labels,
        np.array(builder.label, np.int32),
        np.array([(r[0], *r[1]) for r in binary], np.int32).reshape(-1, 3),
        np.array([r[2] for r in binary], np.float64),
        _starts([r[1][0] for r in binary], size),
        np.array([r[3] for r in binary], np.int32),
        np.array([(r[0], *r[1]) for r in unary], np.int32).reshape(-1, 2),
        np.array([r[2] for r in unary], np.float64),
        _starts([r[1][0] for r in unary], size),
        np.array([r[3] for r in unary], np.int32),
        np.array([r[:2] for r in lexical], np.int32).reshape(-1, 2),
        np.array([r[2] for r in lexical], np.float64),
        _starts([r[1] for r in lexical], len(builder.words)),
        np.array([r[3] for r in lexical], np.int32),
        builder.words,
        np.argsort(parents, kind="stable").astype(np.int64),
        _starts(np.sort(parents).tolist(), size),
    )


def _frontier_labels(tree: Tree) -> list[str]:
    """The labels of all constituents below the root."""
    found: list[str] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        for child in node.children:
            if not isinstance(child, str):
                found.append(child.label)
                pending.append(child)
    return found


def _starts(keys: list[int], size: int) -> np.ndarray:
    return np.searchsorted(np.array(keys, np.int64), np.arange(size + 1)).astype(np.int64)
