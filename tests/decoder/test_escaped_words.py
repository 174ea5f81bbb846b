"""Words that another decoder's table, its input and its language model spell in ways of their own."""

from __future__ import annotations

import json

import numpy as np
import pytest

from decoder.cli import main
from decoder.lm.arpa import write_arpa
from decoder.notebook.systems import make_system
from tests.decoder.lm.test_model import random_model
from tests.decoder.tuning.test_tune import INITIAL


def test_escaped_words_are_read_as_tables_are(tmp_path, capsys):
    write_arpa(random_model(5, 2), tmp_path / "lm.arpa")
    (tmp_path / "w.json").write_text(json.dumps(INITIAL | {"LanguageModel_OOV": -1.0}))
    (tmp_path / "table").write_text("[X] ||| -lsb- ||| b ||| First=0 Second=0\n")
    (tmp_path / "in").write_text("-lsb- [\n")
    arguments = ["translate", "--lm", f"{tmp_path}/lm.arpa", "--weights", f"{tmp_path}/w.json", "--quiet"]
    arguments += ["--input", f"{tmp_path}/in", "--output", f"{tmp_path}/out"]
    for settings, expected in (
        (["--grammar", f"{tmp_path}/table,format=joshua"], "b b\n"),
        (["--grammar", f"{tmp_path}/table,format=joshua", "--input-words", "plain"], "-lsb- b\n"),
        (["--grammar", f"{tmp_path}/table,format=joshua", "--input-words", "plain", "--copy", "any"], None),
    ):
        weights = INITIAL | {"TargetWords": 0.0, "Abstract": 0.0, "LanguageModel_OOV": -1.0}
        weights["PassThrough"] = 100.0 if expected is None else -100.0
        (tmp_path / "w.json").write_text(json.dumps(weights))
        assert main([*arguments, *settings]) == 0
        assert (tmp_path / "out").read_text() == (expected or "-lsb- [\n")


def test_systems_take_words_as_they_are_unless_they_are_told_and_help_says_so(tmp_path, capsys):
    write_arpa(random_model(5, 2), tmp_path / "lm.arpa")
    (tmp_path / "w.json").write_text(json.dumps(INITIAL | {"TargetWords": 0.0, "Abstract": 0.0}))
    (tmp_path / "table").write_text("[X] ||| -lsb- ||| b ||| First=0 Second=0\n")
    (tmp_path / "in").write_text("-lsb- [\n")
    parts = ["--grammar", f"{tmp_path}/table,format=joshua", "--lm", f"{tmp_path}/lm.arpa"]
    parts += ["--weights", f"{tmp_path}/w.json", "--output", f"{tmp_path}/system", "--quiet"]
    assert main(["bundle", *parts]) == 0
    translate = ["translate", "--system", f"{tmp_path}/system", "--input", f"{tmp_path}/in", "--quiet"]
    capsys.readouterr()
    for told, expected in (([], "-lsb- b\n"), (["--input-words", "joshua"], "b b\n")):
        assert main([*translate, *told]) == 0
        assert capsys.readouterr().out == expected
    for command, is_said in (("translate", True), ("tune", False)):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert ("plain with --system)" in " ".join(capsys.readouterr().out.split())) == is_said


