"""What determines a chain of the learner, and a run of it, besides corpus and seed: all defaults.

The fact a newcomer would get wrong: two defaults depend on other settings, the strength on the model and the
burn-in on the length of the run; `default_strength` and `default_burn_in` say how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scfg_sampler.core.chains.run_directory import require_at_least, require_burn_in
from scfg_sampler.core.files import PathLike
from scfg_sampler.core.fragments.parameters import require_parameters
from scfg_sampler.core.limits import require_number
from scfg_sampler.core.wording import counted
from scfg_sampler.corpus.span_forms import FORMS, SIDES
from scfg_sampler.errors import SettingsError

__all__ = [
    "BASES",
    "CHOICES",
    "FILTERS",
    "LEARNABLE",
    "LONGEST_SENTENCE",
    "MODELS",
    "MOST_ATTACHED",
    "MOST_TYPES",
    "OPERATORS",
    "ORDERS",
    "ORIGINS",
    "PAPER",
    "PAPER_ITERATIONS",
    "SCHEDULES",
    "TABLES",
    "TYPE_STARTS",
    "UNALIGNED",
    "GrammarSettings",
    "LearnerSettings",
    "RunSettings",
    "attached",
    "check_run_settings",
    "check_settings",
    "default_burn_in",
    "default_shards",
    "default_strength",
    "dishes",
    "level",
    "temperature",
]

MODELS = ("pitman-yor", "dirichlet")
BASES = ("poisson", "lexical", "null-words")
TABLES = ("exact", "estimated")
OPERATORS = ("top-down", "rejection")
SCHEDULES = ("stratified", "full")
ORDERS = ("depth-first", "breadth-first")
UNALIGNED = ("lowest", "free")
CHOICES = ("none", "sentence", "phrase")

ORIGINS = ("last", "average", "marginal")
FILTERS = ("scope", "hiero", "none")

TYPE_STARTS = ("random", "same")

MOST_TYPES = 16
"""Of what one choice of a type has room for."""

LEARNABLE = ("discount", "strength", "mean_length")
"""Hyperparameters that can be sampled along."""

PAPER = {"schedule": "stratified"}
PAPER_ITERATIONS = 100
"""What Chung et al. (2014) do that is not the default."""

LONGEST_SENTENCE = 16382
"""Words, on either side: what fragments count theirs with holds no more."""

MOST_ATTACHED = 15
"""Free words at an end, of what a state has room for."""


class LearnerSettings(NamedTuple):
    """What determines a chain, besides corpus and seed."""

    model: str = "pitman-yor"
    base: str = "poisson"
    tables: str = "estimated"
    discount: float = 0.5
    strength: float = 5.0
    """α; see `default_strength` for other models."""
    mean_length: float = 2.0
    learned: tuple[str, ...] = ()
    """Which of `LEARNABLE` are sampled along."""
    source_vocabulary: int = 0
    """V_f of the `dirichlet` model; 0 for the corpus's own."""
    target_vocabulary: int = 0
    operator: str = "top-down"
    schedule: str = "full"
    sweeps_per_level: int = 10
    max_cut_span: int = 7
    unaligned: str = "lowest"
    """Which rule an unaligned word belongs to: that of the lowest node around it, or any (`free`)."""
    max_attached: int = 3
    """Most free words that a rule takes in at each end of either side."""
    choose: str = "none"
    """Of several alignments, a pair is sampled under each (`none`), or the chain chooses one for each
    sentence, or for each phrase."""
    labels_form: str = "spans"
    """Of the lines of labels, if there are any; see `corpus.span_labels`."""
    labels_side: str = "target"
    """Whose spans they are of."""
    types: int = 1
    """K types of nonterminals, learned; with 1 all are X."""
    types_start: str = "random"
    """The types of the first state: drawn at random, or the `same` for all."""
    max_length: int = 250
    """Pairs with a longer sentence are skipped."""
    order: str = "depth-first"
    density_factor: bool = True
    divide_by_trees: bool = False
    """Whether a rule with m internal trees has 1/m of its probability in each derivation."""
    type_moves: int = 0
    """Resample sites by type after every so many sweeps; 0 for never."""
    anneal_start: float = 1.0
    """Temperature of the first sweep; it falls by equal steps to `anneal_end`."""
    anneal_end: float = 1.0
    """Temperature of all sweeps after the first `anneal_sweeps`."""
    anneal_sweeps: int = 0
    """Sweeps in which it falls; 0 for a chain at the temperature `anneal_end` from the beginning."""
    shards: int = 1
    """Parts of the corpus, each swept against the counts of the others as they were before the sweep."""


