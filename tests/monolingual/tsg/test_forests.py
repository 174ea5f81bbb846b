"""Sentences with several trees: packing, reading, learning, the files of a run."""

from __future__ import annotations

import gzip
import itertools
import json

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from monolingual.cli import main
from monolingual.tsg.annotation import read_brackets, read_forests, read_nbest, read_sentences
from monolingual.tsg.corpus import Corpus, chosen_trees, gather, read_corpus, write_corpus
from monolingual.tsg.markov import binarise
from monolingual.tsg.packed import binarise_forest, count_trees, fill_brackets, pack_trees
from monolingual.tsg.preparation import Preparation
from monolingual.tsg.settings import Sources
from monolingual.tsg.treebank import build_treebank, largest_trees, production_counts
from monolingual.tsg.trees import Tree, format_tree, leaves
from scfg_sampler.errors import TreeError
from tests.monolingual.tsg.forests import (
    FORESTS,
    codes_of,
    forest_chain,
    forest_posterior,
    trees_of,
)
from tests.monolingual.tsg.test_trees import TREES
from tests.monolingual.tsg.treebanks import tree_of


def written(tmp_path, text):
    path = tmp_path / "forests"
    path.write_text(text, encoding="utf-8")
    return path


def texts_of(forest):
    return sorted(map(format_tree, trees_of(forest)))


@given(st.lists(TREES, min_size=1, max_size=4, unique=True))
def test_a_packed_list_holds_its_trees_and_no_others(trees):
    size = len(leaves(trees[0]))
    alike = [tree for tree in trees if leaves(tree) == leaves(trees[0])]
    forest = pack_trees(alike)
    assert len(forest.words) == size
    found = trees_of(forest)
    if len({tree.label for tree in alike}) > 1:
        alike = [Tree("TOP", (tree,)) for tree in alike]
    assert sorted(map(format_tree, found)) == sorted(map(format_tree, alike))
    assert count_trees(forest) == len(alike)


@given(TREES)
def test_packing_by_spans_keeps_a_tree_and_its_preorder(tree):
    forest = pack_trees([tree], "spans")
    assert [format_tree(found) for found in trees_of(forest)] == [format_tree(tree)]
    bank, tree_bank = build_treebank([], [forest]), build_treebank([tree])
    for field in ("node_start", "label", "spans", "edge_start", "production", "tails"):
        np.testing.assert_array_equal(getattr(bank, field), getattr(tree_bank, field))


@given(st.lists(TREES, min_size=1, max_size=3, unique=True))
def test_binarised_forests_hold_the_binarised_trees(trees):
    alike = [t for t in trees if leaves(t) == leaves(trees[0]) and t.label == trees[0].label]
    forest = binarise_forest(pack_trees(alike))
    assert texts_of(forest) == sorted(format_tree(binarise(tree)) for tree in alike)


def test_spans_recombine_parts_of_different_trees():
    texts = ["(S (A (B a)) (A (B b)))", "(S (A (C a)) (A (C b)))"]
    assert count_trees(pack_trees(list(map(tree_of, texts)))) == 2
    assert count_trees(pack_trees(list(map(tree_of, texts)), "spans")) == 4


def test_chains_of_equal_spans_do_not_go_round():
    texts = ["(S (A (B (A a))))", "(S (B (A (B a))))"]
    assert count_trees(pack_trees(list(map(tree_of, texts)), "spans")) >= 2


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_plain_words_have_all_binary_trees(size):
    """Catalan(n − 1) shapes, two labels for each of n − 1 constituents and three tags for each word."""
    forest = fill_brackets(Tree("?", ("w",) * size), ["A", "B"], ["A", "B", "C"])
    catalan = [1, 1, 2, 5, 14][size - 1]
    assert count_trees(forest) == catalan * 2 ** (size - 1) * 3**size
    assert forest.nodes[0].label == "TOP"


def test_brackets_that_are_given_are_in_every_tree():
    forest = fill_brackets(tree_of("(S (NP (D the) dog) (? barks) at (? him))"), ["X"], ["T"])
    found = texts_of(forest)
    assert len(found) == 5
    assert all("(NP (D the) (T dog))" in text and text.startswith("(S ") for text in found)


