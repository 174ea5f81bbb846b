"""Phrase decomposition forests: every minimal synchronous rule of an aligned sentence pair.

A phrase is a pair of spans that the alignment does not cross, with a link at all four ends (Chung et al.
2014, section 3). Unaligned words are taken out before the forest is built, and come back in the lowest node
of a derivation that covers them. On the compacted source positions 0 … n:

- node (i, j) exists iff the target span of source words i … j−1 is aligned to these words alone;
- if some k splits it, (i, k) and (k, j) both being nodes, its edges are exactly those binary splits;
- otherwise it has one edge, whose tails are its largest proper sub-phrases and whose terminals are the rest
  (Algorithm 2; Lemma 2).

A node with s > 1 splits heads a *linear group*: s + 1 blocks side by side, all straight or all inverted,
any run of which is a node. So edges need no storage: they are found from the matrix of phrases. The
sampler works on `SentenceForest`, this implicit form, filled anew for every sentence; `forest.explicit`
spells the other one out, for people, tests and dynamic programs.

Where a node that is cut may take in unaligned words around it (`forest.attachments`), it has a box besides
its span; else boxes and spans are one array.

The fact a newcomer would get wrong: the span of node (i, j) covers the unaligned words strictly inside it,
never those at its ends. Only that of the root, which is the whole sentence pair, does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core.arrays.pages import zeros_when_written
from scfg_sampler.core.fragments.fingerprint import powers, prefix_hashes, word_hashes
from scfg_sampler.core.fragments.tree import NUM_TAILS, TAIL_START
from scfg_sampler.core.jit import borrowing, inlined, with_columns
from scfg_sampler.corpus.parallel_text import ParallelCorpus

__all__ = [
    "FREE_TAIL",
    "INVERSE",
    "MAX_ATTACHED",
    "MAX_CUT_SPAN",
    "MAX_LENGTH",
    "SHAPE_WIDTH",
    "SIZE",
    "CorpusArrays",
    "SentenceForest",
    "fill_forest",
    "fill_phrases",
    "mark_phrases",
    "new_sentence_forest",
    "plain_corpus_arrays",
    "row_and_column",
    "set_size",
    "sum_words",
    "write_hull",
]

# Entries of `shape`.
SIZE = 0  # n, source words with a link
MAX_CUT_SPAN = 1  # longest source span of a node that may be internal; a large number for no limit
FREE_TAIL = 2  # first unused entry of the workspace's tails
MAX_LENGTH = 3  # most words of a sentence, on either side, that there is room for
MAX_ATTACHED = 4  # most unaligned words that a box takes in at a side; 0 where boxes are spans
INVERSE = 5  # 2^44 / (n + 1), rounded up: for `row_and_column`
SHAPE_WIDTH = 6

_INVERSE_BITS = 44

# Rows of `limits`.
LIMIT = 0
HULL = 1
DRAWN = 2


class CorpusArrays(NamedTuple):
    """A word-aligned corpus as kernels read it; see `corpus.parallel_text.ParallelCorpus`."""

    source_start: np.ndarray
    """int64 (S + 1,)."""
    source: np.ndarray
    """int32."""
    target_start: np.ndarray
    """int64 (S + 1,)."""
    target: np.ndarray
    """int32."""
    link_start: np.ndarray
    """int64 (S + 1,)."""
    links: np.ndarray
    """int32 (L, 2): source and target position, sorted by source."""
    source_values: np.ndarray
    """uint64 (source vocabulary,): hash values of words."""
    target_values: np.ndarray
    """uint64 (target vocabulary,)."""
    source_weights: np.ndarray
    """float64 (source vocabulary,): ln of the base's word weights; (0,) where the base has none."""
    target_weights: np.ndarray
    """float64 (target vocabulary,), or (0,)."""
    label_start: np.ndarray = np.zeros(0, np.int64)
    """int64 (S + 1,): of the labels of spans; (0,) where there are none."""
    labels: np.ndarray = np.zeros((0, 3), np.int32)
    """int32 (M, 3): half-open span on the labelled side, and label."""
    label_side: np.ndarray = np.zeros(1, np.int64)
    """int64 (1,): 0 if source spans are labelled, 2 if target spans."""


def plain_corpus_arrays(corpus: ParallelCorpus) -> CorpusArrays:
    """A corpus as kernels read it, with words of no weight.

    Parameters
    ----------
    corpus : ParallelCorpus
    """
    sizes = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
    return CorpusArrays(
        corpus.source_start,
        corpus.source,
        corpus.target_start,
        corpus.target,
        corpus.link_start,
        corpus.links,
        *(word_hashes(size, salt) for salt, size in enumerate(sizes)),
        *(np.zeros(0) for _ in sizes),
    )


