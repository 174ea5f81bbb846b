"""Cross-validation of the prior of maximum entropy: which variance predicts what was not learnt from.

Observations are dealt into folds at random; each fold is predicted from all others, once for every variance.
What is compared is the log likelihood of the observations left out, a token. With `by="input"`, whole
inputs are left out, so that what counts is how well a grammar carries over to words never heard.

The fact a newcomer would get wrong: folds are dealt once, and all variances are tried on the same ones, so
that differences between variances are not those of the dealing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monolingual.ot.harmonic import maxent_log_probs, maxent_weights
from monolingual.ot.tableaux import Tableaux
from scfg_sampler.errors import InputError, SettingsError

__all__ = ["UNITS", "VARIANCES", "Validation", "cross_validate", "deal"]

VARIANCES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
UNITS = ("token", "input")
_MOST_TOKENS = 10_000_000


class Validation(NamedTuple):
    """What cross-validation found.

    Attributes
    ----------
    variances : tuple of V float
    held_out : float64, shape (V, K)
        The log likelihood of each fold, predicted from the others, under each variance.
    tokens : int64, shape (K,)
        Observations of each fold, none of them 0.
    """

    variances: tuple[float, ...]
    held_out: np.ndarray
    tokens: np.ndarray

    @property
    def per_token(self) -> np.ndarray:
        """The log likelihood of an observation left out, float64 of shape (V,)."""
        return self.held_out.sum(axis=1) / self.tokens.sum()

    @property
    def error(self) -> np.ndarray:
        """The standard error of `per_token` between folds, float64 of shape (V,)."""
        means = self.held_out / self.tokens
        return means.std(axis=1, ddof=1) / math.sqrt(len(self.tokens))

    @property
    def best(self) -> float:
        """The variance with the highest held-out likelihood; of equal ones the smallest."""
        return self.variances[int(np.argmax(self.per_token))]


def cross_validate(
    rng: np.random.Generator,
    tableaux: Tableaux,
    variances: Sequence[float] = VARIANCES,
    *,
    folds: int = 10,
    by: str = "token",
    non_negative: bool = True,
) -> Validation:
    """How well maximum-entropy grammars under each variance predict observations left out.

    Parameters
    ----------
    rng : numpy.random.Generator
        Deals the observations.
    tableaux : Tableaux
        With whole frequencies.
    variances : sequence of float
    folds : int
        At least 2; as many as there are observations leaves one out.
    by : str
        One of `UNITS`: what is dealt.
    non_negative : bool
        As in `fit_maxent`.

    Raises
    ------
    InputError
        Frequencies are not whole, or there are fewer tokens (or inputs) than folds.
    SettingsError
        A setting is out of range.
    """
    if folds < 2:
        raise SettingsError(f"--cross-validate is {folds}; it must be at least 2")
    wrong = [variance for variance in variances if not 0.0 < variance < math.inf]
    if wrong or not variances:
        raise SettingsError(f"--variances has {wrong[0]:g}" if wrong else "--variances is empty")
    parts = deal(rng, tableaux, folds, by)
    ordered = tuple(sorted(set(variances)))
    held_out = np.empty((len(ordered), folds))
    for fold, part in enumerate(parts):
        rest = tableaux._replace(frequency=tableaux.frequency - part)
        for row, variance in enumerate(ordered):
            weight = maxent_weights(rest, prior_variance=variance, non_negative=non_negative)
            held_out[row, fold] = float(part @ maxent_log_probs(tableaux, weight))
    return Validation(ordered, held_out, parts.sum(axis=1).astype(np.int64))


def deal(rng: np.random.Generator, tableaux: Tableaux, folds: int, by: str = "token") -> np.ndarray:
    """The frequencies of each fold, float64 of shape (folds, C), which sum to those of the tableaux.

    Folds differ by at most one token, or one input that was observed.

    Raises
    ------
    InputError
        Frequencies are not whole, or there are fewer tokens (or inputs) than folds.
    """
    frequency = tableaux.frequency
    if np.any(frequency != np.round(frequency)):
        raise InputError(
            None, None, "frequencies are not counts, so there are no tokens to leave out", "Give counts"
        )
    if by == "token" and frequency.sum() > _MOST_TOKENS:
        raise InputError(None, None, f"{frequency.sum():.0f} tokens are too many to deal", "Leave out inputs")
    owner = tableaux.input_of()
    seen = np.flatnonzero(np.bincount(owner, frequency, minlength=len(tableaux.inputs)))
    units = np.repeat(np.arange(len(frequency)), frequency.astype(np.int64)) if by == "token" else seen
    if len(units) < folds:
        raise InputError(
            None, None, f"{len(units)} {by}s were observed, too few for {folds} folds", "Ask for fewer"
        )
    place = rng.permutation(len(units)) % folds
    parts = np.zeros((folds, len(frequency)))
    if by == "token":
        np.add.at(parts, (place, units), 1.0)
    else:
        chosen = np.full(len(tableaux.inputs), -1)
        chosen[units] = place
        known = chosen[owner] >= 0
        parts[chosen[owner][known], np.flatnonzero(known)] = frequency[known]
    return parts
