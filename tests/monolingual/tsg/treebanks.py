"""Small treebanks, and chains on them, for the tests of the TSG sampler."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict

import numpy as np

from monolingual.tsg.sampler import TsgLearner, TsgState
from monolingual.tsg.settings import TsgSettings
from monolingual.tsg.treebank import build_treebank
from monolingual.tsg.trees import Tree
from tests.oracles.elementary_trees import cut_posterior

__all__ = ["TREEBANKS", "cuts_of", "learner_of", "posterior_of", "start_at", "tree_of"]


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
    "two larger trees": ["(S (A (B b) (C c)))", "(S (A (B b) (C c)))"],
    "shared parts": ["(S (A (B b)) (B b))", "(S (A (B b)) (B c))"],
    "recursive": ["(S (A x (A x (A x))))", "(S (A x))"],
}


def learner_of(name: str, **settings) -> TsgLearner:
    """A chain on one of the treebanks."""
    settings = {"concentration": 2.0, "stop": 0.3, "moves": ("single",), "type_every": 1, **settings}
    return TsgLearner(build_treebank(map(tree_of, TREEBANKS[name])), TsgSettings(**settings))


def posterior_of(name: str, base: str, concentration: float = 2.0, stop: float = 0.3) -> dict:
    """The exact posterior of the cut bits."""
    trees = [tree_of(text) for text in TREEBANKS[name]]
    return cut_posterior(trees, base, defaultdict(lambda: concentration), defaultdict(lambda: stop))


def start_at(learner: TsgLearner, cuts: tuple[tuple[int, ...], ...], rng) -> TsgState:
    """The state with these cut bits."""
    codes = np.array([bit for bits in cuts for bit in (1, *bits)], np.uint16)
    return learner.seat(rng, codes, np.exp(learner.forest.log_expand))


def cuts_of(learner: TsgLearner, state: TsgState) -> tuple[tuple[int, ...], ...]:
    """The cut bits of a state."""
    starts = learner.treebank.node_start
    return tuple(
        tuple(int(code) & 1 for code in state.trees[first + 1 : stop])
        for first, stop in itertools.pairwise(starts)
    )
