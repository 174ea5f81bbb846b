"""A chain to and from one `.npz` file, atomically.

A checkpoint is all that the rest of a chain depends on: with xₜ the state after t sweeps and gₜ the
state of the generator, (xₜ₊₁, gₜ₊₁) is a function of (xₜ, gₜ), the settings and the corpus. So the file holds
the arrays of the state under their field names (`state.restaurants.customers`), the state of the generator
and t; and, to be compared on loading, the settings, a digest of each corpus file, and a digest of all this.
Resuming equals running through, bit for bit.

The fact a newcomer would get wrong: `sweep` is the number of sweeps *done*, the index of the next one.

States are NamedTuples whose fields are annotated as arrays, numbers, strings, NamedTuples of these, or
`tuple[T, ...]` of one of these; loading rebuilds them from the annotations, without pickle.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import typing
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler import __version__
from scfg_sampler.core.archives import load_arrays, write_arrays
from scfg_sampler.core.files import PathLike, atomic_path
from scfg_sampler.core.json_text import parse_json
from scfg_sampler.errors import CheckpointMismatch, InputError

__all__ = [
    "FORMAT",
    "NOT_TIMED",
    "Checkpoint",
    "layout_problem",
    "load_checkpoint",
    "read_checkpoint_header",
    "save_checkpoint",
    "sweeps_kept",
]

FORMAT = 3
"""Raised whenever a checkpoint of an older version can no longer be resumed."""

NOT_TIMED = 0.0, 0.0
"""What a chain has taken of which that is not kept."""

_AGAIN = "Restore the file, or start the run again"
_HEADER = "header"
_STATE = "state"


class Checkpoint(NamedTuple):
    """A chain between two sweeps.

    Attributes
    ----------
    state : NamedTuple
        What the next step of the kernel needs.
    rng : numpy.random.Generator
        As it is between the sweeps.
    sweep : int
        How many sweeps have been done.
    settings : mapping
        JSON values by option name. A chain can only be resumed with equal settings.
    corpus : mapping
        Digests (`files.file_digest`) by the name of the input.
    version : str
        The version of the package that wrote the file.
    spent : (float, float)
        Seconds that the chain has taken so far, and those of the processor; 0 where they are not kept.
    """

    state: Any
    rng: np.random.Generator
    sweep: int
    settings: Mapping[str, Any] = {}
    corpus: Mapping[str, str] = {}
    version: str = __version__
    spent: tuple[float, float] = NOT_TIMED


def save_checkpoint(path: PathLike, checkpoint: Checkpoint) -> None:
    """Write a checkpoint under a temporary name, then rename: the file is the old one or the new one.

    Parameters
    ----------
    path : path
    checkpoint : Checkpoint

    Raises
    ------
    InputError
        The file cannot be written.
    TypeError
        A field of the state has a type that cannot be stored.
    """
    header = {
        "format": FORMAT,
        "version": checkpoint.version,
        "sweep": int(checkpoint.sweep),
        "settings": dict(checkpoint.settings),
        "corpus": dict(checkpoint.corpus),
        "generator": checkpoint.rng.bit_generator.state,
        "spent": list(checkpoint.spent),
    }
    arrays = dict(_flatten(_STATE, checkpoint.state))
    text = json.dumps({**header, "digest": _digest(header, arrays)}, default=_plain, sort_keys=True)
    try:
        with atomic_path(path) as temporary, open(temporary, "wb") as stream:
            write_arrays(stream, {_HEADER: np.array(text), **arrays})
    except OSError as error:
        raise InputError(path, None, f"cannot be written ({error.strerror})") from None


def load_checkpoint(
    path: PathLike,
    state_type: type,
    *,
    settings: Mapping[str, Any] | None = None,
    corpus: Mapping[str, str] | None = None,
) -> Checkpoint:
    """The checkpoint in a file.

    Parameters
    ----------
    path : path
    state_type : NamedTuple class
        The type of the state.
    settings, corpus : mapping, optional
        What the run to be resumed uses; compared with what the file says.

    Raises
    ------
    CheckpointMismatch
        Settings or corpus differ from those given, or the file was written by another version with
        another format. The message lists every difference.
    InputError
        The file is missing or is not a checkpoint, or an older version kept less.
    """
    arrays, header = _read(path)
    differences = [
        *_differences("setting", header["settings"], settings),
        *_differences("corpus file", header["corpus"], corpus),
    ]
    if differences:
        hint = "Go on with what it was begun with, or begin another run"
        raise CheckpointMismatch(f"{path} belongs to another run: {'; '.join(differences)}. {hint}")
    try:
        state = _unflatten(_STATE, state_type, arrays)
        generator = _generator(header["generator"])
        seconds, cpu_seconds = map(float, header.get("spent", NOT_TIMED))  # Before 0.4 there was none.
    except KeyError as error:
        # The digest is right: the file is as it was written.
        found = f"was written by an older program (version {header['version']}), or another command"
        again = "Go on with what wrote it, or start the run again"
        raise InputError(path, None, f"{found}: it lacks the array {error.args[0]}", again) from None
    except (ValueError, TypeError, AttributeError):
        raise InputError(path, None, "has other arrays than it should", _AGAIN) from None
    common = (header["settings"], header["corpus"], header["version"])
    return Checkpoint(state, generator, header["sweep"], *common, (seconds, cpu_seconds))


def layout_problem(stored: Any, expected: Any, free: Collection[str] = ()) -> str | None:
    """What array of a state has another type or shape than in one that is as it should be; None if none has.

    Parameters
    ----------
    stored, expected : NamedTuple
        States of one type.
    free : collection of str
        Dotted names of arrays whose first dimension may be any.
    """
    given, right = dict(_flatten("", stored)), dict(_flatten("", expected))
    for name, array in right.items():
        found, short = given.get(name), name[1:]
        if found is None:
            return f"{short} is missing"
        kind, shape = (found.dtype, found.shape), (array.dtype, array.shape)
        if short in free:
            kind, shape = (found.dtype, found.shape[1:]), (array.dtype, array.shape[1:])
        # A number may be of any size; what a text is, others know.
        is_plain = array.ndim == found.ndim == 0 and found.dtype.kind == array.dtype.kind
        if found.ndim != array.ndim or (kind != shape and not is_plain):
            wanted = f"{array.dtype} {array.shape}"
            return f"{short} is {found.dtype} {found.shape} where {wanted} is expected"
    return None


def read_checkpoint_header(path: PathLike) -> Mapping[str, Any]:
    """What a checkpoint says beside its arrays: `settings`, `corpus`, `sweep`, `version` and more.

    Parameters
    ----------
    path : path

    Raises
    ------
    InputError, CheckpointMismatch
        As `load_checkpoint`.
    """
    return _read(path)[1]


def sweeps_kept(path: PathLike, otherwise: int) -> int:
    """How many sweeps a checkpoint has, from which `resume` goes on.

    A chain that is stopped or killed does not get to say in its record how far it came.

    Parameters
    ----------
    path : path
    otherwise : int
        What comes back if there is no checkpoint, or none that can be read.
    """
    if Path(path).exists():
        with contextlib.suppress(InputError, CheckpointMismatch):
            return int(read_checkpoint_header(path)["sweep"])
    return otherwise


def _read(path: PathLike) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the header of a checkpoint."""
    try:
        arrays = load_arrays(path)
        header = parse_json(arrays.pop(_HEADER).item())
        found_format, written = header.get("format"), header.get("version")
    except OSError as error:
        reason = error.strerror or "not a checkpoint"
        raise InputError(path, None, f"cannot be read ({reason})", "Check the name") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(path, None, "is not a checkpoint, or is damaged", _AGAIN) from None
    if found_format != FORMAT:
        raise CheckpointMismatch(
            f"{path} has checkpoint format {found_format} (version {written}); this is "
            f"version {__version__} with format {FORMAT}. Resume with the version that wrote it"
        )
    stated = header.pop("digest", None)
    if stated != _digest(header, arrays):
        raise InputError(path, None, "does not match its digest", _AGAIN)
    return arrays, header


