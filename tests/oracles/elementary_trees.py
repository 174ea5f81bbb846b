"""Derivations of small treebanks by a tree substitution grammar, enumerated, and their probabilities.

Nothing here looks at the sampler: elementary trees are nested tuples, and the Dirichlet process is spelled
out customer by customer, as in equation 2 of Cohn, Goldwater and Blunsom (2009).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from monolingual.tsg.trees import Tree
from tests.oracles.seatings import log_named_seatings, partitions

__all__ = [
    "bases",
    "cut_posterior",
    "derivations",
    "elementary_trees",
    "log_joint",
    "nodes_below_root",
    "seating_posterior",
]

Seating = frozenset[tuple[tuple, tuple[int, ...]]]
"""Elementary trees, each with the sizes of its tables, ascending."""


def nodes_below_root(tree: Tree) -> list[Tree]:
    """The constituents of a tree in preorder, without its root."""
    found: list[Tree] = []
    for child in tree.children:
        if not isinstance(child, str):
            found.append(child)
            found.extend(nodes_below_root(child))
    return found


def elementary_trees(tree: Tree, cuts: Sequence[int]) -> list[tuple]:
    """The elementary trees of a derivation, as nested tuples; (label,) is a frontier nonterminal.

    `cuts` has a bit for every constituent below the root, in preorder.
    """
    heads: list[tuple] = []
    bits = iter(cuts)

    def part(node: Tree) -> tuple:
        children = []
        for child in node.children:
            if isinstance(child, str):
                children.append(child)
            elif next(bits):
                children.append((child.label,))
                heads.append(part(child))
            else:
                children.append(part(child))
        return (node.label, *children)

    heads.append(part(tree))
    return heads


def derivations(trees: Sequence[Tree]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All choices of cut bits for all trees."""
    per_tree = [list(itertools.product((0, 1), repeat=len(nodes_below_root(tree)))) for tree in trees]
    return itertools.product(*per_tree)


def bases(trees: Sequence[Tree], base: str) -> Callable[[str, tuple], float]:
    """P(production | label) of the base `uniform` or `pcfg`: a function of label and right-hand side."""
    nodes = [node for tree in trees for node in [tree, *nodes_below_root(tree)]]
    rules = Counter((node.label, _right_hand_side(node)) for node in nodes)
    labels = Counter(node.label for node in nodes)
    words = {child for node in nodes for child in node.children if isinstance(child, str)}
    widest = max(len(node.children) for node in nodes)

    def prob(label: str, rhs: tuple) -> float:
        if base == "pcfg":
            return rules[label, rhs] / labels[label]
        return 1.0 / widest / (len(labels) + len(words)) ** len(rhs)

    return prob


def _right_hand_side(node: Tree) -> tuple:
    return tuple(c if isinstance(c, str) else (c.label,) for c in node.children)


def _base(fragment: tuple, prob: Callable[[str, tuple], float], stop: Mapping[str, float]) -> float:
    """P₀ of an elementary tree."""
    rhs = tuple(part if isinstance(part, str) else part[:1] for part in fragment[1:])
    value = prob(fragment[0], rhs)
    for part in fragment[1:]:
        if not isinstance(part, str):
            value *= stop[part[0]] if len(part) == 1 else (1.0 - stop[part[0]]) * _base(part, prob, stop)
    return value


def log_joint(
    elementary: Sequence[tuple],
    prob: Callable[[str, tuple], float],
    concentration: Mapping[str, float],
    stop: Mapping[str, float],
) -> float:
    """ln P of elementary trees drawn one after the other."""

    seen: Counter[tuple] = Counter()
    roots: Counter[str] = Counter()
    total = 0.0
    for fragment in elementary:
        root = fragment[0]
        mass = seen[fragment] + concentration[root] * _base(fragment, prob, stop)
        total += math.log(mass / (roots[root] + concentration[root]))
        seen[fragment] += 1
        roots[root] += 1
    return total


def cut_posterior(
    trees: Sequence[Tree], base: str, concentration: Mapping[str, float], stop: Mapping[str, float]
) -> dict[tuple[tuple[int, ...], ...], float]:
    """The posterior probability of every choice of cut bits."""
    prob = bases(trees, base)
    logs = {
        cuts: log_joint(
            [e for tree, bits in zip(trees, cuts, strict=True) for e in elementary_trees(tree, bits)],
            prob,
            concentration,
            stop,
        )
        for cuts in derivations(trees)
    }
    return _normalised(logs)


def _normalised(logs: dict) -> dict:
    top = max(logs.values())
    total = sum(math.exp(value - top) for value in logs.values())
    return {state: math.exp(value - top) / total for state, value in logs.items()}


def seating_posterior(
    trees: Sequence[Tree], base: str, concentration: float, stop: Mapping[str, float], discount: float
) -> dict[tuple[tuple[tuple[int, ...], ...], Seating], float]:
    """The posterior probability of cut bits and seatings under Pitman–Yor processes (Teh 2006), d above 0.

    A seating stands for all of named customers with its table sizes.
    """
    prob, d = bases(trees, base), discount
    logs = {}
    for cuts in derivations(trees):
        heads = [e for tree, bits in zip(trees, cuts, strict=True) for e in elementary_trees(tree, bits)]
        customers, roots = Counter(heads), Counter(head[0] for head in heads)
        totals = sum(math.log(concentration + i) for n in roots.values() for i in range(n))
        for combination in itertools.product(*(list(partitions(n)) for n in customers.values())):
            value, tables = -totals, Counter()
            for fragment, sizes in zip(customers, combination, strict=True):
                value += len(sizes) * math.log(_base(fragment, prob, stop)) + log_named_seatings(sizes)
                value += sum(math.log(i - d) for size in sizes for i in range(1, size))
                tables[fragment[0]] += len(sizes)
            value += sum(math.log(concentration + k * d) for n in tables.values() for k in range(n))
            logs[cuts, frozenset(zip(customers, combination, strict=True))] = value
    return _normalised(logs)
