"""Shared logistic normals: multinomials that have parts of their softmax arguments in common.

Cohen and Smith (2009). There are normal experts, η_e ~ N(μ_e, Σ_e) in every sentence. Each multinomial has
one or more of them, and θ_k = softmax(Σ_e η_e / r_k), the average over its r_k experts. An expert that
several multinomials have ties them: what a sentence says of one moves the others. With one expert for each
this is the logistic normal as it was. The paper's experts may be cut into segments for several multinomials;
here every expert is as long as the multinomials that have it.

The fact a newcomer would get wrong: experts are drawn once in each sentence. Two verbs of one sentence share
the draw itself; verbs of different sentences share its distribution alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monolingual.priors.covariances import Copies, copies_of
from monolingual.priors.multinomials import Families, families_of_sizes
from monolingual.priors.sentence_units import Units
from monolingual.priors.shared_e_step import Links
from scfg_sampler.errors import SettingsError

__all__ = ["Experts", "arguments_of", "expert_means", "experts_of_groups", "links_of"]


class Experts(NamedTuple):
    """Normal experts, and which multinomial has which.

    Attributes
    ----------
    families : Families
        The experts' vectors.
    first, expert : int64, shapes (F + 1,) and (L,)
        The experts of multinomial k are expert[first[k]:first[k + 1]], all as long as the multinomial.
    """

    families: Families
    first: np.ndarray
    expert: np.ndarray


def experts_of_groups(families: Families, groups: Sequence[Sequence[int]]) -> Experts:
    """An expert for each multinomial alone, and one for each group of multinomials.

    Parameters
    ----------
    families : Families
    groups : sequences of int
        Multinomials of equal length.

    Raises
    ------
    SettingsError
        The multinomials of a group are of different lengths.
    """
    sizes = np.diff(families.start)
    mine: list[list[int]] = [[k] for k in range(len(sizes))]
    lengths = sizes.tolist()
    for group in groups:
        if len(set(sizes[list(group)].tolist())) != 1:
            raise SettingsError("multinomials that share an expert must have equally many choices")
        for k in group:
            mine[k].append(len(lengths))
        lengths.append(int(sizes[group[0]]))
    first = np.concatenate([[0], np.cumsum([len(own) for own in mine])]).astype(np.int64)
    return Experts(families_of_sizes(lengths), first, np.array([e for own in mine for e in own], np.int64))


def expert_means(families: Families, experts: Experts, arguments: np.ndarray) -> np.ndarray:
    """Means whose averages are given arguments, where one of the experts is a multinomial's alone.

    Experts of several multinomials have the mean of their arguments.
    """
    multinomial = np.repeat(np.arange(len(families.start) - 1), np.diff(experts.first))
    found = np.zeros(int(experts.families.start[-1]))
    uses = np.bincount(experts.expert, minlength=len(experts.families.start) - 1)
    for expert in np.flatnonzero(uses > 1).tolist():
        rows = [_some(families, arguments, k) for k in multinomial[experts.expert == expert].tolist()]
        _some(experts.families, found, expert)[:] = np.mean(rows, axis=0)
    for k in range(len(families.start) - 1):
        mine = experts.expert[experts.first[k] : experts.first[k + 1]]
        alone = mine[uses[mine] == 1]
        rest = len(mine) * _some(families, arguments, k)
        rest = rest - sum(_some(experts.families, found, e) for e in mine if uses[e] > 1)
        for expert in alone:
            _some(experts.families, found, expert)[:] = rest / len(alone)
    return found


def arguments_of(families: Families, experts: Experts, mean: np.ndarray) -> np.ndarray:
    """The softmax arguments of all multinomials at η = μ: float64, shape (R,)."""
    found = np.zeros(int(families.start[-1]))
    for k in range(len(families.start) - 1):
        mine = experts.expert[experts.first[k] : experts.first[k + 1]]
        _some(families, found, k)[:] = np.mean([_some(experts.families, mean, e) for e in mine], axis=0)
    return found


def _some(families: Families, values: np.ndarray, k: int) -> np.ndarray:
    """The values of one family, as a view."""
    return values[families.start[k] : families.start[k + 1]]


def links_of(units: Units, experts: Experts, *, unused: str) -> tuple[Links, Copies]:
    """The copies of experts that sentences have, and which multinomial copies they are for.

    Parameters
    ----------
    units : Units
    experts : Experts
    unused : str
        As in `logistic_normal_kernel`.
    """
    num_experts = len(experts.families.start) - 1
    counts = np.diff(experts.first)[units.family]
    expert_first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    within = np.arange(expert_first[-1]) - np.repeat(expert_first[:-1], counts)
    expert = experts.expert[np.repeat(experts.first[units.family], counts) + within]
    keys, which = np.unique(np.repeat(units.unit, counts) * num_experts + expert, return_inverse=True)
    multinomial = np.repeat(np.arange(len(units.family)), counts)[np.argsort(which, kind="stable")]
    first = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=len(keys)))]).astype(np.int64)
    times = units.multiplicity[keys // num_experts]
    used = np.bincount(keys % num_experts, times, minlength=num_experts)
    others = units.multiplicity.sum() - used if unused == "averaged" else np.zeros(num_experts)
    copies = copies_of(experts.families, keys % num_experts, times, others)
    return Links(units.start, copies.start, first, multinomial, expert_first, which.astype(np.int64)), copies
