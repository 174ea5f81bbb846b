"""Who does the tasks that work is divided into: this thread, several threads, or processes elsewhere.

A task is a pure function of its arguments: what it is given it does not change, and whatever it draws comes
from a seed among them. So where it is done, how often it is begun, and in which order tasks end makes no
difference to what comes out; a worker that is lost costs the time of its tasks. `core.cluster` has the
executor whose tasks are done by other processes.

The fact a newcomer would get wrong: how work is divided is not an executor's business. A result that depends
on the division (`--shards`) is divided in the same way whoever does it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from scfg_sampler.core.limits import require_number

__all__ = ["Executor", "InProcess", "Result", "Threads", "threads"]


class Result(Protocol):
    """What a task comes to, in time."""

    def result(self) -> Any:
        """What its function returned; raises what that raised."""


class Executor(Protocol):
    """Does tasks."""

    is_elsewhere: bool
    """Whether other processes do them, to whom arguments have to be sent."""

    @property
    def at_a_time(self) -> int:
        """How many tasks are done at a time, as far as it is known now; at least 1."""

    def share(self, value: Any) -> Any:
        """What stands for a value in the arguments of tasks, so that it travels once however many use it."""

    def submit(self, function: Callable, /, *arguments: Any) -> Result:
        """Have a task done, some time."""

    def status(self) -> str:
        """A few words for people who wait; none if there is nothing to tell."""


class InProcess:
    """Does every task at once, in the thread that submits it."""

    is_elsewhere = False

    @property
    def at_a_time(self) -> int:
        """One."""
        return 1

    def share(self, value: Any) -> Any:
        """The value."""
        return value

    def submit(self, function: Callable, /, *arguments: Any) -> Result:
        """The task, done."""
        done: Future = Future()
        done.set_result(function(*arguments))
        return done

    def status(self) -> str:
        """Nothing."""
        return ""


class Threads(InProcess):
    """Does tasks in several threads.

    Parameters
    ----------
    pool : ThreadPoolExecutor
    number : int
        Of its threads.
    """

    def __init__(self, pool: ThreadPoolExecutor, number: int):
        self._pool, self._number = pool, number

    @property
    def at_a_time(self) -> int:
        """As many as there are threads."""
        return self._number

    def submit(self, function: Callable, /, *arguments: Any) -> Result:
        """The task, which the next free thread does."""
        return self._pool.submit(function, *arguments)


@contextlib.contextmanager
def threads(number: int) -> Iterator[Executor]:
    """An executor that does so many tasks at a time, in this process.

    Parameters
    ----------
    number : int
        From 1 to `limits.MOST`.

    Raises
    ------
    SettingsError
        It is not.
    """
    require_number("threads", number)
    if number == 1:
        yield InProcess()
        return
    with ThreadPoolExecutor(number) as pool:
        yield Threads(pool, number)
