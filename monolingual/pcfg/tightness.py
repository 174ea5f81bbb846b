"""Is a grammar tight? The verdict, with its reasons, and the tight grammar of the same trees.

The spectral radius of each component decides (see `partition`). Within 1e-6 of 1, where floating point cannot
tell, the decision is made in rational arithmetic: probabilities are taken as the decimal numbers they print
as, divided by their exact sum, and the radius of a component is at most 1 if and only if eliminating I − M
meets no pivot ≤ 0, except that the last may be 0, where the radius is 1 and the component critical. Within
1e-3 of 1 the partition function and expected uses are those of `critical`, which has digits enough.

Chi (1999): the finite trees of a grammar that is not tight have the same distribution under the tight grammar
θ'(A → α) = θ(A → α) Π over nonterminals B of α: Z_B / Z_A. Expected lengths and entropies are taken there,
hence given that the tree is finite: with v the expected uses of nonterminals, v = e_S + v M', the length is Σ
v_A · (terminals per rule) and the entropy Σ v_A H(θ'_A). They are infinite at radius 1.

The fact a newcomer would get wrong: the tight grammar of a supercritical one is not critical but subcritical.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from monolingual.pcfg.critical import (
    LARGEST,
    Precise,
    precise_partition,
    precise_tight_probs,
    uses_within,
)
from monolingual.pcfg.grammar import (
    Grammar,
    families,
    heads,
    nonterminal,
    num_rules,
    rule_symbols,
    select_rules,
)
from monolingual.pcfg.graph import components, reachable
from monolingual.pcfg.partition import System, build_system, newton_partition, tight_components
from monolingual.priors.multinomials import normalise
from scfg_sampler.errors import SettingsError

__all__ = ["Moments", "Tightness", "analyse", "expected_rule_uses", "moments", "tight_probs", "tighten"]

_DOUBTFUL = 1e-6
_NEAR = 1e-3
_ROUGH = 1e-5  # Nearer to 1 than so, floating point has fewer than six digits of what is expected.
_DENSE = 400


class Tightness(NamedTuple):
    """What is to be said about the tightness of a grammar.

    Attributes
    ----------
    tight : bool
        Whether the finite trees of the start symbol have probability 1 together.
    spectral_radius : float
        The largest of the components that the start symbol leads to.
    partition : float64, shape (N,)
        Exactly 1 for nonterminals of tight components.
    rounds : int
        Of Newton's method, in the component that took most.
    system : System
    radii : float64, shape (C,)
        The spectral radius of each component of `system`.
    tight_components : bool, shape (C,)
    critical : bool, shape (C,)
        Whether the radius of each component is 1.
    near : bool, shape (C,)
        The components near criticality for which there is `precise`.
    precise : Precise or None
        The partition function in more digits, if one of the components is near criticality.
    rough : bool, shape (C,)
        The components that are so near to criticality, and so large, that partition and means are rough.
    """

    tight: bool
    spectral_radius: float
    partition: np.ndarray
    rounds: int
    system: System
    radii: np.ndarray
    tight_components: np.ndarray
    critical: np.ndarray
    near: np.ndarray
    precise: Precise | None
    rough: np.ndarray


class Moments(NamedTuple):
    """Means over the finite trees of the start symbol.

    Attributes
    ----------
    length : float
        The expected number of terminals; infinite at criticality.
    rules : float
        The expected number of rules.
    entropy : float
        Of the distribution over trees, in nats.
    """

    length: float
    rules: float
    entropy: float


def analyse(grammar: Grammar, probs: np.ndarray) -> Tightness:
    """The verdict on a grammar, the partition function, and the radius of every component.

    Parameters
    ----------
    grammar : Grammar
    probs : float64, shape (R,)
        Summing to 1 for every nonterminal. Rules of probability 0 are as if they were not there.
    """
    positive = probs > 0.0
    system = build_system(grammar, positive)
    radii, side = _radii(grammar, probs, system.start, system.members, system.use)
    tight = tight_components(system, probs, side <= 0)
    values, rounds = newton_partition(system, probs, tight)
    critical, sizes = side == 0, np.diff(system.start)
    near = (abs(radii - 1.0) <= _NEAR) & (sizes <= LARGEST) & ~(critical & tight)
    precise = precise_partition(grammar, probs, system, tight, near, values) if near.any() else None
    rough = (abs(radii - 1.0) <= _ROUGH) & (sizes > LARGEST)
    if precise is not None:
        values = np.array([float(value) for value in precise.values])
    elif near.any():
        near, rough = np.zeros_like(near), rough | near
    # Rules without finite trees have no part in `system`, but in the radius that is reported.
    whole = components(grammar, positive) if system.is_lossy.any() else system
    if whole is not system:
        radii_of_all, _ = _radii(grammar, probs, whole.start, whole.members, positive)
    else:
        radii_of_all = radii
    reached = np.unique(whole.component[reachable(grammar, positive)])
    radius = float(radii_of_all[reached].max())
    is_tight = bool(tight[system.component[0]])
    return Tightness(is_tight, radius, values, rounds, system, radii, tight, critical, near, precise, rough)


def _radii(grammar: Grammar, probs, start, members, use) -> tuple[np.ndarray, np.ndarray]:
    """The spectral radius of M within each component, and whether it is below 1 (−1), 1 (0) or above (1)."""
    matrix = mean_matrix(grammar, probs, use)
    radii = np.zeros(len(start) - 1)
    side = np.zeros(len(start) - 1, dtype=np.int64)
    diagonal = matrix.diagonal()
    for c in range(len(radii)):
        nodes = members[start[c] : start[c + 1]]
        radii[c] = diagonal[nodes[0]] if len(nodes) == 1 else _spectral_radius(matrix[nodes][:, nodes])
        if abs(radii[c] - 1.0) <= _DOUBTFUL and len(nodes) <= LARGEST:
            side[c] = _side_of_one(grammar, probs, use, nodes)
        else:
            side[c] = 1 if radii[c] > 1.0 else 0 if radii[c] > 1.0 - 1e-9 else -1
    return radii, side


def mean_matrix(grammar: Grammar, probs: np.ndarray, use: np.ndarray) -> sparse.csr_matrix:
    """M: how many of each nonterminal one step from a nonterminal makes, on average; sparse, shape (N, N)."""
    owner = np.repeat(np.arange(num_rules(grammar)), np.diff(grammar.rhs_start))
    keep = (grammar.rhs < 0) & use[owner]
    rows, columns = heads(grammar)[owner[keep]], -1 - grammar.rhs[keep]
    size = len(grammar.nonterminals)
    return sparse.csr_matrix((probs[owner[keep]], (rows, columns)), shape=(size, size))


def tighten(grammar: Grammar, probs: np.ndarray) -> tuple[Grammar, np.ndarray, np.ndarray]:
    """The tight grammar with the same distribution over finite trees (Chi 1999).

    Parameters
    ----------
    grammar : Grammar
    probs : float64, shape (R,)

    Returns
    -------
    Grammar, without the rules that occur in no finite tree; float64, shape (R',), its probabilities; and
    int64, shape (R',), the old numbers of its rules.

    Raises
    ------
    SettingsError
        No finite tree has a positive probability.
    """
    verdict = analyse(grammar, probs)
    if verdict.partition[0] == 0.0:
        raise SettingsError(
            f"no finite tree grows from {grammar.nonterminals[0]}: there is nothing to tighten or to draw"
        )
    new = _tight_probs_of(grammar, probs, verdict)
    smaller, numbers = select_rules(grammar, (new > 0.0) & reachable(grammar, new > 0.0)[heads(grammar)])
    # Dividing once more removes what rounding has left of the sums.
    return smaller, normalise(families(smaller), new[numbers]), numbers


def expected_rule_uses(grammar: Grammar, probs: np.ndarray, verdict: Tightness | None = None) -> np.ndarray:
    """How often each rule is used in a finite tree of the start symbol, on average: float64, shape (R,).

    Infinite where the tree leads through a component of radius 1.
    """
    verdict = analyse(grammar, probs) if verdict is None else verdict
    new = _tight_probs_of(grammar, probs, verdict)
    matrix = mean_matrix(grammar, new, new > 0.0)
    size = len(grammar.nonterminals)
    reached = reachable(grammar, new > 0.0)
    critical = verdict.tight_components & verdict.critical
    endless = reached & critical[verdict.system.component]
    if endless.any():
        # Whatever grows from an infinite number of nodes is infinite.
        links = (sparse.eye_array(size) + matrix).tocsr() > 0
        while True:
            more = endless | (endless.astype(float) @ links > 0)
            if np.array_equal(more, endless):
                break
            endless = more
    finite = np.flatnonzero(reached & ~endless)
    uses = np.where(endless, np.inf, 0.0)
    if verdict.precise is not None:
        uses = _uses_by_component(verdict, verdict.precise, matrix, uses, finite)
    elif len(finite) and finite[0] == 0:
        start = np.zeros(len(finite))
        start[0] = 1.0
        system = sparse.eye_array(len(finite)) - matrix[finite][:, finite].T
        uses[finite] = (
            np.linalg.solve(system.toarray(), start)
            if len(finite) <= _DENSE
            else linalg.spsolve(system.tocsc(), start)
        )
    with np.errstate(invalid="ignore"):
        return np.where(new > 0.0, uses[heads(grammar)] * new, 0.0)


def _uses_by_component(
    verdict: Tightness, precise: Precise, matrix: sparse.csr_matrix, uses: np.ndarray, finite: np.ndarray
) -> np.ndarray:
    """Expected uses of all nonterminals, those of components near criticality from `critical`."""
    uses, system, columns = uses.copy(), verdict.system, matrix.tocsc()
    made = np.zeros(len(uses))  # By what is above; what is endless makes nothing finite.
    made[0] = 1.0
    for component in np.unique(system.component[finite])[::-1]:  # Higher ones first.
        nodes = system.members[system.start[component] : system.start[component + 1]]
        inflow = made[nodes] + np.where(np.isfinite(uses), uses, 0.0) @ columns[:, nodes]
        if verdict.near[component]:
            uses[nodes] = uses_within(system, precise, int(component), inflow)
        else:
            within = np.eye(len(nodes)) - columns[:, nodes].tocsr()[nodes].toarray().T
            uses[nodes] = np.linalg.solve(within, inflow)
    return uses


def moments(grammar: Grammar, probs: np.ndarray, verdict: Tightness | None = None) -> Moments:
    """Expected length and entropy of a finite tree of the start symbol; the parameters are as above."""
    verdict = analyse(grammar, probs) if verdict is None else verdict
    uses = expected_rule_uses(grammar, probs, verdict)
    new = _tight_probs_of(grammar, probs, verdict)
    terminals = np.add.reduceat(grammar.rhs >= 0, grammar.rhs_start[:-1], dtype=np.int64)
    # Of what is nearly 1 the others of its nonterminal know more digits; at most one rule is above a half.
    others = np.bincount(heads(grammar), np.where(new <= 0.5, new, 0.0), len(grammar.nonterminals))
    surprise = np.where(
        new > 0.5,
        -np.log1p(-np.minimum(others, 0.5))[heads(grammar)],
        -np.log(np.where(new > 0.0, new, 1.0)),
    )
    return Moments(*(_mean(uses, values) for values in (terminals, np.ones(len(new)), surprise)))


def _mean(uses: np.ndarray, values: np.ndarray) -> float:
    """Σ uses · values, where infinite uses of what is 0 do not count."""
    counted = (values != 0.0) & (uses > 0.0)
    return float(np.sum(uses[counted] * values[counted])) + 0.0


def tight_probs(grammar: Grammar, probs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Chi's probabilities of all rules, 0 for those without finite trees: float64, shape (R,).

    Parameters
    ----------
    grammar : Grammar
    probs : float64, shape (R,)
    values : float64, shape (N,)
        The partition function.
    """
    padded = np.append(values, 1.0)
    factor = np.where(grammar.rhs < 0, padded[np.where(grammar.rhs < 0, -1 - grammar.rhs, len(values))], 1.0)
    whole = values[heads(grammar)]
    new = probs * np.multiply.reduceat(factor, grammar.rhs_start[:-1])
    return np.where(whole > 0.0, new / np.where(whole > 0.0, whole, 1.0), 0.0)


def _tight_probs_of(grammar: Grammar, probs: np.ndarray, verdict: Tightness) -> np.ndarray:
    """`tight_probs` of a verdict, from all the digits it has."""
    if verdict.precise is None:
        return tight_probs(grammar, probs, verdict.partition)
    return precise_tight_probs(verdict.system, verdict.precise)


def _spectral_radius(matrix: sparse.csr_matrix) -> float:
    """The largest eigenvalue of a non-negative irreducible matrix (Perron and Frobenius): it is real."""
    if matrix.shape[0] <= _DENSE:
        return float(np.abs(np.linalg.eigvals(matrix.toarray())).max())
    try:
        found = linalg.eigs(matrix, k=1, which="LR", v0=np.ones(matrix.shape[0]), return_eigenvectors=False)
        return float(abs(found[0]))
    except linalg.ArpackNoConvergence:
        return float(np.abs(np.linalg.eigvals(matrix.toarray())).max())


def _side_of_one(grammar: Grammar, probs: np.ndarray, use: np.ndarray, members: np.ndarray) -> int:
    """−1, 0 or 1: the spectral radius within a component is below 1, 1 or above, in rational arithmetic."""
    place = {int(node): row for row, node in enumerate(members)}
    matrix = [[Fraction(int(i == j)) for j in place.values()] for i in place.values()]
    for node, row in place.items():
        rules = range(grammar.rule_start[node], grammar.rule_start[node + 1])
        exact = [Fraction(repr(float(probs[rule]))) for rule in rules]
        total = sum(exact, Fraction(0))
        for rule, prob in zip(rules, exact, strict=True):
            for symbol in rule_symbols(grammar, rule) if use[rule] else ():
                if symbol < 0 and nonterminal(symbol) in place:
                    matrix[row][place[nonterminal(symbol)]] -= prob / total
    size = len(matrix)
    for k in range(size):
        if matrix[k][k] < 0 or (matrix[k][k] == 0 and k < size - 1):
            return 1
        for row in range(k + 1, size):
            if matrix[row][k]:
                factor = matrix[row][k] / matrix[k][k]
                for column in range(k, size):
                    matrix[row][column] -= factor * matrix[k][column]
    return 0 if matrix[-1][-1] == 0 else -1
