"""Exact probabilities of orderings, by quadrature over one variable at a time.

With independent yᵢ ~ N(μᵢ, σᵢ²), the probability that a candidate wins is that of its conjuncts max W > max
L together. Let A(R) be the constraints in the conjuncts R, and G_R(v) the probability that all of A(R) are
below v and all of R hold. The highest of them, constraint i at height u, decides: it must prefer no loser,
and it settles the conjuncts in which it prefers the winner. With R′ those that are left,

    G_R(v) = Σᵢ ∫_{−∞}^v φᵢ(u) G_R′(u) Π_{k ∈ A(R) ∖ A(R′) ∖ i} Φₖ(u) du,     G_∅ = 1,

and the probability sought is G(∞). Conjuncts only disappear, so the recursion ends after at most as many
integrals as there are competitors; for two candidates it is a single one. Integrals are by Gauss–Legendre
with eight nodes on panels of one deviation, accurate to about 1e-12. Where deviations differ so much that the
smallest is too small for that everywhere, panels are wider where no constraint of a small one is. Every
product has one φ, which takes up how wide they are.

Each φᵢ or Φᵢ occurs exactly once in every product, so the derivative by μᵢ is the same sum with that row of
the tables replaced by its derivative.

The fact a newcomer would get wrong: the constraints that a conjunct leaves behind must still be below u.
They are neither free nor forgotten, hence the factors Φₖ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monolingual.ot.demotion import Pair
from scfg_sampler.core.jit import by_reference, compiled, kernel

__all__ = [
    "Grid",
    "Plan",
    "fitted_grid",
    "is_fine",
    "make_grid",
    "make_plan",
    "ordering_prob",
    "ordering_probs",
    "tabulate_row",
]

_NODES = 8
_REACH = 9.0  # Deviations beyond the outermost mean: the mass out there is below 1e-18.
_MOST_PANELS = 2000
_WIDEST = 3.0  # Deviations that a panel may span: probabilities are right to 1e-8 then.
_ZERO = 38.7  # Deviations beyond which φ, and Φ below the mean, are 0 as doubles, and Φ above it is 1.


class Plan(NamedTuple):
    """The recursions of orderings, in flat arrays.

    Attributes
    ----------
    state_start : int64, shape (D + 1,)
        The sets R of ordering d, each after those it leads to; the last one is the ordering itself. An
        ordering that always holds has none, one that never holds a state without terms.
    term_start : int64, shape (S + 1,)
    term_constraint, term_next : int64, shape (T,)
        The highest constraint i, and R′ counted from the first state of the ordering; −1 if it is empty.
    factor_start : int64, shape (T + 1,)
    factors : int64, shape (F,)
        The constraints k of each term.
    mentions : bool, shape (D, N)
        Which constraints an ordering mentions.
    most_states : int
        Of one ordering.
    """

    state_start: np.ndarray
    term_start: np.ndarray
    term_constraint: np.ndarray
    term_next: np.ndarray
    factor_start: np.ndarray
    factors: np.ndarray
    mentions: np.ndarray
    most_states: int


class Grid(NamedTuple):
    """Nodes and rules of the quadrature.

    Attributes
    ----------
    nodes : float64, shape (Q,)
        Panel after panel, ascending.
    weights : float64, shape (8,)
        Of the nodes of a panel.
    cumulative : float64, shape (8, 8)
        Row a: the weights of the integral from the panel's beginning to its node a.
    stretch : float64, shape (Q,)
        By what densities at the nodes are multiplied, as panels are so much wider than the weights say.
    """

    nodes: np.ndarray
    weights: np.ndarray
    cumulative: np.ndarray
    stretch: np.ndarray


def _reference_rule() -> Grid:
    """The nodes and rules of one panel, from −1 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    integrals = [np.polynomial.legendre.legint(unit, lbnd=-1) for unit in np.eye(_NODES)]
    upto = np.stack([np.polynomial.legendre.legval(nodes, integral) for integral in integrals], axis=1)
    vandermonde = np.polynomial.legendre.legvander(nodes, _NODES - 1)
    return Grid(nodes, weights, np.ascontiguousarray(upto @ np.linalg.inv(vandermonde)), np.ones(_NODES))


_RULE = _reference_rule()


