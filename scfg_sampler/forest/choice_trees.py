"""Trees over forests of several alignments: what the sampler asks of a `ChoiceForest`.

Every kernel that walks trees of sentence pairs must have this module below it: see `core.jit`. The label of
an edge is its place among those of its node. The fact a newcomer would get wrong: with forests side by side
below the root, moves of single nodes stay within an alignment (`choose_within`); only whole trees leave it.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.fragments import tree as fragment_tree
from scfg_sampler.core.fragments.tree import EDGE, NUM_TAILS, OPTIONS, TAIL_START, Workspace
from scfg_sampler.core.jit import inlined
from scfg_sampler.forest.choice import (
    ALIGNMENT,
    DEGREE,
    EDGE_START,
    FIRST_TAIL,
    HOW_MANY,
    LARGEST,
    MERGED,
    MOST_NODES,
    NUM_ALIGNMENTS,
    NUM_NODES,
    NUM_PAIRS,
    ROOT,
    WITHIN,
)

# With how they are opened.
from scfg_sampler.forest.choice_edges import ChoiceForest
from scfg_sampler.forest.implicit import MAX_CUT_SPAN
from scfg_sampler.forest.pieces import compose_tails, slot_value
from scfg_sampler.forest.trees import choose_within, most_nodes

__all__ = ["NUM_ALIGNMENTS", "NUM_PAIRS", "ChoiceForest", "chosen_alignment", "spelled_out"]

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@fragment_tree.root.register(ChoiceForest)
def _root(forest):
    return np.int64(ROOT)


@fragment_tree.num_edges.register(ChoiceForest)
def _num_edges(forest, node):
    return np.int64(forest.listed[node, DEGREE])


@fragment_tree.nth_edge.register(ChoiceForest)
def _nth_edge(forest, node, rank):
    return rank


@inlined
def chosen_alignment(forest, work, node):
    """The first alignment that has the edge of a node of the tree."""
    return forest.edges[forest.edge_at[forest.listed[node, EDGE_START] + work.nodes[node, EDGE]], ALIGNMENT]


@choose_within.register(ChoiceForest)
def _choose_within(forest, work):
    # Below another edge of the root nothing is as it was: a tree drawn blindly would never be taken.
    if forest.shape[MERGED] == 0:
        forest.shape[WITHIN] = chosen_alignment(forest, work, ROOT)


@fragment_tree.open_options.register(ChoiceForest)
def _open_options(forest, work, node):
    options, start = work.lists[OPTIONS], forest.listed[node, EDGE_START]
    within = forest.shape[WITHIN] if node == ROOT else -1
    size = 0
    for rank in range(forest.listed[node, DEGREE]):
        if within < 0 or forest.edges[forest.edge_at[start + rank], ALIGNMENT] == within:
            options[size] = rank
            size += 1
    return size


@fragment_tree.is_shared.register(ChoiceForest)
def _is_shared(forest, node, below):
    number = forest.shape[NUM_NODES]
    if number > LARGEST:
        # Nothing is lost but time: what all options have counts in all of them.
        return False
    row = number + forest.shape[WITHIN] if node == ROOT and forest.shape[WITHIN] >= 0 else node
    width = (number + 63) // 64
    return (forest.shared[row * width + (below >> 6)] >> np.uint64(below & 63)) & _ONE != _NONE


@fragment_tree.num_inner_edges.register(ChoiceForest)
def _num_inner_edges(forest, node, below):
    return np.int64(forest.listed[below, DEGREE])


@fragment_tree.nth_inner_edge.register(ChoiceForest)
def _nth_inner_edge(forest, node, below, rank):
    return rank


@fragment_tree.may_be_internal.register(ChoiceForest)
def _may_be_internal(forest, node):
    if node == ROOT:
        return 0
    return 1 if forest.boxes[node, 1] - forest.boxes[node, 0] <= forest.shape[MAX_CUT_SPAN] else 0


@fragment_tree.log_internal_trees.register(ChoiceForest)
def _log_internal_trees(forest, work, node):
    # `check_settings` keeps those who ask away: a fragment's trees may be of different alignments.
    return np.nan


@fragment_tree.set_tails.register(ChoiceForest)
def _set_tails(forest, work, node):
    edge = forest.edge_at[forest.listed[node, EDGE_START] + work.nodes[node, EDGE]]
    work.nodes[node, TAIL_START] = forest.edges[edge, FIRST_TAIL]
    work.nodes[node, NUM_TAILS] = forest.edges[edge, HOW_MANY]


@fragment_tree.compose.register(ChoiceForest)
def _compose(forest, work, node):
    compose_tails(forest, work, node)


@slot_value.register(ChoiceForest)
def _slot_value(forest, tail):
    return _NONE


@fragment_tree.root_value.register(ChoiceForest)
def _root_value(forest, node):
    return _NONE


@fragment_tree.attach.register(ChoiceForest)
def _attach(forest, node, packed):
    return


@fragment_tree.attached.register(ChoiceForest)
def _attached(forest, node):
    return np.int64(0)


@most_nodes.register(ChoiceForest)
def _most_nodes(forest, work):
    return np.int64(forest.listed[ROOT, MOST_NODES])


def spelled_out(forest: ChoiceForest, work: Workspace) -> dict[int, list[list[int]]]:
    """The nodes that the root can have below it, each with the tails of its edges, in order.

    Parameters
    ----------
    forest, work
        A sentence opened, and the workspace it was opened with.
    """
    found: dict[int, list[list[int]]] = {}
    pending = [ROOT]
    while pending:
        node = pending.pop()
        if node in found:
            continue
        start, degree = forest.listed[node, EDGE_START], forest.listed[node, DEGREE]
        rows = forest.edges[forest.edge_at[start : start + degree]]
        found[node] = [work.tails[first : first + number].tolist() for first, number, *_ in rows.tolist()]
        pending += [tail for tails in found[node] for tail in tails]
    return found
