"""The driver of chains and its sinks."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
import time

import numpy as np
import pytest

from scfg_sampler.core.chains.chain import (
    Checkpointer,
    LogJointMismatch,
    TraceWriter,
    read_trace,
    run_chain,
)
from scfg_sampler.core.chains.checkpoint import load_checkpoint
from scfg_sampler.core.chains.kernel import Kernel, copy_state
from scfg_sampler.core.signals import Terminated
from scfg_sampler.errors import CheckpointMismatch, InputError
from tests.core.chains.toy_chain import TOY, ToyState, as_bytes, toy_state

COLUMNS = [
    ("log_joint", lambda sweep: sweep.info.log_joint),
    ("moved", lambda sweep: sweep.info.moved),
]


@pytest.fixture(autouse=True)
def terminal_heard():
    """What closing a terminal does, though these tests may be started by nohup, which has it ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def loop(chain, act):
    """A caller's loop over a chain."""
    for sweep in chain:
        act(sweep)


def test_chain_is_the_iteration_of_its_kernel():
    rng = np.random.default_rng(2)
    state, expected = toy_state(), []
    for _ in range(4):
        state, info = TOY.step(rng, state)
        expected.append((info, as_bytes(state)))
    found = [
        (sweep.info, as_bytes(sweep.state))
        for sweep in run_chain(TOY, toy_state(), np.random.default_rng(2), sweeps=4, check=True)
    ]
    assert found == expected


def test_sweeps_count_the_whole_chain(rng):
    assert [sweep.index for sweep in run_chain(TOY, toy_state(), rng, sweeps=5, first=3)] == [3, 4]
    assert list(run_chain(TOY, toy_state(), rng, sweeps=5, first=5)) == []


def test_caller_sees_a_sweep_after_all_sinks(rng):
    seen = []
    sinks = [lambda sweep: seen.append("a"), lambda sweep: seen.append("b")]
    for _ in run_chain(TOY, toy_state(), rng, sweeps=2, sinks=sinks):
        seen.append("caller")
    assert seen == ["a", "b", "caller"] * 2


def test_check_notices_a_wrong_log_joint(rng):
    def step(rng, state):
        state, info = TOY.step(rng, state)
        return state, info._replace(log_joint=info.log_joint * (1 + 1e-9))

    kernel = Kernel(TOY.init, step, TOY.log_joint)
    assert len(list(run_chain(kernel, toy_state(), rng, sweeps=2))) == 2
    with pytest.raises(LogJointMismatch, match=r"after sweep 0 .* reports log joint -.* a recount gives -"):
        list(run_chain(kernel, toy_state(), rng, sweeps=2, check=True))


def test_check_tolerates_rounding_and_notices_nan(rng):
    for factor, fails in ((1 + 1e-12, False), (np.nan, True)):

        def step(rng, state, factor=factor):
            state, info = TOY.step(rng, state)
            return state, info._replace(log_joint=info.log_joint * factor)

        chain = run_chain(Kernel(TOY.init, step, TOY.log_joint), toy_state(), rng, sweeps=2, check=True)
        with pytest.raises(LogJointMismatch) if fails else contextlib.nullcontext():
            list(chain)


def test_trace_reads_back_exactly(tmp_path, rng):
    path = tmp_path / "run" / "trace.tsv"
    infos = [
        sweep.info for sweep in run_chain(TOY, toy_state(), rng, sweeps=5, sinks=[TraceWriter(path, COLUMNS)])
    ]
    trace = read_trace(path)
    assert list(trace) == ["sweep", "log_joint", "moved"]
    assert trace["sweep"].tolist() == [0, 1, 2, 3, 4]
    assert trace["log_joint"].tolist() == [info.log_joint for info in infos]
    assert trace["moved"].tolist() == [info.moved for info in infos]


def test_every_row_of_a_trace_is_on_disk_at_once(tmp_path, rng):
    path = tmp_path / "trace.tsv"
    for sweep in run_chain(TOY, toy_state(), rng, sweeps=3, sinks=[TraceWriter(path, COLUMNS)]):
        assert read_trace(path)["sweep"].tolist() == list(range(sweep.index + 1))


