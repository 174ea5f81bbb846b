"""Rules come back from their text as they were, whatever their words look like."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scfg_sampler.errors import RuleTableError
from scfg_sampler.rules.text import Rule, escape, format_rule, parse_rule, signature, unescape

NASTY = ["|||", "[X,1]", "[X]", "[1]", "[", "]", "[X,1]]", "<s>", "</s>", "a|b", "|", "#", "# x", "=", "A=1"]
NASTY += ["<UNK>", "<unk>", "<seg", "<Seg>", "</seg>", "a</seg>b", "<dlt", "a<DLT", "((('", '{"rules":']
NASTY += ["a\u00a0b", "\u2028", "\u3000", "\ufeff", "\x1c", "\x85", "\x00", "\t", "\r", "\n", " ", ""]
NASTY += ["&#91;", "&#38;#91;", "&#;", "&&#1;", "&#", "&#91", ";", "&amp;", "*EPS*", "*"]
WORDS = st.one_of(
    st.sampled_from(NASTY), st.text(max_size=6), st.text("&#0123456789;[]|<>s/ X,", max_size=12)
)


@given(WORDS)
@example("&#91;&#91;")
def test_words_come_back_from_their_escape(word):
    assert unescape(escape(word)) == word


@given(WORDS)
def test_escaped_words_are_one_word_to_any_reader(word):
    text = escape(word)
    assert text.split() == [text]
    assert text.splitlines() == [text]
    assert "|" not in text
    assert not re.search(r"[\[\]]", text)
    assert text not in ("<s>", "</s>")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("<UNK>", "&#60;UNK>"),
        ("<unk>", "<unk>"),
        ("a<UNK>", "a<UNK>"),
        ("<seg>", "&#60;seg>"),
        ("<SEG", "&#60;SEG"),
        ("<Segment", "&#60;Segment"),
        ("a<seg>", "a<seg>"),
        ("a</seg>b", "a&#60;/seg>b"),
        ("((('a", "&#40;(('a"),
        ("((a", "((a"),
        ('{"rules":{', '&#123;"rules":{'),
        ("*EPS*", "&#42;EPS*"),
        ("a*EPS*", "a*EPS*"),
        ("*EPS**", "*EPS**"),
    ],
)
def test_what_cdec_takes_for_a_command_is_escaped(word, text):
    """utils/stringlib.cc, lattice.cc and bottom_up_parser.cc; and `<UNK>`, which KenLM takes for `<unk>`."""
    assert escape(word) == text
    assert unescape(text) == word


@given(WORDS, WORDS)
def test_different_words_are_written_differently(one, other):
    assert (escape(one) == escape(other)) == (one == other)


@given(st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="[]|<&"), min_size=1))
def test_ordinary_words_stay_as_they_are(word):
    assert escape(word) == word


@st.composite
def rules(draw) -> Rule:
    labels = draw(st.integers(0, 3))
    source = draw(st.lists(WORDS, min_size=0 if labels else 1, max_size=4))
    target = draw(st.lists(WORDS, min_size=0 if labels else 1, max_size=4))
    sides = []
    for words, order in ((source, range(labels)), (target, draw(st.permutations(range(labels))))):
        places = sorted(draw(st.lists(st.integers(0, len(words)), min_size=labels, max_size=labels)))
        side = list(words)
        for place, k in reversed(list(zip(places, order, strict=True))):
            side.insert(place, -1 - k)
        sides.append(tuple(side))
    words_at = [[i for i, symbol in enumerate(side) if isinstance(symbol, str)] for side in sides]
    links = st.tuples(st.sampled_from(words_at[0] or [0]), st.sampled_from(words_at[1] or [0]))
    alignment = draw(st.sets(links, max_size=3)) if all(words_at) else set()
    names = draw(st.lists(st.sampled_from(["LogForward", "b", "C_3"]), unique=True))
    values = st.integers(-999_999, 999_999).map(lambda n: n / 1000)
    features = {name: draw(values) for name in names}
    return Rule(sides[0], sides[1], features, tuple(sorted(alignment)))


def joined(parts: list[str], most: int) -> st.SearchStrategy[str]:
    """Some of these, with blanks between them."""
    return st.lists(st.sampled_from(parts), max_size=most).map(" ".join)


def tails(letters: str, labels: list[str]) -> st.SearchStrategy[str]:
    """What may follow the left-hand side of a line: any letters, and rules of which some can be read."""
    sides = joined(["a", "b", "1", "&#91;", *labels], 3)
    features = joined(["F=1", "F=-.5", "G=0", "F=1e3", "F=x", "=1", "F"], 2)
    links = joined(["0-0", "1-0", "0-1", "0-0-0", "00-0", "0-9"], 2)
    parts = st.tuples(
        sides, sides, features, links, st.integers(2, 5), st.sampled_from(["", "", "", " ", "|"])
    )
    rules = parts.map(lambda drawn: " ||| ".join(drawn[: drawn[4]][:4]) + drawn[5])
    return st.one_of(st.text(letters, max_size=30), rules, rules)


@given(rules())
def test_rules_come_back_from_their_line(rule):
    assert parse_rule(format_rule(rule)) == rule


def test_a_rule_is_spelled_as_documented():
    rule = Rule((-1, "ge", -2), (-2, "a", -1), {"LogForward": -0.69, "Words": 1.0}, ((1, 1),))
    assert (
        format_rule(rule) == "[X] ||| [X,1] ge [X,2] ||| [X,2] a [X,1] ||| LogForward=-0.69 Words=1 ||| 1-1"
    )


def test_a_label_is_spelled_as_documented():
    """Commas end it, and at an equals sign cdec takes it for a feature of the rule before."""
    rule = Rule(("a", -1), (-1,), {"F": 0.5}, (), ("NP=2", "=,["))
    line = "[NP&#61;2] ||| a [&#61;&#44;&#91;,1] ||| [&#61;&#44;&#91;,1] ||| F=0.5"
    assert format_rule(rule) == line
    assert parse_rule(line, labels=True) == rule


def test_nonterminals_are_renumbered_in_source_order():
    rule = parse_rule("[X] ||| [X,2] a [X,7] ||| [7] A [2] ||| ")
    assert rule == Rule((-1, "a", -2), (-2, "A", -1), {})


def test_links_at_nonterminals_are_dropped():
    assert parse_rule("[X] ||| [X,1] a ||| [X,1] A ||| F=1 ||| 0-0 1-0 0-1 1-1 1-1").alignment == ((1, 1),)


BAD_LINES = [
    ("[X] ||| a ||| b", "has 3 fields instead of 4 or 5"),
    ("[X] ||| a ||| b ||| F=1 ||| 0-0 ||| x", "has 6 fields instead of 4 or 5"),
    ("", "has 1 field instead of 4 or 5"),
    ("[S] ||| a ||| b ||| F=1", r"left-hand side is '\[S\]' instead of \[X\]"),
    ("||| a ||| b ||| F=1", "left-hand side is '' instead"),
    ("[X] [X] ||| a ||| b ||| F=1", "left-hand side is"),
    ("[X] ||| ||| b ||| F=1", "the source side is empty"),
    ("[X] ||| a ||| ||| F=1", "the target side is empty"),
    ("[X] ||| [Y,1] ||| [X,1] ||| F=1", r"'\[Y,1\]' is not a nonterminal such as \[X,1\]"),
    ("[X] ||| [X,0] ||| [X,0] ||| F=1", r"'\[X,0\]' is not a nonterminal"),
    ("[X] ||| [blabla] ||| b ||| F=1", r"'\[blabla\]' is not a nonterminal"),
    ("[X] ||| a ||| [X] ||| F=1", r"'\[X\]' is not a nonterminal"),
    ("[X] ||| [X,1] a [X,1] ||| [X,1] ||| F=1", r"\[X,1\] occurs twice on the source side"),
    ("[X] ||| [X,1] a ||| b [X,1] [1] ||| F=1", r"\[1\] occurs twice on the target side"),
    ("[X] ||| [X,1] a [X,2] ||| b [X,1] [X,1] ||| F=1", r"\[X,1\] occurs twice on the target side"),
    ("[X] ||| [X,1] a ||| b [X,2] ||| F=1", r"\[X,2\] is on the target side but not on the source side"),
    ("[X] ||| [X,1] a ||| b ||| F=1", r"\[X,1\] is on the source side but not on the target side"),
    ("[X] ||| a ||| b ||| F", "feature 'F' has no name"),
    ("[X] ||| a ||| b ||| =1", "feature '=1' has no name"),
    ("[X] ||| a ||| b ||| 0.5", "feature '0.5' has no name"),
    ("[X] ||| a ||| b ||| F=nan", "feature 'F=nan' is not a finite number"),
    ("[X] ||| a ||| b ||| F=-inf", "is not a finite number"),
    ("[X] ||| a ||| b ||| F=1e39", "is not a finite number"),
    ("[X] ||| a ||| b ||| F=1,5", "is not a finite number"),
    ("[X] ||| a ||| b ||| F=1_0", "is not a finite number"),
    ("[X] ||| a ||| b ||| F=", "is not a finite number"),
    ("[X] ||| a ||| b ||| F=1.5.2", "is not a finite number"),
    ("[X] ||| a ||| b ||| F=1e", "is not a finite number"),
    ("[X] ||| a ||| b ||| F=1 F=2", "feature F is given twice"),
    ("[X] ||| a ||| b ||| F=1 ||| 0", "'0' is not a link such as 0-0"),
    ("[X] ||| a ||| b ||| F=1 ||| 1-0", "link 1-0 points past the end of the rule"),
    ("[X] ||| a ||| b ||| F=1 ||| 0-1", "link 0-1 points past the end of the rule"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_lines_that_are_no_rules_say_why(line, message):
    with pytest.raises(RuleTableError, match=f"table:7: .*{message}"):
        parse_rule(line, "table", 7)


def test_signatures_are_one_line():
    assert re.fullmatch(
        r"scfg-sampler \d+\.\d+\.\d+(\.dev\d+)?\|a:1\|b:x y", signature([("a", 1), ("b", "x\ny")])
    )
