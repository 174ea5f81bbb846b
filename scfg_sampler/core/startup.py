"""What a program leaves out of its start, and what it says when that takes long.

Only command lines do this: what a library loads, or says, is the business of the process it is loaded into.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from scfg_sampler.core.console import is_watched, say

__all__ = ["begin_program", "leave_out_linear_algebra", "tell_of_compiling"]

_COMPILING = "compiling for this machine: once after an installation or an update, a minute or two in all …"

_ASKING = "numba.np.arraymath"
_ASKED_FOR = "scipy.linalg"


_to_be_told = False


def begin_program() -> None:
    """To be called by the main function of a program, before anything is loaded."""
    global _to_be_told
    _to_be_told = True
    leave_out_linear_algebra()


def tell_of_compiling() -> None:
    """Say what takes so long, once, to whoever waits for a program: a kernel is not in the cache."""
    global _to_be_told
    if _to_be_told and is_watched():
        say(_COMPILING)
    _to_be_told = False


def leave_out_linear_algebra() -> None:
    """Let numba go without BLAS, which it looks for when the first kernel is loaded and no kernel here calls.

    It finds BLAS by importing `scipy.linalg`, a fifth of the time until a warm `translate` has its first
    sentence. To numba the import fails, once, as it would without scipy; to anybody else, before and after,
    it works. Does nothing where numba has asked already.
    """
    if _ASKING not in sys.modules:
        finder: Any = _NotForNumba()
        sys.meta_path.insert(0, finder)


class _NotForNumba:
    """Refuses `scipy.linalg` while the module of numba's that asks for it is being loaded.

    No `importlib.abc.MetaPathFinder`, the import of which takes as long as a tenth of a command's help.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _ASKED_FOR or _ASKING not in sys.modules:
            return None
        sys.meta_path.remove(self)
        if getattr(sys.modules[_ASKING].__spec__, "_initializing", False):
            raise ModuleNotFoundError(f"{name} is left out for {_ASKING}", name=name)
        return None
