"""Ctrl-C at every line of what writes files and directories: no old one is lost, nothing is left beside it.

What is made, removed or renamed within `signals_held` is so as a whole; a moment before that block a signal
may still leave a directory that the next process clears away, which is why that frame is not looked at.
"""

from __future__ import annotations

import functools
import gc
import shutil
import signal
import sys
from pathlib import Path

import pytest

from scfg_sampler.core import directories, files, leftovers
from scfg_sampler.core.directories import new_directory
from scfg_sampler.core.files import atomic_output
from scfg_sampler.core.leftovers import temporary_directory

_MODULES = {module.__file__ for module in (directories, files, leftovers)}


@pytest.fixture
def unheard():
    """Ctrl-C is what it is in a program, and the debugger's, or coverage's, trace comes back."""
    before, tracer = signal.signal(signal.SIGINT, signal.default_int_handler), sys.gettrace()
    yield
    sys.settrace(tracer)
    signal.signal(signal.SIGINT, before)


def _stopped_at(line: int, work) -> bool:
    """Whether there is such a line in the modules while something is done; Ctrl-C comes just before it."""
    lines = 0

    def trace(frame, event, _argument):
        nonlocal lines
        code = frame.f_code
        if code.co_filename not in _MODULES or code.co_name == temporary_directory.__wrapped__.__name__:
            return None
        if event == "line":
            lines += 1
            if lines == line:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    gc.collect()
    return lines >= line


def _contents(place: Path) -> dict[str, str]:
    paths = {str(path.relative_to(place)): path for path in place.rglob("*")}
    return {name: path.read_text() if path.is_file() else "" for name, path in paths.items()}


def _file(place: Path) -> None:
    with atomic_output(place / "file", durable=False) as stream:
        stream.write("new")


def _scratch(place: Path) -> None:
    with temporary_directory("scfg-", place) as folder:
        (folder / "inside").mkdir()
        (folder / "inside" / "part").write_text("new")


def _system(place: Path) -> None:
    with new_directory(place / "system", "mark", "system", "part") as folder:
        (folder / "mark").write_text("new")


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("write", [_file, _scratch, _system])
def test_ctrl_c_at_any_line_leaves_the_old_or_the_new(unheard, tmp_path, monkeypatch, write, exchanges):
    if not exchanges:
        monkeypatch.setattr(directories, "_exchanged", lambda *names: False)
    old = {"file": "old", "system/mark": "old"}
    ends, line, is_stopped = [], 0, True
    while is_stopped:
        line += 1
        place = tmp_path / str(line)
        (place / "system").mkdir(parents=True)
        for name, text in old.items():
            (place / name).write_text(text)
        is_stopped = _stopped_at(line, functools.partial(write, place))
        found = _contents(place)
        assert sorted(found) == ["file", "system", "system/mark"], line
        ends.append(found)
        shutil.rmtree(place)
    assert len(ends) > 15
    changed = {"file": "file", "system": "system/mark"}.get(write.__name__[1:])
    if changed is not None:
        assert {found[changed] for found in ends} == {"old", "new"}
