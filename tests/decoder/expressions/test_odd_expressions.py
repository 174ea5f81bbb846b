"""Odd symbols, marks, models and lists: none is taken for something else, and none ends in a traceback."""

import json

import pytest

from decoder.cli import main
from decoder.expressions.forms import from_linear, parse, write
from decoder.expressions.joining import join_lists
from decoder.expressions.questions import question_words
from decoder.expressions.ranker import Candidate
from decoder.expressions.tree import Expression
from scfg_sampler.errors import InputError


def test_a_shared_feature_that_a_list_lacks_is_no_best_one():
    """One list with predictions, one without: 0 would be the best ln P that there is."""
    predicted = [Candidate(["a@0"], {"TreeModel": -3.0}), Candidate(["b@0"], {"TreeModel": -9.0})]
    joined = join_lists("AB", [predicted, [Candidate(["c@0"], {"LM": -1.0})]], ["TreeModel"])
    assert {one.words[0]: one.features["TreeModel"] for one, _ in joined} == {
        "a@0": -3.0,
        "b@0": -9.0,
        "c@0": -9.0,
    }


def test_a_symbol_that_no_derivation_has_is_told(tmp_path, capsys):
    for number in (8, 9):
        words = [f"f@{number}", *(f"a{i}@0" for i in range(number))]
        (tmp_path / "mr").write_text(" ".join(words) + "\n")
        (tmp_path / "en").write_text("all\n")
        given = ["--source", f"{tmp_path}/en", "--target", f"{tmp_path}/mr", "--output", f"{tmp_path}/m"]
        assert main(["train-expressions", *given, "--quiet"]) == 0
        assert ("more than 8 arguments (f@9)" in capsys.readouterr().err) == (number == 9)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["arguments"][0][2].update({"unlisted@0": 1}),
        lambda record: record.update(symbols=[], arguments=[], constants={}),
    ],
)
def test_a_model_changed_by_hand_gives_one_line(tmp_path, change):
    from decoder.expressions.files import read_expressions

    (tmp_path / "mr").write_text("f@1 a@0\n")
    (tmp_path / "en").write_text("all\n")
    given = ["--source", f"{tmp_path}/en", "--target", f"{tmp_path}/mr", "--output", f"{tmp_path}/m"]
    assert main(["train-expressions", *given, "--quiet"]) == 0
    record = json.loads((tmp_path / "m").read_text())
    del record["trees"]  # As in files of before there was one.
    change(record)
    (tmp_path / "m").write_text(json.dumps(record))
    with pytest.raises(InputError, match="damaged"):
        read_expressions(tmp_path / "m")


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("where is 'ny'?", "ny"),
        ("rivers in ohio...", "ohio"),
        ("rivers in ohio,.", "ohio"),
        ("ohio ،", "ohio"),
        ("the u.s.", "u.s."),
        ("what 's", "'s"),
        ("(ohio ) .", ")"),
    ],
)
def test_marks_around_the_last_word_say_nothing(text, last):
    assert question_words(text)[-1] == last


@pytest.mark.parametrize("word", ["'abc@0", "a(b@0", "x,y@0", "a'@0", "a\u00a0b@0"])
def test_a_word_that_no_expression_has_is_no_symbol(word):
    assert from_linear([word]) is None


@pytest.mark.parametrize("name", ["is_null", "not_in", "select_distinct", "union_all"])
def test_a_function_that_is_called_as_an_operator_is_refused(name):
    with pytest.raises(InputError, match=f"a function called {name}"):
        parse(f"SELECT {name}(a, b) FROM t", "sql")


def test_distinct_is_of_columns():
    star, column = Expression("*"), Expression("a")
    table = Expression("from", (Expression("t"),))
    for inner in (star, Expression("distinct", (column,))):
        count = Expression("COUNT", (Expression("distinct", (inner,)),))
        assert write(Expression("select", (count, table)), "sql") is None


def test_a_query_that_is_too_large_is_called_so():
    lists = [f"t.c{i} IN ({', '.join(map(str, range(900)))})" for i in range(4)]
    with pytest.raises(InputError, match="a query of 3614 symbols"):
        parse(f"SELECT t.a FROM t WHERE {' AND '.join(lists)}", "sql")
