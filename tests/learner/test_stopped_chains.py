"""Runs of several chains that were killed, also those begun over older ones, lose and hide nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.chains import occupied
from scfg_sampler.learner import chains
from scfg_sampler.learner import run as runs
from tests.learner.test_commands import sample
from tests.learner.test_stopped_runs import MORE, Killed, record, results


@pytest.fixture
def whole(corpus_options, tmp_path):
    """Four chains that nobody disturbed."""
    assert sample(corpus_options, tmp_path / "whole", *MORE, "--chains", "4", "--threads", "2") == 0
    return results(tmp_path / "whole")


def wait_for(condition, seconds=120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def sweeps_of(directory) -> int:
    """Those that the checkpoint keeps."""
    with np.load(directory / "checkpoint.npz") as archive:
        return json.loads(archive["header"].item())["sweep"]


SLOWLY = """
import math, sys, time
from scfg_sampler.cli import main
from scfg_sampler.core import console
from scfg_sampler.learner import run
make = run.learner_kernel
def slow_kernel(*arguments):
    kernel = make(*arguments)
    def slowly(rng, state):
        time.sleep(0.1)
        return kernel.step(rng, state)
    return kernel._replace(step=slowly)
run.learner_kernel = slow_kernel
console.SECONDS_OF_SILENCE = math.inf
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("more", [[], ["--threads", "3"]])
def test_chains_killed_while_the_first_run_go_on_to_the_same_end(
    corpus_options,
    tmp_path,
    capsys,
    whole,
    more,
):
    directory = tmp_path / "run"
    options = [
        "sample",
        *corpus_options,
        "--output",
        str(directory),
        *MORE,
        "--chains",
        "4",
        "--threads",
        "2",
    ]
    child = subprocess.Popen([sys.executable, "-c", SLOWLY, *options], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: all((directory / f"chain-{k}" / "checkpoint.npz").exists() for k in (1, 2)))
        trace = directory / "chain-1" / "trace.tsv"
        wait_for(lambda: trace.exists() and trace.read_text().count("\n") > 3)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert not (directory / "chain-3").exists()
    assert record(directory)["chains"] == 4
    assert record(directory)["threads"] == 2
    assert main(["verify", str(directory)]) == 0
    verified = capsys.readouterr().err
    for k in (1, 2):
        assert f"chain-{k}/checkpoint.npz: sweep {sweeps_of(directory / f'chain-{k}')}" in verified
    assert f"{directory}/chain-3: no sweep was done yet" in verified
    table = ["--output", str(tmp_path / "table.gz")]
    assert main(["grammar", str(directory), *table]) == 2
    said = capsys.readouterr().err
    done = ", ".join(str(sweeps_of(directory / f"chain-{k}")) for k in (1, 2))
    told = f"stopped before all of its 4 chains were done: those begun have {done} of 12 sweeps"
    assert f"{told}. Finish it with 'scfg-sampler resume'" in said
    assert said.count("\n") == 1
    assert main(["resume", str(directory), "--quiet", *more]) == 0
    assert record(directory)["chains"] == 4
    assert record(directory)["finished"]
    assert results(directory) == whole
    assert main(["grammar", str(directory), "--quiet", *table]) == 0
    assert main(["grammar", str(tmp_path / "whole"), "--quiet", "--output", str(tmp_path / "other.gz")]) == 0
    assert (tmp_path / "table.gz").read_bytes() == (tmp_path / "other.gz").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_chains_that_are_told_to_stop_save_their_sweeps(corpus_options, tmp_path, whole, number):
    directory = tmp_path / "run"
    options = ["sample", *corpus_options, "--output", str(directory), *MORE, "--checkpoint-every", "0"]
    options += ["--chains", "4", "--threads", "2"]
    child = subprocess.Popen([sys.executable, "-c", SLOWLY, *options], stderr=subprocess.PIPE)
    traces = [directory / f"chain-{k}" / "trace.tsv" for k in (1, 2)]
    try:
        wait_for(lambda: all(path.exists() and path.read_text().count("\n") > 3 for path in traces))
    finally:
        child.send_signal(number)
        child.send_signal(number if number == signal.SIGTERM else 0)  # As timeout does.
        _, said = child.communicate(timeout=60)
    expected = {signal.SIGTERM: (143, b"terminated"), signal.SIGINT: (130, b"interrupted")}[number]
    hint = f"to go on: scfg-sampler resume {directory}\n".encode()
    assert (child.returncode, said) == (expected[0], hint + b"scfg-sampler: " + expected[1] + b"\n")
    for trace in traces:
        assert sweeps_of(trace.parent) == trace.read_text().count("\n") - 1
    assert main(["resume", str(directory), "--quiet"]) == 0
    assert results(directory) == whole