def make_plan(orderings: Sequence[Sequence[Pair]], constraints: int) -> Plan:
    """The recursions for the probabilities of orderings.

    Parameters
    ----------
    orderings : sequence of sequences of (winner's constraints, loser's constraints)
    constraints : int
        How many there are.
    """
    states, terms, nexts, factors = [0], [0], [], []
    constraint_of: list[int] = []
    factor_start = [0]
    mentions = np.zeros((len(orderings), constraints), dtype=np.bool_)
    for number, pairs in enumerate(orderings):
        conjuncts = frozenset((winner, loser) for winner, loser in pairs if loser)
        index: dict[frozenset[Pair], int] = {}
        for state, found in _expanded(conjuncts, index):
            for highest, rest in found:
                constraint_of.append(highest)
                nexts.append(index[rest] if rest else -1)
                factors.extend(sorted(_mentioned(state) - _mentioned(rest) - {highest}))
                factor_start.append(len(factors))
            terms.append(len(constraint_of))
        states.append(states[-1] + len(index))
        mentions[number, sorted(_mentioned(conjuncts))] = True
    sizes = np.diff(states)
    return Plan(
        np.array(states, dtype=np.int64),
        np.array(terms, dtype=np.int64),
        np.array(constraint_of, dtype=np.int64),
        np.array(nexts, dtype=np.int64),
        np.array(factor_start, dtype=np.int64),
        np.array(factors, dtype=np.int64),
        mentions,
        int(sizes.max()) if len(sizes) else 0,
    )


def _mentioned(conjuncts: frozenset[Pair]) -> frozenset[int]:
    return frozenset().union(*(winner | loser for winner, loser in conjuncts))


def _expanded(conjuncts: frozenset[Pair], index: dict) -> list[tuple]:
    """Every set of conjuncts that is reached, with its terms, children first; numbers them in `index`."""
    found: list[tuple] = []

    def visit(state: frozenset[Pair]) -> None:
        if not state or state in index:
            return
        losers = frozenset().union(*(loser for _, loser in state))
        terms = []
        for highest in sorted(_mentioned(state) - losers):
            rest = frozenset(pair for pair in state if highest not in pair[0])
            visit(rest)
            terms.append((highest, rest))
        index[state] = len(found)
        found.append((state, terms))

    visit(conjuncts)
    return found


def make_grid(low: float, high: float, deviation: np.ndarray) -> Grid:
    """A grid for means between `low` and `high`.

    Parameters
    ----------
    low, high : float
    deviation : float64, shape (N,)
        The panels are as wide as the smallest (wider if they would be too many), the reach beyond the means
        is that of the largest.
    """
    reach = _REACH * float(deviation.max())
    begin, end = low - reach, high + reach
    panels = max(math.ceil(min((end - begin) / float(deviation.min()), _MOST_PANELS)), 1)
    half = 0.5 * (end - begin) / panels
    centres = begin + half * (2 * np.arange(panels) + 1)
    nodes = (centres[:, None] + half * _RULE.nodes).ravel()
    return Grid(nodes, half * _RULE.weights, half * _RULE.cumulative, np.ones(len(nodes)))


def is_fine(grid: Grid, deviation: np.ndarray) -> bool:
    """Whether a grid of `make_grid` has panels that are narrow enough for all deviations, of shape (N,)."""
    return bool(grid.weights.sum() <= _WIDEST * deviation.min())


def fitted_grid(mean: np.ndarray, deviation: np.ndarray) -> Grid:
    """A grid for these means and deviations alone, whatever the ratios of these.

    That of `make_grid` where it has room for panels of the smallest deviation. Else panels end at every mean
    plus or minus whole deviations of it, as far as its density is above 0.

    Parameters
    ----------
    mean, deviation : float64, shape (N,)
    """
    reach = _REACH * float(deviation.max())
    low, high = float(np.min(mean)), float(np.max(mean))
    if high - low + 2.0 * reach <= _MOST_PANELS * float(deviation.min()):
        return make_grid(low, high, deviation)
    steps = np.arange(-math.ceil(_ZERO), math.ceil(_ZERO) + 1)
    ends = np.unique(mean[:, None] + deviation[:, None] * steps)
    half, centres = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    nodes = (centres[:, None] + half[:, None] * _RULE.nodes).ravel()
    return Grid(nodes, _RULE.weights, _RULE.cumulative, np.repeat(half, _NODES))


