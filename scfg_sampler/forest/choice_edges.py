"""Opening the forest of a sentence pair under several alignments: its nodes, its edges, what nodes share.

The phrases of one alignment after the other are found as for a forest of one (`forest.implicit`), and their
nodes and edges added to what there is. The fact a newcomer would get wrong: the largest phrase of an
alignment is the root, and may besides be a node below it, by another alignment that links more words.
"""

from __future__ import annotations

import numpy as np

from scfg_sampler.core.fragments import tree as fragment_tree
from scfg_sampler.core.jit import borrowing, inlined
from scfg_sampler.forest.choice import (
    ALIGNMENT,
    BY_TAIL,
    DEGREE,
    EDGE_START,
    FIRST_EDGE,
    FIRST_TAIL,
    HOW_MANY,
    LARGEST,
    LAST_EDGE,
    LISTED_WIDTH,
    MERGED,
    MOST_NODES,
    NEXT,
    NUM_ALIGNMENTS,
    NUM_EDGES,
    NUM_NODES,
    NUM_PAIRS,
    NUM_TAILS_STORED,
    ROOT,
    SAME_SOURCE,
    SAME_TAIL,
    WITHIN,
    ChoiceForest,
)
from scfg_sampler.forest.implicit import MAX_LENGTH, SIZE, mark_phrases, sum_words
from scfg_sampler.forest.trees import open_phrases

__all__ = ["ChoiceForest"]

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@fragment_tree.open_sentence.register(ChoiceForest)
def _open_sentence(forest, work, corpus, sentence):
    if not open_phrases(forest, work, corpus, sentence):
        return False
    sum_words(forest, corpus, sentence)
    return True


@open_phrases.register(ChoiceForest)
def _open_phrases(forest, work, corpus, sentence):
    shape = forest.shape
    source_length = corpus.source_start[sentence + 1] - corpus.source_start[sentence]
    target_length = corpus.target_start[sentence + 1] - corpus.target_start[sentence]
    shape[NUM_NODES] = 0
    shape[NUM_EDGES] = 0
    shape[NUM_TAILS_STORED] = 0
    shape[WITHIN] = -1
    if max(source_length, target_length) > shape[MAX_LENGTH]:
        return False
    width = source_length + 1
    for at in range(width * width):
        forest.with_source[at] = -1
    _add_node(forest, 0, source_length, 0, target_length)
    for alignment in range(shape[NUM_ALIGNMENTS]):
        under = alignment * shape[NUM_PAIRS] + sentence
        if corpus.link_start[under + 1] > corpus.link_start[under]:
            mark_phrases(forest, corpus, under)
            _add_alignment(forest, work, alignment, width)
    if shape[NUM_EDGES] == 0:
        return False
    _order_nodes(forest, source_length)
    _list_edges(forest, work)
    if shape[NUM_NODES] <= LARGEST:
        _find_shared(forest, work)
    return True


@inlined
def _add_node(forest, begin, end, target_begin, target_end):
    """Add a node without edges."""
    node = forest.shape[NUM_NODES]
    forest.shape[NUM_NODES] = node + 1
    forest.boxes[node, 0], forest.boxes[node, 1] = begin, end
    forest.boxes[node, 2], forest.boxes[node, 3] = target_begin, target_end
    for column in range(LISTED_WIDTH):
        forest.listed[node, column] = -1
    forest.listed[node, DEGREE] = 0
    return node


@borrowing
def _add_alignment(forest, work, alignment, width):
    """Add the nodes and edges of the phrases last marked, tails before heads."""
    size = forest.shape[SIZE]
    for length in range(1, size + 1):
        for i in range(size - length + 1):
            phrase = i * (size + 1) + i + length
            if forest.is_phrase[phrase] == 1:
                if length == size:
                    _add_edges(forest, work, alignment, ROOT, i, i + length)
                    if not _recurs_below(forest, phrase):
                        continue
                node = _node_for(forest, phrase, width)
                forest.node_of[phrase] = node
                _add_edges(forest, work, alignment, node, i, i + length)


