"""Indices of compiled functions as they are: none counts from the end of an array unless it is written so.

Python's `values[i]` is the last value but one where i is −2. numba, to do the same, asks of every index on
which side of zero it is, which kernels full of indices feel. Indices written down, as in `ends[-1]`, count
from the end as ever, and so do the ends of slices.

The fact a newcomer would get wrong: a negative index that was computed is not an error, it reads another
array's memory. With `NUMBA_BOUNDSCHECK=1` it is an IndexError; interpreted it counts from the end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numba
from llvmlite.ir import instructions
from numba.core import types
from numba.np import arrayobj

__all__ = ["direct"]

if not hasattr(arrayobj, "fix_integer_index"):
    raise ImportError(f"numba {numba.__version__} has no arrayobj.fix_integer_index")

_from_end: Any = arrayobj.fix_integer_index


@contextlib.contextmanager
def direct() -> Iterator[None]:
    """Have numba compile so; under its compiler lock, and not one within the other."""
    arrayobj.fix_integer_index = _index
    try:
        yield
    finally:
        arrayobj.fix_integer_index = _from_end


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index as it is, as the integer that addresses are reckoned with."""
    if getattr(_source_of(index), "constant", 0) < 0:
        return _from_end(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


def _source_of(value: Any) -> Any:
    """What was put where a value is taken out of a tuple, as in `pairs[-1, 0]`; else the value itself."""
    if isinstance(value, instructions.ExtractValue):
        place, whole = value.indices, value.operands[0]
        while isinstance(whole, instructions.InsertValue):
            if whole.indices == place:
                return whole.operands[1]
            whole = whole.operands[0]
    return value
