"""Phrase decomposition forests whose nodes have types that are sampled along: what a `TypedForest` is.

Every node but the root has one of K types, 1 … K; the root has type 0, X, that no other has. Types matter
at cut nodes alone, where they stand on the left of a rule and in a gap of another. Forests, trees and pieces
are those of a `SentenceForest`: what a fragment spells is its skeleton, and types are told by a value beside
it (`core.fragments.backoff`).

The fact a newcomer would get wrong: a type is no label of a span, read from a file and the same for all
derivations (`forest.labelled`). It is stored with the derivation, behind the edge and the cut of its node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws, elementary
from scfg_sampler.core.fragments import tree as fragment_tree
from scfg_sampler.core.fragments.backoff import head_type, type_value
from scfg_sampler.core.fragments.fingerprint import MULTIPLIER, word_hashes
from scfg_sampler.core.fragments.tree import CUT, NUM_TAILS, TAIL_START
from scfg_sampler.forest import pieces, trees
from scfg_sampler.forest.implicit import SentenceForest
from scfg_sampler.forest.trees import choose_within, most_nodes, open_phrases

__all__ = ["TypedForest", "new_typed_forest"]

_SLOT_SALT, _ROOT_SALT = 4, 5  # Words of the two strings, and labels, have 0 to 3.
_ZERO = np.uint64(0)


class TypedForest(NamedTuple):
    """A `SentenceForest`, field by field, whose nodes have types."""

    shape: np.ndarray
    spans: np.ndarray
    boxes: np.ndarray
    is_phrase: np.ndarray
    degree: np.ndarray
    has_tails: np.ndarray
    boundaries: np.ndarray
    ranks: np.ndarray
    hashes: np.ndarray
    weights: np.ndarray
    power: np.ndarray
    words: np.ndarray
    trees: np.ndarray
    runs: np.ndarray
    limits: np.ndarray
    bounds: np.ndarray
    drawn: np.ndarray
    label: np.ndarray
    """int32 (N,): the type of each cut node of the tree; left-overs elsewhere."""
    slot_values: np.ndarray
    """uint64 (K + 1,): the value of a slot of each type."""
    root_values: np.ndarray
    """uint64 (K + 1,): the value of each type at the head of a fragment."""
    stack: np.ndarray
    """int32 (N,): scratch for `type_value`."""
    first_symbol: np.ndarray
    """int64 (1,): the symbol that X is in records of rules: see `learner.collecting`."""


def new_typed_forest(forest: SentenceForest, num_types: int, first_symbol: int) -> TypedForest:
    """Room for types besides that for a forest.

    Parameters
    ----------
    forest : SentenceForest
    num_types : int
        K, without X.
    first_symbol : int
        The number of source words: symbols from there on are types, X the first.
    """
    number = len(forest.spans)
    return TypedForest(
        *forest,
        label=np.zeros(number, np.int32),
        slot_values=word_hashes(num_types + 1, _SLOT_SALT),
        root_values=word_hashes(num_types + 1, _ROOT_SALT),
        stack=np.zeros(number, np.int32),
        first_symbol=np.array([first_symbol], np.int64),
    )


# --- what it has of a forest without types -------------------------------------------------------------

for _ask, _answer in (
    (choose_within, trees._choose_within),
    (most_nodes, trees._most_nodes),
    (open_phrases, trees._open_phrases),
    (fragment_tree.open_sentence, trees._open_sentence),
    (fragment_tree.root, trees._root),
    (fragment_tree.num_edges, trees._num_edges),
    (fragment_tree.nth_edge, trees._nth_edge),
    (fragment_tree.open_options, trees._open_options),
    (fragment_tree.is_shared, trees._is_shared),
    (fragment_tree.num_inner_edges, trees._num_inner_edges),
    (fragment_tree.nth_inner_edge, trees._nth_inner_edge),
    (fragment_tree.may_be_internal, trees._may_be_internal),
    (fragment_tree.log_internal_trees, trees._log_internal_trees),
    (fragment_tree.set_tails, trees._set_tails),
    (fragment_tree.compose, pieces._compose),
    (fragment_tree.root_value, pieces._root_value),
    (pieces.slot_value, pieces._slot_value),
):
    _ask.register(TypedForest)(_answer)


# --- types ---------------------------------------------------------------------------------------------


@fragment_tree.attach.register(TypedForest)
def _attach(forest, node, packed):
    forest.label[node] = packed


@fragment_tree.attached.register(TypedForest)
def _attached(forest, node):
    return np.int64(forest.label[node])


@fragment_tree.draw_attached.register(TypedForest)
def _draw_attached(rng, forest, node):
    forest.label[node] = 1 + draws.uniform_index(rng, forest.root_values.shape[0] - 1)


@fragment_tree.log_attached.register(TypedForest)
def _log_attached(forest, number):
    return number * elementary.log(forest.root_values.shape[0] - 1.0)


@head_type.register(TypedForest)
def _head_type(forest, node):
    return forest.label[node]


@type_value.register(TypedForest)
def _type_value(forest, work, node):
    nodes, stack = work.nodes, forest.stack
    stack[0] = node
    size, value = 1, _ZERO
    while size > 0:
        size -= 1
        at = stack[size]
        if at != node and nodes[at, CUT] == 1:
            # In the order of the first string, whatever tree is inside.
            value = value * MULTIPLIER + forest.slot_values[forest.label[at]]
            continue
        first = nodes[at, TAIL_START]
        for t in range(first + nodes[at, NUM_TAILS] - 1, first - 1, -1):
            stack[size] = work.tails[t]
            size += 1
    return value + forest.root_values[forest.label[node]]
