"""JSON that others wrote, or that was damaged since.

The fact a newcomer would get wrong: brackets within brackets, a few thousand of them, are no ValueError to
`json.loads` but a RecursionError, which nobody who reads a file thinks of.
"""

from __future__ import annotations

import json
from typing import Any

__all__ = ["WRONG_RECORD", "parse_json"]

WRONG_RECORD = (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError)
"""What taking a JSON value apart raises when it is not what was expected; JSON's 1e999 is infinite."""


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says; ValueError, which says why, if it is none or is nested beyond all sense.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json(100_000 * "[")
    Traceback (most recent call last):
        ...
    ValueError: brackets within brackets without end
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("brackets within brackets without end") from None
