"""Cuts weighed with nobody leaving, against those who are there taken out and seated again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.fragments import cuts, rules
from scfg_sampler.core.fragments.restaurant import find_or_insert, new_restaurants, seat
from scfg_sampler.core.fragments.tree import (
    BASE,
    EVALUATIONS,
    FINGERPRINT,
    LOG_BASE,
    LOG_PRIOR,
    NOT_SOUGHT,
    SLOT,
    SPARE,
    STRATUM,
    new_workspace,
)
from tests.oracles.choices import GENERATOR

# Whole, upper and lower part: which dish each is, and in which restaurant each dish is served.
LAYOUTS = [
    (dishes, strata)
    for dishes in ((0, 1, 2), (0, 1, 1), (0, 0, 1), (0, 1, 0), (0, 0, 0))
    for strata in itertools.product((0, 1), repeat=3)
]
PLACES = ([0, 1, 2], [SPARE, cuts.UPPER, cuts.LOWER], [cuts.WHOLE, SPARE, SPARE + 1])


def laid_out(dishes, strata, discount, was_cut, rng):
    """Restaurants where those that are there have a seat, and others as well, and rows that describe them."""
    restaurants = new_restaurants(2, discount=discount, strength=1.5, exact=False)
    keys, bases = rng.permutation([1, 3, 5, 4097]), np.log(rng.random(4))
    work = new_workspace(4, 4, 8)
    for place, row in enumerate(PLACES[1 + was_cut]):
        dish = dishes[place]
        work.rules[row, [FINGERPRINT, STRATUM, SLOT]] = keys[dish], strata[dish], NOT_SOUGHT
        work.rule_probs[row, [LOG_PRIOR, LOG_BASE, BASE]] = -2.0 - dish, bases[dish], np.exp(bases[dish])
        rules.list_rule(work, row, place)
    seated = list(rng.integers(0, 3, rng.integers(0, 9)))
    seated += [dishes[1], dishes[2]] if was_cut else [dishes[0]]
    for dish in [*seated, 3]:
        stratum = 0 if dish == 3 else strata[dish]
        seat(rng, restaurants, find_or_insert(restaurants, keys[dish], stratum, bases[dish]), False)
    return restaurants, work


@pytest.mark.parametrize("discount", [0.0, 0.6])
@pytest.mark.parametrize("was_cut", [0, 1])
@pytest.mark.parametrize(("dishes", "strata"), LAYOUTS)
def test_nobody_need_leave_to_be_left_out(dishes, strata, discount, was_cut, rng):
    for _ in range(4):
        restaurants, work = laid_out(dishes, strata, discount, was_cut, rng)
        before = copy_state(restaurants)
        found = cuts.weigh_cuts(GENERATOR, None, restaurants, work, was_cut)
        assert work.counters[EVALUATIONS] == 3
        assert not cuts.have_left(None, restaurants)
        assert all(map(np.array_equal, restaurants, before))
        work.rules[:, SLOT] = NOT_SOUGHT
        assert found == cuts.weigh_without(GENERATOR, None, restaurants, work, was_cut)
        rules.seat_option(GENERATOR, None, restaurants, work, was_cut, 1 + was_cut)
        assert all(map(np.array_equal, restaurants, before))


def test_small_probabilities_do_not_vanish(rng):
    restaurants, work = laid_out((0, 1, 2), (0, 0, 0), 0.0, 0, rng)
    restaurants.strength[:] = 1e-150
    work.rules[cuts.UPPER, FINGERPRINT], work.rules[cuts.LOWER, FINGERPRINT] = 9, 11
    odds = cuts.weigh_cuts(GENERATOR, None, restaurants, work, 0)
    assert odds == cuts.weigh_without(GENERATOR, None, restaurants, work, 0)
    assert 0.0 < odds < np.inf
