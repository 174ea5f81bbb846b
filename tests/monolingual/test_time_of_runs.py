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


def of_record(place) -> list[float]:
    record = json.loads((place / "run/run.json").read_text())
    return [record[key] for key in ("seconds", "cpu_seconds") if key in record]


@pytest.fixture(autouse=True)
def an_hour_at_every_look(monkeypatch):
    ticks = itertools.count(step=3600.0)
    names = ("perf_counter", "process_time", "thread_time")
    monkeypatch.setattr(driver, "time", SimpleNamespace(**dict.fromkeys(names, lambda: next(ticks))))


def test_a_stopped_run_tells_its_time(name, tmp_path, monkeypatch):
    def stop(*arguments, **more):
        yield from itertools.islice(real(*arguments, **more), 3)
        raise KeyboardInterrupt

    real = driver.run_chain
    monkeypatch.setattr(driver, "run_chain", stop)
    before = of_record(tmp_path)
    assert main([name, "resume", "run", "--iterations", "80", "--quiet"]) == 130
    assert not json.loads((tmp_path / "run/run.json").read_text())["finished"]
    assert all(new > old for new, old in zip(of_record(tmp_path), before, strict=True))


def test_a_resumed_run_has_taken_the_time_before_too(name, tmp_path):
    before = of_record(tmp_path)
    assert main([name, "resume", "run", "--iterations", "41", "--quiet"]) == 0
    assert all(new > old >= 3600.0 for new, old in zip(of_record(tmp_path), before, strict=True))


def test_what_is_left_is_told_of_a_run_that_is_gone_on_with(name, monkeypatch, capsys):
    """Not at the rate of all sweeps there are: what takes six hours was said to need 56 minutes."""
    monkeypatch.setattr("scfg_sampler.core.console.SECONDS_BETWEEN_LINES", 0.0)
    assert main([name, "resume", "run", "--iterations", "42"]) == 0
    told = [line.split(",")[0] for line in capsys.readouterr().err.splitlines()]
    found = {line for line in told if line.startswith("sampling: ") and " of " in line}
    left = 2 if name == "tsg" else 4  # The others have two chains.
    assert found == {f"sampling: {sweep} of {left}" for sweep in range(1, left + 1)}
