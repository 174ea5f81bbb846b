"""numba's front end without work whose result nobody reads.

Three quarters of the time to compile a kernel go into Python: numba types and lowers every function below it.
Much of that is done for nothing. Every template that does not fit a call is described for a message that no
one sees, in colours; flags are compared and hashed option by option at every call; nine times for every
function it is found which variables live where, for generators and object mode alone; each call into LLVM
tells listeners that it took a lock. `frugal` replaces these functions by others with the same results while a
kernel is being compiled, so that the machine code is the same, and numba is as it was afterwards.

The fact a newcomer would get wrong: where a call has no type, numba's own function is asked again, for its
message.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import BuiltinFunctionType
from typing import Any

import numba
from llvmlite import ir as llvm_ir
from numba.core import base, errors, event, ir, postproc, targetconfig, transforms, types, utils
from numba.core.runtime.context import NRTContext
from numba.core.target_extension import get_local_target
from numba.core.types import functions
from numba.core.typing import context as typing_context

__all__ = ["frugal", "missing_names"]

_Flags: Any = targetconfig.TargetConfig
_functions: Any = functions
_Colours: Any = getattr(errors, "HighlightColorScheme", None)  # Absent without colorama.
_REPLACED: list[tuple[Any, str]] = [
    (_Flags, "__eq__"),
    (_Flags, "__hash__"),
    (event, "end_event"),
    (event, "install_timer"),
    (event, "start_event"),
    (functions.BaseFunction, "get_call_type"),
    (ir.Inst, "_rec_list_vars"),
    (postproc.PostProcessor, "run"),
    (base.BaseContext, "get_abi_sizeof"),
    (typing_context.BaseContext, "resolve_value_type"),
    (NRTContext, "get_meminfos"),
    *([] if _Colours is None else [(_Colours, "_markup")]),
]
_USED: list[tuple[Any, str]] = [
    (event, "_registered"),
    (functions, "_unlit_non_poison"),
    (postproc, "VariableLifetime"),
    (targetconfig.ConfigStack, "top_or_none"),
    (targetconfig.TargetConfig, "values"),
    (transforms, "canonicalize_cfg"),
    (typing_context.BaseContext, "_lookup_global"),
    (utils, "order_by_target_specificity"),
]


def missing_names() -> list[str]:
    """What this module replaces or takes of numba's and the installed version does not have."""
    return [f"{place.__name__}.{name}" for place, name in _REPLACED + _USED if not hasattr(place, name)]


if missing_names():
    raise ImportError(f"numba {numba.__version__} has no {', '.join(missing_names())}")

_NUMBAS: dict[str, Any] = {name: getattr(place, name) for place, name in _REPLACED}
_NUMBERS = (types.Number, types.Boolean, types.IntegerLiteral, types.BooleanLiteral)


@contextlib.contextmanager
def frugal() -> Iterator[None]:
    """Have numba compile with less work; under its compiler lock, and not one within the other."""
    for place, name in _REPLACED:
        setattr(place, name, _OURS[name])
    try:
        yield
    finally:
        for place, name in _REPLACED:
            setattr(place, name, _NUMBAS[name])


def _are_equal(self: Any, other: Any) -> Any:
    """Whether flags agree; what was set alike is alike, else defaults decide."""
    if self is other:
        return True
    if isinstance(other, _Flags):
        return self._values == other._values or self.values() == other.values()
    return NotImplemented


def _hash(self: Any) -> int:
    """As good as numba's, which is one of the options' names."""
    return hash(type(self))


def _start_event(kind: Any, data: Any = None) -> None:
    if event._registered.get(kind):
        _NUMBAS["start_event"](kind, data)


def _end_event(kind: Any, data: Any = None, exc_details: Any = None) -> None:
    if event._registered.get(kind):
        _NUMBAS["end_event"](kind, data, exc_details)


def _no_timer(kind: Any, callback: Any) -> Any:
    """Instead of a timer whose time goes into metadata that no one reads."""
    return contextlib.nullcontext()


