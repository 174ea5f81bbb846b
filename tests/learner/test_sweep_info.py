"""What the trace says of a sweep is what the derivations say; and visits are told what sweep it is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from scfg_sampler.learner import chain as chain_module
from scfg_sampler.learner import shards
from scfg_sampler.learner.derivations import derivation
from scfg_sampler.learner.forest_bank import forest_bank
from scfg_sampler.learner.settings import LEARNABLE, LearnerSettings
from tests.learner.corpora import Chain, chain_on, corpus_of, log_same_rules, state_key
from tests.learner.test_chain import chain_of, some_pairs
from tests.learner.test_probabilities import PAIRS, expected_log_joint, spelled_dishes
from tests.oracles import rule_model
from tests.oracles.phrase_forest import sentence

SETTINGS = {
    "estimated": {},
    "exact, no limit": {"tables": "exact", "max_cut_span": 0},
    "dirichlet": {"model": "dirichlet", "strength": 3.0},
    "two shards": {"shards": 2, "tables": "exact"},
    "typed": {"types": 3, "tables": "exact"},
    "learned": {"learned": LEARNABLE, "tables": "exact", "base": "lexical"},
}


def made(**settings) -> Chain:
    """A chain on some pairs, perhaps with types."""
    given = LearnerSettings(**settings)
    if given.types == 1:
        return chain_on(some_pairs(), **settings)
    bank = forest_bank(corpus_of(some_pairs()), given.max_length, num_types=given.types)
    return Chain(bank, given, chain_module.learner_kernel(bank, given))


def rules_of(chain, state) -> Counter:
    """The rules of all derivations, as they are spelled."""
    found: Counter = Counter()
    for number in range(chain.bank.num_sentences):
        pending = [derivation(chain.bank, state.trees, number)]
        while pending:
            node = pending.pop()
            if node is not None:
                found[node.rule] += 1
                pending += node.parts
    return found


@pytest.mark.parametrize("name", SETTINGS)
def test_numbers_of_a_sweep_are_those_of_the_derivations(name):
    chain = made(**SETTINGS[name])
    rng = np.random.default_rng(7)
    state = chain.kernel.init(rng, None)
    for _ in range(3):
        before = state.trees.copy()
        state, info = chain.kernel.step(rng, state)
        rules = rules_of(chain, state)
        assert (info.rules, info.types) == (rules.total(), len(rules))
        assert info.rules == int((state.trees & 1).sum())
        if chain.settings.tables == "exact":
            assert info.types <= info.tables <= info.rules
        parameters = state.restaurants.discount[0], state.restaurants.strength[0], state.mean_length[0]
        assert (info.discount, info.strength, info.mean_length) == parameters
        assert (info.edges_changed > 0) == bool(((state.trees ^ before) & 0xFFFE).any())
        assert (info.cuts_changed > 0) == bool(((state.trees ^ before) & 1).any())
        assert info.evaluations > info.rules


def test_the_log_joint_is_divided_by_the_trees_inside_of_rules(rng):
    chain = chain_on(PAIRS, max_cut_span=0, divide_by_trees=True)
    spelled, same = spelled_dishes(chain, PAIRS), log_same_rules(chain, PAIRS)
    state, numbers = chain.kernel.init(rng, None), set()
    for _ in range(10):
        state, info = chain.kernel.step(rng, state)
        number = same[tuple(state.trees.tolist())]
        expected = expected_log_joint(chain, spelled, state) - number
        assert info.log_joint == pytest.approx(expected, abs=1e-8)
        numbers.add(round(number, 9))
    assert len(numbers) > 1


def test_vocabularies_that_are_given_are_those_of_the_base(rng):
    given = {"model": "dirichlet", "strength": 100.0, "max_cut_span": 0}
    chain = chain_on(PAIRS, source_vocabulary=50, target_vocabulary=70, **given)
    spelled = spelled_dishes(chain, PAIRS)
    sizes = tuple(dict.fromkeys(map(str, range(size)), 0.0) for size in (50, 70))
    model = rule_model.model_of(chain.settings, PAIRS)._replace(unigrams=sizes)
    state, info = chain.kernel.step(rng, chain.kernel.init(rng, None))
    seating = {spelled[dish]: each for dish, each in state_key(state)[1]}
    assert info.log_joint == pytest.approx(rule_model.log_joint(model, seating), abs=1e-8)


@pytest.mark.parametrize(("start", "expected"), [("random", {1, 2, 3}), ("same", {1})])
def test_first_types_are_those_asked_for_and_none_of_roots(rng, start, expected):
    chain = made(types=3, types_start=start, tables="exact")
    types = chain.kernel.init(rng, None).trees >> 16
    roots = chain.bank.tree_start[:-1][np.diff(chain.bank.tree_start) > 0]
    assert not types[roots].any()
    assert set(np.delete(types, roots).tolist()) == expected


def test_changes_of_all_shards_are_counted(rng):
    """As many cuts as differ, where nothing but cuts can and each node is visited once."""
    pair = sentence("a b", "A B", "0-0 1-1")
    chain = chain_on([pair] * 40, shards=4, tables="exact")
    state = chain.kernel.init(rng, None)
    for _ in range(3):
        before = state.trees.copy()
        state, info = chain.kernel.step(rng, state)
        assert info.cuts_changed == ((state.trees ^ before) & 1).sum() > 0


def test_acceptance_is_of_all_proposals_of_a_sweep():
    """One for each pair with a derivation."""
    chain, (_, infos) = chain_of(6, operator="rejection")
    proposals = int((np.diff(chain.bank.tree_start) > 0).sum())
    accepted = [info.acceptance * proposals for info in infos]
    assert accepted == pytest.approx(np.round(accepted), abs=1e-9)
    assert 0 < min(accepted) < max(accepted) <= proposals


@pytest.mark.parametrize("number", [1, 2])
def test_visits_know_the_level_and_temperature_of_the_sweep(monkeypatch, number):
    def swept(rng, walk, settings, visit, *others):
        seen.append((visit.highest, 1.0 / walk.work.inverse_temperature[0]))
        return real(rng, walk, settings, visit, *others)

    seen: list[tuple[int, float]] = []
    real = shards.sweep_sentence_range
    for module in (shards, chain_module):
        monkeypatch.setattr(module, "sweep_sentence_range", swept)
    heats = {"anneal_start": 3.0, "anneal_end": 1.0, "anneal_sweeps": 2}
    _, (_, infos) = chain_of(5, shards=number, schedule="stratified", sweeps_per_level=2, **heats)
    expected = [(1, 3.0), (1, 2.0), (2, 1.0), (2, 1.0), (3, 1.0)]
    assert [(info.level, info.temperature) for info in infos] == expected
    assert seen == [each for each in expected for _ in range(number)]


def test_types_are_moved_in_every_so_manieth_sweep(monkeypatch):
    def watched(rng, walk, model, restaurants, *others):
        moved.append(state.sweep)
        return restaurants

    moved: list[int] = []
    monkeypatch.setattr(chain_module, "resample_types", watched)
    chain = chain_on(some_pairs(5), type_moves=3)
    rng = np.random.default_rng(1)
    state = chain.kernel.init(rng, None)
    while state.sweep < 10:
        state, _ = chain.kernel.step(rng, state)
    assert moved == [2, 5, 8]
