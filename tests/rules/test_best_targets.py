"""Of every source side `filter --max-targets` keeps the targets with the best scores, in their order."""

from __future__ import annotations

import pytest

from scfg_sampler.cli import main
from scfg_sampler.errors import RuleTableError
from scfg_sampler.rules.text_filter import filter_table
from tests.rules.test_text_filter import lines_of, write, written


def test_best_targets_are_kept_in_their_order(tmp_path):
    scores = {"t1": -3.0, "t2": -1.0, "t3": -2.0, "t4": -1.0}
    lines = [f"[X] ||| a ||| {target} ||| F=0 LogForward={score} G=1" for target, score in scores.items()]
    lines.append("[X] ||| b ||| t ||| LogForward=-9")
    write(tmp_path / "table", lines)
    report = filter_table(tmp_path / "table", output=tmp_path / "out", max_targets=2)
    assert written(tmp_path / "out") == [lines[1], lines[3], lines[4]]
    assert report == (5, 3, 0)
    assert (tmp_path / "out").read_text().startswith("# made by hand|max-targets:2\n")


def test_best_targets_are_found_between_tabs(tmp_path):
    fields = (("[X]", "a", f"t{k}", f"F=0\tLogForward={score}") for k, score in enumerate((-3, -1, -2)))
    lines = ["\t|||\t".join(each) for each in fields]
    write(tmp_path / "table", lines)
    filter_table(tmp_path / "table", output=tmp_path / "out", max_targets=2)
    assert written(tmp_path / "out") == lines[1:]


def test_best_targets_of_cdecs_tables_have_the_smallest_negated_logarithm(tmp_path):
    lines = [f"[X] ||| a ||| t{k} ||| CountEF=1 EgivenFCoherent={score}" for k, score in enumerate((3, 1, 2))]
    write(tmp_path / "table", lines)
    filter_table(tmp_path / "table", output=tmp_path / "out", max_targets=2)
    assert written(tmp_path / "out") == lines[1:]


def test_only_sorted_tables_with_scores_have_best_targets(tmp_path):
    write(tmp_path / "table", ["[X] ||| b ||| B ||| LogForward=-1", "[X] ||| a ||| A ||| LogForward=-1"])
    with pytest.raises(RuleTableError, match=r"source side 'a' comes after a larger one\. Sort the table"):
        filter_table(tmp_path / "table", output=tmp_path / "out", max_targets=1)
    write(tmp_path / "table", ["[X] ||| b ||| B ||| F=-1"])
    with pytest.raises(RuleTableError, match="has no feature LogForward or EgivenFCoherent"):
        filter_table(tmp_path / "table", output=tmp_path / "out", max_targets=1)


def test_targets_can_be_limited_without_a_text(tmp_path, capsys):
    table = tmp_path / "table"
    table.write_text("".join(line + "\n" for line, _ in lines_of([("a",), ("a",), ("b",)])))
    assert main(["filter", str(table), "--max-targets", "1", "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text().count("|||") == 2 * 3
    assert "2 of 3 rules written" in capsys.readouterr().err
