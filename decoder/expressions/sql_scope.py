"""Which names of a query are there to be used; see `decoder.expressions.sql`.

    SELECT c.name FROM city AS c WHERE c.state = s.name

is read as a query, but no database answers it: nothing is called `s`. A name with a point belongs to a table,
or to an alias, of the FROM of its query, or of a query around it. Of names without one nothing is known here.

The fact a newcomer would get wrong: once a table has an alias, its own name is gone.
"""

from __future__ import annotations

from decoder.expressions.sql import NAME, SELECTS
from decoder.expressions.tree import Expression

__all__ = ["names_its_tables"]


def names_its_tables(query: Expression, around: frozenset[str] = frozenset()) -> bool:
    """Whether all names with a point are of tables that are there.

    Parameters
    ----------
    query : Expression
        That `write_sql` writes.
    around : frozenset of str
        Tables and aliases of the queries around it.
    """
    name, parts = query
    if not parts:
        table, point, _ = name.rpartition(".")
        return not point or NAME.fullmatch(name) is None or _last(table) in around
    if name in SELECTS:
        sources = [table for part in parts if part.name == "from" for table in part.arguments]
        around = around.union(*map(_tables, sources))
    if name == "from":
        return all(_joins_its_tables(part, around) for part in parts)
    return all(names_its_tables(part, around) for part in parts)


def _joins_its_tables(source: Expression, around: frozenset[str]) -> bool:
    """The same of a part of FROM, whose own names are those of tables."""
    name, parts = source
    if name == "as" and parts:
        return _joins_its_tables(parts[0], around)
    if not name.endswith("join") or not parts:
        return not parts or names_its_tables(source, around)
    return all(_joins_its_tables(part, around) for part in parts[:2]) and all(
        names_its_tables(condition, around) for condition in parts[2:]
    )


def _tables(source: Expression) -> list[str]:
    """What a part of FROM calls its tables."""
    name, parts = source
    if not parts:
        return [_last(name)]
    if name == "as":
        return [parts[1].name.lower()]
    if name.endswith("join"):
        return [table for part in parts[:2] for table in _tables(part)]
    return []  # A query without an alias.


def _last(name: str) -> str:
    """`table` of `schema.table`, in small letters, as names are alike in any."""
    return name.rpartition(".")[2].lower()
