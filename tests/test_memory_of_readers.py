"""Readers take less than ten times the room of the text they read.

Counted is what Python and numpy ask for. The system gives it in larger pieces, some of which it does not get
back, which comes to a third more.
"""

from __future__ import annotations

import itertools
import tracemalloc

import pytest

from tests.fuzz.readers import READERS

_SIZE = 200_000
_MOST = {"pcfg-tagged": 8}  # Times the text; as little as finds tags kept once for each word.
_LINES = {
    "pcfg": ("", lambda k: f"N{k % 50} -> 'w{k}' [0.4]\n"),
    "pcfg-sentences": ("", lambda k: "a " * (k % 8 + 1) + "\n"),
    "pcfg-tagged": ("", lambda k: "DT NN VB NN\t2 3 0 3\tthe " + f"word{k} sees w{k}\n"),
    "pcfg-brackets": ("", lambda k: f"(TOP (S (NP w{k}) (VP (V w) (NP (D w) (N w)))))\n"),
    "ot": (
        "input\toutput\tfrequency\tMax\t*Coda\tA\tB\n",
        lambda k: f"inp{k // 3}\to{k}\t{k % 50}\t{k % 2}\t{k % 3}\t0\t0\n",
    ),
    "dmv-jdageem": ("", lambda k: f"leftattach T{k % 90} <- T{k // 90 % 90} : -0.{k}\n"),
}


@pytest.mark.parametrize("name", _LINES)
def test_readers_take_little_room(name, tmp_path):
    head, line = _LINES[name]
    path, pieces, size = tmp_path / "input", [head], 0
    for number in itertools.count(10_000):
        pieces.append(line(number))
        size += len(pieces[-1])
        if size > _SIZE:
            break
    path.write_text("".join(pieces))
    del pieces
    reader = READERS[name]
    reader.warm()
    tracemalloc.start()
    try:
        found = reader.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None
    assert peak < _MOST.get(name, 10) * size, f"{peak / size:.1f} times"
