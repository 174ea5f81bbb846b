"""Fragments against restaurants: described, taken out, weighed one after the other, put back.

The fragment headed at a cut node of the current tree has a row in the workspace's `rules`, with the slot of
its dish, so that it is looked for once and not at every visit. Fragments that are only considered use rows of
their own: SPARE ones at the front, and the rows of nodes outside the tree. An option is a list of rows,
`option_rows[begin : begin + size]`; its weight is the product of their predictive probabilities, each seeing
those before it, upper before lower.

What a fragment is to restaurants depends on the model: here it is a dish of one restaurant, for every model
that registers nothing else; `backoff` has that of models on two levels.

The fact a newcomer would get wrong: with tracked seating a fragment may have to be seated in thought before
a later one of the same restaurant can be weighed. Whether it opened a table is then remembered in
`option_opens` and kept if the option is chosen; for the current option it is what it was when its fragments
were taken out.
"""

from __future__ import annotations

import math

from scfg_sampler.core import draws
from scfg_sampler.core.fragments.fingerprint import fingerprint_under
from scfg_sampler.core.fragments.restaurant import (
    TABLE_UNIT,
    TRACKED,
    dish_customers,
    dish_mass,
    dish_tables,
    find,
    find_or_insert,
    first_slot,
    new_table_prob,
    opening_mass,
    seat_in,
    table_growth,
    unseat_from,
)
from scfg_sampler.core.fragments.room import forget_unused
from scfg_sampler.core.fragments.tree import (
    BASE,
    DIVIDE_BY_TREES,
    EVALUATIONS,
    FINGERPRINT,
    LOG_BASE,
    LOG_PRIOR,
    NOT_SOUGHT,
    SLOT,
    SPARE,
    STRATUM,
    describe,
    log_internal_trees,
    root_value,
)
from scfg_sampler.core.jit import borrowing, by_type, inlined, prefetch

__all__ = [
    "copy_rule",
    "keep_rule",
    "list_rule",
    "most_dishes",
    "option_weight",
    "record",
    "row_of",
    "scaled",
    "seat_option",
    "slot_of",
    "times_rule",
    "unseat_option",
]

_TINY = 1e-200
_LOG_TINY = math.log(_TINY)


@inlined
def row_of(node):
    """The row of the fragment headed at a node."""
    return node + SPARE


# --- what a model says of its restaurants --------------------------------------------------------------


@by_type(of="model")
def most_dishes(model, number):
    """How many dishes so many fragments may bring into the restaurants."""


@by_type(of="model")
def record(forest, model, restaurants, work, node, row):
    """Describe the fragment headed at a node in a row of the rules; its dish is looked for when needed."""


@by_type(of="model")
def keep_rule(model, work, row, to):
    """Copy a row of the rules, with all that belongs to it."""


@by_type(of="model")
def unseat_option(rng, model, restaurants, work, begin, size):
    """Remove fragments, last first, remembering which sat alone."""


@by_type(of="model")
def seat_option(rng, model, restaurants, work, begin, size):
    """Seat fragments in order, as decided while they were weighed where that has happened."""


@by_type(of="model")
def option_weight(rng, model, restaurants, work, begin, size):
    """(p, l) with p e^l the probability of an option's fragments, each seeing those before it.

    Two factors, because the caller needs their logarithm or the ratio of two of them, and the product alone
    may be too small for a floating-point number.
    """


# --- on one level --------------------------------------------------------------------------------------


@most_dishes.otherwise
def _most_dishes(model, number):
    return number


@record.otherwise
def _record(forest, model, restaurants, work, node, row):
    hashed = fingerprint_under(work.pieces, node, root_value(forest, node))
    prefetch(restaurants.entries, first_slot(restaurants, hashed))
    stratum, log_prior, log_base, base = describe(model, forest, work, node)
    if work.counters[DIVIDE_BY_TREES] == 1:
        log_prior -= log_internal_trees(forest, work, node)
    work.rules[row, FINGERPRINT] = hashed
    work.rules[row, STRATUM] = stratum
    work.rules[row, SLOT] = NOT_SOUGHT
    work.rule_probs[row, LOG_PRIOR] = log_prior
    work.rule_probs[row, LOG_BASE] = log_base
    work.rule_probs[row, BASE] = base


@inlined
def expect_rule(forest, restaurants, work, node):
    """Have memory fetch the dish of the fragment that a node will be asked about, which takes it a while."""
    hashed = fingerprint_under(work.pieces, node, root_value(forest, node))
    prefetch(restaurants.entries, first_slot(restaurants, hashed))


@inlined
def slot_of(restaurants, work, row):
    """The slot of a row's dish, looked for once."""
    slot = work.rules[row, SLOT]
    if slot == NOT_SOUGHT:
        slot = find(restaurants, work.rules[row, FINGERPRINT])
        work.rules[row, SLOT] = slot
    return slot


@inlined
def copy_rule(work, row, to):
    """Copy a row of the rules."""
    for column in range(3):
        work.rules[to, column] = work.rules[row, column]
        work.rule_probs[to, column] = work.rule_probs[row, column]


@inlined
def list_rule(work, row, at):
    """Put a row at place `at` of the options, not decided yet on opening a table."""
    work.option_rows[at] = row
    work.option_opens[at] = -1


@keep_rule.otherwise
def _keep_rule(model, work, row, to):
    copy_rule(work, row, to)


