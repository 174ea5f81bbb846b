"""Lexical probabilities and weights are those of Koehn, Och and Marcu (2003)."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from scfg_sampler.baseline.extraction import extract
from scfg_sampler.core.arrays.vocabulary import Vocabulary
from scfg_sampler.errors import InputError
from scfg_sampler.rules.lexical import (
    NULL,
    estimate,
    lexical_probabilities,
    lexical_weights,
    read_lexical,
    write_lexical,
)
from tests.baseline.test_extraction import random_sentence
from tests.learner.corpora import corpus_of
from tests.oracles.phrase_forest import Sentence, sentence
from tests.rules.test_counts import rule_counts
from tests.rules.test_text import WORDS


def naive_tables(pairs: list[Sentence]) -> tuple[dict, dict]:
    """w(e | f) and w(f | e) by (f, e), None being NULL."""
    joint: Counter = Counter()
    for pair in pairs:
        joint.update((pair.source[s], pair.target[t]) for s, t in pair.links)
        sources, targets = {s for s, _ in pair.links}, {t for _, t in pair.links}
        joint.update((word, None) for s, word in enumerate(pair.source) if s not in sources)
        joint.update((None, word) for t, word in enumerate(pair.target) if t not in targets)
    of_source, of_target = Counter(), Counter()
    for (f, e), number in joint.items():
        of_source[f] += number
        of_target[e] += number
    return (
        {(f, e): number / of_source[f] for (f, e), number in joint.items()},
        {(f, e): number / of_target[e] for (f, e), number in joint.items()},
    )


def naive_weight(words, translation, links, table, *, backward: bool) -> float:
    """ln lex of the translation given the words; links are (word position, translation position)."""
    log_weight = 0.0
    for j, e in enumerate(translation):
        if isinstance(e, str):
            linked = [words[i] for i, k in links if k == j] or [None]
            probs = [table.get((e, f) if backward else (f, e), 0.0) for f in linked]
            log_weight += math.log(max(sum(probs) / len(probs), 1e-7))
    return log_weight


def test_probabilities_count_links_and_words_without():
    # a–A twice, a–B once; b without a link; C without one.
    pairs = [sentence("a b", "A", "0-0"), sentence("a", "A B C", "0-0 0-1")]
    corpus = corpus_of(pairs)
    tables = estimate(corpus)
    ids = {word: k for k, word in enumerate(corpus.source_vocabulary)}
    targets = {word: k for k, word in enumerate(corpus.target_vocabulary)}
    assert lexical_probabilities(tables, ids["a"], targets["A"]) == (2 / 3, 1.0)
    assert lexical_probabilities(tables, ids["a"], targets["B"]) == (1 / 3, 1.0)
    assert lexical_probabilities(tables, ids["b"], NULL) == (1.0, 1.0)
    assert lexical_probabilities(tables, NULL, targets["C"]) == (1.0, 1.0)
    assert lexical_probabilities(tables, ids["b"], targets["A"]) == (0.0, 0.0)


def test_tables_equal_dictionaries_on_random_alignments(rng):
    pairs = [random_sentence(rng) for _ in range(60)]
    corpus = corpus_of(pairs)
    tables = estimate(corpus)
    forward, backward = naive_tables(pairs)
    assert tables.num_pairs == len(forward)
    for (f, e), prob in forward.items():
        source = NULL if f is None else corpus.source_vocabulary.id(f)
        target = NULL if e is None else corpus.target_vocabulary.id(e)
        assert_allclose(lexical_probabilities(tables, source, target), (prob, backward[f, e]), rtol=1e-12)


def test_weight_by_hand():
    """A word linked twice takes the mean, an unaligned word NULL's probability."""
    pairs = [
        sentence("a b", "A B", "0-0 1-0 1-1"),
        sentence("a b", "A C", "0-0 0-1"),
    ]
    corpus = corpus_of(pairs)
    tables = estimate(corpus)
    # w(A|a) = 2/3, w(C|a) = 1/3, w(A|b) = 1/3, w(B|b) = 1/3, w(NULL|b) = 1/3.
    # w(a|A) = 2/3, w(b|A) = 1/3, w(b|B) = 1, w(a|C) = 1, w(b|NULL) = 1.
    counts = rule_counts(
        [([0, 1], [0, 1], [(0, 0), (1, 0), (1, 1)], 1.0), ([0, 1], [0, 2], [(0, 0), (0, 1)], 1.0)]
    )
    forward, backward = lexical_weights(counts, tables)
    assert_allclose(np.exp(forward), [(2 / 3 + 1 / 3) / 2 * (1 / 3), 2 / 3 * 1 / 3], rtol=1e-12)
    assert_allclose(np.exp(backward), [2 / 3 * (1 / 3 + 1) / 2, (2 / 3 + 1) / 2 * 1], rtol=1e-12)


def test_weights_equal_the_definition_on_extracted_rules(rng):
    pairs = [random_sentence(rng) for _ in range(40)]
    corpus = corpus_of(pairs)
    counts = extract(corpus)
    forward, backward = lexical_weights(counts, estimate(corpus))
    tables = naive_tables(pairs)
    for row in range(counts.num_rules):
        source, target = (
            [v.words[x] if x >= 0 else int(x) for x in symbols[start[row] : start[row + 1]]]
            for start, symbols, v in (
                (counts.source_start, counts.source, corpus.source_vocabulary),
                (counts.target_start, counts.target, corpus.target_vocabulary),
            )
        )
        links = counts.alignment[counts.alignment_start[row] : counts.alignment_start[row + 1]].tolist()
        expected = naive_weight(source, target, links, tables[0], backward=False)
        assert_allclose(forward[row], expected, rtol=1e-10)
        turned = [(j, i) for i, j in links]
        expected = naive_weight(target, source, turned, tables[1], backward=True)
        assert_allclose(backward[row], expected, rtol=1e-10)


