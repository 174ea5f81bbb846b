"""Top-down sampling of derivations, all choices followed."""

from __future__ import annotations

import numpy as np
import pytest

from scfg_sampler.core.forests.derivations import count_derivations, sample_derivation
from scfg_sampler.core.forests.semiring import LogSum, inside
from tests.generators import random_hypergraph, random_log_weights
from tests.oracles import brute_force
from tests.oracles.choices import GENERATOR, distribution


@pytest.mark.parametrize("seed", range(25))
def test_derivations_are_drawn_in_proportion_to_their_weights(seed):
    rng = np.random.default_rng(seed)
    graph = random_hypergraph(rng, max_nodes=5)
    while not 1 < count_derivations(graph)[-1] <= 200:
        graph = random_hypergraph(rng, max_nodes=5)
    log_weights = random_log_weights(rng, graph)
    values = inside(graph, LogSum(log_weights))
    found = distribution(lambda: tuple(sample_derivation(GENERATOR, graph, log_weights, values).tolist()))
    expected = brute_force.posterior(graph, log_weights) or {(): 1.0}
    assert found.keys() == expected.keys()
    for derivation, prob in expected.items():
        assert found[derivation] == pytest.approx(prob, abs=1e-12)
