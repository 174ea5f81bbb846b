"""The recipe from questions to expressions: wrong calls, its steps, and exact matches in `results.json`."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sys

import pytest

from tests.recipe_calls import (
    RECIPES,
    STAND_IN,
    Finished,
    assert_refused,
    calls,
    run,
    unrecorded,
    up_to,
    write_stand_in,
)

MEANING = RECIPES / "meaning.sh"

# What the commands of this recipe make. Every grammar but `hiero` has the first question right.
MORE = r"""
out=${given##*--output }
out=${out%% *}
case $program-$command in
    decoder-linearise)
        case $given in
            *--undo*) sed 's/@[0-9]//g; s/ .*//' "$4" >"$out" ;;
            *) sed 's/(.*/@1 c@0/; /@/!s/$/@0/' "$4" >"$out" ;;
        esac
        exit
        ;;
    decoder-rank) printf '0.7500\ta@1 c@0\n0.2500\tb@0\n' >"$out" && exit ;;
    scfg_sampler-align) for way in fwd rev gdfa; do echo 0-0 >"$out.$way"; done && exit ;;
    decoder-translate)
        case $given in
            */hiero.gz*nbest*) printf '0 ||| a@1 ||| F ||| 1\n0 ||| d@0 ||| F ||| 1\n1 ||| e ||| F ||| 1\n' ;;
            *fold*/held.en*) printf '0 ||| a@1 c@0 ||| F=1 ||| 1\n' ;;
            *nbest*) printf '0 ||| a@1 c ||| F ||| 1\n0 ||| a@1 c@0 ||| F ||| 1\n0 ||| b@0 ||| F ||| 1\n' ;;
            *) printf 'a@1 c@0\n\n' ;;
        esac >"$out"
        exit
        ;;
esac
while [ $# -gt 0 ]; do"""

RIGHT = {
    **dict.fromkeys(("hiero-loose", "sampled", "hiero-typed-unranked", "typed-unranked"), 50.0),
    **dict.fromkeys(("hiero-typed", "typed", "joined"), 100.0),
}
"""Of the two questions, in percent, by all but `hiero`."""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def set_up(directory):
    """A directory with the stand-in and a small corpus."""
    data = directory / "data"
    data.mkdir()
    for name, meanings in (("train", "a(c)\nb\n"), ("dev", "a(c)\nb\n"), ("test", "a(c)\nb\n")):
        (data / f"{name}.en").write_text("What is It ?\nB .\n")
        (data / f"{name}.funql").write_text(meanings)
    with gzip.open(data / "phrases.en.gz", "wt") as out:
        out.write("c\n")
    (data / "phrases.en.funql").write_text("c\n")
    for way in ("fwd", "rev", "gdfa"):
        (directory / way).write_text(f"{way}\n")
    return write_stand_in(directory, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))


@pytest.fixture
def stand_in(tmp_path):
    return set_up(tmp_path)


@pytest.fixture(scope="module")
def of_two_folds(tmp_path_factory):
    place = set_up(tmp_path_factory.mktemp("folds"))
    (place / "data/train.en").write_text("Rivers through Texas ?\nrivers\n")
    with gzip.open(place / "data/phrases.en.gz", "wt") as out:
        out.write("Tennessee\n")
    return Finished(place, recipe, "--folds", "2")


@pytest.fixture
def finished(of_two_folds):
    """A run with rankers."""
    return of_two_folds.restored()


@pytest.fixture(scope="module")
def of_no_folds(tmp_path_factory):
    place = set_up(tmp_path_factory.mktemp("unranked"))
    return Finished(place, recipe, "--folds", "0", "--letters", "4", "--beam", "70")


@pytest.fixture
def unranked(of_no_folds):
    """A run without."""
    return of_no_folds.restored()