@pytest.mark.parametrize("name", FORESTS)
def test_counts_of_productions_are_means_over_the_trees(name):
    bank = build_treebank([], FORESTS[name])
    expected = np.zeros(len(bank.productions.lhs))
    rules = [
        (bank.productions.lhs[k], *bank.productions.rhs[a:b].tolist())
        for k, (a, b) in enumerate(itertools.pairwise(bank.productions.rhs_start))
    ]
    for forest in FORESTS[name]:
        trees = trees_of(forest)
        for tree in trees:
            alone = build_treebank([tree])
            for number in alone.production:
                labels, words, lhs, start, rhs = alone.productions
                symbols = [
                    bank.productions.labels.index(labels[s])
                    if s >= 0
                    else -1 - bank.productions.words.index(words[-1 - s])
                    for s in rhs[start[number] : start[number + 1]]
                ]
                rule = (bank.productions.labels.index(labels[lhs[number]]), *symbols)
                expected[rules.index(rule)] += 1.0 / len(trees)
    np.testing.assert_allclose(production_counts(bank), expected, atol=1e-12)
    sizes = [max(len(build_treebank([tree]).label) for tree in trees_of(forest)) for forest in FORESTS[name]]
    assert largest_trees(bank).tolist() == sizes


@pytest.mark.parametrize(("name", "moves"), [("recombined", "single"), ("brackets", "block")])
def test_sampled_trees_and_cuts_have_their_posterior(name, moves, rng):
    """Compiled. Shares of 4,000 sweeps, with standard errors of 0.01 at the most: 0.06 is beyond five."""
    exact = forest_posterior(name, "pcfg")
    chain = forest_chain(name, moves=(moves,))
    state, counts = chain.kernel.init(rng, None), dict.fromkeys(exact, 0)
    for _ in range(4_000):
        state, _ = chain.kernel.step(rng, state)
        counts[codes_of(chain, state)] += 1
    assert max(abs(counts[codes] / 4_000 - prob) for codes, prob in exact.items()) < 0.06


# --- reading ----------------------------------------------------------------------------------------------


def test_lists_of_trees_are_read(tmp_path):
    text = "0 ||| (S (A a)) ||| 0.7\n0 ||| (S (B a)) ||| 0.3\n\n3 ||| (S (A b))\n"
    found = list(read_nbest(written(tmp_path, text), lambda tree: tree))
    assert [texts_of(forest) for forest, _ in found] == [["(S (A a))", "(S (B a))"], ["(S (A b))"]]
    assert [line for _, line in found] == [1, 4]


def test_bars_may_be_words_of_listed_trees(tmp_path):
    text = "0 ||| (S (A |||) (B b|||)) ||| 0.5 ||| x\n0 ||| (S (B |||) (A b|||))\n"
    ((forest, _),) = read_nbest(written(tmp_path, text), lambda tree: tree)
    assert texts_of(forest) == ["(S (A |||) (B b|||))", "(S (B |||) (A b|||))"]


def test_forests_are_read(tmp_path):
    text = "% two trees\nS#1 -> NP#2 VP\nS#1 -> NP#2 ##3\nNP#2 -> the\nVP -> dog\n##3 -> dog\n\nS -> a\n"
    found = list(read_forests(written(tmp_path, text)))
    assert [texts_of(forest) for forest, _ in found] == [
        ["(S (NP the) (# dog))", "(S (NP the) (VP dog))"],
        ["(S a)"],
    ]
    assert [line for _, line in found] == [2, 8]


def test_brackets_in_words_and_names_are_written_as_in_treebanks(tmp_path):
    text = "S -> NP#(1) VP(\nNP#(1) -> dog(s)\nVP( -> )\n"
    (found,) = read_forests(written(tmp_path, text))
    assert texts_of(found.forest) == ["(S (NP dog-LRB-s-RRB-) (VP-LRB- -RRB-))"]
    (found,) = read_sentences(written(tmp_path, "dog(s) (\n"), ["A"], ["B"], "A", 9)
    assert list(found.forest.words) == ["dog-LRB-s-RRB-", "-LRB-"]


