"""The k best derivations of a hypergraph, lazily: algorithm 3 of Huang and Chiang (2005).

A derivation of a node is an edge and, for each tail, the rank of one of its derivations. The derivations that
may follow another are those with one rank one higher; the next best of a node is the best of the followers of
those found so far. Nothing is computed for a node before a rank of it is asked for.

Edges carry templates, which spell strings: a symbol is a word id, or −1−k for the string of tail k. Different
derivations often spell the same string. With `unique`, every node, not the goal alone, keeps only the best
derivation of each string: another one cannot be a part of the best derivation of anything. A node that finds
a string again hides the derivation, but its followers are candidates like any other. Without this, grammars
with many ways to build one string make thousands of derivations for each new translation.

The fact a newcomer would get wrong: a derivation is identified by pointers to the derivations of its tails,
not by ranks, and the next of a derivation by a pointer from it. A rank is never counted.

Strings are told apart by their length and 62 bits of a polynomial hash, which follows from that of the parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.arrays.hash_table import (
    first_candidate,
    free_slot,
    mix,
    new_slots,
    next_candidate,
    number_in,
    put,
)
from scfg_sampler.core.forests.hypergraph import Hypergraph, largest_arity
from scfg_sampler.core.jit import borrowing, by_reference, compiled, inlined, kernel
from scfg_sampler.errors import SettingsError

__all__ = ["KBest", "k_best"]

_UNKNOWN, _NONE = -1, -2  # What is known of the next derivation.
_PRIME, _HIGH_BASE, _LOW_BASE = 0x7FFFFFFF, 0x2545F491, 0x369DEA0F  # Products stay below 2⁶³.


class KBest(NamedTuple):
    """K derivations of the goal, from the best to the worst.

    score : float64 (K,)
    edge_start, edges : int64 (K + 1,), int32; the edges of each derivation in preorder
    word_start, words : int64 (K + 1,), int32; the string each derivation spells
    """

    score: np.ndarray
    edge_start: np.ndarray
    edges: np.ndarray
    word_start: np.ndarray
    words: np.ndarray


def k_best(
    graph: Hypergraph,
    weights: np.ndarray,
    template_start: np.ndarray,
    template: np.ndarray,
    k: int,
    *,
    unique: bool = False,
) -> KBest:
    """The k best derivations of the goal, fewer if there are not as many; ties in a fixed order.

    Parameters
    ----------
    weights : float64 (E,), what each edge adds to the score; −∞ for an edge that cannot be used
    template_start, template : int64 (E + 1,), int32, what each edge spells
    unique : keep only the best derivation of each string

    Raises
    ------
    SettingsError
        k is below 1.
    """
    if k < 1:
        raise SettingsError(f"--nbest is {k}; at least 1 derivation can be asked for")
    labelled = _Graph(*graph, weights, template_start, template)
    return KBest(*_k_best(labelled, k, unique, max(1, largest_arity(graph))))


class _Graph(NamedTuple):
    """A hypergraph with weights and templates."""

    edge_start: np.ndarray
    tail_start: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    template_start: np.ndarray
    template: np.ndarray


class _Found(NamedTuple):
    """Derivations: those of nodes, of which number v is the best of node v, and candidates.

    edge, node : int32
    score : float64
    raised : int32, the tail whose rank was raised last
    tails : int32, two dimensions, the derivations of the tails
    spelling : int64, two dimensions: length, two residues of the hash, and the powers of the base for the
        length
    left, right : int32, the skew heap a candidate is in
    popped : int32, what the node's heap gave after this derivation, maybe hidden; _UNKNOWN, or _NONE at the
        end
    following : int32, the next of the node that is not hidden; _UNKNOWN, or _NONE at the end
    is_hidden : bool, whether a better derivation of the node spells the same
    """

    edge: np.ndarray
    node: np.ndarray
    score: np.ndarray
    raised: np.ndarray
    tails: np.ndarray
    spelling: np.ndarray
    left: np.ndarray
    right: np.ndarray
    popped: np.ndarray
    following: np.ndarray
    is_hidden: np.ndarray


class _Nodes(NamedTuple):
    """What is known of nodes.

    candidates : int32, the root of each node's heap, −1 while it is empty
    is_open : bool, whether the candidates that `_open` makes have been made
    counter : int64 (3,), derivations, strings, and asked ones
    """

    candidates: np.ndarray
    is_open: np.ndarray
    counter: np.ndarray


_DERIVATIONS, _STRINGS, _ASKED = range(3)


@kernel
def _k_best(graph, k, unique, max_arity):
    num_nodes = len(graph.edge_start) - 1
    graph = by_reference(graph)
    found = _larger(_no_derivations(max_arity), 2 * num_nodes)
    for node in range(num_nodes):
        _first(graph, by_reference(found), node)
    candidates, is_open = np.full(num_nodes, -1, np.int32), np.zeros(num_nodes, np.bool_)
    count = np.array([num_nodes, 0, 0])
    nodes = _Nodes(candidates, is_open, count)
    slots, asked = new_slots(512), np.empty(64, np.int32)

    best, num_best = np.empty(16, np.int32), 0
    current = num_nodes - 1 if found.edge[num_nodes - 1] >= 0 else _NONE
    while current >= 0:
        best = grown(best, num_best + 1)
        best[num_best] = current
        num_best += 1
        if num_best == k:
            break
        asked[0], count[_ASKED] = current, 1
        while count[_ASKED] > 0:
            node = found.node[asked[count[_ASKED] - 1]]
            num_edges = graph.edge_start[node + 1] - graph.edge_start[node]
            asked = grown(asked, count[_ASKED] + 1)
            found = _larger(found, count[_DERIVATIONS] + num_edges + max_arity)
            if 2 * (count[_STRINGS] + 2) > len(slots):
                slots = _rehashed(found, slots)
            # Made here, so that what they refer to is held until the loop ends.
            _advance(graph, by_reference(found), by_reference(nodes), slots, asked, unique)
        current = found.following[current]

    score = np.empty(num_best)
    for i in range(num_best):
        score[i] = found.score[best[i]]
    edge_start, edges = _list_edges(graph, found, best[:num_best])
    word_start, words = _spell(graph, found, best[:num_best])
    return score, edge_start, edges, word_start, words


# ---- Algorithm 3 ----------------------------------------------------------------------------------


@borrowing
def _advance(graph, found, nodes, slots, asked, unique):
    """Tell what follows the derivation asked for last, or ask for what must be known before that.

    LazyKthBest of the paper, with `asked` in place of its recursion.
    """
    count = nodes.counter
    one = asked[count[_ASKED] - 1]
    if found.popped[one] == _UNKNOWN:
        waiting = _tail_to_ask(graph, found, one)
        if waiting >= 0:
            asked[count[_ASKED]] = waiting
            count[_ASKED] += 1
            return
        _pop_next(graph, found, nodes, slots, one, unique)
    top = found.popped[one]
    if top == _NONE or not found.is_hidden[top]:
        found.following[one] = top
    elif found.following[top] == _UNKNOWN:
        asked[count[_ASKED]] = top
        count[_ASKED] += 1
        return
    else:
        found.following[one] = found.following[top]
    count[_ASKED] -= 1


@borrowing
def _pop_next(graph, found, nodes, slots, one, unique):
    """Add what may follow a derivation to the candidates of its node, and take the best of them."""
    count, candidates = nodes.counter, nodes.candidates
    node = found.node[one]
    first_new = count[_DERIVATIONS]
    if not nodes.is_open[node]:
        nodes.is_open[node] = True
        _open(graph, found, count, node)  # GetCandidates
        if unique:
            _is_seen(found, slots, count, node)
    _followers(graph, found, count, one)  # LazyNext
    for new in range(first_new, count[_DERIVATIONS]):
        candidates[node] = _melt(found, candidates[node], new)
    top = np.int64(candidates[node])
    found.popped[one] = top if top >= 0 else _NONE
    if top >= 0:
        candidates[node] = _melt(found, found.left[top], found.right[top])
        if unique:
            found.is_hidden[top] = _is_seen(found, slots, count, top)


@borrowing
def _tail_to_ask(graph, found, one):
    """A tail's derivation whose next one must be known before the followers of `one` are; −1 if none."""
    edge = found.edge[one]
    for axis in range(found.raised[one], graph.tail_start[edge + 1] - graph.tail_start[edge]):
        if found.following[found.tails[one, axis]] == _UNKNOWN:
            return found.tails[one, axis]
    return -1


