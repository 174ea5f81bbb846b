"""Tasks done by other processes, here or on other machines, through Dask: the only module that imports it.

What Dask is told of a task is all that the task needs, so that it can begin it again elsewhere when a worker
is lost: the arguments, values that are shared among them. Nothing is scattered, which is lost with its
worker, and no state stays with a worker.

The fact a newcomer would get wrong: Dask gives a task up after its worker has died three times, as if the
task were to blame. On machines that come and go it is not, so that the limit is raised here.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import multiprocessing
import os
import platform
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np

from scfg_sampler import __version__
from scfg_sampler.core.console import say
from scfg_sampler.core.executors import Executor, Result
from scfg_sampler.core.json_text import parse_json
from scfg_sampler.core.limits import require_number
from scfg_sampler.core.signals import signals_held
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import ClusterError, SettingsError

__all__ = ["DaskExecutor", "dask_executor", "dask_setup"]

_ALLOWED_FAILURES = 1000
_SECONDS_TO_CONNECT = 30
_SECONDS_TO_WRITE = 1
_MB = 1e6
_OURS = (signal.SIGINT, signal.SIGHUP)
_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("scfg_sampler", "decoder", "monolingual")

_SETTINGS = {
    # It looks a hundred times a second at what a worker does, for a dashboard that is not there.
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.allowed-failures": _ALLOWED_FAILURES,
    "distributed.admin.large-graph-warning-threshold": "1TB",
    "distributed.comm.timeouts.connect": f"{_SECONDS_TO_CONNECT}s",
}


@contextlib.contextmanager
def dask_executor(workers: int | None, scheduler: str | None) -> Iterator[Executor]:
    """An executor whose tasks are done by so many processes of its own, or by those of a Dask cluster.

    Parameters
    ----------
    workers : int, optional
        How many processes are started here, for as long as the executor is needed.
    scheduler : str, optional
        The address of a scheduler, as tcp://HOST:PORT, or the name of the file it has written. One of the
        two is given.

    Raises
    ------
    SettingsError
        Dask is not installed, or nobody answers at that address.
    ClusterError
        Its workers have other versions, or those started here have ended at once.
    """
    option = f"--workers {workers}" if scheduler is None else f"--scheduler {scheduler}"
    if scheduler is None:
        require_number("workers", workers or 0)
    try:
        import dask
        import distributed
    except ImportError:
        hint = "install it with 'pip install scfg-sampler[cluster]'"
        raise SettingsError(f"{option} needs Dask, which is not installed; {hint}") from None
    # What goes wrong is said in one line here; Dask's own loggers would add tracebacks.
    for name in [each for each in logging.root.manager.loggerDict if each.split(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(_SETTINGS))
        if scheduler is None:
            cluster = stack.enter_context(_begun(distributed, workers))
            client = stack.enter_context(distributed.Client(cluster))
        else:
            client = stack.enter_context(_connected(distributed, scheduler))
        executor = DaskExecutor(client, distributed)
        executor.prepare()
        yield executor


def dask_setup(worker: Any) -> None:
    """What a process that is started here does first: signals to our group are not for it.

    Parameters
    ----------
    worker
        Not used. Dask calls functions of this name.
    """
    os.setpgid(0, 0)


@contextlib.contextmanager
def _begun(distributed: Any, workers: int | None) -> Iterator[Any]:
    """A cluster of so many processes that are started here, and end here, be it while they start."""
    with contextlib.ExitStack() as stack:
        with signals_held(), _deaf():
            cluster = stack.enter_context(_closed_in_peace(_without_workers(distributed)))
        for _ in range(workers or 0):
            cluster.worker_spec.update(cluster.new_worker_spec())
        others = set(multiprocessing.active_children())
        try:
            cluster.sync(_start, cluster)
        except RuntimeError as error:
            # In place of one that is killed while it works Dask starts another; not of one that begins.
            reason = str(error).rstrip(".")
            found = f"--workers {workers}: a process has ended before it could work ({reason})"
            raise ClusterError(f"{found}. Start again; if memory is short, with fewer") from None
        except BaseException:
            # Dask would wait until they have started, to tell them to end.
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
            raise
        yield cluster


@contextlib.contextmanager
def _closed_in_peace(cluster: Any) -> Iterator[Any]:
    """The cluster, entered; while it is left, signals wait, as its semaphores would not be given back."""
    cluster.__enter__()
    try:
        yield cluster
    finally:
        with signals_held():
            cluster.__exit__(None, None, None)


async def _start(cluster: Any) -> None:
    """Start its processes.

    Ctrl-C cancels what is waited for, but a cluster cannot be closed that was cancelled while it started.
    """
    starting = cluster._correct_state()
    # Whatever it ends with has been heard then, and is not logged.
    starting.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    await asyncio.shield(starting)


def _without_workers(distributed: Any) -> Any:
    """A cluster that has its threads, and no process yet."""
    return distributed.LocalCluster(
        n_workers=0,
        threads_per_worker=1,
        processes=True,
        memory_limit=0,
        dashboard_address=None,
        # Without a dashboard, too, the scheduler listens for HTTP, on the port of whoever has one.
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        silence_logs=logging.CRITICAL,
        preload=[__name__],
    )


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Threads that begin within the block, and processes that these start, hear of no Ctrl-C, and no SIGHUP.

    These are for the one that started them; processes would answer with a traceback while they load Dask,
    and the one that notes semaphores, which multiprocessing starts, would be gone before they are.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
    try:
        resource_tracker.ensure_running()
        # It has let this thread hear of Ctrl-C again.
        signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _connected(distributed: Any, scheduler: str) -> Any:
    """A client of a scheduler that somebody else has started."""
    try:
        address = _address(scheduler)
        _require_scheduler(distributed, address)
        return distributed.Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError) as error:
        hint = (
            "it must be tcp://HOST:PORT, or the file that 'dask scheduler --scheduler-file FILE' has written"
        )
        reason = str(error).split("\n")[0] or "nobody answers"
        raise SettingsError(f"--scheduler {scheduler} cannot be reached ({reason}); {hint}") from None


def _address(scheduler: str) -> str:
    """The address that is given, or written in the file that is.

    A scheduler that has just been started has not written its file yet, which is waited for as an answer is.
    """
    if re.search(r"://|:\d+$", scheduler):
        return scheduler
    if not scheduler.strip():
        raise ValueError("it is empty")
    path = Path(scheduler)
    if not path.exists() and path.parent.is_dir():
        say(f"waiting for {scheduler}")
        _wait(_SECONDS_TO_CONNECT, path.exists)
    if not path.exists():
        raise ValueError("there is no such file")
    _wait(_SECONDS_TO_WRITE, lambda: bool(_written(path)))  # It may be there in part.
    address = _written(path)
    if not address:
        raise ValueError("that file names no address")
    return address


def _wait(seconds: float, happened: Callable[[], bool]) -> None:
    """Return when it has happened, or after so many seconds."""
    deadline = time.monotonic() + seconds
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.1)


def _written(path: Path) -> str:
    """The address in a scheduler's file; empty where it is something else."""
    try:
        found = parse_json(path.read_bytes())
    except ValueError:
        return ""
    address = found.get("address") if isinstance(found, dict) else None
    return address if isinstance(address, str) else ""


