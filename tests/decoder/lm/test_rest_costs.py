"""Rest costs against the stationary distribution of a chain spelled out, and where there are none."""

import math

import numpy as np
import pytest

from decoder.lm import table
from decoder.lm.arpa import RESERVED, ArpaModel
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.lm.model import load_lm, score_text
from decoder.lm.rest_costs import rest_costs
from decoder.lm.table import build_lm, read_lm_file, write_lm_file
from decoder.lm.vocabulary import LmVocabulary
from scfg_sampler.core.arrays.array_file import write_array_file
from tests.decoder.lm.test_model import random_model

TEXT = ["a b c a", "b c a", "a a b", "c", "b a c c b a", "a b a b a"]


def shares(model):
    """The share of each word in endless text, by the eigenvector of all transitions; 0 for `<s>`."""
    size = len(model.words)
    unigram = 10.0 ** np.asarray(model.log_probs[0])
    unigram[1] = 0
    transitions = np.outer(10.0 ** np.asarray(model.backoffs[0]), unigram)
    for (before, word), log_prob in zip(model.ngrams[1].tolist(), model.log_probs[1].tolist(), strict=True):
        transitions[before, word] = 10.0**log_prob
    transitions[2] = transitions[1]  # What follows an end is a beginning.
    values, vectors = np.linalg.eig(transitions.T)
    share = np.abs(vectors[:, np.argmax(values.real)].real)
    assert share.shape == (size,)
    return share / share.sum(), unigram


@pytest.mark.parametrize("seed", range(4))
def test_rest_costs_are_what_words_gain_by_a_left_context(seed):
    model = estimate_lm(encode_text(TEXT), 2 + seed)[0] if seed < 2 else random_model(seed, 3, density=0.8)
    share, unigram = shares(model)
    found = rest_costs(model)
    assert found.dtype == np.float32
    for word in range(len(model.words)):
        if share[word] > 1e-6 and unigram[word] > 0:
            assert found[word] == pytest.approx(math.log(share[word] / unigram[word]), abs=0.02)
        elif word == 1:
            assert found[word] == 0


def test_models_of_single_words_and_impossible_numbers_have_no_rest_costs():
    model, _ = estimate_lm(encode_text(TEXT), 1)
    assert not rest_costs(model).any()
    never = ArpaModel(
        [*RESERVED, "a"],
        (np.arange(4, dtype=np.int32)[:, None], np.array([[3, 2]], np.int32)),
        (np.full(4, -1e4), np.full(1, -1e4)),
        (np.zeros(4), np.zeros(1)),
    )
    assert not rest_costs(never).any()


def test_compiled_models_keep_their_rest_costs_and_old_files_have_none(tmp_path):
    model, _ = estimate_lm(encode_text(TEXT), 3)
    lm = build_lm(model)
    write_lm_file(lm, LmVocabulary(model.words), tmp_path / "lm.bin")
    assert np.array_equal(read_lm_file(tmp_path / "lm.bin")[0].rest, rest_costs(model))
    values = {"order": lm.order, "num_words": lm.num_words, "num_slots": lm.num_slots}
    write_array_file(tmp_path / "old", table._OLD_MAGIC, values, {"words": model.words}, {"keys": lm.keys})
    old, words = load_lm(tmp_path / "old")
    assert not old.rest.any()
    assert old.rest.shape == lm.rest.shape
    assert score_text(old, words, TEXT)[0] == pytest.approx(score_text(lm, words, TEXT)[0])
