"""Checkpoints: what is stored comes back, and nothing else is accepted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from scfg_sampler.core.chains import checkpoint as checkpoint_module
from scfg_sampler.core.chains.chain import Checkpointer, run_chain
from scfg_sampler.core.chains.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from scfg_sampler.errors import CheckpointMismatch, InputError
from tests.core.chains.toy_chain import TOY, ToyState, Walkers, as_bytes, toy_state

SETTINGS = {"discount": 0.5, "levels": (7, 10), "output": None}
CORPUS = {"source": "a1", "target": "b2"}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, Checkpoint(toy_state(), np.random.default_rng(7), 3, SETTINGS, CORPUS))
    return path


def test_everything_comes_back(saved):
    loaded = load_checkpoint(saved, ToyState, settings=SETTINGS, corpus=CORPUS)
    assert as_bytes(loaded.state) == as_bytes(toy_state())
    assert [array.dtype for array in loaded.state.walkers] == [np.float64, np.int64]
    assert type(loaded.state.sweep) is int
    assert type(loaded.state.scale) is float
    assert loaded.sweep == 3
    assert loaded.corpus == CORPUS
    assert loaded.rng.random() == np.random.default_rng(7).random()


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_any_generator_goes_on_where_it_stopped(tmp_path, name):
    rng = np.random.Generator(getattr(np.random, name)(11))
    rng.random(5)
    rng.integers(7, dtype=np.int32)  # Leaves half a word behind in the generator.
    save_checkpoint(tmp_path / "c.npz", Checkpoint(toy_state(), rng, 0))
    loaded = load_checkpoint(tmp_path / "c.npz", ToyState).rng
    expected = [rng.integers(7, dtype=np.int32), *rng.random(700)]
    assert [loaded.integers(7, dtype=np.int32), *loaded.random(700)] == expected


@pytest.mark.parametrize("stop", [1, 4, 7])
def test_stop_and_resume_equals_running_through(tmp_path, stop):
    rng = np.random.default_rng(5)
    *_, through = run_chain(TOY, toy_state(), rng, sweeps=10)

    path = tmp_path / "checkpoint.npz"
    first_rng = np.random.default_rng(5)
    sink = Checkpointer(path, first_rng, every=3, settings={}, corpus={})
    for _ in run_chain(TOY, toy_state(), first_rng, sweeps=stop, sinks=[sink]):
        pass
    loaded = load_checkpoint(path, ToyState)
    assert loaded.sweep == stop
    *_, resumed = run_chain(TOY, loaded.state, loaded.rng, sweeps=10, first=loaded.sweep)
    assert resumed.index == through.index == 9
    assert as_bytes(resumed.state) == as_bytes(through.state)
    assert resumed.info == through.info
    assert loaded.rng.bit_generator.state == rng.bit_generator.state


def test_other_settings_are_refused_and_listed(saved):
    other = {"discount": 0.4, "levels": [7, 10], "threads": 2}
    with pytest.raises(CheckpointMismatch) as refusal:
        load_checkpoint(saved, ToyState, settings=other, corpus=CORPUS)
    message = str(refusal.value)
    assert "setting discount is 0.4 here and 0.5 there" in message
    assert "setting threads is 2 here and absent there" in message
    assert "setting output is absent here and None there" in message
    assert "levels" not in message


def test_another_corpus_is_refused(saved):
    with pytest.raises(CheckpointMismatch, match=r"corpus file target is not the same\. Go on with"):
        load_checkpoint(saved, ToyState, corpus={"source": "a1", "target": "c3"})


def test_another_format_is_refused(saved, monkeypatch):
    message = rf"has checkpoint format {checkpoint_module.FORMAT} .* with format 99"
    monkeypatch.setattr(checkpoint_module, "FORMAT", 99)
    with pytest.raises(CheckpointMismatch, match=message):
        load_checkpoint(saved, ToyState)


def test_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match=r"none\.npz: cannot be read \(No such file"):
        load_checkpoint(tmp_path / "none.npz", ToyState)


@pytest.mark.parametrize("kind", ["text", "empty", "truncated", "other arrays", "pickle"])
def test_damaged_file_is_an_input_error(saved, kind):
    if kind == "text":
        saved.write_text("sweep\tlog_joint\n")
    elif kind == "empty":
        saved.write_bytes(b"")
    elif kind == "truncated":
        saved.write_bytes(saved.read_bytes()[:-40])
    elif kind == "other arrays":
        np.savez(saved, weights=np.ones(2))
    else:
        np.savez(saved, header=np.array([{}], dtype=object))
    with pytest.raises(InputError, match=r"checkpoint\.npz: is not a checkpoint"):
        load_checkpoint(saved, ToyState)


def test_state_of_another_kind_is_an_input_error(saved):
    with pytest.raises(
        InputError,
        match=r"checkpoint\.npz: was written by an older program \(version .+\), or another command: it "
        r"lacks the array state\.position\. Go on with what wrote it, or start the run again$",
    ):
        load_checkpoint(saved, Walkers)


def test_failed_write_leaves_the_old_file(saved):
    class Bad(NamedTuple):
        words: list

    before = saved.read_bytes()
    with pytest.raises(TypeError, match=r"state\.words is a list, which a checkpoint cannot hold"):
        save_checkpoint(saved, Checkpoint(Bad(["a"]), np.random.default_rng(1), 1))
    with pytest.raises(TypeError, match="an array of objects"):
        save_checkpoint(saved, Checkpoint(Bad(np.array([None])), np.random.default_rng(1), 1))
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_equal_chains_give_equal_bytes(saved, tmp_path):
    again = tmp_path / "again.npz"
    save_checkpoint(again, Checkpoint(toy_state(), np.random.default_rng(7), 3, SETTINGS, CORPUS))
    assert again.read_bytes() == saved.read_bytes()
