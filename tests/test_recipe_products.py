"""What steps of recipes have left and is lost or changed is made again, and all that depends on it."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.recipe_calls import RECIPES, run

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

# Three steps that depend on one another, and one that does not. Each writes its own name to its products.
STEPS = f"""
set -euo pipefail
. '{RECIPES}/common.sh'
OUT=run conclusions=(table.txt results.json)
write() {{
    local file
    [ ! -e "broken-$1" ] || return 3
    echo "$1" >>calls
    for file in "${{@:2}}"; do
        mkdir -p "$(dirname "$OUT/$file")"
        echo "$1" >"$OUT/$file"
    done
}}
step first --makes a -- write first a
step second first --makes 'b c' kept/record.json kept/empty rarely -- write second 'b c' kept/record.json
step third second --makes d -- write third d
step other -- write other e
"""
ALL = ["first", "second", "third", "other"]


def steps(directory: Path, text: str = STEPS, **environment: str) -> tuple[list[str], str]:
    """The steps that were taken, and what was said."""
    noted = directory / "calls"
    noted.unlink(missing_ok=True)
    outcome = subprocess.run(
        ["bash", "-c", text],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    said = re.sub(r"^\[ *\d+ s\] ", "", outcome.stderr, flags=re.MULTILINE)
    return noted.read_text().split() if noted.exists() else [], f"{said}status {outcome.returncode}"


@pytest.fixture
def done(tmp_path):
    """A directory in which all steps were done."""
    assert steps(tmp_path) == (ALL, "first\nsecond\nthird\nother\nstatus 0")
    return tmp_path


def long_ago(path: Path) -> None:
    """Make a file, or all files of a directory, look as if they were of 2001."""
    for each in [path, *path.rglob("*")]:
        os.utime(each, (1e9, 1e9))


def change_alike(path: Path) -> None:
    """Other text of the same length, and a time that is not after that of the step."""
    path.write_text(path.read_text().upper())
    long_ago(path)


def test_what_is_as_it_was_left_is_not_made_again(done):
    assert steps(done)[0] == []


@pytest.mark.parametrize(
    ("product", "harm", "again", "reason"),
    [
        ("a", Path.unlink, ALL[:3], "first: again, as a is missing"),
        ("a", lambda path: os.truncate(path, 2), ALL[:3], "first: again, as a has changed"),
        ("a", lambda path: path.write_text("more\n"), ALL[:3], "first: again, as a has changed"),
        ("a", change_alike, ALL[:3], "first: again, as a has changed"),
        ("b c", Path.unlink, ALL[1:3], "second: again, as b c is missing"),
        ("kept", shutil.rmtree, ALL[1:3], "second: again, as kept/record.json is missing"),
        ("d", Path.unlink, ALL[2:3], "third: again, as d is missing"),
        ("e", Path.unlink, [], "other: done before"),  # of which nothing was said
    ],
)
def test_what_was_lost_or_changed_is_made_again_with_all_that_depends_on_it(
    done, product, harm, again, reason
):
    harm(done / "run" / product)
    taken, said = steps(done)
    assert taken == again
    assert f"{reason}\n" in said
    for before, after in itertools.pairwise(again):
        assert f"{after}: again, as {before} was done again\n{after}\n" in said
    assert steps(done)[0] == []


RUNS = f"""
set -euo pipefail
. '{RECIPES}/common.sh'
OUT=run
begin() {{
    echo begin >>calls
    mkdir -p run/sample
    echo '"finished": true' >run/sample/run.json
    echo 1 >run/sample/counts
}}
go_on() {{
    echo resume >>calls
    echo '"finished": true' >run/sample/run.json
}}
use() {{ echo use >>calls; }}
step sample --makes sample -- resume_or_begin run/sample go_on -- begin
step use sample -- use
"""


@pytest.mark.parametrize(
    ("record", "again", "said"),
    [
        ('"finished": true, more', ["use"], "sample: taken as it is, as sample/run.json has changed\n"),
        ('"finished": false', ["resume", "use"], "sample: again, as sample/counts has changed\n"),
    ],
)
def test_a_run_that_somebody_has_prolonged_is_not_thrown_away(tmp_path, record, again, said):
    assert steps(tmp_path, RUNS)[0] == ["begin", "use"]
    (tmp_path / "run" / "sample" / "counts").write_text("2\n")
    (tmp_path / "run" / "sample" / "run.json").write_text(f"{record}\n")
    taken, told = steps(tmp_path, RUNS)
    assert taken == again
    assert said in told
    assert (tmp_path / "run" / "sample" / "counts").read_text() == "2\n"
    assert steps(tmp_path, RUNS)[0] == []


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text("?")])
def test_a_run_that_is_damaged_is_begun_again(tmp_path, harm):
    assert steps(tmp_path, RUNS)[0] == ["begin", "use"]
    harm(tmp_path / "run" / "sample" / "counts")
    assert steps(tmp_path, RUNS)[0] == ["begin", "use"]


def test_what_depends_on_it_is_done_again_after_a_failure_too(done):
    (done / "run" / "a").unlink()
    (done / "broken-second").touch()
    taken, said = steps(done)
    assert taken == ["first"]
    assert said.endswith("status 3")
    (done / "broken-second").unlink()
    assert steps(done)[0] == ["second", "third"]
    assert steps(done)[0] == []


def test_times_alone_are_no_change(done):
    """As in a copy: the contents decide, once."""
    shutil.copytree(done / "run", done / "copy", copy_function=shutil.copyfile)
    shutil.rmtree(done / "run")
    (done / "copy").rename(done / "run")
    long_ago(done / "run")
    assert steps(done)[0] == []
    record = (done / "run" / "logs" / "first.products").read_text()
    assert record.startswith("6 1000000000.0")
    (done / "run" / "a").write_text("")
    assert steps(done)[0] == ALL[:3]


def test_a_run_directory_may_be_moved_and_its_files_be_links(done):
    (done / "run" / "a").rename(done / "elsewhere")
    (done / "run" / "a").symlink_to(done / "elsewhere")
    (done / "run").rename(done / "other run")
    text = STEPS.replace("OUT=run", "OUT='other run'")
    assert steps(done, text)[0] == []
    (done / "other run" / "a").write_text("")
    assert steps(done, text)[0] == ALL[:3]


def test_a_search_path_for_directories_does_not_lead_elsewhere(done):
    (done / "decoy" / "run").mkdir(parents=True)
    assert steps(done, CDPATH=str(done / "decoy"))[0] == []


def test_directories_are_products_without_what_is_put_there_afterwards(tmp_path):
    text = STEPS.replace("kept/record.json kept/empty", "kept")
    assert steps(tmp_path, text)[0] == ALL
    kept = tmp_path / "run" / "kept"
    (kept / "notes").write_text("mine")
    assert steps(tmp_path, text)[0] == []
    (kept / "notes").unlink()
    assert steps(tmp_path, text)[0] == []
    (kept / "record.json").unlink()
    assert steps(tmp_path, text)[0] == ALL[1:3]
    shutil.rmtree(kept)
    taken, said = steps(tmp_path, text)
    assert taken == ALL[1:3]
    assert "second: again, as kept is missing\n" in said


def forget_products(directory: Path) -> None:
    """Make a run one of versions that recorded no products: checksums of commands, and nothing else."""
    logs = directory / "run" / "logs"
    for record in logs.glob("*.products"):
        record.unlink()
    former = ""
    for line in STEPS.splitlines():
        if line.startswith("step "):
            name, _, command = line.partition(" -- ")
            name = name.split()[1]
            former = "" if name == "other" else former
            summed = f"printf '%s\\n' '{former}' {command} | cksum"
            former = subprocess.run(["bash", "-c", summed], capture_output=True, text=True, check=True).stdout
            (logs / f"{name}.done").write_text(former)
            former = former.strip()


def test_runs_of_versions_that_recorded_no_products_go_on(done):
    forget_products(done)
    assert steps(done)[0] == []
    (done / "run" / "a").write_text("")
    assert steps(done)[0] == ALL[:3]
    forget_products(done)
    (done / "run" / "b c").unlink()
    taken, said = steps(done)
    assert taken == ALL[1:3]
    assert "second: again, as b c is missing\n" in said


def test_what_is_done_again_within_the_same_second_is_noticed(tmp_path):
    """Before bash 5 the shell's clock has whole seconds."""
    text = STEPS.replace("OUT=run\n", "OUT=run\nunset EPOCHREALTIME\ndate() { echo 1000; }\n")
    assert steps(tmp_path, text)[0] == ALL
    (tmp_path / "run" / "a").unlink()
    assert steps(tmp_path, text)[0] == ALL[:3]
    assert steps(tmp_path, text)[0] == []


