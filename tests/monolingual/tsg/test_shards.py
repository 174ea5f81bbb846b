"""A treebank in shards: their sweeps put together, whoever makes them."""

from __future__ import annotations

import numpy as np
import pytest

from monolingual.cli import main
from monolingual.tsg import visits
from monolingual.tsg.sampler import TsgStart, tsg_kernel
from monolingual.tsg.settings import TsgSettings
from monolingual.tsg.treebank import build_treebank
from scfg_sampler.core.chains.kernel import copy_state
from scfg_sampler.core.executors import threads
from tests.monolingual.tsg.treebanks import chain_on, expand_of, tree_of

MOVES = {
    "single": {"moves": ("single",)},
    "all": {"moves": ("single", "block", "type"), "concentration": None, "stop": None},
    "tracked": {"moves": ("single", "block"), "discount": 0.4},
}


def treebank_of(rng, number=40):
    """Trees of a few shapes, so that elementary trees are shared all over."""
    subjects = ["(NP (D the) (N dog))", "(NP (N dogs))", "(NP (NP (N dogs)) (PP (P of) (NP (N war))))"]
    verbs = [
        "(VP (V bark))",
        "(VP (V see) (NP (D the) (N cat)))",
        "(VP (VP (V bark)) (PP (P at) (NP (N cats))))",
    ]
    texts = [f"(S {rng.choice(subjects)} {rng.choice(verbs)})" for _ in range(number)]
    return build_treebank(map(tree_of, texts))


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("name", MOVES)
def test_counts_after_each_sweep_are_those_of_the_derivations(name, rng):
    chain = chain_on(treebank_of(rng), shards=3, start="minimal", **MOVES[name])
    state = chain.kernel.init(rng, None)
    before = state.trees.copy()
    for _ in range(5):
        state, info = chain.kernel.step(rng, state)
        assert chain.kernel.log_joint(state) == pytest.approx(info.log_joint, abs=1e-8)
    changed = np.flatnonzero(before != state.trees)
    starts = chain.treebank.node_start
    thirds = starts[-1] // 3
    assert {int(at // thirds) for at in changed} >= {0, 1, 2}


@pytest.mark.parametrize("name", MOVES)
def test_threads_make_no_difference(name):
    treebank = treebank_of(np.random.default_rng(3))
    settings = TsgSettings(shards=3, **MOVES[name])
    found = []
    for number in (1, 2):
        with threads(number) as executor:
            kernel = tsg_kernel(treebank, settings, executor)
            rng = np.random.default_rng(5)
            state = kernel.init(rng, None)
            for _ in range(4):
                state, info = kernel.step(rng, state)
            found.append((state, info))
    assert found[0][1] == found[1][1]
    assert same(found[0][0].restaurants, found[1][0].restaurants)
    assert np.array_equal(found[0][0].trees, found[1][0].trees)


def test_each_shard_is_swept_as_if_the_others_stood_still(rng):
    treebank = treebank_of(rng)
    settings = TsgSettings(moves=("single", "block"), concentration=2.0, stop=0.3, shards=3)
    chain = chain_on(treebank, **{**settings._asdict(), "shards": 1})
    state = chain.kernel.init(rng, None)
    for _ in range(3):
        state, _ = chain.kernel.step(rng, state)
    given = copy_state(state)

    visitor = visits.new_visitor(treebank, settings)
    np.log(given.expand, out=visitor.forest.log_expand)
    np.log1p(-given.expand, out=visitor.forest.log_stop)
    visitor.work.inverse_temperature[0] = 1.0
    with threads(1) as executor:
        shards = visits.in_shards(visitor, executor)
        visits.visit_shards(visitor, shards, np.random.default_rng(9), state.restaurants, state.trees)
    seeds = np.random.default_rng(9).integers(2**63, size=3)

    for (first, stop), seed in zip(shards.ranges, seeds, strict=True):
        alone = copy_state(given)
        # In the order of a snapshot's dishes, on which sums over floats depend.
        restaurants = visits.restored(alone.restaurants)
        visits.visit(visitor, np.random.default_rng(seed), restaurants, alone.trees, (first, stop))
        inside = slice(*treebank.node_start[[first, stop]])
        assert np.array_equal(state.trees[inside], alone.trees[inside])
        outside = np.r_[0 : inside.start, inside.stop : len(alone.trees)]
        assert np.array_equal(alone.trees[outside], given.trees[outside])


def test_proposals_know_the_elementary_trees_of_other_shards():
    """The one large elementary tree of another shard is proposed, and taken, instead of ten small ones.

    Its customer has 1 / (1 + α) of the restaurant; from the base it would come with .7^8 of α / (1 + α).
    """
    tree = tree_of("(S (A (B (D d) (E e)) (C c)) (F (G (H h))))")
    chain = chain_on(build_treebank([tree] * 2), shards=2, moves=("block",), concentration=0.01)
    size = len(chain.treebank.label) // 2
    start = np.array([1] + [0] * (size - 1) + [1] * size, np.uint16)
    taken = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        state, _ = chain.kernel.step(rng, chain.kernel.init(rng, TsgStart(start.copy(), expand_of(chain))))
        taken += int(state.trees[size:].sum()) == 1
    assert taken > 90


def test_shards_have_the_temperature_of_the_sweep(rng):
    """Where it is very high, every second node is cut."""
    shares = []
    for heat in (1e9, 1.0):
        chain = chain_on(treebank_of(rng, 200), shards=3, anneal=(heat, heat, 0), start="minimal")
        state = chain.kernel.init(rng, None)
        for _ in range(3):
            state, _ = chain.kernel.step(rng, state)
        below = np.setdiff1d(np.arange(len(state.trees)), chain.treebank.node_start)
        shares.append((state.trees[below] & 1).mean())
    assert shares[0] == pytest.approx(0.5, abs=0.06)
    assert abs(shares[1] - 0.5) > 0.1


def test_shards_share_no_scratch_memory(rng):
    visitor = visits.new_visitor(treebank_of(rng), TsgSettings(moves=("single", "block"), shards=3))
    with threads(1) as executor:
        one, other, _ = visits.in_shards(visitor, executor).visitors
    assert not np.shares_memory(one.forest.first, other.forest.first)
    for name in ("counters", "nodes", "lists", "weights", "option_rows"):
        assert not np.shares_memory(getattr(one.work, name), getattr(other.work, name)), name
    assert not np.shares_memory(one.blocks.trie.keys, other.blocks.trie.keys)
    assert not np.shares_memory(one.blocks.scratch.sums, other.blocks.scratch.sums)
    assert one.forest.log_expand is other.forest.log_expand


def test_command_writes_the_same_run_on_any_number_of_threads_and_goes_on(tmp_path, capsys):
    trees = tmp_path / "trees.mrg"
    subjects, verbs = (
        ["(NP (D the) (N dog))", "(NP (N dogs))"],
        ["(VP (V bark))", "(VP (V see) (NP (N cats)))"],
    )
    trees.write_text("".join(f"(S {s} {v})\n" for s in subjects for v in verbs) * 5)
    common = ["--shards", "3", "--unknown", "none", "--quiet", "--moves", "single,block", "--burn-in", "10"]
    for number, sweeps in (("1", "30"), ("2", "30"), ("2", "20")):
        run = tmp_path / f"run-{number}-{sweeps}"
        given = [
            "tsg",
            "train",
            str(trees),
            "--output",
            str(run),
            "--threads",
            number,
            "--iterations",
            sweeps,
        ]
        assert main([*given, *common]) == 0
    assert main(["tsg", "resume", str(run), "--iterations", "30", "--threads", "1", "--quiet"]) == 0
    for name in ("grammar.tsg.gz", "trace.tsv", "parameters.tsv"):
        bodies = {(tmp_path / run / name).read_bytes() for run in ("run-1-30", "run-2-30", "run-2-20")}
        assert len(bodies) == 1, name


def test_numbers_of_shards_without_sense_are_refused(tmp_path, capsys):
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (A a))\n")
    command = ["tsg", "train", str(trees), "--output", str(tmp_path / "run")]
    for number in ("0", "3000000000", "9223372036854775807"):
        assert main([*command, "--shards", number]) == 2
        assert f"--shards is {number}; it must be from 1 to 65536" in capsys.readouterr().err
    with pytest.raises(SystemExit) as status:
        main([*command, "--shards", "9223372036854775808"])
    assert status.value.code == 2
    assert "argument --shards: 9223372036854775808 is too large" in capsys.readouterr().err
    assert main([*command, "--threads", "0"]) == 2
    assert "--threads is 0; it must be from 1 to" in capsys.readouterr().err
