"""Double-DOP: the fragments that two trees of a treebank share (Sangati and Zuidema 2011).

Two nodes with the same production have one largest fragment in common: the production, and below each child
that has the same production on both sides, again what the two have in common. It is kept if the nodes are not
themselves such children of nodes with one production, which would have a larger fragment in common. The
grammar is all of these fragments, of every pair of trees, and all productions, each as often as it occurs in
the treebank; its probabilities are relative frequencies.

Nodes are compared only with those that have the same production, which are listed beside each other, and not
tree with tree.

The fact a newcomer would get wrong: a fragment occurs more often than it is found as a largest common one. So
occurrences are counted afterwards, from the rarest production of each fragment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.tsg.fragments import CountedFragment, production_fragments, spelled_fragment
from monolingual.tsg.treebank import Treebank, has_choices
from scfg_sampler.core.arrays.growth import grown
from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.errors import SettingsError

__all__ = ["recurring_cuts", "recurring_fragments", "require_single_trees"]


class _Nodes(NamedTuple):
    """All nodes of a treebank, numbered through. N nodes, P productions.

    Attributes
    ----------
    production, label, sentence, parent, place : int32, shape (N,)
        Parent −1 at roots; `place` says which child of it a node is.
    child_start : int64, shape (N + 1,)
    children : int32
        Numbered through, too.
    start : int64, shape (P + 1,)
    members : int32, shape (N,)
        The nodes of each production.
    """

    production: np.ndarray
    label: np.ndarray
    sentence: np.ndarray
    parent: np.ndarray
    place: np.ndarray
    child_start: np.ndarray
    children: np.ndarray
    start: np.ndarray
    members: np.ndarray


class _Found(NamedTuple):
    """Different fragments: the symbols of fragment f are symbols[start[f]:start[f + 1]].

    A symbol is a production, or −1 − label at the frontier; in preorder.
    """

    start: np.ndarray
    symbols: np.ndarray


def recurring_fragments(treebank: Treebank) -> list[CountedFragment]:
    """The fragments of a treebank's Double-DOP grammar with the number of their occurrences.

    Parameters
    ----------
    treebank : Treebank
        With one tree for each sentence.

    Returns
    -------
    list of CountedFragment: the productions, then the larger ones

    Raises
    ------
    SettingsError
        A sentence has several trees.
    """
    require_single_trees(treebank, "--method 2dop")
    nodes = _nodes(treebank)
    found = _Found(*_common_fragments(nodes))
    counts = _occurrences(nodes, found)
    fragments = production_fragments(treebank)
    for at, count in enumerate(counts.tolist()):
        symbols = found.symbols[found.start[at] : found.start[at + 1]].tolist()
        frontier = [int(symbol < 0) for symbol in symbols]
        numbers = [-1 - symbol if symbol < 0 else symbol for symbol in symbols]
        fragments.append(CountedFragment(spelled_fragment(treebank, numbers, frontier), count))
    return fragments


def recurring_cuts(treebank: Treebank) -> np.ndarray:
    """Derivations of all trees from fragments that recur, as large as they come from the roots down.

    At a root stands the largest fragment that it shares with a node of another tree (its production if it
    shares no more), and at each nonterminal of its frontier the same again.

    Parameters
    ----------
    treebank : Treebank
        With one tree for each sentence.

    Returns
    -------
    uint16, shape (N,): 1 at the nodes where a fragment begins

    Raises
    ------
    SettingsError
        A sentence has several trees.
    """
    require_single_trees(treebank, "--start 2dop")
    return _greedy_cuts(_nodes(treebank))


def require_single_trees(treebank: Treebank, option: str) -> None:
    """Raise a SettingsError that names an option if a sentence has several trees.

    Parameters
    ----------
    treebank : Treebank
    option : str
    """
    if has_choices(treebank).any():
        raise SettingsError(f"{option} compares trees; it goes with TREES alone")


@kernel
def _greedy_cuts(nodes):
    cuts = np.zeros(len(nodes.production), dtype=np.uint16)
    pairs = np.empty((len(nodes.production) + 1, 2), dtype=np.int32)
    room = np.empty(2 * len(nodes.production) + 1, dtype=np.int32)
    for node in range(len(cuts)):  # Parents come before their children.
        if nodes.parent[node] < 0:
            cuts[node] = 1
        if cuts[node] == 0:
            continue
        best, largest = node, -1
        production = nodes.production[node]
        for at in range(nodes.start[production], nodes.start[production + 1]):
            other = nodes.members[at]
            if nodes.sentence[other] != nodes.sentence[node]:
                size = _common(nodes, node, other, pairs, room)[0]
                if size > largest:
                    best, largest = other, size
        _cut_where_different(nodes, node, best, pairs, cuts)
    return cuts


@compiled
def _cut_where_different(nodes, node, other, pairs, cuts):
    """Cut below a node where it and another one cease to have the same productions."""
    pairs[0, 0], pairs[0, 1] = node, other
    depth = 1
    while depth > 0:
        depth -= 1
        one, two = pairs[depth, 0], pairs[depth, 1]
        if nodes.production[one] != nodes.production[two] or (node == other and one != node):
            cuts[one] = 1
            continue
        first, second = nodes.child_start[one], nodes.child_start[two]
        for at in range(nodes.child_start[one + 1] - first):
            pairs[depth, 0], pairs[depth, 1] = nodes.children[first + at], nodes.children[second + at]
            depth += 1


def _nodes(treebank: Treebank) -> _Nodes:
    size = len(treebank.label)
    lengths = np.diff(treebank.node_start)
    sentence = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    # One edge a node, so that edges are numbered as nodes are.
    owner = np.repeat(np.arange(size), np.diff(treebank.tail_start))
    children = (treebank.tails + treebank.node_start[sentence[owner]]).astype(np.int32)
    parent, place = np.full((2, size), -1, np.int32)
    parent[children] = owner
    place[children] = np.arange(len(children)) - treebank.tail_start[owner]
    members = np.argsort(treebank.production, kind="stable").astype(np.int32)
    bounds = np.arange(len(treebank.productions.lhs) + 1)
    start = np.searchsorted(treebank.production[members], bounds).astype(np.int64)
    starts = treebank.tail_start.astype(np.int64)
    production, label = treebank.production.astype(np.int32), treebank.label.astype(np.int32)
    return _Nodes(production, label, sentence, parent, place, starts, children, start, members)


@kernel
def _common_fragments(nodes):
    """All largest common fragments of two productions or more: offsets and symbols."""
    start = np.zeros(1024, dtype=np.int64)
    symbols = np.empty(16384, dtype=np.int32)
    table = np.full(4096, -1, dtype=np.int64)
    hashes = np.empty(1024, dtype=np.int64)
    pairs = np.empty((len(nodes.production) + 1, 2), dtype=np.int32)
    room = np.empty(2 * len(nodes.production) + 1, dtype=np.int32)
    found = 0
    for production in range(len(nodes.start) - 1):
        for at in range(nodes.start[production], nodes.start[production + 1]):
            for other in range(at + 1, nodes.start[production + 1]):
                i, j = nodes.members[at], nodes.members[other]
                if nodes.sentence[i] == nodes.sentence[j] or not _is_largest(nodes, i, j):
                    continue
                size, code = _common(nodes, i, j, pairs, room)
                slot = _slot(table, hashes, start, symbols, room, size, code)
                if table[slot] >= 0:
                    continue
                if found + 2 > len(start):
                    start, hashes = grown(start, found + 2), grown(hashes, found + 2)
                symbols = grown(symbols, start[found] + size)
                symbols[start[found] : start[found] + size] = room[:size]
                start[found + 1] = start[found] + size
                hashes[found] = code
                table[slot] = found
                found += 1
                if 2 * found > len(table):
                    table = _rehashed(hashes, found, 2 * len(table))
    return start[: found + 1].copy(), symbols[: start[found]].copy()


@compiled
def _is_largest(nodes, i, j):
    """Whether two nodes share more than a production, and no larger fragment holds what they share."""
    up, above = nodes.parent[i], nodes.parent[j]
    is_below = up >= 0 and above >= 0 and nodes.place[i] == nodes.place[j]
    if is_below and nodes.production[up] == nodes.production[above]:
        return False
    first, second = nodes.child_start[i], nodes.child_start[j]
    for at in range(nodes.child_start[i + 1] - first):
        if nodes.production[nodes.children[first + at]] == nodes.production[nodes.children[second + at]]:
            return True
    return False


@compiled
def _common(nodes, i, j, pairs, room):
    """Write the symbols of what two nodes share to `room`; how many, and their hash."""
    pairs[0, 0], pairs[0, 1] = i, j
    depth, size, code = 1, 0, 2166136261
    while depth > 0:
        depth -= 1
        one, two = pairs[depth, 0], pairs[depth, 1]
        symbol = -1 - nodes.label[one]
        if nodes.production[one] == nodes.production[two]:
            symbol = nodes.production[one]
            first, second = nodes.child_start[one], nodes.child_start[two]
            for at in range(nodes.child_start[one + 1] - first - 1, -1, -1):
                pairs[depth, 0], pairs[depth, 1] = nodes.children[first + at], nodes.children[second + at]
                depth += 1
        room[size] = symbol
        size += 1
        symbol = int(symbol)  # As plain Python, too, has 64 bits for it.
        # Fowler, Noll and Vo's hash, kept below 2^38 so that products do not overflow.
        code = ((code ^ (symbol & 0xFFFF)) * 16777619) & 0x3FFFFFFFFF
        code = ((code ^ ((symbol >> 16) & 0xFFFF)) * 16777619) & 0x3FFFFFFFFF
    return size, code


@compiled
def _slot(table, hashes, start, symbols, room, size, code):
    """Where a fragment is in the table, or where it would go."""
    slot = (code ^ (code >> 17)) % len(table)
    while table[slot] >= 0:
        known = table[slot]
        if hashes[known] == code and start[known + 1] - start[known] == size:
            same = True
            for at in range(size):
                if symbols[start[known] + at] != room[at]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) % len(table)
    return slot


@compiled
def _rehashed(hashes, found, size):
    table = np.full(size, -1, dtype=np.int64)
    for known in range(found):
        code = hashes[known]
        slot = (code ^ (code >> 17)) % size
        while table[slot] >= 0:
            slot = (slot + 1) % size
        table[slot] = known
    return table


@kernel
def _occurrences(nodes, found):
    """How often each fragment occurs: int64, one for each."""
    counts = np.zeros(len(found.start) - 1, dtype=np.int64)
    stack = np.empty(len(nodes.production) + 1, dtype=np.int32)
    widths = np.diff(nodes.start)
    for fragment in range(len(counts)):
        symbols = found.symbols[found.start[fragment] : found.start[fragment + 1]]
        rarest, depth = _rarest(nodes, symbols, widths, stack)
        production = symbols[rarest]
        for at in range(nodes.start[production], nodes.start[production + 1]):
            node = nodes.members[at]
            root = node
            for _ in range(depth):
                root = nodes.parent[root] if root >= 0 else root
            if root >= 0 and _occurs(nodes, symbols, root, rarest, node, stack):
                counts[fragment] += 1
    return counts


@compiled
def _rarest(nodes, symbols, widths, stack):
    """Which of a fragment's productions is the rarest of the treebank, and how deep it is."""
    best, depth_of_best, top = 0, 0, 1
    stack[0] = 0
    for at in range(len(symbols)):
        top -= 1
        depth = stack[top]
        if symbols[at] >= 0:
            if widths[symbols[at]] < widths[symbols[best]]:
                best, depth_of_best = at, depth
            node = nodes.members[nodes.start[symbols[at]]]
            for _ in range(nodes.child_start[node + 1] - nodes.child_start[node]):
                stack[top] = depth + 1
                top += 1
    return best, depth_of_best


@compiled
def _occurs(nodes, symbols, root, place, node, stack):
    """Whether a fragment stands at a root, with a node at the given place of its preorder."""
    stack[0] = root
    top = 1
    for at in range(len(symbols)):
        top -= 1
        here = stack[top]
        if at == place and here != node:
            return False
        if symbols[at] >= 0:
            if nodes.production[here] != symbols[at]:
                return False
            for child in range(nodes.child_start[here + 1] - 1, nodes.child_start[here] - 1, -1):
                stack[top] = nodes.children[child]
                top += 1
    return True
