"""Tag families: which tags are expected to behave alike, and covariances that say so.

Cohen, Gimpel and Smith (2008) begin with covariance 0.5 between tags of one family in all child
distributions; the families are those of `tag_sets.py`, or a file's.

The fact a newcomer would get wrong: families are a prior belief about the tags, not learnt; what EM makes of
them is.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np

from monolingual.dmv.layout import Layout, parameter_families
from monolingual.dmv.tag_sets import PENN, UNIVERSAL
from monolingual.priors.covariances import covariances, identity_covariances, square_starts
from monolingual.priors.shared_logistic_normal import Experts, experts_of_groups
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.core.wording import counted
from scfg_sampler.errors import InputError, SettingsError

__all__ = [
    "expert_covariances",
    "family_covariances",
    "family_experts",
    "read_families",
    "shipped_families",
]


def shipped_families(tags: Sequence[str]) -> dict[str, str]:
    """Whichever of `PENN` and `UNIVERSAL` knows more of the tags."""
    return max((PENN, UNIVERSAL), key=lambda mapping: sum(tag in mapping for tag in tags))


def read_families(path: PathLike) -> dict[str, str]:
    """A file of families: on each line a tag and its family.

    Raises
    ------
    InputError
        Names the line that does not have two fields, or a tag that is there twice; or there is no tag.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) != 2:
            raise InputError(path, number, counted(len(fields), "field"), "Write a tag and its family")
        if fields[0] in found:
            raise InputError(path, number, f"the tag {fields[0]} is there twice", "Keep one of them")
        found[fields[0]] = sys.intern(fields[1])
    if not found:
        raise InputError(path, None, "names no tag", "Write a tag and its family on each line")
    return found


def family_covariances(
    layout: Layout, tags: Sequence[str], mapping: Mapping[str, str], *, covariance: float = 0.5
) -> np.ndarray:
    """Matrices for all multinomials: 1 on the diagonal, `covariance` within families of child distributions.

    Parameters
    ----------
    layout : Layout
    tags : sequence of str
    mapping : dict
        From tags to families. A tag that it lacks is a family of its own.
    covariance : float
        In [0, 1).
    """
    families = parameter_families(layout)
    flat = identity_covariances(families)
    names = [mapping.get(tag, f"\0{tag}") for tag in tags]
    same = np.array([[a == b for b in names] for a in names])
    block = np.where(np.eye(len(tags), dtype=bool), 1.0, covariance * same)
    for matrix in covariances(families, flat)[1 + 4 * layout.num_tags :]:
        matrix[:] = block
    return flat


def family_experts(
    layout: Layout, tags: Sequence[str], mapping: Mapping[str, str], names: Sequence[str]
) -> Experts:
    """Experts that heads of one family share, for each kind of stop and child, beside those of their own.

    Parameters
    ----------
    layout : Layout
    tags : sequence of str
    mapping : dict
        From tags to families.
    names : sequence of str
        Families; or "all" of them, or "one" expert for all tags together.

    Raises
    ------
    SettingsError
        No tag is of a family of that name.
    """
    if list(names) == ["one"]:
        members = [list(range(len(tags)))]
    else:
        known = sorted({mapping[tag] for tag in tags if tag in mapping})
        unknown = [name for name in names if name not in known and name != "all"]
        if unknown:
            raise SettingsError(
                f"--share {unknown[0]}: no tag is of that family; there are {', '.join(known)}"
            )
        chosen = known if "all" in names else list(names)
        members = [[at for at, tag in enumerate(tags) if mapping.get(tag) == name] for name in chosen]
    kinds = 2 * layout.child_valences
    groups = []
    for heads in (heads for heads in members if len(heads) > 1):
        groups += [[1 + 4 * head + kind for head in heads] for kind in range(4)]
        first = 1 + 4 * layout.num_tags
        groups += [[first + kinds * head + kind for head in heads] for kind in range(kinds)]
    return experts_of_groups(parameter_families(layout), groups)


def expert_covariances(layout: Layout, experts: Experts, flat: np.ndarray) -> np.ndarray:
    """Matrices for all experts: each has that of the first multinomial it is for.

    Parameters
    ----------
    layout : Layout
    experts : Experts
    flat : float64
        Those of all multinomials.
    """
    multinomial = np.repeat(np.arange(len(experts.first) - 1), np.diff(experts.first))
    squares = square_starts(parameter_families(layout))
    _, first = np.unique(experts.expert, return_index=True)
    return np.concatenate([flat[squares[k] : squares[k + 1]] for k in multinomial[first]])
