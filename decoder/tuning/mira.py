"""Batch MIRA over k-best lists (Cherry and Foster 2012, algorithm 2).

With f the features of a translation and B its gain in BLEU, a sentence has a *hope* and a *fear* under the
weights w,

    hope = argmax w·f + B        fear = argmax w·f − B,

and is passed by with the smallest change that puts the hope above the fear by their difference in B:

    η = min(C, (ΔB − w·Δf) / |Δf|²),    w ← w + η Δf,    Δ = hope − fear.

B of a translation is the corpus BLEU of a decaying pseudo-document with the translation added, times the
reference words of both (Chiang, Marton and Resnik 2008); the document then takes up the hope.

Where scores of the model are so far apart that no gain in BLEU makes up for them, hope and fear are one
translation, and nothing is learnt, however bad it is. With `reach` the hope is then the translation with the
highest B of the list, which may be out of the model's reach (Chiang, Marton and Resnik 2008), so that it is
no good hope where there is another; but it leads back from weights that want far too long translations.

The fact a newcomer would get wrong: the weights after a step are never used. What a pass over the sentences
leaves is the average of the weights after all steps so far.
"""

from __future__ import annotations

import numpy as np

from decoder.scoring.bleu_statistics import MAX_ORDER
from scfg_sampler.core import elementary
from scfg_sampler.core.arrays.sparse import Rows, difference
from scfg_sampler.core.jit import compiled, kernel

__all__ = ["mira"]

_DECAY = 0.999  # Of the pseudo-document, for each sentence.


@kernel
def mira(
    order: np.ndarray,
    start: np.ndarray,
    features: np.ndarray,
    sparse: Rows,
    statistics: np.ndarray,
    weights: np.ndarray,
    largest_step: float,
    reach: bool,
) -> np.ndarray:
    """The averaged weights after each pass, float64 (J, F + S).

    Parameters
    ----------
    order : int64 (J, S), the sentences in the order each pass visits them
    start : int64 (S + 1,); the translations of sentence s are rows start[s] … start[s + 1] − 1
    features : float64 (K, F)
    sparse : K rows of S further features, whose weights follow
    statistics : int64 (K, 10), of BLEU, see `bleu_statistics`
    weights : float64 (F + S,), to begin with
    largest_step : C
    reach : whether a hope that is the fear gives way to the translation with the highest gain, of equals the
        one with the highest score
    """
    num_features = features.shape[1]
    weights = weights.copy()
    total = np.zeros(len(weights))
    averages = np.empty((len(order), len(weights)))
    longest = 0
    for row in range(len(features)):
        longest = max(longest, sparse.start[row + 1] - sparse.start[row])
    changed, change = np.empty(2 * longest, np.int32), np.empty(2 * longest)
    document = np.ones(statistics.shape[1])
    steps = 0
    for turn in range(len(order)):
        for sentence in order[turn]:
            hope, fear, most = -1, -1, -1
            best_hope, best_fear, most_gain = -np.inf, -np.inf, -np.inf
            hope_gain, fear_gain, hope_score, fear_score, most_score = 0.0, 0.0, 0.0, 0.0, 0.0
            for row in range(start[sentence], start[sentence + 1]):
                score = 0.0
                for column in range(num_features):
                    score += weights[column] * features[row, column]
                for k in range(sparse.start[row], sparse.start[row + 1]):
                    score += weights[num_features + sparse.column[k]] * sparse.values[k]
                gain = _gain(document, statistics, row)
                if score + gain > best_hope:
                    hope, best_hope, hope_gain, hope_score = row, score + gain, gain, score
                if score - gain > best_fear:
                    fear, best_fear, fear_gain, fear_score = row, score - gain, gain, score
                if gain > most_gain or (gain == most_gain and score > most_score):
                    most, most_gain, most_score = row, gain, score
            if hope < 0:
                continue
            if reach and hope == fear:
                hope, hope_gain, hope_score = most, most_gain, most_score
            loss = (hope_gain - fear_gain) - (hope_score - fear_score)
            norm = 0.0
            for column in range(num_features):
                norm += (features[hope, column] - features[fear, column]) ** 2
            num_changed = difference(sparse, hope, fear, changed, change, 0)
            for k in range(num_changed):
                norm += change[k] ** 2
            if loss > 0.0 and norm > 0.0:
                step = min(largest_step, loss / norm)
                for column in range(num_features):
                    weights[column] += step * (features[hope, column] - features[fear, column])
                for k in range(num_changed):
                    weights[num_features + changed[k]] += step * change[k]
            for column in range(len(document)):
                document[column] = _DECAY * (document[column] + statistics[hope, column])
            steps += 1
            for column in range(len(weights)):
                total[column] += weights[column]
        for column in range(len(weights)):
            averages[turn, column] = total[column] / steps if steps > 0 else weights[column]
    return averages


@compiled
def _gain(document, statistics, row):
    """BLEU of the document with one translation more, times the reference words of both."""
    length = document[0] + statistics[row, 0]
    reference_length = document[1] + statistics[row, 1]
    log_bleu = min(0.0, 1.0 - reference_length / length)
    for order in range(MAX_ORDER):
        matches = document[2 + order] + statistics[row, 2 + order]
        log_bleu += elementary.log(
            matches / (document[2 + MAX_ORDER + order] + statistics[row, 2 + MAX_ORDER + order])
        ) / (MAX_ORDER)
    return elementary.exp(log_bleu) * reference_length
