"""Grammars whose nonterminals have labels, against the enumeration of all derivations."""

from __future__ import annotations

import numpy as np
import pytest

from decoder.grammar.file import read_grammar_file, with_settings, write_grammar_file
from decoder.grammar.trie import GrammarSource, build_grammar
from decoder.grammar.weighted import as_weighted
from decoder.lm.model import LmVocabulary, build_lm
from decoder.search.chart import parse
from decoder.search.labelled import parse_labelled
from decoder.translation.decoder import Decoder
from decoder.translation.derivations import derivation_record
from decoder.translation.forced import ForcedDecoder
from decoder.translation.hypergraph import hypergraph_record
from scfg_sampler.core.forests.hypergraph import validate
from scfg_sampler.core.forests.semiring import Counting, LogSum, inside
from scfg_sampler.errors import RuleTableError
from scfg_sampler.rules.table import read_rule_table
from tests.decoder import labelled_grammars as labelled
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model


def random_case(folder, seed: int, soft: bool = False):
    """Decoder arguments, rules, sentence, and all derivations best first."""
    rng = np.random.default_rng(seed)
    rules = labelled.random_labelled_rules(rng)
    words = list(rng.choice([*small.SOURCE_WORDS, "x"], size=int(rng.integers(1, 5))))
    max_span = int(rng.integers(2, 6))
    model = random_model(seed % 50, int(rng.integers(1, 4)))
    lm, vocabulary = build_lm(model), LmVocabulary(model.words)
    weights = small.random_weights(rng)
    if soft:
        weights["LabelMismatch"] = float(rng.normal())
    table = read_rule_table(labelled.write_rules(rules, folder / "table"), labels=True)
    grammar = as_weighted(build_grammar([GrammarSource(table, "", max_span)]), [vocabulary], weights)
    oracle = labelled.all_labelled_derivations(rules, words, max_span, weights, lm, vocabulary)
    return (grammar, lm, vocabulary, weights), rules, words, oracle


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("search", ["cube", "boundary"])
@pytest.mark.parametrize("seed", range(12))
def test_every_derivation_is_found_once_and_the_best_first(tmp_path, seed, search, soft):
    arguments, _, words, oracle = random_case(tmp_path, seed, soft)
    assert arguments[0].num_unusable == 0
    decoder = Decoder(*arguments, beam=0, max_targets=0).searching(search)
    result = decoder.search(words)
    exported = decoder.export(result)
    validate(exported.graph)
    assert inside(exported.graph, Counting(np.ones(len(exported.edges))))[-1, 0] == len(oracle)
    total = inside(exported.graph, LogSum(result.forest.weight[exported.edges]))[-1, 0]
    assert total == pytest.approx(small.log_sum([score for score, _ in oracle]), abs=1e-4)
    found = decoder.translations(result, len(oracle) + 5, unique=False)
    np.testing.assert_allclose([t.score for t in found], [score for score, _ in oracle], atol=1e-4)
    assert sorted(tuple(t.words) for t in found) == sorted(d.words for _, d in oracle)


def test_the_cases_have_gaps_unary_rules_and_copies_of_labels(tmp_path):
    """The oracle is asked for what it is there for."""
    seen = set()
    for seed in range(12):
        _, rules, _, oracle = random_case(tmp_path, seed, soft=True)
        stack = [each for _, each in oracle]
        while stack:
            each = stack.pop()
            stack += each.children
            if each.rule == -5:
                seen.add(("other label", each.children[0].rule == -3))
            if each.rule >= 0:
                left, source, _, _ = rules[each.rule]
                seen.add(("left", left))
                if ":" in source and " " not in source:
                    seen.add(("unary", source[0], left, each.children[0].rule == -3))
    assert {("left", label) for label in labelled.LABELS} <= seen
    assert {("unary", "X", "A", False), ("unary", "A", "B", False), ("unary", "A", "B", True)} <= seen
    assert ("other label", False) in seen


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_posteriors_and_forced_derivations_are_those_of_all(tmp_path, seed, soft):
    arguments, _, words, oracle = random_case(tmp_path, seed, soft)
    decoder = Decoder(*arguments, beam=0, max_targets=0)
    result = decoder.search(words)
    every = decoder.translations(result, len(oracle), unique=False)
    probs = np.exp(np.array([score for score, _ in oracle]) - oracle[0][0])
    expected = (probs / probs.sum()) @ np.array([t.features for t in every])
    np.testing.assert_allclose(decoder.posterior(result).features, expected, atol=1e-3)
    for reference in {each.words for _, each in oracle[:20]}:
        best = max(score for score, each in oracle if each.words == reference)
        forced = ForcedDecoder(decoder).derive(words, list(reference))
        assert decoder.best(forced.result).score == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_a_compiled_grammar_is_the_grammar(tmp_path, seed):
    arguments, _, words, oracle = random_case(tmp_path, seed)
    grammar = arguments[0]
    write_grammar_file(grammar.sources[0].table, tmp_path / "compiled")
    read = with_settings(read_grammar_file(tmp_path / "compiled"), "", grammar.sources[0].max_span)
    assert read.labels.names == grammar.labels.names
    for one, other in zip(read.labels.trie, grammar.labels.trie, strict=True):
        np.testing.assert_array_equal(one, other)
    found = Decoder(read, *arguments[1:], beam=0, max_targets=0).translate(words)
    assert found.score == pytest.approx(oracle[0][0], abs=1e-4)


