"""The lists of faults keep up with the code, and a planted fault is found, or said to survive."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests import mutation
from tests.mutation import Fault, ListError, changed_files, main, plant, read_faults, run_faults

FAULTS = read_faults(sorted(mutation.LISTS.glob("*.txt")))


def test_every_fault_of_the_lists_can_be_planted(root):
    wrong = []
    for fault in FAULTS:
        try:
            ast.parse(plant((root / fault.path).read_text(encoding="utf-8"), fault))
        except (ListError, OSError) as error:
            wrong.append(str(error))
        except SyntaxError:
            wrong.append(f"{fault.where}: {fault.name} is no Python with the fault")
    assert wrong == []


def test_lists_are_long_and_over_all_packages(root):
    """Two new rooms may wait for their faults. None is there twice, nor are there tests that do not exist."""
    assert len(FAULTS) >= 150
    assert len({(fault.path, fault.block, fault.text, fault.replacement) for fault in FAULTS}) == len(FAULTS)
    rooms = {str(Path(fault.path).parent) for fault in FAULTS}
    folders = [
        path.parent for package in mutation.PACKAGES for path in (root / package).glob("*/__init__.py")
    ]
    expected = [str(folder.relative_to(root)) for folder in folders]
    without = [room for room in expected if not any(f"{each}/".startswith(f"{room}/") for each in rooms)]
    assert len(without) <= 2, without
    named = {test.partition("::")[0] for fault in FAULTS for test in fault.tests if test.startswith("tests/")}
    assert sorted(name for name in named if not (root / name).exists()) == []


def fault(text: str, replacement: str = "x", block: str = "") -> Fault:
    return Fault("list.txt:1", "m.py", 1, block, text, replacement, ("tests",), False, "")


SOURCE = """\
def first(
    a,
):
    return a + 1


def second(a):
    if a:
        return a + 1

    return a - 1
