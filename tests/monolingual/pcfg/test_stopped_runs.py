"""A run of `pcfg sample` that is stopped keeps what it has, of all its chains."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from monolingual.cli import main
from scfg_sampler.core.chains import driver


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ternary").write_text("S -> S S S | S S | 'a'\n")
    (tmp_path / "text").write_text("a a a\na a\n")
    return tmp_path


def pcfg(*arguments) -> int:
    return main(["pcfg", *map(str, arguments)])


def test_interrupted_run_keeps_what_it_has(place, monkeypatch):
    real = driver.run_chain

    def interrupted(*arguments, **options):
        chain = real(*arguments, **options)
        for count, sweep in enumerate(chain):
            yield sweep
            if count == 40:
                chain.close()
                raise KeyboardInterrupt

    options = ("--sentences", "text", "--iterations", 100, "--approach", "only-tight", "--output")
    pcfg("sample", "ternary", *options, "whole", "--quiet")
    monkeypatch.setattr(driver, "run_chain", interrupted)
    assert pcfg("sample", "ternary", *options, "run", "--quiet") == 130
    assert len(np.load(place / "run" / "samples.npz")["probabilities"]) == 41
    summary = json.loads((place / "run" / "summary.json").read_text())
    assert summary["rejections_per_thousand"] == pytest.approx(1000 * summary["rejections"] / 41)
    assert summary["acceptance"] == pytest.approx(41 / (41 + summary["rejections"]))
    assert summary["rejections"] > 0
    monkeypatch.setattr(driver, "run_chain", real)
    assert pcfg("resume", "run", "--quiet") == 0
    first, second = (dict(np.load(place / name / "samples.npz")) for name in ("whole", "run"))
    assert_array_equal(first["probabilities"], second["probabilities"])


def test_chains_that_are_not_come_to_again_are_kept(place, monkeypatch):
    options = ("--sentences", "text", "--iterations", 20, "--chains", 3, "--output", "run", "--quiet")
    assert pcfg("sample", "ternary", *options) == 0

    def stopped(*arguments, **options):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(driver, "run_chain", stopped)
    before = dict(np.load(place / "run" / "samples.npz"))
    assert pcfg("resume", "run", "--iterations", 40, "--quiet") == 130
    after = dict(np.load(place / "run" / "samples.npz"))
    assert_array_equal(after["chain"], np.repeat([1, 2, 3], 20))
    assert_array_equal(after["probabilities"], before["probabilities"])
