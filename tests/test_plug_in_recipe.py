"""The recipe for other decoders refuses wrong calls at once, and goes from alignments to their directory."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.recipe_calls import (
    RECIPES,
    ROOT,
    STAND_IN,
    assert_refused,
    calls,
    run,
    small_data,
    unrecorded,
    write_stand_in,
)
from tests.recognisers import cdec, joshua, moses, travatar

PLUG_IN = RECIPES / "plug-in.sh"
READERS = {"cdec": cdec, "moses": moses, "joshua": joshua, "travatar": travatar}

BACK = ["scfg-sampler", "convert", "--from", "moses", "--to", "native", "--text"]
SCORE = ["scfg-decoder", "evaluate", "--hypothesis"]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

# What the commands of this recipe make, beyond those of the others.
MORE = r"""
case $program-$command in
    scfg_sampler-plug)
        out=${given#* --output } && out=${out% --pop-limit*}
        mkdir -p "$out" && echo "warning: beware" >&2 && echo "(cd '$out' && decode) < INPUT > OUTPUT"
        exit
        ;;
    scfg_sampler-convert) echo spelled >"${@: -1}" && exit ;;
esac
while [ $# -gt 0 ]; do"""


@pytest.fixture
def stand_in(tmp_path):
    small_data(tmp_path / "data")
    return write_stand_in(tmp_path, STAND_IN.replace("\nwhile [ $# -gt 0 ]; do", MORE, 1))


def recipe(stand_in, decoder, *options):
    arguments = (stand_in / "data", "xx", "en", decoder, "--output", stand_in / "run dir", *options)
    return run(PLUG_IN, *arguments, SCFG_PYTHON=str(stand_in / "python"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("data/novish-en", "novish", "en"), "expected DATA_DIR SOURCE TARGET DECODER"),
        (
            ("data/novish-en", "novish", "en", "pharaoh"),
            "DECODER is cdec, moses, joshua or travatar, not 'pharaoh'",
        ),
        (("data/novish-en", "novish", "fr", "moses"), "has neither train.fr nor train.fr.gz"),
        (("data/novish-en", "novish", "en", "moses", "--kind", "loose"), "--kind is sampled or hiero"),
        (
            ("data/novish-en", "novish", "en", "moses", "--lm", "no.arpa"),
            "there is no language model no",
        ),
        (("data/novish-en", "novish", "en", "moses", "--text", "no.text"), "there is no text no.text"),
        (("data/novish-en", "novish", "en", "moses", "--pop-limit", "few"), "--pop-limit is a whole number"),
        (
            ("data/novish-en", "novish", "en", "moses", "--iterations", "3", "--burn-in", "3"),
            "--burn-in 3 leaves",
        ),
        (
            ("data/novish-en", "novish", "en", "joshua", "--classes", "9"),
            "--classes is for cdec; joshua does",
        ),
        (("data/novish-en", "novish", "en", "moses", "--method", "mert"), "--method is pro or mira"),
        (
            ("data/novish-en", "moses", "--source", "a", "--target", "b"),
            "expected DATA_DIR SOURCE TARGET DECODER",
        ),
        (("moses", "--source", "a", "--target", "b"), "--source and --target need --text"),
    ],
)
def test_wrong_call_is_refused_in_one_line_before_anything_is_made(arguments, complaint, tmp_path):
    os.symlink(ROOT / "data", tmp_path / "data")
    assert_refused(tmp_path, PLUG_IN, arguments, complaint, SCFG_PYTHON=sys.executable)


