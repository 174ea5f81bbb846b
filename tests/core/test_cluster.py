"""Tasks done by processes of a Dask cluster: what comes back, whoever is killed meanwhile."""

from __future__ import annotations

import argparse
import asyncio
import builtins
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from decoder.cli import main as decoder
from monolingual.tsg.sampler import tsg_kernel
from monolingual.tsg.settings import TsgSettings
from scfg_sampler.cli import main
from scfg_sampler.core.elsewhere import add_elsewhere, elsewhere
from scfg_sampler.core.executors import InProcess
from scfg_sampler.errors import ClusterError, SettingsError
from tests.learner.test_commands import sample, write_corpus
from tests.learner.test_shards import (
    assert_same_state,
    chain_with,
    checkpoint,
    some_pairs,
    state_of,
)
from tests.learner.test_stopped_chains import SLOWLY, wait_for
from tests.learner.test_stopped_runs import results
from tests.monolingual.tsg.test_shards import treebank_of

pytest.importorskip("dask", reason="Dask is not installed: pip install 'scfg-sampler[cluster]'")
pytest.importorskip("distributed", reason="Dask is not installed: pip install 'scfg-sampler[cluster]'")

import distributed
import psutil

from scfg_sampler.core import cluster


def process_ids(workers) -> list[int]:
    return list(workers._client.run(os.getpid).values())


def _add(numbers, more):
    return numbers.sum() + more


def _complain(text):
    raise SettingsError(text)


def test_what_is_shared_reaches_every_task(workers):
    shared = workers.share(np.arange(1000))
    tasks = [workers.submit(_add, shared, more) for more in range(5)]
    assert [task.result() for task in tasks] == [499_500 + more for more in range(5)]
    assert "2 workers" in workers.status()
    assert workers.moved >= 8000


def test_errors_of_tasks_are_raised_here(workers):
    with pytest.raises(SettingsError, match="as it is"):
        workers.submit(_complain, "as it is").result()


@pytest.mark.parametrize("name", ["estimated", "exact"])
def test_workers_make_the_same_states(workers, name):
    chain = chain_with(name, shards=3)
    here = state_of(chain, InProcess())  # First, so that what is compiled is compiled once.
    assert_same_state(state_of(chain, workers), here)


class Killing(InProcess):
    """Kills a worker when the last shard of the second sweep has been handed out."""

    def __init__(self, executor, shards: int):
        self._executor, self._left = executor, 2 * shards
        self.share, self.status = executor.share, executor.status

    def submit(self, function, /, *arguments):
        task = self._executor.submit(function, *arguments)
        self._left -= 1
        if self._left == 0:
            os.kill(process_ids(self._executor)[0], signal.SIGKILL)
        return task


def test_a_worker_that_is_killed_in_a_sweep_changes_nothing(workers):
    chain = chain_with("exact", shards=4)
    before, here = set(process_ids(workers)), state_of(chain, InProcess())
    assert_same_state(state_of(chain, Killing(workers, 4)), here)
    assert set(process_ids(workers)) != before


