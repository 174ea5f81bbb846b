"""Passes over parts of a corpus: a few sentences, or shards of it that others sweep, counting their rules.

A shard is a part of the corpus, sentence after sentence, with about as many nodes of derivations as any
other. `sweep_shard` and `collect_part` are pure functions, which an executor may do anywhere and as often as
it likes:

    shard, settings, visit, counts at the start, derivations  →  new derivations, change of the counts
    shard, derivations  →  their rules and nodes, counted

The fact a newcomer would get wrong: word ids, base weights and the room for one sentence are those of the
whole corpus. A shard that were a corpus of its own would spell its rules in other fingerprints.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core.arrays.wire import own
from scfg_sampler.core.fragments.restaurant import Restaurants
from scfg_sampler.core.fragments.room import with_room_for_visits
from scfg_sampler.core.fragments.sampler import TopDown
from scfg_sampler.core.fragments.shards import Before, Changes, changes_since, restored
from scfg_sampler.core.fragments.tree import DIVIDE_BY_TREES, IGNORE_DENSITY
from scfg_sampler.forest.attachments import WithBoxes
from scfg_sampler.forest.implicit import CorpusArrays
from scfg_sampler.forest.typed_moves import WithTypes
from scfg_sampler.learner.collecting import new_collector, packed
from scfg_sampler.learner.forest_bank import Extent, ForestBank, walk_over
from scfg_sampler.learner.model import AnyModel
from scfg_sampler.learner.passes import Walk, collect_sentences, propose_sentences, sweep_sentences
from scfg_sampler.learner.settings import LearnerSettings, dishes
from scfg_sampler.rules.store import RuleStore

__all__ = [
    "Collected",
    "Shard",
    "ShardResult",
    "Visit",
    "WholeResult",
    "collect_part",
    "set_switches",
    "shard_of",
    "sweep_sentence_range",
    "sweep_shard",
    "sweep_whole",
]


class Shard(NamedTuple):
    """What a sweep must know of a part of a corpus."""

    corpus: CorpusArrays
    tree_start: np.ndarray
    """int64 (S + 1,): where each of its sentences' derivation begins among its own."""
    extent: Extent
    """Of the whole corpus."""
    max_cut_span: int
    """As in `LearnerSettings`."""


class Visit(NamedTuple):
    """What one sweep does, to every shard alike."""

    model: AnyModel
    highest: int
    """The highest level that is sampled."""
    temperature: float


class ShardResult(NamedTuple):
    """What a sweep over a shard comes to."""

    trees: np.ndarray
    """Its derivations, as in `LearnerState`."""
    changes: Changes
    counters: np.ndarray
    """int64: those of `core.fragments.tree.Workspace`."""


class WholeResult(NamedTuple):
    """What an exact sweep comes to, over a corpus in one shard."""

    trees: np.ndarray
    restaurants: Restaurants
    rng: dict[str, Any]
    """The state of the generator's bits."""
    counters: np.ndarray
    """As in `ShardResult`."""


class Collected(NamedTuple):
    """What the derivations of some sentences of a shard come to."""

    rules: RuleStore
    """In the order in which they were met, without a hash table."""
    node: np.ndarray
    """int64 (K,): nodes in the trees, ascending, as rows of `forest_bank.node_counts` from the first sentence
    on; (0,) if they were not asked for."""
    times: np.ndarray
    """int32 (K, 2): how often they are in the tree, and how often cut."""


def shard_of(bank: ForestBank, arrays: CorpusArrays, max_cut_span: int, sentences: tuple[int, int]) -> Shard:
    """The part of a corpus that holds some sentences.

    Parameters
    ----------
    bank : ForestBank
    arrays : CorpusArrays
        Of the whole corpus; where there is no need to copy, the shard's are views of them.
    max_cut_span : int
    sentences : pair of int
        As `shard_ranges` gives them.
    """
    first, stop = sentences
    alignments, number = (bank.choice.alignments if bank.choice else 1), bank.num_sentences
    # Pair s under alignment a is sentence a S + s of the corpus, and of the shard in the same way.
    blocks = [(first + a * number, stop + a * number) for a in range(alignments)]
    parts: dict[str, np.ndarray] = {}
    ragged = [("source_start", "source"), ("target_start", "target"), ("link_start", "links")]
    if len(arrays.label_start):
        ragged.append(("label_start", "labels"))
    for start, values in ragged:
        rows = _rows(getattr(arrays, start), getattr(arrays, values), blocks)
        parts |= dict(zip((start, values), rows, strict=True))
    corpus = arrays._replace(**parts)
    tree_start = bank.tree_start[first : stop + 1] - bank.tree_start[first]
    return Shard(corpus, tree_start, bank.extent, max_cut_span)


