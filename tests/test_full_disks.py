"""Commands with little room, or a full standard output: one line and nothing lost; see `tests.full_disks`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.full_disks import WRITERS


def full(tmp_path, root, *arguments: str) -> dict:
    command = [sys.executable, "-m", "tests.full_disks", str(tmp_path / "place"), *arguments]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr[-2000:]
    return json.loads(child.stdout.splitlines()[-1])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_commands_that_print_to_a_full_device_say_so_in_one_line(tmp_path, root):
    assert full(tmp_path, root, "stdout")["printers"] >= 30


@pytest.mark.parametrize("name", [pytest.param("tune", marks=pytest.mark.slow), "extract", "compile-lm"])
def test_commands_with_little_room_lose_nothing(tmp_path, root, name):
    assert full(tmp_path, root, name, "3")["refused"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_commands_with_many_sizes_of_little_room_lose_nothing(tmp_path, root, name):
    assert full(tmp_path, root, name, "20", "2")["refused"] >= 10
