"""Runs the exact tier, which needs kernels as plain Python, in a child process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scfg_sampler.core import jit


@pytest.mark.skipif(not jit.ENABLED, reason="compilation is off: the exact tier runs in this process")
def test_exact_tier(root, request):
    if request.config.getoption("--without-exact"):
        pytest.skip("--without-exact: NUMBA_DISABLE_JIT=1 pytest tests/exact is run by itself")
    slow = ["--slow"] if request.config.getoption("--slow") else []
    child = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *slow, "tests/exact"],
        cwd=root,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stdout[-8000:] + child.stderr[-2000:]
