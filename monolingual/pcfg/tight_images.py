"""Moves of rule probabilities under the renormalised likelihood, in the tight grammar with the same trees.

Given n trees with rule counts f the posterior is Π_A Dirichlet(θ_A | α_A) · Π θ^f · Z(θ)⁻ⁿ. With Z_A the
partition function of each nonterminal, and W_A = 1 / Z_A, the grammar

    φ_r = θ_r / λ_r,    λ_r = Π W_children(r) / W_A,

is tight and has the same distribution of finite trees (Chi 1999), so that θ's likelihood, nth power and
all, is φ's: Π φ^f. Let U be the nonterminals that trees use. In φ of U, with θ of the others as it is, the
posterior is

    Π_U Dirichlet(φ_A | α_A + f_A) · w,    w = Π_U λ_r^α_r · |det(I − M_φ) / det(I − K)|,

over tight φ: n is gone. M_φ is the matrix of expected children, K that of θ in the rows of U and M_φ in the
others. The determinants are the Jacobian's, for with ω = log W, (I − K) dω = Σ_r (θ_r − φ_r) d log φ_r in
the rows of U. Given φ of U, ω solves

    Σ_r φ_r · Π W_children(r) = W_A  in U,    Σ_r θ_r · Π Z_children(r) = Z_A  elsewhere,

which has several solutions: with all nonterminals in U, W = 1 is φ itself, the others are its mirror
images. A move draws some families of φ, or of θ outside of U, from their Dirichlet distributions, follows W
by Newton's method from where it is, and accepts by w. Nonterminals that no tree uses are not in U because W
may be e⁵⁰ there, where I − M_θ is singular in floating point; in I − M_φ they do no harm.

The fact a newcomer would get wrong: Newton's method from the new W need not lead back to the old one, and
then the move has no way back. It is tried out, and such moves are turned down.
"""

from __future__ import annotations

import numpy as np

from monolingual.pcfg.partition import System, partition_into
from scfg_sampler.core import draws, elementary
from scfg_sampler.core.jit import borrowing, compiled

__all__ = [
    "MOST_MOVES",
    "draw_images",
    "eliminate",
    "elimination_order",
    "log_weight",
    "settle",
]

MOST_MOVES = 64
"""Into so many groups nonterminals are divided, each moved by itself; of fewer, each is one."""

_MOST_ROUNDS = 25
_LONGEST_STEP = 3.0
_SETTLED = 1e-8
_SAME = 1e-6
_LARGEST = 300.0


def elimination_order(system: System) -> np.ndarray:
    """The nonterminals in an order that leaves I − M sparse while it is eliminated: int64, shape (N,).

    Greedily that with the fewest neighbours among those that are left, which then are each other's.
    """
    size = len(system.place)
    rules = np.repeat(np.arange(len(system.child_start) - 1), np.diff(system.child_start))
    owners = np.repeat(np.arange(size), np.diff(system.rule_start))[rules]
    near = np.zeros((size, size), np.bool_)
    near[owners, system.children] = near[system.children, owners] = True
    np.fill_diagonal(near, False)
    degree = near.sum(axis=1)
    order = np.empty(size, np.int64)
    for at in range(size):
        node = int(np.argmin(degree))
        neighbours = np.flatnonzero(near[node])
        near[np.ix_(neighbours, neighbours)] = True
        near[neighbours, neighbours] = near[neighbours, node] = False
        degree[neighbours] = near[neighbours].sum(axis=1)
        near[node] = False
        degree[node] = size + 1
        order[at] = node
    return order


