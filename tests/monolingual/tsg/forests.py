"""Small corpora of sentences with several trees, all their derivations, and the exact posterior.

Nothing here looks at the sampler: trees and cuts are enumerated from the forests' edges, and probabilities
are those of `tests.oracles.elementary_trees`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from monolingual.tsg.packed import PackedForest, binarise_forest, fill_brackets, pack_trees
from monolingual.tsg.sampler import TsgStart, TsgState
from monolingual.tsg.treebank import build_treebank
from monolingual.tsg.trees import Tree
from tests.monolingual.tsg.treebanks import Chain, chain_on, expand_of, tree_of
from tests.oracles.elementary_trees import elementary_trees, log_joint, nodes_below_root

__all__ = ["FORESTS", "codes_of", "forest_chain", "forest_posterior", "start_forest", "trees_of"]


def _packed(*texts: str, by: str = "trees") -> PackedForest:
    return pack_trees([tree_of(text) for text in texts], by)


FORESTS = {
    "a list of two": [_packed("(S (A a) (B b))", "(S (B (A a) (B b)))")],
    "a list, and a tree": [
        _packed("(S (A (A a)) (B b))", "(S (A a) (B b))"),
        _packed("(S (A a) (B b))"),
    ],
    "recombined": [_packed("(S (A (A a)) (A b))", "(S (A (B a)) (A b))", "(S (A (A a)) (B b))", by="spans")],
    "brackets": [fill_brackets(tree_of("(S (? a) a)"), ["A"], ["A", "B"])],
    "three words": [fill_brackets(tree_of("(? a a a)"), ["A"], ["A"])],
    "three children": [binarise_forest(_packed("(S a (A a) a)", "(S a a (A a))"))],
}


def _ranked_trees(forest: PackedForest) -> list[tuple[Tree, tuple[int, ...]]]:
    """All trees of a forest with the edges that make them, by their ranks in preorder."""

    def below(node: int) -> list[tuple[Tree, tuple[int, ...]]]:
        found = []
        for rank, edge in enumerate(forest.nodes[node].edges):
            options = [[(forest.words[-1 - c], ())] if c < 0 else below(c) for c in edge]
            for parts in itertools.product(*options):
                ranks = tuple(rank for _, ranks in parts for rank in ranks)
                found.append((Tree(forest.nodes[node].label, tuple(p for p, _ in parts)), (rank, *ranks)))
        return found

    return below(0)


def _derivations(forest: PackedForest) -> Iterator[tuple[Tree, tuple[int, ...], tuple[int, ...]]]:
    """All trees with all choices of cuts: tree, cut bits in preorder without the root, codes in preorder."""
    for tree, ranks in _ranked_trees(forest):
        for cuts in itertools.product((0, 1), repeat=len(ranks) - 1):
            codes = tuple(2 * rank + cut for rank, cut in zip(ranks, (1, *cuts), strict=True))
            yield tree, cuts, codes


def trees_of(forest: PackedForest) -> list[Tree]:
    """All trees of a forest."""
    return [tree for tree, _ in _ranked_trees(forest)]


def _bases(forests: list[PackedForest], base: str) -> Callable[[str, tuple], float]:
    """As `elementary_trees.bases`, the trees of a sentence sharing its weight equally."""
    rules: Counter = Counter()
    for forest in forests:
        trees = trees_of(forest)
        for tree in trees:
            for node in [tree, *nodes_below_root(tree)]:
                rhs = tuple(c if isinstance(c, str) else (c.label,) for c in node.children)
                rules[node.label, rhs] += 1.0 / len(trees)
    totals: Counter = Counter()
    for (label, _), count in rules.items():
        totals[label] += count
    words = {part for _, rhs in rules for part in rhs if isinstance(part, str)}
    widest = max(len(rhs) for _, rhs in rules)

    def prob(label: str, rhs: tuple) -> float:
        if base == "pcfg":
            return rules[label, rhs] / totals[label]
        return 1.0 / widest / (len(totals) + len(words)) ** len(rhs)

    return prob


def forest_posterior(name: str, base: str, concentration: float = 2.0, stop: float = 0.3) -> dict:
    """The exact posterior of the codes of all sentences."""
    forests = FORESTS[name]
    prob = _bases(forests, base)
    logs = {}
    for chosen in itertools.product(*map(_derivations, forests)):
        fragments = [e for tree, cuts, _ in chosen for e in elementary_trees(tree, cuts)]
        given = defaultdict(lambda: concentration), defaultdict(lambda: stop)
        logs[tuple(codes for _, _, codes in chosen)] = log_joint(fragments, prob, *given)
    top = max(logs.values())
    total = sum(math.exp(value - top) for value in logs.values())
    return {codes: math.exp(value - top) / total for codes, value in logs.items()}


def forest_chain(name: str, **settings) -> Chain:
    """A chain on one of the corpora."""
    return chain_on(build_treebank([], FORESTS[name]), **settings)


def start_forest(chain: Chain, codes: tuple[tuple[int, ...], ...], rng) -> TsgState:
    """The state with these codes."""
    stored = np.zeros(chain.treebank.node_start[-1], np.uint16)
    for start, given in zip(chain.treebank.node_start[:-1], codes, strict=True):
        stored[start : start + len(given)] = given
    return chain.kernel.init(rng, TsgStart(stored, expand_of(chain)))


def codes_of(chain: Chain, state: TsgState) -> tuple[tuple[int, ...], ...]:
    """The codes of a state, as far as they are in use."""
    found = []
    bank = chain.treebank
    for first in bank.node_start[:-1].tolist():
        pending, codes = [0], []
        while pending:
            node = first + pending.pop()
            code = int(state.trees[first + len(codes)])
            codes.append(code)
            edge = int(bank.edge_start[node]) + (code >> 1)
            start, stop = bank.tail_start[edge : edge + 2].tolist()
            pending.extend(bank.tails[start:stop][::-1].tolist())
        found.append(tuple(codes))
    return tuple(found)
