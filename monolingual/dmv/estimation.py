"""The estimators of dependency models: all but the question when to stop, which is that of `training`.

    em                    maximum likelihood
    em-map                maximum posterior density under a symmetric Dirichlet, α > 1
    vb-dirichlet          variational Bayes under a symmetric Dirichlet; its mean
    vb-em-dirichlet       each sentence draws from a Dirichlet that is learnt; its mean
    vb-em-logistic-normal each sentence draws from a logistic normal that is learnt; θ at its mean
    gibbs                 trees and θ in turn, under a symmetric Dirichlet; the mean of θ in the second half

EM's E-step may be sharpened (`e_step` and `unambiguity` in `Settings`): to the best tree alone (Viterbi EM;
Spitkovsky et al. 2010), or to p(y | x)^(1 / (1 − σ)), with which EM maximises (1 − σ) Σ log Σ_y p(x, y)^(1 /
(1 − σ)) (unambiguity regularisation; Tu and Honavar 2012). σ = 0 is EM, and Viterbi EM its limit for σ → 1.

The fact a newcomer would get wrong: the estimators know nothing of dependencies. Charts give them expected
counts under given weights; everything else is in `monolingual.priors`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from monolingual.dmv.chart import expected_counts, log_totals
from monolingual.dmv.decode import best_trees, count_trees
from monolingual.dmv.gibbs import GibbsState, gibbs_kernel
from monolingual.dmv.layout import Corpus, Layout, num_parameters, own_parameters, parameter_families
from monolingual.dmv.settings import METHODS, SHARPEST, Settings
from monolingual.dmv.smoothing import (
    initial_mixture,
    mixture_covariances,
    mixture_families,
    mixture_prior,
    smoothed_expectations,
    smoothed_units,
)
from monolingual.dmv.smoothing import point as smoothed_point
from monolingual.priors.dirichlet import DirichletState, dirichlet_em_kernel
from monolingual.priors.estimators import EstimatorState, Expectations, em_kernel, vb_kernel
from monolingual.priors.logistic_normal import LogisticNormalState, logistic_normal_kernel, point_estimate
from monolingual.priors.multinomials import normalise
from monolingual.priors.sentence_units import Units, units_of_copies
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.errors import SettingsError

__all__ = [
    "STATES",
    "Estimator",
    "dmv_expectations",
    "dmv_units",
    "estimator",
    "first_mixture",
    "heldout_likelihood",
]


STATES: dict[str, Any] = {
    "em": EstimatorState,
    "em-map": EstimatorState,
    "vb-dirichlet": EstimatorState,
    "vb-em-dirichlet": DirichletState,
    "vb-em-logistic-normal": LogisticNormalState,
    "gibbs": GibbsState,
}
"""The types of the states of the methods' kernels."""


class Estimator(NamedTuple):
    """A kernel, and what its states have learnt.

    Attributes
    ----------
    kernel : Kernel
    point : callable
        From a state of the kernel to the probabilities of a model.
    """

    kernel: Kernel
    point: Callable[[Any], np.ndarray]


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


def estimator(layout: Layout, corpus: Corpus, settings: Settings, *, e_step: str = "soft") -> Estimator:
    """The estimator of a method.

    Raises
    ------
    SettingsError
        The method is unknown, or a setting is out of its range.
    """
    families = parameter_families(layout)
    prior = np.full(num_parameters(layout), settings.prior)
    if not (np.isfinite(settings.prior) and settings.prior > 0.0):
        raise SettingsError(f"--prior is {settings.prior}; it must be above 0, and finite")
    if not 0.0 <= settings.unambiguity <= SHARPEST:
        raise SettingsError(f"--unambiguity is {settings.unambiguity}; it must be in [0, {SHARPEST}]")
    if settings.smooth is not None:
        return _smoothed_estimator(layout, corpus, settings, e_step)
    if settings.method in ("em", "em-map", "vb-dirichlet"):
        expectations = dmv_expectations(layout, corpus, e_step=e_step, unambiguity=settings.unambiguity)
        return _estimator_of_counts(families, expectations, prior, settings.method)
    if settings.method == "gibbs":
        burn_in = settings.rounds // 2
        kernel = gibbs_kernel(layout, corpus, prior, burn_in=burn_in)
        return Estimator(
            kernel, lambda state: state.sums / (state.done - burn_in) if state.done > burn_in else state.probs
        )
    if settings.method in ("vb-em-dirichlet", "vb-em-logistic-normal"):
        is_whole = settings.level == "corpus" and settings.method == "vb-em-logistic-normal"
        units = _corpus_unit(layout, corpus) if is_whole else dmv_units(layout, corpus)
        return _estimator_of_units(units, settings, settings.covariance)
    raise SettingsError(f"--method is {settings.method!r}; choose from {', '.join(METHODS)}")


