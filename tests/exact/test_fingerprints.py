"""A rule has one fingerprint, however it is put together, and no other rule has it."""

from __future__ import annotations

import numpy as np
import pytest

from scfg_sampler.core.fragments import restaurant
from scfg_sampler.core.fragments.rules import row_of
from scfg_sampler.core.fragments.sampler import find_rules
from scfg_sampler.core.fragments.tree import BELOW, CUT, FINGERPRINT, decode, open_sentence
from scfg_sampler.learner.chain import rule_model
from scfg_sampler.learner.derivations import derivation
from tests.learner.corpora import Chain, chain_on, sentence_derivations
from tests.oracles.phrase_forest import sentence

# Rules that differ in the order of gaps alone, and in what stands between, before and behind them.
PAIRS = [
    sentence("a b a", "A B A", "0-0 1-1 2-2"),
    sentence("a b a", "A B A", "0-2 1-1 2-0"),
    sentence("a a b", "B A A", "0-1 1-2 2-0"),
    sentence("a x b a", "A B y A", "0-0 2-1 3-3"),
    sentence("b a x a", "A y A B", "0-3 1-0 3-2"),
    sentence("a b a b", "B A B A", "0-1 1-0 2-3 3-2"),
    sentence("a b a b", "B A B A", "0-1 1-3 2-0 3-2"),
    sentence("b a a b", "A B B A", "0-2 1-0 2-3 3-1"),
    sentence("a a b b", "y A A B B y", "0-1 1-2 2-3 3-4"),
    sentence("b a b a b a", "B A B A A B", "0-0 1-1 2-3 3-5 4-2 5-4"),  # Behind two, four that are no pairs.
]


def fingerprints(chain: Chain, codes, number: int) -> list[int]:
    """Those of the rules of a derivation of a pair, in preorder."""
    walk = chain.bank.walk
    model = rule_model(chain.bank, chain.settings, chain.settings.mean_length)
    restaurants = restaurant.new_restaurants(len(model.log_length), discount=0.5, strength=1.0, exact=True)
    open_sentence(walk.forest, walk.work, walk.corpus, number)
    size = decode(walk.forest, walk.work, codes, walk.tree_start[number], 0)
    find_rules(walk.forest, model, restaurants, walk.work, size)
    heads = [node for node in walk.work.lists[BELOW, :size] if walk.work.nodes[node, CUT]]
    return [int(walk.work.rules[row_of(node), FINGERPRINT]) for node in heads]


def texts(node) -> list[str]:
    """The rules of a derivation in preorder."""
    return [node.rule, *(rule for part in node.parts for rule in texts(part))]


@pytest.mark.parametrize("settings", [{}, {"unaligned": "free", "max_attached": 1}], ids=["lowest", "free"])
def test_fingerprints_are_those_of_rules(settings):
    chain = chain_on(PAIRS, max_cut_span=0, **settings)
    rules: dict[int, str] = {}
    times = 0
    for number, pair in enumerate(PAIRS):
        for codes, _ in sentence_derivations(chain, pair):
            trees = np.zeros(chain.bank.tree_start[-1], chain.bank.code_type)
            trees[slice(*chain.bank.tree_start[number : number + 2])] = codes
            spelled = texts(derivation(chain.bank, trees, number))
            for text, found in zip(spelled, fingerprints(chain, trees, number), strict=True):
                assert rules.setdefault(found, text) == text, "two rules have a fingerprint"
                times += 1
    assert len(set(rules.values())) == len(rules), "a rule has two fingerprints"
    # Among them are rules that differ in the order of their gaps, and most come more than once.
    assert "[X,1] b [X,2] ||| [X,2] B [X,1]" in rules.values()
    assert "[X,1] b [X,2] ||| [X,1] B [X,2]" in rules.values()
    assert times > 10 * len(rules)
