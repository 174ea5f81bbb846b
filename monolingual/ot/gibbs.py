"""The data-augmentation Gibbs sampler for Stochastic OT as a `Kernel` (Lin 2005).

`moves.py` holds the moves and the distribution they leave invariant; here are the settings, the first state
and the kernel.

Deviation from Lin (2005), section 4: there the ordering of every missing datum is drawn anew in every
iteration. Here each observed token keeps its own, which is the Gibbs sampler of the posterior given the
data; redrawing them is not a Gibbs sampler of any joint distribution. The truncation |μᵢ| < K bounds the
means after centring.

The fact a newcomer would get wrong: the width of the posterior depends on the number of tokens. Relative
frequencies alone do not fix it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from monolingual.ot.collapsed import collapsed_moves
from monolingual.ot.domination import dominated_sets, smallest_sets
from monolingual.ot.moves import Posterior, sweep
from monolingual.ot.orderings import Orderings, consistent_ranks
from monolingual.ot.quadrature import is_fine, make_grid, make_plan
from monolingual.ot.settings import OtSettings, check_settings
from scfg_sampler.core.chains.kernel import Kernel, copy_state
from scfg_sampler.errors import InputError

__all__ = [
    "OtInfo",
    "OtState",
    "covariance_factor",
    "dispersed_means",
    "initial_state",
    "make_posterior",
    "ot_kernel",
    "with_directions",
]

_PILOT_ROUNDS = 3
_PER_CONSTRAINT = 6
_MOST_SETS = 24  # Dominated sets that are shifted, besides the single constraints.


class OtState(NamedTuple):
    """What the next sweep needs.

    Attributes
    ----------
    mean, deviation : float64, shape (N,)
    values : float64, shape (V,)
        As `moves.sweep` wants them.
    factor : float64, shape (N, N)
        The directions of joint collapsed moves, found by a pilot run; zeros if there was none.
    """

    mean: np.ndarray
    deviation: np.ndarray
    values: np.ndarray
    factor: np.ndarray


class OtInfo(NamedTuple):
    """What a reader of the trace needs."""

    log_joint: float
    mean: np.ndarray
    deviation: np.ndarray


def make_posterior(orderings: Orderings, settings: OtSettings) -> Posterior:
    """The distribution to sample from, as the kernels want it.

    Raises
    ------
    InputError
        There is no ordering.
    SettingsError
        A setting is out of range.
    """
    if len(orderings.count) == 0:
        hint = "Every observed winner is alone, tied with all others or impossible"
        raise InputError(None, None, "the data say nothing about any constraint", hint)
    check_settings(settings, orderings.constraints)
    occurs = np.zeros(orderings.constraints, dtype=np.int64)
    tokens = np.repeat(orderings.count, np.diff(orderings.active_start))
    np.add.at(occurs, orderings.active, tokens)
    mean, precision = np.zeros(orderings.constraints), np.zeros(orderings.constraints)
    for constraint, (centre, deviation) in settings.priors.items():
        mean[constraint], precision[constraint] = centre, deviation**-2
    is_flat = _is_flat(settings, np.flatnonzero(occurs))
    sets = _shift_sets(orderings, is_flat)
    shape = settings.variance_shape if settings.learn_variances else 0.0
    return Posterior(
        orderings.count,
        orderings.active_start,
        orderings.active,
        orderings.conjunct_start,
        orderings.prefers_start,
        orderings.prefers,
        occurs,
        mean,
        precision,
        is_flat,
        settings.truncate or math.inf,
        sets,
        len(sets) if settings.shifts < 0 else settings.shifts,
        shape,
        (shape - 1.0) * settings.noise**2 if shape else 0.0,
    )


def _is_flat(settings: OtSettings, occurring: np.ndarray) -> bool:
    """Whether no constraint that occurs in orderings has a prior, so that only their differences matter."""
    return settings.priors.keys().isdisjoint(occurring.tolist())


def dispersed_means(
    rng: np.random.Generator, occurring: np.ndarray, constraints: int, settings: OtSettings
) -> np.ndarray:
    """Means from which a chain sets out, float64 of shape (N,).

    They are uniform on (−K/2, K/2), or (−3σ, 3σ) without truncation; with flat priors centred over the
    constraints that occur.
    """
    reach = settings.truncate / 2 if settings.truncate else 3.0 * settings.noise
    mean = rng.uniform(-reach, reach, constraints)
    if _is_flat(settings, occurring):
        mean[occurring] -= mean[occurring].mean()
        mean[occurring] *= min(1.0, reach / np.abs(mean[occurring]).max())
    return mean


def initial_state(rng: np.random.Generator, orderings: Orderings, settings: OtSettings) -> OtState:
    """A state from which chains set out: dispersed means, and values that obey all orderings."""
    mean = dispersed_means(rng, np.unique(orderings.active), orderings.constraints, settings)
    parts = []
    ranks = -settings.noise * consistent_ranks(orderings)
    for ordering, count in enumerate(orderings.count):
        row = ranks[orderings.active_start[ordering] : orderings.active_start[ordering + 1]]
        parts.append(np.tile(row, int(count)))
    deviation = np.full(orderings.constraints, float(settings.noise))
    return OtState(mean, deviation, np.concatenate(parts), np.zeros((orderings.constraints,) * 2))


def ot_kernel(orderings: Orderings, settings: OtSettings) -> Kernel:
    """The Gibbs sampler of the posterior of the means (and deviations) given orderings.

    Parameters
    ----------
    orderings : Orderings
    settings : OtSettings

    Raises
    ------
    InputError, SettingsError
        As `make_posterior`.
    """
    posterior = make_posterior(orderings, settings)
    moves = _PER_CONSTRAINT * len(np.unique(orderings.active))
    if settings.collapsed >= 0 or not settings.truncate:
        moves = settings.collapsed if settings.truncate else 0
    plan = make_plan([orderings.pairs(d) for d in range(len(orderings.count))], orderings.constraints)
    reach = 2.0 * settings.truncate  # Differences of means are below it.
    fixed = make_grid(-reach, reach, np.full(orderings.constraints, settings.noise))

    def step(rng: np.random.Generator, state: OtState) -> tuple[OtState, OtInfo]:
        if moves:
            grid = make_grid(-reach, reach, state.deviation) if settings.learn_variances else fixed
            if is_fine(grid, state.deviation):  # Which these moves leave as they are.
                collapsed_moves(rng, posterior, plan, grid, state, moves)
        log_joint = sweep(rng, posterior, state.mean, state.deviation, state.values)
        return state, OtInfo(float(log_joint), state.mean, state.deviation)

    def log_joint(state: OtState) -> float:
        return _log_joint(orderings, posterior, state)

    def init(rng: np.random.Generator, data: object = None) -> OtState:
        start = initial_state(rng, orderings, settings)
        return with_directions(rng, start, step, settings.pilot if moves else 0, posterior.occurs > 0)

    return Kernel(init, step, log_joint)


def with_directions(
    rng: np.random.Generator,
    start: OtState,
    step: Callable[[np.random.Generator, OtState], tuple[OtState, OtInfo]],
    sweeps: int,
    occurring: np.ndarray,
) -> OtState:
    """The state to set out from, with directions of joint moves that three pilot runs of sweeps have found.

    Each run goes on where the one before it ended, with the covariance of the means of that one's second
    half; without sweeps the directions stay as they are.

    occurring : bool, shape (N,), whether a constraint occurs in an ordering
    """
    state = copy_state(start)
    for _ in range(_PILOT_ROUNDS if sweeps else 0):
        kept = []
        for number in range(sweeps):
            state, _ = step(rng, state)
            if 2 * number >= sweeps:
                kept.append(state.mean.copy())
        state = state._replace(factor=covariance_factor(np.array(kept), occurring))
    return start._replace(factor=state.factor)


def covariance_factor(means: np.ndarray, occurring: np.ndarray) -> np.ndarray:
    """A factor F of the covariance FFᵀ of means (draws × N); rows of constraints that do not occur are 0."""
    covariance = np.cov(means[:, occurring], rowvar=False)
    covariance = 0.9 * covariance + (0.1 * np.diag(covariance) + 1e-6) * np.eye(len(covariance))
    factor = np.zeros((means.shape[1],) * 2)
    factor[np.ix_(occurring, occurring)] = np.linalg.cholesky(covariance)
    # The first column is that of the first constraint that occurs; by it moves see that there is a factor.
    return np.ascontiguousarray(np.roll(factor, -int(np.argmax(occurring)), axis=1))


def _log_joint(orderings: Orderings, posterior: Posterior, state: OtState) -> float:
    """log p(μ, σ, y, data) up to a constant, from scratch; −∞ if a value breaks an ordering."""
    total, place = 0.0, 0
    for ordering, count in enumerate(orderings.count):
        active = orderings.active[orderings.active_start[ordering] : orderings.active_start[ordering + 1]]
        values = state.values[place : place + count * len(active)].reshape(count, len(active))
        place += values.size
        column = {int(constraint): k for k, constraint in enumerate(active)}
        for winner, loser in orderings.pairs(ordering):
            best = [values[:, [column[c] for c in side]].max(axis=1) for side in (winner, loser)]
            if np.any(best[0] < best[1]):
                return -math.inf
        scaled = (values - state.mean[active]) / state.deviation[active]
        total -= float(np.sum(0.5 * scaled**2) + count * np.sum(np.log(state.deviation[active])))
    total -= float(np.sum(0.5 * posterior.prior_precision * (state.mean - posterior.prior_mean) ** 2))
    if posterior.variance_shape > 0:
        total -= float(np.sum(2.0 * (posterior.variance_shape + 1.0) * np.log(state.deviation)))
        total -= float(np.sum(posterior.variance_scale / state.deviation**2))
    return total


def _shift_sets(orderings: Orderings, is_flat: bool) -> np.ndarray:
    """The sets that are shifted together: single constraints, dominated sets, all if that means anything."""
    occurring = [int(constraint) for constraint in np.unique(orderings.active)]
    sets = {frozenset([constraint]) for constraint in occurring}
    dominated = dominated_sets(orderings)
    sets |= set(smallest_sets(dominated)) | set(dominated[-_MOST_SETS:])
    if not is_flat:
        sets.add(frozenset(occurring))
    ordered = sorted(sets, key=lambda members: (len(members), sorted(members)))
    table = np.zeros((len(ordered), orderings.constraints), dtype=np.bool_)
    for row, members in enumerate(ordered):
        table[row, sorted(members)] = True
    return table
