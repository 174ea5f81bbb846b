"""Commands with several language models, from files to files."""

import json

import pytest

from decoder.cli import main
from decoder.lm.arpa import write_arpa
from decoder.system.bundle import read_system_record
from scfg_sampler.rules.table import write_rule_table
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.tuning.test_tune import INITIAL, REFERENCES, RULES, SOURCES


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A directory with a grammar, two language models, one compiled too, weights, a development set."""
    monkeypatch.chdir(tmp_path)
    write_rule_table(small.rule_table(RULES), "grammar.gz")
    write_arpa(random_model(5, 2), "one.arpa")
    write_arpa(random_model(6, 3)._replace(words=["<unk>", "<s>", "</s>", "c", "x", "a"]), "two.arpa")
    assert main(["compile-lm", "two.arpa", "--output", "two.bin", "--quiet"]) == 0
    (tmp_path / "w.json").write_text(
        json.dumps(INITIAL | {"LanguageModel_1": -0.4, "LanguageModel_1_OOV": 0.3})
    )
    (tmp_path / "source").write_text("".join(" ".join(words) + "\n" for words in SOURCES))
    (tmp_path / "reference").write_text("".join(" ".join(row[0]) + "\n" for row in REFERENCES))
    return tmp_path


def translated(*arguments: str) -> str:
    files = ["--input", "source", "--output", "out", "--nbest", "5", "--quiet"]
    assert main(["translate", *arguments, *files]) == 0
    with open("out", encoding="utf-8") as stream:
        return stream.read()


def test_compiled_models_bundles_and_arpa_files_translate_alike(parts):
    models = ["--grammar", "grammar.gz", "--lm", "one.arpa", "--weights", "w.json"]
    found = translated(*models, "--lm", "two.arpa")
    names = [field.partition("=")[0] for field in found.split(" ||| ")[2].split()]
    own = ["LanguageModel", "LanguageModel_1", "Glue", "PassThrough"]
    assert names == ["First", "Second", "LanguageModel_1_OOV", *own]
    assert translated(*models, "--lm", "two.bin") == found
    assert main(["bundle", *models, "--lm", "two.bin", "--output", "system", "--quiet"]) == 0
    assert translated("--system", "system") == found
    assert translated("--system", "system", "--max-targets", "7") == found  # Ranks anew.
    assert read_system_record("system")["format"] == 2


def test_a_bundle_of_one_model_is_as_it_was(parts):
    (parts / "w.json").write_text(json.dumps(INITIAL))
    models = ["--grammar", "grammar.gz", "--lm", "one.arpa", "--weights", "w.json"]
    assert main(["bundle", *models, "--output", "system", "--quiet"]) == 0
    record = read_system_record("system")
    assert (record["format"], record["lm"]) == (1, {"order": 2, "words": 6})
    assert not (parts / "system" / "lm-1.bin").exists()


def test_a_system_without_its_second_model_is_refused(parts, capsys):
    models = ["--grammar", "grammar.gz", "--lm", "one.arpa", "--lm", "two.bin", "--weights", "w.json"]
    assert main(["bundle", *models, "--output", "system", "--quiet"]) == 0
    (parts / "system" / "lm-1.bin").unlink()
    assert main(["translate", "--system", "system", "--input", "source"]) == 2
    assert "system/lm-1.bin: is missing from the system" in capsys.readouterr().err


def test_tuning_weighs_every_model_and_knows_which_they_were(parts, capsys):
    files = ["--source", "source", "--references", "reference", "--output", "tuned.json", "--quiet"]
    models = ["--grammar", "grammar.gz", "--lm", "one.arpa"]
    settings = ["--rounds", "2", "--nbest", "10", *files]
    assert main(["tune", *models, "--lm", "two.arpa", *settings]) == 0
    weights = json.loads((parts / "tuned.json").read_text())
    assert weights["LanguageModel"] != 0 != weights["LanguageModel_1"]
    assert main(["tune", *models, "--lm", "one.arpa", *settings]) == 2
    assert "tuning was begun with other lm" in capsys.readouterr().err


def test_tuning_begins_with_the_weights_that_names_have_without_their_prefix(parts):
    lines = [f"[X] ||| {f} ||| {e} ||| LogForward=-1 Own=2 ||| \n" for f, e in ("ua", "vb", "wc")]
    (parts / "rules").write_text("".join(lines))
    files = ["--source", "source", "--references", "reference", "--output", "tuned.json", "--quiet"]
    tables = ["--grammar", "rules", "--grammar", "rules,prefix=A", "--grammar", "rules,prefix=b."]
    assert main(["tune", *tables, "--lm", "one.arpa", "--rounds", "0", *files]) == 0
    weights = json.loads((parts / "tuned.json").read_text())
    assert {name: weights[name] for name in ("LogForward", "ALogForward", "b.LogForward")} == {
        "LogForward": 0.3,
        "ALogForward": 0.3,
        "b.LogForward": 0.3,
    }
    assert weights["Own"] == weights["AOwn"] == weights["b.Own"] == 0
