"""OTSoft's tables of rankings known a priori."""

from __future__ import annotations

import itertools
import json

import pytest

from monolingual.cli import main
from monolingual.ot.a_priori import read_a_priori
from scfg_sampler.errors import InputError

NAMES, SHORT = ("No Onset", "Coda", "Max"), ("*NoOns", "*Coda", "Max")
# As OTSoft writes a blank table, with two marks: Windows' line ends, and lines that end early.
TABLE = "\t*NoOns\t*Coda\tMax\t\r\n*NoOns\t\t\t1\t\r\n*Coda\t\t\tx\r\nMax\t\r\n"
TABLEAUX = (
    "\t\t\tNo Onset\tCoda\tMax\n\t\t\t*NoOns\t*Coda\tMax\na\t?a\t1\t\t\t1\n\ta\t\t1\n"
    "tat\tta\t1\t\t\t1\n\ttat\t\t\t1\n"
)


def read(tmp_path, text, names=NAMES, short=SHORT):
    (tmp_path / "a").write_bytes(text.encode())
    return read_a_priori(tmp_path / "a", names, short)


def test_marks_say_that_lines_are_above_columns(tmp_path):
    assert read(tmp_path, TABLE) == [(0, 2), (1, 2)]


@pytest.mark.parametrize("pairs", [*itertools.combinations(itertools.permutations(range(3), 2), 2)])
def test_what_is_written_is_read(pairs, tmp_path):
    """By names and by abbreviations, in any order of lines and columns."""
    for labels, lines, columns in itertools.product(
        (NAMES, SHORT), [(0, 1, 2), (2, 0, 1)], [(0, 1, 2), (1, 0)]
    ):
        rows = ["\t" + "\t".join(labels[at] for at in columns)]
        rows += ["\t".join([labels[i], *("1" if (i, j) in pairs else "" for j in columns)]) for i in lines]
        shown = {pair for pair in pairs if pair[1] in columns}
        assert set(read(tmp_path, "\n".join(rows) + "\n")) == shown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "is no table of rankings known a priori"),
        ("No Onset\tCoda\n", ":1: is no table of rankings"),
        ("\n\tMax\tNix\n", ":2: 'Nix' is no constraint. They are"),
        ("\tMax\tMax\n", ":1: 'Max' stands twice"),
        ("\tMax\tCoda\nMax\t\t1\nMax\t\n", ":3: 'Max' stands twice"),
        ("\tMax\tCoda\nMax\t1\n", ":2: 'Max' is above itself"),
        ("\tMax\tCoda\nMax\t\t0\n", ":2: '0' may be a mark or none. Write 1, or nothing"),
        ("\tMax\tCoda\nMax\t\t\t1\n", ":2: a mark beyond the last constraint"),
    ],
)
def test_what_is_no_table_is_named_with_its_line(text, found, tmp_path):
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert found in str(error.value)


def test_abbreviations_of_several_constraints_are_refused(tmp_path):
    short = ("C", "C", "Max")
    assert read(tmp_path, "\tMax\tNo Onset\nNo Onset\t1\n", short=short) == [(0, 2)]
    with pytest.raises(InputError, match="several constraints are abbreviated 'C'"):
        read(tmp_path, "\tMax\tC\n", short=short)


def test_commands_obey_them_as_they_obey_options(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text(TABLEAUX)
    (tmp_path / "a.txt").write_bytes(b"\t*NoOns\t*Coda\tMax\r\n*NoOns\t\t1\t\r\n*Coda\r\nMax\r\n")
    given = []
    for option in (["--a-priori", "No Onset>Coda"], ["--a-priori-table", "a.txt"], []):
        assert main(["ot", "rank", "t.txt", *option, "--json"]) == 0
        given.append(json.loads(capsys.readouterr().out))
    assert given[0] == given[1] != given[2]
    assert given[1]["strata"] == [["No Onset"], ["Coda"], ["Max"]]
    assert main(["ot", "typology", "t.txt", "--a-priori-table", "a.txt", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["ot", "rank", "t.txt", "--a-priori-table", "a.txt", "--a-priori", "Coda>No Onset"]) == 2
    assert "no ranking has" in capsys.readouterr().err
    assert main(["ot", "rank", "a.txt"]) == 2
    assert "and this file as --a-priori-table" in capsys.readouterr().err
