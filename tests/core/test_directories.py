"""Directories that replace an older one: whenever the process is killed, one of the two has the name."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scfg_sampler.core import directories
from scfg_sampler.core.directories import new_directory
from scfg_sampler.errors import InputError

REPLACE = """
import os, pathlib, sys
from scfg_sampler.core import directories
at, exchange = int(sys.argv[2]), sys.argv[3] == "exchange"
if not exchange:
    directories._exchanged = lambda one, other: False
calls = 0
def killed_at(real):
    def call(*arguments):
        global calls
        if os.path.basename(arguments[0]) not in (".held.new",):
            if calls == at:
                os.kill(os.getpid(), 9)
            calls += 1
        return real(*arguments)
    return call
pathlib.Path.rename = killed_at(pathlib.Path.rename)
directories._exchanged = killed_at(directories._exchanged)
directories.sync_directory = killed_at(directories.sync_directory)
with directories.new_directory(sys.argv[1], "mark", "thing", "part") as folder:
    (folder / "mark").write_text("new")
"""


def write(path, text) -> None:
    with new_directory(path, "mark", "thing", "part") as folder:
        (folder / "mark").write_text(text)


def replace(root, path, at, how) -> int:
    command = [sys.executable, "-c", REPLACE, str(path), str(at), how]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(root)}, check=False).returncode


@pytest.mark.parametrize("at", range(3))
def test_a_replaced_directory_never_lacks_its_name(root, tmp_path, at):
    write(tmp_path / "out", "old")
    status = replace(root, tmp_path / "out", at, "exchange")
    assert status == (0 if at == 2 else -9)
    assert (tmp_path / "out" / "mark").read_text() == ("old" if at == 0 else "new")
    write(tmp_path / "out", "newer")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("at", range(5))
def test_what_was_being_replaced_gets_its_name_back(root, tmp_path, at):
    """Where directories cannot be exchanged."""
    write(tmp_path / "out", "old")
    status = replace(root, tmp_path / "out", at, "rename")
    assert status == (0 if at == 4 else -9)
    with pytest.raises(KeyError), new_directory(tmp_path / "out", "mark", "thing", "part"):
        raise KeyError
    assert (tmp_path / "out" / "mark").read_text() == ("new" if at > 2 else "old")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_another_process_is_replacing_stays_with_it(tmp_path):
    with new_directory(tmp_path / "out", "mark", "thing", "part") as folder:
        (folder.parent / "old").mkdir()
        (folder.parent / "old" / "mark").write_text("old")
        directories._give_back(tmp_path / "out")
        assert not (tmp_path / "out").exists()
        (folder / "mark").write_text("new")


def test_something_else_is_not_replaced(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file").write_text("kept")
    with pytest.raises(InputError, match="exists and is no thing"):
        write(tmp_path / "out", "new")
    assert (tmp_path / "out" / "file").read_text() == "kept"


@pytest.mark.parametrize(
    ("mark", "parts"),
    [
        ("{}", ["part", "part"]),
        ('{"files": {"a": 0, "b": 0}}', ["a", "b"]),
        ('{"files": {"part"', ["part"]),
        ('{"files": ["a"]}', ["part"]),
        ("{}", [".DS_Store", ".nfs00af"]),
    ],
)
def test_an_older_one_of_its_own_parts_is_replaced(tmp_path, mark, parts):
    """Those that its mark lists, and otherwise the usual ones."""
    write(tmp_path / "out", mark)
    for name in parts:
        (tmp_path / "out" / name).write_text("old")
    (tmp_path / "out" / parts[0]).unlink()
    (tmp_path / "out" / parts[0]).symlink_to("/")
    write(tmp_path / "out", "new")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mark"]


@pytest.mark.parametrize(
    ("mark", "names", "found"),
    [
        ("{}", ["notes"], "notes, which is no part of a thing. Move it,"),
        ("{}", ["part", "notes/"], "notes, which is no part of a thing. Move it,"),
        ("{}", ["part/"], "part, which is no part of a thing. Move it,"),
        ("{}", ["b", "parts", "a"], "a, b, parts, which are no part of a thing. Move them,"),
        ("{}", ["1", "2", "3", "4", "5"], "1, 2, 3 and 2 more, which are no part of a thing. Move them,"),
        ('{"files": {"a": 0}}', ["a", "part"], "part, which is no part of a thing. Move it,"),
        ('{"files": {"a"', ["a", "part"], "a, which is no part of a thing. Move it,"),
    ],
)
def test_what_lies_in_an_older_one_is_not_lost(tmp_path, mark, names, found):
    write(tmp_path / "out", mark)
    for name in names:
        place = tmp_path / "out" / name
        place.mkdir() if name.endswith("/") else place.write_text("kept")
    with pytest.raises(InputError) as refused:
        write(tmp_path / "out", "new")
    assert str(refused.value) == f"{tmp_path / 'out'}: holds {found} or name another directory"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        ["mark", *(name.rstrip("/") for name in names)]
    )
    assert (tmp_path / "out" / "mark").read_text() == mark


def test_what_is_put_into_an_older_one_meanwhile_is_not_lost(tmp_path):
    write(tmp_path / "out", "old")
    making = new_directory(tmp_path / "out", "mark", "thing", "part")
    (making.__enter__() / "mark").write_text("new")
    (tmp_path / "out" / "notes").write_text("kept")
    with pytest.raises(InputError, match="holds notes"):
        making.__exit__(None, None, None)
    assert (tmp_path / "out" / "notes").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
