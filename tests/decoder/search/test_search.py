"""The search against the enumeration of all derivations."""

import numpy as np
import pytest

from decoder.lm.counts import encode_text
from decoder.lm.estimation import estimate_lm
from decoder.lm.model import LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from scfg_sampler.core.forests.hypergraph import validate
from scfg_sampler.core.forests.semiring import Counting, LogSum, inside
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model


def random_case(seed: int, *, length: int = 5, num_rules: int = 12):
    """Decoder arguments, rules, sentence, and all derivations best first."""
    rng = np.random.default_rng(seed)
    rules = small.random_rules(rng, num_rules)
    words = list(rng.choice([*small.SOURCE_WORDS, "x"], size=int(rng.integers(1, length + 1))))
    max_span = int(rng.integers(2, 6))
    order = int(rng.integers(1, 5))
    model = random_model(seed % 50, order)
    lm, vocabulary = build_lm(model), LmVocabulary(model.words)
    weights = small.random_weights(rng)
    oracle = small.all_derivations(rules, words, max_span, weights, lm, vocabulary)
    return (small.grammar_of(rules, max_span), lm, vocabulary, weights), rules, words, oracle


@pytest.mark.parametrize("seed", range(60))
def test_exact_search_finds_the_best_derivation_of_all(seed):
    arguments, _, words, oracle = random_case(seed)
    for beam in (0, 10**6):
        found = Decoder(*arguments, beam=beam, max_targets=0).translate(words)
        assert found.score == pytest.approx(oracle[0][0], abs=1e-4)
    assert found.score == pytest.approx(float(found.features @ decoder_weights(arguments)), abs=1e-9)


def decoder_weights(arguments):
    return Decoder(*arguments).weights


@pytest.mark.parametrize("seed", range(40))
def test_forest_holds_every_derivation_once(seed):
    arguments, _, words, oracle = random_case(seed)
    decoder = Decoder(*arguments, beam=0, max_targets=0)
    result = decoder.search(words)
    exported = decoder.export(result)
    validate(exported.graph)
    counts = inside(exported.graph, Counting(np.ones(len(exported.edges))))
    assert counts[-1, 0] == len(oracle)
    log_sums = inside(exported.graph, LogSum(result.forest.weight[exported.edges]))
    assert log_sums[-1, 0] == pytest.approx(small.log_sum([score for score, _ in oracle]), abs=1e-4)


@pytest.mark.parametrize("lm_weight", [None, 0.0])
@pytest.mark.parametrize("seed", range(25))
def test_expectations_and_posteriors_are_those_of_all_derivations(seed, lm_weight):
    arguments, rules, words, oracle = random_case(seed)
    grammar, lm, vocabulary, weights = arguments
    if lm_weight is not None:  # Without language model.
        weights = {**weights, "LanguageModel": lm_weight}
        max_span = grammar.sources[0].max_span
        oracle = small.all_derivations(rules, words, max_span, weights, lm, vocabulary)
    decoder = Decoder(grammar, lm, vocabulary, weights, beam=0, max_targets=0)
    result = decoder.search(words)
    found = decoder.posterior(result, 0.7)
    every = decoder.translations(result, len(oracle) + 5, unique=False)
    assert len(every) == len(oracle)
    probs = np.exp(0.7 * np.array([score for score, _ in oracle]))
    probs /= probs.sum()
    expected = probs @ np.array([t.features for t in every])
    np.testing.assert_allclose(found.features, expected, atol=1e-4)
    edges, uses = np.zeros(len(found.edges)), np.zeros(len(found.edges))
    places = list(zip(result.forest.cell[result.forest.head], result.forest.rule, strict=True))
    for prob, translation in zip(probs, every, strict=True):
        edges[translation.edges] += prob
        used = {places[edge] for edge in translation.edges}
        uses += prob * np.array([place in used for place in places])
    np.testing.assert_allclose(found.edges, edges, atol=1e-5)
    np.testing.assert_allclose(found.uses, uses, atol=1e-5)


@pytest.mark.parametrize("scale", [1e4, 1e12, 1e30])
def test_no_posterior_is_above_1(scale):
    """Of scores so far apart that nothing is left of what they add up to."""
    for seed in range(10):
        arguments, _, words, _ = random_case(seed)
        decoder = Decoder(*arguments, beam=0, max_targets=0)
        found = decoder.posterior(decoder.search(words), scale)
        for values in (found.edges, found.uses):
            assert ((values >= 0.0) & (values <= 1.0)).all()


