"""Every file that an example of `--help` reads, cut short as gzip: one line, status 2, nothing left."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from tests.test_help_examples import (
    EXAMPLES,
    NOT_OURS,
    absent,
    group_of,
    status_of,
    taken,
    without_what_it_makes,
)

WRITTEN_ONLY = {"dmv resume": "model.txt"}
"""What an example names and writes anew, out of its checkpoint."""


def text_files(line: str) -> list[str]:
    """The files that a line of shell names and that could as well be packed."""
    _, words, stdin, _ = taken(line)
    found = [word for word in words if Path(word).is_file() and not word.endswith((".json", ".html", ".svg"))]
    return list(dict.fromkeys([*found, *([] if stdin is None else [stdin])]))


def others(folder: Path, line: str) -> list[Path]:
    """The files that the line does not name: not what the shell makes, nor a record of it."""
    _, words, _, stdout = taken(line)
    named = {*words, stdout}
    return [path for path in sorted(folder.rglob("*")) if path.name.removesuffix(".json") not in named]


@pytest.mark.parametrize(
    ("program", "command", "lines"),
    [
        pytest.param(*each, id=" ".join(each[:2]))
        for each in EXAMPLES
        if each[1] != "explore"  # It serves, and does not end.
    ],
)
def test_truncated_files_are_one_line(program, command, lines, made, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "here"
    shutil.copytree(made(group_of(program, command)), folder)
    monkeypatch.chdir(folder)
    line = next((each for each in lines if each not in NOT_OURS and not absent(each)), None)
    if line is None:
        pytest.skip("the examples need what is not there")
    without_what_it_makes(line)
    for name in text_files(line):
        if WRITTEN_ONLY.get(command) == name:
            continue
        whole = Path(name).read_bytes()
        text = gzip.decompress(whole) if whole[:2] == b"\x1f\x8b" else whole
        Path(name).write_bytes(gzip.compress(text)[:-5])
        before = others(folder, line)
        capsys.readouterr()
        status = status_of(line)
        said = capsys.readouterr().err
        assert status == 2, f"{line}, {name} cut short\n{said}"
        assert others(folder, line) == before, f"{line}, {name} cut short"
        Path(name).write_bytes(whole)
