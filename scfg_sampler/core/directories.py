"""Directories that appear whole or not at all, and replace nothing but their own kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from scfg_sampler.core.files import PathLike
from scfg_sampler.core.leftovers import sync_directory, sync_file, temporary_directory
from scfg_sampler.errors import InputError

__all__ = ["new_directory"]


@contextlib.contextmanager
def new_directory(path: PathLike, mark: str, kind: str) -> Iterator[Path]:
    """A temporary directory that is renamed to `path` when the block ends without an exception.

    Parameters
    ----------
    path : path
        A new directory, an empty one, or an older one of the same kind, which is replaced.
    mark : str
        A file that every directory of the kind has.
    kind : str
        What to call it, as in "system".

    Raises
    ------
    InputError
        There is something else of that name, or the directory cannot be made.
    """
    target = Path(path)
    if target.exists() and not (target / mark).is_file() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(path, None, f"exists and is no {kind}", f"Name another directory for the {kind}")
    with contextlib.ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            place = stack.enter_context(temporary_directory(f".{target.name}.", target.parent))
            folder = place / "new"
            folder.mkdir()
        except OSError as error:
            raise InputError(path, None, f"cannot be written ({error.strerror})") from None
        yield folder
        folder.chmod(0o755)
        for each in folder.rglob("*"):
            sync_file(each)
        if target.exists():
            target.rename(place / "old")
        folder.rename(target)
        sync_directory(target.parent)