def test_other_settings_are_told_of_where_they_reach(done):
    taken, said = steps(done, STEPS.replace("write first a", "write first a f"))
    assert taken == ALL[:3]
    assert "first\nsecond: again, as first was done again\n" in said


@pytest.mark.parametrize("record", ["", "\n\n", "7 1.5 ./a"])
def test_a_record_that_is_damaged_is_no_reason_to_fail(done, record):
    (done / "run" / "logs" / "first.products").write_text(record)
    assert steps(done)[1].endswith("status 0")


def test_every_step_says_what_it_makes():
    for script in RECIPES.glob("*.sh"):
        text = script.read_text(encoding="utf-8").replace("\\\n", "")
        for line in re.findall(r"^.*\b(?:planned_)?step (?:\w|\"\$).* -- .*$", text, re.MULTILINE):
            if not line.lstrip().startswith("#") and "compile -- compile" not in line:
                assert " --makes " in line, f"{script.name}: {line.strip()}"


# What cannot fail, or is not for a summary.
HARMLESS = {"short", "call_of", "quoted", "counted", "basename", "dirname"}
HARMLESS |= {"in_marks", "name_of", "variable_of", "states_of", "tenth", "first_empty"}


def test_figures_are_assigned_before_they_are_printed():
    """`printf '%s' "$(f)"` hides the failure of f, `x=$(f)` does not."""
    for script in RECIPES.glob("*.sh"):
        text = script.read_text(encoding="utf-8").replace("\\\n", "")
        for line in re.findall(r"(?:^ *|[|&]{2} |; )(?:printf|echo) .*$", text, re.MULTILINE):
            called = set() if line.endswith(">&2") else set(re.findall(r"\$\(([\w$\"]+)", line))
            assert called <= HARMLESS, f"{script.name}: {line.strip()}"


