"""Ctrl-C in a step of a recipe is told in one line, whatever the program answers; it is done again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.recipe_calls import RECIPES

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

# A program that has its own answer to Ctrl-C, the status $1, after it has said that it is there.
PROGRAM = """#!/usr/bin/env bash
trap 'echo Traceback; echo KeyboardInterrupt; exit '"$1" INT
trap 'trap "" TERM HUP; sleep 0.3; touch saved; exit 143' TERM HUP
touch there
for ((k = 0; k < 1000; k++)); do sleep 0.01; done
"""

RECIPE = f"""#!/usr/bin/env bash
set -euo pipefail
. '{RECIPES}/common.sh'
OUT=run
answer() {{
    if [ -e there ]; then echo "resuming $RESUMING"; else ./program "$1"; fi
}}
step first -- answer "$1"
step second -- true
"""


# Two programs at a time, which end at Ctrl-C as any do; their numbers are noted. If `compile` is asked for,
# they take the place of Python: what is learnt in the background, and the language model in the foreground.
# If `deaf` is, they pass over Ctrl-C, as bash 3.2 has all do that it runs in the background.
TOGETHER = f"""#!/usr/bin/env bash
set -euo pipefail
. '{RECIPES}/common.sh'
. '{RECIPES}/translation.sh'
OUT=run ORDER=2 THREADS=1 PYTHON=./endless
what=$1
endless() {{ [ "$what" != deaf ] || trap "" INT; ./endless -m "$1"; }}
case $1 in
    compile) step first -- compile ;;
    *) step first -- side_by_side endless one two ;;
esac
"""
# Not a program of the shell, which goes on after Ctrl-C where it is waiting for another that has just ended.
ENDLESS = f"""#!/usr/bin/env bash
[ "$1" != -c ] || exit 0
exec '{sys.executable}' -I -S -c '
import os, pathlib, signal, time
if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
with open("numbers", "a") as numbers:
    print(os.getpid(), file=numbers)
if pathlib.Path("numbers").read_text().count("\\n") == 2:
    pathlib.Path("there").touch()
