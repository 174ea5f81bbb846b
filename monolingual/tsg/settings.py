"""What `tsg train` is told: all defaults, and the temperature of each sweep.

The fact a newcomer would get wrong: chains are not annealed by themselves; `tsg train` does so over the
burn-in (`default_anneal`), which is half of the sweeps (`default_burn_in`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from monolingual.tsg.trees import ROOT
from scfg_sampler.core.chains.run_directory import require_at_least, require_burn_in
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.fragments.parameters import LARGEST_STRENGTH
from scfg_sampler.core.limits import require_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import SettingsError

__all__ = [
    "BASES",
    "METHODS",
    "MOVES",
    "ORDERS",
    "PACKINGS",
    "STARTS",
    "RunSettings",
    "Sources",
    "TsgSettings",
    "check_run_settings",
    "check_settings",
    "default_anneal",
    "default_burn_in",
    "default_horizontal",
    "states_kept",
    "temperature",
]

_LEAST_STOP = 1e-9  # 1 − stop is what is stored.
METHODS = ("gibbs", "2dop")
BASES = ("uniform", "pcfg")
ORDERS = ("random", "top-down")
STARTS = ("maximal", "minimal", "2dop")
PACKINGS = ("trees", "spans")

MOVES = ("single", "type", "block")
"""`single`: the cut and the edge of a node. `type`: all cuts of a type. `block`: a sentence's derivation."""


class TsgSettings(NamedTuple):
    """Settings of a chain.

    Attributes
    ----------
    base : str
        `uniform` (P_M) or `pcfg` (P_C).
    concentration : float or None
        α of every label; None: learnt, label by label.
    stop : float or None
        1 − β of every label, the probability that a nonterminal below the root of an elementary tree of the
        base is a frontier; None: learnt, label by label.
    discount : float
        d of Pitman and Yor, of every label; 0 is the Dirichlet process of the paper.
    moves : tuple of str
        Some of `MOVES`, made in this order: single, block, type.
    type_every : int
        Sweeps from one round of type moves to the next.
    order : str
        `random` or `top-down`: in which order sentences and nodes are visited.
    start : str
        `maximal`: no cuts; `minimal`: all; `2dop`: around the largest fragments that recur.
    anneal : (float, float, int)
        The temperature falls from the first to the second in so many sweeps, and stays there.
    shards : int
        Parts of the treebank whose sentences see the counts of the others one sweep late; 1 is exact.
    """

    base: str = "pcfg"
    concentration: float | None = None
    stop: float | None = None
    discount: float = 0.0
    moves: tuple[str, ...] = ("single", "type")
    type_every: int = 5
    order: str = "random"
    start: str = "maximal"
    anneal: tuple[float, float, int] = (1.0, 1.0, 0)
    shards: int = 1


class RunSettings(NamedTuple):
    """What a run does besides the chain itself.

    Attributes
    ----------
    iterations, burn_in : int
        Sweeps, and how many of them come before the first that counts for marginals and samples.
    marginals : bool
        Whether the share of the sweeps in which each node is cut is kept.
    samples : int or None
        So many states, the last of them the final one, leave their grammars in `samples/`; 0: none. None: as
        `states_kept` says.
    thin : int or None
        Sweeps from one of these to the next.
    checkpoint_every : int
        Sweeps; 0: at the end.
    seed : int
    threads : int
        Shards visited at a time; makes no difference to what comes out.
    method : str
        One of `METHODS`: a chain, or the fragments that two trees share (`recurring`), which needs none.
    """

    iterations: int = 1000
    burn_in: int = 500
    marginals: bool = False
    samples: int | None = None
    thin: int | None = None
    checkpoint_every: int = 100
    seed: int = 1
    threads: int = 1
    method: str = "gibbs"


class Sources(NamedTuple):
    """Files to learn from, and what is not said in them.

    Attributes
    ----------
    trees, nbest, forests, brackets, sentences : path, optional
        At least one; see `annotation` for all but the first.
    pack : str
        `trees` or `spans`: what the trees of a list have in common (`packed.pack_trees`).
    labels, tags : tuple of str
        What a constituent whose label is not known may be, and a word; without tags the labels.
    root : str
        The label above sentences whose outermost label is not known.
    longest : int
        Words of a sentence of brackets or plain words at the most.
    """

    trees: PathLike | None = None
    nbest: PathLike | None = None
    forests: PathLike | None = None
    brackets: PathLike | None = None
    sentences: PathLike | None = None
    pack: str = "trees"
    labels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    root: str = ROOT
    longest: int = 40


def default_burn_in(iterations: int) -> int:
    """The burn-in where none is given: half of the sweeps."""
    return iterations // 2


