"""Trees over forests: where they are laid out, what a forest tells of itself, how a tree is stored.

A tree is one incoming edge per node, from the goal down, and a cut bit per node. Stored, it is a code per
node in preorder (edge label × 2 + cut bit, and above these 16 bits, in forests whose nodes have more
variables, those of a cut node packed); laid out, it is a row per node in a `Workspace`, with what each
node spells (`core.fragment`). The sweep works on the second form, one tree at a time.

A forest takes part by registering `open_sentence`, `root`, `num_edges`, `nth_edge`, `open_options`,
`is_shared`, `num_inner_edges`, `nth_inner_edge`, `set_tails`, `compose`, `may_be_internal` and
`log_internal_trees`, `attach`, `attached` and `root_value` for its type, and `draw_attached` and
`log_attached` if nodes have further variables that are sampled as edges and cuts are; a model registers
`describe`.

The fact a newcomer would get wrong: rows of nodes outside the current tree hold left-overs. A node is in the
tree iff its IN_TREE equals the counter TREE, which no one has to reset.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.pages import zeros_when_written
from scfg_sampler.core.fragments.fingerprint import PIECE_WIDTH
from scfg_sampler.core.jit import borrowing, by_type, inlined, with_columns

__all__ = [
    "ACCEPTED",
    "ATTACHED_SHIFT",
    "BASE",
    "BELOW",
    "BELOW_BEFORE",
    "CALL",
    "CUT",
    "CUTS_CHANGED",
    "DIVIDE_BY_TREES",
    "EDGE",
    "EDGES_CHANGED",
    "EVALUATIONS",
    "FINGERPRINT",
    "FIRST_RULE",
    "FREE",
    "FRESH",
    "IGNORE_DENSITY",
    "IN_TREE",
    "LABELS",
    "LEVEL",
    "LOG_BASE",
    "LOG_PRIOR",
    "NODE_WIDTH",
    "NOT_SOUGHT",
    "NUM_COUNTERS",
    "NUM_LISTS",
    "NUM_TAILS",
    "OPTIONS",
    "ORDER",
    "PARENT",
    "PENDING",
    "PROB_WIDTH",
    "PROPOSED",
    "RULE_WIDTH",
    "SLOT",
    "SPARE",
    "STAMP",
    "STRATUM",
    "TAIL_START",
    "TREE",
    "Workspace",
    "attach",
    "attached",
    "compose",
    "decode",
    "describe",
    "draft_row",
    "draw_attached",
    "encode",
    "encode_over",
    "is_shared",
    "lay_out",
    "log_attached",
    "log_internal_trees",
    "may_be_internal",
    "may_have_options",
    "new_workspace",
    "nth_edge",
    "nth_inner_edge",
    "num_edges",
    "num_inner_edges",
    "open_options",
    "open_sentence",
    "root",
    "root_value",
    "set_level",
    "set_tails",
]

# Columns of `nodes`.
EDGE = 0  # label of the incoming edge
PARENT = 1  # in the current tree, −1 for the root
TAIL_START = 2  # where the edge's tails begin in `tails`
NUM_TAILS = 3
CUT = 4
FREE = 5  # 1 if the node may be internal to a fragment
IN_TREE = 6  # equals counters[TREE] when the node is in the current tree
STAMP = 7  # equals counters[CALL] when the node's variables are fixed for the current call
LEVEL = 8  # nodes in its subtree of the current tree
NODE_WIDTH = 9

# Columns of `counters`.
TREE = 0
CALL = 1
EDGES_CHANGED = 2
CUTS_CHANGED = 3
EVALUATIONS = 4
IGNORE_DENSITY = 5  # 1 leaves the density factor out (figure 6 of the paper)
DIVIDE_BY_TREES = 6  # 1 divides a fragment's probability by the number of its internal trees
PROPOSED = 7  # moves that may be turned down
ACCEPTED = 8
FRESH = 9  # nodes that `draw_below` drew last
NUM_COUNTERS = 10

# Rows of `lists`.
PENDING = 0
BELOW = 1
BELOW_BEFORE = 2
OPTIONS = 3
FIRST_RULE = 4
ORDER = 5
NUM_LISTS = 6

# Rows of `rules` and `rule_probs`: a few for passing use, then one for the fragment headed at each node.
SPARE = 3

# Columns of `rules`.
FINGERPRINT = 0
STRATUM = 1
SLOT = 2  # of the dish in the restaurants, −1 if it has none, NOT_SOUGHT before it is looked for
RULE_WIDTH = 3
NOT_SOUGHT = -2

# Edge labels of a node are below this.
LABELS = 1 << 15

# Where a code's further variables begin.
ATTACHED_SHIFT = 16
_CODE = (1 << ATTACHED_SHIFT) - 1

# Columns of `rule_probs`.
LOG_PRIOR = 0  # ln of the stratum's probability
LOG_BASE = 1  # ln P₀
BASE = 2  # P₀
PROB_WIDTH = 3


class Workspace(NamedTuple):
    """Everything a sweep keeps about one tree; reused from tree to tree."""

    nodes: np.ndarray
    """int32 (N, 9): see the column names above."""
    pieces: np.ndarray
    """uint64 (N, 6): what each node of the tree spells (`core.fragment`)."""
    weights: np.ndarray
    """float64 (N,): Σ ln of the model's weights of the words of each piece."""
    tails: np.ndarray
    """int32: tail lists."""
    lists: np.ndarray
    """int32 (6, N): node lists, see the row names above."""
    saved_pieces: np.ndarray
    """uint64 (N, 6): pieces of a path, to be put back."""
    saved_weights: np.ndarray
    """float64 (N,)."""
    log_weights: np.ndarray
    """float64 (N + 17,): one per option."""
    rules: np.ndarray
    """int64 (3 + N + D, 3): the fragment headed at each cut node of the tree, see the column names above;
    then drafts of fragments, see `draft_row`."""
    rule_probs: np.ndarray
    """float64 (3 + N + D, 3)."""
    option_rows: np.ndarray
    """int32 (R,): rows of the fragments of the options being weighed, option after option."""
    option_opens: np.ndarray
    """int64 (R,): whether such a fragment opens a table: 1, 0, or −1 while not decided."""
    counters: np.ndarray
    """int64 (10,): see the column names above."""
    inverse_temperature: np.ndarray
    """float64 (1,): 1/T, the power to which P_t is raised."""
    exps: np.ndarray
    """float64 (512, 2): for `core.elementary.exp_again`, of differences of a few numbers."""


