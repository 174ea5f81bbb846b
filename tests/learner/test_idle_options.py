"""What is given, but does nothing beside the other options of `sample` and `grammar`, is warned of."""

from __future__ import annotations

import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.chains.chain import read_trace
from tests.learner.test_commands import sample

REJECTION = ("--operator", "rejection")
NOTHING = "does nothing with --operator rejection"
HERE = "there is one shard, which is swept here"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--model", "dirichlet", "--base", "lexical"], "--base does nothing with --model dirichlet"),
        (["--model", "dirichlet", "--discount", "0.7"], "--discount does nothing with --model dirichlet"),
        (["--source-vocabulary", "9"], "--source-vocabulary does nothing without --model dirichlet"),
        (["--sweeps-per-level", "3"], "--sweeps-per-level does nothing without --schedule stratified"),
        (["--max-attached", "2"], "--max-attached does nothing without --unaligned free"),
        (["--types-start", "same"], "--types-start does nothing without --types"),
        ([*REJECTION, "--schedule", "stratified"], f"--schedule {NOTHING}"),
        ([*REJECTION, "--sweeps-per-level", "3"], f"--sweeps-per-level {NOTHING}"),
        ([*REJECTION, "--visit-order", "breadth-first"], f"--visit-order {NOTHING}"),
        ([*REJECTION, "--no-density-factor"], f"--no-density-factor {NOTHING}"),
        (
            ["--learn-hyperparameters", "--discount", ".5", "--strength", "1", "--mean-length", "2"],
            "--learn-hyperparameters does nothing with --discount, --strength, --mean-length",
        ),
        (["--learn-hyperparameters", "--discount", ".5"], ""),
        (["--anneal", "3:1:0"], "--anneal 3:1:0 has no sweeps, so that all are at 1"),
        (
            ["--threads", "4", "--shards", "1"],
            "--threads does nothing for a chain that is not divided; --shards P divides the corpus",
        ),
        (["--threads", "2", "--types", "2"], "--threads does nothing with --types"),
        (["--workers", "2", "--types", "2"], f"{HERE}, as always with --types"),
        (["--workers", "2"], f"{HERE}; --shards P divides the corpus for others"),
        (["--threads", "2", "--chains", "2"], ""),
        ([*REJECTION, "--paper"], ""),
        (["--paper", "--sweeps-per-level", "3"], ""),
    ],
)
def test_options_that_do_nothing_are_warned_of(corpus_options, tmp_path, capsys, more, told):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "1", *more) == 0
    assert capsys.readouterr().err == (f"warning: {told}\n" if told else "")


@pytest.mark.parametrize(
    ("chains", "option", "told"),
    [
        ("1", "--workers=1", HERE),
        ("2", "--workers=1", ""),
        ("1", "--threads=2", "--threads does nothing for a chain that is not divided"),
        ("1", "--threads=1", ""),
        ("2", "--threads=2", ""),
    ],
)
def test_what_does_nothing_for_a_run_that_goes_on_in_one_shard_is_warned_of(
    corpus_options, tmp_path, capsys, chains, option, told
):
    run = tmp_path / "run"
    assert sample(corpus_options, run, "--iterations", "1", "--chains", chains) == 0
    assert main(["resume", str(run), "--iterations", "2", option, "--quiet"]) == 0
    assert capsys.readouterr().err == (f"warning: {told}\n" if told else "")


def test_max_scope_is_of_the_filter_by_scope(corpus_options, tmp_path, capsys):
    run, table = str(tmp_path / "run"), str(tmp_path / "table")
    assert sample(corpus_options, run, "--iterations", "1") == 0
    for rule_filter in ("none", "hiero", "scope"):
        told = ["--filter", rule_filter, "--max-scope", "1", "--quiet"]
        assert main(["grammar", run, "--output", table, *told]) == 0
        warning = "warning: --max-scope does nothing without --filter scope\n"
        assert capsys.readouterr().err == ("" if rule_filter == "scope" else warning)


def test_trees_that_are_proposed_whole_have_no_level(corpus_options, tmp_path):
    more = ["--iterations", "2", "--paper", *REJECTION]
    assert sample(corpus_options, tmp_path / "run", *more) == 0
    assert (read_trace(tmp_path / "run" / "trace.tsv")["level"] == 0).all()


@pytest.mark.parametrize(
    ("anneal", "burn_in", "sweeps"),
    [
        ("3:1:4", "4", ""),
        ("3:1:4", "3", "4 sweeps"),
        ("3:1:1", "0", "1 sweep"),
        ("3:1:9", "4", "9 sweeps"),
        ("2:2:4", "0", ""),
        ("3:1:4", None, ""),
    ],
)
def test_sweeps_that_count_while_they_are_annealed_are_warned_of(
    corpus_options, tmp_path, capsys, anneal, burn_in, sweeps
):
    more = ["--iterations", "5", "--anneal", anneal, *(["--burn-in", burn_in] if burn_in else [])]
    assert sample(corpus_options, tmp_path / "run", *more) == 0
    why = f"--burn-in is {burn_in}, so that sweeps at other temperatures count"
    assert capsys.readouterr().err == (f"warning: --anneal takes {sweeps} and {why}\n" if sweeps else "")