# ---- Derivations ----------------------------------------------------------------------------------


@borrowing
def _first(graph, found, node):
    """Make the best derivation of a node; its edge is −1 if there is none."""
    _clear(found, node, node)
    found.edge[node], found.score[node] = -1, -np.inf
    for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
        value = graph.weights[edge]
        for i in range(graph.tail_start[edge], graph.tail_start[edge + 1]):
            value += found.score[graph.tails[i]]
        if value > found.score[node]:
            found.score[node], found.edge[node] = value, edge
    edge = found.edge[node]
    if edge >= 0:
        for i in range(graph.tail_start[edge], graph.tail_start[edge + 1]):
            found.tails[node, i - graph.tail_start[edge]] = graph.tails[i]
        _hash(graph, found, node)


@borrowing
def _open(graph, found, count, node):
    """Make candidates of the node's edges but the best."""
    num_found = count[_DERIVATIONS]
    for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
        first_tail = graph.tail_start[edge]
        value = graph.weights[edge]
        for i in range(first_tail, graph.tail_start[edge + 1]):
            value += found.score[graph.tails[i]]
            found.tails[num_found, i - first_tail] = graph.tails[i]
        if edge != found.edge[node] and value > -np.inf:
            _clear(found, num_found, node)
            found.edge[num_found], found.score[num_found], found.raised[num_found] = edge, value, 0
            _hash(graph, found, num_found)
            num_found += 1
    count[_DERIVATIONS] = num_found


