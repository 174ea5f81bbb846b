"""Which tables the names of a query are of; see `decoder.expressions.sql`.

    SELECT c.name FROM city AS c WHERE c.state = s.name

is read as a query, but no database answers it: nothing is called `s`. A name with a point belongs to a table,
or to an alias, of the FROM of its query, or of a query around it. Of names without one nothing is known here.

The fact a newcomer would get wrong: once a table has an alias, its own name is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decoder.expressions.sql import NAME, SELECTS
from decoder.expressions.tree import Expression

__all__ = ["names_its_tables", "without_aliases"]

_Scope = dict[str, int]
"""The numbers of tables by what they are called, in small letters."""


def names_its_tables(query: Expression) -> bool:
    """Whether all names with a point, of a query that `write_sql` writes, are of tables that are there."""
    return None not in _Resolved(query).tables_of_names


def without_aliases(query: Expression) -> Expression:
    """Without the aliases that tell nothing apart: all names are of the tables that they were of."""
    resolved = _Resolved(query)
    left = list(range(resolved.num_tables))
    while True:  # One that goes may have stood in the way of one before it.
        needed = []
        for number in left:
            without = _Resolved(query, number).query
            if without == query:  # There is no alias.
                continue
            shorter = _Resolved(without)
            if shorter.tables_of_names == resolved.tables_of_names and not shorter.has_doubles:
                query = without
            else:
                needed.append(number)
        if len(needed) == len(left):
            return query
        left = needed


class _Resolved:
    """A query whose names are looked up.

    query : Expression
        Without the alias that was to be dropped, if it can be.
    num_tables : int
        Tables in a FROM, numbered in their order.
    tables_of_names : list of int or None
        Of each name with a point, the table that it is of; None if that is nowhere.
    has_doubles : bool
        Two tables of a FROM are called the same.
    """

    def __init__(self, query: Expression, dropped: int | None = None):
        self._dropped = dropped
        self._table = ""  # What the dropped alias stood for.
        self.num_tables = 0
        self.tables_of_names: list[int | None] = []
        self.has_doubles = False
        self.query = self._walked(query, [])

    def _walked(self, expression: Expression, scopes: Sequence[_Scope]) -> Expression:
        name, parts = expression
        if not parts:
            return Expression(self._looked_up(name, scopes))
        sources = [part for part in parts if part.name == "from"] if name in SELECTS else []
        if not sources:
            return Expression(name, tuple(self._walked(part, scopes) for part in parts))
        numbers, scope = self._numbered([table for source in sources for table in source.arguments])
        inner = [*scopes, scope]
        found = []
        for part in parts:
            if part.name == "from":
                tables = (self._source(table, numbers, scopes, inner) for table in part.arguments)
                found.append(Expression("from", tuple(tables)))
            else:
                found.append(self._walked(part, inner))
        return Expression(name, tuple(found))

    def _looked_up(self, name: str, scopes: Sequence[_Scope]) -> str:
        """The name itself, of the table instead of the dropped alias."""
        table, point, column = name.rpartition(".")
        if not point or NAME.fullmatch(name) is None:
            return name
        found = next((scope[_last(table)] for scope in reversed(scopes) if _last(table) in scope), None)
        self.tables_of_names.append(found)
        return f"{self._table}.{column}" if self._table and found == self._dropped else name

    def _numbered(self, sources: Sequence[Expression]) -> tuple[Iterator[int], _Scope]:
        """The numbers of the tables of a FROM, and which is called how."""
        scope: _Scope = {}
        first = self.num_tables
        for table in _tables(sources):
            name = _called(table)
            self.has_doubles |= name in scope
            scope[name] = self.num_tables
            if self.num_tables == self._dropped and table.name == "as" and not table.arguments[0].arguments:
                self._table = table.arguments[0].name
            self.num_tables += 1
        return iter(range(first, self.num_tables)), scope

    def _source(
        self, source: Expression, numbers: Iterator[int], scopes: Sequence[_Scope], inner: Sequence[_Scope]
    ) -> Expression:
        """A part of FROM, whose conditions see its tables; queries in it do not."""
        name, parts = source
        if _is_join(source):
            joined = (self._source(part, numbers, scopes, inner) for part in parts[:2])
            return Expression(name, (*joined, *(self._walked(part, inner) for part in parts[2:])))
        number = next(numbers)
        if not parts:
            return source
        if name != "as":
            return self._walked(source, scopes)
        if not parts[0].arguments:
            return parts[0] if number == self._dropped else source
        return Expression(name, (self._walked(parts[0], scopes), *parts[1:]))


def _is_join(source: Expression) -> bool:
    return source.name.endswith("join") and bool(source.arguments)


def _tables(sources: Sequence[Expression]) -> Iterator[Expression]:
    """Tables and queries of a FROM, with their aliases."""
    for source in sources:
        if _is_join(source):
            yield from _tables(source.arguments[:2])
        else:
            yield source


def _called(table: Expression) -> str:
    """What a table or query of a FROM is called, in small letters; a query without an alias is not."""
    name, parts = table
    if name == "as" and len(parts) == 2:
        return parts[1].name.lower()
    return "" if parts else _last(name)


def _last(name: str) -> str:
    """`table` of `schema.table`, in small letters, as names are alike in any."""
    return name.rpartition(".")[2].lower()
