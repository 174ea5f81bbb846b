"""A visit of one sentence pair by Algorithm 3: a whole derivation proposed, and what decides on it.

The steps are those of `core.fragments.rejection.resample_tree`, with the same draws; what it compares is
kept: a derivation t′ replaces t with probability min{1, P(t′) Q(t) / (P(t) Q(t′))}.

The fact a newcomer would get wrong: P is the probability of a derivation given those of all other pairs,
rule after rule, and Q that of its being proposed. A proposal is refused the more often, the better the old
derivation is for how rarely it would be proposed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.fragments.rejection import (
    StoredTree,
    _list_tree,
    _propose,
    list_rules,
    settle_tree,
)
from scfg_sampler.core.fragments.restaurant import Restaurants
from scfg_sampler.core.fragments.rules import option_weight, unseat_option
from scfg_sampler.core.fragments.sampler import find_rules
from scfg_sampler.core.fragments.tree import decode, encode_over, open_sentence
from scfg_sampler.core.jit import by_reference, kernel

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.choice_trees import ChoiceForest  # noqa: F401
from scfg_sampler.forest.trees import SentenceForest  # noqa: F401
from scfg_sampler.learner.model import AnyModel
from scfg_sampler.learner.passes import Walk, forget_stamps

__all__ = ["Proposal", "propose_derivation"]


class Proposal(NamedTuple):
    """A derivation that was proposed, beside the one that was there."""

    trees: np.ndarray
    """It, as codes."""
    log_probs: tuple[float, float]
    """ln P of the old derivation and of the new one."""
    log_proposals: tuple[float, float]
    """ln Q of the old derivation and of the new one."""
    taken: bool

    @property
    def acceptance(self) -> float:
        """The probability with which it is taken."""
        old, new = (prob - other for prob, other in zip(self.log_probs, self.log_proposals, strict=True))
        return float(np.exp(min(0.0, new - old)))


def propose_derivation(
    rng: np.random.Generator,
    walk: Walk,
    model: AnyModel,
    restaurants: Restaurants,
    trees: np.ndarray,
) -> Proposal:
    """Propose a derivation for the first pair of a walk, and take it or not.

    Parameters
    ----------
    rng : numpy.random.Generator
    walk : Walk
    model : RuleModel
    restaurants : Restaurants
        With room for the pair; changed.
    trees : uint16 or uint32
        Its derivation; changed if another is taken.
    """
    proposed, found = trees.copy(), np.zeros(4)
    taken = bool(_propose_derivation(rng, walk, model, restaurants, trees, proposed, found))
    old_prob, new_prob, old_proposal, new_proposal = found.tolist()
    return Proposal(proposed, (old_prob, new_prob), (old_proposal, new_proposal), taken)


@kernel
def _propose_derivation(rng, walk, model, restaurants, trees, proposed, found):
    """Whether it was taken; ln P of the old and of the new derivation, and ln Q of both, go to `found`."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    model, restaurants = by_reference(model), by_reference(restaurants)
    forget_stamps(work)
    open_sentence(forest, work, corpus, 0)
    size = decode(forest, work, trees, 0, 0)
    find_rules(forest, model, restaurants, work, size)
    tree = StoredTree(trees, 0, size)
    num_old = list_rules(work, size, 1)
    unseat_option(rng, model, restaurants, work, 1, num_old)
    product, logs = option_weight(rng, model, restaurants, work, 1, num_old)
    found[0] = work.inverse_temperature[0] * (elementary.log(product) + logs)
    found[2] = _propose(rng, forest, model, restaurants, work, tree, True)
    found[3] = _propose(rng, forest, model, restaurants, work, tree, False)
    num_new = list_rules(work, _list_tree(forest, work), 1 + num_old)
    product, logs = option_weight(rng, model, restaurants, work, 1 + num_old, num_new)
    found[1] = work.inverse_temperature[0] * (elementary.log(product) + logs)
    encode_over(forest, work, proposed, 0, size)
    log_ratio = found[1] - found[3] - found[0] + found[2]
    return settle_tree(rng, forest, model, restaurants, work, tree, (num_old, num_new), log_ratio)
