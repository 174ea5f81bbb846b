"""A pass over a corpus whose nodes have types that only they need: `core.fragments.backoff` counted anew."""

from __future__ import annotations

from scfg_sampler.core.fragments.backoff import back_row
from scfg_sampler.core.fragments.restaurant import LIVE, find, find_or_insert
from scfg_sampler.core.fragments.room import lacks_room
from scfg_sampler.core.fragments.rules import most_dishes, row_of
from scfg_sampler.core.fragments.sampler import find_rules
from scfg_sampler.core.fragments.tree import (
    BELOW,
    CUT,
    FINGERPRINT,
    LOG_BASE,
    STRATUM,
    decode,
    open_sentence,
)
from scfg_sampler.core.jit import borrowing, by_reference, kernel

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.typed import TypedForest  # noqa: F401
from scfg_sampler.learner.model import TypedModel  # noqa: F401
from scfg_sampler.learner.passes import forget_stamps

__all__ = ["recount_typed_trees"]


@kernel
def recount_typed_trees(walk, model, given, recount, trees, first):
    """Count in `recount` the customers of the sentences from `first` on, without tables.

    Those of skeletons are the tables that typed rules have in `given`. The first sentence that there was no
    room for.
    """
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    model, given, recount = by_reference(model), by_reference(given), by_reference(recount)
    forget_stamps(work)
    for sentence in range(first, tree_start.shape[0] - 1):
        size = tree_start[sentence + 1] - tree_start[sentence]
        if lacks_room(recount, most_dishes(model, size)):
            return sentence
        if not open_sentence(forest, work, corpus, sentence):
            continue
        size = decode(forest, work, trees, tree_start[sentence], 0)
        find_rules(forest, model, recount, work, size)
        for k in range(size):
            node = work.lists[BELOW, k]
            if work.nodes[node, CUT] == 0:
                continue
            row = row_of(node)
            if _add_customers(recount, work, row, 1) == 1:
                slot = find(given, work.rules[row, FINGERPRINT])
                tables = given.entries[slot, 1] >> 32 if slot >= 0 else 0
                if tables > 0:
                    _add_customers(recount, work, back_row(work, row), tables)
    return tree_start.shape[0] - 1


@borrowing
def _add_customers(restaurants, work, row, number):
    """How many a dish has then."""
    stratum = work.rules[row, STRATUM]
    slot = find_or_insert(restaurants, work.rules[row, FINGERPRINT], stratum, work.rule_probs[row, LOG_BASE])
    restaurants.totals[LIVE] += restaurants.entries[slot, 1] == 0
    restaurants.entries[slot, 1] += number
    restaurants.stratum_customers[stratum] += number
    return restaurants.entries[slot, 1]
