"""chrF's statistics and chrF against sacrebleu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.scoring.chrf_statistics import chrf, chrf_statistics

sentences = st.text("abà", max_size=9)


def ragged(rows):
    start = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return start, np.array([ord(character) for row in rows for character in row], np.int32)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(sentences, min_size=1, max_size=4),
    st.lists(sentences, min_size=1, max_size=3),
    st.sampled_from([1, 2, 3]),
)
def test_statistics_and_chrf_are_those_of_sacrebleu(hypotheses, references, beta):
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF(beta=beta)
    found = chrf_statistics(*ragged(hypotheses), *ragged(references), float(beta))
    scores = chrf(found, float(beta))
    expected = metric._extract_corpus_statistics(hypotheses, [[r] * len(hypotheses) for r in references])
    assert found.tolist() == expected
    for score, hypothesis in zip(scores, hypotheses, strict=True):
        assert 100 * score == pytest.approx(metric.sentence_score(hypothesis, references).score, abs=1e-9)
    corpus = metric.corpus_score(hypotheses, [[r] * len(hypotheses) for r in references])
    assert 100 * chrf(found.sum(axis=0)[None], float(beta))[0] == pytest.approx(corpus.score, abs=1e-9)


def test_of_two_references_the_first_of_the_best_counts():
    found = chrf_statistics(*ragged(["ab"]), *ragged(["xyz", "abc", "cab"]), 2.0)
    assert found[0, :6].tolist() == [2, 3, 2, 1, 2, 1]
    assert found[0, 6:9].tolist() == [0, 1, 0]


def test_beta_says_which_reference_is_best():
    # The first reference is nearly in the hypothesis, the second nearly all that the hypothesis is.
    hypothesis, references = ragged(["abcdefgh"]), ragged(["ab", "abcdefgzzzzzzz"])
    assert chrf_statistics(*hypothesis, *references, 10.0)[0, 1] == 2
    assert chrf_statistics(*hypothesis, *references, 0.1)[0, 1] == 14
