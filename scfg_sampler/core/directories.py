"""Directories that appear whole or not at all, and replace nothing but their own kind.

An older directory goes only if it holds nothing but files that such a directory is made of: those that its
record lists, or, where it lists none, those with the usual names.

The new directory and the one it replaces change names in one step of the operating system where that can be
asked for (Linux, macOS). Elsewhere there is a moment in which neither has the name; if the process is killed
in it, the next one that writes there gives the old one its name back.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scfg_sampler.core.files import PathLike
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.core.leftovers import HELD, hold, sync_directory, sync_file, temporary_directory
from scfg_sampler.core.signals import signals_held
from scfg_sampler.errors import InputError

__all__ = ["new_directory"]


@contextlib.contextmanager
def new_directory(path: PathLike, mark: str, kind: str, names: str) -> Iterator[Path]:
    """A temporary directory that is renamed to `path` when the block ends without an exception.

    Parameters
    ----------
    path : path
        A new directory, an empty one, or an older one of the same kind, which is replaced.
    mark : str
        A file that every directory of the kind has. If it is a JSON object with `files`, these are an object
        too, by the names of all other files.
    kind : str
        What to call it, as in "system" or "directory that plug made".
    names : str
        A regular expression of the names of the other files, for a directory whose mark does not list them.

    Raises
    ------
    InputError
        There is something else of that name, or in the directory, or it cannot be made.
    """
    target = Path(path)
    _require_replaceable(target, path, mark, kind, names)
    with contextlib.ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _give_back(target)
            place = stack.enter_context(temporary_directory(f".{target.name}.", target.parent))
            folder = place / "new"
            folder.mkdir()
        except OSError as error:
            raise InputError(path, None, f"cannot be written ({error.strerror})") from None
        yield folder
        folder.chmod(0o755)
        for each in folder.rglob("*"):
            sync_file(each)
        _require_replaceable(target, path, mark, kind, names)  # Others may have written into it since.
        with signals_held():  # Between the two names the old directory would go along with its place.
            if not target.exists():
                folder.rename(target)
            elif not _exchanged(folder, target):
                target.rename(place / _OLD)
                folder.rename(target)
        sync_directory(target.parent)


_OLD = "old"
_OF_NOBODY = re.compile(r"\.DS_Store|\.nfs[0-9a-f]+")  # What macOS and NFS put into directories.


def _require_replaceable(target: Path, path: PathLike, mark: str, kind: str, names: str) -> None:
    """Raise an InputError if something would be lost with a directory that is no part of its kind."""
    if not target.exists():
        return
    if not target.is_dir() or (any(target.iterdir()) and not (target / mark).is_file()):
        raise InputError(path, None, f"exists and is no {kind}", "Name another directory")
    listed, usual = _listed(target / mark), re.compile(names)

    def is_part(each: Path) -> bool:
        if each.is_dir() and not each.is_symlink():
            return False
        if each.name == mark or _OF_NOBODY.fullmatch(each.name):
            return True
        return each.name in listed if listed else usual.fullmatch(each.name) is not None

    others = [each.name for each in sorted(target.iterdir()) if not is_part(each)]
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        are, them = ("is", "it") if len(others) == 1 else ("are", "them")
        found = f"holds {', '.join(others[:3])}{more}, which {are} no part of a {kind}"
        raise InputError(path, None, found, f"Move {them}, or name another directory")


def _listed(record: Path) -> set[str]:
    """The names of the files that a record lists; none if it lists none, or is damaged."""
    try:
        return set(parse_json(record.read_text(encoding="utf-8"))["files"].keys())
    except (OSError, *WRONG_RECORD):
        return set()


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two directories have exchanged their names; if not, nothing is done."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(one), os.fsencode(other)
        if sys.platform == "darwin":
            return libc.renamex_np(*names, ctypes.c_uint(2)) == 0  # RENAME_SWAP
        here = ctypes.c_int(-100)  # AT_FDCWD
        return libc.renameat2(here, names[0], here, names[1], ctypes.c_uint(2)) == 0  # RENAME_EXCHANGE
    except (AttributeError, OSError):
        return False


def _give_back(target: Path) -> None:
    """The name of a directory that a killed process was replacing, given back to it."""
    if target.exists():
        return
    for old in target.parent.glob(f".{target.name}.*/{_OLD}"):
        descriptor = hold(old.parent / HELD)
        if descriptor is not None:
            old.rename(target)
            os.close(descriptor)
            return
