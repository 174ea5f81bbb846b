"""What a new run finds in its directory: an older run, which it may replace, and files of others.

The fact a newcomer would get wrong: a directory without `run.json` may hold files that are called as a run's
are, such as the text that is to be learnt from. They belong to no run, and stay. What a run has written
before its record lies beside a mark, `begun.lock`: if it is killed then, the next one knows whose that was.
The mark was touched as long as the run was at work, so that what is much later than it is somebody else's.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from scfg_sampler.core.chains.owner import owned
from scfg_sampler.core.chains.run_directory import BEGUN, RECORD, is_chain
from scfg_sampler.core.files import PathLike, naming
from scfg_sampler.errors import InputError

__all__ = [
    "CHAINS",
    "beginning",
    "clear",
    "refuse_files",
    "refuse_loss",
    "refuse_occupied",
    "restored_if_refused",
]

CHAINS = "chain-[0-9]*"
"""The pattern of `clear` for the directories of all chains."""

_LATER = 300.0
"""Seconds after a mark was touched for the last time; a run at work touches it far more often."""


def clear(directory: PathLike, *patterns: str) -> None:
    """Remove an older run: its record, and whatever else matches.

    The record goes first: whenever the process ends, no directory says more than it holds.

    Parameters
    ----------
    directory : path
        Need not exist.
    patterns : str
        Names of files and directories within it; * stands for anything.
    """
    place = Path(directory)
    (place / RECORD).unlink(missing_ok=True)
    for old in _matching(place, patterns):
        _remove(old)


def _matching(place: Path, patterns: Collection[str]) -> list[Path]:
    """What a run may have written: of directories that begin as those of chains, only these.

    Links that lead nowhere are there, too, which `glob` does not say of names without a star.
    """
    found = (path for pattern in patterns for path in (place / pattern, *place.glob(pattern)))
    return [path for path in dict.fromkeys(found) if os.path.lexists(path) and _is_of_run(place, path)]


def _is_of_run(place: Path, path: Path) -> bool:
    outer = [path, *path.parents][: len(path.relative_to(place).parts)]
    return all(is_chain(each) or not each.name.startswith("chain-") for each in outer)


def _killed_at(place: Path) -> float:
    """When a run was killed here before it had a record, in seconds since 1970; no time if none was."""
    with contextlib.suppress(OSError):
        if not (place / RECORD).exists():
            return (place / BEGUN).stat().st_mtime
    return -math.inf


def _is_left(path: Path, killed_at: float) -> bool:
    """Whether a file may be what a run has left that was killed then."""
    with contextlib.suppress(OSError):
        return path.lstat().st_mtime <= killed_at + _LATER
    return False


def refuse_occupied(directory: PathLike, overwrite: bool, resume: str, *patterns: str) -> None:
    """Raise InputError if a new run would replace an older one, or what belongs to none, and may not.

    Parameters
    ----------
    directory : path
        Need not exist.
    overwrite : bool
        Whether it may.
    resume : str
        The command that would continue an older run.
    patterns : str
        As in `clear`: what the new run removes.
    """
    place = Path(directory)
    if overwrite:
        return
    if (place / RECORD).exists():
        hint = f"Continue it with '{resume}', name another directory, or give --overwrite"
        raise InputError(directory, None, "holds a run already", hint)
    for path in _matching(place, patterns):
        if _is_left(path, _killed_at(place)):
            continue
        hint = "Name another directory, or give --overwrite, which removes it"
        raise InputError(path, None, "is in the way of a run, and belongs to none", hint)


def refuse_files(directory: PathLike, overwrite: bool, *names: str) -> None:
    """Raise InputError if there are files that a run has not written, as there is none, and would replace.

    Parameters
    ----------
    directory : path
        Need not exist.
    overwrite : bool
        Whether it may.
    names : str
        Of files within it.
    """
    place = Path(directory)
    for path in [] if overwrite or (place / RECORD).exists() else _matching(place, names):
        if _is_left(path, _killed_at(place)):
            continue
        hint = "Name another directory, or give --overwrite, which replaces it"
        raise InputError(path, None, "would be written over, and belongs to no run", hint)


def refuse_loss(directory: PathLike, files: Iterable[PathLike], *patterns: str) -> None:
    """Raise InputError if what a run learns from would be removed for it, whether it may replace or not.

    Parameters
    ----------
    directory : path
        Need not exist.
    files : iterable of paths
    patterns : str
        As in `clear`.
    """
    removed = {Path(os.path.realpath(path)) for path in _matching(Path(directory), patterns)}
    for path in files:
        place = Path(os.path.realpath(path))
        if not removed.isdisjoint((place, *place.parents)):
            hint = "Name another directory"
            raise InputError(path, None, f"is learnt from, and would be lost by a run in {directory}", hint)


@contextlib.contextmanager
def beginning(directory: PathLike, *patterns: str) -> Iterator[None]:
    """Within, a run may write files before its record; what is new of them goes if it does not begin.

    It has begun when there is a record. Killed before, it leaves a mark, and the next run takes up its place.

    Parameters
    ----------
    directory : path
        Made if need be. What is not to be lost has been refused before.
    patterns : str
        As in `clear`: what the run writes.

    Raises
    ------
    InputError
        Another process begins a run there.
    """
    place = Path(directory)
    with _marked(place) as killed_at:
        others = {path for path in _matching(place, patterns) if not _is_left(path, killed_at)}
        try:
            yield
        except BaseException:
            if not (place / RECORD).exists():
                for path in _matching(place, patterns):
                    if path not in others:
                        _remove(path)
            raise


@contextlib.contextmanager
def restored_if_refused(directory: PathLike, *names: str) -> Iterator[None]:
    """Within, files may be written that a new run is to read; the older ones come back if it does not begin.

    A run has begun when there is a record, and not that of an older one. Killed before, it leaves a mark, and
    what it has written is none of the older files.

    Parameters
    ----------
    directory : path
        Made if need be.
    names : str
        Of the files within it. Where one is a link, or lies in a directory that is one, the file it leads to
        is meant.

    Raises
    ------
    InputError
        Another process begins a run there.
    """
    place = Path(directory)
    files = [Path(os.path.realpath(place / name)) for name in names]
    with _marked(place) as killed_at, tempfile.TemporaryDirectory() as folder:
        record = _content(place / RECORD)
        older = [path for path in files if path.exists() and not _is_left(path, killed_at)]
        kept = {path: Path(folder, str(k)) for k, path in enumerate(older) if path.is_file()}
        made = {path.parent for path in files if not path.parent.exists()}
        for path, copy in kept.items():
            with naming(path):
                shutil.copy2(path, copy)
        try:
            yield
        except BaseException:
            if _content(place / RECORD) == record:
                # Where that fails, what had gone wrong before is the thing to tell.
                for path in files:
                    with contextlib.suppress(OSError):
                        if path not in older:
                            path.unlink(missing_ok=True)
                for path, copy in kept.items():
                    with contextlib.suppress(OSError):
                        shutil.copy2(copy, path)
                for parent in made:
                    with contextlib.suppress(OSError):  # It holds other files by now, or was never made.
                        parent.rmdir()
            raise


@contextlib.contextmanager
def _marked(place: Path) -> Iterator[float]:
    """Within, a mark says that a run begins, until it has a record; when one was killed there before."""
    killed_at = _killed_at(place)
    with owned(place, BEGUN):
        yield killed_at


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
