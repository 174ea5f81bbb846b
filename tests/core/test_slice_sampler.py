"""Slice sampling against densities known in closed form."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from scfg_sampler.core.slice_sampler import slice_sample

# One test in 10^8 fails by chance; the seeds are fixed.
FALSE_ALARM = 1e-8


def chain(log_density, start, *, draws=4000, thin=5, **options):
    rng = np.random.default_rng(5)
    value, kept = start, []
    for step in range(draws * thin):
        value = slice_sample(rng, log_density, value, **options)
        if step % thin == 0:
            kept.append(value)
    return kept


def test_gamma_is_sampled():
    kept = chain(lambda x: 2.0 * math.log(x) - x if x > 0.0 else -math.inf, 1.0)
    assert stats.kstest(kept, stats.gamma(3.0).cdf).pvalue > FALSE_ALARM


def test_narrow_guess_of_the_width_is_right_too():
    kept = chain(lambda x: -0.5 * x * x, 0.0, width=0.3, max_steps=8, thin=40)
    assert stats.kstest(kept, stats.norm.cdf).pvalue > FALSE_ALARM


def test_wrong_density_is_noticed():
    kept = chain(lambda x: -0.5 * x * x, 0.0)
    assert stats.kstest(kept, stats.norm(0.2).cdf).pvalue < FALSE_ALARM
