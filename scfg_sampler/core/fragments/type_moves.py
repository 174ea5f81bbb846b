"""Type-based moves: resample all sites at once whose cut makes the same difference.

A site is a node of the tree that may be internal. Uncut, it stands inside a fragment w; cut, it divides w
in an upper fragment u and a lower one l. Sites with the same type (w, u, l) are exchangeable: of n such
sites, m cut ones have the same probability wherever they are. How many are to be cut is drawn first
(`core.fragments.type_numbers`), and which m of them is uniform (Liang, Jordan and Klein 2010; on forests,
Peng and Gildea 2014). Single-site moves must pass through the improbable mixtures on the way from "all cut"
to "none cut"; these jump.

The fact a newcomer would get wrong: which sites may move together must not depend on how they are cut. A
*class* holds the sites whose edge and parent's edge make the same minimal fragments (with everything cut),
which no move of cuts changes; of one sentence it takes one site, the next goes to a class of its own. Inside
a class the sites of the same type move together: no two of them touch each other, so no move changes which
these are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.arrays.hash_table import capacity_for, first_candidate, next_candidate, number_in, put
from scfg_sampler.core.fragments.cuts import LOWER, UPPER, WHOLE
from scfg_sampler.core.fragments.fingerprint import fingerprint
from scfg_sampler.core.fragments.paths import compose_up, fragment_top
from scfg_sampler.core.fragments.restaurant import (
    Restaurants,
    find,
    is_nearly_full,
)
from scfg_sampler.core.fragments.rules import record
from scfg_sampler.core.fragments.tree import (
    BELOW,
    CUT,
    CUTS_CHANGED,
    DIVIDE_BY_TREES,
    FINGERPRINT,
    FREE,
    LOG_PRIOR,
    NUM_TAILS,
    PARENT,
    PROB_WIDTH,
    RULE_WIDTH,
    SLOT,
    SPARE,
    TAIL_START,
    decode,
    open_sentence,
)
from scfg_sampler.core.fragments.type_numbers import (
    TypeScratch,
    can_be_weighed,
    new_type_scratch,
    resample_number,
)
from scfg_sampler.core.jit import borrowing, inlined

__all__ = [
    "SiteTrees",
    "TypeClasses",
    "TypeSites",
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
        if not can_be_weighed(restaurants, work):
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