@unseat_option.otherwise
def _unseat_option(rng, model, restaurants, work, begin, size):
    for k in range(begin + size - 1, begin - 1, -1):
        row = work.option_rows[k]
        slot = slot_of(restaurants, work, row)
        work.option_opens[k] = unseat_from(rng, restaurants, slot, work.rules[row, STRATUM])


@seat_option.otherwise
def _seat_option(rng, model, restaurants, work, begin, size):
    tracked = restaurants.totals[TRACKED] == 1
    rules, probs = work.rules, work.rule_probs
    for k in range(begin, begin + size):
        row = work.option_rows[k]
        stratum, slot = rules[row, STRATUM], slot_of(restaurants, work, row)
        if slot < 0:
            if forget_unused(restaurants):
                _forget_slots(work)
            slot = find_or_insert(restaurants, rules[row, FINGERPRINT], stratum, probs[row, LOG_BASE])
            rules[row, SLOT] = slot
        opens = work.option_opens[k] == 1
        if tracked and work.option_opens[k] < 0:
            customers = dish_customers(restaurants, slot)
            tables = dish_tables(restaurants, slot, stratum, customers)
            prob = new_table_prob(restaurants, stratum, probs[row, BASE], customers, tables, 0)
            opens = prob >= 1.0 or draws.bernoulli(rng, prob)
        seat_in(rng, restaurants, slot, stratum, opens)


@borrowing
def _forget_slots(work):
    for row in range(work.rules.shape[0]):
        work.rules[row, SLOT] = NOT_SOUGHT


@option_weight.otherwise
def _option_weight(rng, model, restaurants, work, begin, size):
    rules, probs, pending = work.rules, work.rule_probs, restaurants.pending
    tracked = restaurants.totals[TRACKED] == 1
    work.counters[EVALUATIONS] += size
    end = begin + size
    product = 1.0
    logs = 0.0
    for k in range(begin, end):
        row = work.option_rows[k]
        stratum, slot = rules[row, STRATUM], slot_of(restaurants, work, row)
        base = probs[row, BASE]
        customers = dish_customers(restaurants, slot)
        more_customers, more_tables = pending[stratum, 0], pending[stratum, 1]
        tables = dish_tables(restaurants, slot, stratum, customers)
        # Fragments of the option that came before and are the same are customers already: the Kronecker
        # deltas of Cohn et al. (2009), for any number of fragments.
        if more_customers > 0:
            growth = 0
            for j in range(begin, k):
                if rules[work.option_rows[j], FINGERPRINT] == rules[row, FINGERPRINT]:
                    customers += 1
                    growth += work.option_opens[j]
            if tracked:
                tables += growth * TABLE_UNIT
            else:
                tables = dish_tables(restaurants, slot, stratum, customers)
        more = more_customers, more_tables
        product, logs = times_rule(restaurants, work, row, (customers, tables), more, (product, logs))
        # What the next fragments see: one customer more, and its table as the policy has it.
        if k + 1 < end:
            pending[stratum, 0] += 1
            if not tracked:
                pending[stratum, 1] += table_growth(restaurants, stratum, customers)
            elif _is_awaited(work, k, end):
                if work.option_opens[k] < 0:
                    prob = new_table_prob(restaurants, stratum, base, customers, tables, more_tables)
                    work.option_opens[k] = prob >= 1.0 or draws.bernoulli(rng, prob)
                pending[stratum, 1] += work.option_opens[k] * TABLE_UNIT
    for k in range(begin, end - 1):
        stratum = rules[work.option_rows[k], STRATUM]
        pending[stratum, 0] = 0
        pending[stratum, 1] = 0
    return product, logs


@inlined
def times_rule(restaurants, work, row, seated, more, so_far):
    """(p, l) with p e^l that of `so_far` times the probability of a row's fragment, on one level.

    seated : customers and tables (units of 2^-32) of its dish.
    more : what there is in its restaurant beyond what this counts, of customers and of tables.
    """
    customers, tables = seated
    more_customers, more_tables = more
    product, logs = so_far
    stratum = work.rules[row, STRATUM]
    # [ n_r − d t_r + (α + d T) P₀ ] / (N + α), and ln P(stratum): Chung et al. (2014), section 5.2.
    total = restaurants.stratum_customers[stratum] + more_customers + restaurants.strength[stratum]
    logs += work.rule_probs[row, LOG_PRIOR]
    if customers == 0:
        # P₀ may be too small to be a number that is not 0; its logarithm is not.
        product *= opening_mass(restaurants, stratum, more_tables) / total
        logs += work.rule_probs[row, LOG_BASE]
    else:
        base = work.rule_probs[row, BASE]
        product *= dish_mass(restaurants, stratum, base, customers, tables, more_tables) / total
    return scaled(product, logs)


@inlined
def scaled(product, logs):
    """(p, l) with the same p e^l, and p no longer too small for a number."""
    if product < _TINY:
        product /= _TINY
        logs += _LOG_TINY
    return product, logs


@inlined
def _is_awaited(work, k, end):
    """Whether a later fragment of the option sits in the same restaurant."""
    stratum = work.rules[work.option_rows[k], STRATUM]
    for j in range(k + 1, end):  # noqa: SIM110 (must compile)
        if work.rules[work.option_rows[j], STRATUM] == stratum:
            return True
    return False
