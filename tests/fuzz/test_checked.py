"""No kernel that a reader ends in reads out of bounds; see `tests.fuzz.checked`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.fuzz.readers import READERS


def child(root, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """A Python process that finds the project."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(root), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["bounds", "interpreted"])
def test_what_readers_read_is_in_bounds(mode, root):
    done = child(root, "-m", "tests.fuzz.checked", mode)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert f"{len(READERS)} readers, " in done.stdout
    assert done.stdout.endswith(", 0 faults\n")


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT"])
def test_a_kernel_that_reads_past_the_end_is_noticed(variable, tmp_path, root):
    (tmp_path / "careless.py").write_text(
        "import numpy as np\n"
        "from scfg_sampler.core.jit import kernel\n"
        "from tests.fuzz import trial\n"
        "from tests.fuzz.readers import Reader\n\n\n"
        "@kernel\ndef last(values):\n    return values[len(values)]\n\n\n"
        "print(trial.fault(Reader(lambda path: last(np.zeros(3)), ()), b''))\n"
    )
    environment = {variable: "1", "SCFG_SAMPLER_CACHE": str(tmp_path / "cache")}
    done = child(root, str(tmp_path / "careless.py"), **environment)
    assert done.stdout.startswith("IndexError"), done.stdout + done.stderr[-1000:]
