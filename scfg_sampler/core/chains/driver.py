"""One chain of a run, from its first sweep or its checkpoint to its last: what all runs have in common.

A run makes a `ChainPlan` of each chain, finds or makes its place (`begin`, `restore`, or whichever it is,
`begin_or_restore`), and drives it on from there:

    plan = ChainPlan(kernel, directory / CHECKPOINT, State, settings, corpus=digests, trace=directory / TRACE)
    place = begin_or_restore(plan, lambda: np.random.default_rng(seed))
    state = drive(plan, place, sweeps=1000, watch=lambda sweep: advance(1, ""))

What sinks have counted is part of what a checkpoint stores: `pack` puts it beside the state, `unpack` gives
it back to them.

The fact a newcomer would get wrong: a chain has a checkpoint before its first sweep, so that whenever the
process ends, what is on disk can be resumed.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.chains.chain import Checkpointer, Sweep, TraceWriter, run_chain
from scfg_sampler.core.chains.checkpoint import NOT_TIMED, Checkpoint, load_checkpoint, save_checkpoint
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.errors import InputError

__all__ = ["ChainPlan", "Columns", "Place", "Stopwatch", "begin", "begin_or_restore", "drive", "restore"]

Columns = Sequence[tuple[str, Callable[[Sweep], float]]]
"""Names of what a trace holds, and functions of a sweep."""


def _itself(value: Any) -> Any:
    return value


def _ignore(sweep: Sweep) -> None:
    pass


def _nothing(stored: Any) -> None:
    return None


class ChainPlan(NamedTuple):
    """What makes a chain and what it leaves on disk."""

    kernel: Kernel
    checkpoint: Path
    stored: Any
    """The type of what the checkpoint stores, a NamedTuple class."""
    settings: Mapping[str, Any]
    """What a resumed chain must agree with."""
    corpus: Mapping[str, str] = {}
    """Digests of what it learns from, by name; likewise."""
    trace: Path | None = None
    columns: Columns = ()
    sinks: Sequence[Callable[[Sweep], Any]] = ()
    """Called before the trace and the checkpoint are written, so that these hold what they have counted."""
    pack: Callable[[Any], Any] = _itself
    """From a state to what is stored."""
    unpack: Callable[[Any], Any] = _itself
    """From what is stored to the state."""
    checkpoint_every: int | None = None
    """Sweeps; 0: at the end; None: by the clock, see `Checkpointer`."""
    problem: Callable[[Any], str | None] = _nothing
    """What is wrong with something stored; None if the chain can go on from it."""
    clock: Stopwatch | None = None
    """Of what it takes, which is then kept in the checkpoint."""


class Place(NamedTuple):
    """Where a chain is: between two sweeps."""

    state: Any
    rng: np.random.Generator
    sweep: int
    """Sweeps done."""


class Stopwatch:
    """The time of a chain over all processes that have driven it.

    Parameters
    ----------
    is_one_thread : bool, optional
        Whether what is timed is done by the thread that calls it, so that others do not count: they may drive
        other chains.

    Attributes
    ----------
    seconds : float
        That have passed while it was driven.
    cpu_seconds : float
        Of the processor, in the functions that are timed.
    processor_time : callable
        That of all that counts, in seconds from some moment on.
    """

    def __init__(self, is_one_thread: bool = False) -> None:
        self.cpu_seconds = 0.0
        self.processor_time = time.thread_time if is_one_thread else time.process_time
        self._before, self._began = 0.0, math.inf

    @property
    def seconds(self) -> float:
        return self._before + max(0.0, time.perf_counter() - self._began)

    def start(self) -> None:
        """Begin to count seconds."""
        self._began = time.perf_counter()

    def stop(self) -> None:
        """Count no more of them."""
        self._before, self._began = self.seconds, math.inf

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count seconds within the block."""
        self.start()
        try:
            yield
        finally:
            self.stop()

    def go_back_to(self, seconds: float, cpu_seconds: float) -> None:
        """Go on from what a checkpoint says."""
        self._before, self.cpu_seconds = seconds, cpu_seconds

    @property
    def spent(self) -> tuple[float, float]:
        """Both, as a checkpoint keeps them."""
        return self.seconds, self.cpu_seconds

    def timed(self, function: Callable) -> Callable:
        """The function, its processor time counted."""

        def call(*arguments: Any) -> Any:
            began = self.processor_time()
            result = function(*arguments)
            self.cpu_seconds += self.processor_time() - began
            return result

        return call


