"""Exact winning probabilities against counted rankings, closed forms and simulated evaluations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from monolingual.ot import quadrature
from monolingual.ot.exact import OrderingModel, winning_probs
from monolingual.ot.orderings import conjuncts
from monolingual.ot.quadrature import make_grid, make_plan, ordering_probs, tabulate_row
from monolingual.ot.tableaux import Row, build_tableaux
from tests.monolingual.ot.examples import ILOKANO, SPANISH, TABLE_2, tableaux, two_constraints
from tests.statistics import FALSE_ALARM, chi_square_tail


def random_tableaux(rng, candidates=5, constraints=4):
    rows = [
        Row(2, "x", str(c), 1.0, tuple(rng.integers(0, 3, constraints).tolist())) for c in range(candidates)
    ]
    return build_tableaux("random", [f"C{i}" for i in range(constraints)], rows)


@pytest.mark.parametrize(("far", "from_zero"), [(1e4, 0.0), (1e9, 0.0), (1e4, 1e6), (1e13, 0.0), (0.0, 1e6)])
def test_means_far_apart_have_the_probabilities_of_near_ones(far, from_zero):
    # The highest constraint leaves b and c, between which the others decide.
    example = tableaux("A B C", ("x", "a", 1, "100"), ("x", "b", 1, "010"), ("x", "c", 1, "001"))
    mean = np.array([from_zero + far, from_zero, from_zero + 0.5])
    found = winning_probs(example, mean)
    below = special.ndtr(0.5 / math.sqrt(2))
    near = winning_probs(example, mean - from_zero) if far == 0.0 else [0.0, below, 1.0 - below]
    assert_allclose(found, near, atol=1e-9)


def test_what_is_left_out_of_wide_grids_is_nothing():
    """φ and Φ are those of the C library to the last bit, and probabilities those of a narrow grid."""
    deviation = np.array([1.0, 0.5])
    wide = make_grid(-800.0, 800.0, np.ones(1))
    density, below = (np.empty((2, len(wide.nodes))) for _ in range(2))
    for row, (mean, spread) in enumerate([(0.3, deviation[0]), (-2.0, deviation[1])]):
        tabulate_row(wide, mean, spread, density[row], below[row])
        z = (wide.nodes - mean) / spread
        scale = 1.0 / (spread * math.sqrt(2.0 * math.pi))
        assert density[row].tolist() == [scale * math.exp(-0.5 * x * x) for x in z]
        assert below[row].tolist() == [0.5 * math.erfc(-x * math.sqrt(0.5)) for x in z]
    example = tableaux("A B C D", ("x", "a", 1, "1001"), ("x", "b", 1, "0110"), ("x", "c", 1, "0201"))
    plan = make_plan([[pair for _, pair in conjuncts(example, c)] for c in range(3)], 4)
    for highest in (0.4, 60.0):  # There what is below is certain to be, long after its density is 0.
        mean = np.array([highest, 0.1, -0.2, 0.0])
        grids = [make_grid(-w, w + highest, np.ones(4)) for w in (1.0, 500.0)]
        narrow, wide = (ordering_probs(plan, grid, mean, np.ones(4), True) for grid in grids)
        assert_allclose(narrow[0].sum(), 1.0, atol=1e-11)
        for one, other in zip(narrow, wide, strict=True):
            assert_allclose(one, other, atol=1e-11)


def winners(example, values):
    """How often each candidate wins under rows of values, ties shared: evaluation as it is defined."""
    share = np.zeros(len(example.outputs))
    for row in values:
        order = np.argsort(-row)
        for index in range(len(example.inputs)):
            left = list(example.candidates(index))
            for constraint in order:
                least = min(example.violations[c, constraint] for c in left)
                left = [c for c in left if example.violations[c, constraint] == least]
            share[left] += 1.0 / len(left)
    return share


def test_equal_means_make_all_rankings_equally_probable(rng):
    for _ in range(20):
        example = random_tableaux(rng)
        rankings = np.array(list(itertools.permutations(range(4))), dtype=float)
        expected = winners(example, rankings) / math.factorial(4)
        assert_allclose(winning_probs(example, np.full(4, 1.3), 0.7), expected, atol=1e-12)


def test_two_constraints_follow_the_normal_distribution():
    for difference in (-11.0, -1.0, 0.0, 0.4, 3.0):
        probs = winning_probs(two_constraints(1, 1), np.array([difference, 0.0]), np.array([1.0, 2.0]))
        expected = special.ndtr(np.array([1, -1]) * difference / math.sqrt(5))
        assert_allclose(probs, expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("ratio", [1e-2, 1e-3, 1e-4, 1e-6])
def test_deviations_of_all_ratios_follow_the_normal_distribution(ratio):
    """Panels of the smallest everywhere would be too many."""
    for mean, deviation in (([0.0, 0.5], [1.0, ratio]), ([0.5 * ratio, 0.0], [ratio, 1.0])):
        probs = winning_probs(two_constraints(1, 1), np.array(mean), np.array(deviation))
        expected = special.ndtr(np.array([1, -1]) * (mean[0] - mean[1]) / math.hypot(*deviation))
        assert_allclose(probs, expected, atol=1e-11)


def test_grids_that_are_fitted_to_deviations_are_as_good_as_even_ones(rng, monkeypatch):
    """Three constraints are close together, and a fourth is a thousand times as noisy."""
    example = tableaux("A B C D", ("x", "a", 1, "1001"), ("x", "b", 1, "0110"), ("x", "c", 1, "0201"))
    model, mean = OrderingModel(example), np.array([0.4, 0.1, -0.2, 0.0])
    for deviation in (np.array([1.0, 0.7, 0.5, 2.0]), np.array([1.0, 0.7, 0.5, 1000.0])):
        monkeypatch.setattr(quadrature, "_MOST_PANELS", 10**5)
        even = model.gradient(mean, deviation)
        monkeypatch.setattr(quadrature, "_MOST_PANELS", 1)
        for one, other in zip(even, model.gradient(mean, deviation), strict=True):
            assert_allclose(one, other, atol=1e-11)
        assert_allclose(even[0].sum(), 1.0, atol=1e-11)


@pytest.mark.parametrize("example", [TABLE_2, ILOKANO, SPANISH])
def test_probabilities_of_an_input_sum_to_one(rng, example):
    for _ in range(10):
        size = len(example.constraints)
        probs = winning_probs(example, rng.normal(0, 3, size), rng.uniform(0.3, 3, size))
        totals = np.bincount(example.input_of(), probs)
        assert_allclose(totals, 1.0, atol=1e-11)


def test_random_tableaux_agree_with_simulated_evaluations(rng):
    """Forty comparisons; each raises a false alarm with probability 1e-8."""
    for _ in range(10):
        example = random_tableaux(rng)
        mean, deviation = rng.normal(0, 1, 4), rng.uniform(0.5, 2, 4)
        probs = winning_probs(example, mean, deviation)
        assert_allclose(probs.sum(), 1.0, atol=1e-11)
        counts = winners(example, mean + deviation * rng.standard_normal((1500, 4)))
        assert chi_square_tail(counts, 1500 * probs / probs.sum()) > FALSE_ALARM


def test_forgotten_factor_is_noticed():
    """Planted fault: constraints that are left behind taken to be free."""
    example = tableaux("A B C", ("x", "a", 1, "001"), ("x", "b", 1, "110"))
    mean = np.zeros(3)
    right = winning_probs(example, mean)[0]
    wrong = 1.0 - (1.0 - special.ndtr(0.0)) ** 2  # P(A > C or B > C) as if these were independent
    assert_allclose(right, 2 / 3, atol=1e-12)
    assert abs(right - wrong) > 0.08


@pytest.mark.parametrize("example", [TABLE_2, ILOKANO, SPANISH])
def test_gradient_agrees_with_differences(rng, example):
    size = len(example.constraints)
    model, deviation = OrderingModel(example), np.full(size, 1.2)
    mean = rng.normal(0, 1, size)
    _, gradient = model.gradient(mean, deviation)
    for i, step in enumerate(1e-5 * np.eye(size)):
        difference = model.probs(mean + step, deviation) - model.probs(mean - step, deviation)
        assert_allclose(gradient[:, i], difference / 2e-5, atol=1e-8)


def test_candidates_with_the_same_violations_share():
    example = tableaux("A B", ("x", "a", 1, "01"), ("x", "a2", 0, "01"), ("x", "b", 1, "10"))
    assert_allclose(winning_probs(example, np.zeros(2)), [0.25, 0.25, 0.5], atol=1e-12)
