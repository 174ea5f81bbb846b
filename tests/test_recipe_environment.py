"""How recipes install: by whose pip, and what they do where that fails; stand-ins note what is called."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

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
    *" install "*)
        trap 'trap - INT; kill -INT $$' INT # bash goes on where what it waits for has just ended by itself.
        while [ -f "$here/is-slow" ]; do sleep 0.05; done
        [ ! -f "$here/$name.fails" ] || {{ echo "no index" && exit 1; }}
        ;;
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
        child = begin(extras)
        _, errors = child.communicate()
        return subprocess.CompletedProcess("", child.returncode, "", errors), calls()

    def begin(extras=""):
        return subprocess.Popen(
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
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def calls():
        lines = (tmp_path / "calls").read_text().splitlines() if (tmp_path / "calls").exists() else []
        return [line for line in lines if {"install", "ensurepip"} & set(line.split())]

    call.begin, call.calls, call.place = begin, calls, tmp_path
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


@pytest.fixture
def first(prepare):
    """A recipe that is installing, until `is-slow` is removed."""
    for name in ("inside.has-pip", "is-slow"):
        (prepare.place / name).touch()
    child = prepare.begin()
    while not prepare.calls():
        assert child.poll() is None
        time.sleep(0.02)
    yield child
    (prepare.place / "is-slow").unlink(missing_ok=True)
    child.communicate()


WAITING = "waiting for another recipe, which installs into "


def test_a_second_recipe_waits_for_the_first_to_install(prepare, first):
    second = prepare.begin()
    assert WAITING in second.stderr.readline()
    assert len(prepare.calls()) == 1
    (prepare.place / "is-slow").unlink()
    assert second.communicate()[1] == ""
    assert (first.wait(), second.returncode, len(prepare.calls())) == (0, 0, 1)


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_recipe_that_is_stopped_while_it_installs_is_not_waited_for(prepare, first, way):
    second = prepare.begin()
    assert WAITING in second.stderr.readline()
    os.killpg(first.pid, way)
    assert "installing the project" in second.stderr.readline()
    (prepare.place / "is-slow").unlink()
    assert second.wait() == 0
    assert len(prepare.calls()) == 2


def test_a_recipe_that_waits_can_be_stopped(prepare, first):
    second = prepare.begin()
    assert WAITING in second.stderr.readline()
    os.killpg(second.pid, signal.SIGINT)
    assert second.communicate()[1] == ""
    assert second.returncode in (130, -signal.SIGINT)


def test_where_the_first_fails_the_second_tries(prepare, first):
    second = prepare.begin()
    assert WAITING in second.stderr.readline()
    (prepare.place / "inside.fails").touch()
    (prepare.place / "is-slow").unlink()
    assert (first.wait(), second.wait(), len(prepare.calls())) == (2, 2, 2)


def test_wheel_of_pip_that_comes_with_python_is_found():
    pytest.importorskip("ensurepip")
    script = f". '{RECIPES}/common.sh'; '{sys.executable}' -c \"$BUNDLED_PIP\""
    child = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert os.path.isfile(child.stdout.strip())
