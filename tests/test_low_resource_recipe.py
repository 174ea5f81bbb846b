"""The recipe for small languages refuses wrong calls at once, and goes from raw text to a system."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys

import pytest

from tests.recipe_calls import (
    RECIPES,
    ROOT,
    STAND_IN,
    Finished,
    assert_refused,
    calls,
    planned_seconds,
    run,
    unrecorded,
    up_to,
    write_stand_in,
)

LOW_RESOURCE = RECIPES / "low-resource.sh"

# What the commands of this recipe make, beyond those of the others. A score is the number of lines of the
# first translations, so that sets and grammars can be told apart.
MORE = r"""
out=${given##*--output }
out=${out%% *}
case $program-$command in
    scfg_sampler-prepare)
        mkdir -p "$out/raw"
        tr -d '\r' <"${out%/*}/raw/test.xx" >"$out/raw/test.xx"
        for name in {train,dev,test}.{xx,yy} monolingual.yy; do echo "prepared $name" >"$out/$name"; done
        exit
        ;;
    decoder-bundle) mkdir -p "$out" && exit ;;
    decoder-evaluate)
        files=${given##*--hypothesis } && files=${files%% --references*}
        first=${files%% *} more=""
        score=$(wc -l <"$first")
        case $first in *hiero-loose*) score=$((score + 1)) ;; esac
        [[ "$files" != *\ * || "$given" = *--against* ]] || more=', "deviation": 0.25, "scores": [1, 2]'
        echo '{"chrf": {"score": '$score', "signature": "C", "test": "bootstrap"'$more'},'
        echo '"bleu": {"score": '$((score * 2))', "signature": "B"'$more'},'
        echo '"difference": 0.5, "p_value": 0.25}'
        exit
        ;;
esac
while [ $# -gt 0 ]; do"""


def set_up(directory):
    """A directory with the stand-in and a small corpus."""
    data = directory / "data"
    data.mkdir()
    (data / "train.xx").write_text("one\ntwo\n")
    (data / "train.yy.gz").write_bytes(gzip.compress(b"quia\nduo\n"))
    for name in ("dev.xx", "dev.yy", "dev.rival.yy"):
        (data / name).write_text("".join(f"{name} {line}\n" for line in range(5)))
    (directory / "rules.sed").write_text("s/qu/k/g\n")
    return write_stand_in(directory, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))


@pytest.fixture
def stand_in(tmp_path):
    return set_up(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Finished(set_up(tmp_path_factory.mktemp("made")), recipe, "--tunings", "2")


@pytest.fixture
def finished(made):
    """A run of the recipe that has come to its end, with two tunings."""
    return made.restored()


def recipe(stand_in, *options):
    arguments = (stand_in / "data", "xx", "yy", "--output", stand_in / "run", *options)
    return run(LOW_RESOURCE, *arguments, directory=stand_in, SCFG_PYTHON=str(stand_in / "python"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("data", "xx"), "expected DATA_DIR XX YY"),
        (("data", "xx", "xx"), "both languages are called xx"),
        (("data", "xx", "zz"), "data has neither train.zz nor train.zz.gz"),
        (("data", "xx", "yy", "--spelling", "no.sed"), "there is no file no.sed"),
        (("data", "xx", "yy", "--dictionary", "rules.sed"), "--dictionary takes two files"),
        (("data", "xx", "yy", "--monolingual", "no.yy"), "there is no file no.yy"),
        (("data", "xx", "yy", "--grammars", "hiero,tsg"), "--grammars is a list of hiero, hiero-loose and"),
        (("data", "xx", "yy", "--grammars", ""), "--grammars names none"),
        (("data", "xx", "yy", "--tunings", "0"), "--tunings is from 1 to 100"),
        (("data", "xx", "yy", "--copy", "all"), "--copy is unknown or any, not 'all'"),
        (("data", "xx", "yy", "--iterations", "3", "--burn-in", "3"), "--burn-in 3 leaves none"),
        (("data", "xx", "yy", "--metric", "ter"), "--metric is chrf or bleu, not 'ter'"),
        (("data", "xx", "yy", "--chrf-beta", "1.2.3"), "--chrf-beta is a number, not '1.2.3'"),
        (("data", "xx", "yy", "--chrf-beta", "0.0"), "--chrf-beta is above 0, not '0.0'"),
    ],
)
def test_wrong_call_is_refused_in_one_line_before_anything_is_made(stand_in, arguments, complaint):
    assert_refused(stand_in, LOW_RESOURCE, arguments, complaint, SCFG_PYTHON=sys.executable)