@pytest.mark.parametrize(
    ("read", "text", "line", "complaint"),
    [
        (read_forests, "S#1 -> A#2\nA#2 -> S#1\n", 1, "node S#1: is below itself"),
        (read_forests, "S -> A\nA -> x\nA -> x x\n", 2, "node A: has edges over 1 and over 2 words"),
        (read_forests, "S -> A\nA -> x\nA -> y\n", 2, "node A: word 1 is both 'x' and 'y'"),
        (read_forests, "S -> A\n\nS x\n", 3, "'S x' is no edge"),
        (lambda path: read_nbest(path, lambda tree: tree), "(S a)\n", 1, "is no entry of a list"),
        (lambda path: read_nbest(path, lambda tree: tree), "0 ||| a\n", 1, "stands outside of brackets"),
        (
            lambda path: read_nbest(path, lambda tree: tree),
            "0 ||| (S a)\n0 ||| (S b)\n",
            2,
            "a tree over other words: b",
        ),
        (
            lambda path: read_brackets(path, ["A"], ["A"], "T", 2),
            "(? a b)\n(? a b c)\n",
            2,
            "3 words; at most 2",
        ),
        (lambda path: read_sentences(path, ["A"], ["A"], "T", 2), "a\n\na b c\n", 3, "3 words; at most 2"),
        (
            lambda path: read_sentences(path, [f"A{k}" for k in range(200)], ["A"], "T", 9),
            "a b c\n",
            1,
            "ways to expand a constituent; at most 32767",
        ),
    ],
)
def test_unreadable_annotation_is_refused_with_its_line(tmp_path, read, text, line, complaint):
    with pytest.raises(TreeError) as error:
        list(read(written(tmp_path, text)))
    assert error.value.line == line
    assert complaint in str(error.value)


def test_brackets_are_cleaned_as_trees_are(tmp_path):
    text = "(S (NP-SBJ=2 (D the) (N dog)) (? barks (NP (-NONE- *T*))))\n(S (-NONE- *))\n"
    sources = Sources(brackets=written(tmp_path, text), labels=("VP",), tags=("V",))
    for is_kept, expected in (
        (False, ["(S (NP (D the) (N dog)) (V barks))"]),
        (True, ["(S (NP-SBJ=2 (D the) (N dog)) (VP (V barks) (NP (-NONE- *T*))))", "(S (-NONE- *))"]),
    ):
        corpus, _ = gather(sources, Preparation(unknown="none", keep_annotation=is_kept))
        assert [text for forest in corpus.forests for text in texts_of(forest)] == expected


@pytest.mark.parametrize("form", ["right", "none"])
def test_labels_of_forests_that_begin_with_an_at_sign_come_back(form, tmp_path):
    """As of forests of a parser that binarises."""
    text = "S -> NP @S\nNP -> he\n@S -> V NP#2\nV -> saw\nNP#2 -> \\@#3\n\\@#3 -> me\n"
    preparation = Preparation(form, unknown="none")
    corpus, _ = gather(Sources(forests=written(tmp_path, text)), preparation)
    bank = corpus.treebank()
    (tree,) = chosen_trees(corpus, bank, np.zeros(len(bank.label), np.uint16), preparation)
    assert format_tree(tree) == "(S (NP he) (@S (V saw) (NP (\\@ me))))"


def test_a_corpus_is_kept_as_it_was_learnt_from(tmp_path):
    forests = [forest for given in FORESTS.values() for forest in given]
    corpus = Corpus([tree_of("(S (A a))")], forests, [forest.words for forest in forests])
    write_corpus(tmp_path, corpus)
    assert read_corpus(tmp_path) == corpus


def test_rare_words_become_signatures_in_all_trees(tmp_path):
    sources = Sources(
        nbest=written(tmp_path, "0 ||| (S (A Walking) (B a))\n0 ||| (S (B Walking) (A a))\n1 ||| (S a)\n")
    )
    corpus, _ = gather(sources, Preparation())
    assert texts_of(corpus.forests[0]) == ["(S (A UNK-first-ing) (B a))", "(S (B UNK-first-ing) (A a))"]
    assert corpus.sentences[0] == ("Walking", "a")


