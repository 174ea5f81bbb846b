"""Queries in few symbols: what the rest of a query says already is left out; see `decoder.expressions.sql`.

    SELECT r.name FROM river AS r
    WHERE r.length = (SELECT MAX(q.length) FROM river AS q WHERE q.state = 'ohio') AND r.state = 'ohio'

is, one step after another,

1. without aliases that tell nothing apart, `river.name FROM river WHERE river.length = …`;
2. with `=MAX(river.length)` where a column is to be the extreme one of what the other conditions leave;
3. without a FROM that has just the tables which the names of the query name, in their order;
4. without `where` around its condition, which is what is no clause:

    select(river.name, and(=MAX(river.length), =(river.state, 'ohio')))

Eight symbols for the twenty-four of the query: a grammar of few examples learns `=MAX` from *longest*, and
not a query within a query; and no word of a question says `where`. What is left out comes back; the first
step alone is for good, and with it the order of tables in a FROM, which changes nothing but the order of what
`*` selects, where it is kept.

The fact a newcomer would get wrong: an alias may be needed though its table is there once. Within a query
that uses the same table, names of the table outside would become those of the one inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decoder.expressions.sql import CLAUSES, NAME, QUERIES, SELECTS
from decoder.expressions.sql_scope import without_aliases
from decoder.expressions.tree import Expression

__all__ = ["EXTREMES", "LARGEST", "full_query", "short_query"]

EXTREMES = ("=MAX", "=MIN", "=max", "=min")
"""Symbols for conditions; no query has such words."""

LARGEST = 3000  # Symbols; an extreme within an extreme has the conditions around it twice.


def short_query(query: Expression) -> Expression | None:
    """The short form of a query, or of a part of one; None if it cannot be told from another's.

    That is a query without FROM that uses columns of a table.
    """
    query = _in_order(without_aliases(query))
    found = _without_where(_short(query))
    return found if full_query(found) == query else None


def full_query(query: Expression) -> Expression | None:
    """The query that a short form stands for; None if it stands for none, or one of thousands of symbols."""
    try:
        return _full(_with_where(query))[0]
    except _NoQueryError:
        return None


class _NoQueryError(Exception):
    """The expression is the short form of no query."""


# ------------------------------------------------------------------ WHERE


def _without_where(expression: Expression) -> Expression:
    """With conditions in place of the clauses that hold them."""
    name, parts = expression
    found = tuple(map(_without_where, parts))
    if name in SELECTS:
        found = (*found[:1], *(part.arguments[0] if _is_where(part) else part for part in found[1:]))
    return Expression(name, found)


def _is_where(part: Expression) -> bool:
    return part.name == "where" and len(part.arguments) == 1


def _with_where(expression: Expression) -> Expression:
    """With a clause around what stands in a query and is none."""
    name, parts = expression
    found = tuple(map(_with_where, parts))
    if name in SELECTS:
        clauses = (part if part.name in CLAUSES else Expression("where", (part,)) for part in found[1:])
        found = (*found[:1], *clauses)
    return Expression(name, found)


# ------------------------------------------------------------------ extremes and FROM


def _short(expression: Expression) -> Expression:
    name, parts = expression
    if name not in SELECTS or not parts:
        return Expression(name, tuple(map(_short, parts)))
    source, conditions = _clause(parts, "from"), _conditions(parts)
    for at, condition in enumerate(conditions):
        extreme = _extreme(condition, source, (*conditions[:at], *conditions[at + 1 :]))
        if extreme is not None:
            parts = _with_conditions(parts, (*conditions[:at], extreme, *conditions[at + 1 :]))
            break
    if source is not None and _are_tables(source.arguments) and source.arguments == _own_tables(parts):
        parts = tuple(part for part in parts if part is not source)
    return Expression(name, tuple(map(_short, parts)))


def _full(expression: Expression) -> tuple[Expression, int]:
    """The full form, and how many symbols it has."""
    name, parts = expression
    if name in SELECTS and parts and _clause(parts, "from") is None and (tables := _own_tables(parts)):
        parts = (parts[0], Expression("from", tables), *parts[1:])
    found = [_full(part) for part in parts]
    size = 1 + sum(size for _, size in found)
    full = Expression(name, tuple(part for part, _ in found))
    if name in SELECTS and parts:
        conditions = _conditions(full.arguments)
        for at, condition in enumerate(conditions):
            if _is_extreme(condition):  # Of two, the other one stays, which nothing writes.
                full = _with_extreme(full, conditions, at)
                size *= 2
                break
    if size > LARGEST:
        raise _NoQueryError
    return full, size


def _with_extreme(query: Expression, conditions: tuple[Expression, ...], at: int) -> Expression:
    """A query with the query within it that one of its conditions stands for."""
    source = _clause(query.arguments, "from")
    if source is None:
        raise _NoQueryError
    symbol, (column,) = conditions[at]
    others = (*conditions[:at], *conditions[at + 1 :])
    inner = Expression("select", (Expression(symbol[1:], (column,)), source, *_where(others)))
    equal = Expression("=", (column, inner))
    parts = _with_conditions(query.arguments, (*conditions[:at], equal, *conditions[at + 1 :]))
    return Expression(query.name, parts)


def _extreme(
    condition: Expression, source: Expression | None, others: tuple[Expression, ...]
) -> Expression | None:
    """The symbol of a condition that a column is the extreme one where others hold; None for another one."""
    if condition.name != "=" or len(condition.arguments) != 2 or source is None:
        return None
    column, inner = condition.arguments
    if inner.name != "select" or not inner.arguments:
        return None
    function = inner.arguments[0]
    symbol = f"={function.name}"
    wanted = (Expression(function.name, (column,)), source, *_where(others))
    if symbol not in EXTREMES or inner.arguments != wanted:
        return None
    return Expression(symbol, (column,))


def _is_extreme(condition: Expression) -> bool:
    return condition.name in EXTREMES and len(condition.arguments) == 1


def _clause(parts: Sequence[Expression], name: str) -> Expression | None:
    """The first clause of a query that is called so."""
    return next((part for part in parts[1:] if part.name == name and part.arguments), None)


def _conditions(parts: Sequence[Expression]) -> tuple[Expression, ...]:
    """What a query's WHERE joins by AND."""
    where = _clause(parts, "where")
    if where is None or len(where.arguments) != 1:
        return ()
    whole = where.arguments[0]
    return whole.arguments if whole.name == "and" and len(whole.arguments) > 1 else (whole,)


