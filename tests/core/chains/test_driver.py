"""The driver: a chain that is stopped anywhere, and goes on, is the chain that never stopped."""

from __future__ import annotations

import json
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest

from scfg_sampler.core.chains import chain as chain_module
from scfg_sampler.core.chains import checkpoint
from scfg_sampler.core.chains.chain import Checkpointer, Sweep, read_trace
from scfg_sampler.core.chains.checkpoint import load_checkpoint
from scfg_sampler.core.chains.driver import ChainPlan, Stopwatch, begin_or_restore, drive, restore
from scfg_sampler.core.chains.kernel import Kernel
from scfg_sampler.errors import CheckpointMismatch, InputError


class State(NamedTuple):
    walk: np.ndarray


class Info(NamedTuple):
    log_joint: float


class Stored(NamedTuple):
    state: State
    seen: int


def init(rng, start):
    return State(np.array([float(start or 0.0)]))


def step(rng, state):
    state.walk[0] += rng.standard_normal()
    return state, Info(-0.5 * float(state.walk[0] ** 2))


class Counting:
    """A sink with something to lose."""

    def __init__(self):
        self.seen = 0

    def __call__(self, sweep: Sweep) -> None:
        self.seen += 1


def plan_in(place, counting, **more):
    def unpack(stored):
        counting.seen = stored.seen
        return stored.state

    options = {
        "trace": place / "trace.tsv",
        "columns": [("log_joint", lambda sweep: sweep.info.log_joint), ("seen", lambda sweep: counting.seen)],
        "sinks": [counting],
        "pack": lambda state: Stored(state, counting.seen),
        "unpack": unpack,
        "checkpoint_every": 0,
    }
    kernel = Kernel(init, step, lambda state: -0.5 * float(state.walk[0] ** 2))
    place.mkdir(exist_ok=True)
    return ChainPlan(kernel, place / "checkpoint.npz", Stored, {"seed": 5}, **{**options, **more})


def go(place, sweeps, **more):
    """Drive a chain of a fresh plan, as a new process would."""
    plan = plan_in(place, Counting(), **more)
    return drive(plan, begin_or_restore(plan, lambda: np.random.default_rng(5), 2.0), sweeps=sweeps)


def test_resuming_equals_running_through(tmp_path):
    through = go(tmp_path / "through", 10)
    for sweeps in (0, 1, 4, 4, 10):
        state = go(tmp_path / "pieces", sweeps)
    assert np.array_equal(state.walk, through.walk)
    assert (tmp_path / "pieces/trace.tsv").read_text() == (tmp_path / "through/trace.tsv").read_text()
    assert read_trace(tmp_path / "pieces/trace.tsv")["seen"].tolist() == list(range(1, 11))


def test_the_time_of_all_processes_is_kept(tmp_path):
    """Whoever looked at a run that was resumed read how long its last part took."""
    for sweeps in (2, 3):
        watch = Stopwatch()
        plan = plan_in(tmp_path, Counting(), clock=watch)
        place = begin_or_restore(plan, lambda: np.random.default_rng(5), 2.0)
        seconds, cpu_seconds = watch.spent
        assert (seconds >= 100.0, cpu_seconds >= 50.0) == (place.sweep > 0, place.sweep > 0)
        watch.go_back_to(seconds + 100.0, cpu_seconds + 50.0)
        drive(plan, place, sweeps=sweeps)
        assert watch.seconds > seconds + 100.0
    assert plan_in(tmp_path, Counting()).clock is None
    assert 200.0 < load_checkpoint(plan.checkpoint, Stored).spent[0] <= watch.seconds
    assert 100.0 < load_checkpoint(plan.checkpoint, Stored).spent[1] <= watch.cpu_seconds


def test_a_checkpoint_of_a_version_that_kept_no_time_is_gone_on_with(tmp_path):
    plan = plan_in(tmp_path, Counting(), clock=Stopwatch())
    drive(plan, begin_or_restore(plan, lambda: np.random.default_rng(5), 2.0), sweeps=2)
    _with_header(plan.checkpoint, lambda header: {k: v for k, v in header.items() if k != "spent"})
    old = plan_in(tmp_path, Counting(), clock=Stopwatch())
    assert restore(old).sweep == 2
    assert old.clock.spent == (0.0, 0.0)


