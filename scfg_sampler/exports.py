"""Names that a package has without loading what they are in: each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["exports"]


def exports(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package (PEP 562).

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping of str to str
        The module that each name is in, within the package.

    >>> load, names = exports("scfg_sampler", {"InputError": "errors"})
    >>> load("InputError").__module__
    'scfg_sampler.errors'
    >>> load("OutputError")
    Traceback (most recent call last):
        ...
    AttributeError: module 'scfg_sampler' has no attribute 'OutputError'
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    def names() -> list[str]:
        return sorted({*vars(import_module(package)), *homes})

    return load, names
