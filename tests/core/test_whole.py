"""Functions below kernels: compiled as parts of them, and still functions to everybody else."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from scfg_sampler.core import jit, whole
from scfg_sampler.core.jit import compiled, inlined, kernel, specialised
from scfg_sampler.core.signals import Terminated, terminable

pytestmark = pytest.mark.skipif(not jit.ENABLED, reason="compilation is off")


@compiled
def lowest(x):
    return np.sort(x)[::-1].copy()


@compiled
def left(x):
    return lowest(x)[0]


@inlined
def right(x):
    return 10.0 * lowest(x)[1]


@kernel
def diamond(x):
    """Two ways down to the same function."""
    return left(x) + right(x)


@kernel
def upper(x):
    """A kernel below another."""
    return diamond(x) + left(x)


@kernel
def impossible(x):
    return left(x) + x.there_is_no_such_thing


@kernel
def refusing(x):
    if x < 0:
        raise ValueError("below zero")
    return x


@compiled
def from_place(x, place, is_negative):
    return -x[place] if is_negative else x[place]


@specialised
def times(number, factor):
    return factor * number


@kernel
def from_many_places(x, places, byte):
    """Calls with constants, numbers of 32 and 64 bits, and a byte, which stays what it is."""
    total = from_place(x, 0, False) + from_place(x, 1, True)
    for k in range(len(places)):
        total += from_place(x, places[k], k > 0) + from_place(x, k, places[k] > 0)
    return total + times(times(from_place(x, byte, False), 10.0), 3)


@compiled
def taken(values, place):
    return values[place]


@kernel
def from_a_tuple(x):
    values = x, 2
    return taken(values, 0)[1] + taken(values, 1)


X = np.array([1.0, 3.0, 2.0])


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """Nothing compiled, nothing in the cache."""
    monkeypatch.setenv("SCFG_SAMPLER_CACHE", str(tmp_path))
    jit.cache_directory.cache_clear()
    functions = [diamond, upper, left, right, lowest, refusing, from_many_places, from_place, times]
    for function in functions:
        function._reset_overloads()
        function.overloads.clear()
    for function in (diamond, upper, refusing, from_many_places):
        function._cache = jit._ContentCache(function.py_func)
    yield
    jit.cache_directory.cache_clear()


def is_completed(function):
    (result,) = function.overloads.values()
    return result.library._finalized


def test_parts_go_through_llvm_in_their_kernel_alone(cold):
    assert diamond(X) == 23.0
    assert is_completed(diamond)
    assert not any(is_completed(part) for part in (left, right, lowest))


def test_kernel_below_a_kernel_is_found_in_the_cache_by_both(cold):
    assert upper(X) == 26.0
    assert is_completed(diamond)
    assert not is_completed(left)
    before = [sum(function.stats.cache_hits.values()) for function in (upper, diamond)]
    for function in (upper, diamond):
        function._reset_overloads()
        function.overloads.clear()
    assert upper(2 * X) == 52.0
    assert diamond(2 * X) == 46.0
    after = [sum(function.stats.cache_hits.values()) for function in (upper, diamond)]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1]


def test_kernel_is_compiled_onto_one_from_the_cache(cold):
    assert diamond(X) == 23.0
    before = sum(diamond.stats.cache_hits.values())
    diamond._reset_overloads()
    diamond.overloads.clear()
    assert upper(X) == 26.0
    assert sum(diamond.stats.cache_hits.values()) == before + 1


def test_python_calls_a_part_before_and_after_kernels_do(cold):
    assert left(X) == 3.0
    assert diamond(X) == 23.0
    assert left(X) == 3.0
    assert right(X) == 20.0
    assert right(-X) == -20.0
    assert diamond(-X) == -21.0


def test_functions_of_others_call_parts_that_kernels_call(cold):
    assert upper(X) == 26.0

    @numba.njit
    def other(x):
        return left(x) + 100.0 * np.sort(x)[0] + lowest(x)[2]

    assert other(X) == 104.0
    assert left(X) == 3.0
    assert upper(X) == 26.0


def test_nothing_stays_changed_in_numba_whether_it_compiles_or_not(cold):
    context = cpu_target.target_context
    codegen = context.codegen()
    assert diamond(X) == 23.0
    with pytest.raises(numba.TypingError, match="there_is_no_such_thing"):
        impossible(X)
    assert "get_executable" not in vars(context)
    assert "_library_class" not in vars(codegen)
    assert gc.isenabled()
    gc.disable()
    try:
        assert upper(X) == 26.0
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)]
)
def test_signals_while_machine_code_is_made_are_raised_in_the_end(cold, monkeypatch, number, raised):
    """LLVM hands Python what it made by a call back, out of which nothing can be raised."""
    engine = cpu_target.target_context.codegen()._engine._ee
    numbas = engine._object_cache_notify
    told = []

    def signalled(module, code):
        told.append(code)
        signal.raise_signal(number)
        numbas(module, code)

    with terminable():
        with monkeypatch.context() as patched:
            patched.setattr(engine, "_object_cache_notify", signalled)
            with pytest.raises(raised):
                diamond(X)
        assert len(told) == 1
        assert diamond(X) == 23.0


def test_kernels_raise_what_they_say(cold):
    assert refusing(1.0) == 1.0
    with pytest.raises(ValueError, match="below zero"):
        refusing(-1.0)


def test_other_version_of_numba_is_noticed(monkeypatch):
    assert whole.missing_names() == []
    monkeypatch.setitem(whole._USED, whole.CPUDispatcher, "compile no_such_name")
    assert whole.missing_names() == ["CPUDispatcher.no_such_name"]


def test_without_this_everything_is_compiled_as_numba_does(root, tmp_path):
    statement = """
import sys
sys.modules["scfg_sampler.core.whole"] = None  # An import is refused.
import numpy as np
from tests.core.compiled_examples import Square, six_areas, twice
print(six_areas(Square(np.array([2.0]))), type(twice).__name__, type(six_areas).__name__)
print(len(six_areas.stats.cache_misses))
"""
    environment = {**os.environ, "SCFG_SAMPLER_CACHE": str(tmp_path), "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", statement]
    child = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    assert child.stdout == "24.0 CPUDispatcher CPUDispatcher\n1\n"


def test_one_version_serves_constants_and_numbers_of_either_length(cold):
    places = np.array([2, 1], np.int32)
    assert from_many_places(X, places, np.uint8(1)) == (1 - 3) + (2 - 1) + (-3 - 3) + 3 * 10 * 3
    kinds = [signature[1] for signature in from_place.overloads]
    assert sorted(map(str, kinds)) == ["int64", "uint8"]
    factors = [signature[1] for signature in times.overloads]
    assert sorted(map(str, factors)) == ["Literal[int](3)", "float64"]


def test_constants_that_decide_of_types_are_known(cold):
    assert from_a_tuple(X) == 3.0 + 2


def test_what_is_no_number_is_handed_over_as_it_is():
    for kind in (numba.types.uint8, numba.types.uint64, numba.types.float32):
        assert whole._widest(kind) is kind
    for kind in (numba.types.literal("text"), numba.types.int32[:], numba.types.none):
        assert whole._widest(kind) is kind
    assert whole._widest(numba.types.literal(True)) is numba.types.boolean
