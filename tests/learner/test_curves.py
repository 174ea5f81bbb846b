"""Curves of runs: numbers and pictures."""

from __future__ import annotations

import re

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.chains.chain import read_trace
from scfg_sampler.learner.curves import read_curves, write_curves
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[str]:
    directory = tmp_path_factory.mktemp("curves")
    options = write_corpus(directory, some_pairs())
    found = [str(directory / f"run{seed}") for seed in (1, 2, 3)]
    for seed, run in enumerate(found, start=1):
        assert sample(options, run, "--iterations", "8", "--seed", str(seed)) == 0
    return found


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_numbers_are_mean_and_range_over_the_runs(runs, tmp_path, capsys, ending):
    pytest.importorskip("matplotlib")
    picture = tmp_path / f"curves.{ending}"
    labels = [f"two={runs[0]},{runs[1]}", f"one={runs[2]}"]
    assert main(["curves", *labels, "--output", str(picture), "--first", "2", "--title", "two and one"]) == 0
    assert picture.stat().st_size > 1000
    assert not re.search(b"dc:date|CreationDate", picture.read_bytes())  # So that equal ones are equal files.
    rows = [line.split("\t") for line in (tmp_path / f"curves.{ending}.tsv").read_text().splitlines()]
    assert rows[0] == ["label", "sweep", "cpu_seconds", "log_joint", "lowest", "highest", "runs"]
    joint = [read_trace(f"{run}/trace.tsv")["log_joint"] for run in runs]
    assert [row[0] for row in rows[1:]] == ["two"] * 6 + ["one"] * 6
    values = np.array([row[3:6] for row in rows[1:7]], float)
    pair = np.array(joint[:2])[:, 2:]
    np.testing.assert_allclose(values, np.array([pair.mean(0), pair.min(0), pair.max(0)]).T, atol=0.01)
    printed = capsys.readouterr().err
    assert "two" in printed
    assert f"{joint[2][-1]:.0f}" in printed


def test_curves_end_with_the_shortest_run_and_have_mean_seconds(tmp_path):
    for name, rows in {"a": [(1, -5), (2, -4), (3, -3), (4, -2)], "b": [(3, -9), (6, -8), (9, -1)]}.items():
        (tmp_path / name).mkdir()
        lines = [f"{k}\t{joint}\t{seconds}\n" for k, (seconds, joint) in enumerate(rows)]
        (tmp_path / name / "trace.tsv").write_text("sweep\tlog_joint\tcpu_seconds\n" + "".join(lines))
    curves = read_curves({"both": [tmp_path / "a", tmp_path / "b"], "a": [tmp_path / "a"]}, first=1)
    write_curves(curves, tmp_path / "numbers")
    assert (tmp_path / "numbers").read_text().splitlines()[1:] == [
        "both\t1\t4.000\t-6.00\t-8.00\t-4.00\t2",
        "both\t2\t6.000\t-2.00\t-3.00\t-1.00\t2",
        "a\t1\t2.000\t-4.00\t-4.00\t-4.00\t1",
        "a\t2\t3.000\t-3.00\t-3.00\t-3.00\t1",
        "a\t3\t4.000\t-2.00\t-2.00\t-2.00\t1",
    ]


def test_bad_labels_are_named(runs, tmp_path, capsys):
    for wrong in ("nothing", "a=", f"={runs[0]}", f"a={runs[0]},,{runs[1]}", f"a={runs[0]},"):
        assert main(["curves", wrong, "--output", str(tmp_path / "x.png")]) == 2
        assert f"{wrong} is not LABEL=RUN" in capsys.readouterr().err
    assert main(["curves", f"a={runs[0]}", f"a={runs[1]}", "--output", str(tmp_path / "x.png")]) == 2
    assert "the label a is given twice" in capsys.readouterr().err
    assert main(["curves", f"a={runs[0]}", "--first", "-3", "--output", str(tmp_path / "x.png")]) == 2
    assert "--first is -3; it must be at least 0" in capsys.readouterr().err
    assert main(["curves", f"a={runs[0]}", "--first", "9", "--output", str(tmp_path / "x.png")]) == 2
    assert "the shortest run of a has 8 sweeps" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sweep\tlog_joint\n0\t-1\n", "trace.tsv:1: has no column 'cpu_seconds'. Name runs of"),
        ("sweep\tcpu_seconds\n0\t1\n", "trace.tsv:1: has no column 'log_joint'. Name runs of"),
        ("sweep\tlog_joint\tcpu_seconds\nnan\t-1\t1\n", "trace.tsv: has a sweep that is no number"),
    ],
)
def test_traces_of_other_programs_are_refused_whatever_labels(tmp_path, capsys, text, message):
    (tmp_path / "trace.tsv").write_text(text)
    assert main(["curves", f"a={tmp_path}", "--output", str(tmp_path / "x.png")]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["-", "picture", "picture.bmp"])
def test_names_of_pictures_without_a_format_are_refused(tmp_path, capsys, name):
    assert main(["curves", f"a={tmp_path}", "--output", str(tmp_path / name)]) == 2
    assert "its name must end in .svg, .pdf or .png" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