time.sleep(1000)
'
"""


# A recipe as a part of another one, which has no steps.
OUTER = f"""#!/usr/bin/env bash
set -euo pipefail
. '{RECIPES}/common.sh'
main() {{
    within outer ./recipe "$1" >/dev/null
    say "after it"
}}
main "$@"
"""


# What a recipe does between two steps: the shell itself, or a program that answers Ctrl-C with the status $1.
BETWEEN = f"""#!/usr/bin/env bash
set -euo pipefail
. '{RECIPES}/common.sh'
main() {{
    OUT=run
    step first -- true
    case $1 in
        shell) : >there; for ((k = 0; k < 1000000000; k++)); do :; done ;;
        nothing) ;;
        failing) false ;;
        *) ./program "$1" | cat ;;
    esac
    step second -- true
}}
main "$@"
"""


@pytest.fixture
def stop(tmp_path):
    """Runs the recipe, stops it once its program is there; status and messages."""
    texts = {"program": PROGRAM, "recipe": RECIPE, "outer": OUTER, "together": TOGETHER}
    texts |= {"endless": ENDLESS, "between": BETWEEN}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def stopped(*command, recipe="recipe", ending=signal.SIGINT, of=os.killpg):
        child = subprocess.Popen(
            [str(tmp_path / recipe), *command],
            cwd=tmp_path,
            env={**os.environ, "SCFG_SAMPLER_CACHE": str(tmp_path / "cache")},
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            # Whoever is started in the background would pass over Ctrl-C, and so would what it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        end = time.monotonic() + 60
        while not (tmp_path / "there").exists() and time.monotonic() < end:
            time.sleep(0.01)
        of(child.pid, ending)
        try:
            said = child.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        return child.returncode, said

    return stopped


@pytest.mark.parametrize("answer", ["130", "1"], ids=["as a program of ours", "as Python that begins"])
def test_a_step_that_was_stopped_is_told_so_and_begun_again(stop, tmp_path, answer):
    status, said = stop(answer)
    assert status == 130
    assert said.splitlines()[1].endswith("first was stopped; started again, the recipe goes on there")
    assert len(said.splitlines()) == 2
    again = subprocess.run(
        [str(tmp_path / "recipe"), answer], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "second" in again.stderr
    assert (tmp_path / "run" / "logs" / "first.log").read_text() == "resuming 1\n"


def test_a_step_that_was_finished_all_the_same_is_kept(stop, tmp_path):
    status, said = stop("0")
    assert status == 130
    assert said.splitlines()[1].endswith("stopped after first; started again, the recipe goes on there")
    assert "second" not in said
    again = subprocess.run(
        [str(tmp_path / "recipe"), "0"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "first: done before" in again.stderr


@pytest.mark.parametrize("what", ["compile", "evaluations", "deaf"])
def test_what_runs_side_by_side_ends_at_once(stop, tmp_path, what):
    (tmp_path / "cache").mkdir()
    began = time.monotonic()
    status, said = stop(what, recipe="together")
    assert status == 130
    assert said.splitlines()[1].endswith("first was stopped; started again, the recipe goes on there")
    assert len(said.splitlines()) == 2
    see_them_end(tmp_path, began + 20)
    assert list((tmp_path / "cache").iterdir()) == []  # Nothing says that all is compiled.


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP], ids=["asked to end", "closed terminal"])
@pytest.mark.parametrize("of", [os.kill, os.killpg], ids=["the shell alone", "all"])
@pytest.mark.parametrize("recipe", ["recipe", "together"])
def test_whoever_ends_the_shell_ends_its_programs(stop, tmp_path, recipe, of, ending):
    """The shell itself would be gone at once: its program is waited for here, which takes a while to save."""
    began = time.monotonic()
    status, said = stop("evaluations" if recipe == "together" else "130", recipe=recipe, ending=ending, of=of)
    assert status in (-ending, 128 + ending)
    assert said.splitlines()[1].endswith("first was stopped; started again, the recipe goes on there")
    assert len(said.splitlines()) == 2
    if recipe == "together":
        see_them_end(tmp_path, began + 20)
    else:
        assert (tmp_path / "saved").exists()


@pytest.mark.parametrize(
    ("what", "ending", "of"),
    [
        *(("shell", ending, os.kill) for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
        *(("130", ending, os.killpg) for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)),
        *(("130", ending, os.kill) for ending in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_recipe_that_is_stopped_between_two_steps_says_so(stop, tmp_path, what, ending, of):
    status, said = stop(what, recipe="between", ending=ending, of=of)
    assert status in (-ending, 128 + ending)
    # Bash may have a word, too, of a program that the signal has ended.
    lines = [line.split("] ")[1] for line in said.splitlines() if line.startswith("[")]
    assert lines == ["first", "the recipe was stopped; started again, it goes on where it was"]
    assert (tmp_path / "saved").exists() == (what == "130" and ending != signal.SIGINT)


@pytest.mark.parametrize(("what", "status", "steps"), [("nothing", 0, 2), ("failing", 1, 1)])
def test_a_recipe_that_ends_by_itself_is_not_said_to_be_stopped(stop, tmp_path, what, status, steps):
    command = [str(tmp_path / "between"), what]
    ended = subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr.count("\n")) == (status, steps)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP], ids=["asked to end", "closed terminal"])
def test_whoever_ends_the_shell_ends_the_recipe_within_it(stop, tmp_path, ending):
    status, said = stop("130", recipe="outer", ending=ending, of=os.kill)
    assert status in (-ending, 128 + ending)
    assert [line.split("] ")[1] for line in said.splitlines()] == [
        "first",
        "first was stopped; started again, the recipe goes on there",
        "outer was stopped; started again, the recipe goes on there",
    ]
    assert (tmp_path / "saved").exists()


@pytest.mark.parametrize(("answer", "status"), [("130", 130), ("1", 130), ("0", 130)])
def test_ctrl_c_in_a_recipe_within_another_is_told_once(stop, answer, status):
    found, said = stop(answer, recipe="outer")
    assert found == status
    assert len(said.splitlines()) == 2


def test_scripts_that_take_over_what_recipes_share_keep_what_they_do_at_their_end():
    script = f'trap "echo at the end" EXIT; . "{RECIPES / "common.sh"}"'
    assert subprocess.run(["bash", "-c", script], capture_output=True, text=True).stdout == "at the end\n"


def test_whoever_ends_the_quickstart_ends_the_recipe_that_it_is(tmp_path):
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    for name in ("quickstart.sh", "common.sh", "environment.sh", "steps.sh"):
        shutil.copy(RECIPES / name, recipes)
    (recipes / "alignments-to-bleu.sh").write_text("#!/bin/sh\necho $$\n")
    (recipes / "alignments-to-bleu.sh").chmod(0o755)
    with subprocess.Popen([recipes / "quickstart.sh"], stdout=subprocess.PIPE, text=True) as child:
        assert child.communicate()[0] == f"{child.pid}\n"


def see_them_end(directory, deadline):
    numbers = [int(number) for number in (directory / "numbers").read_text().split()]
    assert len(numbers) == 2
    while left := [number for number in numbers if is_alive(number)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True
