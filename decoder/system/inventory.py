"""Directories whose parts are listed, with their sizes and digests, in a record that lies among them.

The fact a newcomer would get wrong: digests are those of the bytes. Large files that are mapped into memory
have checksums of their own, which are compared then; hashing them too would take longer than translating a
sentence, so that `read_record` leaves it out, and `check_digests` does not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from decoder.translation.settings import LARGEST, SEARCHES, SearchDefaults
from scfg_sampler import __version__
from scfg_sampler.core.chains.run_directory import require_each
from scfg_sampler.core.files import PathLike, atomic_output, read_lines
from scfg_sampler.core.json_text import WRONG_RECORD, parse_json
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["GRAMMAR", "USES", "Kind", "Record", "check_digests", "read_record", "write_record"]

Record = dict[str, Any]

_HASHED = 1 << 20  # The largest mapped file whose digest is compared whenever a directory is read.
_MAPPED = ".bin"

GRAMMAR = "grammar.bin"
"""The compiled rule table in such a directory."""

USES = {"system": "translate --system", "parser": "parse --parser"}
"""Which command takes which kind of directory; the record of a kind is named after it."""


class Kind(NamedTuple):
    """A kind of directory.

    name : what to call it
    file : its record
    formats : numbers of those that are read
    command : what makes one
    parts : the files that a record must list; raises one of `WRONG_RECORD` if it is damaged
    """

    name: str
    file: str
    formats: Sequence[int]
    command: str
    parts: Callable[[Record], Sequence[str]]

    @property
    def again(self) -> str:
        """What to do if one is damaged."""
        return f"Copy the whole {self.name} again, or bundle it again"


def write_record(folder: Path, kind: Kind, settings: SearchDefaults, record: Record) -> Record:
    """List all files of a directory, beside what `record` says; the whole record."""
    found = {"format": record["format"], "version": __version__, "settings": settings._asdict()}
    found |= {name: value for name, value in record.items() if name != "format"}
    found["files"] = {path.name: _entry(path) for path in sorted(folder.iterdir())}
    with atomic_output(folder / kind.file) as stream:
        stream.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    return found


def _entry(path: Path) -> dict[str, Any]:
    """Size and digest of a file."""
    return {"bytes": path.stat().st_size, "sha256": _digest(path)}


def _digest(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_record(directory: PathLike, kind: Kind) -> Record:
    """What the record says, once every file it lists is found to be there as it was.

    Raises
    ------
    InputError
        A file is missing, damaged, or of another version.
    """
    folder = Path(directory)
    path = folder / kind.file
    if not path.is_file():
        raise InputError(directory, None, *_what_is_there(folder, kind))
    try:
        record = parse_json("\n".join(read_lines(path)))
        if record["format"] not in kind.formats:
            found = f"is of format {record['format']}, but this version reads up to {max(kind.formats)}"
            raise InputError(
                path, None, found, f"It was written by version {record.get('version')}; bundle it again"
            )
        files = {name: (int(each["bytes"]), str(each["sha256"])) for name, each in record["files"].items()}
        settings = SearchDefaults(**record["settings"])
        require_each(int, settings.beam, settings.max_targets, settings.max_span)
        *numbers, search = settings
        is_number = all(type(value) in (int, float) and abs(value) <= LARGEST for value in numbers)
        if not is_number or search not in SEARCHES:
            raise ValueError(f"settings {list(settings)!r}"[:80])
        parts = kind.parts(record)
    except WRONG_RECORD as error:
        raise InputError(path, None, f"is damaged ({type(error).__name__}: {error})", kind.again) from None
    for name in parts:
        if name not in files:
            raise InputError(path, None, f"does not list {name}", kind.again)
    for name, (size, digest) in files.items():
        _check_file(folder / name, size, digest, kind)
    return record


def _what_is_there(folder: Path, kind: Kind) -> tuple[str, str]:
    """What a path is that should be a directory of a kind and is none, and what to do."""
    if not folder.exists():
        return "there is no such directory", f"Name one that {kind.command} made"
    if not folder.is_dir():
        return f"is a file, no {kind.name}", f"Name a directory that {kind.command} made"
    for other, uses in USES.items():
        if other != kind.name and (folder / f"{other}.json").is_file():
            return f"is a {other}, no {kind.name}", f"It is for scfg-decoder {uses}"
    if (folder / kind.name / kind.file).is_file():
        return f"has no {kind.file}", f"Name {folder / kind.name}"
    return f"has no {kind.file}", f"Name a directory that {kind.command} made"


def _check_file(path: Path, size: int, digest: str, kind: Kind) -> None:
    """An InputError unless a file is there, of this size, and, but for large mapped ones, of this digest."""
    try:
        is_there = path.is_file()
    except OSError as error:  # Of a name that is too long for a file.
        found = f"lists a file named {path.name!r:.40} ({error.strerror})"
        raise InputError(path.parent / kind.file, None, found, kind.again) from None
    if not is_there:
        raise InputError(path, None, f"is missing from the {kind.name}", kind.again)
    found_size = path.stat().st_size
    if found_size != size:
        raise InputError(path, None, f"has {counted(found_size, 'byte')} where {size} should be", kind.again)
    is_compared = size <= _HASHED or path.suffix != _MAPPED
    if is_compared and _digest(path) != digest:
        raise InputError(path, None, f"does not match its digest in {kind.file}", kind.again)


def check_digests(directory: PathLike, record: Record, kind: Kind) -> None:
    """An InputError unless every file that a record lists has its digest, however large it is."""
    for name, entry in record["files"].items():
        path = Path(directory) / name
        if _digest(path) != entry["sha256"]:
            found = f"does not match its digest in {kind.file}"
            raise InputError(path, None, found, f"Copy the whole {kind.name} again")