def test_resumed_trace_equals_one_written_through(tmp_path):
    def trace(path, state, rng, sweeps, first=0):
        sink = TraceWriter(path, COLUMNS, first=first)
        *_, last = run_chain(TOY, state, rng, sweeps=sweeps, first=first, sinks=[sink])
        return last.state

    trace(tmp_path / "through.tsv", toy_state(), np.random.default_rng(9), 8)
    # The chain got to sweep 5 and a half, the checkpoint is from before sweep 3.
    path = tmp_path / "trace.tsv"
    rng = np.random.default_rng(9)
    state = trace(path, toy_state(), rng, 3)
    saved = rng.bit_generator.state
    trace(path, copy_state(state), rng, 6, first=3)
    with open(path, "a") as stream:
        stream.write("6\t-1.2")
    rng.bit_generator.state = saved
    trace(path, state, rng, 8, first=3)
    assert path.read_bytes() == (tmp_path / "through.tsv").read_bytes()


def test_unfinished_row_of_a_trace_is_not_read(tmp_path):
    path = tmp_path / "trace.tsv"
    path.write_text("sweep\tlog_joint\n0\t-123.5\n1\t-12")
    assert read_trace(path)["log_joint"].tolist() == [-123.5]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_trace_of_windows_or_packed_is_the_same(tmp_path, compress, end):
    lines = ["sweep\tlog_joint", "0\t-123.5", "1\t-12"]
    path = tmp_path / "trace.tsv"
    path.write_bytes(compress("".join(line + end for line in lines).encode()))
    assert read_trace(path)["log_joint"].tolist() == [-123.5, -12]
    path.write_bytes(compress(end.join(lines).encode()))
    assert read_trace(path)["log_joint"].tolist() == [-123.5]


def test_new_chain_replaces_an_old_trace(tmp_path, rng):
    path = tmp_path / "trace.tsv"
    path.write_text("sweep\tother\n0\t1\n")
    list(run_chain(TOY, toy_state(), rng, sweeps=1, sinks=[TraceWriter(path, COLUMNS)]))
    assert list(read_trace(path)) == ["sweep", "log_joint", "moved"]


def test_resuming_a_trace_with_other_columns_is_refused(tmp_path):
    path = tmp_path / "trace.tsv"
    path.write_text("sweep\tother\n0\t1\n")
    with pytest.raises(
        CheckpointMismatch,
        match=r"has the columns sweep, other; this chain writes sweep, log.*\. Move it away",
    ):
        TraceWriter(path, COLUMNS, first=1)
    assert path.read_text() == "sweep\tother\n0\t1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"trace\.tsv:1: no column 'sweep' in the first place. It is empty or cut: restore it, or"),
        ("sweep\tx", r"trace\.tsv:1: no column 'sweep' in the first place. It is empty or cut: restore"),
        ("a\tb\n", r"trace\.tsv:1: no column 'sweep' in the first place. Name the trace\.tsv of a run"),
        ("sweep\tx\n0\t1\n1\n", r"trace\.tsv:3: 1 column instead of 2. Leave out the line, or sample again"),
        (
            "sweep\tx\n0\tmany\n",
            r"trace\.tsv:2: 'many' in column x is not a number. Leave out the line, or sample again",
        ),
    ],
)
def test_bad_trace_is_an_input_error(tmp_path, text, message):
    path = tmp_path / "trace.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_trace(path)


def test_checkpoints_come_every_few_sweeps_and_at_the_end(tmp_path, rng):
    path = tmp_path / "c.npz"
    sink = Checkpointer(path, rng, every=3, settings={}, corpus={})
    done = []
    for _ in run_chain(TOY, toy_state(), rng, sweeps=7, sinks=[sink]):
        done.append(load_checkpoint(path, ToyState).sweep if path.exists() else 0)
    assert done == [0, 0, 3, 3, 3, 6, 6]
    assert load_checkpoint(path, ToyState).sweep == 7


def test_checkpoint_when_the_caller_stops_early(tmp_path, rng):
    path = tmp_path / "c.npz"
    chain = run_chain(
        TOY, toy_state(), rng, sweeps=9, sinks=[Checkpointer(path, rng, every=0, settings={}, corpus={})]
    )
    next(chain)
    sweep = next(chain)
    chain.close()
    loaded = load_checkpoint(path, ToyState)
    assert loaded.sweep == 2
    assert as_bytes(loaded.state) == as_bytes(sweep.state)


