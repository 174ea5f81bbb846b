"""The slow tier is divided into parts, so that a server can run one a day."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import pytest

from tests.conftest import slow_part


@pytest.mark.parametrize("parts", [1, 3, 20, 200])
def test_every_slow_test_is_in_one_part_and_parts_are_of_one_size(parts):
    names = [f"tests/slow/test_{k % 5}.py::test_x[{k}]" for k in range(97)]
    dealt = [slow_part(names, f"{k}/{parts}") for k in range(1, parts + 1)]
    assert set().union(*dealt) == set(names)
    assert not any(one & other for one, other in itertools.combinations(dealt, 2))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    assert slow_part(names[::-1], f"1/{parts}") == dealt[0]


@pytest.mark.parametrize("part", ["0/3", "4/3", "1", "a/b", "-1/3"])
def test_parts_that_are_none_are_refused(part):
    with pytest.raises(pytest.UsageError, match=f"--slow-part is {part}; it is K/N"):
        slow_part(["x"], part)


def test_what_there_is_no_time_for_is_skipped_and_told(tmp_path, root):
    """A part that is slow is no failure; one with a failing test is. It is no matter where they lie."""
    project = tmp_path / "slow"
    project.mkdir()
    (project / "conftest.py").write_text((root / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (project / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (project / "test_it.py").write_text(
        "import pytest, time\n\n"
        "@pytest.mark.slow\ndef test_a(): time.sleep(1.5)\n\n"
        "@pytest.mark.slow\ndef test_b(): assert False\n\n"
        "def test_c(): assert False\n"
    )

    def run(seconds):
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "test_it.py"]
        command += ["--slow-part=1/1", f"--slow-seconds={seconds}"]
        path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            command, cwd=project, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
        )

    short = run(1)
    assert short.returncode == 0, short.stdout
    assert "1 passed, 1 skipped" in short.stdout
    assert "no time left: 1 s have passed" in short.stdout
    assert run(1000).returncode == 1


def test_a_part_runs_nothing_that_is_not_slow(root):
    found = []
    for part in ("1/2", "2/2"):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
        command += [f"--slow-part={part}", "tests/slow", "tests/rules"]
        child = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        found.append({line.split(": ")[0] for line in child.stdout.splitlines() if ".py: " in line})
    assert found[0] | found[1] == {f"tests/slow/{path.name}" for path in root.glob("tests/slow/test_*.py")}
