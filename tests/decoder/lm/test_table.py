"""The hash table behind the compiled model: keys, saving, and refusing damaged files."""

import itertools

import numpy as np
import pytest

from decoder.lm.arpa import write_arpa
from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.lm.model import load_lm, score_text
from decoder.lm.table import _ngram_keys, build_lm, find, is_lm_file, read_lm_file, write_lm_file
from decoder.lm.vocabulary import LmVocabulary
from scfg_sampler.errors import ArpaError


@pytest.fixture
def saved(tmp_path):
    model, _ = estimate_lm(encode_text(["a b c \u3000", "b c a", "c"]), 3)
    path = tmp_path / "lm.bin"
    write_lm_file(build_lm(model), LmVocabulary(model.words), path)
    return model, path


def test_a_saved_model_is_the_model(saved, tmp_path):
    model, path = saved
    arpa = tmp_path / "lm.arpa"
    write_arpa(model, arpa)
    assert is_lm_file(path)
    assert not is_lm_file(arpa)
    assert not is_lm_file(tmp_path / "missing")
    (mapped, words), (built, expected_words) = load_lm(path), load_lm(arpa)
    assert words.words == expected_words.words == model.words
    assert mapped[:3] == built[:3]
    assert np.array_equal(mapped.keys, built.keys)
    lines = ["a b", "zz c", ""]
    assert np.array_equal(score_text(mapped, words, lines)[0], score_text(built, expected_words, lines)[0])


def test_a_cut_file_is_refused(saved):
    _, path = saved
    whole = path.read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 80):
        path.write_bytes(whole[:length])
        with pytest.raises(ArpaError, match=r"lm\.bin: .*Compile the model again"):
            load_lm(path)


def test_a_changed_byte_is_noticed(saved):
    _, path = saved
    whole = bytearray(path.read_bytes())
    whole[-3] ^= 1
    path.write_bytes(whole)
    with pytest.raises(ArpaError, match="do not match their checksum"):
        read_lm_file(path)


def test_a_file_of_the_other_byte_order_is_refused(saved):
    _, path = saved
    whole = path.read_bytes()
    there, here = (b'"big"', b'"little"') if b'"little"' in whole else (b'"little"', b'"big"')
    path.write_bytes(whole.replace(here, there))
    with pytest.raises(ArpaError, match="-endian machine"):
        read_lm_file(path)


def test_keys_of_short_ngrams_are_all_different_and_spread_evenly():
    ids = [*range(40), *range(10**6, 10**6 + 10)]
    keys = np.concatenate(
        [_ngram_keys(np.array(list(itertools.product(ids, repeat=n)), dtype=np.int32)) for n in (1, 2, 3)]
    )
    assert keys.min() >= 0
    assert keys.max() < 2**62
    assert len(np.unique(keys)) == len(keys)
    # Poisson counts per bucket; the chi-square of 1,023 degrees of freedom exceeds 1,300 once in 10⁸.
    expected = len(keys) / 1024
    for shift in (52, 21):
        counts = np.bincount((keys >> shift) & 1023, minlength=1024)
        assert ((counts - expected) ** 2 / expected).sum() < 1300


def test_every_ngram_is_found_and_no_other(saved):
    model, _ = saved
    lm = build_lm(model)
    listed = {tuple(gram) for grams in model.ngrams[1:] for gram in grams.tolist()}
    for n in (2, 3):
        for gram in itertools.product(range(len(model.words)), repeat=n):
            key = int(_ngram_keys(np.array([gram], dtype=np.int32))[0])
            assert (find(lm, key) >= 0) == (gram in listed)
