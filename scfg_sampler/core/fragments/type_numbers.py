"""How many sites of a type are cut: P(m) for m of n sites, and the seats of what they make.

Uncut, each site stands inside a fragment w; cut, it makes a fragment u and one l below (`type_moves`). Then

    P(m) ∝ C(n, m) · P(u l u l … m times, w n − m times | rest)

All P(m) come from two running products: n pairs (u, l) seated in thought one after the other, and n times
w. The weight of m is C(n, m) × the first m pairs × the first n − m wholes. Seats are drawn along the way
where they are tracked, the current ones kept: a conditional (ensemble) Gibbs step, as in
`core.fragments.sampler`.

The fact a newcomer would get wrong: where w sits in the same restaurant as u or l and the discount d is
positive, the two products are not independent, since each counts its own new tables only. But tables that
open in one restaurant, K of them, multiply to Π_{k<K} (α + d (T + k)) × their P₀, in whatever order. So with
a the α + d T of the others, and j and k tables opened by wholes and by parts, both products together lack

    Π_{i < j+k} (1 + i d / a)  /  [ Π_{i < j} (1 + i d / a) · Π_{i < k} (1 + i d / a) ].

Estimated tables have no such order-free product: there, such types are left to single-site moves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments.cuts import LOWER, UPPER, WHOLE
from scfg_sampler.core.fragments.restaurant import (
    TABLE_UNIT,
    TRACKED,
    dish_customers,
    dish_mass,
    dish_tables,
    find_or_insert,
    new_table_prob,
    opening_mass,
    seat_in,
    table_growth,
    unseat_from,
)
from scfg_sampler.core.fragments.tree import (
    BASE,
    EVALUATIONS,
    FINGERPRINT,
    LOG_BASE,
    LOG_PRIOR,
    PROB_WIDTH,
    RULE_WIDTH,
    SLOT,
    SPARE,
    STRATUM,
)
from scfg_sampler.core.jit import borrowing

__all__ = ["TypeScratch", "can_be_weighed", "new_type_scratch", "resample_number"]


class TypeScratch(NamedTuple):
    """What is known of the sites of one class."""

    member: np.ndarray
    """int64 (C,): which site."""
    type_key: np.ndarray
    """int64 (C,): of its type; 0 once it has been dealt with."""
    heads: np.ndarray
    """int64 (H,): numbers of the first site of each type, see `core.arrays.hash_table`."""
    following: np.ndarray
    """int64 (C,): next site of the same type, −1 for none."""
    rules: np.ndarray
    """int64 (C, 3, 3): whole, upper and lower fragment, as rows of a workspace's rules."""
    probs: np.ndarray
    """float64 (C, 3, 3)."""
    opens: np.ndarray
    """int64 (2, 2 C): whether each fragment of the two running products opens a table."""
    logs: np.ndarray
    """float64 (2, C + 1): the two running products."""
    log_weights: np.ndarray
    """float64 (C + 1,)."""
    log_rising: np.ndarray
    """float64 (3 C + 1,): ln Π_{i<K} (1 + i d / a), the product of the tables K that open beside others."""


def new_type_scratch(largest: int) -> TypeScratch:
    """Scratch for classes of at most `largest` sites.

    Parameters
    ----------
    largest : int
    """
    return TypeScratch(
        member=np.zeros(largest, np.int64),
        type_key=np.zeros(largest, np.int64),
        heads=np.zeros(4 << (2 * largest).bit_length(), np.int64),
        following=np.zeros(largest, np.int64),
        rules=np.zeros((largest, SPARE, RULE_WIDTH), np.int64),
        probs=np.zeros((largest, SPARE, PROB_WIDTH)),
        opens=np.zeros((2, 2 * largest), np.int64),
        logs=np.zeros((2, largest + 1)),
        log_weights=np.zeros(largest + 1),
        log_rising=np.zeros(3 * largest + 1),
    )


@borrowing
def can_be_weighed(restaurants, work):
    """Whether wholes and parts have no dish, and no estimated number of tables, in common."""
    rules = work.rules
    whole = rules[WHOLE, STRATUM]
    is_estimated = restaurants.totals[TRACKED] == 0 and restaurants.discount[whole] > 0.0
    for part in (UPPER, LOWER):
        if rules[part, FINGERPRINT] == rules[WHOLE, FINGERPRINT]:
            return False
        if rules[part, STRATUM] == whole and is_estimated:
            return False
    return True


@borrowing
def resample_number(rng, restaurants, work, num_sites, num_cut, scratch):
    """Choose how many of the sites of the type in the spare rows are cut, and seat their fragments."""
    rules = work.rules
    for k in range(num_sites - num_cut - 1, -1, -1):
        scratch.opens[0, k] = unseat_from(rng, restaurants, rules[WHOLE, SLOT], rules[WHOLE, STRATUM])
    for k in range(num_cut - 1, -1, -1):
        scratch.opens[1, 2 * k + 1] = unseat_from(rng, restaurants, rules[LOWER, SLOT], rules[LOWER, STRATUM])
        scratch.opens[1, 2 * k] = unseat_from(rng, restaurants, rules[UPPER, SLOT], rules[UPPER, STRATUM])
    _seat_in_thought(rng, restaurants, work, scratch, 0, num_sites, num_sites - num_cut)
    _seat_in_thought(rng, restaurants, work, scratch, 1, num_sites, 2 * num_cut)
    log_weights = scratch.log_weights
    for m in range(num_sites + 1):
        log_weights[m] = scratch.logs[0, num_sites - m] + scratch.logs[1, m]
        log_weights[m] -= _log_totals(restaurants, work, num_sites - m, m)
    if restaurants.totals[TRACKED] == 1:
        _let_tables_meet(restaurants, work, scratch, num_sites)
    for m in range(num_sites + 1):
        log_weights[m] = _log_ways(num_sites, m) + work.inverse_temperature[0] * log_weights[m]
    chosen = draws.log_categorical(rng, log_weights, num_sites + 1)
    for k in range(num_sites - chosen):
        _seat(rng, restaurants, work, WHOLE, scratch.opens[0, k])
    for k in range(chosen):
        _seat(rng, restaurants, work, UPPER, scratch.opens[1, 2 * k])
        _seat(rng, restaurants, work, LOWER, scratch.opens[1, 2 * k + 1])
    return chosen


