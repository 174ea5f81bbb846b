"""Shards: what is computed depends on how many there are, never on who computes them, or when."""

from __future__ import annotations

import hashlib
import json
import pickle
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scfg_sampler.cli import main
from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.executors import InProcess, threads
from scfg_sampler.core.fragments.restaurant import COUNT_MASK, LIVE, PARTIES, grown
from scfg_sampler.core.fragments.shards import Changes, changes_since, combined, merged, restored, snapshots
from scfg_sampler.corpus.parallel_text import CorpusFiles
from scfg_sampler.learner.chain import LearnerState, learner_kernel
from scfg_sampler.learner.chains import resume_chains, start_chains
from scfg_sampler.learner.division import divided
from scfg_sampler.learner.run import read_run
from scfg_sampler.learner.settings import LEARNABLE, LearnerSettings, RunSettings
from tests.learner.corpora import Chain, chain_on, seated
from tests.learner.test_chain import chain_of, some_pairs
from tests.learner.test_choosing import random_choices
from tests.learner.test_commands import sample
from tests.learner.test_stopped_runs import results

SETTINGS: dict[str, dict[str, Any]] = {
    "estimated": {},
    "exact": {"tables": "exact", "type_moves": 2},
    "learned": {"learned": LEARNABLE, "tables": "exact", "base": "lexical"},
    "free": {"unaligned": "free"},
    "rejection": {"operator": "rejection", "anneal_start": 2.0, "anneal_sweeps": 3},
    "choose": {"choose": "sentence"},
}


