"""Variational EM for grammars with logistic normal priors (Cohen, Gimpel and Smith 2008, appendix A).

Each sentence draws η_k ~ N(μ_k, Σ_k) for every multinomial k, and θ_k = softmax(η_k). The posterior of η is
approximated by independent normals N(m_i, s_i), that of the derivation by the grammar under weights e^ψ,
ψ_i = m_i − log ζ. With Λ = Σ⁻¹, expected counts f, F = Σ f and ζ = Σ exp(m_i + s_i / 2), which is where the
bound's Taylor expansion is tightest, a copy of a multinomial contributes

    f·m − F log ζ − KL,    KL = ½ [ (m − μ)ᵀ Λ (m − μ) + Σ (Λ_ii s_i − log s_i) + log |Σ| − N ]

to the bound. Its derivatives (those printed have slips of sign, and Σ_ii for Λ_ii) are, with
π_i = exp(m_i + s_i / 2) / ζ,

    ∂/∂m = f − F π − Λ (m − μ),          ∂/∂s_i = ½ (1 / s_i − Λ_ii − F π_i).

The E-step is conjugate gradients for m and Newton's method for each s_i; the M-step is the mean and
covariance of all copies. A multinomial that a sentence cannot use has the optimum m = μ, s_i = 1 / Λ_ii in
closed form.

The fact a newcomer would get wrong: with `unused="averaged"`, as published, these sentences count in the
M-step and pull a rare multinomial back to where it was, in spread as well as mean. With
`unused="integrated"` their η is integrated out, which it can be exactly: then the mean and covariance are
those of the copies in use.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.learners import Progress
from monolingual.multinomials import Families, normalise
from monolingual.units import Units, choices_of_copies, copies_per_family
from scfg_sampler.core.jit import inlined, kernel
from scfg_sampler.core.kernel import Kernel, copy_state
from scfg_sampler.errors import SettingsError

__all__ = [
    "LogisticNormalState",
    "copy_bound",
    "copy_gradients",
    "covariances",
    "identity_covariances",
    "logistic_normal_kernel",
    "point_estimate",
]


class LogisticNormalState(NamedTuple):
    """Where the learner is.

    Attributes
    ----------
    mean : float64, shape (R,)
        μ of all multinomials.
    covariance, precision : float64, shape (Σ N²,)
        Σ and Λ of all multinomials, row by row; see `square_starts`.
    means, variances : float64, shape (choices of all copies,)
        m and s.
    weights : float64, alike
        e^ψ.
    """

    mean: np.ndarray
    covariance: np.ndarray
    precision: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    weights: np.ndarray


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


def point_estimate(families: Families, mean: np.ndarray) -> np.ndarray:
    """θ at η = μ: float64, shape (R,)."""
    top = np.repeat(np.maximum.reduceat(mean, families.start[:-1]), np.diff(families.start))
    return normalise(families, np.exp(mean - top))


def logistic_normal_kernel(
    units: Units,
    covariance: np.ndarray,
    *,
    unused: str = "averaged",
    rounds: int = 1,
    iterations: int = 1,
    learn_prior: bool = True,
) -> Kernel:
    """Variational EM as a kernel that ignores its generator; `init` takes probabilities.

    Parameters
    ----------
    units : Units
    covariance : float64, shape (Σ N²,)
        Σ at the start, of all multinomials, row by row.
    unused : str
        "averaged" or "integrated": what becomes of multinomials that a sentence cannot use.
    rounds : int
        How often the E-step goes from counts to normals and back. They go on where the last E-step left
        them, so that one is enough to rise.
    iterations : int
        Conjugate gradients in each.
    learn_prior : bool
        False keeps μ and Σ, for a posterior under a given prior.

    Raises
    ------
    SettingsError
        A matrix of `covariance` is not symmetric and positive definite.
    """
    if unused not in ("averaged", "integrated"):
        raise SettingsError(f"unused is {unused!r}; choose averaged or integrated")
    families = units.families
    choices = choices_of_copies(units)
    squares = square_starts(families)
    used = copies_per_family(units)
    # How many sentences count in each multinomial's M-step without having a copy.
    others = units.multiplicity.sum() - used if unused == "averaged" else np.zeros(len(used))
    times = units.multiplicity[units.unit]
    first_precision, _ = _invert(families, covariance)

    def init(rng: np.random.Generator | None, probs: np.ndarray) -> LogisticNormalState:
        mean = np.log(np.maximum(probs, 1e-300))
        diagonal = _diagonal(families, first_precision)
        # The first expectations are those of the probabilities themselves.
        weights = np.asarray(probs, np.float64)[choices]
        state = LogisticNormalState(
            mean, covariance.copy(), first_precision.copy(), mean[choices], 1.0 / diagonal[choices], weights
        )
        improve(state, units.expectations(weights)[0], iterations)
        return state

    def improve(state: LogisticNormalState, counts: np.ndarray, iterations: int) -> np.ndarray:
        """Better normals, in place; KL of each copy, without log |Σ|, before."""
        divergences = np.zeros(len(units.family))
        prior = families.start, squares, state.mean, state.precision
        values = state.means, state.variances, state.weights
        _improve(units.family, units.start, prior, counts, *values, iterations, divergences)
        return divergences

    def bound(state: LogisticNormalState, divergences: np.ndarray, totals: np.ndarray) -> float:
        _, log_determinants = _invert(families, state.covariance)
        spread = np.add.reduceat(np.log(_diagonal(families, state.precision)), families.start[:-1])
        value = totals @ units.multiplicity - times @ divergences - 0.5 * used @ log_determinants
        return float(value - 0.5 * others @ (log_determinants + spread))

    def step(
        rng: np.random.Generator | None, state: LogisticNormalState
    ) -> tuple[LogisticNormalState, Progress]:
        counts, totals = units.expectations(state.weights)
        divergences = improve(state, counts, iterations)
        objective = bound(state, divergences, totals)
        for _ in range(rounds - 1):
            counts, _ = units.expectations(state.weights)
            improve(state, counts, iterations)
        new = _maximise(families, units, times, others, state) if learn_prior else state
        before, after = (point_estimate(families, s.mean) for s in (state, new))
        change = float(np.abs(after - before).max(initial=0.0))
        return new, Progress(objective, float(totals @ units.multiplicity), change)

    def log_joint(state: LogisticNormalState) -> float:
        counts, totals = units.expectations(state.weights)
        return bound(state, improve(copy_state(state), counts, 0), totals)

    return Kernel(init, step, log_joint)


def _maximise(
    families: Families, units: Units, times: np.ndarray, others: np.ndarray, state: LogisticNormalState
) -> LogisticNormalState:
    """The M-step: mean and covariance of all copies, and of those in closed form."""
    size = len(state.mean)
    mass = np.repeat(copies_per_family(units) + others, np.diff(families.start))
    rest = np.repeat(others, np.diff(families.start))
    has_copies = mass > 0.0
    safe = np.where(has_copies, mass, 1.0)
    sums, spread = np.zeros(size), np.zeros(size)
    _sum_copies(units.family, units.start, families.start, state.means, state.variances, times, sums, spread)
    mean = (sums + rest * state.mean) / safe
    mean = np.where(has_copies, mean, state.mean)
    spread = (spread + rest / _diagonal(families, state.precision)) / safe
    squares = square_starts(families)
    scatter = np.zeros(squares[-1])
    _scatter(units.family, units.start, families.start, squares, mean, state.means, times, scatter)
    covariance = state.covariance.copy()
    sizes, shifts = np.diff(families.start), state.mean - mean
    for size in np.unique(sizes):
        some = np.flatnonzero((sizes == size) & has_copies[families.start[:-1]])
        places = squares[some][:, None] + np.arange(size * size)
        lower = scatter[places].reshape(-1, size, size)
        rows = families.start[some][:, None] + np.arange(size)
        matrices = lower + np.tril(lower, -1).transpose(0, 2, 1)
        matrices += others[some, None, None] * shifts[rows][:, :, None] * shifts[rows][:, None, :]
        matrices /= safe[families.start[some]][:, None, None]
        matrices[:, np.arange(size), np.arange(size)] += spread[rows]
        covariance[places] = matrices.reshape(len(some), -1)
    precision, _ = _invert(families, covariance)
    # Multinomials in closed form follow their prior by themselves; copies stay where they are.
    return state._replace(mean=mean, covariance=covariance, precision=precision)


def _diagonal(families: Families, flat: np.ndarray) -> np.ndarray:
    """The diagonals of all matrices: float64, shape (R,)."""
    return np.concatenate([matrix.diagonal() for matrix in covariances(families, flat)])


def _invert(families: Families, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverses of all matrices, row by row, and their log determinants, shape (F,)."""
    sizes, starts = np.diff(families.start), square_starts(families)
    inverse, log_determinants = np.zeros(len(flat)), np.zeros(len(sizes))
    for size in np.unique(sizes):
        some = np.flatnonzero(sizes == size)
        places = starts[some][:, None] + np.arange(size * size)
        matrices = flat[places].reshape(-1, size, size)
        try:
            if not np.allclose(matrices, matrices.transpose(0, 2, 1), rtol=1e-8):
                raise np.linalg.LinAlgError
            factors = np.linalg.cholesky(matrices)
        except np.linalg.LinAlgError:
            raise SettingsError("a covariance matrix is not symmetric and positive definite") from None
        log_determinants[some] = 2.0 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
        found = np.linalg.inv(matrices)
        inverse[places] = (0.5 * (found + found.transpose(0, 2, 1))).reshape(len(some), -1)
    return inverse, log_determinants


