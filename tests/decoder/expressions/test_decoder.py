"""Translation to expressions, with a grammar that would rather say something else."""

import json

import numpy as np
import pytest

from decoder.cli import main
from decoder.expressions.decoder import ExpressionDecoder, expression_features
from decoder.expressions.files import Expressions
from decoder.expressions.forms import from_linear
from decoder.expressions.model import count_arguments
from decoder.expressions.words import SymbolLexicon, train_lexicon
from decoder.grammar.trie import GrammarSource, build_grammar
from decoder.lm.model import load_lms
from decoder.translation.settings import SearchDefaults
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small

RULES = [
    ("rivers X1", "answer@1 river@1 X1", (0.0, 0.0)),
    ("rivers", "river@1", (2.0, 0.0)),
    ("states X1", "answer@1 state@1 X1", (0.0, 0.0)),
    ("states X1", "answer@1 river@1 X1", (-1.0, 0.0)),
    ("in X1", "loc@1 X1", (0.0, 0.0)),
    ("in X1", "X1 all@0", (3.0, 0.0)),
    ("in", "loc@1", (0.0, 0.0)),
    ("all", "all@0", (0.0, 0.0)),
    ("texas", "'texas'@0", (0.0, 0.0)),
    ("texas", "all@0", (-1.0, 0.0)),
]
TRAINING = [
    ("rivers in texas", "answer@1 river@1 loc@1 'texas'@0"),
    ("states all", "answer@1 state@1 all@0"),
    ("rivers all", "answer@1 river@1 all@0"),
]


@pytest.fixture
def files(tmp_path):
    """A directory with a grammar, a language model, weights, and a model of expressions."""
    write_rule_table(small.rule_table(RULES), tmp_path / "grammar.gz")
    for name, side in (("source", 0), ("target", 1)):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in TRAINING))
    arguments = ["--source", f"{tmp_path}/source", "--target", f"{tmp_path}/target", "--quiet"]
    assert (
        main(["train-lm", f"{tmp_path}/target", "--order", "2", "--output", f"{tmp_path}/lm.arpa", "--quiet"])
        == 0
    )
    assert main(["train-expressions", *arguments, "--output", f"{tmp_path}/m.json"]) == 0
    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.1, "Glue": 0.0, "PassThrough": -3.0}
    weights |= {"ExpressionModel": 2.0, "SymbolLexicon": 0.1}
    (tmp_path / "w.json").write_text(json.dumps(weights))
    return tmp_path


def decoder(files, lexicon: SymbolLexicon | None = None, **weights: float) -> ExpressionDecoder:
    grammar = build_grammar([GrammarSource(small.rule_table(RULES))])
    trees = [tree.split() for _, tree in TRAINING]
    sources = [source.split() for source, _ in TRAINING]
    known = {**json.loads((files / "w.json").read_text()), **weights}
    expressions = Expressions(count_arguments(trees), lexicon or train_lexicon(sources, trees))
    settings = SearchDefaults(beam=0, max_targets=0)
    return ExpressionDecoder(expressions, grammar, *load_lms([str(files / "lm.arpa")]), known, settings)


def test_all_translations_are_expressions(files):
    ours = decoder(files)
    result = ours.search(["rivers", "in", "texas"])
    found = ours.translations(result, 50)
    assert found[0].text == "answer@1 river@1 loc@1 'texas'@0"
    assert all(from_linear(each.words) is not None for each in found)
    plain = super(ExpressionDecoder, ours).best(result)
    assert from_linear(plain.words) is None, "the grammar alone says something else"


