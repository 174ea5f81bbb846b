"""The learner's chain: twins, recounts, schedules, resuming, and what it collects."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scfg_sampler.core.chains.chain import Sweep
from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments import restaurant
from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import SettingsError
from scfg_sampler.learner import derivations
from scfg_sampler.learner.collecting import collected_rules
from scfg_sampler.learner.collection import Collection
from scfg_sampler.learner.derivations import derivation
from scfg_sampler.learner.forest_bank import collect
from scfg_sampler.learner.gathering import Shelf
from scfg_sampler.learner.settings import LEARNABLE, RunSettings
from tests.forest.test_explicit import random_sentence
from tests.learner.corpora import Chain, all_trees, chain_on, seated
from tests.oracles import phrase_forest as oracle
from tests.oracles.phrase_forest import Sentence

SETTINGS = {
    "estimated": {},
    "exact": {"tables": "exact"},
    "lexical": {"tables": "exact", "base": "lexical"},
    "dirichlet": {"model": "dirichlet", "strength": 100.0},
    "stratified": {"schedule": "stratified", "sweeps_per_level": 1},
    "no limit, breadth first": {"max_cut_span": 0, "order": "breadth-first"},
    "rejection": {"operator": "rejection", "tables": "exact"},
    "type moves": {"type_moves": 1, "tables": "exact"},
    "type moves, d = 0": {"type_moves": 1, "discount": 0.0},
    "divided by trees": {"divide_by_trees": True, "max_cut_span": 4},
    "annealed": {"anneal_start": 3.0, "anneal_sweeps": 3, "tables": "exact", "type_moves": 2},
    "learned": {"learned": LEARNABLE, "tables": "exact", "base": "lexical"},
    "learned, estimated": {"learned": LEARNABLE},
    "two shards": {"shards": 2},
    "three shards, exact": {"shards": 3, "tables": "exact"},
}


def some_pairs(number: int = 40, seed: int = 5) -> list[Sentence]:
    """Random many-to-many sentences over few words, so that rules recur; some twice."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(number):
        pair = random_sentence(rng)
        words = [tuple(f"{word[0]}{rng.integers(3)}" for word in side) for side in pair[:2]]
        pairs.append(Sentence(words[0], words[1], pair.links))
    return pairs + pairs[:5]


def chain_of(sweeps: int, **settings) -> tuple[Chain, list]:
    chain = chain_on(some_pairs(), **settings)
    rng = np.random.default_rng(7)
    state = chain.kernel.init(rng, None)
    infos = []
    for _ in range(sweeps):
        state, info = chain.kernel.step(rng, state)
        infos.append(info)
    return chain, [state, infos]


@pytest.mark.parametrize("name", SETTINGS)
def test_restaurants_hold_the_rules_of_the_derivations(name):
    chain, (state, infos) = chain_of(5, **SETTINGS[name])
    assert_allclose(chain.kernel.log_joint(state), infos[-1].log_joint, rtol=1e-10)


def test_recount_notices_a_customer_too_many(rng):
    chain, (state, _) = chain_of(1)
    slot = np.flatnonzero(state.restaurants.entries[:, 1])[0]
    restaurant.seat(rng, state.restaurants, slot, False)
    with pytest.raises(AssertionError, match="not those of the derivations: entries"):
        chain.kernel.log_joint(state)


_TWIN = """
import json, sys
import numpy as np
from tests.learner.test_chain import SETTINGS, chain_of
found = {}
for name, settings in SETTINGS.items():
    _, (state, infos) = chain_of(2, **settings)
    found[name] = [state.trees.tolist(), [i.log_joint for i in infos]]
json.dump(found, sys.stdout)
"""


def test_interpreted_chain_makes_the_same_choices(root):
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _TWIN],
        cwd=root,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    for name, (trees, log_joints) in json.loads(child.stdout).items():
        _, (state, infos) = chain_of(2, **SETTINGS[name])
        assert state.trees.tolist() == trees, name
        assert_allclose([info.log_joint for info in infos], log_joints, rtol=1e-10)


@pytest.mark.parametrize("settings", [{}, {"shards": 3, "tables": "exact"}], ids=["one shard", "three"])
def test_same_seed_gives_the_same_chain(settings):
    assert np.array_equal(chain_of(3, **settings)[1][0].trees, chain_of(3, **settings)[1][0].trees)


