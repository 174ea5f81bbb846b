"""Normal priors of multinomials: their covariances, and the M-step that learns them.

For N copies with the posteriors N(m, s) of a vector with the prior N(μ, Σ), the bound is greatest at

    μ = Σ m / N,    Σ = [ Σ (m − μ)(m − μ)ᵀ + Σ diag(s) ] / N.

Matrices of all multinomials stand one after the other in one array, row by row.

The fact a newcomer would get wrong: Σ is positive definite by itself, since every copy adds its variances to
the diagonal; nothing has to be done to keep it so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from monolingual.priors.multinomials import Families
from scfg_sampler.core.jit import kernel, prefetch, reordering
from scfg_sampler.errors import SettingsError

__all__ = [
    "Copies",
    "copies_of",
    "covariances",
    "diagonals",
    "identity_covariances",
    "inverses",
    "log_determinants",
    "maximise",
    "square_starts",
]


class Copies(NamedTuple):
    """Which vectors have been drawn from which prior, and how often each stands for several.

    Attributes
    ----------
    families : Families
        The priors' vectors.
    family : int64, shape (I,)
        The prior of each copy.
    start : int64, shape (I + 1,)
        The values of copy i are start[i] … start[i + 1] − 1.
    times : float64, shape (I,)
        How many sentences it stands for.
    others : float64, shape (F,)
        How many sentences count for a prior without having a copy: their posterior is m = μ, s_i = 1 / Λ_ii.
    order : int64, shape (I,)
        The copies, those of one prior together.
    """

    families: Families
    family: np.ndarray
    start: np.ndarray
    times: np.ndarray
    others: np.ndarray
    order: np.ndarray


def copies_of(families: Families, family: np.ndarray, times: np.ndarray, others: np.ndarray) -> Copies:
    """Copies one after the other; see the fields of `Copies`."""
    start = np.concatenate([[0], np.cumsum(np.diff(families.start)[family])]).astype(np.int64)
    return Copies(families, family, start, times, others, np.argsort(family, kind="stable"))


def square_starts(families: Families) -> np.ndarray:
    """Where the matrix of each multinomial begins: int64, shape (F + 1,)."""
    return np.concatenate([[0], np.cumsum(np.diff(families.start) ** 2)]).astype(np.int64)


def identity_covariances(families: Families) -> np.ndarray:
    """Identity matrices for all multinomials, row by row."""
    return np.concatenate([np.eye(size).ravel() for size in np.diff(families.start)])


def covariances(families: Families, flat: np.ndarray) -> list[np.ndarray]:
    """The matrix of each multinomial, from all of them row by row: views of shape (N, N)."""
    starts, sizes = square_starts(families), np.diff(families.start)
    return [flat[starts[k] : starts[k + 1]].reshape(sizes[k], -1) for k in range(len(sizes))]


def diagonals(families: Families, flat: np.ndarray) -> np.ndarray:
    """The diagonals of all matrices: float64, shape (R,)."""
    found = np.zeros(int(families.start[-1]))
    for which, choices, values in _runs(families):
        size = families.start[which.start + 1] - families.start[which.start]
        found[choices] = np.diagonal(flat[values].reshape(-1, size, size), axis1=1, axis2=2).ravel()
    return found


def log_determinants(families: Families, flat: np.ndarray) -> np.ndarray:
    """The log determinants of all matrices: float64, shape (F,).

    Raises
    ------
    SettingsError
        A matrix is not symmetric or not positive definite.
    """
    found = np.zeros(len(families.start) - 1)
    for which, _, values in _runs(families):
        size = families.start[which.start + 1] - families.start[which.start]
        matrices = flat[values].reshape(-1, size, size)
        try:
            factors = np.linalg.cholesky(matrices)
        except np.linalg.LinAlgError:
            factors = None
        if factors is None or np.abs(matrices - matrices.transpose(0, 2, 1)).max() > 1e-8:
            raise SettingsError("a covariance matrix is not symmetric and positive definite")
        found[which] = 2.0 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    return found


def inverses(families: Families, flat: np.ndarray) -> np.ndarray:
    """The inverses of all matrices, symmetric to the last digit: float64, shape (Σ N²,)."""
    found = np.zeros(len(flat))
    for which, _, values in _runs(families):
        size = families.start[which.start + 1] - families.start[which.start]
        matrices = np.linalg.inv(flat[values].reshape(-1, size, size))
        found[values] = (0.5 * (matrices + matrices.transpose(0, 2, 1))).ravel()
    return found


def _runs(families: Families) -> Iterator[tuple[slice, slice, slice]]:
    """Neighbours of equal size: which families, which of their choices, which values of their matrices."""
    sizes, squares = np.diff(families.start), square_starts(families)
    borders = [0, *(np.flatnonzero(np.diff(sizes)) + 1).tolist(), len(sizes)]
    for first, last in itertools.pairwise(borders):
        choices = slice(families.start[first], families.start[last])
        yield slice(first, last), choices, slice(squares[first], squares[last])


def maximise(
    copies: Copies,
    mean: np.ndarray,
    covariance: np.ndarray,
    precision: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The best means and covariances of the priors, given those before and m and s of all copies.

    Parameters
    ----------
    copies : Copies
    mean : float64, shape (R,)
        μ.
    covariance, precision : float64, shape (Σ N²,)
        Σ and Λ. A prior without any sentence keeps its own.
    means, variances : float64, shape (copies.start[-1],)
        m and s.
    """
    families, others = copies.families, copies.others
    sizes = np.diff(families.start)
    mass = np.bincount(copies.family, copies.times, minlength=len(others)) + others
    has_copies = mass > 0.0
    safe = np.where(has_copies, mass, 1.0)
    sums, spread = np.zeros(len(mean)), np.zeros(len(mean))
    _sum_copies(copies.family, copies.start, families.start, means, variances, copies.times, sums, spread)
    rest, per_choice = np.repeat(others, sizes), np.repeat(safe, sizes)
    new_mean = np.where(np.repeat(has_copies, sizes), (sums + rest * mean) / per_choice, mean)
    spread = (spread + rest / diagonals(families, precision)) / per_choice
    scatter = np.zeros(len(covariance))
    _scatter(
        copies.order, copies.family, copies.start, families.start, new_mean, means, copies.times, scatter
    )
    new_covariance = covariance.copy()
    shifts = mean - new_mean
    for which, choices, values in _runs(families):
        size = sizes[which.start]
        lower = scatter[values].reshape(-1, size, size)
        matrices = lower + np.tril(lower, -1).transpose(0, 2, 1)
        moved = shifts[choices].reshape(-1, size)
        matrices += others[which, None, None] * moved[:, :, None] * moved[:, None, :]
        matrices /= safe[which, None, None]
        matrices[:, np.arange(size), np.arange(size)] += spread[choices].reshape(-1, size)
        places = new_covariance[values].reshape(-1, size, size)
        places[has_copies[which]] = matrices[has_copies[which]]
    return new_mean, new_covariance


