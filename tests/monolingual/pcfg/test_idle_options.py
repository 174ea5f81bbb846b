"""Options that do nothing are told of, and lines that count for nothing are counted as lines."""

from __future__ import annotations

import json
import math

import pytest

from monolingual.cli import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g").write_text("S -> S S [0.4] | 'a' [0.6]\n")
    (tmp_path / "trees").write_text("(S a)\n(S (S a) (S a))\n")
    (tmp_path / "text").write_text("a\na a\n")
    (tmp_path / "t.mrg").write_text("(TOP (S (NP (D the) (N dog)) (VP (V barks))))\n")
    (tmp_path / "heads").write_text("S right VP\n")
    return tmp_path


SAMPLE = "sample g --trees trees --iterations 4 --output run --overwrite"
TRAIN = "train g --trees trees --output made"
INDUCE = "induce t.mrg --output made"
FORMER = "--binarise right, left or head"


@pytest.mark.parametrize(
    ("command", "option", "other", "with_other"),
    [
        (SAMPLE, "--score-every 2", "--gold", "--sentences text --gold trees"),
        (SAMPLE, "--skip-unparsable", "--sentences", "--sentences text"),
        (TRAIN, "--skip-unparsable", "--sentences", "--sentences text"),
        ("check g", "--format johnson", "--tighten", "--tighten made"),
        (INDUCE, "--heads heads", "--binarise head", "--binarise head"),
        (f"{INDUCE} --binarise left", "--heads heads", "--binarise head", "--binarise head"),
        (INDUCE, "--horizontal 3", FORMER, "--binarise left"),
    ],
)
def test_options_that_do_nothing_are_told(place, capsys, command, option, other, with_other):
    told = f"warning: {option.split()[0]} does nothing without {other}\n"
    for more, is_told in ((option, True), (f"{option} {with_other}", False), ("", False)):
        assert main(["pcfg", *command.split(), *more.split(), "--quiet"]) == 0
        said = capsys.readouterr().err
        assert (told in said) == is_told
        assert ("does nothing" in said) == is_told


def test_rare_words_of_trees_without_words_are_told(place, capsys):
    for more, told in (
        ("--tags-only --rare 1", "warning: --rare does nothing with --tags-only"),
        ("--rare 1", ""),
    ):
        assert main(["pcfg", *INDUCE.split(), *more.split(), "--quiet"]) == 0
        assert capsys.readouterr().err.startswith(told) if told else capsys.readouterr().err == ""


def test_empty_lines_between_infixes_stay(place, capsys):
    (place / "text").write_text("\na\n\n\na a\n\n")
    assert main(["pcfg", "prefix", "g", "--sentences", "text", "--infix", "--quiet"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert [line == "" for line in lines] == [True, False, True, True, False, True, True]
    assert float(lines[1]) == pytest.approx(0.0, abs=1e-6)
    assert -math.inf < float(lines[4]) < 0.0


def test_gold_trees_of_sentences_that_are_left_out_are_left_out(place):
    """Those of all sentences, or of the others; a run goes on with either."""
    lines = ["a", "a b a", "a a a", "b", "a a a a a"]
    trees = ["(S a)", "(S (S a) (S (S b) (S a)))", "(S (S (S a) (S a)) (S a))", "(S b)"]
    trees.append("(S (S (S a) (S (S a) (S a))) (S (S a) (S a)))")
    derived = (0, 2, 4)
    for name, rows in (("text", lines), ("gold", trees)):
        (place / name).write_text("".join(f"{row}\n" for row in rows))
        (place / f"few.{name}").write_text("".join(f"{rows[at]}\n" for at in derived))
    options = "--skip-unparsable --score-every 2 --iterations"
    found = []
    for number, files in enumerate((("few.text", "few.gold"), ("text", "gold"), ("text", "few.gold"))):
        command = "sample g --sentences {} --gold {}".format(*files)
        assert main(["pcfg", *f"{command} {options} 6 --output {number} --quiet".split()]) == 0
        assert main(["pcfg", "resume", str(number), "--iterations", "9", "--quiet"]) == 0
        found.append(json.loads((place / str(number) / "summary.json").read_text())["f1"])
    assert 0.0 < found[0] < 1.0
    assert found == [found[0]] * 3
    (place / "gold").write_text("".join(f"{row}\n" for row in trees[:4]))
    assert main(["pcfg", *f"sample g --sentences text --gold gold {options} 6 --output x".split()]) == 2
