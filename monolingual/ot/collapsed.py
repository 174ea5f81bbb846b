"""Collapsed moves: Metropolis steps on the means with all values integrated out.

Given the values, a mean moves by about σ/√M in a sweep, while its posterior may be many times as wide: what
rare winners say of low-ranked constraints takes thousands of sweeps. But the likelihood itself is at hand,
by quadrature,

    p(data | μ) = Π_d P(d | μ)^{n_d},

so means can be moved under p(μ) p(data | μ) directly. Three quarters of the steps move all means by a draw
from N(0, s² FFᵀ), F being a factor of the covariance that a pilot run found; the others shift one mean, or
those of a random set, by N(0, s²). Scales s are small and large in turn: log s is uniform. Afterwards all
values are drawn afresh from p(y | μ, data), independently of the old ones, by drawing from the prior until
the ordering holds.

Drawing takes n_d / P(d | μ) attempts on average. The moves are therefore confined to means that need at most
`MOST_ATTEMPTS` per token; outside of that region nothing is done, and the Gibbs sweep leads into it.

The fact a newcomer would get wrong: the fresh draw is no luxury. Moving the means with the values
integrated out and then keeping the old values would be a chain with another stationary distribution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.ot.moves import Posterior, is_within
from monolingual.ot.quadrature import Grid, Plan, ordering_prob, tabulate_row
from scfg_sampler.core import draws, normal_draws
from scfg_sampler.core.jit import by_reference, compiled, kernel

__all__ = [
    "MOST_ATTEMPTS",
    "collapsed_moves",
    "draw_step",
    "is_allowed",
    "moved",
    "new_tables",
    "set_means",
    "tabulate_back",
    "tabulate_moved",
]

MOST_ATTEMPTS = 50.0
"""Attempts per token, on average, that drawing all values may take."""

_SMALLEST, _LARGEST = 0.03, 3.0  # Deviations of the step of a set, in units of σ.
_SHARE = 0.75  # Of joint steps.
_JOINT = 2.38  # The best deviation of a joint step, in units of the target's times 1/√N, if that is normal.


class _Tables(NamedTuple):
    """φ and Φ of each constraint at the nodes of the grid, now and before; room for `ordering_prob`."""

    density: np.ndarray
    below: np.ndarray
    old_density: np.ndarray
    old_below: np.ndarray
    partial: np.ndarray
    product: np.ndarray
    integrand: np.ndarray


@kernel
def collapsed_moves(
    rng: np.random.Generator,
    posterior: Posterior,
    plan: Plan,
    grid: Grid,
    state: tuple[np.ndarray, ...],
    moves: int,
) -> int:
    """Try `moves` steps, then draw all values afresh, in place.

    Parameters
    ----------
    rng : numpy.random.Generator
    posterior : Posterior
        With a finite bound.
    plan : Plan
        That of the posterior's orderings.
    grid : Grid
        Must reach beyond all differences of means (flat priors) or all means.
    state : mean, deviation, values, factor
        float64 of shapes (N,), (N,), (V,) and (N, N), the last F; all zeros if nothing is known, and then no
        joint steps are made.
    moves : int

    Returns
    -------
    int
        Accepted steps; −1 if drawing the values would take too long, and nothing was done.
    """
    mean, deviation, values, factor = state
    model, plan, grid = by_reference(posterior), by_reference(plan), by_reference(grid)
    number, orderings = len(mean), len(model.count)
    tables = new_tables(number, len(grid.nodes), max(plan.most_states, 1))
    occurring = np.flatnonzero(model.occurs > 0)
    reference = occurring[0]
    place = mean.copy()  # Relative to the reference, so that the grid covers all; absolute under priors.
    if model.is_flat:
        place -= mean[reference]
    for i in occurring:
        tabulate_row(grid, place[i], deviation[i], tables.density[i], tables.below[i])
    probs, proposed = np.empty(orderings), np.empty(orderings)
    limit = 0.0
    for d in range(orderings):
        limit += MOST_ATTEMPTS * model.count[d]
        probs[d] = _prob(plan, grid, d, tables)
    if not _attempts(model, probs) <= limit:
        return -1
    step, accepted = np.zeros(number), 0
    for _ in range(moves):
        draw_step(rng, occurring, factor, deviation[reference], step)
        if model.is_flat and step[reference] != 0.0:
            shared = step[reference]  # Only differences count, and the reference stays where it is.
            for i in occurring:
                step[i] -= shared
        before = place.copy()
        log_ratio = moved(model, occurring, step, place)
        if not is_allowed(model, place):
            place[:] = before
            continue
        tabulate_moved(grid, occurring, step, place, deviation, tables)
        for d in range(orderings):
            proposed[d] = probs[d]
            if _is_mentioned(plan, d, step):
                proposed[d] = _prob(plan, grid, d, tables)
                log_ratio += model.count[d] * (math.log(max(proposed[d], 1e-300)) - math.log(probs[d]))
        if _attempts(model, proposed) <= limit and (
            log_ratio >= 0.0 or draws.bernoulli(rng, math.exp(log_ratio))
        ):
            probs[:] = proposed
            accepted += 1
        else:
            place[:] = before
            tabulate_back(occurring, step, tables)
    set_means(model, occurring, place, mean)
    _draw_values(rng, model, mean, deviation, values)
    return accepted


@compiled
def new_tables(number, size, most_states):
    """Room for the tables of so many constraints at so many nodes."""
    density, below = np.empty((number, size)), np.empty((number, size))
    old_density, old_below = np.empty((number, size)), np.empty((number, size))
    partial = np.empty((most_states, size))
    return _Tables(density, below, old_density, old_below, partial, np.empty(size), np.empty(size))


@compiled
def tabulate_moved(grid, occurring, step, place, deviation, tables):
    """Tabulate anew what a step moves, and keep what was there."""
    for i in occurring:
        if step[i] != 0.0:
            tables.old_density[i], tables.old_below[i] = tables.density[i], tables.below[i]
            tabulate_row(grid, place[i], deviation[i], tables.density[i], tables.below[i])


@compiled
def tabulate_back(occurring, step, tables):
    """Undo `tabulate_moved`."""
    for i in occurring:
        if step[i] != 0.0:
            tables.density[i], tables.below[i] = tables.old_density[i], tables.old_below[i]


@compiled
def _prob(plan, grid, ordering, tables):
    room = tables.partial, tables.product, tables.integrand
    return ordering_prob(plan, grid, ordering, tables.density, tables.below, *room)


@compiled
def moved(model, occurring, step, place):
    """Move the means; ln of the ratio of their priors."""
    log_ratio = 0.0
    for i in occurring:
        old = place[i] - model.prior_mean[i]
        place[i] += step[i]
        new = place[i] - model.prior_mean[i]
        log_ratio += 0.5 * model.prior_precision[i] * (old * old - new * new)
    return log_ratio


@compiled
def set_means(model, occurring, place, mean):
    """The means, centred if priors are flat."""
    average = 0.0
    if model.is_flat:
        for i in occurring:
            average += place[i] / len(occurring)
    for i in occurring:
        mean[i] = place[i] - average


@compiled
def _attempts(model, probs):
    """The expected number of attempts to draw all values; infinite if some ordering is impossible."""
    total = 0.0
    for d in range(len(probs)):
        total += model.count[d] / probs[d] if probs[d] > 0.0 else math.inf
    return total


@compiled
def draw_step(rng, occurring, factor, unit, step):
    """Draw by how much each mean is to move: all jointly, or some by the same amount."""
    step[:] = 0.0
    if factor[occurring[0], 0] != 0.0 and draws.bernoulli(rng, _SHARE):
        scale = _JOINT / math.sqrt(len(occurring)) * 0.4 ** (1.2 * rng.random() - 0.2)
        for k in range(len(factor)):
            z = normal_draws.normal(rng, 0.0, scale)
            for i in occurring:
                step[i] += factor[i, k] * z
        return
    scale = unit * _SMALLEST * (_LARGEST / _SMALLEST) ** rng.random()
    shared = normal_draws.normal(rng, 0.0, scale)
    if draws.bernoulli(rng, 0.5):
        for i in occurring:
            if draws.bernoulli(rng, 0.5):
                step[i] = shared
    else:
        step[occurring[draws.uniform_index(rng, len(occurring))]] = shared


@compiled
def is_allowed(model, place):
    """Whether means are within the bounds, centred if priors are flat."""
    if model.is_flat:
        return is_within(model, place)
    for i in range(len(place)):  # noqa: SIM110
        if model.occurs[i] > 0 and abs(place[i]) >= model.bound:
            return False
    return True


@compiled
def _is_mentioned(plan, ordering, step):
    for i in range(len(step)):  # noqa: SIM110
        if step[i] != 0.0 and plan.mentions[ordering, i]:
            return True
    return False


@compiled
def _draw_values(rng, model, mean, deviation, values):
    """Draw the values of every token from their prior until they obey its ordering."""
    place = 0
    for ordering in range(len(model.count)):
        begin, end = model.active_start[ordering], model.active_start[ordering + 1]
        rows = model.conjunct_start[ordering + 1] - model.conjunct_start[ordering]
        prefers = model.prefers_start[ordering]
        width = end - begin
        for _ in range(model.count[ordering]):
            while True:
                for k in range(width):
                    i = model.active[begin + k]
                    values[place + k] = normal_draws.normal(rng, mean[i], deviation[i])
                if _obeys(model, values, place, prefers, rows, width):
                    break
            place += width


@compiled
def _obeys(model, values, place, prefers, rows, width):
    for row in range(rows):
        winner, loser = -math.inf, -math.inf
        for k in range(width):
            side = model.prefers[prefers + row * width + k]
            if side > 0:
                winner = max(winner, values[place + k])
            elif side < 0:
                loser = max(loser, values[place + k])
        if winner <= loser:
            return False
    return True
