"""What is read, and would be lost if a result were written over it.

The fact a newcomer would get wrong: a run that is read is a directory, of which only what it cannot do
without is kept from being written over. Tables and pages may be written into it, and again.
"""

from __future__ import annotations

import os
import re

from scfg_sampler.core.arguments import ArgumentError
from scfg_sampler.core.files import PathLike

__all__ = ["is_lost", "require_not_lost"]

_OF_DIRECTORY = re.compile(
    r"(?:run\.json|trace(?:\.[0-9]+)?\.tsv|checkpoint(?:\.[0-9]+)?\.npz|lex\.(?:f2e|e2f)|derivations\.jsonl\.gz"
    r"|marginals\.json|preparation\.json|summary\.json|samples\.npz|tableaux\.tsv|grammar\.txt"
    r"|(?:grammar|pcfg)\.tsg\.gz|known\.txt\.gz|parameters\.tsv|trees\.(?:mrg|txt)\.gz"
    r"|(?:counts|collected|corpus|samples|chain-[0-9]+)/.*)"
)
"""What a directory that is read, a run above all, cannot do without: other files may be written in it."""


def is_lost(read: PathLike, written: PathLike) -> bool:
    """Whether what is read is the file that is written, or a directory that needs it; links are followed."""
    place, output = os.path.realpath(os.fspath(read)), os.path.realpath(os.fspath(written))
    if not os.path.isfile(output):
        return False
    within = output.removeprefix(place + os.sep)
    return place == output or (within != output and _OF_DIRECTORY.fullmatch(within) is not None)


def require_not_lost(output: PathLike, name: str, read: object) -> None:
    """Raise an ArgumentError if writing to `output` would lose what is read, which is called so.

    Parameters
    ----------
    output : path
    name : str
    read : path, or anything else, which is no file
    """
    paths = (str, os.PathLike)
    if isinstance(output, paths) and isinstance(read, paths) and is_lost(read, output):
        found = f"output is {os.fspath(output)}, which {name} needs, and would be lost"
        raise ArgumentError(f"{found}; name another file")
