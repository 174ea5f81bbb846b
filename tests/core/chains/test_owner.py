"""One process at a time in a run directory; locks of those that are gone count for nothing."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from scfg_sampler.core.chains.owner import LOCK, owned
from scfg_sampler.core.files import atomic_output
from scfg_sampler.core.leftovers import has_locks, temporary_directory
from scfg_sampler.errors import InputError

HOLDER = """
import sys, time
from scfg_sampler.core.chains.owner import owned
with owned(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path, root):
    """A process that owns a directory."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "run")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait()


def test_a_directory_that_is_owned_is_refused_and_the_owner_named(holder, tmp_path):
    with pytest.raises(InputError) as refusal, owned(tmp_path / "run"):
        pass
    message = str(refusal.value)
    assert f"run: is in use by process {holder.pid} on {socket.gethostname()} since 20" in message
    assert message.endswith("Wait for it, or stop it")
    assert (tmp_path / "run" / LOCK).exists()


def test_a_killed_owner_counts_for_nothing(holder, tmp_path):
    """Also when another process has its number by now: that of this one stands in the lock."""
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lock = tmp_path / "run" / LOCK
    found = json.loads(lock.read_text())
    assert found["process"] == holder.pid
    lock.write_text(json.dumps({**found, "process": os.getpid()}))
    with owned(tmp_path / "run"):
        assert json.loads(lock.read_text())["process"] == os.getpid()
        with pytest.raises(InputError, match=f"in use by process {os.getpid()}"), owned(tmp_path / "run"):
            pass
    assert list((tmp_path / "run").iterdir()) == []


def test_an_owner_on_another_machine_is_believed_while_it_gives_signs_of_life(tmp_path):
    lock = tmp_path / LOCK
    lock.write_text(json.dumps({"process": 1, "host": "elsewhere", "since": "2026", "command": "sample"}))
    with (
        pytest.raises(InputError, match=r"in use by process 1 on elsewhere since 2026 \(sample\)"),
        owned(tmp_path),
    ):
        pass
    assert lock.exists()
    now = time.time()
    os.utime(lock, (now - 301, now - 301))
    with owned(tmp_path):
        assert json.loads(lock.read_text())["host"] == socket.gethostname()
    assert list(tmp_path.iterdir()) == []


def test_an_owner_gives_signs_of_life(tmp_path, monkeypatch):
    monkeypatch.setattr("scfg_sampler.core.chains.owner._BEAT", 0.01)
    with owned(tmp_path):
        os.utime(tmp_path / LOCK, (0, 0))
        end = time.monotonic() + 30
        while (tmp_path / LOCK).stat().st_mtime < 1000:
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00"])
def test_an_unreadable_lock_that_nobody_holds_counts_for_nothing(tmp_path, text):
    (tmp_path / LOCK).write_text(text)
    with owned(tmp_path):
        pass


@pytest.fixture(params=[errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def without_locks(request, monkeypatch):
    """As on file systems of clusters that have no locks."""

    def refuse(descriptor, operation):
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(fcntl, "flock", refuse)


def test_without_locks_a_directory_is_owned_by_whom_its_file_names(without_locks, tmp_path):
    lock = tmp_path / LOCK
    for _ in range(2):
        with owned(tmp_path):
            assert json.loads(lock.read_text())["process"] == os.getpid()
            with pytest.raises(InputError, match=f"in use by process {os.getpid()}"), owned(tmp_path):
                pass
            assert lock.exists()
        assert list(tmp_path.iterdir()) == []
    with atomic_output(tmp_path / "text") as stream:
        stream.write("whole")
    with temporary_directory("some-", tmp_path) as folder:
        assert folder.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_without_locks_a_killed_owner_counts_for_nothing(holder, without_locks, tmp_path):
    with pytest.raises(InputError, match=f"in use by process {holder.pid}"), owned(tmp_path / "run"):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with owned(tmp_path / "run"):
        pass


def test_without_locks_other_owners_are_believed_while_they_give_signs_of_life(without_locks, tmp_path):
    lock = tmp_path / LOCK
    for owner in (
        {"process": 1, "host": "elsewhere"},
        {"process": os.getppid(), "host": socket.gethostname()},
    ):
        lock.write_text(json.dumps(owner))
        with pytest.raises(InputError, match="in use by process"), owned(tmp_path):
            pass
        now = time.time()
        os.utime(lock, (now - 301, now - 301))
        with owned(tmp_path):
            pass
    lock.write_text(json.dumps({"process": "x", "host": socket.gethostname()}))
    with owned(tmp_path):
        pass


def test_what_others_hold_has_locks(holder, tmp_path):
    assert has_locks(tmp_path / "run" / LOCK)
    assert has_locks(tmp_path / "gone")
    (tmp_path / "free").touch()
    assert has_locks(tmp_path / "free")
