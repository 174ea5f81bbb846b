"""A run that learns from standard input is gone on with if the same comes from there again, and not else."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from monolingual.cli import main
from tests.core.chains.checkpoint_faults import read, write

GRAMMAR = "S -> S S [0.2] | 'a' [0.4] | 'b' [0.4]\n"
GIVEN = {
    "grammar": GRAMMAR,
    "sentences": "a b\na b a\n",
    "trees": "(S (S a) (S b))\n(S a)\n",
    "gold": "(S (S a) (S b))\n(S (S (S a) (S b)) (S a))\n",
}
"""What there is in the files, or comes from standard input."""
AGAIN = {
    "grammar": "# As before.\nS -> S S [.2]\nS -> 'a' [.4] | 'b' [.4]\n",
    "sentences": "\na b\n\na  b a\n",
    "trees": "(S a)\n(S (S a) (S b))",
    "gold": "(X a b)\n(X (Y a b) c)\n",
}
"""The same, told otherwise."""
OTHERS = {
    "grammar": ["S -> S S | 'a' | 'b' | 'c'\n", GRAMMAR.replace("0.2", "0.1").replace("0.4", "0.45")],
    "sentences": ["b a\na b a\n", "a b\n", "a b a\nb a\n"],
    "trees": ["(S (S a) (S b))\n(S b)\n", "(S a)\n"],
    "gold": ["(S (S a) (S b))\n(S (S a) (S (S b) (S a)))\n"],
}
CASES = [(name, other) for name, others in OTHERS.items() for other in others]


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name, text in GIVEN.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def pcfg(monkeypatch):
    """A call of `pcfg` with something on standard input."""

    def call(text: str, *arguments: str) -> int:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
        return main(["pcfg", *arguments, "--quiet"])

    return call


def sample(pcfg, name: str, run: str, iterations: int = 20) -> None:
    """A run with the texts above, of which one comes from standard input."""
    grammar, *others = ("-" if each == name else each for each in GIVEN)
    files = [part for each, file in zip(list(GIVEN)[1:], others, strict=True) for part in (f"--{each}", file)]
    more = ("--iterations", str(iterations), "--prior", "1", "--output", run)
    assert pcfg(GIVEN.get(name, ""), "sample", grammar, *files, *more) == 0


def contents(run: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("name", "other"), CASES)
def test_a_run_goes_on_with_what_it_was_begun_with_and_with_nothing_else(place, pcfg, capsys, name, other):
    sample(pcfg, name, "run")
    sample(pcfg, "", "whole", iterations=40)
    before = contents(place / "run")
    capsys.readouterr()
    assert pcfg(other, "resume", "run", "--iterations", "40") == 2
    said = capsys.readouterr().err
    assert f"run belongs to another run, which differs in {name} (standard input). Go on with what" in said
    assert said.count("\n") == 1
    assert contents(place / "run") == before
    assert pcfg(AGAIN[name], "resume", "run", "--iterations", "40") == 0
    found, whole = (np.load(place / run / "samples.npz")["probabilities"] for run in ("run", "whole"))
    assert_array_equal(found, whole)


def test_files_that_differ_are_named(place, pcfg, capsys):
    sample(pcfg, "trees", "run")
    for name in ("gold", "sentences"):
        (place / name).write_text(GIVEN[name] * 2)
    assert pcfg(OTHERS["trees"][0], "resume", "run", "--iterations", "40") == 2
    told = f"differs in gold ({place}/gold), sentences ({place}/sentences), trees (standard input). Go"
    assert told in capsys.readouterr().err


def test_a_run_without_a_checkpoint_begins_with_what_its_record_says(place, pcfg):
    sample(pcfg, "trees", "run")
    record = json.loads((place / "run/run.json").read_text())
    (place / "run/run.json").write_text(json.dumps(record | {"finished": False}))
    (place / "run/checkpoint.1.npz").unlink()
    assert pcfg(OTHERS["trees"][0], "resume", "run") == 2
    assert pcfg(AGAIN["trees"], "resume", "run") == 0


def test_runs_without_digests_of_standard_input_are_resumed(place, pcfg):
    """Versions before there were any wrote such runs."""
    sample(pcfg, "trees", "run")
    record = json.loads((place / "run/run.json").read_text())
    del record["settings"]["digests"]["trees"]
    (place / "run/run.json").write_text(json.dumps(record))
    header, arrays = read(place / "run/checkpoint.1.npz")
    del header["settings"]["digests"]["trees"]
    write(place / "run/checkpoint.1.npz", header, arrays)
    assert pcfg(GIVEN["trees"], "resume", "run", "--iterations", "40") == 0
    assert "trees" not in json.loads((place / "run/run.json").read_text())["settings"]["digests"]
