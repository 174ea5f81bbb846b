"""Checkpoints: what is stored comes back, and nothing else is accepted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from scfg_sampler import __version__
from scfg_sampler.core.chains import checkpoint as checkpoint_module
from scfg_sampler.core.chains.chain import Checkpointer, run_chain
from scfg_sampler.core.chains.checkpoint import (
    Checkpoint,
    layout_problem,
    load_checkpoint,
    save_checkpoint,
)
from scfg_sampler.errors import CheckpointMismatch, InputError
from tests.core.chains.toy_chain import TOY, ToyState, Walkers, as_bytes, toy_state

SETTINGS = {"discount": 0.5, "levels": (7, 10), "output": None}
CORPUS = {"source": "a1", "target": "b2"}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "checkpoint.npz"
    rng = np.random.default_rng(7)
    save_checkpoint(path, Checkpoint(toy_state(), rng, 3, SETTINGS, CORPUS, spent=(6.5, 2.25)))
    return path


def test_everything_comes_back(saved):
    loaded = load_checkpoint(saved, ToyState, settings=SETTINGS, corpus=CORPUS)
    assert as_bytes(loaded.state) == as_bytes(toy_state())
    assert [array.dtype for array in loaded.state.walkers] == [np.float64, np.int64]
    assert type(loaded.state.sweep) is int
    assert type(loaded.state.scale) is float
    assert loaded.sweep == 3
    assert loaded.settings == {**SETTINGS, "levels": [7, 10]}
    assert loaded.corpus == CORPUS
    assert loaded.version == __version__
    assert loaded.spent == (6.5, 2.25)
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


@pytest.mark.parametrize(
    "change",
    [lambda array: array.view(np.uint64), lambda array: array.reshape(5, 1), lambda array: array + 1],
    ids=["type", "shape", "value"],
)
def test_arrays_that_are_not_those_of_the_digest_are_refused(saved, change):
    with np.load(saved) as archive:
        arrays = dict(archive)
    arrays["state.walkers.moves"] = change(arrays["state.walkers.moves"])
    np.savez(saved, **arrays)
    with pytest.raises(InputError, match=r"checkpoint\.npz: does not match its digest"):
        load_checkpoint(saved, ToyState)


class Fitted(NamedTuple):
    counts: np.ndarray
    scale: float
    name: str


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, None),
        ({"counts": np.zeros((4, 2), np.int64)}, None),  # Its first dimension may be any.
        ({"counts": np.zeros((3, 1), np.int64)}, r"counts is int64 (3, 1) where int64 (3, 2) is expected"),
        ({"counts": np.zeros((3, 2), np.int32)}, r"counts is int32 (3, 2) where int64 (3, 2) is expected"),
        ({"counts": np.zeros(3, np.int64)}, r"counts is int64 (3,) where int64 (3, 2) is expected"),
        ({"scale": np.float32(2.0), "name": "other"}, None),  # Numbers and texts may be of any size.
        ({"scale": 2}, r"scale is int64 () where float64 () is expected"),
        ({"scale": np.zeros(1)}, r"scale is float64 (1,) where float64 () is expected"),
    ],
)
def test_what_an_array_should_be_is_told(changed, told):
    right = Fitted(np.zeros((3, 2), np.int64), 0.5, "a")
    assert layout_problem(right._replace(**changed), right, free=["counts"]) == told


def test_first_dimensions_are_free_only_where_they_are_said_to_be():
    right = Fitted(np.zeros((3, 2), np.int64), 0.5, "a")
    other = right._replace(counts=np.zeros((4, 2), np.int64))
    assert layout_problem(other, right) == "counts is int64 (4, 2) where int64 (3, 2) is expected"
    assert layout_problem(toy_state().walkers, right) == "counts is missing"
    row, number = right._replace(counts=np.zeros(3)), right._replace(counts=np.float64(0.0))
    told = "counts is float64 () where float64 (3,) is expected"
    assert layout_problem(number, row, free=["counts"]) == told


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
    rng = np.random.default_rng(7)
    save_checkpoint(again, Checkpoint(toy_state(), rng, 3, SETTINGS, CORPUS, spent=(6.5, 2.25)))
    assert again.read_bytes() == saved.read_bytes()
