"""A pair of a thousand words takes little memory beyond what the program itself does."""

from __future__ import annotations

import subprocess
import sys

import pytest

SAMPLE = """
import random, resource, sys
from pathlib import Path
from scfg_sampler.cli import main

def sample(length):
    draw = random.Random(1)
    order = list(range(length))
    for i in range(0, length - 3, 5):
        order[i], order[i + 2] = order[i + 2], order[i]
    for name in ("f", "e"):
        words = [f"{name}{draw.randrange(300)}" for _ in range(length)]
        Path(name).write_text(" ".join(words) + "\\n")
    Path("a").write_text(" ".join(f"{i}-{j}" for i, j in enumerate(order)) + "\\n")
    options = "--source f --target e --alignment a --max-length 1000 --iterations 2 --burn-in 1 --quiet"
    assert main(["sample", *options.split(), *sys.argv[1:], "--output", f"run-{length}"]) == 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

print(sample(20), sample(1000))
"""


def room(root, place, *options: str) -> int:
    """The MB that a pair of a thousand words takes beyond the program."""
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "HOME": str(place.home())}
    command = [sys.executable, "-c", SAMPLE, *options]
    found = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)
    program, whole = map(int, found.stdout.split())
    return whole - program


pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="measures memory as Linux gives it"
)


@pytest.mark.slow
def test_a_long_pair_takes_little_memory(root, tmp_path):
    """85 MB were measured."""
    assert room(root, tmp_path) < 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "most"),
    [(["--type-moves", "1"], 100), (["--marginals"], 100), (["--marginals", "--chains", "2"], 110)],
)
def test_a_long_pair_takes_little_memory_with(root, tmp_path, options, most):
    """84, 95 and 98 MB were measured; marginals count a million places of nodes, and write 181,300."""
    assert room(root, tmp_path, *options) < most
