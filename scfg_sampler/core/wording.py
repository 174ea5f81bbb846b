"""How messages and pages say things: `1 line`, `2 lines`, `1,000 rules`; `old/run` and `new/run`; `\\xff`.

The fact a newcomer would get wrong: what follows may depend on the number as well (`1 sentence has`, `2
sentences have`), so that both forms can be given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["counted", "distinct_names", "file_size", "legible"]


def counted(number: float, one: str, many: str | None = None, spec: str = "") -> str:
    """A number and what it counts, in the form that goes with it.

    Parameters
    ----------
    number : float
    one : str
        What follows where it is 1.
    many : str
        What follows otherwise; by default `one` with an s.
    spec : str
        How the number is written, as in format strings.

    >>> counted(1, "line"), counted(0, "line"), counted(2000, "rule", spec=",")
    ('1 line', '0 lines', '2,000 rules')
    >>> counted(1, "sentence has", "sentences have")
    '1 sentence has'
    """
    return f"{number:{spec}} {one if number == 1 else many or one + 's'}"


def file_size(size: int) -> str:
    """The size of a file, of so many bytes, as people say it.

    >>> file_size(20_480), file_size(1_234_567), file_size(80)
    ('20 kB', '1.2 MB', '1 kB')
    """
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(size / 1e3, 1):.0f} kB"


def distinct_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The last parts of each path, as few as tell all different ones apart.

    >>> distinct_names(["a/system", "b/run"]), distinct_names(["old/run", "new/run", "old/run"])
    (['system', 'run'], ['old/run', 'new/run', 'old/run'])
    """
    parts = [Path(os.path.abspath(path)).parts for path in paths]
    number, different = 1, len(set(parts))
    while len({each[-number:] for each in parts}) < different:
        number += 1
    return ["/".join(each[-number:]) for each in parts]


def legible(text: str) -> str:
    """A text with names of files in it, whose bytes that are not UTF-8 are spelled out.

    >>> print(legible("text:m\\udcfcller.de"))
    text:m\\xfcller.de
    """
    return _BYTE.sub(lambda byte: f"\\x{ord(byte[0]) & 0xFF:02x}", text)


_BYTE = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as Python has it in names of files."""
