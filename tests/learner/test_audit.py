"""`--check`: whatever is wrong with the restaurants of a state, the recount finds it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scfg_sampler.core.chains.chain import run_chain
from scfg_sampler.core.fragments import restaurant
from scfg_sampler.core.fragments.restaurant import Restaurants
from tests.learner.corpora import all_states, all_trees, chain_on, state_from
from tests.learner.test_chain import some_pairs
from tests.oracles import phrase_forest as oracle

SETTINGS = {
    "exact": {"tables": "exact"},
    "estimated": {},
    "d = 0": {"discount": 0.0},
    "lexical": {"tables": "exact", "base": "lexical"},
    "dirichlet": {"model": "dirichlet", "strength": 100.0},
    "learned": {"tables": "exact", "learned": ("discount", "strength", "mean_length")},
    "shards": {"tables": "exact", "shards": 2},
}


def live(restaurants: Restaurants) -> int:
    """The slot of a dish with more than one customer."""
    return int(np.flatnonzero((restaurants.entries[:, 1] & 0xFFFFFFFF) > 1)[0])


def listed(restaurants: Restaurants) -> int:
    """The slot of a dish whose table sizes are written down."""
    return int(np.flatnonzero(restaurants.party >= 0)[0])


def empty(restaurants: Restaurants) -> int:
    """A slot without a fingerprint."""
    return int(np.flatnonzero(restaurants.entries[:, 0] == 0)[0])


def add(field: str, place, amount):
    """What adds to an entry of an array; the place may be found by a function."""

    def corrupt(restaurants: Restaurants) -> None:
        at = place(restaurants) if callable(place) else place
        getattr(restaurants, field)[at] += amount

    return corrupt


def swap_dishes(restaurants: Restaurants) -> None:
    """Put a dish where no search finds it: behind a free slot."""
    slot, free = live(restaurants), empty(restaurants)
    for array in (restaurants.entries, restaurants.stratum, restaurants.log_base, restaurants.party):
        array[[slot, free]] = array[[free, slot]]


FAULTS = {
    "customers": ("entries", add("entries", lambda r: (live(r), 1), 1)),
    "a fingerprint": ("entries", add("entries", lambda r: (live(r), 0), 1)),
    "places": ("entries", swap_dishes),
    "customers of nothing": ("entries", add("entries", lambda r: (empty(r), 1), 1)),
    "the stratum of a dish": ("stratum", add("stratum", live, 1)),
    "a base probability": ("log_base", add("log_base", live, 1e-6)),
    "dishes in use": ("totals, USED", add("totals", restaurant.USED, 1)),
    "live dishes": ("totals, LIVE", add("totals", restaurant.LIVE, -1)),
    "tracking": ("totals, TRACKED", lambda r: r.totals.__setitem__(restaurant.TRACKED, 2)),
    "customers of a stratum": ("stratum_customers", add("stratum_customers", 2, 1)),
    "tables of a stratum": ("stratum_tables", add("stratum_tables", 2, 1 << 20)),
    "a discount": ("discount", add("discount", 2, 1e-9)),
    "a strength": ("strength", add("strength", 2, 1e-9)),
    "an estimate": ("estimate", add("estimate", 17, 1)),
    "a customer in thought": ("pending", add("pending", (2, 0), 1)),
}
SEATS = {
    "tables of a dish": ("", add("entries", lambda r: (listed(r), 1), 1 << 32)),
    "no tables": ("entries", lambda r: r.entries.__setitem__((live(r), 1), 2)),
    "a first row": ("part", lambda r: r.party.__setitem__(listed(r), -1)),
    "a first row for nothing": ("party", lambda r: r.party.__setitem__(empty(r), 0)),
    "a table size": ("parties", add("parties", lambda r: (r.party[listed(r)], 0), 1)),
    "a number of tables": ("parties", add("parties", lambda r: (r.party[listed(r)], 1), 1)),
    "a next row": ("parties", add("parties", lambda r: (r.party[listed(r)], 2), 1)),
    "rows in use": ("totals, PARTIES", add("totals", restaurant.PARTIES, 1)),
    "free rows": ("totals", lambda r: r.totals.__setitem__(restaurant.FREE_PARTY, r.party[listed(r)])),
}


def swept(fault, **settings):
    """A chain under --check of which a step does something wrong to the restaurants."""
    chain, rng = chain_on(some_pairs(), **settings), np.random.default_rng(3)

    def step(rng, state):
        state, info = chain.kernel.step(rng, state)
        if state.sweep == 6:
            fault(state.restaurants)
        return state, info

    state = chain.kernel.init(rng, None)
    for _ in run_chain(chain.kernel._replace(step=step), state, rng, sweeps=6, check=True):
        pass


@pytest.mark.parametrize("name", SETTINGS)
def test_a_right_state_passes(name):
    swept(lambda restaurants: None, **SETTINGS[name])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_array_is_found_where_tables_are_estimated(fault):
    named, corrupt = FAULTS[fault]
    with pytest.raises(AssertionError, match=f"not those of the derivations: {named}"):
        swept(corrupt)


@pytest.mark.parametrize("fault", {**FAULTS, **SEATS})
def test_a_wrong_array_is_found_where_seats_are_tracked(fault):
    if fault == "an estimate":
        pytest.skip("not looked at where seats are tracked")
    named, corrupt = {**FAULTS, **SEATS}[fault]
    with pytest.raises(AssertionError, match=f"not those of the derivations: {named}"):
        swept(corrupt, tables="exact")


def test_every_array_has_its_fault():
    named = {part.partition(",")[0] for part, _ in [*FAULTS.values(), *SEATS.values()]}
    assert {*Restaurants._fields} - named == {"scratch"}  # Written before it is read.


def test_a_mean_length_that_is_not_the_one_set_is_found():
    chain, rng = chain_on(some_pairs()), np.random.default_rng(3)
    state, _ = chain.kernel.step(rng, chain.kernel.init(rng, None))
    state.mean_length[0] = 2.5
    with pytest.raises(AssertionError, match=r"mean_length is 2\.5"):
        chain.kernel.log_joint(state)


def test_other_places_of_dishes_are_no_fault():
    chain, rng = chain_on(some_pairs(), tables="exact"), np.random.default_rng(3)
    state, info = chain.kernel.step(rng, chain.kernel.init(rng, None))
    state = state._replace(restaurants=restaurant.grown(state.restaurants, 100_000))
    assert_allclose(chain.kernel.log_joint(state), info.log_joint, rtol=1e-10)


# --- the log joint itself, by the definition ---------------------------------------------------------------

PAIRS = [oracle.sentence("a b c", "A B C", "0-0 1-1 2-2"), oracle.sentence("a b", "A B", "0-0 1-1")]


def log_poisson(length: int, mean: float) -> float:
    return length * math.log(mean) - mean - math.log(math.factorial(length))


def naive_log_joint(rules: list, sizes_of: dict, discount: float, strength: float, mean: float) -> float:
    """ln P of rules seated table by table, customer by customer; `sizes_of` gives a rule's table sizes."""
    total = 0.0
    customers: Counter = Counter()
    tables: Counter = Counter()
    for rule in sorted(set(rules)):
        length = oracle.rule_length(rule)
        for size in sizes_of[rule]:
            for seated in range(size):
                if seated == 0:
                    total += math.log(strength + discount * tables[length]) + log_poisson(length, mean)
                    tables[length] += 1
                else:
                    total += math.log(seated - discount)
                total += log_poisson(length, mean) - math.log(customers[length] + strength)
                customers[length] += 1
    return total


