"""What a run has taken is that of all its parts, whichever processes they were done by."""

from __future__ import annotations

import itertools
import json
from types import SimpleNamespace

import pytest

from monolingual.cli import main
from scfg_sampler.core.chains import driver
from tests.monolingual.test_refused_resumes import name

__all__ = ["name"]  # The fixture, of a run of forty sweeps.


@pytest.fixture(autouse=True)
def an_hour_at_every_look(monkeypatch):
    ticks = itertools.count(step=3600.0)
    names = ("perf_counter", "process_time", "thread_time")
    monkeypatch.setattr(driver, "time", SimpleNamespace(**dict.fromkeys(names, lambda: next(ticks))))


def test_a_resumed_run_has_taken_the_time_before_too(name, tmp_path):
    def of_record() -> list[float]:
        record = json.loads((tmp_path / "run/run.json").read_text())
        return [record[key] for key in ("seconds", "cpu_seconds") if key in record]

    before = of_record()
    assert main([name, "resume", "run", "--iterations", "41", "--quiet"]) == 0
    assert all(new > old >= 3600.0 for new, old in zip(of_record(), before, strict=True))
