"""Treebanks, models as text, beginnings and scores."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monolingual.dmv.evaluation import attach_left, attach_right, evaluate
from monolingual.dmv.initial import harmonic, random, soft_arcs, uniform
from monolingual.dmv.layout import Layout, build_corpus, num_parameters, parameter_families
from monolingual.dmv.model import DmvModel, parts, read_model, smoothed, weights_for, write_model
from monolingual.dmv.parsing import parse
from monolingual.dmv.tag_families import (
    expert_covariances,
    family_covariances,
    family_experts,
    read_families,
    shipped_families,
)
from monolingual.dmv.tag_sets import PENN, UNIVERSAL
from monolingual.dmv.treebank import Sentence, read_treebank, shown_words, write_treebank
from monolingual.priors.covariances import covariances
from monolingual.priors.multinomials import normalise, sum_per_family
from scfg_sampler.errors import InputError, SettingsError, TreeError

# "«" is the root; its dependents go up to the sentence, the later one to the first of them.
CONLLU = """\
# text = « Du vin, vite
1\t«\t«\tPUNCT\t``\t_\t0\troot\t_\t_
2-3\tDu\t_\t_\t_\t_\t_\t_\t_\t_
2\tDe\tde\tADP\tIN\t_\t4\tcase\t_\t_
3\tle\tle\tDET\tDT\t_\t4\tdet\t_\t_
4\tvin\tvin\tNOUN\tNN\t_\t1\tdep\t_\t_
4.1\tveut\t_\tVERB\tVB\t_\t_\t_\t_\t_
5\t,\t,\tPUNCT\t,\t_\t1\tpunct\t_\t_
6\tvite\tvite\tADV\tRB\t_\t5\tadvmod\t_\t_

"""


# CoNLL-X: coarse and fine tags, projective heads in the last two columns, no comments.
CONLLX = """\
1\tEin\tein\tART\tDT\t_\t2\tNK\t2\tNK
2\tHund\tHund\tN\tNN\t_\t3\tSB\t3\tSB
3\tbellt\tbellen\tV\tVB\t_\t0\tROOT\t0\tROOT
4\t.\t.\tPUNCT\t.\t_\t3\tPUNC\t3\tPUNC

1\tJa\tja\tITJ\tUH\t_\t0\tROOT\t_\t_

"""

SPACED = """\
1 The _ DT DT _ 2 det _ _
2 dog _ NN NN _ 3 nsubj _ _
3 barks _ VBZ VBZ _ 0 root _ _

1 Oslo _ NNP NNP _ 0 root _ _
"""

HEADLESS = re.sub(r" [0-3] \w+ _ _\n", " _ _\n", SPACED)

WORD = "{}\tx\tx\tDET\tDT\t_\t{}\tdep\t_\t_\n"


def written(tmp_path, text, name="t.conllu"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_punctuation_goes_and_its_dependents_stay(tmp_path):
    (sentence,) = read_treebank(written(tmp_path, CONLLU))
    assert sentence.tags == ("IN", "DT", "NN", "RB")
    assert sentence.heads == (3, 3, 0, 3)
    assert sentence.kept == (1, 2, 3, 5)


def test_column_and_punctuation_can_be_chosen(tmp_path):
    path = written(tmp_path, CONLLU)
    assert read_treebank(path, column="upos")[0].tags == ("ADP", "DET", "NOUN", "ADV")
    every = read_treebank(path, punctuation=())[0]
    assert every.heads == (0, 4, 4, 1, 1, 5)
    assert read_treebank(path, punctuation=("PUNCT", "RB"))[0].tags == ("IN", "DT", "NN")


def test_heads_are_written_back_where_they_were(tmp_path):
    sentences = read_treebank(written(tmp_path, CONLLU))
    again = tmp_path / "again.conllu.gz"
    write_treebank(again, sentences, [(0, 1, 2, 3)])
    assert read_treebank(again)[0].heads == (0, 1, 2, 3)
    rows = [line.split("\t") for line in read_treebank(again)[0].lines]
    assert [row[6] for row in rows if len(row) > 6] == ["2", "_", "0", "2", "3", "_", "2", "4"]
    assert rows[0] == ["# text = « Du vin, vite"]


@pytest.mark.parametrize("columns", [8, 10])
def test_conllx_is_read_and_written_back(columns, tmp_path):
    """Ten columns, and eight, which is what some of the shared task's test files have."""
    lines = ["\t".join(line.split("\t")[:columns]) for line in CONLLX.split("\n")]
    path = written(tmp_path, "\n".join(lines), "x.conll")
    sentences = read_treebank(path)
    assert [s.tags for s in sentences] == [("DT", "NN", "VB"), ("UH",)]
    assert [s.heads for s in sentences] == [(2, 3, 0), (0,)]
    assert read_treebank(path, column="upos")[0].tags == ("ART", "N", "V")
    write_treebank(tmp_path / "y.conll", sentences, [(0, 1, 1), (0,)])
    assert [s.heads for s in read_treebank(tmp_path / "y.conll")] == [(0, 1, 1), (0,)]
    found = (tmp_path / "y.conll").read_text(encoding="utf-8").splitlines()
    assert found[1].split("\t")[:8] == ["2", "Hund", "Hund", "N", "NN", "_", "1", "dep"]
    assert len(found[1].split("\t")) == columns


