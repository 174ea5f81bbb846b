"""LLVM's code as text: LLVM reads what it would read from llvmlite, without what nobody uses."""

from __future__ import annotations

import re
from itertools import pairwise

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from scfg_sampler.core import jit
from scfg_sampler.core.jit import compiled, kernel

pytestmark = pytest.mark.skipif(not jit.IS_WHOLE or not jit.ENABLED, reason="numba compiles as it does")

if jit.IS_WHOLE:
    from scfg_sampler.core import llvm_text, whole

INT, FLOAT, BYTE = ir.IntType(64), ir.DoubleType(), ir.IntType(8)
PAIR = ir.LiteralStructType([INT, ir.ArrayType(FLOAT, 2), BYTE.as_pointer()])
PACKED = ir.LiteralStructType([BYTE, INT], packed=True)


def _everything() -> ir.Module:
    """A module with every class of instructions, where every value is used."""
    module = ir.Module("a module")
    printf = ir.Function(module, ir.FunctionType(ir.IntType(32), [BYTE.as_pointer()], var_arg=True), "printf")
    other = ir.Function(module, ir.FunctionType(FLOAT, [FLOAT, PAIR.as_pointer()]), "other")
    other.calling_convention = "fastcc"
    kind = ir.FunctionType(FLOAT, [INT, FLOAT, PAIR.as_pointer(), BYTE.as_pointer(3)])
    function = ir.Function(module, kind, 'all of "it"')
    function.args[2].add_attribute("noalias")
    number, real, pair, far = function.args
    entry, loop, odd, end, never = (
        function.append_basic_block(name) for name in ("", "a b", "odd", "odd", "no")
    )
    builder = ir.IRBuilder(entry)
    room = builder.alloca(PAIR, size=number, name="room")
    room.align = 16
    builder.alloca(PACKED)
    builder.store(builder.load(pair), room)
    builder.store(ir.Constant(BYTE, 3), far, align=1)
    whole_pair = builder.load(room, align=16)
    whole_pair.set_metadata("invariant.load", module.add_metadata([]))
    inner = builder.extract_value(whole_pair, [1, 0])
    again = builder.insert_value(whole_pair, builder.fadd(inner, real, flags=["nnan", "contract"]), (1, 1))
    builder.store(again, builder.gep(pair, [ir.Constant(INT, 1)], inbounds=True))
    builder.store(inner, builder.gep(pair, [ir.Constant(INT, 0), ir.Constant(ir.IntType(32), 1), number]))
    builder.store(ir.Constant(PACKED, (1, 2)), builder.bitcast(room, PACKED.as_pointer()))
    same = builder.asm(ir.FunctionType(INT, [INT]), "", "=r,0,~{memory}", [number], True)
    builder.branch(loop)
    builder.position_at_end(loop)
    count = builder.phi(INT)
    count.add_incoming(same, entry)
    higher = builder.add(count, ir.Constant(INT, 1), flags=["nsw"])
    count.add_incoming(higher, loop)
    builder.cbranch(builder.icmp_signed("<", higher, number), loop, odd)
    builder.position_at_end(odd)
    small = builder.trunc(higher, BYTE)
    builder.call(printf, [ir.Constant(BYTE.as_pointer(), None), small, real])
    choice = builder.switch(small, end)
    choice.add_case(ir.Constant(BYTE, 1), never)
    choice.add_case(ir.Constant(BYTE, 2), loop)
    count.add_incoming(higher, odd)
    builder.position_at_end(end)
    less = builder.fcmp_ordered("<", inner, real, flags=["ninf"])
    value = builder.select(less, inner, real)
    value = builder.call(
        other, [value, pair], cconv="fastcc", tail="tail", fastmath=("fast",), attrs=("noinline",)
    )
    builder.call(other, [value, pair], cconv="fastcc", arg_attrs={1: ("nonnull",)})
    builder.ret(value)
    ir.IRBuilder(never).unreachable()
    return module


