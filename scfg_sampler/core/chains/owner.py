"""One process at a time in a run directory: who is there is said, and who is gone is not waited for.

`run.lock` says who owns the directory and is locked by them (flock), so that it counts for nothing when its
process has ended, whatever process has its number now. Where directories are shared between machines, locks
may not be; so the owner touches the file every few seconds, and one of another machine that has not been
touched for some minutes counts for nothing either. Nor does, where the file system has no locks at all, one
of this machine whose process has ended; two that begin there in the same moment do not see each other.

The fact a newcomer would get wrong: times are compared on the file system that holds the directory. The
clocks of two machines differ.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scfg_sampler.core.files import PathLike, naming
from scfg_sampler.core.json_text import parse_json
from scfg_sampler.core.leftovers import has_locks, hold
from scfg_sampler.errors import InputError

__all__ = ["LOCK", "owned"]

LOCK = "run.lock"
_BEAT = 20.0  # Seconds between touches.
_SILENCE = 300.0  # Seconds after which an owner on another machine counts as gone.


@contextlib.contextmanager
def owned(directory: PathLike, name: str = LOCK, subject: PathLike | None = None) -> Iterator[None]:
    """Within the block no other process owns the directory, which is made if need be.

    Parameters
    ----------
    directory : path
    name : str
        Of the lock, which is removed in the end.
    subject : path, optional
        What is said to be in use; by default the directory.

    Raises
    ------
    InputError
        Another process owns it, or it cannot be written to.
    """
    lock = Path(directory) / name
    with naming(directory):
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = hold(lock)
        is_locked = descriptor is not None or has_locks(lock)
        if not is_locked:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    found = _read(lock)
    if descriptor is None or _is_at_work(found, lock, is_locked):
        if descriptor is not None:
            os.close(descriptor)
        raise InputError(
            subject or directory, None, f"is in use by {_described(found)}", "Wait for it, or stop it"
        )
    gone = threading.Event()
    try:
        with naming(directory):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(_self()).encode())
        threading.Thread(target=_beat, args=(lock, gone), daemon=True).start()
        yield
    finally:
        gone.set()
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _is_at_work(owner: dict[str, Any], lock: Path, is_locked: bool) -> bool:
    """Whether whom a lock names still owns it, though it is not held, or where nothing can be."""
    if not owner or (owner.get("host") == _host() and (is_locked or _has_ended(owner.get("process")))):
        return False
    return owner.get("host") is not None and _age(lock) < _SILENCE


def _has_ended(process: object) -> bool:
    """Whether there is no such process on this machine."""
    if not isinstance(process, int) or process <= 0:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # Another user's, who may not be asked.
        return False
    return False


def _self() -> dict[str, Any]:
    """What a lock says of this process."""
    began = time.strftime("%Y-%m-%d %H:%M:%S")
    return {"process": os.getpid(), "host": _host(), "since": began, "command": " ".join(sys.argv)[:200]}


def _host() -> str:
    return socket.gethostname()


def _read(lock: Path) -> dict[str, Any]:
    """What a lock says; nothing if it cannot be read, as that of a process which is just writing it."""
    try:
        found = parse_json(lock.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def _described(owner: dict[str, Any]) -> str:
    if not owner:
        return "another process"
    return (
        f"process {owner.get('process')} on {owner.get('host')} since {owner.get('since')} "
        f"({owner.get('command')})"
    )


def _age(lock: Path) -> float:
    """Seconds since a file was touched, by the clock of its file system; infinite if it is gone."""
    probe = lock.with_name(f"{lock.name}.{os.getpid()}")
    try:
        probe.touch()
        return probe.stat().st_mtime - lock.stat().st_mtime
    except OSError:
        return 0.0 if lock.exists() else float("inf")
    finally:
        probe.unlink(missing_ok=True)


def _beat(lock: Path, gone: threading.Event) -> None:
    while not gone.wait(_BEAT):
        with contextlib.suppress(OSError):
            os.utime(lock)
