"""The Hiero baseline extracts what its definition says, and counts it as asked."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scfg_sampler.baseline.extraction import extract
from scfg_sampler.baseline.settings import HieroSettings
from scfg_sampler.core.files import read_lines
from scfg_sampler.corpus.parallel_text import read_corpus
from scfg_sampler.errors import SettingsError
from scfg_sampler.rules.counts import RuleCounts
from tests.learner.corpora import corpus_of
from tests.oracles import reference_extraction
from tests.oracles.phrase_forest import Sentence, sentence


def random_sentence(rng: np.random.Generator, longest: int = 8) -> Sentence:
    """Few different words, so that rules recur; unaligned words and many-to-many links."""
    lengths = rng.integers(1, longest + 1, size=2)
    source, target = (tuple(rng.choice(list("abcd"), size=n).tolist()) for n in lengths)
    number = rng.integers(0, lengths.max() + 2)
    links = {(int(rng.integers(lengths[0])), int(rng.integers(lengths[1]))) for _ in range(number)}
    return Sentence(source, target, frozenset(links))


def monotone_sentence(rng: np.random.Generator, longest: int) -> Sentence:
    """A long sentence with links near the diagonal, which has many phrases."""
    length = int(rng.integers(1, longest + 1))
    words = tuple(rng.choice(list("abcd"), size=length).tolist())
    links = {(i, min(max(i + int(rng.integers(-1, 2)), 0), length - 1)) for i in range(length)}
    return Sentence(words, words[::-1], frozenset(link for link in links if rng.random() < 0.8))


def spelled(counts: RuleCounts, corpus) -> dict:
    """The rules as the reference writes them."""
    result = {}
    for row in range(counts.num_rules):
        sides = []
        for start, symbols, vocabulary in (
            (counts.source_start, counts.source, corpus.source_vocabulary),
            (counts.target_start, counts.target, corpus.target_vocabulary),
        ):
            ids = symbols[start[row] : start[row + 1]].tolist()
            sides.append(tuple(vocabulary.words[symbol] if symbol >= 0 else symbol for symbol in ids))
        links = counts.alignment[counts.alignment_start[row] : counts.alignment_start[row + 1]]
        rule = tuple(sides)
        assert rule not in result, "merged rules are different rules"
        result[rule] = (tuple(map(tuple, links.tolist())), counts.count[row])
    return result


def assert_same(found: dict, expected: dict) -> None:
    assert found.keys() == expected.keys()
    for rule, (links, count) in expected.items():
        assert found[rule][0] == links, rule
        assert_allclose(found[rule][1], count, rtol=1e-12)


@pytest.mark.parametrize("loose", ["no", "source", "target", "both"])
@pytest.mark.parametrize(
    "options",
    [{}, {"fractional": True}, {"no_singletons": True}, {"fractional": True, "no_singletons": True}],
)
def test_extraction_equals_the_definition_on_random_alignments(rng, options, loose):
    for _ in range(40 if loose == "no" else 15):
        pairs = [random_sentence(rng, 8 if loose == "no" else 6) for _ in range(4)]
        corpus = corpus_of(pairs)
        counting = "fractional" if options.get("fractional") else "occurrences"
        found = extract(
            corpus,
            HieroSettings(counting=counting, no_singletons=options.get("no_singletons", False), loose=loose),
        )
        assert_same(spelled(found, corpus), reference_extraction.extract(pairs, **options, loose=loose))


@pytest.mark.parametrize(
    ("max_initial", "max_initial_target", "max_symbols", "max_nonterminals"),
    [
        (3, 10, 5, 2),
        (10, 3, 5, 2),
        (10, 10, 2, 2),
        (10, 10, 5, 1),
        (10, 10, 5, 0),
        (1, 1, 1, 2),
        (2, 1, 5, 2),
    ],
)
@pytest.mark.parametrize("loose", ["no", "both"])
def test_limits_are_those_of_the_definition(
    rng, max_initial, max_initial_target, max_symbols, max_nonterminals, loose
):
    limits = {
        "max_initial": max_initial,
        "max_initial_target": max_initial_target,
        "max_symbols": max_symbols,
        "max_nonterminals": max_nonterminals,
        "loose": loose,
    }
    pairs = [random_sentence(rng, 8 if loose == "no" else 6) for _ in range(20)]
    corpus = corpus_of(pairs)
    assert_same(
        spelled(extract(corpus, HieroSettings(**limits)), corpus),
        reference_extraction.extract(pairs, **limits),
    )


def test_loose_phrases_by_hand():
    # The unaligned article goes with the noun after it, or stays outside.
    pair = sentence("pes spi", "the dog sleeps", "0-1 1-2")
    corpus = corpus_of([pair])
    rules = spelled(extract(corpus, HieroSettings(loose="target")), corpus)
    assert (("pes",), ("the", "dog")) in rules
    assert (("pes",), ("dog",)) in rules
    assert (("pes", -1), ("the", "dog", -1)) in rules
    assert ((-1, "spi"), (-1, "sleeps")) in rules
    assert ((-1, "spi"), ("the", -1, "sleeps")) in rules
    # Once from the whole with "the", once from that without it.
    assert rules[(-1, "spi"), (-1, "sleeps")][1] == 2.0
    assert not any(rule[1] == ("the",) for rule in rules), "unaligned words alone are no phrase"


def test_two_parts_never_claim_the_same_unaligned_word():
    pair = sentence("a x b", "A u B X", "0-0 1-3 2-2")
    corpus = corpus_of([pair])
    rules = spelled(extract(corpus, HieroSettings(loose="both")), corpus)
    assert ((-1, "x", -2), (-1, -2, "X")) in rules
    assert rules[(-1, "x", -2), (-1, -2, "X")][1] == 2.0, "u with a, or u with b"
    assert rules[(-1, "x", -2), (-1, "u", -2, "X")][1] == 1.0


def test_phrases_of_long_sentences_stop_at_ten_words(rng):
    pairs = [monotone_sentence(rng, 14) for _ in range(6)]
    corpus = corpus_of(pairs)
    assert_same(spelled(extract(corpus), corpus), reference_extraction.extract(pairs))


def test_discontinuous_rule_by_hand():
    # ne X pas → does not X: the phrase pair "mange"-"eat" taken out of the whole.
    pair = sentence("ne mange pas", "does not eat", "0-1 1-2 2-1")
    corpus = corpus_of([pair])
    rules = spelled(extract(corpus), corpus)
    assert rules == {
        (("mange",), ("eat",)): (((0, 0),), 1.0),
        (("ne", "mange", "pas"), ("not", "eat")): (((0, 0), (1, 1), (2, 0)), 1.0),
        (("ne", -1, "pas"), ("not", -1)): (((0, 0), (2, 0)), 1.0),
    }


def test_fractional_counts_sum_to_the_number_of_phrases_that_yield_a_rule(rng):
    pairs = [random_sentence(rng) for _ in range(50)]
    corpus = corpus_of(pairs)
    yielding = sum(
        bool(reference_extraction.rules_of_phrase(pair, phrase))
        for pair in pairs
        for phrase in reference_extraction.phrases(pair)
        if phrase[1] - phrase[0] <= 10 and phrase[3] - phrase[2] <= 10
    )
    assert_allclose(extract(corpus, HieroSettings(counting="fractional")).count.sum(), yielding, rtol=1e-12)


def test_no_singletons_keeps_one_word_rules_and_rules_seen_twice():
    pairs = [
        sentence("a b", "A B", "0-0 1-1"),
        sentence("a b", "A B", "0-0 1-1"),
        sentence("c d", "C D", "0-0 1-1"),
    ]
    corpus = corpus_of(pairs)
    kept = spelled(extract(corpus, HieroSettings(no_singletons=True)), corpus)
    assert (("a", "b"), ("A", "B")) in kept
    assert (("c",), ("C",)) in kept
    assert (("c", -1), ("C", -1)) in kept, "one source word, whatever its nonterminals"
    assert (("c", "d"), ("C", "D")) not in kept


def test_a_rule_seen_twice_is_no_singleton_whatever_its_alignments():
    corpus = corpus_of([sentence("a b", "A B", "0-0 1-1"), sentence("a b", "A B", "0-0 0-1 1-1")])
    kept = spelled(extract(corpus, HieroSettings(no_singletons=True)), corpus)
    assert kept[("a", "b"), ("A", "B")] == (((0, 0), (0, 1), (1, 1)), 2.0)


def test_rules_are_sorted_and_repeatable(rng):
    corpus = corpus_of([random_sentence(rng) for _ in range(50)])
    counts = extract(corpus)
    rows = [
        (
            counts.source[counts.source_start[row] : counts.source_start[row + 1]].tolist(),
            counts.target[counts.target_start[row] : counts.target_start[row + 1]].tolist(),
        )
        for row in range(counts.num_rules)
    ]
    assert rows == sorted(rows)
    again = extract(corpus)
    assert all(np.array_equal(one, other) for one, other in zip(counts, again, strict=True))


def test_corpus_without_links_has_no_rules():
    corpus = corpus_of([sentence("a b", "A", ""), sentence("", "", "")])
    assert extract(corpus).num_rules == 0
    assert extract(corpus, HieroSettings(counting="fractional")).num_rules == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_initial": 0}, "--max-initial is 0"),
        ({"max_initial_target": 0}, "--max-initial-target is 0"),
        ({"loose": "yes"}, "--loose is 'yes', but must be one of no, source, target, both"),
        ({"max_symbols": 0}, "--max-symbols is 0"),
        ({"max_nonterminals": 3}, "--max-nonterminals is 3, but must be 0, 1 or 2"),
        ({"counting": "all"}, "--counting is 'all', but must be one of occurrences, fractional"),
    ],
)
def test_limits_out_of_range_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        extract(corpus_of([sentence("a", "A", "0-0")]), HieroSettings(**options))


def test_real_sentences_give_what_the_definition_says(shared_data):
    data = shared_data / "tanaka-ja-en"
    files = ("train.ja.gz", "train.en.gz", "train.ja-en.eflomal-gdfa.gz")
    lines = zip(*(read_lines(data / name) for name in files), strict=True)
    pairs = [sentence(*triple) for triple in itertools.islice(lines, 8)]
    corpus = corpus_of(pairs)
    assert_same(spelled(extract(corpus), corpus), reference_extraction.extract(pairs))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("languages", "rules", "least", "loose"),
    [("tanaka-ja-en", 1_247_851, 376_788, 2_105_530), ("tatoeba-zh-en", 1_476_435, 527_475, 3_352_260)],
)
def test_number_of_rules_of_a_whole_corpus(shared_data, languages, rules, least, loose):
    """Our own figures; an independent prototype had 1.25 and 1.52 million with the source limit alone."""
    name = languages.split("-", 1)
    data = shared_data / languages
    source, target = name[1].split("-")
    corpus = read_corpus(
        data / f"train.{source}.gz",
        data / f"train.{target}.gz",
        data / f"train.{name[1]}.eflomal-gdfa.gz",
    )
    assert extract(corpus).num_rules == rules
    assert extract(corpus, HieroSettings(no_singletons=True)).num_rules == least
    assert extract(corpus, HieroSettings(loose="target")).num_rules == loose
