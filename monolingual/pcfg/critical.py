"""Near criticality: the partition function and expected uses, in as many digits as they need.

Where the spectral radius at the solution is 1 − g, rounding by ε moves Z by ε / g, and what is expected,
which is of the order of 1 / g, by ε / g² of itself: in floating point nothing is left of it at g = 1e-8. Here
Newton's method from 0 (see `partition`) works with decimal numbers, and the mean matrix of the tight grammar
is that of F'(Z) exactly: M'_AB = F'(Z)_AB · Z_B / Z_A. The least pivot of I − F'(Z) is of the order of g;
digits are doubled until it is above the cube root of what they round to, so that g is known to a third of the
digits.

As in `tightness`, probabilities are the decimal numbers they print as, divided by their exact sum.

The fact a newcomer would get wrong: more digits of the solution do not help alone. Of 2p − 1 with p =
0.5000000001 the binary number p knows no more than six digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np

from monolingual.pcfg.grammar import Grammar
from monolingual.pcfg.partition import System

__all__ = ["LARGEST", "Precise", "precise_partition", "precise_tight_probs", "uses_within"]

LARGEST = 80
"""Nonterminals of the largest component that is solved so."""

_DIGITS = (60, 120, 240, 480, 960)


class Precise(NamedTuple):
    """A partition function with its digits.

    Attributes
    ----------
    digits : int
        Of all computations; a third of them are right.
    probs : tuple of Decimal, length R
    values : tuple of Decimal, length N
    """

    digits: int
    probs: tuple[Decimal, ...]
    values: tuple[Decimal, ...]


def precise_partition(
    grammar: Grammar,
    probs: np.ndarray,
    system: System,
    tight: np.ndarray,
    near: np.ndarray,
    rough: np.ndarray,
) -> Precise | None:
    """The partition function of a grammar some of whose components are near criticality.

    Parameters
    ----------
    grammar : Grammar
    probs : float64, shape (R,)
    system : System
    tight, near : bool, shape (C,)
        The verdict on each component, and which are near criticality without being critical.
    rough : float64, shape (N,)
        Values for components that are too large.

    Returns
    -------
    Precise, or None if all digits there are were not enough.
    """
    for digits in _DIGITS:
        with localcontext() as context:
            context.prec = digits
            exact = _exact_probs(grammar, probs)
            values = [Decimal(float(value)) for value in rough]
            least = Decimal(1)
            for component in range(len(tight)):
                nodes = _members(system, component)
                if len(nodes) <= LARGEST and not tight[component]:
                    least = min(least, _newton(system, exact, nodes, values, digits))
                elif len(nodes) <= LARGEST and near[component]:
                    matrix, _ = _linear(system, exact, nodes, values)
                    least = min(least, _solve(matrix, [Decimal(0)] * len(nodes)))
            if least > Decimal(10) ** -(digits // 3):
                return Precise(digits, tuple(exact), tuple(values))
    return None


def precise_tight_probs(system: System, precise: Precise) -> np.ndarray:
    """Chi's probabilities of all rules (see `tightness`), rounded once: float64, shape (R,)."""
    found = np.zeros(len(precise.probs))
    with localcontext() as context:
        context.prec = precise.digits
        for node, whole in enumerate(precise.values):
            for rule in range(system.rule_start[node], system.rule_start[node + 1]):
                if system.use[rule] and whole > 0:
                    found[rule] = float(_product(system, precise.probs, precise.values, rule) / whole)
    return found


