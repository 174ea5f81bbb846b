"""Discount, strength and mean length, sampled along with the derivations.

Weak priors: α ~ Gamma(1, rate 0.01), d ~ uniform on (0, 1), λ ~ Gamma(1, rate 0.1). Each is moved by slice
sampling on a scale without borders (ln α, ln d/(1 − d), ln λ), given the derivations and, where it is
tracked, the seating; parameters that the user has fixed stay.

The fact a newcomer would get wrong: λ stands in two places, the length factor of a rule and the restaurants'
base distribution, and both move.
"""

from __future__ import annotations

import math

import numpy as np

from scfg_sampler.core.elementary import exp_value, log1p_value, log_value
from scfg_sampler.core.fragments.density import rebase, set_parameters
from scfg_sampler.core.fragments.restaurant import Restaurants
from scfg_sampler.core.slice_sampler import slice_sample
from scfg_sampler.learner.model import AnyModel, rules_log_joint, set_mean_length

__all__ = ["log_prior", "resample_hyperparameters"]

_STRENGTH_RATE = 0.01
_LENGTH_RATE = 0.1
_SMALLEST = 1e-4  # of d and 1 − d; beyond, tables are decided by rounding


def log_prior(names: tuple[str, ...], discount: float, strength: float, mean_length: float) -> float:
    """ln of the prior density of the learned parameters, up to a constant.

    Parameters
    ----------
    names : tuple of str
        Which of `settings.LEARNABLE` are learned.
    discount, strength, mean_length : float
        d, α and λ.
    """
    total = 0.0
    if "strength" in names:
        total -= _STRENGTH_RATE * strength
    if "mean_length" in names:
        total -= _LENGTH_RATE * mean_length
    return total


def resample_hyperparameters(
    rng: np.random.Generator,
    names: tuple[str, ...],
    model: AnyModel,
    restaurants: Restaurants,
    mean_length: np.ndarray,
) -> None:
    """Move each of the named parameters once.

    Parameters
    ----------
    rng : numpy.random.Generator
    names : tuple of str
        Some of `settings.LEARNABLE`, resampled in this order.
    model : RuleModel
        Its length factors are changed in place.
    restaurants : Restaurants
        Its parameters, and base probabilities, are changed in place.
    mean_length : float64 (1,)
        λ, changed in place.
    """

    def assign(name: str, value: float) -> None:
        if name == "mean_length":
            before = model.log_length.copy()
            set_mean_length(model, value)
            rebase(restaurants, (model.log_length - before)[: len(restaurants.strength)])
            mean_length[0] = value
        elif name == "strength":
            set_parameters(restaurants, discount=float(restaurants.discount[0]), strength=value)
        else:
            set_parameters(restaurants, discount=value, strength=float(restaurants.strength[0]))

    for name in names:
        is_share = name == "discount"
        if is_share:
            now = float(restaurants.discount[0])
            start = log_value(now / (1.0 - now))
        else:
            now = float(restaurants.strength[0] if name == "strength" else mean_length[0])
            start = log_value(now)

        def log_density(x: float, name: str = name, is_share: bool = is_share) -> float:
            if abs(x) > 50.0:
                return -math.inf
            value = 1.0 / (1.0 + exp_value(-x)) if is_share else exp_value(x)
            if is_share and not _SMALLEST < value < 1.0 - _SMALLEST:
                return -math.inf
            assign(name, value)
            log_jacobian = log_value(value) + (log1p_value(-value) if is_share else 0.0)
            parameters = float(restaurants.discount[0]), float(restaurants.strength[0]), float(mean_length[0])
            return rules_log_joint(model, restaurants) + log_prior(names, *parameters) + log_jacobian

        moved = slice_sample(rng, log_density, start, width=0.5)
        assign(name, 1.0 / (1.0 + exp_value(-moved)) if is_share else exp_value(moved))
