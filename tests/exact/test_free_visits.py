"""Visits choice by choice where unaligned words are chosen along."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.learner.chain import pair_kernel
from scfg_sampler.learner.visited_pairs import pair_of_run
from scfg_sampler.learner.visits import visit
from tests.learner.test_visits import of_pairs
from tests.oracles.phrase_forest import sentence

SPARSE = [
    sentence("a x b y c d e a b", "E A B z v C D A B", "0-1 2-2 4-5 5-6 6-0 7-7"),
    *[sentence("a x b c", "A z B C", "0-0 2-2 3-3")] * 3,
]


@pytest.mark.parametrize(
    "settings",
    [{}, {"tables": "exact"}, {"order": "breadth-first", "max_cut_span": 2}],
    ids=["estimated", "exact", "must-be-cut"],
)
def test_visit_with_free_words_leaves_what_a_sweep_leaves(settings):
    """With the same draws, over several sweeps: trees with boxes, and seats."""
    last = of_pairs(SPARSE, unaligned="free", **settings)
    step = pair_kernel(last.bank, last.settings, [0]).step
    state, pair = copy_state(last.learner), pair_of_run(last, 0)
    rngs = np.random.default_rng(3), np.random.default_rng(3)
    placed = 0
    for _ in range(12):
        state, info = step(rngs[0], state)
        pair, choices = visit(rngs[1], pair)
        assert_array_equal(pair.trees, state.trees[: len(pair.trees)])
        for kind, changed in (("edge", info.edges_changed), ("cut", info.cuts_changed)):
            assert sum(each.kind == kind and each.before != each.chosen for each in choices) == changed
        for choice in choices:
            assert sum(option.share for option in choice.options) == pytest.approx(1.0, abs=1e-12)
            taken = choice.options[choice.chosen]
            if choice.kind == "cut" and taken.place is not None and choice.derivation is not None:
                rules = {(node.source, node.target): node.rule for node in nodes_of(choice.derivation)}
                assert rules[taken.place] == taken.rules[1]
                assert taken.rules[0] in rules.values()
                placed += taken.place != choice.place
    assert placed > 5
    seats = [each[np.lexsort(each.T)] for each in (state.restaurants.entries, pair.restaurants.entries)]
    assert_array_equal(*[each[each[:, 1] != 0] for each in seats])


def nodes_of(node):
    return [node, *(below for part in node.parts for below in nodes_of(part))]


def test_rules_with_free_words_are_counted_elsewhere():
    """As often as the derivations of the other pairs have them, and the rest of this one."""
    last = of_pairs(SPARSE, unaligned="free", model="dirichlet")
    rng, pair = np.random.default_rng(1), pair_of_run(last, 0)
    others = [node.rule for k in (1, 2, 3) for node in nodes_of(pair_of_run(last, k).derivation())]
    checked = 0
    for _ in range(8):
        before = [node.rule for node in nodes_of(pair.derivation())]
        pair, choices = visit(rng, pair)
        for choice in choices:
            if choice.kind == "cut" and choice.options[-1].place is not None:
                rest = list(before)
                for rule in choice.options[choice.before].rules:
                    rest.remove(rule)
                for option in choice.options:
                    assert option.seen == tuple(map((others + rest).count, option.rules))
                    checked += 1
            if choice.derivation is not None:
                before = [node.rule for node in nodes_of(choice.derivation)]
    assert checked > 50
