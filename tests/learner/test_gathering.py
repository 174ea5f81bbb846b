"""Rules that are counted on disk are those that are counted in memory, in every file and at every kill."""

from __future__ import annotations

import pickle
import shutil
import signal
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

from scfg_sampler.cli import main
from scfg_sampler.core import console
from scfg_sampler.core.executors import InProcess, threads
from scfg_sampler.core.files import read_lines
from scfg_sampler.learner.collection import Collection
from scfg_sampler.learner.division import divided
from scfg_sampler.learner.forest_bank import node_counts
from scfg_sampler.learner.gathering import Gathered, Gatherer, Shelf
from scfg_sampler.learner.settings import RunSettings
from scfg_sampler.rules.runs import LAST_KEY, key_ranges
from tests.kills import contents, forked, prepare
from tests.learner.corpora import chain_on
from tests.learner.test_chain import some_pairs
from tests.learner.test_shards import chain_with

NARROW = 3000
"""Bytes: a few records."""


@pytest.fixture
def chain():
    return chain_on(some_pairs())


def states(chain, number: int) -> list[np.ndarray]:
    """Derivations of some states."""
    rng = np.random.default_rng(3)
    state = chain.kernel.init(rng, None)
    found = []
    for _ in range(number):
        state, _ = chain.kernel.step(rng, state)
        found.append(state.trees.copy())
    return found


def gatherer(chain, place, memory: int) -> Gatherer:
    return Gatherer(chain.bank, Shelf(place, "this chain", chain.bank), "marginal", memory)


def assert_equal(found, expected) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def joined(parts) -> list[list]:
    """Rules and counts of all parts."""
    return [
        [
            tuple(rules.source[rules.source_start[r] : rules.source_start[r + 1]].tolist()),
            tuple(rules.target[rules.target_start[r] : rules.target_start[r + 1]].tolist()),
            rules.alignment[rules.alignment_start[r] : rules.alignment_start[r + 1]].tolist(),
            float(rules.count[r]),
        ]
        for rules in parts
        for r in range(rules.num_rules)
    ]


def test_counts_on_disk_are_those_in_memory_and_in_the_order_of_the_text(chain, tmp_path):
    inside, outside = gatherer(chain, tmp_path / "a", 1 << 30), gatherer(chain, tmp_path / "b", NARROW)
    for trees in states(chain, 12):
        inside.add(trees)
        outside.add(trees)
    assert inside.states == outside.states == 12
    assert not (tmp_path / "a").exists()
    assert outside.whole() is None
    assert outside.gathered().merged > 2, "what is on disk was merged, into several runs"
    shares = list(outside.shares())
    assert len(shares) > 3
    assert joined(shares) == joined([inside.whole()]) == joined(inside.shares())
    assert_equal(outside.unordered(), inside.unordered())


def test_what_is_on_disk_stays_a_few_times_the_rules_seen(chain, tmp_path):
    outside = gatherer(chain, tmp_path, NARROW)
    for trees in states(chain, 40):
        outside.add(trees)
        outside._shelf.keep_only(outside.gathered().runs)
    on_disk = sum(run.num_records for run in outside._runs)
    most = outside.unordered().num_rules
    assert on_disk < 4 * most + 1000


def test_going_on_from_what_was_gathered_writes_the_same_runs(chain, tmp_path):
    through, before = gatherer(chain, tmp_path / "a", NARROW), gatherer(chain, tmp_path / "b", NARROW)
    trees = states(chain, 9)
    for each in trees:
        through.add(each)
    for each in trees[:4]:
        before.add(each)
    middle = before.gathered()
    after = gatherer(chain, tmp_path / "b", NARROW)
    assert after.problem(middle) is None
    # Arrays as long as what they hold, as in a checkpoint.
    after.go_on_from(middle)
    for each in trees[4:]:
        after.add(each)
    assert after.gathered().runs == through.gathered().runs
    assert after.gathered().merged == through.gathered().merged
    assert joined(after.shares()) == joined(through.shares())


