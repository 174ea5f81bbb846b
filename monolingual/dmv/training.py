"""Training of dependency models: all estimators, and when to stop.

    em                    maximum likelihood
    em-map                maximum posterior density under a symmetric Dirichlet, α > 1
    vb-dirichlet          variational Bayes under a symmetric Dirichlet; its mean
    vb-em-dirichlet       each sentence draws from a Dirichlet that is learnt; its mean
    vb-em-logistic-normal each sentence draws from a logistic normal that is learnt; θ at its mean
    gibbs                 trees and θ in turn, under a symmetric Dirichlet; the mean of θ in the second half

As in Cohen, Gimpel and Smith (2008), section 5, training stops when the likelihood of held-out sentences
under the point estimate falls, and the estimate before is kept. Without such sentences it stops when the
objective rises no more.

EM's E-step may be sharpened (`e_step` and `unambiguity` in `Settings`): to the best tree alone (Viterbi EM;
Spitkovsky et al. 2010), or to p(y | x)^(1 / (1 − σ)), with which EM maximises (1 − σ) Σ log Σ_y p(x, y)^(1 /
(1 − σ)) (unambiguity regularisation; Tu and Honavar 2012). σ = 0 is EM, and Viterbi EM its limit for σ → 1.

The fact a newcomer would get wrong: likelihood is not accuracy. What has the best likelihood may parse worse
than what it started from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from monolingual.dmv.chart import expected_counts, log_totals
from monolingual.dmv.decode import best_trees, count_trees
from monolingual.dmv.gibbs import gibbs_kernel
from monolingual.dmv.layout import Corpus, Layout, num_parameters, own_parameters, parameter_families
from monolingual.dmv.smoothing import (
    initial_mixture,
    mixture_covariances,
    mixture_families,
    mixture_prior,
    smoothed_expectations,
    smoothed_units,
)
from monolingual.dmv.smoothing import point as smoothed_point
from monolingual.priors.dirichlet import dirichlet_em_kernel
from monolingual.priors.estimators import Expectations, Progress, em_kernel, vb_kernel
from monolingual.priors.logistic_normal import logistic_normal_kernel, point_estimate
from monolingual.priors.multinomials import normalise
from monolingual.priors.sentence_units import Units, units_of_copies
from monolingual.priors.shared_logistic_normal import Experts
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.errors import SettingsError

__all__ = [
    "METHODS",
    "Learner",
    "Outcome",
    "Settings",
    "dmv_expectations",
    "dmv_units",
    "heldout_likelihood",
    "learner",
    "train",
]

METHODS = ("em", "em-map", "vb-dirichlet", "vb-em-dirichlet", "vb-em-logistic-normal", "gibbs")

SHARPEST = 0.95
"""The largest σ: beyond, powers of probabilities underflow, and Viterbi EM does the same."""


class Settings(NamedTuple):
    """How to learn.

    Attributes
    ----------
    method : str
        One of METHODS.
    prior : float
        α of the symmetric Dirichlet; for vb-em-dirichlet the average of all at the start.
    covariance : float64 or None
        Σ of all multinomials at the start, row by row, for the logistic normal.
    experts : Experts or None
        Which multinomials of the logistic normal share parts of their arguments; the covariances are then
        those of the experts.
    level : str
        "sentence", as published, or "corpus": all sentences share one draw from the logistic normal, whose
        μ and Σ stay what they are.
    unused : str
        See `logistic_normal_kernel`.
    e_step : str
        "soft", "viterbi" or "lateen": the E-step of em and em-map.
    unambiguity : float
        σ, in [0, SHARPEST], of a soft E-step.
    anneal : tuple (float, int) or None
        A σ in [0, 1] to begin with, and over how many rounds it falls to `unambiguity`.
    rounds : int
        At the most.
    tolerance : float
        Stop when a round raises the objective by no more than this share of its size.
    smooth : float or None
        Smooth child distributions with so many pseudo-counts for doing so; see `smoothing`.
    """

    method: str
    prior: float = 1.0
    covariance: np.ndarray | None = None
    experts: Experts | None = None
    level: str = "sentence"
    unused: str = "averaged"
    e_step: str = "soft"
    unambiguity: float = 0.0
    anneal: tuple[float, int] | None = None
    rounds: int = 200
    tolerance: float = 1e-5
    smooth: float | None = None


class Learner(NamedTuple):
    """A kernel, and what it has learnt.

    Attributes
    ----------
    kernel : Kernel
    point : callable
        From a state to the probabilities of a model.
    """

    kernel: Kernel
    point: Callable[[Any], np.ndarray]


class Outcome(NamedTuple):
    """What training came to.

    Attributes
    ----------
    probs : float64
        The point estimate.
    state : object
        The learner's state that it belongs to.
    trace : list of float
        The objective before each round.
    heldout : list of float
        The log likelihood of held-out sentences, before the first round and after each.
    best : int
        After how many rounds the estimate was reached.
    """

    probs: np.ndarray
    state: Any
    trace: list[float]
    heldout: list[float]
    best: int


def dmv_expectations(
    layout: Layout, corpus: Corpus, *, e_step: str = "soft", unambiguity: float = 0.0
) -> Expectations:
    """Expected counts in a corpus as a function of the weights; see `Settings`."""

    def soft(weights: np.ndarray) -> tuple[np.ndarray, float]:
        sharp = weights if unambiguity == 0.0 else weights ** (1.0 / (1.0 - unambiguity))
        counts, totals = expected_counts(layout, corpus, sharp)
        return counts, float((1.0 - unambiguity) * (totals @ corpus.multiplicity))

    def hard(weights: np.ndarray) -> tuple[np.ndarray, float]:
        heads, scores = best_trees(layout, corpus, weights, "viterbi")
        return count_trees(layout, corpus, heads, len(weights)), float(scores @ corpus.multiplicity)

    return hard if e_step == "viterbi" else soft


def dmv_units(layout: Layout, corpus: Corpus) -> Units:
    """Sentences with parameters of their own."""
    own, family, unit = own_parameters(layout, corpus)

    def expectations(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return expected_counts(layout, own, weights, multiply=False)

    return units_of_copies(parameter_families(layout), family, unit, corpus.multiplicity, expectations)


def _corpus_unit(layout: Layout, corpus: Corpus) -> Units:
    """The whole corpus as one unit."""
    families = parameter_families(layout)
    size = len(families.start) - 1

    def expectations(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts, totals = expected_counts(layout, corpus, weights)
        return counts, np.array([totals @ corpus.multiplicity])

    return units_of_copies(families, np.arange(size), np.zeros(size, np.int64), np.ones(1), expectations)


def learner(layout: Layout, corpus: Corpus, settings: Settings, *, e_step: str = "soft") -> Learner:
    """The learner of a method.

    Raises
    ------
    SettingsError
        The method is unknown, or a setting is out of its range.
    """
    families = parameter_families(layout)
    prior = np.full(num_parameters(layout), settings.prior)
    if not (np.isfinite(settings.prior) and settings.prior > 0.0):
        raise SettingsError(f"--prior is {settings.prior}; it must be positive")
    if not 0.0 <= settings.unambiguity <= SHARPEST:
        raise SettingsError(f"--unambiguity is {settings.unambiguity}; it must be in [0, {SHARPEST}]")
    if settings.smooth is not None:
        return _smoothed_learner(layout, corpus, settings, e_step)
    if settings.method in ("em", "em-map", "vb-dirichlet"):
        expectations = dmv_expectations(layout, corpus, e_step=e_step, unambiguity=settings.unambiguity)
        return _learner_of_counts(families, expectations, prior, settings.method)
    if settings.method == "gibbs":
        burn_in = settings.rounds // 2
        kernel = gibbs_kernel(layout, corpus, prior, burn_in=burn_in)
        return Learner(
            kernel, lambda state: state.sums / (state.done - burn_in) if state.done > burn_in else state.probs
        )
    if settings.method in ("vb-em-dirichlet", "vb-em-logistic-normal"):
        is_whole = settings.level == "corpus" and settings.method == "vb-em-logistic-normal"
        units = _corpus_unit(layout, corpus) if is_whole else dmv_units(layout, corpus)
        return _learner_of_units(units, settings, settings.covariance)
    raise SettingsError(f"--method is {settings.method!r}; choose from {', '.join(METHODS)}")


def _learner_of_counts(families, expectations: Expectations, prior: np.ndarray, method: str) -> Learner:
    """A learner of multinomials that all sentences share."""
    if method == "vb-dirichlet":
        kernel = vb_kernel(families, expectations, prior)
        return Learner(kernel, lambda state: normalise(families, state.values))
    kernel = em_kernel(families, expectations, np.ones_like(prior) if method == "em" else prior)
    return Learner(kernel, lambda state: state.values)


def _learner_of_units(units: Units, settings: Settings, covariance: np.ndarray | None) -> Learner:
    """A learner of priors from sentences with multinomials of their own."""
    families = units.families
    if settings.method == "vb-em-dirichlet":
        kernel = dirichlet_em_kernel(units, settings.prior)
        return Learner(kernel, lambda state: normalise(families, state.concentrations))
    assert covariance is not None
    if settings.level == "corpus":
        kernel = logistic_normal_kernel(units, covariance, learn_prior=False)
        return Learner(kernel, lambda state: point_estimate(families, state.means))
    experts = settings.experts
    kernel = logistic_normal_kernel(units, covariance, experts=experts, unused=settings.unused)
    return Learner(kernel, lambda state: point_estimate(families, state.mean, experts))


def _first_mixture(layout: Layout, probs: np.ndarray, settings: Settings) -> np.ndarray:
    """Where smoothing begins: the pseudo-counts of priors that are learnt are in the first λ alone."""
    is_learnt = settings.method in ("vb-em-dirichlet", "vb-em-logistic-normal")
    return initial_mixture(layout, probs, settings.smooth or 0.0 if is_learnt else 0.0)


def _smoothed_learner(layout: Layout, corpus: Corpus, settings: Settings, e_step: str) -> Learner:
    """The learner of a model whose children are smoothed; see `smoothing`."""
    favour = settings.smooth
    if favour is None or not (np.isfinite(favour) and favour >= 0.0):
        raise SettingsError(f"--smooth is {favour}; it must not be negative")
    if settings.method in ("em", "em-map", "vb-dirichlet"):
        expectations = dmv_expectations(layout, corpus, e_step=e_step, unambiguity=settings.unambiguity)
        families = mixture_families(layout)
        prior = mixture_prior(layout, 1.0 if settings.method == "em" else settings.prior, favour)
        # Pseudo-counts of em are those of λ alone, which em-map takes as given.
        method = "em-map" if settings.method == "em" else settings.method
        found = _learner_of_counts(families, smoothed_expectations(layout, expectations), prior, method)
    else:
        flat = None if settings.covariance is None else mixture_covariances(layout, settings.covariance)
        found = _learner_of_units(smoothed_units(layout, corpus), settings, flat)

    def init(rng: np.random.Generator, probs: np.ndarray) -> Any:
        return found.kernel.init(rng, _first_mixture(layout, probs, settings))

    return Learner(found.kernel._replace(init=init), lambda state: smoothed_point(layout, found.point(state)))


def train(
    rng: np.random.Generator,
    layout: Layout,
    corpus: Corpus,
    probs: np.ndarray,
    settings: Settings,
    *,
    heldout: Callable[[np.ndarray], float] | None = None,
    watch: Callable[[int, Progress, float | None], None] = lambda done, progress, heldout: None,
) -> Outcome:
    """Learn from probabilities to start with.

    Parameters
    ----------
    rng : numpy Generator
        Used by gibbs alone.
    layout, corpus
    probs : float64
    settings : Settings
    heldout : callable, optional
        The log likelihood of held-out sentences under probabilities. With it training stops when that falls.
    watch : callable
        Told the number of each round, from 1, its progress, and the held-out log likelihood after it.
    """
    if settings.anneal is not None:
        return _train_annealed(rng, layout, corpus, probs, settings, heldout, watch)
    outcome = _train_once(rng, layout, corpus, probs, settings, settings.e_step, heldout, watch)
    if settings.e_step != "lateen":
        return outcome
    # Lateen EM (Spitkovsky, Alshawi and Jurafsky 2011): each objective starts where the other one ends.
    trace, scores, soft = list(outcome.trace), list(outcome.heldout), outcome.trace[-1]
    while len(trace) < settings.rounds:
        other = outcome
        for e_step in ("viterbi", "soft"):
            left = settings._replace(rounds=max(settings.rounds - len(trace), 1))
            other = _train_once(rng, layout, corpus, other.probs, left, e_step, heldout, watch)
            trace, scores = trace + other.trace, scores + other.heldout[1:]
        if other.trace[-1] <= soft + settings.tolerance * abs(soft):
            break
        outcome, soft = other, other.trace[-1]
    return outcome._replace(trace=trace, heldout=scores, best=len(trace))


def _train_annealed(rng, layout, corpus, probs, settings, heldout, watch) -> Outcome:
    """`train` with a σ that falls round by round, and then with the one that stays.

    The objective changes with σ, and held-out likelihood stops nothing until σ stays.
    """
    first, duration = settings.anneal
    if not 0.0 <= first <= 1.0 or not 0 < duration < settings.rounds:
        raise SettingsError(
            f"--anneal is {first:g}:{duration}; σ must be in [0, 1], and --rounds more than those it falls in"
        )
    trace: list[float] = []
    scores: list[float] = []
    for done in range(duration):
        sigma = first + (settings.unambiguity - first) * done / duration
        e_step = "soft" if sigma <= SHARPEST else "viterbi"
        now = settings._replace(unambiguity=min(sigma, SHARPEST), rounds=1)
        outcome = _train_once(rng, layout, corpus, probs, now, e_step, None, watch)
        probs, trace = outcome.probs, trace + outcome.trace
        scores += [heldout(probs)] if heldout else []
    rest = settings._replace(rounds=settings.rounds - duration)
    outcome = _train_once(rng, layout, corpus, probs, rest, "soft", heldout, watch)
    best = duration + outcome.best
    return outcome._replace(trace=trace + outcome.trace, heldout=scores + outcome.heldout, best=best)


def _train_once(rng, layout, corpus, probs, settings, e_step, heldout, watch) -> Outcome:
    """`train` with one kind of E-step."""
    kernel, point = learner(layout, corpus, settings, e_step=e_step)
    state = kernel.init(rng, probs)
    if settings.smooth is not None:
        probs = smoothed_point(layout, _first_mixture(layout, probs, settings))
    trace: list[float] = []
    scores = [heldout(probs)] if heldout else []
    best, kept = 0, (probs, state)
    for done in range(1, settings.rounds + 1):
        state, progress = kernel.step(rng, state)
        if not np.isfinite(progress.log_joint):
            raise SettingsError(f"the objective is {progress.log_joint}: a sentence has no tree at the start")
        trace.append(progress.log_joint)
        new = point(state)
        score = heldout(new) if heldout else None
        watch(done, progress, score)
        if score is not None:
            scores.append(score)
            if settings.method != "gibbs" and score < scores[-2]:
                break
        best, kept = done, (new, state)
        if settings.method == "gibbs" or heldout or len(trace) < 2:
            continue
        if trace[-1] - trace[-2] <= settings.tolerance * abs(trace[-2]):
            break
    return Outcome(*kept, trace, scores, best)


def heldout_likelihood(layout: Layout, corpus: Corpus, probs: np.ndarray) -> float:
    """The log likelihood of a corpus: float."""
    return float(log_totals(layout, corpus, probs) @ corpus.multiplicity)
