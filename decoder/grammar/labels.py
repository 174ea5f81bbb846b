"""Tries whose nonterminals have labels: what the chart has to know of them.

In the trie a gap of X is the symbol of any nonterminal, a gap of another label a symbol beyond all words.
Rules that share source side and labels, the left-hand side's too, are a group.

A rule whose source side is one gap makes a label of another over the same words. Cells over one span are made
in an order in which such rules lead from earlier labels to later ones. Where they lead in a circle, as from X
to X, derivations could grow for ever; those rules are not used.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from scfg_sampler.rules.labels import Labels

__all__ = ["MISMATCH", "GrammarLabels", "TrieLabels", "grammar_labels", "owners", "trie_symbols"]

MISMATCH = "LabelMismatch"  # The feature that counts gaps filled by another label than theirs.


class TrieLabels(NamedTuple):
    """The labels of G groups and of the nodes of a trie; labels are numbers, X is 0.

    lhs : int32 (G,), the label that a group makes
    gap_start, gap_label, gap_child : int32 (T + 1,), (C,), (C,); the nodes that gaps lead to from node t are
        those from gap_start[t] to gap_start[t + 1] − 1, in the order of `order`
    order : int32 (L,), all labels
    unary_start, unary_group, unary_label : int32 (L + 1,), (U,), (U,); the groups whose source side is one
        gap, by the label they make, and the label of the gap
    copied : bool (L,), the labels of words that are copied: X, and those of gaps
    """

    lhs: np.ndarray
    gap_start: np.ndarray
    gap_label: np.ndarray
    gap_child: np.ndarray
    order: np.ndarray
    unary_start: np.ndarray
    unary_group: np.ndarray
    unary_label: np.ndarray
    copied: np.ndarray


class GrammarLabels(NamedTuple):
    """The labels of a grammar by number, and where they are in its trie."""

    names: tuple[str, ...]
    trie: TrieLabels


def trie_symbols(labels: Labels, start: np.ndarray, source: np.ndarray, num_words: int) -> np.ndarray:
    """Source sides with symbols from `num_words` on for the gaps of labels other than X; int32."""
    symbols = source.astype(np.int32, copy=True)
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    gap = np.flatnonzero(source < 0)
    label = labels.kinds[labels.kind[row[gap]], -source[gap]]
    other = label > 0
    symbols[gap[other]] = num_words - 1 + label[other]
    return symbols


def owners(
    start: np.ndarray,
    source: np.ndarray,
    table_start: np.ndarray,
    max_spans: np.ndarray,
    labels: Labels | None,
) -> tuple[np.ndarray, np.ndarray]:
    """What rules of one group have in common besides the source side: the table, and the label they make.

    Parameters
    ----------
    start, source : the source sides of R rules
    table_start : int64 (T + 1,), the rules of each table
    max_spans : int32 (T,), the longest span that rules of each may cover
    labels : of the rules; None if all are X

    Returns
    -------
    owner : int32 (R,), a number for each rule, −1 if it cannot be used
    max_spans : int32, those of the numbers
    """
    owner = np.repeat(np.arange(len(max_spans), dtype=np.int32), np.diff(table_start))
    length = np.diff(start)
    unary = (length == 1) & (np.append(source, 0)[start[:-1]] < 0)
    if labels is not None:
        owner = owner * len(labels.names) + labels.lhs
        max_spans = np.repeat(max_spans, len(labels.names))
        if unary.any():
            kinds = labels.kinds[labels.kind[unary]]
            circle = _circles(len(labels.names), kinds[:, 1], kinds[:, 0])
            unary[unary] = circle[kinds[:, 0]] == circle[kinds[:, 1]]
    owner[unary | (length == 0)] = -1
    return owner, max_spans


def _circles(num_labels: int, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """A number for each label, the same for those that lead to each other by arcs; int32 (L,)."""
    from scipy import sparse

    arcs = sparse.csr_array((np.ones(len(tail), np.int8), (tail, head)), shape=(num_labels, num_labels))
    return sparse.csgraph.connected_components(arcs, connection="strong")[1]


class HasSlots(Protocol):
    """What `grammar_labels` needs of a `Trie`."""

    @property
    def slot_keys(self) -> np.ndarray: ...

    @property
    def slot_children(self) -> np.ndarray: ...

    @property
    def first_group(self) -> np.ndarray: ...

    @property
    def next_group(self) -> np.ndarray: ...

    @property
    def group_arity(self) -> np.ndarray: ...


def grammar_labels(labels: Labels, trie: HasSlots, num_words: int, rules: np.ndarray) -> GrammarLabels | None:
    """What a trie says of labels; None if that cannot be: one has no name, unary rules lead in a circle.

    Parameters
    ----------
    labels : of the rules
    trie : Trie
    num_words : what `trie_symbols` was told
    rules : int32 (G,), a rule of each group
    """
    lhs, num_labels, num_nodes = labels.lhs[rules], len(labels.names), len(trie.first_group)
    used = trie.slot_keys != -1
    keys, children = trie.slot_keys[used], trie.slot_children[used].astype(np.int32)
    node, symbol = keys >> 32, (keys & 0xFFFFFFFF) - 1
    gap = (symbol < 0) | (symbol >= num_words)
    node, children = node[gap], children[gap]
    label = np.maximum(symbol[gap] - num_words + 1, 0).astype(np.int32)
    if len(node) and (label.max() >= num_labels or node.min() < 0 or node.max() >= num_nodes):
        return None
    roots = node == 0
    unary_group, unary_label = _unary_groups(children[roots], label[roots], trie)
    order = _in_order(num_labels, unary_label, lhs[unary_group])
    if order is None or (trie.group_arity[unary_group] != 1).any():
        return None
    rank = np.argsort(order)
    by_node = np.lexsort((rank[label], node))
    gap_start = np.searchsorted(node[by_node], np.arange(num_nodes + 1)).astype(np.int32)
    by_lhs = np.argsort(lhs[unary_group], kind="stable")
    unary_start = np.searchsorted(lhs[unary_group][by_lhs], np.arange(num_labels + 1)).astype(np.int32)
    copied = np.zeros(num_labels, bool)
    copied[label] = True
    copied[0] = True
    found = TrieLabels(
        lhs.astype(np.int32),
        gap_start,
        label[by_node],
        children[by_node],
        order,
        unary_start,
        unary_group[by_lhs],
        unary_label[by_lhs],
        copied,
    )
    return GrammarLabels(labels.names, found)


def _unary_groups(nodes: np.ndarray, labels: np.ndarray, trie: HasSlots) -> tuple[np.ndarray, np.ndarray]:
    """The groups at some nodes, and the label that each of the nodes has; int32."""
    found = []
    for node, label in zip(nodes.tolist(), labels.tolist(), strict=True):
        group = int(trie.first_group[node])
        while group >= 0:
            found.append((group, label))
            group = int(trie.next_group[group])
    pairs = np.array(sorted(found), np.int32).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _in_order(num_labels: int, tail: np.ndarray, head: np.ndarray) -> np.ndarray | None:
    """All labels, int32, in an order in which every arc leads to a later one; None if there is none."""
    heads: dict[int, list[int]] = {}
    waiting = np.zeros(num_labels, np.int64)
    for one, other in {*zip(tail.tolist(), head.tolist(), strict=True)}:
        heads.setdefault(one, []).append(other)
        waiting[other] += 1
    ready = [label for label in range(num_labels) if not waiting[label]]
    for label in ready:  # Grows.
        for other in sorted(heads.get(label, ())):
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return np.array(ready, np.int32) if len(ready) == num_labels else None