def test_log_joint_is_that_of_customers_seated_one_by_one():
    """Two customers of a rule at one table or at two; d = 0.5, α = 3, λ = 1.7."""
    parameters = {"discount": 0.5, "strength": 3.0, "mean_length": 1.7}
    chain = chain_on(PAIRS, tables="exact", max_cut_span=0, **parameters)
    derivations = [list(oracle.derivations(pair)) for pair in PAIRS]
    rules_of = {
        codes: [rule for pair, tree in zip(PAIRS, trees, strict=True) for rule in oracle.rules(pair, tree)]
        for codes, trees in zip(
            all_trees(chain, PAIRS), ((a, b) for a in derivations[0] for b in derivations[1]), strict=True
        )
    }
    seen = set()
    for trees, seating in all_states(chain, PAIRS):
        rules = rules_of[trees]
        doubled = [rule for rule, number in Counter(rules).items() if number > 1]
        if len(doubled) > 1:
            continue  # Fingerprints do not say which of them has which tables.
        several = [sizes for _, sizes in seating if sum(sizes) > 1]
        sizes_of = dict.fromkeys(rules, (1,)) | dict(zip(doubled, several, strict=True))
        expected = naive_log_joint(rules, sizes_of, 0.5, 3.0, 1.7)
        assert chain.kernel.log_joint(state_from(chain, (trees, seating))) == pytest.approx(
            expected, abs=1e-9
        )
        seen.add((len(several), *several[:1]))
    assert seen == {(0,), (1, (2,)), (1, (1, 1))}