def recipe(stand_in, *options):
    arguments = (stand_in / "data", "en", "--output", stand_in / "run", *options)
    return run(MEANING, *arguments, SCFG_PYTHON=str(stand_in / "python"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "expected DATA_DIR LANG"),
        (("none", "en"), "none is not a directory"),
        (("data", "mr"), "LANG is mr, as the files of meanings are called; rename those of questions"),
        (("data", "funql"), "LANG is funql, as the files of meanings are called"),
        (("data", "fr"), "neither train.fr nor train.fr.gz"),
        (("data", "en", "--form", "xml"), "--form is funql, lisp or sql, not 'xml'"),
        (("data", "en", "--form", "lisp"), "neither train.lisp nor train.lisp.gz"),
        (("data", "en", "--iterations", "2"), "--iterations is at least 3"),
        (("data", "en", "--rounds", "few"), "--rounds is a whole number"),
        (("data", "en", "--folds", "1"), "--folds is 2 or more, or 0 for no rankers, not 1"),
        (("data", "en", "--metric", "ter"), "--metric is bleu or exact, not 'ter'"),
        (
            ("data", "en", "--alignments", "fwd,rev"),
            "--alignments names three files, fwd, rev and gdfa, not 2",
        ),
        (("data", "en", "--draws", "0"), "--draws is at least 1, not 0"),
        (("data", "en", "--threads", "0"), "--threads is at least 1, not 0"),
        (("data", "en", "--threads", "x"), "--threads is a whole number, not 'x'"),
        (("data", "en", "--alignments", "fwd,rev,no"), "there is no alignment no"),
    ],
)
def test_wrong_call_is_refused_in_one_line_before_anything_is_made(stand_in, arguments, complaint):
    assert_refused(stand_in, MEANING, arguments, complaint, SCFG_PYTHON=sys.executable)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("test.en", "what ?\n", "test.en has 1 lines, but"),
        ("phrases.en.funql", "c\nd\n", "phrases.en.gz has 1 lines, but"),
        ("test.funql", "a(c)\n \n", "test.funql:2: an empty line; leave it out"),
        ("test.funql", "a(c)\r\n\r\n", "test.funql:2: an empty line; leave it out"),
    ],
)
def test_files_that_do_not_belong_together_are_refused_at_once(stand_in, name, text, complaint):
    (stand_in / "data" / name).write_text(text)
    outcome = recipe(stand_in)
    assert outcome.returncode == 2
    assert complaint in outcome.stderr
    assert calls(stand_in) == []


def test_empty_questions_are_told_of(stand_in):
    (stand_in / "data/train.en").write_text("a\n\n")
    outcome = up_to("align", recipe, stand_in)
    assert re.search(r"^warning: \S+train.en:2: an empty line$", outcome.stderr, re.MULTILINE)


def test_files_without_lines_are_refused(stand_in):
    for name in ("dev.en", "dev.funql"):
        (stand_in / "data" / name).write_text("")
    outcome = recipe(stand_in)
    assert outcome.returncode == 2
    assert outcome.stderr.endswith("dev.en has no lines\n")


def test_results_of_another_form_lie_elsewhere(stand_in):
    for name in ("train", "dev", "test"):
        shutil.copy(stand_in / f"data/{name}.funql", stand_in / f"data/{name}.lisp")
    shutil.copy(stand_in / "data/phrases.en.funql", stand_in / "data/phrases.en.lisp")

    def elsewhere(stand_in, *options):
        given = (stand_in / "data", "en", "--folds", "0", *options)
        return run(MEANING, *given, directory=stand_in, SCFG_PYTHON=str(stand_in / "python"))

    up_to("align", elsewhere, stand_in)
    assert [path.name for path in (stand_in / "runs").iterdir()] == ["meaning-data-en"]
    assert elsewhere(stand_in, "--form", "lisp").returncode == 0
    assert (stand_in / "runs/meaning-data-en-lisp/results.json").exists()


