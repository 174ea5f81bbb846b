"""Files of biases: for each constraint the mean and the deviation of the normal prior of its weight.

A line for each constraint, `NAME mean deviation`, between tabs or commas, with or without a header
(maxent.ot has `Constraint,Mu,Sigma`).

The fact a newcomer would get wrong: the second number is a deviation, not a variance.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence

import numpy as np

from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.numerals import real_number
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError

__all__ = ["read_bias"]

_HINT = "A line for each constraint: its name, mean and deviation, between tabs or commas"


def read_bias(path: PathLike, constraints: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The means and deviations of the priors of some constraints, two float64 arrays of shape (N,).

    Parameters
    ----------
    path : path
    constraints : sequence of str
        Each must stand in the file once; others may not.

    Raises
    ------
    InputError
        Names the line that is no bias, or the constraint without one.
    """
    found: dict[str, tuple[float, float]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = next(csv.reader([line], delimiter="\t" if "\t" in line else ","))
        except csv.Error:
            raise InputError(path, number, "cannot be parted into columns", _HINT) from None
        cells = [cell.strip() for cell in row]
        if len(cells) != 3:
            raise InputError(path, number, f"{counted(len(cells), 'column')} instead of 3", _HINT)
        if not found and number == 1 and cells[0] not in constraints and cells[0].lower() == "constraint":
            continue
        name = cells[0]
        if name not in constraints or name in found:
            problem = "stands twice" if name in found else "is no constraint of the tableaux"
            raise InputError(path, number, f"{name!r} {problem}", f"They have {', '.join(constraints)}")
        try:
            mean, deviation = (real_number(cell) for cell in cells[1:])
        except ValueError:
            raise InputError(path, number, f"{line.strip()!r} has no two numbers", _HINT) from None
        if not math.isfinite(mean):
            raise InputError(path, number, f"the mean of {name!r} is {mean:g}", "It must be finite")
        if not 0.0 < deviation < math.inf:
            raise InputError(
                path, number, f"the deviation of {name!r} is {deviation:g}", "It must be above 0 and finite"
            )
        found[name] = (mean, deviation)
    if missing := [name for name in constraints if name not in found]:
        raise InputError(path, None, f"has no line for the constraint {missing[0]!r}", _HINT)
    table = np.array([found[name] for name in constraints], dtype=np.float64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()
