"""What a sweep does when, what is counted of its trees, and what the trace says of it."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from monolingual.tsg import sampler
from monolingual.tsg.marginals import NodeCounts
from monolingual.tsg.sweep import count_decisions, shuffle
from monolingual.tsg.visits import new_visitor
from scfg_sampler.core.chains.chain import Sweep
from scfg_sampler.core.fragments.restaurant import COUNT_MASK
from tests.monolingual.tsg.forests import FORESTS, codes_of, forest_chain, forest_posterior
from tests.monolingual.tsg.treebanks import TREEBANKS, chain_of, cuts_of, start_at, tree_of
from tests.oracles.elementary_trees import elementary_trees

LABELS = "shared parts"  # Of four labels.


def parts_of(chain, state, name: str) -> Counter:
    """The elementary trees of the derivations, as nested tuples."""
    texts = map(tree_of, TREEBANKS[name])
    cuts = cuts_of(chain, state)
    return Counter(e for tree, bits in zip(texts, cuts, strict=True) for e in elementary_trees(tree, bits))


def test_a_sweep_is_told_as_it_is(rng):
    chain = chain_of(LABELS, concentration=None, stop=None)
    state = chain.kernel.init(rng, None)
    for _ in range(20):
        before = cuts_of(chain, state)
        state, info = chain.kernel.step(rng, state)
        parts = parts_of(chain, state, LABELS)
        assert (info.fragments, info.types) == (parts.total(), len(parts))
        assert info.strength == pytest.approx(np.mean(state.restaurants.strength), rel=1e-12)
        assert info.stop == pytest.approx(np.mean(1.0 - state.expand), rel=1e-12)
        changed = np.not_equal(np.concatenate(before), np.concatenate(cuts_of(chain, state))).sum()
        assert info.cuts_changed >= changed
        assert info.edges_changed == 0
        assert info.acceptance == 1.0


def test_the_share_of_accepted_proposals_is_of_all_sentences(rng):
    chain = chain_of("recursive", moves=("block",), base="uniform")
    state, seen = chain.kernel.init(rng, None), set()
    for _ in range(200):
        state, info = chain.kernel.step(rng, state)
        seen.add(info.acceptance)
    assert seen == {0.5, 1.0}


def test_types_are_moved_in_every_so_manieth_sweep(rng, monkeypatch):
    def watched(rng, forest, model, restaurants, *others):
        moved.append(state.sweep)
        return restaurants

    moved: list[int] = []
    monkeypatch.setattr(sampler, "resample_types", watched)
    for moves, expected in ((("single", "type"), [2, 5, 8]), (("single",), [])):
        moved.clear()
        chain = chain_of(LABELS, moves=moves, type_every=3)
        state = chain.kernel.init(rng, None)
        for _ in range(10):
            state, _ = chain.kernel.step(rng, state)
        assert moved == expected


def test_temperatures_fall_from_the_first_sweep_on(rng):
    chain = chain_of(LABELS, anneal=(4.0, 1.0, 3))
    state, told = chain.kernel.init(rng, None), []
    for _ in range(5):
        state, info = chain.kernel.step(rng, state)
        told.append(info.temperature)
    assert told == [4.0, 3.0, 2.0, 1.0, 1.0]


@pytest.mark.parametrize("name", TREEBANKS)
def test_decisions_are_those_of_the_nodes_below_the_roots_of_fragments(name, rng):
    """Each elementary tree as often as it is there: a table for every customer."""
    chain = chain_of(name)
    labels = chain.treebank.productions.labels
    visitor = new_visitor(chain.treebank, chain.settings)
    for _ in range(5):
        state = chain.kernel.init(rng, None)
        cuts = tuple(tuple(rng.integers(0, 2, size=len(bits)).tolist()) for bits in cuts_of(chain, state))
        state = start_at(chain, cuts, rng)
        tables = state.restaurants.entries[:, 1].astype(np.int64) & COUNT_MASK
        found = np.zeros((len(labels), 2), np.int64)
        passes = visitor.forest, state.restaurants, visitor.work, chain.treebank.node_start, state.trees
        count_decisions(*passes, tables, found)
        expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for part, times in parts_of(chain, state, name).items():
            pending = list(part[1:])
            while pending:
                node = pending.pop()
                if not isinstance(node, str):
                    expected[node[0]][len(node) == 1] += times
                    pending += node[1:]
        assert {label: row for label, row in zip(labels, found.tolist(), strict=True) if any(row)} == expected
        assert not tables.any()


def test_marginals_are_means_of_cut_bits(rng):
    chain = chain_of(LABELS)
    state, nodes, bits = chain.kernel.init(rng, None), NodeCounts(chain.treebank), []
    for index in range(10):
        state, info = chain.kernel.step(rng, state)
        nodes(Sweep(index, state, info))
        bits.append(state.trees & 1)
    assert nodes.counts[:, 0].tolist() == [10] * len(bits[0])
    assert nodes.counts[:, 1].tolist() == np.sum(bits, axis=0).tolist()


def test_what_is_wrong_with_a_state_is_told(rng):
    chain = forest_chain("a list, and a tree", stop=None)
    state = chain.kernel.init(rng, None)

    def problem(**changed):
        return sampler.state_problem(chain.treebank, chain.settings, state._replace(**changed))

    assert problem() is None
    trees = state.trees.copy()
    trees[chain.treebank.node_start[1]] |= 2  # The second sentence has a single tree.
    assert problem(trees=trees) == "trees has no tree of sentence 2"
    assert problem(sweep=-1) == "sweep or expand is out of range"
    for beta in (0.0, 1.0, np.nan):
        expand = state.expand.copy()
        expand[-1] = beta
        assert problem(expand=expand) == "sweep or expand is out of range"
    assert problem(expand=state.expand[:-1]).startswith("expand is float64 (")


@pytest.mark.parametrize("name", FORESTS)
def test_first_trees_are_any_of_their_forests(name, rng):
    chain = forest_chain(name)
    trees = {edges_of(codes) for codes in forest_posterior(name, "uniform", 2.0, 0.3)}
    assert len(trees) > 1
    assert {edges_of(codes_of(chain, chain.kernel.init(rng, None))) for _ in range(300)} == trees


def edges_of(codes: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Codes without their cut bits."""
    return tuple(tuple(code >> 1 for code in each) for each in codes)


def test_orders_are_all_equally_likely(rng):
    seen = Counter()
    for _ in range(6000):
        order = np.arange(3)
        shuffle(rng, order)
        seen[tuple(order.tolist())] += 1
    assert len(seen) == 6
    # 1,000 of each, of which 150 are over five deviations.
    assert max(abs(times - 1000) for times in seen.values()) < 150
