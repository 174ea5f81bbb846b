"""Two recipes do not write to one directory at a time; one that was killed is not in the way of the next."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.recipe_calls import RECIPES, run, small_data, write_stand_in

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

# A recipe of one step, which takes so many seconds; with `beside`, where others would be taken beside it.
RECIPE = f"""#!/usr/bin/env bash
set -euo pipefail
. '{RECIPES}/common.sh'
OUT=$1 PYTHON='{sys.executable}'
steps() {{ step first -- bash -c 'touch there; exec sleep "$1"' - "$1"; }}
if [ "${{3:-}}" = beside ]; then beside steps "$2" && join; else steps "$2"; fi
"""


@pytest.fixture
def begun(tmp_path):
    """Begins the recipe, and waits until its program is there; the process."""
    (tmp_path / "recipe").write_text(RECIPE)
    children = []

    def begin(*arguments):
        command = ["bash", "recipe", *arguments]
        child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, process_group=0)
        children.append(child)
        end = time.monotonic() + 60
        while not (tmp_path / "there").exists() and child.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        return child

    yield begin
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def _again(tmp_path, *arguments):
    return subprocess.run(
        ["bash", "recipe", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("where", ["", "beside"])
def test_a_second_recipe_is_refused_while_the_first_is_at_work(begun, tmp_path, where):
    begun("run dir", "50", where)
    logs = sorted(path.name for path in (tmp_path / "run dir" / "logs").iterdir())
    found = _again(tmp_path, "run dir", "0", where)
    assert found.returncode == 2
    assert found.stderr == (
        "recipe: run dir is in use by another recipe, or by what one has left running; "
        "wait until it ends, or name another --output\n"
    )
    assert sorted(path.name for path in (tmp_path / "run dir" / "logs").iterdir()) == logs
    assert _again(tmp_path, "another", "0", where).returncode == 0


def test_what_a_killed_recipe_has_left_running_is_waited_for(begun, tmp_path):
    child = begun("run", "50")
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert _again(tmp_path, "run", "0").returncode == 2
    os.killpg(child.pid, signal.SIGKILL)
    found = _again(tmp_path, "run", "0")
    assert (found.returncode, "first" in found.stderr) == (0, True)


@pytest.mark.parametrize(
    "recipe",
    ["table2.sh data xx en", "dmv.sh data", "ot-lin2005.sh data", "alignments-to-bleu.sh data xx en"],
)
def test_a_recipe_that_is_refused_has_changed_nothing(recipe, tmp_path):
    script, *arguments = recipe.split()
    data = small_data(tmp_path / "data")
    tableaux = "table2", "ilokano-reduplication", "spanish-diminutives"
    names = [*(f"lin2005-{name}.tsv" for name in tableaux), "finnish-genitive-plurals.tsv"]
    for name in (*names, *(f"{name}.conllu" for name in ("train", "dev", "test"))):
        (data / name).write_text("of another text\n")
    (tmp_path / "out" / "logs").mkdir(parents=True)
    found = [tmp_path / "out" / name for name in ("input.xx", "settings", "table2.tsv")]
    for path in found:
        path.write_text("read by the recipe that is at work\n")
    python = str(write_stand_in(tmp_path) / "python")
    with open(tmp_path / "out" / "logs" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outcome = run(RECIPES / script, *arguments, "--output", "out", directory=tmp_path, SCFG_PYTHON=python)
    assert (outcome.returncode, "out is in use by another recipe" in outcome.stderr) == (2, True)
    assert [path.read_text() for path in found] == 3 * ["read by the recipe that is at work\n"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "input.xx",
        "logs",
        "settings",
        "table2.tsv",
    ]
