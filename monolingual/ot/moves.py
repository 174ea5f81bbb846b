"""The moves of the Gibbs sampler for Stochastic OT, compiled (Lin 2005, sections 4 and 5).

Constraint i has mean μᵢ and deviation σᵢ. Token j was produced by values yⱼᵢ ~ N(μᵢ, σᵢ²) that obey its
ordering, so

    p(μ, y | data) ∝ p(μ) Πⱼ [yⱼ obeys its ordering] Πᵢ N(yⱼᵢ; μᵢ, σᵢ²).

Values of constraints that the ordering of a token does not mention are free and are integrated out. Every
move leaves this distribution as it is:

- `draw_values`: each yⱼᵢ in turn from its normal, truncated where a conjunct binds;
- `draw_means`: all μᵢ given the values, then everything is centred;
- `shift`: the means *and* values of a set S of constraints are moved together by t. No residual changes, so
  t is uniform (normal under informative priors) over the interval in which all orderings hold. Where the
  data never contradict a demotion of S this interval is long: it is the direction in which the other moves
  creep;
- `draw_deviations` and `stretch`, where the variances are unknown: conjugate draws, then everything,
  deviations included, is multiplied by one factor, which changes no ordering.

Under a flat prior only differences of means matter. The state keeps Σ μᵢ = 0 over the constraints that
occur in orderings, and −K < μᵢ < K.

The fact a newcomer would get wrong: centring μ without moving the values by the same amount is not a change
of coordinates but another chain with another stationary distribution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws, normal_draws
from scfg_sampler.core.jit import by_reference, compiled, kernel

__all__ = ["Posterior", "draw_idle", "is_within", "sweep"]

_TRIES = 20  # Joint draws of all means before they are drawn one by one.
_STRETCH = 0.3  # Deviation of the logarithm of the factor that `stretch` proposes.


class Posterior(NamedTuple):
    """What a sweep needs to know besides the state.

    Attributes
    ----------
    count, active_start, active, conjunct_start, prefers_start, prefers
        As in `orderings.Orderings`.
    occurs : int64, shape (N,)
        In how many tokens each constraint occurs.
    prior_mean, prior_precision : float64, shape (N,)
        Of the normal prior of each mean; precision 0 is flat.
    is_flat : bool
        Whether all priors of constraints that occur are flat, so that their means are centred.
    bound : float
        K; may be infinite.
    shift_sets : bool, shape (S, N)
        The sets of constraints that are shifted together.
    shifts : int
        How many of the sets, drawn at random, are shifted in a sweep; at least S means all, in order.
    variance_shape, variance_scale : float
        Of the inverse gamma prior of each variance; shape 0 keeps the deviations as they are.
    """

    count: np.ndarray  # type: ignore[assignment]
    active_start: np.ndarray
    active: np.ndarray
    conjunct_start: np.ndarray
    prefers_start: np.ndarray
    prefers: np.ndarray
    occurs: np.ndarray
    prior_mean: np.ndarray
    prior_precision: np.ndarray
    is_flat: bool
    bound: float
    shift_sets: np.ndarray
    shifts: int
    variance_shape: float
    variance_scale: float


@kernel
def sweep(
    rng: np.random.Generator,
    posterior: Posterior,
    mean: np.ndarray,
    deviation: np.ndarray,
    values: np.ndarray,
) -> float:
    """One sweep over values, means, shifts and deviations, in place; the log joint of the new state.

    Parameters
    ----------
    rng : numpy.random.Generator
    posterior : Posterior
    mean, deviation : float64, shape (N,)
    values : float64, shape (V,)
        Row after row, ordering after ordering: for each token the values of its active constraints.

    Returns
    -------
    float
        log p(μ, σ, y, data) up to a constant.
    """
    model = by_reference(posterior)
    size = len(mean)
    sums, squares = np.zeros(size), np.zeros(size)
    draw_values(rng, model, mean, deviation, values, sums, squares)
    before = mean.copy()
    draw_means(rng, model, mean, deviation, sums)
    for i in range(size):
        step = mean[i] - before[i]
        squares[i] += step * (step * model.occurs[i] - 2.0 * sums[i])
    if model.is_flat:
        centre(model, mean, values)
    num_sets = len(model.shift_sets)
    for number in range(min(model.shifts, num_sets)):
        if model.shifts < num_sets:
            number = draws.uniform_index(rng, num_sets)
        shift(rng, model, mean, values, model.shift_sets[number])
    if model.variance_shape > 0.0:
        draw_deviations(rng, model, deviation, squares)
        stretch(rng, model, mean, deviation, values, squares)
    return _log_joint(model, mean, deviation, squares)


@compiled
def draw_values(rng, model, mean, deviation, values, sums, squares):
    """Draw every value given the others; add up the residuals and their squares."""
    place = 0
    for ordering in range(len(model.count)):
        begin, end = model.active_start[ordering], model.active_start[ordering + 1]
        rows = model.conjunct_start[ordering + 1] - model.conjunct_start[ordering]
        prefers = model.prefers_start[ordering]
        width = end - begin
        for _ in range(model.count[ordering]):
            for k in range(width):
                low, high = _bounds(model, values, place, prefers, rows, width, k)
                i = model.active[begin + k]
                value = normal_draws.truncated_normal(rng, mean[i], deviation[i], low, high)
                values[place + k] = value
                residual = value - mean[i]
                sums[i] += residual
                squares[i] += residual * residual
            place += width


@compiled
def _bounds(model, values, place, prefers, rows, width, k):
    """Between which values the k-th one of a token may lie, given the others."""
    low, high = -math.inf, math.inf
    for row in range(rows):
        base = prefers + row * width
        side = model.prefers[base + k]
        if side == 0:
            continue
        winner, loser = -math.inf, -math.inf
        for m in range(width):
            if m != k:
                other = model.prefers[base + m]
                if other > 0:
                    winner = max(winner, values[place + m])
                elif other < 0:
                    loser = max(loser, values[place + m])
        if side < 0:
            high = min(high, winner)
        elif winner <= loser:
            low = max(low, loser)
    return low, high


@compiled
def draw_means(rng, model, mean, deviation, sums):
    """Draw the means given the values, whose residuals from the present means sum to `sums`."""
    size = len(mean)
    centres, spreads = np.empty(size), np.empty(size)
    for i in range(size):
        if model.occurs[i] == 0:
            draw_idle(rng, model, mean, i)
            spreads[i] = 0.0  # The data say nothing of it.
            continue
        precision = model.occurs[i] / (deviation[i] * deviation[i]) + model.prior_precision[i]
        pulled = sums[i] / (deviation[i] * deviation[i])
        pulled += model.prior_precision[i] * (model.prior_mean[i] - mean[i])
        centres[i] = mean[i] + pulled / precision
        spreads[i] = 1.0 / math.sqrt(precision)
    if not model.is_flat:
        for i in range(size):
            if spreads[i] > 0.0:
                mean[i] = normal_draws.truncated_normal(
                    rng, centres[i], spreads[i], -model.bound, model.bound
                )
        return
    proposed = mean.copy()
    for _ in range(_TRIES):
        for i in range(size):
            if spreads[i] > 0.0:
                proposed[i] = normal_draws.normal(rng, centres[i], spreads[i])
        if is_within(model, proposed):
            mean[:] = proposed
            return
    # Whether all tries fail depends on the values alone, so going on from the present means is right.
    for i in range(size):
        if spreads[i] > 0.0:
            low, high = _room(model, mean, i)
            mean[i] = normal_draws.truncated_normal(rng, centres[i], spreads[i], low, high)


@compiled
def draw_idle(rng, model, mean, i):
    """Draw the mean of a constraint that occurs in no ordering from its prior, if that is a distribution."""
    if model.prior_precision[i] > 0.0:
        spread = 1.0 / math.sqrt(model.prior_precision[i])
        mean[i] = normal_draws.truncated_normal(rng, model.prior_mean[i], spread, -model.bound, model.bound)
    elif model.bound < math.inf:
        mean[i] = model.bound * (2.0 * rng.random() - 1.0)


@compiled
def _average(model, mean):
    """The mean of those means that occur in orderings, and how many these are."""
    total, number = 0.0, 0
    for i in range(len(mean)):
        if model.occurs[i] > 0:
            total += mean[i]
            number += 1
    return total / number, number


@compiled
def is_within(model, mean):
    """Whether the means, once centred, are within the bounds."""
    average, _ = _average(model, mean)
    for i in range(len(mean)):  # noqa: SIM110
        if model.occurs[i] > 0 and abs(mean[i] - average) >= model.bound:
            return False
    return True


@compiled
def _room(model, mean, i):
    """Between which values one mean may lie so that all, once centred, are within the bounds."""
    average, number = _average(model, mean)
    others = average - mean[i] / number  # The average is others + μᵢ/n.
    own = 1.0 - 1.0 / number
    low, high = (others - model.bound) / own, (others + model.bound) / own
    for k in range(len(mean)):
        if k != i and model.occurs[k] > 0:
            low = max(low, number * (mean[k] - others - model.bound))
            high = min(high, number * (mean[k] - others + model.bound))
    return low, high


@compiled
def centre(model, mean, values):
    """Move means and values together so that the means of the constraints that occur sum to 0."""
    average, _ = _average(model, mean)
    for i in range(len(mean)):
        if model.occurs[i] > 0:
            mean[i] -= average
    for place in range(len(values)):
        values[place] -= average


@compiled
def shift(rng, model, mean, values, members):
    """Move means and values of the constraints in a set together, by a draw from where they may go."""
    low, high = _shift_bounds(model, mean, values, members)
    precision, pulled = 0.0, 0.0
    for i in range(len(mean)):
        if members[i]:
            precision += model.prior_precision[i]
            pulled += model.prior_precision[i] * (model.prior_mean[i] - mean[i])
    if precision > 0.0:
        distance = normal_draws.truncated_normal(
            rng, pulled / precision, 1.0 / math.sqrt(precision), low, high
        )
    elif high - low < math.inf:
        distance = low + (high - low) * rng.random()
    else:
        return
    for i in range(len(mean)):
        if members[i]:
            mean[i] += distance
    place = 0
    for ordering in range(len(model.count)):
        begin, end = model.active_start[ordering], model.active_start[ordering + 1]
        width = end - begin
        for k in range(width):
            if members[model.active[begin + k]]:
                for token in range(model.count[ordering]):
                    values[place + token * width + k] += distance
        place += width * model.count[ordering]
    if model.is_flat:
        centre(model, mean, values)


@compiled
def _shift_bounds(model, mean, values, members):
    """The open interval of distances by which a set may be shifted."""
    low, high = -math.inf, math.inf
    share = 0.0
    if model.is_flat:
        _, number = _average(model, mean)
        for i in range(len(mean)):
            share += members[i] / number
    for i in range(len(mean)):
        if model.occurs[i] > 0:
            slope = (1.0 if members[i] else 0.0) - share  # How far centring lets the mean move.
            if slope > 0.0:
                low = max(low, (-model.bound - mean[i]) / slope)
                high = min(high, (model.bound - mean[i]) / slope)
            elif slope < 0.0:
                low = max(low, (model.bound - mean[i]) / slope)
                high = min(high, (-model.bound - mean[i]) / slope)
    place = 0
    for ordering in range(len(model.count)):
        begin, end = model.active_start[ordering], model.active_start[ordering + 1]
        width = end - begin
        inside = 0
        for k in range(begin, end):
            inside += members[model.active[k]]
        if 0 < inside < width:
            rows = model.conjunct_start[ordering + 1] - model.conjunct_start[ordering]
            prefers = model.prefers_start[ordering]
            for token in range(model.count[ordering]):
                for row in range(rows):
                    least, most = _conjunct_bounds(
                        model, values, place + token * width, prefers + row * width, begin, width, members
                    )
                    low, high = max(low, least), min(high, most)
        place += width * model.count[ordering]
    return low, high


@compiled
def _conjunct_bounds(model, values, place, base, begin, width, members):
    """By how much the members may be shifted so that one conjunct of one token stays true.

    The conjunct is max(a + t, b) > max(c + t, d): winner's and loser's constraints inside and outside the
    set. It holds at t = 0, so either a > c or b > d (or both, and then for every t).
    """
    a, b, c, d = -math.inf, -math.inf, -math.inf, -math.inf
    for k in range(width):
        side = model.prefers[base + k]
        if side == 0:
            continue
        value = values[place + k]
        if members[model.active[begin + k]]:
            if side > 0:
                a = max(a, value)
            else:
                c = max(c, value)
        elif side > 0:
            b = max(b, value)
        else:
            d = max(d, value)
    if a > c:
        return (-math.inf if b > d or d == -math.inf else d - a), math.inf
    return -math.inf, (math.inf if c == -math.inf else b - c)


@compiled
def draw_deviations(rng, model, deviation, squares):
    """Draw the variances given the squared residuals of their constraints."""
    for i in range(len(deviation)):
        shape = model.variance_shape + 0.5 * model.occurs[i]
        scale = model.variance_scale + 0.5 * squares[i]
        deviation[i] = math.sqrt(normal_draws.inverse_gamma(rng, shape, scale))


@compiled
def stretch(rng, model, mean, deviation, values, squares):
    """Multiply means, deviations and values by one factor, by a Metropolis step on its logarithm."""
    log_factor = normal_draws.normal(rng, 0.0, _STRETCH)
    factor = math.exp(log_factor)
    number, log_ratio = 0, 0.0
    for i in range(len(mean)):
        if model.occurs[i] == 0:
            continue
        number += 1
        if factor * abs(mean[i]) >= model.bound:
            return
        inverse = 1.0 / (deviation[i] * deviation[i])
        log_ratio -= 2.0 * model.variance_shape * log_factor
        log_ratio += model.variance_scale * inverse * (1.0 - 1.0 / (factor * factor))
        before, after = mean[i] - model.prior_mean[i], factor * mean[i] - model.prior_mean[i]
        log_ratio += 0.5 * model.prior_precision[i] * (before * before - after * after)
    # Values and deviations bring as many factors as their densities lose; the means bring theirs.
    log_ratio += (number - 1 if model.is_flat else number) * log_factor
    if log_ratio < 0.0 and not draws.bernoulli(rng, math.exp(log_ratio)):
        return
    for i in range(len(mean)):
        if model.occurs[i] > 0:
            mean[i] *= factor
            deviation[i] *= factor
            squares[i] *= factor * factor
    for place in range(len(values)):
        values[place] *= factor


@compiled
def _log_joint(model, mean, deviation, squares):
    """log p(μ, σ, y, data) up to a constant, from the squared residuals."""
    total = 0.0
    for i in range(len(mean)):
        variance = deviation[i] * deviation[i]
        total -= 0.5 * squares[i] / variance + model.occurs[i] * math.log(deviation[i])
        distance = mean[i] - model.prior_mean[i]
        total -= 0.5 * model.prior_precision[i] * distance * distance
        if model.variance_shape > 0.0:
            total -= 2.0 * (model.variance_shape + 1.0) * math.log(deviation[i])
            total -= model.variance_scale / variance
    return total
