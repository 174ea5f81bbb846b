"""A recipe whose results would lie over what it reads says so at once, and leaves all files as they are."""

from __future__ import annotations

import shutil

import pytest

from tests.recipe_calls import (
    ALIGNMENTS_TO_BLEU,
    RECIPES,
    STAND_IN,
    assert_refused,
    run,
    small_data,
    write_stand_in,
)

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def contents(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def assert_kept(directory, script, arguments, complaint):
    """Refused in one line, with nothing made and nothing lost."""
    write_stand_in(directory)
    before = contents(directory)
    assert_refused(directory, RECIPES / script, arguments, complaint, SCFG_PYTHON=str(directory / "python"))
    assert contents(directory) == before


@pytest.mark.parametrize("place", ["raw", "data"])
def test_small_corpora_where_the_recipe_keeps_its_own(tmp_path, place):
    data = tmp_path / "project" / place
    data.mkdir(parents=True)
    for name in ("train.xx", "train.yy", "dev.xx", "dev.yy"):
        (data / name).write_text("a\nb\nc\nd\n")
    arguments = (f"project/{place}", "xx", "yy", "--output", "project")
    complaint = f"project/{place}/train.xx is read, and would be lost: the recipe writes into project/{place}"
    assert_kept(tmp_path, "low-resource.sh", arguments, complaint)


def test_rules_of_spelling_where_the_recipe_keeps_its_own(tmp_path):
    for name in ("train.xx", "train.yy", "dev.xx", "dev.yy"):
        (tmp_path / name).write_text("a\nb\nc\nd\n")
    (tmp_path / "made/raw").mkdir(parents=True)
    (tmp_path / "made/raw/rules").write_text("s/a/b/\n")
    arguments = (".", "xx", "yy", "--output", "made", "--spelling", "made/raw/rules")
    assert_kept(tmp_path, "low-resource.sh", arguments, "made/raw/rules is read, and would be lost")


def test_questions_in_the_directory_of_results(tmp_path):
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.en").write_text("What is It ?\n")
        (tmp_path / f"{name}.funql").write_text("a(b)\n")
    arguments = (".", "en", "--output", ".")
    assert_kept(tmp_path, "meaning.sh", arguments, "./train.en is read, and would be lost")


def test_the_language_model_that_the_recipe_writes(tmp_path):
    small_data(tmp_path / "data")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/lm.arpa").write_text("a model\n")
    arguments = ("data", "xx", "en", "cdec", "--output", "out", "--lm", "out/lm.arpa")
    assert_kept(tmp_path, "plug-in.sh", arguments, "--lm out/lm.arpa is what the recipe writes")


def test_links_where_the_recipe_makes_its_own(tmp_path):
    small_data(tmp_path / "corpus", alignments=("alignment",))
    (tmp_path / "files").mkdir()
    for name in ("train.xx", "train.en", "dev.xx", "dev.en", "test.xx", "test.en", "alignment"):
        (tmp_path / "files" / name).symlink_to(tmp_path / "corpus" / name)
    options = ["--source", "files/train.xx", "--target", "files/train.en", "--alignment", "files/alignment"]
    options += ["--dev", "files/dev.xx", "files/dev.en", "--test", "files/test.xx", "files/test.en"]
    complaint = "files/train.xx is read, and would be lost: the recipe writes into "
    assert_kept(tmp_path, ALIGNMENTS_TO_BLEU.name, [*options, "--output", "."], complaint)


def test_byte_order_marks_are_no_letters_where_texts_are_put_together(tmp_path):
    small_data(tmp_path / "data")
    for name in ("dev.xx", "test.xx"):
        (tmp_path / "data" / name).write_text("\ufeffa b c\n")
    write_stand_in(tmp_path, STAND_IN)
    outcome = run(
        ALIGNMENTS_TO_BLEU,
        "data",
        "xx",
        "en",
        "--output",
        "out",
        directory=tmp_path,
        SCFG_PYTHON=str(tmp_path / "python"),
    )
    assert outcome.returncode == 0, outcome.stderr
    assert (tmp_path / "out/input.xx").read_text() == "a b c\na b c\n"
