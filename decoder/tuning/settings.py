"""How weights are tuned: all defaults.

The fact a newcomer would get wrong: which method it is depends on the metric, and how far a round goes from
the weights before it on the method; so both are None until `resolved`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from decoder.translation.settings import SearchDefaults
from scfg_sampler.core.limits import require_seed
from scfg_sampler.errors import SettingsError

__all__ = [
    "METHODS",
    "METRICS",
    "SEARCH",
    "TuneSettings",
    "check_settings",
    "interpolation_of",
    "resolved",
    "within_of",
]

SEARCH = SearchDefaults(beam=100, widen=0.0, search="guided")
"""How the development set is searched: as what is translated later, for weights fit the errors of a search,
and without guidance, too (`decoder.tuning.decoding`); with half the beam, which costs no score to speak of
(`benchmarks/tuning.py`)."""
METHODS = ("mira", "pro")
METRICS = ("bleu", "chrf", "exact")
_LARGEST_BETA = 1000.0
_MOST = 10_000_000  # Pairs, or passes: of more, none would come to its end.


class TuneSettings(NamedTuple):
    """Options of tuning; two runs with equal settings and data give equal weights.

    rounds : how often weights are optimised; the development set is decoded once more at the end
    nbest : translations of a sentence that a round adds
    candidates, kept, threshold : pairs drawn, pairs used, least difference in score, 0 to 1, per sentence
    interpolation : ψ, the share of the new weights, in (0, 1]; by default 1 for MIRA and 0.5 for PRO
    l2 : strength of the Gaussian prior on the weights
    smooth_brevity : count references as one word longer in BLEU+1
    method : "mira" or "pro"; by default MIRA for BLEU, the only metric it knows, and PRO for the others
    random_starts : how often a round optimises again from other weights
    passes, largest_step : of MIRA: passes over the lists, and C
    metric : "bleu", "chrf" or "exact"
    chrf_beta : how much more recall counts than precision in chrF, above 0
    within : the result is the mean of the weights of all rounds within so many points of the highest score,
        and within a sixth of it; 0 for those of the best round alone; by default 1.5 for MIRA and 0 for PRO
    """

    rounds: int = 10
    nbest: int = 100
    candidates: int = 5000
    kept: int = 50
    threshold: float = 0.05
    interpolation: float | None = None
    l2: float = 1.0
    seed: int = 1
    smooth_brevity: bool = True
    method: str | None = None
    random_starts: int = 0
    passes: int = 60
    largest_step: float = 0.01
    metric: str = "bleu"
    chrf_beta: float = 2.0
    within: float | None = None


def resolved(settings: TuneSettings) -> TuneSettings:
    """The settings with what is meant where no method, interpolation or number of points is given."""
    method = settings.method or ("mira" if settings.metric == "bleu" else "pro")
    interpolation = interpolation_of(method) if settings.interpolation is None else settings.interpolation
    within = within_of(method) if settings.within is None else settings.within
    return settings._replace(method=method, interpolation=interpolation, within=within)


def interpolation_of(method: str) -> float:
    """ψ where none is given: MIRA's steps are small enough by themselves."""
    return 1.0 if method == "mira" else 0.5


def within_of(method: str) -> float:
    """The points where none are given: rounds of PRO are mixed as it is."""
    return 1.5 if method == "mira" else 0.0


def check_settings(settings: TuneSettings) -> None:
    """Raise SettingsError if a setting of `resolved` ones is out of range."""
    least_values = {"rounds": 0, "nbest": 2, "candidates": 1, "kept": 1, "random_starts": 0, "passes": 1}
    for name, least in least_values.items():
        value = getattr(settings, name)
        if value < least:
            raise SettingsError(f"--{name.replace('_', '-')} is {value}; it is at least {least}")
    for name in ("candidates", "passes"):
        if getattr(settings, name) > _MOST:
            raise SettingsError(f"--{name} is {getattr(settings, name)}; it is at most {_MOST}")
    if settings.method not in METHODS:
        raise SettingsError(f"--method is {settings.method}; choose from {', '.join(METHODS)}")
    if settings.metric not in METRICS:
        raise SettingsError(f"--metric is {settings.metric}; choose from {', '.join(METRICS)}")
    if settings.metric != "bleu" and settings.method != "pro":
        raise SettingsError(
            f"--method mira is for BLEU alone; tune for --metric {settings.metric} with --method pro"
        )
    if not 0 < settings.chrf_beta <= _LARGEST_BETA:
        raise SettingsError(
            f"--chrf-beta is {settings.chrf_beta}; it is above 0 and at most {_LARGEST_BETA:g}"
        )
    if not 0 < settings.largest_step < math.inf:
        raise SettingsError(f"--largest-step is {settings.largest_step}; it is above 0, and finite")
    if settings.interpolation is None or not 0 < settings.interpolation <= 1:
        raise SettingsError(f"--interpolation is {settings.interpolation}; it is above 0 and at most 1")
    if settings.within is None or not 0 <= settings.within < math.inf:
        raise SettingsError(f"--within is {settings.within}; it is at least 0, and finite")
    require_seed(settings.seed)
    if not 0 <= settings.l2 < math.inf:
        raise SettingsError(f"--l2 is {settings.l2}; it is at least 0, and finite")
    if not 0 <= settings.threshold <= 1:
        raise SettingsError(
            f"--threshold is {settings.threshold}; it is from 0 to 1, as scores of sentences are"
        )
