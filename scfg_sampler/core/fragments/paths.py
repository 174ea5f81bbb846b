"""From a node up to the head of its fragment: what the nodes between spell, renewed, kept and put back.

The fact a newcomer would get wrong: rows of the workspace's pieces outside such a path do not change when an
edge or a cut below it does, so that a path is all there is to put back.
"""

from __future__ import annotations

from scfg_sampler.core.fragments.fingerprint import PIECE_WIDTH
from scfg_sampler.core.fragments.tree import CUT, PARENT, compose
from scfg_sampler.core.jit import borrowing, inlined

__all__ = ["compose_up", "fragment_top", "restore_path", "save_path"]


@inlined
def fragment_top(work, node):
    """The head of the fragment a node belongs to: itself if it is cut."""
    while work.nodes[node, CUT] == 0:
        node = work.nodes[node, PARENT]
    return node


@borrowing
def compose_up(forest, work, node, top):
    """Renew the pieces from a node up to the head of its fragment."""
    while True:
        compose(forest, work, node)
        if node == top:
            break
        node = work.nodes[node, PARENT]


@borrowing
def save_path(work, node, top):
    """Copy the pieces from a node up to the head of its fragment."""
    at = 0
    while True:
        for column in range(PIECE_WIDTH):
            work.saved_pieces[at, column] = work.pieces[node, column]
        work.saved_weights[at] = work.weights[node]
        if node == top:
            break
        node = work.nodes[node, PARENT]
        at += 1


@borrowing
def restore_path(work, node, top):
    """Put the copies back."""
    at = 0
    while True:
        for column in range(PIECE_WIDTH):
            work.pieces[node, column] = work.saved_pieces[at, column]
        work.weights[node] = work.saved_weights[at]
        if node == top:
            break
        node = work.nodes[node, PARENT]
        at += 1