def test_chains_all_done_but_not_pooled_are_pooled(corpus_options, tmp_path, capsys, monkeypatch, whole):
    def killed(*arguments):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(chains, "_pool", killed)
        with pytest.raises(Killed):
            sample(corpus_options, tmp_path / "run", *MORE, "--chains", "4")
    assert main(["grammar", str(tmp_path / "run"), "--output", str(tmp_path / "t")]) == 2
    assert "Finish it with 'scfg-sampler resume'" in capsys.readouterr().err
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert results(tmp_path / "run") == whole


def test_the_lock_of_a_finished_chain_that_was_killed_goes(corpus_options, tmp_path, monkeypatch, whole):
    def killed(*arguments):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(chains, "_pool", killed)
        with pytest.raises(Killed):
            sample(corpus_options, tmp_path / "run", *MORE, "--chains", "4")
    (tmp_path / "run" / "chain-2" / "run.lock").write_text("{}")
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert not list((tmp_path / "run").rglob("run.lock"))
    assert results(tmp_path / "run") == whole


@pytest.mark.parametrize("old", [["--chains", "2"], []])
@pytest.mark.parametrize("new", [["--chains", "3"], []])
def test_overwriting_a_run_never_leaves_the_old_one(
    corpus_options,
    tmp_path,
    capsys,
    monkeypatch,
    old,
    new,
):
    """Killed at each place where something is removed or written, the first times."""
    assert sample(corpus_options, tmp_path / "old", "--iterations", "3", *old) == 0
    for moment in range(6):
        directory = tmp_path / f"run{moment}"
        shutil.copytree(tmp_path / "old", directory)
        calls = []

        def counted(function, calls=calls, moment=moment):
            def call(*arguments, **more):
                calls.append(1)
                if len(calls) > 1:
                    raise Killed
                return function(*arguments, **more)

            return call

        with monkeypatch.context() as patch:
            patch.setattr(occupied.shutil, "rmtree", counted(shutil.rmtree))
            patch.setattr(os, "replace", counted(os.replace))
            with pytest.raises(Killed):
                sample(corpus_options, directory, "--iterations", "5", "--overwrite", *new)
        status = main(["grammar", str(directory), "--output", str(tmp_path / "t")])
        said = capsys.readouterr().err
        assert (status, said.count("\n")) == (2, 1)
        assert "is not a run directory" in said or "'scfg-sampler resume'" in said


@pytest.mark.parametrize("number", [["--chains", "2"], []])
def test_overwriting_with_an_unusable_corpus_keeps_the_old_run(corpus_options, tmp_path, number):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "3", *number) == 0
    before = results(tmp_path / "run"), (tmp_path / "run" / "run.json").read_bytes()
    (tmp_path / "train.a").write_text("0-9\n")
    for new in (["--chains", "3"], []):
        assert sample(corpus_options, tmp_path / "run", "--iterations", "3", "--overwrite", *new) == 2
    if number:
        assert main(["resume", str(tmp_path / "run"), "--iterations", "5", "--quiet"]) == 2
    assert (results(tmp_path / "run"), (tmp_path / "run" / "run.json").read_bytes()) == before
    assert main(["grammar", str(tmp_path / "run"), "--output", str(tmp_path / "t"), "--quiet"]) == 0


def test_a_longer_run_of_chains_that_was_killed_stays_longer(corpus_options, tmp_path, monkeypatch):
    """`resume` without --iterations goes on to what the last one was told."""
    for name in ("run", "whole"):
        assert sample(corpus_options, tmp_path / name, "--iterations", "4", "--chains", "2") == 0
    assert main(["resume", str(tmp_path / "whole"), "--iterations", "8", "--quiet"]) == 0

    def killed(*arguments, **more):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(chains, "resume_run", killed)
        with pytest.raises(Killed):
            main(["resume", str(tmp_path / "run"), "--iterations", "8", "--quiet"])
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert results(tmp_path / "run") == results(tmp_path / "whole")


@pytest.mark.parametrize(
    ("number", "options", "message"),
    [
        (["--chains", "2"], ["--threads", "0", "--iterations", "9"], "--threads is 0; it must be from 1 to"),
        ([], ["--threads", "0", "--iterations", "9"], "--threads is 0; it must be from 1 to"),
        (["--chains", "2"], ["--iterations", "4"], "has 6 sweeps already; give --iterations more"),
        ([], ["--iterations", "4"], "has 6 sweeps already; give --iterations more"),
        (["--chains", "2"], ["--iterations", "1"], "the run was started with a burn-in of 2: give more"),
    ],
)
def test_resume_refuses_what_makes_no_sense(corpus_options, tmp_path, capsys, number, options, message):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "6", *number) == 0
    assert main(["resume", str(tmp_path / "run"), *options, "--quiet"]) == 2
    assert message in capsys.readouterr().err
    assert record(tmp_path / "run")["finished"]