def _read(text: str) -> str:
    """What LLVM reads from a text, its values and blocks numbered as they come."""
    names: dict[str, str] = {}
    lines = str(llvm.parse_assembly(text)).splitlines()
    lines = [re.sub(r'^("[^"]*"|[-\w.]+):.*', r"label %\1", line.split(";")[0].rstrip()) for line in lines]
    # First blocks have no label when they have no name.
    pairs = pairwise(["", *lines])
    lines = [line for before, line in pairs if not (before.endswith("{") and line.startswith("label"))]
    return re.sub(
        r'%("[^"]*"|[-\w.]+)',
        lambda at: names.setdefault(at[1], f"%{len(names)}"),
        "\n".join(filter(None, lines)),
    )


def test_every_instruction_is_read_as_llvmlite_prints_it():
    module = _everything()
    used = {
        type(each)
        for function in module.functions
        for block in function.blocks
        for each in block.instructions
    }
    assert used == set(llvm_text._PRINTED)
    brief, full = llvm_text.text_of(module), str(module)
    # LLVM has nothing to do with `ModuleID`; the one value that is not used, the packed pair, goes.
    unused = re.compile(r"^  %\S+ = alloca <\{.*\n", re.MULTILINE)
    expected = _read(unused.sub("", full))
    assert "\n".join(_read(brief).splitlines()[2:]) == "\n".join(expected.splitlines()[2:])
    assert len(unused.findall(full)) == 1
    assert len(brief) < 0.8 * len(full)


def test_values_that_only_unused_values_use_go_and_what_acts_stays():
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(INT, [PAIR.as_pointer()]), "f")
    entry, later = function.append_basic_block(), function.append_basic_block()
    builder = ir.IRBuilder(later)
    loaded = builder.load(function.args[0])
    builder.position_at_end(entry)
    builder.branch(later)
    builder.position_at_end(later)
    builder.extract_value(builder.insert_value(loaded, builder.extract_value(loaded, 0), 0), 2)
    builder.call(function, [function.args[0]])
    builder.ret(ir.Constant(INT, 0))
    body = llvm_text.text_of(module).split("{\n")[-1].splitlines()
    assert body == ["1:", "br label %2", "2:", '%3 = call i64 @"f"(ptr %0)', "ret i64 0", "}"]


def test_values_used_before_the_block_that_makes_them_stay():
    """Blocks may stand in any order."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(INT, [INT]), "f")
    entry, last, first = (function.append_basic_block() for _ in range(3))
    ir.IRBuilder(entry).branch(first)
    builder = ir.IRBuilder(first)
    value = builder.mul(function.args[0], function.args[0])
    builder.branch(last)
    ir.IRBuilder(last).ret(value)
    assert "mul i64" in _read(llvm_text.text_of(module))


def test_a_module_with_another_instruction_is_printed_by_llvmlite():
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.fence("acquire")
    builder.ret_void()
    assert llvm_text.text_of(module) == str(module)


def _program():
    """A kernel, new every time, with arrays, errors, tuples of references and more."""

    @compiled
    def parts(x):
        return x[::2].copy(), x[1::2]

    @kernel
    def program(x, scale):
        even, odd = parts(x)
        for i in range(len(odd)):
            even[i] += scale * odd[i] if odd[i] > 0.5 else -odd[i]
        if even[0] > 1e9:
            raise ValueError("too large")
        even, odd = odd, even
        return np.sort(odd), even.sum()

    return program


def test_machine_code_is_the_same(tmp_path, monkeypatch):
    found = []
    for name, text_of in (("ours", llvm_text.text_of), ("llvmlites", str)):
        monkeypatch.setenv("SCFG_SAMPLER_CACHE", str(tmp_path / name))
        jit.cache_directory.cache_clear()
        monkeypatch.setattr(whole.llvm_text, "text_of", text_of)
        program = _program()
        values, total = program(np.array([0.25, 1, 0.75, 0.125]), 2.0)
        (text,) = program.inspect_asm().values()
        lines = [line for line in text.splitlines() if ".asci" not in line and ".size" not in line]
        text = re.sub(r"B\d+v\d+|(?<=\.const\.pickle)\w+\.\d+", "", "\n".join(lines))  # What numba counts.
        found.append((values.tolist(), total, text))
    jit.cache_directory.cache_clear()
    assert found[0] == found[1]
    assert found[0][:2] == ([0.625, 2.25], 1.125)
    assert len(found[0][2].splitlines()) > 300
