"""The driver of chains: sweep after sweep, with trace, checkpoints, samples and Ctrl-C.

`run_chain` is a generator; the caller loops over it as long as it likes:

    with contextlib.closing(run_chain(kernel, state, rng, sweeps=100, sinks=[trace, checkpoints])) as chain:
        for sweep in chain:
            print(sweep.index, sweep.info.log_joint)

A sink is any callable that takes a `Sweep`. If it has a method `close(consistent)`, that is called when the
chain ends, however it ends; `consistent` is False when a step or a sink failed, so that the state may be half
changed or ahead of what the sink has seen.

The fact a newcomer would get wrong: a sweep is not interrupted by Ctrl-C. The signal is noted, the sweep is
finished and handed to sinks and caller, sinks are closed (which writes a checkpoint), and only then is
KeyboardInterrupt raised. A second Ctrl-C ends the process at once, with status 130 and without a checkpoint,
even from within compiled code, but for an interactive session. SIGTERM and SIGHUP are noted likewise and
raise Terminated; more of them change nothing, since `timeout` and others send several: whoever cannot wait
has SIGKILL.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from scfg_sampler.core.chains.checkpoint import NOT_TIMED, Checkpoint, save_checkpoint
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.core.console import say
from scfg_sampler.core.files import PathLike, atomic_output, naming, open_bytes, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.signals import ENDING, Terminated, leave_closed_terminal, raise_terminated
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import CheckpointMismatch, InputError

__all__ = [
    "Checkpointer",
    "LogJointMismatch",
    "Sweep",
    "TraceWriter",
    "read_trace",
    "run_chain",
]


_NO_ROW = "Leave out the line, or sample again"
_PAUSE = 60.0
"""Seconds between checkpoints that are written by the clock."""


class Sweep(NamedTuple):
    """One sweep of a chain.

    Attributes
    ----------
    index : int
        From 0.
    state : state of the kernel
        After the sweep. The next sweep may change its arrays: keep it with `copy_state`.
    info : info of the kernel
        Has `log_joint`; the rest depends on the kernel.
    """

    index: int  # type: ignore[assignment]
    state: Any
    info: Any


class LogJointMismatch(AssertionError):
    """The log joint a kernel keeps differs from the one it computes from scratch: a bug in the kernel."""


def run_chain(
    kernel: Kernel,
    state: Any,
    rng: np.random.Generator,
    *,
    sweeps: int,
    first: int = 0,
    sinks: Sequence[Callable[[Sweep], Any]] = (),
    check: bool = False,
) -> Generator[Sweep, None, None]:
    """Sweeps `first`, `first` + 1, …, `sweeps` − 1 of a chain, each after all sinks have seen it.

    Parameters
    ----------
    kernel : Kernel
    state : state of the kernel
        Owned by the chain from here on.
    rng : numpy.random.Generator
    sweeps : int
        How many sweeps the whole chain has, those before `first` included.
    first : int
        How many sweeps have been done: 0, or `Checkpoint.sweep` on resuming.
    sinks : sequence of callables
        Called with every sweep, in order; put the trace before the checkpoints.
    check : bool
        Compare the log joint of every sweep with `kernel.log_joint`. Costs a recount per sweep.

    Raises
    ------
    LogJointMismatch
        With `check`, when the two differ by more than 1e-10, relatively.
    KeyboardInterrupt
        After Ctrl-C, once the sweep is finished and the sinks are closed.
    Terminated
        Likewise after SIGTERM or SIGHUP.
    """
    consistent = True
    with _DeferredSignals() as signals, contextlib.ExitStack() as closing:
        for sink in reversed(sinks):
            if close := getattr(sink, "close", None):
                closing.callback(lambda close: close(consistent), close)
        for index in range(first, sweeps):
            consistent = False
            state, info = kernel.step(rng, state)
            sweep = Sweep(index, state, info)
            if check:
                _check_log_joint(kernel, sweep)
            for sink in sinks:
                sink(sweep)
            consistent = True
            yield sweep
            if signals.requested:
                break


def _check_log_joint(kernel: Kernel, sweep: Sweep) -> None:
    kept, recounted = float(sweep.info.log_joint), float(kernel.log_joint(sweep.state))
    if not math.isclose(kept, recounted, rel_tol=1e-10, abs_tol=1e-10):
        raise LogJointMismatch(
            f"after sweep {sweep.index} the kernel reports log joint {kept!r}, "
            f"a recount gives {recounted!r} (difference {kept - recounted:g})"
        )


class TraceWriter:
    """A sink that writes `trace.tsv`: one row for every sweep, at once, so that it can be watched.

    Parameters
    ----------
    path : path
    columns : sequence of (name, function)
        Besides the first one, `sweep`. Each function takes a `Sweep` and returns a number.
    first : int
        The sweep that comes first. Rows of an existing file from there on, which are to be done again, are
        dropped; with 0, the whole file.

    Raises
    ------
    CheckpointMismatch
        The existing file has other columns.
    """

    def __init__(
        self, path: PathLike, columns: Sequence[tuple[str, Callable[[Sweep], float]]], *, first: int = 0
    ):
        self._path = path
        self._functions = [function for _, function in columns]
        header = "\t".join(["sweep", *(name for name, _ in columns)])
        rows = _kept_rows(path, header, first) if first > 0 and os.path.exists(path) else []
        with atomic_output(path) as stream:
            stream.writelines(f"{row}\n" for row in [header, *rows])
        self._stream: IO[str] = open(path, "a", encoding="utf-8", newline="\n")  # noqa: SIM115

    def __call__(self, sweep: Sweep) -> None:
        cells = [str(sweep.index), *(_cell(function(sweep)) for function in self._functions)]
        with naming(self._path):
            self._stream.write("\t".join(cells) + "\n")
            self._stream.flush()

    def close(self, consistent: bool = True) -> None:
        """Close the file; called by `run_chain`."""
        with naming(self._path):
            self._stream.close()


class Checkpointer:
    """A sink that keeps a checkpoint of the chain, every few sweeps and when the chain ends.

    After a failure within a sweep there is no consistent state to write, and the last checkpoint stays.

    Parameters
    ----------
    path : path
    rng : numpy.random.Generator
        The generator of the chain.
    every : int or None
        Write after this many sweeps; 0 writes at the end only. None goes by the clock: a minute after the
        last time, or after twenty times as long as that took.
    settings, corpus : mapping
        What a resumed chain must agree with; see `Checkpoint`.
    pack : callable, optional
        Makes of a state the NamedTuple to store, for states that hold what can be computed again.
    spent : callable, optional
        What the chain has taken so far; see `Checkpoint`.
    """

    def __init__(
        self,
        path: PathLike,
        rng: np.random.Generator,
        *,
        every: int | None,
        settings: Mapping[str, Any],
        corpus: Mapping[str, str],
        pack: Callable[[Any], Any] = lambda state: state,
        spent: Callable[[], tuple[float, float]] = lambda: NOT_TIMED,
    ):
        self._path, self._rng, self._every = path, rng, every
        self._settings, self._corpus, self._pack, self._spent = settings, corpus, pack, spent
        self._unsaved: Sweep | None = None
        self._due = time.monotonic() + _PAUSE

    def __call__(self, sweep: Sweep) -> None:
        self._unsaved = sweep
        if self._every is None:
            is_due = time.monotonic() >= self._due
        else:
            is_due = self._every > 0 and (sweep.index + 1) % self._every == 0
        if is_due:
            self._save()

    def close(self, consistent: bool = True) -> None:
        """Write what is not written yet, provided it is consistent; called by `run_chain`."""
        if consistent and self._unsaved is not None:
            self._save()

    def _save(self) -> None:
        assert self._unsaved is not None
        began = time.monotonic()
        done = self._unsaved.index + 1
        state = self._pack(self._unsaved.state)
        kept = Checkpoint(state, self._rng, done, self._settings, self._corpus, spent=self._spent())
        save_checkpoint(self._path, kept)
        self._unsaved = None
        ended = time.monotonic()
        self._due = ended + max(_PAUSE, 20.0 * (ended - began))


def read_trace(path: PathLike) -> dict[str, np.ndarray]:
    """The columns of a trace by name, float64 of shape (sweeps,).

    A last line that is not finished, because the chain is just writing it, is left out.

    Raises
    ------
    InputError
        The file is not a trace; names the line.
    """
    header, *rows = _complete_lines(path) or [""]
    names = header.split("\t")
    if names[0] != "sweep":
        hint = "Name the trace.tsv of a run" if header else "It is empty or cut: restore it, or sample again"
        raise InputError(path, 1, "no column 'sweep' in the first place", hint)
    table = np.empty((len(rows), len(names)))
    for line, row in enumerate(rows):
        cells = row.split("\t")
        if len(cells) != len(names):
            found = f"{counted(len(cells), 'column')} instead of {len(names)}"
            raise InputError(path, line + 2, found, _NO_ROW)
        for column, cell in enumerate(cells):
            try:
                table[line, column] = real_number(cell)
            except ValueError:
                found = f"{cell!r} in column {names[column]} is not a number"
                raise InputError(path, line + 2, found, _NO_ROW) from None
    return {name: table[:, column].copy() for column, name in enumerate(names)}


def _kept_rows(path: PathLike, header: str, first: int) -> Iterable[str]:
    """The rows of an existing trace that are before sweep `first`."""
    found, *rows = _complete_lines(path) or [header]
    if found != header:
        raise CheckpointMismatch(
            f"{path} has the columns {', '.join(found.split(chr(9)))}; this chain writes "
            f"{', '.join(header.split(chr(9)))}. Move it away, or go on with the version that wrote it"
        )
    numbered = [(row.partition("\t")[0], row) for row in rows]
    return [row for index, row in numbered if index.isdecimal() and int(index) < first]


def _complete_lines(path: PathLike) -> list[str]:
    """The lines of a file of which a crash, or a writer at work, may have left a last one unfinished."""
    lines = [line.removesuffix("\r") for line in read_lines(path)]
    last = b""
    with open_bytes(path) as stream:  # It may be packed: its last byte says nothing then.
        while block := stream.read(1 << 16):
            last = block[-1:]
    return lines if last == b"\n" else lines[:-1]


def _cell(value: float) -> str:
    """A number in the shortest form that reads back the same."""
    if isinstance(value, (bool, int, np.bool_, np.integer)):
        return str(int(value))
    return repr(float(value))


_DEFAULTS: dict[int, Any] = {signal.SIGINT: signal.default_int_handler} | dict.fromkeys(
    ENDING, signal.SIG_DFL
)


def _unhandled(number: int) -> bool:
    """Whether a signal may be handled here and is not yet."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and signal.getsignal(number) in (_DEFAULTS[number], raise_terminated)


