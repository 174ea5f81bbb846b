"""Run directories: a chain of the learner from the first sweep to the last, and all it leaves on disk.

A run directory holds `run.json` (settings, seed, versions, digests, skipped sentences, time, memory),
`trace.tsv` (a row per sweep), `checkpoint.npz` (to resume from), `collected/` (rules counted that are more
than memory was to hold, to which the checkpoint refers), `counts/` (mean rule counts of kept states, as rule
tables with LogCount and LogPosterior: `last`, `average`, `marginal`), `lex.f2e` and `lex.e2f` (lexical
translation tables of the corpus), `derivations.jsonl.gz` (the last state), and, if asked, `marginals.json`.
So everything `grammar` needs is in the directory, not in the corpus.

The fact a newcomer would get wrong: `average` counts the states *before* sweeps 0, 10, 20, … as the paper
does, the initial state among them; `marginal` counts the states after every sweep from `burn_in` on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import operator
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scfg_sampler import __version__
from scfg_sampler.core.chains.chain import Sweep
from scfg_sampler.core.chains.driver import ChainPlan, Columns, Place, Stopwatch, begin, drive, restore
from scfg_sampler.core.chains.occupied import CHAINS, clear, refuse_loss, refuse_occupied
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.core.chains.run_directory import (
    CHECKPOINT,
    RECORD,
    TRACE,
    has_checkpoint,
    origin,
    read_record,
    require_beyond_burn_in,
    require_each,
    require_numbers,
    require_same_files,
    require_sweeps_left,
    stored_settings,
    write_record,
    wrong_setting,
)
from scfg_sampler.core.executors import Executor, InProcess, threads
from scfg_sampler.core.files import PathLike, file_digest, refuse_stream
from scfg_sampler.core.leftovers import temporary_directory
from scfg_sampler.corpus.parallel_text import CorpusFiles, ParallelCorpus
from scfg_sampler.corpus.sanity import warn_of_odd_pairs
from scfg_sampler.errors import InputError
from scfg_sampler.learner.chain import LearnerState, empty_state, learner_kernel
from scfg_sampler.learner.collection import Collection
from scfg_sampler.learner.derivations import write_derivations, write_marginals
from scfg_sampler.learner.division import divided
from scfg_sampler.learner.gathering import Gatherer, Shelf
from scfg_sampler.learner.labels import bank_of
from scfg_sampler.learner.results import write_counts
from scfg_sampler.learner.settings import (
    LearnerSettings,
    RunSettings,
    check_run_settings,
    check_settings,
)
from scfg_sampler.learner.signature import signature_fields
from scfg_sampler.learner.stored import RunState, stored_problem
from scfg_sampler.rules.lexical import estimate, write_lexical
from scfg_sampler.rules.text import signature

_COLLECTED = "collected"
_FILES = ("lex.f2e", "lex.e2f", "derivations.jsonl.gz", "marginals.json")
RESULTS = (CHECKPOINT, TRACE, _COLLECTED, CHAINS, "counts", *_FILES)
"""What a run writes beside its record, as patterns of `run_directory.clear`."""

__all__ = [
    "RESULTS",
    "clear_run",
    "new_record",
    "read_run",
    "restored_results",
    "resume_run",
    "start_run",
]


def start_run(
    files: CorpusFiles,
    output: PathLike,
    settings: LearnerSettings,
    run: RunSettings,
    *,
    overwrite: bool = False,
    check: bool = False,
    advance: Callable[[int, str], Any] = lambda steps, note: None,
    executor: Executor | None = None,
) -> dict:
    """Sample a grammar for a corpus into a new run directory; what `run.json` says in the end.

    Parameters
    ----------
    files : CorpusFiles
    output : path
        The run directory; made if need be.
    settings : LearnerSettings
    run : RunSettings
    overwrite : bool
        Whether an older run in the directory may be replaced.
    check : bool
        Recount everything after every sweep.
    advance : callable
        Told of every sweep: 1 and a few words.
    executor : Executor, optional
        Sweeps the shards; by default so many threads as `run` says.

    Raises
    ------
    InputError
        The corpus cannot be used, or the directory holds a run already.
    SettingsError
        A setting is out of range.
    """
    check_run_settings(run)
    refuse_occupied(output, overwrite, "scfg-sampler resume", *RESULTS)
    refuse_loss(output, files.by_name().values(), *RESULTS)
    with _executor(executor, settings, run) as tasks:
        chain = _Chain(Path(output), files, settings, run, 0, tasks)
        warn_of_odd_pairs(chain.corpus, files)
        with owned(output):
            refuse_occupied(output, overwrite, "scfg-sampler resume", *RESULTS)
            clear_run(output)
            return chain.begin(check, advance)


def _executor(
    executor: Executor | None, settings: LearnerSettings, run: RunSettings
) -> contextlib.AbstractContextManager[Executor]:
    """That which was given, or so many threads as the run says."""
    number = max(1, min(run.threads, settings.shards))
    return contextlib.nullcontext(executor) if executor else threads(number)


def new_record(files: CorpusFiles, settings: LearnerSettings, run: RunSettings, stream: int = 0) -> dict:
    """What `run.json` says of a run that is about to begin: no sweeps. `resume_run` begins it.

    Parameters
    ----------
    files, settings, run
        As in `start_run`.
    stream : int
        Which of the random streams of the seed; chains that differ in nothing else are independent.

    Raises
    ------
    InputError, SettingsError
        As in `start_run`.
    """
    check_run_settings(run)
    chain = _Chain(Path(), files, settings, run, stream, InProcess())
    warn_of_odd_pairs(chain.corpus, files)
    return chain.record(0, finished=False)


def clear_run(output: PathLike) -> None:
    """Remove an older run from a directory, its chains included.

    Its record goes first: whenever the process ends, no directory says more than it holds.

    Parameters
    ----------
    output : path
        Need not exist.
    """
    clear(output, *RESULTS)


def resume_run(
    output: PathLike,
    iterations: int | None = None,
    *,
    check: bool = False,
    advance: Callable[[int, str], Any] = lambda steps, note: None,
    executor: Executor | None = None,
) -> dict:
    """Continue the run in a directory up to `iterations` sweeps in all; what `run.json` says in the end.

    A run that was stopped before its first checkpoint has done nothing yet, and begins.

    Parameters
    ----------
    output : path
    iterations : int, optional
        By default what the run was started with.
    check : bool
    advance : callable
    executor : Executor, optional
        As in `start_run`.

    Raises
    ------
    InputError
        There is no run, or its corpus or checkpoint is gone.
    CheckpointMismatch
        The corpus has changed.
    SettingsError
        The run has as many sweeps already.
    """
    directory = Path(output)
    read_run(directory)
    with owned(directory):
        record, settings, run = _stored(directory, iterations)
        with _executor(executor, settings, run) as tasks:
            chain = _reopened(directory, record, settings, run, tasks)
            return _resume(directory, record, chain, check, advance)


def _resume(
    directory: Path, record: dict, chain: _Chain, check: bool, advance: Callable[[int, str], Any]
) -> dict:
    """`resume_run` of a directory that this process owns."""
    require_same_files(directory, record["corpus"]["files"], record["corpus"]["sha256"])
    if not has_checkpoint(directory, record):
        return chain.begin(check, advance)
    place = restore(chain.plan)
    require_sweeps_left(directory, place.sweep, chain.run.iterations, is_finished=record["finished"])
    return chain.go_on(place, check, advance)


def restored_results(directory: PathLike, output: PathLike) -> tuple[dict, float]:
    """What `run.json` says, and the log joint of the checkpoint's state; writes what a finished run has left.

    Parameters
    ----------
    directory : path
    output : path
        Another directory: counts, derivations and all else are made anew from checkpoint and corpus.

    Raises
    ------
    InputError, CheckpointMismatch
        As in `resume_run`; or `run.json` and the checkpoint do not agree on how many sweeps were done.
    """
    record, settings, run = _stored(Path(directory), None)
    chain = _reopened(Path(directory), record, settings, run, InProcess())
    place = restore(chain.plan)
    if record["finished"] and record["sweeps"] != place.sweep:
        found = f"is of sweep {place.sweep}, but {RECORD} tells of {record['sweeps']}"
        raise InputError(
            Path(directory) / CHECKPOINT, None, found, "Restore the file, or start the run again"
        )
    if record["finished"]:
        chain.write_results(place.state, record, Path(output))
    return {**record, "sweeps": place.sweep}, chain.plan.kernel.log_joint(place.state)


def _stored(directory: Path, iterations: int | None) -> tuple[dict, LearnerSettings, RunSettings]:
    """What `run.json` says, and the settings in it, of so many iterations if that is given."""
    record = read_run(directory)
    origin_of = directory / RECORD, record["versions"]["scfg-sampler"]
    run = stored_settings(RunSettings, record["run"], *origin_of)
    if iterations is not None:
        require_beyond_burn_in(iterations, run.burn_in)
        run = run._replace(iterations=iterations)
    check_run_settings(run)
    return record, stored_settings(LearnerSettings, record["settings"], *origin_of), run


def _reopened(
    directory: Path, record: dict, settings: LearnerSettings, run: RunSettings, executor: Executor
) -> _Chain:
    """The chain that `run.json` tells of."""
    files = CorpusFiles.from_names(record["corpus"]["files"])
    chain = _Chain(directory, files, settings, run, record.get("stream", 0), executor)
    chain.goes_on_from(record["cpu_seconds"], record["peak_memory_mb"])
    return chain


def read_run(directory: PathLike) -> dict:
    """What `run.json` of a run directory says.

    Parameters
    ----------
    directory : path

    Raises
    ------
    InputError
        It is not a run directory.
    """

    def restored(record: dict) -> dict:
        learned = record["settings"].get("learned", [])
        require_each(list, learned)
        require_each(str, *learned)
        files, digests, run = record["corpus"]["files"], record["corpus"]["sha256"], record["run"]
        CorpusFiles.from_names(files)
        for name in ("iterations", "burn_in"):
            if type(run[name]) is not int:
                raise wrong_setting(Path(directory) / RECORD, name, run[name])
        numbers = (record["sweeps"], record.get("chains", 1), record.get("stream", 0))
        sizes = [record["corpus"][name] for name in ("sentences", "source_words", "target_words")]
        require_each(int, *numbers, *sizes, *(each["sentence"] for each in record["skipped"]))
        require_each(str, *(each["reason"] for each in record["skipped"]))
        require_numbers(record["cpu_seconds"], record["peak_memory_mb"])
        require_each(str, *files.values(), *digests.values(), record["versions"]["scfg-sampler"])
        require_each(bool, record["finished"])
        signature_fields(record)  # Which takes what is in it.
        return record

    return read_record(directory, "scfg-sampler sample", restored)


class _Chain:
    """One run: the chain, what is counted of it, and the files it writes."""

    def __init__(
        self,
        directory: Path,
        files: CorpusFiles,
        settings: LearnerSettings,
        run: RunSettings,
        stream: int,
        executor: Executor,
    ):
        self.directory, self.paths, self.settings, self.run = directory, files.by_name(), settings, run
        self._stream, self._executor = stream, executor
        check_settings(settings)
        for path in self.paths.values():
            refuse_stream(path)
        self.bank = bank_of(files, settings)
        self.corpus: ParallelCorpus = self.bank.corpus
        self.digests = {name: file_digest(path) for name, path in self.paths.items()}
        if len(self.bank.skipped) == self.bank.num_sentences:
            hint = "No sentence has both links and at most --max-length words; are these the right files?"
            raise InputError(files.source, None, "nothing is left to learn from", hint)
        self._shelf = Shelf(directory / _COLLECTED, self._identity(), self.bank)
        self._division = divided(self.bank, settings, executor)
        self.kept = Collection(self.bank, run, self._shelf, self._division)
        self.clock = Stopwatch(executor.at_a_time == 1)
        kernel = learner_kernel(self.bank, settings, self._division)
        self.plan = ChainPlan(
            kernel._replace(step=self.clock.timed(kernel.step)),
            directory / CHECKPOINT,
            RunState,
            self._checked_settings(),
            corpus=self.digests,
            trace=directory / TRACE,
            columns=self._columns(),
            sinks=[self.clock.timed(self.kept)],
            pack=self._saved,
            unpack=self._unpacked,
            checkpoint_every=run.checkpoint_every,
            problem=self._problem,
        )
        self._record: dict = {}
        self._recorded = -math.inf
        self._cpu, self._spent = self.clock.processor_time(), (0.0, 0.0)

    def goes_on_from(self, cpu_seconds: float, peak_memory: float) -> None:
        """Add what processes before this one have taken, in seconds and MB."""
        self._spent = cpu_seconds, peak_memory

    def _checked_settings(self) -> dict:
        """What a resumed run must agree with."""
        run = self.run._asdict()
        settings = {**self.settings._asdict(), "learned": list(self.settings.learned)}
        return {**settings, **{name: run[name] for name in ("burn_in", "seed", "marginals")}}

    def _identity(self) -> str:
        """What tells this chain from every other."""
        settings = {**self._checked_settings(), "stream": self._stream}
        text = json.dumps({"settings": settings, "corpus": self.digests}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def begin(self, check: bool, advance: Callable[[int, str], Any]) -> dict:
        """All sweeps from the first one on, and the directory."""
        self._write_record(0, finished=False)  # What a process killed before the first checkpoint leaves.
        seeds = np.random.SeedSequence(self.run.seed).spawn(self._stream + 1)
        rng = np.random.default_rng(seeds[self._stream])
        state = self.plan.kernel.init(rng, None)
        self.kept.add_to_average(state)
        return self.go_on(begin(self.plan, rng, state), check, advance)

    def go_on(self, place: Place, check: bool, advance: Callable[[int, str], Any]) -> dict:
        """Run the sweeps that are left and write the directory."""
        self._write_record(place.sweep, finished=False)
        self.kept.forget_others(saving=False)
        self.clock.start()

        def watch(sweep: Sweep) -> None:
            self._write_record(sweep.index + 1, finished=False, seldom=True)
            advance(1, f"log joint {sweep.info.log_joint:.0f}{self._executor.status()}")

        state = drive(self.plan, place, sweeps=self.run.iterations, check=check, watch=watch)
        self.clock.stop()
        self.kept.forget_others(saving=False)
        record = self._write_record(self.run.iterations, finished=False)
        self.write_results(state, record, self.directory)
        return self._write_record(self.run.iterations, finished=True)

    def _columns(self) -> Columns:
        names = [
            "level",
            "temperature",
            "log_joint",
            "rules",
            "types",
            "tables",
            "edges_changed",
            "cuts_changed",
        ]
        columns: list[tuple[str, Callable[[Sweep], float]]] = [
            (name, operator.attrgetter(f"info.{name}")) for name in names
        ]
        columns.append(("seconds", lambda sweep: round(self.clock.seconds, 3)))
        columns.append(("cpu_seconds", lambda sweep: round(self.clock.cpu_seconds, 3)))
        more = ["acceptance", "discount", "strength", "mean_length", "evaluations"]
        return columns + [(name, operator.attrgetter(f"info.{name}")) for name in more]

    def _saved(self, state: LearnerState) -> RunState:
        """What a checkpoint is to hold that is about to be written."""
        self.kept.forget_others(saving=True)
        return self._packed(state)

    def _packed(self, state: LearnerState) -> RunState:
        kept, clock = self.kept, self.clock
        gathered = kept.marginal.gathered(), kept.average.gathered()
        return RunState(state, *gathered, kept.nodes, clock.seconds, clock.cpu_seconds)

    def _problem(self, stored: RunState) -> str | None:
        """What keeps this chain from going on from something stored."""
        like = self._packed(empty_state(self.bank, self.settings))
        problem = stored_problem(self.bank, self.plan.kernel, stored, like)
        problem = problem or self.kept.marginal.problem(stored.marginal)
        return problem or self.kept.average.problem(stored.average)

    def _unpacked(self, stored: RunState) -> LearnerState:
        kept = self.kept
        kept.marginal.go_on_from(stored.marginal)
        kept.average.go_on_from(stored.average)
        kept.nodes = stored.marginals
        self.clock.go_back_to(stored.seconds, stored.cpu_seconds)
        return stored.learner

    def write_results(self, state: LearnerState, record: dict, output: Path) -> None:
        """Write what the chain has learnt into a directory."""
        kept, fields = self.kept, signature_fields(record)
        output.mkdir(parents=True, exist_ok=True)
        with temporary_directory("scfg-last-", output) as folder:
            shelf = Shelf(folder / _COLLECTED, self._identity(), self.bank)
            last = Gatherer(self.bank, shelf, "last", self.run.memory, self._division)
            last.add(state.trees)
            for name, gathered in (("last", last), ("average", kept.average), ("marginal", kept.marginal)):
                made = [*fields, ("counts", name), ("states", gathered.states)]
                path = output / "counts" / f"{name}.gz"
                write_counts(path, self.bank, self.settings, state, gathered, signature(made))
        vocabularies = self.corpus.source_vocabulary, self.corpus.target_vocabulary
        write_lexical(estimate(self.corpus), *vocabularies, output / "lex")
        write_derivations(output / "derivations.jsonl.gz", self.bank, state.trees)
        if self.run.marginals:
            path, rules = output / "marginals.json", kept.marginal.unordered()
            write_marginals(path, self.bank, kept.nodes, kept.marginal.states, rules)

    def _write_record(self, sweeps: int, *, finished: bool, seldom: bool = False) -> dict:
        now = time.perf_counter()
        if seldom and now - self._recorded < 10.0:
            return self._record
        self._recorded = now
        self._record = self.record(sweeps, finished=finished)
        write_record(self._record, self.directory)
        return self._record

    def record(self, sweeps: int, *, finished: bool) -> dict:
        """What `run.json` is to say after so many sweeps."""
        skipped = [{"sentence": s, "reason": reason} for s, reason in self.bank.skipped.items()]
        unit = 1024 if sys.platform != "darwin" else 1024**2
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
        return {
            **origin(__version__),
            "settings": self.settings._asdict(),
            "run": self.run._asdict(),
            "stream": self._stream,
            "sweeps": sweeps,
            "finished": finished,
            "corpus": {
                "files": {name: str(Path(path).resolve()) for name, path in self.paths.items()},
                "sha256": self.digests,
                "sentences": self.bank.num_sentences,
                "source_words": len(self.corpus.source),
                "target_words": len(self.corpus.target),
            },
            "skipped": skipped,
            "seconds": round(self.clock.seconds, 3),
            "cpu_seconds": round(self._spent[0] + self.clock.processor_time() - self._cpu, 3),
            "peak_memory_mb": round(max(self._spent[1], memory), 1),
        }
