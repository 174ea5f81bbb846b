"""The Gradual Learning Algorithm (Boersma 1997; Boersma and Hayes 2001) and its relatives, from many seeds.

A trial draws an observed form by its frequency, adds normal noise to the value of every constraint, and
lets the learner choose a candidate for the same input. If it is another one, constraints that prefer the
observed form are promoted and those that prefer the learner's are demoted:

==========  =============================================  ==========================================
rule        promotion                                      demotion
==========  =============================================  ==========================================
symmetric   all by p                                       all by p
weighted    all by p / their number                        all by p / their number
demotion    none                                           all by p
edcd        none                                           those above the best promotable one, by p
calibrated  all by p · demoted / (1 + their number)        as edcd (Magri 2012)
==========  =============================================  ==========================================

If only overt forms are heard, the learner errs where its own candidate sounds otherwise. It then takes for
observed the best parse of what it heard: under the same noisy values (`rip`, robust interpretive parsing,
Tesar and Smolensky 1998), or under values with new noise (`rrip`, Jarosz 2013).

A priori rankings hold throughout: after a change the lower constraint falls with the higher one, so that it
stays at least so much below.

The plasticity p and the noise fall geometrically from their first to their last values in stages of equal
length. In Harmonic Grammar candidates are compared by weighted sums and the changes are multiplied by the
difference in violations (the perceptron rule).

The fact a newcomer would get wrong: the algorithm has no objective. Where it ends depends on the seed and
the schedule, and it need not match frequencies that a grammar could match: hence many seeds, and their
scatter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from monolingual.ot.settings import check_noise
from monolingual.ot.tableaux import Tableaux, overt_forms
from scfg_sampler.core import draws, normal_draws
from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.core.limits import require_number
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["INTERPRETATIONS", "RULES", "GlaSettings", "learn"]

RULES = ("symmetric", "weighted", "demotion", "edcd", "calibrated")
INTERPRETATIONS = ("rip", "rrip")


class GlaSettings(NamedTuple):
    """How to learn.

    Attributes
    ----------
    rule : str
        One of `RULES`.
    is_harmonic : bool
        Whether candidates are compared by weighted sums.
    trials : int
        Forms heard, by each seed.
    stages : int
    plasticity, noise : (float, float)
        In the first and the last stage.
    start : float
        The value of every constraint at first.
    interpretation : str
        One of `INTERPRETATIONS`: how overt forms are parsed.
    above : tuple of (int, int)
        Constraints of which the first stays above the second.
    distance : float
        By how much.
    """

    rule: str = "symmetric"
    is_harmonic: bool = False
    trials: int = 200_000
    stages: int = 4
    plasticity: tuple[float, float] = (2.0, 0.002)
    noise: tuple[float, float] = (2.0, 2.0)
    start: float = 100.0
    interpretation: str = "rip"
    above: tuple[tuple[int, int], ...] = ()
    distance: float = 20.0


def learn(
    tableaux: Tableaux,
    settings: GlaSettings,
    *,
    seeds: int = 1,
    seed: int = 1,
    advance: Callable[[int, str], Any] = lambda steps, note: None,
) -> np.ndarray:
    """The values of the constraints that learners with different seeds end with.

    Parameters
    ----------
    tableaux : Tableaux
    settings : GlaSettings
    seeds : int
        How many learners.
    seed : int
        Of all of them together.
    advance : callable
        Told of every stage of every learner: 1 and a few words.

    Returns
    -------
    float64, shape (seeds, N)

    Raises
    ------
    InputError
        Nothing was observed.
    SettingsError
        A setting is out of range.
    """
    _check(settings, seeds, seed)
    if tableaux.frequency.sum() <= 0:
        raise InputError(None, None, "no candidate has a frequency above 0: there is nothing to learn from")
    cumulative = np.cumsum(tableaux.frequency / tableaux.frequency.sum())
    _, form_of = overt_forms(tableaux)
    starts = tableaux.start[tableaux.input_of()], tableaux.start[tableaux.input_of() + 1]
    how_heard = _Heard(cumulative, *starts, form_of)
    values = np.full((seeds, len(tableaux.constraints)), float(settings.start))
    above = np.array(settings.above, np.int64).reshape(-1, 2)
    lengths = np.diff(np.linspace(0, settings.trials, settings.stages + 1).astype(np.int64)).tolist()
    plasticities = _falling(settings.plasticity, settings.stages)
    noises = _falling(settings.noise, settings.stages)
    is_resampling = settings.interpretation == "rrip"
    for number, sequence in enumerate(np.random.SeedSequence(seed).spawn(seeds)):
        rng = np.random.default_rng(sequence)
        for trials, plasticity, noise in zip(lengths, plasticities, noises, strict=True):
            number_of_rule = RULES.index(settings.rule)
            how = _Learning(
                trials,
                plasticity,
                noise,
                number_of_rule,
                settings.is_harmonic,
                is_resampling,
                settings.distance,
            )
            for begin in range(0, trials, _AT_A_TIME):
                part = how._replace(trials=min(_AT_A_TIME, trials - begin))
                _learn(rng, how_heard, tableaux.violations, values[number], above, part)
            advance(1, f"learner {number + 1}")
    return values


_MOST = 1e6  # Of values at first, of steps and of distances: noise is not lost beside them.
_AT_A_TIME = 1 << 18  # Trials in one call, after which a learner can be stopped.


def _falling(ends: tuple[float, float], stages: int) -> list[float]:
    """Values from the first to the last in equal ratios."""
    return np.geomspace(ends[0], ends[1], stages).tolist() if stages > 1 else [ends[0]]


class _Learning(NamedTuple):
    """A stage: so many trials with constant plasticity and noise; rules are numbered as in `RULES`."""

    trials: int
    plasticity: float
    noise: float
    rule: int
    is_harmonic: bool
    is_resampling: bool
    distance: float


class _Heard(NamedTuple):
    """What is heard: sums of the shares of candidates, the candidates of each one's input, its overt form."""

    cumulative: np.ndarray
    first: np.ndarray
    end: np.ndarray
    form_of: np.ndarray


