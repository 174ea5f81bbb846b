"""Expressions and their linear forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoder.expressions.forms import arity_of, from_linear, parse, to_linear, write
from decoder.expressions.tree import Expression
from scfg_sampler.core.arrays.vocabulary import split_words
from scfg_sampler.errors import InputError

NAMES = st.from_regex(r"[a-z_@\\][a-z_@\\0-9]{0,5}", fullmatch=True)
CONSTANTS = st.from_regex(r"'([a-z_@\\.]+( [a-z_@\\]+){0,2})?'", fullmatch=True)
LEAVES = st.one_of(NAMES, CONSTANTS).map(Expression)
TREES = st.recursive(
    LEAVES,
    lambda below: st.builds(Expression, NAMES, st.lists(below, min_size=1, max_size=3).map(tuple)),
    max_leaves=8,
)


def test_preorder_with_arities():
    words = ["answer@1", "loc_2@1", "cityid@2", "'new_york'@0", "_@0"]
    for text, form in (
        ("answer(loc_2( cityid(' new york ', _)))", "funql"),
        ('(answer (loc_2 (cityid "new york" _)))', "lisp"),
    ):
        assert to_linear(parse(text, form)) == words
    assert write(from_linear(words), "funql") == "answer(loc_2(cityid('new york', _)))"
    assert write(from_linear(words), "lisp") == '(answer (loc_2 (cityid "new york" _)))'


@pytest.mark.parametrize("form", ["funql", "lisp"])
@given(tree=TREES)
def test_there_and_back(form, tree):
    words = to_linear(parse(write(tree, form), form))
    assert from_linear(words) == tree
    assert all(" " not in word and arity_of(word) is not None for word in words)


def test_underscores_in_constants_are_no_blanks():
    assert to_linear(Expression("'a_b c'")) == [r"'a\_b_c'@0"]


@pytest.mark.parametrize("form", ["funql", "lisp", "sql"])
@pytest.mark.parametrize("constant", ["'new  york'", "'東京\u3000都'", "'10\u00a0km'", "'a _  b'"])
def test_blanks_in_constants_come_back_as_they_were(constant, form):
    words = to_linear(parse(constant, form))
    assert split_words(" ".join(words)) == words
    assert from_linear(words) == Expression(constant)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "a",
        "a@",
        "@1 b@0",
        "a@1",
        "a@0 b@0",
        "a@2 b@0",
        "a@1 b@1",
        "a@1 b",
        "a@-1",
        "a@1000 b@0",
        "a@² b@0",
    ],
)
def test_what_is_no_linear_form(words):
    assert from_linear(words.split()) is None


@pytest.mark.parametrize(
    ("text", "form", "complaint"),
    [
        ("a(b", "funql", "the end where , or ) is expected"),
        ("a(b))", "funql", "')' behind the expression: a(b)). Leave it out"),
        ("(a b))", "lisp", "')' behind the expression: (a b)). Leave it out"),
        ("a(b(", "funql", "the end where a name"),
        ("a(b c)", "funql", "'c' where , or ) is expected"),
        ("a()", "funql", "')' where a name"),
        ("a(b,)", "funql", "')' where a name"),
        ("a('b)", "funql", "a quotation mark that is not closed"),
        ("", "funql", "the end where a name"),
        ("(a (b)", "lisp", "the end where )"),
        ("()", "lisp", "')' where a name"),
        ("(a b) c", "lisp", "'c' behind the expression: (a b) c. Write one expression a line"),
    ],
)
def test_what_is_no_expression_is_named(text, form, complaint):
    with pytest.raises(InputError) as caught:
        parse(text, form, "some.file", 7)
    assert complaint in str(caught.value)
    assert "some.file" in str(caught.value)
    assert "7" in str(caught.value)


@pytest.mark.parametrize(("form", "opening"), [("funql", "a("), ("lisp", "(a ")])
def test_expressions_may_be_deep_but_not_beyond_all_sense(form, opening):
    deep = parse(200 * opening + "b" + 200 * ")", form)
    assert from_linear(to_linear(deep)) == deep
    for depth in (201, 50_000):
        with pytest.raises(InputError, match="brackets are nested more than 200 deep"):
            parse(depth * opening + "b" + depth * ")", form)
        assert from_linear([*depth * ["a@1"], "b@0"]) is None


@pytest.mark.parametrize("form", ["funql", "lisp"])
@pytest.mark.parametrize("name", ["o'brien", 'the "best"', "plain"])
def test_constants_with_quotation_marks_come_back(form, name):
    tree = Expression("f", (Expression(f"'{name}'"), Expression("a")))
    assert parse(write(tree, form), form) == tree
    assert from_linear(to_linear(tree)) == tree


@pytest.mark.parametrize("text", ["f('o'brien')", '(f "say "hi"")', "f('a''b')"])
def test_quotation_marks_within_names_are_refused(text):
    with pytest.raises(InputError, match="a quotation mark that is not closed, or one within a name"):
        parse(text, "lisp" if text[0] == "(" else "funql")


@pytest.mark.parametrize(
    ("form", "text"),
    [("funql", "a({})"), ("lisp", "(a {})"), ("sql", "SELECT a FROM t WHERE b IN ({})")],
)
def test_more_arguments_than_linear_forms_have_are_refused(form, text):
    """What is read can be read back."""
    separator = " " if form == "lisp" else ", "
    most = parse(text.format(separator.join(map(str, range(998)))), form)
    assert from_linear(to_linear(most)) == most
    with pytest.raises(InputError, match=r"arguments of one symbol: .*Linear forms have 999 at most"):
        parse(text.format(separator.join(map(str, range(1000)))), form)