def test_every_sentence_is_swept_in_some_shard():
    """Of a corpus of one sentence, written six times, every tree changes sooner or later."""
    sentence = Sentence(("a", "b", "c", "d"), ("x", "y", "z", "w"), frozenset((i, i) for i in range(4)))
    chain = chain_on([sentence] * 6, shards=3)
    rng = np.random.default_rng(3)
    state = chain.kernel.init(rng, None)
    trees = [state.trees.copy()]
    for _ in range(8):
        state, _ = chain.kernel.step(rng, state)
        trees.append(state.trees.copy())
    trees = np.array(trees).reshape(len(trees), 6, -1)
    assert (trees != trees[0]).any(axis=(0, 2)).all()


def test_temperature_falls_to_its_end():
    _, (_, infos) = chain_of(5, anneal_start=3.0, anneal_end=1.0, anneal_sweeps=4)
    assert [info.temperature for info in infos] == [3.0, 2.5, 2.0, 1.5, 1.0]


def test_a_fall_over_no_sweeps_has_come_to_its_end():
    _, (_, infos) = chain_of(2, anneal_start=3.0, anneal_end=0.5, anneal_sweeps=0)
    assert [info.temperature for info in infos] == [0.5, 0.5]


def test_cold_chains_are_more_probable():
    chains = [chain_of(30, anneal_start=t, anneal_end=t, anneal_sweeps=1)[1][1] for t in (0.3, 1.0, 3.0)]
    means = [np.mean([info.log_joint for info in infos[10:]]) for infos in chains]
    assert means[0] > means[1] > means[2]


def test_rejection_reports_its_acceptance():
    _, (_, infos) = chain_of(5, operator="rejection")
    assert all(0.0 < info.acceptance < 1.0 for info in infos)
    assert chain_of(2)[1][1][0].acceptance == 1.0


def test_stratified_schedule_raises_the_level():
    _, (_, infos) = chain_of(4, schedule="stratified", sweeps_per_level=2)
    assert [info.level for info in infos] == [1, 1, 2, 2]
    _, (_, full_infos) = chain_of(4)
    assert [info.level for info in full_infos] == [0] * 4
    assert infos[0].evaluations < full_infos[0].evaluations


@kernel
def _unseat_all(rng, restaurants):
    for slot in range(restaurants.entries.shape[0]):
        while restaurants.entries[slot, 1] & 0xFFFFFFFF:
            restaurant.unseat(rng, restaurants, slot)


@pytest.mark.parametrize("name", SETTINGS)
def test_unseating_everything_leaves_empty_restaurants(name, rng):
    _, (state, _) = chain_of(3, **SETTINGS[name])
    restaurants = state.restaurants
    _unseat_all(rng, restaurants)
    assert not restaurants.stratum_customers.any()
    assert not restaurants.stratum_tables.any()
    assert not restaurants.entries[:, 1].any()
    assert (restaurants.party == -1).all()
    assert restaurants.totals[restaurant.LIVE] == 0
    assert restaurant.grown(restaurants, 1).totals[restaurant.USED] == 0


def test_growing_changes_nothing_but_room():
    chain, (state, _) = chain_of(3, tables="exact")
    bigger = state._replace(restaurants=restaurant.grown(state.restaurants, 100_000))
    assert bigger.restaurants.entries.shape > state.restaurants.entries.shape
    assert_allclose(chain.kernel.log_joint(bigger), chain.kernel.log_joint(state), rtol=1e-12)
    runs = [chain.kernel.step(np.random.default_rng(3), copy_state(s))[0].trees for s in (state, bigger)]
    assert np.array_equal(*runs)


def spelled(rules, corpus) -> dict[tuple[str, str], float]:
    found = {}
    for r in range(rules.num_rules):
        sides = []
        for start, symbols, vocabulary in (
            (rules.source_start, rules.source, corpus.source_vocabulary),
            (rules.target_start, rules.target, corpus.target_vocabulary),
        ):
            ids = symbols[start[r] : start[r + 1]].tolist()
            sides.append(" ".join(vocabulary.words[s] if s >= 0 else f"[X,{-s}]" for s in ids))
        found[sides[0], sides[1]] = float(rules.count[r])
    return found


