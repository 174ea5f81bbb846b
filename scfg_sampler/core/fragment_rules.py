"""Fragments against restaurants: described, taken out, weighed one after the other, put back.

The fragments of an option are rows `begin` … of a workspace's rules. The weight of an option is the product
of their predictive probabilities, each seeing those before it, upper before lower.

The fact a newcomer would get wrong: with tracked seating a fragment may have to be seated in thought before
a later one of the same restaurant can be weighed. Whether it opened a table is then remembered in its row and
kept if the option is chosen; for the current option it is what it was when its fragments were taken out.
"""

from __future__ import annotations

from scfg_sampler.core import draws
from scfg_sampler.core.fragment import fingerprint
from scfg_sampler.core.fragment_tree import (
    CUT,
    EVALUATIONS,
    FINGERPRINT,
    LOG_BASE,
    LOG_PRIOR,
    NOT_SOUGHT,
    OPENS_TABLE,
    SLOT,
    STRATUM,
    describe,
)
from scfg_sampler.core.jit import compiled, inlined
from scfg_sampler.core.restaurant import (
    TABLE_UNIT,
    TRACKED,
    dish_customers,
    dish_log_predictive,
    dish_tables,
    find,
    find_or_insert,
    new_table_prob,
    seat,
    table_growth,
    unseat,
)

__all__ = ["log_weight", "record", "record_option", "seat_rules", "unseat_rules"]


@compiled
def record(model, work, node, at):
    """Describe the fragment headed at a node in row `at` of the rules."""
    stratum, log_prior, log_base = describe(model, work, node)
    work.rules[at, FINGERPRINT] = fingerprint(work.pieces, node)
    work.rules[at, STRATUM] = stratum
    work.rules[at, OPENS_TABLE] = -1
    work.rules[at, SLOT] = NOT_SOUGHT
    work.rule_logs[at, LOG_PRIOR] = log_prior
    work.rule_logs[at, LOG_BASE] = log_base


@compiled
def record_option(model, work, top, row, size, begin):
    """Describe an option's fragments from row `begin` on, upper before lower; how many."""
    record(model, work, top, begin)
    end = begin + 1
    for k in range(size):
        node = work.lists[row, k]
        if work.nodes[node, CUT] == 1:
            record(model, work, node, end)
            end += 1
    return end - begin


@compiled
def unseat_rules(rng, restaurants, work, begin, size):
    """Remove fragments, last first, remembering which sat alone."""
    for k in range(begin + size - 1, begin - 1, -1):
        work.rules[k, OPENS_TABLE] = unseat(rng, restaurants, _slot(restaurants, work, k))


@inlined
def _slot(restaurants, work, k):
    """The slot of a fragment's dish, looked for once."""
    slot = work.rules[k, SLOT]
    if slot == NOT_SOUGHT:
        slot = find(restaurants, work.rules[k, FINGERPRINT])
        work.rules[k, SLOT] = slot
    return slot


@compiled
def seat_rules(rng, restaurants, work, begin, size):
    """Seat fragments in order, as decided while they were weighed where that has happened."""
    tracked = restaurants.totals[TRACKED] == 1
    for k in range(begin, begin + size):
        stratum = work.rules[k, STRATUM]
        log_base = work.rule_logs[k, LOG_BASE]
        slot = work.rules[k, SLOT]
        if slot < 0:
            slot = find_or_insert(restaurants, work.rules[k, FINGERPRINT], stratum, log_base)
        opens = work.rules[k, OPENS_TABLE] == 1
        if tracked and work.rules[k, OPENS_TABLE] < 0:
            customers = dish_customers(restaurants, slot)
            tables = dish_tables(restaurants, slot, stratum, customers)
            prob = new_table_prob(restaurants, stratum, log_base, customers, tables, 0)
            opens = prob >= 1.0 or draws.bernoulli(rng, prob)
        seat(rng, restaurants, slot, opens)


@compiled
def log_weight(rng, restaurants, work, begin, size):
    """ln of the probability of an option's fragments, each seeing those before it."""
    rules = work.rules
    tracked = restaurants.totals[TRACKED] == 1
    work.counters[EVALUATIONS] += size
    total = 0.0
    for k in range(begin, begin + size):
        stratum = rules[k, STRATUM]
        log_base = work.rule_logs[k, LOG_BASE]
        slot = _slot(restaurants, work, k)
        customers = dish_customers(restaurants, slot)
        more_tables = 0
        own_tables = 0
        more_customers = 0
        own_customers = 0
        for j in range(begin, k):
            if rules[j, STRATUM] != stratum:
                continue
            same = rules[j, FINGERPRINT] == rules[k, FINGERPRINT]
            if tracked:
                growth = rules[j, OPENS_TABLE] * TABLE_UNIT
            else:
                growth = _earlier_growth(restaurants, work, begin, j)
            more_customers += 1
            more_tables += growth
            if same:
                own_customers += 1
                own_tables += growth
        tables = dish_tables(restaurants, slot, stratum, customers) + own_tables
        customers += own_customers
        total += work.rule_logs[k, LOG_PRIOR] + dish_log_predictive(
            restaurants, stratum, log_base, customers, tables, more_customers, more_tables
        )
        if tracked and rules[k, OPENS_TABLE] < 0 and _is_awaited(work, k, begin + size):
            prob = new_table_prob(restaurants, stratum, log_base, customers, tables, more_tables)
            rules[k, OPENS_TABLE] = prob >= 1.0 or draws.bernoulli(rng, prob)
    return total


@inlined
def _earlier_growth(restaurants, work, begin, j):
    """Tables (units of 2^-32) that fragment j adds under estimated tables, after its own predecessors."""
    rules = work.rules
    customers = dish_customers(restaurants, rules[j, SLOT])
    for i in range(begin, j):
        if rules[i, FINGERPRINT] == rules[j, FINGERPRINT]:
            customers += 1
    return table_growth(restaurants, rules[j, STRATUM], customers)


@inlined
def _is_awaited(work, k, end):
    """Whether a later fragment of the option sits in the same restaurant."""
    for j in range(k + 1, end):  # noqa: SIM110 (must compile)
        if work.rules[j, STRATUM] == work.rules[k, STRATUM]:
            return True
    return False
