"""πT = π where nodes have types that are sampled along, by enumeration of all random choices."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments import backoff, restaurant, sampler
from scfg_sampler.core.fragments.rules import row_of
from scfg_sampler.core.fragments.sampler import find_rules, resample_edge
from scfg_sampler.core.fragments.tree import (
    BELOW,
    CUT,
    FINGERPRINT,
    IN_TREE,
    PARENT,
    TREE,
    decode,
    encode,
    open_sentence,
)
from scfg_sampler.forest import typed, typed_moves
from scfg_sampler.learner.chain import learner_kernel, rule_model
from scfg_sampler.learner.forest_bank import forest_bank
from scfg_sampler.learner.settings import LearnerSettings, check_settings
from tests.core.fragments.seatings import table_sizes
from tests.learner.corpora import Chain, _codes, corpus_of
from tests.oracles import rule_model as rule_oracle
from tests.oracles import typed_rules
from tests.oracles.choices import GENERATOR, transition_matrix
from tests.oracles.phrase_forest import derivations, sentence
from tests.oracles.seatings import log_named_seatings, partitions

CORPORA = {
    "one pair": [sentence("a b", "A B", "0-0 1-1")],
    "one pair of a word twice": [sentence("a a", "A A", "0-0 1-1")],
    "two pairs sharing rules": [sentence("a", "A", "0-0"), sentence("a b", "B A", "0-1 1-0")],
    "two trees": [sentence("a b c", "A B C", "0-0 1-1 2-2")],
    "a rule of two gaps": [sentence("x a b", "z B A", "1-2 2-1")],
}


def typed_chain(pairs, **settings) -> Chain:
    given = LearnerSettings(**{"types": 2, "tables": "exact", "max_cut_span": 0, **settings})
    check_settings(given)
    bank = forest_bank(corpus_of(pairs), given.max_length, num_types=given.types)
    return Chain(bank, given, learner_kernel(bank, given))


# --- states, and their probabilities by the oracle ---------------------------------------------------------


def typed_derivations(chain: Chain, pairs):
    """Codes of all derivations of all pairs together, with the rules of the cut nodes in their order."""
    found = []
    for pair in pairs:
        each = []
        for derivation in derivations(pair, chain.settings.max_cut_span):
            codes = _codes(pair, derivation)
            for types, rules in typed_rules.typings(pair, derivation, chain.settings.types):
                each.append((tuple(c + (z << 16) for c, z in zip(codes, types, strict=True)), rules))
        found.append(each)
    for combination in itertools.product(*found):
        yield (
            tuple(c for codes, _ in combination for c in codes),
            [r for _, rules in combination for r in rules],
        )


def dishes_of(chain: Chain, codes) -> list[tuple[int, int]]:
    """The fingerprints of the rules of a derivation and of their skeletons, in the order of the cut nodes."""
    walk, found = chain.bank.walk, []
    model = rule_model(chain.bank, chain.settings, chain.settings.mean_length)
    restaurants = restaurant.new_restaurants(1, discount=0.5, strength=1.0, exact=True)
    trees = np.array(codes, np.uint32)
    for s in range(chain.bank.num_sentences):
        open_sentence(walk.forest, walk.work, walk.corpus, s)
        size = decode(walk.forest, walk.work, trees, walk.tree_start[s], 0)
        find_rules(walk.forest, model, restaurants, walk.work, size)
        for node in walk.work.lists[BELOW, :size]:
            if walk.work.nodes[node, CUT]:
                row = row_of(node)
                rows = row, backoff.back_row(walk.work, row)
                found.append(tuple(int(walk.work.rules[each, FINGERPRINT]) for each in rows))
    return found


def all_dishes(chain: Chain, pairs) -> dict:
    """Fingerprints by rule; rules and skeletons have one each, and no two the same."""
    names: dict = {}
    for codes, rules in typed_derivations(chain, pairs):
        for rule, (own, shared) in zip(rules, dishes_of(chain, codes), strict=True):
            assert names.setdefault(rule, own) == own
            assert names.setdefault(typed_rules.skeleton(rule), shared) == shared
    assert len(set(names.values())) == len(names)
    return names


def seatings(rules):
    """All table sizes of typed rules and of their skeletons."""
    number = Counter(rules)
    for sizes in itertools.product(*(list(partitions(n)) for n in number.values())):
        own = dict(zip(number, sizes, strict=True))
        tables = Counter()
        for rule, each in own.items():
            tables[typed_rules.skeleton(rule)] += len(each)
        for below in itertools.product(*(list(partitions(n)) for n in tables.values())):
            yield own, dict(zip(tables, below, strict=True))


def log_weights(chain: Chain, pairs) -> dict:
    model = rule_oracle.model_of(chain.settings, pairs)
    names = all_dishes(chain, pairs)
    found = {}
    for codes, rules in typed_derivations(chain, pairs):
        for own, below in seatings(rules):
            key = tuple(sorted((names[rule], sizes) for rule, sizes in (*own.items(), *below.items())))
            found[codes, key] = typed_rules.log_joint(model, chain.settings.types, own, below)
    return found


def posterior(chain: Chain, pairs) -> dict:
    logs = log_weights(chain, pairs)
    top = max(logs.values())
    total = sum(math.exp(value - top) for value in logs.values())
    return {state: math.exp(value - top) / total for state, value in logs.items()}


def state_from(chain: Chain, key):
    codes, seating = key
    state = chain.kernel.init(np.random.default_rng(0), np.array(codes, np.uint32))
    restaurants = state.restaurants
    restaurants.stratum_tables[:] = 0
    restaurants.stratum_customers[:] = 0
    restaurants.party[:] = -1
    restaurants.entries[:, 1] = 0
    restaurants.totals[[restaurant.PARTIES, restaurant.FREE_PARTY]] = 0, -1
    restaurants.totals[restaurant.LIVE] = len(seating)
    for fingerprint, sizes in seating:
        slot = restaurant.find(restaurants, fingerprint)
        restaurants.entries[slot, 1] = sum(sizes) + (len(sizes) << 32)
        restaurants.stratum_customers[restaurants.stratum[slot]] += sum(sizes)
        restaurants.stratum_tables[restaurants.stratum[slot]] += len(sizes) * restaurant.TABLE_UNIT
        if 1 < len(sizes) < sum(sizes):
            for size in sizes:
                restaurant._change_party(restaurants, slot, size, 1)
    return state


def state_key(state):
    return tuple(int(code) for code in state.trees), tuple(sorted(table_sizes(state.restaurants)))


def departure(chain: Chain, pairs, visit=None) -> float:
    """The largest entry of |πT − π| for one sweep, or for one visit of one node."""
    probs = posterior(chain, pairs)

    def move_from(key):
        start = state_from(chain, key)

        def step():
            state = copy_state(start)
            if visit is None:
                state, _ = chain.kernel.step(GENERATOR, state)
            else:
                visit(state)
            return state_key(state)

        return step

    transition = transition_matrix(list(probs), move_from)
    target = np.array(list(probs.values()))
    return float(np.abs(target @ transition - target).max())


def visit_of(chain: Chain, move, node: int, sentence: int = 0):
    """One move at one node of a pair, if it is in the tree."""
    walk = chain.bank.walk
    model = rule_model(chain.bank, chain.settings, chain.settings.mean_length)
    forest = walk.forest
    forest.shape[1] = chain.settings.max_cut_span or forest.shape[3] + 1

    def visit(state):
        work = walk.work
        open_sentence(forest, work, walk.corpus, sentence)
        size = decode(forest, work, state.trees, walk.tree_start[sentence], 0)
        find_rules(forest, model, state.restaurants, work, size)
        if work.nodes[node, IN_TREE] == work.counters[TREE] and (
            move is resample_edge or work.nodes[node, PARENT] >= 0
        ):
            move(GENERATOR, forest, model, state.restaurants, work, node)
        encode(forest, work, state.trees, walk.tree_start[sentence])

    return visit


SMALL = ("one pair", "one pair of a word twice")


@pytest.mark.parametrize("settings", [{}, {"base": "lexical"}], ids=str)
@pytest.mark.parametrize("name", SMALL)
def test_sweep_with_types_leaves_posterior_invariant(name, settings):
    assert departure(typed_chain(CORPORA[name], **settings), CORPORA[name]) < 1e-12


def test_sweep_of_pairs_that_share_rules_leaves_posterior_invariant():
    name = "two pairs sharing rules"
    assert departure(typed_chain(CORPORA[name]), CORPORA[name]) < 1e-12


def test_breadth_first_sweep_of_three_types_leaves_posterior_invariant():
    pairs = CORPORA["one pair"]
    assert departure(typed_chain(pairs, types=3, order="breadth-first"), pairs) < 1e-12


# Nodes of the pair of three words, as (i, j) is i (n + 1) + j.
ROOT, LEFT, RIGHT, MIDDLE = 0 * 4 + 3, 0 * 4 + 2, 1 * 4 + 3, 1 * 4 + 2
MOVES = {
    "edge of the root": (resample_edge, ROOT),
    "cut and type of two words": (typed_moves.resample_typed_cut, LEFT),
    "cut and type of a word": (typed_moves.resample_typed_cut, MIDDLE),
}


def _cases():
    for move, settings in itertools.product(MOVES, ({}, {"max_cut_span": 1})):
        quick = (move, settings) == ("edge of the root", {})
        yield pytest.param(move, settings, marks=[] if quick else [pytest.mark.slow])


@pytest.mark.parametrize(("move", "settings"), list(_cases()), ids=str)
def test_moves_among_two_trees_leave_posterior_invariant(move, settings):
    pairs = CORPORA["two trees"]
    chain = typed_chain(pairs, **settings)
    assert departure(chain, pairs, visit_of(chain, *MOVES[move])) < 1e-12


# A visit changes nothing but its node: derivations that differ there alone are all it can reach. In the first
# pair [X1,1] a heads the tree; in the second it does, and may do once more where the node is cut.
SHARED = [sentence("a a", "A A", "0-0 1-1"), sentence("a a a", "A A A", "0-0 1-1 2-2")]
ONE = 1 << 16
FIXED = (3, 1 + ONE, 0, 5, None, 1 + ONE, 0, 0)


def test_a_rule_used_elsewhere_and_twice_in_an_option_leaves_posterior_invariant(monkeypatch):
    everything = typed_derivations

    def few(chain, pairs):
        for codes, rules in everything(chain, pairs):
            if all(fixed in (code, None) for code, fixed in zip(codes, FIXED, strict=True)):
                yield codes, rules

    monkeypatch.setattr("tests.exact.test_typed_stationarity.typed_derivations", few)
    chain = typed_chain(SHARED)
    assert len(list(few(chain, SHARED))) == 3
    assert departure(chain, SHARED, visit_of(chain, typed_moves.resample_typed_cut, LEFT, 1)) < 1e-12


@pytest.mark.parametrize("name", CORPORA)
def test_the_log_joint_with_types_is_that_of_the_oracle(name):
    """But for the number of seatings of named customers that have these table sizes."""
    chain = typed_chain(CORPORA[name], strength=3.0)
    checked = 0
    for (codes, seating), expected in itertools.islice(log_weights(chain, CORPORA[name]).items(), 0, 60, 3):
        for _, sizes in seating:
            expected -= log_named_seatings(sizes)
        found = chain.kernel.log_joint(state_from(chain, (codes, seating)))
        assert found == pytest.approx(expected, abs=1e-9)
        checked += 1
    assert checked > 2


# --- faults that must be noticed --------------------------------------------------------------------------


def test_cut_nodes_without_their_types_in_the_density_are_noticed(monkeypatch):
    monkeypatch.setattr(sampler, "log_attached", lambda forest, number: 0.0)
    pairs = CORPORA["two trees"]
    chain = typed_chain(pairs)
    assert departure(chain, pairs, visit_of(chain, *MOVES["edge of the root"])) > 1e-3


def test_skeletons_that_never_share_a_table_are_noticed(monkeypatch):
    monkeypatch.setattr(backoff, "new_table_prob", lambda *given: 1.0)
    pairs = CORPORA["one pair of a word twice"]
    assert departure(typed_chain(pairs), pairs) > 1e-4


@pytest.mark.slow
def test_overlooking_tables_opened_in_thought_is_noticed(monkeypatch):
    monkeypatch.setattr(backoff, "_is_awaited", lambda work, k, end: False)
    pairs = CORPORA["two trees"]
    chain = typed_chain(pairs)
    assert departure(chain, pairs, visit_of(chain, *MOVES["cut and type of two words"])) > 1e-8


def test_types_of_gaps_that_are_not_told_apart_are_noticed(monkeypatch):
    value = typed._type_value
    monkeypatch.setattr(
        backoff,
        "type_value",
        lambda forest, work, node: value(forest._replace(slot_values=0 * forest.slot_values), work, node),
    )
    with pytest.raises(AssertionError):
        all_dishes(typed_chain(CORPORA["one pair"]), CORPORA["one pair"])
