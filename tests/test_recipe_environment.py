"""How recipes install: by whose pip, and what they do where that fails; stand-ins note what is called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.recipe_calls import RECIPES

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

# An interpreter whose modules are shell: it writes its arguments down; whether it then fails, files say.
STAND_IN = """#!/usr/bin/env bash
name={name} here={here}
[ "$1" != -c ] || exec {python} "$@"
echo "$name $*" >>"$here/calls"
case "$*" in
    *" --version") [ -f "$here/$name.has-pip" ] ;;
    "-m ensurepip") [ ! -f "$here/no-ensurepip" ] && touch "$here/inside.has-pip" ;;
    *" install "*) [ ! -f "$here/$name.fails" ] || {{ echo "no index" && exit 1; }} ;;
esac
"""


@pytest.fixture
def prepare(tmp_path):
    """`prepare_python` where these files are, in an environment and beside a Python that are stand-ins."""
    environment, outside = tmp_path / "environment", tmp_path / "outside"
    for name, file in (("inside", environment / "bin" / "python"), ("outside", outside / "python3")):
        file.parent.mkdir(parents=True)
        file.write_text(STAND_IN.format(name=name, here=tmp_path, python=sys.executable))
        file.chmod(0o755)

    def call(*files, extras=""):
        for name in files:
            (tmp_path / name).touch()
        child = subprocess.run(
            [
                "bash",
                "-c",
                f"set -euo pipefail; . '{RECIPES}/common.sh'; PYTHONS=(python3); prepare_python {extras}",
            ],
            env={
                **os.environ,
                "VIRTUAL_ENV": str(environment),
                "PATH": f"{outside}:{os.environ['PATH']}",
                "SCFG_PYTHON": "",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        calls = (tmp_path / "calls").read_text().splitlines()
        return child, [line for line in calls if {"install", "ensurepip"} & set(line.split())]

    call.stamp = environment / ".scfg-sampler-installed"
    return call


def modules(calls):
    """Whose module was asked for what: `inside pip`, `outside pip`, `inside ensurepip`."""
    return [f"{line.split()[0]} {line.split()[2]}" for line in calls]


def test_pip_of_the_environment_is_preferred(prepare):
    child, calls = prepare("inside.has-pip", "outside.has-pip", extras="pages")
    assert child.returncode == 0, child.stderr
    assert modules(calls) == ["inside pip"]
    assert calls[0].endswith(" --editable .[pages]")
    assert prepare.stamp.exists()


def test_pip_from_outside_brings_pip_along(prepare):
    child, calls = prepare("outside.has-pip")
    assert child.returncode == 0, child.stderr
    assert modules(calls) == ["outside pip"]
    *_, pip, editable, project = calls[0].split()
    assert "/pip-" in pip or pip == "pip"
    assert (editable, project) == ("--editable", ".")
    assert prepare.stamp.exists()


def test_ensurepip_where_no_pip_can_install_elsewhere(prepare):
    child, calls = prepare()
    assert child.returncode == 0, child.stderr
    assert modules(calls) == ["inside ensurepip", "inside pip"]


def test_ensurepip_where_the_pip_from_outside_fails(prepare):
    child, calls = prepare("outside.has-pip", "outside.fails")
    assert child.returncode == 0, child.stderr
    assert modules(calls) == ["outside pip", "inside ensurepip", "inside pip"]


def test_failures_are_told_and_tried_again_the_next_time(prepare):
    child, calls = prepare("outside.has-pip", "outside.fails", "inside.fails")
    assert child.returncode == 2
    assert "no index" in child.stderr
    assert "installation failed; the whole log is" in child.stderr
    assert modules(calls)[-1] == "inside pip"
    assert not prepare.stamp.exists()


def test_environment_without_any_pip_is_told(prepare):
    child, _ = prepare("no-ensurepip")
    assert child.returncode == 2
    assert (
        "has no pip; remove it, or install pip into it; on Debian and Ubuntu: apt install python3-venv"
        in child.stderr
    )


def test_wheel_of_pip_that_comes_with_python_is_found():
    pytest.importorskip("ensurepip")
    script = f". '{RECIPES}/common.sh'; '{sys.executable}' -c \"$BUNDLED_PIP\""
    child = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert os.path.isfile(child.stdout.strip())