def test_of_queries_those_that_are_none_are_left_out(files, monkeypatch):
    """Most of what the grammar says names a table that is nowhere, or has its clauses in the wrong order."""
    rules = [
        ("a", "select@3 t.a@0 from@1 t@0 where@1 t.b@0", (0.0, 0.0)),
        ("a", "select@3 u.a@0 from@1 t@0 where@1 t.b@0", (2.0, 0.0)),
        ("a", "select@3 t.a@0 from@1 t@0 where@1 u.b@0", (1.0, 0.0)),
        ("a", "select@3 t.a@0 where@1 t.b@0 from@1 t@0", (3.0, 0.0)),
        ("a", "select@2 u.a@0 from@1 u@0", (-1.0, 0.0)),
        *(("a", f"select@2 u.a@0 from@1 v{k}@0", (5.0, 0.0)) for k in range(4)),
        *((f"b{k}", f"select@2 t.a{k}@0 from@1 u@0", (0.0, 0.0)) for k in range(3)),
        ("c", "select@2 X1 from@1 t@0", (0.0, 0.0)),
    ]
    grammar = build_grammar([GrammarSource(small.rule_table(rules))])
    trees = [target.split() for _, target, _ in rules[:-1]]
    trees += [
        ["select@3", "t.b@0", "where@1", "u.a@0", "where@1", "t.b@0"],
        ["select@3", "t.b@0", "from@1", "u@0", "from@1", "t@0"],
    ]
    weights = json.loads((files / "w.json").read_text())
    models = load_lms([str(files / "lm.arpa")])
    found = {}
    for form in ("funql", "sql"):
        expressions = Expressions(count_arguments(trees), SymbolLexicon({}, {}), form)
        settings = SearchDefaults(beam=0, max_targets=0)
        ours = ExpressionDecoder(expressions, grammar, *models, weights, settings)
        lists = ours.k_best(ours.search(["a"]), 20)
        found[form] = [each.text for each in ours.translations(ours.search(["a"]), 20)]
        assert len(lists.score) == len(lists.word_start) - 1 == len(lists.edge_start) - 1 == len(found[form])
        nothing = ours.best(ours.search(["b1"]))
        assert bool(nothing.words) == (form == "funql")
    assert len(found["funql"]) == 9
    assert sorted(found["sql"]) == ["select@2 u.a@0 from@1 u@0", "select@3 t.a@0 from@1 t@0 where@1 t.b@0"]
    result = ours.search(["a"])
    for farthest, number in ((1, 0), (16, 1)):
        monkeypatch.setattr("decoder.expressions.decoder._FEWEST", 1)
        monkeypatch.setattr("decoder.expressions.decoder._FARTHEST", farthest)
        assert len(ours.k_best(result, 1).words) == 4 * number


def test_score_is_weights_times_features(files):
    ours = decoder(files)
    for text in ("rivers in texas", "states all", "rivers unknown all"):
        for found in ours.translations(ours.search(text.split()), 20):
            assert found.score == pytest.approx(float(ours.weights @ found.features), abs=1e-9)


def test_features_are_those_of_the_expression(files):
    lexicon = SymbolLexicon({}, {"river@1": {"": 0.25}, "answer@1": {"rivers": 0.5}})
    ours = decoder(files, lexicon)
    found = ours.best(ours.search(["rivers", "all"]))
    assert found.text == "answer@1 river@1 all@0"
    values = dict(zip(ours.feature_names, found.features, strict=True))
    assert values["SymbolLexicon"] == pytest.approx(0.75)
    # Of the type of answer's argument there are river 2 and state 1, of river's loc 1 and all 2.
    river = (2 + 2 * 2 / 3) / (3 + 2)
    everything = (1 + 2 * 2 / 3) / (2 + 2)
    assert values["ExpressionModel"] == pytest.approx(np.log(river * everything))
    assert ours.feature_names == expression_features(ours.grammar)


def test_words_without_rules_are_left_out_and_counted(files):
    ours = decoder(files)
    found = ours.translate(["rivers", "please", "all"])
    assert found.text == "answer@1 river@1 all@0"
    assert dict(zip(ours.feature_names, found.features, strict=True))["PassThrough"] == 1


def test_no_words_where_there_is_no_expression(files):
    ours = decoder(files)
    assert ours.translate(["in"]).words == []
    assert ours.translate([]).words == []


def test_a_table_without_rules_has_no_expression_for_any_sentence(files, capsys):
    (files / "grammar.gz").write_text("")
    (files / "text").write_text("rivers in texas\n\n")
    given = ["--weights", f"{files}/w.json", "--input", f"{files}/text", "--quiet"]
    assert main(["translate", *command(files, *given)]) == 0
    assert capsys.readouterr().out == "\n\n"


def test_lexicon_decides_between_expressions(files):
    for bonus, expected in ((0.0, "answer@1 state@1 all@0"), (3.0, "answer@1 river@1 all@0")):
        lexicon = SymbolLexicon({}, {"river@1": {"": bonus}})
        found = decoder(files, lexicon, SymbolLexicon=1.0).translate(["states", "all"])
        assert found.text == expected


def test_posteriors_are_refused(files):
    ours = decoder(files)
    with pytest.raises(SettingsError, match="posteriors"):
        ours.posterior(ours.search(["rivers", "all"]))


def command(files, *more: str) -> list[str]:
    return [
        "--grammar",
        f"{files}/grammar.gz",
        "--lm",
        f"{files}/lm.arpa",
        "--expressions",
        f"{files}/m.json",
        *more,
    ]


