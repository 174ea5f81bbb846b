"""Chains on small treebanks whose states have a seating, and the probabilities of these states."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Hashable

import numpy as np

from monolingual.tsg.sampler import TsgState
from tests.core.fragments.seatings import sit, table_sizes
from tests.monolingual.tsg.treebanks import TREEBANKS, Chain, chain_of, cuts_of, start_at, tree_of
from tests.oracles.elementary_trees import derivations, elementary_trees, seating_posterior

__all__ = ["seated_at", "seating_of", "seating_posterior_of"]


def seating_posterior_of(
    name: str, base: str, discount: float, concentration: float = 2.0, stop: float = 0.3
) -> dict:
    """The exact posterior of cut bits and seatings."""
    trees = [tree_of(text) for text in TREEBANKS[name]]
    return seating_posterior(trees, base, concentration, defaultdict(lambda: stop), discount)


@functools.cache
def _dishes(name: str) -> dict[tuple, int]:
    """The fingerprint of every elementary tree: that which is seated in the same derivations as often."""
    chain = chain_of(name)
    trees = [tree_of(text) for text in TREEBANKS[name]]
    spelled: dict[tuple, list] = defaultdict(list)
    seated: dict[int, list] = defaultdict(list)
    for number, cuts in enumerate(derivations(trees)):
        pairs = zip(trees, cuts, strict=True)
        for fragment, count in Counter(e for pair in pairs for e in elementary_trees(*pair)).items():
            spelled[fragment].append((number, count))
        for dish, sizes in table_sizes(start_at(chain, cuts, np.random.default_rng(0)).restaurants):
            seated[dish].append((number, sum(sizes)))
    by_use = {tuple(uses): dish for dish, uses in seated.items()}
    assert len(by_use) == len(seated) == len(spelled)
    return {fragment: by_use[tuple(uses)] for fragment, uses in spelled.items()}


def seated_at(name: str, chain: Chain, state: tuple, _: object) -> TsgState:
    """The sampler's own form of a state of `seating_posterior_of`."""
    cuts, seating = state
    found = start_at(chain, cuts, np.random.default_rng(0))
    sit(found.restaurants, tuple((_dishes(name)[fragment], sizes) for fragment, sizes in seating))
    return found


def seating_of(name: str, chain: Chain, state: TsgState) -> Hashable:
    """The state of `seating_posterior_of` that the sampler's state is."""
    spelled = {dish: fragment for fragment, dish in _dishes(name).items()}
    sizes = frozenset((spelled[dish], tables) for dish, tables in table_sizes(state.restaurants))
    return cuts_of(chain, state), sizes