def test_rules_of_every_derivation_are_those_the_oracle_spells(rng):
    # Also proves the fingerprints: one dish per distinct rule, with as many customers.
    checked = 0
    while checked < 25:
        pair = random_sentence(rng)
        words = [tuple(word[0] + str(rng.integers(2)) for word in side) for side in pair[:2]]
        pair = Sentence(words[0], words[1], pair.links)
        chain = chain_on([pair], max_cut_span=0)
        derivations = list(oracle.derivations(pair))
        if len(derivations) > 300:
            continue
        checked += 1
        for codes, tree in zip(all_trees(chain, [pair]), derivations, strict=True):
            state = seated(chain, codes)
            expected = Counter(oracle.rules(pair, tree))
            assert spelled(collected_rules(collect(chain.bank, state.trees)), chain.bank.corpus) == expected
            live = state.restaurants.entries[:, 1]
            assert sorted(live[live > 0].tolist()) == sorted(expected.values())
            strata = Counter(oracle.rule_length(rule) for rule in expected.elements())
            customers = state.restaurants.stratum_customers
            assert {k: int(customers[k]) for k in np.flatnonzero(customers)} == strata


def test_derivation_tree_has_the_rules_in_their_places():
    pair = oracle.sentence("x b a y", "A B", "1-1 2-0")
    chain = chain_on([pair])
    state = chain.kernel.init(np.random.default_rng(0), None)
    found = derivation(chain.bank, state.trees, 0)
    assert found.rule == "x [X,1] [X,2] y ||| [X,2] [X,1]"
    assert [(part.source, part.target, part.rule) for part in found.parts] == [
        ((1, 2), (1, 2), "b ||| B"),
        ((2, 3), (0, 1), "a ||| A"),
    ]


@pytest.mark.parametrize("settings", [{}, {"unaligned": "free"}, {"max_length": 4}])
def test_derivations_are_written_as_json_writes_them(tmp_path, monkeypatch, settings):
    monkeypatch.setattr(derivations, "_AT_A_TIME", 7)
    odd = oracle.sentence('"a" b\\n ||| é [X,1]', '{A} "\x01" C D E', "0-1 1-0 2-2 3-3 4-4")
    chain = chain_on([*some_pairs(), odd], **settings)
    trees = chain.kernel.init(np.random.default_rng(0), None).trees
    derivations.write_derivations(tmp_path / "file", chain.bank, trees)

    def plain(node):
        fields = node._asdict()
        return {**fields, "parts": [plain(part) for part in sorted(node.parts, key=lambda part: part.source)]}

    expected = []
    for sentence in range(46):
        found = derivation(chain.bank, trees, sentence)
        skipped = chain.bank.skipped.get(sentence)
        assert (found is None) == (skipped is not None)
        line = {"sentence": sentence, "skipped": skipped, "derivation": found and plain(found)}
        expected.append(json.dumps(line, ensure_ascii=False))
    assert (tmp_path / "file").read_text(encoding="utf-8").split("\n") == [*expected, ""]
    assert ("max_length" in settings) == any("more than 4" in line for line in expected)


def test_alignment_of_a_rule_is_its_most_frequent_one():
    pairs = [oracle.sentence("a b", "A B", links) for links in ("0-0 0-1 1-0", "0-0 0-1 1-1", "0-0 0-1 1-1")]
    chain = chain_on(pairs)
    rules = collected_rules(collect(chain.bank, chain.kernel.init(np.random.default_rng(0), None).trees))
    assert spelled(rules, chain.bank.corpus) == {("a b", "A B"): 3.0}
    assert rules.alignment.tolist() == [[0, 0], [0, 1], [1, 1]]


def collection_of(sweeps: int, **run) -> tuple[Chain, Collection, list[Counter]]:
    """What a run has counted after some sweeps, and the rules of each state, the first before any sweep."""
    chain, rng = chain_on(some_pairs()), np.random.default_rng(7)
    state = chain.kernel.init(rng, None)
    kept = collection(chain.bank, RunSettings(iterations=sweeps, **run))
    kept.add_to_average(state)
    seen = [rules_of(chain, state)]
    for index in range(sweeps):
        state, info = chain.kernel.step(rng, state)
        kept(Sweep(index, state, info))
        seen.append(rules_of(chain, state))
    return chain, kept, seen


