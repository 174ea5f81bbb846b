"""Types of nodes, resampled along with their edges and cuts, top down.

Every node of a forest has three variables: its edge, its cut and its type, one of K. A tree and the cuts and
types of its nodes are the derivation, in which the type of an uncut node plays no part: it is uniform and
independent, as all variables of nodes outside the tree are (equation 2 of Chung et al. 2014),

    P_z = P_t(tree, cuts, types) · Π_{v in the tree, uncut} 1/K · Π_{v outside} 1/(deg(edge) deg(cut) K).

`resample_edge` weighs an option by P_t and the factor of equation 6, in which types count too: Π K over the
nodes of its own subtree that are cut. `resample_typed_cut` chooses among K + 1 values, uncut and cut with
each of the K types, by P_t alone: the uncut node's type has been summed over.

The fact a newcomer would get wrong: K^(cut nodes) does not cancel. Options have the same number of nodes
(Lemma 3), but not of cuts.
"""

from __future__ import annotations

from typing import NamedTuple

from scfg_sampler.core.fragments.drafts import (
    choose_draft,
    draft_cut,
    seat_drafts,
    unseat_drafts,
)
from scfg_sampler.core.fragments.paths import compose_up, fragment_top
from scfg_sampler.core.fragments.sampler import resample_edge, visit_node
from scfg_sampler.core.fragments.tree import CUT, FREE, PARENT
from scfg_sampler.core.jit import borrowing

__all__ = ["WithTypes", "resample_typed_cut"]


class WithTypes(NamedTuple):
    """`core.fragments.sampler.TopDown` of trees whose nodes have types."""

    max_level: int
    breadth_first: bool


@visit_node.register(WithTypes)
def _visit_node(rng, order, forest, model, restaurants, work, node):
    resample_edge(rng, forest, model, restaurants, work, node)
    if work.nodes[node, PARENT] >= 0:
        resample_typed_cut(rng, forest, model, restaurants, work, node)


@borrowing
def resample_typed_cut(rng, forest, model, restaurants, work, node):
    """Choose whether a node other than the root is cut, if it may be uncut, and its type if it is."""
    nodes, num_types = work.nodes, forest.root_values.shape[0] - 1
    was = nodes[node, CUT] * forest.label[node]
    top = fragment_top(work, nodes[node, PARENT])
    for option in range(1 - nodes[node, FREE], num_types + 1):
        _lay_typed_cut(forest, work, node, top, option)
        draft_cut(forest, model, restaurants, work, node, top, option)
    unseat_drafts(rng, model, restaurants, work, was)
    chosen = choose_draft(rng, model, restaurants, work, node, num_types, 0.0)
    _lay_typed_cut(forest, work, node, top, chosen)
    seat_drafts(rng, model, restaurants, work, node, top, (was, chosen))


@borrowing
def _lay_typed_cut(forest, work, node, top, option):
    """Leave a node uncut, option 0, or cut it with a type, and renew the pieces above where that is new."""
    cut = min(option, 1)
    if cut == 1:
        forest.label[node] = option
    if work.nodes[node, CUT] != cut:
        work.nodes[node, CUT] = cut
        compose_up(forest, work, work.nodes[node, PARENT], top)
