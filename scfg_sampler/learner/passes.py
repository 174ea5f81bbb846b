"""Passes of the learner over a corpus, compiled: count, draw, seat, sweep, collect.

Every pass takes a `Walk` and builds each sentence's forest anew. Passes that seat rules stop before a
sentence for which an array might be too small and return its number; their callers make room and go on from
there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import draws
from scfg_sampler.core.fragments.rejection import StoredTree, resample_tree
from scfg_sampler.core.fragments.room import lacks_room
from scfg_sampler.core.fragments.rules import most_dishes
from scfg_sampler.core.fragments.sampler import find_rules, seat_tree, sweep_tree
from scfg_sampler.core.fragments.tree import (
    BELOW,
    CUT,
    CUTS_CHANGED,
    EDGE,
    EDGES_CHANGED,
    IN_TREE,
    NUM_TAILS,
    PENDING,
    STAMP,
    TAIL_START,
    Workspace,
    decode,
    encode_over,
    lay_out,
    log_internal_trees,
    nth_edge,
    num_edges,
    open_sentence,
    root,
    set_tails,
)
from scfg_sampler.core.jit import borrowing, by_reference, kernel

# What kernels dispatch to must be below them: see `core.jit`.
from scfg_sampler.forest.attachments import WithBoxes  # noqa: F401
from scfg_sampler.forest.choice_trees import ChoiceForest
from scfg_sampler.forest.implicit import CorpusArrays
from scfg_sampler.forest.labelled import LabelledForest
from scfg_sampler.forest.trees import SentenceForest, choose_within, most_nodes, open_phrases
from scfg_sampler.forest.typed import TypedForest
from scfg_sampler.forest.typed_moves import WithTypes  # noqa: F401
from scfg_sampler.learner.collecting import collect_tree, with_room_for
from scfg_sampler.learner.model import LabelledModel, RuleModel  # noqa: F401

__all__ = [
    "Walk",
    "build_forests",
    "collect_sentences",
    "count_nodes",
    "draw_trees",
    "forget_stamps",
    "propose_sentences",
    "seat_trees",
    "sum_internal_trees",
    "sweep_sentences",
]


class Walk(NamedTuple):
    """What walking a corpus takes: where its derivations lie, and room for one sentence at a time."""

    forest: SentenceForest | ChoiceForest | LabelledForest | TypedForest
    """Of the sentence last visited."""
    work: Workspace
    """Its tree."""
    corpus: CorpusArrays
    tree_start: np.ndarray
    """int64 (S + 1,): where each sentence's derivation begins, and with it ends the one before."""


@kernel
def count_nodes(walk):
    """Fill in where each sentence's derivation begins."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    for sentence in range(tree_start.shape[0] - 1):
        size = most_nodes(forest, work) if open_phrases(forest, work, corpus, sentence) else 0
        tree_start[sentence + 1] = tree_start[sentence] + size


@kernel
def build_forests(walk):
    """Build the forest of every sentence in turn; how many have one."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    number = 0
    for sentence in range(corpus.source_start.shape[0] - 1):
        if open_sentence(forest, work, corpus, sentence):
            number += 1
    return number


@kernel
def draw_trees(rng, walk, trees):
    """Edges uniform, every node cut."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    for sentence in range(tree_start.shape[0] - 1):
        if not open_sentence(forest, work, corpus, sentence):
            continue
        pending = work.lists[PENDING]
        pending[0] = root(forest)
        num_pending = 1
        at = tree_start[sentence]
        while num_pending > 0:
            num_pending -= 1
            node = pending[num_pending]
            work.nodes[node, EDGE] = nth_edge(forest, node, draws.uniform_index(rng, num_edges(forest, node)))
            set_tails(forest, work, node)
            trees[at] = 2 * work.nodes[node, EDGE] + 1
            at += 1
            first = work.nodes[node, TAIL_START]
            for t in range(first + work.nodes[node, NUM_TAILS] - 1, first - 1, -1):
                pending[num_pending] = work.tails[t]
                num_pending += 1


@kernel
def seat_trees(rng, walk, model, restaurants, trees, first):
    """Seat the rules of the sentences from `first` on; the first sentence there was no room for."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    model, restaurants = by_reference(model), by_reference(restaurants)
    forget_stamps(work)
    for sentence in range(first, tree_start.shape[0] - 1):
        size = tree_start[sentence + 1] - tree_start[sentence]
        if lacks_room(restaurants, most_dishes(model, size)):
            return sentence
        if open_sentence(forest, work, corpus, sentence):
            seat_tree(rng, forest, model, restaurants, work, trees, tree_start[sentence])
    return tree_start.shape[0] - 1