def test_chains_of_which_one_is_longer_go_on_to_its_end(corpus_options, tmp_path, capsys):
    run, whole = str(tmp_path / "run"), str(tmp_path / "whole")
    for name in (run, whole):
        assert sample(corpus_options, name, "--iterations", "4", "--chains", "2") == 0
    assert main(["resume", whole, "--iterations", "8", "--quiet"]) == 0
    assert main(["resume", f"{run}/chain-1", "--iterations", "8", "--quiet"]) == 0
    assert main(["resume", run, "--iterations", "7", "--quiet"]) == 2
    assert f"{run}/chain-1 has 8 sweeps already; give --iterations more" in capsys.readouterr().err
    assert main(["resume", run, "--iterations", "8", "--quiet"]) == 0
    assert results(tmp_path / "run") == results(tmp_path / "whole")
    assert main(["resume", run, "--iterations", "8", "--quiet"]) == 2


def test_a_refused_resume_leaves_the_record_of_stopped_chains(corpus_options, tmp_path, capsys, monkeypatch):
    """The checkpoints are ahead of what the records of the chains say, and more was never asked for."""
    run = tmp_path / "run"
    many = ["--iterations", "40", "--burn-in", "1", "--chains", "2", "--checkpoint-every", "3"]

    def stop_later(steps, note):
        if sum(sweeps_of(path.parent) for path in run.glob("chain-*/checkpoint.npz")) >= 12:
            raise KeyboardInterrupt

    real = chains.resume_run

    def stopped(place, iterations, *, advance, **more):
        return real(place, iterations, advance=stop_later, **more)

    with monkeypatch.context() as patch:
        patch.setattr(chains, "resume_run", stopped)
        assert sample(corpus_options, run, *many) == 130
    before = (run / "run.json").read_bytes()
    capsys.readouterr()
    assert main(["resume", str(run), "--iterations", "5", "--quiet"]) == 2
    assert "sweeps already; give --iterations more" in capsys.readouterr().err
    assert (run / "run.json").read_bytes() == before
    assert main(["resume", str(run), "--quiet"]) == 0


def test_times_of_chains_are_those_of_all(corpus_options, tmp_path):
    """One after the other, all of them; side by side, each its own processor time."""
    for threads in ("1", "2", "3"):
        run = tmp_path / threads
        assert sample(corpus_options, run, "--iterations", "20", "--chains", "3", "--threads", threads) == 0
        each = [record(run / f"chain-{k}") for k in (1, 2, 3)]
        seconds = [one["seconds"] for one in each]
        assert record(run)["cpu_seconds"] == pytest.approx(sum(one["cpu_seconds"] for one in each), abs=0.002)
        third = {"1": sum(seconds[:2]), "2": min(seconds[:2]), "3": 0.0}[threads] + seconds[2]
        longest = max(*seconds, third)
        assert record(run)["seconds"] == pytest.approx(longest, abs=0.002)


def test_a_chain_counts_no_processor_time_of_what_runs_beside_it(corpus_options, tmp_path, monkeypatch):
    """As of other chains, all of which would count several times in what a run of many comes to."""
    whole = tmp_path / "run"
    assert sample(corpus_options, whole, "--iterations", "4") == 0  # What is to be compiled is, then.
    make = runs.learner_kernel

    def busy():
        began = time.thread_time()
        while time.thread_time() - began < 0.5:
            pass

    def beside_another(*arguments):
        kernel = make(*arguments)

        def step(rng, state):
            other = threading.Thread(target=busy)
            other.start()
            other.join()
            return kernel.step(rng, state)

        return kernel._replace(step=step)

    monkeypatch.setattr(runs, "learner_kernel", beside_another)
    assert sample(corpus_options, whole, "--iterations", "4", "--overwrite") == 0
    assert record(whole)["cpu_seconds"] < 1.0


def test_odd_pairs_are_told_of_once_however_many_the_chains(tmp_path, capsys):
    lines = "".join(f"w{k} x\n" for k in range(40))
    for name, text in (("f", lines), ("e", lines), ("a", "0-0 1-1\n" * 40)):
        (tmp_path / name).write_text(text)
    corpus = [
        word for name in ("source", "target", "alignment") for word in (f"--{name}", str(tmp_path / name[:1]))
    ]
    corpus[1], corpus[3] = str(tmp_path / "f"), str(tmp_path / "e")
    assert sample(corpus, tmp_path / "run", "--iterations", "2", "--chains", "2") == 0
    assert capsys.readouterr().err.count("warning") == 1
    assert main(["verify", str(tmp_path / "run"), "--quiet"]) == 0
    assert main(["resume", str(tmp_path / "run"), "--iterations", "4", "--quiet"]) == 0
    assert "warning" not in capsys.readouterr().err
