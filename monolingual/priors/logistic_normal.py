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

from typing import NamedTuple

import numpy as np

from monolingual.priors.covariances import (
    Copies,
    copies_of,
    diagonals,
    inverses,
    log_determinants,
    maximise,
    square_starts,
)
from monolingual.priors.e_step import Normals, Prior, gradients, improve
from monolingual.priors.estimators import Progress
from monolingual.priors.multinomials import Families, normalise, sum_per_family
from monolingual.priors.sentence_units import Units, choices_of_copies, copies_per_family
from monolingual.priors.shared_e_step import Links, improve_experts
from monolingual.priors.shared_logistic_normal import Experts, arguments_of, expert_means, links_of
from scfg_sampler.core.chains.kernel import Kernel, copy_state
from scfg_sampler.errors import SettingsError

__all__ = [
    "LogisticNormalState",
    "copy_bound",
    "copy_gradients",
    "logistic_normal_kernel",
    "point_estimate",
]


class LogisticNormalState(NamedTuple):
    """Where the learner is.

    Attributes
    ----------
    mean : float64, shape (R,)
        μ of all multinomials, or of all experts where they are shared.
    covariance, precision : float64, shape (Σ N²,)
        Σ and Λ of the same, row by row; see `square_starts`.
    means, variances : float64, shape (choices of all copies,)
        m and s of the same.
    weights : float64, shape (choices of all copies of multinomials,)
        e^ψ.
    """

    mean: np.ndarray
    covariance: np.ndarray
    precision: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    weights: np.ndarray


def point_estimate(families: Families, mean: np.ndarray, experts: Experts | None = None) -> np.ndarray:
    """θ at η = μ: float64, shape (R,)."""
    if experts is not None:
        mean = arguments_of(families, experts, mean)
    top = np.repeat(np.maximum.reduceat(mean, families.start[:-1]), np.diff(families.start))
    return normalise(families, np.exp(mean - top))


def logistic_normal_kernel(
    units: Units,
    covariance: np.ndarray,
    *,
    experts: Experts | None = None,
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
        Σ at the start, of all multinomials or, if they are given, of all experts, row by row.
    experts : Experts, optional
        Which multinomials share parts of their arguments; by default each has an expert of its own.
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
    choices = choices_of_copies(units)
    links = None
    if experts is None:
        families, has_copy = units.families, copies_per_family(units)
        # How many sentences count in each multinomial's M-step without having a copy.
        others = units.multiplicity.sum() - has_copy if unused == "averaged" else np.zeros(len(has_copy))
        copies, values = copies_of(families, units.family, units.multiplicity[units.unit], others), choices
    else:
        families, (links, copies) = experts.families, links_of(units, experts, unused=unused)
        values = choices_of_copies(
            units._replace(families=families, family=copies.family, start=copies.start)
        )
    used = np.bincount(copies.family, copies.times, minlength=len(copies.others))
    given = _Given(units, experts, families, square_starts(families), links, copies, used, iterations)
    log_determinants(families, covariance)  # Complains of what is not positive definite.
    first_precision = inverses(families, covariance)

    def init(rng: np.random.Generator | None, probs: np.ndarray) -> LogisticNormalState:
        mean = np.log(np.maximum(probs, 1e-300))
        if experts is not None:
            mean = expert_means(units.families, experts, mean)
        diagonal = diagonals(families, first_precision)
        # The first expectations are those of the probabilities themselves.
        weights = np.asarray(probs, np.float64)[choices]
        state = LogisticNormalState(
            mean, covariance.copy(), first_precision.copy(), mean[values], 1.0 / diagonal[values], weights
        )
        _improve(given, state, units.expectations(weights)[0], is_first=True)
        return state

    def step(
        rng: np.random.Generator | None, state: LogisticNormalState
    ) -> tuple[LogisticNormalState, Progress]:
        counts, totals = units.expectations(state.weights)
        objective = _bound(given, state, _improve(given, state, counts), totals)
        for _ in range(rounds - 1):
            counts, _ = units.expectations(state.weights)
            _improve(given, state, counts)
        new = _with_learnt_prior(given, state) if learn_prior else state
        before, after = (point_estimate(units.families, s.mean, experts) for s in (state, new))
        change = float(np.abs(after - before).max(initial=0.0))
        return new, Progress(objective, float(totals @ units.multiplicity), change)

    def log_joint(state: LogisticNormalState) -> float:
        counts, totals = units.expectations(state.weights)
        divergences = _improve(given._replace(iterations=0), copy_state(state), counts)
        return _bound(given, state, divergences, totals)

    return Kernel(init, step, log_joint)


class _Given(NamedTuple):
    """What stays the same from step to step.

    Attributes
    ----------
    units : Units
    experts : Experts, optional
        Normals that multinomials share.
    families : Families
        The normals: those of multinomials or, if they are given, of experts.
    squares : int64
        Where the matrix of each begins.
    links : Links, optional
        Which experts make which multinomials.
    copies : Copies
    used : float64
        How many copies each normal has.
    iterations : int
        Of the E-step.
    """

    units: Units
    experts: Experts | None
    families: Families
    squares: np.ndarray
    links: Links | None
    copies: Copies
    used: np.ndarray
    iterations: int


def _improve(
    given: _Given, state: LogisticNormalState, counts: np.ndarray, *, is_first: bool = False
) -> np.ndarray:
    """Better normals, in place; KL of each copy, without log |Σ|, before. The E-step."""
    copies = given.copies
    divergences = np.zeros(len(copies.family))
    diagonal = diagonals(given.families, state.precision)
    prior = Prior(given.families.start, given.squares, state.mean, state.precision, diagonal)
    normals = Normals(state.means, state.variances, state.weights)
    how = is_first, given.iterations, divergences
    if given.links is None:
        improve(copies.family, copies.start, prior, counts, normals, *how)
    else:
        improve_experts(given.links, copies.family, prior, counts, normals, *how)
    return divergences


def _bound(given: _Given, state: LogisticNormalState, divergences: np.ndarray, totals: np.ndarray) -> float:
    """The evidence lower bound, of the divergences that `_improve` tells."""
    copies = given.copies
    volumes = log_determinants(given.families, state.covariance)
    spread = sum_per_family(given.families, np.log(diagonals(given.families, state.precision)))
    likelihood = totals @ given.units.multiplicity
    value = likelihood - (copies.times * divergences).sum() - 0.5 * given.used @ volumes
    return float(value - 0.5 * copies.others @ (volumes + spread))


def _with_learnt_prior(given: _Given, state: LogisticNormalState) -> LogisticNormalState:
    """The M-step."""
    prior = state.mean, state.covariance, state.precision
    mean, covariance = maximise(given.copies, *prior, state.means, state.variances)
    # Multinomials in closed form follow their prior by themselves; copies stay where they are.
    return state._replace(mean=mean, covariance=covariance, precision=inverses(given.families, covariance))


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
    gradients(mean, np.ascontiguousarray(precision), counts, means, variances, by_mean, by_variance)
    return by_mean, by_variance
