"""Code for LLVM as text: without what nobody uses, without names, types as LLVM has them.

numba builds a function's code as Python objects, llvmlite prints them, LLVM reads that. Some of the
instructions take parts out of tuples and arrays that nobody asks for; every value has a name, of no use but
to readers; every pointer says what it leads to, which LLVM does not ask any more. Here all that stays unsaid,
and what LLVM makes of the code is the same.

The fact a newcomer would get wrong: a value without a name must have the number of its place among all
values, arguments and blocks of its function. Where an instruction is of a class that is not among those
below, or llvmlite is otherwise, llvmlite prints the whole module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

from llvmlite.ir import types, values
from llvmlite.ir.instructions import (
    AllocaInstr,
    Branch,
    CallInstr,
    CastInstr,
    ConditionalBranch,
    ExtractValue,
    FCMPInstr,
    GEPInstr,
    ICMPInstr,
    InsertValue,
    Instruction,
    LoadInstr,
    PhiInstr,
    Ret,
    SelectInstr,
    StoreInstr,
    SwitchInstr,
    Unreachable,
)

__all__ = ["text_of"]

_Reference = Callable[[Any], str]


def text_of(module: Any) -> str:
    """A module of llvmlite's as text."""
    try:
        return _brief(module)
    except (_UnknownInstruction, AttributeError):
        return str(module)


class _UnknownInstruction(Exception):
    pass


def _brief(module: Any) -> str:
    lines = [f'target triple = "{module.triple}"', f'target datalayout = "{module.data_layout}"']
    lines += [kind.get_declaration() for kind in module.get_identified_types().values()]
    for value in module.globals.values():
        if isinstance(value, values.Function) and value.blocks:
            _describe(value, lines)
        else:
            lines.append(str(value))
    lines += module._get_metadata_lines()
    return "\n".join(lines)


def _describe(function: Any, lines: list[str]) -> None:
    """Append the lines of a function."""
    blocks = _used(function)
    names = _numbered(function, blocks)

    def reference(value: Any) -> str:
        return names.get(id(value)) or value.get_reference()

    head: list[str] = []
    function.descr_prototype(head)
    plain = ", ".join(map(str, function.args))
    arguments = ", ".join(
        str(each).removesuffix(each.get_reference()) + reference(each) for each in function.args
    )
    lines.append("".join(head).rstrip().replace(f"({plain}", f"({arguments}", 1) + " {")
    for block, kept in blocks:
        lines.append(f"{names[id(block)][1:]}:")
        for instruction in kept:
            name = names.get(id(instruction))
            text = _PRINTED[type(instruction)](instruction, reference)
            if instruction.metadata:
                text += instruction._stringify_metadata(leading_comma=True)
            lines.append(text if name is None else f"{name} = {text}")
    lines.append("}")


def _used(function: Any) -> list[tuple[Any, list[Any]]]:
    """The blocks of a function, and those of their instructions that do something or whose value is used."""
    uses: Counter = Counter()
    for block in function.blocks:
        for instruction in block.instructions:
            if type(instruction) not in _PRINTED:
                raise _UnknownInstruction
            uses.update(map(id, _operands(instruction)))
    kept = []
    for block in reversed(function.blocks):
        needed = []
        for instruction in reversed(block.instructions):
            if uses[id(instruction)] or type(instruction) not in _PURE:
                needed.append(instruction)
            else:
                uses.subtract(map(id, _operands(instruction)))
        kept.append((block, needed[::-1]))
    return kept[::-1]


def _operands(instruction: Any) -> Any:
    if type(instruction) is PhiInstr:
        return [value for value, _ in instruction.incomings]
    return instruction.operands


def _numbered(function: Any, blocks: list[tuple[Any, list[Any]]]) -> dict[int, str]:
    """What arguments, blocks and values are called, by their identity."""
    number = count()
    names = {id(argument): f"%{next(number)}" for argument in function.args}
    for block, kept in blocks:
        names[id(block)] = f"%{next(number)}"
        for instruction in kept:
            if type(instruction.type) is not types.VoidType:
                names[id(instruction)] = f"%{next(number)}"
    return names


def _kind(kind: Any) -> str:
    """A type, which remembers its text."""
    try:
        return kind._scfg_text
    except AttributeError:
        kind._scfg_text = text = _text_of_kind(kind)
        return text


def _text_of_kind(kind: Any) -> str:
    if isinstance(kind, types.PointerType):
        return f"ptr addrspace({kind.addrspace})" if kind.addrspace else "ptr"
    if isinstance(kind, types.ArrayType):
        return f"[{kind.count} x {_kind(kind.element)}]"
    if isinstance(kind, types.LiteralStructType):
        inside = "{" + ", ".join(map(_kind, kind.elements)) + "}"
        return f"<{inside}>" if kind.packed else inside
    if isinstance(kind, types.FunctionType):
        arguments = [*map(_kind, kind.args), *(["..."] if kind.var_arg else [])]
        return f"{_kind(kind.return_type)} ({', '.join(arguments)})"
    return str(kind)