@borrowing
def _followers(graph, found, count, one):
    """Make candidates of what may follow a derivation.

    Only tails from the one raised last on are raised, so every candidate is made once.
    """
    num_found, edge = count[_DERIVATIONS], found.edge[one]
    arity = graph.tail_start[edge + 1] - graph.tail_start[edge]
    for axis in range(found.raised[one], arity):
        successor = found.following[found.tails[one, axis]]
        if successor < 0:
            continue
        value = graph.weights[edge]
        for i in range(arity):
            found.tails[num_found, i] = successor if i == axis else found.tails[one, i]
            value += found.score[found.tails[num_found, i]]
        _clear(found, num_found, found.node[one])
        found.edge[num_found], found.score[num_found], found.raised[num_found] = edge, value, axis
        _hash(graph, found, num_found)
        num_found += 1
    count[_DERIVATIONS] = num_found


@borrowing
def _clear(found, one, node):
    found.node[one], found.raised[one], found.is_hidden[one] = node, 0, False
    found.left[one], found.right[one] = -1, -1
    found.popped[one], found.following[one] = _UNKNOWN, _UNKNOWN


@compiled
def _no_derivations(max_arity):
    no_ints = np.empty(0, np.int32)
    return _Found(
        no_ints,
        no_ints,
        np.empty(0),
        no_ints,
        np.empty((0, max_arity), np.int32),
        np.empty((0, 5), np.int64),
        no_ints,
        no_ints,
        no_ints,
        no_ints,
        np.empty(0, np.bool_),
    )


@compiled
def _larger(found, size):
    return _Found(
        grown(found.edge, size),
        grown(found.node, size),
        grown(found.score, size),
        grown(found.raised, size),
        grown(found.tails, size),
        grown(found.spelling, size),
        grown(found.left, size),
        grown(found.right, size),
        grown(found.popped, size),
        grown(found.following, size),
        grown(found.is_hidden, size),
    )


@borrowing
def _melt(found, one, other):
    """The root of the union of two skew heaps; −1 is the empty heap. Ties: the older derivation first."""
    left, right, score = found.left, found.right, found.score
    root, above = -1, -1
    while True:
        if one < 0 or (other >= 0 and _is_better(score, other, one)):
            one, other = other, one
        if above < 0:
            root = one
        else:
            left[above] = one
        if other < 0:
            return root
        above = one
        one = right[above]
        right[above] = left[above]


@borrowing
def _is_better(score, one, other):
    return score[one] > score[other] or (score[one] == score[other] and one < other)


# ---- What they are made of, and what they spell ---------------------------------------------------


