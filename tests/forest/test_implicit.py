"""What is known of nodes without a division, and without a look at the forest."""

from __future__ import annotations

import numpy as np
import pytest

from scfg_sampler.core.fragments.fingerprint import LONGEST_STRING
from scfg_sampler.core.fragments.tree import EDGE, may_have_options, nth_edge, num_edges, open_sentence
from scfg_sampler.core.jit import by_reference, kernel
from scfg_sampler.forest.implicit import INVERSE, SIZE, new_sentence_forest, row_and_column, set_size
from scfg_sampler.forest.trees import SentenceForest  # noqa: F401
from scfg_sampler.learner.forest_bank import forest_bank, new_walk
from tests.forest.test_explicit import permutation
from tests.learner.corpora import corpus_of


@kernel
def count_wrong(forest, first, stop, step):
    """How many nodes have other positions than a division gives."""
    width, wrong = forest.shape[SIZE] + 1, 0
    for node in range(first, stop, step):
        i, j = row_and_column(forest, node)
        wrong += i != node // width or j != node % width
    return wrong


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 100, 999, 4096, LONGEST_STRING])
def test_positions_are_those_that_a_division_gives(size):
    forest = new_sentence_forest(3, 3, 0)
    set_size(forest, size)
    assert forest.shape[INVERSE] > 0
    nodes = (size + 1) ** 2
    assert count_wrong(forest, 0, nodes, max(1, nodes // 100_000)) == 0
    # Where the quotient rises by one.
    edges = np.unique(np.linspace(1, size, 1000).astype(np.int64)) * (size + 1)
    assert not any(count_wrong(forest, edge - 1, edge + 1, 1) for edge in edges)


@kernel
def count_edges(walk, sentence):
    """Edges of nodes with one and with several; of the latter, how many would be passed by."""
    forest, work, corpus = by_reference(walk.forest), by_reference(walk.work), by_reference(walk.corpus)
    open_sentence(forest, work, corpus, sentence)
    single, several, passed = 0, 0, 0
    width = forest.shape[SIZE] + 1
    for node in range(width * width):
        i, j = row_and_column(forest, node)
        if j <= i or forest.is_phrase[node] == 0:
            continue
        number = num_edges(forest, node)
        for rank in range(number):
            work.nodes[node, EDGE] = nth_edge(forest, node, rank)
            if number == 1:
                single += 1
            else:
                several += 1
                passed += not may_have_options(forest, work, node)
    return single, several, passed


def test_no_node_with_several_edges_is_passed_by(rng):
    orders = [
        (0, 1, 2, 3, 4),
        (4, 3, 2, 1, 0),
        (2, 1, 0, 3, 4, 5),
        *map(tuple, rng.permuted([range(6)] * 60, axis=1)),
    ]
    bank = forest_bank(corpus_of([permutation(tuple(map(int, order))) for order in orders]), 100)
    walk = new_walk(bank, 0, None)
    found = np.array([count_edges(walk, sentence) for sentence in range(bank.num_sentences)])
    assert found.sum(axis=0)[:2].min() > 50
    assert found.sum(axis=0)[2] == 0
