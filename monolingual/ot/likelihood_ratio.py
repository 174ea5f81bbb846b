"""Likelihood-ratio tests of the constraints of a maximum-entropy grammar.

Without a constraint, the grammar is fitted again; if the constraint does nothing, twice the loss of log
likelihood is distributed as χ² with one degree of freedom (Wilks 1938). Where weights must not fall below 0,
the weight 0 is at the border of what is allowed, and half of the time nothing is lost at all: the
probability of so large a loss is then half as large (Self and Liang 1987).

The fact a newcomer would get wrong: tests are of each constraint beside all others. Two constraints that do
the same work may both be dispensable, but not together.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from monolingual.ot.harmonic import fit_maxent
from monolingual.ot.tableaux import Tableaux

__all__ = ["ConstraintTest", "constraint_tests"]

_ROUNDING = 1e-6


class ConstraintTest(NamedTuple):
    """What is lost without a constraint.

    Attributes
    ----------
    constraint : str
    log_likelihood : float
        Of the grammar without it, at its optimum.
    statistic : float
        Twice the loss.
    p_value : float
    bic : float
        BIC without the constraint less BIC with it: above 0, the constraint is worth its weight.
    """

    constraint: str
    log_likelihood: float
    statistic: float
    p_value: float
    bic: float


def constraint_tests(tableaux: Tableaux, *, non_negative: bool = True) -> list[ConstraintTest]:
    """A test of every constraint, in their order.

    Parameters
    ----------
    tableaux : Tableaux
        Frequencies are counts.
    non_negative : bool
        As in `fit_maxent`.

    Raises
    ------
    InputError
        Nothing was observed.
    """
    full = fit_maxent(tableaux, non_negative=non_negative).log_likelihood
    tokens = float(tableaux.frequency.sum())
    found = []
    for at, name in enumerate(tableaux.constraints):
        others = tableaux._replace(
            constraints=tableaux.constraints[:at] + tableaux.constraints[at + 1 :],
            violations=np.delete(tableaux.violations, at, axis=1),
        )
        without = fit_maxent(others, non_negative=non_negative).log_likelihood if others.constraints else None
        if without is None:
            sizes = np.diff(tableaux.start)[tableaux.input_of()]
            without = -float(tableaux.frequency @ np.log(sizes))
        statistic = max(0.0, 2.0 * (full - without))
        # What the search for the optimum leaves is no loss.
        is_nothing = statistic <= _ROUNDING
        p_value = 1.0 if is_nothing else float(stats.chi2.sf(statistic, 1)) * (0.5 if non_negative else 1.0)
        found.append(ConstraintTest(name, without, statistic, p_value, statistic - math.log(tokens)))
    return found
