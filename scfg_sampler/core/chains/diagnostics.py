"""Have the chains mixed? Split R̂ and effective sample size of traced scalars.

Each chain is split into halves, so that a drift within a chain shows like a difference between chains. With
W the mean variance within the halves, B the variance between their means and n their length,

    R̂² = (W (n − 1)/n + B) / W,

computed on normal scores of the pooled ranks, once of the values and once of their distances from the
median, the larger one counting (Vehtari et al. 2021). The effective sample size is that of the bulk: how many
independent draws would estimate the mean of the normal scores equally well. With ρ_t the autocorrelation at
lag t within and between the M halves, it is M n / τ,

    τ = −1 + 2 Σ_k P_k,    P_k = ρ_2k + ρ_2k+1,

summed as long as the P_k are positive, each at most the one before (Geyer 1992). Of values instead of their
scores, the squared error of the mean is their variance times τ / M n. Tests compare all of these with
those of arviz-stats, which takes a second to import.

The fact a newcomer would get wrong: R̂ near 1 (below 1.01) says that the chains agree, not that they have
found everything: chains that all miss the same mode agree as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scfg_sampler.core.wording import counted
from scfg_sampler.errors import ChainTooShort, SettingsError

__all__ = ["MIN_SWEEPS", "Diagnosis", "diagnose", "diagnose_traces", "error_of_mean", "verdict"]

MIN_SWEEPS = 8
"""Sweeps a chain must have after burn-in: four in each half."""

_AGREED, _ROUGHLY = 1.01, 1.1
_DRAWS_OF_A_CHAIN = 100
_FEWEST = 4


class Diagnosis(NamedTuple):
    """What chains say about one scalar.

    Attributes
    ----------
    rhat : float
        Rank-normalised split R̂, at least about 1; infinite for chains stuck at different values; NaN for
        a scalar that never changes.
    ess : float
        Effective sample size of all chains together; NaN for a scalar that never changes.
    mean, deviation : float
        Over all chains.
    sweeps : int
        Of each chain, after burn-in.
    chains : int
    """

    rhat: float
    ess: float
    mean: float
    deviation: float
    sweeps: int
    chains: int


def diagnose(chains: Sequence[np.ndarray], *, burn_in: int = 0) -> Diagnosis:
    """Split R̂ and effective sample size of a scalar.

    Parameters
    ----------
    chains : sequence of float64 arrays, each of shape (sweeps,)
        One scalar traced in one or more chains. Longer chains are cut to the length of the shortest. A
        single chain is compared with itself: its halves stand for two chains.
    burn_in : int
        Sweeps to leave out at the beginning of every chain.

    Raises
    ------
    ChainTooShort
        Fewer than `MIN_SWEEPS` sweeps are left. Carries what R̂ is all the same, NaN if it has none.
    SettingsError
        There is no chain, or `burn_in` is negative.
    """
    if len(chains) == 0:
        raise SettingsError("nothing to diagnose: name at least one chain")
    if burn_in < 0:
        raise SettingsError(f"--burn-in is {burn_in}; it must be at least 0")
    shortest = min(len(chain) for chain in chains)
    values = np.array([np.asarray(chain[burn_in:shortest], dtype=float) for chain in chains])
    sweeps = values.shape[1]
    if sweeps < MIN_SWEEPS:
        found = f"{counted(sweeps, 'sweep')} after a burn-in of {burn_in}"
        raise ChainTooShort(f"{found}, but at least {MIN_SWEEPS} are needed to judge", _split_rhat(values))
    return Diagnosis(
        _split_rhat(values),
        _effective_size(values),
        float(values.mean()),
        float(values.std()),
        sweeps,
        len(chains),
    )


def diagnose_traces(traces: Sequence[Mapping[str, np.ndarray]], *, burn_in: int = 0) -> dict[str, Diagnosis]:
    """The diagnosis of every column that all traces have, except the number of the sweep.

    Parameters
    ----------
    traces : sequence of mappings
        As `chain.read_trace` returns them.
    burn_in : int
        Sweeps to leave out at the beginning of every trace.

    Raises
    ------
    ChainTooShort, SettingsError
        As `diagnose`.
    """
    if not traces:
        raise SettingsError("nothing to diagnose: name at least one chain")
    names = [name for name in traces[0] if name != "sweep" and all(name in trace for trace in traces)]
    return {name: diagnose([trace[name] for trace in traces], burn_in=burn_in) for name in names}


def error_of_mean(chains: np.ndarray) -> float:
    """The standard error of the mean of all values, autocorrelation included; 0 where they never change.

    Parameters
    ----------
    chains : float64, shape (chains, sweeps)
        Of a scalar; means of batches of sweeps do as well, also of batches shorter than the autocorrelation.

    Returns
    -------
    float. NaN for less than four sweeps.
    """
    if _is_constant(chains):
        return 0.0
    if chains.shape[1] < _FEWEST or np.isnan(chains).any():
        return math.nan
    return math.sqrt(chains.var(ddof=1) / _independent(_halves(chains)))


def verdict(found: Mapping[str, Diagnosis]) -> str:
    """What the diagnoses of a run's scalars come to, in a sentence or two.

    Chains agree where no R̂ is above 1.01, and have drawn enough where every effective sample size is at least
    100 for each chain (Vehtari et al. 2021, section 4); up to an R̂ of 1.1 they are said to agree roughly.

    Raises
    ------
    SettingsError
        There is nothing to judge.
    """
    judged = {name: diagnosis for name, diagnosis in found.items() if not math.isnan(diagnosis.rhat)}
    if not found:
        raise SettingsError("nothing to judge: name at least one traced scalar")
    if not judged:
        return "Nothing that is traced has changed, so that nothing can be said of mixing."
    worst = max(judged, key=lambda name: judged[name].rhat)
    rarest = min(judged, key=lambda name: judged[name].ess)
    chains, rhat, ess = judged[worst].chains, judged[worst].rhat, judged[rarest].ess
    parts = "The chains" if chains > 1 else "The halves of the chain"
    if rhat > _ROUGHLY:
        said = f"{parts} do not agree: {worst} has an R-hat of {rhat:.4g}, where {_AGREED} is wanted."
        said += " More sweeps may help."
    elif rhat > _AGREED:
        said = f"{parts} agree roughly: {worst} has an R-hat of {rhat:.3f}, where {_AGREED} is wanted."
    elif ess < _DRAWS_OF_A_CHAIN * chains:
        said = f"{parts} agree, but {rarest} was drawn only {ess:.0f} times in effect;"
        said += f" {_DRAWS_OF_A_CHAIN * chains} are wanted."
    else:
        said = f"{parts} agree, and every scalar was drawn at least {ess:.0f} times in effect."
    if chains == 1:
        said += " Whether another chain would find the same is known only from several (--chains 4)."
    return said


def _split_rhat(values: np.ndarray) -> float:
    """Rank-normalised split R̂ of chains × sweeps."""
    if values.size == 0 or _is_constant(values):
        return math.nan
    if _are_stuck(values):
        return math.inf
    with np.errstate(all="ignore"):  # Halves that stand still have no variance.
        return _rank_rhat(_at_least_two(values))


def _effective_size(values: np.ndarray) -> float:
    """Effective sample size of chains × sweeps."""
    return math.nan if _is_constant(values) else _bulk_size(values)


def _at_least_two(values: np.ndarray) -> np.ndarray:
    """The chains; of a single chain its halves, an odd sweep at the beginning left out."""
    if len(values) > 1:
        return values
    return values[0, values.shape[1] % 2 :].reshape(2, -1)


def _is_constant(values: np.ndarray) -> bool:
    return bool(np.all(values == values.flat[0]))


def _are_stuck(values: np.ndarray) -> bool:
    """Whether no chain moves at all, at places that are not all the same."""
    return len(values) > 1 and bool(np.all(values == values[:, :1]))


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """Normal quantiles at the ranks of values, of the same shape; those that tie share a rank."""
    from scipy.special import ndtri

    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2
    return ndtri((rank[which.reshape(values.shape)] - 3 / 8) / (values.size + 1 / 4))


def _halves(values: np.ndarray) -> np.ndarray:
    """Both halves of each of the chains; of an odd number of sweeps the middle one is left out."""
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _rank_rhat(chains: np.ndarray) -> float:
    """R̂ of chains × sweeps by ranks; NaN for less than four sweeps."""
    if chains.shape[1] < _FEWEST or np.isnan(chains).any():
        return math.nan
    halves = _halves(chains)
    found = []
    for values in (halves, abs(halves - np.median(halves))):
        scores = _normal_scores(values)
        length = scores.shape[1]
        within = scores.var(axis=1, ddof=1).mean()
        between = scores.mean(axis=1).var(ddof=1)
        found.append(math.sqrt(between / within + (length - 1) / length))
    return max(found)


def _bulk_size(chains: np.ndarray) -> float:
    """Effective sample size of the normal scores of chains × sweeps; NaN for less than four sweeps."""
    if chains.shape[1] < _FEWEST or np.isnan(chains).any():
        return math.nan
    return _independent(_normal_scores(_halves(chains)))


def _independent(values: np.ndarray) -> float:
    """How many independent draws would estimate the mean of chains × sweeps equally well."""
    length = values.shape[1]
    correlation = _autocorrelation(values)
    # The greatest lag has a single product in each half: it is left out.
    pairs = correlation[: max((length - 1) // 2, 1) * 2].reshape(-1, 2).sum(axis=1)
    fewer = np.flatnonzero(pairs <= 0)
    summed = int(fewer[0]) if len(fewer) else len(pairs) - 1
    # Of the pair that ends the sum the first is known well enough to be a part of it, if it is positive.
    first = correlation[2 * summed]
    time = -1.0 + 2.0 * np.minimum.accumulate(pairs[:summed]).sum()
    time += max(first, 0.0) if len(fewer) else first
    return float(values.size / max(time, 1 / math.log10(values.size)))


def _autocorrelation(chains: np.ndarray) -> np.ndarray:
    """Of chains × sweeps at the lags 0, 1, …; float64, shape (sweeps,). What differs counts as variance."""
    length = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * length, axis=1)
    covariance = np.fft.irfft(abs(spectrum) ** 2, axis=1)[:, :length].mean(axis=0) / length
    within = covariance[0] * length / (length - 1)
    whole = covariance[0] + chains.mean(axis=1).var(ddof=1)
    found = 1.0 - (within - covariance) / whole
    found[0] = 1.0
    return found
