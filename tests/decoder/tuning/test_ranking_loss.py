"""The minimiser of the ranking loss: the minimum, and the same one on every machine."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from decoder.tuning.ranking_loss import minimum as minimum_of_groups
from decoder.tuning.ranking_loss import pairs as alone
from scfg_sampler.core.arrays.sparse import sparse_rows

WEIGHTS = """
import numpy as np
from decoder.tuning.tune import optimise
from tests.decoder.tuning.test_ranking_loss import pairs
from tests.decoder.tuning.test_tune import run
print(optimise(pairs(4000, 11), 1.0, np.ones(11)).tobytes().hex())
print(*(found.weights.tobytes().hex() for found in run()))
"""


def minimum(rows, l2, start):
    return minimum_of_groups(rows, alone(rows), l2, start)


def pairs(number: int, size: int) -> np.ndarray:
    """Differences that some weights explain, but not all."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(number, size)) * (rng.random((number, size)) < 0.7)
    better = rng.random(number) < 1 / (1 + np.exp(-rows @ rng.normal(size=size)))
    return rows * np.where(better, 1, -1)[:, None]


def loss(weights, rows, l2):
    margins = rows @ weights
    slopes = -1 / (1 + np.exp(margins))
    return np.logaddexp(0, -margins).sum() + l2 / 2 * weights @ weights, slopes @ rows + l2 * weights


@pytest.mark.parametrize(
    ("number", "size", "l2"), [(400, 3, 0.3), (900, 40, 1.0), (30, 60, 5.0), (1, 1, 0.01)]
)
def test_the_minimum_is_that_of_another_minimiser(number, size, l2):
    rows = pairs(number, size)
    found = minimum(sparse_rows(rows), l2, np.full(size, 0.5))
    value, slope = loss(found, rows, l2)
    assert np.abs(slope).max() < 1e-5
    other = minimize(loss, np.zeros(size), (rows, l2), jac=True, method="BFGS", options={"gtol": 1e-6})
    assert value <= other.fun + 1e-9
    np.testing.assert_allclose(found, other.x, atol=1e-5)


@pytest.mark.parametrize(
    ("number", "size", "l2"),
    [(400, 3, 0.3), pytest.param(150, 12, 1.0, marks=pytest.mark.slow), (30, 20, 5.0)],
)
def test_groups_are_lists_whose_first_is_the_right_one(number, size, l2):
    rows = pairs(number, size) * 3
    ends = np.unique(np.concatenate([[0, number], np.random.default_rng(3).integers(0, number, number // 4)]))
    found = minimum_of_groups(sparse_rows(rows), ends, l2, np.full(size, 0.5))

    def loss_of_lists(weights):
        lists = [np.append(0.0, -(rows[a:b] @ weights)) for a, b in itertools.pairwise(ends)]
        return sum(logsumexp(each) for each in lists) + l2 / 2 * weights @ weights

    other = minimize(loss_of_lists, np.zeros(size), method="BFGS", options={"gtol": 1e-6})
    assert loss_of_lists(found) <= other.fun + 1e-9
    np.testing.assert_allclose(found, other.x, atol=1e-4)
    again = minimum_of_groups(sparse_rows(rows), np.repeat(ends, 2), l2, np.full(size, 0.5))
    np.testing.assert_array_equal(again, found)  # Groups of nothing cost nothing.


def test_differences_beyond_what_an_exponential_holds():
    rows = np.array([[-2000.0, 0.0], [-1000.0, 1.0], [3000.0, 1.0]])
    for ends in ([0, 3], [0, 1, 2, 3]):
        found = minimum_of_groups(sparse_rows(rows), np.array(ends), 1.0, np.ones(2))
        assert np.isfinite(found).all()


def test_without_a_prior_separable_pairs_are_ranked_and_an_end_is_found():
    rows = np.array([[1.0, 0.0], [1.0, 0.5], [2.0, 0.1]])
    found = minimum(sparse_rows(rows), 0.0, np.zeros(2))
    assert np.isfinite(found).all()
    assert (rows @ found > 5).all()
    assert minimum(sparse_rows(np.zeros((0, 2))), 0.0, np.ones(2)).tolist() == [1, 1]
    np.testing.assert_allclose(minimum(sparse_rows(np.zeros((3, 2))), 1.0, np.ones(2)), 0, atol=1e-6)


def test_rows_without_zeros_are_the_matrix(rng):
    matrix = rng.normal(size=(5, 4)) * (rng.random((5, 4)) < 0.4)
    matrix[2] = 0
    rows, back = sparse_rows(matrix), np.zeros((5, 4))
    for r in range(5):
        part = slice(rows.start[r], rows.start[r + 1])
        assert (rows.values[part] != 0).all()
        back[r, rows.column[part]] = rows.values[part]
    np.testing.assert_array_equal(back, matrix)


def test_the_same_seed_gives_the_same_weights_on_every_machine():
    """Processors take different variants of BLAS, of numpy's functions and of the C library's."""
    machines = [
        *({"OPENBLAS_CORETYPE": name} for name in ("Haswell", "SkylakeX", "Nehalem")),
        {"NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2"},
    ]
    found = set()
    for machine in machines:
        environment = {**os.environ, **machine}
        made = subprocess.run(
            [sys.executable, "-c", WEIGHTS], env=environment, capture_output=True, text=True
        )
        assert made.returncode == 0, made.stderr
        found.add(made.stdout)
    assert len(found) == 1