@borrowing
def _recurs_below(forest, phrase):
    """Whether the largest phrase may be below the root by another alignment; if so its own span is put back.

    It may if it is not the whole sentence pair, and alignments share their nodes.
    """
    low, high, position, span = forest.words[0], forest.words[1], forest.words[4], forest.spans[phrase]
    size, boxes = forest.shape[SIZE], forest.boxes
    first, last = low[0], high[0]
    for at in range(size):
        first, last = min(first, low[at]), max(last, high[at])
    span[0], span[1], span[2], span[3] = position[0], position[size - 1] + 1, first, last + 1
    is_whole = True
    for side in range(4):
        is_whole &= span[side] == boxes[ROOT, side]
    return forest.shape[MERGED] == 1 and not is_whole


@borrowing
def _node_for(forest, phrase, width):
    """The node of a phrase: one of an alignment before, where these are shared, or a new one."""
    spans, boxes, listed = forest.spans, forest.boxes, forest.listed
    at = spans[phrase, 0] * width + spans[phrase, 1]
    node = forest.with_source[at] if forest.shape[MERGED] == 1 else -1
    while node >= 0 and (boxes[node, 2] != spans[phrase, 2] or boxes[node, 3] != spans[phrase, 3]):
        node = listed[node, SAME_SOURCE]
    if node < 0:
        node = _add_node(forest, spans[phrase, 0], spans[phrase, 1], spans[phrase, 2], spans[phrase, 3])
        listed[node, SAME_SOURCE] = forest.with_source[at]
        forest.with_source[at] = node
    return node


@borrowing
def _add_edges(forest, work, alignment, node, i, j):
    """Add the edges that an alignment gives to the node of its phrase (i, j): Algorithm 2."""
    width = forest.shape[SIZE] + 1
    is_phrase, node_of, tails = forest.is_phrase, forest.node_of, work.tails
    last_before = forest.listed[node, LAST_EDGE] if forest.shape[MERGED] == 1 else -1
    _note_first_tails(forest, work, node, last_before, True)
    found = False
    for k in range(i + 1, j):
        if is_phrase[i * width + k] & is_phrase[k * width + j]:
            start = forest.shape[NUM_TAILS_STORED]
            tails[start] = node_of[i * width + k]
            tails[start + 1] = node_of[k * width + j]
            _add_edge(forest, work, alignment, node, 2)
            found = True
    if not found:
        start, size, begin = forest.shape[NUM_TAILS_STORED], 0, i
        while begin < j:
            end = j if begin > i else j - 1
            while end > begin and is_phrase[begin * width + end] == 0:
                end -= 1
            if end > begin:
                tails[start + size] = node_of[begin * width + end]
                size += 1
                begin = end
            else:
                begin += 1
        _add_edge(forest, work, alignment, node, size)
    _note_first_tails(forest, work, node, last_before, False)


@borrowing
def _note_first_tails(forest, work, node, last, whether):
    """Note at the first tails of a node's edges, up to the given one, which edges they are; or forget it.

    An edge without tails is noted at the node.
    """
    listed, edges = forest.listed, forest.edges
    edge = listed[node, FIRST_EDGE] if last >= 0 else -1
    while edge >= 0:
        first = work.tails[edges[edge, FIRST_TAIL]] if edges[edge, HOW_MANY] > 0 else node
        edges[edge, SAME_TAIL] = listed[first, BY_TAIL] if whether else -1
        listed[first, BY_TAIL] = edge if whether else -1
        edge = edges[edge, NEXT] if edge != last else -1


