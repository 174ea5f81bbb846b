"""πT = π where any rule may take an unaligned word: by enumeration, against derivations by definition."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from scfg_sampler.forest import attachments
from scfg_sampler.learner.derivations import Derivation, derivation
from tests.exact.test_sampler_stationarity import departure
from tests.learner.corpora import all_derivations, chain_on
from tests.oracles import loose_derivations
from tests.oracles.phrase_forest import sentence

CORPORA = {
    "both ends": [sentence("x a b", "A B z", "1-0 2-1")],
    "a gap on either side": [sentence("a x b", "A z B", "0-0 2-2")],
    "a gap and an end, inverted": [sentence("a x b", "B A z", "0-1 2-0")],
    "three blocks": [sentence("a b c", "A z B C", "0-0 1-2 2-3")],
    "three blocks, inverted": [sentence("a x b c", "C B A", "0-2 2-1 3-0")],
    "two words in a gap": [sentence("a b", "A z z B", "0-0 1-3")],
    "inside a minimal rule": [sentence("a b c d", "B z D A C", "0-3 1-0 2-4 3-2")],
    "two sentences sharing rules": [
        sentence("a b", "A z B", "0-0 1-2"),
        sentence("b a", "z B A", "0-1 1-2"),
    ],
}
MODELS = {
    "pitman-yor, exact": {"tables": "exact"},
    "d = 0": {"discount": 0.0},
    "pitman-yor, lexical, exact": {"tables": "exact", "base": "lexical"},
}


def free_chain(pairs, **settings):
    return chain_on(pairs, unaligned="free", **settings)


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_states_spell_the_rules_of_the_definition_each_once(name, limit):
    chain = free_chain(CORPORA[name][:1], max_cut_span=limit)
    pair = CORPORA[name][0]
    seen = Counter()
    plain = Counter()
    for codes, boxed in all_derivations(chain, pair):
        found = derivation(chain.bank, np.array(codes, np.uint32), 0)
        rules = loose_derivations.rules(pair, boxed)
        assert dict(_boxed_rules(found)) == rules
        # The same rules at the same places come as often as there are trees inside the rules, no more.
        heads = frozenset(node for node, box, _ in loose_derivations.preorder(pair, boxed) if box)
        seen[heads, frozenset(rules.items())] += 1
        if all(node == box for node, box, _ in loose_derivations.preorder(pair, boxed) if box):
            plain[heads] += 1
    assert len(seen) > len(plain)
    assert {(heads, number) for (heads, _), number in seen.items()} == set(plain.items())
    places = Counter(rules for _, rules in seen)
    assert max(places.values()) == 1


def _boxed_rules(found: Derivation):
    yield (*found.source, *found.target), tuple(found.rule.split(" ||| "))
    for part in found.parts:
        yield from _boxed_rules(part)


def _cases():
    for name, model in itertools.product(CORPORA, MODELS):
        slow = name == "two sentences sharing rules" and "exact" in model
        yield pytest.param(name, model, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("name", "model"), list(_cases()))
def test_sweep_leaves_posterior_invariant(name, model):
    pairs = CORPORA[name]
    assert departure(free_chain(pairs, max_cut_span=0, **MODELS[model]), pairs) < 1e-12


@pytest.mark.parametrize("name", [name for name in CORPORA if name != "two sentences sharing rules"])
@pytest.mark.parametrize("model", MODELS)
def test_sweep_with_a_cut_span_limit_leaves_posterior_invariant(name, model):
    pairs = CORPORA[name]
    assert departure(free_chain(pairs, max_cut_span=2, **MODELS[model]), pairs) < 1e-12
