"""What every command line of the project shares: exit statuses, progress, warnings, signature lines.

Standard output carries results only; everything said to a person goes to standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from scfg_sampler.core.signals import Terminated, terminable
from scfg_sampler.errors import ScfgError, SettingsError

__all__ = [
    "hushed",
    "is_hushed",
    "is_watched",
    "leave_out_of_rates",
    "memory_size",
    "positive_number",
    "progress",
    "rest",
    "run",
    "run_parser",
    "say",
    "set_quiet",
    "warn",
]

SECONDS_BETWEEN_LINES = 60.0
"""Where progress goes to a file or a pipe."""
SECONDS_OF_SILENCE = 1.0
"""After them a command that is at work, and has said nothing yet, says so, be it into a file or a pipe."""
_SECONDS_OBSERVED = 0.2
"""The last of these: whoever waits then for others, or for what is typed, uses no processor."""
_LOOKS = 10
"""So many times as long is observed in all: on a busy machine who works gets little of the processor."""

_quiet = False
_hushed: ContextVar[bool] = ContextVar("hushed", default=False)
_silent_until = math.inf
_seconds_compiling = 0.0
_said_at = 0.0
_under_way: _ProgressLines | None = None
_is_resting = False
_is_command_known = False


def positive_number(name: str) -> int | None:
    """What the environment gives as COLUMNS, for example; None where that is no positive number."""
    text = os.environ.get(name, "")
    return int(text) or None if text.isascii() and text.isdecimal() else None


def run_parser(
    program: str, build_parser: Callable[[], argparse.ArgumentParser], arguments: Sequence[str] | None
) -> int:
    """The exit status of a command line whose options name the function to call, as `run`, and `quiet`.

    Parameters
    ----------
    program : str
    build_parser : callable
        Each command of the parser sets the default `run`, a function of the options.
    arguments : sequence of str, optional
        By default those of the process.
    """

    def command(arguments: Sequence[str] | None) -> int | None:
        global _is_command_known
        options = build_parser().parse_args(arguments)
        set_quiet(getattr(options, "quiet", False))
        _is_command_known = True
        return options.run(options)

    return run(program, command, arguments)


def run(program: str, command: Callable[[Sequence[str] | None], int | None], arguments=None) -> int:
    """The exit status of a command: 0 done, 2 the user can mend it, 128 + its number on a signal.

    What it writes to standard output is UTF-8.
    Catches `ScfgError`, MemoryError, and OSError (a full disk, a directory that cannot be made), and prints
    one line. Anything else is a bug and keeps its traceback, which Python turns into status 1.
    """
    global _silent_until
    _silent_until = time.monotonic() + SECONDS_OF_SILENCE
    # Whoever asks the terminal instead, as rich does, or has threads of its own, as numba, need not check it.
    for name in ("COLUMNS", "LINES", "NUMBA_NUM_THREADS"):
        if positive_number(name) is None:
            os.environ.pop(name, None)
    _replace_closed_streams()
    if hasattr(sys.stdout, "reconfigure"):
        # As files are, whatever the locale; what names of files hold besides stays as it is.
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        with terminable(), _telling_that_it_works():
            status = _flushed(command, arguments)
        return _left(status, is_process=arguments is None) if _is_resting else status
    except ScfgError as error:
        print(f"{program}: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _stopped(f"{program}: interrupted", 130, is_process=arguments is None)
    except Terminated as error:
        return _stopped(f"{program}: terminated", error.code, is_process=arguments is None)
    except BrokenPipeError:
        # The reader of our output has gone (`… | head`): nothing to say, and nothing to flush into.
        _abandon_output()
        return 0
    except OSError as error:
        print(f"{program}: {_described(error)}", file=sys.stderr)
        return 2
    except MemoryError as error:
        reason = f" ({' '.join(str(error).split())})" if str(error) else ""
        advice = "Give it less at once (shorter lines, fewer threads, a smaller --memory), or more memory"
        print(f"{program}: there is not enough memory{reason}. {advice}", file=sys.stderr)
        return 2


def _replace_closed_streams() -> None:
    """Put something where the caller has closed a standard stream (`>&-`), which to Python is None.

    Whoever reads or writes then is told that this cannot be done, while messages go nowhere: `print` has
    those for a stream that is None on standard output. It also keeps the numbers 0 to 2 from other files.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", errors="backslashreplace")


