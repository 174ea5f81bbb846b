"""Parsers say what the commands that they are made of say, wherever they lie, and what is wrong with them."""

from __future__ import annotations

import json
import math
import os
import shutil

import pytest

import decoder
from decoder.cli import main
from decoder.expressions.lists import read_ranker, write_ranker
from decoder.expressions.parser_files import load_parser
from decoder.expressions.questions import cut_words, doubt_of_letters, question_words
from decoder.expressions.ranker import WORD_FEATURES, Ranker
from decoder.expressions.word_model import pairs_of, symbols_of, train_word_model
from decoder.translation.settings import SearchDefaults
from scfg_sampler.cli import main as sampler
from scfg_sampler.errors import InputError
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small

# Words are cut after four letters. The grammar would rather have rivers everywhere.
RULES = [
    ("rive X1", "answer@1 river@1 X1", (0.0, 0.0)),
    ("stat X1", "answer@1 state@1 X1", (-2.0, 0.0)),
    ("stat X1", "answer@1 river@1 X1", (1.0, 0.0)),
    ("in X1", "loc@1 X1", (0.0, 0.0)),
    ("all", "all@0", (0.0, 0.0)),
    ("texa", "'new_texas'@0", (0.0, 0.0)),
]
TRAINING = [
    ("rivers in texas", "answer@1 river@1 loc@1 'new_texas'@0"),
    ("states all", "answer@1 state@1 all@0"),
    ("rivers all", "answer@1 river@1 all@0"),
    ("states in texas", "answer@1 state@1 loc@1 'new_texas'@0"),
]
QUESTIONS = ["Rivers in Texas?", "STATES in texas .", "", "states all", "nothing", "rivers please all!"]
PARSES = [
    "answer(river(loc('new texas')))",
    "answer(state(loc('new texas')))",
    "",
    "answer(state(all))",
    "",
    "answer(river(all))",
]
WEIGHTS = {
    **{"First": 1.0, "Second": 0.0, "LanguageModel": 0.1, "Glue": 0.0, "PassThrough": -3.0},
    **{"ExpressionModel": 2.0, "SymbolLexicon": 0.1},
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A grammar of cut words, models of expressions, weights, and a ranker that goes by whole words."""
    folder = tmp_path_factory.mktemp("parts")
    write_rule_table(small.rule_table(RULES), folder / "grammar.gz")
    sources = [source.split() for source, _ in TRAINING]
    trees = [tree.split() for _, tree in TRAINING]
    lines(folder / "source", [" ".join(cut_words(words, 4)) for words in sources])
    lines(folder / "target", [tree for _, tree in TRAINING])
    pairs = ["--source", f"{folder}/source", "--target", f"{folder}/target", "--quiet"]
    lm = ["train-lm", f"{folder}/target", "--order", "2", "--output", f"{folder}/lm.arpa", "--quiet"]
    assert main(lm) == 0
    assert main(["train-expressions", *pairs, "--output", f"{folder}/expressions.json"]) == 0
    (folder / "w.json").write_text(json.dumps(WEIGHTS))
    models = {  # As rankers had them before words in context.
        name: train_word_model(sources, [tokens(tree) for tree in trees])
        for name, tokens in zip(WORD_FEATURES, (symbols_of, pairs_of), strict=False)
    }
    weights = {**dict.fromkeys(WEIGHTS, 0.0), "First": 0.1, "Glue": -0.5, **dict.fromkeys(models, 1.0)}
    write_ranker(Ranker(weights, {}, models), folder / "ranker.json")
    return folder


def lines(path, texts):
    path.write_text("".join(text + "\n" for text in texts))
    return str(path)


def bundle(parts, output, *more, ranker="ranker.json", letters="4"):
    models = ["--grammar", f"{parts}/grammar.gz", "--lm", f"{parts}/lm.arpa", "--weights", f"{parts}/w.json"]
    models += ["--expressions", f"{parts}/expressions.json"]
    ranked = ["--ranker", f"{parts}/{ranker}"] if ranker else []
    return main(
        ["bundle-parser", *models, *ranked, "--letters", letters, "--output", str(output), "--quiet", *more]
    )


@pytest.fixture
def parser(parts, tmp_path):
    assert bundle(parts, tmp_path / "parser") == 0
    return tmp_path / "parser"


def expressions(directory, **how):
    return [each.expression for each in load_parser(directory).parse(QUESTIONS, **how)]


# ---------------------------------------------------------------- questions


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What is It ?", ["what", "is", "it"]),
        ("What is it?", ["what", "is", "it"]),
        ("  \t ?\r", []),
        ("", []),
        ("the U.S.", ["the", "u.s."]),
        ("to St. Louis.", ["to", "st.", "louis"]),
        ("ما هذا ؟", ["ما", "هذا"]),
        ("really?! . . .", ["really"]),
        ('( " ) – *', []),
        ("*?", []),
        ("( 3 )", ["(", "3", ")"]),
        (
            "(Where's “Queen”, and 'the New Band' from);",
            ["where's", "queen", "and", "the", "new", "band", "from"],
        ),
        ("what 's in springfield , ohio", ["what", "'s", "in", "springfield", ",", "ohio"]),
        ("Where is O’Connor", ["where", "is", "o'connor"]),
        ("Bjo\u0308rk", ["bj\u00f6rk"]),
        ("the states' areas", ["the", "states", "areas"]),
    ],
)
def test_questions_are_small_letters_without_a_mark(text, words):
    assert question_words(text) == words


def test_words_are_cut_after_letters_or_not_at_all():
    assert cut_words(["fließen", "in"], 5) == ["fließ", "in"]
    assert cut_words(["fließen", "in"], 0) == ["fließen", "in"]


# ---------------------------------------------------------------- what it parses


def test_questions_become_expressions_line_by_line(parser):
    assert expressions(parser) == PARSES
    assert expressions(parser, threads=3) == PARSES


@pytest.mark.parametrize("form", ["funql", "lisp"])
@pytest.mark.parametrize("ranker", ["ranker.json", None])
@pytest.mark.parametrize("copy", ["unknown", "any"])
def test_parses_are_those_of_the_commands(parts, tmp_path, form, ranker, copy):
    assert bundle(parts, tmp_path / "p", "--form", form, "--copy", copy, "--beam", "9", ranker=ranker) == 0
    questions = lines(tmp_path / "questions", QUESTIONS)
    given = ["--input", questions, "--output", f"{tmp_path}/out", "--threads", "2", "--quiet"]
    assert main(["parse", "--parser", f"{tmp_path}/p", *given]) == 0
    whole = [question_words(question) for question in QUESTIONS]
    cut = lines(tmp_path / "cut", [" ".join(cut_words(words, 4)) for words in whole])
    models = ["--grammar", f"{parts}/grammar.gz", "--lm", f"{parts}/lm.arpa", "--weights", f"{parts}/w.json"]
    models += ["--expressions", f"{parts}/expressions.json", "--copy", copy, "--beam", "9"]
    nbest = ["--nbest", "100"] if ranker else []
    translate = ["translate", *models, *nbest, "--input", cut, "--output", f"{tmp_path}/mr", "--quiet"]
    assert main(translate) == 0
    if ranker:
        (tmp_path / "mr").rename(tmp_path / "list")
        source = lines(tmp_path / "whole", [" ".join(words) for words in whole])
        rank = ["rank", f"{tmp_path}/list", "--ranker", f"{parts}/{ranker}", "--source", source]
        assert main([*rank, "--output", f"{tmp_path}/mr"]) == 0
    undo = ["linearise", f"{tmp_path}/mr", "--undo", "--form", form, "--output", f"{tmp_path}/expected"]
    assert main(undo) == 0
    assert (tmp_path / "out").read_text() == (tmp_path / "expected").read_text()
    assert (tmp_path / "out").read_text().count("new texas") == 2
    assert main(["parse", "--parser", f"{tmp_path}/p", *given, "--linear"]) == 0
    assert (tmp_path / "out").read_text() == (tmp_path / "mr").read_text()


def test_rankers_choose_by_whole_words(parts, parser, tmp_path):
    assert bundle(parts, tmp_path / "unranked", ranker=None) == 0
    best = load_parser(tmp_path / "unranked").parse_line("states all").expression
    assert best == "answer(river(all))", "the grammar alone says something else"
    assert load_parser(parser).parse_line("states all").expression == "answer(state(all))"
    # Of words that the ranker does not know it says nothing.
    assert load_parser(parser).parse_line("statue all").expression == "answer(river(all))"


def test_lists_are_different_and_the_best_comes_first(parser):
    loaded = load_parser(parser)
    for question in QUESTIONS:
        found = loaded.n_best(question, 5)
        assert len({each.expression for each in found}) == len(found) <= 5
        scores = [each.score for each in found]
        assert scores == sorted(scores, reverse=True)
        assert [loaded.parse_line(question)] == (found[:1] or [(question, "", [], 0.0, {}, 0.0)])
    assert len(loaded.n_best("states in texas", 1)) == 1
    best = loaded.n_best("states in texas", 2)
    assert [each.expression for each in best] == [PARSES[1], PARSES[0]]
    ranker = read_ranker(parser / "ranker.json")
    for each in best:
        tokens = zip(ranker.models.values(), (symbols_of, pairs_of), strict=True)
        by_words = 0.0
        for model, tokens_of in tokens:
            symbols = tokens_of(each.words)
            for word in ("states", "in", "texas"):
                rows = [model.get(symbol, model[""]) for symbol in ["", *symbols]]
                by_words += math.log(sum(row.get(word, row[""]) for row in rows) / len(rows))
        expected = 0.1 * each.features["First"] - 0.5 * each.features["Glue"] + by_words
        assert each.score == pytest.approx(expected, abs=1e-9)


def test_words_may_be_left_out_where_any_may_be_copied(parts, tmp_path):
    for copy, expected in (("unknown", ""), ("any", "answer(river(all))")):
        assert bundle(parts, tmp_path / copy, "--copy", copy) == 0
        assert load_parser(tmp_path / copy).parse_line("rivers all texas").expression == expected


def test_the_ranker_sees_as_many_as_it_is_told(parts, tmp_path):
    assert bundle(parts, tmp_path / "p", "--candidates", "1") == 0
    assert load_parser(tmp_path / "p").parse_line("states all").expression == "answer(river(all))"
    assert len(load_parser(tmp_path / "p").n_best("states all", 2)) == 2


def test_the_command_lists_and_counts(parser, tmp_path, capsys):
    questions = lines(tmp_path / "questions", QUESTIONS)
    parse = ["parse", "--parser", str(parser), "--input", questions, "--output", f"{tmp_path}/out"]
    assert main([*parse, "--nbest", "2"]) == 0
    said = capsys.readouterr().err
    assert "6 lines (2 of 12 words in no rule) parsed in" in said
    assert "1 question without an expression" in said
    assert "in no rule: nothing, please" in said
    rows = [row.split(" ||| ") for row in (tmp_path / "out").read_text().splitlines()]
    assert [row[0] for row in rows] == ["0", "1", "1", "2", "3", "3", "4", "5"]
    assert [row[1] for row in rows if row[0] == "1"] == [PARSES[1], PARSES[0]]
    assert ["2", "", "", "0"] in rows
    assert main([*parse, "--nbest", "0"]) == 2
    assert "--nbest is 0; it is at least 1" in capsys.readouterr().err


def likelihoods(parser, line):
    """What the ranker takes each expression of a question for: exp(score), shared out among all there are."""
    weights = {one.expression: math.exp(one.score) for one in load_parser(parser).n_best(line, 100)}
    return {expression: weight / sum(weights.values()) for expression, weight in weights.items()}


def test_rankers_know_how_probable_expressions_are(parser, parts, tmp_path):
    expected = likelihoods(parser, QUESTIONS[1])
    assert len(expected) > 1
    listed = load_parser(parser).n_best(QUESTIONS[1], 1)
    assert [one.probability for one in listed] == [pytest.approx(expected[PARSES[1]])]
    none = load_parser(parser).parse_line("nothing")
    assert (none.expression, none.probability) == ("", 0.0)
    assert bundle(parts, tmp_path / "p", ranker=False) == 0
    unranked = load_parser(tmp_path / "p")
    assert unranked.parse_line(QUESTIONS[1]).probability is None
    assert unranked.parse_line("nothing").probability is None


def test_the_command_prints_what_is_probable_enough(parser, tmp_path, capsys):
    expected = likelihoods(parser, QUESTIONS[1])
    first, second = expected[PARSES[1]], expected[PARSES[0]]
    assert first > second
    questions = lines(tmp_path / "questions", [QUESTIONS[1], "", "nothing"])
    parse = ["parse", "--parser", str(parser), "--input", questions, "--output", f"{tmp_path}/out"]

    def found():
        return (tmp_path / "out").read_text().splitlines()

    assert main([*parse, "--probabilities"]) == 0
    assert found() == [f"{first:.4f}\t{PARSES[1]}", "0.0000\t", "0.0000\t"]
    assert "without one of" not in capsys.readouterr().err
    assert main([*parse, "--nbest", "2", "--probabilities"]) == 0
    rows = [row.split(" ||| ") for row in found()]
    assert [row[4] for row in rows] == [f"{first:.4f}", f"{second:.4f}", "0.0000", "0.0000"]
    assert main([*parse, "--nbest", "2", "--min-probability", f"{first:.3f}", "--linear"]) == 0
    assert len([row for row in found() if row.startswith("0 ||| answer@1 ")]) == (first >= round(first, 3))
    assert main([*parse, "--min-probability", f"{(first + second) / 2}"]) == 0
    assert found() == [PARSES[1], "", ""]
    assert main([*parse, "--min-probability", f"{(first + 1) / 2}"]) == 0
    assert found() == ["", "", ""]
    said = capsys.readouterr().err
    assert f"1 question without one of a probability of {(first + 1) / 2:g}" in said
    assert "1 question without an expression" in said


def test_probabilities_that_there_are_not_are_refused(parser, parts, tmp_path, capsys):
    for least in ("1.5", "-0.1"):
        assert main(["parse", "--parser", str(parser), "--min-probability", least]) == 2
        assert f"--min-probability is {least}; it is from 0 to 1" in capsys.readouterr().err
    assert bundle(parts, tmp_path / "p", ranker=False) == 0
    for options in (["--probabilities"], ["--min-probability", "0.5"]):
        assert main(["parse", "--parser", f"{tmp_path}/p", "--input", os.devnull, *options]) == 2
        assert "p has no ranker, which knows probabilities; bundle-parser --ranker" in capsys.readouterr().err


def test_what_a_ranker_chooses_among_needs_one(parts, tmp_path, capsys):
    more = ("--candidates", "50")
    assert bundle(parts, tmp_path / "p", *more, ranker=False) == 2
    assert "--candidates is what a ranker chooses among; give --ranker beside it" in capsys.readouterr().err
    assert bundle(parts, tmp_path / "p", *more) == 0
    assert load_parser(tmp_path / "p").reading.candidates == 50


def test_words_of_another_field_are_told_of(parser, tmp_path, capsys):
    questions = lines(tmp_path / "questions", ["qu est ce que c est"] * 4)
    assert main(["parse", "--parser", str(parser), "--input", questions, "--output", f"{tmp_path}/out"]) == 0
    assert "24 of 24 words are in no rule; are they of another" in capsys.readouterr().err


def test_long_words_are_cut_where_they_are_named(parser, tmp_path, capsys):
    questions = lines(tmp_path / "questions", ["states all " + 1000 * "x"])
    assert main(["parse", "--parser", str(parser), "--input", questions, "--output", f"{tmp_path}/out"]) == 0
    assert f"in no rule: {39 * 'x'}…\n" in capsys.readouterr().err


def test_a_string_is_no_list_and_a_list_no_line(parser):
    loaded = decoder.load_parser(parser)
    with pytest.raises(TypeError, match="lines is a string"):
        loaded.parse("rivers")
    with pytest.raises(TypeError, match="line is a list"):
        loaded.parse_line(["rivers"])
    with pytest.raises(TypeError, match=r"k is 2\.5; give a whole number"):
        loaded.n_best("rivers", 2.5)
    for k in (0, -1):
        with pytest.raises(ValueError, match=f"k is {k}; it is at least 1"):
            loaded.n_best("rivers", k)
    assert repr(loaded) == "Parser to funql of 6 rules and a ranker"


# ---------------------------------------------------------------- where it lies


def test_it_can_be_moved(parser, tmp_path):
    shutil.move(parser, tmp_path / "deep down" / "two")
    assert expressions(tmp_path / "deep down" / "two") == PARSES


def test_an_older_parser_is_replaced_and_nothing_else_is(parts, parser, capsys):
    assert bundle(parts, parser, "--beam", "7", ranker=None) == 0
    assert load_parser(parser).decoder.beam == 7
    assert load_parser(parser, SearchDefaults(beam=9)).decoder.beam == 9
    assert load_parser(parser).ranker is None
    assert not (parser / "ranker.json").exists()
    other = parser.parent / "other"
    other.mkdir()
    (other / "mine").touch()
    assert bundle(parts, other) == 2
    assert "exists and is no parser" in capsys.readouterr().err
    assert [path.name for path in other.iterdir()] == ["mine"]


@pytest.mark.parametrize("is_damaged", [False, True])
def test_results_in_an_older_parser_are_not_lost(parts, parser, capsys, is_damaged):
    if is_damaged:
        (parser / "parser.json").write_text("{")
    assert bundle(parts, parser) == 0
    (parser / "parses.txt").write_text("kept")
    assert bundle(parts, parser) == 2
    hint = "Move it, or name another directory"
    assert f"{parser}: holds parses.txt, which is no part of a parser. {hint}\n" in capsys.readouterr().err
    assert (parser / "parses.txt").read_text() == "kept"


@pytest.mark.parametrize(
    "name", ["grammar.bin", "lm.bin", "weights.json", "expressions.json", "ranker.json", "parser.json"]
)
def test_every_changed_or_missing_file_is_found(parser, capsys, name):
    assert sampler(["verify", str(parser)]) == 0
    assert "parser: 5 files, and their digests" in capsys.readouterr().err
    whole = (parser / name).read_bytes()
    at = len(whole) * 2 // 3
    (parser / name).write_bytes(whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :])
    assert sampler(["verify", str(parser)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    (parser / name).unlink()
    assert main(["parse", "--parser", str(parser)]) == 2
    assert name in capsys.readouterr().err


def test_digests_of_large_files_are_compared_by_verify_and_of_others_always(parser, monkeypatch, capsys):
    monkeypatch.setattr("decoder.system.inventory._HASHED", 0)
    record = json.loads((parser / "parser.json").read_text())
    record["files"]["lm.bin"]["sha256"] = "0" * 64
    (parser / "parser.json").write_text(json.dumps(record))
    assert expressions(parser) == PARSES
    assert sampler(["verify", str(parser)]) == 2
    assert "lm.bin: does not match its digest in parser.json" in capsys.readouterr().err
    weights = (parser / "weights.json").read_text()
    (parser / "weights.json").write_text(weights.replace("2.0", "3.0"))
    with pytest.raises(InputError, match=r"weights\.json: does not match its digest"):
        load_parser(parser)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("format", 3, "is of format 3, but this version reads up to 2"),
        ("reading", {"form": "xml", "letters": 0, "copy_any": False, "candidates": 1}, "is damaged"),
        ("reading", {"form": "funql", "letters": -1}, "is damaged"),
        ("reading", {"form": "funql", "letters": 1.5}, "is damaged"),
        ("reading", {"form": "funql", "colour": 1}, "is damaged"),
        ("ranker", None, "is damaged"),
        ("settings", {"beam": "x"}, "is damaged"),
        ("settings", {"max_span": 2.5}, "is damaged"),
        ("lm", [], "no language model"),
        ("files", {}, "does not list grammar.bin"),
    ],
)
def test_wrong_records_are_refused(parser, field, value, complaint):
    record = json.loads((parser / "parser.json").read_text())
    record[field] = value
    if value is None:
        del record[field]
    (parser / "parser.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=complaint):
        load_parser(parser)


# ---------------------------------------------------------------- what does not fit


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--letters", "-1"), "--letters is -1; it is at least 0"),
        (("--candidates", "0"), "--candidates is 0; it is at least 1"),
        (("--form", "sql"), "expressions.json: is of funql, but expressions are to be written as sql"),
        (("--beam", "-1"), "--beam is -1"),
        (("--lm", "none.arpa"), "none.arpa"),
    ],
)
def test_what_does_not_go_together_is_refused(parts, tmp_path, capsys, more, complaint):
    assert bundle(parts, tmp_path / "p", *more) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1
    assert not (tmp_path / "p").exists()


def test_rankers_of_other_lists_are_refused(parts, tmp_path, capsys):
    ranker = read_ranker(parts / "ranker.json")
    weights = {**ranker.weights, "OursFirst": 1.0, "HieroFirst": 1.0, "Nothing": 0.0}
    write_ranker(ranker._replace(weights=weights), parts / "joined.json")
    assert bundle(parts, tmp_path / "p", ranker="joined.json") == 2
    said = capsys.readouterr().err
    assert "joined.json: has weights for 2 features that expressions lack here: HieroFirst, OursFirst" in said
    for left_out, status, complaint in (
        (("Glue", "SymbolLexicon"), 0, "joined.json has no weight for 2 features of 7: Glue, SymbolLexicon"),
        ([name for name in WEIGHTS if name != "Glue"], 2, "joined.json: has no weight for 6 features of 7"),
    ):
        fewer = {name: weight for name, weight in ranker.weights.items() if name not in left_out}
        write_ranker(ranker._replace(weights=fewer), parts / "joined.json")
        assert bundle(parts, tmp_path / "p", ranker="joined.json") == status
        assert complaint in capsys.readouterr().err


def test_letters_that_words_do_not_look_like_are_doubted(parts, tmp_path, capsys):
    assert bundle(parts, tmp_path / "p", letters="3") == 0
    assert "--letters is 3, but words are longer than 3 letters" in capsys.readouterr().err
    words = [f"w{k:03}" for k in range(9)]
    assert doubt_of_letters(words, 4) == ""
    assert (
        doubt_of_letters(words, 0) == "no word is longer than 4 letters, and 9 are as long: they may be cut"
    )
    assert doubt_of_letters([*words, "longer"], 0) == ""
    assert doubt_of_letters([*words, *(f"v{k}" for k in range(30))], 0) == ""
    assert doubt_of_letters([], 0) == ""


def test_forms_are_those_of_the_model_unless_told(parts, tmp_path):
    pairs = ["--source", f"{parts}/source", "--target", f"{parts}/target", "--quiet", "--form", "lisp"]
    assert main(["train-expressions", *pairs, "--output", f"{tmp_path}/lisp.json"]) == 0
    model = ["--expressions", f"{tmp_path}/lisp.json"]
    assert bundle(parts, tmp_path / "p", *model) == 0
    assert load_parser(tmp_path / "p").parse_line("states all").expression == "(answer (state all))"
    assert bundle(parts, tmp_path / "p", *model, "--form", "funql") == 0
    assert load_parser(tmp_path / "p").parse_line("states all").expression == "answer(state(all))"


def test_weights_that_no_feature_has_are_told_of_once(parts, tmp_path, capsys):
    (tmp_path / "w.json").write_text(json.dumps({**WEIGHTS, "Nothing": 1.0}))
    assert bundle(parts, tmp_path / "p", "--weights", f"{tmp_path}/w.json") == 0
    assert "no feature is called Nothing; not used" in capsys.readouterr().err
    load_parser(tmp_path / "p")
    assert capsys.readouterr().err == ""


def test_long_questions_are_left_empty(parser, tmp_path, capsys):
    questions = lines(tmp_path / "questions", ["rivers all " * 50, "rivers all " * 51])
    given = ["--input", questions, "--output", f"{tmp_path}/out"]
    assert main(["parse", "--parser", str(parser), *given]) == 0
    assert "questions: 1 question of more than 100 words left empty" in capsys.readouterr().err
    assert load_parser(parser).n_best("rivers all " * 51) == []


def test_systems_and_parsers_are_told_apart(parser, capsys):
    assert main(["translate", "--system", str(parser)]) == 2
    assert "is a parser, no system. It is for scfg-decoder parse --parser" in capsys.readouterr().err
    assert main(["parse", "--parser", str(parser.parent)]) == 2
    assert f"has no parser.json. Name {parser}" in capsys.readouterr().err
    assert main(["parse", "--parser", str(parser / "none")]) == 2
    assert "there is no such directory" in capsys.readouterr().err
    assert main(["parse", "--parser", str(parser / "weights.json")]) == 2
    assert "is a file, no parser. Name a directory that" in capsys.readouterr().err