class RunSettings(NamedTuple):
    """What a run does besides the chain itself."""

    iterations: int = 60
    """Sweeps, those of the burn-in included."""
    burn_in: int = 20
    """Sweeps before the first that is counted; see `default_burn_in` for other numbers of iterations."""
    average_every: int = 10
    average_until: int = 70
    marginals: bool = False
    checkpoint_every: int = 25
    """Sweeps; 0: at the end."""
    seed: int = 1
    chains: int = 1
    """Independent chains."""
    threads: int = 1
    """Shards that are worked on at a time, or chains, if there are several; makes no difference to them."""
    memory: int = 1 << 30
    """Bytes that the rules counted may take, about; others wait on disk. It makes no difference to them."""


class GrammarSettings(NamedTuple):
    """Which rules of a run make its grammar."""

    origin: str = "marginal"
    """Counts of the last state, of the states the paper averages, or expected over all kept sweeps."""
    more: Sequence[PathLike] = ()
    """Rule tables, as TABLE or TABLE:W, whose counts are added W times (once by default)."""
    rule_filter: str = "scope"
    """`scope`: scope at most `max_scope`, two nonterminals; `hiero`: Chiang's (2007) constraints; `none`."""
    max_scope: int = 2
    max_targets: int | None = None
    """Keep only so many targets of each source side, those with the largest counts."""
    prune: str | None = None
    """As `pruning.prune_rules` takes it; of the rules that the filter leaves."""
    keep: str | int | None = None
    """As `pruning.keep_best` takes it; of the rules that are left then."""


def default_strength(model: str) -> float:
    """α where none is given: section 5 of Chung et al. (2014) has 5, section 4 has 100.

    Parameters
    ----------
    model : str
        One of `MODELS`.
    """
    return 100.0 if model == "dirichlet" else LearnerSettings().strength


def default_shards(threads: int, chains: int, types: int = 1) -> int:
    """The number of shards where none is given: as many as threads, unless these have chains to run.

    Types are learned in one shard.

    Parameters
    ----------
    threads, chains : int
        As in `RunSettings`.
    types : int
        As in `LearnerSettings`.
    """
    return threads if chains == 1 and types == 1 else 1


