"""Which words may be copied, and words the language model does not know, against enumeration."""

import numpy as np
import pytest

from decoder.grammar.weighted import with_unknown_words
from decoder.lm.model import LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from decoder.translation.forced import ForcedDecoder
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.search.test_search import random_case


@pytest.mark.parametrize("seed", range(30))
def test_any_word_may_be_copied_and_unknown_words_are_counted(seed):
    (grammar, lm, vocabulary, weights), rules, words, _ = random_case(seed, length=4)
    weights["LanguageModel_OOV"] = -0.7
    counted = with_unknown_words(grammar, [vocabulary], weights)
    decoder = Decoder(counted, lm, vocabulary, weights, beam=0, max_targets=0).copying_any()
    oracle = small.Oracle(rules, words, grammar.sources[0].max_span, copy_any=True)
    plain = np.array([weights[name] for name in (*small.FEATURES, "Glue", "PassThrough")])
    scores: dict = {}
    for derivation in oracle.s(len(words)):
        score = float(oracle.features(derivation) @ plain)
        score += weights["LanguageModel"] * small.sentence_log_prob(lm, vocabulary, derivation.words)
        score -= 0.7 * sum(word not in ("a", "b", "c") for word in derivation.words)
        scores.setdefault(derivation.words, []).append(score)
    result = decoder.search(words)
    found = decoder.translations(result, 10_000, unique=False)
    every = sorted((score for row in scores.values() for score in row), reverse=True)
    np.testing.assert_allclose([t.score for t in found], every, atol=1e-4)
    for t in found[:20]:
        assert t.score == pytest.approx(float(t.features @ decoder.weights), abs=1e-9)
        assert decoder.best(ForcedDecoder(decoder).derive(words, t.words).result).score == pytest.approx(
            max(scores[tuple(t.words)]), abs=1e-4
        )


def test_only_words_without_rules_are_copied_unless_asked_for():
    model = random_model(1, 2)
    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.0, "Glue": 0.0, "PassThrough": 2.0}
    rules = [("u", "a", (0.0, 0.0))]
    decoder = Decoder(small.grammar_of(rules, 5), build_lm(model), LmVocabulary(model.words), weights)
    assert decoder.translate(["u", "x"]).text == "a x"
    assert decoder.copying_any().translate(["u", "x"]).text == "u x"
