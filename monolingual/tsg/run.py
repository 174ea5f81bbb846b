"""Run directories of `tsg train`: the chain with its trace and checkpoint, and what it learnt.

A run directory holds `run.json` (settings, seed, versions, digests, time), the sentences as they were learnt
from (see `corpus`), `chosen.mrg.gz` (the last state's trees of those that have several), `known.txt.gz`
(words that are no signatures), `trace.tsv`, `checkpoint.npz`, `grammar.tsg.gz` (elementary trees of the last
state with their counts), `pcfg.tsg.gz` (the productions of the trees), `parameters.tsv` (concentration and
stop probability of every label), and if wanted `samples/` (earlier states' elementary trees) and
`marginals.json`.

The fact a newcomer would get wrong: an older run is removed only when its successor can begin, its checkpoint
first, so that nobody goes on with a mixture of two.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.tsg.corpus import (
    CORPUS_FILES,
    Corpus,
    chosen_trees,
    corpus_digests,
    gather,
    read_corpus,
    write_corpus,
)
from monolingual.tsg.derivations import SplitTree, split_trees
from monolingual.tsg.fragments import (
    production_fragments,
    seated_fragments,
    write_fragments,
)
from monolingual.tsg.learnt import GRAMMAR, KNOWN, PARAMETERS, PCFG, read_record
from monolingual.tsg.marginals import NodeCounts
from monolingual.tsg.preparation import Preparation
from monolingual.tsg.recurring import recurring_fragments, require_single_trees
from monolingual.tsg.sampler import SweepInfo, TsgState, state_problem, tsg_kernel
from monolingual.tsg.settings import (
    RunSettings,
    Sources,
    TsgSettings,
    check_run_settings,
    check_settings,
    states_kept,
)
from monolingual.tsg.treebank import Treebank
from monolingual.tsg.trees import format_tree
from scfg_sampler import __version__
from scfg_sampler.core.chains.chain import Sweep
from scfg_sampler.core.chains.checkpoint import sweeps_kept
from scfg_sampler.core.chains.driver import ChainPlan, Columns, Stopwatch, begin_or_restore, drive, restore
from scfg_sampler.core.chains.occupied import beginning, clear, refuse_occupied
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.core.chains.run_directory import (
    CHECKPOINT,
    TRACE,
    origin,
    require_beyond_burn_in,
    require_sweeps_left,
    write_json,
    write_record,
)
from scfg_sampler.core.executors import Executor
from scfg_sampler.core.executors import threads as thread_pool
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.errors import InputError

__all__ = ["Conduct", "read_derivations", "resume_run", "start_run", "sweeps_done"]

_CHOSEN = "chosen.mrg.gz"
_RESULTS = (CHECKPOINT, TRACE, "marginals.json", GRAMMAR, _CHOSEN, "samples/*.tsg.gz")
"""What a run writes beside its record and what it learns from, as patterns of `run_directory.clear`."""
_FILES = (*_RESULTS, *CORPUS_FILES, KNOWN, PCFG, PARAMETERS)


class Conduct(NamedTuple):
    """How a run is made; what comes of it does not depend on this."""

    check: bool = False
    """Recount the log joint after every sweep."""
    advance: Callable[[int, str], Any] = lambda steps, note: None
    """Told of every sweep: 1 and a few words."""
    executor: Executor | None = None
    """Visits the shards; by default so many threads as the run says."""


class _RunState(NamedTuple):
    """What a checkpoint holds."""

    chain: TsgState
    marginals: np.ndarray


def start_run(
    sources: Sources,
    output: PathLike,
    settings: TsgSettings,
    preparation: Preparation,
    run: RunSettings,
    *,
    overwrite: bool = False,
    conduct: Conduct | None = None,
) -> dict[str, Any]:
    """Learn a grammar from some sentences into a new run directory; what `run.json` says in the end.

    Parameters
    ----------
    sources : Sources
    output : path
        The run directory; made if need be.
    settings : TsgSettings
    preparation : Preparation
    run : RunSettings
    overwrite : bool
        Whether an older run in the directory may be replaced.
    conduct : Conduct, optional

    Raises
    ------
    TreeError
        The sentences cannot be read.
    InputError
        The directory holds a run already.
    SettingsError
        A setting is out of range.
    """
    directory = Path(output)
    check_run_settings(settings, run)
    check_settings(settings)
    refuse_occupied(output, overwrite, "tsg resume", *_FILES)
    corpus, preparation = gather(sources, preparation)
    treebank = corpus.treebank()
    for option, choice in (("--method", run.method), ("--start", settings.start)):
        if choice == "2dop":
            require_single_trees(treebank, f"{option} 2dop")
    with owned(output):
        refuse_occupied(output, overwrite, "tsg resume", *_FILES)
        with beginning(output, *_FILES):
            _clear_and_write(directory, corpus, preparation)
            write_fragments(directory / PCFG, production_fragments(treebank))
            learner = _Run(directory, corpus, treebank, settings, preparation, run)
            return learner.compare_trees() if run.method == "2dop" else learner.sample(conduct or Conduct())


def _clear_and_write(directory: Path, corpus: Corpus, preparation: Preparation) -> None:
    """Remove an older run, its checkpoint first, and write what is learnt from."""
    clear(directory, *_RESULTS)
    write_corpus(directory, corpus)
    with atomic_output(directory / KNOWN) as stream:
        stream.writelines(word + "\n" for word in sorted(preparation.known))


def resume_run(
    output: PathLike,
    iterations: int | None = None,
    *,
    threads: int | None = None,
    conduct: Conduct | None = None,
) -> dict[str, Any]:
    """Continue the run in a directory up to `iterations` sweeps; what `run.json` says in the end.

    Parameters
    ----------
    output : path
    iterations : int, optional
        By default what the run was started with.
    threads : int, optional
        Shards visited at a time; by default as started.
    conduct : Conduct, optional

    Raises
    ------
    InputError
        There is no run.
    CheckpointMismatch
        The sentences have been changed.
    SettingsError
        The run has as many sweeps already.
    """
    read_record(output)
    with owned(output):
        learner = _restored(Path(output), iterations, threads)
        return learner.sample(conduct or Conduct())


def sweeps_done(directory: PathLike, record: Mapping[str, Any]) -> int:
    """How many sweeps a run has that `resume_run` would go on with.

    Parameters
    ----------
    directory : path
    record : mapping
        What its `run.json` says.
    """
    return sweeps_kept(Path(directory) / CHECKPOINT, record["sweeps"])


def _restored(directory: Path, iterations: int | None, threads: int | None) -> _Run:
    """The run of a directory that this process owns, with another number of sweeps or threads if given."""
    record = read_record(directory)
    run: RunSettings = record["run"]
    if run.method == "2dop":
        hint = "Train with --method gibbs for a chain"
        raise InputError(
            directory, None, "holds a Double-DOP grammar, which has no sweeps to go on with", hint
        )
    if iterations is not None:
        require_beyond_burn_in(iterations, run.burn_in)
    iterations = run.iterations if iterations is None else iterations
    run = run._replace(iterations=iterations, threads=run.threads if threads is None else threads)
    check_run_settings(record["settings"], run)
    sweeps = sweeps_done(directory, record)
    require_sweeps_left(directory, sweeps, run.iterations, is_finished=record["finished"])
    corpus = read_corpus(directory)
    return _Run(directory, corpus, corpus.treebank(), record["settings"], record["preparation"], run)


def read_derivations(directory: PathLike) -> list[SplitTree]:
    """The trees of a run as its last state has split them; none where it has no checkpoint.

    Raises
    ------
    InputError, CheckpointMismatch
        It is no run, or its checkpoint is damaged.
    """
    place, record = Path(directory), read_record(directory)
    if not (place / CHECKPOINT).exists():
        return []
    corpus = read_corpus(place)
    chain = _Run(place, corpus, corpus.treebank(), record["settings"], record["preparation"], record["run"])
    with thread_pool(1) as executor:
        state = restore(chain.plan(executor)).state
    return list(split_trees(corpus, chain.treebank, state.trees))


class _Run:
    """One run: its chain and the files it writes."""

    def __init__(
        self,
        directory: Path,
        corpus: Corpus,
        treebank: Treebank,
        settings: TsgSettings,
        preparation: Preparation,
        run: RunSettings,
    ):
        self.directory, self.corpus, self.treebank = directory, corpus, treebank
        self.settings, self.preparation, self.run = settings, preparation, run
        self.nodes = NodeCounts(treebank, run.burn_in) if run.marginals else None
        self._digests = corpus_digests(directory)
        self._clock = Stopwatch()

    def sample(self, conduct: Conduct) -> dict[str, Any]:
        """Run the sweeps that are left and write the directory."""
        number = max(1, min(self.run.threads, self.settings.shards))
        given = contextlib.nullcontext(conduct.executor) if conduct.executor else thread_pool(number)
        with given as executor:
            return self._sample(executor, conduct)

    def _sample(self, executor: Executor, conduct: Conduct) -> dict[str, Any]:
        plan, run = self.plan(executor), self.run
        place = begin_or_restore(plan, lambda: np.random.default_rng(run.seed))
        self._write_record(sweeps=place.sweep, finished=False)

        def watch(sweep: Sweep) -> None:
            said = f"log joint {sweep.info.log_joint:.0f}, {sweep.info.types} trees"
            conduct.advance(1, said + executor.status())

        try:
            state = drive(plan, place, sweeps=run.iterations, check=conduct.check, watch=watch)
        finally:
            self._write_record(sweeps=place.sweep, finished=False)  # With its time, should it be stopped.
        self._write_results(state)
        self._remove_others()
        return self._write_record(sweeps=run.iterations, finished=True)

    def compare_trees(self) -> dict[str, Any]:
        """Write the directory of a Double-DOP grammar: relative frequencies, next to nothing for the base."""
        labels = self.treebank.productions.labels
        self._write_parameters(dict.fromkeys(labels, 1e-9), dict.fromkeys(labels, 0.5))
        with self._clock.running():
            fragments = self._clock.timed(recurring_fragments)(self.treebank)
        write_fragments(self.directory / GRAMMAR, fragments)
        return self._write_record(sweeps=0, finished=True, fragments=len(fragments))

    def plan(self, executor: Executor) -> ChainPlan:
        """How its chain is stored, and goes on."""
        settings = {**self.settings._asdict(), "seed": self.run.seed, "burn_in": self.run.burn_in}
        if self.settings.shards == 1:
            del settings["shards"]  # Checkpoints of earlier versions do not have it.
        return ChainPlan(
            tsg_kernel(self.treebank, self.settings, executor),
            self.directory / CHECKPOINT,
            _RunState,
            settings,
            corpus=self._digests,
            trace=self.directory / TRACE,
            columns=_columns(),
            sinks=[self._keep_sample] if self.nodes is None else [self.nodes, self._keep_sample],
            pack=self._packed,
            unpack=self._unpacked,
            checkpoint_every=self.run.checkpoint_every,
            problem=self._problem,
            clock=self._clock,
        )

    def _packed(self, state: TsgState) -> _RunState:
        counts = np.zeros((0, 2), np.int64) if self.nodes is None else self.nodes.counts
        return _RunState(state, counts)

    def _problem(self, stored: _RunState) -> str | None:
        """What keeps this chain from going on from something stored."""
        rows = (0, 2) if self.nodes is None else self.nodes.counts.shape
        if stored.marginals.dtype != np.int64 or stored.marginals.shape != rows:
            return f"marginals is {stored.marginals.dtype} {stored.marginals.shape}"
        return state_problem(self.treebank, self.settings, stored.chain)

    def _unpacked(self, stored: _RunState) -> TsgState:
        if self.nodes is not None:
            self.nodes.counts = stored.marginals
        return stored.chain

    def _keep_sample(self, sweep: Sweep) -> None:
        path = self._sample_path(sweep.index)
        if path is not None:
            path.parent.mkdir(exist_ok=True)
            self._write_fragments(path, sweep.state)

    def _sample_path(self, index: int) -> Path | None:
        """Where the state after a sweep is kept, if it is."""
        left = self.run.iterations - 1 - index
        samples, thin = states_kept(self.run)
        if left % thin or left >= samples * thin:
            return None
        return self.directory / "samples" / f"sweep-{index + 1:07d}.tsg.gz"

    def _remove_others(self) -> None:
        """Remove states that the run kept when it was to be shorter, and its own do not stand among."""
        kept = {self._sample_path(index) for index in range(self.run.iterations)}
        for path in self.directory.glob("samples/sweep-*.tsg.gz"):
            if path not in kept:
                path.unlink()

    def _write_fragments(self, path: Path, state: TsgState) -> None:
        write_fragments(path, *seated_fragments(self.treebank, state.restaurants, state.trees))

    def _write_results(self, state: TsgState) -> None:
        labels = self.treebank.productions.labels
        concentration = dict(zip(labels, state.restaurants.strength.tolist(), strict=True))
        self._write_parameters(concentration, dict(zip(labels, (1.0 - state.expand).tolist(), strict=True)))
        if self.corpus.forests:
            with atomic_output(self.directory / _CHOSEN) as stream:
                for tree in chosen_trees(self.corpus, self.treebank, state.trees, self.preparation):
                    stream.write(format_tree(tree) + "\n")
        self._write_fragments(self.directory / GRAMMAR, state)
        if self.nodes is not None:
            write_json(self._marginals_record(self.nodes.counts), self.directory / "marginals.json")

    def _write_parameters(self, concentration: Mapping[str, float], stop: Mapping[str, float]) -> None:
        with atomic_output(self.directory / PARAMETERS) as stream:
            stream.write("label\tconcentration\tstop\n")
            stream.writelines(f"{name}\t{concentration[name]!r}\t{stop[name]!r}\n" for name in concentration)

    def _marginals_record(self, counts: np.ndarray) -> dict[str, Any]:
        treebank, names = self.treebank, self.treebank.productions.labels
        shares = counts[:, 1] / np.maximum(1, counts[:, 0])
        present = counts[:, 0] / (self.run.iterations - self.run.burn_in)
        trees = []
        for first, stop in itertools.pairwise(treebank.node_start):
            nodes = [
                {
                    "label": names[treebank.label[k]],
                    "span": treebank.spans[k].tolist(),
                    "cut": float(shares[k]),
                    "present": float(present[k]),
                }
                for k in range(first + 1, stop)
            ]
            trees.append({"nodes": nodes})
        return {"sweeps": self.run.iterations - self.run.burn_in, "trees": trees}

    def _roots(self) -> dict[str, int]:
        """How many trees have each label at the root."""
        roots = self.treebank.label[self.treebank.node_start[:-1]]
        counts = np.bincount(roots, minlength=len(self.treebank.productions.labels)).tolist()
        return {name: n for name, n in zip(self.treebank.productions.labels, counts, strict=True) if n}

    def _write_record(self, *, sweeps: int, finished: bool, **others: Any) -> dict[str, Any]:
        preparation = self.preparation._asdict()
        del preparation["known"]
        record = {
            **origin(__version__),
            "settings": self.settings._asdict(),
            "run": self.run._asdict(),
            "preparation": preparation,
            "sweeps": sweeps,
            "finished": finished,
            "sentences": self.treebank.num_sentences,
            "nodes": len(self.treebank.label),
            "productions": len(self.treebank.productions.lhs),
            "roots": self._roots(),
            **others,
            "corpus": self._digests,
            "seconds": round(self._clock.seconds, 3),
            "cpu_seconds": round(self._clock.cpu_seconds, 3),
        }
        write_record(record, self.directory)
        return record


def _columns() -> Columns:
    return [(name, operator.attrgetter(f"info.{name}")) for name in SweepInfo._fields]