def _digest(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of everything that a checkpoint holds, but for the digest."""
    digest = hashlib.sha256(json.dumps(header, default=_plain, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _flatten(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of a state with their dotted names."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError(f"{name} is an array of objects, which a checkpoint cannot hold")
        yield name, value
    elif isinstance(value, tuple):
        fields = getattr(value, "_fields", range(len(value)))
        for field, part in zip(fields, value, strict=True):
            yield from _flatten(f"{name}.{field}", part)
    elif isinstance(value, (bool, int, float, str, np.generic)):
        yield name, np.asarray(value)
    else:
        raise TypeError(f"{name} is a {type(value).__name__}, which a checkpoint cannot hold")


def _unflatten(name: str, annotation: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The value of a type whose arrays have names that begin with `name`."""
    if typing.get_origin(annotation) is tuple:
        element = typing.get_args(annotation)[0]
        parts: list[Any] = []
        while any(_is_inside(key, f"{name}.{len(parts)}") for key in arrays):
            parts.append(_unflatten(f"{name}.{len(parts)}", element, arrays))
        return tuple(parts)
    if hasattr(annotation, "_fields"):
        hints = typing.get_type_hints(annotation)
        return annotation(*(_unflatten(f"{name}.{f}", hints[f], arrays) for f in annotation._fields))
    array = arrays[name]
    return annotation(array.item()) if annotation in (bool, int, float, str) else array


def _is_inside(key: str, name: str) -> bool:
    return key == name or key.startswith(name + ".")


def _differences(kind: str, stored: Mapping, given: Mapping | None) -> Iterator[str]:
    """What differs, in words."""
    if given is None:
        return
    given = json.loads(json.dumps(dict(given), default=_plain))  # Tuples become lists, as in the file.
    for name in sorted(stored.keys() | given.keys()):
        if name not in stored or name not in given or stored[name] != given[name]:
            if kind == "setting":
                here, there = given.get(name, "absent"), stored.get(name, "absent")
                yield f"setting {name} is {here} here and {there} there"
            else:
                yield f"{kind} {name} is not the same"


def _plain(value: Any) -> Any:
    """What JSON can hold of a numpy value or a path."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a setting is a {type(value).__name__}, which a checkpoint cannot hold")


def _generator(state: dict[str, Any]) -> np.random.Generator:
    """A generator in a stored state."""
    bit_generator = getattr(np.random, state["bit_generator"])()
    bit_generator.state = state
    return np.random.Generator(bit_generator)
