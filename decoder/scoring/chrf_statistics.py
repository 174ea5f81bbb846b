"""chrF's statistics of many hypotheses at once, and chrF of each, without a Python object per hypothesis.

For orders n = 1 … 6, mₙ is the number of character n-grams of the hypothesis that are in the reference, each
counted at most as often as there; hₙ and rₙ are the numbers of n-grams of both. With P and R the means of
mₙ/hₙ and mₙ/rₙ over the orders of which both have n-grams,

    chrF = (1 + β²) P R / (β² P + R)               (Popović 2015; β = 2 is sacrebleu's default)

Of several references, the one counts with which a hypothesis has the highest chrF, the first of equals.

The fact a newcomer would get wrong: spaces are left out before n-grams are formed, so one may span words.
"""

from __future__ import annotations

import numpy as np

from decoder.scoring.occurrences import occurrences
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["BETA", "CHARACTER_ORDER", "chrf", "chrf_statistics"]

CHARACTER_ORDER = 6
BETA = 2.0  # Recall counts β times as much as precision.


@kernel
def chrf_statistics(
    start: np.ndarray,
    characters: np.ndarray,
    reference_start: np.ndarray,
    references: np.ndarray,
    beta: float,
) -> np.ndarray:
    """int64 (K, 18): n-grams of the hypothesis, of its reference, and of both, for each order from 1 to 6.

    Parameters
    ----------
    start, characters : int64 (K + 1,), int32; the hypotheses of one sentence, without spaces
    reference_start, references : int64 (M + 1,), int32; its references, at least one
    beta : of the chrF by which one of several references is chosen
    """
    statistics = np.zeros((len(start) - 1, 3 * CHARACTER_ORDER), np.int64)
    found = np.zeros((1, 3 * CHARACTER_ORDER), np.int64)
    for row in range(len(start) - 1):
        best = -1.0
        for i in range(len(reference_start) - 1):
            _count(
                found[0],
                characters[start[row] : start[row + 1]],
                references[reference_start[i] : reference_start[i + 1]],
            )
            score = _score(found[0], beta)
            if score > best:
                best = score
                statistics[row] = found[0]
    return statistics


@kernel
def chrf(statistics: np.ndarray, beta: float) -> np.ndarray:
    """chrF of each row of statistics, float64 (K,), in [0, 1]; rows may be sums."""
    scores = np.zeros(len(statistics))
    for row in range(len(statistics)):
        scores[row] = _score(statistics[row], beta)
    return scores


@compiled
def _count(found, hypothesis, reference):
    """The statistics of one hypothesis and one reference, into `found`."""
    for order in range(1, CHARACTER_ORDER + 1):
        matches = 0
        num_reference = max(0, len(reference) - order + 1)
        num_hypothesis = max(0, len(hypothesis) - order + 1)
        for at in range(num_hypothesis):
            # This occurrence matches if the earlier ones have not used up those of the reference.
            earlier = occurrences(hypothesis, 0, at + order - 1, hypothesis, at, order)
            if occurrences(reference, 0, len(reference), hypothesis, at, order) > earlier:
                matches += 1
        # As sacrebleu counts: an order without n-grams in the reference has none in the hypothesis.
        found[3 * order - 3] = num_hypothesis if num_reference > 0 else 0
        found[3 * order - 2] = num_reference
        found[3 * order - 1] = matches


@compiled
def _score(statistics, beta):
    """chrF of one row of statistics."""
    precision, recall, orders = 0.0, 0.0, 0
    for order in range(CHARACTER_ORDER):
        in_hypothesis, in_reference = statistics[3 * order], statistics[3 * order + 1]
        if in_hypothesis > 0 and in_reference > 0:
            precision += statistics[3 * order + 2] / in_hypothesis
            recall += statistics[3 * order + 2] / in_reference
            orders += 1
    if precision + recall == 0.0:
        return 0.0
    precision, recall = (
        precision / orders,
        recall / orders,
    )  # First, as in sacrebleu, lest ties fall otherwise.
    weight = beta * beta
    return (1.0 + weight) * precision * recall / (weight * precision + recall)
