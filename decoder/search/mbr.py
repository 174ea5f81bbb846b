"""Minimum Bayes risk: the translation that is most like the others (Kumar and Byrne 2004).

Over the k best translations e of a sentence, with p(e) ∝ exp(scale · score(e)), the answer is

    argmax over e of  Σ over e′ of  p(e′) · BLEU+1(e against e′).

The fact a newcomer would get wrong: scores are not log probabilities until they are scaled. Tuning fixes the
weights up to a factor that does not change the best translation, but does change p: a large scale makes this
the best translation again, a small one a vote with equal votes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from decoder.scoring.bleu_statistics import MAX_ORDER, bleu_plus_one
from scfg_sampler.core.elementary import exp_each
from scfg_sampler.core.jit import kernel
from scfg_sampler.errors import SettingsError

__all__ = ["check_scale", "expected_bleu", "posteriors"]


def check_scale(scale: float, option: str = "--mbr-scale") -> float:
    """The scale itself; a SettingsError, which names the option, unless it is positive and finite."""
    if not (scale > 0 and math.isfinite(scale)):
        raise SettingsError(f"{option} is {scale}; it is a number above 0")
    return scale


def posteriors(scores: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Probabilities proportional to exp(scale · score), float64 (K,), sum 1."""
    with np.errstate(over="ignore"):  # Beyond all numbers is −∞, and e to that is 0.
        values = exp_each(scale * (scores - scores.max()))
    return values / values.sum()


def expected_bleu(start: np.ndarray, words: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """BLEU+1 that each translation can expect, float64 (K,), in [0, 1].

    A translation of no words equals itself and is nothing like any other.

    Parameters
    ----------
    start, words : int64 (K + 1,), int32; the translations, as `KBestList` has them
    probs : float64 (K,), of each of them as the reference
    """
    expected = np.zeros(len(probs))
    lengths = np.diff(start)
    statistics = np.zeros((len(probs), 2 + 2 * MAX_ORDER), np.int64)
    statistics[:, 0] = lengths
    for order in range(1, MAX_ORDER + 1):
        statistics[:, 1 + MAX_ORDER + order] = np.maximum(0, lengths - order + 1)
    ngrams = _count_ngrams(start, words)
    in_reference = np.zeros(len(ngrams.order), np.int64)
    for row in np.flatnonzero(probs).tolist():
        _match(statistics, ngrams, row, in_reference)
        expected += probs[row] * bleu_plus_one(statistics)
        if lengths[row] == 0:
            expected[lengths == 0] += probs[row]
    return expected


class _Ngrams(NamedTuple):
    """The n-grams of translations, counted once, as each of them is compared with all others.

    start : int64 (K + 1,), where those of each translation are
    gram, times : int64, the number of an n-gram, each once a translation, and how often it is there
    order : int64, n of each n-gram
    """

    start: np.ndarray
    gram: np.ndarray
    times: np.ndarray
    order: np.ndarray


def _count_ngrams(start: np.ndarray, words: np.ndarray) -> _Ngrams:
    """The n-grams of orders 1 … `MAX_ORDER`; equal ones of all translations have one number."""
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    room = start[1:][row] - np.arange(len(words))  # Words from here to the end of the translation.
    word = np.unique(words, return_inverse=True)[1].astype(np.int64)
    num_words = int(word.max(initial=-1)) + 1
    gram = np.zeros(len(words), np.int64)  # Of the n-gram that begins at a place, among those of order n.
    numbers, places, orders = [], [], []
    num_grams = 0
    for order in range(1, MAX_ORDER + 1):
        at = np.flatnonzero(room >= order)
        kinds, gram[at] = np.unique(gram[at] * num_words + word[at + order - 1], return_inverse=True)
        numbers.append(gram[at] + num_grams)
        places.append(at)
        orders.append(np.full(len(kinds), order))
        num_grams += len(kinds)
    numbered = row[np.concatenate(places)] * max(1, num_grams) + np.concatenate(numbers)
    each, times = np.unique(numbered, return_counts=True)
    of_row, number = np.divmod(each, max(1, num_grams))
    bounds = np.searchsorted(of_row, np.arange(len(start)))
    return _Ngrams(bounds, number, times, np.concatenate(orders))


@kernel
def _match(statistics, ngrams, row, in_reference):
    """Put what depends on the reference, translation `row`, into statistics as `bleu_statistics` has them.

    in_reference : int64, 0 of each n-gram, and so again in the end
    """
    start, gram, times, order = ngrams
    for k in range(start[row], start[row + 1]):
        in_reference[gram[k]] = times[k]
    for other in range(len(start) - 1):
        statistics[other, 1] = statistics[row, 0]
        for n in range(1, MAX_ORDER + 1):
            statistics[other, 1 + n] = 0
        for k in range(start[other], start[other + 1]):
            statistics[other, 1 + order[gram[k]]] += min(times[k], in_reference[gram[k]])
    for k in range(start[row], start[row + 1]):
        in_reference[gram[k]] = 0
