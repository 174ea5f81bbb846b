"""Numbers in text: what `int` and `float` read, but for what no other program would take for a number.

The fact a newcomer would get wrong: to Python, "1_0" is ten, and so are the digits of every script.
"""

from __future__ import annotations

__all__ = ["real_number", "whole_number"]


def whole_number(text: str) -> int:
    """The whole number that a text is; ValueError if it is none.

    >>> whole_number("-12")
    -12
    >>> whole_number("1_0")
    Traceback (most recent call last):
        ...
    ValueError: '1_0' is not a number
    """
    return int(_plain(text))


def real_number(text: str) -> float:
    """The number that a text is, `inf` and `nan` among them; ValueError if it is none.

    >>> real_number("1e-3")
    0.001
    """
    return float(_plain(text))


def _plain(text: str) -> str:
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return text
