"""BLEU statistics and BLEU+1 against sacrebleu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoder.scoring.bleu_statistics import bleu_plus_one, bleu_statistics
from decoder.scoring.evaluate import corpus_bleu

sentences = st.lists(st.integers(0, 3), max_size=9)


def ragged(rows):
    start = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return start, np.array([word for row in rows for word in row], np.int32)


def text(row):
    return " ".join(f"w{word}" for word in row)


@settings(max_examples=200, deadline=None)
@given(st.lists(sentences, min_size=1, max_size=4), st.lists(sentences, min_size=1, max_size=3))
def test_statistics_and_bleu_plus_one_are_those_of_sacrebleu(hypotheses, references):
    from sacrebleu.metrics.bleu import BLEU

    plus_one = BLEU(tokenize="none", smooth_method="add-k", smooth_value=1, force=True)
    found = bleu_statistics(*ragged(hypotheses), *ragged(references))
    scores = bleu_plus_one(found)
    for row, hypothesis in enumerate(hypotheses):
        expected = plus_one._extract_corpus_statistics([text(hypothesis)], [[text(r)] for r in references])[0]
        assert found[row].tolist() == expected
        score = plus_one.corpus_score([text(hypothesis)], [[text(r)] for r in references]).score
        assert 100 * scores[row] == pytest.approx(score, abs=1e-9)
    corpus = BLEU(tokenize="none", force=True)
    expected = corpus.corpus_score(
        list(map(text, hypotheses)), [[text(r)] * len(hypotheses) for r in references]
    )
    assert corpus_bleu(found.sum(axis=0)) == pytest.approx(expected.score, abs=1e-9)


def test_words_unknown_to_the_hypotheses_count_for_the_length_only():
    found = bleu_statistics(*ragged([[1, 2]]), *ragged([[1, -1, -1, 2]]))
    assert found[0].tolist() == [2, 4, 2, 0, 0, 0, 2, 1, 0, 0]
