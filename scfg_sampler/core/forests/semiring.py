"""Dynamic programs over hypergraphs, written once for every semiring.

With w(e) the weight of an edge and ⊕, ⊗ the operations of a commutative semiring (Goodman 1999),

    inside(v)  = ⊕ over edges e into v:  w(e) ⊗ ⊗ over tails u of e: inside(u)
    outside(v) = ⊕ over edges e out of v, occurrences of v in its tails:
                 outside(head) ⊗ w(e) ⊗ ⊗ over the other tails u of e: inside(u)

and outside(goal) = 1. So inside(goal) is the ⊕ over all derivations of the ⊗ of their edges.

=============== =================================== ========================== ==================
semiring        a value is                          ⊕                          ⊗
=============== =================================== ========================== ==================
`LogSum`        a log weight                        log(eᵃ + eᵇ)               a + b
`Tropical`      a log weight                        max                        a + b
`Counting`      a number                            a + b                      a · b
`Expectation`   log weight and mean feature vector  log sum; weighted mean     sums of both
=============== =================================== ========================== ==================

`Expectation` is the first order expectation semiring (Eisner 2002; Li and Eisner 2009) in normalised form: it
carries the mean r/p and log p instead of r and p, and so neither underflows.

The fact a newcomer would get wrong: outside values are not inside values divided out. Weights may be 0, so
the product of the other tails is put together from prefixes and suffixes.

A semiring is a NamedTuple that holds the weights of the edges; its operations are registered by its type and
work in place on rows of matrices of values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scfg_sampler.core import elementary
from scfg_sampler.core.forests.hypergraph import Hypergraph, largest_arity, num_edges, num_nodes
from scfg_sampler.core.jit import by_type, compiled, kernel

__all__ = [
    "Counting",
    "Expectation",
    "LogSum",
    "Tropical",
    "checked",
    "inside",
    "outside",
]


class LogSum(NamedTuple):
    """Sums of weights, as logarithms.

    Attributes
    ----------
    log_weights : float64, shape (E,)
        −∞ is an edge that cannot be used.
    """

    log_weights: np.ndarray


class Tropical(NamedTuple):
    """The largest weight, as a logarithm.

    Attributes
    ----------
    log_weights : float64, shape (E,)
    """

    log_weights: np.ndarray


class Counting(NamedTuple):
    """Numbers of derivations, as floating point: exact up to 2^53, then rounded.

    Attributes
    ----------
    multiplicities : float64, shape (E,)
        How many edges each edge stands for: 1 to count derivations, 0 to leave an edge out. Any non-negative
        number will do: this is the semiring of sums and products.
    """

    multiplicities: np.ndarray


class Expectation(NamedTuple):
    """Sums of weights and means of additive features under the distribution the weights define.

    Attributes
    ----------
    log_weights : float64, shape (E,)
    features : float64, shape (E, F)
        What each edge adds to the features of a derivation; finite.
    """

    log_weights: np.ndarray
    features: np.ndarray


Semiring = LogSum | Tropical | Counting | Expectation


def inside(graph: Hypergraph, semiring: Semiring) -> np.ndarray:
    """The inside value of every node.

    Parameters
    ----------
    graph : Hypergraph
    semiring : LogSum, Tropical, Counting or Expectation

    Returns
    -------
    float64, shape (N, W). W is 1; for `Expectation` 1 + F: log weight, then means (0 where the weight is).
    """
    semiring = checked(graph, semiring)
    values = np.empty((num_nodes(graph), _width(semiring)))
    _inside(graph, semiring, values)
    return values


def outside(graph: Hypergraph, semiring: Semiring, inside_values: np.ndarray) -> np.ndarray:
    """The outside value of every node.

    Parameters
    ----------
    graph : Hypergraph
    semiring : LogSum, Tropical, Counting or Expectation
    inside_values : float64, shape (N, W)
        What `inside` returned.

    Returns
    -------
    float64, shape (N, W).
    """
    semiring = checked(graph, semiring)
    values = np.empty_like(inside_values)
    _outside(graph, semiring, inside_values, values, largest_arity(graph))
    return values


def checked(graph: Hypergraph, semiring: Semiring) -> Semiring:
    """The semiring with float64 arrays of one layout, asserting that each edge has a weight."""
    arrays = [np.ascontiguousarray(array, dtype=np.float64) for array in semiring]
    for name, array in zip(semiring._fields, arrays, strict=True):
        assert len(array) == num_edges(graph), f"{len(array)} {name} for {num_edges(graph)} edges"
    return type(semiring)(*arrays)


# The operations of a semiring, each on row i of a matrix of values.


@by_type
def _width(semiring):
    """How many numbers a value has."""


@by_type
def _set_zero(semiring, values, i):
    """values[i] = the neutral element of ⊕."""


@by_type
def _set_one(semiring, values, i):
    """values[i] = the neutral element of ⊗."""


@by_type
def _set_weight(semiring, values, i, edge):
    """values[i] = w(edge)."""


@by_type
def _add(semiring, values, i, others, j):
    """values[i] ⊕= others[j]."""


@by_type
def _multiply(semiring, values, i, others, j):
    """values[i] ⊗= others[j]."""


@compiled
def _log_add(a: float, b: float) -> float:
    """log(eᵃ + eᵇ); −∞ stands for 0."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + elementary.log1p(elementary.exp(b - a))