with_columns(
    Workspace,
    nodes=NODE_WIDTH,
    pieces=PIECE_WIDTH,
    saved_pieces=PIECE_WIDTH,
    rules=RULE_WIDTH,
    rule_probs=PROB_WIDTH,
    exps=2,
)


def new_workspace(num_nodes: int, num_tails: int, num_rules: int, num_drafts: int = 0) -> Workspace:
    """A workspace for trees over forests of at most `num_nodes` nodes.

    Parameters
    ----------
    num_nodes, num_tails : int
        Upper bounds on a forest's nodes and on the tails the forest stores at a time.
    num_rules : int
        Upper bound on the fragments of all options at a node together.
    num_drafts : int
        D, rows for drafts of fragments.
    """
    return Workspace(
        nodes=zeros_when_written((num_nodes, NODE_WIDTH), np.int32),
        pieces=zeros_when_written((num_nodes, PIECE_WIDTH), np.uint64),
        weights=zeros_when_written(num_nodes),
        tails=zeros_when_written(num_tails, np.int32),
        lists=zeros_when_written((NUM_LISTS, num_nodes + 1), np.int32),
        saved_pieces=zeros_when_written((num_nodes, PIECE_WIDTH), np.uint64),
        saved_weights=zeros_when_written(num_nodes),
        log_weights=zeros_when_written(num_nodes + 17),
        rules=zeros_when_written((SPARE + num_nodes + num_drafts, RULE_WIDTH), np.int64),
        rule_probs=zeros_when_written((SPARE + num_nodes + num_drafts, PROB_WIDTH)),
        option_rows=zeros_when_written(num_rules, np.int32),
        option_opens=zeros_when_written(num_rules, np.int64),
        counters=np.zeros(NUM_COUNTERS, np.int64),
        inverse_temperature=np.ones(1),
        exps=np.full((512, 2), np.nan),
    )


# --- what a forest says --------------------------------------------------------------------------------


@by_type
def open_sentence(forest, work, data, sentence):
    """Build the forest of a sentence; False if it has none."""


@by_type
def root(forest):
    """The goal node."""


@by_type
def num_edges(forest, node):
    """How many incoming edges a node has."""


@by_type
def nth_edge(forest, node, rank):
    """The label of a node's edge number `rank`; labels are below `LABELS`."""


@by_type
def open_options(forest, work, node):
    """List the labels of a node's edges in lists[OPTIONS] and say how many; prepares `is_shared`."""


@by_type
def may_have_options(forest, work, node):
    """False if a node of the tree is known, without looking far, to have no edge but its own."""


@may_have_options.otherwise
def _nobody_knows(forest, work, node):
    return True


@by_type
def is_shared(forest, node, below):
    """Whether `below` is in every derivation of `node`, the node last given to `open_options`."""


@by_type
def num_inner_edges(forest, node, below):
    """`num_edges` of a node that not every derivation of `node`, last given to `open_options`, has."""


@by_type
def nth_inner_edge(forest, node, below, rank):
    """`nth_edge` of such a node."""


@by_type
def set_tails(forest, work, node):
    """Write TAIL_START and NUM_TAILS for the node's EDGE; tails in order of the first string."""


