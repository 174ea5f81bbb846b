"""Runs the exact tier in child processes: with kernels as plain Python, and a few of them compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scfg_sampler.core import jit

pytestmark = pytest.mark.skipif(
    not jit.ENABLED, reason="compilation is off: the exact tier runs in this process"
)


def run_exact(root, *arguments, **environment):
    """What pytest makes of the exact tier in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_exact_tier(root, request):
    if request.config.getoption("--without-exact"):
        pytest.skip("--without-exact: NUMBA_DISABLE_JIT=1 pytest tests/exact is run by itself")
    slow = ["--slow"] if request.config.getoption("--slow") else []
    child = run_exact(root, *slow, "tests/exact", NUMBA_DISABLE_JIT="1")
    assert child.returncode == 0, child.stdout[-8000:] + child.stderr[-2000:]


def test_choices_of_compiled_kernels_are_followed(root):
    files = "tests/exact/test_choices.py", "tests/exact/test_restaurant.py"
    child = run_exact(root, "--exact", "compiled", *files, "-k", "test_choices or leaving_and_coming_back")
    assert child.returncode == 0, child.stdout[-8000:] + child.stderr[-2000:]


def test_plain_kernels_are_not_taken_for_compiled_ones(root):
    child = run_exact(root, "--exact", "compiled", "tests/exact/test_choices.py", NUMBA_DISABLE_JIT="1")
    assert child.returncode == pytest.ExitCode.USAGE_ERROR
    assert "kernels are plain Python, by NUMBA_DISABLE_JIT=1" in child.stderr