@_width.register(LogSum)
@_width.register(Tropical)
@_width.register(Counting)
def _width_scalar(semiring):
    return 1


@_set_zero.register(LogSum)
@_set_zero.register(Tropical)
def _set_zero_log(semiring, values, i):
    values[i, 0] = -np.inf


@_set_one.register(LogSum)
@_set_one.register(Tropical)
def _set_one_log(semiring, values, i):
    values[i, 0] = 0.0


@_set_weight.register(LogSum)
@_set_weight.register(Tropical)
def _set_weight_log(semiring, values, i, edge):
    values[i, 0] = semiring.log_weights[edge]


@_multiply.register(LogSum)
@_multiply.register(Tropical)
def _multiply_log(semiring, values, i, others, j):
    values[i, 0] += others[j, 0]


@_add.register(LogSum)
def _add_log_sum(semiring, values, i, others, j):
    values[i, 0] = _log_add(values[i, 0], others[j, 0])


@_add.register(Tropical)
def _add_tropical(semiring, values, i, others, j):
    values[i, 0] = max(values[i, 0], others[j, 0])


@_set_zero.register(Counting)
def _set_zero_counting(semiring, values, i):
    values[i, 0] = 0.0


@_set_one.register(Counting)
def _set_one_counting(semiring, values, i):
    values[i, 0] = 1.0


@_set_weight.register(Counting)
def _set_weight_counting(semiring, values, i, edge):
    values[i, 0] = semiring.multiplicities[edge]


@_add.register(Counting)
def _add_counting(semiring, values, i, others, j):
    values[i, 0] += others[j, 0]


@_multiply.register(Counting)
def _multiply_counting(semiring, values, i, others, j):
    values[i, 0] *= others[j, 0]


@_width.register(Expectation)
def _width_expectation(semiring):
    return 1 + semiring.features.shape[1]


@_set_zero.register(Expectation)
def _set_zero_expectation(semiring, values, i):
    values[i, 0] = -np.inf
    for k in range(1, values.shape[1]):
        values[i, k] = 0.0


@_set_one.register(Expectation)
def _set_one_expectation(semiring, values, i):
    for k in range(values.shape[1]):
        values[i, k] = 0.0


@_set_weight.register(Expectation)
def _set_weight_expectation(semiring, values, i, edge):
    values[i, 0] = semiring.log_weights[edge]
    possible = values[i, 0] > -np.inf
    for k in range(1, values.shape[1]):
        values[i, k] = semiring.features[edge, k - 1] if possible else 0.0


@_add.register(Expectation)
def _add_expectation(semiring, values, i, others, j):
    if others[j, 0] == -np.inf:
        return
    log_total = _log_add(values[i, 0], others[j, 0])
    share = elementary.exp(others[j, 0] - log_total)
    values[i, 0] = log_total
    for k in range(1, values.shape[1]):
        values[i, k] += share * (others[j, k] - values[i, k])


@_multiply.register(Expectation)
def _multiply_expectation(semiring, values, i, others, j):
    values[i, 0] += others[j, 0]
    possible = values[i, 0] > -np.inf
    for k in range(1, values.shape[1]):
        values[i, k] = values[i, k] + others[j, k] if possible else 0.0


# The algorithms.


@kernel
def _inside(graph, semiring, values):
    edge_value = np.empty((1, values.shape[1]))
    # Tails have smaller ids than heads, so one upward pass suffices.
    for node in range(values.shape[0]):
        _set_zero(semiring, values, node)
        for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
            _set_weight(semiring, edge_value, 0, edge)
            for i in range(graph.tail_start[edge], graph.tail_start[edge + 1]):
                _multiply(semiring, edge_value, 0, values, graph.tails[i])
            _add(semiring, values, node, edge_value, 0)


@kernel
def _outside(graph, semiring, inside_values, values, max_arity):
    size, width = values.shape
    for node in range(size):
        _set_zero(semiring, values, node)
    _set_one(semiring, values, size - 1)
    # suffix[k] is the product of the tails from the k-th on. Products, because dividing by 0 does not work.
    suffix = np.empty((max_arity + 1, width))
    prefix = np.empty((2, width))
    for node in range(size - 1, -1, -1):
        for edge in range(graph.edge_start[node], graph.edge_start[node + 1]):
            first, end = graph.tail_start[edge], graph.tail_start[edge + 1]
            _set_one(semiring, suffix, end - first)
            for k in range(end - first - 1, -1, -1):
                _set_one(semiring, suffix, k)
                _multiply(semiring, suffix, k, suffix, k + 1)
                _multiply(semiring, suffix, k, inside_values, graph.tails[first + k])
            _set_weight(semiring, prefix, 0, edge)
            _multiply(semiring, prefix, 0, values, node)
            for k in range(end - first):
                _set_one(semiring, prefix, 1)
                _multiply(semiring, prefix, 1, prefix, 0)
                _multiply(semiring, prefix, 1, suffix, k + 1)
                _add(semiring, values, graph.tails[first + k], prefix, 1)
                _multiply(semiring, prefix, 0, inside_values, graph.tails[first + k])