def _where(conditions: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The clause of such conditions, if there are any."""
    if not conditions:
        return ()
    return (Expression("where", conditions if len(conditions) == 1 else (Expression("and", conditions),)),)


def _with_conditions(
    parts: tuple[Expression, ...], conditions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    where = _clause(parts, "where")
    return tuple(_where(conditions)[0] if part is where else part for part in parts)


def _are_tables(sources: Sequence[Expression]) -> bool:
    return not any(source.arguments for source in sources)


def _own_tables(parts: Sequence[Expression]) -> tuple[Expression, ...]:
    """The tables that names of a query itself name, not those of queries within, in their order."""
    names = (name for part in parts if part.name != "from" for name in _own_names(part))
    tables = [name.split(".")[0] for name in names if name.count(".") == 1]
    return tuple(map(Expression, dict.fromkeys(tables)))


def _own_names(expression: Expression) -> Iterator[str]:
    name, parts = expression
    if not parts and NAME.fullmatch(name):
        yield name
    if name not in QUERIES:
        for part in parts:
            yield from _own_names(part)


def _in_order(expression: Expression) -> Expression:
    """With the tables of every FROM in the order in which they are named, but where `*` is selected."""
    name, parts = expression
    found = tuple(map(_in_order, parts))
    source = _clause(found, "from") if name in SELECTS and found else None
    if source is not None and _are_tables(source.arguments) and not _selects_all(found[0]):
        tables = _own_tables(found)
        if sorted(tables) == sorted(source.arguments):
            found = tuple(Expression("from", tables) if part is source else part for part in found)
    return Expression(name, found)


def _selects_all(selected: Expression) -> bool:
    columns = selected.arguments if selected.name == "columns" else (selected,)
    return any(column.name == "*" for column in columns)
