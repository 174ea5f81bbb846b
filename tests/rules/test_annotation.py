"""Features of another table for the same rules."""

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.rules.annotation import rows_of_same_rules
from scfg_sampler.rules.table import read_rule_table, rule

TABLE = """# made by hand
[X] ||| [X,1] a [X,2] ||| [X,1] b [X,2] ||| LogForward=-1 LogCount=2 ||| 1-1
[X] ||| [X,1] a [X,2] ||| [X,2] b [X,1] ||| LogForward=-2 LogCount=3 ||| 1-1
[X] ||| a ||| b ||| LogForward=-3 LogCount=1 ||| 0-0
[X] ||| a ||| b b ||| LogForward=-4 LogCount=0 ||| 0-0
"""
OTHER = """# made by hand
[X] ||| [X,1] a [X,2] ||| [X,2] b [X,1] ||| LogForward=-0.5 LogBackward=-0.25 LogCount=7 More=1 ||| 1-1
[X] ||| a ||| b ||| LogForward=-0.125 LogBackward=-2 LogCount=8 More=2 ||| 0-0
[X] ||| b ||| a ||| LogForward=-1.5 LogBackward=-3 LogCount=9 More=3 ||| 0-0
[X] ||| b ||| b ||| LogForward=-1.5 LogBackward=-3 LogCount=9 More=4 ||| 0-0
"""


@pytest.fixture
def files(tmp_path):
    for name, text in (("table", TABLE), ("other", OTHER)):
        (tmp_path / name).write_text(text)
    return tmp_path


def annotate(files, *options, status=0):
    arguments = [str(files / name) for name in ("table", "other")]
    assert main(["annotate", *arguments, "--output", str(files / "out"), *options]) == status


def features(files):
    table = read_rule_table(files / "out")
    return {
        (found.source, found.target): found.features
        for found in (rule(table, row) for row in range(table.num_rules))
    }


def test_same_rules_have_the_features_of_the_other_table(files, capsys):
    annotate(files, "--prefix", "Hiero")
    found = features(files)
    assert len(found) == 4
    swap = found[(-1, "a", -2), (-2, "b", -1)]
    assert list(swap.items()) == [
        ("LogForward", -2),
        ("LogCount", 3),
        ("HieroLogForward", -0.5),
        ("HieroLogBackward", -0.25),
        ("HieroLogCount", 7),
        ("HieroMissing", 0),
    ]
    assert found[("a",), ("b",)]["HieroLogBackward"] == -2
    for words in (((-1, "a", -2), (-1, "b", -2)), (("a",), ("b", "b"))):
        assert list(found[words].values())[2:] == [0, 0, 0, 1]
    assert found[("a",), ("b", "b")]["LogForward"] == -4
    assert "4 rules written to" in capsys.readouterr().err


def test_features_are_those_asked_for(files):
    annotate(files, "--features", "More")
    assert sorted(each["OtherMore"] for each in features(files).values()) == [0, 0, 1, 2]
    assert all("OtherLogForward" not in each for each in features(files).values())


def test_words_are_compared_as_text_whatever_their_numbers(files):
    table, other = (read_rule_table(files / name) for name in ("table", "other"))
    assert table.source_vocabulary.id("b") != other.source_vocabulary.id("b")
    assert rows_of_same_rules(table, other).tolist() == [-1, 0, 1, -1]
    assert rows_of_same_rules(other, table).tolist() == [1, 2, -1, -1]
    (files / "none").write_text("# made by hand\n")
    none = read_rule_table(files / "none")
    assert rows_of_same_rules(table, none).tolist() == [-1] * 4
    assert rows_of_same_rules(none, table).dtype == np.int64


def test_features_that_few_rules_have_are_features_too(files):
    """Beyond 256 names, a feature of few rules has no column."""
    lines = [line.replace("LogCount", "Word5=1 LogCount") for line in OTHER.splitlines()]
    lines[2] = lines[2].replace("Word5=1 LogCount=8", "LogCount=8 Rare=-0.75")
    lines += [f"[X] ||| c{k} ||| C ||| LogForward=-1 Word{k}=1 ||| 0-0" for k in range(300)]
    (files / "other").write_text("".join(f"{line}\n" for line in lines))
    assert "Rare" in read_rule_table(files / "other").sparse_names
    annotate(files, "--features", "Rare", "LogForward")
    found = features(files)
    assert found[("a",), ("b",)]["OtherRare"] == -0.75
    assert sorted(each["OtherRare"] for each in found.values()) == [-0.75, 0, 0, 0]
    assert found[("a",), ("b",)]["OtherLogForward"] == -0.125


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--features", "Absent"], "has no feature Absent. Name others with --features"),
        (["--prefix", "a b"], "--prefix is 'a b'; it is a word"),
        (["--prefix", ""], "--prefix is ''; it is a word"),
        (["--prefix", "a="], "--prefix is 'a='; it is a word"),
        (["--features", "More", "More"], "--features names More twice; leave one out"),
    ],
)
def test_what_cannot_be_added_is_said_in_a_line(files, options, message, capsys):
    annotate(files, *options, status=2)
    assert message in capsys.readouterr().err
    assert not (files / "out").exists()


def test_features_that_are_there_already_are_refused(files, capsys):
    annotate(files)
    (files / "out").rename(files / "table")
    annotate(files, status=2)
    assert "with it OtherLogForward would be there twice, so choose another" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "# made by hand\n", TABLE.replace("\n", "\r")])
def test_a_table_without_rules_is_not_written_as_one(files, text, capsys):
    (files / "table").write_bytes(text.encode())
    annotate(files, status=2)
    said = capsys.readouterr().err
    assert "has no rules. Is it the table that was meant?" in said or "as on old Macs" in said
    assert not (files / "out").exists()


def test_labels_are_refused(files, capsys):
    (files / "other").write_text("# made by hand\n[NP] ||| a ||| b ||| LogForward=-1 ||| 0-0\n")
    annotate(files, status=2)
    assert "other:2: left-hand side is '[NP]' instead of [X]" in capsys.readouterr().err
