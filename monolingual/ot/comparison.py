"""Comparing grammars: likelihood, information criteria, leave-one-out, all per token.

For single grammars, with k fitted values and n tokens, AIC = 2k − 2 log L, BIC = k log n − 2 log L, and
for few tokens AICc = AIC + 2k (k + 1) / (n − k − 1) (Hurvich and Tsai 1989). For a posterior with draws s,

    lppd = Σ_c f_c log mean_s P_s(c),    p_WAIC = Σ_c f_c var_s log P_s(c),    WAIC = −2 (lppd − p_WAIC)

(Watanabe 2010; Gelman, Hwang and Vehtari 2014), and leaving one token out, by importance sampling,

    LOO = −2 Σ_c f_c log (1 / mean_s (1/P_s(c))).

On this scale all of them estimate −2 × the log likelihood of as many new tokens: smaller is better.

Of probabilities there are none of these criteria, as n is not known.

Grammars are compared on the same tokens: those that some grammar gives no chance at all (a harmonically
bounded winner has none in Optimality Theory) are left out for all, else likelihoods are of different data.

The fact a newcomer would get wrong: a token is one observation here, so equal winners of an input share
their terms. Leaving out a whole input is another question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monolingual.ot.exact import winning_probs
from monolingual.ot.formats import read_tableaux
from monolingual.ot.grammar import (
    Grammar,
    aligned,
    correlation,
    log_likelihood,
    predict,
    read_any,
    read_summary,
)
from monolingual.ot.run import read_draws
from monolingual.ot.tableaux import Tableaux, are_probabilities, with_constraints
from scfg_sampler.core.files import PathLike
from scfg_sampler.errors import InputError

__all__ = [
    "Comparison",
    "compare",
    "comparison_record",
    "criteria",
    "mean_prediction",
    "other_data",
    "posterior_probs",
]

_MOST_DRAWS = 1000


class Comparison(NamedTuple):
    """A grammar in a comparison; criteria that do not apply are NaN.

    Attributes
    ----------
    name, model : str
    log_likelihood : float
        At the point estimate, of the tokens that no grammar of the comparison excludes; so are the criteria.
    excluded : float
        How many tokens this grammar gives no chance.
    correlation : float
        Of observed and predicted shares.
    parameters : int
        Fitted values: one fewer than there are constraints in Stochastic OT, where only differences count.
    aic, aicc, bic, waic, loo : float
    """

    name: str
    model: str
    log_likelihood: float
    excluded: float
    correlation: float
    parameters: int
    aic: float
    aicc: float
    bic: float
    waic: float
    loo: float


def compare(runs: Sequence[PathLike], tableaux: Tableaux) -> tuple[list[Comparison], np.ndarray]:
    """How grammars on disk fit tableaux.

    Parameters
    ----------
    runs : sequence of path
        Directories that `ot sample`, `fit`, `gla` or `maxent` has written, or grammars of Praat. Each is
        asked for the constraints that it has.
    tableaux : Tableaux

    Returns
    -------
    (list of Comparison, bool of shape (C,))
        The second says which observed candidates some grammar gives no chance.

    Raises
    ------
    InputError
        It is none, or has no constraint of the tableaux.
    """
    known = [read_any(run) for run in runs]
    own = [_own_tableaux(grammar, tableaux) for grammar, _ in known]
    grammars = [
        aligned(grammar, table, run) for run, (grammar, _), table in zip(runs, known, own, strict=True)
    ]
    probs = np.array([predict(grammar, table) for grammar, table in zip(grammars, own, strict=True)])
    seen = tableaux.frequency > 0
    impossible = seen & (probs <= 0.0).any(axis=0)
    possible = np.where(impossible, 0.0, tableaux.frequency)
    found = []
    for run, grammar, row, table, (_, summary) in zip(runs, grammars, probs, own, known, strict=True):
        common = table._replace(frequency=possible)
        entry = _fit(str(run), grammar, row, common)
        if are_probabilities(tableaux):
            entry = entry._replace(aic=math.nan, aicc=math.nan, bic=math.nan)
        elif "median" in summary:
            waic, loo = criteria(common, posterior_probs(run, table))
            entry = entry._replace(aic=math.nan, aicc=math.nan, bic=math.nan, waic=waic, loo=loo)
        excluded = float(tableaux.frequency[seen & (row <= 0.0)].sum())
        found.append(entry._replace(excluded=excluded, correlation=correlation(tableaux, row)))
    return found, impossible


def _own_tableaux(grammar: Grammar, tableaux: Tableaux) -> Tableaux:
    """The tableaux without constraints that the grammar has not; all of them if it has none."""
    names = [name for name in tableaux.constraints if name in grammar.constraints]
    return with_constraints(tableaux, names or tableaux.constraints)


def _fit(name: str, grammar: Grammar, probs: np.ndarray, tableaux: Tableaux) -> Comparison:
    """Likelihood, AIC, AICc and BIC of a single grammar."""
    fit, tokens = log_likelihood(tableaux, probs), float(tableaux.frequency.sum())
    telling = _telling_constraints(tableaux)
    k = telling - 1 if grammar.model == "stochastic-ot" and telling else telling
    bic = k * math.log(tokens) - 2.0 * fit if tokens > 0.0 else math.nan
    aic, spare = 2.0 * k - 2.0 * fit, tokens - k - 1.0
    aicc = aic + 2.0 * k * (k + 1.0) / spare if spare > 0.0 else math.nan
    return Comparison(name, grammar.model, fit, 0.0, math.nan, k, aic, aicc, bic, waic=math.nan, loo=math.nan)


def other_data(run: PathLike, tableaux: Tableaux) -> bool:
    """Whether a run, or that of a summary.json, was learnt from other candidates or frequencies.

    False if it does not say.
    """
    place = _directory(run) / "tableaux.tsv"
    if not place.is_file():
        return False
    return _observations(read_tableaux(place)) != _observations(tableaux)


def _directory(run: PathLike) -> Path:
    """The directory of a run, or of one that is named by its summary.json."""
    return Path(run).parent if Path(run).name == "summary.json" else Path(run)


def _observations(tableaux: Tableaux) -> dict[tuple[str, str], float]:
    forms = (tableaux.inputs[index] for index in tableaux.input_of())
    return dict(zip(zip(forms, tableaux.outputs, strict=True), tableaux.frequency.tolist(), strict=True))


def criteria(tableaux: Tableaux, probs: np.ndarray) -> tuple[float, float]:
    """WAIC and leave-one-out of draws, on the scale of −2 log likelihood.

    Parameters
    ----------
    tableaux : Tableaux
    probs : float64, shape (S, C)
        Of every candidate in every draw.

    Returns
    -------
    float, float
        Infinite if something observed is impossible.
    """
    seen = tableaux.frequency > 0
    frequency, chosen = tableaux.frequency[seen], probs[:, seen]
    if np.any(chosen <= 0):
        return math.inf, math.inf
    log_probs = np.log(chosen)
    penalty = log_probs.var(axis=0, ddof=1) if len(chosen) > 1 else np.zeros(len(frequency))
    waic = -2.0 * float(frequency @ (np.log(chosen.mean(axis=0)) - penalty))
    loo = 2.0 * float(frequency @ np.log((1.0 / chosen).mean(axis=0)))
    return waic, loo


def posterior_probs(run: PathLike, tableaux: Tableaux) -> np.ndarray:
    """The probability of every candidate in at most 1,000 draws of a run, float64 of shape (S, C).

    The run may be named by its summary.json, beside which the draws lie.

    Raises
    ------
    InputError
        It is not a run of `ot sample`, or lacks a constraint.
    """
    grammar, _ = read_summary(run)
    draws = read_draws(_directory(run))
    mean, deviation = np.concatenate(draws.mean), np.concatenate(draws.deviation)
    chosen = np.linspace(0, len(mean) - 1, min(len(mean), _MOST_DRAWS)).astype(np.int64)
    rows = [
        aligned(Grammar(grammar.model, grammar.constraints, mean[s], deviation[s]), tableaux, run)
        for s in chosen
    ]
    if not rows:
        raise InputError(run, None, "has no draw", "Go on with it by 'ot resume'")
    return np.array([winning_probs(tableaux, row.value, row.deviation) for row in rows])


def mean_prediction(run: PathLike, tableaux: Tableaux) -> np.ndarray:
    """The posterior mean of the probability of every candidate, float64 of shape (C,)."""
    return posterior_probs(run, tableaux).mean(axis=0)


def comparison_record(entry: Comparison) -> dict[str, Any]:
    """A comparison as a JSON object; what does not apply or is infinite is null."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in entry._asdict().items()
    }


def _telling_constraints(tableaux: Tableaux) -> int:
    """How many constraints tell candidates of some input apart of which something was observed.

    On the others, which have no tokens, the likelihood does not depend.
    """
    telling = np.zeros(len(tableaux.constraints), dtype=bool)
    for index in range(len(tableaux.inputs)):
        candidates = tableaux.candidates(index)
        rows = slice(candidates.start, candidates.stop)
        if tableaux.frequency[rows].any():
            telling |= np.ptp(tableaux.violations[rows], axis=0) > 0
    return int(telling.sum())
