"""SQL queries as expressions."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.expressions.forms import from_linear, parse, to_linear, write
from decoder.expressions.sql import without_again
from decoder.expressions.sql_short import full_query
from decoder.expressions.tree import Expression
from scfg_sampler.errors import InputError

# ------------------------------------------------------------------ what is read

EXAMPLES = {
    "SELECT city.name FROM city WHERE city.state = 'new york' AND city.population > 150000": (
        "select(city.name, and(=(city.state, 'new york'), >(city.population, 150000)))"
    ),
    "select distinct a as b, c d from t": "select_distinct(columns(as(a, b), as(c, d)), from(t))",
    "SELECT * FROM t;": "select(*, from(t))",
    "SELECT ชื่อ FROM किताब.हिन्दी WHERE lɛ\u0301 = 'สี'": "select(ชื่อ, from(किताब.हिन्दी), =(lɛ\u0301, 'สี'))",
    "SELECT t.*, COUNT(*) FROM t": "select(columns(t.*, COUNT(*)))",
    "SELECT COUNT(DISTINCT a) FROM t": "select(COUNT(distinct(a)), from(t))",
    "SELECT a FROM t u, v INNER JOIN w ON v.x = w.x LEFT OUTER JOIN t": (
        "select(a, from(as(t, u), left_join(join(v, w, =(v.x, w.x)), t)))"
    ),
    "SELECT a FROM (SELECT b FROM t) AS u": "select(a, from(as(select(b, from(t)), u)))",
    "SELECT a FROM t WHERE NOT b OR c AND d OR e": "select(a, from(t), or(not(b), and(c, d), e))",
    "SELECT a FROM t WHERE b AND (c AND d)": "select(a, from(t), and(b, and(c, d)))",
    "SELECT 1 - 2 - 3 * - 4, 1 - (2 - 3)": "select(columns(-(-(1, 2), *(3, -(4))), -(1, -(2, 3))))",
    "SELECT a FROM t WHERE b NOT IN (1, 'x') AND c IS NOT NULL AND d NOT LIKE '%e' AND f BETWEEN 1 AND 2": (
        "select(a, from(t), and(not_in(b, 1, 'x'), is_not_null(c), not_like(d, '%e'), between(f, 1, 2)))"
    ),
    "SELECT a FROM t WHERE b >= ALL (SELECT c FROM u) AND EXISTS (SELECT d FROM v)": (
        "select(a, from(t), and(>=(b, all(select(c, from(u)))), exists(select(d, from(v)))))"
    ),
    "SELECT a, MAX(b) FROM t GROUP BY a, c HAVING MAX(b) > 3 ORDER BY MAX(b) DESC, a LIMIT 5 OFFSET 2": (
        "select(columns(a, MAX(b)), from(t), group(a, c), having(>(MAX(b), 3)), "
        "order(desc(MAX(b)), a), limit(5), offset(2))"
    ),
    "SELECT a FROM t UNION ALL SELECT b FROM u EXCEPT SELECT c FROM v": (
        "except(union_all(select(a, from(t)), select(b, from(u))), select(c, from(v)))"
    ),
    "SELECT a FROM t WHERE b = (((SELECT c FROM u) UNION (SELECT d FROM v)))": (
        "select(a, from(t), =(b, union(select(c, from(u)), select(d, from(v)))))"
    ),
    "SELECT a FROM t WHERE (b = c) = d AND e > (f < g)": (
        "select(a, from(t), and(=(=(b, c), d), >(e, <(f, g))))"
    ),
    "SELECT a FROM t UNION (SELECT b FROM u UNION SELECT c FROM v)": (
        "union(select(a, from(t)), union(select(b, from(u)), select(c, from(v))))"
    ),
    "SELECT a FROM t UNION SELECT b FROM u INTERSECT SELECT c FROM v EXCEPT SELECT d FROM w": (
        "except(union(select(a, from(t)), intersect(select(b, from(u)), select(c, from(v)))), "
        "select(d, from(w)))"
    ),
    "SELECT a FROM t WHERE (b + c) || (d * e) || -f = (g || h) - 1": (
        "select(a, from(t), =(||(||(+(b, c), *(d, e)), -(f)), -(||(g, h), 1)))"
    ),
    "SELECT a FROM t WHERE ((b + c) * d) = NULL": "select(a, from(t), =(*(+(b, c), d), null))",
    "SELECT a FROM t WHERE b = 'x' AND c = (SELECT d FROM u WHERE e = 'x' AND f = 'y') AND g = 'x'": (
        "select(a, from(t), and(=(b, 'x'), =(c, select(d, from(u), and(=(e, ^), =(f, 'y')))), =(g, 'x')))"
    ),
    "SELECT a FROM t WHERE b = \"o'neill\" OR b = 'it''s'": (
        'select(a, from(t), or(=(b, "o\'neill"), =(b, "it\'s")))'
    ),
}


@pytest.mark.parametrize(("query", "tree"), EXAMPLES.items(), ids=range(len(EXAMPLES)))
def test_query_is_read_as_its_clauses_and_operators(query, tree):
    found = parse(query, "sql")
    assert write(found, "funql") == tree
    assert from_linear(to_linear(found)) == found
    assert parse(write(found, "sql"), "sql") == found


def test_parts_of_queries_are_read_as_names_of_things_are_given_so():
    assert to_linear(parse("'new york'", "sql")) == ["'new_york'@0"]
    assert to_linear(parse("(a) = 3", "sql")) == ["=@2", "a@0", "3@0"]
    assert to_linear(parse("(SELECT a) UNION SELECT b", "sql"))[0] == "union@2"


def test_brackets_that_change_something_stay():
    for query in (
        "SELECT a FROM t WHERE (x + y) || z = 'q'",
        "SELECT a FROM t WHERE x || (y * z) = 'q'",
        "SELECT a FROM t WHERE x + (y || z) = 'q'",
        "(SELECT a FROM t UNION SELECT a FROM u) INTERSECT SELECT a FROM v",
        "SELECT a FROM t UNION SELECT a FROM u INTERSECT SELECT a FROM v",
        "SELECT a FROM t INTERSECT SELECT a FROM u EXCEPT SELECT a FROM v",
        "SELECT a FROM t INTERSECT (SELECT a FROM u INTERSECT SELECT a FROM v)",
        "SELECT a FROM t UNION SELECT a FROM u INTERSECT SELECT a FROM v ORDER BY a",
    ):
        assert write(parse(query, "sql"), "sql") == query
    for query, told in (
        ("x + y || z", r"\|\| beside \+ without"),
        ("x || y * z - 1", r"\|\| beside \* and - without"),
    ):
        with pytest.raises(InputError, match=told):
            parse(f"SELECT a FROM t WHERE {query} = 'q'", "sql")


def test_order_of_a_part_of_a_union_stays_in_its_brackets():
    """Behind the last part, ORDER BY and LIMIT are of the whole."""
    for query in (
        "(SELECT a FROM t ORDER BY a LIMIT 1) UNION SELECT b FROM u",
        "(SELECT a FROM t UNION SELECT b FROM u LIMIT 1) EXCEPT SELECT c FROM v",
        "SELECT a FROM t UNION (SELECT b FROM u UNION SELECT c FROM v LIMIT 1)",
        "(SELECT a FROM t UNION SELECT b FROM u INTERSECT SELECT c FROM v LIMIT 1) EXCEPT SELECT d FROM w",
        "SELECT a FROM t UNION SELECT b FROM u ORDER BY b",
        "SELECT a FROM t UNION (SELECT b FROM u LIMIT 1) INTERSECT SELECT c FROM v",
        "SELECT a FROM t WHERE b IN ((SELECT b FROM u LIMIT 1) UNION SELECT c FROM v)",
    ):
        assert write(parse(query, "sql"), "sql") == query
    query = "SELECT a FROM t UNION SELECT b FROM u INTERSECT SELECT c FROM v LIMIT 1"
    assert write(parse(query.replace("SELECT b FROM u", "(SELECT b FROM u)"), "sql"), "sql") == query
    with pytest.raises(InputError, match="ORDER BY or LIMIT in brackets behind UNION"):
        parse("SELECT a FROM t UNION (SELECT b FROM u ORDER BY b LIMIT 1)", "sql")


def set_trees(first: int, number: int):
    """Sets over as many tables, nested in every way: (table, tail), or (operator, left, right, tail)."""
    tails = ("", " LIMIT 1")
    if number == 1:
        yield from (("tuvw"[first], tail) for tail in tails)
    for size in range(1, number):
        both = itertools.product(set_trees(first, size), set_trees(first + size, number - size))
        for (left, right), operator, tail in itertools.product(both, (" UNION ", " INTERSECT "), tails):
            yield operator, left, right, tail


def in_brackets(tree) -> str:
    """A query of a tree of sets, with brackets around parts, but for a table before a tail."""
    *parts, tail = tree
    if len(parts) == 1:
        return f"SELECT a FROM {parts[0]}{tail}"
    last = in_brackets(parts[2])
    if not tail or len(parts[2]) > 2 or last.endswith(" LIMIT 1"):
        last = f"({last})"
    return f"({in_brackets(parts[1])}){parts[0]}{last}{tail}"


def as_in_the_standard(text: str):
    """The tree of sets that a query is: INTERSECT goes first, and a tail is of all that its brackets hold."""
    words = re.findall(r"\(|\)|SELECT a FROM .|UNION|INTERSECT| LIMIT 1", text)

    def term():
        word = words.pop(0)
        if word != "(":
            return word[-1], ""
        found = whole()
        words.pop(0)
        return found

    def product():
        found = term()
        while words[:1] == ["INTERSECT"]:
            found = (f" {words.pop(0)} ", found, term(), "")
        return found

    def whole():
        found = product()
        while words[:1] == ["UNION"]:
            found = (f" {words.pop(0)} ", found, product(), "")
        return (*found[:-1], words.pop(0)) if words[:1] == [" LIMIT 1"] else found

    return whole()


def test_sets_in_sets_keep_what_their_limits_are_of():
    """Or they are refused: brackets behind an operator that hold a limit and would otherwise be needless."""
    kept, refused = [], []
    for tree in set_trees(0, 3):
        query = in_brackets(tree)
        try:
            found = parse(query, "sql")
        except InputError as error:
            refused.append(error.found)
            continue
        again = write(found, "sql")
        assert as_in_the_standard(again) == tree == as_in_the_standard(query)
        assert parse(again, "sql") == found
        kept.append(query)
    assert len(kept) == 60
    assert all(re.match("ORDER BY or LIMIT in brackets|'LIMIT' behind the query", each) for each in refused)
    assert "(SELECT a FROM t) UNION ((SELECT a FROM u) UNION SELECT a FROM v LIMIT 1)" in kept
    assert "(SELECT a FROM t) UNION ((SELECT a FROM u) INTERSECT SELECT a FROM v LIMIT 1)" not in kept


def test_queries_are_written_as_they_are_usual():
    query = "select  count( distinct a )x from t,u where not(b=1)and(c=2 or d<>3)order by a asc limit 3 ;"
    assert write(parse(query, "sql"), "sql") == (
        "SELECT count(DISTINCT a) AS x FROM t, u WHERE NOT b = 1 AND (c = 2 OR d <> 3) ORDER BY a ASC LIMIT 3"
    )


def test_words_that_are_not_read_are_names_where_no_keyword_is_meant():
    query = "SELECT COUNT(t.case) AS over FROM t"
    assert write(parse(query, "sql"), "sql") == query


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("SELECT a FROM t WHERE c = ‘red’", "‘red’"),
        ("SELECT a，b FROM t", "，b"),
        ("", "the end where a name is expected"),
        ("DELETE FROM t", "'FROM' behind the query: DELETE FROM t. A query begins with SELECT"),
        ("SELECT a FROM t WHERE", "the end where a name is expected"),
        ("SELECT a FROM t GROUP a", "'a' where BY is expected"),
        ("SELECT a FROM t LEFT u", "'u' where JOIN is expected"),
        ("SELECT a FROM t WHERE b NOT c", "'c' where IN, BETWEEN or LIKE is expected"),
        ("SELECT a FROM t WHERE b = 'c", "''c' where SQL goes on: SELECT a FROM t WHERE b = 'c. Close the"),
        ("'O'Brien", "'Brien' behind the query: 'O'Brien. Double a quotation mark"),
        ("SELECT a FROM t WHERE b = 'O'Brien'", "Double a quotation mark within"),
        ("SELECT a FROM `t`", "'`t`' where SQL goes on: SELECT a FROM `t`. Write names as they are"),
        (
            "SELECT a FROM t; SELECT b FROM u",
            "SELECT b FROM u. Write one query a line",
        ),
        ("SELECT CASE WHEN a THEN b END FROM t", "'CASE', which is not read"),
        ("WITH u AS (SELECT a FROM t) SELECT a FROM u", "Write the query without WITH, or leave it out"),
        ("SELECT a FROM (WITH u AS (SELECT a FROM t) SELECT a FROM u)", "'WITH', which is not read"),
        ("SELECT SUM(a) OVER (PARTITION BY b) FROM t", "'OVER', which is not read"),
        ("SELECT a FROM t WHERE b = 1 -- note", "a comment, '-- note'"),
        ("SELECT a --c\n FROM t", "a comment, '--c"),
        ("SELECT a /* c */ FROM t", "a comment, '/* c */ FROM t'"),
        ("SELECT now() FROM t", "nothing in the brackets of now"),
        ("SELECT columns(a, b) FROM t", "a function called columns"),
        ("SELECT t.a", "columns of a table in a SELECT without FROM"),
        ("SELECT a FROM t WHERE b IN (SELECT t.a)", "columns of a table in a SELECT without FROM"),
        ("SELECT a FROM (t)", "'t' where SELECT is expected"),
        ("SELECT a FROM t WHERE EXISTS (b)", "'b' where SELECT is expected"),
        ("SELECT 3a FROM t", "'3a FROM t' where SQL goes on: SELECT 3a FROM t. Write numbers as"),
        ("(SELECT a FROM t", "the end where ) is expected"),
        (f"SELECT {41 * '('}a{41 * ')'}", "brackets are nested more than 40 deep"),
        (f"SELECT {5000 * '('}a", "brackets are nested more than 40 deep"),
        (f"SELECT a{5000 * ' + b'}", "a query of more than 60 symbols within each other"),
        (f"SELECT {5000 * '- '}a", "a query of more than 60 symbols within each other"),
        (f"SELECT {5000 * 'NOT '}a", "a query of more than 60 symbols within each other"),
    ],
)
def test_what_is_no_query_is_named(text, complaint):
    with pytest.raises(InputError) as caught:
        parse(text, "sql", "some.sql", 7)
    assert complaint in str(caught.value)
    assert "some.sql:7" in str(caught.value)


# ------------------------------------------------------------------ what is written


@pytest.mark.parametrize(
    "tree",
    [
        "a",
        "select",
        "select(from(t))",
        "select(from(t), a)",
        "select(a, b, from(t))",
        "select(columns(a), from(t))",
        "select(f(columns(a, b)), from(t))",
        "select(a, from(t), where(=(b, ^)))",
        "select(a, where(b), from(t))",
        "select(a, from(t), b, c)",
        "select(a, from(t), from(u))",
        "select(a, from(t), where)",
        "select(a, from(t), where(b, c))",
        "select(from, from(t))",
        "select(as(a), from(t))",
        "select(as(a, f(b)), from(t))",
        "select(a, from(join(t)))",
        "select(a, from(f(t)))",
        "select(3(a), from(t))",
        "select('x'(a), from(t))",
        "select(and(a), from(t))",
        "select(in(a), from(t))",
        "select(exists(a), from(t))",
        "select(like(a, b, c), from(t))",
        "select(*(a), from(*))",
        "union(select(a, from(t)))",
        "union(select(a, from(t)), b)",
    ],
)
def test_trees_that_are_no_query_are_not_written(tree):
    assert write(parse(tree, "funql"), "sql") is None


def test_tree_too_deep_to_be_read_is_not_written():
    deep = Expression("a")
    for _ in range(100):
        deep = Expression("-", (deep,))
    assert write(Expression("select", (deep,)), "sql") is None
    for _ in range(5000):
        deep = Expression("-", (deep,))
    assert write(Expression("select", (deep,)), "sql") is None


NAMES = st.sampled_from(["a", "b", "c", "u.v.w", "Größe"])
TABLES = st.sampled_from(["t", "u"]).map(Expression)
LEAVES = st.one_of(
    NAMES.map(Expression),
    st.sampled_from(["0", "3", "2.50", "null"]).map(Expression),
    st.text("ab ',%\"", max_size=4).map(lambda text: Expression(f"'{text}'")),
)


def node(names, *parts):
    return st.builds(lambda name, *found: Expression(name, found), st.sampled_from(names), *parts)


def several(name, least, part):
    return st.lists(part, min_size=least, max_size=3).map(lambda found: Expression(name, tuple(found)))


def scalars(below):
    """Expressions that hold others, queries among them."""
    return st.one_of(
        node(["+", "-", "||", "*", "/", "%", "=", "<>", "<=", ">", "like", "not_like"], below, below),
        node(["-", "not", "is_null", "is_not_null", "max", "f"], below),
        node(["between", "not_between", "g"], below, below, below),
        several("and", 2, below),
        several("or", 2, below),
        node(["in", "not_in"], below, below, below),
        node(["in", "not_in"], below, queries(below)),
        node(["exists", "all"], queries(below)),
        node(["count"], st.one_of(st.just(Expression("*")), several("distinct", 1, below))),
        queries(below),
    )


@st.composite
def queries(draw, below):
    if draw(st.integers(0, 4)) == 0:
        return draw(node(["union", "union_all", "intersect", "except"], queries(below), queries(below)))
    column = st.one_of(below, node(["as"], below, st.just(Expression("z"))))
    parts = [draw(st.one_of(column, several("columns", 2, column)))]
    sources = st.one_of(TABLES, node(["as"], st.one_of(TABLES, queries(below)), TABLES))
    joined = st.one_of(
        sources,
        node(["join", "left_join", "natural_join"], sources, sources),
        node(["join", "full_join"], node(["cross_join"], sources, sources), sources, below),
    )
    orders = st.one_of(below, node(["asc", "desc"], below))
    clauses = [
        several("from", 1, joined),
        node(["where"], below),
        several("group", 1, below),
        node(["having"], below),
        several("order", 1, orders),
        node(["limit"], LEAVES),
        node(["offset"], LEAVES),
    ]
    for clause in clauses:
        if draw(st.integers(0, 2)) == 0:
            parts.append(draw(clause))
    return Expression(draw(st.sampled_from(["select", "select_distinct"])), tuple(parts))


@given(queries(st.recursive(LEAVES, scalars, max_leaves=6)))
def test_what_is_written_reads_back_as_the_same_tree(tree):
    text = write(tree, "sql")
    assert text is not None
    found = parse(text, "sql")
    again = write(found, "sql")
    assert parse(again, "sql") == found
    if " AS t" not in text and " AS u" not in text:  # No alias can go.
        assert full_query(without_again(found)) == tree
        assert again == text
