"""Grammar files: both formats, and what is said of bad ones."""

from __future__ import annotations

import itertools
from urllib.parse import unquote

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monolingual.pcfg.grammar import build_grammar, num_rules, rule_name
from monolingual.pcfg.grammar_text import (
    FORMATS,
    format_rules,
    meant,
    probabilities,
    read_grammar,
    spellable,
    write_grammar,
)
from scfg_sampler.errors import InputError, SettingsError
from tests.monolingual.pcfg.grammars import CHAINS, grammar_of, random_grammar


def names(grammar):
    return [rule_name(grammar, rule) for rule in range(num_rules(grammar))]


def read(text, tmp_path):
    (tmp_path / "g").write_text(text, encoding="utf-8")
    return read_grammar(tmp_path / "g")


@pytest.mark.parametrize("style", FORMATS)
def test_what_is_written_is_read_back(style, tmp_path, rng):
    for text in (CHAINS, "S -> 'it\\'s' | S \"don't\"".replace("\\'", "x")):
        grammar, probs = grammar_of(text, tmp_path)
        write_grammar(tmp_path / "out.gz", grammar, probs, style=style)
        again = read_grammar(tmp_path / "out.gz")
        assert names(again.grammar) == names(grammar)
        assert_array_equal(again.weights, probs)
    grammar, probs = random_grammar(rng, 5)
    write_grammar(tmp_path / "out", grammar, probs, style=style)
    assert names(read_grammar(tmp_path / "out").grammar) == names(grammar)


def test_johnson_weights_and_pseudo_counts_are_read(tmp_path):
    weighted = read("0.25 2 S --> S S\n3 S --> a\n\nT --> a b\n", tmp_path)
    assert names(weighted.grammar) == ["S -> S S", "S -> 'a'", "T -> 'a' 'b'"]
    assert_array_equal(weighted.weights, [0.25, 3, 1])
    assert_array_equal(weighted.pseudo_counts, [2, 1, 1])


def test_johnson_pseudo_counts_are_written(tmp_path):
    grammar = read("S -> S S | 'a'", tmp_path).grammar
    lines = list(format_rules(grammar, style="johnson", pseudo_counts=np.array([0.5, 2.0])))
    assert lines == ["1.0 0.5 S --> S S", "1.0 2.0 S --> a"]


def test_start_symbol_comments_and_rules_of_one_head_apart(tmp_path):
    weighted = read("%start T\nS -> 'a' [1]  # a comment\nT -> S [.5]\nS2 -> S [1]\nT -> T S2 [.5]", tmp_path)
    assert weighted.grammar.nonterminals[0] == "T"
    assert names(weighted.grammar) == ["T -> S", "T -> T S2", "S -> 'a'", "S2 -> S"]
    assert_array_equal(weighted.weights, [0.5, 0.5, 1, 1])


def test_spaces_are_needed_only_between_names(tmp_path):
    weighted = read("S->S S[.4]|'a'[.6] # done\n", tmp_path)
    assert names(weighted.grammar) == ["S -> S S", "S -> 'a'"]
    assert_array_equal(weighted.weights, [0.4, 0.6])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S -> 'a' # as NP[NUM=sg]", ["S -> 'a'"]),
        ("S -> 'a'# NP[+WH]", ["S -> 'a'"]),
        ("S->'a'|#NP[+WH]\nT->#NP[+WH]", ["S -> 'a'", "S ->", "T ->"]),
        ("S -> 'a' 'b[i=0]' | \"it's[-x]\"", ["S -> 'a' 'b[i=0]'", 'S -> "it\'s[-x]"']),
    ],
)
def test_features_in_words_and_comments_are_none_of_the_grammar(text, expected, tmp_path):
    (tmp_path / "g").write_text(text)
    assert names(read_grammar(tmp_path / "g", empty=True).grammar) == expected


def test_weights_are_normalised_on_request_only(tmp_path):
    weighted = read("S -> S S [2] | 'a' [6]", tmp_path)
    with pytest.raises(InputError, match=r"weights of the rules of S sum to 8.*--normalise"):
        probabilities("g", weighted)
    assert_allclose(probabilities("g", weighted, normalised=True), [0.25, 0.75])
    assert_allclose(probabilities("g", read("S -> S S | 'a'", tmp_path)), [0.5, 0.5])