def test_sentence_of_punctuation_alone_stays_a_tree(tmp_path):
    sentences = read_treebank(
        written(tmp_path, "1\t.\t.\tPUNCT\t.\t_\t0\troot\t_\t_\n2\t.\t.\tPUNCT\t.\t_\t1\tx\t_\t_\n")
    )
    write_treebank(tmp_path / "again", sentences, [()])
    assert read_treebank(tmp_path / "again", punctuation=())[0].heads == (0, 1)


def test_three_columns_and_tags_alone(tmp_path):
    path = written(tmp_path, "DT NN\t2 0\tthe dog\nUH\t0\tyes\n")
    sentences = read_treebank(path)
    assert [s.heads for s in sentences] == [(2, 0), (0,)]
    write_treebank(tmp_path / "again", sentences, [(0, 1), (0,)])
    assert (tmp_path / "again").read_text() == "DT NN\t0 1\tthe dog\nUH\t0\tyes\n"
    assert read_treebank(written(tmp_path, "DT NN\n"))[0].heads == ()


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("DT NN\t2\tx\n", 1, "2 tags with 1 head"),
        ("DT\t0\tx\nDT NN\t2 x\tx\n", 2, "heads '2 x' are not numbers"),
        ("DT NN\nDT\u00a0NN VB\n", 2, r"the tag 'DT\\xa0NN' has a blank of another kind than spaces in it"),
        ("Pierre\tNNP\t2\n", 1, "seems to be Malt-TAB"),
        (
            "-DOCSTART- -X- O O\n\nthe DT I-NP O\ncat NN I-NP O\n\nOslo NNP I-NP B-LOC\n",
            3,
            "seems to be chunks or",
        ),
        ("the\tO\nOslo\tB-LOC\n", 1, "seems to be chunks or names"),
        (SPACED, 1, "seems to be CoNLL-U or CoNLL-X with spaces between columns. Put tabs there"),
        ("\n" + SPACED.replace(" _ _\n", "\n"), 2, "seems to be CoNLL-U or CoNLL-X with spaces"),
        (SPACED.replace("1 Oslo", "1-2 Oslo _ _ _ _ _ _ _ _\n1 Oslo"), 1, "with spaces between"),
        (SPACED.replace(" 2 det", " _ _"), 1, "with spaces between"),
        (SPACED * 3 + "1 10 000 NUM\n", 1, "between columns. Put tabs there, not in words$"),
        (SPACED + SPACED.replace("dog _", "hot dog hot dog"), 1, "columns. Put tabs there, not in words$"),
        (re.sub(r" [0-3] \w+ _ _\n", " - _ - -\n", SPACED), 1, "with spaces between columns. Put tabs"),
        (HEADLESS.replace("dog", "hot dog"), 1, "between columns. Put tabs there, not in words$"),
        (re.sub(r" _ [0-3] \w+ _ _\n", "\n", SPACED).lower(), 1, "with spaces between columns"),
        (re.sub(r" _ [0-3] \w+ _ _\n", "\n", SPACED), 1, "columns. Give all ten columns, and tabs between"),
        ("1 The the DET DT\n2 dog dog NOUN NN\n3 barks bark VERB VBZ\n", 1, "Give all ten columns"),
        ("1\tx\tx\tx\tDT\tDT\t_\t_\t0\t0\tROOT\tROOT\t_\t_\n", 1, "seems to be CoNLL-2009"),
        ("DT NN\t2 1\tx\n", 1, "depends on itself"),
        ("DT NN\t0 3\tx\n", 1, "head 3 in a sentence of 2 words"),
        ("DT NN\t0 0\tx\n", 1, "2 words have the head 0"),
        ("# a\n1\tx\tx\tDET\tDT\n", 2, "5 columns"),
        ("1\tx\tx\tDET\t_\t_\t0\troot\t_\t_\n", 1, "the tag is '_'. Try --tags upos"),
        ("2\tx\tx\tDET\tDT\t_\t0\troot\t_\t_\n", 1, "word '2' follows word 0"),
        (WORD.format(1, 2) + WORD.format(1, 1), 2, "word '1' follows word 1. Number words from 1 in each"),
        (f"# a\n{WORD.format(1, 2)}{WORD.format(2, 'A')}", 3, "the head 'A' is not a number"),
        (f"# a\n{WORD.format(1, 0)}{WORD.format(2, '_')}", 3, "the head '_' is not a number"),
        (f"{WORD.format(1, 2)}{WORD.format(2, 5)}", 2, "head 5 in a sentence of 2 words"),
        (WORD.format(1, 0) + WORD.format(2, 3) + WORD.format(3, 2), 2, "word 2 depends on itself"),
    ],
)
def test_what_is_no_treebank_is_reported_with_its_line(text, line, found, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(TreeError, match=found.replace("(", r"\(")) as error:
        read_treebank(path)
    assert error.value.line == line


@pytest.mark.parametrize(
    "text",
    ["B-NP I-NP\nO O\n", "DT O\nNN O\n", "DT B-NP\nDT NN B-NP\n", "DT B-NP\nNN VB\n", "B-X\n"],
    ids=["chunks as tags", "no chunk", "lengths that differ", "a line without", "one word"],
)
def test_sentences_of_tags_are_no_chunks(text, tmp_path):
    sentences = read_treebank(written(tmp_path, text))
    assert [" ".join(sentence.tags) for sentence in sentences] == text.splitlines()


@pytest.mark.parametrize(
    "text",
    [
        "1 5 3 2 7 8 4 4\n2 1 1 6 9 3 5 2\n",
        "1 NN VB DT NN IN 2 NN\n3 DT NN VB DT NN 2 NN\n",
        "1 NN VB DT NN IN 2 NN\n2 DT NN\n",
        "1 NN VB DT NN IN DT NN\n",
        "1 NN VB DT NN IN 2\n",
        "1 NN VB DT NN IN 2 NN DT NN IN\n",
        "1 NN VB DT NN IN 2 NN\n2 NN VB DT NN IN 3 NN\n" * 4 + "3 NN VB\n",
        "1 NN VB DT NN IN DT NN 2 NN\n2 NN VB DT NN IN DT NN NN 2 NN\n",
        "1 DT NN VB NN\n2 DT NN VB RB\n3 PRP VB DT NN\n",
        "1 7 4 8 3\n2 9 5 3 3\n1 3 3 7 5\n",
        "1 DT NN\n2 VB NN\n1 PRP VB\n",
        "1 der NN VB NN\n",
    ],
    ids=[
        "word classes",
        "numbers that do not count",
        "lengths that differ",
        "no number",
        "seven tags",
        "eleven tags",
        "a line of nine that is no word",
        "numbers in another place",
        "numbered sentences",
        "word classes of five",
        "three columns",
        "one line",
    ],
)
def test_sentences_of_tags_are_no_columns(text, tmp_path):
    sentences = read_treebank(written(tmp_path, text))
    assert [" ".join(sentence.tags) for sentence in sentences] == text.splitlines()


def test_three_columns_that_begin_with_a_number_are_three_columns(tmp_path):
    (sentence,) = read_treebank(written(tmp_path, "1 NN VB\t2 3 0\t5 men came\n"))
    assert (sentence.tags, sentence.heads) == (("1", "NN", "VB"), (2, 3, 0))


@pytest.mark.parametrize("first", ["", "# CD\t2 0\t# 5\n", "# CD\n"])
@pytest.mark.parametrize("columns", ["\t2 3 0\t# 5 fell", ""])
def test_a_sentence_may_begin_with_a_hash(first, columns, tmp_path):
    path = written(tmp_path, f"{first}# CD VB{columns}\nNN VB\t2 0\tdogs bark\n")
    sentences = read_treebank(path)
    *_, hash_first, second = sentences
    assert (hash_first.tags, second.tags) == (("#", "CD", "VB"), ("NN", "VB"))
    new = [(0,) * len(sentence.tags) for sentence in sentences]
    write_treebank(tmp_path / "again", sentences, new)
    rows = [line.split("\t") for line in (tmp_path / "again").read_text().splitlines()]
    assert [row[0] for row in rows] == [line.split("\t")[0] for line in path.read_text().splitlines()]
    assert [row[1] for row in rows] == [" ".join(map(str, heads)) for heads in new]
    assert shown_words(second) == ["dogs/NN", "bark/VB"]


def test_all_sentences_may_begin_with_a_hash(tmp_path):
    (sentence,) = read_treebank(written(tmp_path, "# CD\t2 0\t# 5\n"))
    assert (sentence.tags, sentence.heads) == (("#", "CD"), (2, 0))


def test_comments_before_words_with_spaces_between_columns(tmp_path):
    with pytest.raises(TreeError, match="with spaces between columns"):
        read_treebank(written(tmp_path, "# a\n" + SPACED))


def test_what_is_said_of_spaces_makes_a_treebank(tmp_path):
    """The command of the message, run."""
    path = written(tmp_path, SPACED, "spaced")
    with pytest.raises(TreeError) as error:
        read_treebank(path)
    made = subprocess.run(
        ["bash", "-c", f"{error.value.hint.partition(': ')[2]} spaced"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    sentences = read_treebank(written(tmp_path, made.stdout))
    assert [(sentence.tags, sentence.heads) for sentence in sentences] == [
        (("DT", "NN", "VBZ"), (2, 3, 0)),
        (("NNP",), (0,)),
    ]


def test_what_is_said_of_conll_2009_makes_a_treebank(tmp_path, monkeypatch):
    """The command of the message, run."""
    row = "{at}\t{word}\tl\tpl\t{tag}\tpt\tf\tpf\t{head}\t9\t{rel}\tprel\t_\t_\n"
    text = row.format(at=1, word="cats", tag="NNS", head=2, rel="sub")
    text += row.format(at=2, word="sleep", tag="VB", head=0, rel="root")
    path = written(tmp_path, f"{text}\n{text}")
    with pytest.raises(TreeError, match="seems to be CoNLL-2009") as error:
        read_treebank(path)
    command = str(error.value).partition("Make CoNLL-X of it: ")[2]
    made = subprocess.run(f"{command} {path}", shell=True, check=True, capture_output=True, text=True).stdout
    sentences = read_treebank(written(tmp_path, made))
    assert [(s.tags, s.heads) for s in sentences] == [(("NNS", "VB"), (2, 0))] * 2


def test_empty_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no sentence"):
        read_treebank(written(tmp_path, "\n"))


@pytest.mark.parametrize(
    ("treebank", "column", "punctuation"),
    [
        ("ud-english-ewt", "xpos", ("PUNCT",)),
        ("treebank-gum", "xpos", ("PUNCT", "NFP")),
        ("ud-chinese-gsdsimp", "upos", ("PUNCT",)),
    ],
)
def test_conllu_agrees_with_the_prepared_files(shared_data, treebank, column, punctuation):
    place = shared_data / treebank
    full = read_treebank(place / "dev.conllu.gz", column=column, punctuation=punctuation)
    for length in (10, 40):
        short = [(s.tags, s.heads) for s in full if 0 < len(s.tags) <= length]
        assert short == [(s.tags, s.heads) for s in read_treebank(place / f"dev.len{length}.tagdep.gz")]


# ---------------------------------------------------------------- models


def random_model(rng, valences=1, tags=("DT", "NN", "VB")):
    layout = Layout(len(tags), valences)
    return DmvModel(tags, layout, random(rng, layout))


@pytest.mark.parametrize("valences", [1, 2])
def test_model_survives_its_text(valences, rng, tmp_path):
    model = random_model(rng, valences)
    write_model(tmp_path / "m.gz", model, comment="method em")
    again = read_model(tmp_path / "m.gz")
    assert again.tags == model.tags
    assert again.layout == model.layout
    assert_allclose(again.probs, model.probs, rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("root NN 1.5\n", ":1: '1.5' is no probability"),
        ("root NN x\n", ":1: 'x' is no probability"),
        ("root NN 1\nfrob\n", ":2: 'frob' is no parameter"),
        ("root NN 0.5\n", "the probabilities of root sum to 0.5"),
        ("root NN 1\nchild NN left NN 0.3\n", "the probabilities of child NN left sum to 0.3"),
        ("child NN left NN 1\nchild NN right adjacent NN 1\n", ":1: a child without adjacency"),
        ("# nothing\n", "holds no parameter"),
        ("root VB 0.3\n\nroot VB 0.7\nroot NN 0.3\n", ":3: gives what line 1 has given. Keep one of them"),
        (
            "root VB 1\nstop VB left adjacent 0.4\nstop VB right adjacent 1\nstop VB left adjacent 0.9\n",
            ":4: gives what line 2",
        ),
    ],
)
def test_what_is_no_model_is_reported(text, found, tmp_path):
    with pytest.raises(InputError) as error:
        read_model(written(tmp_path, text, "m"))
    assert found in str(error.value)


def test_new_tags_get_weights_and_old_ones_keep_theirs(rng):
    model = random_model(rng)
    wide = weights_for(model, ["NN", "XX"])
    assert wide.tags == ("DT", "NN", "VB", "XX")
    root, stop, child = parts(wide.layout, wide.probs)
    old_root, old_stop, old_child = parts(model.layout, smoothed(model).probs)
    assert_allclose(root[:3], old_root)
    assert_allclose(stop[3], old_stop.mean(axis=0))
    assert_allclose(child[:3, ..., :3], old_child)
    assert_allclose(child[:3, ..., 3], old_child.min(axis=-1))
    assert wide.probs.min() > 0.0
    assert weights_for(model, ["NN"]).tags == model.tags


def test_grammar_says_what_the_parser_finds(rng, tmp_path):
    """A model by hand: a determiner before its noun, a noun before its verb."""
    path = written(
        tmp_path,
        "root VB 1\nchild VB left NN 1\nchild NN left DT 1\nstop VB left adjacent 0.1\nstop VB left further "
        "0.9\n"
        "stop VB right adjacent 1\nstop NN left adjacent 0.1\nstop NN left further 1\nstop NN right "
        "adjacent 1\n"
        "stop DT left adjacent 1\nstop DT right adjacent 1\n",
    )
    sentence = Sentence(("DT", "NN", "VB"), (), (), ())
    for decoder in ("viterbi", "mbr"):
        assert parse(read_model(path), [sentence, sentence._replace(tags=())], decoder) == [[2, 3, 0], []]


# ---------------------------------------------------------------- beginnings


def test_soft_arcs_fall_with_distance_and_leave_room_for_the_root():
    arcs = soft_arcs(4)
    assert_allclose(arcs.sum(axis=0), 0.75)
    assert_allclose(arcs[1, 0] / arcs[2, 0], 2.0)
    assert not soft_arcs(1).any()


def test_harmonic_initialiser_of_two_words_by_hand():
    """Each of a and b is the root half the time, and else depends on the other."""
    layout = Layout(2, 1)
    probs = harmonic(layout, build_corpus(layout, [[0, 1]]), smoothing=1e-12)
    root, stop, child = parts(layout, probs)
    assert_allclose(root, 0.5)
    assert_allclose(stop[0, 1, 0], 0.5, atol=1e-9)  # a takes b half the time,
    assert_allclose(stop[0, 1, 1], [1.0, 0.0], atol=1e-9)  # and then no other,
    assert_allclose(stop[0, 0, 0], [1.0, 0.0], atol=1e-9)  # and nothing to its left.
    assert_allclose(child[0, 1, 0], [0.0, 1.0], atol=1e-9)
    assert_allclose(child[1, 0, 0], [1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("valences", [1, 2])
def test_beginnings_are_distributions(valences, rng):
    layout = Layout(3, valences)
    corpus = build_corpus(layout, [rng.integers(3, size=n).tolist() for n in (1, 4, 6)])
    for probs in (harmonic(layout, corpus), uniform(layout), random(rng, layout)):
        assert len(probs) == num_parameters(layout)
        assert probs.min() > 0.0
        assert_allclose(sum_per_family(parameter_families(layout), probs), 1.0)


# ---------------------------------------------------------------- families and scores


def test_families_have_covariances_and_others_none():
    layout = Layout(4, 1)
    tags = ("NN", "NNS", "VB", "??")
    flat = family_covariances(layout, tags, PENN)
    matrices = covariances(parameter_families(layout), flat)
    expected = np.eye(4)
    expected[0, 1] = expected[1, 0] = 0.5
    for matrix in matrices[17:]:
        assert_allclose(matrix, expected)
    for matrix in matrices[:17]:
        assert_allclose(matrix, np.eye(len(matrix)))


def test_heads_of_one_family_share_experts():
    """Of four tags, two nouns: an expert for each of their 4 stops and 2 V child distributions."""
    tags = ("NN", "NNS", "VB", "??")
    for valences in (1, 2):
        layout = Layout(4, valences)
        alone = len(parameter_families(layout).start) - 1
        for names in (["noun"], ["all"]):
            experts = family_experts(layout, tags, PENN, names)
            assert len(experts.families.start) - 1 == alone + 4 + 2 * valences
            shared = experts.expert[experts.expert >= alone]
            assert np.bincount(shared - alone).tolist() == [2] * (4 + 2 * valences)
        assert set(np.diff(experts.first)[: 1 + 8].tolist()) == {1, 2}
        everyone = family_experts(layout, tags, PENN, ["one"])
        assert np.bincount(everyone.expert)[alone:].tolist() == [4] * (4 + 2 * valences)
    flat = family_covariances(layout, tags, PENN)
    wide = covariances(experts.families, expert_covariances(layout, experts, flat))
    assert_allclose(wide[-1], covariances(parameter_families(layout), flat)[-1])
    assert_allclose(wide[alone], np.eye(2))
    with pytest.raises(SettingsError, match="there are noun, verb"):
        family_experts(layout, tags, PENN, ["adverb"])


def test_there_are_twelve_families_for_both_tag_sets(tmp_path):
    assert set(PENN.values()) == set(UNIVERSAL.values())
    assert len(set(PENN.values())) == 12
    assert shipped_families(["NN", "VBD"]) is PENN
    assert shipped_families(["NOUN", "VERB"]) is UNIVERSAL
    assert read_families(written(tmp_path, "# x\nA one\nB one\n", "f")) == {"A": "one", "B": "one"}
    for text, found in (("A\n", "1 field"), ("A x\nA y\n", "twice"), ("# x\n", "no tag")):
        with pytest.raises(InputError, match=found):
            read_families(written(tmp_path, text, "f"))


def test_scores_by_hand():
    gold = [(2, 0, 2), attach_right(12)]
    predicted = [(0, 1, 2), attach_left(12)]
    found = evaluate(predicted, gold)
    assert found["10"]["directed"] == pytest.approx(100 / 3)
    assert found["10"]["undirected"] == pytest.approx(200 / 3)
    assert found["10"]["root"] == 0.0
    assert found["10"]["words"] == 3
    assert found["all"]["words"] == 15
    assert found["all"]["undirected"] == pytest.approx(100 * (2 + 11) / 15)
    assert np.isnan(evaluate([], [])["10"]["directed"])
    assert (attach_right(3), attach_left(3), attach_right(0)) == ((2, 3, 0), (0, 1, 2), ())


def test_sentences_of_the_limit_belong_to_the_class():
    words = {
        name: score["words"] for name, score in evaluate(*2 * [[attach_right(10), attach_right(11)]]).items()
    }
    assert words["10"] == 10
    assert words["all"] == 21


def test_smoothing_leaves_distributions(rng):
    model = random_model(rng)
    sparse = model._replace(
        probs=normalise(parameter_families(model.layout), model.probs * (model.probs > 0.3))
    )
    assert smoothed(sparse).probs.min() > 0.0
    assert_allclose(sum_per_family(parameter_families(model.layout), smoothed(sparse).probs), 1.0)


def test_sentences_chosen_of_a_treebank_are_those_that_were_read(tmp_path):
    block = "1\ta\ta\tX\tA\t_\t2\tx\t_\t_\n2\tb\tb\tX\tB\t_\t0\tx\t_\t_\n3\t.\t.\tPUNCT\t.\t_\t2\tx\t_\t_\n\n"
    (tmp_path / "t").write_text("# one\n" + block + "1\ta\ta\tX\tA\t_\t_\tx\t_\t_\n\n" + "\n" + block)
    found = read_treebank(tmp_path / "t")
    sentences = list(found)
    assert [sentence.heads for sentence in sentences] == [(2, 0), (), (2, 0)]
    assert list(found.where(lambda sentence: len(sentence.tags) == 2)) == [sentences[0], sentences[2]]
    assert list(found.where(lambda sentence: not sentence.heads).where(bool)) == [sentences[1]]
    assert found[1:] == sentences[1:]
