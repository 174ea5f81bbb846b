"""Phrase decomposition forests whose nodes have labels: what the sampler asks of a `LabelledForest`.

A node has the label of its span on one side of the pair (`corpus.span_labels`), 0, that is X, where the span
has none. Forests, trees, edges and cuts are those of a `SentenceForest`; but a fragment is another one where
the label of its root or of one of its slots is another:

- slot k of the first string has the value s + v(label), and the second string names slots by their order
  (`core.fragments.fingerprint`), so labels of slots are said once;
- the label of the root is added before the hashes are mixed: the pieces of a node do not depend on it.

The fact a newcomer would get wrong: X adds 0. With all labels X every fingerprint is that of the same rule
without labels, and with the fingerprints all that follows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.fragments import tree as fragment_tree
from scfg_sampler.core.fragments.fingerprint import word_hashes
from scfg_sampler.core.fragments.tree import CUT, NUM_TAILS, TAIL_START
from scfg_sampler.core.jit import borrowing, kernel
from scfg_sampler.forest import pieces, trees
from scfg_sampler.forest.implicit import (
    MAX_LENGTH,
    SIZE,
    CorpusArrays,
    SentenceForest,
    fill_forest,
    fill_phrases,
)
from scfg_sampler.forest.trees import choose_within, most_nodes, open_phrases

__all__ = [
    "LabelledForest",
    "count_labels",
    "labelled_arrays",
    "new_labelled_forest",
    "sum_gap_labels",
]

_SLOT_SALT, _ROOT_SALT = 2, 3  # Words of the two strings have 0 and 1.


class LabelledForest(NamedTuple):
    """A `SentenceForest`, field by field, whose nodes have labels."""

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
    """int32 (N,): of each phrase; left-overs elsewhere."""
    spanned: np.ndarray
    """int32 (L + 1, L + 1): the label of every span of the labelled side."""
    slot_values: np.ndarray
    """uint64 (K,): what a label adds to the value of a slot; 0 for X."""
    root_values: np.ndarray
    """uint64 (K,): what a label adds to the hash of a fragment that it heads; 0 for X."""
    stack: np.ndarray
    """int32 (N,): scratch for `sum_gap_labels`."""
    first_symbol: np.ndarray
    """int64 (1,): the symbol that X is in records of rules: see `learner.collecting`."""


def new_labelled_forest(forest: SentenceForest, num_labels: int, first_symbol: int) -> LabelledForest:
    """Room for labels besides that for a forest.

    Parameters
    ----------
    forest : SentenceForest
    num_labels : int
        K, X among them.
    first_symbol : int
        The number of source words: symbols from there on are labels.
    """
    values = [word_hashes(num_labels, salt) for salt in (_SLOT_SALT, _ROOT_SALT)]
    for each in values:
        each[0] = 0
    longest = int(forest.shape[MAX_LENGTH])
    return LabelledForest(
        *forest,
        label=np.zeros(len(forest.spans), np.int32),
        spanned=np.zeros((longest + 1, longest + 1), np.int32),
        slot_values=values[0],
        root_values=values[1],
        stack=np.zeros(len(forest.spans), np.int32),
        first_symbol=np.array([first_symbol], np.int64),
    )


def labelled_arrays(
    arrays: CorpusArrays, is_target: bool, start: np.ndarray, spans: np.ndarray, label: np.ndarray
) -> CorpusArrays:
    """A corpus as kernels read it, with the labels of its spans.

    Parameters
    ----------
    arrays : CorpusArrays
    is_target, start, spans, label
        As in `corpus.span_labels.SpanLabels`.
    """
    rows = np.column_stack([spans, label]).astype(np.int32)
    return arrays._replace(label_start=start, labels=rows, label_side=np.array([2 * is_target], np.int64))


# --- what it has of a forest without labels ------------------------------------------------------------

for _ask, _answer in (
    (choose_within, trees._choose_within),
    (most_nodes, trees._most_nodes),
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
    (fragment_tree.attach, trees._attach),
    (fragment_tree.attached, trees._attached),
    (fragment_tree.compose, pieces._compose),
):
    _ask.register(LabelledForest)(_answer)


# --- labels --------------------------------------------------------------------------------------------


@fragment_tree.open_sentence.register(LabelledForest)
def _open_sentence(forest, work, data, sentence):
    if not fill_forest(forest, work, data, sentence):
        return False
    _fill_labels(forest, data, sentence)
    return True


@open_phrases.register(LabelledForest)
def _open_phrases(forest, work, corpus, sentence):
    if not fill_phrases(forest, work, corpus, sentence):
        return False
    _fill_labels(forest, corpus, sentence)
    return True


@borrowing
def _fill_labels(forest, corpus, sentence):
    """Give every phrase the label of its span on the labelled side."""
    side = corpus.label_side[0]
    starts = corpus.target_start if side == 2 else corpus.source_start
    length = starts[sentence + 1] - starts[sentence]
    forest.spanned[: length + 1, : length + 1] = 0
    for row in range(corpus.label_start[sentence], corpus.label_start[sentence + 1]):
        forest.spanned[corpus.labels[row, 0], corpus.labels[row, 1]] = corpus.labels[row, 2]
    width = forest.shape[SIZE] + 1
    for node in range(width * width):
        if forest.is_phrase[node] == 1:
            forest.label[node] = forest.spanned[forest.spans[node, side], forest.spans[node, side + 1]]


@pieces.slot_value.register(LabelledForest)
def _slot_value(forest, tail):
    return forest.slot_values[forest.label[tail]]


@fragment_tree.root_value.register(LabelledForest)
def _root_value(forest, node):
    return forest.root_values[forest.label[node]]


@borrowing
def sum_gap_labels(forest, work, node, log_label):
    """Σ ln P(label) over the slots of the fragment headed at a node, in the order of the first string."""
    # In this order, whatever tree is inside: equal fragments are to have equal sums, to the last bit.
    nodes, stack = work.nodes, forest.stack
    stack[0] = node
    size, total = 1, 0.0
    while size > 0:
        size -= 1
        at = stack[size]
        if at != node and nodes[at, CUT] == 1:
            total += log_label[forest.label[at]]
            continue
        first = nodes[at, TAIL_START]
        for t in range(first + nodes[at, NUM_TAILS] - 1, first - 1, -1):
            stack[size] = work.tails[t]
            size += 1
    return total


@kernel
def count_labels(walk, num_labels):
    """How many phrases below the root have each label, and how long a rule of each label may be.

    Two int64 arrays (K,). A rule headed at a node has at most as many words and so much scope as the node has
    words on both sides, and one more: every slot stands for a word of the first string at least.
    """
    forest, work, corpus = walk.forest, walk.work, walk.corpus
    number, longest = np.zeros(num_labels, np.int64), np.zeros(num_labels, np.int64)
    for sentence in range(walk.tree_start.shape[0] - 1):
        if not open_phrases(forest, work, corpus, sentence):
            continue
        width = forest.shape[SIZE] + 1
        for node in range(width * width):
            if forest.is_phrase[node] == 1:
                label = forest.label[node]
                number[label] += node != width - 1
                first = forest.spans[node, 1] - forest.spans[node, 0]
                second = forest.spans[node, 3] - forest.spans[node, 2]
                longest[label] = max(longest[label], first + second + 1)
    return number, longest
