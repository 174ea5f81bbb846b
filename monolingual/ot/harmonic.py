"""Harmonic Grammar with probabilities: maximum entropy, and noisy weights.

The harmony of a candidate is −Σ wᵢ vᵢ with weights w and violations v. Maximum entropy (Goldwater and
Johnson 2003) gives it

    P(c | input) = exp(−Σ wᵢ vᵢ(c)) / Σ_c′ exp(−Σ wᵢ vᵢ(c′)),

and fits the weights under N(0, V) priors, or none, by L-BFGS; the objective is concave. Noisy Harmonic
Grammar (Boersma and Pater 2016) adds normal noise to every weight and takes the most harmonic candidate.
For two candidates its probability is a normal distribution function; for more it is estimated from a fixed
set of simulated evaluations.

Without a prior the optimum may be at infinity, namely if some direction of weights raises no observed
winner's rival and lowers some: complete or quasi-complete separation, found by a linear program.

The fact a newcomer would get wrong: a weight here is a penalty. Papers that write exp(+Σ wᵢ fᵢ) have the
opposite sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from monolingual.ot.tableaux import Tableaux
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "Maxent",
    "Separation",
    "fit_maxent",
    "maxent_log_probs",
    "maxent_probs",
    "maxent_weights",
    "noisy_probs",
    "separation",
]

_SIMULATIONS = 200_000
_CHUNK = 20_000
_COST = 1e-6
_ROUNDING = 1e-13  # Of a sum of penalties, within which two are equal.


class Separation(NamedTuple):
    """Why there is no finite maximum.

    Attributes
    ----------
    direction : float64, shape (N,)
        Along which weights can grow without end; zeros if there is a finite maximum.
    candidates : tuple of int
        Candidates whose probability goes to 0 along the direction.
    """

    direction: np.ndarray
    candidates: tuple[int, ...]


class Maxent(NamedTuple):
    """A fitted maximum-entropy grammar.

    Attributes
    ----------
    weight : float64, shape (N,)
    log_likelihood : float
        Without the prior.
    separation : Separation
        Reported whether or not there is a prior.
    """

    weight: np.ndarray
    log_likelihood: float
    separation: Separation


def maxent_probs(tableaux: Tableaux, weight: np.ndarray) -> np.ndarray:
    """The probability of each candidate under maximum entropy, float64 of shape (C,)."""
    return np.exp(maxent_log_probs(tableaux, weight))


def maxent_log_probs(tableaux: Tableaux, weight: np.ndarray) -> np.ndarray:
    """Their logarithms, which are finite even where a probability is below all numbers."""
    return _log_probs(tableaux, -(tableaux.violations @ np.asarray(weight, dtype=np.float64)))


def fit_maxent(
    tableaux: Tableaux,
    *,
    prior_variance: float | None = None,
    non_negative: bool = True,
    bias: tuple[np.ndarray, np.ndarray] | None = None,
) -> Maxent:
    """The maximum-entropy grammar of the highest posterior density, or likelihood.

    Parameters
    ----------
    tableaux : Tableaux
        Frequencies are taken as counts, so that their scale decides the strength of the prior.
    prior_variance : float, optional
        V of the normal priors with mean 0; without it there is no prior.
    non_negative : bool
        Whether weights must not fall below 0, below which a constraint would reward its violations.
    bias : (float64, float64), shapes (N,), optional
        The mean and the deviation of the normal prior of each weight, in the place of `prior_variance`.

    Raises
    ------
    InputError
        Nothing was observed.
    SettingsError
        The variance is not above 0.
    """
    weight = maxent_weights(tableaux, prior_variance=prior_variance, non_negative=non_negative, bias=bias)
    harmony = -(tableaux.violations.astype(np.float64) @ weight)
    log_likelihood = float(tableaux.frequency @ _log_probs(tableaux, harmony))
    return Maxent(weight, log_likelihood, separation(tableaux, non_negative=non_negative))


def maxent_weights(
    tableaux: Tableaux,
    *,
    prior_variance: float | None = None,
    non_negative: bool = True,
    bias: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """The weights of `fit_maxent`, float64 of shape (N,), which has the arguments and errors."""
    if prior_variance is not None and not 0.0 < prior_variance < math.inf:
        raise SettingsError(f"--prior-variance is {prior_variance:g}; it must be above 0, and finite")
    if tableaux.frequency.sum() <= 0:
        raise InputError(
            None, None, "no candidate has a frequency above 0, so there is nothing to learn from"
        )
    size = len(tableaux.constraints)
    mean, precision = np.zeros(size), np.full(size, 0.0 if prior_variance is None else 1.0 / prior_variance)
    if bias is not None:
        mean, precision = bias[0], bias[1] ** -2.0
    violations, frequency = tableaux.violations.astype(np.float64), tableaux.frequency
    index = tableaux.input_of()
    totals = np.bincount(index, frequency, minlength=len(tableaux.inputs))[index]

    def objective(weight: np.ndarray) -> tuple[float, np.ndarray]:
        log_probs = _log_probs(tableaux, -(violations @ weight))
        surplus = frequency - totals * np.exp(log_probs)
        distance = weight - mean
        value = -float(frequency @ log_probs) + 0.5 * float(precision @ distance**2)
        return value, surplus @ violations + precision * distance

    from scipy import optimize  # Here, as it takes longer to load than predictions take.

    found = optimize.minimize(
        objective,
        np.zeros(len(tableaux.constraints)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(tableaux.constraints) if non_negative else None,
        options={"maxiter": 10000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return np.asarray(found.x)


def separation(tableaux: Tableaux, *, non_negative: bool = False) -> Separation:
    """A direction in which the likelihood of maximum entropy never falls and somewhere rises without end.

    Maximises the sum of how far observed winners gain on all rivals, over directions in [−1, 1]ᴺ in which
    none falls behind one. Winners of one input are rivals of each other, so that none of them may gain on
    another: each is compared with the first of them alone, and memory grows with the candidates, not with
    the pairs of them.

    Parameters
    ----------
    tableaux : Tableaux
    non_negative : bool
        Whether weights must not fall below 0; then, neither may the direction point there.
    """
    size = len(tableaux.constraints)
    violations = tableaux.violations.astype(np.float64)
    gains, level, rivals = [np.zeros((0, size))], [np.zeros((0, size))], [np.zeros(0, np.int64)]
    total, largest = np.zeros(size), 0.0
    for index in range(len(tableaux.inputs)):
        candidates = np.asarray(tableaux.candidates(index))
        wins = tableaux.frequency[candidates] > 0
        if not wins.any():
            continue
        difference = violations[candidates] - violations[candidates[np.argmax(wins)]]
        differs = difference.any(axis=1)
        level.append(difference[wins & differs])
        gains.append(difference[~wins & differs])
        rivals.append(candidates[~wins & differs])
        total += wins.sum() * gains[-1].sum(axis=0)
        largest += float(wins.sum() * np.abs(gains[-1]).sum())
    matrix, equal, rival = np.concatenate(gains), np.concatenate(level), np.concatenate(rivals)
    if not len(matrix):
        return Separation(np.zeros(size), ())
    # Direction = rise − fall, both in [0, 1]; a small cost on them keeps out what gains nothing.
    worth = total / largest
    from scipy import optimize

    found = optimize.linprog(
        np.concatenate([_COST - worth, _COST + worth]),
        A_ub=np.hstack([-matrix, matrix]),
        b_ub=np.zeros(len(matrix)),
        A_eq=np.hstack([equal, -equal]) if len(equal) else None,
        b_eq=np.zeros(len(equal)) if len(equal) else None,
        bounds=[(0.0, 1.0)] * size + [(0.0, 0.0 if non_negative else 1.0)] * size,
        method="highs",
    )
    direction = found.x[:size] - found.x[size:]
    direction = np.where(np.abs(direction) > 1e-7, direction, 0.0)
    losing = rival[matrix @ direction > 1e-7].tolist()
    return Separation(direction if losing else np.zeros(size), tuple(losing))


def noisy_probs(
    tableaux: Tableaux,
    weight: np.ndarray,
    deviation: np.ndarray,
    transform: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """The probability of each candidate under noisy Harmonic Grammar, float64 of shape (C,).

    Exact for inputs with two candidates, without a transform. For more, the shares in 200,000
    evaluations with fixed random numbers, hence within 0.004 with a probability of 0.999; ties are shared.

    Parameters
    ----------
    tableaux : Tableaux
    weight, deviation : float64, shape (N,)
        Of the weights and their noise.
    transform : function, optional
        What makes the weights, given rows of values with noise; each row may have a factor of its own.
    """
    probs = np.empty(len(tableaux.outputs))
    for index in range(len(tableaux.inputs)):
        candidates = tableaux.candidates(index)
        violations = tableaux.violations[candidates.start : candidates.stop].astype(np.float64)
        probs[candidates.start : candidates.stop] = (
            _of_two(violations, weight, deviation)
            if len(candidates) == 2 and transform is None
            else _simulated(violations, weight, deviation, transform)
        )
    return probs


def _of_two(violations: np.ndarray, weight: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    difference = violations[1] - violations[0]
    gain, spread = float(difference @ weight), float(np.sqrt(np.sum((difference * deviation) ** 2)))
    first = special.ndtr(gain / spread) if spread > 0 else 0.5 * (1.0 + np.sign(gain))
    return np.array([first, 1.0 - first])


def _simulated(violations, weight, deviation, transform) -> np.ndarray:
    rng = np.random.default_rng(len(violations))
    total = np.zeros(len(violations))
    own = violations - violations.min(axis=0)  # What all candidates have in common decides nothing.
    telling = own.any(axis=0)
    own = own[:, telling]
    for _ in range(_SIMULATIONS // _CHUNK):
        noisy = (weight + deviation * rng.standard_normal((_CHUNK, len(weight))))[:, telling]
        weights = noisy if transform is None else transform(noisy)
        penalty = weights @ own.T
        rounding = _ROUNDING * (np.abs(weights) @ own.max(axis=0))[:, None]
        best = penalty <= penalty.min(axis=1, keepdims=True) + rounding
        total += (best / best.sum(axis=1, keepdims=True)).sum(axis=0)
    return total / total.sum()


def _log_probs(tableaux: Tableaux, harmony: np.ndarray) -> np.ndarray:
    """Logarithms of the shares of exp(harmony) in each input."""
    begin = tableaux.start[:-1]
    index = tableaux.input_of()
    shifted = harmony - np.maximum.reduceat(harmony, begin)[index]
    return shifted - np.log(np.add.reduceat(np.exp(shifted), begin))[index]
