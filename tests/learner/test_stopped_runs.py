"""Runs that were killed go on as if nothing had happened, and never pass for finished ones."""

from __future__ import annotations

import json
import os

import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.chains import chain, driver
from scfg_sampler.learner import run
from tests.learner.test_commands import sample

MORE = ["--iterations", "12", "--burn-in", "4", "--marginals", "--checkpoint-every", "2"]


class Killed(BaseException):
    """What stands for SIGKILL within a process: nothing catches it, and nothing is tidied up after it."""


def results(directory) -> dict[str, bytes]:
    """Everything in a run directory that does not depend on the time."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name not in ("run.json", "trace.tsv", "checkpoint.npz"):
            found[str(path.relative_to(directory))] = path.read_bytes()
        elif path.name == "trace.tsv":
            lines = (line.split("\t") for line in path.read_text().splitlines())
            rows = [[cell for k, cell in enumerate(line) if k not in (9, 10)] for line in lines]
            found[str(path.relative_to(directory))] = repr(rows).encode()
    return found


def record(directory) -> dict:
    return json.loads((directory / "run.json").read_text())


def test_a_run_is_not_made_shorter(corpus_options, tmp_path, capsys, monkeypatch):
    """A run that stopped after its last sweep has more sweeps than fewer iterations ask for."""

    def killed(*arguments):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(run, "write_lexical", killed)
        with pytest.raises(Killed):
            sample(corpus_options, tmp_path / "run", "--iterations", "6")
    assert main(["resume", str(tmp_path / "run"), "--iterations", "4", "--quiet"]) == 2
    assert "has 6 sweeps already" in capsys.readouterr().err


def test_a_run_killed_at_its_first_checkpoint_begins(corpus_options, tmp_path, monkeypatch, capsys):
    """The record is there, the checkpoint is not."""
    assert sample(corpus_options, tmp_path / "whole", *MORE) == 0
    replace, calls = os.replace, []

    def killed(*arguments):
        calls.append(arguments)
        if len(calls) > 1:
            raise Killed
        replace(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(Killed):
            sample(corpus_options, tmp_path / "run", *MORE)
    assert record(tmp_path / "run")["sweeps"] == 0
    assert not (tmp_path / "run" / "checkpoint.npz").exists()
    assert main(["verify", str(tmp_path / "run")]) == 0
    assert "run: no sweep was done yet; 'scfg-sampler resume' begins it" in capsys.readouterr().err
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert results(tmp_path / "run") == results(tmp_path / "whole")


def test_a_run_that_has_not_begun_refuses_another_corpus(corpus_options, tmp_path, capsys):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "2") == 0
    (tmp_path / "run" / "checkpoint.npz").unlink()
    begun = record(tmp_path / "run") | {"sweeps": 0, "finished": False}
    (tmp_path / "run" / "run.json").write_text(json.dumps(begun))
    text = (tmp_path / "train.f").read_text()
    (tmp_path / "train.f").write_text(text.replace("f0", "f9", 1))
    assert main(["resume", str(tmp_path / "run")]) == 2
    assert "train.f (source) is not the same as when" in capsys.readouterr().err


def test_a_lost_checkpoint_is_named(corpus_options, tmp_path, capsys):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "2") == 0
    (tmp_path / "run" / "checkpoint.npz").unlink()
    for command in (["resume", "--iterations", "4"], ["verify"]):
        assert main([*command, str(tmp_path / "run")]) == 2
        said = capsys.readouterr().err
        assert "has no checkpoint.npz, though 2 sweeps were done. Restore the file, or begin again" in said


def test_no_grammar_of_a_run_that_was_killed_but_the_sweeps_its_checkpoint_keeps(
    corpus_options, tmp_path, capsys, monkeypatch
):
    def killed(*arguments):
        raise Killed

    save = driver.save_checkpoint
    with monkeypatch.context() as patch:
        patch.setattr(chain, "save_checkpoint", lambda *arguments: (save(*arguments), killed()))
        with pytest.raises(Killed):
            sample(corpus_options, tmp_path / "run", *MORE)
    assert record(tmp_path / "run")["sweeps"] < 2
    table = ["--output", str(tmp_path / "table.gz")]
    assert main(["grammar", str(tmp_path / "run"), *table]) == 2
    said = capsys.readouterr().err
    assert "run: is not finished: 2 of 12 sweeps. Finish it with 'scfg-sampler resume'" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "table.gz").exists()
