"""Which steps from line to line of the project's Python an input made: the coverage that fuzzing goes by.

The fact a newcomer would get wrong: what is compiled is not seen. With NUMBA_DISABLE_JIT=1 it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["Steps"]

_ROOMS = tuple(
    str(Path(__file__).parents[2] / name) + "/" for name in ("scfg_sampler", "decoder", "monolingual")
)


class Steps:
    """All steps made so far, as (file, line before, line), 0 before the first line of a function."""

    def __init__(self) -> None:
        self.made: set[tuple[str, int, int]] = set()

    def of(self, read: Callable[[Path], Any]) -> Callable[[Path], Any]:
        """The same function, watched."""

        def watched(path: Path) -> Any:
            sys.settrace(self._enter)
            try:
                return read(path)
            finally:
                sys.settrace(None)

        return watched

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        name, add, last = frame.f_code.co_filename, self.made.add, 0
        if not name.startswith(_ROOMS):
            return None

        def step(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                add((name, last, frame.f_lineno))
                last = frame.f_lineno
            return step

        return step
