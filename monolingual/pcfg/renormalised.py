"""Moves of rule probabilities under the renormalised likelihood θ(t) / Z(θ), by proposals that know of Z.

Given n trees with rule counts f the posterior is Π_A Dirichlet(θ_A | α_A + f_A) · Z(θ)⁻ⁿ. Algorithm 2 of
Cohen and Johnson (2013) proposes all θ from the Dirichlet factors alone, and where Z⁻ⁿ has its mass elsewhere
nearly every proposal is turned down. Here some nonterminals at a time get a draw that is tilted,

    d ~ Dirichlet(α_A + f_A),    θ*_r ∝ d_r / λ_r,    λ_r = 1 − s + s · Π Z_children(r) / Z_A,

and which is accepted or not (Metropolis and Hastings). The density of θ* is Π λ_r^a_r / (Σ λ_r θ*_r)^Σa times
that of the Dirichlet distribution, a = α_A + f_A.

Why these λ: θ_r Π Z_children / Z_A are the probabilities of the tight grammar that has the same finite trees
(Chi 1999), and trees speak of it alone. With s = n E[uses of A in a finite tree] / Σ a the gradients of Z⁻ⁿ
and of the tilt in log θ_A agree where the chain is. Where the grammar is tight, λ is 1.

The fact a newcomer would get wrong: λ depends on where the chain is, so that the way back from θ* has another
one, with the Z of θ*.
"""

from __future__ import annotations

import math

import numpy as np

from monolingual.pcfg.partition import System, partition_into
from scfg_sampler.core import draws
from scfg_sampler.core.jit import compiled

__all__ = [
    "DEPTH",
    "MOST_GROUPS",
    "draw_tilted",
    "expected_uses",
    "log_tilt",
    "proposals_per_draw",
    "propose_family",
    "tilt_rates",
]

MOST_GROUPS = 16
"""Into so many groups nonterminals are divided, each proposed by itself; of fewer, each is one."""
DEPTH = 50
"""Uses below that are left out of `expected_uses`: a proposal may be any function of the grammar."""

_SMALLEST = 1e-300
_LARGEST_SHARE = 0.999


@compiled
def proposals_per_draw(families: int) -> int:
    """How many proposals `draw_tilted` makes."""
    return min(families, MOST_GROUPS)


@compiled
def draw_tilted(
    rng: np.random.Generator,
    system: System,
    family_start: np.ndarray,
    concentrations: np.ndarray,
    num_trees: int,
    probs: np.ndarray,
    log_z: np.ndarray,
) -> int:
    """Move `probs`, and log_z[0] with it, by one proposal for each group; how many were rejected.

    Parameters
    ----------
    rng : numpy.random.Generator
    system : System
        Of the grammar, which has no useless rules; its nonterminals are the families.
    family_start : int64, shape (F + 1,)
    concentrations : float64, shape (R,)
        α + f.
    num_trees : int
    probs : float64, shape (R,)
    log_z : float64, shape (1,)
        log Z of `probs`.
    """
    families, size = len(family_start) - 1, len(system.place)
    values, new_values = np.zeros(size), np.zeros(size)
    rates, new_rates = np.ones(len(probs)), np.ones(len(probs))
    partition_into(system, probs, values)
    uses = num_trees * expected_uses(system, probs, values)
    proposal = probs.copy()
    groups, rejected = min(families, MOST_GROUPS), 0
    for group in range(groups):
        first, end = families * group // groups, families * (group + 1) // groups
        log_ratio = 0.0
        for family in range(first, end):
            tilt_rates(system, family, concentrations, values, uses, rates)
            begin, stop = family_start[family], family_start[family + 1]
            propose_family(rng, concentrations, rates, begin, stop, proposal)
            log_ratio -= log_tilt(concentrations, rates, begin, stop, proposal)
        new_log_z = 0.0
        if not partition_into(system, proposal, new_values):
            new_log_z = math.log(max(new_values[0], 1e-300))
        new_uses = num_trees * expected_uses(system, proposal, new_values)
        for family in range(first, end):
            tilt_rates(system, family, concentrations, new_values, new_uses, new_rates)
            log_ratio += log_tilt(
                concentrations, new_rates, family_start[family], family_start[family + 1], probs
            )
        log_ratio += num_trees * (log_z[0] - new_log_z)
        rules = slice(family_start[first], family_start[end])
        if log_ratio < 0.0 and not draws.bernoulli(rng, math.exp(log_ratio)):
            proposal[rules] = probs[rules]
            rejected += 1
        else:
            probs[rules] = proposal[rules]
            values[:], uses = new_values, new_uses
            log_z[0] = new_log_z
    return rejected


@compiled
def tilt_rates(
    system: System,
    family: int,
    concentrations: np.ndarray,
    values: np.ndarray,
    uses: np.ndarray,
    rates: np.ndarray,
) -> None:
    """Write λ of the rules of a nonterminal to `rates`, given Z and n · E[uses] of all, shapes (N,)."""
    begin, end = system.rule_start[family], system.rule_start[family + 1]
    share = min(uses[family] / np.sum(concentrations[begin:end]), _LARGEST_SHARE)
    for rule in range(begin, end):
        rates[rule] = 1.0 - share + share * _left(system, rule, values) / max(values[family], _SMALLEST)


@compiled
def _left(system, rule, values):
    """Π Z of the children of a rule."""
    product = 1.0
    for i in range(system.child_start[rule], system.child_start[rule + 1]):
        product *= values[system.children[i]]
    return product


@compiled
def expected_uses(system: System, probs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How often each nonterminal is used in a finite tree, on average, above `DEPTH`: shape (N,)."""
    uses, level = np.zeros(len(values)), np.zeros(len(values))
    level[0] = 1.0
    for _ in range(DEPTH):
        below = np.zeros(len(values))
        for node in range(len(values)):
            if level[node] > 0.0:
                uses[node] += level[node]
                for rule in range(system.rule_start[node], system.rule_start[node + 1]):
                    share = level[node] * probs[rule] * _left(system, rule, values)
                    share /= max(values[node], _SMALLEST)
                    for i in range(system.child_start[rule], system.child_start[rule + 1]):
                        below[system.children[i]] += share
        level = below
    return uses


@compiled
def propose_family(
    rng: np.random.Generator,
    concentrations: np.ndarray,
    rates: np.ndarray,
    first: int,
    end: int,
    proposal: np.ndarray,
) -> None:
    """Write a tilted draw from the Dirichlet distribution to proposal[first:end]."""
    draws.dirichlet(rng, concentrations, first, end, proposal)
    total = 0.0
    for rule in range(first, end):
        proposal[rule] /= rates[rule]
        total += proposal[rule]
    for rule in range(first, end):
        proposal[rule] = max(proposal[rule] / total, draws.SMALLEST_PROB)


@compiled
def log_tilt(concentrations: np.ndarray, rates: np.ndarray, first: int, end: int, probs: np.ndarray) -> float:
    """The log density of `probs` under `propose_family`, less that under the Dirichlet distribution."""
    value, total, mass = 0.0, 0.0, 0.0
    for rule in range(first, end):
        value += concentrations[rule] * math.log(rates[rule])
        total += concentrations[rule]
        mass += rates[rule] * probs[rule]
    return value - total * math.log(mass)
