"""Runs that are resumed or written over while they are read: nobody is told that they are damaged."""

from __future__ import annotations

import shutil

import pytest

from scfg_sampler.cli import main
from scfg_sampler.errors import InputError
from scfg_sampler.learner import diagnosis, grammar, pair_posteriors
from scfg_sampler.learner import run as learner_run
from scfg_sampler.learner.settings import GrammarSettings
from scfg_sampler.report import page
from tests.learner.test_commands import sample

CHANGED = "has been resumed, finished, written over or removed since it was read"
SHORT = ("--iterations", "6", "--burn-in", "2")


@pytest.fixture
def run(corpus_options, tmp_path):
    assert sample(corpus_options, tmp_path / "run", *SHORT) == 0
    return tmp_path / "run"


@pytest.mark.parametrize("what", ["resumed", "written over"])
@pytest.mark.parametrize(
    ("command", "module", "step"),
    [
        ("verify", learner_run, "_stored"),
        ("grammar", grammar, "_counts_of"),
        ("report", page, "_outputs"),
    ],
)
def test_what_is_read_of_two_states_is_refused(
    run, corpus_options, monkeypatch, capsys, command, module, step, what
):
    """The record is read; what comes next finds another run, or a later state of the same."""
    original = getattr(module, step)

    def afterwards(*arguments):
        found = original(*arguments)
        monkeypatch.setattr(module, step, original)
        if what == "resumed":
            assert main(["resume", str(run), "--iterations", "9", "--quiet"]) == 0
        else:
            assert sample(corpus_options, run, *SHORT, "--seed", "5", "--overwrite") == 0
        return found

    monkeypatch.setattr(module, step, afterwards)
    output = run.parent / "output"
    output.write_text("older")
    arguments = [] if command == "verify" else ["--output", str(output)]
    capsys.readouterr()
    assert main([command, str(run), "--quiet", *arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    assert CHANGED in said[-1]
    assert "start the run again" not in " ".join(said)
    assert output.read_text() == "older"
    monkeypatch.undo()
    assert main([command, str(run), "--quiet", *arguments]) == 0


def test_counts_that_are_gone_meanwhile_are_not_said_to_be_missing(run, monkeypatch):
    original = grammar.read_run

    def afterwards(*arguments):
        record = original(*arguments)
        shutil.rmtree(run)
        return record

    monkeypatch.setattr(grammar, "read_run", afterwards)
    with pytest.raises(InputError, match=CHANGED):
        grammar.write_grammar(run, run.parent / "output", GrammarSettings())


def test_a_state_of_another_run_is_not_said_to_be_damaged(run, corpus_options, monkeypatch):
    original = pair_posteriors.bank_of

    def afterwards(*arguments):
        other = run.parent / "train.f"
        other.write_text(other.read_text().replace("f0", "f9"))
        assert sample(corpus_options, run, *SHORT, "--overwrite") == 0
        return original(*arguments)

    monkeypatch.setattr(pair_posteriors, "bank_of", afterwards)
    with pytest.raises(Exception, match=CHANGED):
        pair_posteriors.read_last_state(run)


def test_a_run_that_goes_on_is_verified_meanwhile(run, corpus_options, monkeypatch, capsys):
    """Its record says every now and then how far it is, which is no change."""
    told = []

    def verified_then(*arguments):
        told.append(main(["verify", str(run), "--quiet"]))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(learner_run._Chain, "write_results", verified_then)
        assert sample(corpus_options, run, *SHORT, "--overwrite") == 130
    assert told == [0]


def test_a_run_that_is_written_over_by_a_shorter_one_is_diagnosed(run, corpus_options, monkeypatch):
    """The record is of more sweeps than the trace has rows by the time that it is read."""
    assert sample(corpus_options, run, "--iterations", "30", "--burn-in", "2", "--overwrite") == 0
    original = diagnosis.read_trace

    def after_another(path):
        monkeypatch.setattr(diagnosis, "read_trace", original)
        assert sample(corpus_options, run, "--iterations", "12", "--burn-in", "2", "--overwrite") == 0
        return original(path)

    monkeypatch.setattr(diagnosis, "read_trace", after_another)
    assert main(["diagnose", str(run)]) == 0


def test_a_run_that_goes_on_is_diagnosed_meanwhile(run, corpus_options, monkeypatch):
    """Its trace is ahead of its record after every sweep."""
    original, told = learner_run._Chain._write_record, []

    def diagnosed_then(chain, sweeps, **options):
        if sweeps >= 8:
            told.append(main(["diagnose", str(run), "--burn-in", "0"]))
        record = original(chain, sweeps, **options)
        if sweeps >= 8:
            told.append(main(["diagnose", str(run), "--burn-in", "0"]))
        return record

    monkeypatch.setattr(learner_run._Chain, "_write_record", diagnosed_then)
    assert sample(corpus_options, run, "--iterations", "12", "--burn-in", "2", "--overwrite") == 0
    assert len(told) == 14
    assert set(told) == {0}


def test_nothing_is_left_of_the_results_of_a_run_that_is_written_over(
    run, corpus_options, monkeypatch, tmp_path
):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(learner_run._Chain, "write_results", interrupted)
    assert sample(corpus_options, run, *SHORT, "--overwrite") == 130
    assert {path.name for path in run.iterdir()} == {"run.json", "trace.tsv", "checkpoint.npz"}
    assert main(["report", str(run), "--output", str(tmp_path / "page"), "--quiet"]) == 0
    assert "no counts yet" in (tmp_path / "page").read_text()


def test_counts_of_an_earlier_state_are_not_told_of_as_those_of_a_run_that_goes_on(
    run, monkeypatch, tmp_path
):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(learner_run._Chain, "write_results", interrupted)
    assert main(["resume", str(run), "--iterations", "9", "--quiet"]) == 130
    assert (run / "counts" / "last.gz").exists()
    assert main(["report", str(run), "--output", str(tmp_path / "page"), "--quiet"]) == 0
    assert "no counts yet" in (tmp_path / "page").read_text()
