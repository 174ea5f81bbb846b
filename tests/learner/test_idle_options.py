"""What `sample` warns of, what a first line names, and what a resumed run has cost."""

from __future__ import annotations

import json

import pytest

from scfg_sampler.cli import main
from scfg_sampler.rules.table import read_rule_table


def sample(options: list[str], output, *more: str) -> int:
    return main(["sample", *options, "--output", str(output), "--quiet", *more])


@pytest.mark.parametrize(
    ("more", "origin", "told"),
    [
        (["--max-length", "4"], "last", "|max_length:4|"),
        (["--average-every", "2", "--average-until", "4"], "average", "|average_every:2|average_until:4|"),
        (["--model", "dirichlet", "--source-vocabulary", "999"], "last", "|source_vocabulary:999|"),
        (["--model", "dirichlet", "--tables", "exact"], "last", "|tables:exact|"),
    ],
)
def test_signature_names_what_makes_other_counts(corpus_options, tmp_path, more, origin, told):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "4", *more) == 0
    table = tmp_path / "table.gz"
    assert main(["grammar", str(tmp_path / "run"), "--from", origin, "-o", str(table), "--quiet"]) == 0
    assert told in read_rule_table(table).signature


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--model", "dirichlet", "--base", "lexical"], "--base says nothing with --model dirichlet"),
        (["--model", "dirichlet", "--discount", "0.7"], "--discount says nothing with --model dirichlet"),
        (["--source-vocabulary", "9"], "--source-vocabulary says nothing without --model dirichlet"),
        (["--sweeps-per-level", "3"], "--sweeps-per-level says nothing without --schedule stratified"),
        (["--max-attached", "2"], "--max-attached says nothing without --unaligned free"),
        (["--types-start", "same"], "--types-start says nothing without --types"),
        (["--paper", "--sweeps-per-level", "3"], ""),
    ],
)
def test_options_that_say_nothing_are_warned_of(corpus_options, tmp_path, capsys, more, told):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "1", *more) == 0
    assert capsys.readouterr().err == (f"warning: {told}\n" if told else "")


def test_threads_for_types_are_no_shards(corpus_options, tmp_path):
    more = ["--iterations", "1", "--types", "2", "--threads", "2"]
    assert sample(corpus_options, tmp_path / "run", *more) == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["shards"] == 1


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
