"""What a stretch's first word is worth before it is known what precedes it (Heafield, Koehn, Lavie 2012).

Without its left context a word is scored with the unigram probability of the model. Smoothing makes of that
the probability of a word after contexts the model has *not* seen, which for `the` or `you` is far from what
the word will get once something precedes it. Its rest cost is what is expected to come: the probability π(w)
that w follows whatever precedes it, π being the stationary distribution of the bigrams,

    π(w) = Σ_v π(v) p(w | v),

where a sentence that ends is followed by one that begins. A search goes by it when it orders derivations; no
score contains it.

The fact a newcomer would get wrong: nothing but the model is needed. In one smoothed after Kneser and Ney, π
is nearly the relative frequency of a word in the training text, as its unigrams are chosen to make it so.
"""

from __future__ import annotations

import math

import numpy as np

from decoder.lm.arpa import BEGIN, END, ArpaModel
from scfg_sampler.core.elementary import exp, log
from scfg_sampler.core.jit import kernel

__all__ = ["rest_costs"]

_LN10 = math.log(10)
_ROUNDS, _CLOSE = 20, 1e-3  # The power method stops when the distribution changes by less in a round.


def rest_costs(model: ArpaModel) -> np.ndarray:
    """log π(w) − log p(w) of every word, natural logarithms, float32 (V,); 0 where either is not positive."""
    if model.order == 1:
        return np.zeros(len(model.words), np.float32)
    bigrams = np.ascontiguousarray(model.ngrams[1])
    unigram, backoff = (np.asarray(part[0], np.float64) for part in (model.log_probs, model.backoffs))
    return _rest_costs(unigram, backoff, bigrams, np.asarray(model.log_probs[1], np.float64))


@kernel
def _rest_costs(unigram, backoff, bigrams, log_probs):
    """The same of base-10 logarithms; float64 (V,), (V,), int32 (B, 2), float64 (B,)."""
    size = len(unigram)
    alone, weight, above = np.empty(size), np.empty(size), np.empty(len(bigrams))
    for word in range(size):
        alone[word], weight[word] = exp(_LN10 * unigram[word]), exp(_LN10 * backoff[word])
    alone[BEGIN] = 0.0  # It is not scored, whatever stands in the file.
    for row in range(len(bigrams)):
        backed_off = weight[bigrams[row, 0]] * alone[bigrams[row, 1]]
        above[row] = exp(_LN10 * log_probs[row]) - backed_off
    now, then = alone.copy(), np.zeros(size)
    for _ in range(_ROUNDS):
        now[BEGIN], now[END] = now[END], 0.0
        shared = 0.0
        for word in range(size):
            shared += now[word] * weight[word]
        for word in range(size):
            then[word] = shared * alone[word]
        for row in range(len(bigrams)):
            then[bigrams[row, 1]] += now[bigrams[row, 0]] * above[row]
        total = 0.0
        for word in range(size):
            total += then[word]
        if not 0.0 < total < np.inf:
            break  # Numbers that are no probabilities.
        now[END], now[BEGIN] = now[BEGIN], 0.0
        change = 0.0
        for word in range(size):
            then[word] /= total
            change += abs(then[word] - now[word])
            now[word] = then[word]
        if change < _CLOSE:
            break
    found = np.zeros(size, np.float32)
    for word in range(size):
        if word != BEGIN and now[word] > 0.0 and alone[word] > 0.0:
            found[word] = log(now[word]) - log(alone[word])
    return found
