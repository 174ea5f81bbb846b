"""What run directories have in common: `run.json`, and checks of how long a run is.

Every command that samples keeps a `run.json` beside its results: the command, its settings, versions, digests
of what was read, how far it came, and the time. What else is in the directory is the run's own.

The fact a newcomer would get wrong: a record is read back by the run that wrote it, which turns settings into
the NamedTuples they were; whatever goes wrong there means that the file is damaged or another command's.
"""

from __future__ import annotations

import contextlib
import json
import platform
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from scfg_sampler.core.files import PathLike, atomic_output, file_digest
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import CheckpointMismatch, InputError, SettingsError

__all__ = [
    "BEGUN",
    "CHECKPOINT",
    "RECORD",
    "TRACE",
    "blaming_changes",
    "chain_directory",
    "chains_begun",
    "has_checkpoint",
    "is_chain",
    "origin",
    "read_record",
    "require_at_least",
    "require_beyond_burn_in",
    "require_burn_in",
    "require_each",
    "require_names",
    "require_numbers",
    "require_same_files",
    "require_sweeps_left",
    "require_unchanged",
    "stored_settings",
    "write_json",
    "write_record",
    "wrong_setting",
]

RECORD = "run.json"
TRACE = "trace.tsv"
CHECKPOINT = "checkpoint.npz"
BEGUN = "begun.lock"
"""What lies in a run directory while there are files, but no record yet; see `occupied.py`."""


def chain_directory(directory: PathLike, number: int) -> Path:
    """Where one of several chains of a run keeps its files; counted from 1."""
    return Path(directory) / f"chain-{number}"


def is_chain(path: Path) -> bool:
    """Whether a directory is called as that of a chain is."""
    return path.name.startswith("chain-") and path.name.removeprefix("chain-").isdecimal()


def chains_begun(directory: PathLike, name: str = RECORD) -> list[Path]:
    """The directories of the chains of a run that have a file of that name, in their order."""
    inside = [path.parent for path in Path(directory).glob(f"chain-*/{name}")]
    return sorted(filter(is_chain, inside), key=lambda path: (len(str(path)), path))


def has_checkpoint(directory: PathLike, record: Mapping[str, Any]) -> bool:
    """Whether a chain has begun: one that was stopped before its first checkpoint has not.

    Parameters
    ----------
    directory : path
    record : mapping
        What `run.json` of the chain says.

    Raises
    ------
    InputError
        The checkpoint is gone.
    """
    if (Path(directory) / CHECKPOINT).exists():
        return True
    if record["sweeps"] > 0:
        found = f"has no {CHECKPOINT}, though {counted(record['sweeps'], 'sweep was', 'sweeps were')} done"
        hint = "Restore the file, or begin again with 'scfg-sampler sample --overwrite'"
        raise InputError(directory, None, found, hint)
    return False


def write_json(record: Mapping[str, Any], path: PathLike) -> None:
    """Write a JSON object, readably and atomically.

    Parameters
    ----------
    record : mapping
        Numbers must be finite: NaN is no JSON.
    path : path
    """
    with atomic_output(path) as stream:
        json.dump(record, stream, indent=1, ensure_ascii=False, allow_nan=False)
        stream.write("\n")


def write_record(record: Mapping[str, Any], directory: PathLike) -> None:
    """Write `run.json`, which says from now on whose the files of a run directory are.

    Parameters
    ----------
    record : mapping
        As in `write_json`.
    directory : path
    """
    write_json(record, Path(directory) / RECORD)
    (Path(directory) / BEGUN).unlink(missing_ok=True)


def origin(version: str) -> dict[str, Any]:
    """`command` and `versions` of a record; `version` is that of the project."""
    from importlib import metadata  # A seventh of what a command's help takes, were it loaded for that.

    versions = {"scfg-sampler": version, "python": platform.python_version()}
    versions |= {name: metadata.version(name) for name in ("numpy", "numba")}
    return {"command": sys.argv, "versions": versions}


