"""Fragments with types against restaurants of two levels: a typed fragment backs off to its skeleton.

A typed fragment is a skeleton r, the fragment without types, with a type a at its head and b₁ … b_g at its
slots. Given a it is drawn from a restaurant of a's own, whose base distribution is the predictive one of the
restaurant that all types share, in which skeletons are the dishes, times that of the types of the slots,
which are uniform (a hierarchical Pitman–Yor process: Teh 2006; of trees, Shindo et al. 2012):

    P(r, b | a) = [ n − d t + (α + d T) K^−g P(r) ] / (N + α),
    P(r)        = [ n' − d t' + (α + d T') P₀(r) ] / (N' + α).

Every table of a typed fragment is one customer of its skeleton. Both levels are strata of the same
`Restaurants`, and the seating of both is tracked: it is a part of the chain's state. A fragment has two rows
in the workspace's `rules`, the skeleton's half of them all further down; `option_opens` says of a fragment
whether it opened a table, 1, and whether its skeleton did so then, 2, together 3; −1 while not decided.

The fact a newcomer would get wrong: the state has table sizes, not which table of a typed fragment is which
customer of its skeleton. All such pairings are equally probable, so that a table that closes may take any of
the skeleton's customers along.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments.cuts import have_left, weigh_cuts, weigh_without
from scfg_sampler.core.fragments.fingerprint import COUNTS, fingerprint, fingerprint_under, num_slots
from scfg_sampler.core.fragments.restaurant import (
    TABLE_UNIT,
    dish_customers,
    dish_mass,
    dish_tables,
    find_or_insert,
    first_slot,
    new_table_prob,
    opening_mass,
    seat_in,
    unseat_from,
)
from scfg_sampler.core.fragments.room import forget_unused
from scfg_sampler.core.fragments.rules import (
    copy_rule,
    keep_rule,
    most_dishes,
    option_weight,
    record,
    scaled,
    seat_option,
    slot_of,
    unseat_option,
)
from scfg_sampler.core.fragments.tree import (
    BASE,
    EVALUATIONS,
    FINGERPRINT,
    LOG_BASE,
    LOG_PRIOR,
    NOT_SOUGHT,
    SLOT,
    STRATUM,
    describe,
)
from scfg_sampler.core.jit import borrowing, by_type, inlined, prefetch

__all__ = [
    "back_row",
    "head_type",
    "on_two_levels",
    "type_value",
]


# --- what a forest says of types -----------------------------------------------------------------------


@by_type
def head_type(forest, node):
    """The type of a cut node."""


@by_type
def type_value(forest, work, node):
    """uint64: what tells the typed fragment headed at a node from others of its skeleton, and from that."""


# --- rows ----------------------------------------------------------------------------------------------


@inlined
def back_row(work, row):
    """The row of the skeleton of a row's fragment."""
    return row + work.rules.shape[0] // 2


def _most_typed_dishes(model, number):
    """Every fragment may bring its skeleton."""
    return 2 * number


def _record_typed(forest, model, restaurants, work, node, row):
    """Describe the fragment headed at a node, and its skeleton; their dishes are looked for when needed."""
    rules, probs, back = work.rules, work.rule_probs, back_row(work, row)
    rules[back, FINGERPRINT] = fingerprint(work.pieces, node)
    prefetch(restaurants.entries, first_slot(restaurants, rules[back, FINGERPRINT]))
    rules[row, FINGERPRINT] = fingerprint_under(work.pieces, node, type_value(forest, work, node))
    prefetch(restaurants.entries, first_slot(restaurants, rules[row, FINGERPRINT]))
    stratum, log_prior, log_base, base = describe(model, forest, work, node)
    rules[back, STRATUM] = stratum
    rules[back, SLOT] = NOT_SOUGHT
    probs[back, LOG_PRIOR] = 0.0
    probs[back, LOG_BASE] = log_base
    probs[back, BASE] = base
    # Uniform types of the slots; the predictive probability of the skeleton comes when it is weighed.
    log_types = num_slots(work.pieces[node, COUNTS]) * model.log_type[0]
    rules[row, STRATUM] = model.first[head_type(forest, node)] + stratum
    rules[row, SLOT] = NOT_SOUGHT
    probs[row, LOG_PRIOR] = log_prior
    probs[row, LOG_BASE] = log_types
    probs[row, BASE] = elementary.exp(log_types)


