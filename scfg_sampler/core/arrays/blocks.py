"""Files in blocks of whole lines, for compiled readers of large text."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from scfg_sampler.core.files import (
    DAMAGED,
    LONGEST_LINE,
    PathLike,
    check_beginning,
    damaged,
    long_line,
    open_bytes,
)

__all__ = ["read_blocks"]


def read_blocks(path: PathLike, size: int = 1 << 20) -> Iterator[bytes]:
    """The bytes of a file in blocks of about `size` that end with a line end (the last one perhaps not).

    Raises
    ------
    InputError
        The file is missing, is a directory, is a truncated or damaged gzip file, is UTF-16 without its mark,
        has no line feeds but carriage returns, or has a line beyond all sense (the line is named).
    """
    lines = 0
    with open_bytes(path) as stream:
        try:
            rest = stream.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8)
            while block := stream.read(size):
                cut = block.rfind(b"\n") + 1
                if cut == 0:
                    rest += block
                    if len(rest) > LONGEST_LINE:
                        raise long_line(path, lines + 1)
                    continue
                if lines == 0:
                    check_beginning(path, rest + block[:cut])
                yield rest + block[:cut]
                lines += rest.count(b"\n") + block.count(b"\n", 0, cut)
                rest = block[cut:]
        except DAMAGED as error:
            raise damaged(path, lines + 1, error) from None
    if rest:
        if lines == 0:
            check_beginning(path, rest)
        yield rest