def test_steps_lead_from_questions_to_exact_matches(finished):
    outcome, stand_in, noted = finished.outcome, finished.stand_in, finished.noted
    found = json.loads((stand_in / "run/results.json").read_text())
    assert found == {"hiero": 0.0, **RIGHT}
    table = (stand_in / "run/table.txt").read_text()
    assert outcome.stdout == table
    rows = [line.split() for line in table.splitlines()]
    assert rows[2] == ["hiero", "1", "0.0", "0.0", "0.5000"]
    assert rows[6] == ["typed-unranked", "1", "50.0", "50.0", "1.0000"]
    assert rows[8] == ["typed", "1", "100.0", "100.0"]
    assert rows[9] == ["joined", "2", "100.0", "100.0", "1.0000"]
    assert (stand_in / "run/typed-unranked.test.funql").read_text() == "a\n\n"
    assert (stand_in / "run/typed.test.funql").read_text() == "a\nb\n"
    assert (stand_in / "run/typed.test.probabilities").read_text() == "0.7500\n0.2500\n"
    assert not list((stand_in / "run").glob("*.ranked"))
    sure = next(at for at, row in enumerate(rows) if row[:1] == ["probability"])
    assert rows[sure + 3] == ["0.5", "50.0", "100.0", "50.0", "100.0"]
    commands = [" ".join(line.split()[:2]) for line in noted]
    grammars = ["decoder tune", *["decoder translate", "decoder linearise"] * 2] * 5
    fold = [*["scfg_sampler align"] * 3, "decoder train-lm", "decoder train-expressions"]
    lists = ["decoder translate", "decoder rank", "decoder linearise"] * 2
    hiero = [*["scfg_sampler extract", "decoder translate"] * 2, "decoder train-ranker", *lists]
    ours = [*["scfg_sampler sample", "scfg_sampler grammar", "decoder translate"] * 2]
    grammars += ["decoder train-expressions", *fold * 2, *hiero, *ours, "decoder train-ranker", *lists]
    joined = ["decoder join-lists", "decoder rank", "decoder linearise"] * 2
    grammars += [*["decoder join-lists"] * 2, "decoder train-ranker", *joined, "decoder bundle-parser"]
    assert commands[-len(grammars) :] == grammars
    assert commands.count("scfg_sampler extract") == 3 + 2
    sampled = [line for line in noted if line.startswith("scfg_sampler sample")]
    draws, ways = ("align", "align2", "align3"), ("gdfa", "fwd", "rev")
    nine = " ".join(f"{stand_in}/run/{draw}.{way}" for draw in draws for way in ways)
    assert "--iterations 60 --burn-in 20" in sampled[0]
    assert f"--alignment {nine} --iterations 120 --burn-in 40" in sampled[1]
    assert all(("--expressions" in line) == ("typed.gz" in line) for line in noted if "decoder tune" in line)


@pytest.mark.parametrize(
    ("which", "ranker", "letters", "beam"),
    [("finished", "--ranker {0}/typed.ranker.json --predict 100 ", 5, 200), ("unranked", "", 4, 70)],
)
def test_the_parser_is_that_of_the_sampled_grammar_with_its_ranker(request, which, ranker, letters, beam):
    made = request.getfixturevalue(which)
    (noted,) = [line for line in made.noted if "bundle-parser" in line]
    run = made.stand_in / "run"
    assert noted == (
        f"decoder bundle-parser --grammar {run}/typed.gz --lm {run}/lm.arpa "
        f"--weights {run}/typed.weights.json --expressions {run}/expressions.json {ranker.format(run)}"
        f"--form funql --letters {letters} --copy any --beam {beam} --output {run}/parser"
    )
    said = rf"^to parse: \S*scfg-decoder parse --parser {run}/parser$"
    assert re.search(said, made.outcome.stdout, re.MULTILINE)


def test_lists_hold_what_is_predicted_for_learning_and_for_ranking(finished):
    translated = [line.split() for line in finished.noted if "decoder translate" in line]
    lists = [line for line in translated if line[-1].endswith(".list")]
    assert len(lists) == 2 * (2 + 2)
    assert all("--nbest 100 --predict 100 " in " ".join(line) for line in lists)
    assert not any("--predict" in line for line in translated if line not in lists)


