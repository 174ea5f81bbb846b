"""Compile flags, the kernel cache and dispatch by type: numba's compiler as decorators.

These decorators cover every compiled function of the project:

`kernel`
    A function called from Python. Compiled on first use and cached on disk.
`compiled`, `borrowing`, `specialised`, `reordering`, `counting`, `inlined`
    A function called from kernels. Compiled as a part of them, never cached on its own.
`by_type`
    A function with one implementation per type of its first argument, resolved when the caller is
    compiled. This is how a model plugs into a sweep that is written once; functions passed as arguments
    would defeat the cache.

The fact a newcomer would get wrong: numba's own cache looks at the file a kernel is written in, not at
the files it imports, and so serves stale code after an edit elsewhere. Here every kernel is cached in a
directory named by a digest of its module *and of everything that module imports* from the project, plus
the versions of numba and Python. An edit anywhere below a kernel recompiles it; an edit elsewhere does
not; a second clone or environment of the same user compiles nothing. A kernel must therefore live in a
module that imports the implementations it dispatches to.

With `NUMBA_DISABLE_JIT=1` in the environment all of them leave functions as plain Python. Set
`SCFG_SAMPLER_CACHE` to move the cache from its place under the user's cache directory.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import caching, cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    overload,
    register_model,
)

from scfg_sampler.core.compiling import begin_compiling, end_compiling

try:
    from scfg_sampler.core.loading import CodeCache, CodeCacheImplementation
except ImportError:
    # Another numba than those it was tried with: made ready to compile, whether that is needed or not.
    CodeCache, CodeCacheImplementation = caching.FunctionCache, caching.CompileResultCacheImpl  # type: ignore

try:
    from scfg_sampler.core.whole import KernelDispatcher, PartDispatcher
except ImportError:
    # Another numba than those it was tried with: as numba does it, which takes twice as long.
    IS_WHOLE = False
else:
    IS_WHOLE = True

try:
    from scfg_sampler.core.results import make_results_in_c
except ImportError:
    pass  # Another numba than those it was tried with: a signal may end the process.
else:
    make_results_in_c()

__all__ = [
    "ENABLED",
    "IS_WHOLE",
    "borrowing",
    "by_reference",
    "by_type",
    "cache_directory",
    "columns",
    "compiled",
    "counting",
    "inlined",
    "kernel",
    "prefetch",
    "reordering",
    "source_digest",
    "specialised",
    "with_columns",
]

ENABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

_FLAGS: Any = {"nogil": True, "error_model": "numpy"}
_BORROWING: Any = {**_FLAGS, "_nrt": False, "no_cfunc_wrapper": True}
_PROJECT = Path(__file__).resolve().parents[2]
_IMPORT = re.compile(
    r"^\s*(?:from\s+((?:scfg_sampler|decoder|monolingual)[\w.]*)\s+import\s+(\([\w,\s]*\)|[\w, \t]*)"
    r"|import\s+((?:scfg_sampler|decoder|monolingual)[\w.]*))",
    re.MULTILINE,
)
_FOR_TYPE_CHECKERS = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)*", re.MULTILINE)


def kernel(function: Callable) -> Any:
    """The function compiled, releasing the interpreter lock, its machine code cached on disk."""
    if not ENABLED:
        return function
    if IS_WHOLE:
        return KernelDispatcher(function, _FLAGS, _ContentCache(function))
    dispatcher = numba.njit(**_FLAGS)(function)
    dispatcher._cache = _ContentCache(function)
    return dispatcher


class _ContentLocator(caching._CacheLocator):
    """Where numba keeps the machine code of a kernel: by what its source says, not by where that lies.

    numba's own locators take the path of the source into the place, so that each clone and each
    environment would compile everything anew.
    """

    def __init__(self, function: Callable):
        self._module = function.__module__
        self._line = function.__code__.co_firstlineno

    def get_cache_path(self) -> str:
        return str(cache_directory(self._module))

    def get_source_stamp(self) -> str:
        return source_digest(self._module)

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str) -> _ContentLocator:
        return cls(py_func)


class _ContentCacheImplementation(CodeCacheImplementation):
    _locator_classes: Any = (_ContentLocator,)


class _ContentCache(CodeCache):
    _impl_class = _ContentCacheImplementation

    def load_overload(self, sig, target_context):
        """The machine code for a signature, or None, and then it will be compiled."""
        found = super().load_overload(sig, target_context)
        if found is None:
            begin_compiling()
        return found

    def save_overload(self, sig, data):
        """Keep the machine code that was compiled, and tell progress what time that took."""
        super().save_overload(sig, data)
        end_compiling()


def compiled(function: Callable) -> Any:
    """The function compiled as a part of the kernels that call it."""
    return _part(function, _FLAGS) if ENABLED else function


def _part(function: Callable, options: dict[str, Any]) -> Any:
    return PartDispatcher(function, options) if IS_WHOLE else numba.njit(**options)(function)


def borrowing(function: Callable) -> Any:
    """`compiled`, without counting references to the arrays it is given.

    It must not make arrays, nor return any; its callers keep them alive. The same goes for the compiled
    functions it calls, but for those marked `counting`. Counting is atomic, and in small functions on
    arrays dearer than their work: it took half the time of the decoder's search.
    """
    return _counting_references(compiled(function), False)


def specialised(function: Callable) -> Any:
    """`borrowing`, compiled anew for each constant that it is called with.

    Other functions know nothing of constants, so that one version serves all calls. Costs a version's time to
    compile for each, and gains what the code saves: 1 % of a sweep, where rows of tables are constants.
    """
    dispatcher = borrowing(function)
    if hasattr(dispatcher, "keeps_constants"):
        dispatcher.keeps_constants = True
    return dispatcher


def reordering(function: Callable) -> Any:
    """`borrowing` and `inlined`, free to add in another order and to round a product and a sum once.

    Sums of arrays then use instructions for several values at once. Not for what must come out to the last
    digit as in plain Python, as the choices of samplers must.
    """
    if not ENABLED:
        return function
    options = {**_FLAGS, "fastmath": {"reassoc", "contract"}, "forceinline": True}
    fast = _part(function, options)
    return _counting_references(fast, False)


def counting(function: Callable) -> Any:
    """`compiled`, counting references although a `borrowing` function calls it."""
    return _counting_references(compiled(function), True)


def _counting_references(dispatcher: Any, whether: bool) -> Any:
    if hasattr(dispatcher, "targetoptions"):
        dispatcher.targetoptions["_nrt"] = whether
    return dispatcher


def inlined(function: Callable) -> Any:
    """`compiled`, and placed bodily into its callers.

    A call hands over every array of its NamedTuples word by word; in the sampler's inner functions that
    cost four times the work itself.
    """
    return _part(function, {**_FLAGS, "forceinline": True}) if ENABLED else function


def by_type(stub: Callable | None = None, *, of: str | None = None) -> Any:
    """A function whose implementation is chosen by the NamedTuple type of an argument, the first or `of`.

    Register implementations with `@name.register(Type)`, for several types at once if need be, and with
    `@name.otherwise` one for all other types; each has the stub's parameters and is `borrowing`. Calling it
    for a type without implementation is a TypeError (interpreted) or a typing error (compiled).
    """
    if stub is None:
        return functools.partial(by_type, of=of)
    place = 0 if of is None else list(inspect.signature(stub).parameters).index(of)
    implementations: dict[type | None, Callable] = {}

    @functools.wraps(stub)
    def dispatch(*arguments):
        kind = type(arguments[place])
        implementation = implementations.get(kind) or implementations.get(None)
        if implementation is None:
            raise TypeError(f"{stub.__name__} has no implementation for {kind.__name__}")
        return implementation(*arguments)

    def register(*classes: type) -> Callable:
        def add(implementation: Callable) -> Callable:
            for cls in classes:
                implementations[cls] = implementation
            return implementation

        return add

    def otherwise(implementation: Callable) -> Callable:
        implementations[None] = implementation
        return implementation

    dispatch.register = register  # type: ignore[attr-defined]
    dispatch.otherwise = otherwise  # type: ignore[attr-defined]
    if ENABLED:

        def resolve(*arguments):
            kind = getattr(arguments[place], "instance_class", None)
            return implementations.get(kind, implementations.get(None))

        overload(dispatch, strict=False, jit_options=_BORROWING)(resolve)
    return dispatch


_widths: dict[tuple[type, str], int] = {}
"""How many columns fields of NamedTuples have: `with_columns`."""


def with_columns(kind: type, **widths: int) -> None:
    """Tell kernels how many columns arrays of a NamedTuple have, so that they need not read it.

    What they read through a `by_reference` of it is then found with shifts and additions alone: 4 % of the
    instructions of a sweep. Whoever makes one of the kind must see to it that it is so.

    Parameters
    ----------
    kind : NamedTuple class
    **widths : int
        By field, of two-dimensional arrays in C order.
    """
    for name, width in widths.items():
        _widths[kind, name] = width


def columns(kind: type, name: str) -> int | None:
    """How many columns kernels take a field of a NamedTuple to have, if they were told."""
    return _widths.get((kind, name))


class _Reference(types.Type):
    """The numba type of what `by_reference` makes of a NamedTuple."""

    def __init__(self, target: Any):
        self.target = target
        self.instance_class = target.instance_class
        super().__init__(name=f"Reference({target})")


@register_model(_Reference)
class _ReferenceModel(models.OpaqueModel):
    """A pointer."""


@infer_getattr
class _ReferenceFields(AttributeTemplate):
    key = _Reference

    def generic_resolve(self, reference, name):  # type: ignore[override]
        fields = reference.target.fields
        return list(reference.target)[fields.index(name)] if name in fields else None


@lower_getattr_generic(_Reference)
def _load_field(context, builder, reference, value, name):
    at = reference.target.fields.index(name)
    struct = builder.bitcast(value, context.get_value_type(reference.target).as_pointer())
    kind = list(reference.target)[at]
    field = _unchanging(builder, cgutils.gep_inbounds(builder, struct, 0, at))
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, field)
        number, size = array.itemsize.type, context.get_abi_sizeof(context.get_data_type(kind.dtype))
        array.itemsize = number(size)
        width = columns(reference.instance_class, name)
        if width is not None:
            rows = builder.extract_value(array.shape, 0)
            array.shape = cgutils.pack_array(builder, [rows, number(width)])
            array.strides = cgutils.pack_array(builder, [number(width * size), number(size)])
        field = array._getvalue()
    return impl_ret_borrowed(context, builder, kind, _without_owner(context, builder, kind, field))


def _unchanging(builder, pointer):
    """What a pointer leads to, part by part, each loaded as one that nobody ever writes."""
    kind = pointer.type.pointee
    if isinstance(kind, ir.LiteralStructType | ir.ArrayType):
        value = ir.Constant(kind, ir.Undefined)
        for at in range(len(kind)):
            part = _unchanging(builder, cgutils.gep_inbounds(builder, pointer, 0, at))
            value = builder.insert_value(value, part, at)
        return value
    loaded = builder.load(pointer)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _without_owner(context, builder, kind, value):
    """The same array, or tuple of arrays, with no one to count references for."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for at, part in enumerate(kind):  # type: ignore[arg-type, var-annotated]
            inner = _without_owner(context, builder, part, builder.extract_value(value, at))
            value = builder.insert_value(value, inner, at)
    return value


