"""What `ot sample` is told: all defaults.

The fact a newcomer would get wrong: the width of the posterior depends on the number of tokens. Relative
frequencies alone do not fix it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from scfg_sampler.core.chains.run_directory import require_at_least, require_burn_in
from scfg_sampler.core.limits import require_number
from scfg_sampler.errors import SettingsError

__all__ = [
    "OtSettings",
    "RunSettings",
    "check_noise",
    "check_run_settings",
    "check_settings",
    "check_truncate",
    "default_burn_in",
]

_MOST_MOVES = 1_000_000  # In a sweep, which cannot be stopped.
_SHORTEST_PILOT = 8


_NOISE = 1e-5, 1e3  # Beyond them states of chains would be beyond `run._LARGEST`.
_TRUNCATE = 1e-5, 400.0  # In units of the noise; for wider ones no grid of `quadrature` is fine enough.
_PRIOR = 1e-5, 1e5


class OtSettings(NamedTuple):
    """The model and its moves.

    Attributes
    ----------
    truncate : float
        K: means, centred, lie in (−K, K). 0 is no truncation.
    noise : float
        The deviation σ of every constraint, in the units of the means.
    priors : mapping
        From constraints to (mean, deviation) of a normal prior; all others have a flat one.
    learn_variances : bool
        Whether each constraint has an unknown variance of its own.
    variance_shape : float
        Of the inverse gamma prior of the variances, above 1; its mean is the square of `noise`.
    shifts : int
        Sets of constraints shifted in a sweep; 0 switches the move off, −1 shifts all.
    collapsed : int
        Collapsed moves before every sweep; 0 switches them off, −1 makes six for each constraint that occurs.
        They need a truncation.
    pilot : int
        Sweeps of each of the three pilot runs that find directions for collapsed moves.
    """

    truncate: float = 6.0
    noise: float = 1.0
    priors: Mapping[int, tuple[float, float]] = {}
    learn_variances: bool = False
    variance_shape: float = 5.0
    shifts: int = 2
    collapsed: int = -1
    pilot: int = 200


class RunSettings(NamedTuple):
    """What a run does besides the chain itself."""

    chains: int = 4
    iterations: int = 2000
    burn_in: int = 500
    tokens: int | None = None
    checkpoint_every: int = 500
    seed: int = 1


def default_burn_in(iterations: int) -> int:
    """The burn-in where none is given: a quarter of the sweeps."""
    return iterations // 4


def check_run_settings(run: RunSettings) -> None:
    """Raise SettingsError if a setting is out of range."""
    require_number("chains", run.chains)
    require_at_least(run, iterations=1, checkpoint_every=0, seed=0)
    require_burn_in(run.burn_in, run.iterations)


def check_noise(noise: float, shown: str | None = None) -> None:
    """Raise a SettingsError if a deviation is out of range; `shown` is what the option was given."""
    least, most = _NOISE
    if not least <= noise <= most:
        raise SettingsError(
            f"--noise is {shown or format(noise, 'g')}; it must be from {least:g} to {most:g}"
        )


def check_truncate(truncate: float, noise: float) -> None:
    """Raise a SettingsError if means cannot be kept within a bound."""
    least, most = _TRUNCATE
    if not least * noise <= truncate <= most * noise:
        raise SettingsError(
            f"--truncate is {truncate:g}; it must be from {least:g} to {most:g} times --noise, "
            f"which is {noise:g}"
        )


def check_settings(settings: OtSettings, constraints: int) -> None:
    """Raise SettingsError if a setting is out of range for so many constraints."""
    if settings.truncate < 0 or not math.isfinite(settings.truncate):
        raise SettingsError(f"--truncate is {settings.truncate:g}; it must be above 0, or 0 for no bound")
    check_noise(settings.noise)
    if settings.truncate:
        check_truncate(settings.truncate, settings.noise)
    if settings.learn_variances and not 1.0 < settings.variance_shape < math.inf:
        raise SettingsError(f"--variance-shape is {settings.variance_shape:g}; it must be above 1")
    if not -1 <= settings.shifts <= _MOST_MOVES:
        raise SettingsError(
            f"--shifts is {settings.shifts}; it must be from 0 to {_MOST_MOVES}, or -1 for all"
        )
    if not -1 <= settings.collapsed <= _MOST_MOVES:
        raise SettingsError(f"--collapsed is {settings.collapsed}; it must be from 0 to {_MOST_MOVES}, or -1")
    if settings.pilot < 0 or 0 < settings.pilot < _SHORTEST_PILOT:
        raise SettingsError(f"--pilot is {settings.pilot}; it must be 0 or at least {_SHORTEST_PILOT}")
    for constraint, (centre, deviation) in settings.priors.items():
        assert 0 <= constraint < constraints
        least, most = _PRIOR
        if not abs(centre) <= most:
            raise SettingsError(f"--prior has the mean {centre:g}; it must be from {-most:g} to {most:g}")
        if not least <= deviation <= most:
            raise SettingsError(
                f"--prior has the deviation {deviation:g}; it must be from {least:g} to {most:g}"
            )
        if settings.truncate and abs(centre) >= settings.truncate:
            raise SettingsError(
                f"a prior has its mean at {centre:g}, outside of --truncate {settings.truncate:g}"
            )
