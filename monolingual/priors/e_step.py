"""The compiled E-step of logistic normals: better m and s for every copy, given expected counts.

The objective is that of `logistic_normal`. One call makes, for every copy, some conjugate gradients for m
(Newton's method if it has two choices, as most copies of a dependency model have) and then Newton's method
for each s_i, and leaves the weights e^ψ = e^m / ζ that the grammar wants next.

Since π = e^(m + s / 2) / ζ = e^ψ e^(s / 2), the weights of the round before give π without looking at m, and
small changes of m and s multiply it by exponentials of small numbers: these cost a fraction of others.

The fact a newcomer would get wrong: sums here come out as the compiler arranges them, and differ from those
of plain Python in the last digits. Nothing is decided by these.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.jit import inlined, kernel, reordering

__all__ = [
    "Normals",
    "Prior",
    "divergence_of",
    "exponentials",
    "gradients",
    "improve",
    "multiply",
    "normalise_shares",
    "prior_of",
    "room_for",
    "shares_from_weights",
    "shares_of",
]


class Prior(NamedTuple):
    """The normals that copies are drawn from.

    Attributes
    ----------
    start, square : int64, shape (F + 1,)
        Where the values, and the matrices, of each begin.
    mean : float64, shape (R,)
        μ.
    precision : float64, shape (Σ N²,)
        Λ, row by row.
    diagonal : float64, shape (R,)
        That of Λ.
    """

    start: np.ndarray
    square: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    diagonal: np.ndarray


class Normals(NamedTuple):
    """The approximate posteriors of the copies, one after the other.

    Attributes
    ----------
    means, variances : float64
        m and s.
    weights : float64
        e^m / ζ; of multinomials, where several normals make one.
    """

    means: np.ndarray
    variances: np.ndarray
    weights: np.ndarray


@inlined
def prior_of(prior, k):
    """Views of μ, Λ and its diagonal of one normal."""
    a, b = prior.start[k], prior.start[k + 1]
    matrix = prior.precision[prior.square[k] : prior.square[k + 1]].reshape(b - a, b - a)
    return prior.mean[a:b], matrix, prior.diagonal[a:b]


@inlined
def room_for(prior):
    """Room for the work on one copy: eight times as many values as the largest has."""
    largest = 0
    for k in range(len(prior.start) - 1):
        largest = max(largest, prior.start[k + 1] - prior.start[k])
    return np.zeros((8, largest))


@kernel
def gradients(mean, precision, counts, means, variances, by_mean, by_variance):
    size = len(mean)
    pull, shares = np.zeros(size), np.zeros(size)
    multiply(precision, means - mean, pull)
    shares_of(means, variances, shares)
    total = counts.sum()
    for i in range(size):
        by_mean[i] = counts[i] - total * shares[i] - pull[i]
        by_variance[i] = 0.5 * (1.0 / variances[i] - precision[i, i] - total * shares[i])


@reordering
def multiply(matrix, vector, result):
    """A symmetric matrix times a vector, four rows at a time."""
    size = len(vector)
    first = size % 4
    for j in range(size):
        result[j] = 0.0
    for i in range(first):
        factor = vector[i]
        for j in range(size):
            result[j] += factor * matrix[i, j]
    for i in range(first, size, 4):
        _add_rows(matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3], vector[i : i + 4], result)


@reordering
def _add_rows(first, second, third, fourth, factors, result):
    """Add four rows times their factors: one look at the result for all."""
    a, b, c, d = factors[0], factors[1], factors[2], factors[3]
    for j in range(len(result)):
        result[j] += a * first[j] + b * second[j] + c * third[j] + d * fourth[j]


@reordering
def exponentials(values):
    """e to the power of all values, in place.

    Small ones, as most are after the first rounds, by a Taylor series of an eighth of the exponent, whose
    error is below 1e-15: it compiles to instructions for several values at once, which math.exp does not.
    """
    large = 0
    for i in range(len(values)):
        large += not abs(values[i]) <= 2.0
    if large:
        for i in range(len(values)):
            values[i] = math.exp(values[i])
        return
    for i in range(len(values)):
        x = 0.125 * values[i]
        high = 1.0 + x / 8.0 * (1.0 + x / 9.0 * (1.0 + x / 10.0 * (1.0 + x / 11.0)))
        middle = 1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0 * high)))
        series = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * middle))
        series *= series
        series *= series
        values[i] = series * series


@reordering
def shares_of(means, variances, shares):
    """π of one copy; log ζ."""
    top = -np.inf
    for i in range(len(means)):
        shares[i] = means[i] + 0.5 * variances[i]
        top = max(top, shares[i])
    for i in range(len(means)):
        shares[i] -= top
    exponentials(shares)
    return top + math.log(normalise_shares(shares))


@reordering
def normalise_shares(shares):
    """Divide by the sum, which comes back."""
    total = 0.0
    for i in range(len(shares)):
        total += shares[i]
    factor = 1.0 / total
    for i in range(len(shares)):
        shares[i] *= factor
    return total


@reordering
def shares_from_weights(means, variances, weights, shares):
    """π from the weights e^m / ζ that go with means and variances."""
    tiny = 0
    for i in range(len(means)):
        shares[i] = 0.5 * variances[i]
        tiny += not weights[i] > 1e-250
    if tiny:  # Too small to be exact.
        shares_of(means, variances, shares)
        return
    exponentials(shares)
    for i in range(len(means)):
        shares[i] *= weights[i]


@kernel
def improve(family, start, prior, counts, normals, is_first, iterations, divergences):
    """Better `Normals`, in place; `divergences` are the KL of each copy, without log |Σ|, before.

    `is_first` says that the weights are not yet e^m / ζ.
    """
    room = room_for(prior)
    for copy in range(len(family)):
        own = prior_of(prior, family[copy])
        a, b = start[copy], start[copy + 1]
        f, m, s, w = counts[a:b], normals.means[a:b], normals.variances[a:b], normals.weights[a:b]
        if b - a == 2:
            divergences[copy] = _improve_pair(own[0], own[1], f, m, s, w, is_first, iterations)
        else:
            divergences[copy] = _improve_copy(own, f, (m, s, w), room, is_first, iterations)


@reordering
def _improve_copy(own, f, normal, room, is_first, iterations):
    """Better m, s and weights of one copy, in place; KL, without log |Σ|, before.

    own : μ, Λ and its diagonal.
    """
    (mean, precision, diagonal), (m, s, w) = own, normal
    size = len(f)
    # room[i][:size], not room[i, :size]: the latter's rows are not known to be contiguous.
    pull, shares, shift = room[0][:size], room[1][:size], room[2][:size]
    for i in range(size):
        shift[i] = m[i] - mean[i]
    multiply(precision, shift, pull)
    divergence = divergence_of(shift, pull, diagonal, s)
    total = 0.0
    for i in range(size):
        total += f[i]
    if is_first:
        shares_of(m, s, shares)
    else:
        shares_from_weights(m, s, w, shares)
    if iterations:
        _ascend_means(precision, diagonal, f, total, m, s, room, iterations)
        _ascend_variances(diagonal, total, s, room)
        normalise_shares(shares)
    # e^m / ζ = π e^(− s / 2).
    for i in range(size):
        w[i] = -0.5 * s[i]
    exponentials(w)
    for i in range(size):
        w[i] *= shares[i]
    return divergence


@reordering
def divergence_of(shift, pull, diagonal, s):
    """KL without log |Σ|, of m − μ and Λ (m − μ)."""
    divergence, product = -float(len(s)), 1.0
    for i in range(len(s)):
        divergence += shift[i] * pull[i] + diagonal[i] * s[i]
        product *= s[i]  # One logarithm for many variances.
        if not 1e-200 < product < 1e200:
            divergence -= math.log(product)
            product = 1.0
    return 0.5 * (divergence - math.log(product))


@reordering
def _ascend_means(precision, diagonal, f, total, m, s, room, iterations):
    """Conjugate gradients for m, preconditioned by the diagonal.

    The first two rows of the room, Λ (m − μ) and the shares π, are kept up to date.
    """
    size = len(m)
    pull, shares, gradient, direction = room[0][:size], room[1][:size], room[2][:size], room[3][:size]
    along, scaled, trial = room[4][:size], room[5][:size], room[6][:size]
    before = 0.0
    for iteration in range(iterations):
        for i in range(size):
            gradient[i] = f[i] - total * shares[i] - pull[i]
        mixed = 0.0
        if iteration:
            for i in range(size):
                mixed += gradient[i] * scaled[i]
        product = 0.0
        for i in range(size):
            scaled[i] = gradient[i] / (diagonal[i] + total * shares[i])
        for i in range(size):
            product += gradient[i] * scaled[i]
        if product < 1e-16:
            break
        beta = max((product - mixed) / before, 0.0) if iteration else 0.0
        before = product
        slope = 0.0
        for i in range(size):
            direction[i] = scaled[i] + (beta * direction[i] if iteration else 0.0)
            slope += gradient[i] * direction[i]
        if slope <= 0.0:
            slope = product
            for i in range(size):
                direction[i] = scaled[i]
        multiply(precision, direction, along)
        curvature, drift, mean_step, square_step = 0.0, 0.0, 0.0, 0.0
        for i in range(size):
            curvature += direction[i] * along[i]
            drift += (f[i] - pull[i]) * direction[i]
            mean_step += shares[i] * direction[i]
            square_step += shares[i] * direction[i] * direction[i]
        length = slope / (curvature + total * (square_step - mean_step * mean_step))
        while True:
            log_growth = _moved_shares(m, s, shares, direction, length, trial)
            gain = length * drift - 0.5 * length * length * curvature - total * log_growth
            if gain >= 0.0 or length * slope < 1e-14:
                break
            length *= 0.5
        for i in range(size):
            m[i] += length * direction[i]
        for i in range(size):
            pull[i] += length * along[i]
            shares[i] = trial[i]


@reordering
def _moved_shares(m, s, shares, direction, length, trial):
    """π at m + length · direction, into `trial`; by how much log ζ grows."""
    large = 0
    for i in range(len(m)):
        trial[i] = length * direction[i]
        large += not abs(trial[i]) <= 2.0
    if large:
        before = shares_of(m, s, trial)
        for i in range(len(m)):
            trial[i] = m[i] + length * direction[i]
        return shares_of(trial, s, trial) - before
    exponentials(trial)
    for i in range(len(m)):
        trial[i] *= shares[i]
    return math.log(normalise_shares(trial))


@reordering
def _ascend_variances(diagonal, total, s, room):
    """The s with s (Λ_ii + F exp(m + s / 2) / ζ) = 1, with ζ as it is, and π at them, not normalised.

    Newton's method on convex, increasing functions of s.
    """
    size = len(s)
    shares, growth = room[1][:size], room[2][:size]
    for _ in range(50):
        for i in range(size):
            grown = total * shares[i]
            change = s[i] * (diagonal[i] + grown) - 1.0
            growth[i] = -change / (diagonal[i] + grown * (1.0 + 0.5 * s[i]))
        unfinished = 0
        for i in range(size):
            s[i] += growth[i]
            # Quadratic convergence: what is left is the square of this.
            unfinished += not abs(growth[i]) <= 1e-3 * s[i]
            growth[i] *= 0.5
        exponentials(growth)
        for i in range(size):
            shares[i] *= growth[i]
        if not unfinished:
            break


@reordering
def _improve_pair(mean, precision, f, m, s, w, is_first, iterations):
    """`_improve_copy` for two choices, whose Newton steps are as easily made as gradients."""
    first, both, second = precision[0, 0], precision[0, 1], precision[1, 1]
    shift0, shift1 = m[0] - mean[0], m[1] - mean[1]
    pull0, pull1 = first * shift0 + both * shift1, both * shift0 + second * shift1
    divergence = shift0 * pull0 + shift1 * pull1 + first * s[0] + second * s[1] - math.log(s[0] * s[1]) - 2.0
    total = f[0] + f[1]
    if is_first or not min(w[0], w[1]) > 1e-250:
        difference = min(max(m[0] - m[1] + 0.5 * (s[0] - s[1]), -700.0), 700.0)
        share0, share1 = 1.0 / (1.0 + math.exp(-difference)), 1.0 / (1.0 + math.exp(difference))
    else:
        share0, share1 = w[0] * math.exp(0.5 * s[0]), w[1] * math.exp(0.5 * s[1])
    for _ in range(iterations):
        slope0, slope1 = f[0] - total * share0 - pull0, f[1] - total * share1 - pull1
        bend = total * share0 * share1
        a, b, c = first + bend, both - bend, second + bend
        determinant = a * c - b * b
        step0, step1 = (c * slope0 - b * slope1) / determinant, (a * slope1 - b * slope0) / determinant
        slope = slope0 * step0 + slope1 * step1
        if slope < 1e-16:
            break
        drift = (f[0] - pull0) * step0 + (f[1] - pull1) * step1
        along0, along1 = first * step0 + both * step1, both * step0 + second * step1
        curvature = step0 * along0 + step1 * along1
        length = min(1.0, 100.0 / max(abs(step0), abs(step1)))
        while True:
            trial0, trial1 = share0 * math.exp(length * step0), share1 * math.exp(length * step1)
            grown = trial0 + trial1
            gain = length * drift - 0.5 * length * length * curvature - total * math.log(grown)
            if gain >= 0.0 or length * slope < 1e-14:
                break
            length *= 0.5
        m[0] += length * step0
        m[1] += length * step1
        pull0 += length * along0
        pull1 += length * along1
        share0, share1 = trial0 / grown, trial1 / grown
    if iterations:
        share0 = _best_variance(s, 0, first, total, share0)
        share1 = _best_variance(s, 1, second, total, share1)
    scale = 1.0 / (share0 + share1)
    w[0] = share0 * scale * math.exp(-0.5 * s[0])
    w[1] = share1 * scale * math.exp(-0.5 * s[1])
    return 0.5 * divergence


@reordering
def _best_variance(s, i, precision, total, share):
    """`_ascend_variances` for one choice; π at the new variance."""
    for _ in range(50):
        grown = total * share
        growth = -(s[i] * (precision + grown) - 1.0) / (precision + grown * (1.0 + 0.5 * s[i]))
        s[i] += growth
        share *= math.exp(0.5 * growth)
        if abs(growth) <= 1e-3 * s[i]:
            break
    return share
