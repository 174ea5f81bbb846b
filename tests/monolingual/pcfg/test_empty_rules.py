"""Grammars without their empty productions give the same sentences the same probabilities."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.cli import main
from monolingual.pcfg.chart import inside_probabilities
from monolingual.pcfg.chart_grammar import binarise, chart_weights
from monolingual.pcfg.empty_rules import empty_probs, without_empty
from monolingual.pcfg.grammar_text import probabilities, read_grammar
from scfg_sampler.errors import InputError
from tests.monolingual.pcfg.grammars import grammar_of

BOUNDED = """
S -> A B 'x' A [.5] | B A [.3] | 'x' [.2]
A -> 'a' [.4] | B [.1] | {nothing} [.5]
B -> 'b' A [.6] | {nothing} [.4]
"""
"""At most four symbols spell nothing, in sentences of up to three words that are looked at."""


def read_empty(text, tmp_path):
    (tmp_path / "e").write_text(text)
    weighted = read_grammar(tmp_path / "e", empty=True)
    return weighted.grammar, probabilities(tmp_path / "e", weighted)


def probs_of(grammar, probs, sentences):
    chart = binarise(grammar)
    ids = {name: at for at, name in enumerate(grammar.terminals)}
    words = np.array([ids[word] for sentence in sentences for word in sentence], dtype=np.int32)
    start = np.concatenate([[0], np.cumsum([len(s) for s in sentences])]).astype(np.int64)
    return np.exp(inside_probabilities(chart, chart_weights(chart, probs), words, start))


def test_sentences_keep_their_probabilities(tmp_path):
    """The oracle writes a word # for nothing, and sums over all places where it may stand."""
    marked, marked_probs = grammar_of(BOUNDED.format(nothing="'#'"), tmp_path)
    grammar, probs = read_empty(BOUNDED.format(nothing="''"), tmp_path)
    smaller, kept, nothing = without_empty("e", grammar, probs)

    def summed(sentence):
        strings = {
            tuple(string)
            for count in range(6)
            for string in set(itertools.permutations((*sentence, *"#" * count)))
            if [word for word in string if word != "#"] == list(sentence)
        } - {()}
        return probs_of(marked, marked_probs, sorted(strings)).sum()

    assert_allclose(nothing, summed(()), rtol=1e-12)
    for size in (1, 2, 3):
        sentences = list(itertools.product("abx", repeat=size))
        found = probs_of(smaller, kept, sentences) * (1.0 - nothing)
        assert_allclose(found, [summed(sentence) for sentence in sentences], rtol=1e-10, atol=1e-15)


def test_recursion_has_the_closed_form(tmp_path):
    """G = .3 G² + .3 + .4 z for S → S S | ε | a: e = 1/3, P(a) = .4 / (1 − .6 e), P(a a) = .3 P(a)² / .8."""
    grammar, probs = read_empty("S -> S S [.3] | [.3] | 'a' [.4]", tmp_path)
    assert_allclose(np.ravel(empty_probs(grammar, probs)), [1 / 3, 2 / 3], rtol=1e-10)
    smaller, kept, nothing = without_empty("e", grammar, probs)
    found = probs_of(smaller, kept, [("a",), ("a", "a")]) * (1 - nothing)
    assert_allclose(found, [0.5, 0.3 * 0.25 / 0.8], rtol=1e-10)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("S -> A 'b' [1.0]\nA -> A A [.5] | [.5]", ["S -> 'b' [1.0]"]),
        (
            "S -> A B C 'b' [1.0]\nA -> A A [.5] | B [.5]\nB -> B B [.5] | C [.5]\nC -> C C [.5] | [.5]",
            ["S -> 'b' [1.0]"],
        ),
    ],
)
def test_what_spells_nothing_at_criticality_goes_altogether(text, rules, tmp_path, capsys):
    (tmp_path / "g").write_text(text + "\n")
    assert main(["pcfg", "remove-empty", str(tmp_path / "g")]) == 0
    assert capsys.readouterr().out.splitlines() == rules


@pytest.mark.parametrize("text", ["S -> S S [.5] | [.5]", "S -> S S [.5000000001] | [.4999999999]"])
def test_sentences_without_words_alone_are_refused_near_criticality(text, tmp_path):
    grammar, probs = read_empty(text, tmp_path)
    with pytest.raises(InputError, match="gives no sentence but the empty one"):
        without_empty("e", grammar, probs)


def test_weights_near_criticality_have_all_digits(tmp_path):
    """S → S S | ε | a with ½, ½ − q, q: 1 − e = √(2 q), and half of it is left to S → S S and to S → a."""
    for q in ("1e-7", "1e-12"):
        grammar, probs = read_empty(f"S -> S S [.5] | [{Decimal('.5') - Decimal(q)}] | 'a' [{q}]", tmp_path)
        _, kept, nothing = without_empty("e", grammar, probs)
        spelled = math.sqrt(2.0 * float(q))
        assert_allclose(kept, [spelled / 2.0, 1.0 - spelled, spelled / 2.0], rtol=1e-14)
        assert_allclose(nothing, 1.0 - spelled, rtol=1e-15)


def test_both_formats_may_have_empty_productions(tmp_path, capsys):
    (tmp_path / "j").write_text("0.5 S --> A b\n0.5 S --> b\n0.5 A -->\n0.5 A --> a\n")
    assert main(["pcfg", "remove-empty", str(tmp_path / "j")]) == 0
    shown = capsys.readouterr()
    assert sorted(shown.out.splitlines()) == ["A -> 'a' [1.0]", "S -> 'b' [0.75]", "S -> A 'b' [0.25]"]
    assert "probability of the sentence without words: 0" in shown.err


def test_what_cannot_be_removed_is_refused(tmp_path, capsys):
    grammar, probs = read_empty("S -> [1.0]", tmp_path)
    with pytest.raises(InputError, match="gives no sentence but the empty one"):
        without_empty("e", grammar, probs)
    grammar, probs = read_empty("S -> " + "A " * 17 + "[1.0]\nA -> [.5] | 'a' [.5]", tmp_path)
    with pytest.raises(InputError, match="17 symbols that may spell nothing"):
        without_empty("e", grammar, probs)
    (tmp_path / "g").write_text("S -> 'a' [.5] | [.5]\n")
    assert main(["pcfg", "check", str(tmp_path / "g")]) == 2
    assert "'pcfg remove-empty' takes such out" in capsys.readouterr().err
