"""Grammars read off treebanks, and the short report of `pcfg check`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.cli import main
from monolingual.pcfg.grammar import num_rules, rule_name
from monolingual.pcfg.grammar_text import read_grammar

TREES = """
( (S (NP-SBJ-1 (D the) (N dog)) (VP (V sees) (NP (D the) (J big) (N cat)))) )
(TOP (S (NP (N dogs)) (VP (V bark) (NP (-NONE- *)))))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.mrg").write_text(TREES)
    return tmp_path


def induced(*options, name="g"):
    assert main(["pcfg", "induce", "t.mrg", "--output", name, "--quiet", *options]) == 0
    found = read_grammar(name)
    names = [rule_name(found.grammar, rule) for rule in range(num_rules(found.grammar))]
    return dict(zip(names, found.weights.tolist(), strict=True))


def test_rules_have_their_relative_frequencies(place):
    rules = induced()
    assert rules == {
        "TOP -> S": 1.0,
        "S -> NP VP": 1.0,
        "NP -> D N": pytest.approx(1 / 3),
        "NP -> D J N": pytest.approx(1 / 3),
        "NP -> N": pytest.approx(1 / 3),
        "VP -> V NP": 0.5,
        "VP -> V": 0.5,
        "D -> 'the'": 1.0,
        "J -> 'big'": 1.0,
        "V -> 'sees'": 0.5,
        "V -> 'bark'": 0.5,
        "N -> 'dog'": pytest.approx(1 / 3),
        "N -> 'cat'": pytest.approx(1 / 3),
        "N -> 'dogs'": pytest.approx(1 / 3),
    }
    assert induced("--format", "johnson") == rules


def test_rules_seen_twice_count_twice(place):
    (place / "t.mrg").write_text(TREES + "(TOP (S (NP (N dogs)) (VP (V bark))))\n")
    rules = induced()
    assert rules["VP -> V"] == pytest.approx(2 / 3)
    assert rules["N -> 'dogs'"] == 0.5


def test_tags_may_be_the_words(place):
    assert set(induced("--tags-only")) == {
        "TOP -> S",
        "S -> NP VP",
        "NP -> 'D' 'N'",
        "NP -> 'D' 'J' 'N'",
        "NP -> 'N'",
        "VP -> 'V' NP",
        "VP -> 'V'",
    }


def test_labels_may_name_siblings_and_ancestors(place):
    rules = induced("--binarise", "right", "--horizontal", "1", "--vertical", "2")
    assert rules["NP^VP -> D @NP^VP~D"] == 1.0
    assert rules["@NP^VP~D -> J N"] == 1.0
    assert rules["NP^S -> N"] == 0.5