@by_type
def compose(forest, work, node):
    """Write the node's piece and weight from its tails': a cut tail is one slot."""


@by_type
def may_be_internal(forest, node):
    """Whether the node may be left uncut."""


@by_type
def log_internal_trees(forest, work, node):
    """ln of the number of trees that the fragment headed at a node has between its head and its frontier."""


@by_type
def attach(forest, node, packed):
    """Give a node the further variables that are packed in 16 bits; 0 for an uncut node."""


@by_type
def attached(forest, node):
    """The further variables of a cut node packed in 16 bits; 0 where it has none."""


@by_type(of="forest")
def draw_attached(rng, forest, node):
    """Draw the further variables of a cut node that comes new into the tree, uniformly."""


@draw_attached.otherwise
def _draw_nothing(rng, forest, node):
    pass


@by_type
def log_attached(forest, number):
    """ln of the number of values that `draw_attached` draws the variables of so many nodes from."""


@log_attached.otherwise
def _log_one(forest, number):
    return 0.0


@by_type
def root_value(forest, node):
    """uint64: what tells fragments that spell the same apart by the node at their head; 0 if nothing."""


@by_type
def describe(model, forest, work, node):
    """(stratum, ln of the stratum's probability, ln P₀, P₀) of the fragment headed at a node."""


# --- trees ---------------------------------------------------------------------------------------------


@inlined
def draft_row(work, place):
    """The row of the rules for a fragment that only one option has, listed at a place of the options."""
    return SPARE + work.nodes.shape[0] + place


@borrowing
def decode(forest, work, codes, start, cut_all):
    """Lay out the tree stored at codes[start:], with its pieces and levels; the number of its nodes.

    Parameters as of `lay_out`.
    """
    size = lay_out(forest, work, codes, start, cut_all)
    # Upwards, for a piece is made of those of its tails.
    for k in range(size - 1, -1, -1):
        compose(forest, work, work.lists[BELOW, k])
        set_level(work, work.lists[BELOW, k])
    return size


@borrowing
def lay_out(forest, work, codes, start, cut_all):
    """`decode`, but for pieces and levels, for who asks where the cuts are and not what fragments spell.

    codes : uint16 or uint32, a node's edge label × 2 + its cut bit, in preorder, and what is attached to it.
    cut_all : 1 to lay it out with every node cut, else 0.
    """
    nodes = work.nodes
    listed = work.lists[BELOW]
    pending = work.lists[PENDING]
    work.counters[TREE] += 1
    goal = root(forest)
    nodes[goal, PARENT] = -1
    pending[0] = goal
    num_pending = 1
    size = 0
    while num_pending > 0:
        num_pending -= 1
        node = pending[num_pending]
        code = np.int64(codes[start + size])
        nodes[node, EDGE] = (code & _CODE) >> 1
        nodes[node, CUT] = (code & 1) | cut_all
        nodes[node, FREE] = may_be_internal(forest, node)
        nodes[node, IN_TREE] = work.counters[TREE]
        attach(forest, node, code >> ATTACHED_SHIFT)
        listed[size] = node
        size += 1
        set_tails(forest, work, node)
        first = nodes[node, TAIL_START]
        for t in range(first + nodes[node, NUM_TAILS] - 1, first - 1, -1):
            nodes[work.tails[t], PARENT] = node
            pending[num_pending] = work.tails[t]
            num_pending += 1
    return size


@borrowing
def encode_over(forest, work, codes, start, size):
    """`encode` where a tree of `size` nodes is stored; zeros where the new one has fewer."""
    new_size = encode(forest, work, codes, start)
    for at in range(new_size, size):
        codes[start + at] = 0
    return new_size


@borrowing
def encode(forest, work, codes, start):
    """Store the tree at codes[start:] and list its nodes in preorder in lists[BELOW]; their number."""
    nodes = work.nodes
    pending = work.lists[PENDING]
    pending[0] = root(forest)
    num_pending = 1
    size = 0
    while num_pending > 0:
        num_pending -= 1
        node = pending[num_pending]
        code = np.int64(nodes[node, EDGE] * 2 + nodes[node, CUT])
        if nodes[node, CUT] == 1:
            code += attached(forest, node) << ATTACHED_SHIFT
        codes[start + size] = code
        work.lists[BELOW, size] = node
        size += 1
        first = nodes[node, TAIL_START]
        for t in range(first + nodes[node, NUM_TAILS] - 1, first - 1, -1):
            pending[num_pending] = work.tails[t]
            num_pending += 1
    return size


@inlined
def set_level(work, node):
    # The minimal edges below a node, one per node of its subtree (section 3, after Lemma 3).
    nodes = work.nodes
    level = 1
    for t in range(nodes[node, TAIL_START], nodes[node, TAIL_START] + nodes[node, NUM_TAILS]):
        level += nodes[work.tails[t], LEVEL]
    nodes[node, LEVEL] = level