@pytest.mark.parametrize("change", ["gone", "damaged", "other chain", "other run", "no name", "merged"])
def test_runs_that_are_not_those_of_the_checkpoint_are_refused(chain, tmp_path, change):
    found = gatherer(chain, tmp_path, NARROW)
    for trees in states(chain, 3):
        found.add(trees)
    gathered: Gathered = found.gathered()
    path = tmp_path / gathered.runs[0].split()[0]
    again = gatherer(chain, tmp_path, NARROW)
    if change == "gone":
        path.unlink()
    elif change == "damaged":
        content = bytearray(path.read_bytes())
        content[-9] ^= 1
        path.write_bytes(content)
    elif change == "other chain":
        again = Gatherer(chain.bank, Shelf(tmp_path, "another", chain.bank), "marginal", NARROW)
    elif change == "other run":
        shutil.copyfile(tmp_path / gathered.runs[1].split()[0], path)
    elif change == "no name":
        gathered = gathered._replace(runs=("../marginal-1 00000000", *gathered.runs[1:]))
    else:
        gathered = gathered._replace(merged=len(gathered.runs) + 1)
    problem = again.problem(gathered)
    assert problem is not None
    assert "marginal" in problem


def test_ranges_of_keys_are_all_keys_and_about_equal(chain, tmp_path):
    found = gatherer(chain, tmp_path, NARROW)
    for trees in states(chain, 5):
        found.add(trees)
    parts = found._parts()
    total = sum(part.num_records for part in parts)
    ranges = key_ranges(parts, 20)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == LAST_KEY
    sizes = [sum(part.within(*each).num_records for part in parts) for each in ranges]
    assert sum(sizes) == total
    assert len(ranges) > total / 20 / 3
    assert key_ranges(parts, total) == [(0, LAST_KEY)]


def test_runs_go_when_no_checkpoint_names_them(chain, tmp_path):
    kept = Collection(chain.bank, RunSettings(memory=NARROW), Shelf(tmp_path, "", chain.bank))
    named = []
    for trees in states(chain, 8):
        kept.marginal.add(trees)
        before = {path.name for path in tmp_path.iterdir()}
        kept.forget_others(saving=True)
        now = {path.name for path in tmp_path.iterdir()}
        named.append({each.split()[0] for each in kept.marginal.gathered().runs})
        assert now == before & set().union(*named[-2:])
    kept.forget_others(saving=False)
    assert {path.name for path in tmp_path.iterdir()} == named[-1]


SAMPLE = (
    "sample --source train.f --target train.e --alignment train.a --quiet --iterations 12 --burn-in 3 "
    "--checkpoint-every 2 --marginals --memory "
)


@pytest.fixture
def narrow_memory(monkeypatch):
    """Let 1M be a few records."""
    monkeypatch.setattr(console, "memory_size", lambda text: 1 << (13 if text == "1M" else 30))


def test_files_of_a_run_are_the_same_whatever_the_memory(tmp_path, monkeypatch, narrow_memory):
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    for output, memory in (("wide", "1G"), ("narrow", "1M")):
        assert main([*SAMPLE.split(), memory, "--output", output]) == 0
        assert main(["verify", output, "--quiet"]) == 0
    assert not (tmp_path / "wide" / "collected").exists()
    assert len(list((tmp_path / "narrow" / "collected").iterdir())) > 2
    names = [path.relative_to("wide") for path in (tmp_path / "wide").relative_to(tmp_path).rglob("*.*z*")]
    assert len(names) >= 5
    for name in names:
        if name.name != "checkpoint.npz":
            wide, narrow = (list(read_lines(tmp_path / each / name)) for each in ("wide", "narrow"))
            assert wide == narrow, name
    texts = [(tmp_path / each / "marginals.json").read_text() for each in ("wide", "narrow")]
    assert texts[0] == texts[1]


