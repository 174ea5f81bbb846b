"""Type-based moves of the learner, compiled: `core.fragments.type_moves` on sentence pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scfg_sampler.core.fragments.restaurant import Restaurants
from scfg_sampler.core.fragments.type_moves import (
    SiteTrees,
    TypeClasses,
    TypeSites,
    resample_all_classes,
    resample_classes,
    scan_sites,
)
from scfg_sampler.core.jit import by_reference, kernel

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.choice_trees import ChoiceForest  # noqa: F401
from scfg_sampler.forest.trees import SentenceForest  # noqa: F401
from scfg_sampler.learner.model import AnyModel
from scfg_sampler.learner.passes import Walk

__all__ = ["resample_types"]


@kernel
def _list_sites(walk, trees, sites):
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    return scan_sites(forest, work, SiteTrees(corpus, walk.tree_start, trees), sites)


@kernel
def _resample(rng, walk, model, restaurants, trees, classes, first):
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    model, restaurants = by_reference(model), by_reference(restaurants)
    site_trees = by_reference(SiteTrees(corpus, walk.tree_start, trees))
    references = TypeClasses(by_reference(classes.sites), classes.order, by_reference(classes.scratch))
    all_classes = by_reference(references)
    return resample_classes(rng, forest, model, restaurants, work, site_trees, all_classes, first)


def resample_types(
    rng: np.random.Generator,
    walk: Walk,
    model: AnyModel,
    restaurants: Restaurants,
    trees: np.ndarray,
    with_room: Callable[[Restaurants, int], Restaurants],
) -> Restaurants:
    """The restaurants after all classes of two sites or more have been resampled.

    Parameters
    ----------
    rng : numpy.random.Generator
    walk : Walk
    model : RuleModel
    restaurants : Restaurants
        Changed, or replaced by larger ones.
    trees : uint16
        Changed.
    with_room : callable
        Given restaurants and a number of rules to come, restaurants that have room for them.
    """

    def scan(sites: TypeSites) -> int:
        return _list_sites(walk, trees, sites)

    def resample(restaurants: Restaurants, classes: TypeClasses, first: int) -> int:
        return _resample(rng, walk, model, restaurants, trees, classes, first)

    return resample_all_classes(scan, resample, restaurants, with_room)
