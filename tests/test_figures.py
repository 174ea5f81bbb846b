"""Figures that the README prints have a stamp, and are compared with new ones; see `tests.figures`."""

from __future__ import annotations

import pytest

from tests.figures import _BLOCK, README, differences, figures, written

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