@pytest.mark.parametrize(
    ("rule", "file_format", "spelled", "word"),
    [
        ("u [X] ||| &apos; [X] ||| 1 1 1 1 ||| ||| 1 1 1 ||| |||", "moses", "&apos;", "'"),
        ('"u" @ X ||| "&#60;UNK>" @ X ||| p=1 egfp=0', "travatar", "&#60;UNK>", "<UNK>"),
    ],
)
def test_models_of_escaped_text_know_the_words_of_tables_that_were_read(
    tmp_path, rule, file_format, spelled, word, capsys
):
    lines = ["\\data\\", "ngram 1=4", "", "\\1-grams:", "-1\t<unk>", "-99\t<s>", "-0.5\t</s>"]
    (tmp_path / "lm.arpa").write_text("\n".join([*lines, f"-0.25\t{spelled}", "", "\\end\\", ""]))
    (tmp_path / "table").write_text(f"{rule}\n")
    names = ["LogForward", "LogBackward", "LexForward", "LexBackward", "LogCount", "TargetWords", "Abstract"]
    weights = dict.fromkeys([*names, "Glue", "PassThrough"], 0.0) | {"LanguageModel": 1.0}
    (tmp_path / "w.json").write_text(json.dumps(weights))
    (tmp_path / "in").write_text(f"u {spelled}\n")
    table = f"{tmp_path}/table,format={file_format}"
    arguments = ["--grammar", table, "--lm", f"{tmp_path}/lm.arpa", "--quiet"]
    arguments += ["--weights", f"{tmp_path}/w.json", "--input", f"{tmp_path}/in", "--nbest", "1"]
    assert main(["translate", *arguments, "--output", f"{tmp_path}/out"]) == 0
    number, text, _, score = (tmp_path / "out").read_text().split(" ||| ")
    assert (number, text) == ("0", f"{word} {word}")
    assert float(score) == pytest.approx(-(0.25 + 0.25 + 0.5) * np.log(10), abs=1e-5)
    # A compiled table does not know what it was, and may be told: the words are the same, once read.
    assert main(["compile-grammar", f"{tmp_path}/table", "--output", f"{tmp_path}/table.bin"]) == 0
    assert f"name it {tmp_path}/table.bin,format={file_format} where" in capsys.readouterr().err
    arguments[1] = f"{tmp_path}/table.bin,format={file_format}"
    assert main(["translate", *arguments, "--output", f"{tmp_path}/again"]) == 0
    assert (tmp_path / "again").read_text() == (tmp_path / "out").read_text()
    arguments[1] = f"{tmp_path}/table.bin"
    assert main(["translate", *arguments, "--output", f"{tmp_path}/plain"]) == 0
    assert (tmp_path / "plain").read_text() != (tmp_path / "out").read_text()


def test_references_are_spelled_as_the_input_is(tmp_path, capsys):
    rules = ["&#91;das [X] ||| &#91;the [X]", "&apos;s [X] ||| &apos;s [X]"]
    scores = " ||| 0.5 0.5 0.5 0.5 ||| 0-0 ||| 1 1 1 ||| |||\n"
    (tmp_path / "table").write_text("".join(rule + scores for rule in rules))
    (tmp_path / "in").write_text("&#91;das &apos;s\n")
    (tmp_path / "ref").write_text("&#91;the &apos;s\n")
    (tmp_path / "plain").write_text("[the 's\n")
    lines = ["\\data\\", "ngram 1=4", "", "\\1-grams:", "-1\t<unk>", "-99\t<s>", "-0.5\t</s>", "-1\t's"]
    (tmp_path / "lm.arpa").write_text("\n".join([*lines, "", "\\end\\", ""]))
    given = ["--grammar", f"{tmp_path}/table,format=moses", "--lm", f"{tmp_path}/lm.arpa", "--quiet"]
    given += ["--input-words", "moses"]
    for reference in ("ref", "plain"):
        tuned = f"{tmp_path}/{reference}.json"
        tune = ["--source", f"{tmp_path}/in", "--references", f"{tmp_path}/{reference}", "--rounds", "0"]
        assert main(["tune", *given, *tune, "--metric", "exact", "--output", tuned]) == 0
        rounds = (tmp_path / f"{reference}.json.rounds.tsv").read_text().splitlines()
        assert float(rounds[1].split("\t")[1]) == 100.0, rounds
        derive = ["--weights", tuned, "--reference", f"{tmp_path}/{reference}", "--input", f"{tmp_path}/in"]
        assert main(["translate", *given, *derive, "--output", f"{tmp_path}/out"]) == 0
        assert (tmp_path / "out").read_text().startswith("0 ||| [the 's ||| ")


