"""Short forms of queries: what they are, that they come back, and that SQLite answers them alike."""

import sqlite3
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.expressions.forms import is_sound, parse, to_linear, write
from decoder.expressions.sql_short import full_query
from decoder.expressions.tree import Expression
from scfg_sampler.errors import InputError

# Queries, their short forms, and what they come back as.
LONGEST = (
    "SELECT r.name FROM river AS r WHERE r.length = (SELECT MAX(q.length) FROM river AS q "
    "WHERE q.state = 'ohio') AND r.state = 'ohio'"
)
EXAMPLES = [
    (
        LONGEST,
        "select(river.name, and(=MAX(river.length), =(river.state, 'ohio')))",
        "SELECT river.name FROM river WHERE river.length = (SELECT MAX(river.length) FROM river "
        "WHERE river.state = 'ohio') AND river.state = 'ohio'",
    ),
    (
        "SELECT name FROM city WHERE size = (SELECT min(size) FROM city)",
        "select(name, from(city), =min(size))",
        None,
    ),
    (  # Of all cities, not of those of Ohio.
        "SELECT c.x FROM t c WHERE c.y = (SELECT MAX(d.y) FROM t d) AND c.z = 'ohio'",
        "select(t.x, and(=(t.y, select(MAX(t.y))), =(t.z, 'ohio')))",
        "SELECT t.x FROM t WHERE t.y = (SELECT MAX(t.y) FROM t) AND t.z = 'ohio'",
    ),
    (  # One of two aliases is needed.
        "SELECT c.x FROM t AS c WHERE c.y = (SELECT MAX(d.y) FROM t AS d WHERE d.z = c.z)",
        "select(t.x, =(t.y, select(MAX(d.y), from(as(t, d)), =(d.z, t.z))))",
        "SELECT t.x FROM t WHERE t.y = (SELECT MAX(d.y) FROM t AS d WHERE d.z = t.z)",
    ),
    ("SELECT v.x FROM t AS v, u AS t", "select(t.x, from(t, u))", "SELECT t.x FROM t, u"),
    ("SELECT City.name FROM city AS City", "select(city.name)", "SELECT city.name FROM city"),
    (
        "SELECT a.x FROM t AS a, t AS b WHERE a.x = b.y",
        "select(t.x, from(t, as(t, b)), =(t.x, b.y))",
        "SELECT t.x FROM t, t AS b WHERE t.x = b.y",
    ),
    (
        "SELECT u.x FROM t, u WHERE t.y = u.y",
        "select(u.x, =(t.y, u.y))",
        "SELECT u.x FROM u, t WHERE t.y = u.y",
    ),
    ("SELECT * FROM t, u WHERE u.y = t.y", "select(*, from(t, u), =(u.y, t.y))", None),
    ("SELECT t.x FROM t, u", "select(t.x, from(t, u))", None),
    ("SELECT t.x FROM a.t", "select(t.x, from(a.t))", None),
    ("SELECT a.t.x FROM t", "select(a.t.x, from(t))", None),
    (
        "SELECT t.x FROM t JOIN u ON t.x = u.x",
        "select(t.x, from(join(t, u, =(t.x, u.x))))",
        None,
    ),
    (
        "SELECT t.x FROM t WHERE t.y IN (SELECT u.y FROM u UNION SELECT v.y FROM v)",
        "select(t.x, in(t.y, union(select(u.y), select(v.y))))",
        None,
    ),
    (  # Of the tables of the query within, one is not named, and a name is of one outside.
        "SELECT v.x FROM v WHERE EXISTS (SELECT t.x FROM t, u WHERE t.y = v.y)",
        "select(v.x, exists(select(t.x, from(t, u), =(t.y, v.y))))",
        None,
    ),
    ("SELECT d.x FROM (SELECT t.x FROM t) AS d", "select(d.x, from(as(select(t.x), d)))", None),
]


@pytest.mark.parametrize(("query", "short", "back"), EXAMPLES)
def test_short_form_says_once_what_the_query_says(query, short, back):
    tree = parse(query, "sql")
    assert write(tree, "funql") == short
    assert write(tree, "sql") == (back or query)
    assert parse(back or query, "sql") == tree
    assert is_sound(to_linear(tree), "sql")


