"""What the draws of a posterior say: medians, intervals, modes, convergence, who outranks whom.

Marginal modes are the maxima of a Gaussian kernel density estimate (Silverman's bandwidth), reflected at
the truncation so that no mass is lost there (Lin 2005, section 5.4: histograms may have several modes, and
medians then say little).

The fact a newcomer would get wrong: the median of each mean is not the median of their differences, which
alone decide what a grammar does; compare predictions, not single means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from monolingual.ot.grammar import finite
from scfg_sampler.core.chains.diagnostics import MIN_SWEEPS, diagnose

__all__ = ["kernel_density", "modes", "outranking", "summarise"]

_POINTS = 512
_SMALLEST_MODE = 0.05  # Of the highest density; lower maxima are noise.
_MOST_DRAWS = 2000  # For densities.


def summarise(
    chains: Sequence[np.ndarray], names: Sequence[str], *, level: float = 0.95, bound: float | None = None
) -> dict[str, Any]:
    """Statistics of every column of draws as a JSON object.

    Parameters
    ----------
    chains : sequence of float64 arrays (draws, columns)
        After burn-in; one array a chain.
    names : sequence of str
        Of the columns.
    level : float
        Of the central intervals.
    bound : float, optional
        The truncation.

    Returns
    -------
    dict
        `median`, `mean`, `sd`, `interval`, `modes`, `rhat` and `ess`, each by name; and `constraints`, the
        same the other way round. R̂ and effective sample size are null where they cannot be computed.
    """
    pooled = np.concatenate(list(chains))
    tail = 100.0 * (1.0 - level) / 2.0
    constraints: dict[str, dict[str, Any]] = {}
    for column, name in enumerate(names):
        draws = pooled[:, column]
        rhat, ess = _convergence([chain[:, column] for chain in chains])
        constraints[name] = {
            "median": float(np.median(draws)),
            "mean": float(draws.mean()),
            "sd": float(draws.std()),
            "interval": [float(x) for x in np.percentile(draws, [tail, 100.0 - tail])],
            "modes": modes(draws, bound=bound),
            "rhat": rhat,
            "ess": ess,
        }
    turned = {key: {name: entry[key] for name, entry in constraints.items()} for key in _STATISTICS}
    return {**turned, "constraints": constraints}


_STATISTICS = ("median", "mean", "sd", "interval", "modes", "rhat", "ess")


def _convergence(chains: Sequence[np.ndarray]) -> tuple[float | None, float | None]:
    if min(len(chain) for chain in chains) < MIN_SWEEPS:
        return None, None
    found = diagnose(chains)
    return finite(found.rhat), finite(found.ess)


def kernel_density(draws: np.ndarray, *, bound: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Points and the kernel density estimate there, two float64 arrays of shape (512,).

    Parameters
    ----------
    draws : float64, shape (S,)
        Not all the same.
    bound : float, optional
        Draws lie in (−bound, bound); the estimate is reflected there.
    """
    thinned = draws[:: max(1, len(draws) // _MOST_DRAWS)]
    spread = float(thinned.std())
    low, high = float(thinned.min()) - 3 * spread, float(thinned.max()) + 3 * spread
    width = (0.75 * len(thinned)) ** -0.2 * float(thinned.std(ddof=1))  # Silverman (1986), section 4.3.2
    if bound is None:
        points = np.linspace(low, high, _POINTS)
        return points, _mean_of_kernels(thinned, width, points)
    points = np.linspace(max(low, -bound), min(high, bound), _POINTS)
    images = (points, 2 * bound - points, -2 * bound - points)
    return points, np.sum([_mean_of_kernels(thinned, width, image) for image in images], axis=0)


def _mean_of_kernels(draws: np.ndarray, width: float, points: np.ndarray) -> np.ndarray:
    """The mean of the normal densities of that standard deviation around the draws, at the points."""
    from_draws = (points[:, None] - draws) / width
    return np.exp(-0.5 * from_draws**2).mean(axis=1) / (width * np.sqrt(2 * np.pi))


def modes(draws: np.ndarray, *, bound: float | None = None) -> list[float]:
    """The maxima of the kernel density estimate, the highest first."""
    if np.ptp(draws) == 0:
        return [float(draws[0])]
    points, density = kernel_density(draws, bound=bound)
    padded = np.concatenate([[-1.0], density, [-1.0]])
    tops = np.flatnonzero((padded[1:-1] >= padded[:-2]) & (padded[1:-1] > padded[2:]))
    peaks = [peak for peak in tops if density[peak] >= _SMALLEST_MODE * density.max()]
    return [float(points[peak]) for peak in sorted(peaks, key=lambda peak: -density[peak])]


def outranking(means: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """The posterior probability that one constraint stands above another when a form is evaluated.

    P(yᵢ > yₖ) = E Φ((μᵢ − μₖ)/√(σᵢ² + σₖ²)) over the draws.

    Parameters
    ----------
    means, deviation : float64, shape (S, N)

    Returns
    -------
    float64, shape (N, N); element (i, k) is that of i above k, ½ on the diagonal.
    """
    difference = means[:, :, None] - means[:, None, :]
    spread = np.sqrt(deviation[:, :, None] ** 2 + deviation[:, None, :] ** 2)
    return ndtr(difference / spread).mean(axis=0)
