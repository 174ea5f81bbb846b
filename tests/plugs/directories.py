"""A table with words and numbers of all kinds, its weights and language model, and a call of `plug`."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from scfg_sampler.cli import main
from scfg_sampler.rules.text import Rule
from tests.recognisers import cdec, joshua, moses, travatar

READERS = {"cdec": cdec, "moses": moses, "joshua": joshua, "travatar": travatar}
NAMES = {"cdec": "cdec", "moses": "Moses", "joshua": "Joshua", "travatar": "Travatar"}
TABLES = {"cdec": "grammar.gz", "moses": "rule-table.gz", "joshua": "grammar.gz", "travatar": "rules.gz"}
WEIGHT_FILES = {
    "cdec": "weights",
    "moses": "moses.ini",
    "joshua": "joshua.config",
    "travatar": "travatar.ini",
}
FEATURES = ("LogForward", "LogBackward", "LexForward", "LexBackward", "LogCount", "TargetWords", "Abstract")
FEATURES += ("LogPosterior", "domain.Seen")
WEIGHTS = {
    **dict(zip(FEATURES, (0.31, 0.27, -0.13, 0.19, 0.07, 0.41, -0.33, 0.05, -0.7), strict=True)),
    **{"LanguageModel": 0.9, "Glue": -0.21, "PassThrough": -3.7, "LanguageModel_OOV": -1.3},
}
WORDS = [
    "haus",
    "das",
    "'s",
    "a[b]",
    "[X,1]",
    "|||",
    "&apos;",
    "<s>",
    "-lsb-",
    "x|y",
    "&#91;",
    "ü",
    "[",
    "\\",
]
SIGNATURE = "scfg-sampler|made by hand"
ARPA = """
\\data\\
ngram 1=7
ngram 2=2

\\1-grams:
-1.5\t<unk>
-99\t<s>\t-0.3
-1.2\t</s>
-0.7\tthe\t-0.25
-0.9\t[b\t-0.125
-1.1\t'
-1.3\t&apos;

\\2-grams:
-0.2\t<s> the
-0.4\tthe [b

\\end\\
"""


def some_rules(rng: np.random.Generator) -> list[Rule]:
    """Rules of all shapes, with any words, and numbers that float32 holds to seven digits."""
    entries = {}
    while len(entries) < 60:
        arity = int(rng.integers(0, 3))
        sides: list[list] = [list(rng.choice(WORDS, int(rng.integers(not arity, 4)))) for _ in range(2)]
        for side, order in zip(sides, (range(arity), rng.permutation(arity)), strict=True):
            places = sorted(rng.integers(0, len(side) + 1, arity).tolist())
            for place, k in reversed(list(zip(places, order, strict=True))):
                side.insert(place, -1 - int(k))
        words = [[i for i, x in enumerate(side) if isinstance(x, str)] for side in sides]
        links = {(i, j) for i in words[0] for j in words[1] if rng.random() < 0.3}
        values = [*(-rng.exponential(3.0, 4)), math.log(rng.integers(1, 40)), len(words[1])]
        values += [float(not words[0] and not words[1]), -rng.exponential(), int(rng.integers(0, 3))]
        features = {name: float(f"{value:.7g}") for name, value in zip(FEATURES, values, strict=True)}
        source, target = (tuple(x if isinstance(x, int) else str(x) for x in side) for side in sides)
        if source == (-1,):  # No decoder uses such a rule, and Travatar ends where it reads one.
            continue
        entries[source, target] = Rule(source, target, features, tuple(sorted(links)))
    return list(entries.values())


def plug(folder: Path, decoder: str, *more: str) -> int:
    files = [f"--lm={folder / 'lm.arpa'}", f"--weights={folder / 'w.json'}", f"--output={folder / decoder}"]
    return main(["plug", str(folder / "table.gz"), "--to", decoder, *files, *more])


def complaint(folder: Path, capsys, decoder: str = "cdec", *more: str) -> str:
    """The one line that is said; nothing is left behind."""
    assert plug(folder, decoder, *more) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert not (folder / decoder).exists()
    assert not list(folder.glob(f".{decoder}*"))
    return said
