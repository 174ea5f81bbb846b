"""Bracketed trees, their preparation, and treebanks as arrays."""

from __future__ import annotations

import gzip

import hypothesis.strategies as st
import pytest
from hypothesis import given

from monolingual.cli import main
from monolingual.tsg.corpus import gather
from monolingual.tsg.fragments import format_fragment, parse_fragment, read_fragments
from monolingual.tsg.markov import binarise, unbinarise
from monolingual.tsg.preparation import Preparation, restore_tree
from monolingual.tsg.settings import Sources
from monolingual.tsg.transforms import clean, signature
from monolingual.tsg.treebank import build_treebank, production_counts
from monolingual.tsg.trees import Tree, format_tree, leaves, preterminals, read_trees, with_leaves
from scfg_sampler.errors import TreeError
from tests.monolingual.tsg.treebanks import tree_of

LABELS = st.sampled_from(["S", "NP", "@", "@NP", "\\", "\\@X", "-LRB-", "a"])
WORDS = st.sampled_from(["the", "dog", "-LRB-", "@NP", "1,5"])
TREES = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), LABELS, WORDS),
    lambda below: st.builds(Tree, LABELS, st.lists(below | WORDS, min_size=1, max_size=5).map(tuple)),
    max_leaves=20,
)


def written(tmp_path, text):
    path = tmp_path / "trees.mrg"
    path.write_text(text, encoding="utf-8")
    return path


@given(TREES)
def test_binarisation_has_an_exact_inverse(tree):
    binary = binarise(tree)
    assert unbinarise(binary) == tree
    assert leaves(binary) == leaves(tree)
    pending = [binary]
    while pending:
        node = pending.pop()
        assert len(node.children) <= 2
        pending.extend(child for child in node.children if not isinstance(child, str))


@given(TREES)
def test_text_of_a_tree_reads_back_the_same(tree):
    assert tree_of(format_tree(tree)) == tree
    assert parse_fragment(format_fragment(tree)) == tree


@given(TREES)
def test_words_replaced_by_signatures_come_back(tree):
    words = leaves(tree)
    preparation = Preparation(known=frozenset({"the"}))
    hidden = with_leaves(binarise(tree), preparation.words(words))
    assert restore_tree(hidden, preparation, words) == tree


def test_reading_survives_what_treebanks_hold(tmp_path):
    text = """%% a comment
# another
*x* and one more

( (S (NP-SBJ-1 (-NONE- *)) (VP (VBZ-HL runs)
   (NP=2 (-LRB- -LRB-) (PRP$ its) (NN course)))))
(TOP (X (X (X word))))(TOP (A a) (B b))
"""
    found = [(clean(tree), line) for tree, line in read_trees(written(tmp_path, text))]
    assert [line for _, line in found] == [5, 7, 7]
    assert format_tree(found[0][0]) == ("(TOP (S (VP (VBZ runs) (NP (-LRB- -LRB-) (PRP$ its) (NN course)))))")
    assert format_tree(found[1][0]) == "(TOP (X (X (X word))))"
    assert preterminals(found[2][0]) == ["A", "B"]


def test_a_bracket_in_a_tag_is_no_function():
    """STTS has `$(` for all punctuation within sentences; as `$`, tags would not be those of gold."""
    tagged = "(S (NP-SBJ (N=2 dog)) ($-LRB- -LRB-) ($-RRB--X -RRB-) ($-RR =) ($, ,))"
    cleaned = "(S (NP (N dog)) ($-LRB- -LRB-) ($-RRB- -RRB-) ($ =) ($, ,))"
    assert format_tree(clean(tree_of(tagged))) == cleaned


def test_gzipped_trees_are_read(tmp_path):
    path = tmp_path / "trees.gz"
    path.write_bytes(gzip.compress(b"(S (A a))\n"))
    assert [tree for tree, _ in read_trees(path)] == [tree_of("(S (A a))")]


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("(S (A a)\n(B b)\n", 2, "1 bracket is not closed"),
        ("(S (A a)))\n", 1, "a closing bracket too many"),
        ("(S (A a))\nword\n", 2, "'word' stands outside of brackets"),
        ("(S (A a)\n (B))\n", 2, "(B) has no children"),
        ("(S (A a)\n ((B b)))\n", 2, "a bracket without a label"),
        ("\n()\n", 2, "() has no children"),
        (
            "#1:1.[0] NP(Head:N:a)#.\n\n#2:2.[0] VP(Head:V:b)#.\n",
            3,
            "holds no tree: a line that begins",
        ),
    ],
)
def test_unreadable_trees_are_refused_with_their_line(tmp_path, text, line, complaint):
    with pytest.raises(TreeError) as error:
        list(read_trees(written(tmp_path, text)))
    assert error.value.line == line
    assert complaint in str(error.value)


@pytest.mark.parametrize("comment", ["# a remark", "  %% of Peter (b)", "*x* a header", "#remark 2) (A a)"])
def test_comments_within_a_tree_are_refused(comment, tmp_path):
    path = written(tmp_path, f"# one\n(S (A a)\n{comment}\n(B b))\n")
    with pytest.raises(TreeError, match="within a tree, where there are no comments") as error:
        list(read_trees(path))
    assert error.value.line == 3
    assert "tree of line 2" in str(error.value)