def test_probability_of_the_treebank_is_that_of_its_counts(place, capsys):
    """The best parse of a training sentence has the product of its rules' frequencies."""
    induced()
    (place / "text").write_text("the dog sees the big cat\n")
    assert main(["pcfg", "parse", "g", "--sentences", "text", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "(TOP (S (NP (D the) (N dog)) (VP (V sees) (NP (D the) (J big) (N cat)))))" in said


def test_quotes_that_are_tags_can_be_written(place):
    (place / "t.mrg").write_text("(S (`` ``) (N a) ('' '') (, ,))\n")
    assert induced() == {
        "S -> `` N %27%27 ,": 1.0,
        "`` -> '``'": 1.0,
        "N -> 'a'": 1.0,
        "%27%27 -> \"''\"": 1.0,
        ", -> ','": 1.0,
    }


def test_trees_of_a_treebanks_grammar_have_the_treebanks_labels(place, capsys):
    """So what is parsed can be scored, and trees can be learnt from; those of old labels are read still."""
    trees = ("(#QP (`` ``) (#B a) ('' ''))", "(#QP (`` ``) (#B (NP-LRB- a) (X|Y b)) ('' ''))")
    (place / "t.mrg").write_text("\n".join(trees) + "\n")
    induced()
    (place / "text").write_text("`` a ''\n`` a b ''\n")
    assert main(["pcfg", "parse", "g", "--sentences", "text", "--output", "parsed", "--quiet"]) == 0
    assert (place / "parsed").read_text() == (place / "t.mrg").read_text()
    assert main(["tsg", "score", "t.mrg", "parsed", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["errors"], found["exact"]) == (0, 100.0)
    (place / "old.mrg").write_text("(%23QP (`` ``) (%23B a) (%27%27 ''))\n")
    for name in ("t.mrg", "parsed", "old.mrg"):
        assert main(["pcfg", "train", "g", "--trees", name, "--output", "learnt", "--quiet"]) == 0
    (place / "other.mrg").write_text("(QP (`` ``))\n")
    assert main(["pcfg", "train", "g", "--trees", "other.mrg", "--output", "learnt"]) == 2
    assert "the root is QP, the start symbol #QP" in capsys.readouterr().err


def test_the_treebank_that_a_grammar_is_of_can_be_learnt_from(place, capsys):
    """Its outermost brackets may have no label, and are no constituents to a grammar that begins below."""
    (place / "t.mrg").write_text("( (S (N a) (V b)) )\n( (S (N a) (V b)) (. .))\n")
    rules = induced()
    assert [rules["TOP -> S"], rules["TOP -> S ."]] == [0.5, 0.5]
    assert main(["pcfg", "train", "g", "--trees", "t.mrg", "--output", "learnt", "--quiet"]) == 0
    for name in rules:
        assert name in (place / "learnt").read_text()
    (place / "below").write_text("S -> N V [1.0]\nN -> 'a' [1.0]\nV -> 'b' [1.0]\n")
    (place / "t.mrg").write_text("( (S (N a) (V b)) )\n")
    assert main(["pcfg", "train", "below", "--trees", "t.mrg", "--output", "learnt", "--quiet"]) == 0
    (place / "again").write_text("S -> S S [0.5] | 'a' [0.5]\n")
    (place / "tree").write_text("( (S (S a) (S a)) )\n")
    assert main(["pcfg", "train", "again", "--trees", "tree", "--output", "learnt", "--quiet"]) == 0
    (place / "t.mrg").write_text("( (T (N a) (V b)) )\n")
    assert main(["pcfg", "train", "below", "--trees", "t.mrg", "--output", "learnt", "--quiet"]) == 2
    assert "t.mrg:1: the root is T, the start symbol S" in capsys.readouterr().err
    (place / "t.mrg").write_text("(N a)\n")
    assert main(["pcfg", "train", "below", "--trees", "t.mrg", "--output", "learnt", "--quiet"]) == 2
    assert "t.mrg:1: the root is N, the start symbol S" in capsys.readouterr().err


def test_tags_that_would_begin_comments_can_be_written(place):
    (place / "t.mrg").write_text("(S (#QP (# #) (C# 5)) (#[a%] fell))\n")
    assert induced() == {
        "S -> %23QP %23%5Ba%25%5D": 1.0,
        "%23QP -> %23 C#": 1.0,
        "%23 -> '#'": 1.0,
        "C# -> '5'": 1.0,
        "%23%5Ba%25%5D -> 'fell'": 1.0,
    }


def test_arrows_and_backslashes_that_are_tags_can_be_written(place):
    (place / "t.mrg").write_text("(S (-> x) (A->B y) (\\ z))\n")
    assert induced("--keep-annotation") == {
        "S -> -%3E A-%3EB \\%5C": 1.0,  # A backslash at the beginning is doubled.
        "-%3E -> 'x'": 1.0,
        "A-%3EB -> 'y'": 1.0,
        "\\%5C -> 'z'": 1.0,
    }


def test_dependencies_over_tags_that_are_quotes_or_arrows_can_be_scored(place, capsys):
    (place / "odd").write_text("-> '' \\ %27%27 [\t0 1 1 3 1\n")
    assert main(["pcfg", "dependencies", "odd", "--output", "dep", "--quiet"]) == 0
    data = ("--sentences", "dep.sentences", "--gold", "dep.gold", "--bracket-labels", "N_.*")
    assert main(["pcfg", "parse", "dep.grammar", *data]) == 0
    said = capsys.readouterr()
    assert "(H_'' '')" in said.out
    assert "(H_%27%27 %27%27)" in said.out
    assert "F1" in said.err


def test_a_no_break_space_is_a_part_of_a_tag(place, capsys):
    (place / "odd").write_text("a\u00a0b V\t2 0\n")
    assert main(["pcfg", "dependencies", "odd", "--output", "dep", "--quiet"]) == 0
    assert (place / "dep.gold").read_text() == "(X a\u00a0b V)\n"
    assert main(["pcfg", "parse", "dep.grammar", "--sentences", "dep.sentences", "--gold", "dep.gold"]) == 0
    assert "F1 1.0000" in capsys.readouterr().err


def test_rare_words_become_signatures(place):
    assert "N -> 'UNK'" in induced("--rare", "1")
    assert "D -> 'the'" in induced("--rare", "1")


def test_roots_of_several_labels_get_one_above(place, capsys):
    """No score counts it, and trees to learn from may lack it."""
    (place / "t.mrg").write_text("(NP (N a))\n(NP (N b))\n(S (NP (N a)))\n")
    rules = induced()
    assert_allclose([rules["TOP -> NP"], rules["TOP -> S"]], [2 / 3, 1 / 3])
    assert read_grammar("g").grammar.nonterminals[0] == "TOP"
    (place / "text").write_text("a\nb\n")
    assert main(["pcfg", "parse", "g", "--sentences", "text", "--output", "parsed", "--quiet"]) == 0
    (place / "gold").write_text("(NP (N a))\n(NP (N b))\n")
    assert main(["tsg", "score", "gold", "parsed", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["precision"] == 100.0
    assert main(["pcfg", "train", "g", "--trees", "t.mrg", "--output", "learnt", "--quiet"]) == 0


def test_the_root_above_has_a_name_of_its_own(place):
    (place / "t.mrg").write_text("(NP (N a))\n(S (TOP (N a)) (TOP_ (N a)))\n")
    assert induced()["TOP__ -> S"] == 0.5


def test_roots_without_a_label_are_those_above_the_others(place):
    (place / "t.mrg").write_text("( (NP (N a)))\n(NP (N b))\n( (S (NP (N a))))\n( (S (NP (N b))))\n")
    rules = induced()
    assert [rules["TOP -> NP"], rules["TOP -> S"]] == [0.5, 0.5]
    assert main(["pcfg", "train", "g", "--trees", "t.mrg", "--output", "learnt", "--quiet"]) == 0


def test_induced_grammars_are_tight(place, capsys):
    induced()
    assert main(["pcfg", "check", "g", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tight"] is True


def test_what_is_no_treebank_is_refused(place, capsys):
    (place / "t.mrg").write_text("(S (NP")
    assert main(["pcfg", "induce", "t.mrg"]) == 2
    assert "2 brackets are not closed" in capsys.readouterr().err


def test_check_lists_the_worst_unless_all_are_asked_for(place, capsys):
    """Twelve chains that end, and one that does not always; the worst is first."""
    rng = np.random.default_rng(1)
    names = [f"X{at}" for at in range(12)]
    lines = ["S -> " + " | ".join(f"{name} [{1 / 13!r}]" for name in [*names, "Y"])]
    lines += [
        f"{name} -> {name} [{p:.4f}] | 'a' [{1 - p:.4f}]"
        for name, p in zip(names, rng.random(12), strict=True)
    ]
    lines += ["Y -> Y Y [0.75] | 'a' [0.25]"]
    (place / "g").write_text("\n".join(lines) + "\n")
    assert main(["pcfg", "check", "g"]) == 0
    short = capsys.readouterr().out.splitlines()
    assert main(["pcfg", "check", "g", "--all"]) == 0
    full = capsys.readouterr().out.splitlines()
    at = next(at for at, line in enumerate(short) if line.startswith("nonterminal"))
    assert [line.split()[0] for line in short[at + 1 : at + 3]] == ["Y", "S"]
    radii = [float(line.split()[3]) for line in short[at + 3 : at + 11]]
    assert radii == sorted(radii, reverse=True)
    assert short[-1] == "… of 14 nonterminals in 14 components, 2 of them not tight; --all lists them"
    assert len(short) == at + 12
    assert len(full) == at + 15
    assert short[:at] == full[:at]


@pytest.mark.parametrize("text", ["S -> 'a' S [1.0]\n", "S -> S S [1.0] | 'a' [0.0]\n"])
def test_nothing_is_expected_of_finite_trees_where_there_are_none(text, tmp_path, capsys):
    (tmp_path / "endless").write_text(text)
    path = str(tmp_path / "endless")
    main(["pcfg", "check", path])
    shown = capsys.readouterr().out
    assert "\nexpected length  none, as there is no finite tree\nentropy          none, as" in shown
    main(["pcfg", "check", path, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [found[name] for name in ("expected_length", "expected_rules", "entropy")] == [None] * 3
    assert main(["pcfg", "simulate", path, "--samples", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