def test_spelling_rules_that_sed_does_not_take_are_refused(stand_in):
    (stand_in / "rules.sed").write_text("s/a/\n")
    outcome = recipe(stand_in, "--spelling", stand_in / "rules.sed")
    assert outcome.returncode == 2
    assert f"{stand_in / 'rules.sed'} is not what sed -E takes" in outcome.stderr
    assert not (stand_in / "run").exists()


def test_development_set_is_cut_in_the_middle_where_there_is_no_test_set(finished):
    raw = finished.stand_in / "run" / "raw"
    for name in ("xx", "yy", "rival.yy"):
        assert (raw / f"dev.{name}").read_text() == f"dev.{name} 0\ndev.{name} 1\n"
        assert (raw / f"test.{name}").read_text() == f"dev.{name} 2\ndev.{name} 3\ndev.{name} 4\n"


def test_given_test_set_leaves_the_development_set_whole(stand_in):
    for name in ("test.xx", "test.yy", "test.other.yy"):
        (stand_in / "data" / name).write_text(name + "\n")
    outcome = recipe(stand_in, "--tunings", "1")
    raw = stand_in / "run" / "raw"
    assert (raw / "dev.yy").read_text() == (stand_in / "data" / "dev.yy").read_text()
    assert (raw / "test.xx").read_text() == "test.xx\n"
    results = json.loads((stand_in / "run" / "results.json").read_text())
    assert results["other"] == 1
    assert "rival" not in results
    assert re.search(r"^other +1\.00 +2\.00$", outcome.stdout, re.MULTILINE)


def test_several_references_go_to_preparation_tuning_and_evaluation(stand_in):
    (stand_in / "data" / "dev.yy").unlink()
    for number in range(2):
        (stand_in / "data" / f"dev.yy.ref{number}").write_text("".join(f"{number} {k}\n" for k in range(5)))
    # What prepare leaves:
    python = stand_in / "python"
    python.write_text(
        python.read_text().replace(
            "{train,dev,test}.{xx,yy}", "train.{xx,yy} {dev,test}.{xx,yy.ref0,yy.ref1}"
        )
    )
    outcome = recipe(stand_in, "--tunings", "1")
    assert outcome.returncode == 0, outcome.stderr
    raw, data = stand_in / "run" / "raw", stand_in / "run" / "data"
    assert (raw / "dev.yy.ref1").read_text() == "1 0\n1 1\n"
    assert (raw / "test.yy.ref1").read_text() == "1 2\n1 3\n1 4\n"
    made = calls(stand_in)
    (prepare,) = (line for line in made if " prepare " in line)
    for name in ("dev", "test"):
        assert f"--{name}-target {raw / name}.yy.ref0 {raw / name}.yy.ref1 " in prepare
    assert all(
        f"--references {data}/dev.yy.ref0 {data}/dev.yy.ref1 " in line
        for line in made
        if " tune " in line and "compile" not in line
    )
    scored = [line for line in made if " evaluate " in line]
    assert all(re.search(r"--references \S*/(dev|test)\.yy\.ref0 \S*/\1\.yy\.ref1 ", line) for line in scored)
    assert sum("test.yy.ref1" in line for line in scored) > sum("dev.yy.ref1" in line for line in scored) > 0


