"""What is predicted: the likeliest trees first, with the constants that derivations have; lists with it."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from decoder.cli import main
from decoder.expressions.files import read_expressions
from decoder.expressions.lists import read_lists
from decoder.expressions.model import expression_model
from decoder.expressions.parser_files import load_parser
from decoder.expressions.prediction import Predictor, constants_of, likely_skeletons
from decoder.expressions.tree_model import places_of
from decoder.expressions.words import log_odds
from decoder.lm.model import load_lm
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small

# No rule writes state@1: what questions about states mean, the grammar cannot derive.
RULES = [
    ("rivers X1", "answer@1 river@1 X1", (0.5, 0.25)),
    ("in X1", "loc@1 X1", (0.0, 0.0)),
    ("all", "all@0", (0.0, 0.0)),
    ("texas", "'texas'@0", (0.0, 0.0)),
    ("ohio", "'ohio'@0", (0.0, 0.0)),
]
TRAINING = [
    ("rivers in texas", "answer@1 river@1 loc@1 'texas'@0"),
    ("states all", "answer@1 state@1 all@0"),
    ("rivers all", "answer@1 river@1 all@0"),
    ("states in ohio", "answer@1 state@1 loc@1 'ohio'@0"),
    ("rivers in ohio", "answer@1 river@1 loc@1 'ohio'@0"),
    ("states in texas", "answer@1 state@1 loc@1 'texas'@0"),
    ("what in ohio", "answer@1 loc@1 'ohio'@0"),
    ("what in texas", "answer@1 loc@1 'texas'@0"),
    ("rivers or states", "answer@1 or@2 river@1 all@0 state@1 all@0"),
    ("rivers number seven", "answer@1 river@1 number@1 '7'@0"),
]
WEIGHTS = {
    **{"First": 1.0, "Second": 0.5, "LanguageModel": 0.1, "Glue": -0.5, "PassThrough": -3.0},
    **{"ExpressionModel": 2.0, "SymbolLexicon": 0.1},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prediction")
    write_rule_table(small.rule_table(RULES), folder / "grammar.gz")
    for name, texts in zip(("source", "target"), zip(*TRAINING, strict=True), strict=True):
        (folder / name).write_text("".join(text + "\n" for text in texts))
    (folder / "w.json").write_text(json.dumps(WEIGHTS))
    pairs = ["--source", f"{folder}/source", "--target", f"{folder}/target", "--quiet"]
    lm = ["train-lm", f"{folder}/target", "--order", "2", "--output", f"{folder}/lm.arpa", "--quiet"]
    assert main(lm) == 0
    assert main(["train-expressions", *pairs, "--output", f"{folder}/expressions.json"]) == 0
    return folder


def parts_of(folder):
    return [
        *("--grammar", f"{folder}/grammar.gz", "--lm", f"{folder}/lm.arpa", "--weights", f"{folder}/w.json"),
        *("--expressions", f"{folder}/expressions.json", "--copy", "any", "--quiet"),
    ]


def lists_of(folder, questions, *options, name="list"):
    """The lists of questions; read again."""
    (folder / "questions").write_text("".join(question + "\n" for question in questions))
    command = ["translate", *parts_of(folder), "--input", f"{folder}/questions", "--nbest", "100", *options]
    assert main([*command, "--output", f"{folder}/{name}"]) == 0
    return read_lists(folder / name, len(questions))


def predictor_of(folder):
    arguments, lexicon, form, trees = read_expressions(folder / "expressions.json")
    return Predictor(expression_model(arguments), trees, lexicon.names, form)


@pytest.mark.parametrize("question", ["rivers in texas", "states", "all of it"])
def test_skeletons_come_in_the_order_of_their_probability(folder, question):
    places = predictor_of(folder).places(question.split())
    found = list(itertools.islice(likely_skeletons(places), 40))
    scores = [log_prob for _, log_prob in found]
    assert scores == sorted(scores, reverse=True)
    assert len({tuple(tree) for tree, _ in found}) == len(found) > 20
    for tree, log_prob in found:
        assert places.log_prob(tree) == pytest.approx(log_prob, abs=1e-12)
    # Against all trees of up to five symbols, each measured by itself.
    sets = ["river@1", "state@1", "loc@1"]
    spelled = [
        ["answer@1", *middle, last]
        for length in range(4)
        for middle in itertools.product(sets, repeat=length)
        for last in ("all@0", "''@0")
    ]
    measured = {tuple(tree): places.log_prob(tree) for tree in spelled}
    likely = {tree: value for tree, value in measured.items() if value > max(scores[-1], -14.0)}
    assert len(likely) > 10
    listed = {tuple(tree): value for tree, value in found}
    for tree, value in likely.items():
        assert listed[tree] == pytest.approx(value, abs=1e-12)


def test_constants_are_those_that_derivations_have(folder):
    predictor = predictor_of(folder)
    places = predictor.places(["states", "in", "ohio"])
    found = [tree for tree, _ in predictor.predicted(places, [("'ohio'@0",)], 30)]
    assert found[0] == ["answer@1", "state@1", "loc@1", "'ohio'@0"]
    assert not any("'texas'@0" in tree for tree in found)
    assert all(predictor.log_prob(tree) > -math.inf for tree in found)
    assert all(word != "''@0" for tree in found for word in tree)
    none = [tree for tree, _ in predictor.predicted(places, [], 30)]
    assert none
    assert not any("loc@1" in tree for tree in none)


def test_constants_go_where_such_constants_were(folder):
    predictor = predictor_of(folder)
    places = predictor.places(["rivers", "number", "seven"])
    found = [" ".join(tree) for tree, _ in predictor.predicted(places, [("'7'@0",)], 30)]
    assert found[0] == "answer@1 river@1 number@1 '7'@0"
    assert not any("loc@1" in tree for tree in found)


def test_no_more_is_predicted_than_is_asked_for(folder):
    predictor = predictor_of(folder)
    places = predictor.places(["states", "in", "ohio"])
    two = [("'ohio'@0",), ("'texas'@0",)]
    assert [len(predictor.predicted(places, two, number)) for number in (1, 2, 3, 10)] == [1, 2, 3, 10]


def test_constants_of_several_derivations_are_there_together(folder):
    """Where no derivation has as many as an expression needs."""
    predictor = predictor_of(folder)
    places = predictor.places(["rivers", "or", "states", "in", "ohio", "texas"])
    found = [tree for tree, _ in predictor.predicted(places, [("'ohio'@0",), ("'texas'@0",)], 400)]
    pairs = {tuple(word for word in tree if word.startswith("'")) for tree in found}
    assert {("'ohio'@0", "'texas'@0"), ("'texas'@0", "'ohio'@0")} <= pairs


def test_sequences_of_constants_are_there_once():
    trees = [text.split() for text in ("a@0", "b@2 'x'@0 'y'@0", "c@2 'x'@0 'y'@0", "b@2 'y'@0 'x'@0")]
    assert constants_of(trees) == [(), ("'x'@0", "'y'@0"), ("'y'@0", "'x'@0")]


def test_lists_have_what_no_rule_writes(folder):
    questions = ["states in ohio", "rivers all"]
    without = lists_of(folder, questions)
    beside = lists_of(folder, questions, "--predict", "20")
    right = ["answer@1", "state@1", "loc@1", "'ohio'@0"]
    assert not any("state@1" in one.words for one in without[0])
    assert right in [one.words for one in beside[0]]
    for old, new in zip(without, beside, strict=True):
        derived = [one for one in new if one.features["Underived"] == 0.0]
        assert (
            [one.words for one in derived]
            == [one.words for one in old]
            == [one.words for one in new][: len(old)]
        )
        for one, before in zip(derived, old, strict=True):
            assert {name: one.features[name] for name in before.features} == before.features
        words = [tuple(one.words) for one in new]
        assert len(set(words)) == len(words)


def test_features_of_what_is_predicted_are_its_own(folder):
    """But for those of rules, which are the best derivation's, and of what only derivations have."""
    (found,) = lists_of(folder, ["rivers in ohio"], "--predict", "50")
    predictor, lexicon = predictor_of(folder), read_expressions(folder / "expressions.json").lexicon
    lm, vocabulary = load_lm(folder / "lm.arpa")
    words = ["rivers", "in", "ohio"]
    places = predictor.places(words)
    assert sum(one.features["Underived"] for one in found) > 10
    for one in found:
        expected = {
            "TreeModel": places.log_prob(one.words),
            "ExpressionModel": predictor.log_prob(one.words),
            "LanguageModel": small.sentence_log_prob(lm, vocabulary, one.words),
            "SymbolLexicon": log_odds(lexicon, words, one.words).sum(),
        }
        assert {name: one.features[name] for name in expected} == pytest.approx(expected, abs=1e-4)
        if one.features["Underived"] == 1.0:
            of_rules = ("First", "Second", "Glue", "PassThrough")
            assert [one.features[name] for name in of_rules] == [found[0].features[name] for name in of_rules]
    assert found[0].features["First"] == 0.5


