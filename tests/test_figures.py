"""Figures that documents print have a stamp, and are compared with new ones; see `tests.figures`."""

from __future__ import annotations

import gzip

import pytest

from tests.figures import (
    _BLOCK,
    README,
    RULES,
    check_consoles,
    console,
    counted,
    differences,
    figures,
    other_lines,
    rule_counts,
    written,
)

TABLE = README.read_text(encoding="utf-8")


def printed() -> str:
    found = _BLOCK.search(TABLE)
    assert found is not None
    return found["table"]


def test_figures_of_the_readme_have_a_stamp():
    found = figures(printed())
    assert set(found["sampled"]) == {"rules", "dev BLEU", "test BLEU"}
    assert {"hiero", "hiero-loose", "sampled − hiero", "sampled − hiero-loose"} <= set(found)
    assert differences(found, found) == []


@pytest.mark.parametrize("cell", ["test BLEU", "rules"])
def test_another_figure_is_noticed_and_another_time_is_not(cell):
    found, table = figures(printed()), printed()
    value = found["sampled"][cell]
    other = table.replace(value, "9" + value[1:] if value[0] != "9" else "8" + value[1:], 1)
    assert len(differences(found, figures(other))) == 1
    row = next(line for line in table.splitlines() if line.startswith("hiero "))
    seconds = row.split()[2]
    faster = row.replace(f" {seconds} ", " " + "0" * len(seconds) + " ")
    assert faster != row
    assert differences(found, figures(table.replace(row, faster))) == []


def test_another_comparison_is_noticed():
    table = printed().replace("p = 0.", "p = 1.", 1)
    assert len(differences(figures(printed()), figures(table))) == 1


def test_a_new_table_takes_the_place_of_the_old_one():
    table = printed().replace("sampled ", "sampler ")
    more = table.rstrip() + "\nBLEU: nrefs:1\nrun directory: runs/quickstart\n"
    document = written(TABLE, more, "abcdef0", "2001-02-03")
    found = _BLOCK.search(document)
    assert found is not None
    assert (found["table"], found["commit"], found["day"]) == (table, "abcdef0", "2001-02-03")
    assert document.replace(found[0], "") == TABLE.replace(_BLOCK.search(TABLE)[0], "")


def test_consoles_show_what_their_commands_print():
    assert check_consoles(None, write=False) == []


@pytest.mark.slow
def test_consoles_with_data_from_elsewhere_show_what_their_commands_print(shared_data):
    assert check_consoles(shared_data, write=False) == []


def test_another_line_of_a_console_is_noticed_and_another_time_is_not(tmp_path):
    text = "$ printf 'S -> S S [0.6]\\nS -> %s [0.4]\\n' \\'a\\' > g\n$ scfg-monolingual pcfg check g\n"
    text = text.replace("\\'a\\'", "\"'a'\"")
    made = console(text, tmp_path)
    assert "spectral radius  1.2\n" in made
    assert other_lines(made, made) == []
    other = made.replace("spectral radius  1.2", "spectral radius  1.3")
    assert other_lines(other, made) == ["- spectral radius  1.3", "+ spectral radius  1.2"]
    assert other_lines("4 lines in 0.3 s\n", "4 lines in 12.5 s\n") == []
    assert len(other_lines("4 lines in 0.3 s\n", "5 lines in 0.3 s\n")) == 2


def test_another_count_of_a_rule_is_noticed_and_a_rule_that_is_gone(tmp_path):
    printed = rule_counts(RULES.read_text(encoding="utf-8"))
    assert len(printed) > 30
    assert printed["un → a"]["count"].count(".") == 1
    few = {"a → b": {"count": "2.7"}, "a [X,1] → [X,1] c": {"count": "1.0"}}
    with gzip.open(tmp_path / "table.gz", "wt", encoding="utf-8") as stream:
        stream.write("# signature\n[X] ||| a ||| b ||| LogForward=-1 LogCount=1 Abstract=0 ||| 0-0\n")
        stream.write("[X] ||| a ||| c ||| LogForward=-1 LogCount=2 Abstract=0 ||| 0-0\n")
    found = counted(tmp_path / "table.gz", few)
    assert found == {"a → b": {"count": "2.7"}}
    assert differences(few, found) == ["a [X,1] → [X,1] c is only in one of them"]
    few["a → b"]["count"] = "2.6"
    assert "a → b, count: 2.6 is printed, 2.7 was made" in differences(few, found)