def test_training_text_gets_dictionary_and_spelling_and_the_sets_do_not(stand_in):
    for name, text in (("d.xx", "three\n"), ("d.yy", "quat\n"), ("m.yy", "quo\n")):
        (stand_in / name).write_text(text)
    (stand_in / "data" / "dev.yy").write_text("que\nquo\n")
    given = ("--dictionary", "d.xx", "d.yy", "--monolingual", "m.yy", "--spelling", "rules.sed")
    up_to("extract", recipe, stand_in, *given)
    raw = stand_in / "run" / "raw"
    assert (raw / "train.xx").read_text() == "one\ntwo\nthree\n"
    assert (raw / "train.yy").read_text() == "kia\nduo\nkat\n"
    assert (raw / "monolingual.yy").read_text() == "ko\n"
    assert (raw / "dev.yy").read_text() == "que\n"
    assert (raw / "test.yy").read_text() == "quo\n"
    assert (stand_in / "run" / "lm.yy").read_text() == "prepared train.yy\nprepared monolingual.yy\n"
    prepare = next(line for line in calls(stand_in) if " prepare " in line)
    assert f"--monolingual {raw}/monolingual.yy" in prepare


def test_every_grammar_is_tuned_and_scored_on_raw_text(finished):
    outcome, stand_in = finished.outcome, finished.stand_in
    commands = [line.split()[1] for line in finished.noted]
    once = ["tune", "bundle", "translate", "translate"]
    per_grammar = ["filter", *once, *once, "evaluate", "evaluate"]
    assert commands == [
        *["prepare", "align", "train-lm", "extract", *per_grammar, "extract", *per_grammar],
        *["sample", "grammar", *per_grammar, "evaluate", "evaluate", "bundle", "evaluate", "evaluate"],
    ]
    table = outcome.stdout.splitlines()
    assert re.fullmatch(r"grammar +rules +dev chrF +test chrF +test BLEU", table[0].strip())
    assert re.fullmatch(r"hiero +1 +2\.00 \(0\.25\) +3\.00 \(0\.25\) +6\.00 \(0\.25\)", table[2])
    assert re.fullmatch(r"hiero-loose +1 +3\.00 \(0\.25\) +4\.00 \(0\.25\) +8\.00 \(0\.25\)", table[3])
    assert re.fullmatch(r"rival +2\.00 +3\.00 +6\.00", table[5])
    assert "sampled − hiero-loose: +0.50 chrF, p = 0.2500 (bootstrap)" in table
    assert "training pairs: 1; sentences: dev 2, test 3; tunings: 2" in table
    assert "chrF: C" in table
    results = json.loads((stand_in / "run" / "results.json").read_text())
    assert results == {"hiero": 3, "hiero-loose": 4, "sampled": 3, "rival": 3}
    assert (stand_in / "run" / "summary.txt").read_text() == outcome.stdout


def test_system_is_that_of_the_grammar_which_is_best_on_the_development_set(finished):
    stand_in = finished.stand_in
    bundled = [line for line in finished.noted if " bundle " in line][-1]
    assert f"--grammar {stand_in}/run/hiero-loose.gz" in bundled
    assert f"--weights {stand_in}/run/hiero-loose.1.weights.json" in bundled
    assert f"--output {stand_in}/run/system" in bundled
    assert finished.outcome.stdout.splitlines()[-2:] == [
        "  echo 'dev.xx 2' | scfg-decoder translate --system run/system",
        "  → translation 1",
    ]