def _estimator_of_counts(families, expectations: Expectations, prior: np.ndarray, method: str) -> Estimator:
    """An estimator of multinomials that all sentences share."""
    if method == "vb-dirichlet":
        kernel = vb_kernel(families, expectations, prior)
        return Estimator(kernel, lambda state: normalise(families, state.values))
    kernel = em_kernel(families, expectations, np.ones_like(prior) if method == "em" else prior)
    return Estimator(kernel, lambda state: state.values)


def _estimator_of_units(units: Units, settings: Settings, covariance: np.ndarray | None) -> Estimator:
    """An estimator of priors from sentences with multinomials of their own."""
    families = units.families
    if settings.method == "vb-em-dirichlet":
        kernel = dirichlet_em_kernel(units, settings.prior)
        return Estimator(kernel, lambda state: normalise(families, state.concentrations))
    assert covariance is not None
    if settings.level == "corpus":
        kernel = logistic_normal_kernel(units, covariance, learn_prior=False)
        return Estimator(kernel, lambda state: point_estimate(families, state.means))
    experts = settings.experts
    kernel = logistic_normal_kernel(units, covariance, experts=experts, unused=settings.unused)
    return Estimator(kernel, lambda state: point_estimate(families, state.mean, experts))


def first_mixture(layout: Layout, probs: np.ndarray, settings: Settings) -> np.ndarray:
    """Where smoothing begins: the pseudo-counts of priors that are learnt are in the first λ alone."""
    is_learnt = settings.method in ("vb-em-dirichlet", "vb-em-logistic-normal")
    return initial_mixture(layout, probs, settings.smooth or 0.0 if is_learnt else 0.0)


def _smoothed_estimator(layout: Layout, corpus: Corpus, settings: Settings, e_step: str) -> Estimator:
    """The estimator of a model whose children are smoothed; see `smoothing`."""
    favour = settings.smooth
    if favour is None or not (np.isfinite(favour) and favour >= 0.0):
        raise SettingsError(f"--smooth is {favour}; it must be at least 0, and finite")
    if settings.method in ("em", "em-map", "vb-dirichlet"):
        expectations = dmv_expectations(layout, corpus, e_step=e_step, unambiguity=settings.unambiguity)
        families = mixture_families(layout)
        prior = mixture_prior(layout, 1.0 if settings.method == "em" else settings.prior, favour)
        # Pseudo-counts of em are those of λ alone, which em-map takes as given.
        method = "em-map" if settings.method == "em" else settings.method
        found = _estimator_of_counts(families, smoothed_expectations(layout, expectations), prior, method)
    else:
        flat = None if settings.covariance is None else mixture_covariances(layout, settings.covariance)
        found = _estimator_of_units(smoothed_units(layout, corpus), settings, flat)

    def init(rng: np.random.Generator, probs: np.ndarray) -> Any:
        return found.kernel.init(rng, first_mixture(layout, probs, settings))

    return Estimator(
        found.kernel._replace(init=init), lambda state: smoothed_point(layout, found.point(state))
    )


def heldout_likelihood(layout: Layout, corpus: Corpus, probs: np.ndarray) -> float:
    """The log likelihood of a corpus: float."""
    return float(log_totals(layout, corpus, probs) @ corpus.multiplicity)
