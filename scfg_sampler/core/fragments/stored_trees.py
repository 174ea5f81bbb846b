"""Whether stored codes are a tree of a forest, for codes that come from a file.

`decode` assumes: an edge that its node does not have leads to nodes that are none. Here every edge is sought
among those of its node before its tails are looked at, so that any codes may be asked about.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.fragments.tree import (
    ATTACHED_SHIFT,
    BELOW,
    CUT,
    EDGE,
    NUM_TAILS,
    PENDING,
    TAIL_START,
    attach,
    may_be_internal,
    nth_edge,
    num_edges,
    root,
    set_tails,
)
from scfg_sampler.core.jit import borrowing

__all__ = ["stored_size"]


@borrowing
def stored_size(forest, work, codes, start, room):
    """How many codes from codes[start:] on are a tree, which is laid out in part; −1 if they are none.

    Its nodes are listed in lists[BELOW], with their edges, tails and cuts; what is attached to cut nodes has
    been handed to the forest, which knows what fits.

    codes : uint16 or uint32, as in `decode`.
    room : how many codes there are.
    """
    nodes, pending = work.nodes, work.lists[PENDING]
    goal = root(forest)
    pending[0] = goal
    num_pending, size = 1, 0
    while num_pending > 0:
        if size == room:
            return -1
        num_pending -= 1
        node = pending[num_pending]
        code = np.int64(codes[start + size])
        more, edge, is_cut = code >> ATTACHED_SHIFT, (code & 0xFFFF) >> 1, code & 1
        if is_cut == 0 and (may_be_internal(forest, node) == 0 or more != 0):
            return -1
        if node == goal and more != 0:
            return -1
        rank = 0
        while rank < num_edges(forest, node) and nth_edge(forest, node, rank) != edge:
            rank += 1
        if rank == num_edges(forest, node):
            return -1
        nodes[node, EDGE], nodes[node, CUT] = edge, is_cut
        attach(forest, node, more)
        work.lists[BELOW, size] = node
        size += 1
        set_tails(forest, work, node)
        first = nodes[node, TAIL_START]
        for t in range(first + nodes[node, NUM_TAILS] - 1, first - 1, -1):
            pending[num_pending] = work.tails[t]
            num_pending += 1
    return size
