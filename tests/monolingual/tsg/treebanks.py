"""Small treebanks, and chains on them, for the tests of the TSG sampler."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from monolingual.tsg.sampler import TsgStart, TsgState, tsg_kernel
from monolingual.tsg.settings import TsgSettings
from monolingual.tsg.treebank import Treebank, build_treebank
from monolingual.tsg.trees import Tree
from scfg_sampler.core.chains.kernel import Kernel
from tests.oracles.elementary_trees import cut_posterior

__all__ = [
    "TREEBANKS",
    "Chain",
    "chain_of",
    "chain_on",
    "cuts_of",
    "expand_of",
    "posterior_of",
    "start_at",
    "tree_of",
]


class Chain(NamedTuple):
    """A chain on a treebank, and what it was made of."""

    treebank: Treebank
    settings: TsgSettings
    kernel: Kernel


def tree_of(text: str) -> Tree:
    """A tree from its bracketed text."""
    stack: list[list] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            label, *children = stack.pop()
            stack[-1].append(Tree(label, tuple(children)))
        else:
            stack[-1].append(token)
    return stack[0][0]


TREEBANKS = {
    "one chain": ["(S (A (A (A a))))"],
    "two short trees": ["(S (A (A a)))", "(S (A a))"],
    "two trees alike": ["(S (A a) (B b))", "(S (A a) (B b))"],
    "two chains alike": ["(S (A (A a)))", "(S (A (A a)))"],
    "two larger trees": ["(S (A (B b) (C c)))", "(S (A (B b) (C c)))"],
    "shared parts": ["(S (A (B b)) (B b))", "(S (A (B b)) (B c))"],
    "recursive": ["(S (A x (A x (A x))))", "(S (A x))"],
}


def chain_on(treebank: Treebank, **settings) -> Chain:
    """A chain on a treebank, with the settings of most tests."""
    settings = {"concentration": 2.0, "stop": 0.3, "moves": ("single",), "type_every": 1, **settings}
    given = TsgSettings(**settings)
    return Chain(treebank, given, tsg_kernel(treebank, given))


def chain_of(name: str, **settings) -> Chain:
    """A chain on one of the treebanks."""
    return chain_on(build_treebank(map(tree_of, TREEBANKS[name])), **settings)


def expand_of(chain: Chain) -> np.ndarray:
    """β as fixed by the settings, or where it begins."""
    stop = 0.5 if chain.settings.stop is None else chain.settings.stop
    return np.full(len(chain.treebank.productions.labels), 1.0 - stop)


def posterior_of(name: str, base: str, concentration: float = 2.0, stop: float = 0.3) -> dict:
    """The exact posterior of the cut bits."""
    trees = [tree_of(text) for text in TREEBANKS[name]]
    return cut_posterior(trees, base, defaultdict(lambda: concentration), defaultdict(lambda: stop))


def start_at(chain: Chain, cuts: tuple[tuple[int, ...], ...], rng, expand=None) -> TsgState:
    """The state with these cut bits, and β if given."""
    codes = np.array([bit for bits in cuts for bit in (1, *bits)], np.uint16)
    return chain.kernel.init(rng, TsgStart(codes, expand_of(chain) if expand is None else expand))


def cuts_of(chain: Chain, state: TsgState) -> tuple[tuple[int, ...], ...]:
    """The cut bits of a state."""
    starts = chain.treebank.node_start
    return tuple(
        tuple(int(code) & 1 for code in state.trees[first + 1 : stop])
        for first, stop in itertools.pairwise(starts)
    )
