"""Tag families: which tags are expected to behave alike, and covariances that say so.

Cohen, Gimpel and Smith (2008) begin with covariance 0.5 between tags of one family in all child
distributions, over twelve families that they name but do not list; `PENN` is our reading of them, with
determiners among the pronouns, and `UNIVERSAL` the same families over the tags of Universal Dependencies.

The fact a newcomer would get wrong: families are a prior belief about the tags, not learnt; what EM makes of
them is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from monolingual.dmv.layout import Layout, parameter_families
from monolingual.logistic_normal import covariances, identity_covariances
from scfg_sampler.core.files import PathLike, read_lines
from scfg_sampler.errors import InputError

__all__ = ["PENN", "UNIVERSAL", "family_covariances", "read_families", "shipped_families"]

PENN: dict[str, str] = {
    tag: family
    for family, tags in {
        "adjective": "JJ JJR JJS AFX",
        "adverb": "RB RBR RBS WRB",
        "conjunction": "CC",
        "foreign": "FW",
        "interjection": "UH",
        "noun": "NN NNS GW",
        "number": "CD LS $ SYM",
        "particle": "RP POS",
        "preposition": "IN TO",
        "pronoun": "PRP PRP$ WP WP$ EX DT PDT WDT",
        "proper": "NNP NNPS ADD",
        "verb": "VB VBD VBG VBN VBP VBZ MD",
    }.items()
    for tag in tags.split()
}

UNIVERSAL: dict[str, str] = {
    tag: family
    for family, tags in {
        "adjective": "ADJ",
        "adverb": "ADV",
        "conjunction": "CCONJ SCONJ",
        "foreign": "X",
        "interjection": "INTJ",
        "noun": "NOUN",
        "number": "NUM SYM",
        "particle": "PART",
        "preposition": "ADP",
        "pronoun": "PRON DET",
        "proper": "PROPN",
        "verb": "VERB AUX",
    }.items()
    for tag in tags.split()
}


def shipped_families(tags: Sequence[str]) -> dict[str, str]:
    """Whichever of `PENN` and `UNIVERSAL` knows more of the tags."""
    return max((PENN, UNIVERSAL), key=lambda mapping: sum(tag in mapping for tag in tags))


def read_families(path: PathLike) -> dict[str, str]:
    """A file of families: on each line a tag and its family.

    Raises
    ------
    InputError
        Names the line that does not have two fields, or a tag that is there twice.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split()
        if not fields or line.startswith("#"):
            continue
        if len(fields) != 2:
            raise InputError(path, number, f"{len(fields)} fields", "Write a tag and its family")
        if fields[0] in found:
            raise InputError(path, number, f"the tag {fields[0]} is there twice", "Keep one of them")
        found[fields[0]] = fields[1]
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
