"""What a command that can be continued says when it is stopped."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator

from scfg_sampler.core.console import Terminated, say

__all__ = ["resumable"]


@contextlib.contextmanager
def resumable(command: str, place: str, saved: str = "run.json") -> Iterator[None]:
    """Within the block Ctrl-C and SIGTERM, besides what they do, have the command named that goes on.

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
    except (KeyboardInterrupt, Terminated):
        if os.path.exists(os.path.join(place, saved)) or os.path.exists(place + saved):
            say(f"to go on: {command} {shlex.quote(place)}")
        raise