@compiled
def tabulate_row(grid, mean, deviation, density, below):
    """Fill one row each of the tables of φ and Φ."""
    scale = 1.0 / (deviation * math.sqrt(2.0 * math.pi))
    for q in range(len(grid.nodes)):
        z = (grid.nodes[q] - mean) / deviation
        if abs(z) > _ZERO:
            density[q], below[q] = 0.0, 1.0 if z > 0.0 else 0.0
            continue
        density[q] = scale * math.exp(-0.5 * z * z)
        below[q] = 0.5 * math.erfc(-z * math.sqrt(0.5))


@compiled
def _tabulate_stretched(grid, mean, deviation, density, below):
    """`tabulate_row`, with densities that take up how wide the panels are."""
    tabulate_row(grid, mean, deviation, density, below)
    for q in range(len(density)):
        density[q] *= grid.stretch[q]


@compiled
def ordering_prob(plan, grid, ordering, density, below, partial, product, integrand):
    """The probability of one ordering from tables of φ and Φ.

    density, below : (N, Q). partial : (most_states, Q), product, integrand : (Q,), to work in.
    """
    first, end = plan.state_start[ordering], plan.state_start[ordering + 1]
    if first == end:
        return 1.0
    size, width = len(grid.nodes), len(grid.weights)
    for state in range(first, end):
        integrand[:] = 0.0
        for term in range(plan.term_start[state], plan.term_start[state + 1]):
            highest = plan.term_constraint[term]
            low, high = 0, size  # Of a wide grid, most is where this constraint never is.
            while low < size and density[highest, low] == 0.0:
                low += 1
            while high > low and density[highest, high - 1] == 0.0:
                high -= 1
            for q in range(low, high):
                product[q] = density[highest, q]
            for place in range(plan.factor_start[term], plan.factor_start[term + 1]):
                k = plan.factors[place]
                for q in range(low, high):
                    product[q] *= below[k, q]
            following = plan.term_next[term]
            if following >= 0:
                for q in range(low, high):
                    product[q] *= partial[following, q]
            for q in range(low, high):
                integrand[q] += product[q]
        if state < end - 1:
            _accumulate(grid, integrand, partial[state - first])
    total = 0.0
    for panel in range(0, size, width):
        for a in range(width):
            total += grid.weights[a] * integrand[panel + a]
    return total


@compiled
def _accumulate(grid, integrand, integral):
    """The integral of the integrand from the beginning of the grid to each node."""
    before = 0.0
    width = len(grid.weights)
    for panel in range(0, len(integrand), width):
        if not integrand[panel : panel + width].any():
            integral[panel : panel + width] = before
            continue
        whole = 0.0
        for a in range(width):
            part = 0.0
            for b in range(width):
                part += grid.cumulative[a, b] * integrand[panel + b]
            integral[panel + a] = before + part
            whole += grid.weights[a] * integrand[panel + a]
        before += whole


@kernel
def ordering_probs(
    plan: Plan, grid: Grid, mean: np.ndarray, deviation: np.ndarray, with_gradient: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of all orderings of a plan, and if asked their derivatives by the means.

    Parameters
    ----------
    plan : Plan
    grid : Grid
        Must reach beyond all means; see `fitted_grid`.
    mean, deviation : float64, shape (N,)
    with_gradient : bool

    Returns
    -------
    float64 of shape (D,), float64 of shape (D, N)
        Zeros in the second without `with_gradient`.
    """
    plan, grid = by_reference(plan), by_reference(grid)
    size, number = len(grid.nodes), len(mean)
    orderings = len(plan.state_start) - 1
    density, below = np.empty((number, size)), np.empty((number, size))
    partial = np.empty((max(plan.most_states, 1), size))
    product, integrand = np.empty(size), np.empty(size)
    for i in range(number):
        _tabulate_stretched(grid, mean[i], deviation[i], density[i], below[i])
    probs, gradient = np.empty(orderings), np.zeros((orderings, number))
    for ordering in range(orderings):
        probs[ordering] = ordering_prob(plan, grid, ordering, density, below, partial, product, integrand)
    if with_gradient:
        for i in range(number):
            for q in range(size):
                below[i, q] = -density[i, q] / grid.stretch[q]
                density[i, q] *= (grid.nodes[q] - mean[i]) / (deviation[i] * deviation[i])
            for ordering in range(orderings):
                if plan.mentions[ordering, i]:
                    gradient[ordering, i] = ordering_prob(
                        plan, grid, ordering, density, below, partial, product, integrand
                    )
            _tabulate_stretched(grid, mean[i], deviation[i], density[i], below[i])
    return probs, gradient
