"""Rounds of fuzzing go on where they ended, and find what is wrong; see `tests.fuzz.rounds`."""

from __future__ import annotations

import faulthandler
import os
import signal

from tests.fuzz import rounds
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.rounds import play, record_of


def test_inputs_that_go_new_ways_are_kept_and_a_later_round_goes_on(tmp_path):
    play("tsv", 0.002, 1, tmp_path / "keep", tmp_path / "regressions")
    first, kept = record_of(tmp_path / "keep", "tsv"), list((tmp_path / "keep/tsv/corpus").iterdir())
    assert kept
    assert first["faults"] == {}
    assert 0.002 <= first["minutes"] < 0.05
    play("tsv", 0.002, 1, tmp_path / "keep", tmp_path / "regressions")
    second = record_of(tmp_path / "keep", "tsv")
    assert second["inputs"] > first["inputs"] + len(kept)
    assert second["steps"] >= first["steps"] > 10
    assert second["minutes"] >= 0.004
    assert set(kept) <= set((tmp_path / "keep/tsv/corpus").iterdir())


def test_what_fails_and_what_a_process_dies_of_are_kept(tmp_path, monkeypatch):
    def read(path):
        content = path.read_bytes()
        if len(content) < 5:
            faulthandler.disable()
            os.kill(os.getpid(), signal.SIGSEGV)
        if content != b"whole file":
            raise KeyError(content)

    monkeypatch.setitem(READERS, "broken", Reader(read, (b"whole file",)))
    for _ in range(2):  # The first round dies of it before its time.
        play("broken", 1.0, 1, tmp_path / "keep", tmp_path / "regressions")
    record = record_of(tmp_path / "keep", "broken")
    assert record["rounds"] == 2
    for place in ("the process died with signal 11", "KeyError in test_rounds.py:"):
        (digest,) = {name for found, name in record["faults"].items() if found.startswith(place)}
        content = (tmp_path / "regressions/broken" / digest).read_bytes()
        assert (len(content) < 5) == place.startswith("the process")
    assert len(list((tmp_path / "regressions/broken").iterdir())) == 2
    assert rounds.REGRESSIONS.name == "regressions"