@pytest.mark.parametrize("culprit", ["step", "sink before", "sink behind"])
def test_failure_within_a_sweep_leaves_the_last_good_checkpoint(tmp_path, rng, culprit):
    def fail_at(moment, sweep):
        if moment == culprit and sweep == 4:
            raise ZeroDivisionError

    def step(rng, state):
        state, info = TOY.step(rng, state)
        fail_at("step", state.sweep - 1)
        return state, info

    path = tmp_path / "c.npz"
    sinks = [
        lambda sweep: fail_at("sink before", sweep.index),
        Checkpointer(path, rng, every=2, settings={}, corpus={}),
        lambda sweep: fail_at("sink behind", sweep.index),
    ]
    kernel = Kernel(TOY.init, step, TOY.log_joint)
    rng_at = []
    chain = run_chain(kernel, toy_state(), rng, sweeps=9, sinks=sinks)
    with pytest.raises(ZeroDivisionError):
        loop(chain, lambda sweep: rng_at.append(rng.bit_generator.state))
    loaded = load_checkpoint(path, ToyState)
    assert loaded.sweep == loaded.state.sweep == 4
    assert loaded.rng.bit_generator.state == rng_at[3]


def test_all_sinks_are_closed_even_if_one_fails(rng):
    closed = []

    class Sink:
        def __init__(self, name, fails=False):
            self.name, self.fails = name, fails

        def __call__(self, sweep):
            pass

        def close(self, consistent):
            closed.append((self.name, consistent))
            if self.fails:
                raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        list(run_chain(TOY, toy_state(), rng, sweeps=1, sinks=[Sink("a", fails=True), Sink("b")]))
    assert closed == [("a", True), ("b", True)]


SIGNALS = pytest.mark.parametrize(
    ("number", "error", "before"),
    [
        (signal.SIGINT, KeyboardInterrupt, signal.default_int_handler),
        (signal.SIGTERM, Terminated, signal.SIG_DFL),
        (signal.SIGHUP, Terminated, signal.SIG_DFL),
    ],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)


@SIGNALS
def test_interrupt_within_a_sweep_waits_for_its_end(tmp_path, rng, number, error, before):
    def step(rng, state):
        if state.sweep == 2:
            os.kill(os.getpid(), number)
            time.sleep(0.05)
        return TOY.step(rng, state)

    path = tmp_path / "c.npz"
    trace = TraceWriter(tmp_path / "t.tsv", COLUMNS)
    checkpoints = Checkpointer(path, rng, every=0, settings={}, corpus={})
    kernel = Kernel(TOY.init, step, TOY.log_joint)
    seen = []
    chain = run_chain(kernel, toy_state(), rng, sweeps=9, sinks=[trace, checkpoints])
    with pytest.raises(error):
        loop(chain, lambda sweep: seen.append(sweep.index))
    assert seen == [0, 1, 2]
    assert load_checkpoint(path, ToyState).sweep == 3
    assert read_trace(tmp_path / "t.tsv")["sweep"].tolist() == [0, 1, 2]
    assert signal.getsignal(number) is before


@SIGNALS
def test_interrupt_between_sweeps_is_not_lost(tmp_path, rng, number, error, before):
    path = tmp_path / "c.npz"
    sink = Checkpointer(path, rng, every=0, settings={}, corpus={})
    chain = run_chain(TOY, toy_state(), rng, sweeps=9, sinks=[sink])
    with pytest.raises(error):
        loop(chain, lambda sweep: os.kill(os.getpid(), number) if sweep.index == 1 else None)
    assert load_checkpoint(path, ToyState).sweep == 2
    assert signal.getsignal(number) is before