def _require_scheduler(distributed: Any, address: str) -> None:
    """Raise unless a scheduler answers there: others, as web pages, may never say a word."""

    async def ask() -> Any:
        options = distributed.security.Security().get_connection_args("client")
        line = await distributed.comm.connect(address, timeout=_SECONDS_TO_CONNECT, **options)
        try:
            await line.write({"op": "identity", "reply": True})
            answer = await line.read()
        finally:
            line.abort()
        return answer.get("type") if isinstance(answer, dict) else None

    async def ask_in_time() -> Any:
        return await asyncio.wait_for(ask(), _SECONDS_TO_CONNECT + _SECONDS_TO_WRITE)

    try:
        # In a thread of its own, as notebooks have a loop in theirs.
        with ThreadPoolExecutor(1) as thread:
            kind = thread.submit(asyncio.run, ask_in_time()).result()
    except TimeoutError:
        raise ValueError("what listens there is no scheduler of Dask") from None
    if kind != "Scheduler":
        raise ValueError(f"what listens there is a {str(kind).lower()} of Dask and not its scheduler")


class DaskExecutor:
    """Has tasks done by the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
    distributed : module

    Attributes
    ----------
    moved : int
        Bytes of arrays that went to the scheduler and came back.
    """

    is_elsewhere = True

    def __init__(self, client: Any, distributed: Any):
        self._client, self.moved = client, 0
        self._lost = (
            distributed.client.FutureCancelledError,
            distributed.scheduler.KilledWorker,
            OSError,
        )

    def prepare(self) -> None:
        """Wait for the first worker, and see that those there are run what runs here."""

        def raise_limit(dask_scheduler: Any) -> None:
            dask_scheduler.allowed_failures = max(dask_scheduler.allowed_failures, _ALLOWED_FAILURES)

        self._client.run_on_scheduler(raise_limit)
        if not self._client.nthreads():
            say("waiting for a worker")
            self._client.wait_for_workers(1)
        for address, there in self._client.run(_versions).items():
            _require_same(_versions(), there, address)

    @property
    def at_a_time(self) -> int:
        """As many as there are workers."""
        with self.reached():
            return max(1, len(self._client.nthreads()))

    def share(self, value: Any) -> Any:
        """The result of a task that returns the value, which workers then hand each other."""
        self.moved += _size(value)
        with self.reached():
            return self._client.submit(_itself, value, pure=False)

    def submit(self, function: Callable, /, *arguments: Any) -> Result:
        """The task, done by some worker; again by another if that is lost."""
        self.moved += _size(arguments)
        with self.reached():
            task = self._client.submit(_done_by_the_same, _versions(), function, *arguments, pure=False)
            return _DaskResult(self, task)

    def status(self) -> str:
        """How many workers there are, and what has gone to and fro."""
        with self.reached():
            return f", {counted(len(self._client.nthreads()), 'worker')}, {self.moved / _MB:.0f} MB moved"

    @contextlib.contextmanager
    def reached(self) -> Iterator[None]:
        """Within the block, a cluster that is gone is a ClusterError of one line."""
        try:
            yield
        except self._lost as error:
            reason = str(error).split("\n")[0] or type(error).__name__
            raise ClusterError(f"the cluster has been lost ({reason})") from None


