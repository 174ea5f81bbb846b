"""Questions: what is wrong with one is told in one line."""

from __future__ import annotations

import pytest

from scfg_sampler.explore.questions import MOST_WORDS, Question, QuestionError, read_question


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"[1]", b"1", b"{", b'{"a": NaN}', b'{"a": Infinity}', b"[" * 60_000]
)
def test_what_is_no_json_object_is_refused(body):
    with pytest.raises(QuestionError, match="the request is no JSON"):
        read_question(body)


def test_fields_are_read():
    found = read_question(b'{"text": "a b", "texts": ["c"], "n": 3, "yes": true, "w": {"A": 1, "B": -0.5}}')
    assert (found.text("text"), found.texts("texts"), found.integer("n", 0, 3)) == ("a b", ["c"], 3)
    assert (found.flag("yes"), found.flag("no")) == (True, False)
    assert found.numbers("w") == {"A": 1.0, "B": -0.5}
    assert found.numbers("none") == {}
    assert found.integer("none", 0, 9, 4) == 4
    assert found.text("none", "d") == "d"


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        ("text", 1, "x is no text"),
        ("text", None, "x is missing"),
        ("text", "a\nb", "x is more than one line"),
        ("text", "\x00 a", r"x has a control character \(U\+0000\), which is no text"),
        ("text", "\ud800", "x has half a character"),
        ("text", "a " * (MOST_WORDS + 1), f"x has {MOST_WORDS + 1} words; at most {MOST_WORDS}"),
        ("texts", "a", "x is no list of texts"),
        ("texts", ["a", 1], "x is no list of texts"),
        ("texts", ["a\rb"], "x is more than one line"),
        ("flag", 1, "x is neither true nor false"),
        ("numbers", [1], "x is no object of names and numbers"),
        ("numbers", {"A": "1"}, "x of 'A' is no number from -1e9 to 1e9"),
        ("numbers", {"A": True}, "x of 'A' is no number from -1e9 to 1e9"),
        ("numbers", {"A": 10**400}, "x of 'A' is no number from -1e9 to 1e9"),
    ],
)
def test_wrong_field_is_named(read, value, message):
    fields = {} if value is None else {"x": value}
    with pytest.raises(QuestionError, match=message):
        getattr(Question(fields), read)("x")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "missing"),
        (1.5, "no whole number"),
        (True, "no whole number"),
        (-1, "from 0 to 3"),
        (4, "to 3"),
    ],
)
def test_number_out_of_range_is_refused(value, message):
    with pytest.raises(QuestionError, match=message):
        Question({} if value is None else {"x": value}).integer("x", 0, 3)


def test_unknown_field_is_refused_with_those_there_are():
    with pytest.raises(QuestionError, match="no field 'txet'; there are text, nbest"):
        Question({"txet": "a"}).require_known(("text", "nbest"))
