"""Forced decoding against the enumeration of all derivations."""

import numpy as np
import pytest

from decoder.lm.model import LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from decoder.translation.derivations import derivation_record
from decoder.translation.forced import ForcedDecoder
from scfg_sampler.core.forests.hypergraph import validate
from scfg_sampler.core.forests.semiring import Counting, inside
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.search.test_search import random_case


def forced_case(seed):
    """A decoder whose beam and target limit would lose nearly everything, and the oracle by translation."""
    arguments, _, words, oracle = random_case(seed, length=4)
    decoder = Decoder(*arguments, beam=1, max_targets=1)
    by_words: dict = {}
    for score, derivation in oracle:
        by_words.setdefault(derivation.words, []).append((score, derivation))
    return decoder, words, by_words


@pytest.mark.parametrize("seed", range(60))
def test_every_translation_has_its_best_derivation_and_no_derivation_is_lost(seed):
    decoder, words, by_words = forced_case(seed)
    forced = ForcedDecoder(decoder)
    for translation, found in list(by_words.items())[:40]:
        outcome = forced.derive(words, translation)
        assert (outcome.exists, outcome.reason) == (True, "")
        best = decoder.best(outcome.result)
        assert tuple(best.words) == translation
        assert best.score == pytest.approx(found[0][0], abs=1e-4)
        assert best.score == pytest.approx(float(best.features @ decoder.weights), abs=1e-9)
        graph = decoder.export(outcome.result)
        validate(graph.graph)
        assert inside(graph.graph, Counting(np.ones(len(graph.edges))))[-1, 0] == len(found)
        listed = decoder.translations(outcome.result, len(found) + 3, unique=False)
        np.testing.assert_allclose([t.score for t in listed], [score for score, _ in found], atol=1e-4)
        record = derivation_record(decoder, outcome.result, best, 0)
        assert sum(node["score"] for node in record["nodes"]) == pytest.approx(best.score, abs=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_what_no_derivation_yields_has_none(seed):
    rng = np.random.default_rng(seed)
    decoder, words, by_words = forced_case(seed)
    forced = ForcedDecoder(decoder)
    tried = {
        tuple(rng.choice(["a", "b", "c", "foreign", "x"], size=size)) for size in [0, 1, 1, 2, 2, 3, 4, 5]
    }
    tried |= {translation[:-1] for translation in by_words} | {
        (*translation, "a") for translation in by_words
    }
    for translation in list(tried)[:40]:
        outcome = forced.derive(words, translation)
        assert outcome.exists == (translation in by_words)
        assert outcome.exists == (outcome.result is not None) == (outcome.reason == "")


def one_decoder(rules):
    model = random_model(1, 2)
    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.5, "Glue": -1.0, "PassThrough": -2.0}
    return Decoder(small.grammar_of(rules, 5), build_lm(model), LmVocabulary(model.words), weights)


RULES = [
    ("u", "a", (0.0, 0.0)),
    ("v", "b c", (0.0, 0.0)),
    ("w", "c", (0.0, 0.0)),
    ("u X1", "X1 a", (0.0, 0.0)),
    ("u X1 w", "b X1", (0.0, 0.0)),
    ("u w", "b b", (0.0, 0.0)),
]


@pytest.mark.parametrize(
    ("source", "reference", "reason"),
    [
        ("u v", "a b d d e", 'no rule that matches yields 2–4 "d d e"'),
        ("u v", "a zebra b c zebra", 'no rule that matches yields 1 "zebra", 4 "zebra"'),
        ("u v w", "a c", 'no rule makes a part of the translation of 1 "v"'),
        ("u w", "b a c", 'no rule makes 0 "b" with its neighbours'),
        ("w u", "c c a", 'the parts do not fit together; the largest that rules make is 1 "u" = 2 "a"'),
        (
            "u v w",
            "c b c a",
            'the parts do not fit together; the largest that rules make is 0–1 "u v" = 1–3 "b c a"',
        ),
        (
            "w zebra",
            "zebra c",
            'the parts do not fit together; the largest that rules make is 1 "zebra" = 0 "zebra"',
        ),
        ("", "a b", 'no source word for 0–1 "a b"'),
        ("u", "", 'no rule makes a part of the translation of 0 "u"'),
    ],
)
def test_reason_names_the_words(source, reference, reason):
    outcome = ForcedDecoder(one_decoder(RULES)).derive(source.split(), reference.split())
    assert (outcome.exists, outcome.reason) == (False, reason)


def test_unknown_words_are_copied_and_reordered():
    decoder = one_decoder(RULES)
    outcome = ForcedDecoder(decoder).derive(["u", "zebra", "[X,1]"], ["zebra", "a", "[X,1]"])
    assert decoder.best(outcome.result).text == "zebra a [X,1]"
    assert ForcedDecoder(decoder).derive([], []) == (None, True, "", None)


def test_language_model_is_shared_out_word_by_word():
    decoder = one_decoder(RULES)
    outcome = ForcedDecoder(decoder).derive(["u", "v"], ["b", "c", "a"])
    best = decoder.best(outcome.result)
    record = derivation_record(decoder, outcome.result, best, 0)
    shares = [node["features"].get("LanguageModel", 0.0) for node in record["nodes"]]
    total = small.sentence_log_prob(decoder.lms[0], decoder.lm_vocabularies[0], ["b", "c", "a"])
    assert sum(shares) == pytest.approx(total, abs=1e-6)
    assert [node["target"] for node in record["nodes"]] == [[1], [1], [1, "a"], ["b", "c"]]
    assert shares[0] != 0.0  # </s> is the goal's.
    assert shares[1] == 0.0  # S → X has no words of its own.


@pytest.mark.parametrize("source", ["w u", "u w u", "w v u", "u v w u u", "u"])
def test_rules_without_target_words_yield_empty_stretches(source):
    rules = [
        ("u", "", (0.5, 0.0)),
        ("v", "a", (0.1, 0.0)),
        ("w X1", "a X1 b", (0.2, 0.0)),
        ("X1 u X2", "X2 X1", (0.3, 0.0)),
        ("u u", "b", (0.4, 0.0)),
    ]
    decoder = one_decoder(rules)
    weights = dict(zip(decoder.feature_names, decoder.weights.tolist(), strict=True))
    words = source.split()
    oracle = small.all_derivations(rules, words, 5, weights, decoder.lms[0], decoder.lm_vocabularies[0])
    for translation in {derivation.words for _, derivation in oracle}:
        found = [score for score, derivation in oracle if derivation.words == translation]
        outcome = ForcedDecoder(decoder).derive(words, translation)
        listed = decoder.translations(outcome.result, len(found) + 3, unique=False)
        np.testing.assert_allclose([t.score for t in listed], found, atol=1e-4)
