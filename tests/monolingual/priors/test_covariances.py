"""The M-step of normal priors and the algebra of their matrices, against numpy one vector at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.priors.covariances import (
    copies_of,
    covariances,
    diagonals,
    inverses,
    log_determinants,
    maximise,
)
from monolingual.priors.multinomials import families_of_sizes
from scfg_sampler.errors import SettingsError

SIZES = [3, 3, 2, 1, 4, 2, 2]
FAMILIES = families_of_sizes(SIZES)
# Copies of each prior: none of the third and the last, more than four of the first, five of the fifth.
NUMBERS = [11, 1, 0, 3, 5, 2, 0]
OTHERS = np.array([0.0, 2.0, 4.0, 1.0, 0.0, 0.0, 0.0])


def random_matrices(rng) -> list[np.ndarray]:
    factors = [rng.normal(size=(size, size)) for size in SIZES]
    return [np.eye(len(factor)) + factor @ factor.T for factor in factors]


def flat(matrices) -> np.ndarray:
    return np.concatenate([matrix.ravel() for matrix in matrices])


def test_the_m_step_is_that_of_all_posteriors_one_by_one(rng):
    """A copy of n sentences is n vectors; a sentence without one has m = μ and the variances 1 / Λ_ii."""
    family = rng.permutation(np.repeat(np.arange(len(SIZES)), NUMBERS))
    times = rng.integers(1, 5, size=len(family)).astype(float)
    copies = copies_of(FAMILIES, family, times, OTHERS)
    before = random_matrices(rng)
    mean = rng.normal(size=sum(SIZES))
    means, variances = rng.normal(size=int(copies.start[-1])), rng.gamma(2.0, size=int(copies.start[-1]))
    given = mean, flat(before), flat(map(np.linalg.inv, before)), means, variances
    new_mean, new_covariance = maximise(copies, *given)
    for k, matrix in enumerate(covariances(FAMILIES, new_covariance)):
        own = slice(FAMILIES.start[k], FAMILIES.start[k + 1])
        posteriors = [(mean[own], 1.0 / np.diagonal(np.linalg.inv(before[k])))] * int(OTHERS[k])
        for copy in np.flatnonzero(family == k):
            values = slice(copies.start[copy], copies.start[copy + 1])
            posteriors += [(means[values], variances[values])] * int(times[copy])
        if not posteriors:
            assert_array_equal(new_mean[own], mean[own])
            assert_array_equal(matrix, before[k])
            continue
        middle = np.mean([m for m, _ in posteriors], axis=0)
        parts = [np.outer(m - middle, m - middle) + np.diag(s) for m, s in posteriors]
        assert_allclose(new_mean[own], middle, rtol=1e-12)
        assert_allclose(matrix, np.mean(parts, axis=0), rtol=1e-10, atol=1e-12)


def test_matrices_are_those_of_numpy(rng):
    matrices = random_matrices(rng)
    assert_allclose(inverses(FAMILIES, flat(matrices)), flat(map(np.linalg.inv, matrices)), rtol=1e-9)
    expected = [np.linalg.slogdet(matrix)[1] for matrix in matrices]
    assert_allclose(log_determinants(FAMILIES, flat(matrices)), expected, atol=1e-12)
    assert_array_equal(diagonals(FAMILIES, flat(matrices)), np.concatenate([m.diagonal() for m in matrices]))


@pytest.mark.parametrize("wrong", [[[1.0, 0.5], [0.4, 1.0]], [[1.0, 2.0], [2.0, 1.0]]])
def test_matrices_that_are_no_covariances_are_refused(rng, wrong):
    matrices = random_matrices(rng)
    matrices[5] = np.array(wrong)
    with pytest.raises(SettingsError, match="not symmetric and positive definite"):
        log_determinants(FAMILIES, flat(matrices))
