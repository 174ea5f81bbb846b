"""Checkpoints with wrong arrays, or another version's settings: one line, and no segmentation fault."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import monolingual.cli
import scfg_sampler.cli
from scfg_sampler.core.chains import driver

TEXTS = {
    "train.f": "a b c\nb a\nc c a b\na b d c\n" * 3,
    "train.e": "A B C\nB A\nC X A B\nA B D C\n" * 3,
    "train.a": "0-0 1-1 2-2\n0-1 1-0\n0-0 2-2 3-3\n0-0 1-1 3-3\n" * 3,
    "trees": "(S (A a) (B (C b) (A c)))\n(S (A a) (B c))\n(S (B (C b) (A c)) (A a))\n",
    "tableaux.tsv": "input\toutput\tfrequency\tA\tB\tC\nx\ta\t3\t0\t1\t1\nx\tb\t2\t1\t0\t0\n",
    "grammar": "S -> S S [0.4] | 'a' [0.6]\n",
    "sentences": "a a a\na a\n",
    "tags.txt": "DT NN VB\t2 3 0\tthe dog barks\nNN VB\t2 0\tdogs bark\n",
}
CORPUS = "--source train.f --target train.e --alignment train.a --output run --quiet"
# The program, the command to be stopped, the checkpoint, and how to go on.
RUNS = {
    "sample": ("scfg_sampler", f"sample {CORPUS} --iterations 8 --burn-in 2", "checkpoint.npz", "resume run"),
    "free": (
        "scfg_sampler",
        f"sample {CORPUS} --iterations 8 --burn-in 2 --unaligned free --marginals",
        "checkpoint.npz",
        "resume run",
    ),
    "seated": (
        "scfg_sampler",
        f"sample {CORPUS} --iterations 8 --burn-in 2 --tables exact --learn-hyperparameters",
        "checkpoint.npz",
        "resume run",
    ),
    "tsg": (
        "monolingual",
        "tsg train trees --iterations 8 --burn-in 2 --unknown none --marginals --output run --quiet",
        "checkpoint.npz",
        "tsg resume run",
    ),
    "ot": (
        "monolingual",
        "ot sample tableaux.tsv --iterations 8 --burn-in 2 --chains 1 --output run --quiet",
        "chain-1/checkpoint.npz",
        "ot resume run",
    ),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def main_of(package):
    return {"scfg_sampler": scfg_sampler.cli.main, "monolingual": monolingual.cli.main}[package]


def stopped(monkeypatch, main, options) -> None:
    """Run a command that is stopped after three sweeps of its first chain."""
    real = driver.run_chain

    def some(*arguments, **more):
        chain = real(*arguments, **more)
        for done, sweep in enumerate(chain, start=1):
            yield sweep
            if done == 3:
                chain.close()
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(driver, "run_chain", some)
        assert main(options.split()) == 130


def assert_harmless(place, root, name, times) -> dict:
    """In a process of its own: what this is about is a segmentation fault, or no end."""
    package, _, checkpoint, resume = RUNS[name]
    module = "tests.core.chains.checkpoint_faults"
    command = [sys.executable, "-m", module, package, "run", checkpoint, str(times)]
    command += [*resume.split(), "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert child.returncode == 0, (child.stderr[-2000:], (place / "last").read_text())
    return json.loads(child.stdout)


@pytest.mark.parametrize(("name", "times"), [("seated", 4), ("tsg", 4), ("ot", 6)])
def test_wrong_arrays_under_a_right_digest_do_no_harm(place, root, monkeypatch, name, times):
    package, options, *_ = RUNS[name]
    stopped(monkeypatch, main_of(package), options)
    counts = assert_harmless(place, root, name, times)
    assert counts["refused"] > counts["went on"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_many_wrong_arrays_under_a_right_digest_do_no_harm(place, root, monkeypatch, name):
    package, options, *_ = RUNS[name]
    stopped(monkeypatch, main_of(package), options)
    assert_harmless(place, root, name, 100)


@pytest.mark.parametrize("name", ["sample", "tsg", "ot"])
def test_settings_of_another_version_are_one_line(place, monkeypatch, capsys, name):
    package, options, _, resume = RUNS[name]
    stopped(monkeypatch, main_of(package), options)
    record = json.loads((place / "run" / "run.json").read_text())
    capsys.readouterr()
    for group in ("settings", "run"):
        other = json.loads(json.dumps(record))
        other[group]["cleverness"] = 7
        other["versions"]["scfg-sampler"] = "9.1"
        (place / "run" / "run.json").write_text(json.dumps(other))
        assert main_of(package)([*resume.split(), "--quiet"]) == 2
        said = capsys.readouterr().err
        assert "was written by version 9.1, whose settings are others (cleverness is not known)" in said
        assert said.count("\n") == 1
        other = json.loads(json.dumps(record))
        field = next(key for key, value in other[group].items() if isinstance(value, int))
        other[group][field] = "several"
        (place / "run" / "run.json").write_text(json.dumps(other))
        assert main_of(package)([*resume.split(), "--quiet"]) == 2
        said = capsys.readouterr().err
        assert f"is damaged: {field} is 'several'" in said
        assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "group", "change"),
    [
        ("sample", "settings", {"model": 7}),
        ("sample", "settings", {"schedule": None}),
        ("sample", "settings", {"strength": 10**400}),
        ("tsg", "settings", {"stop": "half"}),
        ("tsg", "settings", {"discount": 10**400}),
        ("tsg", "settings", {"anneal": [5.0, "x", 9]}),
        ("tsg", "settings", {"anneal": [5.0]}),
        ("tsg", "settings", {"moves": [1]}),
        ("ot", "settings", {"noise": 1e-320}),
        ("ot", "settings", {"learn_variances": 1}),
    ],
)
def test_settings_of_other_types_or_sizes_are_one_line(place, monkeypatch, capsys, name, group, change):
    package, options, _, resume = RUNS[name]
    stopped(monkeypatch, main_of(package), options)
    record = json.loads((place / "run" / "run.json").read_text())
    record[group] |= change
    (place / "run" / "run.json").write_text(json.dumps(record))
    capsys.readouterr()
    assert main_of(package)([*resume.split(), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "run.json" in said or "--noise is 9.99989e-321" in said, said


@pytest.mark.parametrize("name", ["sample", "tsg", "ot"])
def test_sweeps_that_are_no_number_are_one_line(place, monkeypatch, capsys, name):
    package, options, _, resume = RUNS[name]
    stopped(monkeypatch, main_of(package), options)
    record = json.loads((place / "run" / "run.json").read_text())
    for field, value in (("sweeps", "9"), ("sweeps", True), ("finished", "yes")):
        other = {**record, "finished": True, field: value}
        (place / "run" / "run.json").write_text(json.dumps(other))
        capsys.readouterr()
        assert main_of(package)([*resume.split(), "--quiet"]) == 2
        assert re.fullmatch(r".*run\.json: is damaged, or not that of .*\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("group", "change", "message"),
    [
        ("run", {"burn_in": "2"}, ": burn_in is '2'"),
        ("settings", {"learned": None}, ", or not that of"),
        ("settings", {"learned": "strength"}, ", or not that of"),
        ("settings", {"learned": [["strength"]]}, ", or not that of"),
    ],
)
def test_settings_that_cannot_be_are_told_by_commands_that_only_read(
    place, monkeypatch, capsys, group, change, message
):
    package, options, *_ = RUNS["sample"]
    stopped(monkeypatch, main_of(package), options)
    record = json.loads((place / "run" / "run.json").read_text())
    record[group] |= change
    (place / "run" / "run.json").write_text(json.dumps(record))
    for command in (["diagnose", "run"], ["report", "run", "--output", "page.html"]):
        capsys.readouterr()
        assert main_of(package)(command) == 2
        assert f"run.json: is damaged{message}" in capsys.readouterr().err


def test_a_run_of_before_there_was_a_setting_is_still_one(place, monkeypatch, capsys):
    package, options, _, resume = RUNS["sample"]
    stopped(monkeypatch, main_of(package), options)
    record = json.loads((place / "run" / "run.json").read_text())
    for name in ("shards", "choose", "unaligned"):
        del record["settings"][name]
    (place / "run" / "run.json").write_text(json.dumps(record))
    assert main_of(package)([*resume.split(), "--quiet"]) == 0
    assert main_of(package)(["verify", "run"]) == 0


def test_options_of_another_version_are_one_line(place, monkeypatch, capsys):
    sample = "pcfg sample grammar --sentences sentences --approach sink --prior 1 --iterations 8 --output run"
    stopped(monkeypatch, monolingual.cli.main, sample + " --quiet")
    record = json.loads((place / "run" / "run.json").read_text())
    record["settings"]["options"]["cleverness"] = 7
    (place / "run" / "run.json").write_text(json.dumps(record))
    capsys.readouterr()
    assert monolingual.cli.main(["pcfg", "resume", "run"]) == 2
    assert "whose settings are others (cleverness is not known)" in capsys.readouterr().err
    train = "dmv train tags.txt --method em --rounds 9 --tolerance 1e-9 --output model --quiet"
    stopped(monkeypatch, monolingual.cli.main, train)
    from tests.core.chains.checkpoint_faults import read, write

    header, arrays = read(place / "model.checkpoint.npz")
    del header["settings"]["options"]["valence"]
    write(place / "model.checkpoint.npz", header, arrays)
    capsys.readouterr()
    assert monolingual.cli.main(["dmv", "resume", "model"]) == 2
    assert "whose settings are others (valence is missing)" in capsys.readouterr().err


def test_wrong_arrays_without_a_right_digest_are_refused(place, monkeypatch, capsys):
    package, options, checkpoint, resume = RUNS["sample"]
    stopped(monkeypatch, main_of(package), options)
    import numpy as np

    path = place / "run" / checkpoint
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["state.seconds"] = np.asarray(1e6)
    with open(path, "wb") as stream:
        np.savez(stream, **arrays)
    capsys.readouterr()
    assert main_of(package)(resume.split()) == 2
    assert "does not match its digest. Restore the file, or start the run again" in capsys.readouterr().err
