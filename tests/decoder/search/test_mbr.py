"""Minimum Bayes risk over k-best lists."""

import numpy as np
import pytest

from decoder.scoring.bleu_statistics import bleu_plus_one, bleu_statistics
from decoder.search.mbr import check_scale, expected_bleu, posteriors
from scfg_sampler.errors import SettingsError
from tests.decoder.translation.test_decoder import decoder


def test_expected_bleu_is_that_of_sacrebleu(rng):
    from sacrebleu.metrics import BLEU

    texts = [rng.choice(list("abcd"), size=rng.integers(4, 9)).tolist() for _ in range(8)]
    probs = rng.dirichlet(np.ones(len(texts)))
    metric = BLEU(tokenize="none", smooth_method="add-k", smooth_value=1, effective_order=False, force=True)
    expected = [
        sum(
            p * metric.sentence_score(" ".join(one), [" ".join(other)]).score / 100
            for p, other in zip(probs, texts, strict=True)
        )
        for one in texts
    ]
    start = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    words = np.array([ord(word) for text in texts for word in text], np.int32)
    np.testing.assert_allclose(expected_bleu(start, words, probs), expected, atol=1e-10)


@pytest.mark.parametrize("size", [1, 2, 40])
def test_expected_bleu_is_bit_by_bit_that_of_statistics_made_pair_by_pair(rng, size):
    """With translations of no words, of fewer than four, and of none with a probability."""
    texts = [rng.integers(0, 4, size=rng.integers(0, 12)) for _ in range(size)]
    start = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    words = np.concatenate(texts).astype(np.int32)
    probs = rng.dirichlet(np.ones(size)) * (rng.random(size) < 0.8)
    expected = np.zeros(size)
    for text, prob in zip(texts, probs, strict=True):
        bounds = np.array([0, len(text)], np.int64)
        expected += prob * bleu_plus_one(bleu_statistics(start, words, bounds, text.astype(np.int32)))
        if len(text) == 0:
            expected[np.diff(start) == 0] += prob
    assert expected_bleu(start, words, probs).tobytes() == expected.tobytes()


def test_posteriors_are_scaled_exponentials():
    np.testing.assert_allclose(posteriors(np.log([2.0, 1.0, 1.0])), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(posteriors(np.array([-1000.0, -1001.0]), 1e-9), [0.5, 0.5])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(posteriors(np.array([-30.0, -10.0]), 1e308), [0.0, 1.0])


def test_the_majority_wins_over_the_single_best():
    # The best one is alone; two others share most of their words.
    texts = [[1, 2, 3, 4], [5, 6, 7, 8], [5, 6, 7, 9]]
    start = np.array([0, 4, 8, 12], np.int64)
    expected = expected_bleu(start, np.array(texts, np.int32).ravel(), np.array([0.4, 0.32, 0.28]))
    assert np.argmax(expected) == 1


def test_a_translation_of_no_words_votes_for_itself():
    start = np.array([0, 0, 1], np.int64)
    found = expected_bleu(start, np.array([5], np.int32), np.array([0.7, 0.3]))
    np.testing.assert_allclose(found, [0.7, 0.3])


def test_a_large_scale_gives_the_best_translation():
    one = decoder()
    for text in ("u v u", "v v", "u u v v u"):
        result = one.search(text.split())
        assert one.minimum_risk(result, 20, 1e6).words == one.best(result).words
        among = [found.words for found in one.translations(result, 20)]
        assert one.minimum_risk(result, 20, 0.1).words in among


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_scales_that_are_not_positive_are_refused(scale):
    with pytest.raises(SettingsError, match="--mbr-scale is"):
        check_scale(scale)
