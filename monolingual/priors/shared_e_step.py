"""The compiled E-step of shared logistic normals: better m and s for every expert's copy in every sentence.

In one sentence a multinomial j with r_j experts has the softmax argument Σ η / r_j, whose approximate
posterior has the means a_j = Σ m / r_j and variances v_j = Σ s / r_j². With π_j = exp(a_j + v_j / 2) / ζ_j,
expected counts f_j and F_j = Σ f_j, the bound's derivatives by the m and s of an expert's copy are

    ∂/∂m = Σ_j (f_j − F_j π_j) / r_j − Λ (m − μ),   ∂/∂s_i = ½ (1 / s_i − Λ_ii − Σ_j F_j π_ji / r_j²),

sums over the multinomials of the sentence that the expert is one of. Copies are improved one after the other,
each given what the others are by then: steps along the gradient, divided by the diagonal of the Hessian, and
Newton's method for each s_i.

The fact a newcomer would get wrong: an expert's step changes the shares π of all multinomials it is one of,
and so the gradients of their other experts. They are kept up to date as it goes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.priors.e_step import (
    Normals,
    divergence_of,
    exponentials,
    multiply,
    normalise_shares,
    prior_of,
    room_for,
    shares_from_weights,
    shares_of,
)
from scfg_sampler.core.jit import kernel, reordering

__all__ = ["Links", "expert_gradients", "improve_experts"]


class Links(NamedTuple):
    """Which copies of experts make which copies of multinomials.

    Attributes
    ----------
    start : int64, shape (I + 1,)
        The choices of multinomial copy j are start[j] … start[j + 1] − 1.
    expert_start : int64, shape (C + 1,)
        The values of expert copy c, alike.
    first, multinomial : int64, shapes (C + 1,) and (L,)
        Expert copy c is one of the experts of multinomial[first[c]:first[c + 1]].
    expert_first, expert : int64, shapes (I + 1,) and (L,)
        The experts of multinomial copy j are expert[expert_first[j]:expert_first[j + 1]].
    """

    start: np.ndarray
    expert_start: np.ndarray
    first: np.ndarray
    multinomial: np.ndarray
    expert_first: np.ndarray
    expert: np.ndarray


@kernel
def improve_experts(links, family, prior, counts, normals, is_first, iterations, divergences):
    """Better `Normals`, in place; `divergences` are the KL of each expert copy, without log |Σ|, before.

    `family` says which expert each expert copy is of; otherwise as `priors.e_step.improve`.
    """
    room = room_for(prior)
    means, variances, weights = normals.means, normals.variances, normals.weights
    shares, totals = np.zeros(len(weights)), np.zeros(len(links.start) - 1)
    _all_shares(links, counts, normals, is_first, room, shares, totals)
    for c in range(len(family)):
        own = prior_of(prior, family[c])
        m = means[links.expert_start[c] : links.expert_start[c + 1]]
        s = variances[links.expert_start[c] : links.expert_start[c + 1]]
        divergences[c] = _prepare(links, c, own, counts, m, s, room)
        if iterations:
            _ascend_means(links, c, own, m, totals, shares, room, iterations)
            _ascend_variances(links, c, own[2], s, totals, shares, room)
    for j in range(len(totals)):
        w = weights[links.start[j] : links.start[j + 1]]
        spread = room[1][: len(w)]
        _argument(links, j, means, variances, room[0][: len(w)], spread)
        for i in range(len(w)):
            w[i] = -0.5 * spread[i]
        exponentials(w)
        for i in range(len(w)):
            w[i] *= shares[links.start[j] + i]


@kernel
def expert_gradients(links, family, prior, counts, means, variances, by_mean, by_variance):
    """The derivatives of the bound by all m and s, as the E-step computes them."""
    room = room_for(prior)
    shares, totals = np.zeros(len(counts)), np.zeros(len(links.start) - 1)
    _all_shares(links, counts, Normals(means, variances, shares), True, room, shares, totals)
    for c in range(len(family)):
        own = prior_of(prior, family[c])
        a, b = links.expert_start[c], links.expert_start[c + 1]
        _prepare(links, c, own, counts, means[a:b], variances[a:b], room)
        _gradient(links, c, totals, shares, room)
        for i in range(b - a):
            by_mean[a + i] = room[2, i]
            by_variance[a + i] = 0.5 * (1.0 / variances[a + i] - own[2][i] - room[3, i])


@reordering
def _argument(links, j, means, variances, argument, spread):
    """a and v of multinomial copy j."""
    size = len(argument)
    a, b = links.expert_first[j], links.expert_first[j + 1]
    share = 1.0 / (b - a)
    for i in range(size):
        argument[i] = spread[i] = 0.0
    for at in range(a, b):
        begin = links.expert_start[links.expert[at]]
        for i in range(size):
            argument[i] += share * means[begin + i]
            spread[i] += share * share * variances[begin + i]


@reordering
def _all_shares(links, counts, normals, is_first, room, shares, totals):
    """π and F of all multinomial copies."""
    means, variances, weights = normals.means, normals.variances, normals.weights
    for j in range(len(totals)):
        begin, end = links.start[j], links.start[j + 1]
        argument, spread = room[0][: end - begin], room[1][: end - begin]
        _argument(links, j, means, variances, argument, spread)
        if is_first:
            shares_of(argument, spread, shares[begin:end])
        else:
            shares_from_weights(argument, spread, weights[begin:end], shares[begin:end])
        total = 0.0
        for at in range(begin, end):
            total += counts[at]
        totals[j] = total


@reordering
def _prepare(links, c, own, counts, m, s, room):
    """Λ (m − μ) and Σ f / r of an expert copy, into the first two rows of the room; KL without log |Σ|.

    own : μ, Λ and its diagonal, of the expert.
    """
    mean, precision, diagonal = own
    size = len(m)
    pull, uses, shift = room[0][:size], room[1][:size], room[2][:size]
    for i in range(size):
        shift[i] = m[i] - mean[i]
        uses[i] = 0.0
    multiply(precision, shift, pull)
    for at in range(links.first[c], links.first[c + 1]):
        j = links.multinomial[at]
        share = 1.0 / (links.expert_first[j + 1] - links.expert_first[j])
        begin = links.start[j]
        for i in range(size):
            uses[i] += share * counts[begin + i]
    return divergence_of(shift, pull, diagonal, s)


@reordering
def _gradient(links, c, totals, shares, room):
    """∂/∂m of an expert copy and Σ F π / r², into the third and fourth row of the room."""
    size = links.expert_start[c + 1] - links.expert_start[c]
    pull, uses, gradient, bend = room[0][:size], room[1][:size], room[2][:size], room[3][:size]
    for i in range(size):
        gradient[i] = uses[i] - pull[i]
        bend[i] = 0.0
    for at in range(links.first[c], links.first[c + 1]):
        j = links.multinomial[at]
        share = 1.0 / (links.expert_first[j + 1] - links.expert_first[j])
        first, second, begin = totals[j] * share, totals[j] * share * share, links.start[j]
        for i in range(size):
            gradient[i] -= first * shares[begin + i]
            bend[i] += second * shares[begin + i]


@reordering
def _ascend_means(links, c, own, m, totals, shares, room, iterations):
    """Steps along the gradient over the diagonal of the Hessian; shares are kept up to date."""
    _, precision, diagonal = own
    size = len(m)
    pull, uses, gradient, bend = room[0][:size], room[1][:size], room[2][:size], room[3][:size]
    direction, along, trial = room[4][:size], room[5][:size], room[6][:size]
    for _ in range(iterations):
        _gradient(links, c, totals, shares, room)
        slope, steepest = 0.0, 0.0
        for i in range(size):
            direction[i] = gradient[i] / (diagonal[i] + bend[i])
            slope += gradient[i] * direction[i]
            steepest = max(steepest, abs(direction[i]))
        if slope < 1e-16:
            return
        multiply(precision, direction, along)
        curvature, drift = 0.0, 0.0
        for i in range(size):
            curvature += direction[i] * along[i]
            drift += (uses[i] - pull[i]) * direction[i]
        bent = _bend_along(links, c, totals, shares, direction)
        length = min(slope / (curvature + bent), 100.0 / steepest)
        while True:
            grown = 0.0
            for at in range(links.first[c], links.first[c + 1]):
                j = links.multinomial[at]
                grown += totals[j] * _moved(links, j, shares, direction, length, trial)
            gain = length * drift - 0.5 * length * length * curvature - grown
            if gain >= 0.0 or length * slope < 1e-14:
                break
            length *= 0.5
        for at in range(links.first[c], links.first[c + 1]):
            j = links.multinomial[at]
            if links.first[c + 1] - links.first[c] > 1:  # Otherwise the trial is still there.
                _moved(links, j, shares, direction, length, trial)
            for i in range(size):
                shares[links.start[j] + i] = trial[i]
        for i in range(size):
            m[i] += length * direction[i]
            pull[i] += length * along[i]


@reordering
def _bend_along(links, c, totals, shares, direction):
    """The second derivative of Σ F log ζ along a direction of an expert copy."""
    found = 0.0
    for at in range(links.first[c], links.first[c + 1]):
        j = links.multinomial[at]
        share = 1.0 / (links.expert_first[j + 1] - links.expert_first[j])
        begin = links.start[j]
        mean, square = 0.0, 0.0
        for i in range(len(direction)):
            mean += shares[begin + i] * direction[i]
            square += shares[begin + i] * direction[i] * direction[i]
        found += totals[j] * share * share * (square - mean * mean)
    return found


@reordering
def _moved(links, j, shares, direction, length, trial):
    """π of multinomial copy j after a step of one of its experts, into `trial`; by how much log ζ grows."""
    factor = length / (links.expert_first[j + 1] - links.expert_first[j])
    begin = links.start[j]
    for i in range(len(direction)):
        trial[i] = factor * direction[i]
    exponentials(trial)
    for i in range(len(direction)):
        trial[i] *= shares[begin + i]
    return math.log(normalise_shares(trial))


@reordering
def _ascend_variances(links, c, diagonal, s, totals, shares, room):
    """The s with s (Λ_ii + Σ F exp(a + v / 2) / (r² ζ)) = 1, with all ζ as they are; then π.

    Newton's method on convex, increasing functions of s.
    """
    size = len(s)
    grown, slope, growth, trial = room[2][:size], room[3][:size], room[4][:size], room[5][:size]
    for _ in range(50):
        for i in range(size):
            grown[i] = slope[i] = diagonal[i]
        for at in range(links.first[c], links.first[c + 1]):
            j = links.multinomial[at]
            share = 1.0 / (links.expert_first[j + 1] - links.expert_first[j]) ** 2
            begin = links.start[j]
            for i in range(size):
                value = totals[j] * share * shares[begin + i]
                grown[i] += value
                slope[i] += value * (1.0 + 0.5 * share * s[i])
        unfinished = 0
        for i in range(size):
            growth[i] = (1.0 - s[i] * grown[i]) / slope[i]
            s[i] += growth[i]
            unfinished += not abs(growth[i]) <= 1e-3 * s[i]
        for at in range(links.first[c], links.first[c + 1]):
            j = links.multinomial[at]
            share = 1.0 / (links.expert_first[j + 1] - links.expert_first[j]) ** 2
            for i in range(size):
                trial[i] = 0.5 * share * growth[i]
            exponentials(trial)
            for i in range(size):
                shares[links.start[j] + i] *= trial[i]
        if not unfinished:
            break
    for at in range(links.first[c], links.first[c + 1]):
        j = links.multinomial[at]
        normalise_shares(shares[links.start[j] : links.start[j + 1]])
