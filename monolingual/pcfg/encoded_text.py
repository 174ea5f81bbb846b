"""Lines of text files in any encoding: grammars and treebanks older than Unicode are often in Latin-1.

The fact a newcomer would get wrong: every file can be read as Latin-1. Only UTF-8 notices that it is wrong,
and so it is what is assumed.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator

from scfg_sampler.core.files import DAMAGED, PathLike, damaged, open_bytes, read_lines
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["check_encoding", "read_encoded_lines"]


def check_encoding(name: str) -> None:
    """Raise SettingsError unless Python knows an encoding of text by this name."""
    try:
        "".encode(name)
    except (LookupError, UnicodeError, ValueError):
        hint = "give one that Python knows, e.g. utf-8, latin-1, cp1252, gb18030, utf-16"
        raise SettingsError(f"--encoding is {name!r}; {hint}") from None


def read_encoded_lines(path: PathLike, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of a text file, gzipped or not, without their line ends.

    Raises
    ------
    InputError
        As `read_lines`; names the line that is not in the encoding.
    SettingsError
        There is no such encoding.
    """
    check_encoding(encoding)
    if codecs.lookup(encoding).name == "utf-8":
        yield from read_lines(path)
        return
    line = 0
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding, newline="\n")
        try:
            for content in text:
                line += 1
                # Where the name says the order of bytes, as utf-16-le does, the mark is read as a letter.
                unmarked = content.removeprefix("\ufeff") if line == 1 else content
                if unmarked:  # A mark and nothing else is an empty file.
                    yield unmarked.removesuffix("\n")
        except UnicodeError:
            hint = "Give another --encoding"
            raise InputError(path, line + 1, f"is not {encoding}, here or soon after", hint) from None
        except DAMAGED as error:
            raise damaged(path, line + 1, error) from None
