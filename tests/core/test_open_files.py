"""Results for /dev/stdout and other names of files that are open already, which are not replaced."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.core.files import atomic_output, atomic_path, is_device
from scfg_sampler.errors import InputError

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="needs /dev/fd")
SYMMETRISE = "-m scfg_sampler symmetrise --forward links --reverse links --method union --quiet --output"
RULE = "[X] ||| a ||| b ||| LogForward=-1 LogCount=0 TargetWords=1 ||| 0-0\n"


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """A function that opens a file with something in it, and names what is open. Nothing is left behind."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "file").write_text("kept\n")
    numbers = []

    def opened(flags: int = os.O_WRONLY | os.O_APPEND) -> str:
        numbers.append(os.open(tmp_path / "file", flags))
        return f"/dev/fd/{numbers[-1]}"

    yield opened
    for number in numbers:
        os.close(number)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "temporary"]
    assert not any((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link", "/dev/fd/../fd/1"])
@pytest.mark.parametrize("redirection", [">", ">>"])
def test_a_file_that_standard_output_goes_to_keeps_what_others_write(root, tmp_path, name, redirection):
    if not os.path.exists(os.path.dirname(name) or "."):
        pytest.skip(f"needs {name}")
    (tmp_path / "links").write_text("0-0\n")
    (tmp_path / "link").symlink_to("/dev/stdout")
    (tmp_path / "log").write_text("older\n")
    script = f"(echo before; {sys.executable} {SYMMETRISE} {name}; echo after) {redirection} log"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    subprocess.run(script, shell=True, check=True, cwd=tmp_path, env=environment)
    older = "older\n" * (redirection == ">>")
    assert (tmp_path / "log").read_text() == older + "before\n0-0\nafter\n"
    assert (tmp_path / "link").is_symlink()


def test_what_was_printed_before_comes_before(root, tmp_path):
    script = "from scfg_sampler.core.files import atomic_output\nprint('one')\n"
    script += "with atomic_output('/dev/stdout') as stream:\n    print('two', file=stream)\nprint('three')\n"
    with open(tmp_path / "log", "w") as log:
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONUNBUFFERED": ""}
        subprocess.run([sys.executable, "-c", script], stdout=log, check=True, env=environment)
    assert (tmp_path / "log").read_text() == "one\ntwo\nthree\n"


def test_a_failure_adds_nothing(opened, tmp_path):
    writing = atomic_output(opened())
    writing.__enter__().write("half" * 100_000)
    assert not writing.__exit__(KeyError, KeyError(), None)
    assert (tmp_path / "file").read_text() == "kept\n"


def test_what_is_not_written_from_its_beginning_to_its_end_is_added_whole(opened, tmp_path):
    """An archive of arrays, whose headers are written at last."""
    with atomic_path(opened()) as temporary, open(temporary, "wb") as stream:
        np.savez(stream, a=np.arange(5))
    (tmp_path / "temporary" / "a.npz").write_bytes((tmp_path / "file").read_bytes().removeprefix(b"kept\n"))
    with np.load(tmp_path / "temporary" / "a.npz") as found:
        assert found["a"].tolist() == [0, 1, 2, 3, 4]
    (tmp_path / "temporary" / "a.npz").unlink()


def test_a_file_that_is_open_for_reading_stays(opened, tmp_path):
    path = opened(os.O_RDONLY)
    with (
        pytest.raises(InputError, match=rf"{path}: cannot be written \(Bad file"),
        atomic_output(path) as out,
    ):
        out.write("text\n")
    assert (tmp_path / "file").read_text() == "kept\n"


def test_a_number_of_nothing_open_is_one_line():
    number = os.open(os.devnull, os.O_RDONLY)
    os.close(number)
    with pytest.raises(InputError, match="cannot be written"), atomic_output(f"/dev/fd/{number}") as out:
        out.write("text\n")


def test_no_room_for_the_temporary_file_is_one_line(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    path = opened()
    with pytest.raises(InputError, match=f"{path}: cannot be written"), atomic_output(path) as out:
        out.write("text\n")
    assert (tmp_path / "file").read_text() == "kept\n"


def test_a_pipe_is_written_to_at_once():
    reading, writing = os.pipe()
    with atomic_output(f"/dev/fd/{writing}") as stream:
        stream.write("text\n")
        stream.flush()
        assert os.read(reading, 10) == b"text\n"
    os.close(reading)
    os.close(writing)


def test_only_what_is_open_is_told_from_files(opened, tmp_path):
    assert is_device(opened())
    assert is_device("/dev/stdin")
    for name in ("1", "fd/1", "file"):
        assert not is_device(tmp_path / name)


def test_nothing_is_written_beside_it(opened, tmp_path):
    """As what a table was made with is beside one that is a file."""
    table = tmp_path / "temporary" / "table"
    table.write_text(f"# made\n{RULE}")
    path = opened()
    assert main(["convert", "--to", "moses", "--quiet", "--output", path, str(table)]) == 0
    table.unlink()
    assert (tmp_path / "file").read_text().startswith("kept\na [X] ||| b [X] ||| ")
    assert not Path(f"{path}.json").exists()