"""


def test_faults_are_planted_in_their_block():
    assert plant(SOURCE, fault("a - 1", "a - 2")) == SOURCE.replace("a - 1", "a - 2")
    first = plant(SOURCE, fault("a + 1", "a + 2", "def first("))
    assert first == SOURCE.replace("a + 1", "a + 2", 1)
    second = plant(SOURCE, fault("a + 1", "a + 2", "def second("))
    assert second == "a + 2".join(SOURCE.rsplit("a + 1", 1))


@pytest.mark.parametrize(
    ("planted", "complaint"),
    [
        (fault("a + 1"), r"list\.txt:1: 'a \+ 1' occurs 2 times in m\.py, not once"),
        (fault("a + 3"), "occurs 0 times in m.py"),
        (fault("a - 1", block="def first("), "occurs 0 times in the block"),
        (fault("a - 1", block="def third("), "0 lines of m.py begin with 'def third"),
        (fault("a - 1", "a - 1"), "the fault changes nothing"),
    ],
)
def test_faults_that_cannot_be_planted_are_named(planted, complaint):
    with pytest.raises(ListError, match=complaint):
        plant(SOURCE, planted)


def test_lists_are_read_in_their_order(tmp_path):
    (tmp_path / "a.txt").write_text(
        textwrap.dedent("""\
        # a comment

        == m.py
        tests: tests/test_m.py -k "one or two"
        - a
        + b
        = why not
        @ def f(
        -     c - 1
        +
        plain: tests/exact
        - d
        + e
        """)
    )
    first, second, third = read_faults([tmp_path / "a.txt"])
    assert first == Fault(
        "a.txt:6", "m.py", 1, "", "a", "b", ("tests/test_m.py", "-k", "one or two"), False, "why not"
    )
    assert second[2:6] == (2, "def f(", "    c - 1", "")
    assert third[6:] == (("tests/exact",), True, "")
    assert third.name == "m.py:3"


@pytest.mark.parametrize("text", ["- a\n- b\n", "+ b\n", "== m.py\n- a\n+ b\n", "why\n", "= why\n"])
def test_lines_that_do_not_belong_are_named(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ListError, match=r"a\.txt:\d: .* does not belong here"):
        read_faults([tmp_path / "a.txt"])


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A small tree with one module, a test that sees some of what it does, and a list of faults."""
    monkeypatch.setattr(mutation, "_memories", lambda: tmp_path / "memories")
    root = tmp_path / "project"
    (root / "tests" / "faults").mkdir(parents=True)
    (root / "m.py").write_text("def f(a):\n    b = a + 1\n    c = 0 * a\n    return b + c\n")
    (root / "tests" / "test_m.py").write_text("from m import f\n\n\ndef test_f():\n    assert f(1) == 2\n")
    (root / "tests" / "faults" / "m.txt").write_text(
        "== m.py\ntests: tests/test_m.py\n"
        "- a + 1\n+ a + 2\n"
        "- a + 1\n+ 2 * a\n"
        "- 0 * a\n+ 0\n= What is multiplied by 0 is 0.\n"
        "- b = a + 1\n+ while True: pass\n"
        "- b = a + 1\n+ b = a + 1 + len(bytes(1 << 34)) - (1 << 34)\n"
    )
    return root


@pytest.mark.slow
def test_faults_are_found_or_survive_or_hang_and_the_tree_stays(project):
    before = (project / "m.py").read_text()
    faults = read_faults([project / "tests" / "faults" / "m.txt"])
    results = [result for _, result, _ in run_faults(faults, project, time_limit=10.0)]
    assert results[:4] == ["found", "survived", "survived", mutation.ENDLESS]
    if sys.platform == "linux":  # Elsewhere memory cannot be limited so.
        assert results[4] == "found"
    assert (project / "m.py").read_text() == before
    assert not list(project.rglob("*.pyc"))


def test_tests_that_do_not_end_are_given_ten_times_as_long_as_without_the_fault(project, monkeypatch):
    """Where they take long without it, they are called again."""
    monkeypatch.setattr(mutation, "_SHORTEST_LIMITS", {True: 60.0, False: 2.0})
    limits, taken = [], {"fault": 2.5, "none": 0.4}

    def pytest_in(arguments, plain, copy, environment, time_limit):
        has_fault = "while True" in (copy / "m.py").read_text()
        limits.append(round(time_limit, 3))
        return mutation._Done(None if has_fault else 0, (), "", taken["fault" if has_fault else "none"])

    monkeypatch.setattr(mutation, "_pytest", pytest_in)
    endless = read_faults([project / "tests" / "faults" / "m.txt"])[3]
    results = [result for _, result, _ in run_faults([endless, endless], project)]
    assert results == ["found (did not end)"] * 2
    assert limits == [2.0, 600.0, 4.0, 4.0]
    limits.clear()
    taken["none"] = 0.1
    assert [result for _, result, _ in run_faults([endless], project)] == ["found (did not end)"]
    assert limits == [2.0, 600.0]


@pytest.mark.slow
def test_command_says_what_survives_and_tests_that_fail_without_a_fault(project, monkeypatch, capsys):
    monkeypatch.setattr(mutation, "ROOT", project)
    monkeypatch.setattr(mutation, "LISTS", project / "tests" / "faults")
    assert main(["m.py:1"]) == 0
    assert "1 faults: 1 found, 0 found (did not end), 0 survived, 0 explained" in capsys.readouterr().out
    assert main(["m.py:2", "m.py:3"]) == 1
    said = capsys.readouterr().out
    assert "m.txt:6: m.py:2 survived\n  - a + 1\n  + 2 * a\n" in said
    assert "0 found, 0 found (did not end), 1 survived, 1 explained" in said
    assert main(["n.py"]) == 2
    assert "n.py: there is no fault in it" in capsys.readouterr().err
    (project / "m.py").write_text("def f(a):\n    b = a + 1\n    c = 0 * a\n    return a\n")
    assert main(["m.py:1"]) == 2
    assert "untested" in capsys.readouterr().out


def test_explanation_of_a_fault_that_is_found_is_refused(project, monkeypatch, capsys):
    monkeypatch.setattr(mutation, "ROOT", project)
    monkeypatch.setattr(mutation, "LISTS", project / "tests" / "faults")
    (project / "tests" / "faults" / "m.txt").write_text(
        "== m.py\ntests: tests/test_m.py\n- a + 1\n+ a + 2\n= No reason.\n"
    )
    assert main([]) == 1
    assert "has a reason to survive, but was found" in capsys.readouterr().out


@pytest.mark.slow
def test_what_found_a_fault_comes_first_the_next_time(project):
    """The first test passes with the fault, and notes that it was run."""
    noted = project.parent / "noted"
    (project / "tests" / "test_m.py").write_text(
        "from pathlib import Path\nfrom m import f\n\n\ndef test_g():\n"
        f"    with open({str(noted)!r}, 'a') as out:\n        out.write(str(f(1)))\n\n\n"
        "def test_f():\n    assert f(1) == 2\n"
    )
    (fault,) = read_faults([project / "tests" / "faults" / "m.txt"])[:1]
    for _ in range(2):
        assert [result for _, result, _ in run_faults([fault], project)] == ["found"]
    assert noted.read_text() == "3"


def test_skipped_tests_are_told_of_a_fault_that_survives(project):
    (project / "tests" / "test_m.py").write_text(
        "import pytest\n\n\ndef test_f():\n    pytest.skip('needs the moon')\n"
    )
    (fault,) = read_faults([project / "tests" / "faults" / "m.txt"])[:1]
    ((_, result, _),) = run_faults([fault], project)
    assert result.startswith("survived\nSKIPPED [1] ")
    assert result.endswith("needs the moon")


def test_stopping_the_command_stops_its_tests_and_leaves_no_tree(project, root):
    scratch, noted = project.parent / "scratch", project.parent / "pid"
    scratch.mkdir()
    shutil.copy(root / "tests" / "mutation.py", project / "tests")
    (project / "tests" / "__init__.py").touch()
    (project / "tests" / "test_m.py").write_text(
        "import os\nfrom pathlib import Path\nfrom m import f\n\n\ndef test_f():\n"
        f"    Path({str(noted)!r}).write_text(f'{{os.getpid()}}\\n')\n    assert f(1) == 2\n"
    )
    command = subprocess.Popen(
        [sys.executable, "-m", "tests.mutation", "m.py:4"],
        cwd=project,
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "TMPDIR": str(scratch),
            "SCFG_SAMPLER_CACHE": str(project.parent / "cache"),
        },
    )
    try:
        wait_for(lambda: noted.exists() and noted.read_text().endswith("\n"))
        command.terminate()
        assert command.wait(60) == 128 + signal.SIGTERM
    finally:
        command.kill()
    assert list(scratch.iterdir()) == []
    wait_for(lambda: not Path(f"/proc/{noted.read_text().strip()}").exists())


def wait_for(happens, seconds=60.0):
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_changed_files_are_those_of_git_and_new_ones(project, monkeypatch, capsys):
    def git(*arguments):
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *name, *arguments], cwd=project, check=True, capture_output=True)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "Begin")
    assert changed_files(project, "HEAD") == set()
    monkeypatch.setattr(mutation, "ROOT", project)
    monkeypatch.setattr(mutation, "LISTS", project / "tests" / "faults")
    assert main(["--changed", "HEAD", "--list"]) == 0
    assert capsys.readouterr().out == ""
    (project / "m.py").write_text((project / "m.py").read_text() + "\n")
    (project / "new.py").write_text("")
    assert changed_files(project, "HEAD") == {"m.py", "new.py"}
    assert main(["--changed", "HEAD", "--list"]) == 0
    assert capsys.readouterr().out.count("m.py:") == 5
    with pytest.raises(ListError, match="--changed nowhere: "):
        changed_files(project, "nowhere")
