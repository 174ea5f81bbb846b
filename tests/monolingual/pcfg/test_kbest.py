"""The best trees and the number of trees, against the list of all trees."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.cli import main
from monolingual.pcfg.chart_grammar import binarise
from monolingual.pcfg.grammar import build_grammar
from monolingual.pcfg.kbest import KBest, count_trees
from scfg_sampler.errors import SettingsError
from tests.monolingual.pcfg.grammars import (
    CHAINS,
    TERNARY,
    all_trees,
    grammar_of,
    random_grammar,
    tree_probability,
)


@pytest.mark.parametrize("text", [TERNARY, "S -> A B 'a' | A | B 'a' | 'a'\nA -> B | 'a'\nB -> 'a' | S"])
def test_best_trees_are_the_first_of_all_sorted(text, tmp_path, rng):
    grammar, probs = grammar_of(text, tmp_path)
    weights = probs * rng.uniform(0.3, 1.0, len(probs))
    chart = binarise(grammar)
    for length in range(1, 5):
        # Seven unary rules are more than the ten best trees have.
        trees = all_trees(grammar, [0] * length, max_unary=12 if "B 'a'" in text else 0)
        expected = sorted((tree_probability(tree, weights) for tree in trees), reverse=True)[:10]
        found = KBest(chart, weights, 10).trees([0] * length)
        assert_allclose(np.exp([log_weight for log_weight, _ in found]), expected, rtol=1e-10)
        assert len({tuple(tree) for _, tree in found}) == len(found)
        for log_weight, tree in found:
            assert tuple(tree) in set(trees)
            assert_allclose(np.exp(log_weight), tree_probability(tree, weights), rtol=1e-10)


def test_cycles_give_the_same_tree_once_more_around(tmp_path):
    grammar, probs = grammar_of(CHAINS, tmp_path)
    ids = {name: at for at, name in enumerate(grammar.terminals)}
    found = KBest(binarise(grammar), probs, 4).trees([ids["a"]])
    # 'a' itself, S -> S (.1), S -> A -> S (.3 · .5), and that after S -> S, or twice: .15² > .1 · .15.
    assert_allclose(np.exp([log_weight for log_weight, _ in found]), [0.4, 0.06, 0.04, 0.009], rtol=1e-10)
    assert count_trees(binarise(grammar), [ids["a"]]) is None
    assert count_trees(binarise(grammar), [ids["d"]]) == 0


def test_trees_are_counted_as_they_are_listed(rng, tmp_path):
    grammar, _ = grammar_of(
        "S -> S S | A | 'a'\nA -> B | C | 'a' 'a'\nB -> D | 'a'\nC -> D\nD -> 'a'", tmp_path
    )
    for length in range(1, 6):
        expected = len(all_trees(grammar, [0] * length, max_unary=100))
        assert count_trees(binarise(grammar), [0] * length) == expected
    catalan, _ = build_grammar("S", [("S", [("S", False)] * 2), ("S", [("a", True)])])
    assert count_trees(binarise(catalan), [0] * 21) == 6564120420  # The twentieth Catalan number.
    for _ in range(4):
        grammar, _ = random_grammar(rng, 2)
        words = rng.integers(0, len(grammar.terminals), 3).tolist()
        count = count_trees(binarise(grammar), words)
        if count is not None:
            assert count == len(all_trees(grammar, words, max_unary=8))


def test_no_best_trees_are_refused(tmp_path):
    grammar, probs = grammar_of(TERNARY, tmp_path)
    with pytest.raises(SettingsError, match="--nbest is 0"):
        KBest(binarise(grammar), probs, 0)


def test_lists_and_counts_are_written(tmp_path, capsys):
    (tmp_path / "g").write_text("S -> S S [0.4] | 'a' [0.6]\n")
    (tmp_path / "s").write_text("a a a\nb\n")
    assert (
        main(["pcfg", "parse", str(tmp_path / "g"), "--sentences", str(tmp_path / "s"), "--nbest", "3"]) == 0
    )
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert sorted(lines) == [
        f"0 ||| (S (S (S a) (S a)) (S a)) ||| {np.log(0.4**2 * 0.6**3):.6f}",
        f"0 ||| (S (S a) (S (S a) (S a))) ||| {np.log(0.4**2 * 0.6**3):.6f}",
    ]
    assert "no tree for 1 of 2 sentences" in shown.err
    assert main(["pcfg", "parse", str(tmp_path / "g"), "--sentences", str(tmp_path / "s"), "--counts"]) == 0
    assert capsys.readouterr().out == "2\n0\n"
    options = ["--nbest", "3", "--probabilities"]
    assert main(["pcfg", "parse", str(tmp_path / "g"), "--sentences", str(tmp_path / "s"), *options]) == 2
    assert "exclude each other" in capsys.readouterr().err


def test_lists_have_the_numbers_of_the_lines_of_their_sentences(tmp_path, capsys):
    """As those of `tsg parse` and `scfg-decoder translate` do."""
    (tmp_path / "g").write_text("S -> S S [0.4] | 'a' [0.6]\n")
    (tmp_path / "s").write_text("\na\nb\n \na a\n\n")
    files = [str(tmp_path / "g"), "--sentences", str(tmp_path / "s")]
    assert main(["pcfg", "parse", *files, "--nbest", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" |||")[0] for line in lines] == ["1", "4"]