def _keep_typed(model, work, row, to):
    """Copy the rows of a fragment and of its skeleton."""
    copy_rule(work, row, to)
    copy_rule(work, back_row(work, row), back_row(work, to))


# --- seats ---------------------------------------------------------------------------------------------


def _unseat_typed(rng, model, restaurants, work, begin, size):
    """Remove fragments, last first, remembering whose table closed on either level."""
    rules = work.rules
    for k in range(begin + size - 1, begin - 1, -1):
        row = work.option_rows[k]
        opened = np.int64(unseat_from(rng, restaurants, slot_of(restaurants, work, row), rules[row, STRATUM]))
        if opened == 1:
            back = back_row(work, row)
            slot = slot_of(restaurants, work, back)
            opened += 2 * unseat_from(rng, restaurants, slot, rules[back, STRATUM])
        work.option_opens[k] = opened


def _seat_typed(rng, model, restaurants, work, begin, size):
    """Seat fragments in order, as decided while they were weighed where that has happened."""
    for k in range(begin, begin + size):
        row = work.option_rows[k]
        opened = work.option_opens[k]
        if opened < 0:
            # A dish that there was not when it was sought may have come with the fragments before.
            _seek_again(work, row)
            _seek_again(work, back_row(work, row))
            opened = _weigh_one(rng, restaurants, work, k, k, True)[2]
        _seat_row(rng, restaurants, work, row, opened & 1)
        if opened > 0:
            _seat_row(rng, restaurants, work, back_row(work, row), opened >> 1)


@inlined
def _seek_again(work, row):
    if work.rules[row, SLOT] < 0:
        work.rules[row, SLOT] = NOT_SOUGHT


@borrowing
def _seat_row(rng, restaurants, work, row, opens):
    rules, slot = work.rules, slot_of(restaurants, work, row)
    stratum = rules[row, STRATUM]
    if slot < 0:
        if forget_unused(restaurants):
            for other in range(rules.shape[0]):
                rules[other, SLOT] = NOT_SOUGHT
        log_base = work.rule_probs[row, LOG_BASE]
        slot = find_or_insert(restaurants, rules[row, FINGERPRINT], stratum, log_base)
        rules[row, SLOT] = slot
    seat_in(rng, restaurants, slot, stratum, opens == 1)


# --- weights -------------------------------------------------------------------------------------------


def _typed_weight(rng, model, restaurants, work, begin, size):
    """On two levels: what comes later sees the tables that were opened in thought."""
    pending, end = restaurants.pending, begin + size
    work.counters[EVALUATIONS] += size
    product, logs = 1.0, 0.0
    for k in range(begin, end):
        is_awaited = _is_awaited(work, k, end)
        prob, log_prob, opened = _weigh_one(rng, restaurants, work, begin, k, is_awaited)
        product *= prob
        logs += log_prob
        product, logs = scaled(product, logs)
        if is_awaited:
            work.option_opens[k] = opened
            _add_pending(pending, work, work.option_rows[k], 1, opened & 1)
            _add_pending(pending, work, back_row(work, work.option_rows[k]), opened & 1, opened >> 1)
    for k in range(begin, end):
        _clear_pending(pending, work, work.option_rows[k])
        _clear_pending(pending, work, back_row(work, work.option_rows[k]))
    return product, logs


@inlined
def _clear_pending(pending, work, row):
    pending[work.rules[row, STRATUM], 0] = 0
    pending[work.rules[row, STRATUM], 1] = 0


@inlined
def _add_pending(pending, work, row, customers, tables):
    pending[work.rules[row, STRATUM], 0] += customers
    pending[work.rules[row, STRATUM], 1] += tables * TABLE_UNIT


