"""Files and directories in the making, which the next process clears away if theirs is killed.

Each is held by a lock of the operating system (flock), which ends with the process that has it, however that
ends. So what is locked is in the making, and what is not is a leftover: no number of a process, which another
one may have by now, has to be trusted.

The fact a newcomer would get wrong: a lock is taken on what is open, not on a name. Between opening and
locking another process may have given the name to something else, so that is looked at again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scfg_sampler.core.signals import signals_held

__all__ = ["HELD", "has_locks", "hold", "sync_directory", "sync_file", "temporary_directory"]

HELD = ".held"
"""The file in a temporary directory that is locked while it is in use."""

_BECOMING = f"{HELD}.new"
"""Its name until it is locked."""

_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EACCES, errno.EBADF)


def hold(path: Path) -> int | None:
    """A descriptor that holds the file of that name, which is made if need be; close it to let go.

    None if another process, or another part of this one, holds it, or nothing can be held there.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor)):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def has_locks(path: Path) -> bool:
    """Whether files can be held where this one lies: some file systems of clusters have no locks."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:  # It was, and somebody has just let go of it.
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def sync_file(path: Path) -> None:
    """Have the contents of a file on the disk, as far as the operating system can tell."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Have the names in a directory on the disk; nothing where that cannot be asked for."""
    with contextlib.suppress(OSError):
        sync_file(path)


@contextlib.contextmanager
def temporary_directory(prefix: str, parent: Path | str | None = None) -> Iterator[Path]:
    """A new directory that goes when the block ends; leftovers with the same prefix go now.

    Parameters
    ----------
    prefix : str
        What its name begins with.
    parent : path, optional
        Where it is made; by default the system's place for such.

    Raises
    ------
    OSError
        Nothing can be made there.
    """
    place = Path(tempfile.gettempdir() if parent is None else parent)
    _clear(place, prefix)
    folder, held = None, None
    try:
        with signals_held():  # Made, and known to the block that removes it.
            folder, held = _made(place, prefix)
        yield folder
    finally:
        with signals_held():
            if held is not None:
                os.close(held)
            if folder is not None:
                _remove(folder)


def _made(place: Path, prefix: str) -> tuple[Path, int | None]:
    """A new directory, and the descriptor that holds it; None where nothing can be held."""
    for _ in range(3):
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        try:
            # Locked before it has its name, so that nobody meets it unlocked.
            held = hold(folder / _BECOMING)
            if held is not None:
                os.rename(folder / _BECOMING, folder / HELD)
                return folder, held
        except FileNotFoundError:
            pass
        except BaseException:
            _remove(folder)
            raise
        # Another process has taken it for a leftover in the moment before it was locked.
        _remove(folder)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=place)), None


def _remove(folder: Path) -> None:
    """Remove a directory, its lock at last: killed meanwhile, it stays one that the next may clear away."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name == HELD:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _clear(place: Path, prefix: str) -> None:
    """Remove the directories with a prefix that nobody holds; those that have no lock are somebody's own."""
    with contextlib.suppress(OSError):
        for folder in place.glob(f"{prefix}*"):
            # One whose maker was killed in the moment before it was locked has its lock under the first name.
            held = next((path for path in (folder / HELD, folder / _BECOMING) if path.is_file()), None)
            if folder.is_symlink() or held is None or held.stat().st_uid != os.getuid():
                continue
            descriptor = hold(held)
            if descriptor is not None:
                _remove(folder)
                os.close(descriptor)