def test_steps_lead_from_alignments_to_a_directory(stand_in):
    outcome = recipe(stand_in, "moses")
    assert outcome.returncode == 0, outcome.stderr
    noted = calls(stand_in)
    commands = [line.split()[1] for line in noted]
    assert commands == ["train-lm", "sample", "grammar", "filter", "tune", "filter", "plug", "convert"]
    out, data = stand_in / "run dir", stand_in / "data"
    assert f"--source {data}/dev.xx --output {out}/sampled.filtered.gz" in noted[3]
    assert f"--source {data}/test.xx --output {out}/sampled.text.gz --max-targets 20" in noted[5]
    assert noted[6].startswith(
        f"scfg_sampler plug {out}/sampled.text.gz --to moses --lm {out}/lm.arpa --weights"
    )
    assert noted[7] == f"scfg_sampler convert --to moses --text {data}/test.xx {out}/input.moses"
    lines = outcome.stdout.splitlines()
    assert lines[0] == f"rules: 1; for moses: {out}/for-moses"
    assert list(map(shlex.split, lines[4:7])) == [
        ["(cd", f"{out}/for-moses", "&&", "decode)", "<", f"{out}/input.moses", ">", f"{out}/output.moses"],
        [*BACK, f"{out}/output.moses", f"{out}/output.txt"],
        [*SCORE, f"{out}/output.txt", "--references", f"{data}/test.en"],
    ]
    assert (out / "summary.txt").read_text() == outcome.stdout


@pytest.mark.parametrize(
    ("decoder", "copy"), [("cdec", "any"), ("joshua", "any"), ("moses", "unknown"), ("travatar", "unknown")]
)
def test_weights_are_tuned_for_words_that_the_decoder_copies(stand_in, decoder, copy):
    assert recipe(stand_in, decoder).returncode == 0
    found = {line.split()[1]: line for line in calls(stand_in)}
    assert f"--copy {copy} " in found["tune"]
    assert f"--weights {stand_in}/run dir/sampled-{copy}.weights.json" in found["plug"]


def test_options_reach_their_commands(stand_in):
    (stand_in / "my.arpa").write_text("a model\n")
    (stand_in / "my.xx").write_text("a text\n")
    options = ("--kind", "hiero", "--lm", stand_in / "my.arpa", "--text", stand_in / "my.xx")
    options += ("--beam", "9", "--method", "mira", "--seed", "5", "--max-targets", "7", "--pop-limit", "33")
    outcome = recipe(stand_in, "cdec", *options)
    assert outcome.returncode == 0, outcome.stderr
    noted = calls(stand_in)
    assert [line.split()[1] for line in noted] == ["extract", "filter", "tune", "filter", "plug", "convert"]
    assert (stand_in / "run dir" / "lm.arpa").read_text() == "a model\n"
    assert "--method mira --rounds 10 --beam 9 --seed 5" in noted[2]
    assert f"--source {stand_in}/my.xx" in noted[3]
    assert "--max-targets 7" in noted[3]
    assert "--pop-limit 33" in noted[4]
    assert "evaluate" not in outcome.stdout, "there are no references for this text"


def test_cdec_has_the_classes_of_the_second_model(stand_in):
    outcome = recipe(stand_in, "cdec", "--classes", "200")
    assert outcome.returncode == 0, outcome.stderr
    done = calls(stand_in)
    plugged = next(line for line in done if line.startswith("scfg_sampler plug"))
    models = r"--lm \S+ dir/lm\.arpa --lm \S+ dir/lm-classes\.arpa --classes \S+ dir/lm-classes\.words"
    assert re.search(f"{models} --weights", plugged)
    tuned = next(line for line in done if line.startswith("decoder tune"))
    assert re.search(r"--lm \S+ dir/lm\.arpa --lm \S+ dir/lm-classes\.bin ", tuned)
    assert any(line.startswith("scfg_sampler classes") and "--number 1 " in line for line in done)
    (stand_in / "run dir" / "lm-classes.arpa").unlink()
    assert recipe(stand_in, "cdec", "--classes", "200").returncode == 0
    assert any(line.startswith("scfg_sampler classes") for line in calls(stand_in))
    assert recipe(stand_in, "cdec", "--classes", "7").returncode == 0
    again = calls(stand_in)
    for name in ("scfg_sampler classes", "decoder tune", "scfg_sampler plug"):
        assert any(line.startswith(name) for line in again), name
    assert recipe(stand_in, "cdec").returncode == 0
    assert not any("lm-classes" in line for line in calls(stand_in))


