"""Trees, fragments and forests come back from the arrays that they are kept in."""

from __future__ import annotations

import random

import pytest

from monolingual.tsg.annotation import read_forests
from monolingual.tsg.fragments import (
    format_fragment,
    mean_fragments,
    parse_fragment,
    read_fragments,
)
from monolingual.tsg.stored import StoredForests, StoredTrees
from monolingual.tsg.trees import Tree
from scfg_sampler.errors import TreeError


def random_tree(rng: random.Random, depth: int = 4) -> Tree:
    """Words and labels of the same names, and nodes without children among the others."""
    children = [
        random_tree(rng, depth - 1) if depth and rng.random() < 0.6 else rng.choice("abS")
        for _ in range(rng.randrange(0 if depth < 4 else 1, 4))
    ]
    return Tree(rng.choice("Sab"), tuple(children))


def test_trees_come_back_one_by_one_and_together():
    rng = random.Random(4)
    trees = [random_tree(rng) for _ in range(50)]
    stored = StoredTrees(trees)
    assert list(stored) == trees
    assert stored == trees
    assert stored[-1] == trees[-1]
    assert stored[3:9:2] == trees[3:9:2]
    assert stored != trees[:-1]
    assert not StoredTrees()


def test_forests_come_back(tmp_path):
    (tmp_path / "forests").write_text(
        "S#1 -> A#2 B#3\nA#2 -> a\nB#3 -> b S\nS#1 -> B#4 B#3\nS#1 -> a b S\nB#4 -> a\n\nS#1 -> x\n"
    )
    forests = [forest for forest, _ in read_forests(tmp_path / "forests")]
    assert len(forests[0].nodes[0].edges) == 3
    assert list(StoredForests(forests)) == forests


def test_a_text_is_a_fragment_in_a_file_if_it_is_one_alone(tmp_path):
    rng, kinds = random.Random(5), set()
    for _ in range(600):
        text = " ".join(rng.choice(["(", ")", "(S", "(A", "a", "a)", "(A a)", "))"]) for _ in range(5))
        (tmp_path / "grammar").write_text(f"2\t{text}\n")
        try:
            expected = parse_fragment(text)
        except ValueError:
            with pytest.raises(TreeError, match=r"grammar:1: .*the brackets are not those of"):
                read_fragments(tmp_path / "grammar")
            kinds.add("refused")
        else:
            assert list(read_fragments(tmp_path / "grammar")) == [(expected, 2.0)]
            kinds.add("read")
    assert kinds == {"refused", "read"}


def test_the_mean_of_grammars_has_every_fragment_of_them(tmp_path):
    (tmp_path / "first").write_text("2\t(S a)\n3\t(S (A ))\n")
    (tmp_path / "second").write_text("5\t(S (A ))\n4\t(S (A a))\n0.5\t(S a)\n")
    found = mean_fragments([tmp_path / "first", tmp_path / "second"])
    assert [(format_fragment(tree), count) for tree, count in found] == [
        ("(S a)", 1.25),
        ("(S (A ))", 4.0),
        ("(S (A a))", 2.0),
    ]
    assert found[1:] == list(found)[1:]


def test_the_mean_of_grammars_has_the_mean_of_their_tables(tmp_path):
    (tmp_path / "first").write_text("4/3\t(S a)\n3/1\t(S (A ))\n")
    (tmp_path / "second").write_text("5/2\t(S (A ))\n")
    assert mean_fragments([tmp_path / "first", tmp_path / "second"]).tables.tolist() == [1.5, 1.5]
    assert read_fragments(tmp_path / "first").tables.tolist() == [3.0, 1.0]