@pytest.mark.parametrize("seed", range(40))
def test_k_best_lists_all_derivations_in_order(seed):
    arguments, _, words, oracle = random_case(seed, length=4)
    decoder = Decoder(*arguments, beam=0, max_targets=0)
    result = decoder.search(words)
    found = decoder.translations(result, len(oracle) + 5, unique=False)
    assert len(found) == len(oracle)
    np.testing.assert_allclose([t.score for t in found], [score for score, _ in oracle], atol=1e-4)
    assert sorted(tuple(t.words) for t in found) == sorted(d.words for _, d in oracle)
    for t in found:
        assert t.score == pytest.approx(float(t.features @ decoder.weights), abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_unique_k_best_lists_the_best_derivation_of_each_string(seed):
    arguments, _, words, oracle = random_case(seed, length=4)
    best: dict = {}
    for score, derivation in oracle:
        best.setdefault(derivation.words, score)
    decoder = Decoder(*arguments, beam=0, max_targets=0)
    found = decoder.k_best(decoder.search(words), len(best) + 5)
    np.testing.assert_allclose(found.score, list(best.values()), atol=1e-4)


@pytest.mark.parametrize("beam", [1, 2, 7])
@pytest.mark.parametrize("seed", range(15))
def test_narrow_beams_find_derivations_that_exist(seed, beam):
    arguments, _, words, oracle = random_case(seed)
    found = Decoder(*arguments, beam=beam, max_targets=0).translate(words)
    near = [derivation for score, derivation in oracle if abs(score - found.score) < 1e-4]
    assert tuple(found.words) in {derivation.words for derivation in near}


def test_wide_spans_may_try_more_and_short_ones_less():
    rules = [("u", target, [0, 0]) for target in "abc"] + [
        ("X1 X2", "X1 X2", [1, 1]),
        ("u X1", "X1 c", [1, 0]),
    ]
    model = random_model(1, 3)
    weights = {"First": 1.0, "Second": 1.0, "LanguageModel": 1.0, "Glue": 0.0, "PassThrough": -1.0}
    arguments = (small.grammar_of(rules, 9), build_lm(model), LmVocabulary(model.words), weights)
    found = Decoder(*arguments, beam=8, widen=4).search(["u"] * 8)
    chart = found.chart
    tried = np.bincount(found.forest.cell[found.forest.head], minlength=len(chart.begin))
    spans = (chart.end - chart.begin)[: chart.num_x_cells]
    np.testing.assert_array_equal(tried[: chart.num_x_cells][spans > 1], 2 * spans[spans > 1])
    assert (tried[: chart.num_x_cells][spans == 1] == 2).all()
    sentences = slice(chart.num_x_cells, -1)
    assert (tried[sentences] <= 2 * chart.end[sentences]).all()
    assert (tried[sentences][4:] == 2 * chart.end[sentences][4:]).all()
    long = Decoder(*arguments, beam=8, widen=4).search(["u"] * 30)
    tried = np.bincount(long.forest.cell[long.forest.head], minlength=len(long.chart.begin))
    assert (tried[long.chart.num_x_cells : -1] <= 2 * 20).all()  # The longest rule covers twenty words.
    exact = Decoder(*arguments, beam=0, widen=4).translate(["u"] * 5)
    for beam, widen in ((2**63 - 1, 4), (10**18, 0), (8, 1e-300)):
        assert Decoder(*arguments, beam=beam, widen=widen).translate(["u"] * 5).score == exact.score
    assert exact.score == Decoder(*arguments, beam=0).translate(["u"] * 5).score


def test_queries_are_the_words_scored_in_the_search():
    model = random_model(1, 1)
    weights = {"First": 1.0, "Second": 1.0, "LanguageModel": 1.0, "Glue": 0.0, "PassThrough": -1.0}
    grammar = small.grammar_of([("u", "a b", [0, 0])], 9)
    decoder = Decoder(grammar, build_lm(model), LmVocabulary(model.words), weights)
    # The words of a rule without gaps were scored when rules were ranked; copied words and </s> are now.
    assert decoder.search(["u", "u"]).forest.num_queries == 1
    assert decoder.search(["u", "v", "v"]).forest.num_queries == 3


def test_cells_larger_than_the_first_arrays_lose_nothing():
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(40)]
    text = [" ".join(rng.choice(words, size=8)) for _ in range(2000)]
    model, _ = estimate_lm(encode_text(text), 4)
    targets = {" ".join(rng.choice(words, size=rng.integers(1, 5))) for _ in range(60)}
    rules = [("u", target, rng.normal(size=2)) for target in sorted(targets)]
    rules.append(("X1 u X2", "X2 w0 X1", np.zeros(2)))
    weights = {"First": 1.0, "Second": 1.0, "LanguageModel": 1.0, "Glue": 0.5, "PassThrough": -1.0}
    decoder = Decoder(
        small.grammar_of(rules, 9), build_lm(model), LmVocabulary(model.words), weights, beam=0, max_targets=0
    )
    result = decoder.search(["u"] * 3)
    exported = decoder.export(result)
    assert np.bincount(result.forest.cell).max() > 2000
    counts = inside(exported.graph, Counting(np.ones(len(exported.edges))))
    # Three words one by one, or the rule in the middle around two of them.
    assert counts[-1, 0] == len(targets) ** 3 + len(targets) ** 2
    every = decoder.k_best(result, 10**6, unique=False)
    assert len(every.score) == counts[-1, 0]
    assert (np.diff(every.score) <= 1e-12).all()
    np.testing.assert_allclose(every.features @ decoder.weights, every.score, atol=1e-9)


def test_sentences_of_any_length_have_a_translation():
    arguments, *_ = random_case(3)
    decoder = Decoder(*arguments, beam=10)
    words = ["u", "never-seen", "v", "w"] * 150
    found = decoder.translate(words)
    assert found.words.count("never-seen") == 150
    assert found.score == pytest.approx(float(found.features @ decoder.weights), abs=1e-6)


def test_rules_cover_no_more_than_the_span_limit():
    rules = [("u", "a", [0, 0]), ("X1 u", "X1 b", [5, 5]), ("X1 X2", "X2 X1", [9, 9])]
    model = random_model(1, 2)
    weights = {"First": 1.0, "Second": 1.0, "LanguageModel": 0.1, "Glue": -1.0, "PassThrough": -1.0}
    for max_span in (1, 2, 3, 5):
        decoder = Decoder(
            small.grammar_of(rules, max_span), build_lm(model), LmVocabulary(model.words), weights
        )
        result = decoder.search(["u"] * 7)
        chart = result.chart
        lengths = (chart.end - chart.begin)[: chart.num_x_cells]
        assert lengths.max() == max_span
        assert chart.end[-1] - chart.begin[-1] == 7
