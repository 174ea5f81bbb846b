"""Training that is stopped, and goes on: nothing is lost, and the model is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import monolingual
from monolingual.cli import main
from monolingual.dmv import training
from monolingual.dmv.model import read_model
from scfg_sampler.core.arguments import ArgumentError
from scfg_sampler.core.chains import driver
from scfg_sampler.errors import InputError, SettingsError

ROWS = (
    "DT NN VB\t2 3 0\tthe dog barks\nNN VB\t2 0\tdogs bark\n"
    "NN VB DT NN\t2 0 4 2\tdogs see a cat\nUH\t0\tyes\n"
)
TRAININGS = {
    "em": [],
    "gibbs": ["--method", "gibbs"],
    "vb-em-dirichlet": ["--method", "vb-em-dirichlet", "--heldout", "dev.txt"],
    "logistic normal": ["--method", "vb-em-logistic-normal", "--covariance", "families.txt"],
    "lateen": ["--e-step", "lateen"],
    "annealed": ["--anneal", "1:3", "--heldout", "dev.txt"],
    "several starts and priors": [
        *("--start", "random", "--restarts", "2", "--method", "vb-dirichlet"),
        *("--prior", "0.1,0.5", "--heldout", "dev.txt"),
    ],
    "smoothed": ["--valence", "2", "--smooth", "5", "--method", "em-map"],
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(ROWS * 3)
    (tmp_path / "dev.txt").write_text(ROWS)
    (tmp_path / "families.txt").write_text("DT noun\nNN noun\n")
    return tmp_path


@pytest.fixture
def stop_after(monkeypatch):
    """A function that lets the next chains be stopped after so many sweeps; 0: never."""
    real = driver.run_chain

    def stop(sweeps):
        def stopped(*arguments, **options):
            chain = real(*arguments, **options)
            for done, sweep in enumerate(chain, start=1):
                yield sweep
                if done == sweeps:
                    chain.close()
                    raise KeyboardInterrupt

        monkeypatch.setattr(driver, "run_chain", stopped if sweeps else real)

    return stop


def call(*arguments):
    return main(["dmv", *map(str, arguments), "--quiet"])


def train(*options):
    length = ["--iterations", 7] if "gibbs" in options else ["--rounds", 7, "--tolerance", 1e-9]
    return call("train", "train.txt", *length, *options)


@pytest.mark.parametrize("name", TRAININGS)
def test_training_stopped_again_and_again_ends_as_if_it_had_not(name, place, stop_after):
    options = TRAININGS[name]
    assert train("--output", "whole.txt", *options) == 0
    stop_after(2)
    status, times = train("--output", "model.txt", *options), 0
    while status == 130 and times < 50:
        assert (place / "model.txt.checkpoint.npz").exists()
        assert not (place / "model.txt").exists()
        status, times = call("resume", "model.txt"), times + 1
    assert status == 0
    assert times > 2
    assert (place / "model.txt").read_text() == (place / "whole.txt").read_text()
    assert [path.name for path in place.glob("*.npz")] == []


def test_covariances_are_those_of_training_never_stopped(place, stop_after):
    options = ["--method", "vb-em-logistic-normal", "--heldout", "dev.txt"]
    assert train("--output", "whole.txt", "--covariances", "whole.npz", *options) == 0
    stop_after(2)
    assert train("--output", "model.txt", "--covariances", "model.npz", *options) == 130
    stop_after(0)
    assert call("resume", "model.txt") == 0
    first, second = (dict(np.load(name)) for name in ("whole.npz", "model.npz"))
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_what_is_left_is_told_of_training_that_is_gone_on_with(place, stop_after, monkeypatch, capsys):
    stop_after(5)
    assert train("--output", "model.txt") == 130
    stop_after(0)
    monkeypatch.setattr("scfg_sampler.core.console.SECONDS_BETWEEN_LINES", 0.0)
    capsys.readouterr()
    assert main(["dmv", "resume", "model.txt"]) == 0
    told = {line.split(",")[0] for line in capsys.readouterr().err.splitlines() if " of " in line}
    assert {"em: 1 of 2", "em: 2 of 2"} <= told


def test_rounds_are_noted_once_each_however_often_training_is_stopped(place, stop_after):
    options = TRAININGS["several starts and priors"]
    assert train("--output", "whole.txt", "--trace", "whole.tsv", *options) == 0
    stop_after(3)
    assert train("--output", "model.txt", "--trace", "model.tsv", *options) == 130
    assert call("resume", "model.txt") == 130
    stop_after(0)
    assert call("resume", "model.txt") == 0
    assert (place / "model.tsv").read_text() == (place / "whole.tsv").read_text()
    jobs = [int(line.split("\t")[1]) for line in (place / "whole.tsv").read_text().splitlines()[1:]]
    assert jobs == sorted(jobs)
    assert set(jobs) == {0, 1, 2, 3}


def test_stopped_training_is_not_overwritten_unasked(place, stop_after, capsys):
    stop_after(3)
    assert train("--output", "model.txt") == 130
    stop_after(0)
    assert train("--output", "model.txt") == 2
    assert (
        "holds training that was stopped. Continue it with 'dmv resume model.txt'" in capsys.readouterr().err
    )
    assert train("--output", "model.txt", "--overwrite") == 0
    assert call("resume", "model.txt") == 2
    assert "model.txt: has no training to go on with" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--heldout", "none.txt"], ["--prior", "2"], ["--anneal", "1:90"]])
def test_what_cannot_begin_leaves_the_training_that_it_was_to_replace(wrong, place, stop_after, capsys):
    stop_after(3)
    assert train("--output", "model.txt") == 130
    before = (place / "model.txt.checkpoint.npz").read_bytes()
    stop_after(0)
    assert train("--output", "model.txt", "--overwrite", *wrong) == 2
    assert (place / "model.txt.checkpoint.npz").read_bytes() == before
    stop_after(2)
    assert train("--output", "model.txt", "--overwrite", "--start", "random") == 130
    stop_after(0)
    assert train("--output", "whole.txt", "--start", "random") == 0
    assert call("resume", "model.txt") == 0
    assert (place / "model.txt").read_text() == (place / "whole.txt").read_text()


def test_other_sentences_are_refused(place, stop_after, capsys):
    stop_after(3)
    assert train("--output", "model.txt", "--heldout", "dev.txt") == 130
    stop_after(0)
    (place / "dev.txt").write_text(ROWS.replace("UH", "VB"))
    assert call("resume", "model.txt") == 2
    assert "corpus file heldout is not the same" in capsys.readouterr().err
    (place / "dev.txt").write_text(ROWS.replace("the dog", "a cat"))  # Only tags matter.
    assert call("resume", "model.txt") == 0


def test_an_error_leaves_no_checkpoint(place, monkeypatch, capsys):
    def fail(*arguments):
        raise SettingsError("a fault")

    monkeypatch.setattr(training, "_judged", fail)
    assert train("--output", "model.txt") == 2
    assert "a fault" in capsys.readouterr().err
    assert list(place.glob("*.npz")) == []


def test_a_model_on_standard_output_needs_no_checkpoint(place, capsys):
    assert train("--output", "-") == 0
    (place / "out.txt").write_text(capsys.readouterr().out)
    assert read_model("out.txt").tags == ("DT", "NN", "UH", "VB")
    assert list(place.glob("*.npz")) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_loses_nothing(number, status, place, root):
    options = ["--method", "gibbs", "--iterations", "100000", "--seed", "4"]
    command = [sys.executable, "-m", "monolingual", "dmv", "train", "train.txt", "--output", "model.txt"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.Popen([*command, *options, "--checkpoint-every", "5"], cwd=place, env=environment)
    while child.poll() is None and not rounds_done(place):
        time.sleep(0.1)
    child.send_signal(number)
    assert child.wait() == status
    done = rounds_done(place)
    assert call("resume", "model.txt", "--checkpoint-every", "-1") == 2
    assert rounds_done(place) == done >= 5


def rounds_done(place) -> int:
    path = place / "model.txt.checkpoint.npz"
    if not path.exists():
        return 0
    with np.load(path) as archive:
        return json.loads(archive["header"].item())["sweep"]


def test_lines_of_a_notebook_outlast_training_that_was_stopped(place, stop_after):
    lines = (ROWS * 3).splitlines()
    given = {"heldout": ROWS.splitlines(), "method": "vb-dirichlet", "rounds": 7}
    whole = monolingual.train_dmv(lines, output="whole.txt", **given)
    assert sorted(path.name for path in place.iterdir() if "whole" in path.name) == ["whole.txt"]
    stop_after(2)
    with pytest.raises(KeyboardInterrupt):
        monolingual.train_dmv(lines, output="model.txt", **given)
    stop_after(0)
    with pytest.raises(InputError, match="holds training that was stopped"):
        monolingual.train_dmv(lines[:1], output="model.txt", **given)
    assert call("resume", "model.txt") == 0
    assert (place / "model.txt").read_text() == (place / "whole.txt").read_text()
    assert len(whole.tags) == 4


def test_lines_are_lost_only_where_other_training_begins(place, stop_after):
    lines = (ROWS * 3).splitlines()
    stop_after(2)
    with pytest.raises(KeyboardInterrupt):
        monolingual.train_dmv(lines, output="model.txt", rounds=9)
    stop_after(0)
    with pytest.raises(ArgumentError, match="rounds is -1"):
        monolingual.train_dmv(lines[:1], output="model.txt", rounds=-1, overwrite=True)
    (place / "other.txt.sentences").write_text("somebody's own\n")
    with pytest.raises(ArgumentError, match="rounds is -1"):
        monolingual.train_dmv(lines, output="other.txt", rounds=-1, overwrite=True)
    assert (place / "other.txt.sentences").read_text() == "somebody's own\n"
    assert call("resume", "model.txt") == 0
    stop_after(2)
    with pytest.raises(KeyboardInterrupt):
        monolingual.train_dmv(lines, output="other.txt", rounds=9, overwrite=True)
    stop_after(0)
    assert call("resume", "other.txt") == 0
    assert (place / "other.txt").read_text() == (place / "model.txt").read_text()


@pytest.mark.parametrize("more", [[], ["--heldout", "train.txt"], ["--e-step", "lateen"]])
def test_training_says_when_its_rounds_were_too_few(place, more, capsys):
    """What had converged by itself, or was never to, is not said to have been cut short."""
    told = "2 rounds, not converged: raise --rounds\n"
    train = ["dmv", "train", "train.txt", "--output", "m.txt", "--overwrite"]
    assert main([*train, "--rounds", "2", *more]) == 0
    assert told in capsys.readouterr().err
    assert main([*train, "--rounds", "500", *more]) == 0
    assert "converged" not in capsys.readouterr().err
    assert main([*train, "--method", "gibbs", "--iterations", "2"]) == 0
    assert "converged" not in capsys.readouterr().err