def test_rules_without_words_weigh_nothing_and_unseen_pairs_little():
    tables = estimate(corpus_of([sentence("a b", "A B", "0-0 1-1")]))
    counts = rule_counts([([-1, -2], [-2, -1], [], 1.0), ([0], [1], [(0, 0)], 1.0)])
    assert_allclose(lexical_weights(counts, tables), [[0.0, math.log(1e-7)], [0.0, math.log(1e-7)]])


def test_moses_files_say_which_word_comes_first(tmp_path):
    corpus = corpus_of([sentence("a b", "A", "0-0"), sentence("a", "B C", "0-0")])
    tables = estimate(corpus)
    write_lexical(tables, corpus.source_vocabulary, corpus.target_vocabulary, tmp_path / "lex")
    assert set((tmp_path / "lex.f2e").read_text().splitlines()) == {
        "A a 0.5000000",
        "B a 0.5000000",
        "NULL b 1.0000000",
        "C NULL 1.0000000",
    }
    assert set((tmp_path / "lex.e2f").read_text().splitlines()) == {
        "a A 1.0000000",
        "a B 1.0000000",
        "b NULL 1.0000000",
        "NULL C 1.0000000",
    }


def test_moses_files_come_back(tmp_path, rng):
    corpus = corpus_of([random_sentence(rng) for _ in range(30)])
    tables = estimate(corpus)
    vocabularies = corpus.source_vocabulary, corpus.target_vocabulary
    write_lexical(tables, *vocabularies, tmp_path / "lex")
    read = read_lexical(tmp_path / "lex", *vocabularies)
    assert np.array_equal(read.pair_keys, tables.pair_keys)
    assert_allclose(read.target_given_source, tables.target_given_source, atol=5e-8)
    assert_allclose(read.source_given_target, tables.source_given_target, atol=5e-8)


@given(st.lists(st.tuples(WORDS.filter(bool), WORDS.filter(bool)), min_size=1, max_size=5))
@settings(max_examples=50)
@example([("\ufeff", "\ufeffx"), ("\ufeff&#65279;", "&#65279;")])
@example([("NULL", "&#78;ULL"), ("&#78;ULL", "NULL"), ("&#38;#78;ULL", "N&#160;"), ("&#078;ULL", "&#91;")])
def test_any_words_come_back_from_moses_files(tmp_path_factory, words):
    pairs = [Sentence((f, "alone"), (e,), frozenset([(0, 0)])) for f, e in words]
    corpus = corpus_of(pairs)
    path = tmp_path_factory.mktemp("lexical") / "lex"
    write_lexical(estimate(corpus), corpus.source_vocabulary, corpus.target_vocabulary, path)
    vocabularies = Vocabulary(corpus.source_vocabulary.words), Vocabulary(corpus.target_vocabulary.words)
    read = read_lexical(path, *vocabularies)
    assert vocabularies[0].words == corpus.source_vocabulary.words
    assert vocabularies[1].words == corpus.target_vocabulary.words
    assert np.array_equal(read.pair_keys, estimate(corpus).pair_keys)
    lines = path.with_suffix(".f2e").read_bytes().decode().split("\n")
    assert all(len(line.split()) == 3 for line in lines[:-1])


def test_files_may_name_other_pairs_and_the_last_line_of_a_pair_counts(tmp_path):
    (tmp_path / "lex.f2e").write_text("y b 0.25\nx a 0.5\ny b 0.75\n")
    (tmp_path / "lex.e2f").write_text("a x 0.125\nb NULL 1\n")
    source, target = Vocabulary(), Vocabulary()
    read = read_lexical(tmp_path / "lex", source, target)
    assert (source.words, target.words) == (["b", "a"], ["y", "x"])
    # Keys are (source + 1, target + 1), the second 0 for NULL; a pair that one file does not have is 0 there.
    assert read.pair_keys.tolist() == [1 << 32, (1 << 32) + 1, (2 << 32) + 2]
    assert read.target_given_source.tolist() == [0.0, 0.75, 0.5]
    assert read.source_given_target.tolist() == [1.0, 0.0, 0.125]


def test_words_of_mosess_tokeniser_stay_as_they_are(tmp_path):
    corpus = corpus_of([sentence("&#91;x&#93; &amp;", "&#124; &apos;s", "0-0 1-1")])
    write_lexical(estimate(corpus), corpus.source_vocabulary, corpus.target_vocabulary, tmp_path / "lex")
    words = {line.split()[0] for line in (tmp_path / "lex.e2f").read_text().splitlines()}
    assert words == {"&#91;x&#93;", "&amp;"}


@pytest.mark.parametrize("line", ["a b", "a b c", "a b 2.0", "a b 0.5 x", "a b nan", ""])
def test_lines_that_are_no_entries_are_named(tmp_path, line):
    (tmp_path / "lex.f2e").write_text(f"a b 0.5\n{line}\n")
    (tmp_path / "lex.e2f").write_text("")
    with pytest.raises(InputError, match=r"lex\.f2e:2: .* is not a lexical entry"):
        read_lexical(tmp_path / "lex", Vocabulary(), Vocabulary())
