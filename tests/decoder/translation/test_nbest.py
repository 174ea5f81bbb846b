"""Lists of translations, ours and those of other decoders, as they are read."""

import re

import pytest

from decoder.translation.nbest import Listed, parsed_line, read_nbest
from scfg_sampler.errors import InputError

OURS = "0 ||| a b ||| Glue=1 LanguageModel=-2 ||| -1.5\n0 ||| a &#124;&#124;&#124; ||| Glue=0 ||| -2\n"
MOSES = "0 ||| a b  ||| LM0= -2.5 WordPenalty0= -2 ||| -1.5 ||| 0-0 1-1 \n"
CDEC = "0 ||| a b ||| Glue=1 LanguageModel=-2 ||| -1.5\n"
JOSHUA = "0 ||| a b ||| tm_pt_0=1.000 lm_0=-2.5 ||| -1.500\n"
NAMELESS = "0 ||| a b ||| -2.5 ||| -1.5\n"  # One feature, as Moses wrote them once.
EMPTY = "0 ||| a b |||  ||| -1.5\n"
TRAVATAR = '0 ||| a b ||| -1.5 ||| lm=-2.5 "x"=1\n'


def lists_of(folder, text):
    (folder / "list").write_text(text)
    return list(read_nbest(folder / "list"))


@pytest.mark.parametrize("text", [MOSES, NAMELESS, EMPTY, CDEC, JOSHUA, TRAVATAR])
def test_lists_of_other_decoders_have_their_scores(tmp_path, text):
    assert lists_of(tmp_path, text) == [(0, [Listed(("a", "b"), -1.5)])]


def test_lists_come_one_by_one_with_the_words_as_they_were(tmp_path):
    found = lists_of(
        tmp_path, f"{OURS}2 |||  |||  ||| 0\n2 ||| c ||| F=1 ||| -1\n7 ||| c ||| F=1 ||| -1e-3\n"
    )
    assert found == [
        (0, [Listed(("a", "b"), -1.5), Listed(("a", "|||"), -2.0)]),
        (2, [Listed((), 0.0), Listed(("c",), -1.0)]),
        (7, [Listed(("c",), -0.001)]),
    ]
    assert lists_of(tmp_path, "") == []


def test_an_empty_line_is_a_sentence_without_translations(tmp_path):
    """cdec writes one where it has none, as of a line without words."""
    found = lists_of(tmp_path, "\n1 ||| a ||| F=1 ||| -1\n\r\n3 ||| b ||| F=1 ||| -2\n \n")
    assert found == [(1, [Listed(("a",), -1.0)]), (3, [Listed(("b",), -2.0)])]


def test_what_is_read_is_what_was_asked_for(tmp_path):
    """A list is had as soon as the next one begins, so that what is wrong later does no harm to it."""
    (tmp_path / "list").write_text("0 ||| a ||| F=1 ||| -1\n1 ||| a ||| F=1 ||| -1\nx\n")
    reader = read_nbest(tmp_path / "list")
    assert next(reader) == (0, [Listed(("a",), -1.0)])
    with pytest.raises(InputError, match="list:3: not a line of a list: x"):
        next(reader)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a b\n", "list:1: not a line of a list: a b"),
        ("x ||| a ||| F=1 ||| -1\n", "list:1: not a line of a list"),
        ("0 ||| a ||| -1\n", "list:1: not a line of a list"),
        ("0 ||| a ||| F=1 ||| F=1\n", "list:1: no score: 'F=1' is not a number"),
        ("\n  a\n", "list:2: not a line of a list: a. Lines are 'NUMBER |||"),
        ("0 ||| a ||| F=1 ||| nan\n", "list:1: no score: 'nan' is not a number"),
        ("0 ||| a ||| -2.5 ||| -inf\r\n", "list:1: no score: '-inf' is not a number"),
        ("0 ||| a ||| -inf ||| lm=-inf\n", "list:1: no score: '-inf' is not a number"),
        ("1 ||| a ||| F=1 ||| -1\n0 ||| a ||| F=1 ||| -1\n", "list:2: sentence 0 after sentence 1"),
        ("10000 ||| a ||| F=1 ||| -1\n", "list:1: sentence 10000 after none"),
        ("3 ||| a ||| F=1 ||| -1\n10004 ||| a ||| F=1 ||| -1\n", "list:2: sentence 10004 after sentence 3"),
    ],
)
def test_what_is_no_list_is_refused_with_the_line(tmp_path, lines, message):
    with pytest.raises(InputError, match=re.escape(message)):
        lists_of(tmp_path, lines)


def test_gaps_that_a_system_may_have_are_none_to_complain_of(tmp_path):
    found = lists_of(tmp_path, "9999 ||| a ||| F=1 ||| -1\n19999 ||| a ||| F=1 ||| -1\n")
    assert [number for number, _ in found] == [9999, 19999]


def test_a_line_has_a_number_words_and_two_fields_or_more():
    assert parsed_line("12 |||  |||  ||| 0") == (12, [], ["", "0"])
    assert parsed_line("12 ||| a  b ||| F=1 ||| 0 ||| 0-0") == (12, ["a", "b"], ["F=1", "0", "0-0"])
    assert parsed_line("12 ||| ||| ||| 0") == (12, [], ["", "0"])  # As after tr -s " ".
    assert parsed_line("12 ||| ||| ||| ||| ") == (12, [], ["", "", ""])
    assert parsed_line("12 ||| a ||| -1 |||") == (12, ["a"], ["-1", ""])
    assert parsed_line("12 ||| |||| |||b ||| F=1 ||| 0") == (12, ["||||", "|||b"], ["F=1", "0"])
    assert parsed_line("-1 ||| a ||| F=1 ||| 0") is None
    assert parsed_line("1 ||| a ||| F=1") is None