@compiled
def _list_edges(graph, found, derivations):
    """The edges of derivations, in preorder: offsets, and edges."""
    start, edges = np.zeros(len(derivations) + 1, np.int64), np.empty(1024, np.int32)
    stack = np.empty(64, np.int32)
    end = 0
    for row in range(len(derivations)):
        stack[0] = derivations[row]
        depth = 1
        while depth > 0:
            depth -= 1
            one = stack[depth]
            edge = found.edge[one]
            edges = grown(edges, end + 1)
            edges[end] = edge
            end += 1
            arity = graph.tail_start[edge + 1] - graph.tail_start[edge]
            stack = grown(stack, depth + arity + 1)
            for axis in range(arity - 1, -1, -1):
                stack[depth] = found.tails[one, axis]
                depth += 1
        start[row + 1] = end
    return start, edges[:end].copy()


@compiled
def _spell(graph, found, derivations):
    """The strings of derivations: offsets, and words."""
    start, words = np.zeros(len(derivations) + 1, np.int64), np.empty(1024, np.int32)
    stack, places = np.empty(64, np.int32), np.empty(64, np.int64)
    end = 0
    for row in range(len(derivations)):
        stack[0], places[0] = derivations[row], graph.template_start[found.edge[derivations[row]]]
        depth = 1
        while depth > 0:
            one, place = stack[depth - 1], places[depth - 1]
            if place == graph.template_start[found.edge[one] + 1]:
                depth -= 1
                continue
            places[depth - 1] += 1
            symbol = graph.template[place]
            if symbol >= 0:
                words = grown(words, end + 1)
                words[end] = symbol
                end += 1
            else:
                stack, places = grown(stack, depth + 1), grown(places, depth + 1)
                stack[depth] = found.tails[one, -1 - symbol]
                places[depth] = graph.template_start[found.edge[stack[depth]]]
                depth += 1
        start[row + 1] = end
    return start, words[:end].copy()


@borrowing
def _hash(graph, found, one):
    """Set the spelling of a derivation from those of its tails."""
    length, high, low, high_power, low_power = 0, 0, 0, 1, 1
    for i in range(graph.template_start[found.edge[one]], graph.template_start[found.edge[one] + 1]):
        symbol = graph.template[i]
        if symbol >= 0:
            length += 1
            high, low = (high * _HIGH_BASE + symbol + 1) % _PRIME, (low * _LOW_BASE + symbol + 1) % _PRIME
            high_power, low_power = high_power * _HIGH_BASE % _PRIME, low_power * _LOW_BASE % _PRIME
        else:
            part = found.spelling[found.tails[one, -1 - symbol]]
            length += part[0]
            high, low = (high * part[3] + part[1]) % _PRIME, (low * part[4] + part[2]) % _PRIME
            high_power, low_power = high_power * part[3] % _PRIME, low_power * part[4] % _PRIME
    row = found.spelling[one]
    row[0], row[1], row[2], row[3], row[4] = length, high, low, high_power, low_power


@compiled
def _rehashed(found, slots):
    """A table of strings twice as large."""
    larger = new_slots(len(slots))
    for slot in range(len(slots)):
        one = number_in(slots, slot)
        if one >= 0:
            code = _string_hash(found, one)
            put(larger, free_slot(larger, code), code, one)
    return larger


@borrowing
def _is_seen(found, slots, count, one):
    """Whether the node of a derivation has had its string before; it is noted that it has it now."""
    code = _string_hash(found, one)
    slot = first_candidate(slots, code, 0)
    while number_in(slots, slot) >= 0:
        if _is_same(found, one, number_in(slots, slot)):
            return True
        slot = next_candidate(slots, code, 0, slot)
    put(slots, slot, code, one)
    count[_STRINGS] += 1
    return False


@inlined
def _string_hash(found, one):
    """A hash of a derivation's node and string."""
    mine = found.spelling[one]
    return mix(mix(mix(np.uint64(found.node[one]), mine[0]), mine[1]), mine[2])


@inlined
def _is_same(found, one, other):
    """Whether two derivations have the same node and the same string."""
    mine, its = found.spelling[one], found.spelling[other]
    is_same = found.node[one] == found.node[other] and mine[0] == its[0]
    return is_same and mine[1] == its[1] and mine[2] == its[2]
