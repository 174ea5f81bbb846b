"""Positions of nodes, which are found without a division."""

from __future__ import annotations

import numpy as np
import pytest

from scfg_sampler.core.fragments.fingerprint import LONGEST_STRING
from scfg_sampler.core.jit import kernel
from scfg_sampler.forest.implicit import INVERSE, SIZE, new_sentence_forest, row_and_column, set_size


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
