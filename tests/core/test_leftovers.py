"""What killed processes leave is cleared away by the next one; what others are making is not touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from scfg_sampler.core import files, leftovers
from scfg_sampler.core.arrays.external import Scratch
from scfg_sampler.core.files import atomic_output, atomic_path, read_lines
from scfg_sampler.core.leftovers import HELD, hold, temporary_directory

WRITER = """
import sys, time
from scfg_sampler.core.files import atomic_output
from scfg_sampler.core.arrays.external import Scratch
import numpy as np
with Scratch(directory=sys.argv[1]) as scratch, atomic_output(sys.argv[1] + "/out") as stream:
    scratch.table(np.int64).append(np.arange(1000))
    stream.write("half" * 100000)
    stream.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path, root):
    """A process that is in the middle of writing."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdout.readline() == "writing\n"
    yield child
    child.kill()
    child.wait()


def write(directory) -> None:
    with Scratch(directory=str(directory)) as scratch, atomic_output(directory / "out") as stream:
        scratch.table(np.int64).append(np.arange(10))
        stream.write("whole\n")


def test_leftovers_of_a_killed_process_go_with_the_next(writer, tmp_path):
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert len(list(tmp_path.iterdir())) == 2
    write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert list(read_lines(tmp_path / "out")) == ["whole"]


def test_what_a_living_process_is_making_stays(writer, tmp_path):
    before = {path.name for path in tmp_path.iterdir()}
    write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*before, "out"}
    assert (tmp_path / ".out.partial").read_text() == "half" * 100000
    assert list(read_lines(tmp_path / "out")) == ["whole"]


def test_directories_without_a_lock_are_not_ours_to_remove(tmp_path):
    (tmp_path / "scfg-x").mkdir()
    (tmp_path / "scfg-link").symlink_to(tmp_path / "scfg-x")
    with temporary_directory("scfg-", tmp_path) as folder:
        assert folder.parent == tmp_path
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scfg-link", "scfg-x"]


def test_two_writers_of_one_file_do_not_mix(tmp_path):
    with atomic_path(tmp_path / "out") as one, atomic_path(tmp_path / "out") as other:
        assert one != other
        one.write_text("one" * 100)
        other.write_text("other")
    assert (tmp_path / "out").read_text() == "one" * 100
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("durable", [True, False])
def test_contents_reach_the_disk_before_the_name_does(tmp_path, monkeypatch, durable):
    done = []
    monkeypatch.setattr(files, "sync_file", lambda path: done.append(("file", path.read_text())))
    monkeypatch.setattr(files, "sync_directory", lambda path: done.append(("names", (path / "out").exists())))
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("renamed"), replace(*names)))
    with atomic_output(tmp_path / "out", durable=durable) as stream:
        stream.write("text")
    assert done == ([("file", "text"), "renamed", ("names", True)] if durable else ["renamed"])


def test_the_lock_is_removed_last(tmp_path, monkeypatch):
    from scfg_sampler.core import leftovers

    seen = []
    real = leftovers.shutil.rmtree

    def noted(path, **options):
        seen.append(sorted(each.name for each in tmp_path.rglob("*")))
        real(path, **options)

    monkeypatch.setattr(leftovers.shutil, "rmtree", noted)
    with temporary_directory("scfg-", tmp_path) as folder:
        (folder / "inside").mkdir()
        (folder / "inside" / "file").write_text("text")
    assert all(HELD in names for names in seen)
    assert "inside" not in seen[-1]


def test_one_killed_before_it_was_locked_is_cleared_away_and_what_is_not_ours_stays(tmp_path):
    for name in ("x-killed", "x-mine"):
        (tmp_path / name).mkdir()
    (tmp_path / "x-killed" / f"{HELD}.new").touch()
    (tmp_path / "x-mine" / "file").touch()
    with temporary_directory("x-", tmp_path) as folder:
        assert {path.name for path in tmp_path.iterdir()} == {"x-mine", folder.name}
    assert [path.name for path in tmp_path.iterdir()] == ["x-mine"]


@pytest.mark.parametrize("how", ["held", "removed"])
def test_one_that_is_taken_for_a_leftover_before_it_is_locked_is_made_anew(tmp_path, monkeypatch, how):
    asked = []

    def meets_another(path):
        asked.append(path)
        if len(asked) > 1:
            return hold(path)
        if how == "removed":
            path.parent.rmdir()
            raise FileNotFoundError(path)
        path.touch()
        return None

    monkeypatch.setattr(leftovers, "hold", meets_another)
    with temporary_directory("x-", tmp_path) as folder:
        assert [path.name for path in tmp_path.iterdir()] == [folder.name]
        assert folder != asked[0].parent
        assert hold(folder / HELD) is None
    assert list(tmp_path.iterdir()) == []
