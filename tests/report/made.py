"""Runs and files to make reports of, over words that would break a page that does not escape them."""

from __future__ import annotations

import json
from pathlib import Path

from scfg_sampler.cli import main
from tests.learner.test_chain import some_pairs
from tests.learner.test_commands import sample, write_corpus
from tests.oracles.phrase_forest import Sentence

NASTY = {
    "f0": "<script>alert(1)</script>",
    "f1": '"><img/src=x',
    "f2": "&amp;",
    "e0": "</style></svg><b>",
    "e1": "'onload='alert(2)",
    "e2": "שלום",
}
ENDLESS = "[X,1]"


def nasty_pairs() -> list[Sentence]:
    """The pairs of the other tests in other words, with a pair that is skipped behind."""
    pairs = [
        Sentence(
            tuple(NASTY.get(word, word) for word in pair.source),
            tuple(NASTY.get(word, word) for word in pair.target),
            pair.links,
        )
        for pair in some_pairs()
    ]
    return [*pairs, Sentence((ENDLESS, "\x01"), ("|||",), frozenset())]


def made_run(directory: Path, *more: str) -> tuple[Path, list[str]]:
    """A run in a directory, and the options that name its corpus."""
    options = write_corpus(directory, nasty_pairs())
    run = directory / "run"
    assert sample(options, run, "--iterations", "24", "--burn-in", "4", *more) == 0
    return run, options


def made_baseline(directory: Path, options: list[str]) -> Path:
    path = directory / "hiero.gz"
    assert main(["extract", *options, "--output", str(path), "--quiet"]) == 0
    return path


def made_outputs(directory: Path) -> list[str]:
    """The options that name a test set, two systems, their derivations, scores and rounds of tuning."""
    script = NASTY["f0"]
    texts = {
        "test.f": ["a b c", script, "d"],
        "test.e": ["A B C", f"{script} right", "D"],
        "ours.txt": ["A B C", script, "D E F"],
        "theirs.txt": ["A C", f"{script} is wrong", "D"],
    }
    for name, lines in texts.items():
        (directory / name).write_text("".join(f"{line}\n" for line in lines))
    node = {"symbol": "X", "span": [0, 1], "source": [script, 1], "target": [1, script], "children": [1]}
    nodes = [node, {**node, "source": ["b"], "target": ["B"], "children": []}]
    record = {"sentence": 1, "source": [script], "translation": script, "score": -1.0, "nodes": nodes}
    (directory / "ours.jsonl").write_text(json.dumps(record) + "\n")
    bleu = {
        "name": "BLEU",
        "score": 31.25,
        "signature": script,
        "confidence_mean": 31.0,
        "confidence_var": 2.5,
    }
    against = {"difference": -1.5, "p_value": 0.04, "against": 32.75}
    chrf = {"name": "chrF2", "score": 50.0, "deviation": 0.25, "scores": [1, 2, 3], **against}
    (directory / "ours.json").write_text(json.dumps({"bleu": bleu, "chrf": chrf, "p_value": 0.04}))
    (directory / "ours.rounds.tsv").write_text(
        f"round\tscore\tlength\tnew\t{script}\n0\t10.5\t0.9\t3\t0.25\n1\t12.25\t1.0\t2\t-0.5\n2\t11\t1.1\t0\t1\n"
    )
    names = {
        "--source": ["test.f"],
        "--references": ["test.e"],
        "--translations": ["ours=ours.txt", "theirs=theirs.txt"],
        "--derivations": ["ours=ours.jsonl"],
        "--scores": ["ours.json"],
        "--tunings": ["ours.rounds.tsv"],
    }
    options = []
    for option, files in names.items():
        options.append(option)
        for each in files:
            name, equals, path = each.rpartition("=")
            options.append(f"{name}{equals}{directory / path}")
    return options
