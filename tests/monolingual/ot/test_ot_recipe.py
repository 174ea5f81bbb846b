"""`recipes/ot-lin2005.sh`: refused in one line when called wrongly."""

from __future__ import annotations

import shutil

import pytest

from tests.recipe_calls import RECIPES, assert_refused, calls, run, write_stand_in

RECIPE = RECIPES / "ot-lin2005.sh"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "expected one DATA_DIR"),
        (("one", "two"), "expected one DATA_DIR"),
        (("nowhere",), "there is no lin2005-table2.tsv in nowhere"),
        (("nowhere", "--frob"), "unknown option --frob"),
        (("nowhere", "--output"), "option --output needs a value"),
        (("nowhere", "--seeds", "many"), "--seeds is a whole number, not 'many'"),
    ],
)
def test_wrong_call_is_refused_in_one_line(arguments, complaint, tmp_path):
    assert_refused(tmp_path, RECIPE, arguments, complaint)


def test_pictures_of_another_format_are_drawn(tmp_path):
    """The stand-in makes no predictions for the tables, which come after the pictures."""
    write_stand_in(tmp_path)
    kinds = ("table2", "ilokano-reduplication", "spanish-diminutives")
    for name in (*(f"lin2005-{kind}" for kind in kinds), "finnish-genitive-plurals"):
        (tmp_path / f"{name}.tsv").write_text("input\toutput\tfrequency\tMax\n")
    for form in ("svg", "pdf"):
        more = ("--output", tmp_path / "run", "--format", form)
        run(RECIPE, tmp_path, *more, directory=tmp_path, SCFG_PYTHON="./python")
        drawn = [line for line in calls(tmp_path) if "ot plot" in line]
        assert [f"--format {form}" in line for line in drawn] == [True] * 3
    assert (tmp_path / "run" / "spanish.comparison.txt").exists()