def _stopped(message: str, status: int, *, is_process: bool) -> int:
    """The status of a command that a signal has stopped, once that is said."""
    print(message, file=sys.stderr, flush=True)
    return _left(status, is_process=is_process)


def _left(status: int, *, is_process: bool) -> int:
    """The status of a command that leaves what other threads of it are at.

    Ends the process, if the command is all it does, where there are any: Python would wait for those of a
    pool, daemons too, and a long sentence takes minutes.
    """
    if is_process and threading.active_count() > 1:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status)
    return status


def _flushed(command: Callable[[Sequence[str] | None], int | None], arguments: Sequence[str] | None) -> int:
    """The status of a command whose output has left the process, be it help that ends it."""
    try:
        status = command(arguments) or 0
    except SystemExit as error:
        if not isinstance(error, Terminated):
            sys.stdout.flush()
        raise
    except (SystemError, RuntimeError, ImportError, ScfgError) as error:
        # What a signal raises comes wrapped where compiled code is being loaded or, before Python 3.12, a
        # descriptor of a class is being given its name, as happens while numba is imported. A module in C
        # that is met while it begins "failed", and may be said not to be there.
        behind: BaseException | None = error
        while behind is not None and not isinstance(behind, (KeyboardInterrupt, Terminated)):
            behind = behind.__cause__ or behind.__context__
        if behind is None:
            raise
        raise behind from None
    sys.stdout.flush()
    return status


def _described(error: OSError) -> str:
    """An OSError that nobody has turned into an InputError, in one line."""
    reason = error.strerror or str(error)
    if error.filename is not None:
        return f"{os.fsdecode(error.filename)}: cannot be used ({reason})"
    try:
        sys.stdout.flush()
    except OSError:
        _abandon_output()
    if error.errno is None:
        return reason
    # Whatever else is written has a name.
    return f"standard output, or a temporary file, cannot be written ({reason})"


def _abandon_output() -> None:
    """Let what standard output cannot take go nowhere; Python would try it again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def set_quiet(quiet: bool) -> None:
    """Silence `say` and `progress` (not `warn`) for the rest of the process."""
    global _quiet
    _quiet = quiet


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Within, `say` and `progress` are silent, in this thread alone."""
    before = _hushed.set(True)
    try:
        yield
    finally:
        _hushed.reset(before)


def is_hushed() -> bool:
    """Whether this thread is within `hushed`."""
    return _hushed.get()


def say(message: str) -> None:
    """Tell the user something, on standard error, unless --quiet."""
    global _silent_until, _said_at
    if not _quiet and not _hushed.get():
        _silent_until, _said_at = math.inf, time.monotonic()
        print(message, file=sys.stderr, flush=True)


def rest() -> None:
    """Say no more that the program is at work, and wait for no answer when it ends: it works for others."""
    global _is_resting
    _is_resting = True


