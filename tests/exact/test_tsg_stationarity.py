"""πT = π for the moves of the TSG sampler, by enumeration of all random choices."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

from monolingual.tsg import blocks
from monolingual.tsg.forest import TsgModel, new_tree_forest, new_tree_workspace
from monolingual.tsg.model import log_production_probs
from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments import cuts as fragment_cuts
from scfg_sampler.core.fragments import sampler as fragment_sampler
from scfg_sampler.core.fragments import tree as fragment_tree
from scfg_sampler.core.fragments import type_numbers
from tests.monolingual.tsg.seatings import seated_at, seating_of, seating_posterior_of
from tests.monolingual.tsg.stationarity import sweep_departure
from tests.monolingual.tsg.treebanks import TREEBANKS, chain_of, cuts_of, expand_of, posterior_of, start_at
from tests.oracles.choices import GENERATOR, distribution

BASES = ("uniform", "pcfg")


def departure(name: str, base: str, **settings) -> float:
    """The largest entry of |πT − π| for one sweep."""
    chain = chain_of(name, base=base, **settings)
    return sweep_departure(posterior_of(name, base), chain, start_at, cuts_of)


def seated_departure(name: str, base: str, move: str) -> float:
    """The largest entry of |πT − π| for one sweep with d = .5, cuts and seats being the state."""
    chain = chain_of(name, base=base, order="top-down", moves=(move,), discount=0.5)
    start_from = functools.partial(seated_at, name)
    read = functools.partial(seating_of, name)
    return sweep_departure(seating_posterior_of(name, base, 0.5), chain, start_from, read)


def _seated_cases():
    for name, base, move in itertools.product(TREEBANKS, BASES, ["single", "type", "block"]):
        few_states = name == "one chain" or (name in ("recursive", "two short trees") and move != "block")
        yield pytest.param(name, base, move, marks=[] if few_states else [pytest.mark.slow])


def _cases(*, in_blocks=False):
    for name, base in itertools.product(TREEBANKS, BASES):
        many_states = name in ("shared parts", "two chains alike", "two larger trees")
        many_states = many_states or (in_blocks and (name, base) == ("two trees alike", "uniform"))
        yield pytest.param(name, base, marks=[pytest.mark.slow] if many_states else [])


@pytest.mark.parametrize(("name", "base"), list(_cases()))
def test_single_site_sweep_leaves_posterior_invariant(name, base):
    assert departure(name, base, order="top-down") < 1e-12


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", ["one chain", "two short trees"])
def test_single_site_sweep_in_random_order_leaves_posterior_invariant(name, base):
    assert departure(name, base, order="random") < 1e-12


@pytest.mark.parametrize(("name", "base"), list(_cases()))
def test_type_moves_leave_posterior_invariant(name, base):
    assert departure(name, base, order="top-down", moves=("type",)) < 1e-12


@pytest.mark.parametrize(("name", "base", "move"), list(_seated_cases()))
def test_moves_under_a_discount_leave_the_posterior_of_cuts_and_seats_invariant(name, base, move):
    """Wholes and upper parts sit in one restaurant, in "one chain" and "recursive" lower parts, too."""
    assert seated_departure(name, base, move) < 1e-12


@pytest.mark.slow
def test_type_moves_that_forget_that_tables_meet_are_noticed(monkeypatch):
    monkeypatch.setattr(type_numbers, "_let_tables_meet", lambda *given: None)
    assert seated_departure("two chains alike", "pcfg", "type") > 1e-4


@pytest.mark.parametrize(("name", "base"), list(_cases(in_blocks=True)))
def test_block_moves_leave_posterior_invariant(name, base):
    assert departure(name, base, order="top-down", moves=("block",)) < 1e-12


def test_block_moves_leave_the_tempered_posterior_invariant():
    """At temperature 2, proposals and posterior are both tempered."""
    tempered = {cuts: math.sqrt(prob) for cuts, prob in posterior_of("recursive", "pcfg").items()}
    chain = chain_of("recursive", base="pcfg", order="top-down", moves=("block",), anneal=(2.0, 2.0, 0))
    assert sweep_departure(tempered, chain, start_at, cuts_of) < 1e-12


def test_block_moves_that_are_always_accepted_are_noticed(monkeypatch):
    """Without Metropolis–Hastings, equal parts of one tree do not see one another."""
    settle = blocks.settle_tree
    monkeypatch.setattr(blocks, "settle_tree", lambda *given: settle(*given[:-1], 0.0))
    assert departure("recursive", "pcfg", order="top-down", moves=("block",)) > 1e-4


def test_block_moves_propose_what_the_other_trees_make_likely():
    """Two equal trees: one proposed from the other's counts is taken as it is nearly always."""
    chain = chain_of("two trees alike", order="top-down", moves=("block",))
    start = start_at(chain, ((0, 0), (0, 0)), GENERATOR)
    posterior = posterior_of("two trees alike", "pcfg")
    given = {cuts[1]: prob for cuts, prob in posterior.items() if cuts[0] == (0, 0)}
    total = sum(given.values())
    state = copy_state(start)

    def step():
        moved, _ = chain.kernel.step(GENERATOR, copy_state(state))
        return cuts_of(chain, moved)

    # The first tree moves before the second: what is left for the second, given that the first has stayed.
    found = {cuts: prob for cuts, prob in distribution(step).items() if cuts[0] == (0, 0)}
    stayed = sum(found.values())
    for cuts, prob in found.items():
        assert prob / stayed == pytest.approx(given[cuts[1]] / total, abs=0.05)