@pytest.mark.parametrize("normalised", [False, True])
def test_weights_whose_sum_is_no_number_are_refused(tmp_path, normalised):
    path = tmp_path / "grammar.txt"
    path.write_text("S -> 'a' [1e308]\nS -> 'b' [1e308]\n")
    with pytest.raises(InputError, match=r"rules of S sum to inf\. Write smaller ones"):
        probabilities(path, read_grammar(path), normalised=normalised)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S -> S S [.5]\nS -> [.5]", r"g:2: an empty production of S. .pcfg remove-empty. takes"),
        ("S -> S S |", r"g:1: an empty production of S"),
        ("S -> ''", r"g:1: an empty production of S"),
        ("S -->", r"g:1: an empty production of S"),
        ("S -> 'a'\nS -> 'a'", r"g:2: S -> 'a' stands here again, first on line 1"),
        ("S -> 'a' [x]", r"g:1: the weight 'x' is not a number"),
        ("S -> 'a' [-1]", r"g:1: the weight is -1. It must be at least 0 and"),
        ("S -> 'a' [.5] 'b'", r"g:1: a weight stands before the end"),
        ("S -> 'a", r"g:1: cannot be read from"),
        ("S T -> 'a'", r"g:1: 'S T' is not one nonterminal"),
        (
            "% start S\nS -> NP[NUM=?n] 'a'",
            r"g:2: a rule of a feature grammar: NP.NUM= … is a nonterminal with",
        ),
        ("S[-INV] -> 'a'", r"g:1: a rule of a feature grammar: S.- … is"),
        ("S -> '#' X# NP[NUM='sg'] # x", r"g:1: a rule of a feature grammar: NP.NUM= … is"),
        ("S -> 'NP[NUM=sg]", r"g:1: cannot be read from"),
        ("S = 'a'", r"g:1: not a rule: \"S = 'a'\""),
        ("S -> 'a'\n1 S --> b", r"g:2: not a rule"),
        ("1 2 3 S --> b", r"g:1: 4 fields before -->"),
        ("0.5 0 S --> b", r"g:1: the pseudo-count is 0. It must be positive"),
        ("S -> 'a' [.5]\nS -> 'b'", r"g:2: S -> 'b' has no weight, others have"),
        ("%start T\nS -> 'a'", r"the start symbol T has no rule"),
        ("# nothing", r"holds no rule"),
    ],
)
def test_bad_files_are_reported_with_their_line(text, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "style", "message"),
    [
        ("S --> a'\"", "nltk", "cannot hold the terminal"),
        ("1 S[x] --> a", "nltk", "cannot hold the nonterminal"),
        ("1 S --> #\n1 # --> a", "nltk", "NLTK's format cannot hold the nonterminal #; write Johnson's"),
        ("1 S --> #a\n1 #a --> a", "johnson", "the nonterminal #a where a line begins with it; give the"),
        ("1 S->T --> a", "nltk", "cannot hold the nonterminal S->T"),
        ("1 S --> %start\n1 %start --> a", "nltk", "cannot hold the nonterminal %start"),
        ("1 S --> A\\ a\n1 A\\ --> a", "nltk", "cannot hold the nonterminal A"),
        ("S -> 'S'", "johnson", "cannot hold the terminal S"),
        ("S -> T 'a'", "johnson", "nonterminal without rules"),
        ("S -> 'a'", "xml", "choose one of nltk, johnson"),
    ],
)
def test_names_a_format_cannot_hold_are_refused(text, style, message, tmp_path):
    grammar = read(text, tmp_path).grammar
    with pytest.raises(SettingsError, match=message):
        list(format_rules(grammar, style=style))


@pytest.mark.parametrize("label", ["-->", "a b", "a\vb"])
def test_nonterminals_that_johnson_cannot_hold_are_refused(label):
    grammar, _ = build_grammar("S", [("S", [(label, False)]), (label, [("a", True)])])
    with pytest.raises(SettingsError, match="Johnson's format cannot hold the nonterminal"):
        list(format_rules(grammar, style="johnson", weights=np.ones(2)))