MORE = ["--iterations", "12", "--burn-in", "4", "--marginals", "--checkpoint-every", "2", "--shards", "3"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A corpus, and a run of it that one process made."""
    place = tmp_path_factory.mktemp("whole")
    options = write_corpus(place, some_pairs())
    assert sample(options, place / "run", *MORE) == 0
    return options, place / "run"


def test_runs_on_a_cluster_are_those_of_one_process(scheduler, whole, tmp_path):
    options, directory = whole
    assert sample(options, tmp_path / "run", *MORE, "--check", *scheduler) == 0
    assert results(tmp_path / "run") == results(directory)
    assert checkpoint(tmp_path / "run") == checkpoint(directory)


def test_workers_run_several_chains_at_a_time(scheduler, whole, tmp_path):
    """Each of one shard: exact, and the bytes of one process."""
    options, _ = whole
    more = ["--iterations", "5", "--burn-in", "2", "--chains", "3"]
    assert sample(options, tmp_path / "here", *more) == 0
    assert sample(options, tmp_path / "there", *more, *scheduler) == 0
    assert results(tmp_path / "there") == results(tmp_path / "here")


def test_workers_extract_as_one_process_does(scheduler, whole, tmp_path):
    options, _ = whole
    for name, where in (("here", []), ("there", scheduler)):
        assert main(["extract", *options, "--output", f"{tmp_path}/{name}", "--quiet", *where]) == 0
    assert (tmp_path / "there").read_bytes() == (tmp_path / "here").read_bytes()


def test_a_client_that_is_killed_goes_on_to_the_same_end(scheduler, whole, tmp_path):
    options, directory = whole
    trace = tmp_path / "run" / "trace.tsv"
    command = ["sample", *options, "--output", str(tmp_path / "run"), *MORE, *scheduler]
    child = subprocess.Popen([sys.executable, "-c", SLOWLY, *command], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: trace.exists() and trace.read_text().count("\n") > 3)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert main(["resume", str(tmp_path / "run"), "--quiet", *scheduler]) == 0
    assert results(tmp_path / "run") == results(directory)
    assert checkpoint(tmp_path / "run") == checkpoint(directory)


def test_workers_of_other_versions_are_refused(workers, monkeypatch):
    monkeypatch.setattr(cluster, "__version__", "0.0")
    with pytest.raises(ClusterError, match=r"the worker at .* other versions: scfg-sampler .* there, 0\.0"):
        workers.prepare()


def test_workers_of_other_sources_are_refused_also_when_they_join_later(workers, monkeypatch):
    installed = cluster._installed()
    said = r"the worker at .* has other versions: sources \w{12} there, abc here"
    monkeypatch.setattr(cluster, "_installed", lambda: {**installed, "sources": "abc"})
    with pytest.raises(ClusterError, match=said):
        workers.prepare()
    with pytest.raises(ClusterError, match=said):
        workers.submit(len, [1]).result()
    monkeypatch.undo()
    assert workers.submit(len, [1]).result() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "--workers is 0; it must be from 1 to 65536"),
        (["--workers", "2", "--scheduler", "tcp://h:1"], "leave one of them out"),
        (["--scheduler", "nowhere"], r"--scheduler nowhere cannot be reached \(there is no such file"),
        (["--scheduler", ""], "it is empty"),
        (["--scheduler", "/no/such/place/s.json"], "there is no such file"),
        (["--scheduler", "tcp://h:port"], "cannot be reached"),
    ],
)
def test_clusters_that_cannot_be_are_one_line(monkeypatch, options, message):
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 0.1)
    with pytest.raises(SettingsError, match=message), elsewhere(parsed(options)):
        pass


@pytest.mark.parametrize("command", ["translate", "tune"])
def test_workers_that_cannot_be_are_refused_before_anything_is_read(command, tmp_path, capsys):
    (tmp_path / "text").write_text("u\n")
    text, missing = f"{tmp_path}/text", f"{tmp_path}/missing"
    files = ["--input", text, "--weights", missing]
    if command == "tune":
        files = ["--source", text, "--references", text, "--output", missing]
    where = ["--grammar", missing, "--lm", missing, "--workers", "0"]
    assert decoder([command, *files, *where]) == 2
    assert "--workers is 0; it must be from 1 to 65536" in capsys.readouterr().err


@pytest.mark.parametrize("text", [b'{"id": 1}', b"[1]", b'{"address": 5}', b"", b"no JSON", b"\x9f\x8b\x00"])
def test_files_of_no_scheduler_are_one_line(tmp_path, text):
    (tmp_path / "s.json").write_bytes(text)
    with pytest.raises(SettingsError) as raised, elsewhere(parsed(["--scheduler", f"{tmp_path}/s.json"])):
        pass
    assert "s.json cannot be reached (that file names no address); it must be tcp://" in str(raised.value)


def test_the_file_of_a_scheduler_that_has_just_been_started_is_waited_for(workers, tmp_path, capsys):
    """As in a job that starts one in the background: first nothing is there, then half of the file."""
    path, text = tmp_path / "s.json", json.dumps({"address": workers._client.scheduler.address})
    pieces = iter([text[:9], text])

    def write() -> None:
        for piece in pieces:
            time.sleep(0.3)
            path.write_text(piece)

    writer = threading.Thread(target=write)
    writer.start()
    with elsewhere(parsed(["--scheduler", str(path)])) as executor:
        assert executor.submit(len, [1]).result() == 1
    writer.join()
    assert capsys.readouterr().err == f"waiting for {path}\n"


def test_schedulers_are_found_where_a_loop_runs_already(workers):
    async def notebook():
        return cluster._connected(distributed, address)

    address = workers._client.scheduler.address
    with ThreadPoolExecutor(1) as threads:  # As tests in the browser leave a loop in this one.
        client = threads.submit(asyncio.run, notebook()).result()
    assert client.scheduler.address == address
    client.close()


def test_what_listens_but_is_no_scheduler_is_one_line(workers, monkeypatch):
    """A web page, which Dask would wait for without end; and a worker, whose address looks the same."""
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        there = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(SettingsError, match=r"what listens there is no scheduler of Dask\); it must be"):
            cluster._connected(distributed, there)
    address = next(iter(workers._client.nthreads()))
    with pytest.raises(SettingsError, match=r"a worker of Dask and not its scheduler\); it must be"):
        cluster._connected(distributed, address)


def test_without_dask_one_line_names_the_extra(monkeypatch):
    def without_dask(name, *more):
        if name.split(".")[0] in ("dask", "distributed"):
            raise ImportError(name)
        return original(name, *more)

    original = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", without_dask)
    with pytest.raises(SettingsError) as raised, elsewhere(parsed(["--workers", "2"])):
        pass
    assert "install it with 'pip install scfg-sampler[cluster]'" in str(raised.value)


def test_a_process_that_ends_before_it_works_is_one_line(monkeypatch):
    """Dask begins one anew that is killed while it works, but none that is killed while it begins."""
    monkeypatch.setenv("PYTHONHOME", os.devnull)  # Python does not begin there.
    told = r"--workers 1: a process has ended before it could work \(.*\)\. Start again"
    with pytest.raises(ClusterError, match=told), elsewhere(parsed(["--workers", "1"])):
        pass


STARTS = """
import sys
import time
from scfg_sampler.core import cluster, console

def command(arguments):
    with cluster.dask_executor(2, None):
        print("started", flush=True)
        time.sleep(60)

sys.exit(console.run("program", command))
"""


@pytest.mark.parametrize(
    ("number", "seconds", "said"),
    [
        (signal.SIGINT, 0.0, "interrupted"),
        (signal.SIGINT, 0.6, "interrupted"),
        (signal.SIGTERM, 0.2, "terminated"),
        (signal.SIGHUP, 0.0, "terminated"),
    ],
)
def test_processes_that_are_being_started_end_in_one_line(number, seconds, said):
    """The signal goes to all of them, as that of a terminal does; some have just started by then."""
    child = subprocess.Popen(
        [sys.executable, "-c", STARTS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGHUP)],
    )
    program = psutil.Process(child.pid)
    started = []

    def are_started():
        nonlocal started
        started = [each for each in program.children() if "spawn_main" in " ".join(each.cmdline())]
        return len(started) == 2

    wait_for(are_started)
    time.sleep(seconds)
    os.killpg(child.pid, number)
    out, error = child.communicate(timeout=60)
    assert (out in ("", "started\n"), error) == (True, f"program: {said}\n")
    assert child.returncode == 128 + number
    assert psutil.wait_procs(started, timeout=60)[1] == []


def is_there(process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE  # In a container nobody may ask how it ended.
    except psutil.NoSuchProcess:
        return False


def test_processes_of_a_killed_command_end():
    """Nobody is left to tell them, be they at work."""
    begin = "as workers:\n        tasks = [workers.submit(busy) for _ in range(2)]"
    program = STARTS.replace("2, None):", f"2, None) {begin}")
    program = program.replace("def command", "def busy():\n    while True: pass\n\ndef command")
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "started\n"
    started = psutil.Process(child.pid).children(recursive=True)
    wait_for(lambda: sum(each.cpu_percent(0.2) > 10 for each in started) == 2)
    child.kill()
    child.communicate()
    wait_for(lambda: not any(map(is_there, started)))


def parsed(options: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_elsewhere(parser)
    return parser.parse_args(options)


def test_a_cluster_that_is_lost_is_one_line(whole, tmp_path):
    """The scheduler of a cluster of its own is gone when the second sweep begins."""
    options, _ = whole
    place = str(tmp_path / "scheduler.json")
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    others = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--nthreads", "1"]
    started = [subprocess.Popen([*command, "--scheduler-file", place], stderr=subprocess.DEVNULL)]
    try:
        wait_for(lambda: os.path.exists(place))
        started.append(
            subprocess.Popen([*others, "--no-nanny", "--scheduler-file", place], stderr=subprocess.DEVNULL)
        )
        trace = tmp_path / "run" / "trace.tsv"
        command = ["sample", *options, "--output", str(tmp_path / "run"), *MORE, "--scheduler", place]
        soon = "from scfg_sampler.core import cluster\ncluster._SECONDS_TO_CONNECT = 5\n"
        program = [sys.executable, "-c", soon + SLOWLY]
        child = subprocess.Popen([*program, *command], stderr=subprocess.PIPE, text=True)
        started.append(child)
        wait_for(lambda: trace.exists() and trace.read_text().count("\n") > 2)
        started[0].kill()
        _, said = child.communicate(timeout=60)
    finally:
        for each in started:
            each.kill()
            each.wait()
    assert child.returncode == 2
    # On a machine that is busy a sweep lasts so long that progress is told of.
    told = ("waiting for a worker", "sampling: ")
    lines = [line for line in said.splitlines() if not line.startswith(told)]
    assert len(lines) == 1
    assert "the cluster has been lost" in lines[0]


@pytest.fixture(scope="module")
def bundled(root, tmp_path_factory):
    """Options for 3,000 pairs, and a run of them that one process made."""
    text = f"{root}/data/novish-en/train."
    options = ["--source", f"{text}novish.gz", "--target", f"{text}en.gz"]
    options += ["--alignment", f"{text}novish-en.gold.gz"]
    directory = tmp_path_factory.mktemp("bundled") / "run"
    assert sample(options, directory, *LONG) == 0
    return options, directory


LONG = ["--iterations", "30", "--burn-in", "10", "--checkpoint-every", "5", "--shards", "4"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 4])
def test_workers_killed_three_times_at_random_moments_change_no_byte(bundled, tmp_path, number):
    """However many there are; what the shards have changed is counted anew after every sweep."""
    options, directory = bundled
    rng, killed = np.random.default_rng(number), list[int]()
    trace = tmp_path / "run" / "trace.tsv"
    with cluster.dask_executor(number, None) as executor:

        def kill() -> None:
            for after in sorted(rng.integers(1, 20, 3).tolist()):
                wait_for(lambda after=after: trace.exists() and trace.read_text().count("\n") > after)
                time.sleep(rng.uniform(0, 0.1))
                nannies = executor._client.cluster.workers.values()
                wait_for(lambda nannies=nannies: any(map(_is_new, nannies)))
                chosen = rng.permutation([each.pid for each in nannies if _is_new(each)])[0]
                os.kill(chosen, signal.SIGKILL)
                killed.append(chosen)

        def _is_new(nanny) -> bool:
            return nanny.pid is not None and nanny.pid not in killed

        killer = threading.Thread(target=kill)
        killer.start()
        there = ["--scheduler", executor._client.scheduler.address]
        assert sample(options, tmp_path / "run", *LONG, "--check", *there) == 0
        killer.join()
    assert len(killed) == 3
    assert results(tmp_path / "run") == results(directory)
    assert checkpoint(tmp_path / "run") == checkpoint(directory)


@pytest.mark.slow
def test_sweeps_over_treebanks_are_those_of_one_process(workers):
    treebank = treebank_of(np.random.default_rng(3))
    settings = TsgSettings(shards=3, moves=("single", "block"), discount=0.4)
    found = []
    for executor in (None, workers):
        kernel, rng = tsg_kernel(treebank, settings, executor), np.random.default_rng(5)
        state = kernel.init(rng, None)
        for _ in range(3):
            state, info = kernel.step(rng, state)
        found.append((state, info))
    (state, info), (other, same_info) = found
    assert info == same_info
    assert np.array_equal(state.trees, other.trees)
    assert all(np.array_equal(a, b) for a, b in zip(state.restaurants, other.restaurants, strict=True))


def test_signals_wait_while_processes_are_ended(monkeypatch):
    leave, closed = distributed.LocalCluster.__exit__, []

    def interrupted(self, *why):
        os.kill(os.getpid(), signal.SIGINT)
        leave(self, *why)
        closed.append(self.status.name)

    monkeypatch.setattr(distributed.LocalCluster, "__exit__", interrupted)
    with pytest.raises(KeyboardInterrupt), cluster.dask_executor(1, None):
        pass
    assert closed == ["closed"]