class SentenceForest(NamedTuple):
    """One sentence pair's forest in implicit form. Node (i, j) has the id i (n + 1) + j."""

    shape: np.ndarray
    """int64 (6,): see the entry names above."""
    spans: np.ndarray
    """int32 (N, 4): source and target span of each node, half-open, in the original sentence."""
    boxes: np.ndarray
    """int32 (N, 4): what a cut node of the tree stands for; of an uncut one, what its span and the boxes
    below it cover together. The array of the spans where boxes are spans."""
    is_phrase: np.ndarray
    """uint8 (N,)."""
    degree: np.ndarray
    """int32 (N,): number of edges of a node, 0 while not counted."""
    has_tails: np.ndarray
    """uint8 (N,): whether the workspace has a place for the tails of a node. Here and not there: of the
    workspace's rows, which are wide, those of a tree alone are to be touched, not those of all phrases."""
    boundaries: np.ndarray
    """int32 (n + 1,): where the blocks of the linear group last opened begin, and where the last one ends."""
    ranks: np.ndarray
    """int32 (n + 1,): the place of each boundary among them; left-overs elsewhere."""
    hashes: np.ndarray
    """uint64 (2, L + 1): prefix hashes of the two sentences."""
    weights: np.ndarray
    """float64 (2, L + 1): prefix sums of the word weights."""
    power: np.ndarray
    """uint64 (L + 1,)."""
    words: np.ndarray
    """int32 (6, L + 2): scratch rows for `fill_forest`, and one for `log_internal_trees`."""
    trees: np.ndarray
    """float64 (n + 1, n + 1): scratch for `log_internal_trees`."""
    runs: np.ndarray
    """int32 (4, L + 1): how far a run of unaligned words reaches from a position of the source to the left
    and to the right, and so on the target. Without columns where boxes are spans, as the following."""
    limits: np.ndarray
    """int32 (3, 4): scratch for one node, see the row names above."""
    bounds: np.ndarray
    """int32 (4, n + 1): scratch for a linear group, at each boundary: where on the source the part before it
    ends and the part after it begins, and so on the target."""
    drawn: np.ndarray
    """int32 (R, 4): boxes of the options being weighed, option after option."""


with_columns(SentenceForest, spans=4, boxes=4, drawn=4)


def new_sentence_forest(
    longest_source: int, longest_target: int, max_cut_span: int, max_attached: int = 0, num_rules: int = 0
) -> SentenceForest:
    """Room for the forest of any sentence pair up to these lengths.

    Parameters
    ----------
    longest_source, longest_target : int
        In words.
    max_cut_span : int
        Nodes over more source words are always cut; 0 for no limit.
    max_attached : int
        Most unaligned words that a box takes in at a side; 0 for boxes that are spans.
    num_rules : int
        Upper bound on the fragments of all options at a node together, where boxes are not spans.
    """
    length = max(longest_source, longest_target)
    num_nodes = (longest_source + 1) ** 2
    shape = np.zeros(SHAPE_WIDTH, np.int64)
    shape[MAX_LENGTH] = length
    shape[MAX_CUT_SPAN] = max_cut_span if max_cut_span > 0 else length + 1
    shape[MAX_ATTACHED] = max_attached
    spans = zeros_when_written((num_nodes, 4), np.int32)
    has_boxes = max_attached > 0
    return SentenceForest(
        shape=shape,
        spans=spans,
        boxes=zeros_when_written((num_nodes, 4), np.int32) if has_boxes else spans,
        is_phrase=zeros_when_written(num_nodes, np.uint8),
        degree=zeros_when_written(num_nodes, np.int32),
        has_tails=zeros_when_written(num_nodes, np.uint8),
        boundaries=np.zeros(longest_source + 1, np.int32),
        ranks=np.zeros(longest_source + 1, np.int32),
        hashes=np.zeros((2, length + 1), np.uint64),
        weights=np.zeros((2, length + 1)),
        power=powers(length + 1),
        words=np.zeros((6, length + 2), np.int32),
        trees=zeros_when_written((longest_source + 1, longest_source + 1)),
        runs=np.zeros((4, (length + 1) * has_boxes), np.int32),
        limits=np.zeros((3, 4 * has_boxes), np.int32),
        bounds=np.zeros((4, (longest_source + 1) * has_boxes), np.int32),
        drawn=zeros_when_written((num_rules * has_boxes, 4), np.int32),
    )


@inlined
def set_size(forest, size):
    """Say how many source words with a link there are."""
    forest.shape[SIZE] = size
    forest.shape[INVERSE] = (1 << _INVERSE_BITS) // (size + 1) + 1


@inlined
def row_and_column(forest, node):
    """The first and the last position, i and j, of a node."""
    # Divided by n + 1, without a division, which takes as long as ten products; exact where (n + 1)^3 < 2^44,
    # and so for all strings that have fingerprints.
    i = (node * forest.shape[INVERSE]) >> _INVERSE_BITS
    return i, node - i * (forest.shape[SIZE] + 1)


@borrowing
def fill_forest(forest, work, corpus, sentence):
    """Build the forest of a sentence; False if it has no links, and so no forest, or is too long."""
    if not fill_phrases(forest, work, corpus, sentence):
        return False
    sum_words(forest, corpus, sentence)
    return True


