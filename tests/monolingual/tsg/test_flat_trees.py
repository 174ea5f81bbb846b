"""The trees of sentences that no elementary trees derive, or that are too long to try."""

from __future__ import annotations

import pytest

from monolingual.tsg.fragments import CountedFragment, parse_fragment
from monolingual.tsg.grammar import flatten
from monolingual.tsg.parser import Parser
from monolingual.tsg.trees import format_tree

FRAGMENTS = {
    "(S (A a) (B ))": 2.0,
    "(B b)": 3.0,
    "(S (B a) (C c))": 1.0,
    "(B (B a) (C c))": 0.5,
    "(B a)": 0.25,
    "(A a)": 1.0,
}
RARE = {"(S (A ) (B ))": 1.0, "(B b)": 9.0, "(A UNK-LC)": 2.0, "(B UNK-LC)": 1.0}


@pytest.fixture(scope="module")
def parser():
    trees = [CountedFragment(parse_fragment(text), count) for text, count in FRAGMENTS.items()]
    weights = [0.1] * len(trees)
    return Parser(flatten(trees, weights), trees, weights, dict.fromkeys("SABC", 1.0), {"S": 0.9, "B": 0.1})


def test_words_have_their_commonest_tags(parser):
    """a is A three times, and B less often, though in more trees; the zebra is what words are most often."""
    found = parser.flat_tree(["a", "c", "b", "zebra"], None)
    assert format_tree(found) == "(S (A a) (C c) (B b) (B zebra))"


def test_tags_that_are_given_are_kept(parser):
    assert format_tree(parser.flat_tree(["a", "zebra"], ["C", "D"])) == "(S (C a) (D zebra))"


def test_unknown_words_are_tagged_as_rare_ones_are():
    """Not as all: b is common, and its tag has no room for others."""
    trees = [CountedFragment(parse_fragment(text), count) for text, count in RARE.items()]
    parser = Parser(flatten(trees, [0.1] * 4), trees, [0.1] * 4, dict.fromkeys("SAB", 1.0), {"S": 1.0})
    assert format_tree(parser.flat_tree(["zebra"], None)) == "(S (A zebra))"
