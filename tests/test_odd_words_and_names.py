"""Words with blanks in them, empty names, numbers beyond all sense, and runs of two names."""

import gzip

import numpy as np
import pytest

import monolingual
import scfg_sampler
from monolingual.dmv.treebank import read_treebank, shown_words
from monolingual.ot.plots import plot_fit
from monolingual.tsg.annotation import read_sentences
from monolingual.tsg.trees import format_tree, leaves, parse_trees, read_trees
from scfg_sampler.core.console import memory_size
from scfg_sampler.core.reports.document import require_runs
from scfg_sampler.core.tree_svg import tree_of_brackets
from scfg_sampler.errors import ArpaError, InputError, RuleTableError, SettingsError, TreeError
from scfg_sampler.formats.conversion import read_table
from scfg_sampler.formats.words import speller
from scfg_sampler.plugs.language_model import copy_model

_TIGER = """<?xml version="1.0"?>
<corpus><body><s id="s1"><graph root="n1"><terminals>
<t id="w1" word="{}" pos="CARD"/><t id="w2" word="Hunde" pos="NN"/></terminals><nonterminals>
<nt id="n1" cat="NP"><edge idref="w1" label="A"/><edge idref="w2" label="B"/></nt>
</nonterminals></graph></s></body></corpus>
"""


def test_a_no_break_space_is_a_part_of_a_word_in_trees_that_are_shown():
    assert monolingual.ShownTree("(S (A a\u00a0b) (B \u3000))", 1.0).words == ("a\u00a0b", "\u3000")
    assert tree_of_brackets("(S a\u2028b)").children[0].label == "a\u2028b"


@pytest.mark.parametrize("file_format", ["cdec", "joshua"])
def test_a_feature_of_others_has_a_name_or_none(tmp_path, file_format):
    table = tmp_path / "table"
    table.write_text("[X] ||| a ||| b ||| x=1 =5\n")
    with pytest.raises(RuleTableError, match="has no name"):
        read_table(table, file_format)


def test_words_of_tiger_xml_and_of_sentences_survive_brackets(tmp_path):
    treebank, text = tmp_path / "treebank.xml", tmp_path / "sentences"
    treebank.write_text(_TIGER.format("20 000"))
    (found,) = [tree for tree, _ in read_trees(treebank)]
    (again,) = [tree for tree, _ in parse_trees("brackets", [(1, format_tree(found))])]
    assert again == found
    assert len(leaves(again)) == 2
    text.write_text("a\fb c\n")
    (forest,) = read_sentences(text, ["A"], ["A"], "TOP", 10)
    (sentence,) = [tree for tree, _ in parse_trees("brackets", [(1, f"(S {' '.join(forest.forest.words)})")])]
    assert tuple(leaves(sentence)) == forest.forest.words


def test_brackets_have_no_place_for_empty_words(tmp_path):
    treebank, disc = tmp_path / "treebank.xml", tmp_path / "disc"
    treebank.write_text(_TIGER.format(""))
    with pytest.raises(TreeError, match="empty word"):
        list(read_trees(treebank))
    disc.write_text("(S (A 0=a) (B 1=c))\n(S (A 0=a) (B 1))\n")
    with pytest.raises(TreeError, match="has no word"):
        list(read_trees(disc))


def test_numbers_beyond_all_sense_are_refused_in_a_line(tmp_path):
    with pytest.raises(SettingsError, match=r"is not a size"):
        memory_size("9" * 400)
    model = tmp_path / "lm.arpa"
    model.write_text("\\data\\\nngram 1=3\nngram 2=" + "1" * 5000 + "\n\n\\1-grams:\n\\end\\\n")
    with pytest.raises(ArpaError, match="where 'ngram N=COUNT' should be"):
        copy_model(model, tmp_path / "copy", str, speller("native"))


def test_words_beside_tags_may_have_no_break_spaces(tmp_path):
    path = tmp_path / "treebank"
    path.write_text("DT NN VB\t2 3 0\tthe dog\u00a0x barks\n")
    (sentence,) = read_treebank(path)
    assert shown_words(sentence) == ["the/DT", "dog\u00a0x/NN", "barks/VB"]


def test_columns_of_another_order_are_refused(tmp_path):
    path = tmp_path / "treebank"
    first, rows = (
        "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL",
        "1\ta\ta\tN\tNN\t_\t0\troot\tx\n",
    )
    path.write_text(f"{first} PARSEME:MWE\n{rows}")
    assert [sentence.tags for sentence in read_treebank(path)] == [("NN",)]
    path.write_text(f"{first.replace('LEMMA UPOS', 'UPOS LEMMA')}\n{rows}")
    with pytest.raises(
        TreeError, match=r":1: columns are ID FORM UPOS LEMMA XPOS .* Put them in order: ID FORM"
    ):
        read_treebank(path)


def test_one_run_by_two_names_is_named_twice(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError, match="is named twice"):
        require_runs([tmp_path / "run", f"{tmp_path}/./run/"])


def test_no_trees_are_refused_by_the_name_of_the_argument():
    with pytest.raises(ValueError, match=r"^number is 0"):
        monolingual.read_pcfg(["S -> 'a'"]).simulate(0)


@pytest.mark.parametrize("line", ["{}", "nothing", "[1]", '{"derivation": 5}'])
def test_a_damaged_line_of_derivations_is_named(tmp_path, line):
    corpus = scfg_sampler.make_corpus([("ne dort pas", "not sleep", "0-0 1-1 2-0")])
    run = scfg_sampler.sample(corpus, tmp_path / "run", iterations=2)
    with gzip.open(tmp_path / "run" / "derivations.jsonl.gz", "wt") as stream:
        stream.write(line + "\n")
    with pytest.raises(InputError, match=r"derivations\.jsonl\.gz:1: is damaged"):
        run.derivation(0)


def test_a_grammar_whose_name_begins_with_an_underscore_is_in_the_legend():
    lines = ["input\toutput\tfrequency\tMax\t*Coda", "pat\tpa\t60\t1\t0", "pat\tpat\t40\t0\t1"]
    shares = np.array([0.5, 0.5])
    figure = plot_fit(monolingual.read_tableaux(lines), {"run": shares, "_mine": shares})
    assert [each.get_text().strip() for each in figure.axes[0].get_legend().get_texts()] == ["run", "_mine"]
