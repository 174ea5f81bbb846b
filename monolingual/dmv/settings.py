"""What `dmv train` is told.

The fact a newcomer would get wrong: `rounds` is an upper bound. With held-out sentences training stops when
their likelihood falls, without when the objective rises no more; only gibbs makes all its sweeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from monolingual.priors.shared_logistic_normal import Experts

__all__ = ["DEFAULT_PRIORS", "E_STEPS", "LEVELS", "METHODS", "SHARPEST", "UNUSED", "Settings"]

METHODS = ("em", "em-map", "vb-dirichlet", "vb-em-dirichlet", "vb-em-logistic-normal", "gibbs")
E_STEPS = ("soft", "viterbi", "lateen")
LEVELS = ("sentence", "corpus")
UNUSED = ("averaged", "integrated")

DEFAULT_PRIORS = {"em-map": 1.1, "vb-dirichlet": 0.25, "gibbs": 0.25}
"""`prior` by method, where it is not 1."""

SHARPEST = 0.95
"""The largest σ: beyond, powers of probabilities underflow, and Viterbi EM does the same."""


class Settings(NamedTuple):
    """How to learn.

    Attributes
    ----------
    method : str
        One of METHODS.
    prior : float
        α of the symmetric Dirichlet; for vb-em-dirichlet the average of all at the start.
    covariance : float64 or None
        Σ of all multinomials at the start, row by row, for the logistic normal.
    experts : Experts or None
        Which multinomials of the logistic normal share parts of their arguments; the covariances are then
        those of the experts.
    level : str
        "sentence", as published, or "corpus": all sentences share one draw from the logistic normal, whose
        μ and Σ stay what they are.
    unused : str
        See `logistic_normal_kernel`.
    e_step : str
        "soft", "viterbi" or "lateen": the E-step of em and em-map.
    unambiguity : float
        σ, in [0, SHARPEST], of a soft E-step.
    anneal : tuple (float, int) or None
        A σ in [0, 1] to begin with, and over how many rounds it falls to `unambiguity`.
    rounds : int
        At the most.
    tolerance : float
        Stop when a round raises the objective by no more than this share of its size.
    smooth : float or None
        Smooth child distributions with so many pseudo-counts for doing so; see `smoothing`.
    """

    method: str = "em"
    prior: float = 1.0
    covariance: np.ndarray | None = None
    experts: Experts | None = None
    level: str = "sentence"
    unused: str = "averaged"
    e_step: str = "soft"
    unambiguity: float = 0.0
    anneal: tuple[float, int] | None = None
    rounds: int = 200
    tolerance: float = 1e-5
    smooth: float | None = None