def copy_bound(
    mean: np.ndarray,
    precision: np.ndarray,
    counts: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
) -> float:
    """What one copy contributes to the bound, but for the terms of |Σ|: f·m − F log ζ − KL.

    Parameters
    ----------
    mean : float64, shape (N,)
        μ.
    precision : float64, shape (N, N)
        Λ.
    counts, means, variances : float64, shape (N,)
        f, m and s.
    """
    shift = means - mean
    divergence = shift @ precision @ shift + precision.diagonal() @ variances - np.log(variances).sum()
    log_zeta = np.logaddexp.reduce(means + variances / 2.0)
    return float(counts @ means - counts.sum() * log_zeta - 0.5 * (divergence - len(mean)))


def copy_gradients(
    mean: np.ndarray,
    precision: np.ndarray,
    counts: np.ndarray,
    means: np.ndarray,
    variances: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of `copy_bound` by means and variances, as the compiled E-step computes them."""
    by_mean, by_variance = np.zeros(len(mean)), np.zeros(len(mean))
    _gradients(mean, np.ascontiguousarray(precision), counts, means, variances, by_mean, by_variance)
    return by_mean, by_variance


@kernel
def _gradients(mean, precision, counts, means, variances, by_mean, by_variance):
    size = len(mean)
    pull, shares = np.zeros(size), np.zeros(size)
    _multiply(precision, means - mean, pull)
    _shares(means, variances, shares)
    total = counts.sum()
    _mean_gradient(counts, total, shares, pull, by_mean)
    for i in range(size):
        by_variance[i] = 0.5 * (1.0 / variances[i] - precision[i, i] - total * shares[i])


@inlined
def _multiply(matrix, vector, result):
    """A symmetric matrix times a vector."""
    if len(vector) > 8:
        np.dot(matrix, vector, result)
        return
    for i in range(len(vector)):
        result[i] = 0.0
        for j in range(len(vector)):
            result[i] += matrix[i, j] * vector[j]


@inlined
def _shares(means, variances, shares):
    """π of one copy; log ζ."""
    top = -np.inf
    for i in range(len(means)):
        shares[i] = means[i] + 0.5 * variances[i]
        top = max(top, shares[i])
    total = 0.0
    for i in range(len(means)):
        shares[i] = math.exp(shares[i] - top)
        total += shares[i]
    for i in range(len(means)):
        shares[i] /= total
    return top + math.log(total)


@inlined
def _mean_gradient(counts, total, shares, pull, gradient):
    """∂/∂m of one copy, with `pull` = Λ (m − μ)."""
    for i in range(len(counts)):
        gradient[i] = counts[i] - total * shares[i] - pull[i]


@kernel
def _improve(family, start, prior, counts, means, variances, weights, iterations, divergences):
    family_start, squares, prior_mean, prior_precision = prior
    largest = 0
    for k in range(len(family_start) - 1):
        largest = max(largest, family_start[k + 1] - family_start[k])
    room = np.zeros((7, largest))
    for copy in range(len(family)):
        k = family[copy]
        size = family_start[k + 1] - family_start[k]
        a, b = start[copy], start[copy + 1]
        mean = prior_mean[family_start[k] : family_start[k + 1]]
        precision = prior_precision[squares[k] : squares[k + 1]].reshape(size, size)
        f, m, s = counts[a:b], means[a:b], variances[a:b]
        # room[i][:size], not room[i, :size]: the latter's rows are not known to be contiguous.
        pull, shares, shift = room[0][:size], room[1][:size], room[2][:size]
        for i in range(size):
            shift[i] = m[i] - mean[i]
        _multiply(precision, shift, pull)
        divergence, product, total = -float(size), 1.0, 0.0
        for i in range(size):
            divergence += shift[i] * pull[i] + precision[i, i] * s[i]
            total += f[i]
            product *= s[i]  # One logarithm for many variances.
            if not 1e-200 < product < 1e200:
                divergence -= math.log(product)
                product = 1.0
        divergences[copy] = 0.5 * (divergence - math.log(product))
        log_zeta = _shares(m, s, shares)
        if iterations:
            log_zeta = _ascend_means(precision, f, total, m, s, pull, room, iterations, log_zeta)
            grown = 0.0
            for i in range(size):
                s[i], shares[i] = _best_variance(s[i], precision[i, i], total, shares[i])
                grown += shares[i]
            log_zeta += math.log(grown)
        for i in range(size):
            weights[a + i] = math.exp(m[i] - log_zeta)


@inlined
def _ascend_means(precision, f, total, m, s, pull, room, iterations, log_zeta):
    """Conjugate gradients for m, preconditioned by the diagonal; log ζ after.

    `pull` = Λ (m − μ) and the shares π, the first two rows of the room, are kept up to date.
    """
    size = len(m)
    shares, gradient, direction = room[1][:size], room[2][:size], room[3][:size]
    along, scaled, trial = room[4][:size], room[5][:size], room[6][:size]
    _mean_gradient(f, total, shares, pull, gradient)
    before = 0.0
    for iteration in range(iterations):
        product, mixed = 0.0, 0.0
        for i in range(size):
            new = gradient[i] / (precision[i, i] + total * shares[i])
            product += gradient[i] * new
            mixed += gradient[i] * scaled[i] if iteration else 0.0
            scaled[i] = new
        if product < 1e-16:
            break
        beta = max((product - mixed) / before, 0.0) if iteration else 0.0
        before = product
        slope, mean_step, square_step = 0.0, 0.0, 0.0
        for i in range(size):
            direction[i] = scaled[i] + (beta * direction[i] if iteration else 0.0)
            slope += gradient[i] * direction[i]
        if slope <= 0.0:
            slope = product
            direction[:] = scaled
        _multiply(precision, direction, along)
        curvature, drift = 0.0, 0.0
        for i in range(size):
            curvature += direction[i] * along[i]
            mean_step += shares[i] * direction[i]
            square_step += shares[i] * direction[i] * direction[i]
            drift += (f[i] - pull[i]) * direction[i]
        length = slope / (curvature + total * (square_step - mean_step * mean_step))
        while True:
            for i in range(size):
                trial[i] = m[i] + length * direction[i]
            trial_zeta = _shares(trial, s, shares)
            gain = length * drift - 0.5 * length * length * curvature - total * (trial_zeta - log_zeta)
            if gain >= 0.0 or length * slope < 1e-14:
                break
            length *= 0.5
        log_zeta = trial_zeta
        for i in range(size):
            m[i] = trial[i]
            pull[i] += length * along[i]
        if iteration + 1 < iterations:
            _mean_gradient(f, total, shares, pull, gradient)
    return log_zeta


@inlined
def _best_variance(variance, precision, total, share):
    """The s with s (Λ_ii + F exp(m + s / 2) / ζ) = 1, with ζ as it is, and π at it.

    Newton's method on a convex, increasing function of s. `share` is π at the variance to start from.
    """
    for _ in range(50):
        grown = total * share
        change = (variance * (precision + grown) - 1.0) / (precision + grown * (1.0 + 0.5 * variance))
        variance -= change
        half = -0.5 * change
        if abs(half) < 1e-4:
            share *= 1.0 + half + 0.5 * half * half
        else:
            share *= math.exp(half)
        # Quadratic convergence: what is left is the square of this.
        if abs(change) <= 1e-3 * variance:
            break
    return variance, share


@kernel
def _sum_copies(family, start, family_start, means, variances, times, sums, spread):
    for copy in range(len(family)):
        shift = family_start[family[copy]] - start[copy]
        for i in range(start[copy], start[copy + 1]):
            sums[shift + i] += times[copy] * means[i]
            spread[shift + i] += times[copy] * variances[i]


@kernel
def _scatter(family, start, family_start, squares, mean, means, times, scatter):
    for copy in range(len(family)):
        k = family[copy]
        size = family_start[k + 1] - family_start[k]
        matrix = scatter[squares[k] : squares[k + 1]].reshape(size, size)
        m = means[start[copy] : start[copy + 1]]
        mu = mean[family_start[k] : family_start[k + 1]]
        for j in range(size):  # The lower triangle.
            shift = times[copy] * (m[j] - mu[j])
            for i in range(j + 1):
                matrix[j, i] += shift * (m[i] - mu[i])
