"""Pitman–Yor restaurants, all seatings followed, against the closed form of their probability."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from scfg_sampler.core import draws
from scfg_sampler.core.fragments import restaurant
from scfg_sampler.core.fragments.density import log_joint
from scfg_sampler.core.fragments.restaurant import (
    dish_customers,
    dish_mass,
    dish_tables,
    find,
    find_or_insert,
    new_restaurants,
    new_table_prob,
    seat,
    set_customers,
    unseat,
)
from tests.oracles.choices import GENERATOR, distribution

BASE_PROBS = [0.7, 0.3]
KEYS = [1, 4097]  # These collide in the hash table.


def empty(discount=0.4, strength=1.5, exact=True):
    return new_restaurants(1, discount=discount, strength=strength, exact=exact)


def seat_one(restaurants):
    """The next customer: a dish by the predictive rule, then a table."""
    log_base = np.log(BASE_PROBS)
    slots = [find(restaurants, key) for key in KEYS]
    customers = [dish_customers(restaurants, slot) for slot in slots]
    tables = [dish_tables(restaurants, slots[i], 0, customers[i]) for i in range(2)]
    total = restaurants.stratum_customers[0] + restaurants.strength[0]
    log_probs = [
        math.log(dish_mass(restaurants, 0, BASE_PROBS[i], customers[i], tables[i], 0) / total)
        for i in range(2)
    ]
    assert math.fsum(math.exp(log_prob) for log_prob in log_probs) == pytest.approx(1.0, abs=1e-12)
    dish = draws.log_categorical(GENERATOR, np.array(log_probs), 2)
    prob = new_table_prob(restaurants, 0, BASE_PROBS[dish], customers[dish], tables[dish], 0)
    opens = draws.bernoulli(GENERATOR, prob)
    seat(GENERATOR, restaurants, find_or_insert(restaurants, KEYS[dish], 0, log_base[dish]), opens)


def unseat_one(restaurants):
    """A customer chosen at random leaves."""
    slots = [find(restaurants, key) for key in KEYS]
    counts = np.array([dish_customers(restaurants, slot) for slot in slots], dtype=float)
    unseat(GENERATOR, restaurants, slots[draws.categorical(GENERATOR, counts, 2)])


def seating(restaurants):
    """The sizes of the tables of each dish, after checking that all bookkeeping agrees."""
    sizes = []
    for key in KEYS:
        slot = find(restaurants, key)
        customers = dish_customers(restaurants, slot)
        tables = 0 if slot < 0 else int(restaurants.entries[slot, 1]) >> 32
        row = -1 if slot < 0 else restaurants.party[slot]
        if row >= 0:
            found = []
            while row >= 0:
                size, number, following = restaurants.parties[row]
                found += [int(size)] * int(number)
                row = following
        else:
            found = [1] * customers if tables == customers else [customers]
        assert sorted(found) == found
        assert len(found) == tables
        assert sum(found) == customers
        sizes.append(tuple(found))
    assert restaurants.stratum_customers[0] == sum(map(sum, sizes))
    assert restaurants.stratum_tables[0] == sum(map(len, sizes)) << 32
    return tuple(sizes)


def arrangements(state):
    """How many ways there are to name the customers of a seating 1, …, n."""
    sizes = [size for dish in state for size in dish]
    ways = math.factorial(sum(sizes))
    for dish in state:
        for size, number in Counter(dish).items():
            ways //= math.factorial(size) ** number * math.factorial(number)
    return ways


@pytest.mark.parametrize(("discount", "strength"), [(0.4, 1.5), (0.9, 0.2), (0.05, 20.0)])
def test_log_joint_is_the_probability_of_a_seating(discount, strength):
    """Exchangeability: every arrangement of customers has the probability that log_joint states."""

    def step():
        restaurants = empty(discount, strength)
        for _ in range(5):
            seat_one(restaurants)
        return seating(restaurants), round(log_joint(restaurants), 12)

    found = distribution(step)
    assert len(found) == len({state for state, _ in found})
    for (state, log_prob), prob in found.items():
        assert prob == pytest.approx(arrangements(state) * math.exp(log_prob), rel=1e-10)


def test_leaving_and_coming_back_leaves_the_distribution_of_seatings_invariant():
    def step(returns):
        restaurants = empty()
        for _ in range(4):
            seat_one(restaurants)
        for _ in range(returns):
            unseat_one(restaurants)
            seat_one(restaurants)
        return seating(restaurants)

    before, after = distribution(lambda: step(0)), distribution(lambda: step(1))
    assert before.keys() == after.keys()
    for state, prob in before.items():
        assert after[state] == pytest.approx(prob, abs=1e-13)


def test_invariance_check_notices_tables_left_by_their_discounted_size(monkeypatch):
    """Planted fault: a leaving customer must be drawn from tables by size, not by size minus discount."""
    original = restaurant._draw_party

    def step(returns):
        restaurants = empty()
        for _ in range(4):
            seat_one(restaurants)
        for _ in range(returns):
            with monkeypatch.context() as patch:
                patch.setattr(restaurant, "_draw_party", lambda rng, r, slot, _: original(rng, r, slot, 0.4))
                unseat_one(restaurants)
            seat_one(restaurants)
        return seating(restaurants)

    before, after = distribution(lambda: step(0)), distribution(lambda: step(1))
    assert max(abs(after.get(state, 0.0) - prob) for state, prob in before.items()) > 1e-4


def test_without_discount_seatings_do_not_matter():
    """The Dirichlet process in closed form: Π α P₀(r) (α P₀(r) + 1) … / (α (α + 1) …)."""

    def step(exact):
        restaurants = empty(0.0, 2.0, exact)
        for _ in range(4):
            seat_one(restaurants)
        counts = tuple(int(dish_customers(restaurants, find(restaurants, key))) for key in KEYS)
        return counts, round(log_joint(restaurants), 12)

    def rising(x, n):
        return math.prod(x + i for i in range(n))

    for exact in (True, False):
        for (counts, log_prob), prob in distribution(lambda exact=exact: step(exact)).items():
            expected = math.prod(rising(2.0 * p, n) for p, n in zip(BASE_PROBS, counts, strict=True))
            expected /= rising(2.0, 4)
            ways = math.factorial(4) // math.prod(map(math.factorial, counts))
            assert math.exp(log_prob) == pytest.approx(expected, rel=1e-10)
            assert prob == pytest.approx(ways * expected, rel=1e-10)


@pytest.mark.parametrize("customers", [4094, 4095, 4096, 5000])
def test_tables_of_a_dish_with_very_many_customers_are_estimated_all_the_same(customers):
    """n^d, beyond the 4,096 counts that a table of powers holds."""
    restaurants = empty(0.4, exact=False)
    slot = find_or_insert(restaurants, KEYS[0], 0, math.log(BASE_PROBS[0]))
    set_customers(restaurants, slot, 0, customers)
    for number in (customers, customers + 1, customers):
        tables = dish_tables(restaurants, slot, 0, number)
        assert tables / 2**32 == pytest.approx(number**0.4, abs=2**-32)
        assert int(restaurants.stratum_tables[0]) == tables
        mass = dish_mass(restaurants, 0, BASE_PROBS[0], number, tables, 0)
        expected = number - 0.4 * number**0.4 + 0.7 * (1.5 + 0.4 * number**0.4)
        assert mass == pytest.approx(expected, rel=1e-12)
        if number == customers == dish_customers(restaurants, slot):
            seat(GENERATOR, restaurants, slot, False)
        else:
            unseat(GENERATOR, restaurants, slot)


def test_emptied_restaurants_are_as_new():
    def step():
        restaurants = empty()
        for _ in range(4):
            seat_one(restaurants)
        for _ in range(4):
            unseat_one(restaurants)
        assert seating(restaurants) == ((), ())
        return int(restaurants.totals[1])

    assert distribution(step) == {0: pytest.approx(1.0)}
