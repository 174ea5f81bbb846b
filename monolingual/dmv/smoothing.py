"""Child choices smoothed by those of all heads together (Headden, Johnson and McClosky 2009).

A child of head h is drawn from h's own distribution or from one that forgets the head,

    P(c | h, d, v) = λ_own · own(c | h, d, v) + λ_other · other(c | d, v),

with λ of its own for every head h, direction d and adjacency v. Which of the two it was is one more hidden
choice, so that λ and `other` are multinomials like the rest, and whatever learns from expected counts learns
them too. Their prior is `favour` pseudo-counts for λ_other, which otherwise has no reason to live: the
likelihood is better without it. Where priors are learnt from sentences with multinomials of their own
(`smoothed_units`), λ begins at the mean of that prior instead; each sentence draws its own λ, and one `other`
for all its heads.

The fact a newcomer would get wrong: the chart sees the mixture alone. The count of an event is divided
between its two sources in proportion to what each contributes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monolingual.dmv.chart import expected_counts
from monolingual.dmv.layout import Corpus, Layout, num_parameters, own_parameters, parameter_families
from monolingual.dmv.model import parts
from monolingual.priors.estimators import Expectations
from monolingual.priors.multinomials import Families, families_of_sizes, normalise
from monolingual.priors.sentence_units import Units, units_of_copies

__all__ = [
    "Smoothed",
    "initial_mixture",
    "mixed",
    "mixture_covariances",
    "mixture_families",
    "mixture_prior",
    "point",
    "smoothed_expectations",
    "smoothed_units",
]


class Smoothed(NamedTuple):
    """Views of the parameters of a smoothed model.

    Attributes
    ----------
    base : float64
        Those of the model, `own` in the place of its child distributions.
    other : float64, shape (2, V, T)
        By direction, adjacency and child.
    share : float64, shape (T, 2, V, 2)
        λ by head, direction, adjacency: own, other.
    """

    base: np.ndarray
    other: np.ndarray
    share: np.ndarray


def _split(layout: Layout, values: np.ndarray) -> Smoothed:
    """The parts of an array in the order of `mixture_families`."""
    tags, valences = layout.num_tags, layout.child_valences
    first = num_parameters(layout)
    second = first + 2 * valences * tags
    other = values[first:second].reshape(2, valences, tags)
    return Smoothed(values[:first], other, values[second:].reshape(tags, 2, valences, 2))


def mixture_families(layout: Layout) -> Families:
    """The multinomials of a smoothed model: those of the model, `other`, λ."""
    sizes = np.diff(parameter_families(layout).start).tolist()
    tags, valences = layout.num_tags, layout.child_valences
    return families_of_sizes([*sizes, *[tags] * (2 * valences), *[2] * (2 * valences * tags)])


def initial_mixture(layout: Layout, probs: np.ndarray, favour: float = 0.0) -> np.ndarray:
    """Parameters close to a model: its own, the average of all heads, λ in proportion to 1, 1 + favour."""
    _, _, child = parts(layout, probs)
    other = child.mean(axis=0)
    share = np.tile(
        np.array([1.0, 1.0 + favour]) / (2.0 + favour), 2 * layout.child_valences * layout.num_tags
    )
    return np.concatenate([probs, other.ravel(), share])


def mixture_covariances(layout: Layout, flat: np.ndarray) -> np.ndarray:
    """Covariances of the multinomials of a smoothed model: of all children alike, identity for λ.

    Parameters
    ----------
    layout : Layout
    flat : float64
        Those of the model, all matrices row by row.
    """
    kinds = 2 * layout.child_valences
    children = flat[-(layout.num_tags**2) :]
    return np.concatenate(
        [flat, np.tile(children, kinds), np.tile([1.0, 0.0, 0.0, 1.0], kinds * layout.num_tags)]
    )


def mixture_prior(layout: Layout, prior: float, favour: float) -> np.ndarray:
    """Concentrations: `prior` everywhere, and `favour` more for λ_other."""
    values = np.full(int(mixture_families(layout).start[-1]), prior)
    _split(layout, values).share[..., 1] += favour
    return values


def mixed(layout: Layout, values: np.ndarray) -> np.ndarray:
    """The model's parameters, with mixtures for child distributions.

    Parameters
    ----------
    layout : Layout
    values : float64
        Weights of the multinomials of `mixture_families`.
    """
    base, other, share = _split(layout, values)
    found = base.copy()
    _, _, child = parts(layout, found)
    child *= share[..., :1]
    child += share[..., 1:] * other
    return found


def smoothed_expectations(layout: Layout, expectations: Expectations) -> Expectations:
    """Expected counts of the smoothed model from those of the model."""

    def counts_of(values: np.ndarray) -> tuple[np.ndarray, float]:
        base, _, share = _split(layout, values)
        mixture = mixed(layout, values)
        counts, total = expectations(mixture)
        found = np.zeros(len(values))
        new = _split(layout, found)
        new.base[:] = counts
        _, _, uses = parts(layout, new.base)
        weights, own = parts(layout, mixture)[2], parts(layout, base)[2]
        from_own = uses * np.divide(
            share[..., :1] * own, weights, out=np.zeros(uses.shape), where=weights > 0
        )
        from_other = uses - from_own
        uses[:] = from_own
        new.other[:] = from_other.sum(axis=0)
        new.share[..., 0] = from_own.sum(axis=-1)
        new.share[..., 1] = from_other.sum(axis=-1)
        return found, total

    return counts_of


def smoothed_units(layout: Layout, corpus: Corpus) -> Units:
    """Sentences with parameters of their own, those of the mixture among them.

    Copies of the model's multinomials come first, then λ of each child distribution, then `other`.
    """
    own, family, unit = own_parameters(layout, corpus)
    tags, kinds = layout.num_tags, 2 * layout.child_valences
    first_child, num_families = 1 + 4 * tags, 1 + (4 + kinds) * tags
    is_child = family >= first_child
    which = family[is_child] - first_child
    # One `other` of each direction and adjacency for all heads of a sentence.
    keys, mine = np.unique(unit[is_child] * kinds + which % kinds, return_inverse=True)
    families = mixture_families(layout)
    units = units_of_copies(
        families,
        np.concatenate([family, num_families + kinds + which, num_families + keys % kinds]),
        np.concatenate([unit, unit[is_child], keys // kinds]),
        corpus.multiplicity,
        lambda weights: counts_of(weights),
    )
    size = int(units.start[len(family)])
    choices = np.arange(tags)
    own_at = (units.start[: len(family)][is_child][:, None] + choices).astype(np.int64)
    share_at = units.start[len(family) : len(family) + len(which)]
    other_at = units.start[len(family) + len(which) :][mine][:, None] + choices

    def counts_of(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from_own = weights[share_at][:, None] * weights[own_at]
        mixture = from_own + weights[share_at + 1][:, None] * weights[other_at]
        base = weights[:size].copy()
        base[own_at] = mixture
        counts, totals = expected_counts(layout, own, base, multiply=False)
        uses = counts[own_at]
        from_own = uses * np.divide(from_own, mixture, out=np.zeros_like(mixture), where=mixture > 0.0)
        from_other = uses - from_own
        found = np.bincount(other_at.ravel(), from_other.ravel(), minlength=len(weights))
        found[:size] = counts
        found[own_at] = from_own
        found[share_at], found[share_at + 1] = from_own.sum(axis=1), from_other.sum(axis=1)
        return found, totals

    return units


def point(layout: Layout, values: np.ndarray) -> np.ndarray:
    """The model of normalised parameters."""
    return mixed(layout, normalise(mixture_families(layout), values))
