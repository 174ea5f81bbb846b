"""Expressions as trees of symbols, whatever form they are written in.

The fact a newcomer would get wrong: a symbol is its name *and* its number of arguments. `state` with one and
`state` without are two.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Expression", "depth", "is_constant", "shortened", "size"]


class Expression(NamedTuple):
    """A tree of symbols; a constant's name is in quotes."""

    name: str
    arguments: tuple[Expression, ...] = ()


def is_constant(name: str) -> bool:
    """Whether a name, or a word of a linear form, is in quotes."""
    return len(name) > 1 and name[0] == "'"


def depth(expression: Expression) -> int:
    """The number of symbols from the root to the farthest leaf, both counted; of however deep a tree."""
    level, found = [expression], 0
    while level:
        level = [argument for each in level for argument in each.arguments]
        found += 1
    return found


def size(expression: Expression) -> int:
    """The number of symbols."""
    return 1 + sum(map(size, expression.arguments))


def shortened(text: str, characters: int = 60) -> str:
    """The text without blanks at its ends, cut where it is longer, for messages."""
    text = text.strip()
    return text if len(text) <= characters else text[: characters - 1] + "…"
