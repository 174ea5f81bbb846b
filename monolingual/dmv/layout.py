"""Where the parameters of the dependency model with valence stand, and where its words find them.

Klein and Manning (2004), as in Cohen, Gimpel and Smith (2008), equation 12. With T tags the multinomials are,
in this order,

    root                                      1 of T      the tag of the sentence's head
    stop (head, direction, adjacency)        4T of 2      stop, or go on to one more dependent
    child (head, direction[, adjacency])  2VT of T        the dependent's tag

Directions are left (0) and right (1). A decision is adjacent (0) if the head has no dependent on that side
yet, and not adjacent (1) otherwise. V is 1 in the model as published, 2 if child choices depend on adjacency
as well (the extended valence grammar of Headden, Johnson and McClosky 2009).

A chart does not know whether all sentences share one set of parameters or each has its own (as in the
logistic normal's E-step): a `Corpus` tells for each word where its head's parameters begin.

The fact a newcomer would get wrong: adjacency belongs to the decision, which comes before the dependent. The
first dependent on a side is an adjacent "go on", and the "stop" after it is not adjacent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from monolingual.priors.multinomials import Families, families_of_sizes

__all__ = [
    "ADJACENCIES",
    "DIRECTIONS",
    "Corpus",
    "Layout",
    "build_corpus",
    "num_parameters",
    "own_parameters",
    "parameter_families",
]

DIRECTIONS = ("left", "right")
ADJACENCIES = ("adjacent", "further")


class Layout(NamedTuple):
    """The size of a model.

    Attributes
    ----------
    num_tags : int
    child_valences : int
        1, or 2 if child choices depend on adjacency.
    """

    num_tags: int
    child_valences: int


class Corpus(NamedTuple):
    """Distinct tag sequences, how often each occurs, and where their parameters are.

    Attributes
    ----------
    words : int32
        The tags of all sequences, one after the other.
    start : int64, shape (S + 1,)
        Sequence s is words[start[s]:start[s + 1]].
    multiplicity : float64, shape (S,)
        How many sentences have it.
    root_at : int64, shape (S,)
        Where the root's multinomial begins among the parameters.
    stop_at : int64, shape (number of words, 2, 2)
        Where each word's stop multinomials begin, by direction and adjacency.
    child_at : int64, shape (number of words, 2, V)
        Where its child multinomials begin, by direction and, with V = 2, adjacency.
    """

    words: np.ndarray
    start: np.ndarray
    multiplicity: np.ndarray
    root_at: np.ndarray
    stop_at: np.ndarray
    child_at: np.ndarray


def num_parameters(layout: Layout) -> int:
    """How many probabilities the model has."""
    tags = layout.num_tags
    return tags + 8 * tags + 2 * layout.child_valences * tags * tags


def parameter_families(layout: Layout) -> Families:
    """The multinomials of the model."""
    tags = layout.num_tags
    return families_of_sizes([tags] + [2] * (4 * tags) + [tags] * (2 * layout.child_valences * tags))


def build_corpus(layout: Layout, sentences: Sequence[Sequence[int]], *, distinct: bool = True) -> Corpus:
    """A corpus of which all sentences share one set of parameters.

    Parameters
    ----------
    layout : Layout
    sentences : sequences of int
        Tags of each, at least one.
    distinct : bool
        Keep equal sequences once, in the order of their first occurrence, and count them.
    """
    rows = [tuple(row) for row in sentences]
    counted: dict[tuple[int, ...], int] = {}
    for row in rows:
        counted[row] = counted.get(row, 0) + 1
    kept = list(counted) if distinct else rows
    multiplicity = [counted[row] if distinct else 1 for row in kept]
    words = np.array([tag for row in kept for tag in row], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum([len(row) for row in kept])]).astype(np.int64)
    first = parameter_families(layout).start[:-1]
    tags, valences = layout.num_tags, layout.child_valences
    return Corpus(
        words,
        start,
        np.array(multiplicity, dtype=np.float64),
        np.zeros(len(kept), np.int64),
        first[1 : 1 + 4 * tags].reshape(tags, 2, 2)[words],
        first[1 + 4 * tags :].reshape(tags, 2, valences)[words],
    )


def own_parameters(layout: Layout, corpus: Corpus) -> tuple[Corpus, np.ndarray, np.ndarray]:
    """A corpus of which each sequence has its own copy of the multinomials that it can use.

    A tag that has no word on one side in a sequence can neither stop after a dependent nor choose one there;
    one that has a single word cannot choose a further one.

    Returns
    -------
    (corpus, families, owners)
        families : int64, which multinomial of the model each copy is of, in the order of the copies;
        owners : int64, alike, the sequence that it belongs to. Sequences come in order. What a word cannot
        use has the place of something else, and no weight there counts.
    """
    tags, valences = layout.num_tags, layout.child_valences
    root_at = np.zeros(len(corpus.multiplicity), np.int64)
    stop_at, child_at = np.zeros_like(corpus.stop_at), np.zeros_like(corpus.child_at)
    families: list[int] = []
    owners: list[int] = []
    at = 0
    for sequence in range(len(root_at)):
        begin, end = corpus.start[sequence], corpus.start[sequence + 1]
        words = corpus.words[begin:end].tolist()
        root_at[sequence] = at
        at += tags
        before = len(families)
        families.append(0)
        for tag in dict.fromkeys(words):
            positions = [place for place, word in enumerate(words) if word == tag]
            found = begin + np.array(positions)
            for direction, room in enumerate((positions[-1], len(words) - 1 - positions[0])):
                first = 1 + 4 * tag + 2 * direction
                for valence in range(min(room, 1) + 1):
                    stop_at[found, direction, valence:] = at
                    families.append(first + valence)
                    at += 2
                first = 1 + 4 * tags + valences * (2 * tag + direction)
                for valence in range(min(room, valences)):
                    child_at[found, direction, valence:] = at
                    families.append(first + valence)
                    at += tags
        owners.extend([sequence] * (len(families) - before))
    own = corpus._replace(root_at=root_at, stop_at=stop_at, child_at=child_at)
    return own, np.array(families, np.int64), np.array(owners, np.int64)