def test_options_reach_their_commands(stand_in):
    options = ("--segment", "subwords:50", "--case", "lower", "--preparing", "--joint --max-ratio 6")
    more = (
        "--grammars",
        "sampled",
        "--order",
        "5",
        "--copy",
        "any",
        "--beam",
        "9",
        "--tunings",
        "01",
        "--seed",
        "7",
    )
    more = (*more, "--iterations", "30", "--sampling", "--base lexical", "--chrf-beta", "1.5", "--draws", "2")
    outcome = recipe(stand_in, *options, *more)
    assert outcome.returncode == 0, outcome.stderr
    noted = calls(stand_in)
    found = {line.split()[1]: line for line in noted}
    assert "--segment subwords:50 --case lower --verbose --joint --max-ratio 6" in found["prepare"]
    assert f"--output {stand_in}/run/data --overwrite" in found["prepare"]
    assert "extract" not in found
    prefix = f"{stand_in}/run/data/train.xx-yy"
    assert found["align"].endswith(f"--output {prefix} --draws 2")
    assert f"--alignment {prefix}.gdfa {prefix}.2.gdfa --" in found["sample"]
    assert "--iterations 30 --burn-in 10 --seed 7 --base lexical" in found["sample"]
    assert "--order 5" in found["train-lm"]
    assert "--seed 7 --copy any --metric chrf --chrf-beta 1.5" in found["tune"]
    assert all("--copy any" in line for line in noted if " translate " in line)
    for command in ("tune", "bundle"):
        assert "--beam 9" in found[command]
    assert re.search(r"^sampled +1 +2\.00 +3\.00 +6\.00$", outcome.stdout, re.MULTILINE)
    assert "sampled −" not in outcome.stdout
    assert "| scfg-decoder translate --system run/system --copy any\n" in outcome.stdout


def test_no_scores_of_another_system_are_left_of_a_set_that_it_translates_no_more(finished):
    stand_in = finished.stand_in
    assert (stand_in / "run" / "rival.dev.json").exists()
    for name in ("test.xx", "test.yy", "test.rival.yy"):
        (stand_in / "data" / name).write_text(name + "\n")
    outcome = recipe(stand_in, "--tunings", "2")
    assert re.search(r"^rival +1\.00 +2\.00$", outcome.stdout, re.MULTILINE)


def test_command_that_is_told_has_no_line_end_of_windows_in_it(stand_in):
    for name in ("xx", "yy", "rival.yy"):
        file = stand_in / "data" / f"dev.{name}"
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert recipe(stand_in, "--tunings", "1").returncode == 0
    summary = (stand_in / "run" / "summary.txt").read_bytes()
    assert b"  echo 'dev.xx 2' | scfg-decoder translate" in summary
    assert b"\r" not in summary


def test_second_run_repeats_nothing(finished):
    stand_in = finished.stand_in
    # The stand-in writes what only begins like the names of alignments.
    made_each_time = {"input.xx", "results.json", "summary.txt"}
    assert unrecorded(stand_in / "run") == {"data/train.xx-yy", *made_each_time}
    second = recipe(stand_in, "--tunings", "2")
    assert calls(stand_in) == []
    assert second.stdout == finished.outcome.stdout
    assert "all has been done before; what is lost" in second.stderr


def test_changed_spelling_repeats_all(stand_in):
    recipe(stand_in, "--spelling", "rules.sed", "--tunings", "1")
    before = len(calls(stand_in))
    (stand_in / "rules.sed").write_text("s/qu/kw/g\n")
    recipe(stand_in, "--spelling", "rules.sed", "--tunings", "1")
    assert before > 0
    assert len(calls(stand_in)) == before


def test_files_are_gathered_anew_when_they_are_for_something_else(stand_in):
    for name in ("more.xx", "more.yy"):
        (stand_in / name).write_text("quattuor\n")
    files = (stand_in / "more.xx", stand_in / "more.yy")
    assert recipe(stand_in, "--monolingual", *files).returncode == 0
    assert "quattuor" not in (stand_in / "run/raw/train.yy").read_text()
    assert recipe(stand_in, "--dictionary", *files).returncode == 0
    assert "quattuor" in (stand_in / "run/raw/train.yy").read_text()


def test_a_system_to_compare_with_may_get_another_name(finished):
    data = finished.stand_in / "data"
    (data / "dev.rival.yy").rename(data / "dev.other.yy")
    outcome = recipe(finished.stand_in, "--tunings", "2")
    assert outcome.returncode == 0, outcome.stderr
    row = next(line for line in outcome.stdout.splitlines() if line.startswith("other"))
    assert re.search(r"[0-9]\.[0-9]", row)


