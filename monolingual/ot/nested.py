"""Likelihood-ratio tests: does a maximum-entropy grammar need all of its constraints?

Of two grammars fitted to the same tokens without a prior, the smaller with some of the constraints of the
larger,

    2 (log L(large) − log L(small))

follows χ² with as many degrees of freedom as there are constraints added, if the data come from the smaller
one and are many (Wilks 1938): p is the chance of such a gain, or more.

Constraints that are added may say nothing new, their violations being a combination of those of the others
within every input that was observed. Without bounds such ones are no degrees of freedom. With weights that
must not fall below 0 they can be (a constraint and its reverse), and all are counted.

The fact a newcomer would get wrong: a weight that must not fall below 0 is on its bound where the smaller
grammar is right, which Wilks' theorem does not allow for. Half of the time nothing is gained then, and with
one constraint added the chance is half of what χ² says (Chernoff 1954).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.ot.comparison import other_data
from monolingual.ot.grammar import Grammar, log_likelihood, predict, read_summary
from monolingual.ot.tableaux import Tableaux, with_constraints
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = ["RatioTest", "constraint_rank", "ratio_test"]

_ROUNDING = 1e-6
"""By how much the larger of two grammars may fit worse, per token, as optimisers stop a little early."""


class RatioTest(NamedTuple):
    """A likelihood-ratio test.

    Attributes
    ----------
    small, large : str
        The grammars.
    added : tuple of str
        The constraints that only the larger has.
    statistic : float
        Twice the difference of log likelihoods, not negative.
    df : int
        Degrees of freedom.
    p : float
        The chance of such a statistic or a larger one under χ²; 1 without degrees of freedom.
    p_bounded : float or None
        The same where one constraint was added, weights must not fall below 0, and no other weight is 0.
    idle : int
        How many of the constraints added say nothing that the others do not.
    has_no_optimum : bool
        Whether weights of either grow without end, so that p is a rough guess.
    """

    small: str
    large: str
    added: tuple[str, ...]
    statistic: float
    df: int
    p: float
    p_bounded: float | None
    idle: int
    has_no_optimum: bool


class _Fitted(NamedTuple):
    """A maximum-entropy grammar, what its summary says, and the log likelihood of tableaux."""

    name: str
    grammar: Grammar
    summary: Mapping[str, Any]
    log_likelihood: float


def ratio_test(one: PathLike, other: PathLike, tableaux: Tableaux) -> RatioTest:
    """The likelihood-ratio test of two nested maximum-entropy grammars.

    Parameters
    ----------
    one, other : path
        Directories of `ot maxent`, in any order.
    tableaux : Tableaux
        What both were learnt from, with the constraints of both.

    Raises
    ------
    InputError
        A grammar is not one of maximum entropy, had a prior, or was learnt from other tokens; neither has all
        constraints of the other; or only one had bounds.
    """
    small, large = sorted(
        (_fitted(run, tableaux) for run in (one, other)), key=lambda fitted: len(fitted.grammar.constraints)
    )
    added = _added(small, large)
    is_bounded = _is_bounded(large)
    if _is_bounded(small) != is_bounded:
        found = "may have weights below 0, and the other one not"
        raise InputError(
            small.name if is_bounded else large.name,
            None,
            found,
            "Fit both with --no-non-negative, or neither",
        )
    gain = large.log_likelihood - small.log_likelihood
    if gain < -_ROUNDING * max(1.0, float(tableaux.frequency.sum())):
        found = f"has the constraints of {small.name} and more, and fits worse, by {-gain:g}"
        raise InputError(large.name, None, found, "Fit it again")
    gained = constraint_rank(with_constraints(tableaux, large.grammar.constraints)) - constraint_rank(
        with_constraints(tableaux, small.grammar.constraints)
    )
    idle, statistic = len(added) - gained, max(2.0 * gain, 0.0)
    df = len(added) if is_bounded else gained
    p = _chance(statistic, df)
    is_inside = is_bounded and len(added) == gained == 1 and bool((small.grammar.value > 0.0).all())
    has_no_optimum = any(fitted.summary.get("separation") is not None for fitted in (small, large))
    return RatioTest(
        small.name,
        large.name,
        added,
        statistic,
        df,
        p,
        (0.5 * p if statistic > 0.0 else 1.0) if is_inside else None,
        idle,
        has_no_optimum,
    )


def constraint_rank(tableaux: Tableaux) -> int:
    """How many weights can be told apart: the rank of differences of violations within inputs.

    Inputs of which nothing was observed say nothing.
    """
    input_of = tableaux.input_of()
    is_observed = np.bincount(input_of, tableaux.frequency, minlength=len(tableaux.inputs))[input_of] > 0
    differences = tableaux.violations - tableaux.violations[tableaux.start[:-1]][input_of]
    return int(np.linalg.matrix_rank(differences[is_observed])) if is_observed.any() else 0


def _fitted(run: PathLike, tableaux: Tableaux) -> _Fitted:
    """A grammar that can be tested."""
    if Path(run).is_file() and Path(run).suffix != ".json":
        raise InputError(run, None, "is no grammar of 'ot maxent'", "Name a directory that it has written")
    grammar, summary = read_summary(run)
    if grammar.model != "maxent":
        hint = "A likelihood-ratio test is for grammars of 'ot maxent'"
        raise InputError(run, None, f"is a grammar of {grammar.model}", hint)
    if summary.get("prior_variance") is not None or "bias" in summary:
        hint = "Fit it without --prior-variance, --cross-validate and --bias"
        raise InputError(run, None, "was learnt with a prior, so its likelihood is not the highest", hint)
    if missing := [name for name in grammar.constraints if name not in tableaux.constraints]:
        found = f"has the constraint {missing[0]!r}, which the tableaux have not"
        raise InputError(run, None, found, "Give tableaux with the constraints of both")
    if other_data(run, tableaux):
        hint = "Give the tableaux that both were learnt from"
        raise InputError(run, None, "was learnt from other candidates or frequencies", hint)
    own = with_constraints(tableaux, grammar.constraints)
    return _Fitted(str(run), grammar, summary, log_likelihood(own, predict(grammar, own)))


def _added(small: _Fitted, large: _Fitted) -> tuple[str, ...]:
    """The constraints that only the larger has; raises InputError unless the grammars are nested."""
    if missing := [name for name in small.grammar.constraints if name not in large.grammar.constraints]:
        found = (
            f"has not the constraint {missing[0]!r} of {small.name}, which has no more than it: not nested"
        )
        raise InputError(large.name, None, found, "A likelihood-ratio test is of a grammar and a part of it")
    added = tuple(name for name in large.grammar.constraints if name not in small.grammar.constraints)
    if not added:
        found = f"has the same constraints as {small.name}"
        raise InputError(large.name, None, found, "A likelihood-ratio test is of a grammar and a part of it")
    return added


def _is_bounded(fitted: _Fitted) -> bool:
    """Whether weights were not allowed to fall below 0; of older summaries, whether none is."""
    return bool(fitted.summary.get("non_negative", (fitted.grammar.value >= 0.0).all()))


def _chance(statistic: float, df: int) -> float:
    """The upper tail of χ²."""
    if df == 0:
        return 1.0
    from scipy import special  # Here, as it takes longer to load than the rest.

    return float(special.chdtrc(df, statistic))
