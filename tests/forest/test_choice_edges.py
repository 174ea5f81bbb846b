"""Which nodes all derivations of a node have, where an alignment is chosen: by enumeration."""

from __future__ import annotations

import itertools

import pytest

from scfg_sampler.forest import choice as columns
from scfg_sampler.forest.choice import Choice
from scfg_sampler.forest.explicit import ForestBuilder, _open
from tests.learner.corpora import corpus_of
from tests.learner.test_choosing import WAYS, random_choices


@pytest.mark.parametrize("way", WAYS)
def test_nodes_of_all_derivations_are_known(way, rng):
    pairs = random_choices(rng, 60, alignments=3, most=5)
    builder = ForestBuilder(corpus_of(pairs), Choice(3, way == "phrase"))
    forest, work = builder._forest, builder._work
    seen = 0
    for number in range(len(pairs)):
        assert _open(forest, work, builder._arrays, number)
        num_nodes = int(forest.shape[columns.NUM_NODES])
        derivations: dict[int, list[frozenset[int]]] = {}
        for node in forest.ordered[:num_nodes].tolist():  # Tails before their heads.
            by_alignment = _derivations(forest, work, node, derivations)
            derivations[node] = [nodes for each in by_alignment.values() for nodes in each]
            assert _listed(forest, node, num_nodes) == frozenset.intersection(*derivations[node])
            if node == columns.ROOT:
                for alignment, own in by_alignment.items():
                    assert _listed(forest, num_nodes + alignment, num_nodes) == frozenset.intersection(*own)
            seen += 1
    assert seen > 100


def _derivations(forest, work, node, below):
    """The nodes below a node in each of its derivations, by the alignment of its edge."""
    found: dict[int, list[frozenset[int]]] = {}
    edge = forest.listed[node, columns.FIRST_EDGE]
    while edge >= 0:
        first = forest.edges[edge, columns.FIRST_TAIL]
        tails = work.tails[first : first + forest.edges[edge, columns.HOW_MANY]].tolist()
        own = found.setdefault(int(forest.edges[edge, columns.ALIGNMENT]), [])
        for parts in itertools.product(*(below[tail] for tail in tails)):
            own.append(frozenset(tails).union(*parts))
        edge = forest.edges[edge, columns.NEXT]
    return found


def _listed(forest, row, num_nodes):
    """The nodes of a row of `shared`, from the bits of its words."""
    width = (num_nodes + 63) // 64
    words = forest.shared[row * width : (row + 1) * width].tolist()
    return frozenset(node for node in range(num_nodes) if words[node >> 6] >> (node & 63) & 1)
