"""Exact winning probabilities of Stochastic OT, the likelihood, and the grammar that maximises it.

The log likelihood of means μ is Σ f_c log P(c | μ) over candidates c with frequencies f_c. It is smooth but
in general not concave, since max W > max L is not a convex condition on the means; so it is maximised by
L-BFGS with exact gradients from several starting points. Adding a constant to all means changes nothing:
they are centred.

Where only overt forms are heard, P is that of all parses of a form together.

The fact a newcomer would get wrong: there may be no maximum. If some constraints are categorically
dominated the likelihood rises towards infinity; see `domination.py`. The optimum is then that within a
bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monolingual.ot.demotion import Pair
from monolingual.ot.domination import dominated_sets, smallest_sets
from monolingual.ot.orderings import bounded_candidates, derive_orderings, telling_conjuncts
from monolingual.ot.quadrature import fitted_grid, make_plan, ordering_probs
from monolingual.ot.settings import check_noise, check_truncate
from monolingual.ot.tableaux import Tableaux, identical_candidates, overt_forms
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["MaximumLikelihood", "OrderingModel", "maximise", "winning_probs"]

_NEVER: Pair = (frozenset(), frozenset({0}))
_SMALLEST = 1e-300
_LEAST_GIVEN = 1e-6
"""Below that, dividing by it would magnify the error of quadrature, 1e-12."""
_CERTAIN = 40.0
"""Deviations by which who is above is above, but for 1e-174."""
_SPREAD, _FROM_ZERO = 1000.0, 1e4
"""Deviations that a grid covers finely, and beside which none is lost."""


class MaximumLikelihood(NamedTuple):
    """What maximising the likelihood comes to.

    Attributes
    ----------
    mean : float64, shape (N,)
        Centred over the constraints that tell candidates apart; 0 for the others.
    log_likelihood : float
        Of the winners, or overt forms, that are possible at all.
    dominated : list of frozenset
        The smallest sets of constraints that the data demote without end. If there are any, there is no
        maximum, and `mean` is the best within the bound. Not looked for where there are overt forms.
    at_bound : tuple of int
        The constraints whose means stand at the bound.
    """

    mean: np.ndarray
    log_likelihood: float
    dominated: list[frozenset[int]]
    at_bound: tuple[int, ...]


class OrderingModel:
    """Exact probabilities of some candidates of tableaux as functions of the means.

    Parameters
    ----------
    tableaux : Tableaux
    candidates : sequence of int, optional
        By default all.
    given : sequence of Pair
        More conjuncts, of every candidate.
    """

    def __init__(
        self, tableaux: Tableaux, candidates: Sequence[int] | None = None, given: Sequence[Pair] = ()
    ):
        self.candidates = range(len(tableaux.outputs)) if candidates is None else candidates
        impossible = set(bounded_candidates(tableaux))
        pairs = [
            [_NEVER] if c in impossible else [*telling_conjuncts(tableaux, c), *given]
            for c in self.candidates
        ]
        self._plan = make_plan(pairs, len(tableaux.constraints))
        share = np.ones(len(tableaux.outputs))
        for group in identical_candidates(tableaux):
            share[list(group)] = 1.0 / len(group)
        self._share = share[list(self.candidates)]

    def probs(self, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
        """Probabilities, float64 of shape (len(candidates),)."""
        return self._evaluate(mean, deviation, False)[0]

    def gradient(self, mean: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities and their derivatives by the means, of shape (len(candidates), N)."""
        return self._evaluate(mean, deviation, True)

    def _evaluate(self, mean, deviation, with_gradient):
        mean = _drawn_together(mean, deviation)
        grid = fitted_grid(mean, deviation)
        probs, gradient = ordering_probs(self._plan, grid, mean, deviation, with_gradient)
        return probs * self._share, gradient * self._share[:, None]


