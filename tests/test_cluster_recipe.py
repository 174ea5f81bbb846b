"""The recipe that starts a cluster on this machine: it stops it again, and gets what one process gets."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.recipe_calls import ALIGNMENTS_TO_BLEU, RECIPES, ROOT, run, small_data

CLUSTER = RECIPES / "cluster-local.sh"
SMALL = ["--iterations", "6", "--rounds", "1", "--beam", "10", "--nbest", "10"]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture
def python(tmp_path):
    """The interpreter, without the installation that recipes make; in it, Dask."""
    for name in ("dask", "distributed", "sacrebleu"):
        pytest.importorskip(name)
    return {"SCFG_PYTHON": sys.executable}


@pytest.fixture
def data(tmp_path) -> Path:
    """Some of the bundled corpus."""
    place = tmp_path / "data"
    place.mkdir()
    names = [f"{part}.{end}" for part in ("train", "dev", "test") for end in ("novish", "en")]
    names.append("train.novish-en.gold")
    for name in names:
        with gzip.open(ROOT / "data" / "novish-en" / f"{name}.gz", "rt") as lines:
            (place / name).write_text("".join(line for line, _ in zip(lines, range(200), strict=False)))
    return place


def processes(word: str) -> list[str]:
    """The command lines of this machine's processes that have a word in them."""
    lines = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return [line for line in lines if word in line]


needs_proc = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")


@pytest.mark.slow
@needs_proc
def test_a_cluster_gets_what_one_process_gets_and_is_stopped(python, data, tmp_path):
    there = run(
        CLUSTER, data, "novish", "en", "--output", tmp_path / "there", "--workers", "2", *SMALL, **python
    )
    assert there.returncode == 0, there.stderr
    more = ["--sampling", "--shards 4", "--baseline", "none", "--output", tmp_path / "here"]
    here = run(ALIGNMENTS_TO_BLEU, data, "novish", "en", *SMALL, *more, **python)
    assert here.returncode == 0, here.stderr
    for name in ("sampled.gz", "sampled.weights.json", "sampled.dev.txt", "sampled.test.txt"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes(), name
    assert "2 workers" in there.stderr
    assert processes(str(tmp_path)) == []
    assert not (tmp_path / "there" / "cluster" / "scheduler.json").exists()
    assert (tmp_path / "there" / "cluster" / "worker-2.log").exists()


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_recipe_that_is_stopped_stops_its_cluster(python, data, tmp_path, number):
    command = [
        "bash",
        str(CLUSTER),
        str(data),
        "novish",
        "en",
        "--output",
        str(tmp_path / "out"),
        "--workers",
        "1",
        "--iterations",
        "1000000",  # It is still at it when it is stopped, however fast the machine.
    ]
    child = subprocess.Popen(
        command, env={**os.environ, **python}, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        end = time.monotonic() + 120
        while not any("scfg_sampler sample" in line for line in processes(str(tmp_path / "out"))):
            assert time.monotonic() < end
            assert child.poll() is None
            time.sleep(0.1)
        assert any("dask_scheduler" in line for line in processes(str(tmp_path)))
        child.send_signal(number)
        assert child.wait(60) == 128 + number
        assert processes(str(tmp_path / "out")) == []
    finally:
        child.kill()
        child.wait()


def test_a_scheduler_that_does_not_start_is_one_line(tmp_path, python):
    broken = tmp_path / "python"
    broken.write_text(f'#!/usr/bin/env bash\n[ "$1" != -m ] || exit 1\nexec {sys.executable} "$@"\n')
    broken.chmod(0o755)
    data = small_data(tmp_path / "data")
    outcome = run(CLUSTER, data, "xx", "en", "--output", tmp_path / "out", SCFG_PYTHON=str(broken))
    assert outcome.returncode == 2
    assert "the scheduler has not started; see" in outcome.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("data", "xx"), "expected DATA_DIR SOURCE TARGET, or nothing"),
        (("--workers", "0"), "--workers is 0; at least 1 is needed"),
        (("--shards", "some"), "--shards is a whole number, not 'some'"),
    ],
)
def test_a_wrong_call_is_refused(arguments, complaint, tmp_path):
    outcome = run(CLUSTER, *arguments, directory=tmp_path)
    assert outcome.returncode == 2
    assert complaint in outcome.stderr
    assert list(tmp_path.iterdir()) == []
