"""Whether kernels are being compiled, and what time that takes, which rates of progress leave out.

Kernels call each other: what is within a kernel is compiled within its time. numba keeps threads apart.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from scfg_sampler.core.console import leave_out_of_rates
from scfg_sampler.core.startup import tell_of_compiling

__all__ = ["begin_compiling", "end_compiling", "ended_at_last", "is_compiling"]

_began: list[float] = []
"""When the kernels began that are being compiled, the innermost last."""


def begin_compiling() -> None:
    """A kernel is not in the cache."""
    tell_of_compiling()
    _began.append(time.monotonic())


def end_compiling() -> None:
    """A kernel is compiled, and in the cache."""
    began = _began.pop() if _began else time.monotonic()
    if not _began:
        leave_out_of_rates(time.monotonic() - began)


@contextlib.contextmanager
def ended_at_last() -> Iterator[None]:
    """Whatever begins within is over in the end, whether it could be compiled or not."""
    before = len(_began)
    try:
        yield
    finally:
        del _began[before:]


def is_compiling() -> bool:
    """Whether a kernel is being compiled, in any thread; whoever needs another that is not, waits for it."""
    return bool(_began)
