"""Joined lists: each candidate once, with what every list says of it."""

import pytest

from decoder.cli import main
from decoder.expressions.joining import join_lists
from decoder.expressions.lists import read_lists
from decoder.expressions.ranker import Candidate

OURS = """0 ||| a@0 ||| LanguageModel=-1 Rule=-2 ||| 3
0 ||| b@1 a@0 ||| LanguageModel=-4 Rule=-1 ||| 2
0 ||| a@0 ||| LanguageModel=-1 Rule=-9 ||| 1
1 |||  |||  ||| 0
2 ||| c@0 ||| LanguageModel=-2 Rule=-3 ||| 1
"""
THEIRS = """0 ||| b@1 a@0 ||| LanguageModel=-4 Rule=-7 Own=1 ||| 5
0 ||| d@0 ||| LanguageModel=-3 Rule=-5 Own=0 ||| 4
1 |||  |||  ||| 0
2 |||  ||| LanguageModel=0 ||| 0
"""
JOINED = """0 ||| b@1 a@0 ||| LanguageModel=-4 ORule=-1 OMissing=0 TRule=-7 TOwn=1 TMissing=0 ||| 0.032522
0 ||| a@0 ||| LanguageModel=-1 ORule=-2 OMissing=0 TRule=-7 TOwn=0 TMissing=1 ||| 0.016393
0 ||| d@0 ||| LanguageModel=-3 ORule=-2 OMissing=1 TRule=-5 TOwn=0 TMissing=0 ||| 0.016129
1 |||  |||  ||| 0
2 ||| c@0 ||| LanguageModel=-2 ORule=-3 OMissing=0 TMissing=1 ||| 0.016393
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "ours").write_text(OURS)
    (tmp_path / "theirs").write_text(THEIRS)
    return tmp_path


def run(files, *arguments: str) -> int:
    return main(["join-lists", *(word.replace("@/", f"{files}/") for word in arguments)])


def test_each_is_there_once_with_what_all_lists_say_of_it(files, capsys):
    """By hand: 1/61 + 1/62 for what both have; the lowest for what a list lacks; the first of two alike."""
    assert run(files, "O=@/ours", "T=@/theirs", "--output", "@/both") == 0
    assert (files / "both").read_text() == JOINED
    assert "4 translations of 3 sentences" in capsys.readouterr().err


def test_what_is_joined_is_read_as_a_list(files):
    assert run(files, "O=@/ours", "T=@/theirs", "--output", "@/both", "--quiet") == 0
    found = read_lists(files / "both", 3)
    assert [[" ".join(one.words) for one in each] for each in found] == [
        ["b@1 a@0", "a@0", "d@0"],
        [],
        ["c@0"],
    ]
    assert found[0][1].features["TMissing"] == 1.0


def test_which_features_are_shared_is_said(files):
    assert run(files, "O=@/ours", "T=@/theirs", "--shared", "Rule", "--output", "@/both") == 0
    first = (files / "both").read_text().splitlines()[0]
    assert " ||| Rule=-1 OLanguageModel=-4 OMissing=0 TLanguageModel=-4 TOwn=1 TMissing=0 ||| " in first


def test_features_of_the_words_alone_are_shared_unless_told_otherwise(tmp_path):
    features = "LanguageModel=-1 TargetWords=1 ExpressionModel=-2 SymbolLexicon=-3 TreeModel=-4 Underived=0"
    for name in ("ours", "theirs"):
        (tmp_path / name).write_text(f"0 ||| a@0 ||| {features} ||| 1\n")
    assert run(tmp_path, "O=@/ours", "T=@/theirs", "--output", "@/both", "--quiet") == 0
    shared = features.replace(" Underived=0", "")
    assert (tmp_path / "both").read_text().split(" ||| ")[2] == (
        f"{shared} OUnderived=0 OMissing=0 TUnderived=0 TMissing=0"
    )


def test_a_shared_feature_comes_from_the_first_list_that_has_it():
    ours, theirs = (
        [Candidate(["a"], {"S": 1.0})],
        [Candidate(["b"], {"S": 3.0}), Candidate(["a"], {"S": 2.0})],
    )
    joined = join_lists(["O", "T"], [ours, theirs], {"S"})
    assert {" ".join(one.words): one.features["S"] for one, _ in joined} == {"a": 1.0, "b": 3.0}


def test_what_a_candidate_does_not_name_is_0_in_its_list():
    ours = [Candidate(["a"], {"Rare": 2.0}), Candidate(["b"], {"Other": -1.0})]
    joined = join_lists(["O", "T"], [ours, [Candidate(["c"], {})]], set())
    features = {one.words[0]: one.features for one, _ in joined}
    assert features["a"] == {"ORare": 2.0, "OMissing": 0.0, "TMissing": 1.0}
    assert features["c"] == {"ORare": 0.0, "OOther": -1.0, "OMissing": 1.0, "TMissing": 0.0}


def test_lists_of_other_sentences_are_refused_or_doubted(files, capsys):
    (files / "fewer").write_text("0 ||| a@0 |||  ||| 0\n")
    assert run(files, "O=@/ours", "F=@/fewer", "--output", "@/both") == 2
    assert "lists of 1 sentence, but" in capsys.readouterr().err
    (files / "others").write_text("".join(f"{number} ||| e@0 |||  ||| 0\n" for number in range(3)))
    assert run(files, "O=@/ours", "T=@/theirs", "X=@/others", "--output", "@/both") == 0
    said = capsys.readouterr().err
    assert "others have no translation in common" in said
    assert said.count("in common") == 1


@pytest.mark.parametrize(
    ("lists", "complaint"),
    [
        (("@/ours",), "is not NAME=LIST"),
        (("=@/ours",), "is not NAME=LIST"),
        (("A B=@/ours",), "is not NAME=LIST"),
        (("A=@/ours", "A=@/theirs"), "two lists are called A; give each a name of its own"),
        (("A=@/ours", "ARu=@/short"), "two features would be called ARule; give the list ARu another name"),
        (("Language=@/model", "A=@/ours"), "two features would be called LanguageModel; give the list Lang"),
        (("A=@/none",), "none"),
        (("A=@/wrong",), "wrong:1: not a line of a list"),
    ],
)
def test_wrong_calls_are_refused(files, capsys, lists, complaint):
    (files / "wrong").write_text("a@0\n")
    for name, feature in (("short", "le"), ("model", "Model")):
        lines = (f"{number} ||| a@0 ||| {feature}=1 ||| 0\n" for number in range(3))
        (files / name).write_text("".join(lines))
    assert run(files, *lists, "--output", "@/both") == 2
    assert complaint in capsys.readouterr().err
    assert not (files / "both").exists()