def test_words_alone_on_their_lines_are_no_comments(tmp_path):
    path = written(tmp_path, "(S\n  5\n  %\n  (A\n    #)\n  %/NN)\n")
    assert [format_tree(tree) for tree, _ in read_trees(path)] == ["(S 5 % (A #) %/NN)"]


def test_no_break_and_wide_spaces_are_parts_of_words(tmp_path):
    text = "(S (N 10\u00a0000) (P \u3000) b\u2009c)"
    (tree,) = (tree for tree, _ in read_trees(written(tmp_path, text + "\n")))
    assert leaves(tree) == ["10\u00a0000", "\u3000", "b\u2009c"]
    assert format_tree(tree) == text
    assert leaves(parse_fragment(text)) == leaves(tree)


def test_very_deep_trees_are_read_and_transformed(tmp_path):
    flat = Tree("S", tuple(Tree("A", (f"w{i}",)) for i in range(3000)))
    assert len(leaves(binarise(flat))) == 3000
    assert format_tree(unbinarise(binarise(flat))) == format_tree(flat)
    path = written(tmp_path, format_tree(binarise(flat)))
    assert build_treebank(tree for tree, _ in read_trees(path)).spans[0].tolist() == [0, 3000]


def test_signatures_are_about_fifty_classes():
    shapes = [
        start + middle + "ab" + end
        for start in ("a", "A", "b-", "B-", "3", "3x", "?", "AB")
        for middle in ("", "b")
        for end in ("", "s", "ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")
    ]
    classes = {signature(word, first) for word in [*shapes, "1,2", "%", "NASA"] for first in (False, True)}
    assert 40 <= len(classes) <= 75
    assert [signature(word, False) for word in ("I", "IT", "I-")] == ["UNK-cap", "UNK-upper", "UNK-cap"]
    assert all(name.startswith("UNK-") or name == "UNK" for name in classes)


def test_treebank_arrays_hold_the_trees():
    treebank = build_treebank(map(tree_of, ["(S (A a) b (B (A a)))", "(S (A c))"]))
    labels = treebank.productions.labels
    assert [labels[label] for label in treebank.label] == ["S", "A", "B", "A", "S", "A"]
    assert treebank.spans.tolist() == [[0, 3], [0, 1], [2, 3], [2, 3], [0, 1], [0, 1]]
    assert treebank.tails.tolist() == [1, 2, 3, 1]
    assert sorted(production_counts(treebank).tolist()) == [1, 1, 1, 1, 2]


def test_a_file_without_trees_is_refused(tmp_path):
    with pytest.raises(TreeError, match="holds no tree"):
        gather(Sources(written(tmp_path, "\n% nothing\n")), Preparation())


@pytest.mark.parametrize(
    "line",
    [
        "3 (A a)",
        "0\t(A a)",
        "1\t(A a",
        "1\tA",
        "x\t(A a)",
        "1\t(A )",
        "2/3\t(A a)",
        "2/0\t(A a)",
        "2/\t(A a)",
    ],
)
def test_damaged_grammar_files_are_refused(tmp_path, line):
    path = tmp_path / "grammar"
    path.write_text(f"2.5\t(A a (B ))\n{line}\n")
    with pytest.raises(TreeError) as error:
        read_fragments(path)
    assert error.value.line == 2


def test_a_file_of_nothing_but_open_brackets_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("monolingual.tsg.trees._DEEPEST", 100)
    path = tmp_path / "trees"
    path.write_text("(S a)\n" + "(S " * 100 + "a" + ")" * 100 + "\n")
    assert len(list(read_trees(path))) == 2
    path.write_text("(S a)\n" + "(S " * 101 + "a" + ")" * 101 + "\n")
    with pytest.raises(TreeError, match=r":2: a bracket within 100 others"):
        list(read_trees(path))


@pytest.mark.parametrize("word", ["UNKEMPT", "shaggy", "UNK-cap", "UNK"])
def test_words_that_begin_as_signatures_do_are_words(tmp_path, capsys, monkeypatch, word):
    (tmp_path / "t").write_text(
        "(S (NP (DT the) (NN dog)) (VP (VB barks)))\n(S (NP (DT a) (NN cat)) (VP (VB sleeps)))\n"
        "(S (NP (DT the) (NN cat)) (VP (VB barks)))\n"
        f"(S (NP (DT the) (JJ {word}) (NN dog)) (VP (VB sleeps)))\n"
    )
    options = ["--unknown", "none", "--iterations", "5", "--quiet"]
    assert main(["tsg", "train", str(tmp_path / "t"), "--output", str(tmp_path / "run"), *options]) == 0
    (tmp_path / "text").write_text("the bird sings\n")
    assert (
        main(["tsg", "parse", str(tmp_path / "run"), "--input", str(tmp_path / "text"), "--model", "pcfg"])
        == 0
    )
    is_signature = word.startswith("UNK-") or word == "UNK"
    expected = (
        "(S (DT the) (JJ bird) (JJ sings))" if is_signature else "(S (NP (DT the) (NN bird)) (VP (VB sings)))"
    )
    assert capsys.readouterr().out.startswith(expected)