def test_text_of_several_files_fails_where_one_of_them_does(tmp_path):
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "whole").write_text("words\n")
    script = tmp_path / "script"
    script.write_text(f". '{RECIPES}/common.sh'\nif text cut.gz whole; then echo fine; fi\n")
    outcome = run(script, directory=tmp_path)
    assert outcome.stdout == ""
    assert "cut.gz" in outcome.stderr


def test_a_last_line_without_an_end_is_a_line_of_its_own(tmp_path):
    """Else the first pair of a second file would be joined to the last one of the first."""
    for name, text in (("open", "one\ntwo"), ("closed", "three\n"), ("empty", ""), ("last", "four")):
        (tmp_path / name).write_text(text)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    script = tmp_path / "script"
    for end in ("", ".gz"):
        files = " ".join(f"{name}{end}" for name in ("open", "closed", "empty", "open", "last"))
        script.write_text(f". '{RECIPES}/common.sh'\ntext {files}\n")
        outcome = run(script, directory=tmp_path)
        assert outcome.stdout.splitlines() == ["one", "two", "three", "one", "two", "four"]
        script.write_text(
            f". '{RECIPES}/common.sh'\nfor x in open closed empty; do count_lines $x{end}; done\n"
        )
        assert run(script, directory=tmp_path).stdout.split() == ["2", "1", "0"]


@pytest.mark.parametrize("name", ["table.txt", "results.json"])
def test_conclusions_of_the_run_before_go_when_a_step_is_taken_again(done, name):
    concluded, others = done / "run" / name, done / "run/summary.txt"
    concluded.write_text("of the run before")
    others.write_text("of somebody else")
    assert steps(done)[0] == []
    assert concluded.exists()
    (done / "run/d").unlink()
    (done / "broken-third").touch()
    assert steps(done)[1].endswith("status 3")
    assert not concluded.exists()
    assert others.exists()
    assert (done / "run/a").exists()