def _typed(value: Any, reference: _Reference) -> str:
    return f"{_kind(value.type)} {reference(value)}"


def _alloca(self: Any, reference: _Reference) -> str:
    size = "".join(f", {_typed(each, reference)}" for each in self.operands)
    return f"alloca {_kind(self.allocated_type)}{size}{_alignment(self)}"


def _alignment(self: Any) -> str:
    return "" if self.align is None else f", align {self.align}"


def _arithmetic(self: Any, reference: _Reference) -> str:
    operation = " ".join([self.opname, *self.flags])
    return f"{operation} {_kind(self.type)} {', '.join(map(reference, self.operands))}"


def _call(self: Any, reference: _Reference) -> str:
    kind = self.callee.function_type
    arguments = []
    for place, value in enumerate(self.args):
        attributes = self.arg_attributes[place]._to_list(value.type) if place in self.arg_attributes else []
        arguments.append(" ".join([_kind(value.type), *attributes, reference(value)]))
    words = [
        *([self.tail] if self.tail else []),
        self.opname,
        *self.fastmath._to_list(kind.return_type),
        *([self.cconv] if self.cconv else []),
        _kind(kind if kind.var_arg else kind.return_type),
        reference(self.callee),
    ]
    attributes = "".join(f" {each}" for each in self.attributes._to_list(kind.return_type))
    return f"{' '.join(words)}({', '.join(arguments)}){attributes}"


def _cast(self: Any, reference: _Reference) -> str:
    return f"{self.opname} {_typed(self.operands[0], reference)} to {_kind(self.type)}"


def _comparison(self: Any, reference: _Reference) -> str:
    left, right = self.operands
    operation = " ".join([self.opname, *self.flags, self.op])
    return f"{operation} {_typed(left, reference)}, {reference(right)}"


def _extract(self: Any, reference: _Reference) -> str:
    return f"extractvalue {_typed(self.aggregate, reference)}, {_indices(self)}"


def _indices(self: Any) -> str:
    return ", ".join(map(str, self.indices))


def _insert(self: Any, reference: _Reference) -> str:
    whole, part = _typed(self.aggregate, reference), _typed(self.value, reference)
    return f"insertvalue {whole}, {part}, {_indices(self)}"


def _load(self: Any, reference: _Reference) -> str:
    return f"load {_kind(self.type)}, {_typed(self.operands[0], reference)}{_alignment(self)}"


def _place(self: Any, reference: _Reference) -> str:
    indices = ", ".join(_typed(each, reference) for each in self.indices)
    bounds = " inbounds" if self.inbounds else ""
    return f"getelementptr{bounds} {_kind(self.source_etype)}, {_typed(self.pointer, reference)}, {indices}"


def _phi(self: Any, reference: _Reference) -> str:
    incoming = ", ".join(f"[{reference(value)}, {reference(block)}]" for value, block in self.incomings)
    return " ".join(["phi", *self.flags, _kind(self.type), incoming])


def _select(self: Any, reference: _Reference) -> str:
    operands = ", ".join(_typed(each, reference) for each in (self.cond, self.lhs, self.rhs))
    return " ".join(["select", *self.flags, operands])


def _store(self: Any, reference: _Reference) -> str:
    value, place = self.operands
    return f"store {_typed(value, reference)}, {_typed(place, reference)}{_alignment(self)}"


def _switch(self: Any, reference: _Reference) -> str:
    cases = " ".join(f"{_typed(value, reference)}, label {reference(block)}" for value, block in self.cases)
    return f"switch {_typed(self.value, reference)}, label {reference(self.default)} [{cases}]"


def _terminator(self: Any, reference: _Reference) -> str:
    operands = ", ".join(_typed(each, reference) for each in self.operands)
    return f"{self.opname} {operands}"


def _word(self: Any, reference: _Reference) -> str:
    return self.opname


_PRINTED: dict[type, Callable[[Any, _Reference], str]] = {
    AllocaInstr: _alloca,
    Branch: _terminator,
    CallInstr: _call,
    CastInstr: _cast,
    ConditionalBranch: _terminator,
    ExtractValue: _extract,
    FCMPInstr: _comparison,
    GEPInstr: _place,
    ICMPInstr: _comparison,
    InsertValue: _insert,
    Instruction: _arithmetic,
    LoadInstr: _load,
    PhiInstr: _phi,
    Ret: _terminator,
    SelectInstr: _select,
    StoreInstr: _store,
    SwitchInstr: _switch,
    Unreachable: _word,
}
_PURE = {
    AllocaInstr,
    CastInstr,
    ExtractValue,
    FCMPInstr,
    GEPInstr,
    ICMPInstr,
    InsertValue,
    Instruction,
    LoadInstr,
    PhiInstr,
    SelectInstr,
}