def test_all_rules_are_plugged_in_where_that_is_asked_for(stand_in):
    assert recipe(stand_in, "joshua", "--all").returncode == 0
    noted = calls(stand_in)
    assert [line.split()[1] for line in noted].count("filter") == 1
    assert f"plug {stand_in}/run dir/sampled.gz --to joshua" in noted[-2]


def test_another_decoder_or_text_repeats_only_what_differs(stand_in):
    first = recipe(stand_in, "moses")
    calls(stand_in)
    assert unrecorded(stand_in / "run dir") == {"summary.txt"}
    again = recipe(stand_in, "moses")
    assert calls(stand_in) == []
    assert again.stdout == first.stdout
    recipe(stand_in, "travatar")
    assert [line.split()[1] for line in calls(stand_in)] == ["plug", "convert"]
    (stand_in / "my.xx").write_text("a text\n")
    recipe(stand_in, "travatar", "--text", stand_in / "my.xx")
    assert [line.split()[1] for line in calls(stand_in)] == ["filter", "plug", "convert"]


@pytest.mark.slow
@pytest.mark.parametrize("decoder", READERS)
def test_the_bundled_corpus_becomes_what_the_decoder_reads(tmp_path, decoder):
    """With the real programs of ours: tables, input and weights as the decoders' readers take them."""
    quick = ["--iterations", "6", "--rounds", "1", "--beam", "20", "--threads", "1"]
    out = tmp_path / "run"
    outcome = run(
        PLUG_IN,
        ROOT / "data" / "novish-en",
        "novish",
        "en",
        decoder,
        "--output",
        out,
        *quick,
        timeout=900,
        SCFG_PYTHON=sys.executable,
    )
    assert outcome.returncode == 0, outcome.stderr
    (table,) = out.glob(f"for-{decoder}/*.gz")
    unzipped = subprocess.run(["gzip", "-dc", table], capture_output=True, check=True).stdout
    rules = READERS[decoder].read_table(unzipped)
    assert len(rules) == int(re.match(r"rules: (\d+);", outcome.stdout)[1]) > 1000
    for line in (out / f"input.{decoder}").read_bytes().splitlines():
        assert READERS[decoder].read_input(line) == line.split()


@pytest.mark.slow
def test_files_may_lie_anywhere(tmp_path):
    """Texts by their paths: the same table as from a directory in our layout."""
    quick = ["--iterations", "6", "--rounds", "1", "--beam", "20", "--threads", "1"]
    data, files = ROOT / "data" / "novish-en", tmp_path / "some where"
    files.mkdir()
    for name, as_named in (
        ("train.novish", "a"),
        ("train.en", "b"),
        ("train.novish-en.gold", "links"),
        ("dev.novish", "c"),
        ("dev.en", "d"),
        ("test.novish", "e"),
    ):
        (files / as_named).write_bytes(gzip.decompress((data / f"{name}.gz").read_bytes()))
    named = ["--source", files / "a", "--target", files / "b", "--alignment", files / "links"]
    named += ["--dev", files / "c", files / "d", "--text", files / "e"]
    tables = []
    for out, given in (
        ("one", ["cdec", *named]),
        ("other", [data, "novish", "en", "cdec", "--text", files / "e"]),
    ):
        outcome = run(
            PLUG_IN, *given, "--output", tmp_path / out, *quick, timeout=900, SCFG_PYTHON=sys.executable
        )
        assert outcome.returncode == 0, outcome.stderr
        assert "this takes about " in outcome.stderr
        (table,) = (tmp_path / out).glob("for-cdec/*.gz")
        unzipped = gzip.decompress(table.read_bytes()).splitlines()
        tables.append([line for line in unzipped if not line.startswith(b"#")])
    assert tables[0] == tables[1]
    assert len(tables[0]) > 1000
