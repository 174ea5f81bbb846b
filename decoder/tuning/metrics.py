"""The scores that weights are tuned for: BLEU of words, chrF of their characters, or how many are right.

All are kept as counts, a row for each translation, which add up to those of a text.

The fact a newcomer would get wrong: BLEU counts the words the grammar translates to, which may be pieces of
words (`▁tra` `duc` `tor`), but chrF is nearly that of raw text. Marks of what is joined are left out, as
chrF leaves out spaces; only case is that of the grammar.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from decoder.scoring.bleu_statistics import bleu_plus_one, bleu_statistics
from decoder.scoring.chrf_statistics import BETA, CHARACTER_ORDER, chrf, chrf_statistics
from decoder.scoring.evaluate import corpus_bleu
from decoder.tuning.settings import TuneSettings
from scfg_sampler.preparation.preparation import spelling

__all__ = ["Metric", "Translations", "metric_of"]


class Translations(NamedTuple):
    """Translations of a sentence: that of row k are words[start[k] : start[k + 1]].

    start, words : int64 (K + 1,), int32 ids
    spelled : the word of an id
    id_of : the id of a word, −1 if no translation can have it
    """

    start: np.ndarray
    words: np.ndarray
    spelled: Callable[[int], str]
    id_of: Callable[[str], int]


class Metric(NamedTuple):
    """A score of translations.

    name : as it is printed
    num_counts : C, the columns of counts
    counts_of : int64 (K, C) for the translations of a sentence and the words of its references
    scores : of each row of counts, float64 (K,) in [0, 1], smoothed if sentences need that
    of_text : of the counts of a text, summed, in percent
    length_ratio : of the same, what the translations are long for each unit of their references
    """

    name: str
    num_counts: int
    counts_of: Callable[[Translations, Sequence[Sequence[str]]], np.ndarray]
    scores: Callable[[np.ndarray], np.ndarray]
    of_text: Callable[[np.ndarray], float]
    length_ratio: Callable[[np.ndarray], float]


def metric_of(settings: TuneSettings) -> Metric:
    """What settings say weights are tuned for."""
    if settings.metric == "chrf":
        beta = settings.chrf_beta
        return Metric(
            "chrF" if beta == BETA else f"chrF, β {beta:g}",
            3 * CHARACTER_ORDER,
            lambda found, references: _count_chrf(found, references, beta),
            lambda counts: chrf(counts, beta),
            lambda counts: 100.0 * float(chrf(counts[None], beta)[0]),
            lambda counts: counts[0] / max(1, counts[1]),
        )
    if settings.metric == "exact":
        return Metric(
            "exact",
            4,
            _count_exact,
            lambda counts: counts[:, 2].astype(np.float64),
            lambda counts: 100.0 * float(counts[2]) / max(1, int(counts[3])),
            lambda counts: counts[0] / max(1, counts[1]),
        )
    return Metric(
        "BLEU",
        10,
        _count_bleu,
        lambda counts: bleu_plus_one(counts, int(settings.smooth_brevity)),
        corpus_bleu,
        lambda counts: counts[0] / max(1, counts[1]),
    )


def _count_bleu(found: Translations, references: Sequence[Sequence[str]]) -> np.ndarray:
    rows = [[found.id_of(word) for word in reference] for reference in references]
    reference_start = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    flat = np.array([word for row in rows for word in row], np.int32)
    return bleu_statistics(found.start, found.words, reference_start, flat)


def _count_exact(found: Translations, references: Sequence[Sequence[str]]) -> np.ndarray:
    """Words of each translation and of the first reference, whether it is one that has words, and 1."""
    wanted = {tuple(found.id_of(word) for word in reference) for reference in references}
    words, bounds = found.words.tolist(), found.start.tolist()
    rows = [
        [end - begin, len(references[0]), end > begin and tuple(words[begin:end]) in wanted, 1]
        for begin, end in itertools.pairwise(bounds)
    ]
    return np.array(rows, np.int64)


def _count_chrf(found: Translations, references: Sequence[Sequence[str]], beta: float) -> np.ndarray:
    spelled = {word: spelling(found.spelled(word)) for word in set(found.words.tolist())}
    bounds = found.start.tolist()
    words = [spelled[word] for word in found.words.tolist()]
    ours = ["".join(words[begin:end]) for begin, end in itertools.pairwise(bounds)]
    theirs = ["".join(map(spelling, reference)) for reference in references]
    return chrf_statistics(*_characters(ours), *_characters(theirs), beta)


def _characters(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Where each text begins, int64 (K + 1,), and the characters of all, int32."""
    start = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    return start, np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32)
