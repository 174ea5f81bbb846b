"""Readers take less than ten times the room of the text they read.

Counted is what Python and numpy ask for. The system gives it in larger pieces, some of which it does not get
back, which comes to a third more.
"""

from __future__ import annotations

import itertools
import json
import tracemalloc
from pathlib import Path

import pytest

from tests.fuzz.readers import READERS

_SIZE = 200_000
# Of which what is imported along, or asked for whatever the size, takes a smaller share.
_LARGER = {"ot": 500_000, "native": 4_000_000}
_MOST = {"pcfg-tagged": 8}  # Times the text; as little as finds tags kept once for each word.
_FILES = {"lexical": 2}  # The reader gets its text twice, as the tables of both directions.
_PRAAT = """File type = "ooTextFile"
Object class = "OTGrammar 2"
<OptimalityTheory> 0
2 constraints
constraint [1]: "Max" 100 100 1
constraint [2]: "Coda" 90 90 1
0 fixed rankings
"""


def _arpa(words: int, pairs: int) -> str:
    """The head of a model of so many words, all of which it lists, and of so many pairs of words."""
    listed = "".join(f"-0.{k % 9999:04d}\tw{k}\t-0.{k % 99}\n" for k in range(words))
    reserved = "-99\t<s>\t-0.3\n-1\t<unk>\n-1\t</s>\n"
    heads = "\\data\\\nngram 1={}\nngram 2={}\n\n\\1-grams:\n{}{}\n\\2-grams:\n"
    return heads.format(words + 3, pairs, reserved, listed)


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
    "native": (
        "",
        lambda k: (
            f"[X] ||| a w{k} [X,1] ||| b [X,1] ||| LogForward=-0.5 LogCount=1.1 TargetWords=1 ||| 0-0\n"
        ),
    ),
    "moses": (
        "",
        lambda k: f"a [X][X] w{k} [X] ||| c [X][X] [X] ||| 0.5 0.25 1 0.125 ||| 0-0 1-1 ||| 4 2 1 ||| |||\n",
    ),
    "joshua": ("", lambda k: f"[X] ||| a w{k} [X,1] ||| b [X,1] ||| 0.5 0.25 1 2 0.3 1 0 ||| 0-0\n"),
    "cdec": ("", lambda k: f"[X] ||| a w{k} [X,1] ||| b [X,1] ||| EgivenF=0.5 Count=1.1 ||| 0-0\n"),
    "travatar": ("", lambda k: f'"a" "w{k}" x0:X @ X ||| x0:X "b" @ X ||| p=1 egfp=-0.5 ||| 2 3 4 ||| 0-0\n'),
    "markup": ("", lambda k: f'das <n translation="old house">w{k}</n> .\n'),
    "cdec-weights": ("", lambda k: f"Sparse_feature_{k} 0.0{k}\n"),
    "joshua-weights": ("", lambda k: f"Sparse_feature_{k} 0.0{k}\n"),
    "travatar-weights": ("[weight_vals]\n", lambda k: f"Sparse_feature_{k}=0.0{k}\n"),
    "moses-weights": (
        "[feature]\nPhraseDictionaryMemory name=T num-features=4 path=rules\n[weight]\n",
        lambda k: f"T_feature_{k}= 0.0{k}\n",
    ),
    "expression-lists": (
        "",
        lambda k: f"0 ||| answer@1 river@1 'w{k}'@0 ||| LanguageModel=-1.5 Glue={k} ||| -1.5\n",
    ),
    "dmv-jdageem": ("", lambda k: f"leftattach T{k % 90} <- T{k // 90 % 90} : -0.{k}\n"),
}


@pytest.mark.parametrize("name", _LINES)
def test_readers_take_little_room(name, tmp_path):
    head, line = _LINES[name]
    pieces, size = [head], 0
    for number in itertools.count(10_000):
        pieces.append(line(number))
        size += len(pieces[-1])
        if size > _LARGER.get(name, _SIZE):
            break
    size *= _FILES.get(name, 1)
    assert _room(name, "".join(pieces), tmp_path) < _MOST.get(name, 10) * size


_WORDS = 3_600
_WHOLE = {
    "arpa": lambda: (
        _arpa(_WORDS, 2 * _WORDS)
        + "".join(f"-0.{k % 9999:04d}\tw{k % _WORDS} w{7 * k % _WORDS}\n" for k in range(2 * _WORDS))
        + "\n\\end\\\n"
    ),
    "ot-grammar": lambda: _praat(2_400),
    "ot": lambda: _praat(4_000),
    "weights": lambda: json.dumps({f"Sparse_feature_{k}": k / 7 for k in range(6_000)}, indent=2),
    "table-record": lambda: json.dumps({"signature": "w " * 100_000, "format": "moses"}),
}
"""Files whose beginning counts what follows, or whose end closes what began."""


def _praat(tableaux: int) -> str:
    listed = (
        f'input [{k}]: "pat{k}" 2\n   candidate [1]: "pa{k}" 1 0\n   candidate [2]: "pat{k}" 0 1\n'
        for k in range(tableaux)
    )
    return f"{_PRAAT}{tableaux} tableaux\n{''.join(listed)}"


@pytest.mark.parametrize("name", _WHOLE)
def test_readers_of_whole_files_take_little_room(name, tmp_path):
    text = _WHOLE[name]()
    assert len(text) > 190_000
    assert _room(name, text, tmp_path) < 10 * len(text)


def _room(name: str, text: str, place: Path) -> int:
    """What a reader asked for at most while it read a text, in bytes."""
    path = place / "input"
    path.write_text(text)
    reader = READERS[name.partition(",")[0]]
    reader.warm()
    tracemalloc.start()
    try:
        found = reader.read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None
    return peak
