"""What decoders return, and how a word is copied.

The fact a newcomer would get wrong: the edges of a derivation are numbers of the forest of the same
search, and say nothing without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from decoder.search.chart import Chart
from decoder.search.cube import Forest
from scfg_sampler.core.arrays.sparse import Rows

__all__ = [
    "Copy",
    "ForestPosterior",
    "KBestList",
    "ParsedSentence",
    "SearchResult",
    "Translation",
    "copied_to",
    "summed",
]

Copy = str | tuple[str, ...]  # What a source word becomes if it is copied.


class Translation(NamedTuple):
    """One derivation of a sentence.

    words : the target words
    score : weights · features
    features : float64 (F,), in the order of `Decoder.feature_names`
    edges : int32, the edges of the forest that it consists of, in preorder
    sparse : names and values of the features that few rules have, where they are not 0
    """

    words: list[str]
    score: float
    features: np.ndarray
    edges: np.ndarray
    sparse: tuple[tuple[str, float], ...] = ()

    @property
    def text(self) -> str:
        """The words in one line: a line break in a word, which a table may spell &#10;, becomes a blank."""
        return " ".join(self.words).replace("\n", " ")


class KBestList(NamedTuple):
    """K derivations in flat arrays.

    word_start, words : int64 (K + 1,), int32: ids of the target vocabulary, or beyond it for `extra_words`
    features : float64 (K, F)
    score : float64 (K,)
    extra_words : copied words that the target vocabulary lacks
    edge_start, edges : int64 (K + 1,), int32: edges of the forest, in preorder
    sparse : the features that few rules have, in the order of `Decoder.sparse_names`; None if there are none
    """

    word_start: np.ndarray
    words: np.ndarray
    features: np.ndarray
    score: np.ndarray
    extra_words: list[str]
    edge_start: np.ndarray
    edges: np.ndarray
    sparse: Rows | None = None


class ForestPosterior(NamedTuple):
    """What the derivations of a forest have in common, under probabilities exp(scale · score), normalised.

    features : float64 (F,), expected values, in the order of `Decoder.feature_names`
    edges : float64 (E,), the probability of each edge of the forest; 0 for those in no whole derivation
    uses : float64 (E,), the probability that the edge's rule is used in its cell, whatever the language-model
        states
    """

    features: np.ndarray
    edges: np.ndarray
    uses: np.ndarray


class ParsedSentence(NamedTuple):
    """The chart of a sentence, and what its words are should they be copied.

    copied : int64 (n + 1,), int32: the target words of each
    lm_ids : int32 (M, …), the ids that each language model has for these
    extra_words : the words beyond the target vocabulary
    """

    chart: Chart
    copied: tuple[np.ndarray, np.ndarray]
    lm_ids: np.ndarray
    extra_words: list[str]


def copied_to(copy: Copy) -> list[str]:
    """The words that a source word becomes if it is copied."""
    return [copy] if isinstance(copy, str) else list(copy)


def summed(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The values of features by name.

    A table may have a feature of the name of one of the decoder's own, such as Glue. Both have one weight,
    that of their name, so that together they are a feature whose value is the sum.
    """
    found: dict[str, float] = {}
    for name, value in values:
        found[name] = found[name] + value if name in found else value
    return found


class SearchResult(NamedTuple):
    """The chart and the forest of a sentence.

    copies : what each source word becomes if it is copied
    copied : int64 (n + 1,), int32: the ids of that as target words
    extra_words : the words beyond the target vocabulary
    """

    source: Sequence[str]
    copies: Sequence[Copy]
    chart: Chart
    forest: Forest
    copied: tuple[np.ndarray, np.ndarray]
    extra_words: list[str]
