"""Recipes with a second language model, of classes of words: it is trained, tuned with, and in the system."""

import re
import subprocess

import pytest

from tests import test_low_resource_recipe as low_resource
from tests import test_raw_text_recipe as raw_text
from tests.recipe_calls import ALIGNMENTS_TO_BLEU, TABLE2, assert_refused, bleu_recipe, calls, small_data

RECIPES = ALIGNMENTS_TO_BLEU.parent

OF_BLEU = {
    "alignments-to-bleu": (ALIGNMENTS_TO_BLEU, ()),
    "table2": (TABLE2, ("--rows", "last", "--seeds", "1", "--tuned", "last")),
}


def on_small_data(stand_in, name, *options):
    """A recipe that begins with alignments; its calls."""
    recipe, given = OF_BLEU[name]
    data = stand_in / "data"
    if not data.exists():
        small_data(data)
        (data / "train.en").write_text(" ".join(f"w{i}" for i in range(80)) + "\n")
    outcome = bleu_recipe(stand_in, data, *given, *options, recipe=recipe)
    assert outcome.returncode == 0, outcome.stderr
    return calls(stand_in)


def models(line):
    return re.findall(r"--lm \S*?([^/ ]+)(?= )", line.replace("run dir", "run"))


def assert_translates_by(expected, done):
    """All that tunes, translates or is bundled has these language models."""
    used = [line for line in done if re.match(r"decoder (tune|translate --grammar|bundle) ", line)]
    assert used
    for line in used:
        assert models(line) == expected, line


@pytest.mark.parametrize("name", OF_BLEU)
def test_the_model_of_classes_goes_wherever_that_of_words_does(stand_in, name):
    done = on_small_data(stand_in, name, "--classes", "200")
    assert_translates_by(["lm.arpa", "lm-classes.bin"], done)
    (learnt,) = [line for line in done if line.startswith("scfg_sampler classes")]
    assert re.search(
        r"train\.en --number 20 --output \S.*lm-classes\.text --words .*lm-classes\.words", learnt
    )
    (compiled,) = [line for line in done if line.startswith("decoder compile-lm")]
    assert re.search(r"lm-classes\.arpa --classes .*lm-classes\.words --output .*lm-classes\.bin", compiled)
    assert sum("train-lm" in line and "lm-classes.text --order 5" in line for line in done) == 1
    assert on_small_data(stand_in, name, "--classes", "200") == []
    again = on_small_data(stand_in, name, "--classes", "7")
    assert_translates_by(["lm.arpa", "lm-classes.bin"], again)
    assert any(line.startswith("decoder tune") for line in again)
    assert any("--number 7 " in line for line in again)
    assert not any("--order 3" in line for line in again)
    without = on_small_data(stand_in, name, "--classes", "0")
    assert_translates_by(["lm.arpa"], without)
    assert any(line.startswith("decoder tune") for line in without)


@pytest.mark.parametrize("name", OF_BLEU)
def test_a_text_of_few_words_has_few_classes(stand_in, name):
    data = small_data(stand_in / "data")
    assert (data / "train.en").read_text() == "a b c\n"
    done = on_small_data(stand_in, name, "--classes", "200")
    (learnt,) = [line for line in done if line.startswith("scfg_sampler classes")]
    assert "--number 1 " in learnt


def test_raw_text_has_classes_of_all_text_that_the_model_of_words_has(tmp_path):
    stand_in = raw_text.set_up(tmp_path)
    options = ("--classes", "2", "--kind", "both", "--monolingual", stand_in / "c.en.gz")
    outcome = raw_text.recipe(stand_in, *options)
    assert outcome.returncode == 0, outcome.stderr
    done = calls(stand_in)
    assert_translates_by(["lm.arpa", "lm-classes.bin"], done)
    assert len([line for line in done if line.startswith("decoder bundle")]) == 2
    (learnt,) = [line for line in done if line.startswith("scfg_sampler classes")]
    assert "/lm.en --number 1 " in learnt
    assert "monolingual" in (stand_in / "run" / "lm.en").read_text()


def test_small_languages_have_classes_too(tmp_path):
    stand_in = low_resource.set_up(tmp_path)
    outcome = low_resource.recipe(stand_in, "--classes", "5", "--tunings", "1")
    assert outcome.returncode == 0, outcome.stderr
    done = calls(stand_in)
    assert_translates_by(["lm.arpa", "lm-classes.bin"], done)
    assert sum(line.startswith("decoder tune") for line in done) == 3


@pytest.mark.parametrize("classes", ["", "CLASSES=0", "CLASSES=200"])
def test_the_time_told_knows_of_classes(tmp_path, classes):
    script = f". '{RECIPES}/common.sh'; . '{RECIPES}/translation.sh'; OUT='{tmp_path}' T=1 M=1\n"
    script += f"ROUNDS=10 THREADS=1 SENTENCES=1000 {classes}\n"
    script += "printf 'tune-a\\ntranslate-a\\nlm\\n' | guesses\n"
    script += 'plan() { echo "$*"; }; estimate x "4 + $TUNING_TIME"\n'
    script += 'estimate y "5 + $TRANSLATING_TIME"; plan_estimates'
    outcome = subprocess.run(["bash", "-eu", "-c", script], capture_output=True, text=True, timeout=30)
    assert outcome.returncode == 0, outcome.stderr
    tune, translate = 0.006 * 1000 * 11 * 0.5 * 3, 0.02 * 1000 * 0.5
    if "200" in classes:
        tune, translate = tune * 1.2, translate * 2.2
    seconds = {"tune-a": 3 + tune, "translate-a": 3 + translate, "lm": 3, "x": 4 + tune, "y": 5 + translate}
    assert outcome.stdout.split("\n")[:-1] == [f"{name} {each:.2f}" for name, each in seconds.items()]


@pytest.mark.parametrize(
    "recipe", [ALIGNMENTS_TO_BLEU, TABLE2, raw_text.FROM_RAW_TEXT, low_resource.LOW_RESOURCE]
)
def test_classes_are_a_number(tmp_path, recipe):
    small_data(tmp_path / "data")
    (tmp_path / "t").write_text("a\n")
    given = ("t", "t", "xx", "en") if recipe == raw_text.FROM_RAW_TEXT else ("data", "xx", "en")
    assert_refused(tmp_path, recipe, (*given, "--classes", "few"), "--classes is a whole number, not 'few'")
