"""The partition function of a PCFG, and whether the grammar is tight.

Z_A, the sum of the probabilities of all finite trees that grow from A, is the least solution of

    Z_A = Σ over rules A → X₁ … X_k:  θ(A → X₁ … X_k) · Π over nonterminals X_i: Z_{X_i}.

With M_AB = Σ θ(A → …) · (how often B stands on the right), the component C of a nonterminal is tight if all
components it leads to are tight, no probability goes to rules without finite trees, and the spectral radius
of M within C is at most 1 (Booth and Thompson 1973; Etessami and Yannakakis 2009). So tightness is decided
component by component, from the radius, and tight components get Z = 1 exactly; only the others are solved
for.

Those are solved by Newton's method from 0, one component after the other (Etessami and Yannakakis 2009).
Every iterate is at most Z and at least the one before; the plain iteration, z ← F(z) from 0, does the same
but converges slowly near criticality.

The fact a newcomer would get wrong: at radius 1 floating point cannot tell Z = 1 from less. A chain of five
critical components solved for numerically gives 0.9 instead of 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.pcfg.grammar import Grammar, heads
from monolingual.pcfg.graph import Components, components, productive
from scfg_sampler.core.jit import compiled, inlined, kernel

__all__ = [
    "MAX_ROUNDS",
    "System",
    "build_system",
    "has_positive_pivots",
    "is_tight",
    "iterate_partition",
    "newton_partition",
    "partition_into",
    "solve_in_place",
    "tight_components",
]

MAX_ROUNDS = 200
"""Of Newton's method in one component. Thirty are many."""

_LAPACK_SIZE = 64
_ROUNDING = 1e-13


class System(NamedTuple):
    """The equations of the partition function, component by component.

    Attributes
    ----------
    rule_start, rhs_start : int64, shapes (N + 1,) and (R + 1,)
        As in `Grammar`.
    children, child_start : int64 of shape (K,) and (R + 1,)
        The nonterminals on the right of each rule, repeated as they are there.
    use : bool, shape (R,)
        The rules that have finite trees and a positive probability.
    is_lossy : bool, shape (N,)
        Nonterminals with a rule of positive probability that has no finite tree.
    start, members : int64, shapes (C + 1,) and (N,)
        The components of the graph of the used rules, lower ones first.
    component, place : int64, shape (N,)
        The component of each nonterminal, and which of its members it is.
    """

    rule_start: np.ndarray
    rhs_start: np.ndarray
    children: np.ndarray
    child_start: np.ndarray
    use: np.ndarray
    is_lossy: np.ndarray
    start: np.ndarray
    members: np.ndarray
    component: np.ndarray
    place: np.ndarray


def build_system(grammar: Grammar, positive: np.ndarray | None = None) -> System:
    """The equations of a grammar.

    Parameters
    ----------
    grammar : Grammar
    positive : bool, shape (R,), optional
        The rules whose probability is positive; by default all.
    """
    positive = np.ones(len(grammar.rhs_start) - 1, np.bool_) if positive is None else positive
    grows = productive(grammar, positive)
    owner = np.repeat(np.arange(len(positive)), np.diff(grammar.rhs_start))
    inner = grammar.rhs < 0
    children = -1 - grammar.rhs[inner].astype(np.int64)
    owner = owner[inner]
    child_start = np.searchsorted(owner, np.arange(len(positive) + 1)).astype(np.int64)
    use = positive & (np.bincount(owner, ~grows[children], minlength=len(positive)) == 0)
    lost = positive & ~use
    is_lossy = np.bincount(heads(grammar), lost, minlength=len(grammar.nonterminals)) > 0
    found: Components = components(grammar, use)
    place = np.empty(len(grammar.nonterminals), dtype=np.int64)
    place[found.members] = np.arange(len(place)) - found.start[found.component[found.members]]
    return System(grammar.rule_start, grammar.rhs_start, children, child_start, use, is_lossy, *found, place)


def newton_partition(
    system: System, probs: np.ndarray, tight: np.ndarray | None = None
) -> tuple[np.ndarray, int]:
    """The partition function of every nonterminal, by Newton's method within each component.

    Parameters
    ----------
    system : System
        Built with the rules of positive probability.
    probs : float64, shape (R,)
    tight : bool, shape (C,), optional
        The verdict on each component, whose values then are 1; by default that of `tight_components`.

    Returns
    -------
    float64, shape (N,), in [0, 1]; and the largest number of rounds a component took.
    """
    values = np.zeros(len(system.place))
    tight = tight_components(system, probs) if tight is None else tight
    rounds = _solve_components(system, np.ascontiguousarray(probs, np.float64), tight, values)
    return values, int(rounds)


