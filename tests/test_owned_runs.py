"""Two processes in one place: a command that goes on with what is there is refused, and told whose it is."""

from __future__ import annotations

import importlib
import os

import pytest

from scfg_sampler.core.chains.owner import owned
from tests.kills import CORPUS, MODELS, prepare

SAMPLE = f"sample {CORPUS} --output run --iterations 3 --burn-in 1"
# The program, what it makes, the lock, and what else would be at work there.
COMMANDS = {
    "sample": ("scfg_sampler", SAMPLE, "run.lock", f"{SAMPLE} --overwrite"),
    "resume": ("scfg_sampler", SAMPLE, "run.lock", "resume run --iterations 5 --quiet"),
    "chains": (
        "scfg_sampler",
        f"{SAMPLE} --chains 2",
        "run.lock",
        "resume run --iterations 5 --quiet",
    ),
    "tsg": (
        "monolingual",
        "tsg train trees --iterations 3 --burn-in 1 --unknown none --output run --quiet",
        "run.lock",
        "tsg resume run --iterations 5 --quiet",
    ),
    "ot": (
        "monolingual",
        "ot sample tableaux.tsv --iterations 20 --burn-in 5 --chains 1 --output run --quiet",
        "run.lock",
        "ot resume run --iterations 30 --quiet",
    ),
    "pcfg": (
        "monolingual",
        "pcfg sample grammar --sentences sentences --approach sink --prior 1 --iterations 9 --chains 1 "
        "--output run --quiet",
        "run.lock",
        "pcfg resume run --iterations 12 --quiet",
    ),
    "dmv": (
        "monolingual",
        "dmv train tags.txt --method gibbs --iterations 3 --output run/model --quiet",
        "model.checkpoint.npz.lock",
        "dmv train tags.txt --method gibbs --iterations 3 --output run/model --overwrite --quiet",
    ),
    "tune": (
        "decoder",
        f"tune {MODELS} --rounds 1 --quiet --output run/w.json",
        "w.json.state.lock",
        f"tune {MODELS} --rounds 1 --seed 2 --quiet --overwrite --output run/w.json",
    ),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    before = os.getcwd()
    place = tmp_path_factory.mktemp("inputs")
    os.chdir(place)
    try:
        prepare(place)
    finally:
        os.chdir(before)
    return place


@pytest.mark.parametrize("name", COMMANDS)
def test_a_second_process_is_refused_and_changes_nothing(inputs, monkeypatch, tmp_path, capsys, name):
    package, start, lock, second = COMMANDS[name]
    main = importlib.import_module(f"{package}.cli").main
    for path in inputs.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    if name in ("dmv", "tune"):  # What they write is in a directory of others.
        (tmp_path / "run").mkdir()
    assert main(start.split()) == 0

    def files() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in tmp_path.glob("run/**/*") if path.is_file()}

    whole = files()
    capsys.readouterr()
    with owned(tmp_path / "run", lock):
        assert main(second.split()) == 2
    said = capsys.readouterr().err.splitlines()
    assert f"is in use by process {os.getpid()} on " in said[-1], said
    assert files() == whole
