"""Inputs that readers once failed on, and some new ones, are read or refused in one line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.mutate import mutated
from tests.fuzz.readers import READERS
from tests.fuzz.trial import fault

REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*/*"))


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_mended_stays_so(path):
    reader = READERS[path.parent.name]
    reader.warm()
    assert fault(reader, path.read_bytes()) is None


@pytest.mark.parametrize("name", READERS)
def test_files_are_read_and_damaged_ones_too_or_refused(name):
    reader, rng = READERS[name], random.Random(name)
    reader.warm()
    for seed in reader.seeds:
        assert fault(reader, seed) is None
    for _ in range(10):
        content = mutated(rng, reader.seeds)
        assert fault(reader, content) is None, content
    for opening in (b"[", b"(", b'{"a":'):
        assert fault(reader, 20_000 * opening) is None, opening


def test_a_reader_that_fails_is_noticed():
    """Else all tests above would be satisfied with a fault finder that finds nothing."""
    from tests.fuzz.readers import Reader

    assert fault(Reader(lambda path: {}["a"], ()), b"") is not None
    for _ in range(1 + Path("/proc/self/clear_refs").exists()):  # Also if the process has had as much before.
        assert fault(Reader(lambda path: bytearray(600_000_000).count(1), ()), b"") is not None
