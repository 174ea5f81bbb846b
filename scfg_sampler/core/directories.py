"""Directories that appear whole or not at all, and replace nothing but their own kind."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scfg_sampler.core.files import PathLike
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
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise InputError(path, None, f"cannot be written ({error.strerror})") from None
    try:
        yield folder
        folder.chmod(0o755)
        _replace(folder, target)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _replace(folder: Path, target: Path) -> None:
    """Give a directory another's name; the older one goes."""
    old = None
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)) / "old"
        target.rename(old)
    folder.rename(target)
    if old is not None:
        shutil.rmtree(old.parent, ignore_errors=True)
