"""Trees drawn: every label once, children below their parents, none over another."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest

from scfg_sampler.core.svg import text_width
from scfg_sampler.core.tree_svg import draw_tree, tree_of_brackets

SVG = "{http://www.w3.org/2000/svg}"
TREE = "(S (NP (D the) (N aVeryLongWordIndeed)) (VP (V sees) (NP )) (ADV quickly))"


def drawn(brackets: str) -> ElementTree.Element:
    return ElementTree.fromstring(draw_tree(tree_of_brackets(brackets), name="a <tree>"))


def places(picture) -> list[tuple[str, float, float]]:
    return [(each.text, float(each.get("x")), float(each.get("y"))) for each in picture.iter(f"{SVG}text")]


def test_every_label_is_drawn_and_every_edge():
    picture = drawn(TREE)
    labels = sorted(TREE.replace("(", " ").replace(")", " ").split())
    assert sorted(label for label, _, _ in places(picture)) == labels
    assert len(picture.findall(f".//{SVG}line")) == len(labels) - 1
    assert len(picture.findall(f".//{SVG}rect")) == 1
    assert picture.find(f"{SVG}title").text == "a <tree>"


def test_parents_stand_between_their_first_child_and_their_last():
    at = {label: (x, y) for label, x, y in places(drawn(TREE))}
    assert at["S"][0] == pytest.approx((at["NP"][0] + at["ADV"][0]) / 2, abs=60)
    assert at["V"][0] == pytest.approx(at["sees"][0], abs=0.1)
    assert at["S"][1] < at["VP"][1] < at["V"][1] < at["sees"][1]
    assert at["D"][1] == at["N"][1] == at["V"][1]


def test_labels_of_a_row_do_not_touch_and_lie_in_the_picture():
    picture = drawn(TREE)
    rows: dict[float, list[tuple[float, float]]] = {}
    for label, x, y in places(picture):
        rows.setdefault(y, []).append((x - text_width(label) / 2, x + text_width(label) / 2))
    for row in rows.values():
        row.sort()
        assert row[0][0] >= 0
        assert row[-1][1] <= float(picture.get("width"))
        assert all(right <= left for (_, right), (left, _) in itertools.pairwise(row))


def test_words_in_the_order_of_the_text_stand_from_the_left():
    words = ["the", "aVeryLongWordIndeed", "sees", "quickly"]
    at = {label: x for label, x, _ in places(drawn(TREE))}
    assert [at[word] for word in words] == sorted(at[word] for word in words)


def test_deep_trees_are_drawn():
    depth = 3000
    assert len(places(drawn("(A " * depth + "w" + ")" * depth))) == depth + 1


@pytest.mark.parametrize("brackets", ["", "a", "(S", "(S a))", "(S a) (S b)", "()", "((S a))"])
def test_what_is_no_tree_is_refused(brackets):
    with pytest.raises(ValueError, match="not"):
        tree_of_brackets(brackets)
