"""Expressions as SQL queries, where they are some; see `decoder.expressions.sql`.

The fact a newcomer would get wrong: brackets are not kept but put where they are needed, by how tightly
operators hold together; so a query comes out as it is usual, and reads back as the same expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from decoder.expressions.sql import (
    ADDITIONS,
    CLAUSES,
    COLUMNS,
    COMPARISONS,
    DEEPEST,
    NAME,
    NUMBER,
    PRODUCTS,
    QUERIES,
    RESERVED,
    SELECTS,
    SETS,
    TIGHT,
    is_ordered,
    without_again,
)
from decoder.expressions.sql_short import full_query
from decoder.expressions.tree import Expression, depth, is_constant

__all__ = ["write_sql"]

_JOINS = ("join", "left_join", "right_join", "full_join", "cross_join", "natural_join")
_LISTS = ("in", "not_in")
_BETWEEN = ("between", "not_between")
_NULLS = ("is_null", "is_not_null")

# How tightly an expression holds together: within an operator of a higher number it needs brackets.
_OR, _AND, _NOT, _COMPARISON, _ADDITION, _PRODUCT, _SIGN, _WHOLE = range(8)


def write_sql(expression: Expression) -> str | None:
    """The query that an expression, in its short form or in full, is; None if it is none."""
    if depth(expression) > DEEPEST:
        return None
    query = full_query(without_again(expression))
    if query is None or depth(query) > DEEPEST:
        return None
    try:
        return _write_query(query)
    except _NoQueryError:
        return None


class _NoQueryError(Exception):
    """The expression is no query."""


class _Written(NamedTuple):
    """An expression as text, and how tightly it holds together."""

    text: str
    hold: int

    def within(self, hold: int) -> str:
        """In brackets, unless it holds together as tightly as this."""
        return self.text if self.hold >= hold else f"({self.text})"


def _write_query(query: Expression) -> str:
    name, parts = query
    if name in SETS:
        _require(len(parts) == 2)
        left, right = map(_write_query, parts)
        is_tight = name in TIGHT
        if is_ordered(parts[0]) or (is_tight and parts[0].name in SETS and parts[0].name not in TIGHT):
            left = f"({left})"
        if parts[1].name in SETS and (is_tight or parts[1].name not in TIGHT):
            right = f"({right})"
        return f"{left} {name.upper().replace('_', ' ')} {right}"
    _require(name in SELECTS)
    clauses = [part for part in parts if part.name in CLAUSES and part.arguments]
    order = [CLAUSES.index(clause.name) for clause in clauses]
    _require(bool(parts) and order == sorted(set(order)) and tuple(clauses) == parts[1:])
    columns = _columns(parts[0])
    text = f"{name.upper().replace('_', ' ')} {', '.join(map(_write_column, columns))}"
    return " ".join([text, *map(_write_clause, clauses)])


def _columns(selected: Expression) -> tuple[Expression, ...]:
    """What is selected, `columns` taken apart."""
    if selected.name != COLUMNS or not selected.arguments:
        return (selected,)
    _require(len(selected.arguments) > 1)
    return selected.arguments


def _write_clause(clause: Expression) -> str:
    name, parts = clause
    if name == "from":
        return f"FROM {', '.join(map(_write_joined, parts))}"
    if name in ("group", "order"):
        written = map(_write_order, parts) if name == "order" else (_write(part).text for part in parts)
        return f"{name.upper()} BY {', '.join(written)}"
    _require(len(parts) == 1)
    return f"{name.upper()} {_write(parts[0]).within(_ADDITION if name in ('limit', 'offset') else _OR)}"


def _write_column(column: Expression) -> str:
    if column == Expression("*"):
        return "*"
    return _write_renamed(column, lambda each: _write(each).text)


def _write_renamed(found: Expression, write: Callable[[Expression], str]) -> str:
    """With its alias, if it has one."""
    if found.name != "as":
        return write(found)
    _require(len(found.arguments) == 2 and not found.arguments[1].arguments)
    return f"{write(found.arguments[0])} AS {_write_name(found.arguments[1].name)}"


def _write_joined(table: Expression) -> str:
    name, parts = table
    if name not in _JOINS or not parts:
        return _write_table(table)
    _require(2 <= len(parts) <= 3)
    text = f"{_write_joined(parts[0])} {name.upper().replace('_', ' ')} {_write_table(parts[1])}"
    return text if len(parts) == 2 else f"{text} ON {_write(parts[2]).text}"


def _write_table(table: Expression) -> str:
    return _write_renamed(
        table, lambda each: f"({_write_query(each)})" if each.arguments else _write_name(each.name)
    )


def _write_order(part: Expression) -> str:
    if part.name in ("asc", "desc") and part.arguments:
        _require(len(part.arguments) == 1)
        return f"{_write(part.arguments[0]).text} {part.name.upper()}"
    return _write(part).text


def _write(expression: Expression) -> _Written:
    """A condition, a comparison, a sum, or what they are made of."""
    name, parts = expression
    if not parts:
        return _Written(_write_leaf(name), _WHOLE)
    if name in QUERIES:
        return _Written(f"({_write_query(expression)})", _WHOLE)
    if name in ("or", "and"):
        _require(len(parts) > 1)
        hold = _OR if name == "or" else _AND
        return _Written(f" {name.upper()} ".join(_write(part).within(hold + 1) for part in parts), hold)
    if name in _LISTS:
        return _Written(_write_in(name, parts), _COMPARISON)
    for names, number, hold in _SHAPES:
        if name in names and len(parts) == number:
            return _Written(_write_operator(name, parts, hold), hold)
    if name in ("exists", "all"):
        _require(len(parts) == 1 and parts[0].name in QUERIES)
        return _Written(f"{name.upper()} {_write(parts[0]).text}", _WHOLE)
    _require(name != COLUMNS)
    return _Written(f"{_write_name(name)}({_write_arguments(parts)})", _WHOLE)


def _write_arguments(parts: tuple[Expression, ...]) -> str:
    """Of a function."""
    if parts == (Expression("*"),):
        return "*"
    if len(parts) == 1 and parts[0].name == "distinct" and parts[0].arguments:
        return f"DISTINCT {_write_several(parts[0].arguments)}"
    return _write_several(parts)


def _write_several(parts: tuple[Expression, ...]) -> str:
    return ", ".join(_write(part).text for part in parts)


_SHAPES = (
    (("not",), 1, _NOT),
    (COMPARISONS, 2, _COMPARISON),
    (_BETWEEN, 3, _COMPARISON),
    (_NULLS, 1, _COMPARISON),
    (ADDITIONS, 2, _ADDITION),
    (PRODUCTS, 2, _PRODUCT),
    (("-",), 1, _SIGN),
)
"""Operators, how many parts they have, and how tightly they hold them together."""


def _write_operator(name: str, parts: tuple[Expression, ...], hold: int) -> str:
    word = name.upper().replace("_", " ")
    if len(parts) == 1:
        inner = _write(parts[0])
        if name in _NULLS:
            return f"{inner.within(_ADDITION)} {word}"
        return f"{word} {inner.within(hold)}"
    # What stands left may hold together as loosely, as sums are read from left to right; comparisons are not.
    left = _operand(name, parts[0], _ADDITION if hold == _COMPARISON else hold)
    right = " AND ".join(_operand(name, part, hold + 1) for part in parts[1:])
    return f"{left} {word} {right}"


def _operand(name: str, part: Expression, hold: int) -> str:
    """A part of an operator; || and arithmetic need brackets within each other, as databases differ."""
    both = {name, part.name}
    if len(part.arguments) == 2 and "||" in both and len(both) == 2 and both <= {*ADDITIONS, *PRODUCTS}:
        hold = _WHOLE
    return _write(part).within(hold)


def _write_in(name: str, parts: tuple[Expression, ...]) -> str:
    _require(len(parts) > 1)
    word = name.upper().replace("_", " ")
    if len(parts) == 2 and parts[1].name in QUERIES:
        members = _write(parts[1]).text
    else:
        members = f"({', '.join(_write(part).text for part in parts[1:])})"
    return f"{_write(parts[0]).within(_ADDITION)} {word} {members}"


def _write_leaf(name: str) -> str:
    if is_constant(name):
        return "'" + name[1:-1].replace("'", "''") + "'"
    if name == "null":
        return "NULL"
    return name if NUMBER.fullmatch(name) else _write_name(name)


def _write_name(name: str) -> str:
    _require(NAME.fullmatch(name) is not None and name.lower() not in RESERVED)
    return name


def _require(is_so: bool) -> None:
    if not is_so:
        raise _NoQueryError
