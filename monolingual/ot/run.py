"""Run directories of `ot sample`: several chains with traces and checkpoints, and the summary of their draws.

A run directory holds `run.json` (settings, seed, versions, digests, time), `tableaux.tsv` (what was learnt
from), `chain-1/`, `chain-2/`, … each with `trace.tsv` (one row a sweep: the log joint, every mean, and
deviations if they are unknown) and `checkpoint.npz`, `summary.json` (see `summaries.py` and `grammar.py`)
and `predictions.json`.

The fact a newcomer would get wrong: chains of one run differ in their starting points as well as in their
random numbers, else R̂ would say nothing about having found everything.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.ot.domination import what_keeps_dominated
from monolingual.ot.formats import read_tableaux, write_tableaux
from monolingual.ot.gibbs import OtState, ot_kernel
from monolingual.ot.grammar import Grammar, predict, prediction_record, refuse_grammar, summary_grammar
from monolingual.ot.hidden import form_counts, hidden_kernel, hidden_problems
from monolingual.ot.orderings import derive_orderings, problems
from monolingual.ot.settings import OtSettings, RunSettings, check_run_settings
from monolingual.ot.summaries import summarise
from monolingual.ot.tableaux import Tableaux, token_counts
from scfg_sampler import __version__
from scfg_sampler.core.chains.chain import Sweep, read_trace
from scfg_sampler.core.chains.checkpoint import layout_problem, sweeps_kept
from scfg_sampler.core.chains.driver import ChainPlan, Columns, Stopwatch, begin_or_restore, drive, restore
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.chains.occupied import CHAINS, beginning, clear, refuse_occupied
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.core.chains.run_directory import (
    CHECKPOINT,
    RECORD,
    TRACE,
    chain_directory,
    origin,
    read_record,
    require_beyond_burn_in,
    require_each,
    require_numbers,
    require_sweeps_left,
    stored_settings,
    write_json,
    write_record,
)
from scfg_sampler.core.console import warn
from scfg_sampler.core.files import PathLike, file_digest
from scfg_sampler.errors import InputError

__all__ = [
    "RESULTS",
    "TABLEAUX",
    "Draws",
    "read_draws",
    "read_run",
    "resume_run",
    "start_run",
    "sweeps_done",
    "warn_of_tableaux",
]

TABLEAUX = "tableaux.tsv"
"""What a run, or a grammar, was learnt from, in its directory."""
RESULTS = (f"{CHAINS}/{CHECKPOINT}", f"{CHAINS}/{TRACE}", "summary.json", "predictions.json")
"""What a run writes beside its record and the tableaux, as patterns of `occupied.clear`."""


class Draws(NamedTuple):
    """The draws of a run after burn-in.

    Attributes
    ----------
    mean, deviation : list of float64 arrays (draws, N)
        One for each chain.
    log_joint : list of float64 arrays (draws,)
    """

    mean: list[np.ndarray]
    deviation: list[np.ndarray]
    log_joint: list[np.ndarray]


def start_run(
    tableaux: Tableaux,
    output: PathLike,
    settings: OtSettings,
    run: RunSettings,
    *,
    overwrite: bool = False,
    check: bool = False,
    advance: Callable[[int, str], Any] = lambda steps, note: None,
) -> dict:
    """Sample the posterior of tableaux into a new run directory; what `summary.json` says in the end.

    Parameters
    ----------
    tableaux : Tableaux
    output : path
        The run directory; made if need be.
    settings : OtSettings
    run : RunSettings
    overwrite : bool
        Whether an older run in the directory may be replaced.
    check : bool
        Recount the log joint after every sweep.
    advance : callable
        Told of every sweep: 1 and a few words.

    Raises
    ------
    InputError
        Nothing can be learnt from the tableaux, or the directory holds a run or a grammar already.
    SettingsError
        A setting is out of range.
    """
    directory = Path(output)
    check_run_settings(run)
    _refuse_occupied(output, overwrite)
    warn_of_tableaux(tableaux, settings)
    kernel, tokens = _kernel_of(tableaux, settings, run)
    with owned(output):
        _refuse_occupied(output, overwrite)
        with beginning(output, *RESULTS, TABLEAUX):
            clear(directory, *RESULTS)
            write_tableaux(tableaux, directory / TABLEAUX)
            return _Run(directory, tableaux, tokens, settings, run).sample(kernel, check, advance)


def _refuse_occupied(output: PathLike, overwrite: bool) -> None:
    """Raise InputError if the directory holds a run, or a grammar, that may not be replaced."""
    refuse_grammar(output, overwrite)
    refuse_occupied(output, overwrite, "ot resume", *RESULTS, TABLEAUX)


def resume_run(
    output: PathLike,
    iterations: int | None = None,
    *,
    check: bool = False,
    advance: Callable[[int, str], Any] = lambda steps, note: None,
) -> dict:
    """Continue the run in a directory up to `iterations` sweeps a chain; what `summary.json` says in the end.

    Parameters
    ----------
    output : path
    iterations : int, optional
        By default what the run was started with.
    check : bool
    advance : callable
        As in `start_run`.

    Raises
    ------
    InputError
        There is no run.
    CheckpointMismatch
        The tableaux have been changed.
    SettingsError
        The run has as many sweeps already.
    """
    read_run(output)
    with owned(output):
        return _resume(Path(output), iterations, check, advance)


def sweeps_done(directory: PathLike) -> list[int]:
    """How many sweeps each chain of a run has that was begun, from which `resume_run` goes on."""
    return [sweeps_kept(path, 0) for path in Path(directory).glob(f"{CHAINS}/{CHECKPOINT}")]


def _resume(output: Path, iterations: int | None, check: bool, advance: Callable[[int, str], Any]) -> dict:
    """`resume_run` of a directory that this process owns."""
    record = read_run(output)
    settings, run = record["settings"], record["run"]
    if iterations is not None:
        require_beyond_burn_in(iterations, run.burn_in)
        run = run._replace(iterations=iterations)
        check_run_settings(run)
    sweeps = sweeps_done(output)
    if record["finished"]:
        sweeps.append(record["sweeps"])
    require_sweeps_left(output, max(sweeps, default=0), run.iterations, is_finished=record["finished"])
    tableaux = read_tableaux(output / TABLEAUX)
    kernel, tokens = _kernel_of(tableaux, settings, run)
    gone_on = _Run(output, tableaux, tokens, settings, run)
    gone_on.require_usable(kernel)
    warn_of_tableaux(tableaux, settings)
    return gone_on.sample(kernel, check, advance)


def warn_of_tableaux(tableaux: Tableaux, settings: OtSettings) -> None:
    """Warn of what the tableaux leave open, under these settings."""
    found = [*(hidden_problems(tableaux) if tableaux.overt else problems(tableaux))]
    if not tableaux.overt:
        found += what_keeps_dominated(tableaux, settings.truncate > 0, settings.priors)
    for problem in found:
        warn(problem)


def _kernel_of(tableaux: Tableaux, settings: OtSettings, run: RunSettings) -> tuple[Kernel, int]:
    """The sampler of the posterior given winners, or overt forms, and how many tokens it is given."""
    if tableaux.overt:
        counts = form_counts(tableaux, run.tokens)
        return hidden_kernel(tableaux, counts, settings), int(counts.sum())
    orderings = derive_orderings(tableaux, token_counts(tableaux, run.tokens))
    return ot_kernel(orderings, settings), int(orderings.count.sum())


def read_run(directory: PathLike) -> dict[str, Any]:
    """What `run.json` says, with `settings` and `run` as the NamedTuples they were.

    Raises
    ------
    InputError
        It is not a run directory of `ot sample`.
    """

    def restored(record: dict[str, Any]) -> dict[str, Any]:
        priors = {int(key): tuple(prior) for key, prior in record["settings"]["priors"].items()}
        place, version = Path(directory) / RECORD, record["versions"]["scfg-sampler"]
        settings = {**record["settings"], "priors": priors}
        record["settings"] = stored_settings(OtSettings, settings, place, version)
        record["run"] = stored_settings(RunSettings, record["run"], place, version)
        require_each(int, record["sweeps"])
        require_each(bool, record["finished"])
        require_each(str, record["constraints"][0], *record["constraints"], *record["corpus"].values())
        require_numbers(record["cpu_seconds"], *itertools.chain.from_iterable(priors.values()))
        return record

    return read_record(directory, "ot sample", restored)


def read_draws(directory: PathLike, burn_in: int | None = None) -> Draws:
    """The draws of a run after burn-in, by default the run's own.

    Raises
    ------
    InputError
        It is not a run directory, or its traces are damaged or shorter than the burn-in.
    """
    record = read_run(directory)
    names = record["constraints"]
    skipped = record["run"].burn_in if burn_in is None else burn_in
    draws = Draws([], [], [])
    for chain in range(1, record["run"].chains + 1):
        path = chain_directory(directory, chain) / TRACE
        trace = {name: column[skipped:] for name, column in read_trace(path).items()}
        columns = [f"mean {name}" for name in names]
        missing = [column for column in ("sweep", "log_joint", *columns) if column not in trace]
        if missing:
            raise InputError(path, 1, f"has no column {missing[0]!r}", "Start the run again")
        if len(trace["sweep"]) == 0:
            raise InputError(path, None, f"has no sweep after a burn-in of {skipped}", "Continue the run")
        draws.mean.append(np.stack([trace[column] for column in columns], axis=1))
        fixed = np.full(len(trace["sweep"]), record["settings"].noise)
        deviations = [trace.get(f"deviation {name}", fixed) for name in names]
        draws.deviation.append(np.stack(deviations, axis=1))
        draws.log_joint.append(trace["log_joint"])
    return draws


class _Run:
    """One run: its chains and the files it writes."""

    def __init__(
        self,
        directory: Path,
        tableaux: Tableaux,
        tokens: int,
        settings: OtSettings,
        run: RunSettings,
    ):
        self.directory, self.tableaux, self.tokens = directory, tableaux, tokens
        self.settings, self.run = settings, run
        self._digests = {"tableaux": file_digest(directory / TABLEAUX)}
        self._clocks = [Stopwatch() for _ in range(run.chains)]

    def sample(self, kernel: Kernel, check: bool, advance: Callable[[int, str], Any]) -> dict:
        """Run the sweeps that are left in every chain and write the directory."""
        self._write_record(finished=False)
        seeds = np.random.SeedSequence(self.run.seed).spawn(self.run.chains)
        try:
            for number, seed in enumerate(seeds, start=1):
                self._sample_chain(number, seed, kernel, check, advance)
        finally:
            self._write_record(finished=False)  # With its time, should it be stopped.
        summary = self._summarise()
        write_json(summary, self.directory / "summary.json")
        self._write_record(finished=True)
        return summary

    def require_usable(self, kernel: Kernel) -> None:
        """Raise what `restore` raises, before anything is written, if a chain cannot be gone on with."""
        for number in range(1, self.run.chains + 1):
            plan = self._plan(number, kernel)
            if plan.checkpoint.exists():
                restore(plan)

    @functools.cached_property
    def _first_state(self) -> OtState:
        """Any from which chains set out, whose arrays those of others are like; without pilot sweeps."""
        kernel, _ = _kernel_of(self.tableaux, self.settings._replace(pilot=0), self.run)
        return kernel.init(np.random.default_rng(0), None)

    def _plan(self, number: int, kernel: Kernel) -> ChainPlan:
        place = chain_directory(self.directory, number)
        return ChainPlan(
            kernel,
            place / CHECKPOINT,
            OtState,
            self._checked_settings(),
            corpus=self._digests,
            trace=place / TRACE,
            columns=self._columns(),
            checkpoint_every=self.run.checkpoint_every,
            problem=lambda stored: _problem(stored, self._first_state, kernel),
            clock=self._clocks[number - 1],
        )

    def _sample_chain(self, number, seed, kernel, check, advance) -> None:
        chain_directory(self.directory, number).mkdir(exist_ok=True)
        plan = self._plan(number, kernel)
        start = begin_or_restore(plan, lambda: np.random.default_rng(seed))

        def watch(sweep: Sweep) -> None:
            advance(1, f"chain {number}, log joint {sweep.info.log_joint:.0f}")

        drive(plan, start, sweeps=self.run.iterations, check=check, watch=watch)

    def _columns(self) -> Columns:
        columns: list[tuple[str, Callable[[Sweep], float]]] = [
            ("log_joint", lambda sweep: sweep.info.log_joint)
        ]
        fields = ("mean", "deviation") if self.settings.learn_variances else ("mean",)
        for field in fields:
            for i, name in enumerate(self.tableaux.constraints):
                columns.append((f"{field} {name}", _reader(field, i)))
        return columns

    def _checked_settings(self) -> dict[str, Any]:
        """What a resumed chain must agree with."""
        return {**self._plain_settings(), "seed": self.run.seed, "tokens": self.run.tokens}

    def _plain_settings(self) -> dict[str, Any]:
        priors = {str(key): list(prior) for key, prior in self.settings.priors.items()}
        return {**self.settings._asdict(), "priors": priors}

    def _summarise(self) -> dict[str, Any]:
        draws = read_draws(self.directory)
        names = self.tableaux.constraints
        summary = summarise(draws.mean, names, bound=self.settings.truncate or None)
        median = np.array([summary["median"][name] for name in names])
        deviation = np.median(np.concatenate(draws.deviation), axis=0)
        grammar = Grammar("stochastic-ot", names, median, deviation)
        if self.settings.learn_variances:
            summary["deviations"] = summarise(draws.deviation, names)["constraints"]
        predicted = prediction_record(self.tableaux, predict(grammar, self.tableaux))
        write_json(predicted, self.directory / "predictions.json")
        worst = [value for value in summary["rhat"].values() if value is not None]
        return {
            **summary_grammar(grammar),
            **summary,
            "worst_rhat": max(worst, default=None),
            "log_likelihood": predicted["log_likelihood"],
            "correlation": predicted["correlation"],
            "chains": self.run.chains,
            "draws": int(sum(len(chain) for chain in draws.mean)),
            "tokens": self.tokens,
        }

    def _write_record(self, *, finished: bool) -> None:
        record = {
            **origin(__version__),
            "settings": self._plain_settings(),
            "run": self.run._asdict(),
            "constraints": list(self.tableaux.constraints),
            "sweeps": self.run.iterations if finished else 0,
            "finished": finished,
            "corpus": self._digests,
            "seconds": round(sum(clock.seconds for clock in self._clocks), 3),
            "cpu_seconds": round(sum(clock.cpu_seconds for clock in self._clocks), 3),
        }
        write_record(record, self.directory)


def _problem(stored: OtState, like: OtState, kernel: Kernel) -> str | None:
    """What keeps a chain from going on from a state that was read; None if nothing does."""
    if problem := layout_problem(stored, like):
        return problem
    if not all((np.abs(array) < _LARGEST).all() for array in stored):
        return "a number is too large"
    if not (stored.deviation > 1.0 / _LARGEST).all() or not np.isfinite(kernel.log_joint(stored)):
        return "it is not a state that can be reached"
    return None


_LARGEST = 1e6
"""Beyond what means, deviations and values come to, all of which are near the noise's deviation."""


def _reader(field: str, index: int) -> Callable[[Sweep], float]:
    return lambda sweep: float(getattr(sweep.info, field)[index])
