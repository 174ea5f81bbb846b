"""What `ot fit`, `gla` and `maxent` write into a directory, and what they leave there."""

from __future__ import annotations

import json

import pytest

from monolingual.cli import main
from monolingual.ot import grammar
from monolingual.ot.formats import write_tableaux
from scfg_sampler.core.chains import driver
from tests.monolingual.ot.examples import SPANISH, two_constraints

COMMANDS = {
    "fit": ["--restarts", "1"],
    "gla": ["--seeds", "1", "--trials", "10", "--stages", "1"],
    "maxent": ["--prior-variance", "1"],
}
SAMPLE = [
    "--chains",
    "2",
    "--iterations",
    "40",
    "--pilot",
    "8",
    "--collapsed",
    "3",
    "--checkpoint-every",
    "5",
]


def ot(*arguments):
    return main(["ot", *map(str, arguments), "--quiet"])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tableaux(SPANISH, "spanish")
    write_tableaux(two_constraints(6, 2), "two")
    return tmp_path


@pytest.fixture
def stopped(place, monkeypatch):
    """A run that was stopped before it had a summary."""
    real = driver.run_chain

    def interrupted(*arguments, **options):
        chain = real(*arguments, **options)
        for count, sweep in enumerate(chain):
            yield sweep
            if count == 10:
                chain.close()
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(driver, "run_chain", interrupted)
        assert ot("sample", "spanish", "--output", "run", *SAMPLE) == 130
    assert not (place / "run/summary.json").exists()
    return place / "run"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_run_that_was_stopped_stays(stopped, capsys, command):
    capsys.readouterr()
    before = {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file()}
    assert ot(command, "two", "--output", "run", *COMMANDS[command]) == 2
    assert "holds a run already. Continue it with 'ot resume'" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in stopped.rglob("*") if path.is_file()} == before
    assert ot("resume", "run") == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_an_older_run_stays_beside_a_grammar(stopped, command):
    assert ot(command, "two", "--output", "run", "--overwrite", *COMMANDS[command]) == 0
    files = {path.name for path in stopped.rglob("*") if path.is_file()}
    assert files == {"tableaux.tsv", "predictions.json", "summary.json"}
    assert json.loads((stopped / "summary.json").read_text())
    assert ot("predict", "run", "two") == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_what_may_not_be_replaced_is_refused_before_anything_is_learnt(place, monkeypatch, capsys, command):
    assert ot(command, "two", "--output", "made", *COMMANDS[command]) == 0
    monkeypatch.setattr(grammar, "predict", lambda *_: pytest.fail("it has learnt"))
    capsys.readouterr()
    assert ot(command, "two", "--output", "made", *COMMANDS[command]) == 2
    assert "holds a grammar already" in capsys.readouterr().err
