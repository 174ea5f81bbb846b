"""Visits of sentences, one after the other, or shard by shard: what moves a chain within a sweep.

A shard is a part of the treebank. Its sentences see each other's elementary trees as they change, and those
of the other shards as they were when the sweep began; what has become of the counts is added up when all
shards are done (`core.fragments.shards`). So one shard is exact, and results do not depend on how many
threads there are.

The fact a newcomer would get wrong: the trie of elementary trees in use must hold all of those that have
customers where it is used, or Q is not what is drawn from. So each shard fills one of its own, from the
others' derivations as they were and its own as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from monolingual.tsg.blocks import BlockScratch, larger_scratch, new_block_scratch
from monolingual.tsg.cache import FragmentTrie, fill_trie, new_trie
from monolingual.tsg.forest import TreeForest, TsgModel, new_tree_forest, new_tree_workspace
from monolingual.tsg.model import log_production_probs
from monolingual.tsg.settings import TsgSettings
from monolingual.tsg.sweep import propose_sentences, shuffle, sweep_sentences
from monolingual.tsg.treebank import Treebank
from scfg_sampler.core.arrays.wire import own
from scfg_sampler.core.executors import Executor
from scfg_sampler.core.fragments.restaurant import Restaurants, grown, is_full
from scfg_sampler.core.fragments.shards import (
    Before,
    Changes,
    changes_since,
    merged,
    restored,
    shard_ranges,
    shared_counts,
)
from scfg_sampler.core.fragments.tree import ACCEPTED, CUTS_CHANGED, EDGES_CHANGED, PROPOSED, Workspace

__all__ = [
    "REPORTED",
    "Shards",
    "Visitor",
    "in_shards",
    "new_visitor",
    "visit",
    "visit_shards",
    "with_room",
    "with_room_for",
]

REPORTED = (CUTS_CHANGED, EDGES_CHANGED, PROPOSED, ACCEPTED)
"""Counters of a workspace that a sweep adds to."""


class _BlockMemory:
    """What block moves need; the scratch grows as sentences need it."""

    def __init__(self, treebank: Treebank, forest: TreeForest):
        self.trie: FragmentTrie = new_trie(forest.largest)
        self.scratch: BlockScratch = new_block_scratch(treebank)


class Visitor(NamedTuple):
    """What visits of sentences need: nothing of it changes but scratch memory, so that it is one thread's."""

    treebank: Treebank
    settings: TsgSettings
    forest: TreeForest
    """Its `log_expand` and `log_stop` are those of the state in hand."""
    work: Workspace
    model: TsgModel
    blocks: _BlockMemory | None
    """None where there are no block moves."""


class Shards(NamedTuple):
    """The P shards of a treebank."""

    executor: Executor
    """Visits them."""
    ranges: list[tuple[int, int]]
    """The first sentence of each, and the one after its last."""
    visitors: list[Visitor]
    """One for each; none where other processes visit them."""
    shared: Any
    """What stands for the treebank, the settings and ln P of productions in the arguments of their tasks."""


class _Result(NamedTuple):
    """What a sweep over a shard comes to."""

    trees: np.ndarray
    """Its derivations."""
    changes: Changes
    counters: np.ndarray
    """int64: those of its workspace."""


def new_visitor(treebank: Treebank, settings: TsgSettings) -> Visitor:
    """What the visits of one thread need.

    Parameters
    ----------
    treebank : Treebank
    settings : TsgSettings
    """
    forest = new_tree_forest(treebank, log_production_probs(treebank, settings.base))
    return _visitor(treebank, settings, forest)


def _visitor(treebank: Treebank, settings: TsgSettings, forest: TreeForest) -> Visitor:
    model = TsgModel(np.array([len(treebank.productions.labels)], np.int64))
    blocks = _BlockMemory(treebank, forest) if "block" in settings.moves else None
    return Visitor(treebank, settings, forest, new_tree_workspace(treebank), model, blocks)


def in_shards(visitor: Visitor, executor: Executor) -> Shards:
    """The treebank in as many shards as the settings say.

    Parameters
    ----------
    visitor : Visitor
        Whose weights are those of all.
    executor : Executor
    """
    bank, settings = visitor.treebank, visitor.settings
    ranges = shard_ranges(bank.node_start, settings.shards)
    if executor.is_elsewhere:
        shared = executor.share((bank, settings, visitor.forest.log_production))
        return Shards(executor, ranges, [], shared)
    # A forest knows which sentence is open; all else of it is only read.
    forests = (visitor.forest._replace(first=np.zeros(1, np.int64)) for _ in ranges)
    return Shards(executor, ranges, [_visitor(bank, settings, forest) for forest in forests], None)


def visit_shards(
    visitor: Visitor, shards: Shards, rng: np.random.Generator, restaurants: Restaurants, trees: np.ndarray
) -> Restaurants:
    """The restaurants after every sentence has been visited, in shards.

    Parameters
    ----------
    visitor : Visitor
        Its temperature and weights are those of the sweep; the counters of all shards are added to its own.
    shards : Shards
    rng : numpy.random.Generator
    restaurants : Restaurants
        Changed, or replaced by larger ones.
    trees : uint16 (N,)
        Changed.
    """
    executor, seeds = shards.executor, rng.integers(2**63, size=len(shards.ranges)).tolist()
    before, given = shared_counts(executor, restaurants), executor.share(trees.copy())
    temperature = visitor.work.inverse_temperature
    weights = visitor.forest.log_expand, visitor.forest.log_stop, temperature
    tasks = []
    for number, (seed, sentences) in enumerate(zip(seeds, shards.ranges, strict=True)):
        what = seed, before, given, sentences
        if executor.is_elsewhere:
            tasks.append(executor.submit(_visit_elsewhere, shards.shared, weights, *what))
        else:
            tasks.append(executor.submit(_visit_here, shards.visitors[number], temperature, *what))
    results: list[_Result] = [task.result() for task in tasks]
    starts = visitor.treebank.node_start
    for (first, stop), result in zip(shards.ranges, results, strict=True):
        trees[starts[first] : starts[stop]] = result.trees
        visitor.work.counters[list(REPORTED)] += result.counters[list(REPORTED)]
    return merged(rng, restaurants, [result.changes for result in results])


