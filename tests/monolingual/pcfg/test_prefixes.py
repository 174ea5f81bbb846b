"""Beginnings of sentences and words anywhere, against sums over all sentences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.cli import main
from monolingual.pcfg.chart import inside_probabilities
from monolingual.pcfg.chart_grammar import binarise, chart_weights
from monolingual.pcfg.prefixes import Prefixes, infix_log_prob
from scfg_sampler.errors import SettingsError
from tests.monolingual.pcfg.grammars import grammar_of

FINITE = """
S -> A B [.3] | A A B [.3] | B [.2] | 'a' S2 'b' [.2]
S2 -> 'b' [.5] | B A [.5]
A -> B [.25] | 'a' [.5] | 'b' 'a' [.25]
B -> 'b' [.6] | 'c' A2 [.4]
A2 -> 'a' [.5] | 'c' [.5]
"""
"""No sentence is longer than seven words."""
GROWING = "S -> S S [.3] | 'a' [.4] | 'b' T [.3]\nT -> S [.2] | T 'a' [.1] | 'b' [.7]"


def model(text, tmp_path):
    grammar, probs = grammar_of(text, tmp_path)
    chart = binarise(grammar)
    return grammar, chart, chart_weights(chart, probs), probs


def sentence_probs(grammar, chart, weights, longest):
    """The probability of each sentence up to a length."""
    every = [
        words
        for length in range(1, longest + 1)
        for words in itertools.product(range(len(grammar.terminals)), repeat=length)
    ]
    flat = np.array([word for words in every for word in words], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum([len(words) for words in every])]).astype(np.int64)
    return dict(zip(every, np.exp(inside_probabilities(chart, weights, flat, start)).tolist(), strict=True))


def test_beginnings_have_the_probability_of_all_sentences_that_begin_so(tmp_path):
    grammar, chart, weights, probs = model(FINITE, tmp_path)
    known = sentence_probs(grammar, chart, weights, 7)
    assert_allclose(sum(known.values()), 1.0, rtol=1e-12)
    prefixes = Prefixes(grammar, chart, weights, probs)
    for words in itertools.product(range(3), repeat=4):
        found = np.exp(prefixes.log_probs(words))
        expected = [
            sum(prob for sentence, prob in known.items() if sentence[:length] == words[:length])
            for length in range(5)
        ]
        assert_allclose(found, expected, rtol=1e-10, atol=1e-15)
        assert_allclose(np.exp(prefixes.log_sentence_prob(words)), known[words], rtol=1e-12)
        assert prefixes.log_prob(words) == prefixes.log_probs(words)[-1]
    assert prefixes.log_prob([]) == 0.0


def test_next_words_ask_for_whole_beginnings_alone(tmp_path, monkeypatch, capsys):
    """Once a word of the grammar, however long the beginning is."""
    asked = []
    whole = Prefixes._log_prob
    monkeypatch.setattr(Prefixes, "_log_prob", lambda self, *at: asked.append(at[1]) or whole(self, *at))
    (tmp_path / "grammar").write_text(GROWING)
    (tmp_path / "text").write_text("a b b a\n")
    arguments = [str(tmp_path / "grammar"), "--sentences", str(tmp_path / "text"), "--next", "3"]
    assert main(["pcfg", "prefix", *arguments, "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert sorted(asked) == [4, 5, 5]


def test_beginnings_are_shared_out_among_their_next_words(tmp_path):
    """P(w) is the sum of P(w x) over words x, and of the sentence w itself, however long sentences may be."""
    grammar, chart, weights, probs = model(GROWING, tmp_path)
    prefixes = Prefixes(grammar, chart, weights, probs)
    for words in ([0], [1], [1, 1], [1, 0, 0], [0, 1, 1, 0, 1]):
        after = [prefixes.log_probs([*words, word])[-1] for word in range(2)]
        total = np.exp(after).sum() + np.exp(prefixes.log_sentence_prob(words))
        assert_allclose(np.exp(prefixes.log_probs(words)[-1]), total, rtol=1e-10)
    assert_allclose(np.exp([prefixes.log_probs([w])[-1] for w in range(2)]).sum(), 1.0, rtol=1e-10)


def test_what_never_ends_is_not_counted(tmp_path):
    """S → S S has .6: finite trees have 2/3 together, and every sentence begins with an a."""
    grammar, chart, weights, probs = model("S -> S S [.6] | 'a' [.4]", tmp_path)
    prefixes = Prefixes(grammar, chart, weights, probs)
    assert_allclose(np.exp(prefixes.log_finite), 2 / 3, rtol=1e-12)
    found = np.exp(prefixes.log_probs([0, 0]))
    assert_allclose(found, [1.0, 1.0, 1.0 - 0.4 / (2 / 3)], rtol=1e-10)


def test_words_anywhere_are_given_that_sentences_end(tmp_path):
    """Without b there are the trees of S → S S [.6] | a [.3]: z = .6 z² + .3."""
    grammar, chart, weights, probs = model("S -> S S [.6] | 'a' [.3] | 'b' [.1]", tmp_path)
    without = (1.0 - math.sqrt(1.0 - 4 * 0.6 * 0.3)) / (2 * 0.6)
    found = infix_log_prob(grammar, chart, weights, probs, [grammar.terminals.index("b")])
    assert_allclose(np.exp(found), 1.0 - without / (2 / 3), rtol=1e-12)


def test_long_beginnings_do_not_underflow(tmp_path):
    grammar, chart, weights, probs = model("S -> 'a' S [.999] | 'b' S [.0005] | 'a' [.0005]", tmp_path)
    found = Prefixes(grammar, chart, weights, probs).log_probs([1] * 120)
    assert_allclose(found, np.arange(121) * math.log(0.0005), rtol=1e-9)


def test_words_anywhere_have_the_probability_of_all_sentences_with_them(tmp_path):
    grammar, chart, weights, probs = model(FINITE, tmp_path)
    known = sentence_probs(grammar, chart, weights, 7)
    for words in [(0,), (1, 0), (2, 2), (1, 1, 0), (0, 1, 0), (1, 2, 0, 1)]:
        expected = sum(
            prob
            for sentence, prob in known.items()
            if any(sentence[at : at + len(words)] == words for at in range(len(sentence)))
        )
        found = infix_log_prob(grammar, chart, weights, probs, words)
        assert_allclose(np.exp(found), expected, rtol=1e-9, atol=1e-14)
    assert infix_log_prob(grammar, chart, weights, probs, [0, -1]) == -math.inf


CRITICAL = """
S -> A S [.5] | 'e' [.5]
A -> A A [.5] | B [.5]
B -> B B [.5] | C [.5]
C -> C C [.5] | D [.5]
D -> D D [.5] | 'a' [.5]
"""


@pytest.mark.parametrize(("words", "expected"), [("e", 1.0), ("a", 0.5), ("a e", 0.5), ("e a", 0.0)])
def test_words_of_critical_symbols_have_their_probability(words, expected, tmp_path):
    """Each sentence is e, or else some a and then e: every second one has an a."""
    grammar, chart, weights, probs = model(CRITICAL, tmp_path)
    numbers = [grammar.terminals.index(word) for word in words.split()]
    assert_allclose(np.exp(infix_log_prob(grammar, chart, weights, probs, numbers)), expected, rtol=1e-14)


def test_probabilities_near_criticality_are_divided_by_all_digits_of_the_partition(tmp_path):
    """Z_B = q / p, and Z_A = ½ Z_A² + ½ Z_B: 1 − Z_A = √(1 − Z_B)."""
    text = "A -> A A [.5] | B [.5]\nB -> B B [.5000000005] | 'a' [.4999999995]"
    grammar, chart, weights, probs = model(text, tmp_path)
    prefixes = Prefixes(grammar, chart, weights, probs)
    lost = 1.0 - 0.4999999995 / 0.5000000005
    assert_allclose(-np.expm1(prefixes.log_finite), math.sqrt(lost), rtol=1e-7)
    assert_allclose(prefixes.log_sentence_prob([0]) + prefixes.log_finite, math.log(0.5 * 0.4999999995))


def test_intersections_that_are_too_large_are_refused(tmp_path, monkeypatch):
    grammar, chart, weights, probs = model(FINITE, tmp_path)
    monkeypatch.setattr("monolingual.pcfg.prefixes.MOST_RULES", 10)
    with pytest.raises(SettingsError, match="more than 10 rules; look for fewer words"):
        infix_log_prob(grammar, chart, weights, probs, [0, 1])


def test_surprisal_next_words_and_infixes_are_written(tmp_path, capsys):
    (tmp_path / "g").write_text("S -> 'a' S [0.5] | 'b' [0.5]\n")
    (tmp_path / "s").write_text("a b\nb a\n")
    arguments = ["pcfg", "prefix", str(tmp_path / "g"), "--sentences", str(tmp_path / "s")]
    assert main(arguments) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[:3] for row in rows[:3]] == [["1", "1", "a"], ["1", "2", "b"], ["1", "3", "</s>"]]
    assert [float(row[4]) for row in rows[:4]] == [1.0, 1.0, 0.0, 1.0]
    assert [row[3:] for row in rows[4:]] == [["-inf", "inf"], ["-inf", "nan"]]
    assert main([*arguments, "--next", "2"]) == 0
    assert capsys.readouterr().out == "1\t</s>\t1\n"
    (tmp_path / "s").write_text("a\n")
    assert main([*arguments, "--next", "1"]) == 0
    assert capsys.readouterr().out == "1\ta\t0.5\n"
    assert main([*arguments, "--infix"]) == 0
    assert float(capsys.readouterr().out) == pytest.approx(math.log(0.5), abs=1e-6)
    assert main([*arguments, "--next", "0"]) == 2
    assert "--next 0 must be at least 1" in capsys.readouterr().err


def test_certain_words_have_no_negative_zero(tmp_path, capsys):
    """The last word of `a b c` is certain, and its bits come out as −10⁻¹⁶."""
    rules = "S -> 'a' Y 'c' [0.1] | X Y [0.9]\nX -> 'b' X [0.25] | 'a' Y 'c' [0.75]\nY -> 'b' [1]\n"
    (tmp_path / "grammar").write_text(rules)
    (tmp_path / "text").write_text("a b c\n")
    arguments = [str(tmp_path / "grammar"), "--sentences", str(tmp_path / "text"), "--quiet"]
    assert main(["pcfg", "prefix", *arguments]) == 0
    assert capsys.readouterr().out.splitlines()[2] == "1\t3\tc\t-0.254892\t0.000000"
