"""Double-DOP: the fragments that two trees share, against the enumeration of all fragments."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from monolingual.cli import main
from monolingual.tsg.fragments import format_fragment, read_fragments
from monolingual.tsg.recurring import recurring_cuts, recurring_fragments
from monolingual.tsg.treebank import build_treebank
from monolingual.tsg.trees import Tree, format_tree
from tests.monolingual.tsg.treebanks import TREEBANKS, tree_of


def random_tree(rng, depth=0):
    """A tree of few labels and words, so that much recurs."""
    label = "A" if rng.random() < 0.85 else "B"
    if depth == 3 or (depth and rng.random() < 0.4):
        return Tree(label, ("xy"[rng.integers(2)],))
    return Tree(label, tuple(random_tree(rng, depth + 1) for _ in range(2)))


def rooted_at(node, address):
    """All fragments with this root: text and the addresses of the nodes they expand."""
    choices = []
    for at, child in enumerate(node.children):
        if isinstance(child, str):
            choices.append([(child, frozenset())])
        else:
            choices.append([(f"({child.label} )", frozenset()), *rooted_at(child, (*address, at))])
    for parts in itertools.product(*choices):
        text = f"({node.label} {' '.join(part for part, _ in parts)})"
        yield text, frozenset([address]).union(*(addresses for _, addresses in parts))


def all_fragments(tree):
    pending = [(tree, ())]
    while pending:
        node, address = pending.pop()
        yield from rooted_at(node, address)
        pending.extend(
            (child, (*address, at)) for at, child in enumerate(node.children) if not isinstance(child, str)
        )


def enumerated(trees):
    """Every production, and every common fragment of two trees that is in no other; occurrences of each."""
    fragments = [list(all_fragments(tree)) for tree in trees]
    counts = Counter(text for found in fragments for text, _ in found)
    kept = {text for found in fragments for text, addresses in found if len(addresses) == 1}
    for one, two in itertools.combinations(fragments, 2):
        common = [(text, a, b) for (text, a), (other, b) in itertools.product(one, two) if text == other]
        for text, a, b in common:
            # Preorder puts the two in step, so that a larger pair goes on where this one stands.
            if not any(a < c and b < d and aligned(a, b, c, d) for _, c, d in common):
                kept.add(text)
    return {text: counts[text] for text in kept}


def aligned(a, b, c, d):
    """Whether the pair (a, b) of node sets stands in (c, d) at the same places."""
    place = {node: at for at, node in enumerate(sorted(c))}
    other = {node: at for at, node in enumerate(sorted(d))}
    return [place[node] for node in sorted(a)] == [other[node] for node in sorted(b)]


def found_in(trees):
    found = recurring_fragments(build_treebank(trees))
    texts = {format_fragment(tree): count for tree, count in found}
    assert len(texts) == len(found)
    return texts


@pytest.mark.parametrize("name", TREEBANKS)
def test_fragments_of_small_treebanks_are_those_of_enumeration(name):
    trees = [tree_of(text) for text in TREEBANKS[name]]
    assert found_in(trees) == enumerated(trees)


def test_fragments_of_random_treebanks_are_those_of_enumeration():
    larger = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        trees = [random_tree(rng) for _ in range(3)]
        expected = enumerated(trees)
        assert found_in(trees) == expected
        larger += sum(text.count("(") > 4 for text in expected)
    assert larger > 10


def test_a_fragment_is_counted_where_it_is_part_of_a_larger_one():
    trees = [tree_of(text) for text in ("(S (A (B b) (C c)))", "(S (A (B b) (C c)))", "(T (A (B b) (C d)))")]
    found = found_in(trees)
    assert found["(S (A (B b) (C c)))"] == 2
    # Shared by the third tree and each of the others; it occurs in all three.
    assert found["(A (B b) (C ))"] == 3
    assert "(A (B b) (C c))" not in found


def test_many_fragments_are_kept_apart():
    # More than the table of hashes begins with.
    rng = np.random.default_rng(1)
    names = [f"w{at}" for at in range(3000)]
    trees = [Tree("S", (Tree("A", (name,)), Tree("B", (name,)))) for name in names for _ in range(3)]
    found = found_in([trees[at] for at in rng.permutation(len(trees))])
    assert all(found[f"(S (A {name}) (B {name}))"] == 3 for name in names)
    assert len(found) == 1 + 3 * len(names)


def test_train_2dop_parses_by_relative_frequencies(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = ["(S (A (B b) (C c)))"] * 2 + ["(S (A (B b) (C d)))"]
    (tmp_path / "trees").write_text("\n".join(texts) + "\n")
    options = ["--unknown", "none", "--horizontal", "0", "--method", "2dop", "--output", "run"]
    assert main(["tsg", "train", "trees", *options]) == 0
    assert "elementary trees of 3 sentences" in capsys.readouterr().err
    counts = {format_fragment(tree): count for tree, count in read_fragments("run/grammar.tsg.gz")}
    assert counts == found_in([tree_of(text) for text in texts])
    (tmp_path / "words").write_text("b c\nb d\n")
    assert main(["tsg", "parse", "run", "--input", "words", "--output", "parsed"]) == 0
    parsed = (tmp_path / "parsed").read_text().splitlines()
    assert parsed == [format_tree(tree_of(texts[0])), format_tree(tree_of(texts[2]))]
    capsys.readouterr()
    assert main(["tsg", "resume", "run", "--iterations", "10"]) == 2
    assert "holds a Double-DOP grammar, which has no sweeps to go on with" in capsys.readouterr().err
    assert main(["tsg", "train", "trees", *options, "--overwrite", "--states", "2"]) == 2
    assert "--method 2dop has none" in capsys.readouterr().err


def test_sentences_with_several_trees_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists").write_text("0 ||| (S (A a) (B b))\n0 ||| (S (B a) (A b))\n")
    assert main(["tsg", "train", "--nbest-lists", "lists", "--method", "2dop", "--output", "run"]) == 2
    assert "--method 2dop compares trees; it goes with TREES alone" in capsys.readouterr().err


def shared_by_hand(node, other):
    """How many symbols two trees have in common from their roots down, and the addresses where that ends."""
    label = [child if isinstance(child, str) else child.label for child in node.children]
    theirs = [child if isinstance(child, str) else child.label for child in other.children]
    kinds = [[isinstance(child, str) for child in tree.children] for tree in (node, other)]
    if (node.label, label) != (other.label, theirs) or kinds[0] != kinds[1]:
        return 1, {()}
    size, ends = 1, set()
    for at, (one, two) in enumerate(zip(node.children, other.children, strict=True)):
        if isinstance(one, Tree):
            below, found = shared_by_hand(one, two)
            size += below
            ends |= {(at, *address) for address in found}
    return size, ends


def nodes_of(tree, address=()):
    yield address, tree
    for at, child in enumerate(tree.children):
        if isinstance(child, Tree):
            yield from nodes_of(child, (*address, at))


def test_first_derivations_are_of_the_largest_fragments_that_recur(rng):
    for _ in range(10):
        trees = [random_tree(rng) for _ in range(6)]
        cuts = recurring_cuts(build_treebank(trees)).tolist()
        for number, tree in enumerate(trees):
            nodes = dict(nodes_of(tree))
            found = {address: cuts.pop(0) for address in nodes}
            assert found[()] == 1
            others = [node for at, other in enumerate(trees) if at != number for _, node in nodes_of(other)]
            for address, node in nodes.items():
                if not found[address]:
                    continue
                shared = [shared_by_hand(node, other) for other in others]
                ends = {below for below in found if below[: len(address)] == address and below != address}
                first = {
                    below[len(address) :]
                    for below in ends
                    if found[below] and not any(found[below[:k]] for k in range(len(address) + 1, len(below)))
                }
                alone = {(at,) for at, child in enumerate(node.children) if isinstance(child, Tree)}
                sizes = [size for size, where in shared if where != {()}]
                largest = [where for size, where in shared if where != {()} and size == max(sizes)]
                assert first in (largest or [alone])
        assert cuts == []


def test_chains_begin_with_fragments_that_recur(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = ["(S (A (B b) (C c)) (D d))", "(S (A (B b) (C c)) (D e))", "(S (A (B x) (C y)) (D d))"]
    (tmp_path / "trees").write_text("\n".join(texts) + "\n")
    options = ["--unknown", "none", "--start", "2dop", "--iterations", "3", "--check", "--output", "run"]
    assert main(["tsg", "train", "trees", *options]) == 0
    assert "3 sentences" in capsys.readouterr().err
    cuts = recurring_cuts(build_treebank([tree_of(text) for text in texts])).reshape(3, 5).tolist()
    # S (A (B b) (C c)) (D ) recurs, and S (A (B ) (C )) (D d).
    assert cuts == [[1, 0, 0, 0, 1], [1, 0, 0, 0, 1], [1, 0, 1, 1, 0]]
    (tmp_path / "lists").write_text("0 ||| (S (A a) (B b))\n0 ||| (S (B a) (A b))\n")
    assert main(["tsg", "train", "--nbest-lists", "lists", "--start", "2dop", "--output", "other"]) == 2
    assert "--start 2dop compares trees; it goes with TREES alone" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--start", "--method"])
def test_a_run_is_not_replaced_by_one_that_compares_no_trees(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees").write_text("(S (A a) (B b))\n")
    (tmp_path / "lists").write_text("0 ||| (S (A a) (B b))\n0 ||| (S (B a) (A b))\n")
    assert main(["tsg", "train", "trees", "--iterations", "2", "--output", "run", "--quiet"]) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    instead = ["--nbest-lists", "lists", option, "2dop", "--output", "run", "--overwrite", "--quiet"]
    assert main(["tsg", "train", *instead]) == 2
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()} == before
