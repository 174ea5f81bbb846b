"""`resume` goes on where a run ended, to the same end, and tells of both parts."""

from __future__ import annotations

import contextlib
import gzip
import json

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.chains.chain import read_trace
from tests.learner.test_commands import sample


def test_resumed_run_equals_one_that_ran_through(corpus_options, tmp_path):
    through, stopped = tmp_path / "through", tmp_path / "stopped"
    assert sample(corpus_options, through, "--iterations", "9", "--burn-in", "2", "--tables", "exact") == 0
    assert sample(corpus_options, stopped, "--iterations", "5", "--burn-in", "2", "--tables", "exact") == 0
    assert main(["resume", str(stopped), "--iterations", "9", "--quiet"]) == 0
    for name in ("counts/last.gz", "counts/average.gz", "counts/marginal.gz", "derivations.jsonl.gz"):
        first, second = ((run / name).read_bytes() for run in (through, stopped))
        assert gzip.decompress(first) == gzip.decompress(second), name
    traces = [read_trace(run / "trace.tsv") for run in (through, stopped)]
    assert all(
        np.array_equal(traces[0][name], traces[1][name]) for name in traces[0] if "seconds" not in name
    )


def test_resume_writes_what_a_run_stopped_after_its_last_sweep_lacks(corpus_options, tmp_path):
    run = tmp_path / "run"
    assert sample(corpus_options, run, "--iterations", "4") == 0
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "finished": False}))
    (run / "counts" / "last.gz").unlink()
    assert main(["resume", str(run), "--quiet"]) == 0
    assert (run / "counts" / "last.gz").exists()


@pytest.mark.parametrize(("chains", "left"), [("1", 3), ("2", 6)])
def test_resume_reckons_with_the_sweeps_that_are_left(corpus_options, tmp_path, monkeypatch, chains, left):
    run, totals = tmp_path / "run", []
    assert sample(corpus_options, run, "--iterations", "4", "--chains", chains) == 0
    monkeypatch.setattr(
        "scfg_sampler.core.console.progress",
        lambda text, total: contextlib.nullcontext(lambda steps, note: totals.append(total)),
    )
    assert main(["resume", str(run), "--iterations", "7", "--quiet"]) == 0
    assert totals == [left] * left


def test_resume_says_when_there_is_nothing_left(corpus_options, tmp_path, capsys):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "4") == 0
    assert main(["resume", str(tmp_path / "run")]) == 2
    assert "has 4 sweeps already; give --iterations" in capsys.readouterr().err


@pytest.mark.parametrize("chains", ["1", "2"])
def test_resume_tells_of_its_own_option_when_it_is_to_end_within_the_burn_in(
    corpus_options, tmp_path, capsys, chains
):
    run = tmp_path / "run"
    assert sample(corpus_options, run, "--iterations", "4", "--burn-in", "3", "--chains", chains) == 0
    assert main(["resume", str(run), "--iterations", "3"]) == 2
    message = "--iterations is 3; the run was started with a burn-in of 3: give more"
    assert message in capsys.readouterr().err


def test_resume_refuses_another_corpus(corpus_options, tmp_path, capsys):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "4") == 0
    text = (tmp_path / "train.f").read_text()
    (tmp_path / "train.f").write_text(text.replace("f0", "f9", 1))
    assert main(["resume", str(tmp_path / "run"), "--iterations", "6"]) == 2
    run = tmp_path / "run"
    told = f"{tmp_path / 'train.f'} (source) is not the same as when {run} began. Put it back as then, or"
    assert told in capsys.readouterr().err


def test_resumed_runs_tell_the_cost_of_all_their_processes(corpus_options, tmp_path):
    run = tmp_path / "run"
    assert sample(corpus_options, run, "--iterations", "2") == 0
    record = json.loads((run / "run.json").read_text())
    record |= {"cpu_seconds": 1000.0, "peak_memory_mb": 1e6}
    (run / "run.json").write_text(json.dumps(record))
    assert main(["resume", str(run), "--iterations", "4", "--quiet"]) == 0
    record = json.loads((run / "run.json").read_text())
    assert 1000.0 < record["cpu_seconds"] < 1500.0
    assert record["peak_memory_mb"] == 1e6