def test_what_is_predicted_is_worth_less_than_all_derivations(folder):
    lists_of(folder, ["rivers in ohio"], "--predict", "50")
    fields = [line.split(" ||| ") for line in (folder / "list").read_text().splitlines()]
    scores = [float(score) for *_, score in fields]
    assert scores == sorted(scores, reverse=True)
    derived = [float(score) for *_, features, score in fields if "Underived=0" in features]
    assert min(derived) < 0.0
    assert max(scores[len(derived) :]) < min(derived)


def test_without_a_derivation_constants_are_those_of_rules(folder):
    """A question of one name: nothing that a rule writes is a whole expression."""
    assert lists_of(folder, ["ohio"])[0] == []
    (found,) = lists_of(folder, ["ohio"], "--predict", "20")
    assert found
    assert all(one.features["Underived"] == 1.0 for one in found)
    assert any("'ohio'@0" in one.words for one in found)
    assert not any("'texas'@0" in one.words for one in found)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ["--predict", "5"],
            "--predict is of lists of expressions; give --nbest and --expressions beside it",
        ),
        (["--nbest", "5", "--predict", "0"], "--predict is 0; it is at least 1"),
    ],
)
def test_what_prediction_needs(folder, capsys, options, complaint):
    assert main(["translate", *parts_of(folder), "--input", f"{folder}/source", *options]) == 2
    assert complaint in capsys.readouterr().err