def test_the_text_of_the_language_model_is_made_again_if_it_is_lost(finished):
    (finished.stand_in / "run/lm.yy").unlink()
    outcome = recipe(finished.stand_in, "--tunings", "2", "--classes", "5")
    assert outcome.returncode == 0, outcome.stderr
    assert "lm: again, as lm.yy is missing" in outcome.stderr


@pytest.mark.slow
def test_small_text_becomes_a_table_and_a_system(tmp_path):
    """The whole, with the real programs, on 400 pairs of the raw edition of the bundled corpus."""
    pytest.importorskip("sacremoses")
    if not shutil.which("eflomal-align"):
        pytest.skip("needs eflomal: pip install 'scfg-sampler[align]'")
    data = tmp_path / "data"
    data.mkdir()
    for language in ("novish", "en"):
        lines = gzip.decompress((ROOT / "data" / "novish-en" / "raw" / f"{language}.gz").read_bytes())
        lines = lines.decode("utf-8").split("\n")
        (data / f"train.{language}").write_text("\n".join(lines[:400]) + "\n")
        (data / f"dev.{language}").write_text("\n".join(lines[400:480]) + "\n")
    shutil.copy(data / "dev.novish", data / "dev.untranslated.en")
    quick = (
        "--segment",
        "subwords:200",
        "--iterations",
        "15",
        "--rounds",
        "2",
        "--beam",
        "30",
        "--nbest",
        "30",
    )
    outcome = run(
        LOW_RESOURCE,
        *(data, "novish", "en", "--output", tmp_path / "run", "--tunings", "1", *quick),
        timeout=1200,
        SCFG_PYTHON=sys.executable,
    )
    assert outcome.returncode == 0, outcome.stderr
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert sorted(results) == ["hiero", "hiero-loose", "sampled", "untranslated"]
    for grammar in ("hiero", "hiero-loose", "sampled"):
        assert results[grammar] > results["untranslated"] + 15
    translated = subprocess.run(
        [sys.executable, "-m", "decoder", "translate", "--system", tmp_path / "run" / "system", "--quiet"],
        input="Jo ha hund o gesiet.\n\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert re.fullmatch(r"[A-Z].*\n\n", translated.stdout)


def test_comparison_has_no_tunings_of_earlier_calls(stand_in):
    options = ("--grammars", "hiero,sampled")
    assert recipe(stand_in, *options, "--tunings", "2").returncode == 0
    calls(stand_in)
    outcome = recipe(stand_in, *options, "--tunings", "1", "--beam", "7")
    assert outcome.returncode == 0, outcome.stderr
    (compared,) = (line for line in calls(stand_in) if " --against " in line)
    assert "sampled.1.test.txt" in compared
    assert ".2.test.txt" not in compared


def test_another_system_may_not_be_called_as_a_grammar(stand_in):
    (stand_in / "data" / "dev.sampled.yy").write_text("theirs\n" * 5)
    outcome = recipe(stand_in)
    assert outcome.returncode == 2
    assert "another system cannot be called sampled, as a grammar is" in outcome.stderr
    assert not (stand_in / "run").exists()


def test_an_alignment_may_be_one_of_phrases(stand_in):
    outcome = recipe(stand_in, "--aligner", "phrases", "--tunings", "1", "--grammars", "sampled")
    assert outcome.returncode == 0, outcome.stderr
    found = {line.split()[1]: line for line in calls(stand_in)}
    prefix = f"{stand_in}/run/data/train.xx-yy"
    assert found["align"].endswith(f"--output {prefix} --aligner phrases --seed 1")
    assert f"--alignment {prefix}.phrases --" in found["sample"]


def test_draws_take_seconds_each_however_small_the_text(stand_in):
    planned = [
        planned_seconds(up_to("prepare", recipe, stand_in, "--overwrite", "--draws", draws))
        for draws in ("1", "121")
    ]
    assert 60 <= planned[1] - planned[0] <= 360