@kernel
def _sum_copies(family, start, family_start, means, variances, times, sums, spread):
    for copy in range(len(family)):
        shift = family_start[family[copy]] - start[copy]
        for i in range(start[copy], start[copy + 1]):
            sums[shift + i] += times[copy] * means[i]
            spread[shift + i] += times[copy] * variances[i]


@kernel
def _scatter(order, family, start, family_start, mean, means, times, scatter):
    """Σ (m − μ) (m − μ)ᵀ of each multinomial, its lower triangle; four copies at a time."""
    largest = 0
    for k in range(len(family_start) - 1):
        largest = max(largest, family_start[k + 1] - family_start[k])
    shifts, scaled, sums = np.zeros((4, largest)), np.zeros((4, largest)), np.zeros((largest, largest))
    first, square = 0, 0
    for k in range(len(family_start) - 1):
        size = family_start[k + 1] - family_start[k]
        held = 0
        while first < len(order) and family[order[first]] == k:
            copy = order[first]
            if first + 12 < len(order):
                begin = start[order[first + 12]]
                for i in range(0, size, 8):
                    prefetch(means, begin + i)
            for i in range(size):
                shifts[held, i] = means[start[copy] + i] - mean[family_start[k] + i]
                scaled[held, i] = times[copy] * shifts[held, i]
            first += 1
            held += 1
            if held == 4:
                _add_products(shifts, scaled, sums, size)
                held = 0
        shifts[held:] = 0.0
        scaled[held:] = 0.0
        _add_products(shifts, scaled, sums, size)
        for i in range(size):
            for j in range(i + 1):
                scatter[square + i * size + j] = sums[i, j]
                sums[i, j] = 0.0
        square += size * size


@reordering
def _add_products(shifts, scaled, sums, size):
    """Add the lower triangles of four outer products."""
    for i in range(size):
        a, b, c, d = scaled[0, i], scaled[1, i], scaled[2, i], scaled[3, i]
        for j in range(i + 1):
            sums[i, j] += a * shifts[0, j] + b * shifts[1, j] + c * shifts[2, j] + d * shifts[3, j]