class Backwards(InProcess):
    """Does tasks when they are asked for, the last one first, and each of them twice, as a lost one is."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Future, Any, tuple]] = []

    def submit(self, function, /, *arguments):
        executor, done = self, Future()

        class Late:
            def result(self):
                executor.do_all()
                return done.result()

        self._waiting.append((done, function, arguments))
        return Late()

    def do_all(self) -> None:
        while self._waiting:
            done, function, arguments = self._waiting.pop()
            function(*arguments)
            done.set_result(function(*arguments))


def chain_with(name: str, **more) -> Chain:
    rng = np.random.default_rng(5)
    pairs = random_choices(rng, 30) if "choose" in SETTINGS[name] else some_pairs()
    return chain_on(pairs, **SETTINGS[name], **more)


def state_of(chain: Chain, executor, sweeps: int = 4) -> LearnerState:
    kernel = learner_kernel(chain.bank, chain.settings, divided(chain.bank, chain.settings, executor))
    rng = np.random.default_rng(7)
    state = kernel.init(rng, None)
    for _ in range(sweeps):
        state, info = kernel.step(rng, state)
        assert_allclose(kernel.log_joint(state), info.log_joint, rtol=1e-10)
    return state


def assert_same_state(one: LearnerState, other: LearnerState) -> None:
    assert np.array_equal(one.trees, other.trees)
    assert np.array_equal(one.mean_length, other.mean_length)
    for name, first, second in zip(one.restaurants._fields, one.restaurants, other.restaurants, strict=True):
        assert name == "scratch" or np.array_equal(first, second), name


@pytest.mark.parametrize("name", SETTINGS)
def test_who_sweeps_the_shards_makes_no_difference(name):
    chain = chain_with(name, shards=3)
    here = state_of(chain, InProcess())
    assert_same_state(state_of(chain, Backwards()), here)
    for number in (2, 5):
        with threads(number) as executor:
            assert_same_state(state_of(chain, executor), here)


def test_a_chain_of_one_shard_hands_nothing_out():
    class Nobody(InProcess):
        def submit(self, function, /, *arguments):
            raise AssertionError

    chain = chain_with("exact")
    assert_same_state(state_of(chain, Nobody()), state_of(chain, None))


class Elsewhere(InProcess):
    """Does tasks as other processes do: with copies of what they are given, each of them twice."""

    is_elsewhere = True
    tasks = 0

    def submit(self, function, /, *arguments):
        self.tasks += 1
        copies = pickle.loads(pickle.dumps(arguments))
        sent = pickle.dumps(copies)
        function(*copies)
        assert pickle.dumps(copies) == sent  # Nothing that is given is changed.
        return super().submit(function, *copies)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_chain_of_one_shard_is_the_same_when_others_sweep_it(name):
    chain, executor = chain_with(name), Elsewhere()
    assert_same_state(state_of(chain, executor), state_of(chain, None))
    assert executor.tasks == 4


def test_chains_that_others_sweep_are_those_of_one_process(tmp_path, corpus_options):
    more = ["--iterations", "4", "--burn-in", "1", "--chains", "3"]
    assert sample(corpus_options, tmp_path / "here", *more) == 0
    executor = Elsewhere()
    files = CorpusFiles(corpus_options[1], corpus_options[3], (corpus_options[5],))
    run = RunSettings(iterations=4, burn_in=1, chains=3)
    told = start_chains(files, tmp_path / "there", LearnerSettings(), run, executor=executor)
    # Others sweep all of them at a time.
    assert told["seconds"] == max(read_run(tmp_path / "there" / f"chain-{k}")["seconds"] for k in (1, 2, 3))
    # Of each chain four sweeps, and the rules of five states: the first, three after the burn-in, the last.
    assert executor.tasks == 3 * (4 + 5)
    assert results(tmp_path / "there") == results(tmp_path / "here")
    # One chain in one shard is swept where it is driven from.
    start_chains(files, tmp_path / "one", LearnerSettings(), run._replace(chains=1), executor=executor)
    resume_chains(tmp_path / "one", 5, executor=executor)
    # Of each chain four sweeps, and the rules of five states: the first, three after the burn-in, the last.
    assert executor.tasks == 3 * (4 + 5)


DIGESTS: list[tuple[dict[str, Any], str]] = [
    ({}, "be9aded6193a488d"),
    ({"tables": "exact"}, "e8a6d8c64879bf00"),
    ({"shards": 2}, "4e435adf908b9dd4"),
]


@pytest.mark.parametrize(("settings", "digest"), DIGESTS, ids=["serial", "exact", "two"])
def test_derivations_are_those_of_earlier_versions(settings, digest):
    """Values: versions that copied the restaurants for every thread, `--threads` 1 and 2."""
    _, (state, _) = chain_of(5, **settings)
    assert hashlib.sha256(state.trees.tobytes()).hexdigest()[:16] == digest


def test_results_depend_on_the_number_of_shards():
    trees = [state_of(chain_with("estimated", shards=number), None).trees for number in (1, 2, 3)]
    assert not np.array_equal(trees[0], trees[1])
    assert not np.array_equal(trees[1], trees[2])


def test_more_shards_than_sentences_do_no_harm():
    chain = chain_on(some_pairs(3), shards=20)
    assert state_of(chain, None).sweep == 4


@pytest.mark.parametrize("dishes", [7, 1000])
@pytest.mark.parametrize("tables", ["estimated", "exact"])
def test_a_snapshot_is_restored_without_a_change(tables, dishes):
    _, (state, _) = chain_of(3, tables=tables)
    before = list(snapshots(state.restaurants, dishes))
    assert (len(before) > 1) == (dishes == 7)
    again = restored(before)
    used = max(1, state.restaurants.totals[PARTIES])
    assert np.array_equal(again.parties, state.restaurants.parties[:used])
    assert np.array_equal(live_dishes(again), live_dishes(state.restaurants))
    assert np.array_equal(unpacked(again), unpacked(state.restaurants))
    assert len(changes_since(before, again).change) == 0
    assert len(changes_since(before, grown(again, 10_000)).change) == 0


def test_nothing_changes_where_shards_change_nothing(rng):
    _, (state, _) = chain_of(2, tables="exact")
    before = list(snapshots(state.restaurants))
    none = changes_since(before, restored(before))
    after = merged(rng, copy_state(state.restaurants), [none, none])
    assert all(np.array_equal(a, b) for a, b in zip(after, state.restaurants, strict=True))


@pytest.mark.parametrize("tables", ["estimated", "exact"])
def test_changes_of_shards_are_those_of_the_sentences_they_sweep(rng, tables):
    """Moving half of the corpus in each copy, then adding up, equals moving both halves in one."""
    chain, (state, _) = chain_of(2, tables=tables)
    _, (moved, _) = chain_of(4, tables=tables)
    half = int(chain.bank.tree_start[20])
    mixed = [np.r_[state.trees[:half], moved.trees[half:]], np.r_[moved.trees[:half], state.trees[half:]]]
    first, last, *shards = [seated(chain, trees).restaurants for trees in (state.trees, moved.trees, *mixed)]
    before = list(snapshots(first, 100))
    changes = [changes_since(before, shard) for shard in shards]
    assert all(len(each.change) > 0 for each in changes)
    after = merged(rng, first, changes)
    assert np.array_equal(live_dishes(after) & COUNT_MASK, live_dishes(last) & COUNT_MASK)
    assert np.array_equal(after.stratum_customers, last.stratum_customers)
    assert after.totals[LIVE] == last.totals[LIVE]


@pytest.mark.parametrize("tables", ["estimated", "exact"])
def test_shards_in_this_process_begin_as_those_elsewhere(tables):
    """What is read where it is makes the same restaurants as what was sent in parts, and the same changes."""
    _, (state, _) = chain_of(3, tables=tables)
    _, (later, _) = chain_of(4, tables=tables)
    here, parts = state.restaurants, list(snapshots(state.restaurants, 100))
    given = [array.copy() for array in here]
    assert all(np.array_equal(a, b) for a, b in zip(restored(here), restored(parts), strict=True))
    found = changes_since(here, later.restaurants), changes_since(parts, later.restaurants)
    assert len(found[0].change) > 0
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(here, given, strict=True))


def some_changes(**columns) -> Changes:
    kinds = {"fingerprint": np.int64, "stratum": np.int32, "log_base": np.float64, "change": np.int64}
    return Changes(**{name: np.array(columns[name], kinds[name]) for name in kinds})


def test_changes_are_added_up_by_dish_and_the_first_shard_says_the_rest():
    one = some_changes(fingerprint=[9, 4], stratum=[3, 2], log_base=[-1.0, -2.0], change=[2, -1])
    more = {"stratum": [2, 3, 5], "log_base": [-2.5, -1.5, -3.0], "change": [1, 3, -4]}
    two = some_changes(fingerprint=[4, 9, 7], **more)
    total = combined([one, two])
    assert [list(column) for column in total] == [[7, 9], [5, 3], [-3.0, -1.0], [-4, 5]]
    assert combined([two, one]).log_base.tolist() == [-3.0, -1.5]


def live_dishes(restaurants) -> np.ndarray:
    live = restaurants.entries[restaurants.entries[:, 1] > 0]
    return live[np.argsort(live[:, 0])]


def unpacked(restaurants) -> np.ndarray:
    """Stratum, base and table sizes of every dish, in the order of fingerprints."""
    slots = np.flatnonzero(restaurants.entries[:, 1])
    slots = slots[np.argsort(restaurants.entries[slots, 0])]
    return np.stack([restaurants.stratum[slots], restaurants.log_base[slots], restaurants.party[slots]])


MORE = ["--iterations", "8", "--burn-in", "2", "--marginals", "--checkpoint-every", "3", "--check"]


def checkpoint(directory) -> dict[str, bytes]:
    with np.load(directory / "checkpoint.npz") as archive:
        timed = ("header", "state.seconds", "state.cpu_seconds", "state.learner.restaurants.scratch")
        return {name: archive[name].tobytes() for name in archive if name not in timed}


def test_threads_change_no_byte_of_a_run(corpus_options, tmp_path):
    for number in ("1", "2", "4"):
        more = [*MORE, "--shards", "4", "--threads", number]
        assert sample(corpus_options, tmp_path / number, *more) == 0
    for number in ("2", "4"):
        assert results(tmp_path / number) == results(tmp_path / "1")
        assert checkpoint(tmp_path / number) == checkpoint(tmp_path / "1")


def test_as_many_shards_as_threads_where_nothing_is_said(corpus_options, tmp_path):
    assert sample(corpus_options, tmp_path / "run", "--iterations", "3", "--threads", "2") == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["shards"] == 2
    assert sample(corpus_options, tmp_path / "other", "--iterations", "3", "--shards", "2") == 0
    assert results(tmp_path / "run") == results(tmp_path / "other")
    more = ["--iterations", "3", "--threads", "2", "--chains", "2"]
    assert sample(corpus_options, tmp_path / "chains", *more) == 0
    assert json.loads((tmp_path / "chains" / "run.json").read_text())["settings"]["shards"] == 1


def test_a_run_goes_on_with_its_shards_on_any_number_of_threads(corpus_options, tmp_path):
    more = ["--shards", "3", "--tables", "exact"]
    assert sample(corpus_options, tmp_path / "whole", "--iterations", "6", "--burn-in", "1", *more) == 0
    assert sample(corpus_options, tmp_path / "run", "--iterations", "3", "--burn-in", "1", *more) == 0
    assert main(["resume", str(tmp_path / "run"), "--iterations", "6", "--threads", "2", "--quiet"]) == 0
    assert results(tmp_path / "run") == results(tmp_path / "whole")
    assert checkpoint(tmp_path / "run") == checkpoint(tmp_path / "whole")