def test_line_breaks_in_words_break_no_lines(tmp_path, capsys):
    """Other decoders' tables may spell one &#10;, and so may a reference that is spelled as they are."""
    scores = " ||| 0.5 0.5 0.5 0.5 ||| 0-0 ||| 1 1 1 ||| |||\n"
    (tmp_path / "table").write_text(f"u [X] ||| a&#10;b [X]{scores}")
    write_arpa(random_model(5, 2), tmp_path / "lm.arpa")
    names = ["LogForward", "LogBackward", "LexForward", "LexBackward", "LogCount", "TargetWords", "Abstract"]
    weights = dict.fromkeys([*names, "LanguageModel", "Glue", "PassThrough"], 0.1)
    (tmp_path / "w.json").write_text(json.dumps(weights))
    (tmp_path / "in").write_text("u\nu\n")
    (tmp_path / "ref").write_text("a&#10;b\na&#10;b\n")
    given = ["--grammar", f"{tmp_path}/table,format=moses", "--lm", f"{tmp_path}/lm.arpa", "--quiet"]
    given += ["--weights", f"{tmp_path}/w.json", "--input", f"{tmp_path}/in"]
    forced = ["--reference", f"{tmp_path}/ref", "--derivations", f"{tmp_path}/trees"]
    assert main(["translate", *given, *forced, "--output", f"{tmp_path}/out"]) == 0
    rows = (tmp_path / "out").read_text().splitlines()
    assert [row.split(" ||| ")[:2] for row in rows] == [["0", "a b"], ["1", "a b"]]
    assert main(["show", f"{tmp_path}/trees", "--sentence", "1", "--no-scores"]) == 0
    assert "X [0–1] u → a b\n" in capsys.readouterr().out
    (tmp_path / "table").rename(tmp_path / "moses")
    system = make_system(tmp_path / "moses", tmp_path / "lm.arpa", weights)
    assert system.translate_line("u u").text == "a b a b"


def test_bars_in_constants_do_not_part_the_fields_of_lists_of_expressions(tmp_path):
    texts = {
        "source": "say now\nsay then\n",
        "target": "say@1 'a_|||_b'@0\nsay@1 '|||'@0\n",
        "table": "".join(
            f"[X] ||| {word} ||| {symbol} ||| First=0\n"
            for word, symbol in (
                ("say", "say@1"),
                ("now", "'a_&#124;&#124;&#124;_b'@0"),
                ("then", "'&#124;&#124;&#124;'@0"),
            )
        ),
        "w.json": json.dumps(
            dict.fromkeys(
                ["First", "LanguageModel", "Glue", "PassThrough", "ExpressionModel", "SymbolLexicon"], 1.0
            )
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    at = {name: f"{tmp_path}/{name}" for name in (*texts, "lm", "model", "parser", "out")}
    pairs = ["--source", at["source"], "--target", at["target"], "--quiet"]
    assert main(["train-lm", at["target"], "--output", at["lm"], "--quiet"]) == 0
    assert main(["train-expressions", *pairs, "--output", at["model"]]) == 0
    parts = ["--grammar", at["table"], "--lm", at["lm"], "--weights", at["w.json"], "--quiet"]
    assert main(["bundle-parser", *parts, "--expressions", at["model"], "--output", at["parser"]]) == 0
    parse = ["parse", "--parser", at["parser"], "--input", at["source"], "--output", at["out"], "--quiet"]
    assert main([*parse, "--nbest", "1"]) == 0
    rows = [row.split(" ||| ") for row in (tmp_path / "out").read_text().splitlines()]
    spelled = ["say('a &#124;&#124;&#124; b')", "say('|||')"]
    assert [(len(row), row[1]) for row in rows] == [(4, text) for text in spelled]
