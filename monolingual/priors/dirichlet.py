"""Variational EM for grammars whose sentences draw their multinomials from Dirichlets that are learnt.

As latent Dirichlet allocation does for topics (Blei, Ng and Jordan 2003), and "VB-EM-Dirichlet" in Cohen,
Gimpel and Smith (2008): each sentence draws θ_k ~ Dirichlet(α_k). The posterior of θ_k is approximated by
Dirichlet(γ), γ = α_k + f, that of the derivation by the grammar under weights exp(ψ(γ_i) − ψ(Σ γ)). The
M-step maximises over α

    Σ_copies [ log Γ(Σ α) − Σ log Γ(α_i) + Σ (α_i − 1) E log θ_i ]

by Newton's method, whose Hessian is diagonal plus rank one (Minka 2000). The bound is Σ log weight − Σ KL.
Sentences that cannot use a multinomial have it as in the prior, and say nothing of α.

The fact a newcomer would get wrong: α is a strength as well as a mean. Where sentences agree, or one sentence
is all there is, the best strength is infinite; it is kept below `LARGEST`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from monolingual.priors.estimators import Progress
from monolingual.priors.multinomials import (
    Families,
    normalise,
    repeat_per_choice,
    sum_per_family,
)
from monolingual.priors.sentence_units import Units, choices_of_copies, copies_per_family
from scfg_sampler.core.chains.kernel import Kernel

__all__ = ["LARGEST", "SMALLEST", "DirichletState", "best_concentrations", "dirichlet_em_kernel"]

SMALLEST, LARGEST = 1e-4, 1e4
"""Concentrations stay between these."""


class DirichletState(NamedTuple):
    """Where the learner is.

    Attributes
    ----------
    concentrations : float64, shape (R,)
        α.
    counts : float64, shape (choices of all copies,)
        f, expected under the weights of the state before.
    """

    concentrations: np.ndarray
    counts: np.ndarray


def dirichlet_em_kernel(units: Units, average: float = 1.0) -> Kernel:
    """Variational EM as a kernel that ignores its generator; `init` takes probabilities.

    Parameters
    ----------
    units : Units
    average : float
        The average concentration of every multinomial at the start; their means are the probabilities. The
        first expectations are those of the probabilities themselves.
    """
    families = units.families
    choices = choices_of_copies(units)
    copies = Families(units.start)
    used = copies_per_family(units)
    times = units.multiplicity[units.unit]
    per_choice = np.repeat(times, np.diff(units.start))

    def init(rng: np.random.Generator | None, probs: np.ndarray) -> DirichletState:
        counts, _ = units.expectations(np.asarray(probs, np.float64)[choices])
        sizes = repeat_per_choice(families, np.diff(families.start))
        return DirichletState(np.clip(average * sizes * probs, SMALLEST, LARGEST), counts)

    def expected_logs(state: DirichletState) -> np.ndarray:
        posterior = state.concentrations[choices] + state.counts
        return digamma(posterior) - repeat_per_choice(copies, digamma(sum_per_family(copies, posterior)))

    def bound(state: DirichletState, logs: np.ndarray, totals: np.ndarray) -> float:
        before = state.concentrations[choices]
        after = before + state.counts
        seen = state.counts > 0.0
        first, last = sum_per_family(copies, before), sum_per_family(copies, after)
        value = times @ (gammaln(last) - gammaln(first))
        value += per_choice[seen] @ (gammaln(before[seen]) - gammaln(after[seen]))
        value += per_choice[seen] @ (state.counts[seen] * logs[seen])
        return float(totals @ units.multiplicity - value)

    def step(rng: np.random.Generator | None, state: DirichletState) -> tuple[DirichletState, Progress]:
        logs = expected_logs(state)
        counts, totals = units.expectations(np.exp(logs))
        objective = bound(state, logs, totals)
        updated = state._replace(counts=counts)
        sums = np.bincount(choices, per_choice * expected_logs(updated), minlength=len(state.concentrations))
        concentrations = best_concentrations(families, state.concentrations, sums, used)
        before, after = (normalise(families, c) for c in (state.concentrations, concentrations))
        change = float(np.abs(after - before).max(initial=0.0))
        new = DirichletState(concentrations, counts)
        return new, Progress(objective, float(totals @ units.multiplicity), change)

    def log_joint(state: DirichletState) -> float:
        logs = expected_logs(state)
        return bound(state, logs, units.expectations(np.exp(logs))[1])

    return Kernel(init, step, log_joint)


def best_concentrations(
    families: Families, concentrations: np.ndarray, sums: np.ndarray, times: np.ndarray, *, rounds: int = 20
) -> np.ndarray:
    """Concentrations that are at least as good as the given ones, at the optimum if rounds suffice.

    Parameters
    ----------
    families : Families
    concentrations : float64, shape (R,)
        Where to begin.
    sums : float64, shape (R,)
        Σ E log θ_i over copies.
    times : float64, shape (F,)
        How many copies there are; a multinomial without any keeps its concentrations.

    Returns
    -------
    float64, shape (R,), between SMALLEST and LARGEST where they were.
    """
    mass = repeat_per_choice(families, times)

    def value(alpha: np.ndarray) -> np.ndarray:
        density = times * gammaln(sum_per_family(families, alpha))
        return density + sum_per_family(families, (alpha - 1.0) * sums - mass * gammaln(alpha))

    alpha, present = concentrations.copy(), value(concentrations)
    for _ in range(rounds):
        totals = sum_per_family(families, alpha)
        gradient = mass * (repeat_per_choice(families, digamma(totals)) - digamma(alpha)) + sums
        # Newton's method in log α: as far from 0 as the concentrations themselves.
        slope = alpha * gradient
        diagonal = -mass * polygamma(1, alpha) * alpha**2 + np.minimum(slope, 0.0)
        diagonal = np.where(diagonal < 0.0, diagonal, -1.0)
        corner = times * polygamma(1, totals)
        ratio = sum_per_family(families, alpha * slope / diagonal)
        square = sum_per_family(families, alpha**2 / diagonal)
        # Where there is one choice the sum is 0, and no concentration better than another.
        whole = 1.0 + corner * square
        inner = np.divide(corner * ratio, whole, out=np.zeros_like(whole), where=np.abs(whole) > 1e-12)
        change = -(slope - alpha * repeat_per_choice(families, inner)) / diagonal
        uphill = sum_per_family(families, change * slope) > 0.0
        change = np.where(repeat_per_choice(families, uphill), change, -slope / diagonal)
        length = np.ones(len(times))
        better = np.zeros(len(times), bool)
        for _ in range(12):
            step = repeat_per_choice(families, length) * np.clip(change, -2.0, 2.0)
            # Those that begin outside the limits are not drawn in: their value could fall.
            trial = np.clip(alpha * np.exp(step), np.minimum(alpha, SMALLEST), np.maximum(alpha, LARGEST))
            found = value(trial)
            better = (found >= present) & (times > 0.0)
            if np.all(better | (times == 0.0)):
                break
            length = np.where(better, length, 0.5 * length)
        kept = repeat_per_choice(families, better)
        gain = np.where(better, found - present, 0.0)
        alpha, present = np.where(kept, trial, alpha), np.where(better, found, present)
        if gain.sum() <= 1e-10 * np.abs(present).sum():
            break
    return alpha
