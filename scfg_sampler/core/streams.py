"""Results in the order of their inputs, from several threads, or from processes elsewhere.

The fact a newcomer would get wrong: what is done elsewhere goes there in batches, of which a machine that is
lost may have done a part. What comes back of a batch is taken once, as a whole, in its place.
"""

from __future__ import annotations

import collections
import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from scfg_sampler.core.arguments import of_arguments, require_type, require_whole
from scfg_sampler.core.executors import Executor, Result
from scfg_sampler.core.limits import require_number
from scfg_sampler.core.mapped import MappedFile, content_of, mapped_file, value_in

__all__ = ["each_line", "in_order", "ordered"]

_PATIENCE = 0.02  # Seconds in which a batch may become fuller.

T = TypeVar("T")
R = TypeVar("R")


def each_line(task: Callable[[str], R], lines: Iterable[str], threads: int) -> Iterator[R]:
    """What a method for one line of text finds of each of several, as `in_order`; of arguments of a notebook.

    Raises
    ------
    TypeError
        The lines are a string, which is for the method itself, or none that can be gone through.
    ValueError
        `threads` is out of range.
    """
    if isinstance(lines, str):
        raise TypeError(f"lines is a string; give a list of lines, or the string to {task.__name__}")
    require_type("lines", lines, Iterable, "a list of lines")
    threads = require_whole("threads", threads)
    with of_arguments():
        require_number("threads", threads)
    return in_order(task, lines, threads)


def in_order(task: Callable[[T], R], inputs: Iterable[T], threads: int = 1) -> Iterator[R]:
    """The results of a task for each input, in the order of the inputs, each as soon as it can be given.

    Inputs are read ahead by another thread, a few for each of `threads`, so that a result never waits for
    the next input. An exception in the task or in the inputs is raised in its place.

    Raises
    ------
    SettingsError
        `threads` is out of range.
    """
    require_number("threads", threads)
    if threads == 1:
        yield from map(task, inputs)
        return
    waiting: queue.Queue[Any] = queue.Queue(maxsize=8 * threads)
    stopped = threading.Event()

    def feed() -> None:
        try:
            for value in inputs:
                _put(waiting, pool.submit(task, value), stopped)
                if stopped.is_set():
                    return
            _put(waiting, None, stopped)
        except BaseException as error:  # Handed to the reader of the results.
            _put(waiting, error, stopped)

    pool = ThreadPoolExecutor(threads)
    threading.Thread(target=feed, daemon=True).start()
    try:
        while (entry := waiting.get()) is not None:
            if not isinstance(entry, Future):
                raise entry
            yield entry.result()
    finally:
        stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)


@contextlib.contextmanager
def ordered(
    task: Callable[[T], R], where: int | Executor, *, batch: int = 8, ahead: int = 1000
) -> Iterator[Callable[[Iterable[T]], Iterator[R]]]:
    """A function that gives, as `in_order` does, the results of a task for inputs.

    Parameters
    ----------
    task : callable
        For an executor, what pickle takes: its arrays are mapped by every process that does it.
    where : int or Executor
        In so many threads, or by whom.
    batch : int
        Inputs that are sent together, at the most.
    ahead : int
        Batches that are sent before the result of the first is there, and as many inputs are read ahead.

    Raises
    ------
    InputError
        There is no room for the file that processes map.
    """
    if isinstance(where, int):
        yield lambda inputs: in_order(task, inputs, where)
        return
    with mapped_file(task) as place:
        yield lambda inputs: _elsewhere(place, _Batches(inputs, batch, ahead), where)


class _Done(NamedTuple):
    """What a batch came to: the results until an input that failed, and how."""

    results: list
    error: Exception | None


def _do(place: MappedFile, content: bytes | None, inputs: list) -> _Done | None:
    """What a task comes to for some inputs; None if it cannot be seen from here."""
    task = value_in(place, content)
    if task is None:
        return None
    results: list = []
    try:
        for value in inputs:
            results.append(task(value))
    except Exception as error:  # Raised in its place, where the results are taken.
        return _Done(results, error)
    return _Done(results, None)


def _elsewhere(place: MappedFile, inputs: _Batches, executor: Executor) -> Iterator[Any]:
    """The results of the task in a file, by an executor, each batch as soon as it can be given."""
    content: Any = None  # Until somebody cannot see the file.
    pending: collections.deque[tuple[list, Result]] = collections.deque()
    with contextlib.closing(inputs) as batches:
        while pending or not batches.ended:
            while len(pending) < batches.ahead and (batch := batches.next(wait=not pending)):
                pending.append((batch, executor.submit(_do, place, content, batch)))
            if not pending:
                break
            batch, result = pending.popleft()
            done = result.result()
            if done is None:
                content = executor.share(content_of(place)) if content is None else content
                done = executor.submit(_do, place, content, batch).result()
            yield from done.results
            if done.error is not None:
                raise done.error
        if batches.error is not None:
            raise batches.error


class _Batches:
    """Inputs, read ahead by another thread, several at a time as far as they are there.

    Attributes
    ----------
    ahead : int
        How many may be on their way.
    ended : bool
        Whether there are no more.
    error : BaseException or None
        What they ended with, if they did not come to their end.
    """

    def __init__(self, inputs: Iterable, size: int, ahead: int):
        self.ended, self.ahead = False, ahead
        self.error: BaseException | None = None
        self._inputs, self._size, self._read = inputs, size, queue.Queue[Any](maxsize=ahead)
        self._stopped = threading.Event()
        threading.Thread(target=self._feed, daemon=True).start()

    def close(self) -> None:
        """Read no more."""
        self._stopped.set()

    def next(self, wait: bool) -> list:
        """The next batch; none when the inputs have ended or, unless it is to wait, none is there yet."""
        batch: list = []
        with contextlib.suppress(queue.Empty):
            while not self.ended and len(batch) < self._size:
                if batch:
                    entry = self._read.get(timeout=_PATIENCE)
                else:
                    entry = self._read.get(block=wait)
                if isinstance(entry, _End):
                    self.ended, self.error = True, entry.error
                else:
                    batch.append(entry)
        return batch

    def _feed(self) -> None:
        error: BaseException | None = None
        try:
            for value in self._inputs:
                _put(self._read, value, self._stopped)
                if self._stopped.is_set():
                    return
        except BaseException as raised:  # Handed to the reader of the results.
            error = raised
        _put(self._read, _End(error), self._stopped)


class _End(NamedTuple):
    """What follows the last input."""

    error: BaseException | None


def _put(entries: queue.Queue[Any], entry: Any, stopped: threading.Event) -> None:
    """Add to a queue as soon as there is room, unless nobody takes from it any more."""
    while not stopped.is_set():
        with contextlib.suppress(queue.Full):
            entries.put(entry, timeout=0.5)
            return