def _visit_here(
    visitor: Visitor,
    inverse_temperature: np.ndarray,
    seed: int,
    before: Before,
    trees: np.ndarray,
    sentences: tuple[int, int],
) -> _Result:
    """What a sweep makes of a shard, in this process."""
    visitor.work.counters[list(REPORTED)] = 0
    visitor.work.inverse_temperature[:] = inverse_temperature
    after = trees.copy()
    found = visit(visitor, np.random.default_rng(seed), restored(before), after, sentences)
    first, stop = visitor.treebank.node_start[list(sentences)].tolist()
    return _Result(after[first:stop], changes_since(before, found), visitor.work.counters.copy())


def _visit_elsewhere(
    shared: tuple[Treebank, TsgSettings, np.ndarray],
    weights: tuple[np.ndarray, np.ndarray, np.ndarray],
    seed: int,
    before: Before,
    trees: np.ndarray,
    sentences: tuple[int, int],
) -> _Result:
    """What a sweep makes of a shard, in another process, which keeps nothing."""
    treebank, settings, log_production = own(shared)
    log_expand, log_stop, inverse_temperature = own(weights)
    forest = new_tree_forest(treebank, log_production)._replace(log_expand=log_expand, log_stop=log_stop)
    visitor = _visitor(treebank, settings, forest)
    return _visit_here(visitor, inverse_temperature, seed, own(before), own(trees), sentences)


def visit(
    visitor: Visitor,
    rng: np.random.Generator,
    restaurants: Restaurants,
    trees: np.ndarray,
    sentences: tuple[int, int],
) -> Restaurants:
    """The restaurants after some sentences have been visited, by the moves that go sentence by sentence.

    Parameters
    ----------
    visitor : Visitor
    rng : numpy.random.Generator
    restaurants : Restaurants
        Changed, or replaced by larger ones.
    trees : uint16 (N,)
        Of all sentences; changed.
    sentences : pair of int
        The first one, and the one after the last.
    """
    if "single" in visitor.settings.moves:
        restaurants = _sweep(visitor, rng, restaurants, trees, sentences)
    if "block" in visitor.settings.moves:
        restaurants = _propose(visitor, rng, restaurants, trees, sentences)
    return restaurants


def _sweep(
    visitor: Visitor,
    rng: np.random.Generator,
    restaurants: Restaurants,
    trees: np.ndarray,
    sentences: tuple[int, int],
) -> Restaurants:
    """The restaurants after the nodes of every sentence have been visited."""
    order, at = _visits(visitor, rng, sentences), 0
    at_random = visitor.settings.order == "random"
    while at < len(order):
        restaurants = with_room_for(visitor, restaurants, int(order[at]))
        step = rng, visitor.forest, visitor.model, restaurants, visitor.work, trees
        at = sweep_sentences(*step, (order, at), at_random)
    return restaurants


def _propose(
    visitor: Visitor,
    rng: np.random.Generator,
    restaurants: Restaurants,
    trees: np.ndarray,
    sentences: tuple[int, int],
) -> Restaurants:
    """The restaurants after a new derivation has been proposed for every sentence."""
    blocks = visitor.blocks
    assert blocks is not None
    fill_trie(blocks.trie, visitor.forest, visitor.work, trees)
    order, at = _visits(visitor, rng, sentences), 0
    while at < len(order):
        enlarged = with_room_for(visitor, restaurants, int(order[at]))
        was_stuck, restaurants, first = enlarged is restaurants, enlarged, at
        step = rng, visitor.forest, visitor.model, restaurants, visitor.work, trees
        at = propose_sentences(*step, (order, at), (blocks.trie, blocks.scratch))
        if at == first and was_stuck:
            blocks.scratch = larger_scratch(visitor.treebank, blocks.scratch)
    return restaurants


def _visits(visitor: Visitor, rng: np.random.Generator, sentences: tuple[int, int]) -> np.ndarray:
    """The sentences in the order of this sweep."""
    order = np.arange(*sentences)
    if visitor.settings.order == "random":
        shuffle(rng, order)
    return order


def with_room_for(visitor: Visitor, restaurants: Restaurants, sentence: int) -> Restaurants:
    """Restaurants that have room for what visits of a sentence bring.

    Parameters
    ----------
    visitor : Visitor
    restaurants : Restaurants
    sentence : int
    """
    bank = visitor.treebank
    start, stop = bank.node_start[sentence : sentence + 2]
    size = int(stop - start)
    edges = int(bank.edge_start[stop] - bank.edge_start[start])
    visits = 2 if edges == size else int(visitor.forest.largest[sentence]) + 2
    return with_room(restaurants, size * visits + 8)


def with_room(restaurants: Restaurants, more: int) -> Restaurants:
    """Restaurants that have room for so many more elementary trees.

    Parameters
    ----------
    restaurants : Restaurants
    more : int
    """
    return grown(restaurants, more + 10_000) if is_full(restaurants, more) else restaurants
