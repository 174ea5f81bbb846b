"""Queries that use tables which are nowhere."""

import pytest

from decoder.expressions.forms import is_sound, parse, to_linear

SOUND = [
    "SELECT c.name FROM city AS c WHERE c.state = 'texas'",
    "SELECT city.name FROM city, state WHERE city.state = state.name",
    "SELECT City.name FROM CITY",
    "SELECT city.name FROM main.city WHERE city.size > 2.5 AND city.name <> 'st. louis'",
    "SELECT name FROM city",
    "SELECT 1.5",
    "SELECT c.* FROM city AS c",
    "SELECT c.name FROM city AS c WHERE c.size = (SELECT MAX(d.size) FROM city AS d WHERE d.state = c.state)",
    "SELECT c.name FROM city AS c JOIN state AS s ON c.state = s.name LEFT JOIN river r ON r.state = s.name",
    "SELECT c.name FROM (SELECT d.name FROM city AS d) AS c",
    "SELECT c.name FROM a.city AS c UNION SELECT d.name FROM b.city AS d",
    "SELECT from_.a FROM b AS from_ ORDER BY from_.a LIMIT 1",
]
UNSOUND = [
    "SELECT c.name FROM city AS c WHERE s.name = 'texas'",
    "SELECT state.name FROM city",
    "SELECT city.name FROM city AS c",
    "SELECT c.name FROM city AS c UNION SELECT c.name FROM city AS d",
    "SELECT c.name FROM (SELECT d.name FROM city AS c) AS c",
    "SELECT c.name FROM city AS c JOIN state AS s ON c.state = r.name",
    "SELECT d.size FROM city AS c WHERE c.size = (SELECT MAX(d.size) FROM city AS d)",
    "SELECT COUNT(DISTINCT d.size) FROM city AS c",
    "SELECT name FROM (SELECT d.name FROM city AS c)",
]


@pytest.mark.parametrize(("query", "expected"), [(q, True) for q in SOUND] + [(q, False) for q in UNSOUND])
def test_tables_must_be_in_a_from(query, expected):
    assert is_sound(to_linear(parse(query, "sql")), "sql") is expected


@pytest.mark.parametrize("words", ["from@1 city@0", "select@1", "a", "", "select@2 a@0 where@1 b@0 c@0"])
def test_what_is_no_query_is_not_sound(words):
    assert not is_sound(words.split(), "sql")


def test_other_forms_ask_for_expressions_alone():
    assert is_sound(["f@1", "a.b@0"], "funql")
    assert not is_sound(["f@2", "a.b@0"], "lisp")
