"""Tests of samplers by their samples, for what cannot be enumerated.

Every function returns the probability of a result at least as extreme if the sampler is right. With at most a
hundred such tests, each failing below `FALSE_ALARM`, the whole suite raises a false alarm with a probability
below 1e-6; since seeds are fixed, a test that has passed once keeps passing until the code changes. Each
statistical test comes with a planted fault that it has to detect.

The rank test is that of Gandy and Scott (2021, "Unit testing for MCMC and other Monte Carlo methods"),
algorithm 1: in a stationary chain of length L, started at a random position M by an exact draw and continued
forwards by the kernel and backwards by its time reversal, position M is not special, so the rank of a
statistic at M among all L is uniform. Unlike a comparison of means it needs no effective sample size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

__all__ = ["FALSE_ALARM", "chi_square_tail", "rank_test", "stationary_rank", "two_sample_tail"]

FALSE_ALARM = 1e-8


def chi_square_tail(observed: Sequence[float], expected: Sequence[float]) -> float:
    """The upper tail of Pearson's chi-square statistic.

    Parameters
    ----------
    observed, expected : counts with the same sum
        Cells with an expected count below 5 are pooled, smallest first, until the pool has 5.

    Returns
    -------
    float in [0, 1]. 0 if something was observed where nothing is expected.
    """
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    assert np.isclose(observed.sum(), expected.sum()), "observed and expected counts have different sums"
    if np.any(observed[expected == 0.0] > 0):
        return 0.0
    order = np.argsort(expected)
    pooled_size = int(np.searchsorted(np.cumsum(expected[order]), 5.0)) + 1
    if expected[order[0]] >= 5.0 or len(order) == 1:
        pooled_size = 1
    cells = np.zeros(len(order), dtype=int)
    cells[order[pooled_size:]] = np.arange(1, len(order) - pooled_size + 1)
    observed, expected = np.bincount(cells, observed), np.bincount(cells, expected)
    if len(expected) == 1:
        return 1.0
    return float(stats.chi2.sf(np.sum((observed - expected) ** 2 / expected), len(expected) - 1))


def two_sample_tail(first: Sequence[float], second: Sequence[float], *, cells: int = 10) -> float:
    """The tail of a chi-square test that two independent samples have one distribution.

    Parameters
    ----------
    first, second : samples of numbers, discrete or not
    cells : int
        The pooled sample is divided at its quantiles into at most so many cells.
    """
    pooled = np.concatenate([first, second])
    borders = np.unique(np.quantile(pooled, np.arange(1, cells) / cells, method="inverted_cdf"))
    counts = np.array(
        [np.bincount(np.searchsorted(borders, part), minlength=len(borders) + 1) for part in (first, second)]
    )
    counts = counts[:, counts.sum(axis=0) > 0]
    if counts.shape[1] == 1:
        return 1.0
    return float(stats.chi2_contingency(counts, correction=False).pvalue)


def rank_test(ranks: Sequence[int], num_ranks: int) -> float:
    """The tail of a chi-square test that ranks are uniform on 0, …, num_ranks − 1."""
    observed = np.bincount(ranks, minlength=num_ranks)
    assert len(observed) == num_ranks, f"a rank is not below {num_ranks}"
    return chi_square_tail(observed, np.full(num_ranks, len(ranks) / num_ranks))


def stationary_rank(
    rng: np.random.Generator,
    draw: Callable[[np.random.Generator], Any],
    step: Callable[[np.random.Generator, Any], Any],
    statistic: Callable[[Any], float],
    *,
    length: int,
    reverse_step: Callable[[np.random.Generator, Any], Any] | None = None,
) -> int:
    """The rank of an exact draw within a chain through it; uniform on 0, …, length − 1 if `step` is right.

    Parameters
    ----------
    draw : callable
        An exact draw from the distribution that `step` should leave invariant, e.g. of parameters from their
        prior and data given these.
    step : callable
        (rng, state) → state. Must not change its argument.
    statistic : callable
        A number of a state; ties are broken at random.
    length : int
        States in the chain.
    reverse_step : callable, optional
        The time reversal of `step`: for a scan of reversible moves, the scan in the opposite order. Without
        it, `step` is taken to be reversible.
    """
    start = draw(rng)
    position = int(rng.integers(length))
    values = []
    for count, move in ((length - 1 - position, step), (position, reverse_step or step)):
        state = start
        for _ in range(count):
            state = move(rng, state)
            values.append(statistic(state))
    own = statistic(start)
    below, ties = sum(value < own for value in values), sum(value == own for value in values)
    return below + int(rng.integers(ties + 1))
