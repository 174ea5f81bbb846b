"""The shell recipes: well-formed, portable, helpful when called wrongly, and resumable.

The whole recipe runs here in a fraction of a second with a stand-in for Python that writes down how it was
called and makes the files a command would make; `.ci/run` runs it with the real thing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECIPES = ROOT / "recipes"
SCRIPTS = [*sorted(RECIPES.glob("*.sh")), ROOT / ".ci" / "run"]
RUNNABLE = [script for script in SCRIPTS if script.name not in ("common.sh", "translation.sh")]
WITH_OPTIONS = [script for script in RUNNABLE if "\nparse_options " in script.read_text(encoding="utf-8")]
ALIGNMENTS_TO_BLEU = RECIPES / "alignments-to-bleu.sh"
TABLE2 = RECIPES / "table2.sh"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def names(scripts):
    return [script.name for script in scripts]


# ---------------------------------------------------------------- what can be seen without running


@pytest.mark.parametrize("script", SCRIPTS, ids=names(SCRIPTS))
def test_script_is_syntactically_correct(script):
    subprocess.run(["bash", "-n", script], check=True)


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
    parsed = re.search(r"\nparse_options ((?:.*\\\n)*.*) -- ", text)
    assert parsed is not None
    assert documented == set(re.findall(r"--[\w-]+", parsed[1]))


# ---------------------------------------------------------------- called wrongly


def run(script, *arguments, directory=ROOT, timeout=60, **environment):
    return subprocess.run(
        ["bash", str(script), *map(str, arguments)],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


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
        (("data/novish-en", "novish", "en", "--out"), "option --out needs a value"),
        (("no-such-place", "novish", "en"), "no-such-place is not a directory"),
        (("data/novish-en", "novish", "fr"), "has neither train.fr nor train.fr.gz"),
        (("data/novish-en", "novish", "en", "--alignment", "x.gz"), "there is no alignment x.gz"),
        (("data/novish-en", "novish", "en", "--test", "test2016"), "neither test2016.novish nor"),
        (("data/novish-en", "novish", "en", "--sweeps", "many"), "--sweeps is a whole number, not 'many'"),
        (
            ("data/novish-en", "novish", "en", "--sweeps", "20", "--burn-in", "20"),
            "--burn-in 20 leaves none of",
        ),
    ],
)
def test_wrong_call_is_refused_in_one_line_before_anything_is_made(arguments, complaint, tmp_path):
    os.symlink(ROOT / "data", tmp_path / "data")
    outcome = run(ALIGNMENTS_TO_BLEU, *arguments, directory=tmp_path, SCFG_PYTHON=sys.executable)
    assert outcome.returncode == 2
    assert complaint in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


# ---------------------------------------------------------------- the steps, with a stand-in for the commands

STAND_IN = r"""#!/usr/bin/env bash
# Answers `python -c …` with the real Python, and notes every `python -m PROGRAM COMMAND …`.
set -euo pipefail
[ "$1" != -c ] || exec REAL_PYTHON "$@"
program=$2 command=$3 more="" given=$*
if [[ -e HERE/broken && "$command" = "$(cat HERE/broken)" && "$*" != */compile/* ]]; then
    echo "it broke on line 7" >&2
    exit 2
fi
echo "${@:2}" >>HERE/calls
while [ $# -gt 0 ]; do
    case "$command $1 ${2:-}" in
        "sample --output "*) mkdir -p "$2" && echo '{"seconds": 2000}' >"$2/run.json" ;;
        *" --output "*.gz) { echo "# signature" && echo rule; } | gzip >"$2" ;;
        "translate --input "*) lines=$(wc -l <"$2") ;;
        "translate --output "*) translations=$2 ;;
        *" --output "*) echo '{}' >"$2" ;;
    esac
    shift
done
case $program-$command in
    decoder-translate)
        for ((line = 1; line <= lines; line++)); do echo "translation $line"; done >"$translations"
        echo "3 lines translated in 0.1 s, 33.5 a second"
        ;;
    decoder-evaluate)
        [[ "$given" != *.txt\ *.txt\ * ]] || more=', "deviation": 0.25'
        printf '{"bleu": {"score": 61.25, "signature": "tok"%s}, ' "$more"
        printf '"difference": 0.5, "p_value": 0}'
        ;;
esac
"""


@pytest.fixture
def stand_in(tmp_path):
    """A directory with the stand-in `python`, whose calls are noted in `calls`."""
    text = STAND_IN.replace("REAL_PYTHON", sys.executable).replace("HERE", str(tmp_path))
    (tmp_path / "python").write_text(text)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def small_data(directory: Path, test_references=("test.en",), alignments=("train.xx-en.hand",)) -> Path:
    directory.mkdir()
    for name in ("train.xx", "train.en", "dev.xx", "dev.en", "test.xx", *test_references, *alignments):
        (directory / name).write_text("0-0\n" if name in alignments else "a b c\n")
    return directory


def bleu_recipe(stand_in, data, *options, recipe=ALIGNMENTS_TO_BLEU):
    python = str(stand_in / "python")
    out = ("--out", stand_in / "run dir")
    return run(recipe, data, "xx", "en", *out, *options, SCFG_PYTHON=python)


def calls(stand_in):
    """The commands called since the last time, in order, without those that are there to compile."""
    noted = stand_in / "calls"
    lines = noted.read_text().splitlines() if noted.exists() else []
    noted.unlink(missing_ok=True)
    return [line for line in lines if "/compile/" not in line]


def test_recipe_prints_one_table_and_the_run_directory(stand_in):
    outcome = bleu_recipe(stand_in, small_data(stand_in / "data"))
    assert outcome.returncode == 0, outcome.stderr
    table = outcome.stdout.splitlines()
    assert re.fullmatch(
        r"grammar +rules +learning s +decoding sent/s +dev BLEU +test BLEU", table[0].strip()
    ), outcome.stdout
    assert set(table[1]) == {"-", " "}
    assert re.match(r"hiero +1 +\d+\.\d +33\.5 +61\.25 +61\.25$", table[2])
    assert re.match(r"hiero-loose +1 +\d+\.\d +33\.5 +61\.25 +61\.25$", table[3])
    assert re.match(r"sampled +1 +2000\.\d +33\.5 +61\.25 +61\.25$", table[4])
    assert len({len(line) for line in table[:5]}) == 1
    assert "sampled − hiero: +0.50 BLEU, p = 0.0000 (paired bootstrap)" in table
    assert "sampled − hiero-loose: +0.50 BLEU, p = 0.0000 (paired bootstrap)" in table
    assert "BLEU: tok" in table
    assert table[-1] == f"run directory: {stand_in / 'run dir'}"
    assert (stand_in / "run dir" / "table.txt").read_text() == outcome.stdout


def test_recipe_calls_every_command_once_per_grammar(stand_in):
    bleu_recipe(stand_in, small_data(stand_in / "data"), "--sweeps", "90", "--order", "4", "--seed", "5")
    noted = calls(stand_in)
    commands = [" ".join(line.split()[:2]) for line in noted]
    per_grammar = [
        "scfg_sampler filter",
        "decoder tune",
        *2 * ["decoder translate"],
        *2 * ["decoder evaluate"],
    ]
    assert sorted(commands) == sorted(
        ["decoder train-lm", "scfg_sampler sample", "scfg_sampler grammar", *2 * ["scfg_sampler extract"]]
        + 3 * per_grammar
        + 2 * ["decoder evaluate"]
    )
    extracted = [line for line in noted if line.startswith("scfg_sampler extract")]
    loose = [re.search(r"--loose (\w+)", line)[1] for line in extracted]
    assert loose == ["no", "target"]
    sample = next(line for line in noted if line.startswith("scfg_sampler sample"))
    assert "--iterations 90 --burn-in 30 --seed 5" in sample
    assert any(line.startswith("decoder train-lm") and "--order 4" in line for line in noted)


def test_everything_is_compiled_before_it_is_timed(stand_in):
    bleu_recipe(stand_in, small_data(stand_in / "data"))
    noted = [line.split()[1] for line in (stand_in / "calls").read_text().splitlines()]
    begin = noted.index("train-lm", noted.index("train-lm") + 1)
    assert set(noted[begin:]) - set(noted[:begin]) == {"evaluate"}  # which compiles nothing
    assert not (stand_in / "run dir" / "compile").exists()


def test_second_run_repeats_nothing_unless_forced(stand_in):
    data = small_data(stand_in / "data")
    first = bleu_recipe(stand_in, data)
    everything = calls(stand_in)
    second = bleu_recipe(stand_in, data)
    assert calls(stand_in) == []
    assert second.stdout == first.stdout
    bleu_recipe(stand_in, data, "--force")
    assert len(calls(stand_in)) == len(everything)


def test_changed_input_repeats_exactly_the_steps_that_depend_on_it(stand_in):
    data = small_data(stand_in / "data")
    bleu_recipe(stand_in, data)
    calls(stand_in)
    (data / "test.en").write_text("another reference\n")
    bleu_recipe(stand_in, data)
    assert [line.split()[:2] for line in calls(stand_in)] == 5 * [["decoder", "evaluate"]]
    bleu_recipe(stand_in, data, "--sweeps", "90")
    noted = calls(stand_in)
    assert not any(re.search(r"hiero(-loose)?\.gz|train-lm", line) for line in noted)
    assert sum("sampled" in line for line in noted) == len(noted) - 1  # All but `sample` itself.


@pytest.mark.parametrize(
    ("which", "rows"),
    [("tight", ["hiero"]), ("loose", ["hiero-loose"]), ("both", ["hiero", "hiero-loose"]), ("none", [])],
)
def test_recipe_compares_with_the_baselines_that_were_asked_for(stand_in, which, rows):
    outcome = bleu_recipe(stand_in, small_data(stand_in / "data"), "--baseline", which)
    table = outcome.stdout.split("\n\n")[0].splitlines()[2:]
    assert [line.split()[0] for line in table] == [*rows, "sampled"]
    assert outcome.stdout.count("sampled − ") == len(rows)


def test_unknown_baseline_is_refused(stand_in):
    outcome = bleu_recipe(stand_in, small_data(stand_in / "data"), "--baseline", "slack")
    assert outcome.returncode == 2
    assert "--baseline is tight, loose, both or none, not 'slack'" in outcome.stderr


def test_stopped_recipe_goes_on_where_it_was(stand_in):
    data = small_data(stand_in / "data")
    (stand_in / "broken").write_text("tune")
    broken = bleu_recipe(stand_in, data)
    assert broken.returncode == 2
    assert "it broke on line 7" in broken.stderr
    assert "tune-hiero failed with status 2" in broken.stderr
    assert broken.stdout == ""
    done = calls(stand_in)
    (stand_in / "broken").unlink()
    assert bleu_recipe(stand_in, data).returncode == 0
    assert not set(done) & set(calls(stand_in))


def stop_sampling(stand_in, data, left: str | None) -> None:
    """Run the recipe up to a sampler that is stopped, with such a `run.json`, or none, in its directory."""
    (stand_in / "broken").write_text("sample")
    assert bleu_recipe(stand_in, data).returncode == 2
    (stand_in / "broken").unlink()
    (stand_in / "run dir" / "sample").mkdir(exist_ok=True)
    if left is not None:
        (stand_in / "run dir" / "sample" / "run.json").write_text(left)
    calls(stand_in)


def learning(stand_in) -> list[str]:
    """Which of `sample` and `resume` were called."""
    return [line.split()[1] for line in calls(stand_in) if line.split()[1] in ("sample", "resume")]


UNFINISHED, FINISHED = (f'{{\n "seconds": 3,\n "finished": {value}\n}}\n' for value in ("false", "true"))


@pytest.mark.parametrize(
    ("change", "left", "called"),
    [
        ((), UNFINISHED, ["resume"]),
        ((), FINISHED, []),
        ((), None, ["sample"]),
        (("--sweeps", "90"), UNFINISHED, ["sample"]),
        (("--sweeps", "90"), FINISHED, ["sample"]),
        (("--force",), UNFINISHED, ["sample"]),
        (("--force",), FINISHED, ["sample"]),
    ],
    ids=["stopped", "just-finished", "not-begun", "other", "other-finished", "forced", "forced-finished"],
)
def test_stopped_sampling_is_resumed_if_it_is_the_same(stand_in, change, left, called):
    data = small_data(stand_in / "data")
    stop_sampling(stand_in, data, left)
    assert bleu_recipe(stand_in, data, *change).returncode == 0
    assert learning(stand_in) == called


def test_sampling_that_cannot_be_resumed_is_kept(stand_in):
    data = small_data(stand_in / "data")
    stop_sampling(stand_in, data, UNFINISHED)
    (stand_in / "broken").write_text("resume")
    outcome = bleu_recipe(stand_in, data)
    assert outcome.returncode == 2
    assert "it broke on line 7" in outcome.stderr
    assert learning(stand_in) == []
    assert (stand_in / "run dir" / "sample" / "run.json").read_text() == UNFINISHED


def test_a_run_with_other_settings_is_not_taken_for_one_that_was_stopped_at_once(stand_in):
    """The old run is there, the new one was begun and stopped before it wrote anything."""
    data = small_data(stand_in / "data")
    stop_sampling(stand_in, data, FINISHED)
    (stand_in / "broken").write_text("sample")
    assert bleu_recipe(stand_in, data, "--sweeps", "90").returncode == 2
    (stand_in / "broken").unlink()
    assert bleu_recipe(stand_in, data, "--sweeps", "90").returncode == 0
    assert learning(stand_in) == ["sample"]


def test_all_references_are_used_up_to_the_first_missing(stand_in):
    several = ("test.en.ref0", "test.en.ref1", "test.en.ref3")
    data = small_data(stand_in / "data", test_references=several)
    outcome = bleu_recipe(stand_in, data)
    assert outcome.returncode == 0, outcome.stderr
    scored = [line for line in calls(stand_in) if line.startswith("decoder evaluate") and "test.en" in line]
    assert len(scored) == 5
    for line in scored:
        assert re.findall(r"test\.en\.ref\d", line) == ["test.en.ref0", "test.en.ref1"]


@pytest.mark.parametrize(
    ("alignments", "chosen"),
    [
        (("train.xx-en.gold", "train.xx-en.eflomal-gdfa"), "train.xx-en.gold"),
        (("train.xx-en.fwd", "train.xx-en.eflomal-gdfa"), "train.xx-en.eflomal-gdfa"),
        (("train.xx-en.hand",), "train.xx-en.hand"),
        (("train.xx-en.a-gdfa", "train.xx-en.b-gdfa"), None),
        ((), None),
    ],
)
def test_alignment_is_found_when_it_is_clear_which(stand_in, alignments, chosen):
    outcome = bleu_recipe(stand_in, small_data(stand_in / "data", alignments=alignments))
    if chosen is None:
        assert outcome.returncode == 2
        assert "--alignment" in outcome.stderr
    else:
        extract = next(line for line in calls(stand_in) if line.startswith("scfg_sampler extract"))
        assert f"/{chosen} " in extract


def test_further_alignments_and_the_way_of_tuning_can_be_named(stand_in):
    data = small_data(stand_in / "data", alignments=("train.xx-en.gold", "train.xx-en.my"))
    outcome = bleu_recipe(stand_in, data, "--more-alignments", "train.xx-en.my", "--method", "mira")
    assert outcome.returncode == 0, outcome.stderr
    noted = calls(stand_in)
    for line in noted:
        if line.startswith(("scfg_sampler sample", "scfg_sampler extract")):
            assert re.search(r"--alignment \S+/train\.xx-en\.gold \S+/train\.xx-en\.my( |$)", line), line
    assert sum("--method mira" in line for line in noted) == 3


def test_first_test_set_is_the_default_and_another_can_be_chosen(stand_in):
    data = small_data(stand_in / "data")
    for name in ("test2016", "test2017"):
        (data / f"{name}.xx").write_text("a\n")
        (data / f"{name}.en").write_text("a\n")
    (data / "test.xx").unlink()
    assert "test2016 BLEU" in bleu_recipe(stand_in, data).stdout
    assert "test2017 BLEU" in bleu_recipe(stand_in, data, "--test", "test2017").stdout


# ---------------------------------------------------------------- table 2


def test_table2_prints_both_readings(stand_in):
    data = small_data(stand_in / "data")
    rows = ("--rows", "no-singletons,initial,average-hiero,ours-tenth", "--seeds", "2")
    outcome = bleu_recipe(stand_in, data, *rows, recipe=TABLE2)
    assert outcome.returncode == 0, outcome.stderr
    first, second, signatures = outcome.stdout.split("\n\n")
    assert [re.split("  +", line.strip())[0] for line in first.splitlines()[3:]] == [
        "hiero",
        "no-singletons",
        "initial",
        "average-hiero",
        "ours-tenth",
    ]
    assert re.search(r"^ours-tenth +1 +\d+\.\d +61\.25 +61\.25 +0\.000$", first, re.MULTILINE), first
    assert re.search(r"^ours +1 +61\.25 \(0\.25\) +61\.25 \(0\.25\) +0\.000$", second, re.MULTILINE), second
    assert "BLEU: tok" in signatures
    noted = calls(stand_in)
    assert (
        sum(line.startswith("decoder tune") for line in noted) == 6
    )  # baseline, average and ours, two seeds
    compared = [line for line in noted if line.startswith("decoder evaluate") and "--against" in line]
    assert not any("hypothesis " + str(stand_in / "run dir" / "hiero.") in line for line in compared)
    ours = next(line for line in compared if "/ours.ours-1.test.txt" in line)
    assert re.findall(r"/(\S+)\.test\.txt", ours) == [
        "ours.ours-1",
        "ours.ours-2",
        "hiero.hiero-1",
        "hiero.hiero-2",
    ]
    assert "Traceback" not in outcome.stderr


def test_table2_grammars_come_from_the_runs_they_are_named_for(stand_in):
    data = small_data(stand_in / "data")
    bleu_recipe(stand_in, data, "--seeds", "0", recipe=TABLE2)
    noted = calls(stand_in)
    sampled = [line for line in noted if line.startswith("scfg_sampler sample")]
    assert len(sampled) == 4  # The initial state, the paper's, discount 0, ours.
    assert sum("--paper" in line for line in sampled) == 3
    assert sum("--discount 0" in line for line in sampled) == 1
    made = {
        re.search(r"/([\w-]+)\.gz", line)[1]: line
        for line in noted
        if line.startswith("scfg_sampler grammar")
    }
    assert "/paper.run " in made["last"]
    assert "--from last" in made["last"]
    assert "/dirichlet.run " in made["dirichlet"]
    assert "--from average" in made["dirichlet"]
    assert "--filter hiero" in made["ours-hiero"]
    assert "--prune redundancy --keep" in made["ours-tenth"]
    assert "--no-singletons" in next(line for line in noted if "no-singletons.gz" in line)
    assert sum(line.startswith("decoder tune") for line in noted) == 1


def test_table2_takes_all_alignments_for_the_rows_of_the_union(stand_in):
    data = small_data(
        stand_in / "data", alignments=("train.xx-en.gold", "train.xx-en.hand", "train.xx-en.my")
    )
    more = ("--more-alignments", "train.xx-en.hand,train.xx-en.my", "--seeds", "01", "--tuned", "union-tenth")
    more += ("--method", "mira")
    outcome = bleu_recipe(stand_in, data, *more, recipe=TABLE2)
    assert outcome.returncode == 0, outcome.stderr
    first, second, _ = outcome.stdout.split("\n\n")
    last = [re.split("  +", line.strip())[0] for line in first.splitlines()[-4:]]
    assert last == ["union-hiero-loose-target", "union", "union-redundancy", "union-tenth"]
    assert [re.split("  +", line)[0] for line in second.splitlines()[3:]] == ["hiero", "union-tenth"]
    done = calls(stand_in)
    noted = [line for line in done if line.startswith(("scfg_sampler sample", "scfg_sampler extr"))]
    assert len(noted) == 11  # As many runs as without, the union's, and six extractions.
    for line in noted:
        found = [re.search("xx-en.([a-z]+)", word)[1] for word in line.split() if "xx-en" in word]
        assert found == (["gold", "hand", "my"] if "union" in line else ["gold"]), line
        assert "sample" not in line.split()[1] or ("--discount 0.8" in line) == ("union" in line)
    tuned = [line for line in done if line.startswith("decoder tune --grammar") and "/compile/" not in line]
    assert len(tuned) == 2
    assert all("--method mira" in line for line in tuned)
    # Another second alignment, other rules of the union.
    (data / "train.xx-en.hand").write_text("0-0 1-1\n")
    bleu_recipe(stand_in, data, *more, recipe=TABLE2)
    again = [
        line for line in calls(stand_in) if line.startswith(("scfg_sampler sample", "scfg_sampler extr"))
    ]
    assert any("extract" in line and "union" in line for line in again)
    assert any("sample" in line and "union" in line for line in again)


def test_table2_splits_the_translations_by_set(stand_in):
    data = small_data(stand_in / "data")
    (data / "dev.xx").write_text("a\nb\n")
    (data / "dev.en").write_text("a\nb\n")
    outcome = bleu_recipe(stand_in, data, "--rows", "", "--seeds", "0", recipe=TABLE2)
    assert outcome.returncode == 0, outcome.stderr
    out = stand_in / "run dir"
    assert (out / "input.xx").read_text() == "a\nb\na b c\n"
    assert (out / "hiero.fixed.dev.txt").read_text() == "translation 1\ntranslation 2\n"
    assert (out / "hiero.fixed.test.txt").read_text() == "translation 3\n"


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