def states_kept(run: RunSettings) -> tuple[int, int]:
    """How many states leave their grammars, and how many sweeps apart.

    Where the run does not say: ten states, ten sweeps apart, as far as there are so many after the burn-in.

    >>> states_kept(RunSettings(1000, 500)), states_kept(RunSettings(40, 10)), states_kept(RunSettings(8, 4))
    ((10, 10), (10, 3), (4, 1))
    >>> states_kept(RunSettings(40, 10, samples=30)), states_kept(RunSettings(40, 10, samples=0))
    ((30, 1), (0, 10))
    """
    sweeps, thin = run.iterations - run.burn_in, run.thin
    if thin is None:
        thin = max(1, min(10, sweeps // (run.samples or 10))) if run.samples != 0 else 10
    return (min(10, sweeps // thin) if run.samples is None else run.samples), thin


def default_anneal(burn_in: int) -> tuple[float, float, int]:
    """The temperatures where none are given: from 5 to 1 over the burn-in."""
    return 5.0, 1.0, burn_in


def default_horizontal(sources: Sources) -> int:
    """The horizontal order where none is given: 1, by which the most is gained on GUM; 0 beside forests."""
    packed = sources.forests, sources.brackets, sources.sentences
    return 1 if all(source is None for source in packed) else 0


def check_run_settings(settings: TsgSettings, run: RunSettings) -> None:
    """Raise SettingsError if a setting of a run is out of range, or does not go with the chain's."""
    require_at_least(run, iterations=1, checkpoint_every=0, seed=0)
    require_number("threads", run.threads)
    if run.samples is not None and run.samples < 0:
        raise SettingsError(f"--states is {run.samples}; it must be at least 0")
    if run.thin is not None and run.thin < 1:
        raise SettingsError(f"--thin is {run.thin}; it must be at least 1")
    require_burn_in(run.burn_in, run.iterations)
    samples, thin = states_kept(run)
    sweeps = run.iterations - run.burn_in
    if samples * thin > sweeps:
        found = counted(sweeps, "sweep")
        raise SettingsError(
            f"--states {samples} at every --thin {thin} do not fit into the {found} after --burn-in"
        )
    first, last, annealed = settings.anneal
    if run.marginals and last != 1.0:
        raise SettingsError(
            f"--marginals counts sweeps at temperature 1 only, and --anneal ends at {last:g}: let it end at 1"
        )
    if run.marginals and annealed > run.burn_in and first != 1.0:
        raise SettingsError(
            f"--marginals counts sweeps at temperature 1 only; --anneal ends after {annealed} "
            f"sweeps, --burn-in after {run.burn_in}: make it at least as long"
        )


def check_settings(settings: TsgSettings) -> None:
    """Raise a SettingsError if a setting is out of range."""
    concentration, stop, discount = settings.concentration, settings.stop, settings.discount
    if concentration is not None and not 0.0 < concentration <= LARGEST_STRENGTH:
        limits = f"above 0 and {LARGEST_STRENGTH:g} at most, or 'learn'"
        raise SettingsError(f"--concentration is {concentration:g}; it must be {limits}")
    if stop is not None and not _LEAST_STOP <= stop < 1.0:
        found = f"--stop is {stop:g}; it must be at least {_LEAST_STOP:g} and below 1, or 'learn'"
        raise SettingsError(found)
    if not 0.0 <= discount < 1.0:
        raise SettingsError(f"--discount is {discount:g}; it must be at least 0 and below 1")
    unknown = [move for move in settings.moves if move not in MOVES]
    if unknown or not settings.moves:
        shown = ",".join(settings.moves)
        raise SettingsError(f"--moves is {shown!r}; give some of {', '.join(MOVES)}, joined by commas")
    if settings.type_every < 1:
        raise SettingsError(f"--type-every is {settings.type_every}; it must be at least 1")
    require_number("shards", settings.shards)
    if settings.order not in ORDERS:
        raise SettingsError(f"--order is {settings.order}; choose random or top-down")
    if settings.start not in STARTS:
        raise SettingsError(f"--start is {settings.start}; choose {', '.join(STARTS)}")
    first, last, sweeps = settings.anneal
    if not (0.0 < first < math.inf and 0.0 < last < math.inf and sweeps >= 0):
        shown = f"{first:g}:{last:g}:{sweeps}"
        raise SettingsError(f"--anneal is {shown}; give FROM:TO:SWEEPS, temperatures above 0, e.g. 5:1:4000")


def temperature(settings: TsgSettings, sweep: int) -> float:
    """T of a sweep, from 0."""
    first, last, sweeps = settings.anneal
    if sweep >= sweeps:
        return last
    return first + (last - first) * sweep / sweeps
