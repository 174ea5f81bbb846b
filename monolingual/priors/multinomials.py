"""Families of multinomials: the parameters that every generative grammar is made of.

A model with discrete choices, be it an HMM, a PCFG or a dependency model, has one multinomial distribution
for each kind of choice (each nonterminal of a PCFG): Cohen, Gimpel and Smith (2008), equation 1. All
parameters stand one after the other in one array, and a `Families` says where each multinomial begins. Under
independent Dirichlet priors with concentrations α, counts f of the choices give

    log P(θ | α) = Σ_families [ log Γ(Σ α) − Σ log Γ(α) + Σ (α − 1) log θ ],
    log P(f | α) = Σ_families [ log Γ(Σ α) − log Γ(Σ α + f) + Σ log Γ(α + f) − log Γ(α) ].

The fact a newcomer would get wrong: the weights of variational Bayes, exp(ψ(α) − ψ(Σ α)), are not
probabilities. They sum to less than 1, and expectations have to be computed under them as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

__all__ = [
    "Families",
    "dirichlet_divergence",
    "families_of_sizes",
    "log_dirichlet",
    "log_dirichlet_multinomial",
    "mean_field_weights",
    "normalise",
    "repeat_per_choice",
    "sum_per_family",
]


class Families(NamedTuple):
    """Where each multinomial begins.

    Attributes
    ----------
    start : int64, shape (F + 1,)
        The choices of family f are start[f] … start[f + 1] − 1. Every family has at least one choice.
    """

    start: np.ndarray


def families_of_sizes(sizes) -> Families:
    """Families with the given numbers of choices, in order.

    >>> families_of_sizes([2, 1]).start
    array([0, 2, 3])
    """
    return Families(np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(np.int64))


def sum_per_family(families: Families, values: np.ndarray) -> np.ndarray:
    """The sum of the values of each family: float64, shape (F,)."""
    return np.add.reduceat(values, families.start[:-1]) if len(families.start) > 1 else np.zeros(0)


def repeat_per_choice(families: Families, values: np.ndarray) -> np.ndarray:
    """A value for each family as one for each of its choices."""
    return np.repeat(values, np.diff(families.start))


def normalise(families: Families, values: np.ndarray) -> np.ndarray:
    """Values divided by their family's sum; uniform where that is 0.

    >>> normalise(families_of_sizes([2, 2]), np.array([1.0, 3.0, 0.0, 0.0]))
    array([0.25, 0.75, 0.5 , 0.5 ])
    """
    totals = repeat_per_choice(families, sum_per_family(families, values))
    sizes = repeat_per_choice(families, np.diff(families.start))
    return np.where(totals > 0.0, values / np.where(totals > 0.0, totals, 1.0), 1.0 / sizes)


def log_dirichlet(families: Families, concentrations: np.ndarray, probs: np.ndarray) -> float:
    """The log density of all probabilities under their Dirichlet priors."""
    totals = sum_per_family(families, concentrations)
    density = gammaln(totals).sum() - gammaln(concentrations).sum()
    return float(density + np.sum((concentrations - 1.0) * np.log(probs)))


def log_dirichlet_multinomial(families: Families, concentrations: np.ndarray, counts: np.ndarray) -> float:
    """The log probability of one sequence of choices with the given counts, parameters integrated out."""
    before, after = (sum_per_family(families, c) for c in (concentrations, concentrations + counts))
    value = gammaln(before).sum() - gammaln(after).sum()
    return float(value + np.sum(gammaln(concentrations + counts) - gammaln(concentrations)))


def mean_field_weights(families: Families, concentrations: np.ndarray) -> np.ndarray:
    """exp(E log θ) under Dirichlet distributions: weights of variational Bayes (Kurihara and Sato 2006)."""
    totals = repeat_per_choice(families, sum_per_family(families, concentrations))
    return np.exp(digamma(concentrations) - digamma(totals))


def dirichlet_divergence(families: Families, posterior: np.ndarray, prior: np.ndarray) -> float:
    """The Kullback–Leibler divergence of Dirichlet distributions from others, summed over the families.

    Parameters
    ----------
    families : Families
    posterior, prior : float64, shape (R,)
        Their concentrations.
    """
    after, before = sum_per_family(families, posterior), sum_per_family(families, prior)
    means = digamma(posterior) - digamma(repeat_per_choice(families, after))
    value = gammaln(after).sum() - gammaln(before).sum() + np.sum(gammaln(prior) - gammaln(posterior))
    return float(value + np.sum((posterior - prior) * means))
