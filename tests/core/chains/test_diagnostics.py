"""Split R̂ and effective sample size on chains whose answers are known."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from scfg_sampler.core.chains.chain import TraceWriter, read_trace, run_chain
from scfg_sampler.core.chains.diagnostics import (
    Diagnosis,
    diagnose,
    diagnose_traces,
    error_of_mean,
    verdict,
)
from scfg_sampler.errors import ChainTooShort, SettingsError
from tests.core.chains.toy_chain import TOY, toy_state


def naive_split_rhat(chains):
    """Vehtari et al. (2021), equations 1–4 and 14, and the folded version, spelled out."""
    half = len(chains[0]) // 2
    halves = np.array([part for chain in chains for part in (chain[:half], chain[-half:])])

    def rhat(values):
        scores = stats.norm.ppf((stats.rankdata(values) - 3 / 8) / (values.size + 1 / 4)).reshape(
            values.shape
        )
        within = np.mean([np.var(row, ddof=1) for row in scores])
        between = np.var(scores.mean(axis=1), ddof=1)
        return math.sqrt((within * (half - 1) / half + between) / within)

    return max(rhat(halves), rhat(abs(halves - np.median(halves))))


@pytest.mark.parametrize("shift", [0.0, 0.5])
@pytest.mark.parametrize("sweeps", [8, 51])
def test_rhat_is_the_published_formula(rng, shift, sweeps):
    chains = [rng.normal(i * shift, 1.0 + i * shift, size=sweeps) for i in range(3)]
    assert diagnose(chains).rhat == pytest.approx(naive_split_rhat(chains), rel=1e-10)


def test_single_chain_is_compared_with_itself(rng):
    chain = rng.normal(size=41)
    assert diagnose([chain]).rhat == pytest.approx(naive_split_rhat([chain[1:21], chain[21:]]), rel=1e-10)
    drifting = chain + np.linspace(0.0, 10.0, 41)
    assert diagnose([drifting]).rhat > 1.5


def test_independent_draws_count_in_full(rng):
    found = diagnose(rng.normal(3.0, 2.0, size=(4, 1000)))
    assert found.rhat == pytest.approx(1.0, abs=0.01)
    assert found.ess == pytest.approx(4000, rel=0.1)
    assert found.mean == pytest.approx(3.0, abs=0.2)
    assert found.deviation == pytest.approx(2.0, abs=0.2)
    assert (found.sweeps, found.chains) == (1000, 4)


def test_correlated_draws_count_in_part(rng):
    chains = rng.normal(size=(4, 5000))
    for t in range(1, 5000):
        chains[:, t] = 0.8 * chains[:, t - 1] + 0.6 * chains[:, t]
    # An autoregression with coefficient 0.8 is worth (1 − 0.8)/(1 + 0.8) = 1/9 of its length.
    assert diagnose(chains).ess == pytest.approx(20_000 / 9, rel=0.2)


def autoregression(rng, chains, sweeps):
    """Chains of some correlation, at times with ties, at times apart."""
    values = rng.normal(size=(chains, sweeps))
    coefficient = rng.uniform(-0.99, 0.99)
    for t in range(1, sweeps):
        values[:, t] += coefficient * values[:, t - 1]
    values += rng.choice([0.0, 3.0]) * rng.normal(size=(chains, 1))
    return np.round(values) if rng.random() < 0.3 else values


def test_all_are_those_of_arviz(rng):
    pytest.importorskip("arviz_stats")
    from arviz_stats.base import array_stats

    for trial in range(600):
        chains = autoregression(rng, 1 + trial % 4, int(rng.integers(8, 60 if trial % 3 else 400)))
        if len(np.unique(chains)) == 1:
            continue
        found = diagnose(chains)
        assert found.ess == pytest.approx(float(array_stats.ess(chains)), rel=1e-9)
        assert error_of_mean(chains) == pytest.approx(
            float(array_stats.mcse(chains, method="mean")), rel=1e-9
        )
        if len(chains) > 1:
            assert found.rhat == pytest.approx(float(array_stats.rhat(chains)), rel=1e-9)


@pytest.mark.parametrize(("coefficient", "batch"), [(0.0, 1), (0.9, 1), (0.99, 50), (0.5, 2)])
def test_the_error_of_a_mean_is_that_of_an_autoregression(rng, coefficient, batch):
    """Of values, and of batches shorter than the correlation; told within a tenth over 40 pairs of chains."""
    lags = np.arange(1, 10_000)
    variance = 1 / (1 - coefficient**2)
    variance *= (1 + 2 * np.sum((1 - lags / 10_000) * coefficient**lags)) / 20_000
    told = []
    for _ in range(40):
        values = rng.normal(size=(2, 10_000))
        values[:, 0] /= math.sqrt(1 - coefficient**2)
        for t in range(1, 10_000):
            values[:, t] += coefficient * values[:, t - 1]
        told.append(error_of_mean(values.reshape(2, -1, batch).mean(axis=2)))
    assert math.sqrt(np.mean(np.square(told))) == pytest.approx(math.sqrt(variance), rel=0.1)


def test_the_mean_of_what_never_changes_is_certain_and_that_of_three_sweeps_unknown(rng):
    assert error_of_mean(np.full((2, 3), 0.3)) == 0.0
    assert math.isnan(error_of_mean(rng.normal(size=(2, 3))))


def test_burn_in_is_left_out(rng):
    chains = rng.normal(size=(2, 200))
    chains[0, :80] += 20.0
    assert diagnose(chains).rhat > 1.1
    assert diagnose(chains, burn_in=80) == diagnose(chains[:, 80:])


def test_longer_chains_are_cut(rng):
    long, short = rng.normal(size=100), rng.normal(size=60)
    assert diagnose([long, short]) == diagnose([long[:60], short])


def test_scalar_that_never_changes_has_no_diagnosis():
    with warnings.catch_warnings(action="error"):
        found = diagnose([np.full(20, 0.5)] * 2)
    assert math.isnan(found.rhat)
    assert math.isnan(found.ess)
    assert (found.mean, found.deviation) == (0.5, 0.0)


def test_chains_stuck_at_different_values_do_not_agree():
    assert diagnose([np.full(20, 1.0), np.full(20, 2.0)]).rhat == math.inf


def test_halves_that_stand_still_do_not_agree():
    assert diagnose([np.repeat([1.0, 2.0, 3.0, 4.0], 5)]).rhat == math.inf
    assert diagnose([np.repeat([1.0, 2.0], 10), np.repeat([3.0, 4.0], 10)]).rhat == math.inf


def test_short_chain_is_refused_but_carries_the_estimate(rng):
    chains = rng.normal(size=(2, 7))
    with pytest.raises(
        ChainTooShort, match="7 sweeps after a burn-in of 0, but at least 8 are needed"
    ) as refusal:
        diagnose(chains)
    assert refusal.value.estimate == pytest.approx(naive_split_rhat(chains), rel=1e-10)
    with pytest.raises(ChainTooShort, match="0 sweeps after a burn-in of 9") as refusal:
        diagnose(chains, burn_in=9)
    assert math.isnan(refusal.value.estimate)


def test_wrong_settings_are_refused(rng):
    with pytest.raises(SettingsError, match="name at least one chain"):
        diagnose([])
    with pytest.raises(SettingsError, match="name at least one chain"):
        diagnose_traces([])
    with pytest.raises(SettingsError, match=r"^--burn-in is -1; it must be at least 0"):
        diagnose([np.zeros(20)], burn_in=-1)


def test_traces_are_diagnosed_by_column(tmp_path):
    paths = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    for seed, path in enumerate(paths):
        columns = [("log_joint", lambda sweep: sweep.info.log_joint), (f"only_{seed}", lambda sweep: 0)]
        rng = np.random.default_rng(seed)
        list(run_chain(TOY, toy_state(), rng, sweeps=30, sinks=[TraceWriter(path, columns)]))
    traces = [read_trace(path) for path in paths]
    assert diagnose_traces(traces) == {"log_joint": diagnose([trace["log_joint"] for trace in traces])}


def diagnosis(rhat, ess, chains=4):
    return Diagnosis(rhat, ess, 0.0, 1.0, 1000, chains)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"log_joint": diagnosis(1.009, 4e3), "rules": diagnosis(1.005, 400.0)},
            "The chains agree, and every scalar was drawn at least 400 times in effect.",
        ),
        (
            {"log_joint": diagnosis(1.009, 4e3), "rules": diagnosis(1.005, 399.0)},
            "The chains agree, but rules was drawn only 399 times in effect; 400 are wanted.",
        ),
        (
            {"log_joint": diagnosis(1.011, 4e3), "rules": diagnosis(1.1, 30.0)},
            "The chains agree roughly: rules has an R-hat of 1.100, where 1.01 is wanted.",
        ),
        (
            {"log_joint": diagnosis(1.102, 5.0), "rules": diagnosis(math.nan, math.nan)},
            "The chains do not agree: log_joint has an R-hat of 1.102, where 1.01 is wanted. More sweeps may "
            "help.",
        ),
        (
            {"log_joint": diagnosis(math.inf, 5.0)},
            "The chains do not agree: log_joint has an R-hat of inf, where 1.01 is wanted. More sweeps may "
            "help.",
        ),
        (
            {"log_joint": diagnosis(1.0, 100.0, chains=1)},
            "The halves of the chain agree, and every scalar was drawn at least 100 times in effect. Whether "
            "another chain would find the same is known only from several (--chains 4).",
        ),
        (
            {"rules": diagnosis(math.nan, math.nan)},
            "Nothing that is traced has changed, so that nothing can be said of mixing.",
        ),
    ],
)
def test_verdict_says_in_words_what_the_numbers_come_to(found, said):
    assert verdict(found) == said


def test_verdict_needs_a_scalar():
    with pytest.raises(SettingsError, match="name at least one traced scalar"):
        verdict({})
