"""Expected counts of a PCFG, for the learners of `monolingual.priors.estimators`.

Observed trees count as they are; sentences by their expected uses of rules under the present weights. Mass
that a grammar loses because it is not tight is lost to a sink, as in Johnson et al. (2007);
maximum-likelihood estimates are tight all the same (Chi and Geman 1998).

The fact a newcomer would get wrong: the weights need not be normalised, and the log weight of the data is
then no log probability.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from monolingual.pcfg.chart_grammar import chart_weights
from monolingual.pcfg.model import Data, Model
from monolingual.pcfg.outside import expected_uses
from monolingual.priors.estimators import Expectations
from scfg_sampler.errors import SettingsError

__all__ = ["pcfg_expectations"]

_SHARD = 128


def pcfg_expectations(model: Model, data: Data, *, threads: int = 1) -> Expectations:
    """The expected counts of all rules in trees and sentences, as a function of the weights.

    Parameters
    ----------
    model : Model
    data : Data
    threads : int
        Over sentences; the sums do not depend on it.

    Returns
    -------
    callable, from weights to counts and log weight. Raises a SettingsError if a sentence has no tree.
    """
    num_sentences = len(data.start) - 1
    borders = [*range(0, num_sentences, _SHARD), num_sentences]
    seen = data.tree_counts > 0

    def expectations(weights: np.ndarray) -> tuple[np.ndarray, float]:
        filled = chart_weights(model.chart, weights)

        def uses(first: int, end: int) -> tuple[np.ndarray, float]:
            counts = np.zeros(len(weights))
            place = data.words, data.start, first, end
            return counts, expected_uses(model.chart, filled, *place, counts)

        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(uses, borders[:-1], borders[1:])) if num_sentences else []
        counts = sum((part for part, _ in parts), data.tree_counts.astype(float))
        total = sum(log_weight for _, log_weight in parts)
        total += float(np.sum(data.tree_counts[seen] * np.log(weights[seen])))
        if not np.isfinite(total):
            raise SettingsError("a tree or sentence has probability 0 under these weights; start from others")
        return np.asarray(counts), float(total)

    return expectations
