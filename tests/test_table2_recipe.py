"""The recipe for table 2 refuses wrong calls at once, and takes the right steps, and runs from end to end."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import shutil
import sys

import pytest

from tests.recipe_calls import ROOT, TABLE2, bleu_recipe, calls, run, small_data, unrecorded

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("data/novish-en", "novish"), "expected DATA_DIR SOURCE TARGET"),
        (("data/novish-en", "novish", "en", "--tests", "dev,test"), "--tests has the development set, dev,"),
        (("data/novish-en", "novish", "en", "--rows", "ours,theirs"), "no row is called theirs, in --rows"),
        (("data/novish-en", "novish", "en", "--tuned", "ours,theirs"), "no row is called theirs, in --tuned"),
        (
            ("data/novish-en", "novish", "en", "--tuned", "union"),
            "row union, in --tuned, needs --more-alignments",
        ),
        (("data/novish-en", "novish", "en", "--more-alignments", "x.gz"), "there is no alignment x.gz"),
        (
            ("data/novish-en", "novish", "en", "--more-alignments", "train.novish-en.gold.gz"),
            "names data/novish-en/train.novish-en.gold.gz again",
        ),
        (("data/novish-en", "novish", "en", "--more-alignments", ","), "--more-alignments is a list"),
        (("data/novish-en", "novish", "en", "--rows", "ours, last"), "--rows is a list with commas"),
        (
            ("data/novish-en", "novish", "en", "--consensus", "hiero+union"),
            "row union, in --consensus, is none of --tuned",
        ),
        (
            ("data/novish-en", "novish", "en", "--consensus", "ours"),
            "has rows with + between them, not 'ours'",
        ),
        (
            ("data/novish-en", "novish", "en", "--consensus", "ours++hiero"),
            "row without a name, in --consensus",
        ),
        (
            ("data/novish-en", "novish", "en", "--consensus", "ours+hiero+"),
            "row without a name, in --consensus",
        ),
        (("data/novish-en", "novish", "en", "--consensus", ","), "--consensus is a list with commas"),
        (
            ("data/novish-en", "novish", "en", "--tuned", "ours", "--consensus", "+".join(["ours"] * 41)),
            "is too long to name files by; take fewer rows",
        ),
        (
            ("data/novish-en", "novish", "en", "--seeds", "0", "--consensus", "ours+hiero"),
            "--consensus needs rows that are tuned; with --seeds 0 none is",
        ),
        (("data/novish-en", "novish", "en", "--method", "mert"), "--method is pro or mira, not 'mert'"),
        (("data/novish-en", "novish", "en", "--seeds", "999"), "--seeds is from 0 to 100"),
        (("data/novish-en", "novish", "en", "--seeds", "few"), "--seeds is a whole number, not 'few'"),
        (("data/novish-en", "novish", "en", "--tests", "test,test9"), "neither test9.novish nor"),
    ],
)
def test_wrong_call_of_table2_is_refused_before_anything_is_made(arguments, complaint, tmp_path):
    os.symlink(ROOT / "data", tmp_path / "data")
    outcome = run(TABLE2, *arguments, directory=tmp_path, SCFG_PYTHON=sys.executable)
    assert outcome.returncode == 2
    assert complaint in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


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


def test_table2_has_what_several_rows_say_together(stand_in):
    data = small_data(stand_in / "data")
    options = (
        "--rows",
        "",
        "--tuned",
        "ours,last",
        "--seeds",
        "2",
        "--consensus",
        "hiero+ours,last+ours+hiero,hiero+ours",
    )
    outcome = bleu_recipe(stand_in, data, *options, recipe=TABLE2)
    assert outcome.returncode == 0, outcome.stderr
    third = outcome.stdout.split("\n\n")[2]
    assert third.count("\nhiero+ours ") == 1
    assert re.search(r"^hiero\+ours +61\.25 \(0\.25\) +61\.25 \(0\.25\) +0\.000$", third, re.MULTILINE), third
    assert third.splitlines()[-1].startswith("last+ours+hiero ")
    noted = calls(stand_in)
    listed = [line for line in noted if "--nbest 50 --search guided" in line]
    assert [re.findall(r"/([\w-]+)\.list\.gz", line) for line in listed] == [
        [name] for name in ("hiero-1", "ours-1", "hiero-2", "ours-2", "last-1", "last-2")
    ]
    agreed = [line for line in noted if line.startswith("decoder consensus")]
    assert [re.findall(r"/([\w-]+)\.list\.gz", line) for line in agreed] == [
        [f"{row}-{seed}" for row in rows]
        for rows in (("hiero", "ours"), ("last", "ours", "hiero"))
        for seed in (1, 2)
    ]
    scored = next(line for line in noted if "evaluate" in line and "/hiero+ours.agreed-1.test.txt" in line)
    assert re.findall(r"/(\S+)\.test\.txt", scored) == [
        "hiero+ours.agreed-1",
        "hiero+ours.agreed-2",
        "hiero.hiero-1",
        "hiero.hiero-2",
    ]
    again = bleu_recipe(stand_in, data, *options, recipe=TABLE2)
    assert again.stdout == outcome.stdout
    assert calls(stand_in) == []


def test_table2_has_what_a_dozen_rows_say_together(stand_in):
    """Files are named by them, and no name has more than 255 bytes."""
    rows = "hiero-loose-target,hiero-loose,no-singletons,initial,last,average,average-hiero,dirichlet-last"
    rows += ",dirichlet,ours,ours-hiero,ours-redundancy"
    options = ("--rows", "", "--tuned", rows, "--seeds", "1", "--consensus", rows.replace(",", "+"))
    outcome = bleu_recipe(stand_in, small_data(stand_in / "data"), *options, recipe=TABLE2)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.split("\n\n")[2].splitlines()[-1].startswith(rows.replace(",", "+"))


def test_table2_grammars_come_from_the_runs_they_are_named_for(stand_in):
    data = small_data(stand_in / "data")
    bleu_recipe(stand_in, data, "--seeds", "0", recipe=TABLE2)
    noted = calls(stand_in)
    sampled = [line for line in noted if line.startswith("scfg_sampler sample")]
    assert len(sampled) == 5  # The initial state, the paper's, discount 0, ours, free.
    assert ["--unaligned free" in line for line in sampled] == ["/free.run" in line for line in sampled]
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
    assert "--prune redundancy --keep" in made["free-tenth"]
    assert all("/free.run " in made[row] for row in ("free", "free-tenth"))
    assert "--no-singletons" in next(line for line in noted if "no-singletons.gz" in line)
    assert sum(line.startswith("decoder tune") for line in noted) == 1


@pytest.mark.slow
def test_table2_takes_all_alignments_for_the_rows_of_the_union(stand_in):
    data = small_data(
        stand_in / "data", alignments=("train.xx-en.gold", "train.xx-en.hand", "train.xx-en.my")
    )
    more = ("--more-alignments", "train.xx-en.hand,train.xx-en.my", "--seeds", "01", "--tuned", "union-tenth")
    more += ("--method", "mira")
    outcome = bleu_recipe(stand_in, data, *more, recipe=TABLE2)
    assert outcome.returncode == 0, outcome.stderr
    first, second, _ = outcome.stdout.split("\n\n")
    last = [re.split("  +", line.strip())[0] for line in first.splitlines()[-14:]]
    assert last == [
        "union",
        "union-annotated",
        "union-redundancy",
        "union-tenth",
        "union-tenth-annotated",
        "union-twentieth",
        "union-twentieth-annotated",
        "union-loose-tenth",
        "union-exact",
        "union-types",
        "union-classes",
        "union-free",
        "choose",
        "choose-sentence",
    ]
    assert second.startswith("Weights of its own for each, 1 tuning by mira:\n")
    assert [re.split("  +", line)[0] for line in second.splitlines()[3:]] == ["hiero", "union-tenth"]
    done = calls(stand_in)
    annotated = [line for line in done if line.startswith("scfg_sampler annotate")]
    assert [re.findall(r"/([\w-]+)\.gz", line) for line in annotated] == [
        [row, "hiero-loose-target", f"{row}-annotated"] for row in ("union", "union-tenth", "union-twentieth")
    ]
    noted = [line for line in done if line.startswith(("scfg_sampler sample", "scfg_sampler extr"))]
    assert len(noted) == 18  # As many runs as without, five of the union, two that choose, six extractions.
    for line in noted:
        found = [re.search("xx-en.([a-z]+)", word)[1] for word in line.split() if "xx-en" in word]
        several = "union" in line or "choose" in line
        assert found == (["gold", "hand", "my"] if several else ["gold"]), line
        assert "sample" not in line.split()[1] or ("--discount 0.8" in line) == several
        assert ("--types 2" in line) == ("/union-types.run " in line)
        assert ("--tables exact" in line) == ("/union-exact.run " in line or "/union-classes.run " in line)
        assert ("classes.en --labels-form classes" in line) == ("/union-classes.run " in line)
        for way, name in (("phrase", "choose"), ("sentence", "choose-sentence")):
            assert (f"--choose {way}" in line) == (f"/{name}.run " in line)
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


def test_a_further_alignment_repeats_nothing_that_does_not_read_it(stand_in):
    data = small_data(stand_in / "data", alignments=("train.xx-en.gold", "train.xx-en.hand"))
    more = ("--rows", "average,ours", "--seeds", "0", "--alignment", "train.xx-en.gold")
    outcome = bleu_recipe(stand_in, data, *more, recipe=TABLE2)
    assert outcome.returncode == 0, outcome.stderr
    assert "gzip" not in outcome.stderr
    calls(stand_in)
    more = ("--rows", "average,ours,union", *more[2:], "--more-alignments", "train.xx-en.hand")
    assert bleu_recipe(stand_in, data, *more, recipe=TABLE2).returncode == 0
    learnt = [
        line for line in calls(stand_in) if line.startswith(("scfg_sampler sample", "scfg_sampler extr"))
    ]
    assert ["/union.run" in line for line in learnt] == [True]


def test_table2_splits_the_translations_by_set(stand_in):
    data = small_data(stand_in / "data")
    (data / "dev.xx").write_text("a\nb\n")
    (data / "dev.en").write_text("a\nb\n")
    outcome = bleu_recipe(stand_in, data, "--rows", "", "--seeds", "0", recipe=TABLE2)
    assert outcome.returncode == 0, outcome.stderr
    out = stand_in / "run dir"
    assert unrecorded(out) == {"input.xx", "table.txt"}
    assert (out / "input.xx").read_text() == "a\nb\na b c\n"
    assert (out / "hiero.fixed.dev.txt").read_text() == "translation 1\ntranslation 2\n"
    assert (out / "hiero.fixed.test.txt").read_text() == "translation 3\n"


ROWS = ("last", "average", "ours", "ours-tenth", "union-hiero", "union", "union-loose-tenth")
ROWS += ("union-annotated", "union-twentieth-annotated", "union-exact", "union-types", "union-classes")
ROWS += ("union-free", "choose", "choose-sentence")


@pytest.mark.slow
def test_table2_runs_on_a_part_of_the_bundled_corpus(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name, lines in (("train", 200), ("dev", 20), ("test", 20)):
        for side in ("novish", "en", "novish-en.gold") if name == "train" else ("novish", "en"):
            with gzip.open(ROOT / "data" / "novish-en" / f"{name}.{side}.gz", "rt", encoding="utf-8") as text:
                kept = "".join(itertools.islice(text, lines))
            (data / f"{name}.{side}").write_text(kept, encoding="utf-8")
    # A second alignment, without the second link of every line.
    links = [line.split() for line in (data / "train.novish-en.gold").read_text().splitlines()]
    (data / "train.novish-en.sparse").write_text("".join(" ".join(l[:1] + l[2:]) + "\n" for l in links))
    out = tmp_path / "out"
    options = ("--rows", ",".join(ROWS), "--rounds", "1", "--beam", "20")
    options += ("--more-alignments", "train.novish-en.sparse", "--tuned", "union", "--seeds", "2")
    outcome = run(
        TABLE2, data, "novish", "en", "--output", out, *options, SCFG_PYTHON=sys.executable, timeout=900
    )
    assert outcome.returncode == 0, outcome.stderr
    rows = {line.split()[0]: line.split() for line in outcome.stdout.split("\n\n")[0].splitlines()[3:]}
    assert list(rows) == ["hiero", *ROWS]
    assert int(rows["ours-tenth"][1]) <= int(rows["hiero"][1]) / 10
    assert int(rows["union-twentieth-annotated"][1]) == int(rows["hiero"][1]) // 20
    # Not listed, loose Hiero's grammar is made all the same.
    with gzip.open(out / "hiero-loose-target.gz", "rt", encoding="utf-8") as table:
        assert int(rows["union-loose-tenth"][1]) == sum(1 for _ in table) // 10
    assert int(rows["last"][1]) < int(rows["average"][1]) < int(rows["ours"][1]) < int(rows["hiero"][1])
    assert int(rows["hiero"][1]) < int(rows["union-hiero"][1])
    assert int(rows["ours"][1]) < int(rows["union"][1])
    assert all(0 < float(row[3]) <= 100 for row in rows.values())
    second = outcome.stdout.split("\n\n")[1].splitlines()
    assert re.fullmatch(r"union +\d+( +\d+\.\d\d \(\d+\.\d\d\)){2} +[01]\.\d{3}", second[4]), second
