"""Texts of which the rules know little are remarked on by `translate`."""

import json

import numpy as np
import pytest

from decoder.cli import main
from decoder.lm.arpa import write_arpa
from scfg_sampler.rules.table import select_rows, write_rule_table
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.tuning.test_tune import INITIAL, RULES


def write_models(directory) -> list[str]:
    """A grammar, a language model and weights; the options that name them."""
    write_rule_table(small.rule_table(RULES), directory / "grammar.gz")
    write_arpa(random_model(5, 2), directory / "lm.arpa")
    (directory / "w.json").write_text(json.dumps(INITIAL))
    names = (("--grammar", "grammar.gz"), ("--lm", "lm.arpa"), ("--weights", "w.json"))
    return [text for option, name in names for text in (option, str(directory / name))]


@pytest.mark.parametrize(("known", "said"), [(9, True), (10, False)])
@pytest.mark.parametrize("more", [[], ["--nbest", "2"]])
def test_a_text_that_rules_do_not_know_is_remarked_on(tmp_path, capsys, known, said, more):
    options = [*write_models(tmp_path), "--input", str(tmp_path / "input"), "--output", str(tmp_path / "o")]

    def told(text: str) -> str:
        (tmp_path / "input").write_text(text)
        assert main(["translate", "--quiet", *options, *more]) == 0
        return capsys.readouterr().err

    remark = f"input: {20 - known} of 20 words are in no rule; are the languages swapped"
    assert (remark in told(f"{known * 'u '}\n{(20 - known) * 'mots '}\n")) == said
    assert "in no rule" not in told(19 * "mots " + "\n")


@pytest.mark.parametrize("command", ["translate", "tune"])
def test_a_table_without_rules_is_remarked_on(tmp_path, capsys, command):
    options = write_models(tmp_path)
    write_rule_table(select_rows(small.rule_table(RULES), np.zeros(0, np.int64)), tmp_path / "grammar.gz")
    (tmp_path / "text").write_text("u\n")
    if command == "tune":
        options = [*options[:4], "--references", str(tmp_path / "text"), "--rounds", "1", "--source"]
    else:
        options = [*options, "--input"]
    main([command, "--quiet", *options, str(tmp_path / "text"), "--output", str(tmp_path / "o")])
    told = capsys.readouterr().err
    assert "warning: " in told
    assert f"{tmp_path}/grammar.gz has no rules; words that no other table knows are copied\n" in told


@pytest.mark.parametrize(
    ("text", "said"), [("u mots\nmots\n", "2 lines (2 of 3 words in no rule)"), ("\n", "1 line")]
)
def test_the_closing_line_says_how_many_words_were_copied(tmp_path, capsys, text, said):
    (tmp_path / "input").write_text(text)
    options = [*write_models(tmp_path), "--input", str(tmp_path / "input"), "--output", str(tmp_path / "o")]
    assert main(["translate", *options]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"{said} translated in ")