class _DeferredSignals:
    """Within the block Ctrl-C, SIGTERM and SIGHUP are noted in `requested` and raised when the block ends.

    A second Ctrl-C kills, but for a notebook or another session, with all it holds. It must work in compiled
    code, during which Python runs no signal handlers. So a thread listens at the descriptor that the C level
    handler writes each signal's number to.

    Does nothing outside the main thread, or with a signal that somebody else already handles.
    """

    def __init__(self) -> None:
        self.requested: BaseException | None = None

    def __enter__(self) -> _DeferredSignals:
        self._handled = {number: signal.getsignal(number) for number in _DEFAULTS if _unhandled(number)}
        if self._handled:
            reader, self._writer = os.pipe()
            os.set_blocking(self._writer, False)
            threading.Thread(target=_listen, args=(reader, tuple(self._handled)), daemon=True).start()
            self._old_descriptor = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            for number in self._handled:
                signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if number in ENDING:
            leave_closed_terminal()
        if self.requested is None:
            self.requested = KeyboardInterrupt() if number == signal.SIGINT else Terminated(number)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._handled:
            for number, before in self._handled.items():
                ended = isinstance(self.requested, Terminated) and number in ENDING
                signal.signal(number, signal.SIG_IGN if ended and before is raise_terminated else before)
            signal.set_wakeup_fd(self._old_descriptor)
            os.close(self._writer)  # Ends the thread.
            if self.requested is not None and (kind is None or kind is GeneratorExit):
                raise self.requested


def _listen(reader: int, handled: Sequence[int]) -> None:
    """Say what the first signal does, and end the process at the second Ctrl-C."""
    is_session = hasattr(sys, "ps1")  # Prompts: of Python's own, IPython, Jupyter.
    received: list[int] = []
    with open(reader, "rb", buffering=0) as stream:
        while numbers := stream.read(1):
            if numbers[0] not in handled:
                continue
            received.append(numbers[0])
            if numbers[0] in ENDING:
                leave_closed_terminal()
            if received.count(signal.SIGINT) == 2 and not is_session:
                if sys.stderr.isatty():
                    sys.stderr.write("\x1b[?25h")  # A progress bar may have hidden the cursor.
                    sys.stderr.flush()
                os._exit(130)
            if received.count(numbers[0]) == 1:
                ends = numbers[0] == signal.SIGINT and not is_session
                more = "; Ctrl-C again stops at once" if ends else ""
                say(f"finishing this sweep{more}")