# --- runs -------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    lists, brackets = tmp_path / "lists", tmp_path / "brackets"
    lists.write_text(
        "0 ||| (S (NP (D the) (N dog)) (VP (V barks)))\n0 ||| (S (D the) (NP (N dog) (V barks)))\n"
    )
    brackets.write_text("(S (? the cat) (VP sleeps))\n")
    names = ["--labels", "NP,VP", "--tag-set", "D,N,V", "--unknown", "none"]
    return ["--nbest-lists", str(lists), "--brackets", str(brackets), *names]


def test_a_run_on_forests_resumes_parses_and_tells_its_trees(files, tmp_path, capsys):
    through, halves = tmp_path / "through", tmp_path / "halves"
    fixed = [*files, "--burn-in", "5", "--marginals", "--check", "--moves", "single,block,type", "--quiet"]
    assert main(["tsg", "train", "--output", str(through), "--iterations", "20", *fixed]) == 0
    assert main(["tsg", "train", "--output", str(halves), "--iterations", "10", *fixed]) == 0
    assert main(["tsg", "resume", str(halves), "--iterations", "20", "--check", "--quiet"]) == 0
    for name in ("trace.tsv", "marginals.json", "parameters.tsv"):
        assert (through / name).read_text() == (halves / name).read_text()
    chosen = gzip.decompress((through / "chosen.mrg.gz").read_bytes()).decode().splitlines()
    assert chosen[0] in (
        "(S (NP (D the) (N dog)) (VP (V barks)))",
        "(S (D the) (NP (N dog) (V barks)))",
    )
    assert [leaves(tree_of(text)) for text in chosen] == [["the", "dog", "barks"], ["the", "cat", "sleeps"]]
    nodes = json.loads((through / "marginals.json").read_text())["trees"][0]["nodes"]
    assert {node["label"] for node in nodes if node["present"] == 1.0} == {"D", "N", "V"}
    sentence = tmp_path / "sentence"
    sentence.write_text("the dog barks\n")
    capsys.readouterr()
    assert main(["tsg", "parse", str(through), "--input", str(sentence), "--quiet"]) == 0
    assert leaves(tree_of(capsys.readouterr().out)) == ["the", "dog", "barks"]
    assert main(["tsg", "statistics", str(through), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--sentences", "dog(s) ( bark )\ncats bark\n"),
        ("--forests", "S -> NP#2 VP\nNP#2 -> the dog(s)\nVP -> )\n"),
    ],
)
def test_a_run_on_words_with_brackets_can_be_read(option, text, tmp_path, capsys):
    names = ["--labels", "A,B"] if option == "--sentences" else []
    told = [option, str(written(tmp_path, text)), *names, "--unknown", "none", "--iterations", "4", "--quiet"]
    assert main(["tsg", "train", "--output", str(tmp_path / "run"), *told]) == 0
    chosen = gzip.decompress((tmp_path / "run" / "chosen.mrg.gz").read_bytes()).decode().splitlines()
    words = [leaves(tree_of(line)) for line in chosen]
    assert words[0][-1] == "-RRB-"
    assert "dog-LRB-s-RRB-" in words[0]
    given = tmp_path / "given"
    given.write_text(text.splitlines()[0] if option == "--sentences" else "the dog(s) )\n")
    capsys.readouterr()
    assert main(["tsg", "parse", str(tmp_path / "run"), "--input", str(given), "--quiet"]) == 0
    output = capsys.readouterr()
    assert leaves(tree_of(output.out)) == words[0]
    assert output.err == ""
    assert main(["tsg", "statistics", str(tmp_path / "run"), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "nothing to learn from; give TREES, --nbest-lists,"),
        (["--sentences", "x"], "need --labels"),
        (["--sentences", "x", "--labels", "A,A"], "--labels is 'A,A'; give different labels"),
        (["--sentences", "x", "--labels", "A", "--tag-set", "B,B"], "--tag-set is 'B,B'; give different"),
        (["--sentences", "x", "--labels", "A", "--root", "("], "--root is '('; give a label, without"),
        (["--sentences", "x", "--labels", "A", "--max-length", "0"], "--max-length is 0"),
    ],
)
def test_sources_out_of_range_are_refused(options, complaint, tmp_path, capsys):
    assert main(["tsg", "train", "--output", str(tmp_path / "run"), *options, "--quiet"]) == 2
    errors = capsys.readouterr().err
    assert complaint in errors
    assert errors.count("\n") == 1
