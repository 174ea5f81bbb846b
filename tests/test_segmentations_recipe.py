"""The recipe that compares segmentations runs that for little text with each, and makes one table of it."""

from __future__ import annotations

import json
import sys

import pytest

from tests.recipe_calls import RECIPES, Finished, assert_refused, calls, run, write_stand_in
from tests.test_low_resource_recipe import MORE, STAND_IN

SEGMENTATIONS = RECIPES / "segmentations.sh"
ONE = ("--segmentations", "words", "--seeds", "1")


def set_up(directory):
    """A directory with the stand-in and a small corpus."""
    data = directory / "data"
    data.mkdir()
    for name in ("train.xx", "train.yy", "dev.xx", "dev.yy", "test.xx", "test.yy"):
        (data / name).write_text("one two\n" * 3)
    (directory / "cache").mkdir()  # Where the runs within this one find that the first has compiled.
    return write_stand_in(directory, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))


@pytest.fixture
def stand_in(tmp_path):
    return set_up(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Finished(set_up(tmp_path_factory.mktemp("made")), recipe, *ONE)


@pytest.fixture
def finished(made):
    """A run of the recipe that has come to its end, with one segmentation and seed."""
    return made.restored()


def recipe(stand_in, *options):
    arguments = (stand_in / "data", "xx", "yy", "--output", stand_in / "run", *options)
    return run(SEGMENTATIONS, *arguments, directory=stand_in, SCFG_PYTHON=str(stand_in / "python"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("data", "xx"), "expected DATA_DIR XX YY"),
        (("data", "xx", "zz"), "data has neither train.zz nor train.zz.gz"),
        (("data", "xx", "yy", "--seeds", "0"), "--seeds is from 1 to 100"),
        (("data", "xx", "yy", "--segmentations", " "), "--segmentations names none"),
        (("data", "xx", "yy", "--segmentations", "words words"), "--segmentations names words twice"),
        (("data", "xx", "yy", "--grammars", "hiero,tsg"), "--grammars is a list of hiero, hiero-loose and"),
    ],
)
def test_wrong_call_is_refused_in_one_line_before_anything_is_made(stand_in, arguments, complaint):
    assert_refused(stand_in, SEGMENTATIONS, arguments, complaint, SCFG_PYTHON=sys.executable)


def test_every_segmentation_and_seed_is_learnt_tuned_and_compared(stand_in):
    outcome = recipe(
        stand_in, "--segmentations", "words subwords:20,words", "--seeds", "2", "--preparing", "--joint"
    )
    assert outcome.returncode == 0, outcome.stderr
    made = calls(stand_in)
    for name, segmentation in (("words", "words"), ("subwords-20-words", "subwords:20,words")):
        for seed in ("1", "2"):
            here = [line for line in made if f"/{name}.{seed}/" in line]
            assert any(f"--segment {segmentation} " in line and line.endswith("--joint") for line in here)
            for command in ("sample", "tune"):
                assert all(f"--seed {seed} " in f"{line} " for line in here if f" {command} " in line)
            assert sum(" tune " in line for line in here) == 2
        comparisons = [
            line for line in made if " --against " in line and "/sampled.1.test.txt --against" in line
        ]
        (compared,) = (line for line in comparisons if f"/{name}.2/" in line and f"/{name}.1/" in line)
        assert f"{name}.1/sampled.1.test.txt" in compared
        assert f"{name}.2/hiero.1.test.txt" in compared.partition("--against")[2]
    results = json.loads((stand_in / "run" / "results.json").read_text())
    assert set(results["scores"]) == {
        f"{name} {grammar}" for name in ("words", "subwords-20-words") for grammar in ("hiero", "sampled")
    }
    # A stand-in's score is the number of lines, twice that for BLEU.
    assert results["scores"]["words sampled"] == {
        "dev BLEU": 6,
        "dev chrF": 3,
        "test BLEU": 6,
        "test chrF": 3,
    }
    assert outcome.stdout.count("0.2500") == 2


def test_best_is_chosen_by_the_development_set(stand_in):
    """The stand-in's scores are the lines of a first translation: the second grammar's is one more."""
    outcome = recipe(stand_in, "--segmentations", "words", "--seeds", "1", "--grammars", "hiero,hiero-loose")
    assert outcome.returncode == 0, outcome.stderr
    assert json.loads((stand_in / "run" / "results.json").read_text())["best"] == {
        "BLEU": "words hiero-loose",
        "chrF": "words hiero-loose",
    }
    assert "best on dev by chrF: words hiero-loose" in outcome.stdout


def test_second_call_does_nothing_again(finished):
    assert finished.noted
    outcome = recipe(finished.stand_in, *ONE)
    assert outcome.returncode == 0
    assert not calls(finished.stand_in)
    assert "words.1: done before" in outcome.stderr


def test_overwrite_does_the_steps_of_every_run_again(finished):
    assert recipe(finished.stand_in, *ONE, "--overwrite").returncode == 0
    assert len(calls(finished.stand_in)) == len(finished.noted)


def test_comparison_has_no_seeds_of_earlier_calls(finished):
    stand_in = finished.stand_in
    assert recipe(stand_in, "--segmentations", "words", "--seeds", "2").returncode == 0
    calls(stand_in)
    outcome = recipe(stand_in, *ONE, "--beam", "7")
    assert outcome.returncode == 0, outcome.stderr
    compared = [line for line in calls(stand_in) if "/sampled.1.test.txt --against" in line]
    assert compared
    assert all("words.2/" not in line for line in compared)