def test_names_with_schemas_say_nothing_of_a_from():
    assert parse("SELECT a.t.x", "sql") == parse("select(a.t.x)", "funql")
    with pytest.raises(InputError, match="columns of a table in a SELECT without FROM"):
        parse("SELECT t.x", "sql")


@pytest.mark.parametrize(
    "tree",
    [
        "select(t.x, where(and(=MAX(t.x), =MIN(t.y))))",
        "select(x, where(=MAX(x)))",
        "select(t.x, where(or(=MAX(t.x), =(t.y, 1))))",
        "select(=MAX(t.x))",
        "select(t.x, where(=MAX(t.x, t.y)))",
    ],
)
def test_extremes_elsewhere_are_no_query(tree):
    assert write(parse(tree, "funql"), "sql") is None


def test_extremes_within_extremes_end():
    """Each has the conditions beside it twice; forty of them would be a trillion symbols."""
    tree = parse("1", "funql")
    for _ in range(40):
        inner = (parse("=MAX(t.x)", "funql"), Expression("in", (Expression("t.y"), tree)))
        tree = Expression("select", (Expression("t.x"), Expression("where", (Expression("and", inner),))))
    assert full_query(tree) is None
    assert write(tree, "sql") is None


# ------------------------------------------------------------------ against SQLite

COLUMNS = {"t": ("x", "y"), "u": ("y", "z")}


@st.composite
def queries(draw, around=(), columns=1, deepest=2):
    """Queries that SQLite answers, with all kinds of aliases, also such as hide tables around them."""
    tables = draw(st.lists(st.sampled_from(["t", "u"]), min_size=1, max_size=2))
    names = draw(st.lists(st.sampled_from(["t", "u", "v", "w"]), min_size=2, max_size=2, unique=True))
    aliased = [draw(st.booleans()) for _ in tables]
    called = [
        name if is_aliased else table for table, name, is_aliased in zip(tables, names, aliased, strict=False)
    ]
    if len(set(called)) < len(called):
        tables, called = tables[:1], called[:1]
    hidden = [(name, table) for name, table in around if name not in called]
    scope = [*hidden, *zip(called, tables, strict=True)]
    own = list(zip(called, tables, strict=True))

    def column(there):
        name, table = draw(st.sampled_from(there))
        return f"{name}.{draw(st.sampled_from(COLUMNS[table]))}"

    selected = [column(own) for _ in range(columns)]
    sources = ", ".join(t if t == c else f"{t} AS {c}" for t, c in zip(tables, called, strict=True))
    conditions = []
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.integers(0, 5 if deepest else 1))
        left = column(scope)
        if kind == 0:
            conditions.append(f"{left} = {column(scope)}")
        elif kind == 1:
            conditions.append(f"{left} > {draw(st.integers(0, 2))}")
        elif kind == 2:
            conditions.append(f"{left} IN ({draw(queries(scope, 1, deepest - 1))})")
        elif kind == 3:
            conditions.append(f"EXISTS ({draw(queries(scope, 1, deepest - 1))})")
        else:
            # The extreme one of all, or of what the other conditions leave, with an alias of its own.
            where = f" WHERE {' AND '.join(conditions)}" if conditions and kind == 5 else ""
            left = column(own)
            conditions.append(
                f"{left} = (SELECT {draw(st.sampled_from(['MAX', 'min']))}({left}) FROM {sources}{where})"
            )
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(selected)} FROM {sources}{where}"


@pytest.fixture(scope="module")
def database():
    found = sqlite3.connect(":memory:")
    for table, (first, second) in COLUMNS.items():
        found.execute(f"CREATE TABLE {table} ({first}, {second})")
    found.executemany("INSERT INTO t VALUES (?, ?)", [(0, 1), (1, 1), (2, 0), (2, 3), (1, 2)])
    found.executemany("INSERT INTO u VALUES (?, ?)", [(1, 0), (3, 2), (2, 2), (0, 1)])
    return found


@given(query=queries(columns=2))
def test_what_comes_back_is_answered_alike(database, query):
    tree = parse(query, "sql")
    again = write(tree, "sql")
    assert again is not None
    assert parse(again, "sql") == tree
    assert Counter(database.execute(query).fetchall()) == Counter(database.execute(again).fetchall())
