"""Search with several language models against the enumeration of all derivations."""

import numpy as np
import pytest

from decoder.lm.model import LmVocabulary, build_lm
from decoder.search.mbr import expected_bleu, posteriors
from decoder.search.workspace import Slots, slot_of
from decoder.translation.decoder import Decoder
from decoder.translation.forced import ForcedDecoder
from decoder.translation.weights import initial_weights
from scfg_sampler.core.forests.semiring import LogSum, inside
from scfg_sampler.errors import InputError, SettingsError
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model
from tests.decoder.search.several_models import case


@pytest.mark.parametrize("seed", range(40))
def test_all_derivations_are_found_with_their_scores_and_features(seed):
    known = case(seed, 2, unknown=seed % 3 == 0, length=4)
    decoder = known.decoder()
    result = decoder.search(known.words)
    found = decoder.translations(result, len(known.derivations) + 5, unique=False)
    scores = [score for score, _, _ in known.derivations]
    np.testing.assert_allclose([t.score for t in found], scores, atol=1e-4)
    assert decoder.best(result).score == pytest.approx(scores[0], abs=1e-4)

    assert sorted(tuple(t.words) for t in found) == sorted(words for _, _, words in known.derivations)
    place = decoder.feature_names.index("LanguageModel")
    for t in found:
        for model, log_prob in enumerate(t.features[place : place + 2]):
            own = small.sentence_log_prob(known.lms[model], known.vocabularies[model], t.words)
            assert log_prob == pytest.approx(own, abs=1e-4)
        assert t.score == pytest.approx(float(t.features @ decoder.weights), abs=1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_sums_and_expectations_are_those_of_all_derivations(seed):
    known = case(seed, 2)
    decoder = known.decoder()
    result = decoder.search(known.words)
    exported = decoder.export(result)
    total = inside(exported.graph, LogSum(result.forest.weight[exported.edges]))[-1, 0]
    scores = np.array([score for score, _, _ in known.derivations])
    assert total == pytest.approx(small.log_sum(scores.tolist()), abs=1e-4)
    probs = np.exp(0.7 * (scores - scores[0]))
    probs /= probs.sum()
    features = np.array(
        [[values[name] for name in decoder.feature_names] for _, values, _ in known.derivations]
    )
    np.testing.assert_allclose(decoder.posterior(result, 0.7).features, probs @ features, atol=1e-4)


@pytest.mark.parametrize("seed", range(25))
def test_forced_derivations_have_the_scores_of_the_enumeration(seed):
    known = case(seed, 2, unknown=seed % 2 == 0, length=4)
    decoder = known.decoder(beam=1, max_targets=1)
    forced = ForcedDecoder(decoder)
    by_words: dict = {}
    for score, _, words in known.derivations:
        by_words.setdefault(words, []).append(score)
    for words, scores in list(by_words.items())[:25]:
        result = forced.derive(known.words, words).result
        found = decoder.translations(result, len(scores) + 3, unique=False)
        np.testing.assert_allclose([t.score for t in found], scores, atol=1e-4)
        assert decoder.best(result).score == pytest.approx(scores[0], abs=1e-4)
        assert all(tuple(t.words) == words for t in found)


@pytest.mark.parametrize("seed", range(10))
def test_minimum_risk_weighs_by_the_scores_of_all_models(seed):
    known = case(seed, 2, length=4)
    decoder = known.decoder()
    best: dict = {}
    for score, _, words in known.derivations:
        best.setdefault(words, score)
    ids = {word: i for i, word in enumerate(sorted({word for words in best for word in words}))}
    start = np.cumsum([0, *map(len, best)]).astype(np.int64)
    flat = np.array([ids[word] for words in best for word in words], np.int32)
    expected = expected_bleu(start, flat, posteriors(np.array(list(best.values())), 1.0))
    found = decoder.minimum_risk(decoder.search(known.words), len(best) + 3)
    assert expected[list(best).index(tuple(found.words))] == pytest.approx(expected.max(), abs=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_a_model_of_weight_zero_changes_nothing_but_its_feature(seed):
    known = case(seed, 2)
    weights = known.weights | {"LanguageModel_1": 0.0}
    decoder = Decoder(known.grammar, known.lms, known.vocabularies, weights, beam=0, max_targets=0)
    alone = {name: weight for name, weight in known.weights.items() if name != "LanguageModel_1"}
    one = Decoder(known.grammar, known.lms[0], known.vocabularies[0], alone, beam=0, max_targets=0)
    both = decoder.k_best(decoder.search(known.words), 50, unique=False)
    single = one.k_best(one.search(known.words), 50, unique=False)
    np.testing.assert_allclose(both.score, single.score, atol=1e-5)


def test_items_differ_if_the_state_of_any_model_does():
    states = np.zeros((1, 2, 5), np.int32)
    for value in range(1, 40):
        for model in (0, 1):
            state = states[0].copy()
            state[model, 3] = value
            slots = Slots(np.zeros(2, np.int32), np.full(2, -1, np.int32))
            taken = slot_of(slots, states, states[0], 6)
            slots.cell[taken] = 6
            assert slot_of(slots, states, states[0], 6) == taken
            assert slot_of(slots, states, state, 6) == 1 - taken


def test_models_rank_the_targets_of_a_source_side_together():
    rules = [("u", word, (0.0, 0.0)) for word in ("a", "b", "c")]
    one, other = random_model(1, 1), random_model(2, 1)
    for model, favoured in ((one, "a"), (other, "b")):
        model.log_probs[0][:] = -3.0
        model.log_probs[0][model.words.index(favoured)] = -1.0
        model.log_probs[0][model.words.index("c")] = -1.5
    vocabularies = tuple(LmVocabulary(model.words) for model in (one, other))
    lms = tuple(map(build_lm, (one, other)))
    weights = dict.fromkeys((*small.FEATURES, "Glue", "PassThrough"), 0.0)
    for first, second, best in ((1.0, 0.0, "a"), (0.0, 1.0, "b"), (1.0, 1.0, "c")):
        weighed = weights | {"LanguageModel": first, "LanguageModel_1": second}
        decoder = Decoder(small.grammar_of(rules, 5), lms, vocabularies, weighed, max_targets=1)
        assert decoder.translate(["u"]).text == best


def test_models_share_the_first_weight_of_the_language_model():
    names = ("LanguageModel", "LanguageModel_1", "LanguageModel_OOV", "Glue")
    assert initial_weights(names) == {
        "LanguageModel": 0.5,
        "LanguageModel_1": 0.5,
        "LanguageModel_OOV": 0.0,
        "Glue": 0.0,
    }


def test_a_model_without_weight_and_no_model_are_refused():
    known = case(1, 2)
    weights = {name: weight for name, weight in known.weights.items() if name != "LanguageModel_1"}
    with pytest.raises(InputError, match="no weight for 'LanguageModel_1'"):
        Decoder(known.grammar, known.lms, known.vocabularies, weights)
    with pytest.raises(SettingsError, match="no language model is given"):
        Decoder(known.grammar, (), (), weights)