def test_models_of_before_predict_nothing(folder, tmp_path, capsys):
    record = json.loads((folder / "expressions.json").read_text())
    del record["trees"]
    (tmp_path / "old.json").write_text(json.dumps(record))
    assert read_expressions(tmp_path / "old.json").trees is None
    parts = [each.replace(f"{folder}/expressions.json", f"{tmp_path}/old.json") for each in parts_of(folder)]
    command = ["translate", *parts, "--input", f"{folder}/source", "--nbest", "3"]
    assert main([*command, "--output", f"{tmp_path}/list"]) == 0
    assert main([*command, "--predict", "3", "--output", f"{tmp_path}/list"]) == 2
    assert "learn it anew, with train-expressions" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage",
    [
        lambda trees: trees["outcomes"].pop(),
        lambda trees: trees["outcomes"].reverse(),
        lambda trees: trees["contexts"].update({"rivers": "0.5"}),
        lambda trees: trees["where"].update({" 0": trees["where"][" 0"] + "x"}),
        lambda trees: trees["where"].update({" 0": trees["where"][" 0"].replace("0", "inf", 1)}),
        lambda trees: trees.pop("where"),
        lambda trees: trees.update(contexts=[]),
    ],
)
def test_damaged_models_are_told(folder, tmp_path, capsys, damage):
    record = json.loads((folder / "expressions.json").read_text())
    damage(record["trees"])
    (tmp_path / "model.json").write_text(json.dumps(record))
    parts = [
        each.replace(f"{folder}/expressions.json", f"{tmp_path}/model.json") for each in parts_of(folder)
    ]
    assert main(["translate", *parts, "--input", f"{folder}/source", "--nbest", "3"]) == 2
    assert "a damaged model of expressions" in capsys.readouterr().err


def test_a_parser_predicts_as_lists_do(folder, tmp_path, capsys):
    """What a ranker has learnt of lists with predictions, a parser with as many chooses."""
    for part in (0, 1):
        lists_of(
            folder, [question for question, _ in TRAINING[part::2]], "--predict", "10", name=f"list{part}"
        )
    lists = ["--lists", f"{folder}/list0", f"{folder}/list1"]
    learnt = ["--source", f"{folder}/source", "--target", f"{folder}/target", *lists]
    ranker = ["--expressions", f"{folder}/expressions.json", "--output", f"{tmp_path}/ranker.json"]
    assert main(["train-ranker", *learnt, *ranker, "--quiet"]) == 0
    bundle = ["bundle-parser", *parts_of(folder), "--ranker", f"{tmp_path}/ranker.json"]
    assert main([*bundle, "--output", f"{tmp_path}/parser"]) == 2
    assert "Its lists had predicted expressions; give --predict, with as many" in capsys.readouterr().err
    assert main([*bundle, "--predict", "10", "--output", f"{tmp_path}/parser"]) == 0
    parser = load_parser(tmp_path / "parser")
    assert parser.parse_line("states in ohio").expression == "answer(state(loc('ohio')))"
    assert parser.parse_line("rivers in texas").expression == "answer(river(loc('texas')))"
    assert main([*bundle[:-2], "--predict", "-1", "--output", f"{tmp_path}/other"]) == 2
    assert "--predict is -1; it is at least 0" in capsys.readouterr().err


def test_places_are_those_that_symbols_leave_open():
    places = [place for place, _ in places_of(["or@2", "river@1", "all@0", "state@1", "all@0"])]
    assert [place.slot for place in places] == [
        ("", 0),
        ("or@2", 0),
        ("river@1", 0),
        ("or@2", 1),
        ("state@1", 0),
    ]
    assert places[4].above == ("or@2", 1)
    assert places[4].ancestors == ("or@2", "state@1")
