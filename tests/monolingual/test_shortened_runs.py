"""A run that was stopped is not resumed to fewer sweeps than it has: it would say that it has so many."""

from __future__ import annotations

import json

import pytest

from monolingual.cli import main

RUNS = {
    "pcfg": "pcfg sample grammar --sentences sentences --approach sink --prior 1 --chains 2 --burn-in 5",
    "tsg": "tsg train trees.mrg --unknown none --burn-in 5 --marginals",
    "ot": "ot sample tableaux.tsv --chains 2 --burn-in 5 --pilot 8",
}
TABLEAUX = "\t\t\tA\tB\nx\ta\t5\t1\t0\n\tb\t2\t0\t1\n"


@pytest.mark.parametrize("name", RUNS)
def test_no_run_is_resumed_to_fewer_sweeps_than_it_has(name, tmp_path, monkeypatch, capsys):
    (tmp_path / "grammar").write_text("S -> S S [0.4] | 'a' [0.6]\n")
    (tmp_path / "sentences").write_text("a a a\na a\n")
    (tmp_path / "trees.mrg").write_text("(S (NP (D a) (N b)) (VP (V c)))\n" * 2)
    (tmp_path / "tableaux.tsv").write_text(TABLEAUX)
    monkeypatch.chdir(tmp_path)
    assert main([*RUNS[name].split(), "--iterations", "40", "--output", "run", "--quiet"]) == 0
    # As if it had been stopped on the way to a hundred sweeps.
    record = json.loads((tmp_path / "run/run.json").read_text())
    record["finished"] = False
    if name != "pcfg":
        record["sweeps"] = 0
        record["run"]["iterations"] = 100
    (tmp_path / "run/run.json").write_text(json.dumps(record))
    before = (tmp_path / "run/run.json").read_text()
    capsys.readouterr()
    resume = [name, "resume", "run", "--quiet", "--iterations"]
    assert main([*resume, "20"]) == 2
    assert "run has 40 sweeps already; give --iterations more than that" in capsys.readouterr().err
    assert (tmp_path / "run/run.json").read_text() == before
    assert main([*resume, "40"]) == 0
    assert json.loads((tmp_path / "run/run.json").read_text())["finished"]
