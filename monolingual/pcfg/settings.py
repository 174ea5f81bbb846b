"""What a run of `pcfg sample` is to do.

The fact a newcomer would get wrong: `iterations` counts the sweeps of the burn-in as well.
"""

from __future__ import annotations

from typing import NamedTuple

from monolingual.pcfg.approaches import PROPOSALS, approach_code
from scfg_sampler.core.chains.run_directory import require_at_least
from scfg_sampler.core.limits import require_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

__all__ = ["SAMPLERS", "STARTS", "Handling", "SampleSettings", "check_settings"]

STARTS = ("weights", "prior")
SAMPLERS = ("gibbs", "collapsed")
_MOST_NUMBERS = 250_000_000


class SampleSettings(NamedTuple):
    """What a run does.

    Attributes
    ----------
    approach : str
        One of `approaches.APPROACHES`.
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
    proposal : str
        Of the renormalise approach: one of `approaches.PROPOSALS`.
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
    proposal: str = PROPOSALS[0]
    reweight: bool = False
    score_every: int = 10
    brackets: str = ""
    block: int = 0


class Handling(NamedTuple):
    """How a run is done: nothing that changes what it samples.

    Attributes
    ----------
    threads : int
    check : bool
        Recompute the log joint after every block.
    checkpoint_every : int or None
        Blocks of sweeps between checkpoints; 0: only when a chain ends or is interrupted; None: by the clock,
        about once a minute.
    """

    threads: int = 1
    check: bool = False
    checkpoint_every: int | None = None


def check_settings(settings: SampleSettings, rules: int, data_size: int) -> None:
    """Raise a SettingsError if a setting is out of range or contradicts another.

    Parameters
    ----------
    settings : SampleSettings
    rules : int
        How many rules the grammar has.
    data_size : int
        Of how many trees and sentences something is to be learnt.
    """
    approach_code(settings.approach)
    if settings.sampler not in SAMPLERS:
        raise SettingsError(f"--sampler is {settings.sampler!r}; choose one of {', '.join(SAMPLERS)}")
    if settings.sampler == "collapsed" and settings.approach != "sink":
        raise SettingsError(
            f"--sampler collapsed works for --approach sink, not {settings.approach}: "
            "integrating θ out needs Dirichlet posteriors. Add --reweight to get the other approaches"
        )
    if settings.proposal not in PROPOSALS:
        raise SettingsError(f"--proposal is {settings.proposal!r}; choose one of {', '.join(PROPOSALS)}")
    if settings.reweight and settings.approach != "sink":
        raise SettingsError(f"--reweight starts from --approach sink, not {settings.approach}")
    require_at_least(settings, iterations=1, burn_in=0, thin=1, score_every=1, seed=0)
    require_number("chains", settings.chains)
    if settings.burn_in >= settings.iterations:
        raise SettingsError(
            f"--burn-in {settings.burn_in} leaves none of "
            f"{counted(settings.iterations, 'iteration')}; keep some"
        )
    if settings.iterations % settings.thin:
        raise SettingsError(f"--iterations {settings.iterations} is not a multiple of --thin {settings.thin}")
    if settings.iterations // settings.thin * settings.chains * rules > _MOST_NUMBERS:
        raise SettingsError(
            f"{settings.iterations} draws of {rules} probabilities are too many to keep; "
            f"raise --thin above {settings.thin}"
        )
    if data_size == 0:
        raise SettingsError("give --trees, --sentences or both")