def _drawn_together(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Means with the same probabilities, of which a grid covers all: wide gaps are cut to what is certain."""
    least = float(np.min(deviation))
    if np.ptp(mean) <= _SPREAD * least and np.max(np.abs(mean)) <= _FROM_ZERO * least:
        return mean
    wide = _CERTAIN * float(np.max(deviation))
    order = np.argsort(mean, kind="stable")
    gaps = np.minimum(np.diff(mean[order]), wide)
    nearer = np.empty_like(mean)
    nearer[order] = np.concatenate([[0.0], np.cumsum(gaps)])
    return nearer - nearer.mean()


def winning_probs(
    tableaux: Tableaux,
    mean: np.ndarray,
    deviation: np.ndarray | float = 1.0,
    given: Sequence[Pair] = (),
) -> np.ndarray:
    """The probability that each candidate wins, exactly.

    Parameters
    ----------
    tableaux : Tableaux
    mean : float64, shape (N,)
    deviation : float64, shape (N,), or float
        Standard deviations of the constraints.
    given : sequence of Pair
        Rankings that are known to hold: the probabilities are P(c wins and they hold) / P(they hold).

    Returns
    -------
    float64 of shape (C,)
        Sums to 1 in each input. Candidates with the same violations share evenly.

    Raises
    ------
    SettingsError
        What is given has next to no probability.
    """
    mean = np.asarray(mean, dtype=np.float64)
    spread = np.broadcast_to(np.asarray(deviation, dtype=np.float64), mean.shape).copy()
    probs = OrderingModel(tableaux, given=given).probs(mean, spread)
    if given:
        mean = _drawn_together(mean, spread)
        grid = fitted_grid(mean, spread)
        total = float(ordering_probs(make_plan([given], len(mean)), grid, mean, spread, False)[0][0])
        if total < _LEAST_GIVEN:
            raise SettingsError(
                f"the rankings that are to hold have the probability {total:.3g} under these values; "
                "leave out some, or give values that agree with them"
            )
        probs /= total
    return np.minimum(probs, 1.0)


def maximise(
    rng: np.random.Generator,
    tableaux: Tableaux,
    *,
    noise: float = 1.0,
    bound: float = 6.0,
    starts: int = 10,
) -> MaximumLikelihood:
    """The maximum-likelihood grammar.

    Parameters
    ----------
    rng : numpy.random.Generator
        For the starting points.
    tableaux : Tableaux
    noise : float
        The deviation of every constraint.
    bound : float
        Means are kept within this distance of the middle of their range.
    starts : int
        Starting points, the first of which has all means equal.

    Raises
    ------
    InputError
        No winner that is possible and says anything was observed.
    SettingsError
        A setting is out of range.
    """
    if starts < 1:
        raise SettingsError(f"--restarts is {starts}; it must be at least 1")
    check_noise(noise)
    check_truncate(bound, noise)
    heard, form_of = overt_forms(tableaux)
    impossible = set(bounded_candidates(tableaux))
    observed = [int(c) for c in np.flatnonzero(heard.frequency[form_of]) if int(c) not in impossible]
    orderings = derive_orderings(
        tableaux, np.isin(np.arange(len(tableaux.outputs)), observed).astype(np.int64)
    )
    if len(orderings.count) == 0:
        raise InputError(
            None,
            None,
            "the data say nothing about any constraint",
            "Every observed winner is alone, tied with all others or impossible",
        )
    forms, which = np.unique(form_of[observed], return_inverse=True)  # The form of each, from 0.
    model, weight = OrderingModel(tableaux, observed), heard.frequency[forms]
    occurring, size = np.unique(orderings.active), len(tableaux.constraints)
    # In units of the noise, as a search has steps and ends of a certain size.
    spread, bound = np.ones(size), bound / noise

    def objective(free: np.ndarray) -> tuple[float, np.ndarray]:
        mean = np.zeros(size)
        mean[occurring] = free
        probs, gradient = model.gradient(mean, spread)
        probs = np.maximum(np.bincount(which, probs), _SMALLEST)
        return -float(weight @ np.log(probs)), -(weight / probs)[which] @ gradient[:, occurring]

    from scipy import optimize  # Here, as it takes longer to load than predictions take.

    best = None
    for start in range(starts):
        first = rng.uniform(-0.5, 0.5, len(occurring)) * min(bound, 4.0) * (start > 0)
        found = optimize.minimize(
            objective,
            first,
            jac=True,
            method="L-BFGS-B",
            bounds=[(-bound, bound)] * len(occurring),
            options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9},
        )
        if best is None or found.fun < best.fun - 1e-9:
            best = found
    assert best is not None
    mean = np.zeros(size)
    mean[occurring] = noise * (best.x - best.x.mean())
    at_bound = occurring[np.abs(best.x) >= bound * (1.0 - 1e-9)]
    dominated = [] if tableaux.overt else smallest_sets(dominated_sets(orderings))
    return MaximumLikelihood(mean, -float(best.fun), dominated, tuple(int(i) for i in at_bound))
