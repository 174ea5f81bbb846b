"""Type-based moves: resample all sites at once whose cut makes the same difference.

A site is a node of the tree that may be internal. Uncut, it stands inside a fragment w; cut, it divides w
in an upper fragment u and a lower one l. Sites with the same type (w, u, l) are exchangeable: of n such
sites, m cut ones have the same probability wherever they are, so that

    P(m) ∝ C(n, m) · P(u l u l … m times, w n − m times | rest)

and which m of them is uniform (Liang, Jordan and Klein 2010; on forests, Peng and Gildea 2014). Single-site
moves must pass through the improbable mixtures on the way from "all cut" to "none cut"; these jump.

All P(m) come from two running products: n pairs (u, l) seated in thought one after the other, and n times
w. The weight of m is C(n, m) × the first m pairs × the first n − m wholes. Seats are drawn along the way
where they are tracked, the current ones kept: a conditional (ensemble) Gibbs step, as in
`core.fragments.sampler`.

Which sites may move together must not depend on how they are cut. A *class* holds the sites whose edge and
parent's edge make the same minimal fragments (with everything cut), which no move of cuts changes; of one
sentence it takes one site, the next goes to a class of its own. Inside a class the sites of the same type
move together: no two of them touch each other, so no move changes which these are.

The fact a newcomer would get wrong: where w sits in the same restaurant as u or l and the discount is
positive, the two products are not independent. Such types are left alone; single-site moves take care of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.arrays.hash_table import capacity_for, first_candidate, next_candidate, number_in, put
from scfg_sampler.core.fragments.cuts import LOWER, UPPER, WHOLE
from scfg_sampler.core.fragments.fingerprint import fingerprint
from scfg_sampler.core.fragments.paths import compose_up, fragment_top
from scfg_sampler.core.fragments.restaurant import (
    TABLE_UNIT,
    TRACKED,
    Restaurants,
    dish_customers,
    dish_mass,
    dish_tables,
    find,
    find_or_insert,
    is_nearly_full,
    new_table_prob,
    opening_mass,
    seat_in,
    table_growth,
    unseat_from,
)
from scfg_sampler.core.fragments.rules import record
from scfg_sampler.core.fragments.tree import (
    BASE,
    BELOW,
    CUT,
    CUTS_CHANGED,
    DIVIDE_BY_TREES,
    EVALUATIONS,
    FINGERPRINT,
    FREE,
    LOG_BASE,
    LOG_PRIOR,
    NUM_TAILS,
    PARENT,
    PROB_WIDTH,
    RULE_WIDTH,
    SLOT,
    SPARE,
    STRATUM,
    TAIL_START,
    decode,
    open_sentence,
)
from scfg_sampler.core.jit import borrowing, inlined

__all__ = [
    "SiteTrees",
    "TypeClasses",
    "TypeScratch",
    "TypeSites",
    "new_type_scratch",
    "resample_all_classes",
    "resample_classes",
    "scan_sites",
]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_ONE = np.uint64(1)
_RESOLUTION = 1e9


class TypeSites(NamedTuple):
    """The sites of all trees; and, for one class at a time, what each is."""

    key: np.ndarray
    """int64 (S,): the class of each site but for sentences with several of it."""
    sentence: np.ndarray
    """int32 (S,)."""
    place: np.ndarray
    """int32 (S,): of the node in its tree's preorder."""


class SiteTrees(NamedTuple):
    """The trees that the sites are in."""

    data: Any
    """What `open_sentence` lays a sentence's forest out from."""
    start: np.ndarray
    """int64 (T + 1,): where each tree begins in `codes`."""
    codes: np.ndarray
    """uint16: edge and cut of each node, as `decode` reads them."""


class TypeClasses(NamedTuple):
    """The classes of all sites, and room for one of them at a time."""

    sites: TypeSites
    order: np.ndarray
    """int64 (S,): sorts the sites by key, those of the same key by sentence."""
    scratch: TypeScratch


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
    )