def _call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a call: that of the first template that fits, remembered if all arguments are numbers.

    Flags are part of what is known, as what is called may have to be compiled under them.
    """
    args = tuple(args)
    numbers = not kws and all(isinstance(each, _NUMBERS) for each in args)
    known = self.__dict__.setdefault("_scfg_known", {}) if numbers else {}
    call = context, args, targetconfig.ConfigStack.top_or_none()
    found = known.get(call)
    if found is None:
        found = _first_fit(self, context, args, kws)
        if found is None:
            return _NUMBAS["get_call_type"](self, context, args, kws)
        if numbers:
            known[call] = found
    signature, self._impl_keys[signature.args] = found
    return signature


def _first_fit(self: Any, context: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """The signature of a call and the key of its implementation; None if no template fits."""
    try:
        plain = tuple(map(_functions._unlit_non_poison, args))
        plain_kws = {name: _functions._unlit_non_poison(each) for name, each in kws.items()}
    except errors.NumbaError:
        return None
    is_literal = plain != args or plain_kws != kws
    target = get_local_target(context)
    for kind in utils.order_by_target_specificity(target, self.templates, fnkey=self.key[0]):
        template = kind(context)
        calls = [(plain, plain_kws), (args, kws)] if is_literal else [(args, kws)]
        for call in reversed(calls) if template.prefer_literal else calls:
            try:
                signature = template.apply(*call)
            except errors.NumbaError:
                continue
            if signature is not None:
                return signature, template.get_impl_key(signature)
    return None


def _variables(self: Any, value: Any) -> list[Any]:
    """The variables in a part of an instruction, in their order."""
    found: list[Any] = []
    _gather(value, found)
    return found


def _gather(value: Any, found: list[Any]) -> None:
    kind = type(value)
    if kind is ir.Var:
        found.append(value)
    elif kind is dict:
        for each in value.values():
            _gather(each, found)
    elif kind is tuple or kind is list:
        for each in value:
            _gather(each, found)
    elif kind is not ir.Loc and kind is not str:
        if isinstance(value, ir.Inst):
            found += value.list_vars()
        elif isinstance(value, (list, tuple, dict, ir.Var)):
            found += _NUMBAS["_rec_list_vars"](None, value)


def _post_process(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Variables' lifetimes for whoever asks, and their deletions; for generators all that they need."""
    if self.func_ir.is_generator:
        _NUMBAS["run"](self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = postproc.VariableLifetime(self.func_ir.blocks)
    self.func_ir.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _size(self: Any, kind: Any) -> int:
    """Bytes of a type of LLVM's, which is asked once for each; one that has a name may become another."""
    if isinstance(kind, llvm_ir.IdentifiedStructType):
        return _NUMBAS["get_abi_sizeof"](self, kind)
    known = self.__dict__.setdefault("_scfg_sizes", {})
    name = str(kind)
    if name not in known:
        known[name] = _NUMBAS["get_abi_sizeof"](self, kind)
    return known[name]


def _counted(self: Any, builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    """What has references to count in a value, with its type; nothing else is taken out of it."""
    model = self._context.data_model_manager[kind]
    found = [(kind, model.get_nrt_meminfo(builder, value))] if model.has_nrt_meminfo() else []
    for part, taken_from in model.traverse(builder):
        if _is_counted(self, builder, part):
            found += self.get_meminfos(builder, part, taken_from(value))
    return found


def _is_counted(self: Any, builder: Any, kind: Any) -> bool:
    """Whether values of a type have references to count."""
    known = self.__dict__.setdefault("_scfg_counted", {})
    if kind not in known:
        model = self._context.data_model_manager[kind]
        known[kind] = model.has_nrt_meminfo() or any(
            _is_counted(self, builder, part) for part, _ in model.traverse(builder)
        )
    return known[kind]


def _value_type(self: Any, value: Any) -> Any:
    """The type of a value in a program; builtin functions are looked up without trying what they are not."""
    if type(value) is BuiltinFunctionType:
        known = self._lookup_global(value)
        if known is not None:
            return known
    return _NUMBAS["resolve_value_type"](self, value)


def _plain(self: Any, message: str, color: Any = None, style: Any = None) -> str:
    return message


_OURS: dict[str, Any] = {
    "__eq__": _are_equal,
    "__hash__": _hash,
    "_markup": _plain,
    "_rec_list_vars": _variables,
    "end_event": _end_event,
    "get_abi_sizeof": _size,
    "get_call_type": _call_type,
    "get_meminfos": _counted,
    "install_timer": _no_timer,
    "resolve_value_type": _value_type,
    "run": _post_process,
    "start_event": _start_event,
}
