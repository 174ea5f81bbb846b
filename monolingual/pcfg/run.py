"""Run directories of `pcfg sample`: chains from the first sweep to the last, and all they leave on disk.

A run directory holds `run.json` (settings, seed, versions, digests, time), for each chain `trace.K.tsv` (a
row per block of sweeps) and `checkpoint.K.npz` (to resume from), and, written when all chains have ended or
on Ctrl-C, `samples.npz` (kept draws of the rule probabilities, row for row with their chain, log Z, log joint
and rejections), `summary.json` and `trees.txt.gz` (the last tree of every sentence).

The fact a newcomer would get wrong: the rows of `samples.npz` belong to the rules named there, which are
those of the grammar file without useless ones, grouped by nonterminal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.pcfg.collapsed import CollapsedState, collapsed_kernel
from monolingual.pcfg.gibbs import State, gibbs_kernel
from monolingual.pcfg.grammar import num_rules, rule_name
from monolingual.pcfg.model import Data, Model
from monolingual.pcfg.partition import newton_partition
from monolingual.pcfg.posterior import draw_dirichlets
from monolingual.pcfg.scores import Brackets, brackets_of, refuse_other_sentences, score
from monolingual.pcfg.settings import Handling, SampleSettings, check_settings
from monolingual.pcfg.summary import summarise
from monolingual.pcfg.tally import Kept, add_block, empty_tally
from monolingual.pcfg.tightness import tight_probs
from monolingual.pcfg.tree_draws import Trees
from monolingual.pcfg.trees import format_tree
from monolingual.priors.multinomials import normalise
from scfg_sampler import __version__
from scfg_sampler.core import draws
from scfg_sampler.core.chains.chain import Sweep
from scfg_sampler.core.chains.driver import ChainPlan, Columns, Place, Stopwatch, begin, drive, restore
from scfg_sampler.core.chains.occupied import clear
from scfg_sampler.core.chains.owner import owned
from scfg_sampler.core.chains.run_directory import RECORD, origin, require_at_least, write_json, write_record
from scfg_sampler.core.files import PathLike, atomic_output
from scfg_sampler.core.limits import require_number
from scfg_sampler.errors import CheckpointMismatch, InputError, SettingsError

__all__ = ["RESULTS", "Task", "sample"]

RESULTS = ("checkpoint.*.npz", "trace.*.tsv", "samples.npz", "summary.json", "trees.txt.gz")
"""What a run writes beside its record, as patterns of `run_directory.clear`."""

_BLOCK_WORK = 100_000


class _GibbsCheckpoint(NamedTuple):
    state: State
    kept: Kept


class _CollapsedCheckpoint(NamedTuple):
    state: CollapsedState
    kept: Kept


def _ignore(steps: float, note: str = "") -> None:
    """Progress that nobody sees."""


class Task(NamedTuple):
    """What a run learns from.

    Attributes
    ----------
    model : Model
    data : Data
    probs : float64, shape (R,)
        Where chains start with `start="weights"`.
    gold : Brackets or None
        Gold trees of the sentences, to score against.
    described : dict
        What else `run.json` is to say: the command's files and their digests. Resuming compares it.
    """

    model: Model
    data: Data
    probs: np.ndarray
    gold: Brackets | None = None
    described: Mapping[str, Any] = {}


def sample(
    task: Task,
    output: PathLike,
    settings: SampleSettings,
    handling: Handling,
    *,
    resume: bool = False,
    advance: Callable[..., Any] = _ignore,
) -> dict:
    """Sample, and write a run directory; what `summary.json` says.

    Parameters
    ----------
    task : Task
    output : path
    settings : SampleSettings
    handling : Handling
    resume : bool
        Go on with the chains in `output`.
    advance : callable
        Told how many sweeps are done.

    Raises
    ------
    SettingsError
        A setting is out of range, or the draws would not fit into memory.
    CheckpointMismatch
        On resuming with other settings, another grammar or other data.
    """
    model, data = task.model, task.data
    check_settings(settings, len(model.prior), data.num_trees + len(data.start) - 1)
    require_number("threads", handling.threads)
    if handling.checkpoint_every is not None:
        require_at_least(handling, checkpoint_every=0)
    if task.gold is not None:
        refuse_other_sentences(np.diff(data.start), task.gold)
    directory = Path(output)
    shared = _Shared(task, settings, handling)
    described = {**settings._asdict(), **task.described, "block": shared.block}
    with owned(output):
        return _sample(shared, directory, described, resume, advance)


def _sample(
    shared: _Shared,
    directory: Path,
    described: dict[str, Any],
    resume: bool,
    advance: Callable[..., Any],
) -> dict:
    """`sample` into a directory that this process owns."""
    model, data, settings = shared.model, shared.data, shared.settings
    if not resume:
        clear(directory, *RESULTS)
    before = (directory / RECORD).read_text(encoding="utf-8") if resume else None
    write_record(_record(described, shared.clocks, finished=False), directory)
    chains: list[Kept] = []
    begun = 0
    try:
        for number in range(settings.chains):
            begun = number + 1
            chain = _Chain(shared, number, directory, described)
            try:
                chain.go(advance)
            finally:
                if chain.kept_so_far:
                    chains.append(chain.packed())
    except (InputError, CheckpointMismatch):
        if before is not None and not chains:
            with atomic_output(directory / RECORD) as stream:
                stream.write(before)  # It is not gone on with.
        raise
    finally:
        if chains:
            # Of a run that is prolonged, chains that it has not come to again are as they were left.
            left = range(begun, settings.chains)
            others = [_Chain(shared, number, directory, described) for number in left]
            chains += [chain.packed() for chain in others if chain.take_up()]
        summary = _write_results(directory, model, data, settings, chains) if chains else {}
        if chains:
            so_far = _record(described, shared.clocks, finished=False)
            write_record(so_far, directory)  # Should it be stopped.
    write_record(_record(described, shared.clocks, finished=True), directory)
    return summary


class _Shared:
    """What all chains of a run share."""

    def __init__(self, task: Task, settings: SampleSettings, handling: Handling):
        self.model, self.data, self.probs, self.gold = task.model, task.data, task.probs, task.gold
        self.settings, self.handling = settings, handling
        self.num_sentences = len(self.data.start) - 1
        self.clocks = [Stopwatch() for _ in range(settings.chains)]
        self.block = _block_size(settings, self.data)
        options: dict = {"block": self.block, "thin": settings.thin, "with_partition": settings.reweight}
        if settings.sampler == "collapsed":
            self.kernel = collapsed_kernel(self.model, self.data, **options)
        else:
            options |= {"threads": handling.threads, "proposal": settings.proposal}
            self.kernel = gibbs_kernel(self.model, self.data, settings.approach, **options)


class _Chain:
    """One chain, and what it keeps."""

    def __init__(self, shared: _Shared, number: int, directory: Path, described: dict):
        self._shared, self._number = shared, number
        self.draws: list[tuple] = []
        self.scores: list[tuple] = []
        self.tally = empty_tally()
        self.trees = empty_tally().trees
        self.sweeps, self.rejections, self.proposals = 0, 0, 0
        self.kept_so_far, self.seconds = 0, 0.0
        self._plan = ChainPlan(
            shared.kernel,
            directory / f"checkpoint.{number + 1}.npz",
            _CollapsedCheckpoint if shared.settings.sampler == "collapsed" else _GibbsCheckpoint,
            # A chain may be prolonged; everything else has to be the same.
            {name: value for name, value in described.items() if name not in ("iterations", "chains")},
            trace=directory / f"trace.{number + 1}.tsv",
            columns=_columns(shared),
            sinks=[self._keep],
            pack=self._pack,
            unpack=self._unpack,
            checkpoint_every=shared.handling.checkpoint_every,
            clock=shared.clocks[number],
        )

    def go(self, advance: Callable[..., Any]) -> None:
        """Sample from the beginning, or from the checkpoint."""
        shared, plan = self._shared, self._plan
        blocks = shared.settings.iterations // shared.block
        place = restore(plan) if plan.checkpoint.exists() else self._begin()
        began = time.process_time()

        def watch(sweep: Sweep) -> None:
            nonlocal began
            self.seconds += time.process_time() - began
            began = time.process_time()
            advance(shared.block, f"log joint {sweep.info.log_joint:.1f}")

        drive(plan, place, sweeps=blocks, check=shared.handling.check, watch=watch)

    def take_up(self) -> bool:
        """Read what the checkpoint keeps, if there is one; whether that is anything."""
        if self._plan.checkpoint.exists():
            restore(self._plan)
        return bool(self.kept_so_far)

    def _begin(self) -> Place:
        shared = self._shared
        rng = np.random.default_rng([shared.settings.seed, self._number])
        start = _first_probs(rng, shared.model, shared.settings, shared.probs)
        return begin(self._plan, rng, self._plan.kernel.init(rng, start))

    def packed(self) -> Kept:
        """Everything kept so far."""
        rules = len(self._shared.model.prior)
        none = np.zeros((0, rules)), np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
        probs, log_z, log_joints, rejections = (
            np.concatenate(parts) for parts in zip(*self.draws or [none], strict=True)
        )
        self.draws = [(probs, log_z, log_joints, rejections)]
        scores = np.array(self.scores, dtype=float).reshape(len(self.scores), 3)
        return Kept(
            probs,
            log_z,
            log_joints,
            rejections,
            scores,
            self.tally,
            self.trees,
            self.sweeps,
            self.rejections,
            self.proposals,
            self.seconds,
        )

    def _pack(self, state):
        return self._plan.stored(state, self.packed())

    def _unpack(self, stored):
        kept: Kept = stored.kept
        self.draws = [(kept.probs, kept.log_z, kept.log_joints, kept.rejections)]
        self.scores = [tuple(row) for row in kept.scores.tolist()]
        self.tally, self.trees = kept.tally, kept.trees
        self.sweeps, self.rejections, self.proposals = kept.sweeps, kept.all_rejections, kept.all_proposals
        self.kept_so_far, self.seconds = len(kept.probs), kept.seconds
        return stored.state

    def _keep(self, sweep: Sweep) -> None:
        """Keep what a block leaves, as far as it is after the burn-in."""
        shared, info = self._shared, sweep.info
        settings = shared.settings
        self.sweeps += shared.block
        self.rejections += info.all_rejections
        self.proposals += info.all_proposals
        done = sweep.index * shared.block + settings.thin * np.arange(1, shared.block // settings.thin + 1)
        late = np.flatnonzero(done > settings.burn_in)
        n = shared.num_sentences
        if n:
            self.trees = _some(info.trees, len(info.trees.start) - 1 - n, len(info.trees.start) - 1)
        if not len(late):
            return
        self.draws.append((info.probs[late], info.log_z[late], info.log_joints[late], info.rejections[late]))
        if n:
            trees = _some(info.trees, int(late[0]) * n, len(info.trees.start) - 1)
            log_z = info.log_z[late] if settings.reweight else np.full(len(late), np.nan)
            num_trees = shared.data.num_trees + n
            self.tally = add_block(self.tally, trees, n, log_z, num_trees)
            if shared.gold is not None:
                for at in range(len(late)):
                    if (self.kept_so_far + at + 1) % settings.score_every == 0:
                        drawn = _some(trees, at * n, (at + 1) * n)
                        brackets = brackets_of(shared.model.grammar, drawn, settings.brackets)
                        self.scores.append(score(brackets, shared.gold))
        self.kept_so_far += len(late)


def _some(trees: Trees, first: int, end: int) -> Trees:
    """The trees first … end − 1."""
    start = trees.start[first : end + 1]
    return Trees(start - start[0], trees.rules[start[0] : start[-1]])


def _first_probs(rng: np.random.Generator, model: Model, settings: SampleSettings, probs) -> np.ndarray:
    """Where a chain starts: with the approaches that know Z, at the tight grammar of the same trees.

    Where Z is small, renormalised chains do not get away: a tight proposal is accepted with probability Zⁿ.
    """
    if settings.start == "weights":
        # Rules of weight 0 would never be used again.
        first = np.maximum(np.asarray(probs, np.float64), draws.SMALLEST_PROB)
    else:
        first = draw_dirichlets(rng, model.families.start, model.prior)
    if settings.approach != "sink":
        values, _ = newton_partition(model.system, first)
        if np.all(values > 0.0):
            first = normalise(model.families, tight_probs(model.grammar, first, values))
            first = np.maximum(first, draws.SMALLEST_PROB)
    return first


def _block_size(settings: SampleSettings, data: Data) -> int:
    """Sweeps in one call: a divisor of the iterations and a multiple of `thin`, of some ten milliseconds."""
    if settings.block:
        if settings.iterations % settings.block:
            raise SettingsError(
                f"--iterations is {settings.iterations}; this run goes on in steps of {settings.block}"
            )
        return settings.block
    rounds = settings.iterations // settings.thin
    most = max(1, min(rounds // 100, _BLOCK_WORK // (len(data.words) ** 2 + 10) // settings.thin))
    return settings.thin * max(size for size in range(1, most + 1) if rounds % size == 0)


def _columns(shared: _Shared) -> Columns:
    columns: list[tuple[str, Callable[[Sweep], float]]] = [
        ("sweeps", lambda sweep: (sweep.index + 1) * shared.block),
        ("log_joint", lambda sweep: sweep.info.log_joint),
        ("rejections", lambda sweep: sweep.info.all_rejections),
    ]
    if shared.settings.reweight or shared.settings.approach == "renormalise":
        columns.append(("log_partition", lambda sweep: float(sweep.info.log_z[-1])))
    return columns


def _write_results(
    directory: Path, model: Model, data: Data, settings: SampleSettings, chains: list[Kept]
) -> dict:
    """Write samples, summary and last trees; the summary."""
    names = [rule_name(model.grammar, rule) for rule in range(num_rules(model.grammar))]
    columns: dict[str, Any] = {
        "probabilities": np.concatenate([kept.probs for kept in chains]),
        "log_partition": np.concatenate([kept.log_z for kept in chains]),
        "log_joint": np.concatenate([kept.log_joints for kept in chains]),
        "rejections": np.concatenate([kept.rejections for kept in chains]),
        "chain": np.repeat(np.arange(1, len(chains) + 1), [len(kept.probs) for kept in chains]),
        "rules": np.array(names),
    }
    with atomic_output(directory / "samples.npz", binary=True) as stream:
        np.savez(stream, **columns)
    summary = summarise(model, data, settings, chains, names)
    write_json(summary, directory / "summary.json")
    if len(data.start) > 1:
        with atomic_output(directory / "trees.txt.gz") as stream:
            trees = chains[-1].trees
            for at in range(len(trees.start) - 1):
                stream.write(
                    format_tree(model.grammar, trees.rules[trees.start[at] : trees.start[at + 1]]) + "\n"
                )
    return summary


def _record(described: dict, clocks: list[Stopwatch], *, finished: bool) -> dict:
    return {
        **origin(__version__),
        "settings": described,
        "finished": finished,
        "seconds": round(sum(clock.seconds for clock in clocks), 2),
    }
