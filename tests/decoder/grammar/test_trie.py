"""Building and ranking grammars."""

import numpy as np
import pytest

from decoder.grammar.trie import GrammarSource, build_grammar, child, rank_rules
from decoder.lm.model import LmVocabulary, build_lm
from decoder.translation.decoder import Decoder
from scfg_sampler.errors import SettingsError
from tests.decoder import small_grammars as small
from tests.decoder.lm.test_model import random_model

RULES = [
    ("u", "a", [0.1, 0]),
    ("u X1", "X1 a", [0.2, 0]),
    ("u X1 v", "a X1", [0.3, 0]),
    ("u", "b", [0.4, 0]),
    ("X1", "a X1", [0.5, 0]),
    ("X1 v X2", "X2 X1", [0.6, 0]),
]


def lm_and_words():
    model = random_model(2, 3)
    return build_lm(model), LmVocabulary(model.words)


def group_at(grammar, symbols) -> int:
    node = 0
    for symbol in symbols:
        node = child(grammar.trie, node, symbol)
        if node < 0:
            return -1
    return grammar.trie.first_group[node]


def rules_of(grammar, group) -> list[int]:
    return grammar.rules[grammar.rule_start[group] : grammar.rule_start[group + 1]].tolist()


def test_rules_are_grouped_by_source_side():
    grammar = small.grammar_of(RULES, 5)
    u, v = map(grammar.source_vocabulary.id, "uv")
    assert rules_of(grammar, group_at(grammar, [u])) == [0, 3]
    assert rules_of(grammar, group_at(grammar, [u, -1])) == [1]
    assert rules_of(grammar, group_at(grammar, [u, -1, v])) == [2]
    assert rules_of(grammar, group_at(grammar, [-1, v, -1])) == [5]
    assert group_at(grammar, [v]) == -1


def test_a_lone_nonterminal_is_left_out_and_counted():
    grammar = small.grammar_of(RULES, 5)
    assert grammar.num_unusable == 1
    assert 4 not in grammar.rules
    assert group_at(grammar, [-1]) == -1


def test_trie_holds_every_rule_of_a_large_unsorted_table():
    rng = np.random.default_rng(7)
    words = [f"w{i}" for i in range(40)]
    rules: dict[tuple[str, str], list[float]] = {}
    while len(rules) < 3000:
        rules[" ".join(rng.choice(words, size=rng.integers(1, 5))), f"t{len(rules)}"] = [0.0, 0.0]
    shuffled = [(source, target, f) for (source, target), f in rules.items()]
    rng.shuffle(shuffled)
    grammar = small.grammar_of(shuffled, 5)
    for row, (source, _, _) in enumerate(shuffled):
        group = group_at(grammar, map(grammar.source_vocabulary.id, source.split()))
        assert row in rules_of(grammar, group)
    assert sorted(grammar.rules) == list(range(3000))


def test_best_targets_are_kept_in_order_of_weighted_features_and_language_model():
    rng = np.random.default_rng(5)
    targets = [" ".join(rng.choice(small.TARGET_WORDS, size=3)) for _ in range(50)]
    rules = [("u", target, rng.normal(size=2)) for target in dict.fromkeys(targets)]
    grammar = small.grammar_of(rules, 5)
    lm, words = lm_and_words()
    lm_ids = np.array([[words.id(word) for word in grammar.target_vocabulary.words]], np.int32)
    weights = np.array([0.7, -0.3])
    ranked = rank_rules(grammar, weights, (lm,), lm_ids, np.array([0.5]), max_targets=10)

    from tests.decoder.lm.test_model import state_of

    ranks = {}
    for row, (_, target, features) in enumerate(rules):
        _, log_prob = state_of(lm, [words.id(word) for word in target.split()])
        ranks[row] = float(np.asarray(features, np.float32) @ weights) + 0.5 * log_prob
    expected = sorted(ranks, key=lambda row: -ranks[row])[:10]
    assert ranked.rule.tolist() == expected


def test_several_tables_share_words_and_features_under_their_prefixes():
    first = small.rule_table([("u", "a", [1, 2]), ("v", "b", [3, 4])])
    second = small.rule_table([("v", "a", [5, 6]), ("w", "c", [7, 8])], ("First", "Other"))
    grammar = build_grammar([GrammarSource(first), GrammarSource(second, "domain.", 3)])
    assert grammar.feature_names == ("First", "Second", "domain.First", "domain.Other")
    np.testing.assert_array_equal(grammar.features, [[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 5, 6], [0, 0, 7, 8]])
    v = grammar.source_vocabulary.id("v")
    group = group_at(grammar, [v])
    other = grammar.trie.next_group[group]
    assert sorted(rules_of(grammar, group) + rules_of(grammar, other)) == [1, 2]
    assert grammar.target_vocabulary.words[grammar.target[2]] == "a"


def test_each_table_keeps_its_span_limit():
    short = small.rule_table([("u", "a", [0, 0]), ("X1 u", "X1 a", [9, 9])])
    long = small.rule_table([("X1 u", "X1 b", [0, 0])])
    grammar = build_grammar([GrammarSource(short, "", 2), GrammarSource(long, "", 4)])
    lm, words = lm_and_words()
    weights = {"First": 1.0, "Second": 1.0, "LanguageModel": 0.0, "Glue": -100.0, "PassThrough": 0.0}
    found = Decoder(grammar, lm, words, weights).translate(["u"] * 4)
    assert found.words == ["a", "a", "b", "b"]


@pytest.mark.parametrize("sources", [[], [GrammarSource(small.rule_table([("u", "a", [0, 0])]), "", 0)]])
def test_impossible_settings_are_refused(sources):
    with pytest.raises(SettingsError, match=r"--grammar|--max-span is 0"):
        build_grammar(sources)