@pytest.mark.parametrize("spent", [None, 1.0, [1.0], [1.0, "long"], {"seconds": 1.0}])
def test_times_that_are_none_are_refused(spent, tmp_path):
    plan = plan_in(tmp_path, Counting(), clock=Stopwatch())
    drive(plan, begin_or_restore(plan, lambda: np.random.default_rng(5), 2.0), sweeps=2)
    _with_header(plan.checkpoint, lambda header: header | {"spent": spent})
    with pytest.raises(InputError, match="checkpoint"):
        restore(plan)


def _with_header(path, changed):
    """Change the header of a checkpoint, with a digest that is right."""
    with np.load(path) as stored:
        arrays = dict(stored)
    header = changed(json.loads(str(arrays.pop("header"))))
    del header["digest"]
    again = {**header, "digest": checkpoint._digest(header, arrays)}
    np.savez(path, header=np.array(json.dumps(again)), **arrays)


def test_there_is_a_checkpoint_before_the_first_sweep(tmp_path):
    def fail(rng, state):
        raise ValueError("a fault")

    plan = plan_in(tmp_path, Counting())
    broken = plan._replace(kernel=plan.kernel._replace(step=fail))
    with pytest.raises(ValueError, match="a fault"):
        drive(broken, begin_or_restore(broken, lambda: np.random.default_rng(5), 2.0), sweeps=3)
    place = restore(plan)
    assert (place.sweep, place.state.walk.tolist()) == (0, [2.0])


def test_an_interrupted_chain_has_a_checkpoint_of_its_last_sweep(tmp_path):
    plan = plan_in(tmp_path, Counting())

    def watch(sweep):
        if sweep.index == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive(plan, begin_or_restore(plan, lambda: np.random.default_rng(5)), sweeps=10, watch=watch)
    assert restore(plan).sweep == 4


def test_a_chain_may_be_done_before_its_last_sweep(tmp_path):
    plan = plan_in(tmp_path, Counting(), trace=None)

    def is_done(state):
        return abs(state.walk[0]) > 3.0

    start = begin_or_restore(plan, lambda: np.random.default_rng(5))
    state = drive(plan, start, sweeps=10_000, is_done=is_done)
    place = restore(plan)
    assert is_done(state)
    assert 0 < place.sweep < 10_000
    assert np.array_equal(drive(plan, place, sweeps=10_000, is_done=is_done).walk, state.walk)
    assert restore(plan).sweep == place.sweep


def test_other_settings_are_refused(tmp_path):
    go(tmp_path, 2)
    plan = plan_in(tmp_path, Counting())._replace(settings={"seed": 6})
    with pytest.raises(CheckpointMismatch, match="setting seed is 6 here and 5 there"):
        begin_or_restore(plan, lambda: np.random.default_rng(5))


def test_checkpoints_by_the_clock_take_a_twentieth_of_the_time_at_most(tmp_path, monkeypatch):
    """A sweep takes 25 s and writing 10 s: the first is due after a minute, the next 200 s after that."""
    now, written = [0.0], []

    def save(path, checkpoint):
        written.append(checkpoint.sweep)
        now[0] += 10.0

    monkeypatch.setattr(chain_module, "save_checkpoint", save)
    monkeypatch.setattr(chain_module.time, "monotonic", lambda: now[0])
    sink = Checkpointer(tmp_path / "c.npz", np.random.default_rng(1), every=None, settings={}, corpus={})
    for index in range(14):
        now[0] += 25.0
        sink(Sweep(index, State(np.zeros(1)), Info(0.0)))
    assert written == [3, 11]
    sink.close()
    assert written == [3, 11, 14]


def test_a_stopwatch_goes_on_where_another_stopped():
    first, second = Stopwatch(), Stopwatch()
    first.start()
    assert first.timed(lambda: sum(range(200_000)))() == 19_999_900_000
    first.stop()
    seconds, cpu = first.seconds, first.cpu_seconds
    assert 0.0 < cpu < seconds + 1.0
    assert seconds > 0.0
    assert first.seconds == seconds
    second.go_back_to(seconds, cpu)
    assert (second.seconds, second.cpu_seconds) == (seconds, cpu)
    second.start()
    second.timed(lambda: sum(range(200_000)))()
    assert second.seconds > seconds
    assert second.cpu_seconds > cpu


def test_a_stopwatch_of_one_thread_does_not_count_what_others_do():
    def work():
        began = time.thread_time()
        while time.thread_time() - began < 0.2:
            pass

    def both():
        other = threading.Thread(target=work)
        other.start()
        other.join()

    alone, whole = Stopwatch(is_one_thread=True), Stopwatch()
    alone.timed(both)()
    whole.timed(both)()
    assert alone.cpu_seconds < 0.1 < whole.cpu_seconds
