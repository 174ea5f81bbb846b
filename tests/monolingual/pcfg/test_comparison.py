"""Runs beside each other: each number is in its own column, of its own run."""

from __future__ import annotations

import json

import pytest
from scipy import stats

from monolingual.cli import main

RUNS = {
    "sink": {
        "approach": "sink",
        "chains": 4,
        "f1_of_chains": [0.5, 0.625, 0.75, 0.625],
        "rejections_per_thousand_of_chains": [0.0, 2.0, 4.0, 6.0],
        "cpu_seconds": 12.25,
    },
    "tight": {
        "approach": "only-tight",
        "chains": 3,
        "f1_of_chains": [0.25, 0.375, 0.5],
        "rejections_per_thousand_of_chains": [100.0, 200.0, 300.0],
        "cpu_seconds": 7.0,
    },
    "no gold": {
        "approach": "renormalise",
        "chains": 1,
        "rejections_per_thousand_of_chains": [8.0],
        "cpu_seconds": 1.5,
    },
}


@pytest.fixture
def runs(tmp_path, monkeypatch) -> list[str]:
    for name, told in RUNS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "summary.json").write_text(json.dumps(told))
    monkeypatch.chdir(tmp_path)
    return list(RUNS)


def test_runs_are_rows_of_a_table(runs, capsys):
    assert main(["pcfg", "compare", *runs]) == 0
    header, *rows, test = capsys.readouterr().out.splitlines()
    assert header.split() == [
        *("run", "approach", "chains", "mean", "F1", "sd", "rejected/1000", "sd", "CPU", "s"),
    ]
    assert [row.replace("no gold", "no-gold").split() for row in rows] == [
        ["sink", "sink", "4", "0.6250", "0.0884", "3.0", "2.2", "12.2"],
        ["tight", "only-tight", "3", "0.3750", "0.1021", "200.0", "81.6", "7.0"],
        ["no-gold", "renormalise", "1", "-", "-", "8.0", "0.0", "1.5"],
    ]
    found = stats.ks_2samp(RUNS["sink"]["f1_of_chains"], RUNS["tight"]["f1_of_chains"])
    told = f"D = {found.statistic:.3f}, p = {found.pvalue:.3f}"
    assert test == f"Kolmogorov-Smirnov sink / tight: {told}"
    assert found.statistic == 0.75


def test_runs_are_objects_of_json(runs, capsys):
    assert main(["pcfg", "compare", *runs, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name, row in zip(runs, found["runs"], strict=True):
        told = RUNS[name]
        assert row == {
            "name": name,
            "approach": told["approach"],
            "chains": told["chains"],
            "f1": told.get("f1_of_chains", []),
            "rejections": told["rejections_per_thousand_of_chains"],
            "cpu_seconds": told["cpu_seconds"],
        }
    assert [(each["first"], each["second"]) for each in found["tests"]] == [("sink", "tight")]
