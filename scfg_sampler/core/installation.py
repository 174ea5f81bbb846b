"""Whether the installation is in order, and what to do where it is not.

The fact a newcomer would get wrong: what is optional is not wrong when it is missing. Only what every command
needs makes a problem: the packages, and a place where compiled code can be kept.
"""

from __future__ import annotations

import locale
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from scfg_sampler import __version__
from scfg_sampler.core.wording import counted

__all__ = ["NEEDED", "OPTIONAL", "Finding", "findings"]

NEEDED = ("numpy", "numba", "scipy", "sacrebleu", "sentencepiece", "rich")
"""Distributions that every installation has."""

OPTIONAL = {
    "eflomal": ("align", "aligning words ('scfg-sampler align')"),
    "sacremoses": ("tokenize", "segmenting raw text into words ('prepare --segment words')"),
    "starlette": ("pages", "looking into runs and systems in the browser ('scfg-sampler explore')"),
    "uvicorn": ("pages", "looking into runs and systems in the browser ('scfg-sampler explore')"),
    "matplotlib": ("report", "pictures of curves ('scfg-sampler curves' and others)"),
    "arviz-base": ("arviz", "traces as ArviZ takes them (`to_arviz` in notebooks)"),
    "dask": ("cluster", "work in several processes or on a cluster ('--workers', '--scheduler')"),
}
"""Others by name: the extra that has them, and what they are for."""

_OLDEST = (3, 11)
_ROOM = 1 << 30


class Finding(NamedTuple):
    """What is said of one part of the installation."""

    name: str
    found: str
    advice: str = ""
    """What to do; empty where nothing need be done."""
    is_wrong: bool = False
    """Whether commands cannot work so."""


def findings() -> Iterator[Finding]:
    """What there is to say, part by part."""
    python = platform.python_version()
    too_old = sys.version_info < _OLDEST
    yield Finding("Python", f"{python}, {sys.executable}", "Use 3.11 or later" if too_old else "", too_old)
    yield Finding("scfg-sampler", f"{__version__}, {Path(__file__).parents[2]}")
    yield from map(_needed, NEEDED)
    yield from _optional()
    yield from _compiled()
    yield _processors()
    yield _room()
    yield _encoding()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _needed(name: str) -> Finding:
    version = _version(name)
    advice = f"Install it: pip install {name}" if version is None else ""
    return Finding(name, version or "missing", advice, version is None)


def _optional() -> Iterator[Finding]:
    for name, (extra, purpose) in OPTIONAL.items():
        version = _version(name)
        advice = f"For {purpose}: pip install 'scfg-sampler[{extra}]'" if version is None else ""
        yield Finding(f"{name} (optional)", version or "not installed", advice)


def _compiled() -> Iterator[Finding]:
    """The cache of compiled code, and whether code is compiled at all."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        advice = "Unset it: everything runs as plain Python, a hundred times slower"
        yield Finding("compiled code", "NUMBA_DISABLE_JIT is set", advice)
        return
    if any(_version(name) is None for name in ("numpy", "numba")):
        return
    from scfg_sampler.core.jit import cache_directory

    place = cache_directory(__name__).parent
    kernels = list(place.glob("*/*.nbc"))
    size = sum(path.stat().st_size for path in kernels)
    found = f"{place}, {counted(len(kernels), 'kernel')}, {size / 1e6:.0f} MB"
    advice = ""
    asked = os.environ.get("SCFG_SAMPLER_CACHE")
    if asked and Path(asked) != place:
        advice = f"SCFG_SAMPLER_CACHE is {asked}, which cannot be written; name another place, or unset it"
    elif Path(tempfile.gettempdir()) in (place, place.parent) and not asked:
        advice = "The usual place cannot be written; name one that lasts in SCFG_SAMPLER_CACHE"
    elif not kernels:
        advice = "Nothing is compiled yet: the first use of each command takes longer, once"
    yield Finding("compiled code", found, advice)


def _processors() -> Finding:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding("processors", f"{usable} usable of {os.cpu_count()}")


def _room() -> Finding:
    """Room for temporary files."""
    place = tempfile.gettempdir()
    free = shutil.disk_usage(place).free
    advice = "Make room, or name another place in TMPDIR" if free < _ROOM else ""
    return Finding("temporary files", f"{place}, {free / 1e9:.1f} GB free", advice)


def _encoding() -> Finding:
    """What the terminal shows, as far as the locale says; standard output is UTF-8 whatever it is."""
    encoding = "utf-8" if sys.flags.utf8_mode else locale.getencoding().lower().replace("_", "-")
    advice = "" if encoding == "utf-8" else "Set a locale with UTF-8, which commands write, to see all text"
    return Finding("encoding of the terminal", encoding, advice)