def test_rankers_learn_of_questions_that_grammars_were_learnt_without(stand_in):
    (stand_in / "data/train.en").write_text("A .\nB .\nC .\nD .\nE .\n")
    (stand_in / "data/train.funql").write_text("a\nb\nc\nd\ne\n")
    ways = ",".join(str(stand_in / way) for way in ("fwd", "rev", "gdfa"))
    for way in ("fwd", "rev", "gdfa"):
        (stand_in / way).write_text("".join(f"{way}{line}\n" for line in "abcdexy"))
    assert recipe(stand_in, "--folds", "2", "--copies", "2", "--alignments", ways).returncode == 0
    parts = [stand_in / "run" / fold for fold in ("fold0", "fold1")]
    assert [(part / "held.en").read_text().split() for part in parts] == [["a", "c", "e"], ["b", "d"]]
    assert [(part / "held.mr").read_text().split() for part in parts] == [
        ["a@0", "c@0", "e@0"],
        ["b@0", "d@0"],
    ]
    assert [(part / "learnt.en").read_text().split() for part in parts] == [[*"bdcc"], [*"acecc"]]
    assert (parts[0] / "align.rev").read_text().split() == ["revb", "revd", "revx", "revy"]
    noted = [line for line in calls(stand_in) if "train-ranker" in line]
    assert (
        f"--lists {parts[0]}/typed.list {parts[1]}/typed.list --output {stand_in}/run/typed.ranker"
        in noted[1]
    )


def test_the_lists_of_both_typed_grammars_are_joined_alike_for_learning_and_for_ranking(finished):
    joined = [line for line in finished.noted if "join-lists" in line]
    run = finished.stand_in / "run"
    places = [*("fold0/{}.list", "fold1/{}.list"), *("{}.dev.list", "{}.test.list")]
    assert [line.split()[2:] for line in joined] == [
        [
            f"Sampled={run}/{place.format('typed')}",
            f"Hiero={run}/{place.format('hiero-typed')}",
            *("--output", f"{run}/{place.format('joined')}"),
        ]
        for place in places
    ]


@pytest.mark.slow
def test_eflomal_draws_as_often_as_asked(stand_in):
    assert recipe(stand_in, "--folds", "2", "--draws", "1").returncode == 0
    assert [line.split()[-1] for line in calls(stand_in) if " align " in line] == [
        f"{stand_in}/run/{part}align" for part in ("", "fold0/", "fold1/")
    ]
    assert recipe(stand_in, "--folds", "2", "--draws", "2").returncode == 0
    aligned = [line for line in calls(stand_in) if " align " in line]
    assert len(aligned) == 6  # All of them, as one draw of an earlier run is no better than a new one.
    assert sum(line.endswith("/align2") for line in aligned) == 3


def test_answers_are_compared_where_something_answers(finished):
    stand_in = finished.stand_in
    outcome = recipe(stand_in, "--folds", "2", "--answers", "cut -c1 | tr abd x")
    assert outcome.returncode == 0, outcome.stderr
    found = json.loads((stand_in / "run/answers.json").read_text())
    # What has no expression is not answered; a wrong one may be.
    assert found == {"hiero": 50.0, **RIGHT}
    assert "test exact  test answers" in outcome.stdout
    assert recipe(stand_in, "--folds", "2").returncode == 0
    assert not (stand_in / "run/answers.json").exists()
    outcome = recipe(stand_in, "--folds", "2", "--answers", "head -n 1")
    assert outcome.returncode != 0
    assert re.search(
        r"--answers wrote 1 lines, in \S+/answers\.part, for the 2 expressions of", outcome.stderr
    )


def test_without_rankers_the_best_is_taken(unranked):
    assert json.loads((unranked.stand_in / "run/results.json").read_text())["typed"] == 50.0
    assert not any(line.startswith(("decoder train-ranker", "decoder rank")) for line in unranked.noted)


@pytest.mark.slow
def test_phrases_are_behind_the_questions_as_often_as_asked(stand_in):
    assert recipe(stand_in, "--copies", "3", "--folds", "0").returncode == 0
    assert (stand_in / "run/learnt.en").read_text() == "what is it\nb\nc\nc\nc\n"
    assert (stand_in / "run/learnt.mr").read_text() == "a@1 c@0\nb@0\nc@0\nc@0\nc@0\n"
    assert any("--phrases" in line for line in calls(stand_in) if "train-expressions" in line)


def test_words_of_questions_and_phrases_are_cut_alike_and_anew_when_asked(stand_in):
    (stand_in / "data/train.en").write_text("Rivers through Texas ?\nrivers\n")
    with gzip.open(stand_in / "data/phrases.en.gz", "wt") as out:
        out.write("Tennessee\n")
    (stand_in / "data/dev.en").write_text("Tennessee ?\nrivers\n")
    for options, expected in (
        ((), ("river throu texas\nriver\ntenne\n", "tenne\nriver\n")),
        (("--letters", "0"), ("rivers through texas\nrivers\ntennessee\n", "tennessee\nrivers\n")),
    ):
        up_to("train-lm", recipe, stand_in, "--copies", "1", *options)
        made = tuple((stand_in / "run" / name).read_text() for name in ("learnt.en", "dev.en"))
        assert made == expected
        assert any(" align " in line for line in calls(stand_in))


