"""Concentrations and stop probabilities, sampled along with the derivations (Cohn et al. 2009, section 3).

α_c ~ Gamma(0.001, scale 1000), by Metropolis–Hastings with the paper's proposal, a normal of variance 0.3
around α_c, and with a second one, a log-normal of variance 1, which moves concentrations in the hundreds as
well. β_c ~ Beta(1, 1): given how often each elementary tree was drawn from the base rather than repeated,
which is drawn first, the decisions in these trees are independent and β_c has its conjugate posterior.

The fact a newcomer would get wrong: β is updated from the elementary trees that came from the base, each as
often as it did; counting every token, or every type once, is an approximation.
"""

from __future__ import annotations

import math

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.fragments.restaurant import COUNT_MASK, TABLE_UNIT, TRACKED, Restaurants
from scfg_sampler.core.jit import kernel

__all__ = ["draw_tables", "log_concentration_prior", "log_seats", "resample_concentrations"]

_SHAPE = 0.001
_SCALE = 1000.0
_STEP = math.sqrt(0.3)
_COUNT_BITS = 32


def log_concentration_prior(strength: np.ndarray) -> np.ndarray:
    """ln of the Gamma(0.001, scale 1000) density of each concentration, up to a constant."""
    return (_SHAPE - 1.0) * np.log(strength) - strength / _SCALE


@kernel
def log_seats(restaurants, strength, total):
    """Write to total[c] ln P of the customers of label c, were strength[c] its concentration.

    Up to a constant.

    Parameters
    ----------
    restaurants : Restaurants
    strength, total : float64 (C,)
    """
    tracked = restaurants.totals[TRACKED] == 1
    for label in range(strength.shape[0]):
        alpha, customers = strength[label], restaurants.stratum_customers[label]
        total[label] = math.lgamma(alpha) - math.lgamma(customers + alpha)
        if tracked and customers > 0:
            d = restaurants.discount[label]
            tables = restaurants.stratum_tables[label] / TABLE_UNIT
            total[label] += math.lgamma(alpha / d + tables) - math.lgamma(alpha / d) + tables * math.log(d)
    if tracked:
        return
    for slot in range(restaurants.entries.shape[0]):
        customers = restaurants.entries[slot, 1] & COUNT_MASK
        if customers > 0:
            label = restaurants.stratum[slot]
            # Γ(b + n) / Γ(b) = b Γ(b + n) / Γ(b + 1), with b = α P₀ that may be smaller than any number.
            log_base = math.log(strength[label]) + restaurants.log_base[slot]
            base = math.exp(log_base)
            total[label] += log_base + math.lgamma(base + customers) - math.lgamma(base + 1.0)


def resample_concentrations(rng: np.random.Generator, restaurants: Restaurants) -> int:
    """Move the concentration of every label twice; how many moves were accepted.

    Parameters
    ----------
    rng : numpy.random.Generator
    restaurants : Restaurants
        `strength` is changed in place; `log_base` must be right for all dishes that have customers.
    """
    strength = restaurants.strength
    size = len(strength)
    before, after = np.empty(size), np.empty(size)
    log_seats(restaurants, strength, before)
    accepted = 0
    for proposal in ("normal", "log-normal"):
        noise = rng.standard_normal(size)
        if proposal == "normal":
            proposed = strength + _STEP * noise
            # ln of the ratio of the proposals' densities: they are symmetric, or symmetric in ln α.
            log_ratio = np.zeros(size)
        else:
            proposed = strength * np.exp(noise)
            log_ratio = noise
        possible = proposed > 1e-12
        proposed = np.where(possible, proposed, strength)
        log_seats(restaurants, proposed, after)
        log_ratio += after - before + log_concentration_prior(proposed) - log_concentration_prior(strength)
        taken = possible & (np.log1p(-rng.random(size)) < log_ratio)
        strength[taken] = proposed[taken]
        before[taken] = after[taken]
        accepted += int(taken.sum())
    return accepted


@kernel
def draw_tables(rng, restaurants, tables):
    """Write to tables[slot] how often the dish was drawn from the base, at random where it is not tracked.

    Parameters
    ----------
    rng : numpy.random.Generator
    restaurants : Restaurants
        Without a discount, or tracked.
    tables : int64 (slots,)
    """
    for slot in range(restaurants.entries.shape[0]):
        customers = restaurants.entries[slot, 1] & COUNT_MASK
        if restaurants.totals[TRACKED] == 1:
            tables[slot] = restaurants.entries[slot, 1] >> _COUNT_BITS
            continue
        tables[slot] = min(customers, 1)
        if customers > 1:
            base = restaurants.strength[restaurants.stratum[slot]] * math.exp(restaurants.log_base[slot])
            for i in range(1, customers):
                if draws.bernoulli(rng, base / (base + i)):
                    tables[slot] += 1