def iterate_partition(
    system: System, probs: np.ndarray, *, tolerance: float = 1e-12, max_rounds: int = 10_000_000
) -> tuple[np.ndarray, int]:
    """The same by the plain iteration z ← F(z) from 0 (for comparison), and the rounds it took.

    Stops when no value grows by more than `tolerance` of itself, which near criticality is far from the end.
    """
    values = np.zeros(len(system.place))
    rounds = _iterate(system, np.ascontiguousarray(probs, np.float64), tolerance, max_rounds, values)
    return values, int(rounds)


def tight_components(system: System, probs: np.ndarray, small_radius: np.ndarray | None = None) -> np.ndarray:
    """Whether each component is tight: bool, shape (C,).

    Parameters
    ----------
    system : System
    probs : float64, shape (R,)
    small_radius : bool, shape (C,), optional
        Whether the radius of each component is at most 1; by default decided in floating point.
    """
    if small_radius is None:
        return _tight_components(system, np.ascontiguousarray(probs, np.float64))
    return _propagate(system, small_radius)


@compiled
def is_tight(system: System, probs: np.ndarray) -> bool:
    """Whether Z is 1 for the start symbol, decided in floating point by the radius of each component."""
    return _tight_components(system, probs)[system.component[0]]


@compiled
def partition_into(system: System, probs: np.ndarray, values: np.ndarray) -> bool:
    """Write the partition function to `values`; whether the grammar is tight."""
    tight = _tight_components(system, probs)
    _solve_components(system, probs, tight, values)
    return tight[system.component[0]]


@kernel
def _tight_components(system, probs):
    tight = np.zeros(len(system.start) - 1, dtype=np.bool_)
    for component in range(len(tight)):
        tight[component] = _has_tight_base(system, tight, component) and _is_subcritical(
            system, probs, component
        )
    return tight


@kernel
def _propagate(system, small_radius):
    tight = np.zeros(len(system.start) - 1, dtype=np.bool_)
    for component in range(len(tight)):
        tight[component] = small_radius[component] and _has_tight_base(system, tight, component)
    return tight


@compiled
def _has_tight_base(system, tight, component):
    """Whether nothing is lost in a component, and all it leads to is tight."""
    for at in range(system.start[component], system.start[component + 1]):
        node = system.members[at]
        if system.is_lossy[node] or system.rule_start[node] == system.rule_start[node + 1]:
            return False
        for rule in range(system.rule_start[node], system.rule_start[node + 1]):
            if system.use[rule]:
                for i in range(system.child_start[rule], system.child_start[rule + 1]):
                    other = system.component[system.children[i]]
                    if other != component and not tight[other]:
                        return False
    return True


@compiled
def _is_subcritical(system, probs, component):
    """Whether the spectral radius of M within the component is at most 1.

    For a non-negative irreducible M it is less than 1 if and only if all pivots of I − M are positive, and
    1 if and only if that holds for all but the last, which is 0 (I − M is an M-matrix).
    """
    begin = system.start[component]
    size = system.start[component + 1] - begin
    matrix = np.zeros((size, size))
    for row in range(size):
        node = system.members[begin + row]
        matrix[row, row] += 1.0
        for rule in range(system.rule_start[node], system.rule_start[node + 1]):
            if system.use[rule]:
                for i in range(system.child_start[rule], system.child_start[rule + 1]):
                    child = system.children[i]
                    if system.component[child] == component:
                        matrix[row, system.place[child]] -= probs[rule]
    return has_positive_pivots(matrix, -_ROUNDING)


@compiled
def has_positive_pivots(matrix: np.ndarray, last: float) -> bool:
    """Whether elimination without pivoting meets positive pivots only; the matrix is destroyed.

    The last pivot has to exceed `last`, so that a small negative number lets it be 0.
    """
    size = len(matrix)
    for k in range(size):
        pivot = matrix[k, k]
        if not pivot > (last if k == size - 1 else _ROUNDING):
            return False
        for row in range(k + 1, size):
            if matrix[row, k] != 0.0:
                factor = matrix[row, k] / pivot
                for column in range(k + 1, size):
                    matrix[row, column] -= factor * matrix[k, column]
    return True


