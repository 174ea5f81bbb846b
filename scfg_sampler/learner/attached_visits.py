"""Choices of a visit where unaligned words are chosen along: `forest.attachments`, compiled one by one.

A choice of a cut has one option for leaving a node uncut and one for every value of that side of its box
which was drawn. Between drafting and choosing the fragments are out of the restaurants, so that it can be
read how often all others use the rules.

The fact a newcomer would get wrong: the options of one visit are those of one side, and the weight of cutting
is multiplied by the number of values that the other sides could have been drawn with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.fragments.restaurant import Restaurants, dish_customers
from scfg_sampler.core.fragments.rules import slot_of
from scfg_sampler.core.fragments.tree import FREE, open_options
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.forest.attachments import (
    choose_attached_cut,
    draft_attached_cuts,
    lay_attached_cut,
    resample_attached_edge,
)

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.trees import SentenceForest
from scfg_sampler.learner.model import AnyModel
from scfg_sampler.learner.passes import Walk

__all__ = ["DraftedCuts", "attached_edge", "chosen_cut", "drafted_cuts", "lay_cut"]


class DraftedCuts(NamedTuple):
    """What can be chosen at a node: to leave it uncut, unless it must be cut, and values of a side."""

    side: int
    """0 and 1 where its box begins and ends on the source, 2 and 3 on the target."""
    size: int
    """Values of that side."""
    first: int
    current: int
    """The present option: 0 uncut, else 1 and the place among the values."""
    log_others: float
    seen: np.ndarray
    """int64 (1 + 2 size,): how often all other derivations, and the rest of this one, use the whole rule, and
    of each value the upper and the lower one."""


def drafted_cuts(
    rng: np.random.Generator, walk: Walk, model: AnyModel, restaurants: Restaurants, node: int
) -> DraftedCuts | None:
    """The options of a node that is not the root, drawn and out of the restaurants; None if it has no side
    with a choice, and nothing was done."""
    assert isinstance(walk.forest, SentenceForest)
    seen = np.zeros(3 + 2 * walk.forest.runs.shape[1], np.int64)  # A side ends within the sentence.
    side, size, first, current, log_others = _draft(rng, walk, model, restaurants, node, seen)
    if size == 0:
        return None
    return DraftedCuts(side, size, first, current, log_others, seen[: 1 + 2 * size])


def chosen_cut(
    rng: np.random.Generator,
    walk: Walk,
    model: AnyModel,
    restaurants: Restaurants,
    node: int,
    drafted: DraftedCuts,
) -> tuple[int, np.ndarray]:
    """Choose: the option, and the share of each, from that of leaving the node uncut on."""
    chosen = int(_choose(rng, walk, model, restaurants, node, tuple(drafted[:5])))
    weights = walk.work.log_weights[: drafted.size + 1].copy()  # Relative to the largest by now.
    return chosen, weights / weights.sum()


def lay_cut(walk: Walk, node: int, drafted: DraftedCuts, option: int) -> None:
    """Lay out an option, so that its rules can be spelled."""
    _lay(walk, node, drafted.side, option, drafted.first)


@kernel
def attached_edge(rng, walk, model, restaurants, node):
    """Choose the edge of a node, with all below; how many options it had."""
    forest, work = by_reference(walk.forest), by_reference(walk.work)
    resample_attached_edge(rng, forest, by_reference(model), by_reference(restaurants), work, node)
    return open_options(forest, work, node)


@kernel
def _draft(rng, walk, model, restaurants, node, seen):
    forest, work = by_reference(walk.forest), by_reference(walk.work)
    model, restaurants = by_reference(model), by_reference(restaurants)
    drafted = draft_attached_cuts(rng, forest, model, restaurants, work, node)
    if drafted[1] > 0:
        for place in range(1 - work.nodes[node, FREE], 1 + 2 * drafted[1]):
            seen[place] = dish_customers(restaurants, slot_of(restaurants, work, work.option_rows[place]))
    return drafted


@kernel
def _choose(rng, walk, model, restaurants, node, drafted):
    forest, work = by_reference(walk.forest), by_reference(walk.work)
    return choose_attached_cut(
        rng, forest, by_reference(model), by_reference(restaurants), work, node, drafted
    )


@kernel
def _lay(walk, node, side, option, first):
    lay_attached_cut(by_reference(walk.forest), by_reference(walk.work), node, side, option, first)
