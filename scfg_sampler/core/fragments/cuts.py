"""One fragment or two: the cut of a node, chosen given everything else.

A node that is not cut lies inside a fragment, the *whole*; cut, it divides it into an *upper* part and a
*lower* one. Weighing needs the counts without those of the three that are there. Where tables are estimated
a customer who leaves and comes back changes nothing, and most cuts stay as they are: so nobody leaves, and
whoever is there is left out of the counts instead, which are integers and come out the same.

The fact a newcomer would get wrong: a fragment may be there twice. The parts may spell the same, or sit in
the same restaurant as the whole, and then one that is left out is missing in another's counts as well.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments.paths import compose_up, fragment_top, restore_path, save_path
from scfg_sampler.core.fragments.restaurant import (
    TRACKED,
    dish_customers,
    estimated_tables,
    table_growth,
)
from scfg_sampler.core.fragments.rules import (
    copy_rule,
    list_rule,
    option_weight,
    record,
    row_of,
    seat_option,
    slot_of,
    times_rule,
    unseat_option,
)
from scfg_sampler.core.fragments.tree import (
    CUT,
    CUTS_CHANGED,
    EVALUATIONS,
    FINGERPRINT,
    PARENT,
    STRATUM,
)
from scfg_sampler.core.jit import borrowing, by_type, inlined

__all__ = ["LOWER", "UPPER", "WHOLE", "have_left", "list_cuts", "resample_cut", "weigh_cuts", "weigh_without"]

# What the spare rows of the rules hold.
WHOLE = 0  # resample_cut: the fragment with the node inside; resample_edge: the one above, in another option
UPPER = 1
LOWER = 2


@inlined
def list_cuts(forest, model, restaurants, work, node):
    """List the rules without and with a cut at a node, which is turned.

    Their places among the options: 0 the whole, 1 the upper part, 2 the lower part.

    Returns
    -------
    was_cut, parent, top : whether the node was cut; its parent, and the head of the parent's fragment, the
        path between which is saved
    """
    nodes = work.nodes
    was_cut = nodes[node, CUT]
    parent = nodes[node, PARENT]
    top = fragment_top(work, parent)
    save_path(work, parent, top)
    nodes[node, CUT] = 1 - was_cut
    compose_up(forest, work, parent, top)
    if was_cut == 1:
        record(forest, model, restaurants, work, top, WHOLE)
        list_rule(work, WHOLE, 0)
        list_rule(work, row_of(top), 1)
        list_rule(work, row_of(node), 2)
    else:
        record(forest, model, restaurants, work, top, UPPER)
        record(forest, model, restaurants, work, node, LOWER)
        list_rule(work, row_of(top), 0)
        list_rule(work, UPPER, 1)
        list_rule(work, LOWER, 2)
    return was_cut, parent, top


@borrowing
def resample_cut(rng, forest, model, restaurants, work, node):
    """Choose whether the node, which is not the root, divides its fragment in two."""
    nodes = work.nodes
    was_cut, parent, top = list_cuts(forest, model, restaurants, work, node)
    odds = weigh_cuts(rng, model, restaurants, work, was_cut)
    are_out = have_left(model, restaurants)
    if work.inverse_temperature[0] != 1.0:
        odds **= work.inverse_temperature[0]
    cut = 1 if draws.bernoulli(rng, 1.0 / (1.0 + odds)) else 0
    if cut == was_cut:
        nodes[node, CUT] = was_cut
        restore_path(work, parent, top)
        if not are_out:
            return
    else:
        work.counters[CUTS_CHANGED] += 1
        if not are_out:
            unseat_option(rng, model, restaurants, work, was_cut, 1 + was_cut)
        if cut == 0:
            copy_rule(work, WHOLE, row_of(top))
            work.option_rows[0] = row_of(top)
        else:
            copy_rule(work, UPPER, row_of(top))
            copy_rule(work, LOWER, row_of(node))
            work.option_rows[1] = row_of(top)
            work.option_rows[2] = row_of(node)
    seat_option(rng, model, restaurants, work, cut, 1 + cut)


@by_type(of="model")
def weigh_cuts(rng, model, restaurants, work, was_cut):
    """The odds of the whole against the parts that `list_cuts` has listed, without those that are there.

    P_t(one fragment) / P_t(two): no density factor, for the tree stays the same (section 2.3).
    """


@by_type(of="model")
def have_left(model, restaurants):
    """Whether `weigh_cuts` takes out the fragments that are there."""


@weigh_cuts.otherwise
def _weigh_cuts(rng, model, restaurants, work, was_cut):
    if restaurants.totals[TRACKED] == 1:
        return weigh_without(rng, model, restaurants, work, was_cut)
    return _weigh_estimated(restaurants, work, was_cut)


@have_left.otherwise
def _have_left(model, restaurants):
    return restaurants.totals[TRACKED] == 1


@borrowing
def weigh_without(rng, model, restaurants, work, was_cut):
    """`weigh_cuts` for seats that are tracked: who is there leaves, and is seated again later."""
    unseat_option(rng, model, restaurants, work, was_cut, 1 + was_cut)
    whole, log_whole = option_weight(rng, model, restaurants, work, 0, 1)
    parts, log_parts = option_weight(rng, model, restaurants, work, 1, 2)
    return _odds(whole, log_whole, parts, log_parts)


@inlined
def _odds(whole, log_whole, parts, log_parts):
    """(whole e^log_whole) / (parts e^log_parts), and no overflow."""
    return whole / parts * elementary.exp(min(log_whole - log_parts, 700.0))


@inlined
def _weigh_estimated(restaurants, work, was_cut):
    rows, rules = work.option_rows, work.rules
    work.counters[EVALUATIONS] += 3
    whole, upper, lower = rows[0], rows[1], rows[2]
    of_whole, of_upper, of_lower = rules[whole, STRATUM], rules[upper, STRATUM], rules[lower, STRATUM]
    # The same fragment is in the same restaurant.
    same = np.int64(rules[upper, FINGERPRINT] == rules[lower, FINGERPRINT])
    upper_is = np.int64(rules[upper, FINGERPRINT] == rules[whole, FINGERPRINT])
    lower_is = np.int64(rules[lower, FINGERPRINT] == rules[whole, FINGERPRINT])
    beside = np.int64(of_upper == of_lower)
    upper_with = np.int64(of_upper == of_whole)
    lower_with = np.int64(of_lower == of_whole)
    in_lower = dish_customers(restaurants, slot_of(restaurants, work, lower))
    # The one with the node turned comes last: it has just been asked for, and is on its way from memory.
    if was_cut == 0:
        in_whole = dish_customers(restaurants, slot_of(restaurants, work, whole)) - 1
        growth = table_growth(restaurants, of_whole, in_whole)
        p, log_p = _times(restaurants, work, whole, (in_whole, -1, -growth), (1.0, 0.0))
        in_lower -= lower_is
        in_upper = dish_customers(restaurants, slot_of(restaurants, work, upper)) - upper_is
        upper_more = -upper_with, -upper_with * growth
        lower_more = -lower_with, -lower_with * growth
    else:
        in_upper = dish_customers(restaurants, slot_of(restaurants, work, upper)) - 1 - same
        in_lower -= 1 + same
        # The lower part leaves first.
        growth_lower = table_growth(restaurants, of_lower, in_lower + same)
        growth = table_growth(restaurants, of_upper, in_upper)
        upper_more = -1 - beside, -growth - beside * growth_lower
        lower_more = -1 - beside, -growth_lower - beside * growth
        in_whole = dish_customers(restaurants, slot_of(restaurants, work, whole)) - upper_is - lower_is
        more = -upper_with - lower_with, -upper_with * growth - lower_with * growth_lower
        p, log_p = _times(restaurants, work, whole, (in_whole, *more), (1.0, 0.0))
    q, log_q = _times(restaurants, work, upper, (in_upper, *upper_more), (1.0, 0.0))
    more_customers, more_tables = lower_more
    if beside == 1:
        # The upper part is a customer already when the lower one comes.
        more_customers += 1
        more_tables += table_growth(restaurants, of_upper, in_upper)
    counts = in_lower + same, more_customers, more_tables
    q, log_q = _times(restaurants, work, lower, counts, (q, log_q))
    return p / q * elementary.exp_again(work.exps, min(log_p - log_q, 700.0))


@inlined
def _times(restaurants, work, row, counts, so_far):
    """`times_rule`, of a dish with so many customers; and what there is more in its restaurant."""
    customers, more_customers, more_tables = counts
    tables = estimated_tables(restaurants, work.rules[row, STRATUM], customers)
    return times_rule(restaurants, work, row, (customers, tables), (more_customers, more_tables), so_far)
