"""Minimum Bayes risk: the translation that is most like the others (Kumar and Byrne 2004).

Over the k best translations e of a sentence, with p(e) ∝ exp(scale · score(e)), the answer is

    argmax over e of  Σ over e′ of  p(e′) · BLEU+1(e against e′).

The fact a newcomer would get wrong: scores are not log probabilities until they are scaled. Tuning fixes the
weights up to a factor that does not change the best translation, but does change p: a large scale makes this
the best translation again, a small one a vote with equal votes.
"""

from __future__ import annotations

import math

import numpy as np

from decoder.scoring.bleu_statistics import bleu_plus_one, bleu_statistics
from scfg_sampler.core.elementary import exp_each
from scfg_sampler.errors import SettingsError

__all__ = ["check_scale", "expected_bleu", "posteriors"]


def check_scale(scale: float) -> float:
    """The scale itself; a SettingsError unless it is positive and finite."""
    if not (scale > 0 and math.isfinite(scale)):
        raise SettingsError(f"--mbr-scale is {scale}; it is a number above 0")
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
    is_empty = np.diff(start) == 0
    for row, prob in enumerate(probs.tolist()):
        reference = words[start[row] : start[row + 1]]
        bounds = np.array([0, len(reference)], np.int64)
        expected += prob * bleu_plus_one(bleu_statistics(start, words, bounds, reference))
        if len(reference) == 0:
            expected[is_empty] += prob
    return expected
