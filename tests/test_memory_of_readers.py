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
_LARGER = {"ot": 500_000}  # Of which what is imported along takes a smaller share.
_MOST = {"pcfg-tagged": 8}  # Times the text; as little as finds tags kept once for each word.
_FILES = {"lexical": 2}  # The reader gets its text twice, as the tables of both directions.
_LINES = {
    "pcfg": ("", lambda k: f"N{k % 50} -> 'w{k}' [0.4]\n"),
    "pcfg-sentences": ("", lambda k: "a " * (k % 8 + 1) + "\n"),
    "pcfg-tagged": ("", lambda k: "DT NN VB NN\t2 3 0 3\tthe " + f"word{k} sees w{k}\n"),
    "pcfg-brackets": ("", lambda k: f"(TOP (S (NP w{k}) (VP (V w) (NP (D w) (N w)))))\n"),
    "ot": (
        "input\toutput\tfrequency\tMax\t*Coda\tA\tB\n",
        lambda k: f"inp{k // 3}\to{k}\t{k % 50}\t{k % 2}\t{k % 3}\t0\t0\n",
    ),
    "tsg-trees": ("", lambda k: f"(S (NP (D the) (N w{k})) (VP (V sees) (NP (D a) (N dog))))\n"),
    "tsg-fragments": ("", lambda k: f"2\t(S (NP (D the) (N w{k})) (VP (V runs) (NP )))\n"),
    "tsg-forests": ("", lambda k: f"S#1 -> A#2 B#3\nA#2 -> w{k}\nB#3 -> b\nS#1 -> B#4 B#3\nB#4 -> w{k}\n\n"),
    "lexical": ("", lambda k: f"w{k} v{k % 1000} 0.{k:07d}\n"),
    "dmv-treebank": ("", lambda k: f"DT NN VB NN\t2 3 0 3\tthe w{k} sees dogs\n"),
    "dmv-treebank, a word a line": ("", lambda k: "NN\t0\tyes\n"),
    "dmv-treebank, ten columns": (
        "",
        lambda k: f"1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tw{k}\tw{k}\tNOUN\tNN\t_\t0\troot\t_\t_\n\n",
    ),
    "alignment": ("", lambda k: "0-0 1-1 2-2 3-4 5-6\n"),
    "alignment, a link a line": ("", lambda k: "0-0\n"),
    "trace": ("sweep\tlog_joint\trules\n", lambda k: f"{k}\t-{k}.5\t{k * 7}\n"),
    "raw-text": ("", lambda k: f"the dog w{k} barks at cats\n"),
    "tsv": ("", lambda k: f"the dog w{k}\tun chien v{k}\n"),
    "tsg-heads": ("", lambda k: f"P{k} right IN/TO VBG left NP\n"),
    "dmv-families": ("", lambda k: f"N{k}\tnoun\n"),
    "dmv-jdageem": ("", lambda k: f"leftattach T{k % 90} <- T{k // 90 % 90} : -0.{k}\n"),
}


@pytest.mark.parametrize("name", _LINES)
def test_readers_take_little_room(name, tmp_path):
    head, line = _LINES[name]
    path, pieces, size = tmp_path / "input", [head], 0
    for number in itertools.count(10_000):
        pieces.append(line(number))
        size += len(pieces[-1])
        if size > _LARGER.get(name, _SIZE):
            break
    path.write_text("".join(pieces))
    del pieces
    reader = READERS[name.partition(",")[0]]
    size *= _FILES.get(name, 1)
    reader.warm()
    tracemalloc.start()
    try:
        found = reader.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None
    assert peak < _MOST.get(name, 10) * size, f"{peak / size:.1f} times"
