"""OTSoft's tables of rankings known a priori.

The first line names the constraints from its second column on, then a line for each: its name, and below each
constraint that it is above a mark (`1`, `x`), between tabs. Names are those of the tableaux or, where these
come from OTSoft as well, their abbreviations.

The fact a newcomer would get wrong: the constraint of the line is above that of the column, as OTSoft's
learners and its output have it, though the window that makes a blank table says the reverse.
"""

from __future__ import annotations

from collections.abc import Sequence

from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.errors import InputError

__all__ = ["read_a_priori"]

_FORM = "The first line is a tab and the constraints with tabs between; then a line for each, its name first"


def read_a_priori(
    path: PathLike, constraints: Sequence[str], abbreviations: Sequence[str] = ()
) -> list[tuple[int, int]]:
    """Pairs of constraints, by index, of which the first is above the second.

    Parameters
    ----------
    path : path
        "-" is standard input.
    constraints : sequence of N str
    abbreviations : sequence of N str, or of none
        Other names of theirs.

    Raises
    ------
    InputError
        The file is no such table; names the line.
    """
    rows = [
        (number, [cell.strip() for cell in line.rstrip("\r").split("\t")])
        for number, line in enumerate(read_lines(path), start=1)
        if line.strip()
    ]
    if not rows or rows[0][1][0] or len(rows[0][1]) < 2:
        raise InputError(path, rows[0][0] if rows else None, "is no table of rankings known a priori", _FORM)
    place = _places(constraints, abbreviations)
    first, head = rows[0]
    while not head[-1]:
        head.pop()
    columns = [_known(path, first, name, place) for name in head[1:]]
    _refuse_twice(path, [(first, column) for column in columns], constraints)
    lines = [(number, _known(path, number, cells[0], place)) for number, cells in rows[1:]]
    _refuse_twice(path, lines, constraints)
    found = []
    for (number, high), (_, cells) in zip(lines, rows[1:], strict=True):
        if any(cells[len(head) :]):
            raise InputError(path, number, "a mark beyond the last constraint", _FORM)
        for low, cell in zip(columns, cells[1:], strict=False):
            if cell in ("0", "-"):
                raise InputError(path, number, f"{cell!r} may be a mark or none", "Write 1, or nothing")
            if cell and high == low:
                raise InputError(path, number, f"{constraints[high]!r} is above itself", "Take the mark out")
            if cell:
                found.append((high, low))
    return found


def _places(constraints: Sequence[str], abbreviations: Sequence[str]) -> dict[str, int | None]:
    """Which constraint has a name or an abbreviation; None if several have."""
    found: dict[str, int | None] = {}
    for index, name in enumerate(abbreviations):
        found[name] = None if name in found else index
    return {**found, **{name: index for index, name in enumerate(constraints)}}


def _known(path: PathLike, number: int, name: str, place: dict[str, int | None]) -> int:
    if name not in place:
        raise InputError(path, number, f"{name!r} is no constraint", f"They are {', '.join(place)}")
    index = place[name]
    if index is None:
        raise InputError(
            path, number, f"several constraints are abbreviated {name!r}", "Write the whole name"
        )
    return index


def _refuse_twice(path: PathLike, places: Sequence[tuple[int, int]], constraints: Sequence[str]) -> None:
    """Raise InputError if a constraint stands twice, in columns or lines."""
    seen = set()
    for number, index in places:
        if index in seen:
            raise InputError(
                path, number, f"{constraints[index]!r} stands twice", "Give each a column and a line"
            )
        seen.add(index)
