"""Labels of spans are read as their forms say, and lines that do not fit are named."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scfg_sampler.corpus.parallel_text import parse_corpus
from scfg_sampler.corpus.span_labels import read_span_labels
from scfg_sampler.errors import InputError


def corpus_with(*lines: str):
    """A corpus with these target sides."""
    return parse_corpus(["f"] * len(lines), list(lines), [""] * len(lines))


def labels_in(path, text: str, corpus, **how) -> list[dict[tuple[int, int], str]]:
    path.write_text(text)
    found = read_span_labels(path, corpus, **{"side": "target", "longest": 10, **how})
    assert found.is_target == (how.get("side", "target") == "target")
    return [
        {
            tuple(span): found.names[label]
            for span, label in zip(found.spans[a:b].tolist(), found.label[a:b].tolist(), strict=True)
        }
        for a, b in itertools.pairwise(found.start.tolist())
    ]


def test_spans(tmp_path):
    corpus = corpus_with("a b c", "d", "e f")
    found = labels_in(tmp_path / "l", "0-2:NP 1-3:a:b 2-3:X\n\n0-2:NP\n", corpus, form="spans")
    assert found == [{(0, 2): "NP", (1, 3): "a:b"}, {}, {(0, 2): "NP"}]
    assert labels_in(tmp_path / "l", "0-2:NP 1-2:V\n\n\n", corpus, form="spans", longest=1)[0] == {
        (1, 2): "V"
    }


def test_classes(tmp_path):
    found = labels_in(tmp_path / "l", "D N V\n", corpus_with("a b c"), form="classes", longest=2)
    assert found == [{(0, 1): "D", (1, 2): "N", (2, 3): "V", (0, 2): "D..N", (1, 3): "N..V"}]


def test_constituents_as_in_samt(tmp_path):
    tree = "(TOP (S (NP (DT the) (JJ old) (NN (NNP dog))) (VP (VB barks) (ADVP (RB loudly)))))\n"
    (found,) = labels_in(tmp_path / "l", tree, corpus_with("the old dog barks loudly"), form="trees")
    assert found == {
        (0, 1): "DT",
        (1, 2): "JJ",
        (2, 3): "NN",  # The outermost over the same words.
        (3, 4): "VB",
        (4, 5): "ADVP",
        (0, 3): "NP",
        (3, 5): "VP",
        (0, 5): "S",
        (0, 2): "DT+JJ",
        (1, 3): "JJ+NN",
        (2, 4): "NN+VB",
        (2, 5): "NN+VP",
        (0, 4): "NP+VB",  # Before S/ADVP.
        (1, 5): "S\\DT",
    }
    assert (1, 4) not in found


def test_what_lacks_a_part_on_its_right(tmp_path):
    (found,) = labels_in(
        tmp_path / "l", "(S (A a) (B b) (C c) (D d))\n", corpus_with("a b c d"), form="trees"
    )
    assert found[0, 3] == "S/D"
    assert found[1, 4] == "S\\A"
    assert (1, 4) in found
    assert found[1, 3] == "B+C"
    (found,) = labels_in(
        tmp_path / "l", "(S (A a) (B b) (C c) (D d) (E e))\n", corpus_with("a b c d e"), form="trees"
    )
    assert (0, 3) not in found, "what it lacks is no constituent"


@pytest.mark.parametrize("empty", ["", "()", "(())", "(TOP )"])
def test_sentences_without_a_tree_have_no_labels(tmp_path, empty):
    assert labels_in(tmp_path / "l", f"{empty}\n", corpus_with("a b"), form="trees") == [{}]


def test_pairs_under_several_alignments_have_the_labels_of_one_line(tmp_path):
    corpus = corpus_with("a b", "c", "a b", "c")
    assert (
        labels_in(tmp_path / "l", "0-2:N\n0-1:V\n", corpus, form="spans", alignments=2)
        == [
            {(0, 2): "N"},
            {(0, 1): "V"},
        ]
        * 2
    )
    found = read_span_labels(tmp_path / "l", corpus, side="target", form="spans", longest=9, alignments=2)
    assert found.spans.dtype == found.label.dtype == np.int32


def test_labels_of_half_the_pairs_are_not_those_of_the_others(tmp_path):
    """Also where these are as long."""
    with pytest.raises(InputError, match="l: has 2 lines for 4 pairs"):
        labels_in(tmp_path / "l", "0-2:N\n0-1:V\n", corpus_with("a b", "c", "d e", "f"), form="spans")


def test_words_of_trees_may_hold_blanks_that_part_no_words(tmp_path):
    corpus = corpus_with("10\u00a0000 ne\u3000pas")
    text = "(S (A 10\u00a0000)\t(B ne\u3000pas))\r\n"
    (found,) = labels_in(tmp_path / "l", text, corpus, form="trees")
    assert found == {(0, 1): "A", (1, 2): "B", (0, 2): "S"}


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("spans", "0-1:A\n0-4:B\n", r"l:2: '0-4:B' is no span of a sentence of 3 words\. Expected 0-2:NP"),
        ("spans", "0-1:A 0-1:B\n\n", "l:1: '0-1:B' labels a span that has a label"),
        ("spans", "1-1:A\n\n", "l:1: '1-1:A' is no span"),
        ("spans", "0-1\n\n", "l:1: '0-1' is no labelled span"),
        ("spans", "\n", r"l: has 1 line for 2 pairs\. Give a line for each pair"),
        ("spans", "\n\n\n", r"l:3: the corpus has only 2 pairs"),
        ("classes", "A\nA B\n", "l:2: has 2 classes for 3 words"),
        ("trees", "(A a)\n(A a b)\n", r"l:2: is a tree over 2 words instead of 3\. Expected a tree"),
        ("trees", "(A a\n\n", "l:1: has a bracket that is not closed"),
        ("trees", "(A a))\n\n", "l:1: has a bracket that was not opened"),
        ("trees", "(A a) b\n\n", "l:1: 'b' stands outside of the tree"),
    ],
)
def test_lines_that_do_not_fit_are_named(tmp_path, form, text, message):
    with pytest.raises(InputError, match=message):
        labels_in(tmp_path / "l", text, corpus_with("a", "b c d"), form=form)


def test_spans_take_numbers_and_no_objects(tmp_path):
    """60 sentences of 40 words with 820 spans each: 12 bytes a span in the end, and over 100 as pairs."""
    import tracemalloc

    line = " ".join("abcdefgh" * 5)
    corpus = corpus_with(*[line] * 60)
    (tmp_path / "l").write_text(f"{line}\n" * 60)
    tracemalloc.start()
    found = read_span_labels(tmp_path / "l", corpus, side="target", form="classes", longest=40)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.label) == 60 * 820
    assert peak < 60 * len(found.label)