def resample_all_classes(
    scan: Callable[[TypeSites], int],
    resample: Callable[[Restaurants, TypeClasses, int], int],
    restaurants: Restaurants,
    with_room: Callable[[Restaurants, int], Restaurants],
) -> Restaurants:
    """The restaurants after all classes of two sites or more have been resampled.

    Parameters
    ----------
    scan : callable
        `scan_sites` of some trees: fills in the sites it is given.
    resample : callable
        `resample_classes` of these trees, from the restaurants on.
    restaurants : Restaurants
        Changed, or replaced by larger ones.
    with_room : callable
        Given restaurants and a number of rules to come, restaurants that have room for them.
    """
    num_sites = scan(_new_sites(0))
    sites = _new_sites(num_sites)
    scan(sites)
    order = np.argsort(sites.key, kind="stable")
    ends = np.flatnonzero(np.diff(sites.key[order], append=0))
    largest = int(np.diff(ends, prepend=-1).max(initial=1))
    classes = TypeClasses(sites, order, new_type_scratch(largest))
    first = 0
    while first < num_sites:
        restaurants = with_room(restaurants, 3 * largest)
        first = resample(restaurants, classes, first)
    return restaurants


def _new_sites(size: int) -> TypeSites:
    return TypeSites(np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size, np.int32))


@inlined
def _mixed(first, second):
    mixed = (np.uint64(first) ^ (np.uint64(second) * _MIX)) * _MIX
    mixed ^= mixed >> _SHIFT
    return np.int64((mixed >> _ONE) | _ONE)


@borrowing
def scan_sites(forest, work, trees, sites):
    """Fill in the sites of all trees, as many as there is room for; how many there are."""
    nodes, pieces = work.nodes, work.pieces
    num_sites = 0
    for sentence in range(trees.start.shape[0] - 1):
        start = trees.start[sentence]
        if start == trees.start[sentence + 1]:
            continue
        open_sentence(forest, work, trees.data, sentence)
        # With every node cut, a node spells the minimal fragment of its edge.
        size = decode(forest, work, trees.codes, start, 1)
        for place in range(1, size):
            node = work.lists[BELOW, place]
            if nodes[node, FREE] == 0:
                continue
            if num_sites < sites.key.shape[0]:
                parent = nodes[node, PARENT]
                key = _mixed(fingerprint(pieces, parent), fingerprint(pieces, node))
                for t in range(nodes[parent, NUM_TAILS]):
                    if work.tails[nodes[parent, TAIL_START] + t] == node:
                        key = _mixed(key, t)
                sites.key[num_sites] = key
                sites.sentence[num_sites] = sentence
                sites.place[num_sites] = place
            num_sites += 1
    return num_sites


@borrowing
def resample_classes(rng, forest, model, restaurants, work, trees, classes, first):
    """Resample the classes of sites from order[first] on; where to go on when there was no room.

    Classes of one site are left alone.
    """
    sites, order = classes.sites, classes.order
    num_sites = order.shape[0]
    while first < num_sites:
        stop = first + 1
        while stop < num_sites and sites.key[order[stop]] == sites.key[order[first]]:
            stop += 1
        if stop - first > 1:
            if is_nearly_full(restaurants, 3 * (stop - first)):
                return first
            rank = 0
            while True:
                size = _list_class(classes, first, stop, rank)
                if size > 0:
                    _load_class(forest, model, restaurants, work, trees, classes, size)
                    _resample_class(rng, restaurants, work, trees, classes, size)
                if size < 2:
                    break
                rank += 1
        first = stop
    return first


@borrowing
def _list_class(classes, first, stop, rank):
    """List as members the sites order[first:stop] that are number `rank` of their sentences; how many."""
    sites, order, scratch = classes.sites, classes.order, classes.scratch
    size, seen, before = 0, 0, -1
    for at in range(first, stop):
        sentence = sites.sentence[order[at]]
        seen = seen + 1 if sentence == before else 0
        before = sentence
        if seen == rank:
            scratch.member[size] = order[at]
            size += 1
    return size


