"""numba's front end with less work: the same code, the same messages, and numba as it was."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from numba.core import errors, ir, targetconfig
from numba.core.compiler import Flags

from scfg_sampler.core import jit
from scfg_sampler.core.jit import borrowing, compiled, inlined, kernel

pytestmark = pytest.mark.skipif(not jit.ENABLED, reason="compilation is off")

if jit.IS_WHOLE:
    from scfg_sampler.core import front_end, whole


def _program():
    """A kernel, new every time, above whatever the front end treats in its own way."""

    @borrowing
    def largest(x, first):  # `max` of numbers is compiled with flags of its caller.
        best = first
        for each in x:
            best = max(best, each) if each % 2 else best
        return best

    @compiled
    def pairs(x):  # A generator, which keeps variables between its steps.
        previous = 0
        for each in x:
            yield previous, each
            previous = each

    @inlined
    def doubled(x):
        return np.concatenate((x, 2 * x))

    @kernel
    def program(x, scale):
        total = 0.0
        y = doubled(x)
        for left, right in pairs(y):
            if left < right:
                total += scale * min(left, right) ** 2 - left / 3
        while total > 1e6 or (total < 0 and scale > 0):
            total *= 0.5
        return total + max(scale, total), max(largest(y, 1), y[-1])

    return program


def _code(monkeypatch, place, manager):
    """What LLVM made of the program, without the numbers that numba gives functions, and its result."""
    monkeypatch.setenv("SCFG_SAMPLER_CACHE", str(place))
    jit.cache_directory.cache_clear()
    monkeypatch.setattr(front_end, "frugal", manager)
    program = _program()
    result = program(np.array([1, 5, 3, 4]), 0.5)
    jit.cache_directory.cache_clear()
    (text,) = program.inspect_llvm().values()
    text = "\n".join(line for line in text.splitlines() if ' c"' not in line)  # Names among constants.
    names: dict[str, str] = {}
    return result, re.sub(
        r"B\d+v\d+|\b\d{12,}\b|0x\w{8,}", lambda at: names.setdefault(at[0], str(len(names))), text
    )


def test_machine_code_is_the_same(tmp_path, monkeypatch):
    ours = _code(monkeypatch, tmp_path / "ours", front_end.frugal)
    numbas = _code(monkeypatch, tmp_path / "numbas", contextlib.nullcontext)
    assert ours[0] == numbas[0]
    assert len(ours[1].splitlines()) > 300
    assert ours[1] == numbas[1]


@kernel
def unknown_operator(x):
    return x + "a word"


def test_numba_is_restored_and_says_what_has_no_type():
    before = {name: getattr(place, name) for place, name in front_end._REPLACED}
    with pytest.raises(errors.TypingError, match=r"No implementation of function .*add"):
        unknown_operator(1)
    assert {name: getattr(place, name) for place, name in front_end._REPLACED} == before
    assert before == front_end._NUMBAS


def test_only_the_outermost_kernel_replaces_and_restores():
    with whole._below_a_kernel():
        with whole._below_a_kernel():
            pass
        assert ir.Inst._rec_list_vars is front_end._variables
    assert ir.Inst._rec_list_vars is not front_end._variables


def test_flags_are_equal_by_value_defaults_included():
    def flags(**options):
        made = Flags()
        for name, value in options.items():
            setattr(made, name, value)
        return made

    cases = [
        flags(),
        flags(nrt=False),
        flags(nrt=True),
        flags(nrt=True, release_gil=True),
        flags(release_gil=True),
    ]
    expected = [[one == other for other in cases] for one in cases]
    with front_end.frugal():
        assert [[one == other for other in cases] for one in cases] == expected
        assert len({hash(each) for each in cases}) == 1
        assert flags() != 1
    assert expected[0][1]  # What is set to its default is what is not set.
    assert isinstance(cases[0], targetconfig.TargetConfig)


def test_variables_come_in_the_order_of_numbas():
    loc = ir.Loc("here", 1)
    x, y, z = (ir.Var(None, name, loc) for name in "xyz")
    nested = ir.Expr.call(y, [x, (z, x)], {"word": z}, loc)
    statements = [
        ir.Assign(nested, x, loc),
        ir.SetItem(x, y, z, loc),
        ir.Return(y, loc),
        ir.Assign(ir.Const(3, loc), z, loc),
        ir.Expr.build_map([(x, y), (z, z)], 2, None, None, loc),
    ]
    expected = [[each.name for each in statement.list_vars()] for statement in statements]
    with front_end.frugal():
        assert [[each.name for each in statement.list_vars()] for statement in statements] == expected
    assert sorted(expected[0]) == sorted("xyxzxz")