def _rows(
    start: np.ndarray, values: np.ndarray, blocks: list[tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of the rows of a ragged array, as one."""
    lengths = [np.diff(start[first : stop + 1]) for first, stop in blocks]
    parts = [values[start[first] : start[stop]] for first, stop in blocks]
    starts = np.r_[0, np.cumsum(np.concatenate(lengths))].astype(start.dtype)
    return starts, parts[0] if len(parts) == 1 else np.concatenate(parts)


def sweep_shard(
    shard: Shard,
    settings: LearnerSettings,
    visit: Visit,
    before: Before,
    trees: np.ndarray,
    seed: int,
) -> ShardResult:
    """What one sweep makes of a shard, against the counts with which all shards began it.

    Parameters
    ----------
    shard : Shard
    settings : LearnerSettings
    visit : Visit
    before : Before
    trees : uint16 or uint32
        Its derivations.
    seed : int
        Of all that is drawn.
    """
    walk = walk_over(own(shard.corpus), own(shard.tree_start), shard.extent, shard.max_cut_span)
    set_switches(walk, settings, visit.temperature)
    before, after = own(before), trees.copy()
    sentences = 0, len(shard.tree_start) - 1
    found = sweep_sentence_range(
        np.random.default_rng(seed), walk, settings, own(visit), restored(before), after, sentences
    )
    return ShardResult(after, changes_since(before, found), walk.work.counters.copy())


def sweep_whole(
    shard: Shard,
    settings: LearnerSettings,
    visit: Visit,
    restaurants: Restaurants,
    trees: np.ndarray,
    rng: np.random.Generator,
) -> WholeResult:
    """What one sweep makes of a corpus in one shard: bit for bit what it makes where it is driven from.

    Parameters
    ----------
    shard : Shard
        All sentences.
    settings : LearnerSettings
    visit : Visit
    restaurants : Restaurants
        With their free slots, since sums go over dishes in the order of slots.
    trees : uint16 or uint32
    rng : numpy.random.Generator
        Neither of these is changed.
    """
    walk = walk_over(own(shard.corpus), own(shard.tree_start), shard.extent, shard.max_cut_span)
    set_switches(walk, settings, visit.temperature)
    before = Restaurants(*(array.copy() for array in restaurants))
    after, draws = trees.copy(), copy.deepcopy(rng)
    sentences = 0, len(shard.tree_start) - 1
    found = sweep_sentence_range(draws, walk, settings, own(visit), before, after, sentences)
    return WholeResult(after, found, dict(draws.bit_generator.state), walk.work.counters.copy())


def collect_part(
    shard: Shard, trees: np.ndarray, sentences: tuple[int, int], node_start: np.ndarray
) -> Collected:
    """The rules, and the nodes, in the derivations that some states have of some sentences of a shard.

    Parameters
    ----------
    shard : Shard
    trees : uint16 or uint32 (T, N)
        The derivations of these sentences in T states.
    sentences : pair of int
        The first one, and the one after the last, of the shard.
    node_start : int64
        Of these sentences, as in `ForestBank`, but from 0 on; (0,) if nodes are not asked for.
    """
    first, stop = sentences
    corpus, number = own(shard.corpus), len(shard.tree_start) - 1
    walk = walk_over(corpus, shard.tree_start - shard.tree_start[first], shard.extent, 0)
    links = np.diff(corpus.link_start).reshape(-1, number).sum(axis=0)
    rows = np.zeros(number + 1, np.int64)
    nodes = np.zeros((0, 2), np.int64)
    if len(node_start):
        rows[first : stop + 1] = node_start
        nodes = np.zeros((int(node_start[-1]), 2), np.int64)
    collector = new_collector(*shard.extent.longest, int(links[first:stop].max(initial=0)))
    for state in own(trees):
        collector = collect_sentences(walk, state, collector, nodes, rows, sentences)
    seen = np.flatnonzero(nodes[:, 0])
    return Collected(packed(collector).store, seen, nodes[seen].astype(np.int32))


def set_switches(walk: Walk, settings: LearnerSettings, heat: float) -> None:
    """Tell a workspace what the settings say of weighing options.

    Parameters
    ----------
    walk : Walk
    settings : LearnerSettings
    heat : float
        The temperature.
    """
    walk.work.counters[IGNORE_DENSITY] = not settings.density_factor
    walk.work.counters[DIVIDE_BY_TREES] = settings.divide_by_trees
    walk.work.inverse_temperature[0] = 1.0 / heat


def sweep_sentence_range(
    rng: np.random.Generator,
    walk: Walk,
    settings: LearnerSettings,
    visit: Visit,
    restaurants: Restaurants,
    trees: np.ndarray,
    sentences: tuple[int, int],
) -> Restaurants:
    """The restaurants after some sentences have been visited, one after the other.

    Parameters
    ----------
    rng : numpy.random.Generator
    walk : Walk
        Its switches set.
    settings : LearnerSettings
    visit : Visit
    restaurants : Restaurants
        Changed, or replaced by larger ones.
    trees : uint16 or uint32
        All derivations of the walk; changed.
    sentences : pair of int
        The first one, and the one after the last.
    """
    top_down: type[TopDown | WithBoxes | WithTypes] = WithTypes if settings.types > 1 else TopDown
    order = (WithBoxes if settings.unaligned == "free" else top_down)(
        visit.highest, settings.order == "breadth-first"
    )

    def propose(restaurants: Restaurants, first: int) -> int:
        return propose_sentences(rng, walk, visit.model, restaurants, trees, (first, sentences[1]))

    def sweep(restaurants: Restaurants, first: int) -> int:
        return sweep_sentences(rng, walk, visit.model, restaurants, trees, (first, sentences[1]), order)

    # Which alignment holds for a sentence is decided by whole trees; the rest of the tree, node by node.
    moves = [propose] if settings.operator == "rejection" else [sweep]
    if settings.choose == "sentence" and settings.operator != "rejection":
        moves = [propose, sweep]
    for move in moves:
        first = sentences[0]
        while first < sentences[1]:
            size = int(walk.tree_start[first + 1] - walk.tree_start[first])
            restaurants = with_room_for_visits(restaurants, dishes(size, settings))
            first = move(restaurants, first)
    return restaurants
