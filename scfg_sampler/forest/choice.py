"""One forest from several alignments of a sentence pair: which of them holds is chosen with the derivation.

A node is a phrase of at least one alignment, and its edges are those that Definition 1 gives it under any
alignment of which it is a phrase: an edge, once chosen, says by which alignment its node is taken apart, and
each node below may be taken apart by another that has it. Edges with the same tails are one edge, whichever
alignments have them, so that no derivation is counted twice. That is `--choose phrase`. For `--choose
sentence` only the root is shared: forests stand side by side below it, and its edge chooses among them.

Unlike `SentenceForest`, this one is spelled out when it is opened: nodes are numbered, 0 being the root, and
edges lie node by node (`forest.choice_edges`). The sampler sees it through the same functions
(`forest.choice_trees`).

The fact a newcomer would get wrong: derivations of a sentence differ in their numbers of nodes, and Lemma 2
does not hold. Which nodes all derivations of a node share is found by going through its edges, not by rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.pages import zeros_when_written
from scfg_sampler.core.fragments.fingerprint import powers
from scfg_sampler.core.fragments.tree import Workspace, new_workspace, num_edges
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.errors import SettingsError
from scfg_sampler.forest.implicit import MAX_CUT_SPAN, MAX_LENGTH, SHAPE_WIDTH, SIZE
from scfg_sampler.forest.trees import open_phrases

__all__ = [
    "ALIGNMENT",
    "BY_TAIL",
    "DEGREE",
    "EDGE_START",
    "FIRST_EDGE",
    "FIRST_TAIL",
    "HOW_MANY",
    "LARGEST",
    "LAST_EDGE",
    "LISTED_WIDTH",
    "MERGED",
    "MOST_NODES",
    "NEXT",
    "NUM_ALIGNMENTS",
    "NUM_EDGES",
    "NUM_NODES",
    "NUM_PAIRS",
    "NUM_TAILS_STORED",
    "ROOT",
    "SAME_SOURCE",
    "SAME_TAIL",
    "WITHIN",
    "Choice",
    "ChoiceForest",
    "ChoiceSizes",
    "chosen",
    "measure_choices",
    "new_choice_forest",
    "new_choice_workspace",
]

# Entries of `shape` besides those of `forest.implicit`.
NUM_PAIRS = SHAPE_WIDTH  # S: pair s under alignment a is sentence a S + s of the corpus
NUM_ALIGNMENTS = SHAPE_WIDTH + 1
MERGED = SHAPE_WIDTH + 2  # 1 if equal phrases of several alignments are one node
NUM_NODES = SHAPE_WIDTH + 3
NUM_EDGES = SHAPE_WIDTH + 4
NUM_TAILS_STORED = SHAPE_WIDTH + 5
WITHIN = SHAPE_WIDTH + 6  # the alignment whose edges alone the root is offered, −1 for all
CHOICE_WIDTH = SHAPE_WIDTH + 7

# Columns of `edges`.
FIRST_TAIL = 0
HOW_MANY = 1
ALIGNMENT = 2
NEXT = 3  # edge of the same node, −1 after the last
SAME_TAIL = 4  # while edges are added: another edge of the same node with the same first tail
EDGE_WIDTH = 5

# Columns of `listed`, by node.
FIRST_EDGE = 0
LAST_EDGE = 1
SAME_SOURCE = 2  # another node over the same source words, −1 after the last
EDGE_START = 3  # where the node's edges begin in `edge_at`
DEGREE = 4
MOST_NODES = 5  # of any derivation of the node
BY_TAIL = 6  # while edges are added: the last edge of their node that has this one for its first tail
LISTED_WIDTH = 7

ROOT = 0
LARGEST = 4096  # Nodes for which it is found which are shared.


class Choice(NamedTuple):
    """Among how many alignments there is a choice, and how."""

    alignments: int
    merged: bool
    """Whether equal phrases of several alignments are one node, so that every node has a choice."""


class ChoiceSizes(NamedTuple):
    """Upper bounds for every sentence pair of a corpus."""

    nodes: int
    edges: int
    tails: int


class ChoiceForest(NamedTuple):
    """The forest of one sentence pair under several alignments."""

    shape: np.ndarray
    """int64 (12,): see the entry names above, and in `forest.implicit`."""
    boxes: np.ndarray
    """int32 (N, 4): source and target span of each node, half-open, in the original sentence."""
    listed: np.ndarray
    """int32 (N, 7): see the column names above."""
    edges: np.ndarray
    """int32 (E, 5): see the column names above."""
    edge_at: np.ndarray
    """int32 (E,): edges node by node; a label is a place among those of its node."""
    ordered: np.ndarray
    """int32 (N,): nodes, the tails of all edges before the heads."""
    shared: np.ndarray
    """uint64 (B,): for each node a bit per node that all of its derivations have; then for the root with
    the edges of each alignment alone."""
    tails_of: np.ndarray
    """uint64 (W,): scratch, nodes in all derivations with an edge."""
    with_source: np.ndarray
    """int32 ((L + 1)²,): the first node over source words i … j − 1, at i (L + 1) + j; −1 for none."""
    node_of: np.ndarray
    """int32 ((L + 1)²,): the node of each phrase of the alignment last read."""
    is_phrase: np.ndarray
    """uint8 ((L + 1)²,): of that alignment, as in `SentenceForest`; so are the next three."""
    spans: np.ndarray
    """int32 ((L + 1)², 4)."""
    degree: np.ndarray
    """int32 ((L + 1)²,)."""
    has_tails: np.ndarray
    """uint8 ((L + 1)²,)."""
    words: np.ndarray
    """int32 (6, L + 2): scratch rows."""
    hashes: np.ndarray
    """uint64 (2, L + 1): prefix hashes of the two sentences."""
    weights: np.ndarray
    """float64 (2, L + 1): prefix sums of the word weights."""
    power: np.ndarray
    """uint64 (L + 1,)."""


def chosen(choose: str, alignments: int) -> Choice | None:
    """Among how many alignments a chain chooses, and how; None if it does not.

    Parameters
    ----------
    choose : str
        "none", "sentence" or "phrase".
    alignments : int
        How many the corpus has of every pair.

    Raises
    ------
    SettingsError
        There is nothing to choose from.
    """
    if choose == "none":
        return None
    if alignments < 2:
        hint = "name them all after --alignment, or leave --choose out"
        raise SettingsError(f"--choose {choose} needs several alignments; {hint}")
    return Choice(alignments, choose == "phrase")


def new_choice_forest(
    longest: tuple[int, int],
    sizes: ChoiceSizes,
    max_cut_span: int,
    choice: Choice,
    num_pairs: int,
) -> ChoiceForest:
    """Room for the forest of any sentence pair up to these lengths and sizes.

    Parameters
    ----------
    longest : pair of int
        Words of a source and a target sentence.
    sizes : ChoiceSizes
    max_cut_span : int
        Nodes over more source words are always cut; 0 for no limit.
    choice : Choice
    num_pairs : int
        S: the corpus holds S pairs under the first alignment, then S under the next, ….
    """
    length, square = max(longest), (longest[0] + 1) ** 2
    shape = np.zeros(CHOICE_WIDTH, np.int64)
    shape[MAX_LENGTH] = length
    shape[MAX_CUT_SPAN] = max_cut_span if max_cut_span > 0 else length + 1
    shape[NUM_ALIGNMENTS], shape[NUM_PAIRS] = choice.alignments, num_pairs
    shape[MERGED], shape[WITHIN] = choice.merged, -1
    width = (min(sizes.nodes, LARGEST) + 63) // 64
    return ChoiceForest(
        shape=shape,
        boxes=zeros_when_written((sizes.nodes, 4), np.int32),
        listed=zeros_when_written((sizes.nodes, LISTED_WIDTH), np.int32),
        edges=zeros_when_written((sizes.edges, EDGE_WIDTH), np.int32),
        edge_at=zeros_when_written(sizes.edges, np.int32),
        ordered=zeros_when_written(sizes.nodes, np.int32),
        shared=zeros_when_written((min(sizes.nodes, LARGEST) + choice.alignments) * width, np.uint64),
        tails_of=np.zeros(width, np.uint64),
        with_source=zeros_when_written(square, np.int32),
        node_of=zeros_when_written(square, np.int32),
        is_phrase=zeros_when_written(square, np.uint8),
        spans=zeros_when_written((square, 4), np.int32),
        degree=zeros_when_written(square, np.int32),
        has_tails=zeros_when_written(square, np.uint8),
        words=np.zeros((6, length + 2), np.int32),
        hashes=np.zeros((2, length + 1), np.uint64),
        weights=np.zeros((2, length + 1)),
        power=powers(length + 1),
    )


def new_choice_workspace(longest: tuple[int, int], sizes: ChoiceSizes, choice: Choice) -> Workspace:
    """A workspace for trees over these forests.

    Parameters
    ----------
    longest, sizes, choice
        As in `new_choice_forest`.
    """
    # A derivation has at most two nodes for every source word and the root, and a node an edge for every
    # place to split it under every alignment.
    most_edges = choice.alignments * (longest[0] + 1)
    num_rules = (most_edges + 2) * (2 * longest[0] + 2) + 16
    num_nodes = max((max(longest) + 1) ** 2, sizes.nodes, most_edges)
    return new_workspace(num_nodes, sizes.tails + 16, num_rules)


@kernel
def measure_choices(forest, work, corpus, num_alignments, node_start):
    """Bounds on nodes, edges and stored tails of the forests made of several alignments of a sentence.

    forest, work : room for forests of one alignment.
    node_start : int64 (S + 1,), filled in: where each sentence's nodes would begin, one after the other.
    """
    forest, work, corpus = by_reference(forest), by_reference(work), by_reference(corpus)
    num_sentences = node_start.shape[0] - 1
    most_nodes, most_edges, most_tails = 1, 1, 1
    for sentence in range(num_sentences):
        nodes, edges, tails = 1, 0, 0
        for alignment in range(num_alignments):
            if not open_phrases(forest, work, corpus, alignment * num_sentences + sentence):
                continue
            size = forest.shape[SIZE]
            for i in range(size):
                for j in range(i + 1, size + 1):
                    phrase = i * (size + 1) + j
                    if forest.is_phrase[phrase] == 1:
                        # The largest phrase may be below the root besides being the root.
                        times = 2 if j - i == size else 1
                        degree = num_edges(forest, phrase)
                        nodes += times
                        edges += times * degree
                        # An edge that is not a split has at most a tail for every word.
                        tails += times * max(2 * degree, j - i)
        node_start[sentence + 1] = node_start[sentence] + nodes
        most_nodes, most_edges = max(most_nodes, nodes), max(most_edges, edges)
        most_tails = max(most_tails, tails)
    return most_nodes, most_edges, most_tails
