"""The shell recipes: well-formed, portable, helpful when called wrongly. Most have tests of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.recipe_calls import ALIGNMENTS_TO_BLEU, RECIPES, ROOT, assert_refused, run

SCRIPTS = [*sorted(RECIPES.glob("*.sh")), ROOT / ".ci" / "run"]
RUNNABLE = [
    script
    for script in SCRIPTS
    if script.name not in ("common.sh", "environment.sh", "steps.sh", "translation.sh")
]
# quickstart.sh hands its options on, those of test.sh are pytest's, and .ci/run has none.
WITH_OPTIONS = [script for script in RUNNABLE if script.name not in ("quickstart.sh", "test.sh", "run")]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def names(scripts):
    return [script.name for script in scripts]


# ---------------------------------------------------------------- what can be seen without running


@pytest.mark.parametrize("script", SCRIPTS, ids=names(SCRIPTS))
def test_script_is_syntactically_correct(script):
    subprocess.run(["bash", "-n", script], check=True)


@pytest.mark.parametrize("script", SCRIPTS, ids=names(SCRIPTS))
def test_script_fits_in_the_head(script):
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 500


def test_all_recipes_are_in_the_architecture():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = {path.name for path in RECIPES.iterdir() if path.is_file()}
    assert not {name for name in files if f"`{name}`" not in text}


@pytest.mark.parametrize("script", RUNNABLE, ids=names(RUNNABLE))
def test_script_is_executable_and_stops_at_errors(script):
    text = script.read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in text
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("script", SCRIPTS, ids=names(SCRIPTS))
def test_script_has_no_absolute_paths(script):
    lines = script.read_text(encoding="utf-8").splitlines()[1:]
    absolute = [line for line in lines if re.search(r"(?<![\w.}$*/])/(?!dev/null)[a-z]\w*/", line)]
    assert absolute == []


@pytest.mark.parametrize("script", SCRIPTS, ids=names(SCRIPTS))
def test_command_substitutions_that_must_stop_the_script_are_plain_assignments(script):
    # `local x=$(f)`, `export x=$(f)` and `: ${x:=$(f)}` hide the failure of f from set -e.
    text = script.read_text(encoding="utf-8")
    assert re.findall(r"^\s*(?:local|export|readonly) .*=\$\((?!\().*", text, re.MULTILINE) == []


@pytest.mark.parametrize("script", WITH_OPTIONS, ids=names(WITH_OPTIONS))
def test_help_and_parser_know_the_same_options(script):
    text = script.read_text(encoding="utf-8")
    documented = set(re.findall(r"^#   (--[\w-]+)", text, re.MULTILINE))
    parsed = re.search(r"\n *parse_options ((?:.*\\\n)*.*) -- ", text)
    assert parsed is not None
    assert documented == set(re.findall(r"--[\w-]+", parsed[1]))


@pytest.mark.parametrize("script", SCRIPTS, ids=names(SCRIPTS))
def test_recipe_holds_no_program_in_python(script):
    """Beyond a question on one line, such as whether a package is there."""
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"\$PYTHON\" (-c '$|.*<<)", text, re.MULTILINE)


@pytest.mark.parametrize("script", SCRIPTS, ids=names(SCRIPTS))
def test_results_are_named_one_by_one(script):
    """A pattern also finds what an earlier call, of more seeds or other settings, has left in OUT."""
    text = script.read_text(encoding="utf-8")
    assert re.findall(r"\$OUT[^\s\"]*\"[^\s\"]*\*\S*", text) == []


@pytest.mark.parametrize("script", WITH_OPTIONS, ids=names(WITH_OPTIONS))
def test_tables_are_among_what_goes_when_a_step_is_taken_again(script):
    text = script.read_text(encoding="utf-8")
    written = set(re.findall(r"(?:>|tee )\"\$OUT/((?:\$name|\w+)\.(?:txt|tsv))\"", text))
    assert written <= set(" ".join(re.findall(r"conclusions=\((.*?)\)", text)).replace('"', "").split())


# ---------------------------------------------------------------- called wrongly


@pytest.mark.parametrize("script", RUNNABLE[:-1], ids=names(RUNNABLE[:-1]))
def test_help_is_the_comment_at_the_head(script):
    outcome = run(script, "--help")
    assert outcome.returncode == 0
    assert f"recipes/{script.name}" in outcome.stdout
    assert "set -euo" not in outcome.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "expected DATA_DIR SOURCE TARGET"),
        (("data/novish-en", "novish"), "expected DATA_DIR SOURCE TARGET"),
        (("data/novish-en", "novish", "en", "--frob"), "unknown option --frob"),
        (("data/novish-en", "novish", "en", "--output"), "option --output needs a value"),
        (("no-such-place", "novish", "en"), "no-such-place is not a directory"),
        (("data/novish-en", "novish", "fr"), "has neither train.fr nor train.fr.gz"),
        (("data/novish-en", "novish", "en", "--alignment", "x.gz"), "there is no alignment x.gz"),
        (("data/novish-en", "novish", "en", "--test", "test2016"), "neither test2016.novish nor"),
        (("data/novish-en", "novish", "en", "more"), "'more' is more than expected"),
        (("data/novish-en", "novish", "en", "--dev", "a", "b"), "take files where --source and --target do"),
        (("--source", "a", "--target", "b"), "--source and --target need --test"),
        (
            ("--source", "a", "--target", "b", "--test", "c", "d"),
            "--source, --target, --alignment and --dev go",
        ),
        (
            ("--source", "a", "--target", "b", "--alignment", "c", "--dev", "d", "e", "--test", "f", "g"),
            "there is no file a",
        ),
        (
            ("data/novish-en", "novish", "en", "--iterations", "many"),
            "--iterations is a whole number, not 'many'",
        ),
        (
            ("data/novish-en", "novish", "en", "--iterations", "20", "--burn-in", "20"),
            "--burn-in 20 leaves none of",
        ),
        *(
            (("data/novish-en", "novish", "en", f"--{name}", "1O"), f"--{name} is a whole number, not '1O'")
            for name in ("order", "beam", "nbest", "seed")
        ),
    ],
)
def test_wrong_call_is_refused_in_one_line_before_anything_is_made(arguments, complaint, tmp_path):
    os.symlink(ROOT / "data", tmp_path / "data")
    assert_refused(tmp_path, ALIGNMENTS_TO_BLEU, arguments, complaint, SCFG_PYTHON=sys.executable)


@pytest.mark.parametrize(
    ("known", "given", "became"),
    [
        ("--overwrite --output= --iterations=", "--output x --overwrite --iterations 5", "1 x 5 0"),
        ("--overwrite --output= --iterations=", "--out x --overwrite", "1 x  0"),
        ("--output= --iterations=", "--iterations 7 data", "0  7 1"),
    ],
)
def test_options_of_recipes_go_to_variables(known, given, became):
    script = f". {RECIPES / 'common.sh'}; parse_options {known} -- {given}"
    script += '; echo "$OVERWRITE $OUT $ITERATIONS ${#positional[@]}"'
    environment = {**os.environ, "OVERWRITE": "", "OUT": "", "ITERATIONS": ""}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert (done.stdout, done.stderr) == (f"{became}\n", "")


def test_an_option_that_a_recipe_does_not_have_is_unknown():
    script = f". {RECIPES / 'common.sh'}; parse_options --output= --iterations= -- --sweeps 5"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("unknown option --sweeps; see --help\n")


@pytest.mark.parametrize(
    ("there", "on_path", "called"),
    [(True, False, "env/bin/scfg-decoder"), (True, True, "scfg-decoder"), (False, False, "scfg-decoder")],
    ids=["in the environment", "on the path", "nowhere"],
)
def test_programs_are_called_so_that_they_are_found(there, on_path, called, tmp_path):
    folder = tmp_path / "env" / "bin"
    folder.mkdir(parents=True)
    if there:
        (folder / "scfg-decoder").write_text("#!/bin/sh\n")
        (folder / "scfg-decoder").chmod(0o755)
    script = f". {RECIPES / 'common.sh'}; PYTHON=$PWD/env/bin/python; call_of scfg-decoder"
    environment = {"PATH": f"{folder}:/usr/bin:/bin" if on_path else "/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == called


@pytest.mark.parametrize("word", ["runs/de-en", "my runs/it's", "", "a$b", "-", "x~y", "tsé/cni"])
def test_a_path_is_quoted_where_a_shell_would_read_it_otherwise(word, tmp_path):
    script = tmp_path / "script"
    script.write_text(
        f'. \'{RECIPES}/common.sh\'\nquoted "$1" >said\neval "set -- $(cat said)" && printf %s "$1"\n'
    )
    assert run(script, word, directory=tmp_path).stdout == word
    assert ("'" in (tmp_path / "said").read_text()) == (word not in ("runs/de-en", "-"))


def test_tables_align_whatever_the_characters():
    text = "a\tviterbi ≤ 10\tx\n… identity\t28.9 ± 5.0\tjoß\nEM\t1\t22\n"
    command = ["bash", "-c", f". {RECIPES / 'common.sh'}; table"]
    lines = subprocess.run(
        command, input=text, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines == [
        "a           viterbi ≤ 10    x",
        "----------  ------------  ---",
        "… identity    28.9 ± 5.0  joß",
        "EM                     1   22",
    ]