def test_rankers_read_whole_words(finished):
    stand_in, noted = finished.stand_in, finished.noted
    names = ("learnt.en", "whole.train", "whole.phrases")
    texts = [(stand_in / "run" / name).read_text().splitlines()[0] for name in names]
    assert texts == ["river throu texas", "rivers through texas", "tennessee"]
    whole = f"--source {stand_in}/run/whole."
    assert [line.split()[1] for line in noted if whole in line] == [
        "train-expressions",
        *["train-ranker", "rank", "rank"] * 3,
    ]
    assert sum("/run/whole.expressions.json" in line for line in noted if "train-ranker" in line) == 3
    assert any("--phrases" in line and "/run/whole.phrases" in line for line in noted)


def test_phrases_may_be_missing(stand_in):
    os.unlink(stand_in / "data/phrases.en.gz")
    outcome = recipe(stand_in, "--folds", "0")
    assert outcome.returncode == 2
    assert outcome.stderr.endswith("data has phrases.en.funql, but not phrases.en\n")
    os.unlink(stand_in / "data/phrases.en.funql")
    assert recipe(stand_in, "--folds", "0").returncode == 0
    assert (stand_in / "run/learnt.en").read_text() == "what is it\nb\n"
    assert not any("--phrases" in line for line in calls(stand_in))


def test_given_alignments_are_taken(stand_in):
    ways = ",".join(str(stand_in / way) for way in ("fwd", "rev", "gdfa"))
    up_to("train-lm", recipe, stand_in, "--alignments", ways)
    assert [(stand_in / f"run/align.{way}").read_text() for way in ("fwd", "rev", "gdfa")] == [
        "fwd\n",
        "rev\n",
        "gdfa\n",
    ]
    assert not any(" align " in line for line in calls(stand_in))


def test_given_alignments_may_be_gzipped(stand_in):
    with gzip.open(stand_in / "rev.gz", "wt") as out:
        out.write("rev\n")
    names = ",".join(str(stand_in / name) for name in ("fwd", "rev.gz", "gdfa"))
    up_to("train-lm", recipe, stand_in, "--alignments", names)
    assert [(stand_in / "run" / f"align.{way}").read_text() for way in ("fwd", "rev", "gdfa")] == [
        "fwd\n",
        "rev\n",
        "gdfa\n",
    ]


def test_a_text_that_cannot_be_written_ends_the_recipe(stand_in):
    (stand_in / "run" / "learnt.en").mkdir(parents=True)
    outcome = recipe(stand_in, "--folds", "0")
    assert outcome.returncode == 1
    assert "phrases failed with status 1" in outcome.stderr


def test_what_is_done_is_not_done_again(finished):
    first, stand_in = finished.outcome, finished.stand_in
    made_each_time = {"results.json", "table.tsv", "coverage.tsv", "table.txt"}
    assert unrecorded(stand_in / "run") == made_each_time | {
        f"fold{fold}/sample-typed/run.json" for fold in range(2)
    }
    again = recipe(stand_in, "--folds", "2")
    assert again.stdout == first.stdout
    assert calls(stand_in) == []
    assert recipe(stand_in, "--folds", "2", "--rounds", "3").returncode == 0
    assert {line.split()[1] for line in calls(stand_in)} == {
        "tune",
        "translate",
        "linearise",
        "train-ranker",
        "join-lists",
        "rank",
        "bundle-parser",
    }


def test_tuning_of_other_settings_that_was_stopped_at_once_begins_anew(unranked):
    state = unranked.stand_in / "run" / "hiero.weights.json.state"
    state.mkdir()
    up_to(
        "tune", recipe, unranked.stand_in, "--folds", "0", "--letters", "4", "--beam", "70", "--rounds", "2"
    )
    assert not state.exists()
