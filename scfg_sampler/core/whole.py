"""Kernels optimised as a whole, and what they call not on its own.

numba optimises every function together with all that it calls, translates that into machine code, and then
does the same again in each of its callers: a function ten calls below a kernel goes through LLVM ten times,
and has wrappers for Python that nobody calls. Here a function that kernels call is typed and lowered, and
that is all; LLVM sees the kernel and everything below it once. That halved the processor time of compiling.

Two classes of dispatchers say which is which, `KernelDispatcher` and `PartDispatcher`; while the first is
compiling, libraries of code made for anything below it, numba's own functions included, are `_Part`s. Others
who use numba in the same process do not notice: a `_Part` that their code links to is completed as numba
would have done.

All this stands on names of numba's that are not meant for others. It was tried with numba 0.64 and 0.68;
where a name is missing, this module refuses to be imported, and `jit` compiles everything as numba does.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core import cgutils, errors
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, JitEngine
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher, cpu_target

from scfg_sampler.core import front_end, indexing, llvm_text
from scfg_sampler.core.compiling import ended_at_last
from scfg_sampler.core.signals import signals_held

__all__ = ["KernelDispatcher", "PartDispatcher", "missing_names"]

_USED: dict[Any, str] = {
    JITCodeLibrary: (
        "_ensure_finalized _finalize_final_module _get_module_for_linking _optimize_final_module"
        " _optimize_functions _raise_if_finalized _set_compiled_object _unserialize add_linking_library"
        " add_llvm_module enable_object_caching serialize_using_object_code"
    ),
    cgutils: "normalize_ir_text",
    JitEngine: "_load_defined_symbols is_symbol_defined",
    JITCPUCodegen: "_check_llvm_bugs _function_pass_manager _library_class create_library",
    CPUContext: "codegen create_cfunc_wrapper get_executable",
    CPUDispatcher: "_compile_for_args add_overload compile",
    _FunctionCompiler: "_customize_flags",
    Compiler: "compile_extra",
}


def missing_names() -> list[str]:
    """What this module takes from numba's classes and the installed version does not have."""
    return [
        f"{place.__name__}.{name}"
        for place, names in _USED.items()
        for name in names.split()
        if not hasattr(place, name)
    ]


if missing_names():
    raise ImportError(f"numba {numba.__version__} has no {', '.join(missing_names())}")

_CONSTANTS = (types.IntegerLiteral, types.BooleanLiteral)
_depth = 0  # How many kernels are being compiled, one within the other; under numba's lock.


class _Part(JITCodeLibrary):
    """The code of one function, on its own until somebody needs all that it calls."""

    _alone: Any = None
    _bitcode: bytes | None = None  # of code from the cache
    is_kernel = False

    def add_linking_library(self, library: Any) -> None:
        """Note what this function calls; unlike numba, without completing it."""
        if not isinstance(library, _Part):
            library._ensure_finalized()
        self._linking_libraries.append(library)

    def finalize(self) -> None:
        """Gather everything below this function, each part once, optimise it and make machine code."""
        self._raise_if_finalized()
        self._codegen._check_llvm_bugs()
        self.alone()
        # LLVM leaves out what nothing asks for yet: callers first.
        for library in reversed(self._called_first()):
            self._reload_init.update(library._reload_init)
            code = library.alone() if isinstance(library, _Part) else library._get_module_for_linking()
            self._final_module.link_in(code, preserve=True)
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()

    def _finalize_final_module(self) -> None:
        """Make machine code. Signals wait: LLVM calls Python back, and what is raised there is lost."""
        with signals_held():
            super()._finalize_final_module()

    def add_ir_module(self, ir_module: Any) -> None:
        """Take over code, of which nothing is left in Python: it is full of cycles, dear to find later."""
        self._raise_if_finalized()
        module = llvm.parse_assembly(cgutils.normalize_ir_text(llvm_text.text_of(ir_module)))
        module.name = ir_module.name
        module.verify()
        self.add_llvm_module(module)
        for function in ir_module.functions:
            for block in function.blocks:
                block.instructions.clear()

    def alone(self) -> Any:
        """The code of this function, for any number of callers; from the cache, with all below it."""
        if self._alone is None:
            if self._finalized:
                return self._get_module_for_linking()
            module = self._final_module.clone()
            for function in module.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"
            self._alone = module
        return self._alone

    def serialize_using_object_code(self) -> tuple:
        """What the cache holds, and the names that the code defines."""
        name, kind, data = super().serialize_using_object_code()
        module = self._get_module_for_linking()
        defined = [each for group in (module.functions, module.global_variables) for each in group]
        return name, kind, (*data, [each.name for each in defined if not each.is_declaration])

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple) -> Any:
        """The code of a kernel from the cache; its bitcode is not read until something is linked to it."""
        name, _, (code, bitcode, defined) = state
        self = codegen.create_library(name)
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._bitcode = bitcode
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(defined)
        return self

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and self._bitcode is not None:
            self._shared_module = llvm.parse_bitcode(self._bitcode)
        return super()._get_module_for_linking()

    def _called_first(self) -> list[Any]:
        """The libraries below this one, each after all that are below it."""
        seen: set[Any] = {self}
        ordered: list[Any] = []

        def visit(library: Any) -> None:
            for lower in library._linking_libraries if isinstance(library, _Part) else ():
                if lower not in seen:
                    seen.add(lower)
                    visit(lower)
                    ordered.append(lower)

        visit(self)
        return ordered

    def _optimize_functions(self, ll_module: Any) -> None:
        """Simplify what is defined here, by one manager of passes, where numba makes one for every name.

        Leaving this to the kernel compiles in the same time, and sampling takes 2 % longer.
        """
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _Kernel(_Part):
    """The code of a kernel, which is completed at once, as Python calls it."""

    is_kernel = True


