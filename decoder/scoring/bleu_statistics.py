"""BLEU's statistics of many hypotheses at once, and sentence BLEU+1, without a Python object per hypothesis.

For orders n = 1 … 4, mₙ is the number of n-grams of the hypothesis that are in a reference, each counted at
most as often as in the reference that has it most often, and tₙ the number of n-grams. With the reference
length r closest to the hypothesis length h (the shorter of two equally close),

    BLEU+1 = min(1, e^(1 − r/h)) · (m₁/t₁ · Π over n > 1 of (mₙ + 1)/(tₙ + 1))^¼     (Lin and Och 2004)

which is sacrebleu's `add-k` smoothing with k = 1; the statistics are sacrebleu's too.
"""

from __future__ import annotations

import numpy as np

from decoder.scoring.occurrences import occurrences
from scfg_sampler.core import elementary
from scfg_sampler.core.jit import kernel

__all__ = ["MAX_ORDER", "bleu_plus_one", "bleu_statistics"]

MAX_ORDER = 4


@kernel
def bleu_statistics(
    start: np.ndarray, words: np.ndarray, reference_start: np.ndarray, references: np.ndarray
) -> np.ndarray:
    """int64 (K, 10): length, that of the closest reference, matches of orders 1 … 4, n-grams of orders 1 … 4.

    Parameters
    ----------
    start, words : int64 (K + 1,), int32; the hypotheses of one sentence
    reference_start, references : int64 (M + 1,), int32; its references. A word no hypothesis can have is −1.
    """
    statistics = np.zeros((len(start) - 1, 2 + 2 * MAX_ORDER), np.int64)
    for row in range(len(start) - 1):
        begin, end = start[row], start[row + 1]
        length = end - begin
        statistics[row, 0] = length
        closest = np.int64(-1)
        for i in range(len(reference_start) - 1):
            other = reference_start[i + 1] - reference_start[i]
            difference, least = abs(other - length), abs(closest - length)
            if closest < 0 or difference < least or (difference == least and other < closest):
                closest = other
        statistics[row, 1] = closest
        for order in range(1, MAX_ORDER + 1):
            matches = 0
            for at in range(begin, end - order + 1):
                # This occurrence matches if the earlier ones have not used up those of the references.
                earlier = occurrences(words, begin, at + order - 1, words, at, order)
                for i in range(len(reference_start) - 1):
                    found = occurrences(
                        references, reference_start[i], reference_start[i + 1], words, at, order
                    )
                    if found > earlier:
                        matches += 1
                        break
            statistics[row, 1 + order] = matches
            statistics[row, 1 + MAX_ORDER + order] = max(0, length - order + 1)
    return statistics


@kernel
def bleu_plus_one(statistics: np.ndarray, added_length: int = 0) -> np.ndarray:
    """BLEU+1 of each row of statistics, float64 (K,), in [0, 1]; references count that many words longer."""
    scores = np.zeros(len(statistics))
    for row in range(len(statistics)):
        length, reference_length = statistics[row, 0], statistics[row, 1] + added_length
        if statistics[row, 2] == 0:
            continue
        log_score = elementary.log(statistics[row, 2] / statistics[row, 2 + MAX_ORDER])
        for order in range(2, MAX_ORDER + 1):
            matches, total = statistics[row, 1 + order], statistics[row, 1 + MAX_ORDER + order]
            log_score += elementary.log((matches + 1.0) / (total + 1.0))
        scores[row] = elementary.exp(log_score / MAX_ORDER + min(0.0, 1.0 - reference_length / length))
    return scores
