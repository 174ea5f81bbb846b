"""One reader on one input: read, or refused in a line, with little time and memory. All else is a fault."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

from scfg_sampler.errors import ScfgError
from tests.fuzz.readers import Reader

__all__ = ["SECONDS", "fault"]

SECONDS = 20  # Of the processor.
_KILOBYTES = 300_000  # Compiled kernels among them; beyond it, ten times the input.


def fault(reader: Reader, content: bytes) -> str | None:
    """What is wrong with a reader given a file with these contents, and where; None if nothing is.

    What takes long is tried again: the first time may have compiled something.
    """
    found = _fault(reader, content)
    return _fault(reader, content) if found is not None and found.startswith("TimeoutError") else found


def _fault(reader: Reader, content: bytes) -> str | None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "input"
        path.write_bytes(content)
        _forget_peak()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            with _limited(), _quiet():
                reader.read(path)
        except ScfgError as error:
            if "\n" in str(error).strip():
                return f"a message of several lines ({str(error)[:100]!r})"
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return (
                f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno} ({str(error)[:100]})"
            )
        taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if taken > _KILOBYTES + len(content) // 100:
            return f"took {taken // 1000} MB for {len(content)} bytes"
    return None


def _forget_peak() -> None:
    """Let the most memory this process has had be what it has now, where that can be (Linux, proc(5))."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"took more than {SECONDS} s of the processor")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings of readers on standard error."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        assert sys.stderr is nowhere
        yield
