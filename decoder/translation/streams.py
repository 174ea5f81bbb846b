"""Results in the order of their inputs, from several threads."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from scfg_sampler.errors import SettingsError

__all__ = ["in_order"]

T = TypeVar("T")
R = TypeVar("R")


def in_order(task: Callable[[T], R], inputs: Iterable[T], threads: int = 1) -> Iterator[R]:
    """The results of a task for each input, in the order of the inputs, each as soon as it can be given.

    Inputs are read ahead by another thread, a few for each of `threads`, so that a result never waits for
    the next input. An exception in the task or in the inputs is raised in its place.

    Raises
    ------
    SettingsError
        `threads` is below 1.
    """
    if threads < 1:
        raise SettingsError(f"--threads is {threads}; at least 1 is needed")
    if threads == 1:
        yield from map(task, inputs)
        return
    waiting: queue.Queue[Any] = queue.Queue(maxsize=8 * threads)
    stopped = threading.Event()

    def put(entry: Any) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(entry, timeout=0.5)
                return

    def feed() -> None:
        try:
            for value in inputs:
                put(pool.submit(task, value))
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:  # Handed to the reader of the results.
            put(error)

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