def default_burn_in(iterations: int, anneal_sweeps: int = 0) -> int:
    """The burn-in where none is given: a third of the sweeps, and all that are annealed.

    Parameters
    ----------
    iterations, anneal_sweeps : int
        As in `RunSettings` and `LearnerSettings`.

    Raises
    ------
    SettingsError
        All sweeps are annealed, so that none is left to collect.
    """
    if 0 < iterations <= anneal_sweeps:
        raise SettingsError(
            f"--anneal takes {counted(anneal_sweeps, 'sweep')}; it must be fewer than "
            f"--iterations ({iterations})"
        )
    return max(iterations // 3, anneal_sweeps)


def check_run_settings(run: RunSettings) -> None:
    """Raise SettingsError if a setting is out of range."""
    require_at_least(run, iterations=1, average_every=0, average_until=0, checkpoint_every=0, seed=0)
    require_at_least(run, memory=1)
    require_number("chains", run.chains)
    require_number("threads", run.threads)
    require_burn_in(run.burn_in, run.iterations)


def check_settings(settings: LearnerSettings) -> None:
    """Nothing, or a complaint.

    Parameters
    ----------
    settings : LearnerSettings

    Raises
    ------
    SettingsError
        A setting is out of range.
    """
    choices = {
        "model": MODELS,
        "base": BASES,
        "tables": TABLES,
        "operator": OPERATORS,
        "schedule": SCHEDULES,
        "order": ORDERS,
        "unaligned": UNALIGNED,
        "choose": CHOICES,
        "labels_form": FORMS,
        "labels_side": SIDES,
        "types_start": TYPE_STARTS,
    }
    for name, legal in choices.items():
        value = getattr(settings, name)
        if value not in legal:
            raise SettingsError(f"--{name.replace('_', '-')} is {value}; choose one of {', '.join(legal)}")
    for name, least in (
        ("sweeps_per_level", 1),
        ("type_moves", 0),
        ("max_cut_span", 0),
    ):
        if getattr(settings, name) < least:
            note = " (0: no limit)" if name == "max_cut_span" else ""
            option = name.replace("_", "-")
            raise SettingsError(f"--{option} is {getattr(settings, name)}; it must be at least {least}{note}")
    require_number("shards", settings.shards)
    # A Dirichlet process has no discount.
    require_parameters(settings.discount if settings.model == "pitman-yor" else 0.0, settings.strength)
    if not 1 <= settings.max_attached <= MOST_ATTACHED:
        raise SettingsError(
            f"--max-attached is {settings.max_attached}; it must be from 1 to {MOST_ATTACHED}"
        )
    if settings.unaligned == "free" and settings.operator == "rejection":
        raise SettingsError("--unaligned free has no --operator rejection; leave one of them out")
    if settings.unaligned == "free" and settings.type_moves > 0:
        raise SettingsError("--unaligned free has no --type-moves; leave one of them out")
    if settings.choose != "none":
        _check_choice(settings)
    if not 1 <= settings.types <= MOST_TYPES:
        raise SettingsError(f"--types is {settings.types}; it must be from 1 to {MOST_TYPES}")
    if settings.types > 1:
        _check_types(settings)
    if not 1 <= settings.max_length <= LONGEST_SENTENCE:
        limits = f"from 1 to {LONGEST_SENTENCE}"
        raise SettingsError(f"--max-length is {settings.max_length}; it must be {limits}")
    temperatures = settings.anneal_start, settings.anneal_end
    if not all(0.0 < each < math.inf for each in temperatures) or settings.anneal_sweeps < 0:
        raise SettingsError(
            f"--anneal is {settings.anneal_start:g}:{settings.anneal_end:g}:{settings.anneal_sweeps}; "
            "it must be two temperatures above 0 and a number of sweeps"
        )
    unknown = set(settings.learned) - set(LEARNABLE)
    if unknown:
        raise SettingsError(f"{unknown.pop()} cannot be learned; choose of {', '.join(LEARNABLE)}")
    if settings.model == "dirichlet" and set(settings.learned) - {"strength"}:
        raise SettingsError("--model dirichlet has no hyperparameter to learn but --strength")
    if "discount" in settings.learned and settings.discount == 0.0:
        raise SettingsError("--discount is 0, a model without discount; it cannot be learned from there")


def _check_choice(settings: LearnerSettings) -> None:
    """Raise SettingsError if a setting goes with one alignment only."""
    for name, value, option in (
        ("unaligned", "free", "--unaligned free"),
        ("schedule", "stratified", "--schedule stratified"),
        ("divide_by_trees", True, "--divide-by-trees"),
    ):
        if getattr(settings, name) == value:
            raise SettingsError(f"--choose {settings.choose} has no {option}; leave one of them out")


def _check_types(settings: LearnerSettings) -> None:
    """Raise SettingsError if a setting is none for nonterminals with types."""
    for is_set, option in (
        (settings.model == "dirichlet", "--model dirichlet"),
        (settings.discount == 0.0, "--discount 0"),
        (settings.tables != "exact", f"--tables {settings.tables}"),
        (settings.unaligned != "lowest", f"--unaligned {settings.unaligned}"),
        (settings.choose != "none", f"--choose {settings.choose}"),
        (settings.operator != "top-down", f"--operator {settings.operator}"),
        (settings.type_moves > 0, "--type-moves"),
        (settings.divide_by_trees, "--divide-by-trees"),
        (not settings.density_factor, "--no-density-factor"),
        (bool(settings.learned), "--learn-hyperparameters"),
        (settings.shards > 1, f"--shards {settings.shards}"),
    ):
        if is_set:
            raise SettingsError(f"--types {settings.types} has no {option}; leave one of them out")


def attached(settings: LearnerSettings) -> int:
    """Most unaligned words that a rule takes in at each end; 0 where they belong to the lowest node.

    Parameters
    ----------
    settings : LearnerSettings
    """
    return settings.max_attached if settings.unaligned == "free" else 0


def dishes(num_rules: int, settings: LearnerSettings) -> int:
    """How many dishes a restaurant may get of so many rules: with types each has a skeleton besides.

    Parameters
    ----------
    num_rules : int
    settings : LearnerSettings
    """
    return num_rules * (1 + (settings.types > 1))


def level(settings: LearnerSettings, sweep: int) -> int:
    """The highest level that sweep number `sweep` (from 0) samples; 0 for all.

    Parameters
    ----------
    settings : LearnerSettings
    sweep : int
    """
    if settings.schedule == "full" or settings.operator == "rejection":  # Whole trees have no levels.
        return 0
    return sweep // settings.sweeps_per_level + 1


def temperature(settings: LearnerSettings, sweep: int) -> float:
    """The temperature of sweep number `sweep` (from 0); probabilities are raised to its inverse.

    Parameters
    ----------
    settings : LearnerSettings
    sweep : int
    """
    if settings.anneal_sweeps == 0:
        return settings.anneal_end
    done = min(1.0, sweep / settings.anneal_sweeps)
    return settings.anneal_start + (settings.anneal_end - settings.anneal_start) * done