@pytest.mark.slow
def test_a_run_killed_between_its_runs_on_disk_ends_as_undisturbed_ones(tmp_path, monkeypatch, narrow_memory):
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    command = [*SAMPLE.split(), "1M", "--output", "run"]
    assert main(command) == 0
    whole = contents(tmp_path)
    kills = 0

    def killed_at(moment: int, *, before: bool):
        """Killed when it is about to remove runs, or has done so and will write a checkpoint."""
        real, calls = Shelf.keep_only, [0]

        def until(self, called):
            calls[0] += 1
            if not (before and calls[0] == moment):
                real(self, called)
            if calls[0] == moment:
                signal.raise_signal(signal.SIGKILL)

        return until

    for moment, before in ((2, True), (4, False)):
        shutil.rmtree(tmp_path / "run")
        with monkeypatch.context() as patch:
            patch.setattr(Shelf, "keep_only", killed_at(moment, before=before))
            kills += forked(main, command, 600) == -signal.SIGKILL
            patch.setattr(Shelf, "keep_only", killed_at(2, before=not before))
            kills += forked(main, ["resume", "run", "--quiet"], 600) == -signal.SIGKILL
        assert main(["resume", "run", "--quiet"]) == 0
        assert contents(tmp_path) == whole
    assert kills == 4


def test_a_run_whose_counts_are_gone_is_refused_in_one_line(tmp_path, monkeypatch, capsys, narrow_memory):
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    assert main([*SAMPLE.split(), "1M", "--output", "run"]) == 0
    for path in (tmp_path / "run" / "collected").glob("marginal-*"):
        path.unlink()
    capsys.readouterr()
    assert main(["resume", "run", "--iterations", "20", "--quiet"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "checkpoint.npz: does not fit what it was made from: run/collected/marginal-" in message


class Elsewhere(InProcess):
    """Does tasks late, the last one first, and hands over copies as a wire does: read-only ones."""

    is_elsewhere = True

    def __init__(self) -> None:
        self.done = 0
        self._waiting: list = []

    def submit(self, function, /, *arguments):
        task: Future = Future()
        self._waiting.append((task, function, pickle.dumps(arguments)))
        return SimpleNamespace(result=lambda: self._all_done() or task.result())

    def _all_done(self) -> None:
        while self._waiting:
            task, function, sent = self._waiting.pop()
            buffers: list = []
            found = pickle.dumps(function(*pickle.loads(sent)), protocol=5, buffer_callback=buffers.append)
            task.set_result(pickle.loads(found, buffers=[bytes(buffer) for buffer in buffers]))
            self.done += 1


@pytest.mark.parametrize("memory", [1 << 30, NARROW])
@pytest.mark.parametrize("name", ["estimated", "free", "choose"])
def test_what_others_count_is_what_one_process_counts(tmp_path, name, memory):
    chain = chain_with(name, shards=3)
    others = Elsewhere()
    with threads(2) as two:
        counted = []
        for number, executor in enumerate((InProcess(), two, others)):
            shelf = Shelf(tmp_path / str(number), "this chain", chain.bank)
            division = divided(chain.bank, chain.settings, executor)
            counted.append(
                (Gatherer(chain.bank, shelf, "marginal", memory, division), node_counts(chain.bank))
            )
        for trees in states(chain, 11):
            changing = trees.copy()
            for found, nodes in counted:
                found.add(changing, nodes)
            changing[:] = 0  # As a chain changes its state.
        gathered = [found.gathered() for found, _ in counted]
    here, expected = counted[0]
    assert expected.any()
    assert others.done >= 6
    for (_, nodes), found in zip(counted[1:], gathered[1:], strict=True):
        np.testing.assert_array_equal(nodes, expected)
        # To the last array of a checkpoint, with the checksums of runs.
        assert found[1:] == gathered[0][1:]
        assert_equal(arrays_of(found.collector), arrays_of(gathered[0].collector))
    assert (len(gathered[0].runs) > 0) == (memory == NARROW)
    alone = Gatherer(chain.bank, Shelf(tmp_path / "alone", "this chain", chain.bank), "marginal", 1 << 30)
    rows = node_counts(chain.bank)
    for trees in states(chain, 11):
        alone.add(trees, rows)
    np.testing.assert_array_equal(rows, expected)
    assert joined(here.shares()) == joined(alone.shares())
    assert here.states == alone.states == 11


def arrays_of(value) -> list[np.ndarray]:
    return (
        [value] if isinstance(value, np.ndarray) else [array for part in value for array in arrays_of(part)]
    )
