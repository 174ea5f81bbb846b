"""What `dmv train` says of its objective."""

from __future__ import annotations

import re

from monolingual.cli import main

ROWS = "DT NN VB\t2 3 0\nNN VB\t2 0\nNN VB DT NN\t2 0 4 2\nUH\t0\n"


def call(*arguments):
    return main(["dmv", *map(str, arguments)])


def test_the_objective_is_said_to_be_that_before_the_last_round(tmp_path, monkeypatch, capsys):
    """Of EM it is the likelihood of the model with a round less."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(ROWS)
    pattern, said = r"objective (\S+) before the last round, log likelihood (\S+)", []
    for rounds in (3, 4):
        assert call("train", "train.txt", "--output", "m.txt", "--rounds", rounds) == 0
        said.append(re.search(pattern, capsys.readouterr().err).groups())
    assert said[1][0] == said[0][1]
    assert call("train", "train.txt", "--output", "m.txt", "--method", "gibbs", "--iterations", 3) == 0
    assert re.search(r"objective \S+, log likelihood", capsys.readouterr().err)