def test_signals_that_somebody_handles_are_left_alone(rng, monkeypatch):
    noted = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: noted.append(number))
    try:
        chain = run_chain(TOY, toy_state(), rng, sweeps=3)
        loop(chain, lambda sweep: os.kill(os.getpid(), signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert noted == [signal.SIGTERM] * 3


def test_chain_outside_the_main_thread_leaves_signals_alone(rng):
    done = []

    def work():
        for sweep in run_chain(TOY, toy_state(), rng, sweeps=2):
            done.append((sweep.index, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [(0, signal.default_int_handler), (1, signal.default_int_handler)]


COMMAND = """
import hashlib, sys
import numpy as np
from scfg_sampler.core.chains.chain import Checkpointer, run_chain
from scfg_sampler.core.console import run
from scfg_sampler.core.chains.kernel import Kernel
from tests.core.chains.toy_chain import TOY, toy_state

path, rounds = sys.argv[1], int(sys.argv[2])

def step(rng, state):
    print("sweep", flush=True)
    # Like a compiled kernel: one call without the interpreter lock, during which no handler runs.
    hashlib.pbkdf2_hmac("sha256", b"", b"", rounds)
    return TOY.step(rng, state)

def command(arguments):
    rng = np.random.default_rng(1)
    sink = Checkpointer(path, rng, every=0, settings={}, corpus={})
    for _ in run_chain(Kernel(TOY.init, step, TOY.log_joint), toy_state(), rng, sweeps=9, sinks=[sink]):
        pass

sys.exit(run("prog", command))
"""


SAID = {
    signal.SIGINT: "finishing this sweep; Ctrl-C again stops at once\n",
    signal.SIGTERM: "finishing this sweep\n",
    signal.SIGHUP: "finishing this sweep\n",
}


def start_command(root, path, rounds, number=signal.SIGINT):
    """A process in the middle of its first sweep, which has received one signal."""
    child = subprocess.Popen(
        [sys.executable, "-c", COMMAND, path, str(rounds)],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "sweep\n"
    child.send_signal(number)
    assert child.stderr.readline() == SAID[number]
    return child


@pytest.mark.parametrize(
    ("number", "status", "message"),
    [
        (signal.SIGINT, 130, "prog: interrupted\n"),
        (signal.SIGTERM, 143, "prog: terminated\n"),
        (signal.SIGHUP, 129, "prog: terminated\n"),
    ],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_interrupted_command_checkpoints_and_exits_with_its_status(root, tmp_path, number, status, message):
    path = tmp_path / "c.npz"
    child = start_command(root, path, 1_000_000, number)
    stdout, stderr = child.communicate(timeout=60)
    assert (child.returncode, stdout, stderr) == (status, "", message)
    assert load_checkpoint(path, ToyState).sweep == 1


def test_more_terminations_change_nothing(root, tmp_path):
    """`timeout` sends its signal to the process and to the group that it is in."""
    path = tmp_path / "c.npz"
    child = start_command(root, path, 1_000_000, signal.SIGTERM)
    for _ in range(3):
        child.send_signal(signal.SIGTERM)
        time.sleep(0.02)
    stdout, stderr = child.communicate(timeout=60)
    assert (child.returncode, stdout, stderr) == (143, "", "prog: terminated\n")
    assert load_checkpoint(path, ToyState).sweep == 1


def test_a_second_interruption_does_not_end_a_notebook(root, tmp_path):
    """Nor another session, which has prompts: it would lose all that it holds."""
    path = tmp_path / "c.npz"
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.ps1 = '>>> '" + COMMAND, path, "3000000"],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "sweep\n"
    child.send_signal(signal.SIGINT)
    assert child.stderr.readline() == "finishing this sweep\n"
    child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate(timeout=60)
    assert (child.returncode, stdout, stderr) == (130, "", "prog: interrupted\n")
    assert load_checkpoint(path, ToyState).sweep == 1


def test_a_closed_terminal_does_not_keep_a_command_from_saving(root, tmp_path):
    """Writing to it fails from then on, to standard output and standard error."""
    path = tmp_path / "c.npz"
    screen, terminal = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", COMMAND, path, "1000000"],
        cwd=root,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(terminal)
    assert os.read(screen, 5) == b"sweep"
    os.close(screen)
    assert child.wait(60) == 129
    assert load_checkpoint(path, ToyState).sweep == 1


def test_a_command_that_hears_nothing_of_its_terminal_goes_on(root, tmp_path):
    """As nohup starts it."""
    path = tmp_path / "c.npz"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        child = subprocess.Popen([sys.executable, "-c", COMMAND, path, "1"], cwd=root, stdout=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert child.stdout.read(5) == b"sweep"
    child.send_signal(signal.SIGHUP)
    child.communicate(timeout=60)
    assert child.returncode == 0
    assert load_checkpoint(path, ToyState).sweep == 9


def test_termination_is_heard_where_interrupts_are_ignored(root, tmp_path):
    """As in a job in the background of a script."""
    path = tmp_path / "c.npz"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = start_command(root, path, 1_000_000, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 143
    assert load_checkpoint(path, ToyState).sweep == 1


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_second_interrupt_ends_a_command_within_its_sweep(root, tmp_path, first):
    # The sweep takes minutes; waiting for its end would run into the time-out.
    child = start_command(root, tmp_path / "c.npz", 1_000_000_000, first)
    if first == signal.SIGTERM:
        child.send_signal(signal.SIGINT)
        assert child.stderr.readline() == SAID[signal.SIGINT]
    child.send_signal(signal.SIGINT)
    stdout, stderr = child.communicate(timeout=20)
    assert (child.returncode, stdout, stderr) == (130, "", "")
    assert list(tmp_path.iterdir()) == []
