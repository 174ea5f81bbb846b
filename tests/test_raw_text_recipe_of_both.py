"""The recipe for raw text makes two systems of the same alignments, which agree."""

from __future__ import annotations

import re

import pytest

from tests.recipe_calls import Finished, calls, unrecorded, up_to
from tests.test_raw_text_recipe import commands, recipe, set_up


@pytest.fixture
def stand_in(tmp_path):
    return set_up(tmp_path)


TWO = ["bundle", "filter", "tune", "bundle", *["translate", "evaluate"] * 3, "report", "translate"]


def test_two_grammars_of_the_same_alignments_make_systems_that_agree(stand_in):
    outcome = recipe(stand_in, "--kind", "both", "--beam", "9")
    assert outcome.returncode == 0, outcome.stderr
    noted = calls(stand_in)
    assert [line.split()[1] for line in noted] == [
        *["prepare", "align", "train-lm", "sample", "grammar", "extract", "filter", "tune"],
        *TWO,
    ]
    run = stand_in / "run"
    for at, kind in ((7, "sampled"), (10, "hiero")):
        assert f"--grammar {run}/{kind}.filtered.gz" in noted[at]
        assert f"--grammar {run}/{kind}.gz" in noted[at + 1]
        assert f"--weights {run}/{kind}.weights.json" in noted[at + 1]
        assert noted[at + 1].endswith(f"--output {run}/system-{kind} --beam 9")
    systems = [f"--system {run}/system-{kind}" for kind in ("sampled", "hiero")]
    for at, (given, suffix) in enumerate(
        zip((*systems, " ".join(systems)), ("-sampled", "-hiero", ""), strict=True)
    ):
        assert f"translate {given} --threads" in noted[12 + 2 * at]
        assert noted[12 + 2 * at].endswith(f"--output {run}/test{suffix}.txt")
        assert (
            f"--hypothesis {run}/test{suffix}.txt --references {run}/data/raw/test.en" in noted[13 + 2 * at]
        )
    assert f"--scores {run}/test-sampled.json" in noted[18]
    assert f"--translations {run}/test-sampled.txt" in noted[18]
    lines = outcome.stdout.splitlines()
    assert lines[:6] == [
        "training pairs: 1; sampled rules: 1; hiero rules: 1",
        "BLEU 12.50, chrF 40.00 on 1 sentence of raw text",
        "             BLEU   chrF",
        "sampled     12.50  40.00",
        "hiero       12.50  40.00",
        "both        12.50  40.00",
    ]
    assert lines[10:12] == [f"the system: {run}/system-{kind}" for kind in ("sampled", "hiero")]
    assert lines[-2].endswith(f"| scfg-decoder translate {' '.join(systems)}")
    for step in ("tune-sampled", "tune-hiero", "system-hiero", "translate-sampled", "translate", "report"):
        assert re.search(rf"\] {step} \(about \d+ (s|min) left\)\n", outcome.stderr), step
    assert unrecorded(run) == {"data/train.xx-en", "summary.txt"}
    assert recipe(stand_in, "--kind", "both", "--beam", "9").stdout == outcome.stdout
    assert commands(stand_in) == ["translate"]


def test_a_second_grammar_is_learnt_beside_the_one_that_is_there(stand_in):
    Finished(stand_in, recipe)
    assert recipe(stand_in, "--kind", "both").returncode == 0
    assert commands(stand_in) == ["extract", *TWO]
    (stand_in / "run" / "system-hiero").rmdir()
    assert recipe(stand_in, "--kind", "both").returncode == 0
    assert commands(stand_in) == ["bundle", "translate", "evaluate", "translate", "evaluate", "translate"]
    for line in ("test-hiero.txt", "test-sampled.json"):
        assert (stand_in / "run" / line).exists()
    said = recipe(stand_in, "--kind", "both", "--test", "0").stderr
    for name in ("test", "test-sampled", "test-hiero"):
        assert f"{name}.txt and {name}.json told of a test set, and are removed" in said
        assert not (stand_in / "run" / f"{name}.txt").exists()


def test_systems_of_another_kind_are_removed_once_there_are_those_of_this_one(stand_in):
    Finished(stand_in, recipe)
    run = stand_in / "run"
    (run / "system" / "note").write_text("of somebody\n")
    (run / "logs" / "system.products").write_text("\n\n./system\n1 2 ./system/grammar.bin\n")
    (run / "system" / "grammar.bin").touch()
    up_to("bundle", recipe, stand_in, "--kind", "both")
    assert (run / "system" / "grammar.bin").exists()
    said = recipe(stand_in, "--kind", "both").stderr
    assert "] what was made with another --kind is removed: system\n" in said
    assert [path.name for path in (run / "system").iterdir()] == ["note"]
    (run / "system" / "note").unlink()
    (run / "system").rmdir()
    assert "removed" not in recipe(stand_in, "--kind", "both").stderr
    said = recipe(stand_in, "--kind", "hiero").stderr
    gone = [
        name.format(kind)
        for kind in ("sampled", "hiero")
        for name in ("system-{}", "test-{}.txt", "test-{}.json")
    ]
    assert f"] what was made with another --kind is removed: {', '.join(gone)}\n" in said
    assert not any((run / name).exists() for name in gone)
    assert (run / "system").exists()
    assert (run / "test.json").exists()
    assert "left)" in recipe(stand_in, "--kind", "both").stderr.split("system-sampled (about", 1)[1]


def test_what_others_call_a_system_is_left(stand_in):
    run = stand_in / "run"
    (run / "system-hiero").mkdir(parents=True)
    assert "removed" not in recipe(stand_in).stderr
    assert (run / "system-hiero").exists()
    (run / "system").rename(stand_in / "elsewhere")
    (run / "system").symlink_to(stand_in / "elsewhere")
    (run / "system-hiero").rmdir()
    assert "removed" not in recipe(stand_in, "--kind", "both").stderr
    assert (run / "system").exists()
