"""Cached machine code loaded without what only compiling needs.

Before numba looks into its cache it makes itself ready to compile: it loads sixty more of its modules and all
that they say of Python's and numpy's functions, a fifth of the time until a warm command has its first
output. Machine code needs none of that, only that whatever it calls has an address. The names of these
are kept beside it; where one has none yet, numba is made ready after all. A kernel that is not in the cache
is compiled, and then numba makes itself ready anyway.

The fact a newcomer would get wrong: LLVM does not raise an exception where a name has no address, it ends the
process. So the names are asked for before the code is loaded.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core import caching
from numba.core.runtime import _nrt_python  # type: ignore[attr-defined]

__all__ = ["CodeCache", "CodeCacheImplementation"]

if not hasattr(caching.FunctionCache, "_load_overload"):
    raise ImportError("this numba reads its cache in another way")


class CodeCacheImplementation(caching.CompileResultCacheImpl):
    """How a compiled function is kept: with the names that its code needs."""

    def reduce(self, cres: Any) -> tuple:
        """What is written to the cache: names, and what numba would write."""
        *parts, environments = super().reduce(cres)
        # Of the functions below it, those that keep nothing for it would load their modules for nothing.
        kept = tuple(each for each in environments if each.consts)
        return _needed(cres.library._final_module), (*parts, kept)

    def rebuild(self, target_context: Any, payload: tuple) -> Any:
        """The function that was written."""
        names, reduced = payload
        _name_memory()
        if not all(map(llvm.address_of_symbol, names)):
            target_context.refresh()
        return super().rebuild(target_context, reduced)


class CodeCache(caching.FunctionCache):
    """The cache of a function, which is read without making numba ready to compile."""

    _impl_class: Any = CodeCacheImplementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function for a signature, or None."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def _needed(module: Any) -> list[str]:
    """The names that a module uses and does not define."""
    named = [*module.functions, *module.global_variables]
    return sorted({each.name for each in named if each.is_declaration and not each.name.startswith("llvm.")})


def _name_memory() -> None:
    """Give the functions of numba's runtime, which make and free arrays, their names."""
    if not llvm.address_of_symbol("NRT_Free"):
        for name, address in _nrt_python.c_helpers.items():
            llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
