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
from monolingual.pcfg.lanes import expected_uses_in_lanes, suits_lanes
from monolingual.pcfg.model import Data, Model
from monolingual.pcfg.outside import Strings, expected_uses
from monolingual.priors.estimators import Expectations
from scfg_sampler.core.arrays.ragged import group_rows, take_rows
from scfg_sampler.errors import SettingsError

__all__ = ["different_strings", "pcfg_expectations"]

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
    strings = different_strings(data)
    num_strings = len(strings.times)
    borders = [*range(0, num_strings, _SHARD), num_strings]
    in_lanes = suits_lanes(model.chart, strings)
    seen = data.tree_counts > 0

    def expectations(weights: np.ndarray) -> tuple[np.ndarray, float]:
        filled = chart_weights(model.chart, weights)

        def uses(first: int, end: int) -> tuple[np.ndarray, float]:
            counts = np.zeros(len(weights))
            add = expected_uses_in_lanes if in_lanes else expected_uses
            return counts, add(model.chart, filled, strings, first, end, counts)

        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(uses, borders[:-1], borders[1:])) if num_strings else []
        counts = sum((part for part, _ in parts), data.tree_counts.astype(float))
        total = sum(log_weight for _, log_weight in parts)
        total += float(np.sum(data.tree_counts[seen] * np.log(weights[seen])))
        if not np.isfinite(total):
            raise SettingsError("a tree or sentence has probability 0 under these weights; start from others")
        return np.asarray(counts), float(total)

    return expectations


def different_strings(data: Data) -> Strings:
    """The sentences without repetitions, short ones first, and how often each occurs."""
    group, first = group_rows(data.start, data.words)
    times = np.bincount(group, minlength=len(first)).astype(float)
    order = np.argsort(np.diff(data.start)[first], kind="stable")
    start, words = take_rows(data.start, data.words, first[order])
    return Strings(words, start, times[order])