def test_moves_compose():
    assert departure("one chain", "pcfg", order="top-down", moves=("single", "type", "block")) < 1e-12


def test_a_sweep_at_another_temperature_is_noticed():
    assert departure("recursive", "pcfg", order="top-down", anneal=(1.1, 1.1, 0)) > 1e-4


def test_forgetting_that_parts_may_share_a_root_is_noticed(monkeypatch):
    sequential = fragment_cuts.option_weight

    def independent(rng, model, restaurants, work, begin, size):
        parts = [sequential(rng, model, restaurants, work, begin + k, 1) for k in range(size)]
        return float(np.prod([product for product, _ in parts])), sum(logs for _, logs in parts)

    monkeypatch.setattr(fragment_cuts, "option_weight", independent)
    monkeypatch.setattr(fragment_cuts, "weigh_cuts", fragment_cuts.weigh_without)
    monkeypatch.setattr(fragment_cuts, "have_left", lambda model, restaurants: True)
    assert departure("recursive", "pcfg", order="top-down") > 1e-4


def test_the_maximal_and_the_minimal_start_are_what_they_say():
    chain = chain_of("shared parts")
    assert not any(map(any, cuts_of(chain, chain.kernel.init(GENERATOR, None))))
    chain = chain_of("shared parts", start="minimal")
    assert all(map(all, cuts_of(chain, chain.kernel.init(GENERATOR, None))))


@pytest.mark.parametrize(("name", "base"), list(itertools.product(TREEBANKS, BASES)))
def test_chance_of_a_cut_is_the_ratio_of_joint_probabilities(name, base, rng):
    """Equation 4, in random states, by way of the exact posterior."""
    chain, posterior = chain_of(name, base=base), posterior_of(name, base)
    forest = new_tree_forest(chain.treebank, log_production_probs(chain.treebank, base))
    forest.log_expand[:], forest.log_stop[:] = np.log(expand_of(chain)), np.log1p(-expand_of(chain))
    model = TsgModel(np.array([len(chain.treebank.productions.labels)]))
    work, start = new_tree_workspace(chain.treebank), chain.treebank.node_start
    states = list(posterior)
    for _ in range(10):
        cuts = states[rng.integers(len(states))]
        sentence = int(rng.integers(len(cuts)))
        place = int(rng.integers(len(cuts[sentence])))

        def step(cuts=cuts, sentence=sentence, place=place):
            state = start_at(chain, cuts, GENERATOR)
            fragment_tree.open_sentence(forest, work, start, sentence)
            size = fragment_tree.decode(forest, work, state.trees, start[sentence], 0)
            fragment_sampler.find_rules(forest, model, state.restaurants, work, size)
            fragment_cuts.resample_cut(GENERATOR, forest, model, state.restaurants, work, place + 1)
            return int(work.nodes[place + 1, fragment_tree.CUT])

        def with_cut(bit, cuts=cuts, sentence=sentence, place=place):
            bits = [list(given) for given in cuts]
            bits[sentence][place] = bit
            return posterior[tuple(map(tuple, bits))]

        expected = with_cut(1) / (with_cut(0) + with_cut(1))
        assert distribution(step).get(1, 0.0) == pytest.approx(expected, rel=1e-9)
