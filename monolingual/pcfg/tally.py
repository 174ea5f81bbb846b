"""What a chain has kept of its sweeps, and how often each tree was drawn.

A tree's share is the number of its draws over the number of draws of sentences with its words. The sweeps of
a chain are cut into batches of equal length, of which two become one whenever there would be too many. The
means of the batches, with what correlation is left between them (`diagnostics.error_of_mean`), give the error
of the share, also where chains mix so slowly that a batch is shorter than their memory. Draws of the sink
approach may carry weights, so that the same sweeps answer for other approaches.

The fact a newcomer would get wrong: the weights Z⁻ⁿ span many orders of magnitude; sums are kept relative to
the largest weight so far.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.grammar import Grammar
from monolingual.pcfg.model import Data
from monolingual.pcfg.tree_draws import Trees
from monolingual.pcfg.trees import format_tree, yields
from scfg_sampler.core.arrays.ragged import group_rows, take_rows
from scfg_sampler.core.chains.diagnostics import error_of_mean

__all__ = [
    "Batches",
    "Kept",
    "Tally",
    "TreeShare",
    "add_block",
    "empty_tally",
    "merge_tallies",
    "tree_shares",
]

MOST_TREES = 100_000
"""Of so many trees at the most the draws are counted; those that turn up later are not."""

MOST_BATCHES = 128
"""Of a chain."""
FEWEST_BATCHES = 20
"""With fewer nothing is said of errors."""
_SPARE = 4096


class Batches(NamedTuple):
    """How often trees were drawn in batches of sweeps; those in which a tree was not drawn are left out.

    Attributes
    ----------
    length : int
        Sweeps of a batch, a power of two.
    sweeps : int64, shape (chains,)
        Of each chain; its last batch may be shorter.
    tree, number : int32, shape (entries,)
        Batch b of chain c, both from 0, has the number c · MOST_BATCHES + b.
    draws : int64, shape (entries,)
        A tree can have several entries for a batch, which count together.
    added : int
        Entries that there were when those of each tree and batch were last added up.
    """

    length: int
    sweeps: np.ndarray
    tree: np.ndarray
    number: np.ndarray
    draws: np.ndarray
    added: int


class Tally(NamedTuple):
    """Counted trees.

    Attributes
    ----------
    trees : Trees
        Different ones.
    counts : float64, shape (trees,)
        The draws of each.
    weights : float64, shape (trees, 2)
        The sums of the weights of the sweeps that drew each, for only-tight and renormalise; the latter
        divided by exp(log_scale).
    draws : int
        Sweeps counted.
    total_weights : float64, shape (2,)
        Of all sweeps.
    log_scale : float
    batches : Batches
    """

    trees: Trees
    counts: np.ndarray
    weights: np.ndarray
    draws: int
    total_weights: np.ndarray
    log_scale: float
    batches: Batches


class Kept(NamedTuple):
    """What a chain has kept so far. D draws.

    Attributes
    ----------
    probs : float64, shape (D, R)
    log_z, log_joints : float64, shape (D,)
    rejections : int64, shape (D,)
    scores : float64, shape (scored sweeps, 3)
        Precision, recall, F1.
    tally : Tally
    trees : Trees
        Of the last sweep.
    sweeps : int
        That were made, those of the burn-in included.
    all_rejections, all_proposals : int
        Of all these.
    seconds : float
        Of processor time.
    """

    probs: np.ndarray
    log_z: np.ndarray
    log_joints: np.ndarray
    rejections: np.ndarray
    scores: np.ndarray
    tally: Tally
    trees: Trees
    sweeps: int
    all_rejections: int
    all_proposals: int
    seconds: float


class TreeShare(NamedTuple):
    """A tree, its share of the draws of its words, the error of that, and its shares in other approaches."""

    tree: str
    share: float
    error: float
    only_tight: float
    renormalise: float


def empty_tally() -> Tally:
    """A tally of nothing."""
    none = Trees(np.zeros(1, np.int64), np.zeros(0, np.int32))
    nowhere = np.zeros(0, np.int32)
    batches = Batches(1, np.zeros(1, np.int64), nowhere, nowhere, np.zeros(0, np.int64), 0)
    return Tally(none, np.zeros(0), np.zeros((0, 2)), 0, np.zeros(2), -math.inf, batches)


def add_block(tally: Tally, trees: Trees, num_sentences: int, log_z: np.ndarray, num_trees: int) -> Tally:
    """The tally of a chain with the trees of its next sweeps.

    Parameters
    ----------
    tally : Tally
    trees : Trees
        Of all sentences, sweep by sweep.
    num_sentences : int
    log_z : float64, shape (sweeps,)
        log Z of each sweep's θ; NaN for sweeps without weights.
    num_trees : int
        n of the weights Z⁻ⁿ.
    """
    group, first = group_rows(trees.start, trees.rules)
    size, sweeps = len(first), len(log_z)
    counts = np.bincount(group, minlength=size).astype(float)
    known = ~np.isnan(log_z)
    log_weights = np.where(known, -num_trees * log_z, -np.inf)
    log_scale = float(log_weights.max(initial=-np.inf))
    per_sweep = np.zeros((sweeps, 2))
    per_sweep[:, 0] = log_z == 0.0
    per_sweep[known, 1] = np.exp(log_weights[known] - log_scale)
    repeated = np.repeat(per_sweep, num_sentences, axis=0)
    weights = np.stack([np.bincount(group, column, minlength=size) for column in repeated.T], axis=1)
    different = Trees(*take_rows(trees.start, trees.rules, first))
    length = tally.batches.length
    while tally.draws + sweeps > MOST_BATCHES * length:
        length *= 2
    number = np.repeat((tally.draws + np.arange(sweeps)) // length, num_sentences).astype(np.int32)
    each = np.ones(len(group), np.int64)
    batches = _added_up(Batches(length, np.array([sweeps]), group, number, each, 0))
    block = Tally(different, counts, weights, sweeps, per_sweep.sum(axis=0), log_scale, batches)
    parts = [tally, block] if tally.draws else [block]
    return _merge(parts, [0] * len(parts), np.array([tally.draws + sweeps]))


def merge_tallies(tallies: list[Tally]) -> Tally:
    """One tally of the draws of other chains; of new trees only as many as there is room for."""
    tallies = [tally for tally in tallies if tally.draws]
    if not tallies:
        return empty_tally()
    chains = [tally.batches.sweeps for tally in tallies]
    before = np.cumsum([0, *map(len, chains)])[:-1]
    return _merge(tallies, before.tolist(), np.concatenate(chains))


def _merge(tallies: list[Tally], chains: list[int], sweeps: np.ndarray) -> Tally:
    """One tally of all draws; of each tally the number of its first chain; of each chain its sweeps."""
    offsets = np.cumsum([0, *(len(tally.trees.rules) for tally in tallies)])
    starts = [tally.trees.start[1:] + offset for tally, offset in zip(tallies, offsets, strict=False)]
    trees = Trees(np.concatenate([[0], *starts]), np.concatenate([tally.trees.rules for tally in tallies]))
    group, first = group_rows(trees.start, trees.rules)
    log_scale = max(tally.log_scale for tally in tallies)
    factors = [
        np.array([1.0, math.exp(tally.log_scale - log_scale) if tally.log_scale > -math.inf else 0.0])
        for tally in tallies
    ]
    weights = np.concatenate([tally.weights * factor for tally, factor in zip(tallies, factors, strict=True)])
    size = len(first)
    counts = np.bincount(group, np.concatenate([tally.counts for tally in tallies]), minlength=size)
    weights = np.stack([np.bincount(group, column, minlength=size) for column in weights.T], axis=1)
    keep = first[:MOST_TREES]
    totals = sum(tally.total_weights * factor for tally, factor in zip(tallies, factors, strict=True))
    return Tally(
        Trees(*take_rows(trees.start, trees.rules, keep)),
        counts[:MOST_TREES],
        weights[:MOST_TREES],
        sum(tally.draws for tally in tallies),
        np.asarray(totals, float),
        log_scale,
        _merge_batches(tallies, group, chains, sweeps),
    )


def _merge_batches(tallies: list[Tally], group: np.ndarray, chains: list[int], sweeps: np.ndarray) -> Batches:
    """The batches of all, as long as the longest; `group` has the new numbers of the trees of all tallies."""
    length = max(tally.batches.length for tally in tallies)
    columns, first = [], 0
    for tally, chain in zip(tallies, chains, strict=True):
        found, number = tally.batches, tally.batches.number
        if chain or found.length < length:
            chain_of, batch = np.divmod(number, MOST_BATCHES)
            number = (chain + chain_of) * MOST_BATCHES + batch // (length // found.length)
        # Trees of the first tally come first in the new one.
        tree = group[first + found.tree] if first else found.tree
        columns.append((tree, number, found.draws))
        first += len(tally.counts)
    tree, number, draws = map(np.concatenate, zip(*columns, strict=True))
    batches = Batches(length, sweeps, tree, number, draws, tallies[0].batches.added)
    if first > MOST_TREES:
        kept = tree < MOST_TREES
        batches = batches._replace(tree=tree[kept], number=number[kept], draws=draws[kept])
    # Not every time, which would take long.
    return _added_up(batches) if len(batches.tree) > 2 * batches.added + _SPARE else batches


def _added_up(batches: Batches) -> Batches:
    """The same by trees, with one entry for those of a tree in a batch."""
    order = np.lexsort((batches.number, batches.tree))
    tree, number = batches.tree[order], batches.number[order]
    first = np.ones(len(order), bool)
    first[1:] = (tree[1:] != tree[:-1]) | (number[1:] != number[:-1])
    at = np.flatnonzero(first)
    draws = np.add.reduceat(batches.draws[order], at) if len(at) else batches.draws
    return batches._replace(tree=tree[at], number=number[at], draws=draws, added=len(at))


def tree_shares(grammar: Grammar, data: Data, tally: Tally, most: int = 1000) -> list[TreeShare]:
    """The most frequent trees with their shares, largest first.

    The error is NaN where a chain has fewer than 20 batches; the shares of other approaches where no sweep
    has a weight.

    Parameters
    ----------
    grammar : Grammar
    data : Data
    tally : Tally
    most : int
    """
    tally = tally._replace(batches=_added_up(tally.batches))
    order = np.argsort(-tally.counts, kind="stable")[:most]
    trees = Trees(*take_rows(tally.trees.start, tally.trees.rules, order))
    words, start = yields(grammar, trees)
    sentences: dict[bytes, int] = {}
    for at in range(len(data.start) - 1):
        key = data.words[data.start[at] : data.start[at + 1]].tobytes()
        sentences[key] = sentences.get(key, 0) + 1
    shares = []
    for row, tree in enumerate(order):
        times = sentences[words[start[row] : start[row + 1]].tobytes()]
        share = tally.counts[tree] / (tally.draws * times)
        error = _error(tally, int(tree), times)
        with np.errstate(invalid="ignore", divide="ignore"):
            others = tally.weights[tree] / tally.total_weights / times
        text = format_tree(grammar, trees.rules[trees.start[row] : trees.start[row + 1]])
        shares.append(TreeShare(text, float(share), error, *map(float, others)))
    return shares


def _batches_told_of(batches: Batches) -> tuple[np.ndarray, int]:
    """Chains that tell of errors, and how many whole batches of each.

    A chain that was stopped before half of the longest tells nothing; the others are cut to the shortest.
    """
    whole = batches.sweeps // batches.length
    chains = np.flatnonzero(2 * whole >= whole.max())
    return chains, int(whole[chains].min())


def _error(tally: Tally, tree: int, times: int) -> float:
    """The error of the share of a tree of a sentence that is there so many times; NaN where it is not known.

    Batches are added up.
    """
    batches = tally.batches
    chains, whole = _batches_told_of(batches)
    if whole < FEWEST_BATCHES:
        return math.nan
    if tally.counts[tree] == tally.draws * times:
        return 0.0
    found = slice(*np.searchsorted(batches.tree, [tree, tree + 1]))
    drawn = np.zeros((len(batches.sweeps), MOST_BATCHES))
    drawn.flat[batches.number[found]] = batches.draws[found]
    means = drawn[chains, :whole] / (batches.length * times)
    told = error_of_mean(means) * math.sqrt(means.size * batches.length / tally.draws)
    return told or math.nan  # Of a tree that is drawn, but in none of these batches, they do not tell.