@borrowing
def _let_tables_meet(restaurants, work, scratch, num_sites):
    """Multiply the weights by what wholes and parts that open tables in one restaurant add to one another."""
    rules, opens = work.rules, scratch.opens
    stratum = rules[WHOLE, STRATUM]
    upper, lower = rules[UPPER, STRATUM] == stratum, rules[LOWER, STRATUM] == stratum
    if not (upper or lower):
        return
    log_rising, opening = scratch.log_rising, opening_mass(restaurants, stratum, 0)
    for k in range(3 * num_sites):
        log_rising[k + 1] = log_rising[k] + elementary.log(1.0 + k * restaurants.discount[stratum] / opening)
    of_wholes, of_parts = 0, 0
    for k in range(num_sites):
        of_wholes += opens[0, k]
    for m in range(num_sites + 1):
        apart = log_rising[of_wholes] + log_rising[of_parts]
        scratch.log_weights[m] += log_rising[of_wholes + of_parts] - apart
        if m < num_sites:
            of_wholes -= opens[0, num_sites - m - 1]
            of_parts += upper * opens[1, 2 * m] + lower * opens[1, 2 * m + 1]


@borrowing
def _log_ways(num_sites, num_cut):
    """ln of the number of choices of the cut sites."""
    return (
        elementary.log_gamma(num_sites + 1.0)
        - elementary.log_gamma(num_cut + 1.0)
        - elementary.log_gamma(num_sites - num_cut + 1.0)
    )


@borrowing
def _seat(rng, restaurants, work, row, opens):
    rules = work.rules
    stratum = rules[row, STRATUM]
    log_base = work.rule_probs[row, LOG_BASE]
    slot = find_or_insert(restaurants, rules[row, FINGERPRINT], stratum, log_base)
    seat_in(rng, restaurants, slot, stratum, opens == 1)


@borrowing
def _log_totals(restaurants, work, num_whole, num_pairs):
    """ln of the product of all N + α that the predictive probabilities are divided by."""
    strata = work.rules[WHOLE, STRATUM], work.rules[UPPER, STRATUM], work.rules[LOWER, STRATUM]
    numbers = num_whole, num_pairs, num_pairs
    total = 0.0
    for i in range(3):
        more = 0
        first = True
        for j in range(3):
            if strata[j] == strata[i]:
                first = first and j >= i
                more += numbers[j]
        if first:
            mass = restaurants.stratum_customers[strata[i]] + restaurants.strength[strata[i]]
            total += elementary.log_gamma(mass + more) - elementary.log_gamma(mass)
    return total


@borrowing
def _seat_in_thought(rng, restaurants, work, scratch, which, rounds, known):
    """Running product, without the totals, of `rounds` times the whole (which = 0) or both parts (1).

    The first `known` of these fragments keep the seats they had.
    """
    row, num_rows = (WHOLE, 1) if which == 0 else (UPPER, 2)
    rules, probs, pending = work.rules, work.rule_probs, restaurants.pending
    opens, logs = scratch.opens[which], scratch.logs[which]
    tracked = restaurants.totals[TRACKED] == 1
    other = row + num_rows - 1
    second = other if rules[other, FINGERPRINT] != rules[row, FINGERPRINT] else row
    customers = dish_customers(restaurants, rules[row, SLOT])
    second_customers = dish_customers(restaurants, rules[second, SLOT])
    tables = dish_tables(restaurants, rules[row, SLOT], rules[row, STRATUM], customers)
    second_tables = dish_tables(restaurants, rules[second, SLOT], rules[second, STRATUM], second_customers)
    work.counters[EVALUATIONS] += rounds * num_rows
    log_product = 0.0
    logs[0] = 0.0
    for step in range(rounds * num_rows):
        at = row + step % num_rows
        swap = at != row and second != row
        here = second_customers if swap else customers
        here_tables = second_tables if swap else tables
        stratum, base = rules[at, STRATUM], probs[at, BASE]
        log_product += probs[at, LOG_PRIOR]
        if here == 0:
            log_product += probs[at, LOG_BASE] + elementary.log(
                opening_mass(restaurants, stratum, pending[stratum, 1])
            )
        else:
            log_product += elementary.log(
                dish_mass(restaurants, stratum, base, here, here_tables, pending[stratum, 1])
            )
        if not tracked:
            growth = table_growth(restaurants, stratum, here)
        else:
            if step >= known:
                prob = new_table_prob(restaurants, stratum, base, here, here_tables, pending[stratum, 1])
                opens[step] = prob >= 1.0 or draws.bernoulli(rng, prob)
            growth = opens[step] * TABLE_UNIT
        pending[stratum, 1] += growth
        if swap:
            second_customers += 1
            second_tables += growth
        else:
            customers += 1
            tables += growth
        if at == other:
            logs[step // num_rows + 1] = log_product
    for k in range(num_rows):
        pending[rules[row + k, STRATUM], 1] = 0
