"""What compiled functions return, NamedTuples and arrays, made without a line of Python.

Python handles signals between two of its instructions. A function that is compiled has none; the first ones
after a long one were those by which numba looked up the classes of what it returns, and called them. So
whatever Ctrl-C raises was raised there, and numba, which goes on with what it has made without a look, ended
the process with a segmentation fault. Here classes are at hand, as constants, and results are made in C: what
a signal raises is raised where the function was called.

The fact a newcomer would get wrong: this is part of what is compiled, and lies in the cache with it.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.boxing import box_array, box_tuple
from numba.core.pythonapi import _boxers
from numba.np import numpy_support

__all__ = ["make_results_in_c"]


def make_results_in_c() -> None:
    """Let numba return NamedTuples and arrays so, in everything that it compiles from now on."""
    _boxers.functions[types.Array] = _array
    for kind in (types.NamedTuple, types.NamedUniTuple):
        _boxers.functions[kind] = _named_tuple


def _named_tuple(kind, value, c):
    python = c.pyapi
    new, of_class = _constant(c, tuple.__new__), _constant(c, kind.instance_class)
    python.incref(of_class)  # Tuples take over what is put into them.
    arguments = python.tuple_new(2)
    python.tuple_setitem(arguments, 0, of_class)
    python.tuple_setitem(arguments, 1, box_tuple(kind, value, c))
    found = python.call(new, arguments)
    python.decref(arguments)
    return found


def _array(kind, value, c):
    """As `numba.core.boxing.box_array` does it, but for the class."""
    if not c.context.enable_nrt:
        return box_array(kind, value, c)
    python, number = c.pyapi, ir.IntType(32)
    of_class, of_numbers = _constant(c, kind.box_type), _constant(c, numpy_support.as_dtype(kind.dtype))
    takes = (python.voidptr, python.pyobj, number, number, python.pyobj)
    make = python._get_function(
        ir.FunctionType(python.pyobj, takes), name="NRT_adapt_ndarray_to_python_acqref"
    )
    place = c.builder.bitcast(cgutils.alloca_once_value(c.builder, value), python.voidptr)
    found = c.builder.call(make, (place, of_class, number(kind.ndim), number(int(kind.mutable)), of_numbers))
    c.context.nrt.decref(c.builder, kind, value)
    return found


def _constant(c, value):
    """An object that lies beside the compiled function; a borrowed reference."""
    return c.env_manager.read_const(c.env_manager.add_const(value))