@kernel
def _solve_components(system, probs, tight, values):
    most = 0
    for component in range(len(tight)):
        begin, end = system.start[component], system.start[component + 1]
        if tight[component]:
            for at in range(begin, end):
                values[system.members[at]] = 1.0
        elif end - begin == 1 and not _is_recursive(system, component):
            node = system.members[begin]
            values[node] = _right_hand_side(system, probs, values, node)
        else:
            most = max(most, _newton(system, probs, component, values))
    return most


@compiled
def _is_recursive(system, component):
    """Whether a component of one nonterminal leads to itself."""
    node = system.members[system.start[component]]
    for rule in range(system.rule_start[node], system.rule_start[node + 1]):
        if system.use[rule]:
            for i in range(system.child_start[rule], system.child_start[rule + 1]):
                if system.children[i] == node:
                    return True
    return False


@compiled
def _right_hand_side(system, probs, values, node):
    total = 0.0
    for rule in range(system.rule_start[node], system.rule_start[node + 1]):
        if system.use[rule]:
            product = probs[rule]
            for i in range(system.child_start[rule], system.child_start[rule + 1]):
                product *= values[system.children[i]]
            total += product
    return total


@compiled
def _newton(system, probs, component, values):
    """Newton's method from 0: z ← z + (I − F'(z))⁻¹ (F(z) − z). The number of rounds."""
    begin = system.start[component]
    size = system.start[component + 1] - begin
    for row in range(size):
        values[system.members[begin + row]] = 0.0
    matrix = np.empty((size, size))
    step = np.empty((size, 1))
    for rounds in range(1, MAX_ROUNDS + 1):
        for row in range(size):
            node = system.members[begin + row]
            for column in range(size):
                matrix[row, column] = 0.0
            matrix[row, row] = 1.0
            _subtract_derivative(system, probs, values, node, component, matrix, row)
            step[row, 0] = _right_hand_side(system, probs, values, node) - values[node]
        if size <= _LAPACK_SIZE:
            solve_in_place(matrix, step)
        else:
            step[:, :] = np.linalg.solve(matrix, step)
        grown = False
        for row in range(size):
            node = system.members[begin + row]
            # Rounding may overstep the solution: what does not grow is there.
            new = min(values[node] + step[row, 0], 1.0)
            if new > values[node] * (1.0 + 1e-15):
                grown = True
                values[node] = new
        if not grown:
            return rounds
    return MAX_ROUNDS


@inlined
def _subtract_derivative(system, probs, values, node, component, matrix, row):
    """matrix[row] −= ∂F_node / ∂(the members of the component)."""
    for rule in range(system.rule_start[node], system.rule_start[node + 1]):
        if not system.use[rule]:
            continue
        first, end = system.child_start[rule], system.child_start[rule + 1]
        for i in range(first, end):
            child = system.children[i]
            if system.component[child] == component:
                product = probs[rule]
                for j in range(first, end):
                    if j != i:
                        product *= values[system.children[j]]
                matrix[row, system.place[child]] -= product


@compiled
def solve_in_place(matrix: np.ndarray, sides: np.ndarray) -> None:
    """Replace the right sides, shape (n, k), by the solutions; the matrix, shape (n, n), is destroyed.

    By elimination without pivoting, which is stable for what comes here: I − P with P ≥ 0 of radius below 1.
    """
    size, width = sides.shape
    for k in range(size):
        for row in range(k + 1, size):
            if matrix[row, k] != 0.0:
                factor = matrix[row, k] / matrix[k, k]
                for column in range(k + 1, size):
                    matrix[row, column] -= factor * matrix[k, column]
                for column in range(width):
                    sides[row, column] -= factor * sides[k, column]
    for k in range(size - 1, -1, -1):
        for column in range(width):
            value = sides[k, column]
            for other in range(k + 1, size):
                value -= matrix[k, other] * sides[other, column]
            sides[k, column] = value / matrix[k, k]


@kernel
def _iterate(system, probs, tolerance, max_rounds, values):
    size = len(values)
    new = np.empty(size)
    for rounds in range(1, max_rounds + 1):
        change = 0.0
        for node in range(size):
            new[node] = _right_hand_side(system, probs, values, node)
            change = max(change, new[node] - values[node] - tolerance * values[node])
        for node in range(size):
            values[node] = new[node]
        if change <= 0.0:
            return rounds
    return max_rounds