@compiled
def draw_images(
    rng: np.random.Generator,
    system: System,
    order: np.ndarray,
    concentrations: np.ndarray,
    prior: np.ndarray,
    probs: np.ndarray,
    log_z: np.ndarray,
) -> tuple[int, int]:
    """Move `probs`, and log_z[0] with it, by two moves a group: of its used families, and of the others.

    Parameters
    ----------
    rng : numpy.random.Generator
    system : System
        Of the grammar, which has no useless rules; its nonterminals are the families.
    order : int64, shape (N,)
        As `elimination_order` gives it.
    concentrations, prior : float64, shape (R,)
        α + f, and α.
    probs, log_z : float64, shapes (R,) and (1,)
        θ and its log Z.

    Returns
    -------
    (int, int)
        The moves that were proposed, none where a group has no family to move, and those turned down.
    """
    size = len(order)
    groups = min(size, MOST_MOVES)
    logs, new_logs, back = np.zeros(size), np.zeros(size), np.zeros(size)
    partition_into(system, probs, logs)
    for node in range(size):
        logs[node] = -elementary.log(max(logs[node], 1e-300))
        if logs[node] > _LARGEST:
            return 0, 0
    used = _used(system, concentrations, prior)
    matrix, side = np.empty((size, size)), np.empty(size)
    mixed = probs.copy()
    _rescale(system, used, logs, -1.0, mixed)
    proposal = mixed.copy()
    weight = log_weight(system, order, used, prior, mixed, logs, matrix, side)
    proposed, rejected = 0, 0
    for move in range(2 * groups):
        first, end = size * (move // 2) // groups, size * (move // 2 + 1) // groups
        if not _propose(rng, system, used, move % 2 == 0, concentrations, first, end, proposal):
            continue
        proposed += 1
        new_weight = -np.inf
        if settle(system, order, used, proposal, logs, new_logs, matrix, side) and (
            settle(system, order, used, mixed, new_logs, back, matrix, side) and _distance(back, logs) < _SAME
        ):
            new_weight = log_weight(system, order, used, prior, proposal, new_logs, matrix, side)
        log_ratio = new_weight - weight
        rules = slice(system.rule_start[first], system.rule_start[end])
        if log_ratio >= 0.0 or draws.bernoulli(rng, elementary.exp(log_ratio)):
            mixed[rules] = proposal[rules]
            logs[:] = new_logs
            weight = new_weight
        else:
            proposal[rules] = mixed[rules]
            rejected += 1
    if rejected < proposed:
        probs[:] = mixed
        _rescale(system, used, logs, 1.0, probs)
        log_z[0] = -logs[0]
    return proposed, rejected


@compiled
def _used(system, concentrations, prior):
    """Which nonterminals trees use."""
    used = np.zeros(len(system.place), np.bool_)
    for node in range(len(used)):
        count = 0.0
        for rule in range(system.rule_start[node], system.rule_start[node + 1]):
            count += concentrations[rule] - prior[rule]
        used[node] = count > 0.5
    return used


@compiled
def _propose(rng, system, used, which, concentrations, first, end, proposal):
    """Draw the used families of a group, or the others; whether there are any."""
    found = False
    for family in range(first, end):
        if used[family] == which:
            begin, stop = system.rule_start[family], system.rule_start[family + 1]
            draws.dirichlet(rng, concentrations, begin, stop, proposal)
            found = True
    return found


@borrowing
def _log_factor(system, logs, rule, node):
    """log λ of a rule of a nonterminal."""
    value = -logs[node]
    for i in range(system.child_start[rule], system.child_start[rule + 1]):
        value += logs[system.children[i]]
    return value


@compiled
def _rescale(system, used, logs, sign, probs):
    """θ of the used families to φ (sign −1), or back (1); their sums are 1 again."""
    for node in range(len(logs)):
        if not used[node]:
            continue
        begin, end = system.rule_start[node], system.rule_start[node + 1]
        total = 0.0
        for rule in range(begin, end):
            factor = elementary.exp(sign * _log_factor(system, logs, rule, node))
            probs[rule] = max(probs[rule] * factor, draws.SMALLEST_PROB)
            total += probs[rule]
        for rule in range(begin, end):
            probs[rule] /= total


@borrowing
def _distance(first, second):
    most = 0.0
    for i in range(len(first)):
        most = max(most, abs(first[i] - second[i]))
    return most


@compiled
def settle(
    system: System,
    order: np.ndarray,
    used: np.ndarray,
    mixed: np.ndarray,
    start: np.ndarray,
    logs: np.ndarray,
    matrix: np.ndarray,
    side: np.ndarray,
) -> bool:
    """Write to `logs` the solution log W to which Newton's method leads from `start`.

    Parameters
    ----------
    system, order
        As in `draw_images`.
    used : bool, shape (N,)
        U.
    mixed : float64, shape (R,)
        φ of U, θ of the others.
    start, logs : float64, shape (N,)
    matrix, side : float64, shapes (N, N) and (N,)
        Room.

    Returns
    -------
    bool. Whether it led to one, each log W below 300, in 25 rounds.
    """
    logs[:] = start
    for _ in range(_MOST_ROUNDS):
        _fill(system, order, used, mixed, logs, matrix, side)
        eliminate(matrix, side)
        longest = 0.0
        for at in range(len(order)):
            if not abs(side[at]) < np.inf:
                return False
            longest = max(longest, abs(side[at]))
        scale = min(1.0, _LONGEST_STEP / max(longest, 1e-300))
        for at in range(len(order)):
            logs[order[at]] += scale * side[at]
            if abs(logs[order[at]]) > _LARGEST:
                return False
        if longest < _SETTLED:
            return True
    return False


@compiled
def _fill(system, order, used, mixed, logs, matrix, side):
    """I − K and the right side of Newton's method, rows and columns in `order`."""
    size = len(order)
    place = np.empty(size, np.int64)
    for at in range(size):
        place[order[at]] = at
    for row in range(size):
        node = order[row]
        for column in range(size):
            matrix[row, column] = 0.0
        sign = 1.0 if used[node] else -1.0
        total = 0.0
        for rule in range(system.rule_start[node], system.rule_start[node + 1]):
            share = mixed[rule] * elementary.exp(min(sign * _log_factor(system, logs, rule, node), 600.0))
            total += share
            for i in range(system.child_start[rule], system.child_start[rule + 1]):
                matrix[row, place[system.children[i]]] -= share
        for column in range(size):
            matrix[row, column] /= total
        matrix[row, row] += 1.0
        side[row] = sign * elementary.log(total)


@compiled
def eliminate(matrix: np.ndarray, side: np.ndarray) -> tuple[float, bool]:
    """Solve in place, without pivoting; log |det|, and whether all pivots are positive.

    A pivot of 0 gives a log |det| of −∞ and an infinite solution.
    """
    size = len(side)
    log_det, positive = 0.0, True
    for k in range(size):
        pivot = matrix[k, k]
        if pivot == 0.0:
            side[:] = np.inf
            return -np.inf, False
        positive = positive and pivot > 0.0
        log_det += elementary.log(abs(pivot))
        for row in range(k + 1, size):
            if matrix[row, k] != 0.0:
                factor = matrix[row, k] / pivot
                for column in range(k + 1, size):
                    matrix[row, column] -= factor * matrix[k, column]
                side[row] -= factor * side[k]
    for k in range(size - 1, -1, -1):
        value = side[k]
        for column in range(k + 1, size):
            value -= matrix[k, column] * side[column]
        side[k] = value / matrix[k, k]
    return log_det, positive


@compiled
def log_weight(
    system: System,
    order: np.ndarray,
    used: np.ndarray,
    prior: np.ndarray,
    mixed: np.ndarray,
    logs: np.ndarray,
    matrix: np.ndarray,
    side: np.ndarray,
) -> float:
    """log w, of which −∞ says that φ is not tight; arguments as in `settle`."""
    _fill(system, order, used, mixed, logs, matrix, side)
    log_det_theta, _ = eliminate(matrix, side)
    # φ of all, whose own W is 1.
    phi, nowhere = mixed.copy(), np.zeros(len(logs))
    _rescale(system, ~used, logs, -1.0, phi)
    _fill(system, order, used, phi, nowhere, matrix, side)
    log_det_phi, tight = eliminate(matrix, side)
    if not tight:
        return -np.inf
    value = log_det_phi - log_det_theta
    for node in range(len(logs)):
        if used[node]:
            for rule in range(system.rule_start[node], system.rule_start[node + 1]):
                value += prior[rule] * _log_factor(system, logs, rule, node)
    return value