@intrinsic
def _by_reference(typing_context, value):
    def generate(context, builder, signature, arguments):
        bare = _without_owner(context, builder, signature.args[0], arguments[0])
        place = builder.bitcast(cgutils.alloca_once_value(builder, bare), cgutils.voidptr_t)
        # No instruction, but nothing that is loaded through what comes out can be loaded before: fields are
        # said never to change (`_load_field`), which they do once, where they are written.
        same = ir.FunctionType(cgutils.voidptr_t, [cgutils.voidptr_t])
        return builder.asm(same, "", "=r,0,~{memory}", [place], True)

    return _Reference(value)(value), generate


by_reference: Any = _by_reference if ENABLED else lambda value: value
"""`by_reference(value)` is the NamedTuple itself to whoever reads its fields, but a single pointer to pass.

A NamedTuple of arrays is handed over word by word, nearly a hundred of them, and every use of an array
raises and lowers its reference count, atomically: together that took four fifths of a sweep, and as much of
the time to compile it. What is behind the pointer is known not to change: LLVM need not read where an array
lies again after each number that is written to another. A kernel says `work = by_reference(work)` first,
before any loop. The reference is valid until the kernel returns, and its arrays must be held by the kernel's
caller, as arguments are.
"""


@intrinsic
def _prefetch(typing_context, table, row):
    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        row_bytes = cgutils.unpack_tuple(builder, array.strides)[0]
        byte = ir.IntType(8).as_pointer()
        address = builder.gep(builder.bitcast(array.data, byte), [builder.mul(arguments[1], row_bytes)])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        # To be read, to be kept in all caches, data and not code.
        builder.call(function, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(table, types.int64), generate


def _no_prefetch(table: Any, row: Any) -> None:
    pass


prefetch: Any = _prefetch if ENABLED else _no_prefetch
"""`prefetch(table, row)` fetches a row of a two-dimensional array from memory while other work goes on.

For compiled functions that know early which row of a large table they will need. Changes nothing else.
"""


@functools.cache
def cache_directory(module: str) -> Path:
    """Where the kernels of a module are cached; created if need be.

    Falls back to a directory of the user's under the system's temporary one where the usual place
    cannot be written.
    """
    name = f"{module}-{source_digest(module)}"
    cache_home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    places = [os.environ.get("SCFG_SAMPLER_CACHE"), os.path.join(cache_home, "scfg-sampler")]
    places.append(os.path.join(tempfile.gettempdir(), f"scfg-sampler-{os.getuid()}"))
    for place in filter(None, places):
        directory = Path(place) / name
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return directory
    return Path(tempfile.mkdtemp(prefix="scfg-sampler-"))


@functools.cache
def source_digest(module: str) -> str:
    """Twelve hexadecimal digits that change when a module, or a project module below it, changes."""
    sources = _sources(module)
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for name in sorted(sources):
        digest.update(name.encode() + b"\0" + sources[name] + b"\0")
    return digest.hexdigest()[:12]


def _sources(module: str) -> dict[str, bytes]:
    """What a module, and every project module below it, says, by name."""
    sources: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in sources:
            source, imported = _source(name)
            if source is not None:
                sources[name] = source
                waiting += imported
    return sources


@functools.cache  # A command asks for some twenty modules, each of which imports most of the others.
def _source(module: str) -> tuple[bytes | None, list[str]]:
    """The source of a project module and what it may import from the project; None for what is no module."""
    path = _source_file(module)
    if path is None:
        return None, []
    source = path.read_bytes()
    imported = []
    for origin, names, plain in _IMPORT.findall(_FOR_TYPE_CHECKERS.sub("", source.decode())):
        base = origin or plain
        imported += [base, *(f"{base}.{name}" for name in re.findall(r"\w+", names))]
    return source, imported


def _source_file(module: str) -> Path | None:
    stem = _PROJECT.joinpath(*module.split("."))
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file():
            return path
    return None
