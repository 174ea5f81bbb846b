"""The recipe for table 2 refuses wrong calls at once, and runs from end to end; its steps: test_recipes."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import sys

import pytest

from tests.test_recipes import ROOT, TABLE2, run


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("data/novish-en", "novish"), "expected DATA_DIR SOURCE TARGET"),
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
    options = ("--rows", "last,average,ours,ours-tenth,union-hiero,union", "--rounds", "1", "--beam", "20")
    options += ("--more-alignments", "train.novish-en.sparse", "--tuned", "union", "--seeds", "2")
    outcome = run(
        TABLE2, data, "novish", "en", "--out", out, *options, SCFG_PYTHON=sys.executable, timeout=900
    )
    assert outcome.returncode == 0, outcome.stderr
    rows = {line.split()[0]: line.split() for line in outcome.stdout.split("\n\n")[0].splitlines()[3:]}
    assert list(rows) == ["hiero", "last", "average", "ours", "ours-tenth", "union-hiero", "union"]
    assert int(rows["ours-tenth"][1]) <= int(rows["hiero"][1]) / 10
    assert int(rows["last"][1]) < int(rows["average"][1]) < int(rows["ours"][1]) < int(rows["hiero"][1])
    assert int(rows["hiero"][1]) < int(rows["union-hiero"][1])
    assert int(rows["ours"][1]) < int(rows["union"][1])
    assert all(0 < float(row[3]) <= 100 for row in rows.values())
    second = outcome.stdout.split("\n\n")[1].splitlines()
    assert re.fullmatch(r"union +\d+( +\d+\.\d\d \(\d+\.\d\d\)){2} +[01]\.\d{3}", second[4]), second
