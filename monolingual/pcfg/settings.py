"""What a run of `pcfg sample` is to do, and what a chain of it has kept.

The fact a newcomer would get wrong: `iterations` counts the sweeps of the burn-in as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.model import Data
from monolingual.pcfg.posterior import approach_code
from monolingual.pcfg.tally import Tally
from monolingual.pcfg.tree_draws import Trees
from scfg_sampler.core.chains.run_directory import require_at_least
from scfg_sampler.errors import SettingsError

__all__ = ["SAMPLERS", "Kept", "SampleSettings", "check_settings"]

SAMPLERS = ("gibbs", "collapsed")
_MOST_NUMBERS = 250_000_000


class SampleSettings(NamedTuple):
    """What a run does.

    Attributes
    ----------
    approach : str
        One of `posterior.APPROACHES`.
    sampler : str
        One of `SAMPLERS`.
    iterations : int
        Sweeps of each chain, those of the burn-in included.
    burn_in : int
        Sweeps at the beginning that are not kept.
    thin : int
        The last of every so many sweeps is kept.
    chains : int
    seed : int
    start : str
        "weights": the first θ is the grammar's; "prior": it is drawn from the prior, for each chain.
    reweight : bool
        Compute Z of kept draws of the sink approach, so that they answer for the other approaches.
    score_every : int
        F1 is computed for every so many kept sweeps.
    brackets : str
        A regular expression for the labels whose brackets count.
    block : int
        Sweeps in one call; 0: as many as take some ten milliseconds.
    """

    approach: str = "sink"
    sampler: str = "gibbs"
    iterations: int = 1000
    burn_in: int = 0
    thin: int = 1
    chains: int = 1
    seed: int = 1
    start: str = "prior"
    reweight: bool = False
    score_every: int = 10
    brackets: str = ""
    block: int = 0


class Kept(NamedTuple):
    """What a chain has kept so far. D draws.

    Attributes
    ----------
    probs : float64, shape (D, R)
    log_z, log_joints : float64, shape (D,)
    rejections : int64, shape (D,)
    scores : float64, shape (scored sweeps, 3)
        Precision, recall, F1.
    tally : Tally
    trees : Trees
        Of the last sweep.
    all_rejections : int
        Of all sweeps, those of the burn-in included.
    seconds : float
        Of processor time.
    """

    probs: np.ndarray
    log_z: np.ndarray
    log_joints: np.ndarray
    rejections: np.ndarray
    scores: np.ndarray
    tally: Tally
    trees: Trees
    all_rejections: int
    seconds: float


def check_settings(settings: SampleSettings, rules: int, data: Data) -> None:
    """Raise a SettingsError if a setting is out of range or contradicts another.

    Parameters
    ----------
    settings : SampleSettings
    rules : int
        How many rules the grammar has.
    data : Data
    """
    approach_code(settings.approach)
    if settings.sampler not in SAMPLERS:
        raise SettingsError(f"--sampler is {settings.sampler!r}; choose one of {', '.join(SAMPLERS)}")
    if settings.sampler == "collapsed" and settings.approach != "sink":
        raise SettingsError(
            f"--sampler collapsed works for --approach sink, not {settings.approach}: "
            "integrating θ out needs Dirichlet posteriors. Add --reweight to get the other approaches"
        )
    if settings.reweight and settings.approach != "sink":
        raise SettingsError(f"--reweight starts from --approach sink, not {settings.approach}")
    require_at_least(settings, iterations=1, burn_in=0, thin=1, chains=1, score_every=1)
    if settings.burn_in >= settings.iterations:
        raise SettingsError(
            f"--burn-in is {settings.burn_in}, but there are {settings.iterations} iterations; keep some"
        )
    if settings.iterations % settings.thin:
        raise SettingsError(f"--iterations {settings.iterations} is not a multiple of --thin {settings.thin}")
    if settings.iterations // settings.thin * settings.chains * rules > _MOST_NUMBERS:
        raise SettingsError(
            f"{settings.iterations} draws of {rules} probabilities are too many to keep; "
            f"raise --thin above {settings.thin}"
        )
    if len(data.start) == 1 and data.num_trees == 0:
        raise SettingsError("give --trees, --sentences or both")
