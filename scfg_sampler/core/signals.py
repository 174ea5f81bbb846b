"""Signals that ask a process to end, as an exception that what is under way can be saved on.

The fact a newcomer would get wrong: when a terminal is closed, or a connection is lost, SIGHUP comes and
every write to the terminal fails from then on. What saves a run also says so; that must not be what fails.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from typing import Any

__all__ = [
    "ENDING",
    "Terminated",
    "leave_closed_terminal",
    "raise_terminated",
    "signals_held",
    "terminable",
]

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end: of `kill` and `timeout`, and of a terminal or connection that closes."""


class Terminated(SystemExit):
    """SIGTERM or SIGHUP, where it was awaited; caught by nobody, it ends the process with 143 or 129."""

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__(128 + int(number))
        self.code: int


def raise_terminated(number: int, frame: Any) -> None:
    """A handler of signals that end a process: raises Terminated, once. `timeout` and others send several."""
    for each in ENDING:
        if signal.getsignal(each) is raise_terminated:
            signal.signal(each, signal.SIG_IGN)
    leave_closed_terminal()
    raise Terminated(number)


def leave_closed_terminal() -> None:
    """Let what a terminal cannot take that has been closed go nowhere, so that saving goes on undisturbed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            descriptor = stream.fileno()
            if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        except (OSError, ValueError, AttributeError):
            continue  # It is no file, or is closed.


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Within the block Ctrl-C raises KeyboardInterrupt, SIGTERM and SIGHUP raise Terminated, once.

    Does nothing outside the main thread, or where somebody else handles the signal or, as nohup, ignores it.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    raising: dict[int, Any] = dict.fromkeys(ENDING, raise_terminated)
    raising[signal.SIGINT] = signal.default_int_handler
    handled = [each for each in raising if in_main_thread and signal.getsignal(each) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, raising[number])
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Within the block Ctrl-C, SIGTERM and SIGHUP wait; the first that came is handled when the block ends.

    For what must not be left half done, such as to start a process and to know which one it is. Programs that
    are started within have the signals' defaults. Does nothing outside the main thread.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    known = {each: signal.getsignal(each) for each in (signal.SIGINT, *ENDING) if in_main_thread}
    handlers = {number: handler for number, handler in known.items() if callable(handler)}
    came: list[tuple[int, Any]] = []
    for number in handlers:
        signal.signal(number, lambda *signalled: came.append(signalled))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            handlers[came[0][0]](*came[0])
