"""The probability of all that sits in restaurants, and restaurants with other parameters.

With tracked seating, a stratum with N customers at T tables, and tables of sizes c_1 … c_T, has probability

    Π_{k<T} (α + k d) / Π_{i<N} (α + i) · Π_k P₀(dish of k) · Π_{i=1}^{c_k − 1} (i − d)

(Pitman and Yor 1997), so that parameters can be sampled given the seats. What estimated tables allow is the
analogue in `log_joint`; it is a function of the counts alone, and exact for d = 0.

The fact a newcomer would get wrong: changing d where tables are estimated changes the number of tables, and
with it every prediction.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.fragments.restaurant import (
    COUNT_MASK,
    TABLE_UNIT,
    TRACKED,
    Restaurants,
    estimated_tables,
    estimates,
)
from scfg_sampler.core.jit import borrowing, by_reference, kernel

__all__ = ["log_joint", "rebase", "set_parameters"]

_COUNT_BITS = 32
_MANY, _ALL = 1e6, 1e30
"""α/d: from one on differences of ln Γ lose digits, from the other d counts for nothing."""


def set_parameters(restaurants: Restaurants, *, discount: float, strength: float) -> None:
    """Give all strata another discount and strength; the seats stay.

    Parameters
    ----------
    restaurants : Restaurants
        Changed in place.
    discount : float
        d, in [0, 1); above 0 where the seating is tracked.
    strength : float
        α, above 0.
    """
    restaurants.strength[:] = strength
    if discount != restaurants.discount[0]:
        restaurants.discount[:] = discount
        if not restaurants.totals[TRACKED]:
            restaurants.estimate[:] = estimates(discount)
            _estimate_again(restaurants)


@kernel
def _estimate_again(restaurants):
    restaurants = by_reference(restaurants)
    for stratum in range(restaurants.stratum_tables.shape[0]):
        restaurants.stratum_tables[stratum] = 0
    for slot in range(restaurants.entries.shape[0]):
        customers = restaurants.entries[slot, 1] & COUNT_MASK
        if customers > 0:
            stratum = restaurants.stratum[slot]
            restaurants.stratum_tables[stratum] += estimated_tables(restaurants, stratum, customers)


def rebase(restaurants: Restaurants, change: np.ndarray) -> None:
    """Add change[ℓ] to ln P₀ of every dish of stratum ℓ.

    Parameters
    ----------
    restaurants : Restaurants
        Changed in place.
    change : float64 (L,)
    """
    np.add(restaurants.log_base, change[restaurants.stratum], out=restaurants.log_base)


@borrowing
def _log_rising(alpha, d, tables):
    """ln Π_{k<T} (α + k d)."""
    ratio = alpha / d
    if ratio < _MANY:
        # d^T Γ(α/d + T) / Γ(α/d).
        return tables * elementary.log(d) + elementary.log_gamma(ratio + tables) - elementary.log_gamma(ratio)
    total = tables * elementary.log(alpha)
    if ratio < _ALL:
        # The same by Stirling's formula, with ln α/d taken out of both.
        total += (ratio + tables - 0.5) * elementary.log1p(tables / ratio) - tables
        total += (1.0 / (ratio + tables) - 1.0 / ratio) / 12.0
    return total


@kernel
def log_joint(restaurants):
    """ln of the joint probability of all customers, and of their seating where it is tracked.

    Without tracking: Π over dishes of their customers seated one after the other, with t = i^d at the
    i-th and the stratum's final T; for d = 0 this is the Dirichlet process's closed form, for d > 0 the
    analogue that estimated tables allow, a function of the counts alone.
    """
    restaurants = by_reference(restaurants)
    entries = restaurants.entries
    total = 0.0
    for stratum in range(restaurants.strength.shape[0]):
        customers = restaurants.stratum_customers[stratum]
        if customers == 0:
            continue
        alpha = restaurants.strength[stratum]
        d = restaurants.discount[stratum]
        tables = restaurants.stratum_tables[stratum] / TABLE_UNIT
        # Π_{i<N} (α + i) = Γ(α + N) / Γ(α).
        total -= elementary.log_gamma(customers + alpha) - elementary.log_gamma(alpha)
        if restaurants.totals[TRACKED] == 1:
            total += _log_rising(alpha, d, tables)
    for slot in range(entries.shape[0]):
        if entries[slot, 1] == 0:
            continue
        customers = entries[slot, 1] & COUNT_MASK
        stratum = restaurants.stratum[slot]
        d = restaurants.discount[stratum]
        if restaurants.totals[TRACKED] == 1:
            tables = entries[slot, 1] >> _COUNT_BITS
            total += tables * restaurants.log_base[slot]
            # Π_{i=1}^{c−1} (i − d) = Γ(c − d) / Γ(1 − d) for a table of c; 1 where all are single.
            row = restaurants.party[slot]
            if row < 0 and tables == 1:
                total += elementary.log_gamma(customers - d) - elementary.log_gamma(1.0 - d)
            while row >= 0:
                size = restaurants.parties[row, 0]
                number = restaurants.parties[row, 1]
                total += number * (elementary.log_gamma(size - d) - elementary.log_gamma(1.0 - d))
                row = restaurants.parties[row, 2]
        else:
            # The first customer opens a table, the others sit down by the predictive rule with t = i^d.
            all_tables = restaurants.stratum_tables[stratum] / TABLE_UNIT
            opening = restaurants.strength[stratum] + d * all_tables
            total += elementary.log(opening) + restaurants.log_base[slot]
            base_mass = opening * elementary.exp(restaurants.log_base[slot])
            for i in range(1, customers):
                t = estimated_tables(restaurants, stratum, i) / TABLE_UNIT
                total += elementary.log(i - d * t + base_mass)
    return total
