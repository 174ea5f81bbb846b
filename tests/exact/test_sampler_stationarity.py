"""πT = π: the sweep leaves the exact posterior unchanged, by enumeration of all random choices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments import cuts as fragment_cuts
from scfg_sampler.core.fragments import rejection as fragment_rejection
from scfg_sampler.core.fragments import rules as fragment_rules
from scfg_sampler.core.fragments import sampler as fragment_sampler
from scfg_sampler.core.fragments import tree as fragment_tree
from scfg_sampler.core.fragments import type_numbers
from scfg_sampler.learner.chain import type_kernel
from scfg_sampler.learner.forest_bank import new_walk
from scfg_sampler.learner.passes import sum_internal_trees
from tests.learner.corpora import (
    Chain,
    all_states,
    chain_on,
    log_same_rules,
    seated,
    state_from,
    state_key,
)
from tests.oracles.choices import GENERATOR, distribution, transition_matrix
from tests.oracles.phrase_forest import sentence

MONOTONE = sentence("a b c", "A B C", "0-0 1-1 2-2")
CORPORA = {
    "two trees": [MONOTONE],
    "upper and lower rule alike": [sentence("a a a", "A A A", "0-0 1-1 2-2")],
    "two sentences sharing rules": [sentence("a b", "A B", "0-0 1-1"), sentence("b a", "B A", "0-0 1-1")],
    "two identical sentences": [sentence("a b", "A B", "0-0 1-1")] * 2,
    "inverted with unaligned words": [sentence("x a y b c", "C z B A", "1-3 3-2 4-0")],
}
# Blocks of one, one and three source words: only one of the two pairs may be internal to a rule.
UNEVEN = {
    "unequal forced cuts": ([sentence("a b c d e", "A B C", "0-0 1-1 2-2 3-2 4-2")], 2),
    "unequal forced cuts, inverted": ([sentence("c d e b a", "A B C", "0-2 1-2 2-2 3-1 4-0")], 2),
}
MODELS = {
    "pitman-yor, exact": {"tables": "exact"},
    "d = 0": {"discount": 0.0},
    "pitman-yor, lexical, exact": {"tables": "exact", "base": "lexical"},
    "dirichlet": {"model": "dirichlet", "strength": 100.0},
}


def departure(chain: Chain, pairs) -> float:
    """The largest entry of |πT − π| for one step."""
    posterior = all_states(chain, pairs)
    states = list(posterior)

    def move_from(key):
        start = state_from(chain, key)

        def step():
            state, _ = chain.kernel.step(GENERATOR, copy_state(start))
            return state_key(state)

        return step

    transition = transition_matrix(states, move_from)
    target = np.array(list(posterior.values()))
    return float(np.abs(target @ transition - target).max())


# Corpora of many paths are tried with a model each; with all others in the slow tier.
MANY_PATHS = {
    "two trees": "pitman-yor, exact",
    "upper and lower rule alike": "d = 0",
    "inverted with unaligned words": "dirichlet",
}


def _cases():
    for pairs, model in itertools.product(CORPORA, MODELS):
        slow = MANY_PATHS.get(pairs, model) != model
        yield pytest.param(pairs, model, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("pairs", "model"), list(_cases()))
def test_sweep_leaves_posterior_invariant(pairs, model):
    chain = chain_on(CORPORA[pairs], max_cut_span=0, **MODELS[model])
    assert departure(chain, CORPORA[pairs]) < 1e-12


@pytest.mark.parametrize(("case", "model"), list(itertools.product(UNEVEN, MODELS)))
def test_sweep_with_a_cut_span_limit_leaves_posterior_invariant(case, model):
    pairs, limit = UNEVEN[case]
    assert departure(chain_on(pairs, max_cut_span=limit, **MODELS[model]), pairs) < 1e-12


def test_breadth_first_sweep_leaves_posterior_invariant():
    pairs = CORPORA["two trees"]
    chain = chain_on(pairs, max_cut_span=0, order="breadth-first", **MODELS["pitman-yor, exact"])
    assert departure(chain, pairs) < 1e-12


# Blocks of two source words under a limit of one: no node may be internal, and only edges are chosen, among
# five trees, two of the root's options holding two each.
FIVE_TREES = [sentence("a b c d e f g h", "A B C D", "0-0 1-0 2-1 3-1 4-2 5-2 6-3 7-3")]


def test_sweep_of_five_trees_leaves_posterior_invariant():
    assert departure(chain_on(FIVE_TREES, discount=0.0, max_cut_span=1), FIVE_TREES) < 1e-12


def test_missing_density_factor_is_noticed():
    chain = chain_on(FIVE_TREES, discount=0.0, max_cut_span=1, density_factor=False)
    assert departure(chain, FIVE_TREES) > 1e-2


def test_missing_cut_degrees_are_noticed_under_a_cut_span_limit(monkeypatch):
    def edges_only(forest, work, node, row, size):
        below = work.lists[row, :size]
        return sum(np.log(fragment_tree.num_edges(forest, below[k])) for k in range(size))

    monkeypatch.setattr(fragment_sampler, "log_density", edges_only)
    pairs, limit = UNEVEN["unequal forced cuts"]
    assert departure(chain_on(pairs, max_cut_span=limit, tables="exact"), pairs) > 1e-3


@pytest.mark.slow
def test_scoring_both_rules_against_the_same_counts_is_noticed(monkeypatch):
    sequential = fragment_rules.option_weight

    def independent(rng, model, restaurants, work, begin, size):
        parts = [sequential(rng, model, restaurants, work, begin + k, 1) for k in range(size)]
        return math.prod(product for product, _ in parts), sum(logs for _, logs in parts)

    monkeypatch.setattr(fragment_cuts, "option_weight", independent)
    monkeypatch.setattr(fragment_cuts, "weigh_cuts", fragment_cuts.weigh_without)
    monkeypatch.setattr(fragment_cuts, "have_left", lambda model, restaurants: True)
    pairs = CORPORA["upper and lower rule alike"]
    assert departure(chain_on(pairs, max_cut_span=0, discount=0.0), pairs) > 1e-4


@pytest.mark.slow
def test_counting_who_is_there_is_noticed(monkeypatch):
    def all_there(rng, model, restaurants, work, was_cut):
        whole, log_whole = fragment_rules.option_weight(rng, model, restaurants, work, 0, 1)
        parts, log_parts = fragment_rules.option_weight(rng, model, restaurants, work, 1, 2)
        return whole / parts * math.exp(log_whole - log_parts)

    monkeypatch.setattr(fragment_cuts, "weigh_cuts", all_there)
    pairs = CORPORA["upper and lower rule alike"]
    assert departure(chain_on(pairs, max_cut_span=0, discount=0.0), pairs) > 1e-4


@pytest.mark.slow
def test_overlooking_tables_opened_in_thought_is_noticed(monkeypatch):
    monkeypatch.setattr(fragment_rules, "_is_awaited", lambda work, k, end: False)
    pairs = CORPORA["upper and lower rule alike"]
    assert departure(chain_on(pairs, max_cut_span=0, tables="exact"), pairs) > 1e-6


def test_a_stratified_sweep_samples_nodes_up_to_its_level():
    """The level of a node is the number of nodes in its subtree: 1 of a word, 3 of two words, 5 of three."""
    # Codes are edge label × 2 + cut bit, in preorder: of a b c, a, b c, b and c.
    start = (3, 1, 3, 1, 1)
    chain = chain_on([MONOTONE], max_cut_span=0, discount=0.0, schedule="stratified", sweeps_per_level=1)
    below = {1: {1, 3, 4}, 2: {1, 3, 4}, 3: {1, 2, 3, 4}, 4: {1, 2, 3, 4}}
    for level in (1, 2, 3, 4, 5):
        before = seated(chain, start)._replace(sweep=level - 1)

        def step(before=before):
            state, info = chain.kernel.step(GENERATOR, copy_state(before))
            return tuple(state.trees.tolist()), info.level

        found = distribution(step)
        assert {reached for _, reached in found} == {level}
        changed = {at for trees, _ in found for at in range(5) if trees[at] != start[at]}
        if level < 5:  # From the root's own level on, the other tree can be reached.
            assert changed == below[level]
        else:
            assert any(trees[0] != start[0] for trees, _ in found)


# --- rules divided by their internal trees ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("two trees", "d = 0"),
        pytest.param("two trees", "pitman-yor, exact", marks=pytest.mark.slow),
        pytest.param("inverted with unaligned words", "d = 0", marks=pytest.mark.slow),
        pytest.param("inverted with unaligned words", "pitman-yor, exact", marks=pytest.mark.slow),
    ],
)
def test_sweep_with_rules_divided_by_their_trees_leaves_posterior_invariant(name, model):
    chain = chain_on(CORPORA[name], max_cut_span=0, divide_by_trees=True, **MODELS[model])
    assert departure(chain, CORPORA[name]) < 1e-12


# Blocks of one to three source words, of which two may be internal together: two trees of the root's rule
# over three uncut blocks, or one, where only one of the pairs may be internal.
def test_internal_trees_are_counted_under_a_cut_span_limit():
    pairs = [sentence("a b c d e f", "A B C D", "0-0 1-1 2-2 3-2 4-3 5-3")]
    for limit in (0, 2, 3, 4):
        chain = chain_on(pairs, max_cut_span=limit, divide_by_trees=True)
        for trees, expected in log_same_rules(chain, pairs).items():
            walk = new_walk(chain.bank, limit, None)
            found = sum_internal_trees(walk, np.array(trees, np.uint16))
            assert found == pytest.approx(expected, abs=1e-12)


# --- whole trees proposed ---------------------------------------------------------------------------------


def _rejection_cases():
    """Those of many paths are slow, and those with seats of two sentences."""
    for pairs, model in itertools.product(CORPORA, MODELS):
        slow = "exact" in model or pairs in MANY_PATHS
        yield pytest.param(pairs, model, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("pairs", "model"), list(_rejection_cases()))
def test_rejection_leaves_posterior_invariant(pairs, model):
    chain = chain_on(CORPORA[pairs], max_cut_span=0, operator="rejection", **MODELS[model])
    assert departure(chain, CORPORA[pairs]) < 1e-12


@pytest.mark.parametrize(("case", "model"), list(itertools.product(UNEVEN, MODELS)))
def test_rejection_with_a_cut_span_limit_leaves_posterior_invariant(case, model):
    pairs, limit = UNEVEN[case]
    chain = chain_on(pairs, max_cut_span=limit, operator="rejection", **MODELS[model])
    assert departure(chain, pairs) < 1e-12


@pytest.mark.slow
def test_rejection_with_choices_below_choices_leaves_posterior_invariant():
    """Where all choices are at the root, the sums of the options of old and new are the same, and cancel."""
    pairs = [sentence("a b c d", "A B C D", "0-0 1-1 2-2 3-3")]
    chain = chain_on(pairs, max_cut_span=1, operator="rejection", discount=0.0)
    assert departure(chain, pairs) < 1e-12


@pytest.mark.slow
def test_forgotten_proposal_ratio_is_noticed(monkeypatch):
    propose = fragment_rejection._propose

    def forgetful(*arguments):
        propose(*arguments)
        return 0.0

    monkeypatch.setattr(fragment_rejection, "_propose", forgetful)
    pairs = CORPORA["two trees"]
    assert departure(chain_on(pairs, max_cut_span=0, discount=0.0, operator="rejection"), pairs) > 1e-3


# --- sites of a type moved together -----------------------------------------------------------------------

TYPES = {
    **CORPORA,
    "two identical sentences": [sentence("a b", "A B", "0-0 1-1")] * 2,
    "three identical sentences": [sentence("a b", "A B", "0-0 1-1")] * 3,
    "identical sentences with upper and lower rule alike": [sentence("a a", "A A", "0-0 1-1")] * 2,
}


def with_type_moves(chain: Chain) -> Chain:
    """The chain whose steps are type moves alone."""
    return chain._replace(kernel=type_kernel(chain.bank, chain.settings))


def _type_cases():
    for name, model in itertools.product(TYPES, MODELS):
        if name == "three identical sentences" and "exact" in model:
            continue  # Every seat of three sentences is a state: more than five minutes.
        many = name == "three identical sentences" or (name, model) == (
            "two identical sentences",
            "pitman-yor, lexical, exact",
        )
        many = many or (name.endswith("upper and lower rule alike") and "exact" in model)
        yield pytest.param(name, model, marks=[pytest.mark.slow] if many else [])


@pytest.mark.parametrize(("name", "model"), list(_type_cases()))
def test_type_moves_leave_posterior_invariant(name, model):
    chain = chain_on(TYPES[name], max_cut_span=0, **MODELS[model])
    assert departure(with_type_moves(chain), TYPES[name]) < 1e-12


@pytest.mark.slow
def test_type_moves_with_rules_divided_by_their_trees_leave_posterior_invariant():
    pairs = [MONOTONE, sentence("a b", "A B", "0-0 1-1")]
    chain = chain_on(pairs, max_cut_span=0, divide_by_trees=True, discount=0.0)
    assert departure(with_type_moves(chain), pairs) < 1e-12


@pytest.mark.slow
def test_type_moves_without_the_number_of_ways_are_noticed(monkeypatch):
    monkeypatch.setattr(type_numbers, "_log_ways", lambda num_sites, num_cut: 0.0)
    pairs = TYPES["three identical sentences"]
    chain = chain_on(pairs, max_cut_span=0, discount=0.0)
    assert departure(with_type_moves(chain), pairs) > 1e-3


def test_type_moves_cross_what_single_sites_cannot():
    """Three identical sentences under strong reuse: rules shared by all are likely, mixtures are not."""
    pairs = TYPES["three identical sentences"]
    chain = chain_on(pairs, max_cut_span=0, discount=0.0, strength=1e-2)
    # Codes are edge label × 2 + cut bit, of the root and the two words.
    whole, apart = (3, 0, 0), (3, 1, 0)
    start = seated(chain, whole * 3)

    def crossing(kernel):
        def step():
            state, _ = kernel.step(GENERATOR, copy_state(start))
            return tuple(state.trees.tolist())

        return distribution(step).get(apart * 3, 0.0)

    assert crossing(with_type_moves(chain).kernel) > 5.0 * crossing(chain.kernel)


# --- words without links in the base ----------------------------------------------------------------------

# z has links and has none; rules with z alone between their gaps are on one side.
NULL_WORDS = {
    "inserted": [sentence("a b c", "A z B C", "0-0 1-2 2-3"), sentence("c", "z", "0-0")],
    "deleted": [sentence("a x b", "B A", "0-1 2-0"), sentence("x", "B", "0-0")],
    "identical sentences": [sentence("a b", "A z B", "0-0 1-2")] * 2,
}


def _moves_of_words_without_links():
    for name, move in itertools.product(NULL_WORDS, ["top-down", "rejection", "types"]):
        slow = (move == "rejection" and name != "deleted") or (move, name) in (
            ("types", "identical sentences"),
            ("top-down", "inserted"),
        )
        yield pytest.param(name, move, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(("name", "move"), list(_moves_of_words_without_links()))
def test_moves_with_words_without_links_leave_posterior_invariant(name, move):
    pairs = NULL_WORDS[name]
    operator = "rejection" if move == "rejection" else "top-down"
    chain = chain_on(pairs, max_cut_span=0, operator=operator, base="null-words", tables="exact")
    assert departure(with_type_moves(chain) if move == "types" else chain, pairs) < 1e-12


@pytest.mark.slow
def test_a_base_without_words_is_noticed_where_rules_have_them_on_one_side():
    """Else the corpora had no such rule, and the base was not tested."""
    for pairs in NULL_WORDS.values():
        kernel = chain_on(pairs, max_cut_span=0, tables="exact").kernel
        chain = chain_on(pairs, max_cut_span=0, base="null-words", tables="exact")
        assert departure(chain._replace(kernel=kernel), pairs) > 1e-3
