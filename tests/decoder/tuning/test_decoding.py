"""The lists that tuning learns from."""

import itertools

import numpy as np
import pytest

from decoder.grammar.trie import GrammarSource, build_grammar
from decoder.lm.model import LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from decoder.tuning.decoding import decoded
from decoder.tuning.settings import SEARCH, TuneSettings
from decoder.tuning.tune import tune
from scfg_sampler.errors import SettingsError
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model

WEIGHTS = {"First": 1.0, "Second": 0.5, "LanguageModel": 1.0, "Glue": 0.0, "PassThrough": -10.0}
# Sixteen translations of u and v; the farther back, the worse.
RULES = [
    (source, " ".join(words), [-1.5 * number, 0])
    for source in "uv"
    for number, words in enumerate(itertools.product("abc", repeat=2))
]


def lists(how, sources, nbest):
    model = random_model(5, 2)
    lm = build_lm(model), LmVocabulary(model.words)
    decoder = Decoder(small.grammar_of(RULES, 5), *lm, WEIGHTS, beam=SEARCH.beam, widen=0).searching(how)
    references = [[["a"]] for _ in sources]
    with decoded(decoder, sources, references, TuneSettings(nbest=nbest), 1) as translations:
        found = list(translations(decoder.weights))
    return decoder, found


def rows(found):
    return {
        (*counts, *features)
        for counts, features in zip(found.counts.tolist(), found.features.tolist(), strict=True)
    }


@pytest.mark.parametrize("words", ["uv", "uvuv", "u"])
def test_guided_lists_are_followed_by_those_without_guidance(words):
    _, (plain,) = lists("boundary", [list(words)], 50)
    decoder, (both,) = lists("guided", [list(words)], 50)
    best = decoder.translate(list(words))
    np.testing.assert_allclose(both.features[0], best.features, atol=1e-6)
    of_guided = len(decoder.k_best(decoder.search(list(words)), 50).score)
    assert len(both.features) == of_guided + len(plain.features)
    np.testing.assert_array_equal(both.features[of_guided:], plain.features)
    np.testing.assert_array_equal(both.counts[of_guided:], plain.counts)
    assert rows(plain) <= rows(both)
    if words == "uv":
        assert of_guided < len(plain.features)  # Why the others are needed.


def test_sentences_without_words_have_their_only_translation():
    _, (found,) = lists("guided", [[]], 5)
    assert set(map(tuple, found.features.tolist())) == {(0.0,) * found.features.shape[1]}
    assert (found.counts[:, 0] == 0).all()


def test_weights_of_features_with_one_name_are_not_tuned():
    """A file of weights would hold one for both."""
    table = small.rule_table([("u", "a", [-1.0]), ("u", "b", [0.0])], ["Glue"])
    model = random_model(5, 2)
    lm = build_lm(model), LmVocabulary(model.words)
    decoder = Decoder(build_grammar([GrammarSource(table)]), *lm, WEIGHTS)
    with pytest.raises(SettingsError, match="a table has the feature Glue, and so has the decoder itself"):
        list(tune(decoder, [["u"]], [[["a"]]], TuneSettings(rounds=1)))
    prefixed = build_grammar([GrammarSource(table, "their.")])
    assert list(
        tune(
            Decoder(prefixed, *lm, {**WEIGHTS, "their.Glue": 0.0}), [["u"]], [[["a"]]], TuneSettings(rounds=1)
        )
    )
