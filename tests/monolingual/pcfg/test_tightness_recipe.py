"""`recipes/tightness.sh`: treebanks have results of their own, wherever these go."""

from __future__ import annotations

import shutil

import pytest

from tests.recipe_calls import RECIPES, STAND_IN, assert_refused, calls, run, write_stand_in

RECIPE = RECIPES / "tightness.sh"

# Runs that have drawn no tree, and comparisons that name them.
MORE = r"""
out=${given##*--output }
out=${out%% *}
none='{"effective_draws": 0}'
case $given in
    *"pcfg sample"*)
        mkdir -p "$out"
        printf '{"tree_frequencies": {}, "tree_frequency_errors": {}, "cpu_seconds": 1, "reweighted": {' \
            >"$out/summary.json"
        printf '"sink": %s, "only-tight": %s, "renormalise": %s}}' "$none" "$none" "$none" \
            >>"$out/summary.json"
        exit
        ;;
    *"pcfg compare"*) printf '%s\n' "${@:5:3}" && exit ;;
esac
while [ $# -gt 0 ]; do"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def test_two_treebanks_of_one_name_are_refused(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder / "en").mkdir(parents=True)
        (tmp_path / folder / "en" / "dev").touch()
    arguments = ("one/en/dev", "two/en/dev")
    assert_refused(tmp_path, RECIPE, arguments, "results of two treebanks would be called en.dev")


@pytest.mark.parametrize("chains", ["2", "3"])
def test_comparisons_name_approaches_alone_and_draw_densities_of_three_chains(tmp_path, chains):
    write_stand_in(tmp_path, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))
    (tmp_path / "dev").write_text("A\t0\ta\n")
    out = tmp_path / "a,b&c"
    outcome = run(
        RECIPE,
        tmp_path / "dev",
        *("--output", out, "--chains", chains, "--iterations", "50"),
        directory=tmp_path,
        SCFG_PYTHON=str(tmp_path / "python"),
    )
    assert outcome.returncode == 0, outcome.stderr
    (table,) = [path for path in out.glob("*.txt") if path.name != "section8.txt"]
    assert table.read_text().split() == ["only-tight", "renormalise", "sink"]
    called = calls(tmp_path)
    (compared,) = [line for line in called if "pcfg compare" in line]
    assert ("--plot" in compared) == (chains == "3")
    sampled = [line for line in called if "pcfg sample" in line and "--chains" in line]
    assert sampled
    assert all("--iterations 50 --burn-in 25 " in line for line in sampled)
    assert "0.000000" in (out / "section8.txt").read_text()


def test_runs_that_were_stopped_go_on_and_threads_change_no_draws(tmp_path):
    write_stand_in(tmp_path, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))
    out = tmp_path / "run"

    def called(*more: str) -> list[str]:
        python = str(tmp_path / "python")
        outcome = run(RECIPE, "--output", out, *more, directory=tmp_path, SCFG_PYTHON=python)
        assert outcome.returncode == 0, outcome.stderr
        return [line for line in calls(tmp_path) if "pcfg sample" in line or "pcfg resume" in line]

    assert len(called("--threads", "1")) == 4
    assert called("--threads", "2") == []
    (out / "logs" / "section8.sink.done").unlink()  # As if it had been stopped within the step.
    (out / "section8.sink" / "run.json").write_text('{"finished": false}')
    assert called() == [f"monolingual pcfg resume {out}/section8.sink --threads 1"]


def test_tables_stay_unless_what_they_tell_of_is_done_again(tmp_path):
    write_stand_in(tmp_path, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))
    (tmp_path / "dev").write_text("A\t0\ta\n")
    out = tmp_path / "run"
    tables = [out / "section8.txt", out / f"{tmp_path.name}.dev.txt"]

    def status(*more: str) -> int:
        given = (tmp_path / "dev", "--output", out, *more)
        return run(RECIPE, *given, directory=tmp_path, SCFG_PYTHON=str(tmp_path / "python")).returncode

    assert status() == 0
    for page in out.glob("*.html"):
        page.unlink()
    assert status() == 0
    assert all(table.exists() for table in tables)
    (tmp_path / "broken").write_text("pcfg")
    assert status("--prior", "0.2") == 2
    assert [table.exists() for table in tables] == [True, False]
    assert status("--draws", "5") == 2
    assert [table.exists() for table in tables] == [False, False]
