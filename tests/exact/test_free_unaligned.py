"""πT = π where any rule may take an unaligned word: by enumeration, against derivations by definition."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from scfg_sampler.forest import attachments
from scfg_sampler.learner.derivations import Derivation, derivation
from tests.exact.test_sampler_stationarity import departure
from tests.learner.corpora import chain_on, sentence_derivations
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
    for codes, boxed in sentence_derivations(chain, pair):
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


# Every node is cut: edges and boxes alone are chosen.
EDGES = {
    "three blocks": [sentence("a b c d e f", "A z B C", "0-0 1-0 2-2 3-2 4-3 5-3")],
    "three blocks, inverted": [sentence("a b x c d e f", "C B z A", "0-3 1-3 3-1 4-1 5-0 6-0")],
    "three blocks, beside the last": [sentence("a b c d e f", "A B z C", "0-0 1-0 2-1 3-1 4-3 5-3")],
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", EDGES)
def test_sweep_of_edges_and_boxes_leaves_posterior_invariant(name, model):
    pairs = EDGES[name]
    assert departure(free_chain(pairs, max_cut_span=1, **MODELS[model]), pairs) < 1e-12


# More unaligned words than a rule may take in on a side.
RUNS = {
    "in a gap": [sentence("a b", "A z z B", "0-0 1-3")],
    "in both gaps, inverted": [sentence("a x x b", "B z z A", "0-3 3-0")],
    "at the ends": [sentence("x x a b", "A B z z", "2-0 3-1")],
}
RUNS_OF_BLOCKS = [sentence("a b c d e f", "A z z B C", "0-0 1-0 2-3 3-3 4-4 5-4")]


@pytest.mark.parametrize("name", RUNS)
def test_sweep_leaves_posterior_invariant_where_rules_take_in_a_part_of_the_words(name):
    pairs = RUNS[name]
    chain = free_chain(pairs, max_cut_span=0, max_attached=1, discount=0.0)
    # With both words a node would have more boxes.
    free = free_chain(pairs, max_cut_span=0, discount=0.0)
    few, many = (len(list(sentence_derivations(each, pairs[0]))) for each in (chain, free))
    assert few < many
    assert departure(chain, pairs) < 1e-12


def test_sweep_of_edges_leaves_posterior_invariant_where_rules_take_in_a_part_of_the_words():
    chain = free_chain(RUNS_OF_BLOCKS, max_cut_span=1, max_attached=1, discount=0.0)
    assert departure(chain, RUNS_OF_BLOCKS) < 1e-12


def _cases():
    for name, model in itertools.product(CORPORA, MODELS):
        slow = any(word in name for word in ("three", "sharing", "minimal", "two words"))
        yield pytest.param(name, model, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("name", "model"), list(_cases()))
def test_sweep_leaves_posterior_invariant(name, model):
    pairs = CORPORA[name]
    assert departure(free_chain(pairs, max_cut_span=0, **MODELS[model]), pairs) < 1e-12


@pytest.mark.parametrize("name", ["a gap on either side", "a gap and an end, inverted"])
def test_sweep_with_words_without_links_leaves_posterior_invariant(name):
    chain = free_chain(CORPORA[name], max_cut_span=0, tables="exact", base="null-words")
    assert departure(chain, CORPORA[name]) < 1e-12


@pytest.mark.parametrize(("name", "model"), list(_cases()))
def test_sweep_with_a_cut_span_limit_leaves_posterior_invariant(name, model):
    pairs = CORPORA[name]
    assert departure(free_chain(pairs, max_cut_span=2, **MODELS[model]), pairs) < 1e-12


def test_density_as_if_boxes_had_one_value_is_noticed(monkeypatch):
    lay_boxes = attachments._lay_boxes
    monkeypatch.setattr(attachments, "_lay_boxes", lambda *given: 0.0 * lay_boxes(*given))
    pairs = EDGES["three blocks"]
    assert departure(free_chain(pairs, max_cut_span=1, discount=0.0), pairs) > 1e-4


def test_counting_the_other_sides_of_a_box_once_is_noticed(monkeypatch):
    open_side = attachments._open_side
    monkeypatch.setattr(attachments, "_open_side", lambda *given: (open_side(*given)[0], 0.0))
    pairs = CORPORA["a gap and an end, inverted"]
    assert departure(free_chain(pairs, max_cut_span=0, discount=0.0), pairs) > 1e-4


def test_ignoring_neighbours_is_noticed(monkeypatch):
    def alone(forest, work, node):
        spans, limits = forest.spans, forest.limits[0]
        for side in range(4):
            limits[side] = forest.runs[side, spans[node, side]]

    monkeypatch.setattr(attachments, "_set_limits", alone)
    pairs = CORPORA["a gap on either side"]
    # The step leaves the states, or boxes that overlap spell nothing.
    with pytest.raises((AssertionError, IndexError)):
        departure(free_chain(pairs, max_cut_span=0, discount=0.0), pairs)
