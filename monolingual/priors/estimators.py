"""Learning multinomials from expected counts: EM, MAP and variational Bayes, for any grammar.

A learner needs one thing of a model: given weights θ of all choices, not necessarily normalised, the expected
uses of each choice in the data under P ∝ Π θ, and the log of the data's total weight. HMMs, PCFGs and
dependency models differ in nothing else (Cohen, Gimpel and Smith 2008, section 2).

em    θ ← f / Σ f, with f the expected counts and pseudo-counts α − 1, α ≥ 1: the maximum of the likelihood (α
= 1) or of
      the posterior density.
vb    the posterior of θ is approximated by Dirichlet distributions, independent of the trees: concentrations
α + f,
      weights exp(ψ(α + f) − ψ(Σ α + f)) (Kurihara and Sato 2006). What rises is the lower bound of the
      evidence, log total weight − KL(posterior ‖ prior).

The fact a newcomer would get wrong: the counts of a step belong to the weights before it. So the objective
reported after a step is that of the weights it began with, and the last step computes counts that it does not
use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from monolingual.priors.multinomials import (
    Families,
    dirichlet_divergence,
    log_dirichlet,
    mean_field_weights,
    normalise,
    repeat_per_choice,
    sum_per_family,
)
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.errors import SettingsError

__all__ = ["EstimatorState", "Expectations", "Progress", "em_kernel", "learn", "vb_kernel"]

Expectations = Callable[[np.ndarray], tuple[np.ndarray, float]]
"""From weights, float64 of shape (R,), to expected counts, alike, and the log of the total weight."""


class EstimatorState(NamedTuple):
    """Where a learner is.

    Attributes
    ----------
    values : float64, shape (R,)
        Probabilities of EM; concentrations of the posterior in variational Bayes.
    counts : float64, shape (R,)
        The expected counts these come from; 0 at the start.
    """

    values: np.ndarray
    counts: np.ndarray


class Progress(NamedTuple):
    """What a step reports.

    Attributes
    ----------
    log_joint : float
        The objective (log likelihood, log posterior up to a constant, or lower bound) at the values before
        the step.
    log_likelihood : float
        The log of the data's total weight there.
    change : float
        The largest change of a probability.
    """

    log_joint: float
    log_likelihood: float
    change: float


def em_kernel(families: Families, expectations: Expectations, prior: np.ndarray) -> Kernel:
    """Expectation maximisation as a kernel that ignores its generator.

    Parameters
    ----------
    families : Families
    expectations : callable
    prior : float64, shape (R,)
        Concentrations, at least 1; all 1 for maximum likelihood.

    Raises
    ------
    SettingsError
        A concentration is below 1: the posterior density then has no maximum inside.
    """
    if np.any(prior < 1.0):
        raise SettingsError(
            "--prior is below 1, where EM has no maximum to find; use 1 or more, or --method vb"
        )

    def init(rng: np.random.Generator | None, probs: np.ndarray) -> EstimatorState:
        return EstimatorState(np.array(probs, np.float64), np.zeros(len(prior)))

    def step(rng: np.random.Generator | None, state: EstimatorState) -> tuple[EstimatorState, Progress]:
        counts, log_total = expectations(state.values)
        mass = counts + (prior - 1.0)  # In this order: 1 + 1e-17 − 1 is 0.
        # A choice that the data never come to keeps its probabilities.
        is_used = repeat_per_choice(families, sum_per_family(families, mass)) > 0.0
        new = np.where(is_used, normalise(families, mass), state.values)
        change = float(np.abs(new - state.values).max(initial=0.0))
        objective = log_total + _log_prior(families, prior, state.values)
        return EstimatorState(new, counts), Progress(objective, log_total, change)

    def log_joint(state: EstimatorState) -> float:
        return expectations(state.values)[1] + _log_prior(families, prior, state.values)

    return Kernel(init, step, log_joint)


def vb_kernel(families: Families, expectations: Expectations, prior: np.ndarray) -> Kernel:
    """Variational Bayes as a kernel that ignores its generator; its states hold concentrations.

    The parameters are those of `em_kernel`, but any positive prior will do. `init` takes probabilities and a
    first step is made from them as weights.
    """

    def init(rng: np.random.Generator | None, probs: np.ndarray) -> EstimatorState:
        counts, _ = expectations(np.array(probs, np.float64))
        return EstimatorState(prior + counts, counts)

    def bound(concentrations: np.ndarray, log_total: float) -> float:
        # The bound of this posterior and of the best distribution over trees for it.
        return log_total - dirichlet_divergence(families, concentrations, prior)

    def step(rng: np.random.Generator | None, state: EstimatorState) -> tuple[EstimatorState, Progress]:
        counts, log_total = expectations(mean_field_weights(families, state.values))
        new = prior + counts
        change = np.abs(normalise(families, new) - normalise(families, state.values)).max(initial=0.0)
        return EstimatorState(new, counts), Progress(bound(state.values, log_total), log_total, float(change))

    def log_joint(state: EstimatorState) -> float:
        weights = mean_field_weights(families, state.values)
        return bound(state.values, expectations(weights)[1])

    return Kernel(init, step, log_joint)


def learn(
    kernel: Kernel,
    state: EstimatorState,
    *,
    max_rounds: int,
    tolerance: float,
    watch: Callable[[int, Progress], None] = lambda done, progress: None,
) -> tuple[EstimatorState, list[float]]:
    """The state after the objective has stopped rising, and its values before each round.

    Parameters
    ----------
    kernel : Kernel
    state : EstimatorState
    max_rounds : int
    tolerance : float
        Stop when a round raises the objective by no more than this share of its size.
    watch : callable
        Told the number of each round, from 1, and its progress.
    """
    trace: list[float] = []
    for done in range(1, max_rounds + 1):
        state, progress = kernel.step(None, state)  # type: ignore[arg-type]
        watch(done, progress)
        trace.append(progress.log_joint)
        if len(trace) > 1 and trace[-1] - trace[-2] <= tolerance * abs(trace[-2]):
            break
    return state, trace


def _log_prior(families: Families, prior: np.ndarray, probs: np.ndarray) -> float:
    """The log density of the prior, without the choices on which it is flat."""
    if np.all(prior == 1.0):
        return 0.0
    return log_dirichlet(families, prior, np.maximum(probs, 1e-300))
