"""What a command that can be continued says when it is stopped."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator

from scfg_sampler.core.console import say
from scfg_sampler.core.signals import Terminated

__all__ = ["repeatable", "resumable", "telling"]

_STOPPED = (KeyboardInterrupt, Terminated)


@contextlib.contextmanager
def resumable(command: str, place: str, saved: str = "run.json") -> Iterator[None]:
    """Within the block Ctrl-C, SIGTERM and SIGHUP, besides what they do, have the command named that goes on.

    Parameters
    ----------
    command : str
        What resumes it, without the place.
    place : str
        What the command is given: a run directory, or a file.
    saved : str
        What lies there, or begins with the name of the place, once there is something to go on from.
    """
    try:
        yield
    except _STOPPED:
        if os.path.exists(os.path.join(place, saved)) or os.path.exists(place + saved):
            say(f"to go on: {command} {shlex.quote(place)}")
        raise


@contextlib.contextmanager
def repeatable(kept: str, *, overwrite: bool = False) -> Iterator[None]:
    """Within the block Ctrl-C, SIGTERM and SIGHUP, besides what they do, say that the same command goes on.

    Parameters
    ----------
    kept : str
        The directory of what is done already; nothing is said where it holds nothing.
    overwrite : bool
        Whether the command was told to forget it.
    """
    try:
        yield
    except _STOPPED:
        if os.path.isdir(kept) and os.listdir(kept):
            again = "the same command again" + (", without --overwrite" if overwrite else "")
            say(f"to go on: {again}; what is done is in {kept}")
        raise


@contextlib.contextmanager
def telling(what_is_there: Callable[[], str]) -> Iterator[None]:
    """Within the block Ctrl-C, SIGTERM and SIGHUP, besides what they do, say what is there all the same.

    Parameters
    ----------
    what_is_there : callable
        Says it in one line, or nothing: an empty string.
    """
    try:
        yield
    except _STOPPED:
        if found := what_is_there():
            say(found)
        raise
