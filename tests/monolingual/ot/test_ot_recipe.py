"""`recipes/ot-lin2005.sh`: refused in one line when called wrongly."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from monolingual.cli import main
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


TABLEAUX = """input\toutput\tfrequency\tA\tB\tC\tD
x\ta\t30\t0\t1\t1\t0
x\tb\t20\t1\t0\t0\t0
y\ta\t5\t0\t1\t0\t0
y\tb\t9\t1\t0\t1\t0
"""


def test_what_sampling_has_said_is_found_in_its_run(tmp_path, capsys):
    (tmp_path / "tableaux").write_text(TABLEAUX)
    run_directory = str(tmp_path / "run")
    few = ["--iterations", "20", "--chains", "2", "--pilot", "20"]
    assert main(["ot", "sample", str(tmp_path / "tableaux"), "--output", run_directory, *few]) == 0
    said = capsys.readouterr()
    lines = [line for line in (said.out + said.err).splitlines() if not line.startswith("at work")]
    command = [sys.executable, str(RECIPES / "tables.py"), "posterior", run_directory]
    found = subprocess.run(command, cwd=RECIPES.parent, capture_output=True, text=True, check=True).stdout
    assert sorted(found.splitlines()) == sorted(lines)
    assert "warning: no candidates differ in D" in found


def test_tables_are_whole_where_sampling_was_stopped_at_its_end(tmp_path):
    """Its log is empty then: when the step is begun again there is nothing left to do."""
    for name in ("common.sh", "environment.sh", "steps.sh"):
        shutil.copy(RECIPES / name, tmp_path)
    text = RECIPE.read_text().removesuffix('main "$@"\n')
    stand_ins = 'OUT=run; ot() { echo "ot $1"; }; tables() { echo "tables $1 ${2#run/}"; }'
    (tmp_path / "recipe").write_text(f"{text}\n{stand_ins}\nreport\n")
    (tmp_path / "run" / "logs").mkdir(parents=True)
    for name in ("table-3", "sample-ilokano", "maxent-spanish", "sample-finnish"):
        (tmp_path / "run" / "logs" / f"{name}.log").write_text("A > B\n" if name == "table-3" else "")
    for name in ("spanish", "finnish"):
        (tmp_path / "run" / f"{name}.comparison.txt").write_text(f"{name} compared\n")
    made = subprocess.run(["bash", "recipe"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    lines = made.splitlines()
    assert lines[-1] == "run directory: run"
    assert [line for line in lines if "posterior" in line] == [
        "tables posterior ilokano",
        "tables posterior finnish",
    ]
