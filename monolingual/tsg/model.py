"""The base distribution of elementary trees, and its parameters.

P₀(e | c) draws productions from the root down and decides at every nonterminal below it whether to expand it
(probability β_c) or to leave it as a frontier nonterminal, 1 − β_c (Cohn et al. 2009, section 3). Two ways to
draw a production:

uniform (P_M)   the number of children is uniform up to the treebank's largest, each child uniform over all
                symbols of the treebank, labels and words.
pcfg (P_C)      its relative frequency in the treebank.

The fact a newcomer would get wrong: the root of an elementary tree is always expanded; no decision is made
there.
"""

from __future__ import annotations

import numpy as np

from monolingual.tsg.settings import BASES
from monolingual.tsg.treebank import Treebank, production_counts
from scfg_sampler.errors import SettingsError

__all__ = ["log_production_probs"]


def log_production_probs(treebank: Treebank, base: str) -> np.ndarray:
    """ln P(production | label) of a base distribution; float64 (P,).

    Parameters
    ----------
    treebank : Treebank
    base : str
        One of `BASES`. Where a node has several edges, `pcfg` counts them all.

    Raises
    ------
    SettingsError
        There is no such base.
    """
    productions = treebank.productions
    if base == "uniform":
        sizes = np.diff(productions.rhs_start)
        num_symbols = len(productions.labels) + len(productions.words)
        return -np.log(sizes.max(initial=1)) - sizes * np.log(num_symbols)
    if base == "pcfg":
        counts = production_counts(treebank)
        totals = np.bincount(productions.lhs, weights=counts, minlength=len(productions.labels))
        return np.log(counts / totals[productions.lhs])
    raise SettingsError(f"--base is {base}; choose one of {', '.join(BASES)}")
