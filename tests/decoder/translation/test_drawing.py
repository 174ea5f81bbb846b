"""Pictures of derivations: which rules have a box, and in which row."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from decoder.translation.drawing import draw_svg

GOAL, BEGIN, GLUE = ("GOAL", [1], [1]), ("S", [1], [1]), ("S", [1, 2], [1, 2])


def drawn(*rules) -> list[tuple[str, float]]:
    """The tips of the boxes and where they stand; each rule is its sides, span and children."""
    nodes = [
        {"symbol": symbol, "source": source, "target": target, "span": span, "score": 0.0, "children": below}
        for (symbol, source, target), span, below in rules
    ]
    record = {"sentence": 0, "source": ["a", "b", "c"], "translation": "A", "score": 0.0, "nodes": nodes}
    svg = "{http://www.w3.org/2000/svg}"
    groups = ElementTree.fromstring(draw_svg(record)).iter(f"{svg}g")
    return [(group.find(f"{svg}title").text, float(group.find(f"{svg}rect").get("y"))) for group in groups]


@pytest.mark.parametrize("label", ["S", "GOAL"])
@pytest.mark.parametrize(
    "sides", [(["a", "b", 1], ["A", 1]), ([1], [1]), ([1], ["A", 1])], ids=["words", "one", "word"]
)
def test_a_label_of_the_table_that_is_called_as_glue_is_has_its_box(label, sides):
    found = drawn(
        (GOAL, [0, 3], [1]),
        (BEGIN, [0, 3], [2]),
        ((label, *sides), [0, 3], [3]),
        (("X", ["c"], ["C"]), [2, 3], []),
    )
    assert [tip for tip, _ in found] == [f"{label} 0–3", "X 2–3"]
    assert found[0][1] < found[1][1]


def test_glue_has_no_box_and_a_rule_like_it_within_a_part_has():
    found = drawn(
        (GOAL, [0, 3], [1]),
        (GLUE, [0, 3], [2, 4]),
        (BEGIN, [0, 1], [3]),
        (("X", ["a"], ["A"]), [0, 1], []),
        (GLUE, [1, 3], [5, 6]),
        (("X", ["b"], ["B"]), [1, 2], []),
        (("X", ["c"], ["C"]), [2, 3], []),
    )
    assert [tip for tip, _ in found] == ["X 0–1", "S 1–3", "X 1–2", "X 2–3"]
    assert found[0][1] == found[1][1] < found[2][1] == found[3][1]


def test_a_derivation_without_glue_has_a_box_for_every_rule():
    found = drawn((("S", ["a", 1], [1, "A"]), [0, 3], [1]), (("X", ["b", "c"], []), [1, 3], []))
    assert [tip for tip, _ in found] == ["S 0–3", "X 1–3"]