@kernel
def _learn(rng, heard, violations, values, above, how):
    """A stage of learning; changes `values`, of shape (N,), among which those of `above`, (K, 2), hold."""
    cumulative, form_of = heard.cumulative, heard.form_of
    noise = how.noise
    _lower(values, above, how.distance)
    size = len(values)
    noisy = np.empty(size)
    for _ in range(how.trials):
        observed = min(np.searchsorted(cumulative, rng.random(), "right"), len(cumulative) - 1)
        for i in range(size):
            noisy[i] = normal_draws.normal(rng, values[i], noise)
        chosen = _best(rng, heard, observed, -1, violations, noisy, how.is_harmonic)
        if form_of[chosen] == form_of[observed]:
            continue
        if how.is_resampling:
            parsed = np.empty(size)
            for i in range(size):
                parsed[i] = normal_draws.normal(rng, values[i], noise)
        else:
            parsed = noisy
        target = _best(rng, heard, observed, form_of[observed], violations, parsed, how.is_harmonic)
        _update(violations[target], violations[chosen], noisy, values, how)
        _lower(values, above, how.distance)


@compiled
def _lower(values, above, distance):
    """Lower what is not so far below another as it is to be; there is no circle."""
    changed = True
    while changed:
        changed = False
        for k in range(len(above)):
            most = values[above[k, 0]] - distance
            if values[above[k, 1]] > most:
                values[above[k, 1]] = most
                changed = True


