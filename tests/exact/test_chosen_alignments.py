"""πT = π where the chain chooses among alignments: by enumeration, against derivations by definition."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from scfg_sampler.core.fragments import rejection
from scfg_sampler.core.fragments import sampler as fragment_sampler
from scfg_sampler.core.fragments.tree import num_edges
from scfg_sampler.forest import choice_edges
from scfg_sampler.learner.chain import type_kernel
from scfg_sampler.learner.derivations import Derivation, derivation
from tests.exact.test_sampler_stationarity import departure
from tests.learner.corpora import chain_on, sentence_derivations
from tests.oracles import chosen_alignments
from tests.oracles.phrase_forest import sentence


def under(source, target, *alignments):
    """A pair under several alignments."""
    return tuple(sentence(source, target, links) for links in alignments)


CORPORA = {
    "the same twice": [under("a b", "A B", "0-0 1-1", "0-0 1-1")],
    "one word more": [under("a b", "A B", "0-0", "0-0 1-1")],
    "crossed or not": [under("a b", "A B", "0-0 1-1", "0-1 1-0")],
    "nothing under one": [under("a b", "A B", "", "0-0 1-1")],
    "derivations of different sizes": [under("a b c", "A B C", "0-0 2-2", "0-0 1-1 2-2")],
    "two sentences sharing rules": [
        under("a b", "A B", "0-0 1-1", "0-1 1-0"),
        under("b a", "B A", "0-0 1-1", "0-0"),
    ],
}
# Nodes of one alignment below those of another, and edges that alignments share.
DEEP = {
    "three blocks or two": [under("a b c", "A B C", "0-0 1-1 2-2", "0-0 0-1 2-2")],
    "inverted or straight": [under("a b c d", "A B C D", "0-0 1-1 2-3 3-2", "0-1 1-0 2-2 3-3")],
    "a minimal edge with two tails or a split": [under("a x b", "A x z B", "0-0 2-3", "0-0 1-1 1-2 2-3")],
    "the largest phrase of one below that of the other": [under("a b c", "A B C", "0-1 1-0", "0-0 1-1 2-2")],
    "three alignments": [under("a b c", "A B C", "0-0 1-1 2-2", "0-0 1-2 2-1", "0-0 1-1")],
}
MODELS = {
    "pitman-yor, exact": {"tables": "exact"},
    "d = 0": {"discount": 0.0},
    "pitman-yor, lexical, exact": {"tables": "exact", "base": "lexical"},
}
WAYS = ("phrase", "sentence")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*CORPORA, *DEEP])
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_states_spell_the_rules_of_the_definition_each_once(name, way, limit):
    pairs = {**CORPORA, **DEEP}[name][:1]
    chain = chain_on(pairs, choose=way, max_cut_span=limit)
    seen = Counter()
    for codes, chosen in sentence_derivations(chain, pairs[0]):
        assert len(codes) == chain.bank.tree_start[-1]
        found = derivation(chain.bank, np.array(codes, np.uint16), 0)
        assert list(_rules(found)) == chosen_alignments.rules(pairs[0], chosen)
        seen[codes] += 1
    assert max(seen.values()) == 1


def _rules(found: Derivation):
    yield tuple(found.rule.split(" ||| "))
    for part in found.parts:
        yield from _rules(part)


def _cases(corpora, *, limited):
    """Those of many paths are slow, but for one where a limit leaves fewer."""
    for name, model, way in itertools.product(corpora, MODELS, WAYS):
        many = any(word in name for word in ("sharing", "inverted", "three", "sizes", "minimal", "largest"))
        one = limited and model == "d = 0" and way == "phrase" and "sizes" in name
        yield pytest.param(name, model, way, marks=[pytest.mark.slow] if many and not one else [])


@pytest.mark.parametrize(("name", "model", "way"), list(_cases(CORPORA, limited=False)))
def test_sweep_leaves_posterior_invariant(name, model, way):
    pairs = CORPORA[name]
    assert departure(chain_on(pairs, choose=way, max_cut_span=0, **MODELS[model]), pairs) < 1e-12


# Below the root, every node is cut: edges alone are chosen.
@pytest.mark.parametrize(("name", "model", "way"), list(_cases({**CORPORA, **DEEP}, limited=True)))
def test_sweep_with_a_cut_span_limit_leaves_posterior_invariant(name, model, way):
    pairs = {**CORPORA, **DEEP}[name]
    assert departure(chain_on(pairs, choose=way, max_cut_span=1, **MODELS[model]), pairs) < 1e-12


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("model", ["pitman-yor, exact", "d = 0"])
def test_sweep_of_edges_alone_leaves_posterior_invariant(model, way):
    """Two source words a block and a limit of one: every node is cut. Two trees under either alignment."""
    straight, inverted = "0-0 1-0 2-1 3-1 4-2 5-2", "0-2 1-2 2-1 3-1 4-0 5-0"
    pairs = [under("a b c d e f", "A B C", straight, inverted)]
    assert departure(chain_on(pairs, choose=way, max_cut_span=1, **MODELS[model]), pairs) < 1e-12


def test_sweep_of_edges_above_edges_leaves_posterior_invariant():
    """Nodes below the root have several edges of their own, which count in the density factor."""
    straight, crossed = "0-0 1-0 2-1 3-1 4-2 5-2 6-3 7-3", "0-1 1-1 2-0 3-0 4-2 5-2 6-3 7-3"
    pairs = [under("a b c d e f g h", "A B C D", straight, crossed)]
    chain = chain_on(pairs, choose="phrase", max_cut_span=1, discount=0.0)
    assert departure(chain, pairs) < 1e-12


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["crossed or not", "one word more"])
def test_rejection_leaves_posterior_invariant(name, way):
    pairs = CORPORA[name]
    chain = chain_on(pairs, choose=way, operator="rejection", tables="exact")
    assert departure(chain, pairs) < 1e-12


@pytest.mark.parametrize("way", WAYS)
def test_type_moves_leave_posterior_invariant(way):
    pairs = [under("a b", "A B", "0-0 1-1", "0-0")] * 2
    chain = chain_on(pairs, choose=way, discount=0.0)
    moves = chain._replace(kernel=type_kernel(chain.bank, chain.settings))
    assert departure(moves, pairs) < 1e-12


def test_breadth_first_sweep_leaves_posterior_invariant():
    pairs = CORPORA["crossed or not"]
    chain = chain_on(pairs, choose="phrase", order="breadth-first", tables="exact")
    assert departure(chain, pairs) < 1e-12


@pytest.mark.slow
def test_density_as_if_all_derivations_had_as_many_nodes_is_noticed(monkeypatch):
    """Lemma 3, by which free cuts cancel, does not hold here."""

    def edges_only(forest, work, node, row, size):
        return sum(np.log(num_edges(forest, below)) for below in work.lists[row, :size])

    monkeypatch.setattr(fragment_sampler, "log_density", edges_only)
    pairs = CORPORA["derivations of different sizes"]
    assert departure(chain_on(pairs, choose="phrase", max_cut_span=0, discount=0.0), pairs) > 1e-4


def test_missing_density_factor_is_noticed():
    pairs = CORPORA["derivations of different sizes"]
    chain = chain_on(pairs, choose="phrase", max_cut_span=1, discount=0.0, density_factor=False)
    assert departure(chain, pairs) > 1e-4


def test_counting_an_edge_of_two_alignments_twice_is_noticed(monkeypatch):
    monkeypatch.setattr(choice_edges, "_note_first_tails", lambda *given: None)
    pairs = CORPORA["the same twice"]
    # The step reaches states that are none.
    with pytest.raises((AssertionError, KeyError)):
        departure(chain_on(pairs, choose="phrase", max_cut_span=0, discount=0.0), pairs)


def test_forgotten_proposal_ratio_of_an_alignment_is_noticed(monkeypatch):
    propose = rejection._propose

    def forgetful(*given):
        propose(*given)
        return 0.0

    monkeypatch.setattr(rejection, "_propose", forgetful)
    pairs = CORPORA["one word more"]
    assert departure(chain_on(pairs, choose="sentence", max_cut_span=0, discount=0.0), pairs) > 1e-3