def rules_of(chain: Chain, state) -> Counter:
    return Counter(spelled(collected_rules(collect(chain.bank, state.trees)), chain.bank.corpus))


def collection(bank, run: RunSettings) -> Collection:
    """One that keeps everything in memory."""
    return Collection(bank, run, Shelf(Path("/nowhere"), "", bank))


def assert_mean(gathered, chain: Chain, states: list[Counter]) -> None:
    """That these are the mean counts of these states."""
    found, total = spelled(gathered.whole(), chain.bank.corpus), sum(states, Counter())
    assert found.keys() == total.keys()
    assert_allclose([found[rule] for rule in total], [count / len(states) for count in total.values()])


def test_expected_counts_are_the_mean_over_sweeps_from_the_burn_in_on():
    chain, kept, seen = collection_of(5, burn_in=2)
    assert kept.marginal.states == 3
    assert_mean(kept.marginal, chain, seen[3:])


def test_average_is_that_of_the_states_before_every_so_many_sweeps():
    chain, kept, seen = collection_of(6, burn_in=0, average_every=2, average_until=4)
    assert kept.average.states == 3
    assert_mean(kept.average, chain, [seen[0], seen[2], seen[4]])


def test_collecting_changes_nothing_of_the_chain():
    _, (state, infos) = chain_of(4)
    chain = chain_on(some_pairs())
    rng, kept = np.random.default_rng(7), collection(chain.bank, RunSettings(burn_in=0, marginals=True))
    other = chain.kernel.init(rng, None)
    for index in range(4):
        other, info = chain.kernel.step(rng, other)
        kept(Sweep(index, other, info))
        assert info == infos[index]
    assert np.array_equal(state.trees, other.trees)
    assert kept.nodes[:, 0].sum() == 4 * len(other.trees)
    assert kept.nodes[:, 1].sum() == sum(info.rules for info in infos)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"discount": 1.0}, "--discount"),
        ({"strength": -1.0}, "--strength"),
        ({"strength": 1e16}, r"--strength is 1e\+16; it must be above 0 and 1e\+15 at most"),
        ({"mean_length": 0.0}, "--mean-length"),
        ({"mean_length": 1e300}, r"--mean-length is 1e\+300; it must be above 0 and 1e\+15 at most"),
        ({"schedule": "random"}, "stratified, full"),
        ({"max_cut_span": -1}, "--max-cut-span"),
        ({"model": "hiero"}, "pitman-yor, dirichlet"),
        ({"base": "none"}, "poisson, lexical"),
        ({"unaligned": "any"}, "lowest, free"),
        ({"max_attached": 16}, "--max-attached is 16; it must be from 1 to 15"),
        ({"unaligned": "free", "operator": "rejection"}, "--operator rejection; leave one"),
        ({"unaligned": "free", "type_moves": 1}, "--type-moves; leave one"),
        ({"choose": "word"}, "none, sentence, phrase"),
        ({"choose": "phrase"}, "--choose phrase needs several alignments"),
    ],
)
def test_settings_out_of_range_are_named(settings, message):
    def start():
        chain_on(some_pairs(), **settings).kernel.init(np.random.default_rng(0), None)

    with pytest.raises(SettingsError, match=message):
        start()


def test_log_joint_is_kept_where_unaligned_words_are_free(rng):
    chain = chain_on(some_pairs(), unaligned="free", tables="exact", shards=2)
    state = chain.kernel.init(rng, None)
    for _ in range(3):
        state, info = chain.kernel.step(rng, state)
        assert_allclose(chain.kernel.log_joint(state), info.log_joint, rtol=1e-10)
    assert (state.trees >> 16).any()


def test_sentences_too_long_are_skipped_with_a_reason():
    long = Sentence(("a",) * 300, ("A",), frozenset({(0, 0)}))
    pairs = [Sentence(("a",), ("A",), frozenset()), *some_pairs(3), long]
    chain = chain_on(pairs)
    assert chain.bank.skipped == {0: "no links", len(pairs) - 1: "300 words, more than 250"}
    rng = np.random.default_rng(0)
    state, info = chain.kernel.step(rng, chain.kernel.init(rng, None))
    assert_allclose(chain.kernel.log_joint(state), info.log_joint, rtol=1e-10)
    assert chain_on(pairs, max_length=300).bank.skipped == {0: "no links"}
