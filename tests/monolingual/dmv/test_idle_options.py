"""Options that do nothing beside the others are told of."""

from __future__ import annotations

import pytest

from monolingual.cli import main

MODEL = "root N 0.5\nroot V 0.5\n" + "".join(
    f"stop {tag} {side} {when} 0.5\n"
    for tag in "NV"
    for side in ("left", "right")
    for when in ("adjacent", "further")
)
MODEL += "".join(
    f"child {head} {side} {tag} 0.5\n" for head in "NV" for side in ("left", "right") for tag in "NV"
)
CONLL = "".join(
    f"{at}\t{word}\t_\t{coarse}\t{tag}\t_\t{head}\t_\t_\t_\n"
    for at, word, coarse, tag, head in ((1, "dogs", "NOUN", "N", 2), (2, "bark", "VERB", "V", 0))
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").write_text(MODEL)
    (tmp_path / "columns").write_text("N V\t2 0\tdogs bark\n")
    (tmp_path / "conll").write_text(CONLL + "\n")
    return tmp_path


def told(capsys, arguments):
    capsys.readouterr()
    assert main(["dmv", *arguments.split(), "--quiet"]) == 0
    return [line for line in capsys.readouterr().err.splitlines() if "does nothing" in line]


@pytest.mark.parametrize("option", ["--shown 3", "--decoder viterbi", "--tags upos", "--punctuation X"])
def test_how_a_treebank_is_shown_does_nothing_without_one(place, capsys, option):
    warning = f"warning: {option.split()[0]} does nothing without --treebank"
    assert told(capsys, f"report m --output r.html {option}") == [warning]
    assert told(capsys, f"report m --output r.html {option} --treebank conll") == []
    assert told(capsys, "report m --output r.html") == []


@pytest.mark.parametrize("option", ["--tags upos", "--punctuation V", "--punctuation ="])
def test_which_column_and_punctuation_it_is_does_nothing_with_three_columns(place, capsys, option):
    train = "train {} --rounds 1 --output out --overwrite"
    said = f"{option.split()[0]} does nothing with three columns, which are taken as they are"
    assert told(capsys, f"{train.format('columns')} {option}") == [f"warning: columns: {said}"]
    assert told(capsys, f"{train.format('conll')} --heldout columns {option}") == [
        f"warning: columns: {said}"
    ]
    assert told(capsys, f"{train.format('conll')} {option}") == []
    assert told(capsys, train.format("columns")) == []
    assert told(capsys, f"parse m columns --output out {option}") == [f"warning: columns: {said}"]


def test_the_best_trees_of_a_list_are_of_no_decoder(place, capsys):
    listed = "parse m columns --output out --nbest 2"
    assert told(capsys, listed) == []
    assert told(capsys, f"{listed} --decoder viterbi") == ["warning: --decoder does nothing with --nbest"]
    assert told(capsys, f"{listed} --decoder viterbi --picture p.svg") == []
    assert told(capsys, "parse m columns --output out --decoder viterbi") == []