@contextlib.contextmanager
def _telling_that_it_works() -> Iterator[None]:
    """Within the block who hears nothing else hears of work after a second, a file or a pipe every minute."""
    global _said_at, _is_resting, _is_command_known
    _said_at, _is_resting, _is_command_known = time.monotonic(), False, False
    ended = threading.Event()
    threading.Thread(target=_tell_that_it_works, args=(ended,), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _tell_that_it_works(ended: threading.Event) -> None:
    """Say so until that is set, unless the program only waits; what is under way says how far it is."""
    global _said_at
    began, used = time.monotonic(), time.process_time()
    _break_silence(ended, began)
    if sys.stderr.isatty():
        return
    while not ended.wait(max(SECONDS_BETWEEN_LINES - (time.monotonic() - _said_at), 0.01)):
        now = time.monotonic()
        if now - _said_at < SECONDS_BETWEEN_LINES or _is_resting:
            _said_at = now if _is_resting else _said_at
            continue
        used, before = time.process_time(), used
        if used - before > 0.01 * (now - _said_at) or _under_way is not None:
            _say_what_is_under_way(now - began)
        _said_at = now


def _break_silence(ended: threading.Event, began: float) -> None:
    """Say once that a command works, as soon as it is seen to, unless it has said something by then."""
    if not math.isfinite(SECONDS_OF_SILENCE) or ended.wait(SECONDS_OF_SILENCE - _SECONDS_OBSERVED):
        return
    looks = 0
    while True:
        if looks % _LOOKS == 0:
            used = time.process_time()
        looks += 1
        if ended.wait(_SECONDS_OBSERVED) or not math.isfinite(_silent_until) or _is_resting:
            return
        is_working = time.process_time() - used > 0.1 * _SECONDS_OBSERVED
        if _is_command_known and (is_working or _under_way is not None):
            _say_what_is_under_way(time.monotonic() - began)
            return


def _say_what_is_under_way(seconds: float) -> None:
    """How far it is, or else for how long the program has been at work."""
    if _under_way is not None:
        _under_way.tell()
    else:
        say(f"at work for {datetime.timedelta(seconds=round(seconds))}")


def is_watched() -> bool:
    """Whether what takes long is told of: at a terminal, and in a pipe unless silence may last."""
    return sys.stderr.isatty() or math.isfinite(SECONDS_OF_SILENCE)


def leave_out_of_rates(seconds: float) -> None:
    """Let progress not reckon with so much time, as it was spent on compiling, which happens once."""
    global _seconds_compiling
    _seconds_compiling += seconds


def warn(message: str) -> None:
    """Tell the user something that may spoil the result, even with --quiet."""
    print(f"warning: {message}", file=sys.stderr, flush=True)


def _ignore(steps: float = 1, note: str = "") -> None:
    """Progress that nobody sees."""


class _ProgressLines:
    """Progress that is written as lines: one a minute, and one where a program would be silent without."""

    def __init__(self, description: str, total: float | None):
        self._description, self._total = description, total
        self._done = 0.0
        self._began = self._last = time.monotonic()
        self._compiled_before = _seconds_compiling
        self._note = ""

    def __call__(self, steps: float = 1, note: str = "") -> None:
        self._done += steps
        self._note = note
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES or now >= _silent_until:
            self.tell()

    def tell(self) -> None:
        """Write a line now."""
        self._last = now = time.monotonic()
        if not self._done:
            say(f"{self._description}: {datetime.timedelta(seconds=round(now - self._began))} so far")
            return
        spent = now - self._began - (_seconds_compiling - self._compiled_before)
        say("; ".join(filter(None, (self._told(spent), self._note))))

    def _told(self, seconds: float) -> str:
        """`sampling: 30 of 100, 24 a minute, 0:02:55 left`."""
        of = f" of {self._total:,.0f}" if self._total is not None else ""
        rate = self._done / max(seconds, 1e-3)
        speed = f"{rate:,.1f} a second" if rate >= 1.0 else f"{60.0 * rate:,.1f} a minute"
        told = f"{self._description}: {self._done:,.0f}{of}, {speed}"
        if self._total is None or not rate:
            return told
        left = datetime.timedelta(seconds=round(max(self._total - self._done, 0.0) / rate))
        return f"{told}, {left} left"


@contextlib.contextmanager
def progress(description: str, total: float | None) -> Iterator[Callable[[float, str], None]]:
    """How far something is, on standard error, unless --quiet: a bar with the time left, or a line a minute.

    The bar is for terminals. The lines are for files and pipes; none comes in the first minute, but that a
    command which has said nothing for a second says how far it is.
    Yields a function `advance(steps, note="")`.
    """
    global _under_way, _silent_until
    if _quiet or _hushed.get():
        yield _ignore
        return
    if not sys.stderr.isatty():
        outer, _under_way = _under_way, _ProgressLines(description, total)
        try:
            yield _under_way
        finally:
            _under_way = outer
        return
    _silent_until = math.inf  # A bar is something.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total, note="")

        def advance(steps: float = 1, note: str = "") -> None:
            fields: dict[str, Any] = {"note": note} if note else {}
            bar.update(task, advance=steps, **fields)

        yield advance


def memory_size(text: str, option: str = "--memory") -> int:
    """Bytes in a size such as 500M, 4G or 65536; the units are powers of 1024.

    Raises
    ------
    SettingsError
        It is no size, or less than a megabyte.

    >>> memory_size("3M")
    3145728
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)B?", text.strip().upper())
    size = float(match[1]) * 1024 ** " KMGT".index(match[2] or " ") if match else 0.0
    if not 1 << 20 <= size < math.inf:
        raise SettingsError(f"{option} {text} is not a size of at least a megabyte, such as 500M or 4G")
    return int(size)
