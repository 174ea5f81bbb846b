"""A run that is not resumed, as it cannot be, or has more sweeps than it is to have, is left as it is."""

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


@pytest.fixture(params=RUNS)
def name(request, tmp_path, monkeypatch):
    """Of a model, of which there is a run of forty sweeps."""
    (tmp_path / "grammar").write_text("S -> S S [0.4] | 'a' [0.6]\n")
    (tmp_path / "sentences").write_text("a a a\na a\n")
    (tmp_path / "trees.mrg").write_text("(S (NP (D a) (N b)) (VP (V c)))\n" * 2)
    (tmp_path / "tableaux.tsv").write_text(TABLEAUX)
    monkeypatch.chdir(tmp_path)
    options = ("--iterations", "40", "--output", "run", "--quiet")
    assert main([*RUNS[request.param].split(), *options]) == 0
    return request.param


def test_no_run_is_resumed_to_fewer_sweeps_than_it_has(name, tmp_path, capsys):
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


def test_a_run_that_cannot_be_gone_on_with_is_left_as_it_is(name, tmp_path):
    for checkpoint in tmp_path.glob("run/**/checkpoint*.npz"):
        checkpoint.write_bytes(b"damaged")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert main([name, "resume", "run", "--iterations", "60", "--quiet"]) == 2
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
