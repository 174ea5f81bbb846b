"""The recipe that learns a tree substitution grammar notices trees that have changed."""

from __future__ import annotations

import shutil

import pytest

from tests.recipe_calls import RECIPES, STAND_IN, assert_refused, calls, run, write_stand_in

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def test_trees_that_have_changed_are_parsed_again(tmp_path):
    write_stand_in(tmp_path, STAND_IN)
    for name in ("train", "dev"):
        (tmp_path / f"{name}.mrg").write_text("(S (NP dogs) (VP bark))\n")
    arguments = (tmp_path, "--sets", "dev", "--no-plots", "--output", tmp_path / "run")

    def done() -> list[str]:
        outcome = run(
            RECIPES / "tsg-gum.sh", *arguments, directory=tmp_path, SCFG_PYTHON=str(tmp_path / "python")
        )
        return [line.split("] ")[1] for line in outcome.stderr.splitlines() if "done before" in line]

    assert done() == []
    assert "dev.words.pcfg: done before" in done()
    (tmp_path / "dev.mrg").write_text("(S (NP cats) (VP sleep))\n")
    assert done() == ["learn: done before"]


def test_burn_in_goes_with_the_sweeps(tmp_path):
    write_stand_in(tmp_path, STAND_IN)
    for name in ("train", "dev"):
        (tmp_path / f"{name}.mrg").write_text("(S (NP dogs) (VP bark))\n")
    given = ("--sets", "dev", "--no-plots", "--iterations", "100", "--output", tmp_path / "run")
    python = str(tmp_path / "python")
    run(RECIPES / "tsg-gum.sh", tmp_path, *given, directory=tmp_path, SCFG_PYTHON=python)
    assert [line for line in calls(tmp_path) if "tsg train" in line and "--burn-in 70 " in line]


def test_burn_in_that_leaves_no_sweep_is_refused(tmp_path):
    arguments = (".", "--iterations", "5", "--burn-in", "5")
    assert_refused(tmp_path, RECIPES / "tsg-gum.sh", arguments, "--burn-in 5 leaves none of the 5 sweeps")


def test_learning_that_was_stopped_goes_on_and_threads_change_no_trees(tmp_path):
    write_stand_in(tmp_path, STAND_IN)
    for name in ("train", "dev"):
        (tmp_path / f"{name}.mrg").write_text("(S (NP dogs) (VP bark))\n")
    out = tmp_path / "run"

    def tsg(*more: str) -> list[str]:
        arguments = (tmp_path, "--sets", "dev", "--no-plots", "--output", out, *more)
        run(RECIPES / "tsg-gum.sh", *arguments, directory=tmp_path, SCFG_PYTHON=str(tmp_path / "python"))
        return [" ".join(line.split()[1:3]) for line in calls(tmp_path) if "tsg" in line]

    assert "tsg train" in tsg("--threads", "1")
    assert not {"tsg train", "tsg parse"} & set(tsg("--threads", "2"))
    (out / "logs" / "learn.done").unlink()  # As if it had been stopped within the step.
    (out / "learn").unlink()
    (out / "learn").mkdir()
    (out / "learn" / "run.json").write_text('{"finished": false}')
    found = tsg()
    assert "tsg resume" in found
    assert "tsg train" not in found


# Grammars and scores, of which the tables tell.
MORE = r"""
case $given in
    *"tsg train"*)
        out=${given##*--output } && out=${out%% *}
        mkdir -p "$out" && echo '{"cpu_seconds": 1}' >"$out/run.json"
        for name in grammar pcfg; do gzip <<<"1 (S a)" >"$out/$name.tsg.gz"; done
        exit
        ;;
    *"tsg score"*) echo '{"f1": 1, "exact": 1, "sentences": 1}' && exit ;;
esac
while [ $# -gt 0 ]; do"""


def test_tables_stay_when_the_page_behind_them_is_made_again(tmp_path):
    write_stand_in(tmp_path, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))
    for name in ("train", "dev"):
        (tmp_path / f"{name}.mrg").write_text("(S (NP dogs) (VP bark))\n")
    out = tmp_path / "run"
    for _ in range(2):
        given = (tmp_path, "--sets", "dev", "--no-plots", "--output", out)
        python = str(tmp_path / "python")
        outcome = run(RECIPES / "tsg-gum.sh", *given, directory=tmp_path, SCFG_PYTHON=python)
        assert outcome.returncode == 0, outcome.stderr
        assert {"table.txt", "statistics.txt"} <= {path.name for path in out.iterdir()}
        (out / "report.html").unlink()