class _DaskResult:
    """What a task comes to; in one line where the cluster is gone."""

    def __init__(self, executor: DaskExecutor, future: Any):
        self._executor, self._future = executor, future

    def result(self) -> Any:
        """What its function returned."""
        with self._executor.reached():
            value = self._future.result()
        self._executor.moved += _size(value)
        return value


def _itself(value: Any) -> Any:
    return value


def _size(value: Any) -> int:
    """Bytes of the arrays of a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_size, value)) if isinstance(value, tuple | list) else 0


def _versions() -> dict[str, str]:
    """What has to be the same everywhere for results to be."""
    return {"scfg-sampler": __version__, **_installed()}


@functools.cache
def _installed() -> dict[str, str]:
    """Versions of Python and of libraries, and a digest of the sources, which change while versions stay."""
    versions = {name: metadata.version(name) for name in ("numpy", "numba", "dask")}
    digest = hashlib.sha256()
    for path in sorted(path for package in _PACKAGES for path in (_ROOT / package).rglob("*.py")):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(_ROOT).as_posix()} {len(text)}\n".encode() + text)
    python = ".".join(platform.python_version_tuple()[:2])
    return {"sources": digest.hexdigest()[:12], "Python": python, **versions}


def _require_same(here: dict[str, str], there: dict[str, str], address: str) -> None:
    others = [name for name in here if there.get(name) != here[name]]
    if others:
        differing = [f"{name} {there.get(name)} there, {here[name]} here" for name in others]
        hint = "Install the same everywhere"
        raise ClusterError(f"the worker at {address} has other versions: {'; '.join(differing)}. {hint}")


def _done_by_the_same(here: dict[str, str], function: Callable, *arguments: Any) -> Any:
    """What a task comes to, on a worker that may have joined after others had been looked at."""
    _require_same(here, _versions(), platform.node())
    return function(*arguments)
