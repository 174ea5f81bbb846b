"""What a chain has kept of its sweeps, and how often each tree was drawn.

A tree's share is the number of its draws over the number of draws of sentences with its words. With sweeps
cut into blocks of equal length the shares of the blocks give the error of the share, correlations included
(batch means). Draws of the sink approach may carry weights, so that the same sweeps answer for other
approaches.

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

__all__ = ["Kept", "Tally", "TreeShare", "add_block", "empty_tally", "merge_tallies", "tree_shares"]

MOST_TREES = 100_000
"""Of so many trees at the most the draws are counted; those that turn up later are not."""


class Tally(NamedTuple):
    """Counted trees.

    Attributes
    ----------
    trees : Trees
        Different ones.
    counts, squares : float64, shape (trees,)
        The draws of each, and the sum over blocks of the squared number in a block; of a shorter block, times
        the length of others over its own.
    weights : float64, shape (trees, 2)
        The sums of the weights of the sweeps that drew each, for only-tight and renormalise; the latter
        divided by exp(log_scale).
    draws, blocks : int
        Sweeps and blocks counted.
    total_weights : float64, shape (2,)
        Of all sweeps.
    log_scale : float
    """

    trees: Trees
    counts: np.ndarray
    squares: np.ndarray
    weights: np.ndarray
    draws: int
    blocks: int
    total_weights: np.ndarray
    log_scale: float


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
    all_rejections : int
        Of all sweeps, those of the burn-in included.
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
    all_rejections: int
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
    return Tally(none, np.zeros(0), np.zeros(0), np.zeros((0, 2)), 0, 0, np.zeros(2), -math.inf)


def add_block(
    tally: Tally,
    trees: Trees,
    num_sentences: int,
    log_z: np.ndarray,
    num_trees: int,
    length: int | None = None,
) -> Tally:
    """The tally with the trees of a block of sweeps.

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
    length : int, optional
        Sweeps of other blocks, where burn-in took some of this one's.
    """
    group, first = group_rows(trees.start, trees.rules)
    size = len(first)
    counts = np.bincount(group, minlength=size).astype(float)
    known = ~np.isnan(log_z)
    log_weights = np.where(known, -num_trees * log_z, -np.inf)
    log_scale = float(log_weights.max(initial=-np.inf))
    per_sweep = np.zeros((len(log_z), 2))
    per_sweep[:, 0] = log_z == 0.0
    per_sweep[known, 1] = np.exp(log_weights[known] - log_scale)
    repeated = np.repeat(per_sweep, num_sentences, axis=0)
    weights = np.stack([np.bincount(group, column, minlength=size) for column in repeated.T], axis=1)
    different = Trees(*take_rows(trees.start, trees.rules, first))
    squares = counts**2 * ((length or len(log_z)) / len(log_z))
    block = Tally(different, counts, squares, weights, len(log_z), 1, per_sweep.sum(axis=0), log_scale)
    return merge_tallies([tally, block])


def merge_tallies(tallies: list[Tally]) -> Tally:
    """One tally of all draws; of new trees only as many as there is room for."""
    tallies = [tally for tally in tallies if tally.draws]
    if not tallies:
        return empty_tally()
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
    counts, squares = (
        np.bincount(group, np.concatenate([getattr(tally, name) for tally in tallies]), minlength=size)
        for name in ("counts", "squares")
    )
    weights = np.stack([np.bincount(group, column, minlength=size) for column in weights.T], axis=1)
    keep = first[:MOST_TREES]
    totals = sum(tally.total_weights * factor for tally, factor in zip(tallies, factors, strict=True))
    return Tally(
        Trees(*take_rows(trees.start, trees.rules, keep)),
        counts[:MOST_TREES],
        squares[:MOST_TREES],
        weights[:MOST_TREES],
        sum(tally.draws for tally in tallies),
        sum(tally.blocks for tally in tallies),
        np.asarray(totals, float),
        log_scale,
    )


def tree_shares(
    grammar: Grammar, data: Data, tally: Tally, most: int = 1000, length: int | None = None
) -> list[TreeShare]:
    """The most frequent trees with their shares, largest first.

    The error is NaN with fewer than 20 blocks; the shares of other approaches where no sweep has a weight.
    With c draws of a tree in a block of L sweeps, p its share and N sweeps in B blocks, the squared error is

        Σ (c − p L)² / L / (B − 1) / N = (Σ c² / L − p² N) / (B − 1) / N.

    Parameters
    ----------
    grammar : Grammar
    data : Data
    tally : Tally
    most : int
    length : int, optional
        Sweeps of a block, those aside of which burn-in took some; by default all are as long.
    """
    whole = length or tally.draws / max(tally.blocks, 1)
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
        error = math.nan
        if tally.blocks >= 20:
            spread = tally.squares[tree] / (whole * tally.draws * times**2) - share**2
            # What is drawn always leaves only what rounding does.
            error = math.sqrt(max(spread, 0.0) / (tally.blocks - 1)) if spread > 1e-12 * share**2 else 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            others = tally.weights[tree] / tally.total_weights / times
        text = format_tree(grammar, trees.rules[trees.start[row] : trees.start[row + 1]])
        shares.append(TreeShare(text, float(share), error, *map(float, others)))
    return shares