@pytest.mark.parametrize("space", ["\N{NO-BREAK SPACE}", "\N{IDEOGRAPHIC SPACE}", "\x1c"])
def test_other_spaces_than_those_of_ascii_are_letters_in_johnson(tmp_path, space):
    """Programs of that format read words as C does."""
    names = ("S", f"a{space}b", f"{space}c", f"d{space}")
    found = read(f"1 S --> {names[1]} {names[2]} {names[3]}\n2 {names[1]} -->\t{names[3]}", tmp_path)
    grammar = found.grammar
    assert (grammar.nonterminals, sorted(grammar.terminals)) == (names[:2], sorted(names[2:]))
    lines = list(format_rules(grammar, style="johnson", weights=found.weights))
    again = read("\n".join(lines), tmp_path).grammar
    assert (again.nonterminals, again.terminals) == (grammar.nonterminals, grammar.terminals)


def test_every_label_can_be_spelled_and_is_told_from_all_others(tmp_path):
    """All labels of three letters, and some: what is written is read back, and can be undone."""
    letters = "'#->\\%[2 7|"
    labels = ["".join(each) for size in (1, 2, 3) for each in itertools.product(letters, repeat=size)]
    labels += ["%start", "%5b", "a\N{EM SPACE}b", "a\N{NO-BREAK SPACE}", "NP", "50%", "A->B->C"]
    spelled = [spellable(label) for label in labels]
    assert [unquote(label) for label in spelled] == labels
    assert [meant(label) for label in spelled if "%20" not in label] == [x for x in labels if " " not in x]
    assert [meant(label) for label in spelled if "%20" in label] == [x for x in spelled if "%20" in x]
    rules = [("S", [(label, False)]) for label in spelled]
    rules += [(label, [("->", True)]) for label in spelled]
    grammar, _ = build_grammar("S", rules)
    write_grammar(tmp_path / "g", grammar)
    assert names(read_grammar(tmp_path / "g").grammar) == names(grammar)
    kept = ["NP", "50%", "A>B", "a#", "\\a", "--", "start%"]
    assert [spellable(label) for label in kept] == kept
    assert [meant(label) for label in [*kept, "%41", "%28", "%FF"]] == [*kept, "%41", "%28", "%FF"]


@pytest.mark.parametrize("column", ["weights", "pseudo_counts"])
def test_a_number_before_it_lets_a_nonterminal_begin_like_a_comment(column, tmp_path):
    grammar = read("1 S --> # #a\n1 # --> £\n1 #a --> a", tmp_path).grammar
    lines = list(format_rules(grammar, **{column: np.ones(3)}, style="johnson"))
    assert names(read("\n".join(lines), tmp_path).grammar) == names(grammar)


def test_the_start_symbol_may_stand_apart_from_its_sign(tmp_path):
    (tmp_path / "g").write_text("% start T\nS -> 'a'\nT -> S S\n")
    assert read_grammar(tmp_path / "g").grammar.nonterminals[0] == "T"


def test_a_rule_goes_on_behind_a_backslash_as_in_nltk(tmp_path):
    """NLTK 3.10.4 reads the three rules; a line that follows keeps its number."""
    text = "S -> S S [.25] | \\\n  'a' [.25] \\\n | 'b' [.5]\nS = 'c'\n"
    (tmp_path / "g").write_text(text)
    with pytest.raises(InputError, match=r"g:4: not a rule"):
        read_grammar(tmp_path / "g")
    (tmp_path / "g").write_text("S -> 'a' [.5]\nS -> \\\n 'b' [-1]\n")
    with pytest.raises(InputError, match=r"g:2: the weight is -1"):
        read_grammar(tmp_path / "g")
    rules = text.replace("S = 'c'\n", "# A comment ends with its line \\\nT -> 'c' [1.] \\\n")
    found = read(rules.replace("'b'", "T"), tmp_path)
    expected = ["S -> S S [0.25]", "S -> 'a' [0.25]", "S -> T [0.5]", "T -> 'c' [1.0]"]
    assert list(format_rules(*found[:2])) == expected
    found = read("0.5 S --> a\n.5 S --> \\\n", tmp_path)
    assert list(format_rules(found.grammar)) == ["S -> 'a'", "S -> '\\'"]