def test_derivations_name_labels(tmp_path):
    rules = [("NP", "u NN:1", "a NN:1", [0, 0]), ("NN", "v", "b", [0, 0]), ("VP", "w NP:1", "NP:1 c", [1, 0])]
    table = read_rule_table(labelled.write_rules(rules, tmp_path / "t"), labels=True)
    model = random_model(1, 2)
    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.0, "Glue": -1.0, "PassThrough": -5.0}
    grammar = build_grammar([GrammarSource(table, "", 9)])
    decoder = Decoder(grammar, build_lm(model), LmVocabulary(model.words), weights)
    result = decoder.search(["w", "u", "v"])
    record = derivation_record(decoder, result, decoder.best(result), 0)
    assert [node["symbol"] for node in record["nodes"]] == ["GOAL", "S", "VP", "NP", "NN"]
    assert record["translation"] == "a b c"
    result = decoder.search(["u", "x"])  # A word without rules is what is asked for.
    record = derivation_record(decoder, result, decoder.best(result), 0)
    assert [node["symbol"] for node in record["nodes"]] == ["GOAL", "S", "NP", "NN"]


def test_soft_labels_are_counted_and_named(tmp_path):
    rules = [("NP", "u NN:1", "a NN:1", [0, 0]), ("NN", "v", "b", [0, 0]), ("VP", "w PP:1", "PP:1 c", [1, 0])]
    table = read_rule_table(labelled.write_rules(rules, tmp_path / "t"), labels=True)
    model = random_model(1, 2)
    lm, vocabulary = build_lm(model), LmVocabulary(model.words)
    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.0, "Glue": -1.0, "PassThrough": -5.0}
    grammar = build_grammar([GrammarSource(table, "", 9)])
    assert Decoder(grammar, lm, vocabulary, weights).translate(["w", "u", "v"]).text != "a b c"
    weights["LabelMismatch"] = -0.25
    decoder = Decoder(as_weighted(grammar, [vocabulary], weights), lm, vocabulary, weights)
    result = decoder.search(["w", "u", "v"], keep_states=True)
    best = decoder.best(result)
    assert (best.text, best.score) == ("a b c", pytest.approx(0.75))
    assert best.features[decoder.feature_names.index("LabelMismatch")] == 1
    record = derivation_record(decoder, result, best, 0)
    nodes = record["nodes"]
    assert [node["symbol"] for node in nodes] == ["GOAL", "S", "VP", "PP", "NP", "NN"]
    assert [node["children"] for node in nodes] == [[1], [2], [3], [4], [5], []]
    assert nodes[3]["features"] == {"LabelMismatch": 1.0}
    graph = hypergraph_record(decoder, result, 0)
    assert any(rule["features"] == {"LabelMismatch": 1.0} for rule in graph["rules"])


def test_a_feature_of_the_table_is_not_taken_for_the_decoders(tmp_path):
    (tmp_path / "t").write_text(
        "[A] ||| u [B,1] ||| a [B,1] ||| LabelMismatch=2\n[C] ||| v ||| b ||| LabelMismatch=0\n"
    )
    table = read_rule_table(tmp_path / "t", labels=True)
    grammar = build_grammar([GrammarSource(table)])
    assert not as_weighted(grammar, [], {"LabelMismatch": 1.0}).soft_labels
    renamed = grammar._replace(feature_names=("Other",))
    assert as_weighted(renamed, [], {"LabelMismatch": 1.0}).soft_labels
    assert not as_weighted(renamed, [], {"Other": 1.0}).soft_labels


def test_unary_rules_that_lead_in_a_circle_are_not_used(tmp_path):
    rules = [
        ("A", "B:1", "a B:1", [0, 0]),
        ("B", "C:1", "C:1", [0, 0]),
        ("C", "A:1", "A:1", [0, 0]),
        ("D", "A:1", "A:1 b", [0, 0]),
        ("X", "X:1", "X:1 c", [0, 0]),
        ("A", "u", "a", [0, 0]),
    ]
    table = read_rule_table(labelled.write_rules(rules, tmp_path / "t"), labels=True)
    grammar = build_grammar([GrammarSource(table)])
    assert grammar.num_unusable == 4
    assert sorted(grammar.rules.tolist()) == [3, 5]