@borrowing
def sum_words(forest, corpus, sentence):
    """Fill in what `compose` needs: the prefix sums of the words' hashes and weights."""
    first, last = corpus.source_start[sentence], corpus.source_start[sentence + 1]
    prefix_hashes(corpus.source, first, last, corpus.source_values, forest.hashes[0])
    _prefix_sums(corpus.source, first, last, corpus.source_weights, forest.weights[0])
    first, last = corpus.target_start[sentence], corpus.target_start[sentence + 1]
    prefix_hashes(corpus.target, first, last, corpus.target_values, forest.hashes[1])
    _prefix_sums(corpus.target, first, last, corpus.target_weights, forest.weights[1])


@borrowing
def fill_phrases(forest, work, corpus, sentence):
    """`fill_forest`, but for what `compose` needs: the prefix sums of the words' hashes and weights."""
    if corpus.link_start[sentence + 1] == corpus.link_start[sentence]:
        return False
    for start in (corpus.source_start, corpus.target_start):
        if start[sentence + 1] - start[sentence] > forest.shape[MAX_LENGTH]:
            return False
    mark_phrases(forest, corpus, sentence)
    if forest.shape[MAX_ATTACHED] > 0:
        _open_boxes(forest, corpus, sentence)
    return True


@borrowing
def _prefix_sums(words, start, stop, values, out):
    if values.shape[0] == 0:
        return  # Zeros, as they have been from the first.
    total = 0.0
    out[0] = 0.0
    for i in range(start, stop):
        total += values[words[i]]
        out[i - start + 1] = total


@borrowing
def mark_phrases(forest, corpus, sentence):
    """Find all phrases: a source span whose target span holds just as many links is one."""
    words = forest.words
    low, high, links_to, links_before, position = words[0], words[1], words[2], words[3], words[4]
    source_length = corpus.source_start[sentence + 1] - corpus.source_start[sentence]
    target_length = corpus.target_start[sentence + 1] - corpus.target_start[sentence]
    for t in range(target_length + 1):
        links_to[t] = 0
    size = 0
    before = -1
    count = 0
    for link in range(corpus.link_start[sentence], corpus.link_start[sentence + 1]):
        s, t = corpus.links[link, 0], corpus.links[link, 1]
        links_to[t + 1] += 1
        if s != before:
            position[size] = s
            links_before[size] = count
            low[size], high[size] = t, t
            size += 1
            before = s
        low[size - 1] = min(low[size - 1], t)
        high[size - 1] = max(high[size - 1], t)
        count += 1
    links_before[size] = count
    for t in range(target_length):
        links_to[t + 1] += links_to[t]
    set_size(forest, size)
    forest.shape[FREE_TAIL] = 0
    width = size + 1
    for i in range(size):
        first, last = target_length, np.int32(-1)
        for j in range(i + 1, size + 1):
            first = min(first, low[j - 1])
            last = max(last, high[j - 1])
            node = i * width + j
            # A phrase: no link of its target span leads out of its source span (section 3).
            is_phrase = links_to[last + 1] - links_to[first] == links_before[j] - links_before[i]
            forest.is_phrase[node] = is_phrase
            # Which are phrases no processor can guess, and writing needlessly is cheaper than guessing wrong.
            if is_phrase | (size < 40):
                forest.spans[node, 0] = position[i]
                forest.spans[node, 1] = position[j - 1] + 1
                forest.spans[node, 2] = first
                forest.spans[node, 3] = last + 1
                forest.degree[node] = 0
                forest.has_tails[node] = 0
    # The root is the whole sentence pair, with the unaligned words at its ends.
    goal = size
    forest.spans[goal, 0] = 0
    forest.spans[goal, 1] = source_length
    forest.spans[goal, 2] = 0
    forest.spans[goal, 3] = target_length


@borrowing
def _open_boxes(forest, corpus, sentence):
    """Make every box a span, and find the runs of unaligned words."""
    for node in range((forest.shape[SIZE] + 1) ** 2):
        for side in range(4):
            forest.boxes[node, side] = forest.spans[node, side]
    starts = corpus.source_start, corpus.target_start
    is_linked = forest.words[5]
    for side in range(2):
        length = starts[side][sentence + 1] - starts[side][sentence]
        is_linked[:length] = 0
        for link in range(corpus.link_start[sentence], corpus.link_start[sentence + 1]):
            is_linked[corpus.links[link, side]] = 1
        left, right = forest.runs[2 * side], forest.runs[2 * side + 1]
        left[0], right[length] = 0, length
        for at in range(length):
            left[at + 1] = at + 1 if is_linked[at] == 1 else left[at]
        for at in range(length - 1, -1, -1):
            right[at] = at if is_linked[at] == 1 else right[at + 1]


@borrowing
def write_hull(forest, work, node, out):
    """Write what a node's span and the boxes of its tails cover together, four positions."""
    spans, boxes = forest.spans, forest.boxes
    for side in range(4):
        out[side] = spans[node, side]
    first = work.nodes[node, TAIL_START]
    for t in range(first, first + work.nodes[node, NUM_TAILS]):
        tail = work.tails[t]
        for side in (0, 2):
            out[side] = min(out[side], boxes[tail, side])
            out[side + 1] = max(out[side + 1], boxes[tail, side + 1])