class _KernelCompiler(Compiler):
    """numba's compiler, with a library of the kernel's own."""

    def compile_extra(self, function: Any) -> Any:
        self.state.library = _Kernel(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


class _PartCompiler(_FunctionCompiler):
    """numba's compiler of one function, without wrappers where only kernels will call it."""

    def _customize_flags(self, flags: Any) -> Any:
        flags = super()._customize_flags(flags)
        if _depth:
            flags.no_cpython_wrapper = True
            flags.no_cfunc_wrapper = True
        return flags


class KernelDispatcher(CPUDispatcher):
    """A function that Python calls, and that is optimised with everything it calls."""

    _cache: Any

    def __init__(self, function: Any, options: dict[str, Any], cache: Any):
        options = {**options, "nopython": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=_KernelCompiler)
        self._cache = cache

    def compile(self, sig: Any) -> Any:
        """The entry point for a signature, from the cache if it is there."""
        with global_compiler_lock, _below_a_kernel(), ended_at_last():
            return super().compile(sig)


class PartDispatcher(CPUDispatcher):
    """A function that kernels call; if Python does after all, as tests do, it is compiled once more."""

    keeps_constants = False

    def __init__(self, function: Any, options: dict[str, Any]):
        super().__init__(function, targetoptions={**options, "nopython": True})
        self._compiler = _PartCompiler(function, self.targetdescr, self.targetoptions, {}, Compiler)

    def fold_argument_types(self, args: Any, kws: Any) -> Any:
        """The types of a call's arguments, those of numbers so wide that one version serves most calls."""
        signature, folded = super().fold_argument_types(args, kws)
        if _depth and not self.keeps_constants:
            folded = tuple(map(_widest, folded))
        return signature, folded

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What numba does, with these types; with its own where constants decide of others, as in tuples."""
        _, folded = self.fold_argument_types(args, kws)
        try:
            return super().get_call_template(folded, {})
        except errors.TypingError:
            return super().get_call_template(args, kws)

    def compile(self, sig: Any) -> Any:
        """What numba does, and nothing where it is done: every call in the source asks for it."""
        found: Any = self.overloads.get(sig) if type(sig) is tuple and _depth else None
        return super().compile(sig) if found is None else found.entry_point

    def add_overload(self, cres: Any) -> None:
        """Keep what was compiled, for Python to call only if that is possible."""
        if _has_entry_point(cres):
            super().add_overload(cres)
        else:
            self.overloads[tuple(cres.signature.args)] = cres

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """What numba does when Python calls with new types; code without an entry point does not count."""
        for signature, found in list(self.overloads.items()):
            if not _has_entry_point(found):
                del self.overloads[signature]
        return super()._compile_for_args(*args, **kws)  # type: ignore[misc]


def _widest(kind: Any) -> Any:
    """As what an argument is handed over: constants as their type has it, signed integers as 64 bits."""
    plain = types.unliteral(kind) if isinstance(kind, _CONSTANTS) else kind
    return types.int64 if isinstance(plain, types.Integer) and plain.signed else plain  # type: ignore


def _has_entry_point(result: Any) -> bool:
    library = result.library
    return not isinstance(library, _Part) or library.is_kernel


@contextlib.contextmanager
def _below_a_kernel() -> Iterator[None]:
    """Have libraries made as parts, and functions in them without entry points, while a kernel compiles.

    Python's collector of garbage stands still meanwhile: going through what the compiler builds, all of
    which is in use, takes an eighth of the time.
    """
    global _depth
    context = cpu_target.target_context
    codegen: Any = context.codegen()
    is_collecting = gc.isenabled()
    _depth += 1
    if _depth == 1:
        codegen._library_class = _Part
        context.get_executable = _executable
        context.create_cfunc_wrapper = _no_cfunc_wrapper
        gc.disable()
    try:
        with contextlib.ExitStack() as stack:
            if _depth == 1:
                stack.enter_context(front_end.frugal())
                stack.enter_context(indexing.direct())
            yield
    finally:
        _depth -= 1
        if _depth == 0:
            del codegen._library_class
            del context.get_executable
            del context.create_cfunc_wrapper
            if is_collecting:
                gc.enable()


def _no_cfunc_wrapper(library: Any, *description: Any) -> None:
    """Instead of an entry point for C, which numba makes for functions of its own that only kernels call."""


def _executable(library: Any, description: Any, environment: Any) -> Any:
    """What Python calls for a kernel; for a part, something that numba tells it from others by."""
    if isinstance(library, _Part) and not library.is_kernel and not library._finalized:
        return [].index  # Of a list of its own: equal to nothing else.
    context = cpu_target.target_context
    return type(context).get_executable(context, library, description, environment)
