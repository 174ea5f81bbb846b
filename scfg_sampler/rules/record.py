"""What a rule table was made with, in a file beside it, for formats that have no comments.

`TABLE.json` is an object with `signature`, the text of the comment line that a native table begins with, and
`format`. Tables for single sentences, `grammar.0.gz` and so on, share the `grammar.json` of their directory.
The fact a newcomer would get wrong: a comment line in the table itself is always right, whatever lies beside
it, so these files are looked at only where there is none.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from scfg_sampler.core.files import PathLike, atomic_output, is_device
from scfg_sampler.core.json_text import parse_json
from scfg_sampler.errors import InputError

__all__ = ["has_record", "read_signature", "require_record_place", "write_record"]

_BY_SENTENCE = re.compile(r"(grammar)\.[0-9]+\.gz")


def read_signature(table: PathLike) -> str:
    """What the file beside a table without comment line says it was made with; "" if there is none.

    A JSON file of that name that is no record of a table is left alone.

    Raises
    ------
    InputError
        The file is not JSON.
    """
    if _has_no_place(table):
        return ""
    return _signature_of(_read(_record_of(table))) or ""


def has_record(table: PathLike) -> bool:
    """Whether a file lies beside a table that says what it was made with where it does not itself."""
    return not _has_no_place(table) and _record_of(table).exists()


def require_record_place(table: PathLike) -> None:
    """Raise an InputError if a file that is no record of a table stands where that of a table is to go."""
    path = _record(table)
    if _has_no_place(table) or not path.exists():
        return
    if _signature_of(_read(path)) is None:
        hint = "What the table is made with is to go there: move the file, or give the table another name"
        raise InputError(path, None, "exists, and is no record of a rule table", hint)


def write_record(table: PathLike, signature: str, file_format: str) -> None:
    """Write what a table was made with beside it, if it is a file."""
    if _has_no_place(table):
        return
    with atomic_output(_record(table)) as stream:
        json.dump({"signature": signature, "format": file_format}, stream, indent=1, ensure_ascii=False)
        stream.write("\n")


def _has_no_place(table: PathLike) -> bool:
    """Whether there is nothing beside the table: it is no file."""
    return str(table) == "-" or is_device(table)


def _record(table: PathLike) -> Path:
    return Path(f"{table}.json")


def _record_of(table: PathLike) -> Path:
    """The file that is asked what a table was made with."""
    path = _record(table)
    by_sentence = _BY_SENTENCE.fullmatch(Path(table).name)
    if by_sentence and not path.exists():
        return _record(Path(table).with_name(by_sentence[1]))
    return path


def _read(path: Path) -> object:
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(path, None, f"cannot be read ({error.strerror})") from None
    except ValueError as error:
        hint = "It should say what the rule table was made with: remove it, or write the table again"
        raise InputError(path, None, f"is not JSON ({error})", hint) from None


def _signature_of(found: object) -> str | None:
    """The signature in a record; None of what is no record of a table."""
    if not isinstance(found, dict) or not isinstance(found.get("format"), str):
        return None
    signature = found.get("signature")
    return signature if isinstance(signature, str) else None