@kernel
def sweep_sentences(rng, walk, model, restaurants, trees, sentences, order):
    """Resample the sentences from the first of two on, up to the second; the first there was no room for.

    order : `core.fragments.sampler.TopDown`, or `WithBoxes` or `WithTypes`, which say what is resampled.
    """
    first, stop = sentences
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    model, restaurants = by_reference(model), by_reference(restaurants)
    forget_stamps(work)
    for sentence in range(first, stop):
        size = tree_start[sentence + 1] - tree_start[sentence]
        if size == 0:
            continue
        if lacks_room(restaurants, most_dishes(model, size)):
            return sentence
        open_sentence(forest, work, corpus, sentence)
        size = decode(forest, work, trees, tree_start[sentence], 0)
        find_rules(forest, model, restaurants, work, size)
        choose_within(forest, work)
        # Algorithm 4 of Chung et al. (2014) on one sentence, given the rules of all others.
        before = work.counters[EDGES_CHANGED] + work.counters[CUTS_CHANGED]
        sweep_tree(rng, order, forest, model, restaurants, work)
        # Boxes and types change only along with an edge, or as a cut does, and are counted with these.
        if work.counters[EDGES_CHANGED] + work.counters[CUTS_CHANGED] != before:
            encode_over(forest, work, trees, tree_start[sentence], size)
    return stop


@kernel
def propose_sentences(rng, walk, model, restaurants, trees, sentences):
    """As `sweep_sentences`, each tree proposed as a whole and accepted or not."""
    first, stop = sentences
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    model, restaurants = by_reference(model), by_reference(restaurants)
    forget_stamps(work)
    for sentence in range(first, stop):
        size = tree_start[sentence + 1] - tree_start[sentence]
        if size == 0:
            continue
        if lacks_room(restaurants, size):
            return sentence
        open_sentence(forest, work, corpus, sentence)
        size = decode(forest, work, trees, tree_start[sentence], 0)
        find_rules(forest, model, restaurants, work, size)
        # Algorithm 3.
        tree = StoredTree(trees, tree_start[sentence], size)
        resample_tree(rng, forest, model, restaurants, work, tree)
    return stop


@kernel
def sum_internal_trees(walk, trees):
    """Σ ln of the numbers of internal trees of all rules."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    total = 0.0
    for sentence in range(tree_start.shape[0] - 1):
        if tree_start[sentence + 1] == tree_start[sentence]:
            continue
        open_sentence(forest, work, corpus, sentence)
        size = decode(forest, work, trees, tree_start[sentence], 0)
        for k in range(size):
            node = work.lists[BELOW, k]
            if work.nodes[node, CUT] == 1:
                # A composed rule stands in P_t once for every tree inside it.
                total += log_internal_trees(forest, work, node)
    return total


@kernel
def collect_sentences(walk, trees, collector, node_counts, node_start, sentences):
    """The collector, or a larger one, with the rules of the sentences from the first of two on counted.

    And count in `node_counts`, if it has rows, which nodes are in the tree, and which are cut.
    """
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    tree_start = walk.tree_start
    forget_stamps(work)
    for sentence in range(sentences[0], sentences[1]):
        if tree_start[sentence + 1] == tree_start[sentence]:
            continue
        open_phrases(forest, work, corpus, sentence)
        size = lay_out(forest, work, trees, tree_start[sentence], 0)
        collector = with_room_for(collector, forest, corpus, sentence)
        collect_tree(by_reference(collector), forest, work, corpus, sentence, size)
        if node_counts.shape[0] > 0:
            start = node_start[sentence]
            for k in range(size):
                node = work.lists[BELOW, k]
                node_counts[start + node, 0] += 1
                node_counts[start + node, 1] += work.nodes[node, CUT]
    return collector


@borrowing
def forget_stamps(work):
    """Start counting trees and calls anew, so that stamps never overflow."""
    work.counters[0] = 0
    work.counters[1] = 0
    for node in range(work.nodes.shape[0]):
        # What has never been written to takes no memory, see `forest_bank`, and is not written to here.
        if work.nodes[node, IN_TREE] != 0:
            work.nodes[node, IN_TREE] = 0
        if work.nodes[node, STAMP] != 0:
            work.nodes[node, STAMP] = 0