def uses_within(system: System, precise: Precise, component: int, inflow: np.ndarray) -> np.ndarray:
    """Expected uses of the nonterminals of a component in the tight grammar: float64, shape (n,).

    Parameters
    ----------
    system : System
    precise : Precise
    component : int
        Not critical.
    inflow : float64, shape (n,)
        How often each of its nonterminals is made by what is not in it.
    """
    nodes = _members(system, component)
    with localcontext() as context:
        context.prec = precise.digits
        matrix, _ = _linear(system, precise.probs, nodes, precise.values)
        # v' = inflow' + v' D⁻¹ F' D, with D the diagonal matrix of Z, is solved for the row v' D⁻¹.
        turned = [list(row) for row in zip(*matrix, strict=True)]
        side = [Decimal(float(x)) / precise.values[node] for x, node in zip(inflow, nodes, strict=True)]
        _solve(turned, side)
        return np.array([float(x * precise.values[node]) for x, node in zip(side, nodes, strict=True)])


def _exact_probs(grammar: Grammar, probs: np.ndarray) -> list[Decimal]:
    written = [Decimal(repr(float(prob))) for prob in probs]
    exact: list[Decimal] = []
    for first, end in zip(grammar.rule_start[:-1], grammar.rule_start[1:], strict=True):
        total = sum(written[first:end], Decimal(0))
        exact += [prob / total for prob in written[first:end]]
    return exact


def _members(system: System, component: int) -> list[int]:
    return system.members[system.start[component] : system.start[component + 1]].tolist()


def _newton(
    system: System, probs: list[Decimal], nodes: list[int], values: list[Decimal], digits: int
) -> Decimal:
    """Newton's method from 0 in one component, into `values`; the least pivot at its end, 0 without one."""
    for node in nodes:
        values[node] = Decimal(0)
    enough = Decimal(10) ** (-3 * digits // 5)
    for _ in range(8 * digits):
        matrix, step = _linear(system, probs, nodes, values)
        pivot = _solve(matrix, step)
        if pivot <= 0:
            break
        for node, more in zip(nodes, step, strict=True):
            values[node] = min(values[node] + more, Decimal(1))
        if all(abs(more) <= enough * values[node] for node, more in zip(nodes, step, strict=True)):
            return pivot
    return Decimal(0)


def _linear(
    system: System, probs: Sequence[Decimal], nodes: list[int], values: Sequence[Decimal]
) -> tuple[list[list[Decimal]], list[Decimal]]:
    """I − F'(z) and F(z) − z within a component."""
    place = {node: row for row, node in enumerate(nodes)}
    matrix = [[Decimal(int(row == column)) for column in range(len(nodes))] for row in range(len(nodes))]
    side = [-values[node] for node in nodes]
    for node, row in place.items():
        for rule in range(system.rule_start[node], system.rule_start[node + 1]):
            if not system.use[rule]:
                continue
            side[row] += _product(system, probs, values, rule)
            for at in range(system.child_start[rule], system.child_start[rule + 1]):
                column = place.get(int(system.children[at]))
                if column is not None:
                    matrix[row][column] -= _product(system, probs, values, rule, at)
    return matrix, side


def _product(
    system: System, probs: Sequence[Decimal], values: Sequence[Decimal], rule: int, without: int = -1
) -> Decimal:
    """θ Π Z over the nonterminals of a right side, or all but one of them."""
    product = probs[rule]
    for at in range(system.child_start[rule], system.child_start[rule + 1]):
        if at != without:
            product *= values[system.children[at]]
    return product


def _solve(matrix: list[list[Decimal]], side: list[Decimal]) -> Decimal:
    """Solve in place, by elimination as in `partition`; the least pivot. One that is not above 0 ends it."""
    size = len(side)
    for k in range(size):
        if matrix[k][k] <= 0:
            return matrix[k][k]
        for row in range(k + 1, size):
            if matrix[row][k]:
                factor = matrix[row][k] / matrix[k][k]
                for column in range(k + 1, size):
                    if matrix[k][column]:
                        matrix[row][column] -= factor * matrix[k][column]
                side[row] -= factor * side[k]
    for k in range(size - 1, -1, -1):
        for column in range(k + 1, size):
            side[k] -= matrix[k][column] * side[column]
        side[k] /= matrix[k][k]
    return min(matrix[k][k] for k in range(size))
