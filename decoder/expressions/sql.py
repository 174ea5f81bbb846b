"""Simple SQL queries as expressions, and back.

    SELECT name FROM city WHERE state = 'texas' AND population > 150000
    select(name, from(city), and(=(state, 'texas'), >(population, 150000)))

What is selected comes first, several columns as one, `columns(a, b)`, then a symbol for every clause there
is, `from`, `group`, `having`, `order`, `limit`, `offset`, and the condition of `WHERE` in its place. `AND`
and `OR` take all that they join, other operators two; `NOT IN`, `IS NULL` and the like are `not_in`,
`is_null`; a function keeps its name. A constant that is the one before it over again is `^`: a question names
a thing once, however often its query does. What can be told from the rest is left out, above all a FROM where
names say of which table they are (`decoder.expressions.sql_short`). Keywords may be written in any case, and
are written in capitals; names stay as they are. Brackets come back where they are needed, also around an
`AND` in an `AND`.

What is read: SELECT [DISTINCT] with expressions and aliases, joins, all clauses above, comparisons, LIKE, IN,
BETWEEN, EXISTS, arithmetic, functions, queries within queries, UNION [ALL], INTERSECT, EXCEPT. Not CASE,
windows, common table expressions, names in quotes, or anything that changes data.

Here are the words, and `^`; `decoder.expressions.sql_reader` and `sql_writer` do the work.

The fact a newcomer would get wrong: a tree of such symbols need not be a query. `write_sql` says None to one
that is none, as it does to `from(city)` alone.
"""

from __future__ import annotations

import re

from decoder.expressions.tree import Expression, is_constant

__all__ = [
    "ADDITIONS",
    "AGAIN",
    "CLAUSES",
    "COLUMNS",
    "COMPARISONS",
    "DEEPEST",
    "NAME",
    "NUMBER",
    "PRODUCTS",
    "QUERIES",
    "RESERVED",
    "SELECTS",
    "SETS",
    "WORDS",
    "is_ordered",
    "with_again",
    "without_again",
]

# Names go on at what is not ASCII, as in SQLite: some vowels and accents are no letters to Python.
# Spaces and punctuation are slips there.
_GOES_ON = r"(?:\w|[^\x00-\xbf\s\u2000-\u200b\u200e-\u206f\u3000-\u303f\uff00-\uffef])"
_WORD = rf"[^\W\d]{_GOES_ON}*"
NAME = re.compile(rf"{_WORD}(?:\.(?:{_WORD}|\*))*")
NUMBER = re.compile(r"\d+(?:\.\d+)?")

AGAIN = "^"  # No name, nor an operator that is read.
COLUMNS = "columns"
WORDS = (
    "select_distinct",
    "union_all",
    "not_in",
    "not_like",
    "not_between",
    "is_null",
    "is_not_null",
    COLUMNS,
)
"""Symbols of several words, or of none, which would be functions of these names otherwise."""
SELECTS = ("select", "select_distinct")
SETS = ("union", "union_all", "intersect", "except")
TIGHT = ("intersect",)  # Of these, what holds tighter.
QUERIES = (*SELECTS, *SETS)
CLAUSES = ("from", "where", "group", "having", "order", "limit", "offset")
COMPARISONS = ("=", "<>", "!=", "<=", ">=", "<", ">", "like", "not_like")
ADDITIONS = ("+", "-", "||")
PRODUCTS = ("*", "/", "%")

# Words that are never names, so that a query that ends too soon is told from one with an alias.
RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        select distinct from where group having order limit offset by as on and or not in between like is
        null exists union intersect except all join left right full cross natural inner outer asc desc case
        when with
        """,
    )
)

DEEPEST = 60  # Symbols within each other, in what is read and written: Python's stack holds some more.


def is_ordered(query: Expression) -> bool:
    """Whether a query ends in ORDER BY, LIMIT or OFFSET, what stands in brackets left aside."""
    if query.name in SETS:
        last = query.arguments[-1]
        # A set behind another is in brackets, unless it holds tighter.
        is_open = last.name not in SETS or (last.name in TIGHT and query.name not in TIGHT)
        return is_open and is_ordered(last)
    return any(part.name in ("order", "limit", "offset") and part.arguments for part in query.arguments[1:])


def with_again(expression: Expression) -> Expression:
    """With `^` for each constant that the last one before it equals, in the order of linear forms."""
    return _with_again(expression, [""])


def _with_again(expression: Expression, last: list[str]) -> Expression:
    name, parts = expression
    if is_constant(name) and not parts:
        if name == last[0]:
            return Expression(AGAIN)
        last[0] = name
    return Expression(name, tuple(_with_again(part, last) for part in parts))


def without_again(expression: Expression) -> Expression:
    """With the constants that `^` stands for; one that has none before it stays."""
    return _without_again(expression, [AGAIN])


def _without_again(expression: Expression, last: list[str]) -> Expression:
    name, parts = expression
    if name == AGAIN and not parts:
        return Expression(last[0])
    if is_constant(name) and not parts:
        last[0] = name
    return Expression(name, tuple(_without_again(part, last) for part in parts))
