"""How often nodes are in the trees of a chain, and how often they are cut: a sink.

The fact a newcomer would get wrong: the share of sweeps in which a node is cut is out of those in which it is
in the tree, which for sentences with several trees are not all.
"""

from __future__ import annotations

import numpy as np

from monolingual.tsg.forest import new_tree_forest, new_tree_workspace
from monolingual.tsg.sweep import add_marginals
from monolingual.tsg.treebank import Treebank
from scfg_sampler.core.chains.chain import Sweep

__all__ = ["NodeCounts"]


class NodeCounts:
    """A sink that counts nodes after every sweep from the burn-in on.

    Parameters
    ----------
    treebank : Treebank
        Of N nodes.
    burn_in : int

    Attributes
    ----------
    counts : int64 (N, 2)
        How often each node was in the tree, and how often it was cut.
    """

    def __init__(self, treebank: Treebank, burn_in: int = 0):
        self._node_start, self._burn_in = treebank.node_start, burn_in
        # Nobody asks these forests for probabilities.
        self._forest = new_tree_forest(treebank, np.zeros(len(treebank.productions.lhs)))
        self._work = new_tree_workspace(treebank)
        self.counts = np.zeros((len(treebank.label), 2), np.int64)

    def __call__(self, sweep: Sweep) -> None:
        if sweep.index >= self._burn_in:
            add_marginals(self._forest, self._work, self._node_start, sweep.state.trees, self.counts)
