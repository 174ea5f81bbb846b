"""Grammars whose sentences have parameters of their own: what hierarchical priors are learnt from.

Under a prior that is itself learnt, each sentence draws its own multinomials (Cohen, Gimpel and Smith 2008,
section 3). A unit is a sentence, or all that are equal to it. It has a copy of each multinomial that its
derivations may use; those it cannot use keep their prior and need no place. Copies stand one after the other,
unit by unit, and a grammar has to tell one thing: the expected uses of all their choices under given weights,
and the log total weight of each unit. `independent_units` makes that from one function of shared weights per
sentence, for any grammar; the dependency model has a faster one.

The fact a newcomer would get wrong: equal sentences have equal posteriors, so a unit's copies are kept once,
and all that is summed over units counts them by `multiplicity`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from monolingual.priors.estimators import Expectations
from monolingual.priors.multinomials import Families

__all__ = ["Units", "choices_of_copies", "copies_per_family", "independent_units", "units_of_copies"]


class Units(NamedTuple):
    """Which unit has a copy of which multinomial, and what the grammar makes of them.

    Attributes
    ----------
    families : Families
        The grammar's multinomials.
    family, unit : int64, shape (I,)
        Of each copy.
    start : int64, shape (I + 1,)
        The choices of copy i are start[i] … start[i + 1] − 1.
    multiplicity : float64, shape (U,)
        How many sentences a unit stands for.
    expectations : callable
        From weights of all copies, float64 of shape (start[-1],), to expected counts, alike, each unit
        counted once, and the log total weights of the units, float64 of shape (U,).
    """

    families: Families
    family: np.ndarray
    unit: np.ndarray
    start: np.ndarray
    multiplicity: np.ndarray
    expectations: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def units_of_copies(
    families: Families,
    family: np.ndarray,
    unit: np.ndarray,
    multiplicity: np.ndarray,
    expectations: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> Units:
    """Units with the given copies: the fields of `Units` but for `start`."""
    sizes = np.diff(families.start)[family]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Units(families, family, unit, start, multiplicity, expectations)


def independent_units(families: Families, sentences: Sequence[Expectations]) -> Units:
    """Units of a grammar from the expected counts of each of its sentences.

    Parameters
    ----------
    families : Families
    sentences : sequence of callables
        Expected counts and log total weight of one sentence, as a function of all weights. Each may use
        every multinomial.
    """
    size = len(families.start) - 1

    def expectations(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = weights.reshape(len(sentences), -1)
        found = [sentence(row) for sentence, row in zip(sentences, rows, strict=True)]
        return np.concatenate([counts for counts, _ in found]), np.array([total for _, total in found])

    return units_of_copies(
        families,
        np.tile(np.arange(size), len(sentences)),
        np.repeat(np.arange(len(sentences)), size),
        np.ones(len(sentences)),
        expectations,
    )


def choices_of_copies(units: Units) -> np.ndarray:
    """For each choice of each copy its number in the grammar: int64, shape (start[-1],)."""
    shift = units.families.start[units.family] - units.start[:-1]
    return np.arange(units.start[-1]) + np.repeat(shift, np.diff(units.start))


def copies_per_family(units: Units) -> np.ndarray:
    """How many sentences have a copy of each multinomial: float64, shape (F,)."""
    return np.bincount(
        units.family, units.multiplicity[units.unit], minlength=len(units.families.start) - 1
    ).astype(np.float64)