@compiled
def _best(rng, heard, observed, form, violations, noisy, is_harmonic):
    """The best candidate for the input of an observed one, with an overt form (−1: with any)."""
    chosen, ties = -1, 1
    for candidate in range(heard.first[observed], heard.end[observed]):
        if form >= 0 and heard.form_of[candidate] != form:
            continue
        if chosen < 0:
            chosen = candidate
            continue
        if is_harmonic:
            better = _harmony_gain(violations[candidate], violations[chosen], noisy)
        else:
            better = _ranking_gain(violations[candidate], violations[chosen], noisy)
        if better == 0.0:
            ties += 1
            if draws.uniform_index(rng, ties) == 0:
                chosen = candidate
        elif better > 0.0:
            chosen, ties = candidate, 1
    return chosen


@compiled
def _ranking_gain(candidate, other, noisy):
    """1 if the highest constraint that tells them apart prefers the candidate, −1 if the other; else 0."""
    top, gain = -np.inf, 0.0
    for i in range(len(noisy)):
        if candidate[i] != other[i] and noisy[i] > top:
            top = noisy[i]
            gain = 1.0 if candidate[i] < other[i] else -1.0
    return gain


@compiled
def _harmony_gain(candidate, other, noisy):
    """By how much the candidate is more harmonic than the other."""
    gain = 0.0
    for i in range(len(noisy)):
        gain += noisy[i] * (other[i] - candidate[i])
    return gain


@compiled
def _update(observed, chosen, noisy, values, how):
    """Promote and demote after an error."""
    plasticity, rule = how.plasticity, how.rule
    promotable, demotable, top = 0, 0, -np.inf
    for i in range(len(values)):
        if chosen[i] > observed[i]:
            promotable += 1
            top = max(top, noisy[i])
        elif chosen[i] < observed[i]:
            demotable += 1
    if rule >= 3:
        demotable = 0
        for i in range(len(values)):
            demotable += chosen[i] < observed[i] and noisy[i] >= top
    promotion, demotion = plasticity, plasticity
    if rule == 1:
        promotion, demotion = plasticity / max(promotable, 1), plasticity / max(demotable, 1)
    elif rule == 2 or rule == 3:
        promotion = 0.0
    elif rule == 4:
        promotion = plasticity * demotable / (1.0 + promotable)
    for i in range(len(values)):
        difference = chosen[i] - observed[i]
        step = abs(difference) if how.is_harmonic else 1
        if difference > 0:
            values[i] += promotion * step
        elif difference < 0 and (rule < 3 or noisy[i] >= top):
            values[i] -= demotion * step


def _check(settings: GlaSettings, seeds: int, seed: int) -> None:
    if settings.rule not in RULES:
        raise SettingsError(f"--rule is {settings.rule!r}; choose from {', '.join(RULES)}")
    if settings.interpretation not in INTERPRETATIONS:
        raise SettingsError(
            f"--interpret is {settings.interpretation!r}; choose from {', '.join(INTERPRETATIONS)}"
        )
    require_number("seeds", seeds)
    for name, value in (("trials", settings.trials), ("stages", settings.stages)):
        if value < 1:
            raise SettingsError(f"--{name} is {value}; it must be at least 1")
    if settings.stages > settings.trials:
        raise SettingsError(f"--stages is {settings.stages}, more than the {settings.trials} --trials")
    if not 0.0 <= settings.distance <= _MOST:
        raise SettingsError(f"--distance is {settings.distance:g}; it must be from 0 to {_MOST:g}")
    first, last = settings.plasticity
    if not all(0.0 < end <= _MOST for end in settings.plasticity):
        raise SettingsError(
            f"--plasticity is {first:g}:{last:g}; both must be above 0, and {_MOST:g} at most"
        )
    for end in settings.noise:
        check_noise(end, f"{settings.noise[0]:g}:{settings.noise[1]:g}")
    if not abs(settings.start) <= _MOST:
        raise SettingsError(f"--start is {settings.start:g}; it must be from {-_MOST:g} to {_MOST:g}")
    if seed < 0:
        raise SettingsError(f"--seed is {seed}; it must be at least 0")
