"""Standard streams of commands: readers that go away, full and closed ones, and the encoding of results."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_reader_that_goes_away_is_no_error():
    script = (
        "import sys; from scfg_sampler.core.console import run\n"
        "def command(arguments):\n    for _ in range(100000): print('line')\n"
        "sys.exit(run('prog', command))"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"line\n"
    child.stdout.close()
    assert child.wait(timeout=30) == 0
    assert child.stderr.read() == b""
    child.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("lines", [1, 100_000])
def test_standard_output_that_is_full_is_one_line(lines):
    script = (
        "import sys; from scfg_sampler.core.console import run\n"
        f"def command(arguments):\n    for _ in range({lines}): print('line')\n"
        "sys.exit(run('prog', command))"
    )
    for unbuffered in ("", "1"):
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-c", script]
            child = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=30, env=environment)
        reason = b"cannot be written (No space left on device)"
        message = b"prog: standard output, or a temporary file, " + reason + b"\n"
        assert (child.returncode, child.stderr) == (2, message)


@pytest.mark.parametrize(
    ("closed", "arguments", "status", "output", "message"),
    [
        ("2>&-", "links -", 0, "0-0\n", ""),
        (">&-", "links out", 0, "", "1 line symmetrised by union\n"),
        (">&-", "links -", 2, "", "or a temporary file, cannot be written (Bad file descriptor)\n"),
        ("<&-", "- -", 2, "", "-: cannot be read (Bad file descriptor). Check the disk\n"),
        ("<&- >&- 2>&-", "links out", 0, "", ""),
        ("<&- >&- 2>&-", "nowhere out", 2, "", ""),
    ],
)
def test_streams_that_are_closed_are_neither_mixed_up_nor_missed(
    root, tmp_path, closed, arguments, status, output, message
):
    (tmp_path / "links").write_text("0-0\n")
    reverse, written = arguments.split()
    options = f"--forward links --reverse {reverse} --method union --output {written}"
    command = ["bash", "-c", f"exec {sys.executable} -m scfg_sampler symmetrise {options} {closed}"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    said = child.stderr.replace("at work for 0:00:01\n", "")
    assert (child.returncode, child.stdout, said[-len(message) :]) == (status, output, message)
    assert said.count("\n") == message.count("\n")
    if written == "out" and status == 0:
        assert (tmp_path / "out").read_text() == "0-0\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_standard_output_is_utf_8_whatever_the_locale_says(root, encoding):
    script = (
        "import os, sys; from scfg_sampler.core.console import run; "
        "sys.exit(run('prog', lambda arguments: print('\u00fc \u4e2d', os.fsdecode(b'\\xff')), []))"
    )
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": encoding}
    child = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True)
    assert (child.returncode, child.stderr) == (0, b"")
    assert child.stdout == "\u00fc \u4e2d".encode() + b" \xff\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_that_cannot_be_printed_is_not_passed_over(root, option, unbuffered):
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "decoder", option]
        child = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=30, env=environment)
    assert child.returncode == 2
    assert child.stderr.endswith(b"cannot be written (No space left on device)\n")
    assert child.stderr.count(b"\n") == 1
