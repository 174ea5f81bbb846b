"""Models of JDAGEEM (Cohen and Smith), its `.gra` and `.J` files: one weight a line, as a natural logarithm.

::

    root VBD : -1.2
    leftattach NNP <- VBD : -0.9         NNP is a dependent of VBD, on its left
    rightattach VBD -> NN : -1.4
    leftstop VBD nochild : -1.6          of VBD, while it has no dependent on its left
    leftcontinue VBD haschild : -2.0     … when it has one

The fact a newcomer would get wrong: arrows point from the head to the dependent, so in `leftattach` the head
stands behind the arrow. Weights need not sum to 1: those of variational Bayes do not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from monolingual.dmv.layout import ADJACENCIES, DIRECTIONS
from scfg_sampler.core.numerals import real_number

__all__ = ["Weight", "is_weight", "parse_weight"]

_LARGEST = 700.0
"""Above that an exponential is not finite."""


class Weight(NamedTuple):
    """A line of a file.

    Attributes
    ----------
    fields : tuple of str
        What it is a weight of, as in our own format but the number; `continue` for 1 − stop.
    value : float
        Not a logarithm.
    """

    fields: tuple[str, ...]
    value: float


def is_weight(line: str) -> bool:
    """Whether a line is one of such a file: NAME … : NUMBER, with a known name."""
    return _fields(line.split()) is not None


def parse_weight(line: str) -> Weight | None:
    """What a line says; None if it is none of such a file, or its number is none, or too large.

    >>> parse_weight("leftattach NNP <- VBD : 0")
    Weight(fields=('child', 'VBD', 'left', 'NNP'), value=1.0)
    """
    words = line.split()
    fields = _fields(words)
    if fields is None:
        return None
    try:
        logarithm = real_number(words[-1])
    except ValueError:
        return None
    return Weight(fields, math.exp(logarithm)) if logarithm <= _LARGEST else None


def _fields(words: list[str]) -> tuple[str, ...] | None:
    """The fields of our own format that a line is about."""
    if len(words) < 4 or words[-2] != ":":
        return None
    name, *rest = words[:-2]
    if name == "root" and len(rest) == 1:
        return ("root", rest[0])
    for direction, arrow in zip(DIRECTIONS, ("<-", "->"), strict=True):
        if name == f"{direction}attach" and len(rest) == 3 and rest[1] == arrow:
            dependent, head = rest[:: 2 if direction == "left" else -2]
            return ("child", head, direction, dependent)
        for kind in ("stop", "continue"):
            if name == direction + kind and len(rest) == 2 and rest[1] in ("nochild", "haschild"):
                return (kind, rest[0], direction, ADJACENCIES[rest[1] == "haschild"])
    return None
