"""`recipes/dmv.sh`: refused in one line when called wrongly, gone on with when stopped."""

from __future__ import annotations

import shutil

import pytest

from tests.recipe_calls import RECIPES, STAND_IN, assert_refused, calls, run, write_stand_in

RECIPE = RECIPES / "dmv.sh"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "expected one TREEBANK_DIR"),
        (("one", "two"), "expected one TREEBANK_DIR"),
        (("nowhere",), "there is no train.conllu in nowhere"),
        (("nowhere", "--frob"), "unknown option --frob"),
        (("nowhere", "--output"), "option --output needs a value"),
        (("nowhere", "--rounds", "many"), "--rounds is a whole number, not 'many'"),
        (("nowhere", "--rounds", "1"), "--rounds is at least 2, not 1"),
    ],
)
def test_wrong_call_is_refused_in_one_line(arguments, complaint, tmp_path):
    assert_refused(tmp_path, RECIPE, arguments, complaint)


# A model of two universal tags, and its scores.
MORE = r"""
out=${given##*--output }
out=${out%% *}
[[ $given != *"dmv resume "* ]] || out=${given##* }
found='{"directed": 1.0, "undirected": 2.0, "words": 3}'
found="{\"10\": $found, \"20\": $found, \"all\": $found}"
case $given in
    *"dmv train"* | *"dmv resume"*)
        printf '# method em, seed 1, 3 rounds\nroot NOUN 0.5\nroot VERB 0.5\n' >"$out"
        exit
        ;;
    *"dmv evaluate"*)
        printf '{"viterbi": %s, "mbr": %s, ' "$found" "$found"
        printf '"attach_right": %s, "attach_left": %s}' "$found" "$found"
        exit
        ;;
esac
while [ $# -gt 0 ]; do"""


@pytest.fixture
def recipe(tmp_path):
    write_stand_in(tmp_path, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.conllu").write_text("1\ta\ta\tNOUN\tNN\t_\t0\t_\t_\t_\n\n")
    told = (tmp_path, "--output", tmp_path / "run")
    return lambda *more: run(
        RECIPE, *told, *more, directory=tmp_path, SCFG_PYTHON=str(tmp_path / "python"), timeout=120
    )


def test_training_that_was_stopped_goes_on(recipe, tmp_path):
    (tmp_path / "broken").write_text("dmv")
    assert recipe("--seeds", "0").returncode == 2
    checkpoint = tmp_path / "run" / "em.model.txt.checkpoint.npz"
    checkpoint.touch()
    (tmp_path / "broken").unlink()
    assert recipe("--seeds", "0").returncode == 0
    first, second, third = calls(tmp_path)[:3]
    assert first == f"monolingual dmv resume {tmp_path}/run/em.model.txt"
    assert "dmv evaluate" in second
    assert "dmv train" in third


def test_training_of_other_settings_that_was_stopped_at_once_begins_anew(recipe, tmp_path):
    (tmp_path / "broken").write_text("dmv")
    assert recipe("--seeds", "0").returncode == 2
    checkpoint = tmp_path / "run" / "em.model.txt.checkpoint.npz"
    checkpoint.touch()
    assert recipe("--seeds", "0", "--rounds", "7").returncode == 2
    assert not checkpoint.exists()
    (tmp_path / "broken").unlink()
    assert recipe("--seeds", "0", "--rounds", "7").returncode == 0
    assert "dmv train" in calls(tmp_path)[0]


def test_heads_are_drawn_that_the_tags_have(recipe, tmp_path):
    outcome = recipe("--seeds", "0", "--tags", "upos")
    assert outcome.returncode == 0, outcome.stderr
    (drawn,) = [line for line in calls(tmp_path) if "covariances.svg" in line]
    assert "--head VERB --head NOUN --plot" in drawn
    assert recipe("--seeds", "0", "--tags", "upos", "--heads", "ADJ").returncode == 0
    (drawn,) = [line for line in calls(tmp_path) if "covariances.svg" in line]
    assert "--head ADJ --plot" in drawn


def test_table_stays_when_a_picture_is_drawn_after_it(recipe, tmp_path):
    assert recipe("--seeds", "0", "--tags", "upos", "--no-plots").returncode == 0
    outcome = recipe("--seeds", "0", "--tags", "upos")
    assert "covariances: done before" not in outcome.stderr
    assert (tmp_path / "run" / "table.txt").read_text() in outcome.stdout


def test_temperatures_fall_within_the_rounds(recipe, tmp_path):
    assert recipe("--seeds", "0", "--rounds", "10", "--no-plots").returncode == 0
    assert [line for line in calls(tmp_path) if "--anneal 1:9" in line]
