"""Long commands killed at random moments end as undisturbed ones do; see `tests.kills`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.kills import COMMANDS


def kill(tmp_path, root, name: str, moments: int, seed: int) -> dict:
    command = [sys.executable, "-m", "tests.kills", str(tmp_path / name), name, str(moments), str(seed)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    child = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr[-2000:]
    return json.loads(child.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["sample", "dmv", "tune", "extract"])
def test_commands_killed_end_as_undisturbed_ones(tmp_path, root, name):
    assert kill(tmp_path, root, name, 2, 1)["kills"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_killed_at_many_moments_end_as_undisturbed_ones(tmp_path, root, name):
    assert kill(tmp_path, root, name, 20, 2)["kills"] >= 15
