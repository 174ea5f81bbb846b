"""Treebank trees and packed forests as `core.fragments.tree` asks for them; their base distribution.

The label of a node's edge is its rank among the node's edges. A fragment spells the productions of its nodes
in preorder, a cut node being a slot: since a production says which labels it leads to, this names the
elementary tree. Beside it the weight of the fragment headed at a node is composed, ln P₀ of Cohn et al.
(2009), section 3:

    ln P₀(e) = Σ over the nodes of e that are expanded, ln P(production | label)
             + Σ over those below its root, ln β_c if expanded, ln (1 − β_c) if a frontier nonterminal.

The fact a newcomer would get wrong: the tails that the sampler reads are the treebank's own array, put in
the workspace once. Opening a sentence writes nothing but where it begins.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.tsg.treebank import Treebank, largest_trees
from scfg_sampler.core.fragments import tree as fragment_tree
from scfg_sampler.core.fragments.fingerprint import (
    COUNTS,
    FIRST_HASH,
    FIRST_POWER,
    MULTIPLIER,
    SLOT,
    word_hashes,
)
from scfg_sampler.core.fragments.tree import (
    CUT,
    EDGE,
    NUM_TAILS,
    OPTIONS,
    TAIL_START,
    Workspace,
    new_workspace,
)

_NO_VALUE = np.uint64(0)

__all__ = ["TreeForest", "TsgModel", "new_tree_forest", "new_tree_workspace"]


class TreeForest(NamedTuple):
    """The forest of the sentence that was last opened."""

    first: np.ndarray
    """int64 (1,): its root among all nodes."""
    node_start: np.ndarray
    """As in `Treebank`, like the next four."""
    label: np.ndarray
    edge_start: np.ndarray
    production: np.ndarray
    tail_start: np.ndarray
    largest: np.ndarray
    """int64 (S,): nodes of the largest tree of each sentence."""
    hashes: np.ndarray
    """uint64 (P,): the value of each production."""
    log_production: np.ndarray
    """float64 (P,): ln P(production | label)."""
    log_expand: np.ndarray
    """float64 (C,): ln β_c."""
    log_stop: np.ndarray
    """float64 (C,): ln (1 − β_c)."""


class TsgModel(NamedTuple):
    """One restaurant per label; what else there is to know is in the forest's weights."""

    num_labels: np.ndarray
    """int64 (1,)."""


def new_tree_forest(treebank: Treebank, log_production: np.ndarray) -> TreeForest:
    """The forest of a treebank; β = ½.

    Parameters
    ----------
    treebank : Treebank
    log_production : float64 (P,)
    """
    num_labels = len(treebank.productions.labels)
    return TreeForest(
        first=np.zeros(1, np.int64),
        node_start=treebank.node_start,
        label=treebank.label,
        edge_start=treebank.edge_start,
        production=treebank.production,
        tail_start=treebank.tail_start,
        largest=largest_trees(treebank),
        hashes=word_hashes(len(treebank.productions.lhs), 0),
        log_production=log_production,
        log_expand=np.full(num_labels, np.log(0.5)),
        log_stop=np.full(num_labels, np.log(0.5)),
    )


def new_tree_workspace(treebank: Treebank) -> Workspace:
    """A workspace for any sentence of a treebank.

    Parameters
    ----------
    treebank : Treebank
    """
    num_nodes = int(np.diff(treebank.node_start).max(initial=1))
    degree = int(np.diff(treebank.edge_start).max(initial=1))
    room = max(num_nodes, degree)
    # All options at a node, or a sentence's old and new derivation side by side.
    num_rules = (max(degree, 2) + 1) * (int(largest_trees(treebank).max(initial=1)) + 1)
    work = new_workspace(room, 1, num_rules)
    return work._replace(tails=treebank.tails)


@fragment_tree.open_sentence.register(TreeForest)
def _open_sentence(forest, work, data, sentence):
    forest.first[0] = data[sentence]
    return True


@fragment_tree.root.register(TreeForest)
def _root(forest):
    return 0


@fragment_tree.num_edges.register(TreeForest)
def _num_edges(forest, node):
    at = forest.first[0] + node
    return forest.edge_start[at + 1] - forest.edge_start[at]


@fragment_tree.nth_edge.register(TreeForest)
def _nth_edge(forest, node, rank):
    return rank


@fragment_tree.open_options.register(TreeForest)
def _open_options(forest, work, node):
    at = forest.first[0] + node
    size = forest.edge_start[at + 1] - forest.edge_start[at]
    if size > 1:
        for rank in range(size):
            work.lists[OPTIONS, rank] = rank
    return size


# Nodes that all derivations have in common are not looked for: to weigh them with every option is not wrong.


@fragment_tree.is_shared.register(TreeForest)
def _is_shared(forest, node, below):
    return False


@fragment_tree.num_inner_edges.register(TreeForest)
def _num_inner_edges(forest, node, below):
    at = forest.first[0] + below
    return forest.edge_start[at + 1] - forest.edge_start[at]


@fragment_tree.nth_inner_edge.register(TreeForest)
def _nth_inner_edge(forest, node, below, rank):
    return rank


@fragment_tree.may_be_internal.register(TreeForest)
def _may_be_internal(forest, node):
    return 1 if node > 0 else 0


@fragment_tree.log_internal_trees.register(TreeForest)
def _log_internal_trees(forest, work, node):
    return 0.0


@fragment_tree.attach.register(TreeForest)
def _attach(forest, node, packed):
    pass


@fragment_tree.attached.register(TreeForest)
def _attached(forest, node):
    return 0


@fragment_tree.root_value.register(TreeForest)
def _root_value(forest, node):
    return _NO_VALUE


@fragment_tree.set_tails.register(TreeForest)
def _set_tails(forest, work, node):
    edge = forest.edge_start[forest.first[0] + node] + work.nodes[node, EDGE]
    work.nodes[node, TAIL_START] = forest.tail_start[edge]
    work.nodes[node, NUM_TAILS] = forest.tail_start[edge + 1] - forest.tail_start[edge]


@fragment_tree.compose.register(TreeForest)
def _compose(forest, work, node):
    nodes, pieces = work.nodes, work.pieces
    first = forest.first[0]
    production = forest.production[forest.edge_start[first + node] + nodes[node, EDGE]]
    hashed, powered = forest.hashes[production], MULTIPLIER
    weight = forest.log_production[production]
    start = nodes[node, TAIL_START]
    for t in range(start, start + nodes[node, NUM_TAILS]):
        tail = work.tails[t]
        label = forest.label[first + tail]
        if nodes[tail, CUT] == 1:
            hashed = hashed * MULTIPLIER + SLOT
            powered *= MULTIPLIER
            weight += forest.log_stop[label]
        else:
            hashed = hashed * pieces[tail, FIRST_POWER] + pieces[tail, FIRST_HASH]
            powered *= pieces[tail, FIRST_POWER]
            weight += forest.log_expand[label] + work.weights[tail]
    pieces[node, FIRST_HASH] = hashed
    pieces[node, FIRST_POWER] = powered
    # A tree's fragment is described by its label alone.
    pieces[node, COUNTS] = np.uint64(forest.label[first + node])
    work.weights[node] = weight


@fragment_tree.describe.register(TsgModel)
def _describe(model, forest, work, node):
    log_base = work.weights[node]
    return np.int64(work.pieces[node, COUNTS]), 0.0, log_base, math.exp(log_base)