@borrowing
def _load_class(forest, model, restaurants, work, trees, classes, size):
    """Describe the three fragments of every member as the other cuts are now, and chain equal types."""
    sites, scratch = classes.sites, classes.scratch
    heads = scratch.heads[: capacity_for(size)]  # No more, for most classes are small.
    for slot in range(heads.shape[0]):
        heads[slot] = 0
    for i in range(size - 1, -1, -1):
        site = scratch.member[i]
        sentence = sites.sentence[site]
        open_sentence(forest, work, trees.data, sentence)
        decode(forest, work, trees.codes, trees.start[sentence], 0)
        _describe_site(forest, model, restaurants, work, work.lists[BELOW, sites.place[site]])
        key = _mixed(work.rules[WHOLE, FINGERPRINT], work.rules[UPPER, FINGERPRINT])
        key = _mixed(key, work.rules[LOWER, FINGERPRINT])
        for row in range(SPARE):
            if work.counters[DIVIDE_BY_TREES] == 1:
                # Equal fragments may have different numbers of trees inside.
                key = _mixed(key, np.int64(_RESOLUTION * work.rule_probs[row, LOG_PRIOR]))
            for column in range(RULE_WIDTH):
                scratch.rules[i, row, column] = work.rules[row, column]
            for column in range(PROB_WIDTH):
                scratch.probs[i, row, column] = work.rule_probs[row, column]
        scratch.type_key[i] = key
        code = np.uint64(key) >> _ONE  # Whose last bit is always set.
        slot = first_candidate(heads, code, 0)
        while number_in(heads, slot) >= 0 and scratch.type_key[number_in(heads, slot)] != key:
            slot = next_candidate(heads, code, 0, slot)
        scratch.following[i] = number_in(heads, slot)
        put(heads, slot, code, i)


@borrowing
def _describe_site(forest, model, restaurants, work, node):
    """Describe what a node's fragment is whole, and its parts, in the spare rows of the rules."""
    nodes = work.nodes
    parent = nodes[node, PARENT]
    top = fragment_top(work, parent)
    was_cut = np.int64(nodes[node, CUT])
    record(forest, model, restaurants, work, node, LOWER)
    for cut in (was_cut, 1 - was_cut):
        if cut != was_cut:
            nodes[node, CUT] = cut
            compose_up(forest, work, parent, top)
        record(forest, model, restaurants, work, top, UPPER if cut == 1 else WHOLE)


@borrowing
def _resample_class(rng, restaurants, work, trees, classes, size):
    """Resample the members of a class, type by type."""
    sites, scratch, codes = classes.sites, classes.scratch, trees.codes
    for i in range(size):
        if scratch.type_key[i] == 0:
            continue
        for row in range(SPARE):
            for column in range(RULE_WIDTH):
                work.rules[row, column] = scratch.rules[i, row, column]
            for column in range(PROB_WIDTH):
                work.rule_probs[row, column] = scratch.probs[i, row, column]
            # Another type of the class may have brought the dish.
            work.rules[row, SLOT] = find(restaurants, work.rules[row, FINGERPRINT])
        num_sites = 0
        num_cut = np.int64(0)
        at = i
        while at >= 0:
            scratch.type_key[at] = 0
            site = scratch.member[at]
            num_cut += np.int64(codes[trees.start[sites.sentence[site]] + sites.place[site]]) & 1
            num_sites += 1
            at = scratch.following[at]
        if not _is_separable(restaurants, work):
            continue
        left = resample_number(rng, restaurants, work, num_sites, num_cut, scratch)
        at = i
        while at >= 0:
            site = scratch.member[at]
            place = trees.start[sites.sentence[site]] + sites.place[site]
            cut = 1 if draws.bernoulli(rng, left / num_sites) else 0
            left -= cut
            num_sites -= 1
            if codes[place] & 1 != cut:
                codes[place] ^= 1
                work.counters[CUTS_CHANGED] += 1
            at = scratch.following[at]


@borrowing
def _is_separable(restaurants, work):
    """Whether wholes and parts have no dish, and no table count that matters, in common."""
    rules = work.rules
    whole = rules[WHOLE, STRATUM]
    for part in (UPPER, LOWER):
        if rules[part, FINGERPRINT] == rules[WHOLE, FINGERPRINT]:
            return False
        if rules[part, STRATUM] == whole and restaurants.discount[whole] > 0.0:
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
    inverse_temperature = work.inverse_temperature[0]
    for m in range(num_sites + 1):
        log_weight = scratch.logs[0, num_sites - m] + scratch.logs[1, m]
        log_weight -= _log_totals(restaurants, work, num_sites - m, m)
        scratch.log_weights[m] = _log_ways(num_sites, m) + inverse_temperature * log_weight
    chosen = draws.log_categorical(rng, scratch.log_weights, num_sites + 1)
    for k in range(num_sites - chosen):
        _seat(rng, restaurants, work, WHOLE, scratch.opens[0, k])
    for k in range(chosen):
        _seat(rng, restaurants, work, UPPER, scratch.opens[1, 2 * k])
        _seat(rng, restaurants, work, LOWER, scratch.opens[1, 2 * k + 1])
    return chosen


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
