"""The tables of `recipes/meaning.sh`, and what else it asks of `recipes/tables.py`."""

from __future__ import annotations

import gzip
import itertools
import os
import subprocess
import sys

import pytest

from tests.recipe_calls import RECIPES


def tables(*arguments):
    command = [sys.executable, str(RECIPES / "tables.py"), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(RECIPES.parent)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def signs(ours: str, theirs: str) -> float:
    """Enumerated: how often fair coins on the questions that one of two has right are as uneven, or more."""
    decided = [a for a, b in zip(ours, theirs, strict=True) if a != b]
    uneven = abs(decided.count("1") - decided.count("0"))
    throws = list(itertools.product((1, -1), repeat=len(decided)))
    return sum(abs(sum(throw)) >= uneven for throw in throws) / len(throws)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("11110000", "00001111"), ("1111111100", "1000000000"), ("111", "111"), ("10111", "00000"), ("1", "0")],
)
def test_p_is_that_of_all_throws_of_coins(tmp_path, ours, theirs):
    for name, right in (("one", ours), ("two", theirs)):
        for which in ("dev", "test"):
            (tmp_path / f"{name}.{which}.mr").write_text("".join("a\n" if r == "1" else "b\n" for r in right))
            (tmp_path / f"{which}.mr").write_text("a\n" * len(right))
        with gzip.open(tmp_path / f"{name}.gz", "wt") as out:
            out.write("# header\nrule\nrule\n")
    rows = [line.split("\t") for line in tables("meaning", tmp_path, "one", "two").splitlines()]
    share = f"{100 * ours.count('1') / len(ours):.1f}"
    assert rows[1] == ["one", "2", share, share, f"{signs(ours, theirs):.4f}"]


def test_p_is_against_typed_where_it_is_there(tmp_path):
    for name, right in (("typed", "1100"), ("joined", "1111")):
        for which in ("dev", "test"):
            (tmp_path / f"{name}.{which}.mr").write_text("".join("a\n" if r == "1" else "b\n" for r in right))
            (tmp_path / f"{which}.mr").write_text("a\n" * 4)
    for number, name in enumerate(("typed", "hiero-typed"), start=1):
        with gzip.open(tmp_path / f"{name}.gz", "wt") as out:
            out.write("# header\n" + number * "rule\n")
    rows = [line.split("\t") for line in tables("meaning", tmp_path, "typed", "joined").splitlines()]
    assert rows[1:] == [["typed", "1", "50.0", "50.0", ""], ["joined", "3", "100.0", "100.0", "0.5000"]]


@pytest.mark.parametrize(
    ("letters", "expected"),
    [(0, "wo liegt ähtäri\n\n\nin u.s. now\n"), (4, "wo lieg ähtä\n\n\nin u.s. now\n")],
)
def test_questions_are_in_lower_case_without_their_mark_and_words_cut(tmp_path, letters, expected):
    (tmp_path / "text").write_text("\ufeffWo liegt Ähtäri ?\n.\n\nin U.S. now\n")
    assert tables("questions", tmp_path / "text", letters) == expected


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        (
            "0 ||| a@1 ||| f\n0 ||| a@1 b@0 ||| f\n0 ||| c@0 ||| f\n2 ||| c@0 d@0 ||| f\n",
            "funql",
            "a@1 b@0\n\n\n",
        ),
        ("a@0\n\nb\n", "funql", "a@0\n\nb\n"),
        (
            "0 ||| from@1 t@0 ||| f\n0 ||| select@2 u.a@0 from@1 t@0 ||| f\n"
            "0 ||| select@2 a@0 from@1 t@0 ||| f\n",
            "sql",
            "select@2 a@0 from@1 t@0\n\n\n",
        ),
    ],
)
def test_first_well_formed_of_each_list(tmp_path, text, form, expected):
    (tmp_path / "list").write_text(text)
    assert tables("first-expressions", tmp_path / "list", 3, form) == expected


def test_coverage_is_of_those_that_are_so_probable_and_exactness_of_these(tmp_path):
    """By hand: five questions, one without an expression; the last set has none that is sure."""
    sets = {
        "dev": ("aaaaa", ["a", "b", "a", "", "a"], ["0.7000", "0.6999", "0.9500", "0.0000", "0.5000"]),
        "test": ("aa", ["a", "b"], ["0.6000", "0.4999"]),
    }
    for which, (gold, given, likely) in sets.items():
        for name, column in (("", gold), ("typed.", given)):
            (tmp_path / f"{name}{which}.mr").write_text("".join(f"{each}\n" for each in column))
        (tmp_path / f"typed.{which}.probabilities").write_text("".join(f"{each}\n" for each in likely))
    assert [line.split("\t") for line in tables("coverage", tmp_path, "typed").splitlines()] == [
        ["probability", "dev coverage", "dev exact", "test coverage", "test exact"],
        ["0.0", "100.0", "60.0", "100.0", "50.0"],
        ["0.5", "80.0", "75.0", "50.0", "100.0"],
        ["0.7", "40.0", "100.0", "0.0", ""],
        ["0.9", "20.0", "100.0", "0.0", ""],
    ]


def test_answers_are_lines_whatever_is_in_them(tmp_path):
    """A form feed, and what else parts lines elsewhere, is a part of an answer."""
    for which in ("dev", "test"):
        for name in ("", "one."):
            (tmp_path / f"{name}{which}.mr").write_text("a@0\nb@0\n")
    (tmp_path / "one.gz").write_bytes(gzip.compress(b"rule\n"))
    (tmp_path / "answers").write_text("page 1\fpage\u20282\nb\n")
    (tmp_path / "one.answers").write_text("page 1\fpage\u20282\nc\n")
    rows = [line.split("\t") for line in tables("meaning", tmp_path, "--answers", "one").splitlines()]
    assert rows[1] == ["one", "1", "100.0", "100.0", "50.0", ""]
