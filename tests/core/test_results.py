"""What compiled functions return is what was made; a signal meanwhile is raised where they were called."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from scfg_sampler.core.jit import ENABLED, kernel

pytestmark = pytest.mark.skipif(not ENABLED, reason="nothing is compiled")

INTERRUPTED = """
import os, signal, threading, time
from tests.core.test_results import RETURNING, rows

function = RETURNING[{name!r}]
function(1)
number, seconds = 1, 0.0
while seconds < 0.2:
    number *= 2
    began = time.perf_counter()
    function(number)
    seconds = time.perf_counter() - began
threading.Timer(seconds / 2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    function(number)
    time.sleep(9)
except KeyboardInterrupt:
    print("interrupted")
"""


class Inner(NamedTuple):
    values: np.ndarray
    number: float


class Outer(NamedTuple):
    inner: Inner
    whole: np.ndarray


class Pair(NamedTuple):
    one: float
    other: float


def slowly(number):
    total = 0.0
    for i in range(1000 * number):
        total += np.sin(i)
    return total


work = kernel(slowly)


@kernel
def rows(number):
    return np.full((2, 3), work(number))


@kernel
def pair(number):
    return Pair(work(number), 2.0)


@kernel
def nested(number):
    total = work(number)
    return Outer(Inner(np.ones(3), total), np.arange(4)), (Pair(total, 1.0), np.zeros(2, np.int32))


RETURNING: dict[str, Callable] = {"rows": rows, "pair": pair, "nested": nested}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "nested" else [pytest.mark.slow]) for name in RETURNING]
)
def test_signals_are_raised_where_a_compiled_function_was_called(root, name):
    command = [sys.executable, "-c", INTERRUPTED.format(name=name)]
    child = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    assert (child.returncode, child.stdout) == (0, "interrupted\n"), child.stderr[-800:]


def test_results_are_what_they_are_in_python():
    total = slowly(1)
    array, found, deep = rows(1), pair(1), nested(1)
    assert (array.shape, array.dtype, array.flags.c_contiguous) == ((2, 3), np.float64, True)
    assert array[1, 2] == pytest.approx(total)
    array[0, 0] = 5.0
    assert type(found) is Pair
    assert found == (pytest.approx(total), 2.0)
    (inner, whole), (two, zeros) = deep
    assert [type(each) for each in (deep, deep[0], inner, two)] == [tuple, Outer, Inner, Pair]
    assert inner.values.tolist() == [1, 1, 1]
    assert whole.tolist() == [0, 1, 2, 3]
    assert (zeros.dtype, zeros.tolist()) == (np.int32, [0, 0])


def test_classes_are_held_as_often_as_before():
    nested(1)
    before = [sys.getrefcount(each) for each in (Outer, Inner, Pair, np.ndarray)]
    for _ in range(500):
        nested(1)
    after = [sys.getrefcount(each) for each in (Outer, Inner, Pair, np.ndarray)]
    assert np.abs(np.subtract(after, before)).max() < 50
