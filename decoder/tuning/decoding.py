"""The translations of a development set under weights that change from round to round.

A guided search finds what `translate` will, but its lists are of one mind, and those of two or three words
hold a translation or two. So where the decoder is guided, the k best of the search without guidance follow.

The fact a newcomer would get wrong: what is sent to other processes of a round are its weights. They have the
rest, and rank the rules anew themselves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from decoder.translation.decoder import Decoder
from decoder.tuning.metrics import Translations, metric_of
from decoder.tuning.settings import TuneSettings, resolved
from scfg_sampler.core.arrays import sparse
from scfg_sampler.core.arrays.sparse import Rows
from scfg_sampler.core.executors import Executor
from scfg_sampler.core.streams import ordered

__all__ = ["Decoded", "decoded", "passes_left", "saved_round"]


def saved_round(state: Path, index: int) -> Path:
    """Where a finished round is saved, in the directory of a tuning."""
    return state / f"round-{index:03d}.npz"


def passes_left(settings: TuneSettings, state: Path | None = None) -> int:
    """How often the development set is decoded at the most: for rounds that are not saved, and their mean."""
    rounds = range(settings.rounds + 1)
    saved = 0 if state is None else sum(saved_round(state, index).exists() for index in rounds)
    return len(rounds) - saved + (resolved(settings).within != 0)


class Decoded(NamedTuple):
    """The best translations of a sentence: k of a search, the best first, and maybe k of another.

    counts : int64 (K, C), those of the metric
    features : float64 (K, F)
    sparse : K rows of features that few rules have
    """

    counts: np.ndarray
    features: np.ndarray
    sparse: Rows


@contextlib.contextmanager
def decoded(
    decoder: Decoder,
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[Sequence[str]]],
    settings: TuneSettings,
    where: int | Executor,
) -> Iterator[Callable[[np.ndarray], Iterator[Decoded]]]:
    """A function of weights, which gives the translations of all sentences, in order.

    Parameters
    ----------
    sources, references, where : as for `decoder.tuning.tune.tune`
    """
    task = _Decoding(decoder, sources, references, settings)
    with ordered(task, where) as results:

        def under(weights: np.ndarray) -> Iterator[Decoded]:
            if isinstance(where, int):
                task.under(weights)  # Once, before several threads ask for it.
            return results((weights, sentence) for sentence in range(len(sources)))

        yield under


class _Decoding:
    """Decodes a sentence of the development set, given the weights and its number."""

    def __init__(
        self,
        decoder: Decoder,
        sources: Sequence[Sequence[str]],
        references: Sequence[Sequence[Sequence[str]]],
        settings: TuneSettings,
    ):
        self._decoder, self._sources, self._references = decoder, sources, references
        self._settings = settings

    def under(self, weights: np.ndarray) -> Decoder:
        """The decoder with these weights; rules are ranked anew where they are not those of the last call."""
        if not np.array_equal(self._decoder.weights, weights):
            self._decoder = self._decoder.with_weights(weights)
        return self._decoder

    def __call__(self, asked: tuple[np.ndarray, int]) -> Decoded:
        """Counts and features of the k best translations."""
        weights, sentence = asked
        decoder = self.under(weights)
        found = [self._best(decoder, sentence)]
        if (unguided := decoder.unguided()) is not decoder:
            found.append(self._best(unguided, sentence))
        return Decoded(
            np.concatenate([each.counts for each in found]),
            np.concatenate([each.features for each in found]),
            sparse.joined([each.sparse for each in found]),
        )

    def _best(self, decoder: Decoder, sentence: int) -> Decoded:
        words, vocabulary = self._sources[sentence], decoder.grammar.target_vocabulary
        if words:
            found = decoder.k_best(decoder.search(words), self._settings.nbest)
            start, ids, features, extra = found.word_start, found.words, found.features, found.extra_words
            few = found.sparse or sparse.no_rows(len(features))
        else:
            start, ids = np.zeros(2, np.int64), np.zeros(0, np.int32)
            features, extra = np.zeros((1, len(decoder.feature_names))), []
            few = sparse.no_rows(1, len(decoder.sparse_names))
        extra_ids = {word: len(vocabulary) + i for i, word in enumerate(extra)}

        def id_of(word: str) -> int:
            known = vocabulary.id(word)
            return extra_ids.get(word, -1) if known < 0 else known

        def spelled(number: int) -> str:
            return vocabulary.words[number] if number < len(vocabulary) else extra[number - len(vocabulary)]

        metric = metric_of(self._settings)
        counts = metric.counts_of(Translations(start, ids, spelled, id_of), self._references[sentence])
        few = few._replace(values=np.round(few.values, 6) + 0.0)
        return Decoded(counts, np.round(features, 6), few)