def begin(plan: ChainPlan, rng: np.random.Generator, state: Any) -> Place:
    """The place before the first sweep, of which a checkpoint is written.

    Parameters
    ----------
    plan : ChainPlan
    rng : numpy.random.Generator
        As it is after `state` has been made.
    state : state of the kernel

    Raises
    ------
    InputError
        The checkpoint cannot be written.
    """
    save_checkpoint(plan.checkpoint, Checkpoint(plan.pack(state), rng, 0, plan.settings, plan.corpus))
    return Place(state, rng, 0)


def restore(plan: ChainPlan) -> Place:
    """The place of the checkpoint.

    Parameters
    ----------
    plan : ChainPlan

    Raises
    ------
    InputError, CheckpointMismatch
        As `load_checkpoint`; and if there is a problem with what was stored.
    """
    found = load_checkpoint(plan.checkpoint, plan.stored, settings=plan.settings, corpus=plan.corpus)
    if problem := plan.problem(found.state):
        hint = "Restore the file, or start the run again"
        raise InputError(plan.checkpoint, None, f"does not fit what it was made from: {problem}", hint)
    if plan.clock is not None:
        plan.clock.go_back_to(*found.spent)
    return Place(plan.unpack(found.state), found.rng, found.sweep)


def begin_or_restore(
    plan: ChainPlan, generator: Callable[[], np.random.Generator], start: Any = None
) -> Place:
    """The place of the checkpoint or, if there is none, that before the first sweep.

    Parameters
    ----------
    plan : ChainPlan
    generator : callable
        Makes the generator of a new chain.
    start : object
        What the kernel's `init` is given.
    """
    if plan.checkpoint.exists():
        return restore(plan)
    rng = generator()
    return begin(plan, rng, plan.kernel.init(rng, start))


def drive(
    plan: ChainPlan,
    place: Place,
    *,
    sweeps: int,
    check: bool = False,
    watch: Callable[[Sweep], Any] = _ignore,
    is_done: Callable[[Any], bool] = lambda state: False,
) -> Any:
    """The state after all sweeps, having written trace and checkpoints.

    Parameters
    ----------
    plan : ChainPlan
    place : Place
    sweeps : int
        How many the whole chain has, those done included.
    check : bool
        Compare the log joint with a recount after every sweep.
    watch : callable
        Told of every sweep when it is on disk, as far as it ever will be.
    is_done : callable
        Whether a state is the last one, though there may be sweeps left.

    Raises
    ------
    KeyboardInterrupt, Terminated
        As `run_chain`, with a checkpoint of the last whole sweep.
    """
    sinks = list(plan.sinks)
    if plan.trace is not None:
        sinks.append(TraceWriter(plan.trace, plan.columns, first=place.sweep))
    kernel, clock = plan.kernel, plan.clock
    running: contextlib.AbstractContextManager = contextlib.nullcontext()
    if clock is not None:
        kernel, running = kernel._replace(step=clock.timed(kernel.step)), clock.running()
    sinks.append(
        Checkpointer(
            plan.checkpoint,
            place.rng,
            every=plan.checkpoint_every,
            settings=plan.settings,
            corpus=plan.corpus,
            pack=plan.pack,
            spent=lambda: NOT_TIMED if clock is None else clock.spent,
        )
    )
    state = place.state
    if is_done(state):
        sweeps = place.sweep
    chain = run_chain(kernel, state, place.rng, sweeps=sweeps, first=place.sweep, sinks=sinks, check=check)
    with running, contextlib.closing(chain):
        for sweep in chain:
            state = sweep.state
            watch(sweep)
            if is_done(state):
                break
    return state
