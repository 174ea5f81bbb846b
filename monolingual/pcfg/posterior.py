"""Rule probabilities from their posterior given trees: three readings of grammars that are not tight.

With f the rule counts of n trees and α the concentrations of independent Dirichlet priors (Cohen and Johnson
2013, section 6), a draw is made

only-tight    from Dirichlet(α + f) again and again until the grammar is tight (algorithm 1); the prior gives
              probability 0 to grammars that are not;
renormalise   from Dirichlet(α + f) as a proposal, accepted with probability min{1, (Z(θ) / Z(θ*))ⁿ}
              (algorithm 2), or by the moves of `tight_images.py` and `renormalised.py`; the likelihood of a
              tree is θ(t) / Z(θ);
sink          from Dirichlet(α + f) (algorithm 3); what is missing to 1 belongs to an element that is no tree.

Renormalising therefore makes a Markov chain, the others independent draws. Draws of the sink approach answer
for all three: weighted by whether Z = 1 they follow the first reading, by Z⁻ⁿ the second.

The fact a newcomer would get wrong: in algorithm 2 the ratio has the old Z above and the new Z below, since
the likelihood has Z in its denominator.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.approaches import (
    ALGORITHM_2,
    IMAGES,
    RENORMALISE,
    SINK,
    approach_code,
)
from monolingual.pcfg.partition import System, is_tight, partition_into
from monolingual.pcfg.renormalised import draw_tilted, proposals_per_draw
from monolingual.pcfg.tight_images import draw_images
from scfg_sampler.core import draws
from scfg_sampler.core.jit import compiled, kernel
from scfg_sampler.errors import SettingsError

__all__ = [
    "MAX_TRIES",
    "Reweighted",
    "ThetaGiven",
    "draw_dirichlets",
    "draw_probs",
    "log_partition",
    "refuse_too_many_tries",
    "reweight",
]

MAX_TRIES = 100_000
"""After so many grammars that are not tight, one by one, the only-tight approach gives up."""


class Reweighted(NamedTuple):
    """What draws of the sink approach say about another approach.

    Attributes
    ----------
    weights : float64, shape (draws,)
        Of each draw, summing to 1.
    effective_draws : float
        1 / Σ weights², of draws that are taken to be independent. When it is small, run the approach itself.
    """

    weights: np.ndarray
    effective_draws: float


class ThetaGiven(NamedTuple):
    """What the posterior of θ depends on, besides the rules that the trees use.

    Attributes
    ----------
    approach : int
    family_start : int64, shape (F + 1,)
    prior : float64, shape (R,)
        α.
    system : System
        Of the grammar, which has no useless rules.
    num_trees : int
        n.
    proposal : int
        How the renormalise approach proposes (`approaches.PROPOSALS`).
    order : int64, shape (N,)
        Of the system's nonterminals (`tight_images.elimination_order`), for proposals by tight images.
    """

    approach: int
    family_start: np.ndarray
    prior: np.ndarray
    system: System
    num_trees: int
    proposal: int = ALGORITHM_2
    order: np.ndarray = np.zeros(0, np.int64)


def refuse_too_many_tries() -> None:
    """Raise the error for a posterior without tight grammars."""
    raise SettingsError(
        f"{MAX_TRIES:,} grammars in a row were not tight: the posterior of the sink approach has almost "
        "none. Use --approach renormalise, or a prior that favours short rules"
    )


def reweight(log_partitions: np.ndarray, num_trees: int, approach: str) -> Reweighted:
    """The weights that make draws of the sink approach draws of another.

    Parameters
    ----------
    log_partitions : float64, shape (draws,)
        log Z of each draw, exactly 0 if it is tight.
    num_trees : int
        n, how many trees were observed.
    approach : str

    Raises
    ------
    SettingsError
        No draw is tight, in the only-tight approach.
    """
    code = approach_code(approach)
    if code == RENORMALISE:
        log_weights = -num_trees * log_partitions
        weights = np.exp(log_weights - log_weights.max())
    else:
        weights = np.where((log_partitions == 0.0) | (code == SINK), 1.0, 0.0)
        if not weights.any():
            raise SettingsError("no draw is tight: the only-tight approach has to be sampled by itself")
    weights = weights / weights.sum()
    return Reweighted(weights, float(1.0 / np.sum(weights**2)))


@compiled
def draw_probs(
    rng: np.random.Generator,
    given: ThetaGiven,
    concentrations: np.ndarray,
    probs: np.ndarray,
    log_z: np.ndarray,
    proposal: np.ndarray,
) -> tuple[int, int]:
    """Replace `probs` by a draw given trees, and log_z[0] by its log Z.

    Parameters
    ----------
    rng : numpy.random.Generator
    given : ThetaGiven
    concentrations : float64, shape (R,)
        α + f.
    probs : float64, shape (R,)
    log_z : float64, shape (1,)
        On entry that of `probs`; only the renormalise approach uses and keeps it.
    proposal : float64, shape (R,)
        Room.

    Returns
    -------
    (int, int)
        How many draws were proposed, of all families or of some, and how many of them were rejected: −1 if
        the only-tight approach gave up; `probs` is then not tight.
    """
    if given.approach == RENORMALISE:
        if given.proposal != ALGORITHM_2:
            proposed, rejected = proposals_per_draw(len(given.family_start) - 1), 0
            if given.proposal == IMAGES:
                moves, rejected = draw_images(
                    rng, given.system, given.order, concentrations, given.prior, probs, log_z
                )
                proposed += moves
            rejected += draw_tilted(
                rng,
                given.system,
                given.family_start,
                concentrations,
                given.num_trees,
                probs,
                log_z,
            )
            return proposed, rejected
        # Algorithm 2, a Metropolis step; the others draw afresh.
        _draw(rng, given.family_start, concentrations, proposal)
        new_log_z = log_partition(given.system, proposal)
        log_ratio = given.num_trees * (log_z[0] - new_log_z)
        if log_ratio < 0.0 and not draws.bernoulli(rng, math.exp(log_ratio)):
            return 1, 1
        probs[:] = proposal
        log_z[0] = new_log_z
        return 1, 0
    for tries in range(MAX_TRIES):
        _draw(rng, given.family_start, concentrations, probs)
        if given.approach == SINK or is_tight(given.system, probs):
            return tries + 1, tries
    return MAX_TRIES, -1


@kernel
def draw_dirichlets(
    rng: np.random.Generator, family_start: np.ndarray, concentrations: np.ndarray
) -> np.ndarray:
    """A draw of all families from their Dirichlet distributions: float64, shape (R,)."""
    probs = np.empty(len(concentrations))
    _draw(rng, family_start, concentrations, probs)
    return probs


@compiled
def _draw(rng, family_start, concentrations, probs):
    for family in range(len(family_start) - 1):
        draws.dirichlet(rng, concentrations, family_start[family], family_start[family + 1], probs)


@compiled
def log_partition(system: System, probs: np.ndarray) -> float:
    """log Z of the start symbol; exactly 0 if the grammar is tight."""
    values = np.zeros(len(system.place))
    if partition_into(system, probs, values):
        return 0.0
    return math.log(max(values[0], 1e-300))