def test_commands_tune_and_translate(files, capsys):
    (files / "input").write_text("rivers in texas\n\nin\nstates please all\n")
    arguments = [
        "--input",
        f"{files}/input",
        "--output",
        f"{files}/out",
        "--weights",
        f"{files}/tuned.json",
        "--quiet",
    ]
    tuning = [
        "--source",
        f"{files}/source",
        "--references",
        f"{files}/target",
        "--metric",
        "exact",
        "--rounds",
        "2",
    ]
    assert main(["tune", *command(files, *tuning, "--output", f"{files}/tuned.json")]) == 0
    assert "exact 100.00" in capsys.readouterr().err
    assert main(["translate", *command(files, *arguments)]) == 0
    assert (files / "out").read_text().splitlines() == [
        "answer@1 river@1 loc@1 'texas'@0", "", "", "answer@1 state@1 all@0",
    ]  # fmt: skip
    assert main(["linearise", "--undo", f"{files}/out", "--output", f"{files}/funql"]) == 0
    assert (files / "funql").read_text().splitlines()[0] == "answer(river(loc('texas')))"


REFUSED = [["--reference", "x"], ["--derivations", "x"], ["--hypergraph", "x"], ["--markup", "xml"]]


def test_lines_without_an_expression_are_counted(files, capsys):
    (files / "input").write_text("rivers in texas\n\nin\n")
    arguments = ["--input", f"{files}/input", "--output", f"{files}/out", "--weights", f"{files}/w.json"]
    for more in ([], ["--nbest", "3"]):
        assert main(["translate", *command(files, *arguments, *more)]) == 0
        assert capsys.readouterr().err.splitlines()[-1] == "1 line without a well-formed expression"
    (files / "input").write_text("rivers in texas\n")
    assert main(["translate", *command(files, *arguments)]) == 0
    assert "without" not in capsys.readouterr().err


@pytest.mark.parametrize("option", REFUSED)
def test_what_does_not_go_together_is_refused(files, capsys, option):
    arguments = ["--weights", f"{files}/w.json", *option]
    assert main(["translate", *command(files, *arguments)]) == 2
    assert f"{option[0]} does not go with --expressions" in capsys.readouterr().err


def test_weights_without_the_features_are_refused(files, capsys):
    (files / "w.json").write_text(
        '{"First": 1, "Second": 0, "LanguageModel": 1, "Glue": 0, "PassThrough": -1}'
    )
    assert main(["translate", *command(files, "--weights", f"{files}/w.json")]) == 2
    assert "no weight for 'ExpressionModel', 'SymbolLexicon'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "target", "complaint"),
    [
        ("a\nb\n", "c@0\n", "1 line, but"),
        ("a\n", "c(d)\n", "not an expression in linear form: c(d)"),
        ("", "", "has no lines"),
    ],
)
def test_wrong_training_is_refused(files, capsys, source, target, complaint):
    (files / "source").write_text(source)
    (files / "target").write_text(target)
    arguments = ["--source", f"{files}/source", "--target", f"{files}/target", "--output", f"{files}/n.json"]
    assert main(["train-expressions", *arguments]) == 2
    assert complaint in capsys.readouterr().err
    assert not (files / "n.json").exists()


def test_of_sql_only_queries_are_learnt_from(files, capsys):
    """What is no query is refused; one whose table is in no FROM is no loss to learn from."""
    (files / "source").write_text("a\nb\nb\n")
    (files / "target").write_text("select@2 c.d@0 from@1 c@0\nselect@2 s.d@0 from@1 c@0\nanswer@1 'x'@0\n")
    arguments = ["--source", f"{files}/source", "--target", f"{files}/target", "--output", f"{files}/n.json"]
    assert main(["train-expressions", *arguments, "--form", "sql"]) == 2
    complaint = (
        "target:3: not a query in linear form: answer@1 'x'@0. Make it with scfg-decoder linearise --form"
    )
    assert complaint in capsys.readouterr().err
    assert not (files / "n.json").exists()
    for name in ("source", "target"):
        (files / name).write_text("".join((files / name).read_text().splitlines(keepends=True)[:2]))
    assert main(["train-expressions", *arguments, "--form", "sql"]) == 0
    assert "1 of 2 queries, the first in line 2, uses a table that is in no FROM" in capsys.readouterr().err
    assert main(["train-expressions", *arguments]) == 0
    assert "FROM" not in capsys.readouterr().err
