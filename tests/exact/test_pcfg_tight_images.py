"""Moves through tight images leave the renormalised posterior unchanged: transition matrices by enumeration.

The Dirichlet distribution is replaced by one on a grid, of φ. Each φ has several grammars with its trees.
What the posterior gives each is computed from its definition: prior and likelihood of θ, and a Jacobian by
differences.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.pcfg import tight_images
from monolingual.pcfg.model import build_model
from scfg_sampler.core import draws
from tests.monolingual.pcfg.grammars import grammar_of
from tests.oracles.choices import GENERATOR, distribution

# P(S -> A S) and P(A -> S A A A) of φ; of θ where A is in no tree. The fixed points of some are near 1 and of
# others far from it, so that Newton's method does not always come back.
GRID = (0.02, 0.16, 0.4)
PRIOR = np.array([0.6, 1.7, 0.4, 2.2])
BOTH, ONE = np.array([2, 3, 1, 3]), np.array([0, 3, 0, 0])


@pytest.fixture
def model(tmp_path):
    return build_model(grammar_of("S -> A S | 'a'\nA -> S A A A | 'b'", tmp_path)[0], PRIOR)


def partition(p, q):
    """Z of S and A, by the plain iteration."""
    s = a = 0.0
    for _ in range(3_000):
        s, a = p * a * s + 1.0 - p, q * s * a**3 + 1.0 - q
    return np.array([s, a])


def image(p, q):
    z = partition(p, q)
    return p * z[1], q * z[0] * z[1] ** 2


def grammars(first, second, uses_second):
    """All (p, q) whose image is (first, second), or (first, of a grammar with this q)."""
    p, q = first, second
    if uses_second:
        equation = [q * (1.0 - p), p, -1.0 - (1.0 - q) * p, 1.0 - q]
    else:
        equation = [1.0 - q, -1.0, -p * q / (1.0 - p), q / (1.0 - p)]
    roots = np.roots(equation)
    for root in roots[np.isreal(roots)].real:
        # The root is W_A.
        p, q = first * root, second
        if uses_second:
            q = second * root**2 * (1.0 - first) / (1.0 - first * root)
        if not (0.0 < p < 1.0 and 0.0 < q < 1.0):
            continue
        found = image(p, q)
        wanted = (first, second if uses_second else found[1])
        if np.allclose(found, wanted, atol=1e-7):
            yield p, q


def states_of(counts):
    """The grammars above the grid, and what the posterior gives each."""
    states, target = [], []
    uses_second = counts[2:].sum() > 0
    for first, second in itertools.product(GRID, GRID):
        for p, q in grammars(first, second, uses_second):
            step = 1e-6
            across = [np.subtract(image(p + step, q), image(p - step, q)) / (2 * step)]
            across.append(np.subtract(image(p, q + step), image(p, q - step)) / (2 * step))
            jacobian = np.linalg.det(np.array(across)) if uses_second else across[0][0]
            theta = np.array([p, 1.0 - p, q, 1.0 - q])
            z = partition(p, q)
            phi = theta * np.array([z[1], 1.0 / z[0], z[0] * z[1] ** 2, 1.0 / z[1]])
            # The grid has a weight of 1 for each point, so that what stays of densities is that of φ.
            density = np.prod(theta ** (PRIOR - 1.0)) * np.prod(phi**counts) / abs(jacobian)
            states.append(theta)
            target.append(density)
    return np.array(states), np.array(target) / np.sum(target)


def grid_dirichlet(rng, concentrations, first, end, probs):
    points = np.array([(point, 1.0 - point) for point in GRID])
    weights = np.prod(points ** (concentrations[first:end] - 1.0), axis=1)
    probs[first:end] = points[draws.categorical(rng, weights, len(points))]


def transitions(model, counts, states):
    order = tight_images.elimination_order(model.system)
    matrix = np.zeros((len(states), len(states)))
    for row, theta in enumerate(states):

        def step(theta=theta):
            probs, log_z = theta.copy(), np.log(partition(theta[0], theta[2])[:1])
            tight_images.draw_images(GENERATOR, model.system, order, PRIOR + counts, PRIOR, probs, log_z)
            distance = np.abs(states - probs).max(axis=1)
            assert distance.min() < 1e-6, (theta, probs)
            assert abs(np.exp(log_z[0]) - partition(probs[0], probs[2])[0]) < 1e-6
            return int(distance.argmin())

        for column, prob in distribution(step).items():
            matrix[row, column] += prob
    return matrix


@pytest.fixture(autouse=True)
def grid(monkeypatch):
    monkeypatch.setattr(draws, "dirichlet", grid_dirichlet)


@pytest.mark.parametrize("counts", [BOTH, ONE])
def test_moves_through_tight_images_leave_the_posterior_invariant(model, counts, monkeypatch):
    states, target = states_of(counts)
    tight = np.array([np.allclose(partition(p, q), 1.0) for p, _, q, _ in states])
    assert 0.05 < target[tight].sum() < 0.95, target[tight].sum()
    matrix = transitions(model, counts, states)
    assert_allclose(target @ matrix, target, atol=1e-8)
    assert np.trace(matrix) < 0.8 * len(states)
    # The planted faults: no Jacobian; no way back asked for.
    right = tight_images.eliminate
    with monkeypatch.context() as patch:
        patch.setattr(tight_images, "eliminate", lambda matrix, side: (0.0, right(matrix, side)[1]))
        assert np.abs(target @ transitions(model, counts, states) - target).max() > 1e-3
    monkeypatch.setattr(tight_images, "_distance", lambda first, second: 0.0)
    assert np.abs(target @ transitions(model, counts, states) - target).max() > 1e-4


def test_nonterminals_are_eliminated_by_the_neighbours_they_have_left(tmp_path):
    # Of a path an end is taken, then its neighbour, which is an end now.
    rules = "S -> A 's'\nA -> B 'a'\nB -> C 'b'\nC -> 'c'"
    system = build_model(grammar_of(rules, tmp_path)[0], np.ones(4)).system
    assert tight_images.elimination_order(system).tolist() == [0, 1, 2, 3]
    # What all others lead to comes when one of them is left.
    rules = "S -> A S | B S | C S | 'a'\nA -> S 'b'\nB -> S 'c'\nC -> S 'd'"
    system = build_model(grammar_of(rules, tmp_path)[0], np.ones(7)).system
    assert tight_images.elimination_order(system).tolist() == [1, 2, 0, 3]