@inlined
def _is_awaited(work, k, end):
    """Whether a later fragment of the option has a skeleton of the same restaurant.

    One of the same restaurant has: fragments of a type and a length have skeletons of that length.
    """
    rules = work.rules
    stratum = rules[back_row(work, work.option_rows[k]), STRATUM]
    for j in range(k + 1, end):  # noqa: SIM110 (must compile)
        if rules[back_row(work, work.option_rows[j]), STRATUM] == stratum:
            return True
    return False


@borrowing
def _weigh_one(rng, restaurants, work, begin, k, is_decided):
    """(p, l, opened): p e^l the probability of the fragment at place k, those from `begin` on before it.

    opened : which tables it opens, as it was decided before or, if `is_decided`, is now; else −1.
    """
    rules, probs, pending = work.rules, work.rule_probs, restaurants.pending
    row = work.option_rows[k]
    back = back_row(work, row)
    # The skeleton: its customers are tables of typed fragments, those opened in thought among them.
    below, slot = rules[back, STRATUM], slot_of(restaurants, work, back)
    number = dish_customers(restaurants, slot)
    their_tables = dish_tables(restaurants, slot, below, number)
    if pending[below, 0] > 0:
        for j in range(begin, k):
            before = back_row(work, work.option_rows[j])
            if rules[before, FINGERPRINT] == rules[back, FINGERPRINT]:
                number += work.option_opens[j] & 1
                their_tables += (work.option_opens[j] >> 1) * TABLE_UNIT
    total = restaurants.stratum_customers[below] + pending[below, 0] + restaurants.strength[below]
    log_back = 0.0
    if number == 0:
        # P₀ may be too small to be a number that is not 0; its logarithm is not.
        prob = opening_mass(restaurants, below, pending[below, 1]) / total
        log_back = probs[back, LOG_BASE]
    else:
        more = pending[below, 1]
        prob = dish_mass(restaurants, below, probs[back, BASE], number, their_tables, more) / total
    # The typed fragment.
    stratum, slot = rules[row, STRATUM], slot_of(restaurants, work, row)
    customers = dish_customers(restaurants, slot)
    tables = dish_tables(restaurants, slot, stratum, customers)
    if pending[stratum, 0] > 0:
        for j in range(begin, k):
            if rules[work.option_rows[j], FINGERPRINT] == rules[row, FINGERPRINT]:
                customers += 1
                tables += (work.option_opens[j] & 1) * TABLE_UNIT
    total = restaurants.stratum_customers[stratum] + pending[stratum, 0] + restaurants.strength[stratum]
    opened = work.option_opens[k]
    if customers == 0:
        opening = mass = opening_mass(restaurants, stratum, pending[stratum, 1]) * prob
        log_prob = probs[row, LOG_PRIOR] + probs[row, LOG_BASE] + log_back
    else:
        # Its skeleton has customers, at least one of its own tables, and so a probability that is a number.
        base = probs[row, BASE] * prob
        opening = base * opening_mass(restaurants, stratum, pending[stratum, 1])
        mass = dish_mass(restaurants, stratum, base, customers, tables, pending[stratum, 1])
        log_prob = probs[row, LOG_PRIOR]
    if is_decided and opened < 0:
        opened = np.int64(customers == 0 or draws.bernoulli(rng, opening / mass))
        if opened == 1:
            base, more = probs[back, BASE], pending[below, 1]
            alone = new_table_prob(restaurants, below, base, number, their_tables, more)
            opened += 2 * np.int64(alone >= 1.0 or draws.bernoulli(rng, alone))
    return mass / total, log_prob, opened


def _have_left_typed(model, restaurants):
    """Seats are always tracked."""
    return True


# --- a model on two levels ------------------------------------------------------------------------------


def on_two_levels(model: type) -> None:
    """Let the fragments of a model be dishes on two levels to all that handles them: `core.fragments.rules`.

    Parameters
    ----------
    model : type
        With the fields `log_type` and `first` of `learner.model.TypedModel`.
    """
    for ask, answer in (
        (most_dishes, _most_typed_dishes),
        (record, _record_typed),
        (keep_rule, _keep_typed),
        (unseat_option, _unseat_typed),
        (seat_option, _seat_typed),
        (option_weight, _typed_weight),
        (weigh_cuts, weigh_without),
        (have_left, _have_left_typed),
    ):
        ask.register(model)(answer)