def read_record(
    directory: PathLike, writer: str, restore: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """What `run.json` of a run directory says.

    Parameters
    ----------
    directory : path
    writer : str
        The command that writes such directories, as `tsg train`.
    restore : callable
        Makes of the JSON object what is returned. KeyError, TypeError and ValueError in it mean that the file
        is damaged.

    Raises
    ------
    InputError
        It is not a run directory of that command.
    """
    path = Path(directory) / RECORD
    try:
        record = parse_json(path.read_text(encoding="utf-8"), finite=True)
        _require_told(record)
        return restore(record)
    except OSError as error:
        found = f"is not a run directory ({error.strerror}: {RECORD})"
        raise InputError(directory, None, found, f"Name a directory that '{writer}' has written") from None
    except WRONG_RECORD:
        if (model := _model(path)) and model not in writer.split():
            hint = f"Name a directory that '{writer}' has written"
            raise InputError(directory, None, f"is a run of 'scfg-monolingual {model}'", hint) from None
        hint = f"Run '{writer}' again"
        raise InputError(path, None, f"is damaged, or not that of '{writer}'", hint) from None


def _model(path: Path) -> str:
    """The model of one language that a record is of, if it tells by its command; else nothing."""
    try:
        program, model, *_ = parse_json(path.read_text(encoding="utf-8"), finite=True)["command"]
        return model if "monolingual" in program and model in ("tsg", "pcfg", "ot", "dmv") else ""
    except (OSError, *WRONG_RECORD):
        return ""


def _require_told(record: dict[str, Any]) -> None:
    """Raise unless what every run tells of itself is there: its command, versions, time."""
    require_each(list, record["command"])
    require_each(str, *record["command"], record["versions"]["scfg-sampler"], *record["versions"].values())
    require_numbers(record["seconds"])


def require_each(kind: type, *values: object) -> None:
    """Raise TypeError unless values from a record are of exactly this type: True is no integer.

    >>> require_each(int, 1, 2)
    >>> require_each(int, 1, True)
    Traceback (most recent call last):
        ...
    TypeError: True is no int
    """
    for value in values:
        if type(value) is not kind:
            raise TypeError(f"{value!r:.40} is no {kind.__name__}")


def require_numbers(*values: object) -> None:
    """Raise TypeError unless values from a record are finite numbers.

    >>> require_numbers(1, 2.5)
    >>> require_numbers(float("inf"))
    Traceback (most recent call last):
        ...
    TypeError: inf is no finite number
    """
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
            raise TypeError(f"{value!r:.40} is no finite number")


def stored_settings(kind: type, stored: Mapping[str, Any], place: PathLike, version: object) -> Any:
    """Settings that a file holds, as the NamedTuple they were.

    Parameters
    ----------
    kind : NamedTuple class
        Lists become tuples where the default is one.
    stored : mapping
    place : path
        Where they were found, for the message.
    version : str
        Of the program that wrote them.

    Raises
    ------
    CheckpointMismatch
        There are settings that this version does not have, or some that it has are missing.
    InputError
        One has a value of another type.

    >>> from collections import namedtuple
    >>> stored_settings(namedtuple("Settings", "seed"), {"sed": 1}, "run.json", "0.1")
    Traceback (most recent call last):
        ...
    scfg_sampler.errors.CheckpointMismatch: run.json was written by version 0.1, whose settings are others \
(sed is not known, seed is missing). Go on with that version, or start the run again
    """
    fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    defaults: dict[str, Any] = kind._field_defaults  # type: ignore[attr-defined]
    require_names(stored, fields, place, version, optional=defaults)
    values = dict(stored)
    hints = get_type_hints(kind)
    for name, default in defaults.items():
        value = values.get(name, default)
        if isinstance(default, tuple) and isinstance(value, list):
            values[name] = value = tuple(value)
        if not _fits(value, hints[name]):
            raise wrong_setting(place, name, value)
    return kind(**values)


def wrong_setting(place: PathLike, name: str, value: object) -> InputError:
    """The error of a file in which a setting has a value of another type."""
    found = f"is damaged: {name} is {repr(value)[:40]}"
    return InputError(place, None, found, "Restore the file, or start the run again")


def _fits(value: object, hint: object) -> bool:
    """Whether a value from a file is of a type; what is neither number, text, tuple nor None always is."""
    parts = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if get_origin(hint) is tuple:
        if not isinstance(value, (tuple, list)):
            return False
        if parts[1:] == (...,):
            return all(_fits(each, parts[0]) for each in value)
        return len(value) == len(parts) and all(map(_fits, value, parts))
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint not in (float, int, str, NoneType)
    if hint in (float, int) and isinstance(value, int):
        return abs(value) < _LARGEST
    if hint in (float, int, str, NoneType):
        return isinstance(value, hint)
    return True


_LARGEST = 10**300  # Beyond it, an integer is not the number that is meant.


def require_names(
    stored: Collection[str],
    names: Collection[str],
    place: PathLike,
    version: object,
    optional: Collection[str] = (),
) -> None:
    """Raise CheckpointMismatch unless settings that a file holds are those that this version has.

    Parameters
    ----------
    stored, names : collection of str
        What the file holds, and what this version has.
    place, version
        As in `stored_settings`.
    optional : collection of str
        Those of `names` that may be missing.
    """
    others = [f"{name} is not known" for name in sorted(set(stored) - set(names))]
    others += [f"{name} is missing" for name in sorted(set(names) - set(stored) - set(optional))]
    if others:
        raise CheckpointMismatch(
            f"{place} was written by version {version}, whose settings are others ({', '.join(others)}). "
            "Go on with that version, or start the run again"
        )


_GROWING = ("sweeps", "seconds", "cpu_seconds", "peak_memory_mb")
"""What a record says of how far a run is, every now and then."""


def require_unchanged(directory: PathLike, record: Mapping[str, Any]) -> None:
    """Raise InputError unless a run is the one that was read: neither gone on with nor written over since.

    One that was under way and still is has not changed.

    Parameters
    ----------
    directory : path
    record : mapping
        What `run.json` said before anything else of the run was read.
    """
    try:
        found = parse_json((Path(directory) / RECORD).read_text(encoding="utf-8"), finite=True)
        is_same = _without_growing(found) == _without_growing(record)
    except (OSError, *WRONG_RECORD):
        is_same = False
    if not is_same:
        found = "has been resumed, finished, written over or removed since it was read"
        raise InputError(directory, None, found, "Read it again once no other process writes it")


def _without_growing(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in _GROWING}


@contextlib.contextmanager
def blaming_changes(directory: PathLike, record: Mapping[str, Any]) -> Iterator[None]:
    """What is found wrong within the block is the run's only if it is still the one that was read.

    Parameters
    ----------
    directory, record
        As in `require_unchanged`.

    Raises
    ------
    InputError
        Something was found wrong, and the run has changed.
    """
    try:
        yield
    except (InputError, CheckpointMismatch):
        require_unchanged(directory, record)
        raise


def require_sweeps_left(directory: PathLike, sweeps: int, iterations: int, *, is_finished: bool) -> None:
    """Raise SettingsError unless a run that has so many sweeps can be continued to so many.

    One that was stopped may have all of them, but not more: then only its results are to be written.
    """
    if sweeps > iterations or (is_finished and sweeps == iterations):
        found = f"{directory} has {counted(sweeps, 'sweep')} already"
        raise SettingsError(f"{found}; give --iterations more than that to go on")


def require_at_least(settings: Any, **least: int) -> None:
    """Raise SettingsError if a field of a NamedTuple is below its least value; names are those of options.

    >>> from collections import namedtuple
    >>> require_at_least(namedtuple("Run", "burn_in")(-1), burn_in=0)
    Traceback (most recent call last):
        ...
    scfg_sampler.errors.SettingsError: --burn-in is -1; it must be at least 0
    """
    for name, value in least.items():
        if getattr(settings, name) < value:
            option = name.replace("_", "-")
            raise SettingsError(f"--{option} is {getattr(settings, name)}; it must be at least {value}")


def require_burn_in(burn_in: int, iterations: int) -> None:
    """Raise SettingsError unless 0 ≤ burn_in < iterations."""
    if not 0 <= burn_in < iterations:
        raise SettingsError(
            f"--burn-in is {burn_in}; it must be at least 0 and below --iterations ({iterations})"
        )


def require_beyond_burn_in(iterations: int, burn_in: int) -> None:
    """Raise SettingsError unless a run that is resumed goes on beyond the burn-in it was started with."""
    if iterations <= burn_in:
        raise SettingsError(
            f"--iterations is {iterations}; the run was started with a burn-in of {burn_in}: give more"
        )


def require_same_files(
    directory: PathLike, files: Mapping[str, PathLike], digests: Mapping[str, str]
) -> None:
    """Raise CheckpointMismatch if files are not what they were when a run began; InputError if one is gone.

    Parameters
    ----------
    directory : path
        The run directory, for the message.
    files, digests : mapping
        By the name of the input.
    """
    changed = [f"{path} ({name})" for name, path in files.items() if file_digest(path) != digests.get(name)]
    if changed:
        are, them = ("is", "it") if len(changed) == 1 else ("are", "them")
        raise CheckpointMismatch(
            f"{', '.join(changed)} {are} not the same as when {directory} began. "
            f"Put {them} back as then, or begin another run"
        )
