"""JSON that others wrote, or that was damaged since.

The fact a newcomer would get wrong: brackets within brackets, a few thousand of them, are no ValueError to
`json.loads` but a RecursionError, which nobody who reads a file thinks of.
"""

from __future__ import annotations

import json
import math
from typing import Any

__all__ = ["WRONG_RECORD", "parse_json"]

WRONG_RECORD = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError)
"""What taking a JSON value apart raises when it is not what was expected; JSON's 1e999 is infinite."""


def parse_json(text: str | bytes, *, finite: bool = False) -> Any:
    """What a JSON text says; ValueError, which says why, if it is none or is nested beyond all sense.

    Parameters
    ----------
    text : str or bytes
    finite : bool
        Whether numbers that are none, or infinite, are refused: JSON has none, but can spell 1e999.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json(100_000 * "[")
    Traceback (most recent call last):
        ...
    ValueError: brackets within brackets without end
    """
    try:
        if finite:
            return json.loads(text, parse_float=_finite, parse_constant=_finite)
        return json.loads(text)
    except RecursionError:
        raise ValueError("brackets within brackets without end") from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text:.40} is no finite number")
    return value