@borrowing
def _add_edge(forest, work, alignment, node, size):
    """Add an edge whose tails are the next that are stored, unless the node has it already."""
    shape, listed, edges = forest.shape, forest.listed, forest.edges
    start = shape[NUM_TAILS_STORED]
    edge = listed[work.tails[start] if size > 0 else node, BY_TAIL]
    while edge >= 0:
        same = 0
        if edges[edge, HOW_MANY] == size:
            while same < size and work.tails[edges[edge, FIRST_TAIL] + same] == work.tails[start + same]:
                same += 1
            if same == size:
                return
        edge = edges[edge, SAME_TAIL]
    edge = shape[NUM_EDGES]
    shape[NUM_EDGES] = edge + 1
    shape[NUM_TAILS_STORED] = start + size
    edges[edge, FIRST_TAIL], edges[edge, HOW_MANY] = start, size
    edges[edge, ALIGNMENT], edges[edge, NEXT] = alignment, -1
    if listed[node, FIRST_EDGE] < 0:
        listed[node, FIRST_EDGE] = edge
    else:
        edges[listed[node, LAST_EDGE], NEXT] = edge
    listed[node, LAST_EDGE] = edge
    listed[node, DEGREE] += 1


@borrowing
def _order_nodes(forest, source_length):
    """Order the nodes by their number of source words, the root last: tails have fewer than heads."""
    boxes, ordered, starts = forest.boxes, forest.ordered, forest.words[0]
    number = forest.shape[NUM_NODES]
    for length in range(source_length + 2):
        starts[length] = 0
    for node in range(1, number):
        starts[boxes[node, 1] - boxes[node, 0] + 1] += 1
    for length in range(source_length + 1):
        starts[length + 1] += starts[length]
    for node in range(1, number):
        length = boxes[node, 1] - boxes[node, 0]
        ordered[starts[length]] = node
        starts[length] += 1
    ordered[number - 1] = ROOT


@borrowing
def _list_edges(forest, work):
    """List the edges node by node, and find how large a derivation of each node may be."""
    listed, edges = forest.listed, forest.edges
    size = 0
    for at in range(forest.shape[NUM_NODES]):
        node = forest.ordered[at]
        listed[node, EDGE_START] = size
        most = 0
        edge = listed[node, FIRST_EDGE]
        while edge >= 0:
            forest.edge_at[size] = edge
            size += 1
            below = 0
            for t in range(edges[edge, FIRST_TAIL], edges[edge, FIRST_TAIL] + edges[edge, HOW_MANY]):
                below += listed[work.tails[t], MOST_NODES]
            most = max(most, below)
            edge = edges[edge, NEXT]
        listed[node, MOST_NODES] = 1 + most


@borrowing
def _find_shared(forest, work):
    """Find for each node which nodes are in all of its derivations, and for the root by alignment."""
    listed, edges, shared = forest.listed, forest.edges, forest.shared
    number, num_alignments = forest.shape[NUM_NODES], forest.shape[NUM_ALIGNMENTS]
    width = (number + 63) // 64
    for at in range((number + num_alignments) * width):
        shared[at] = _ALL
    for at in range(number):
        node = forest.ordered[at]
        edge = listed[node, FIRST_EDGE]
        while edge >= 0:
            _gather_tails(forest, work, edge, width)
            for word in range(width):
                shared[node * width + word] &= forest.tails_of[word]
            if node == ROOT:
                row = number + edges[edge, ALIGNMENT]
                for word in range(width):
                    shared[row * width + word] &= forest.tails_of[word]
            edge = edges[edge, NEXT]


@inlined
def _gather_tails(forest, work, edge, width):
    """Write to `tails_of` which nodes all derivations with an edge have."""
    tails_of, shared = forest.tails_of, forest.shared
    for word in range(width):
        tails_of[word] = _NONE
    first = forest.edges[edge, FIRST_TAIL]
    for t in range(first, first + forest.edges[edge, HOW_MANY]):
        tail = np.int64(work.tails[t])
        for word in range(width):
            tails_of[word] |= shared[tail * width + word]
        tails_of[tail >> 6] |= _ONE << np.uint64(tail & 63)
