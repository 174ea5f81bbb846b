"""Parallel text that smells wrong is remarked on; clean text is not."""

import re

import pytest

from scfg_sampler.corpus.parallel_text import read_corpus
from scfg_sampler.corpus.sanity import attached_marks, odd_pairs, require_links
from scfg_sampler.errors import InputError
from tests.conftest import ROOT


def corpus(tmp_path, pairs, links=None):
    return read_corpus(*corpus_files(tmp_path, pairs, links))


def corpus_files(tmp_path, pairs, links=None):
    for name, side in (("s", 0), ("t", 1)):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in pairs))
    (tmp_path / "a").write_text("".join(f"{link}\n" for link in links or ["0-0"] * len(pairs)))
    return tmp_path / "s", tmp_path / "t", tmp_path / "a"


def clean(number):
    return [(f"das haus {k} .", f"the house {k} .") for k in range(number)]


def test_the_bundled_corpus_is_clean():
    place = ROOT / "data" / "novish-en"
    names = ("train.novish.gz", "train.en.gz", "train.novish-en.gold.gz")
    assert odd_pairs(read_corpus(*(place / name for name in names))) == []


@pytest.mark.parametrize(
    ("odd", "links", "remark"),
    [
        ([("the same . words", "the same . words")], None, "10 of 30 pairs are the same on both sides"),
        ([("a b", "c d")], [""], "10 of 30 pairs have no links"),
        (
            [("eins, zwei, drei.", "one two three .")],
            None,
            r"\d+% of the words of the source text end in a mark",
        ),
    ],
)
def test_odd_shares_are_remarked_on(tmp_path, odd, links, remark):
    pairs = clean(20)
    for k in range(10):
        pairs += [(f"{one} x{k}", f"{other} {'x' if one == other else 'y'}{k}") for one, other in odd]
    found = odd_pairs(corpus(tmp_path, pairs, ["0-0"] * 20 + (links or ["0-0"]) * 10))
    assert len(found) == 1
    assert re.match(remark, found[0])


def test_doubled_pairs_are_counted_whatever_their_order(tmp_path):
    found = odd_pairs(corpus(tmp_path, clean(10) * 3))
    assert found == ["20 of 30 pairs repeat another one; 'prepare' leaves repetitions out"]
    assert odd_pairs(corpus(tmp_path, clean(10) * 2)) == []
    # One side alone may repeat.
    assert odd_pairs(corpus(tmp_path, [("ja .", f"yes {k}") for k in range(30)])) == []


def test_pairs_under_several_alignments_are_counted_once(tmp_path):
    pairs = clean(30)
    corpus(tmp_path, pairs)
    (tmp_path / "none").write_text("\n" * 20 + "0-0\n" * 10)
    text = tmp_path / "s", tmp_path / "t"
    assert odd_pairs(read_corpus(*text, tmp_path / "a", tmp_path / "a", tmp_path / "none"), 3) == []
    linkless = ["20 of 30 pairs have no links; is it the alignment of this text?"]
    assert odd_pairs(read_corpus(*text, tmp_path / "none", tmp_path / "none"), 2) == linkless
    twice = read_corpus(*corpus_files(tmp_path, clean(10) * 3), tmp_path / "a")
    assert odd_pairs(twice, 2) == ["20 of 30 pairs repeat another one; 'prepare' leaves repetitions out"]


def test_few_pairs_say_nothing(tmp_path):
    assert odd_pairs(corpus(tmp_path, [("a", "a")] * 19)) == []


@pytest.mark.parametrize(("copied", "is_told"), [(4, False), (5, True)])
def test_twenty_pairs_say_something_if_more_than_a_fifth_of_them_are_copied(tmp_path, copied, is_told):
    pairs = [(f"same {k}", f"same {k}") for k in range(copied)] + clean(20 - copied)
    found = odd_pairs(corpus(tmp_path, pairs))
    told = f"{copied} of 20 pairs are the same on both sides; are both texts in one language?"
    assert found == ([told] if is_told else [])


def test_pairs_without_words_are_not_counted(tmp_path):
    """They have no links, and are all alike, which says nothing of the others."""
    pairs = clean(20) + [("", "")] * 15 + [("ja", "")] * 15
    assert odd_pairs(corpus(tmp_path, pairs, ["0-0"] * 20 + [""] * 30)) == []
    pairs = clean(8) * 3 + [("", "")] * 30
    found = odd_pairs(corpus(tmp_path, pairs, ["0-0"] * 24 + [""] * 30))
    assert found == ["16 of 24 pairs repeat another one; 'prepare' leaves repetitions out"]


def test_marks_at_the_ends_of_words_are_those_of_untokenised_text():
    assert attached_marks(["Hello, my friend.", "How are you?"]) == pytest.approx(3 / 6)
    assert attached_marks(["hello , my friend .", "3.5 U.S. , i.e. ... a."]) < 0.1
    assert attached_marks([]) == 0


def test_a_corpus_without_links_is_refused(tmp_path):
    with pytest.raises(InputError, match="no sentence pair has a link"):
        require_links(corpus(tmp_path, clean(3), ["", "", ""]), "s")
    with pytest.raises(InputError, match="has no lines"):
        require_links(corpus(tmp_path, []), "s")
