"""Cuts with more than two options: fragments drafted, weighed, and the chosen ones kept.

Where a cut has further variables, a node is left uncut, option 0, or cut with one of several values, options
1, 2, …. The fragments of an option are described while it is laid out, each in a draft row of its own. Their
places among the options: 0 the whole; then for every value the upper and the lower part.

The fact a newcomer would get wrong: the row of the fragment headed at a node says what is in the tree. Drafts
must not be written there, or what is taken out of the restaurants would not be what was put in.
"""

from __future__ import annotations

import math

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments.rules import (
    keep_rule,
    list_rule,
    option_weight,
    record,
    row_of,
    seat_option,
    unseat_option,
)
from scfg_sampler.core.fragments.tree import CUTS_CHANGED, FREE, draft_row
from scfg_sampler.core.jit import borrowing, inlined

__all__ = ["choose_draft", "draft", "draft_cut", "keep_draft", "seat_drafts", "unseat_drafts"]


@inlined
def draft(forest, model, restaurants, work, node, place):
    """Describe the fragment headed at a node in a row of its own, listed at a place of the options."""
    record(forest, model, restaurants, work, node, draft_row(work, place))
    list_rule(work, draft_row(work, place), place)


@inlined
def keep_draft(model, work, place, node):
    """Make the fragment at a place of the options the one headed at a node."""
    keep_rule(model, work, draft_row(work, place), row_of(node))
    work.option_rows[place] = row_of(node)


@inlined
def _first_place(option):
    return max(0, 2 * option - 1)


@borrowing
def draft_cut(forest, model, restaurants, work, node, top, option):
    """Draft the fragments of an option, as it is laid out; `top` heads the fragment above the node."""
    place = _first_place(option)
    draft(forest, model, restaurants, work, top, place)
    if option > 0:
        draft(forest, model, restaurants, work, node, place + 1)


@inlined
def unseat_drafts(rng, model, restaurants, work, option):
    """Remove the fragments of the present option."""
    unseat_option(rng, model, restaurants, work, _first_place(option), 1 + min(option, 1))


@borrowing
def choose_draft(rng, model, restaurants, work, node, size, log_others):
    """Choose among the options that were drafted, `size` with a cut; which one.

    log_others : added to the log-weight of each option with a cut.
    """
    work.log_weights[0] = -math.inf
    for option in range(1 - work.nodes[node, FREE], size + 1):
        parts = min(option, 1)
        product, logs = option_weight(rng, model, restaurants, work, _first_place(option), 1 + parts)
        log_weight = work.inverse_temperature[0] * (elementary.log(product) + logs)
        work.log_weights[option] = log_weight + parts * log_others
    return draws.log_categorical(rng, work.log_weights, size + 1)


@borrowing
def seat_drafts(rng, model, restaurants, work, node, top, options):
    """Keep the fragments of the chosen option and seat them.

    options : the one that was there before, and the chosen one.
    """
    before, chosen = options
    if chosen != before:
        work.counters[CUTS_CHANGED] += 1
    begin, parts = _first_place(chosen), min(chosen, 1)
    keep_draft(model, work, begin, top)
    if chosen > 0:
        keep_draft(model, work, begin + 1, node)
    seat_option(rng, model, restaurants, work, begin, 1 + parts)
