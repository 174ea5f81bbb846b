"""Restaurants under compilation: bookkeeping, growth, estimated tables. For seatings see tests/exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scfg_sampler.core.fragments.density import log_joint
from scfg_sampler.core.fragments.restaurant import TABLE_UNIT, grown, new_restaurants
from scfg_sampler.errors import SettingsError
from tests.core.fragments.restaurant_kernels import KEYS, come_and_go, count_customers, worked
from tests.oracles.twins import interpreted


@pytest.mark.parametrize("exact", [True, False])
def test_compiled_and_interpreted_restaurants_are_the_same(exact):
    found, log_prob, generator = worked(3, exact)
    expected, expected_log_prob, expected_generator = interpreted(worked, 3, exact)
    for array, twin in zip(found, expected, strict=True):
        assert_array_equal(array, twin)
    assert generator == expected_generator
    assert log_prob == pytest.approx(expected_log_prob, rel=1e-12)


@pytest.mark.parametrize("exact", [True, False])
def test_totals_are_sums_over_dishes(exact):
    restaurants, _, _ = worked(5, exact)
    counts = count_customers(restaurants, KEYS)
    for stratum in range(3):
        assert restaurants.stratum_customers[stratum] == counts[stratum::3].sum()
        if exact:
            rows = (restaurants.stratum == stratum) & (restaurants.entries[:, 0] != 0)
            tables = restaurants.entries[rows, 1] >> 32
            assert restaurants.stratum_tables[stratum] == tables.sum() * TABLE_UNIT
        else:
            estimated = np.rint(counts[stratum::3] ** 0.6 * TABLE_UNIT) * (counts[stratum::3] > 0)
            assert restaurants.stratum_tables[stratum] == estimated.sum()


@pytest.mark.parametrize("exact", [True, False])
def test_growing_changes_nothing_but_room(exact):
    restaurants, log_prob, _ = worked(7, exact)
    bigger = grown(restaurants, 5000)
    assert len(bigger.entries) >= 10_000
    assert_array_equal(count_customers(bigger, KEYS), count_customers(restaurants, KEYS))
    assert log_joint(bigger) == pytest.approx(log_prob, rel=1e-12)
    assert bigger.totals[0] == bigger.totals[1] == np.sum(count_customers(restaurants, KEYS) > 0)


def test_small_table_asks_for_room_in_time(rng):
    restaurants = new_restaurants(3, discount=0.5, strength=1.0, exact=True, capacity=16)
    done = come_and_go(rng, restaurants, KEYS, np.zeros(len(KEYS)), 10_000)
    assert 8 <= done < 10_000
    assert np.sum(restaurants.entries[:, 0] != 0) <= 8


def test_estimated_log_joint_is_the_product_of_its_definition():
    restaurants, found, _ = worked(11, False, steps=300)
    counts, expected = count_customers(restaurants, KEYS), 0.0
    for stratum in range(3):
        tables = restaurants.stratum_tables[stratum] / TABLE_UNIT
        opening = 2.0 + 0.6 * tables
        for customers in counts[stratum::3]:
            for i in range(int(customers)):
                expected += math.log(i - 0.6 * (i**0.6 if i else 0.0) + opening / len(KEYS))
        expected -= sum(math.log(2.0 + i) for i in range(int(counts[stratum::3].sum())))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"discount": 1.0, "strength": 1.0}, "--discount is 1; it must be at least 0 and below 1"),
        ({"discount": -0.1, "strength": 1.0}, "--discount is -0.1; it must be"),
        ({"discount": 0.0, "strength": 0.0}, "--strength is 0; it must be above 0"),
        ({"discount": 0.5, "strength": math.inf}, "--strength is inf; it must be"),
        ({"discount": 0.5, "strength": 2e15}, r"--strength is 2e\+15; it must be above 0 and 1e\+15 at most"),
    ],
)
def test_parameters_out_of_range_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        new_restaurants(1, exact=True, **options)


@pytest.mark.parametrize("discount", [0.5, 1e-3, 1e-5, 2e-6, 1e-8, 1e-14, 1e-18, 1e-40, 1e-310])
def test_log_joint_of_tables_keeps_its_digits_however_small_the_discount(discount):
    """Of 40 dishes with a customer each: Π (α + k d) over tables, divided by Π (α + i) over customers."""
    restaurants = new_restaurants(1, discount=discount, strength=5.0, exact=True)
    for dish in range(40):
        restaurants.entries[dish, :2] = 2 * dish + 1, 1 + (1 << 32)
    restaurants.stratum_customers[0], restaurants.stratum_tables[0] = 40, 40 * TABLE_UNIT
    restaurants.totals[:2] = 40
    expected = math.fsum(math.log(5.0 + k * discount) - math.log(5.0 + k) for k in range(40))
    assert log_joint(restaurants) == pytest.approx(expected, rel=1e-9)