@pytest.mark.parametrize("seed", range(15))
def test_with_x_alone_both_charts_are_the_same(seed):
    rng = np.random.default_rng(seed)
    grammar = small.grammar_of(small.random_rules(rng), 4)
    table = grammar.sources[0].table
    words = rng.integers(-1, 3, size=int(rng.integers(1, 8))).astype(np.int32)
    from decoder.grammar.labels import grammar_labels
    from scfg_sampler.rules.labels import Labels

    only_x = Labels(("X",), np.zeros((1, 5), np.int32), np.zeros(table.num_rules, np.int32))
    num_words = len(grammar.source_vocabulary)
    labels = grammar_labels(only_x, grammar.trie, num_words, grammar.rules[grammar.rule_start[:-1]]).trie
    for copy_any in (False, True):
        plain = parse(grammar.trie, words, grammar.max_arity, 4, copy_any)
        other = parse_labelled(grammar.trie, labels, words, grammar.max_arity, 4, copy_any, False)
        for name, one, two in zip(plain._fields, plain, other, strict=True):
            np.testing.assert_array_equal(one, two, name)


def decoder_of(tmp_path, *parts):
    """A decoder of tables, each given as rules and the longest span of one."""
    tables = [
        read_rule_table(labelled.write_rules(rules, tmp_path / f"t{k}"), labels=True)
        for k, (rules, _) in enumerate(parts)
    ]
    sources = [GrammarSource(table, "", span) for table, (_, span) in zip(tables, parts, strict=True)]
    model = random_model(1, 2)
    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.0, "Glue": -1.0, "PassThrough": -5.0}
    return Decoder(build_grammar(sources), build_lm(model), LmVocabulary(model.words), weights, beam=0)


def texts_of(decoder, *words):
    found = decoder.translations(decoder.search(words), 100, unique=False)
    return sorted(each.text for each in found)


def test_source_sides_are_shared_by_labels_and_gaps_take_their_own(tmp_path):
    rules = [("A", "u", "a", [0, 0]), ("B", "u", "b", [0, 0]), ("C", "B:1 v", "B:1 c", [0, 0])]
    decoder = decoder_of(tmp_path, (rules, 9))
    assert texts_of(decoder, "u", "v") == ["a v", "b c", "b v"]


def test_rules_of_one_gap_have_the_span_limit_of_their_table(tmp_path):
    long = ([("A", "u v", "a", [0, 0]), ("A", "u", "c", [0, 0])], 9)
    short = ([("B", "A:1", "A:1 b", [0, 0])], 1)
    decoder = decoder_of(tmp_path, long, short)
    assert texts_of(decoder, "u") == ["c", "c b"]
    assert "a b" not in texts_of(decoder, "u", "v")


def test_words_are_copied_as_what_gaps_ask_for(tmp_path):
    decoder = decoder_of(tmp_path, ([("A", "u", "a", [0, 0]), ("B", "A:1 v", "b A:1", [0, 0])], 9))
    assert texts_of(decoder, "v") == ["v"]
    assert texts_of(decoder, "u") == ["a"]
    any_word = decoder.copying_any()
    # As X, and as A, which S takes where there is a rule besides; never as B, which is in no gap.
    assert texts_of(any_word, "u") == ["a", "u", "u"]
    assert texts_of(decoder_of(tmp_path, ([("B", "u", "a", [0, 0])], 9)).copying_any(), "u") == ["a", "u"]


def test_labels_of_several_tables_are_joined_by_name(tmp_path):
    one = labelled.write_rules([("A", "u", "a", [1, 0])], tmp_path / "one")
    two = labelled.write_rules(
        [("B", "v", "b", [0, 0]), ("A", "B:1 A:2", "A:2 B:1", [3, 0])], tmp_path / "two"
    )
    tables = [read_rule_table(path, labels=True) for path in (one, two)]
    plain = small.rule_table([("w", "c", [0, 0])])
    grammar = build_grammar([GrammarSource(table) for table in (*tables, plain)])
    model = random_model(1, 2)
    weights = {"First": 1.0, "Second": 0.0, "LanguageModel": 0.0, "Glue": -1.0, "PassThrough": -5.0}
    decoder = Decoder(grammar, build_lm(model), LmVocabulary(model.words), weights)
    assert decoder.translate(["v", "u", "w"]).text == "a b c"


def test_readers_for_x_alone_refuse_labels(tmp_path):
    path = labelled.write_rules([("A", "u", "a", [1, 0])], tmp_path / "table")
    with pytest.raises(RuleTableError, match=r"table:1: left-hand side is '\[A\]' instead of \[X\]"):
        read_rule_table(path)
