"""Type-based moves of the learner, compiled: `core.fragment_types` on sentence pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scfg_sampler.core.fragments.restaurant import Restaurants
from scfg_sampler.core.fragments.tree import Workspace
from scfg_sampler.core.fragments.type_moves import (
    TypeSites,
    resample_all_classes,
    resample_classes,
    scan_sites,
)
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.forest.implicit import CorpusArrays

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.trees import SentenceForest
from scfg_sampler.learner.model import RuleModel

__all__ = ["resample_types"]


@kernel
def _list_sites(forest, work, corpus, tree_start, trees, sites):
    forest, work, corpus = by_reference(forest), by_reference(work), by_reference(corpus)
    return scan_sites(forest, work, corpus, tree_start, trees, sites)


@kernel
def _resample(rng, forest, model, restaurants, work, corpus, tree_start, trees, sites, order, first, scratch):
    forest, work, corpus = by_reference(forest), by_reference(work), by_reference(corpus)
    model, restaurants, sites = by_reference(model), by_reference(restaurants), by_reference(sites)
    scratch = by_reference(scratch)
    return resample_classes(
        rng, forest, model, restaurants, work, corpus, tree_start, trees, sites, order, first, scratch
    )


def resample_types(
    rng: np.random.Generator,
    forest: SentenceForest,
    model: RuleModel,
    restaurants: Restaurants,
    work: Workspace,
    corpus: CorpusArrays,
    tree_start: np.ndarray,
    trees: np.ndarray,
    with_room: Callable[[Restaurants, int], Restaurants],
) -> Restaurants:
    """The restaurants after all classes of two sites or more have been resampled.

    Parameters
    ----------
    rng : numpy.random.Generator
    forest : SentenceForest
    model : RuleModel
    restaurants : Restaurants
        Changed, or replaced by larger ones.
    work : Workspace
    corpus : CorpusArrays
    tree_start : int64 (S + 1,)
    trees : uint16
        Changed.
    with_room : callable
        Given restaurants and a number of rules to come, restaurants that have room for them.
    """
    corpus_and_trees = corpus, tree_start, trees

    def scan(sites: TypeSites) -> int:
        return _list_sites(forest, work, *corpus_and_trees, sites)

    def resample(restaurants: Restaurants, *classes) -> int:
        return _resample(rng, forest, model, restaurants, work, *corpus_and_trees, *classes)

    return resample_all_classes(scan, resample, restaurants, with_room)
